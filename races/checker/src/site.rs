//! Where something happened, in addresses: what is left of a finding when its strands are gone.

use std::rc::Rc;

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
    Parallel,
    Teams,
    Task,
    Loop,
    Sections,
    Single,
    Thread,
}

/// A construct around a place: what created the strand, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    pub kind: ConstructKind,
    /// The return address of the call at the construct.
    pub code: u64,
    /// The calling context of that call, within its own strand.
    pub context: u32,
    /// What is around it.
    pub outer: Option<Rc<Base>>,
}

/// A place in a stack's frame, for the name of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramePlace {
    /// An address in the function.
    pub code: u64,
    /// The stack and frame pointers at that call.
    pub stack: u64,
    pub base: u64,
}

/// Whose memory it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Of no stack and no known block: a global variable, or unknown.
    Static,
    /// A thread's copy of a threadprivate variable.
    ThreadLocal,
    /// Of a function's frame, if it is known which one.
    Stack(Option<FramePlace>),
    /// A heap block.
    Heap(Block),
}

/// A heap block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub address: u64,
    pub bytes: u64,
    /// The call that allocated it, its context, and what is around that.
    pub code: u64,
    pub context: u32,
    pub base: Option<Rc<Base>>,
}

/// One side of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The return address of the call that reported the access.
    pub code: u64,
    /// `WRITE` and `ATOMIC` of the stream's records.
    pub kind: u8,
    pub size: u32,
    /// The calling context within the strand.
    pub context: u32,
    /// The strand.
    pub strand: StrandKind,
    /// The number of the thread in its team.
    pub thread: u32,
    /// What is around it, innermost first; a worksharing construct before its region.
    pub base: Option<Rc<Base>>,
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
