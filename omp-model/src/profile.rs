//! A recording seen in one mode: thread time, shared out over display stacks.
//!
//! This is what every view folds: the sum of [`Item::seconds`] over any set of threads is the
//! measured lifetime of those threads, in each mode alike.

use experiment::ids::{ContextId, FrameId, ModuleId, StackId, TagId, ThreadId};
use experiment::state::Presence;
use experiment::symbols::FunctionId;
use experiment::tables::{Cut, Interner};

/// The two viewpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ViewMode {
    /// As the author wrote it.
    #[default]
    User,
    /// Equals user mode for OpenMP programs; kept because people type it.
    Expert,
    /// As measured.
    Machine,
}

/// Row of [`Profile::paths`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PathId(pub u32);

impl PathId {
    /// The empty display stack: time that stands directly under `<Total>`.
    pub const EMPTY: PathId = PathId(0);
}

/// A node of the prefix tree of display stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    /// The display stack of its callers.
    pub callers: PathId,
    /// What stands at the leaf of this one.
    pub frame: DisplayFrame,
}

/// One line of a display stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DisplayFrame {
    /// What it is called by: function views group by this.
    pub callee: Callee,
    /// The address, for views of lines and instructions; [`FrameId::NONE`] for what has none.
    pub frame: FrameId,
}

/// What function views show in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Callee {
    /// A function.
    Function(FunctionId),
    /// Code of which not even the function's bounds are known, `<static>@0xNNN (<lib.so>)`.
    Static(ModuleId, u64),
    /// A wait or overhead, by its OpenMP name.
    Pseudo(Pseudo),
    /// The outlined function of a region or task whose symbol no sample ever showed: the
    /// directive's place is known from the context.
    Construct(ContextId),
    /// A function that the compiler's tail call or inlining took off the stack: the parent of
    /// this outlined function.
    ParentOf(FunctionId),
    /// The stack ends here without having reached the thread's first function.
    Cut(Cut),
    /// All functions of a load object that the reader wants hidden, as one.
    Object(ModuleId),
}

/// The leaves that have a name and no code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Pseudo {
    /// `<OMP overhead>`
    Overhead,
    /// `<OMP reduction>`
    Reduction,
    /// `<OMP implicit barrier>`
    ImplicitBarrier,
    /// `<OMP explicit barrier>`
    ExplicitBarrier,
    /// `<OMP idle>`
    Idle,
    /// `<OMP lock wait>`
    Lock,
    /// `<OMP critical section wait>`
    Critical,
    /// `<OMP ordered section wait>`
    Ordered,
    /// `<OMP atomic wait>`
    Atomic,
    /// `<OMP task wait>`
    Task,
    /// `<OpenBLAS idle>`: a thread of OpenBLAS's own pool without work, or the one that waits for
    /// that pool.
    OpenBlasIdle,
    /// `<OMP flush spin>`: a `flush` in the program's own code, of which one that takes time is in
    /// a loop that waits for another thread. Work by the standard.
    FlushSpin,
    /// `<Unknown>`: no stack and no context.
    Unknown,
}

/// What the thread did, as views show it: the recorded state refined by the sample's stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Shown {
    /// Serial code, or a thread without OpenMP.
    Serial,
    /// User code of a region or task.
    Work,
    /// In the runtime, not waiting.
    Overhead,
    /// Combining a reduction.
    Reduction,
    /// `ompibar`
    ImplicitBarrier,
    /// `ompebar`
    ExplicitBarrier,
    /// `ompidle`
    Idle,
    /// `omplkwt`
    Lock,
    /// `ompctwt`
    Critical,
    /// `ompodwt`
    Ordered,
    /// `ompatwt`
    Atomic,
    /// `omptskwt`
    Task,
}

impl Shown {
    /// Each of them, in the order of their numbers.
    pub const ALL: [Shown; 12] = [
        Shown::Serial,
        Shown::Work,
        Shown::Overhead,
        Shown::Reduction,
        Shown::ImplicitBarrier,
        Shown::ExplicitBarrier,
        Shown::Idle,
        Shown::Lock,
        Shown::Critical,
        Shown::Ordered,
        Shown::Atomic,
        Shown::Task,
    ];

    /// Whether the thread has something to do in this state: on the CPU it is then OMP Work.
    pub const fn can_work(self) -> bool {
        matches!(
            self,
            Shown::Serial | Shown::Work | Shown::Overhead | Shown::Reduction
        )
    }
}

/// Thread time of one kind at one display stack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item {
    /// Where.
    pub path: PathId,
    /// Of which thread.
    pub thread: ThreadId,
    /// In which slice of time ([`experiment::rows::SLICE`]); 0 in a profile that is folded
    /// ([`Profile::fold`]).
    pub slice: u32,
    /// In which recorded state: what a filter on time or CPU finds the item's samples and listed
    /// intervals by.
    pub tag: TagId,
    /// In which region or task.
    pub context: ContextId,
    /// The measured stack that it was made from; [`StackId::EMPTY`] if the place is inferred.
    pub stack: StackId,
    /// Doing what.
    pub shown: Shown,
    /// On or off the CPU.
    pub presence: Presence,
    /// On the CPU: whether in the kernel.
    pub kernel: bool,
    /// Whether the place was inferred (no sample of this thread fell into this state then).
    pub inferred: bool,
    /// How long.
    pub seconds: f64,
    /// Seconds that other threads waited because of it ([`crate::attribution`]).
    pub blame: f64,
    /// Clock samples behind it.
    pub samples: u32,
}

impl Item {
    /// Whether the thread was on a CPU.
    pub const fn is_on_cpu(&self) -> bool {
        matches!(self.presence, Presence::Running)
    }
}

/// Thread time shared out over display stacks.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The viewpoint.
    pub mode: ViewMode,
    /// Display stacks; row 0 is [`PathId::EMPTY`].
    pub paths: Interner<Path>,
    /// The time.
    pub items: Vec<Item>,
}

impl Profile {
    /// Sums what differs in nothing but its slice of time, which views by second and filters on
    /// time alone ask for: as many items are left as there are distinct stacks.
    pub fn fold(&mut self) {
        let key = |item: &Item| {
            (
                (item.thread, item.tag, item.presence, item.path),
                (item.stack, item.kernel, item.inferred, item.shown),
            )
        };
        self.items.sort_by_key(key);
        self.items.dedup_by(|item, sum| {
            let same = key(item) == key(sum);
            if same {
                sum.seconds += item.seconds;
                sum.blame += item.blame;
                sum.samples += item.samples;
            }
            same
        });
        for item in &mut self.items {
            item.slice = 0;
        }
    }
}
