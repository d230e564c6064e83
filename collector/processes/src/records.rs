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
        /// How much more time up to now a later record may tell of.
        open: u64,
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
    /// The number of the file on its device; 0 if it is not told, or there is no file.
    pub inode: u64,
    /// The build id, where the kernel could read it.
    pub build_id: Box<[u8]>,
}

/// Kinds of records that [`side`] knows (`enum perf_event_type`).
pub mod kind {
    /// A mapping.
    pub const MMAP: u32 = 1;
    /// A new name, or an `exec`.
    pub const COMM: u32 = 3;
    /// The end of a thread.
    pub const EXIT: u32 = 4;
    /// The begin of a thread.
    pub const FORK: u32 = 7;
    /// A mapping, with what identifies its file.
    pub const MMAP2: u32 = 10;
    /// A context switch.
    pub const SWITCH: u32 = 14;
    /// The same in a recording of a whole CPU.
    pub const SWITCH_CPU_WIDE: u32 = 15;
}

use kind::{COMM, EXIT, FORK, MMAP, MMAP2, SWITCH, SWITCH_CPU_WIDE};

/// PERF_RECORD_MISC_COMM_EXEC and PERF_RECORD_MISC_SWITCH_OUT share a bit.
const MISC_EXEC_OR_OUT: u16 = 1 << 13;
/// PERF_RECORD_MISC_SWITCH_OUT_PREEMPT and PERF_RECORD_MISC_MMAP_BUILD_ID share a bit.
const MISC_PREEMPT_OR_BUILD_ID: u16 = 1 << 14;

/// Reads a record front to back. Reads past its end return zero: the kernel writes no such record,
/// and a wrong sample is better than a panic.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    bytes: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Begins at the first byte.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Fields { bytes }
    }

    /// What has not been read.
    pub const fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// A number, little-endian.
    pub fn u64(&mut self) -> u64 {
        self.take::<8>().map_or(0, u64::from_le_bytes)
    }

    /// A number, little-endian.
    pub fn u32(&mut self) -> u32 {
        self.take::<4>().map_or(0, u32::from_le_bytes)
    }

    /// A number, little-endian.
    pub fn i32(&mut self) -> i32 {
        self.u32() as i32
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(*head)
    }

    /// So many bytes, or as many as there are.
    pub fn slice(&mut self, length: usize) -> &'a [u8] {
        let (head, rest) = self.bytes.split_at(length.min(self.bytes.len()));
        self.bytes = rest;
        head
    }

    /// The NUL-terminated string at the current position, without its padding.
    pub fn text(&self) -> &'a [u8] {
        let end = self
            .bytes
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(self.bytes.len());
        &self.bytes[..end]
    }
}

/// What a record of the side band tells, and of which process and thread; `None` for other records. The layouts are
/// those of `include/uapi/linux/perf_event.h`. `ids` are process and thread of the record's `struct sample_id`,
/// which `fields` do not hold.
pub fn side(
    kind: u32,
    misc: u16,
    ids: (i32, i32),
    mut fields: Fields<'_>,
) -> Option<((i32, i32), Side)> {
    let (mut pid, mut tid) = ids;
    let flag = misc & MISC_EXEC_OR_OUT != 0;
    let what = match kind {
        SWITCH | SWITCH_CPU_WIDE if flag => Side::SwitchOut {
            preempted: misc & MISC_PREEMPT_OR_BUILD_ID != 0,
        },
        SWITCH | SWITCH_CPU_WIDE => Side::SwitchIn,
        FORK | EXIT => {
            // The record names the new or ended thread, the sample id the thread that ran.
            pid = fields.i32();
            let parent = fields.i32();
            tid = fields.i32();
            let creator = fields.i32();
            if kind == FORK {
                Side::Fork { parent, creator }
            } else {
                Side::Exit
            }
        }
        COMM => {
            pid = fields.i32();
            tid = fields.i32();
            Side::Comm {
                exec: flag,
                name: String::from_utf8_lossy(fields.text()).into(),
            }
        }
        MMAP | MMAP2 => {
            pid = fields.i32();
            tid = fields.i32();
            Side::Map(Box::new(mapping(kind, misc, fields)))
        }
        _ => return None,
    };
    Some(((pid, tid), what))
}

fn mapping(kind: u32, misc: u16, mut fields: Fields<'_>) -> Mapping {
    let (start, length, offset) = (fields.u64(), fields.u64(), fields.u64());
    let mut build_id: &[u8] = &[];
    let mut inode = 0;
    if kind == MMAP2 {
        let identity = fields.slice(24);
        if misc & MISC_PREEMPT_OR_BUILD_ID == 0 {
            // Device (two numbers of 32 bits), inode, generation.
            inode = Fields::new(&identity[identity.len().min(8)..]).u64();
        } else if let [size, _, _, _, id @ ..] = identity {
            build_id = &id[..usize::from(*size).min(id.len())];
        }
        let _protection_and_flags = fields.u64();
    }
    Mapping {
        start,
        length,
        offset,
        path: fields.text().into(),
        inode,
        build_id: build_id.into(),
    }
}
