//! Ids: a newtype for each table, so that an index into one table cannot index another.

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// As an index into the table of its kind.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// A process in the recording; row of [`crate::tables::Tables::processes`].
    ProcessId
    /// A thread in the recording (a kernel tid may come back; this does not);
    /// row of [`crate::tables::Tables::threads`].
    ThreadId
    /// A load object; row of [`crate::tables::Tables::modules`].
    ModuleId
    /// An address in a load object; row of [`crate::tables::Tables::frames`].
    FrameId
    /// A machine stack: node of the prefix tree [`crate::tables::Tables::stacks`].
    StackId
    /// An OpenMP calling context: node of the tree [`crate::tables::Tables::contexts`].
    ContextId
    /// What a thread was doing in OpenMP's terms; row of [`crate::tables::Tables::thread_states`].
    ThreadStateId
    /// A construct that divides work; row of [`crate::tables::Tables::loops`].
    LoopId
    /// A mutex; row of [`crate::tables::Tables::locks`].
    LockId
    /// Memory that calls between ranks are about; row of [`crate::tables::Tables::objects`].
    ObjectId
    /// A name that the program gave; row of [`crate::tables::Tables::names`].
    NameId
    /// A phase that the program named, within others; row of [`crate::tables::Tables::phases`].
    PhaseId
}

impl ModuleId {
    /// No load object: anonymous or unknown memory; frames in it carry absolute addresses.
    pub const NONE: ModuleId = ModuleId(0);
    /// The running kernel; frames in it carry absolute addresses.
    pub const KERNEL: ModuleId = ModuleId(1);
}

impl FrameId {
    /// No address is known.
    pub const NONE: FrameId = FrameId(0);
}

impl ObjectId {
    /// None, or not known.
    pub const NONE: ObjectId = ObjectId(0);
}

impl StackId {
    /// The root of all stacks, the empty stack.
    pub const EMPTY: StackId = StackId(0);
}

impl ContextId {
    /// Outside every region and task.
    pub const ROOT: ContextId = ContextId(0);
}

impl NameId {
    /// No name.
    pub const NONE: NameId = NameId(0);
}

impl PhaseId {
    /// Outside every phase.
    pub const NONE: PhaseId = PhaseId(0);
}

impl ThreadStateId {
    /// State outside, root context, no call: a thread without OpenMP events.
    pub const OUTSIDE: ThreadStateId = ThreadStateId(0);
}

/// Nanoseconds since the recording began, or a duration in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Nanos(pub u64);

impl Nanos {
    /// In seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The duration since `earlier`, zero if it is later.
    pub const fn since(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}
