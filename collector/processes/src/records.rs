//! What the kernel tells of processes and threads: the records of the side band, whatever they came in.

use experiment::state::Scheduling;

/// A record of the side band.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideRecord {
    /// CLOCK_MONOTONIC_RAW, in nanoseconds.
    pub time: u64,
    /// The process.
    pub pid: i32,
    /// The thread.
    pub tid: i32,
    /// The CPU.
    pub cpu: u16,
    /// What happened.
    pub what: Side,
}

/// The contents of a side-band record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// The thread was switched in.
    SwitchIn,
    /// The thread was switched out.
    SwitchOut {
        /// It was still runnable.
        preempted: bool,
    },
    /// Without switch records: the thread was off a CPU from then on.
    Stops {
        /// It was ready to run.
        ready: bool,
    },
    /// Without switch records: the thread may be on a CPU again.
    Goes,
    /// Without switch records: since its last such record the thread was off a CPU for so long while
    /// it was not known to be, in nanoseconds.
    OffCpu {
        /// Time asleep.
        blocked: u64,
        /// Time ready to run, without a CPU.
        preempted: u64,
    },
    /// The thread was created by a thread of process `parent`, which may be its own.
    Fork {
        /// The process of the thread that created it.
        parent: i32,
        /// The thread that created it.
        creator: i32,
    },
    /// The thread was there when the recording began. No event tells that: it was looked up.
    Found {
        /// What it did then.
        scheduling: Scheduling,
    },
    /// The thread ended.
    Exit,
    /// The thread had [`experiment::rows::FAULTS_EACH`] minor page faults since its last such record.
    MinorFaults,
    /// The thread had a major page fault. Its record is as the one above, in a ring of its own.
    MajorFault,
    /// The thread has a new name, given by `exec` or by the program.
    Comm {
        /// Whether `exec` gave it.
        exec: bool,
        /// The name.
        name: Box<str>,
    },
    /// Executable memory was mapped.
    Map(Box<Mapping>),
}

/// An executable mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Start address.
    pub start: u64,
    /// Length in bytes.
    pub length: u64,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Path of the file, or a name that the kernel made up.
    pub path: Box<[u8]>,
    /// The build id, where the kernel could read it.
    pub build_id: Box<[u8]>,
}
