//! Where something happened, in addresses: what is left of a finding when its strands are gone.

use std::rc::Rc;

use hashbrown::HashMap;

use crate::locksets::Held;

/// What a strand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrandKind {
    /// The program's first thread, outside parallel regions.
    Initial,
    /// A thread that the program has created.
    Thread,
    /// A thread's implicit task.
    Implicit,
    /// Iterations of a worksharing loop: the first one, and how many.
    Iterations(u64, u64),
    /// One of the iterations of a worksharing loop that a thread executed, counted from 0.
    Round(u64),
    /// A section.
    Section,
    /// A single.
    Single,
    /// An explicit task.
    Task,
}

/// A construct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstructKind {
    /// A parallel region.
    Parallel,
    /// A league of teams.
    Teams,
    /// An explicit task.
    Task,
    /// A worksharing loop.
    Loop,
    /// `sections`.
    Sections,
    /// `single`.
    Single,
    /// The creation of a thread.
    Thread,
}

/// A construct around a place: what created the strand, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// What it is.
    pub kind: ConstructKind,
    /// The return address of the call at the construct.
    pub code: u64,
    /// The calling context of that call, within its own strand.
    pub context: u32,
    /// The function outlined from the construct; 0 if the runtime does not tell.
    pub body: u64,
    /// Of the creation of a thread: the stack of its creator then.
    pub creator: Option<Creator>,
    /// What is around it.
    pub outer: Option<Rc<Base>>,
}

/// Constructs, numbered from 1; 0: none.
#[derive(Debug, Default)]
pub struct Bases {
    bases: Vec<Rc<Base>>,
    numbers: HashMap<(u64, u32, *const Base), u32>,
}

impl Bases {
    /// The number of a construct. Executions of one construct by one strand have one number. Where there are
    /// very many, later ones have none.
    pub fn number(&mut self, base: &Rc<Base>) -> u32 {
        const MOST: usize = 1 << 16;
        let outer = base.outer.as_ref().map_or(std::ptr::null(), Rc::as_ptr);
        let key = (base.code, base.context, outer);
        if let Some(known) = self.numbers.get(&key) {
            return *known;
        }
        if self.bases.len() == MOST {
            return 0;
        }
        self.bases.push(base.clone());
        let number = self.bases.len() as u32;
        self.numbers.insert(key, number);
        number
    }

    /// The construct of a number.
    pub fn get(&self, number: u32) -> Option<&Rc<Base>> {
        self.bases.get((number as usize).checked_sub(1)?)
    }
}

/// Tasks that create each other lie in each other without end: one after the other goes, not one within
/// the other.
impl Drop for Base {
    fn drop(&mut self) {
        let mut next = self.outer.take();
        while let Some(mut base) = next.and_then(Rc::into_inner) {
            next = base.outer.take();
        }
    }
}

/// The stack of a thread that created another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Creator {
    /// Where it lies.
    pub stack: (u64, u64),
    /// Its frames, outermost first.
    pub frames: Vec<FramePlace>,
}

/// A place in a stack's frame, for the name of a variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FramePlace {
    /// The return addresses of calls in the function, if they are not in a runtime: of the call that
    /// made the next frame, and of the last construct; 0 if unknown.
    pub calls: [u64; 2],
    /// The stack and frame pointers in the function called first there.
    pub stack: u64,
    /// See `stack`.
    pub base: u64,
    /// The block of variables that the function has passed to the construct that it forked last, and
    /// the function that was outlined from that; 0 if the runtime does not tell.
    pub data: u64,
    /// The function outlined from the construct that the frame forks or creates; 0 if unknown.
    pub body: u64,
    /// Those of the function whose frame is next above.
    pub outer: [u64; 2],
}

/// Whose memory it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Of no stack and no known block: a global variable, or unknown.
    Static,
    /// A thread's copy of a threadprivate variable.
    ThreadLocal {
        /// Bytes from there to the end of the blocks that the thread has had from the start.
        before_end: u64,
    },
    /// Of a function's frame, if it is known which one.
    Stack(Option<FramePlace>),
    /// A heap block.
    Heap(Block),
}

/// A heap block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The address of its first byte.
    pub address: u64,
    /// Its length.
    pub bytes: u64,
    /// The return address of the call that allocated it.
    pub code: u64,
    /// That of the call in the innermost function that told of its begin; 0 if unknown.
    pub caller: u64,
    /// The calling context of that call.
    pub context: u32,
    /// What is around it.
    pub base: Option<Rc<Base>>,
}

/// Where a strand makes its accesses of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// At one address.
    One,
    /// At several, one in each round of a worksharing loop.
    Rounds,
    /// At several.
    Several,
}

/// One side of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The return address of the call that reported the access.
    pub code: u64,
    /// `WRITE` and `ATOMIC` of the stream's records.
    pub kind: u8,
    /// Bytes of the access.
    pub size: u32,
    /// At which addresses beside that of the finding.
    pub spread: Spread,
    /// The calling context within the strand.
    pub context: u32,
    /// The strand.
    pub strand: StrandKind,
    /// The number of the thread in its team.
    pub thread: u32,
    /// What is around it, innermost first; a worksharing construct before its region.
    pub base: Option<Rc<Base>>,
    /// The locks held.
    pub locks: Vec<Held>,
}

/// A call by which a thread synchronises.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// Its return address.
    pub code: u64,
    /// Its calling context within the strand.
    pub context: u32,
    /// What is around it, innermost first.
    pub base: Option<Rc<Base>>,
    /// The number of the thread in its team.
    pub thread: u32,
}
