//! An experiment in one view mode: thread time attributed to display stacks.
//!
//! Every view aggregates a profile. The sum of [`Item::seconds`] over any set of threads is the
//! measured lifetime of those threads, in each mode.

use experiment::ids::{ContextId, FrameId, ModuleId, StackId, ThreadId, ThreadStateId};
use experiment::state::Scheduling;
use experiment::symbols::FunctionId;
use experiment::tables::{Cut, Interner};

use crate::metrics::counter::CounterName;
use crate::states::Pseudo;
use crate::states::RefinedState;

/// The view mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ViewMode {
    /// User stacks: as the author wrote the program.
    #[default]
    User,
    /// Equals user mode for OpenMP programs; kept because users type it.
    Expert,
    /// Machine stacks, as measured.
    Machine,
}

/// Row of [`Profile::paths`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PathId(pub u32);

impl PathId {
    /// The empty display stack: time directly under `<Total>`.
    pub const EMPTY: PathId = PathId(0);
}

/// A node of the prefix tree of display stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    /// The display stack of its callers.
    pub callers: PathId,
    /// The leaf.
    pub frame: DisplayFrame,
}

/// One line of a display stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DisplayFrame {
    /// The row that it belongs to: function views group by this.
    pub callee: Callee,
    /// The address, for views of lines and instructions; [`FrameId::NONE`] without one.
    pub frame: FrameId,
    /// How the frame came to be on the stack.
    pub kind: FrameKind,
}

/// How a frame came to be on a display stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FrameKind {
    /// By a call.
    #[default]
    Called,
    /// By inlining into its caller. The number is that of its line among
    /// [`FrameSymbol::lines`](experiment::symbols::FrameSymbol::lines).
    Inlined(u16),
}

/// Whether inlined functions have frames of their own on display stacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Inline {
    /// They have, under the function that they were inlined into.
    #[default]
    On,
    /// Their time is that of the function that they were inlined into.
    Off,
}

/// What function views show in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Callee {
    /// A function.
    Function(FunctionId),
    /// Code without known function bounds, `<static>@0xNNN (<lib.so>)`.
    Static(ModuleId, u64),
    /// A wait or overhead, by its OpenMP name.
    Pseudo(Pseudo),
    /// The outlined function of a region or task that is in no sample: the context gives the
    /// directive's code location.
    Construct(ContextId),
    /// The parent of this outlined function, removed from the stack by a tail call or inlining.
    ParentOf(FunctionId),
    /// The stack is truncated here, before the thread's first function.
    Cut(Cut),
    /// All functions of a hidden load object, as one.
    Object(ModuleId),
    /// The kernel's functions as one, with the function that tells why the thread entered it
    /// ([`crate::kernel`]), if any does.
    Kernel(Option<FunctionId>),
    /// A function that was inlined wherever it is called, by one of the lines that name it: a frame,
    /// and the number among its lines.
    Inlined(FrameId, u16),
}

/// Thread time of one kind at one display stack, or the events of a counter there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item {
    /// The display stack.
    pub path: PathId,
    /// The thread.
    pub thread: ThreadId,
    /// The time slice ([`experiment::rows::SLICE`]); 0 in a folded profile ([`Profile::fold`]).
    pub slice: u32,
    /// The recorded state. A filter on time or CPU uses it to find the item's samples and listed
    /// intervals.
    pub thread_state: ThreadStateId,
    /// The region or task.
    pub context: ContextId,
    /// The machine stack that the display stack was made from; [`StackId::EMPTY`] if inferred.
    pub stack: StackId,
    /// What the thread did.
    pub state: RefinedState,
    /// On or off CPU.
    pub scheduling: Scheduling,
    /// On CPU: whether in the kernel.
    pub kernel: bool,
    /// Whether the display stack was inferred: the thread has no sample in this state in this
    /// slice.
    pub inferred: bool,
    /// Thread time in seconds.
    pub seconds: f64,
    /// Seconds that other threads waited because of this time ([`crate::attribution`]).
    pub blame: f64,
    /// Number of clock samples that it is based on.
    pub samples: u32,
    /// The counter whose events these are. Such an item has no time.
    pub counter: Option<CounterName>,
    /// Events of the counter, or seconds of one that counts time.
    pub events: f64,
}

impl Item {
    /// Whether the thread was on a CPU.
    pub const fn is_on_cpu(&self) -> bool {
        matches!(self.scheduling, Scheduling::Running)
    }

    /// Whether it has time or events.
    pub fn is_some(&self) -> bool {
        self.seconds > 0.0 || self.events > 0.0
    }
}

/// Thread time attributed to display stacks.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The view mode.
    pub mode: ViewMode,
    /// Display stacks; row 0 is [`PathId::EMPTY`].
    pub paths: Interner<Path>,
    /// The items of time.
    pub items: Vec<Item>,
}

impl Profile {
    /// Merges items that differ only in their time slice, which only views by second and filters on
    /// time need. As many items are left as there are distinct stacks.
    pub fn fold(&mut self) {
        let key = |item: &Item| {
            (
                (item.thread, item.thread_state, item.scheduling, item.path),
                (item.stack, item.kernel, item.inferred, item.state),
                item.counter,
            )
        };
        self.items.sort_by_key(key);
        self.items.dedup_by(|item, sum| {
            let same = key(item) == key(sum);
            if same {
                sum.seconds += item.seconds;
                sum.blame += item.blame;
                sum.samples += item.samples;
                sum.events += item.events;
            }
            same
        });
        for item in &mut self.items {
            item.slice = 0;
        }
    }
}
