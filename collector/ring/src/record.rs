//! The format of a record: sixteen bytes with a kind, a time and a payload.
//!
//! A record is `time << 8 | kind` and a 64-bit payload. The time is the raw value of the arena's
//! [`ClockSource`](crate::ClockSource): 56 bits of a 3 GHz counter last 278 days of uptime.
//! Data that does not fit in one payload goes into a *prefix* record ([`Kind::Code`]), which the
//! same thread pushes immediately before the record it belongs to.
//!
//! Records cause most of the cost of recording, in the program and again in the merge. So a record
//! is left out if another one implies it. The end of a join barrier's wait is left out, since the
//! end of the implicit task or the next one's begin follows at once. A worker's end of that task is
//! left out if its next begin is the thread's next event.
//!
//! Short waits and short holds of a mutex are no records: a thread sums them ([`Kind::ShortSync`],
//! [`Kind::ShortMutex`], [`Kind::ShortHold`]).
//!
//! The kinds follow the callbacks of the OpenMP specification, chapter "OMPT interface"; the
//! enumerated values inside payloads are the specification's own.

/// One record as stored in a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Record {
    /// `time << 8 | kind`.
    pub head: u64,
    /// The payload, which depends on the kind; see [`Kind`].
    pub payload: u64,
}

/// Width of a time in bits.
pub const TIME_BITS: u32 = 56;

impl Record {
    /// A record of `kind` at the raw clock value `time` (its upper 8 bits are dropped).
    #[inline]
    pub const fn new(kind: Kind, time: u64, payload: u64) -> Self {
        Record {
            head: time << 8 | kind as u64,
            payload,
        }
    }

    /// The raw clock value, [`TIME_BITS`] wide.
    #[inline]
    pub const fn time(self) -> u64 {
        self.head >> 8
    }

    /// The kind, or `None` for a byte that no version of this crate writes.
    #[inline]
    pub const fn kind(self) -> Option<Kind> {
        Kind::from_byte(self.head as u8)
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $value:literal,)*) => {
        /// The kinds of records, with their payloads.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum Kind { $($(#[$doc])* $name = $value,)* }

        impl Kind {
            /// Decodes the kind from a record's lowest byte.
            pub const fn from_byte(byte: u8) -> Option<Kind> {
                match byte { $($value => Some(Kind::$name),)* _ => None }
            }
        }
    };
}

kinds! {
    /// Records were dropped here because the ring was full; payload: how many. 0: recording was
    /// paused.
    Lost = 1,
    /// A league of teams begins on its encountering thread; payload: [`OriginPayload`], info = the
    /// number of teams requested, saturated.
    TeamsBegin = 2,
    /// Prefix: the return address into the program of the record that follows, if the payload has
    /// no room for it or no calling context could be taken; payload: the address.
    Code = 3,
    /// The runtime announces the thread; payload: `ompt_thread_t` (1 initial, 2 worker, 3 other).
    ThreadBegin = 4,
    /// The thread leaves the runtime; no payload.
    ThreadEnd = 5,
    /// A parallel region begins on its encountering thread; payload: [`OriginPayload`], info = the
    /// number of threads requested, saturated.
    ParallelBegin = 6,
    /// The region ended on its encountering thread; payload: [`RegionPayload`], index and size 0.
    ParallelEnd = 7,
    /// The thread's implicit (or, in teams and at program start, initial) task begins;
    /// payload: [`RegionPayload`], region 0 for the program's own initial task.
    ImplicitBegin = 8,
    /// That task ends; payload: [`RegionPayload`], region 0 where the runtime no longer tells it.
    ImplicitEnd = 9,
    /// A wait that may be region `r`'s join barrier begins: `ompt_sync_region_t` 2 (barrier
    /// implicit; with a prefix [`Kind::Code`]), 9 (implicit parallel), 10 (teams);
    /// payload: [`JoinPayload`].
    JoinWaitBegin = 10,
    /// Another `sync_region_wait` begins; payload: [`CodePayload`] with `ompt_sync_region_t`.
    SyncWaitBegin = 11,
    /// A `sync_region_wait` ends, other than of kind 9, a join barrier; payload:
    /// `ompt_sync_region_t`.
    SyncWaitEnd = 12,
    /// A wait for a mutex begins; payload: [`MutexPayload`]. A prefix [`Kind::Code`] has the call.
    MutexAcquire = 13,
    /// The mutex is acquired; payload: [`MutexPayload`].
    MutexAcquired = 14,
    /// The mutex is released; payload: [`MutexPayload`].
    MutexReleased = 15,
    /// A nestable lock is re-acquired or partly released; payload: 1 begin, 2 end.
    NestLock = 16,
    /// An explicit task is created; payload: [`OriginPayload`], info = any of [`TASK_UNDEFERRED`],
    /// [`TASK_DIVISION`], [`TASK_LOOP`] and [`TASK_ALL`].
    /// Its time is that of the previous record: only the order of task creations is recorded.
    TaskCreate = 17,
    /// The thread switches tasks; payload: [`TaskPayload`]: the next task (0: the implicit task)
    /// and `ompt_task_status_t` of the prior one.
    TaskSchedule = 18,
    /// The combining step of a reduction begins; payload: [`CodePayload`].
    ReductionBegin = 19,
    /// That step ends; no payload.
    ReductionEnd = 20,
    /// A call begins in which the runtime works, perhaps for long, without waiting for other
    /// threads; payload: [`CodePayload`], kind 0.
    OverheadBegin = 21,
    /// That call ends; no payload.
    OverheadEnd = 22,
    /// A calling context, to which later records of this ring refer by its id; payload:
    /// [`ContextPayload`]. The rest of it fills the positions that follow, which hold no records
    /// (see [`crate::context`]).
    Context = 23,
    /// Prefix: the number and the length of the waits of the record that follows; payload:
    /// [`ShortPayload`].
    Short = 24,
    /// Short waits in one call since the thread's last record: a sum, not an event. They took
    /// place in the state in which the thread is here; payload: [`CodePayload`] with
    /// `ompt_sync_region_t`. A prefix [`Kind::Short`] has their number and length.
    ShortSync = 25,
    /// The same of short waits for one mutex, which was held shortly, too; payload:
    /// [`MutexPayload`]. Prefixes [`Kind::Code`] and [`Kind::Short`] precede it.
    ShortMutex = 26,
    /// Records that are not structural ([`Kind::is_structural`]) were dropped here because the
    /// ring was nearly full; payload: how many.
    LostWaits = 27,
    /// A lock is initialised; payload: [`MutexPayload`]. A prefix [`Kind::Code`] has the call.
    LockInit = 28,
    /// How long short acquisitions and holds of mutexes in one call took since the thread's last
    /// record; payload: [`HoldPayload`]. A prefix [`Kind::Code`] has the call.
    ShortHold = 29,
}

impl Kind {
    /// Whether the record tells which regions and tasks the thread is in. Others tell only what it
    /// does there; a part of the ring is kept free of them.
    #[inline(always)]
    pub const fn is_structural(self) -> bool {
        !matches!(
            self,
            Kind::SyncWaitBegin
                | Kind::SyncWaitEnd
                | Kind::MutexAcquire
                | Kind::MutexAcquired
                | Kind::MutexReleased
                | Kind::NestLock
                | Kind::ReductionBegin
                | Kind::ReductionEnd
                | Kind::OverheadBegin
                | Kind::OverheadEnd
                | Kind::ShortSync
                | Kind::ShortMutex
                | Kind::LockInit
                | Kind::ShortHold
        )
    }
}

/// Identifies an instance of a region or a task within an experiment: the slot of the thread that
/// created it and that slot's count. 0 means "none". 40 bits wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstanceId(pub u64);

/// Bits of the slot in an [`InstanceId`].
pub const SLOT_BITS: u32 = 12;
/// Bits of the count in an [`InstanceId`]. The count wraps, which is harmless unless 268 million
/// instances of one thread are alive at once.
pub const COUNT_BITS: u32 = 28;
const ID_MASK: u64 = (1 << (SLOT_BITS + COUNT_BITS)) - 1;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;

impl InstanceId {
    /// No instance.
    pub const NONE: InstanceId = InstanceId(0);

    /// The `count`-th instance created by the thread in `slot`; `count` 0 is reserved.
    #[inline]
    pub const fn new(slot: u32, count: u32) -> Self {
        InstanceId((slot as u64) << COUNT_BITS & ID_MASK | count as u64 & COUNT_MASK)
    }
}

/// Payload: an instance, the team size and the thread number in the team, each saturated at 4095.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionPayload {
    /// The region's instance id.
    pub region: InstanceId,
    /// The thread number in the team, from 0.
    pub index: u16,
    /// The team size.
    pub size: u16,
}

impl RegionPayload {
    /// Packs into 64 bits.
    #[inline]
    pub const fn pack(self) -> u64 {
        self.region.0 & ID_MASK | sat12(self.index) << 40 | sat12(self.size) << 52
    }

    /// Unpacks from 64 bits.
    #[inline]
    pub const fn unpack(payload: u64) -> Self {
        RegionPayload {
            region: InstanceId(payload & ID_MASK),
            index: (payload >> 40 & 0xfff) as u16,
            size: (payload >> 52) as u16,
        }
    }
}

const fn sat12(value: u16) -> u64 {
    if value > 0xfff { 0xfff } else { value as u64 }
}

/// Payload: an instance that the recording thread creates, and its calling context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginPayload {
    /// The instance id. The payload holds only the count: the slot is that of the ring.
    pub instance: InstanceId,
    /// Depends on the record kind; saturated at 4095.
    pub info: u16,
    /// The calling context. [`CallingContextId::NONE`] if none could be taken: then a prefix [`Kind::Code`]
    /// has the return address alone, if it is known.
    pub context: CallingContextId,
}

impl OriginPayload {
    /// Packs into 64 bits.
    #[inline]
    pub const fn pack(self) -> u64 {
        self.instance.0 & COUNT_MASK
            | sat12(self.info) << COUNT_BITS
            | (self.context.0 as u64) << (64 - CONTEXT_BITS)
    }

    /// Unpacks from 64 bits in the ring of `slot`.
    #[inline]
    pub const fn unpack(payload: u64, slot: u32) -> Self {
        OriginPayload {
            instance: InstanceId::new(slot, (payload & COUNT_MASK) as u32),
            info: (payload >> COUNT_BITS & 0xfff) as u16,
            context: CallingContextId((payload >> (64 - CONTEXT_BITS)) as u32),
        }
    }
}

/// Payload: an instance id and an `ompt_sync_region_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinPayload {
    /// The region whose barrier it may be.
    pub region: InstanceId,
    /// `ompt_sync_region_t`.
    pub kind: u8,
}

impl JoinPayload {
    /// Packs into 64 bits.
    #[inline]
    pub const fn pack(self) -> u64 {
        self.region.0 & ID_MASK | (self.kind as u64) << 56
    }

    /// Unpacks from 64 bits.
    #[inline]
    pub const fn unpack(payload: u64) -> Self {
        JoinPayload {
            region: InstanceId(payload & ID_MASK),
            kind: (payload >> 56) as u8,
        }
    }
}

/// Payload: a return address into the program (56 bits) and a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodePayload {
    /// `codeptr_ra`, or 0 where the runtime passed NULL.
    pub code: u64,
    /// An enumerated value of the specification, which depends on the record kind.
    pub kind: u8,
}

impl CodePayload {
    /// Packs into 64 bits.
    #[inline]
    pub const fn pack(self) -> u64 {
        self.code & ((1 << 56) - 1) | (self.kind as u64) << 56
    }

    /// Unpacks from 64 bits.
    #[inline]
    pub const fn unpack(payload: u64) -> Self {
        CodePayload {
            code: payload & ((1 << 56) - 1),
            kind: (payload >> 56) as u8,
        }
    }
}

/// Payload: a mutex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MutexPayload {
    /// Distinguishes the mutex from others of its kind in the process; usually its address. 56
    /// bits. 0 if its holder is unknown.
    pub lock: u64,
    /// `ompt_mutex_t` (1 lock, 2 test lock, 3 nest lock, 4 test nest lock, 5 critical, 6 atomic,
    /// 7 ordered).
    pub kind: u8,
}

impl MutexPayload {
    /// Packs into 64 bits.
    #[inline]
    pub const fn pack(self) -> u64 {
        self.lock & ((1 << 56) - 1) | (self.kind as u64) << 56
    }

    /// Unpacks from 64 bits.
    #[inline]
    pub const fn unpack(payload: u64) -> Self {
        MutexPayload {
            lock: payload & ((1 << 56) - 1),
            kind: (payload >> 56) as u8,
        }
    }
}

/// Payload: how many short waits there were, and how long they were together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortPayload {
    /// Their number, saturated at 2^24 - 1.
    pub count: u32,
    /// Their length, in units of the arena's clock, saturated at 2^40 - 1.
    pub length: u64,
}

impl ShortPayload {
    const LENGTH_BITS: u32 = 40;

    /// Packs into 64 bits.
    #[inline]
    pub const fn pack(self) -> u64 {
        let (most_count, most_length) = ((1 << 24) - 1, (1 << Self::LENGTH_BITS) - 1);
        let count = if self.count < most_count {
            self.count
        } else {
            most_count
        };
        let length = if self.length < most_length {
            self.length
        } else {
            most_length
        };
        length | (count as u64) << Self::LENGTH_BITS
    }

    /// Unpacks from 64 bits.
    #[inline]
    pub const fn unpack(payload: u64) -> Self {
        ShortPayload {
            count: (payload >> Self::LENGTH_BITS) as u32,
            length: payload & ((1 << Self::LENGTH_BITS) - 1),
        }
    }
}

/// Payload: the time of acquisitions that did not wait, and of holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldPayload {
    /// Of acquisitions, in units of the arena's clock, saturated at 2^32 - 1.
    pub acquiring: u64,
    /// Of holds, likewise.
    pub held: u64,
}

impl HoldPayload {
    const MOST: u64 = u32::MAX as u64;

    /// Packs into 64 bits.
    #[inline]
    pub fn pack(self) -> u64 {
        self.acquiring.min(Self::MOST) << 32 | self.held.min(Self::MOST)
    }

    /// Unpacks.
    #[inline]
    pub const fn unpack(payload: u64) -> Self {
        HoldPayload {
            acquiring: payload >> 32,
            held: payload & Self::MOST,
        }
    }
}

/// Payload: the next task, and the status of the prior one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskPayload {
    /// The explicit task's instance id; [`InstanceId::NONE`]: an implicit task.
    pub task: InstanceId,
    /// `ompt_task_status_t` of the prior task, 24 bits.
    pub status: u32,
}

impl TaskPayload {
    /// Packs into 64 bits.
    #[inline]
    pub const fn pack(self) -> u64 {
        self.task.0 & ID_MASK | (self.status as u64 & 0xff_ffff) << 40
    }

    /// Unpacks from 64 bits.
    #[inline]
    pub const fn unpack(payload: u64) -> Self {
        TaskPayload {
            task: InstanceId(payload & ID_MASK),
            status: (payload >> 40) as u32,
        }
    }
}

/// `ompt_task_undeferred` in [`OriginPayload::info`] of a [`Kind::TaskCreate`]. The encountering
/// thread runs such a task before it continues. In a team of one thread the runtime calls the task;
/// with `if(0)` the program calls it directly, so that its stack holds its creator's frames with no
/// frames of the runtime between them.
pub const TASK_UNDEFERRED: u16 = 1;
/// In [`OriginPayload::info`] of a [`Kind::TaskCreate`]: the encountering task is one of a taskloop's,
/// and the runtime gives a part of its iterations to the new one. The payload has no calling context:
/// both tasks have that of the taskloop.
pub const TASK_DIVISION: u16 = 2;
/// In [`OriginPayload::info`] of a [`Kind::TaskCreate`]: the task is one of a taskloop's.
pub const TASK_LOOP: u16 = 4;
/// In [`OriginPayload::info`] of a [`Kind::TaskCreate`], with [`TASK_LOOP`]: the instance stands for all
/// tasks of the taskloop. A [`Kind::TaskSchedule`] to it begins one of them, unless it ends another task:
/// then it resumes the innermost one on the thread or, if there is none, says that all have ended.
pub const TASK_ALL: u16 = 8;

/// [`CallingContextId`]'s width in bits.
pub const CONTEXT_BITS: u32 = 24;

/// Identifies a calling context among those of one thread, counted from 1; 0 means "none".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallingContextId(pub u32);

impl CallingContextId {
    /// No context: the ring was full, or the stack could not be read.
    pub const NONE: CallingContextId = CallingContextId(0);
}

/// Payload: a calling context's id, and the number of stack words that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextPayload {
    /// Its id.
    pub context: CallingContextId,
    /// Number of stack words that follow.
    pub words: u16,
    /// The thread is in an explicit task: frames of the thread that executes it do not belong to
    /// the context.
    pub in_task: bool,
}

impl ContextPayload {
    /// Packs into 64 bits.
    #[inline]
    pub const fn pack(self) -> u64 {
        self.context.0 as u64 | (self.words as u64) << 32 | (self.in_task as u64) << 48
    }

    /// Unpacks from 64 bits.
    #[inline]
    pub const fn unpack(payload: u64) -> Self {
        ContextPayload {
            context: CallingContextId(payload as u32),
            words: (payload >> 32) as u16,
            in_task: payload >> 48 & 1 != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_survive_packing() {
        let region = InstanceId::new(4095, 268_435_455);
        let r = RegionPayload {
            region,
            index: 17,
            size: 4095,
        };
        assert_eq!(RegionPayload::unpack(r.pack()), r);
        let j = JoinPayload { region, kind: 10 };
        assert_eq!(JoinPayload::unpack(j.pack()), j);
        let c = CodePayload {
            code: 0x7fff_dead_beef,
            kind: 255,
        };
        assert_eq!(CodePayload::unpack(c.pack()), c);
        let m = MutexPayload {
            lock: 0x7fff_dead_beef,
            kind: 7,
        };
        assert_eq!(MutexPayload::unpack(m.pack()), m);
        let s = ShortPayload {
            count: 70_000,
            length: 1 << 39,
        };
        assert_eq!(ShortPayload::unpack(s.pack()), s);
        let h = HoldPayload {
            acquiring: 7,
            held: u64::from(u32::MAX),
        };
        assert_eq!(HoldPayload::unpack(h.pack()), h);
        let t = TaskPayload {
            task: region,
            status: 0xff_ffff,
        };
        assert_eq!(TaskPayload::unpack(t.pack()), t);
        let o = OriginPayload {
            instance: region,
            info: 4095,
            context: CallingContextId((1 << CONTEXT_BITS) - 1),
        };
        assert_eq!(OriginPayload::unpack(o.pack(), 4095), o);
        let c = ContextPayload {
            context: CallingContextId((1 << CONTEXT_BITS) - 1),
            words: u16::MAX,
            in_task: true,
        };
        assert_eq!(ContextPayload::unpack(c.pack()), c);
    }

    #[test]
    fn team_sizes_saturate() {
        let r = RegionPayload {
            region: InstanceId(1),
            index: 9000,
            size: 5000,
        };
        let back = RegionPayload::unpack(r.pack());
        assert_eq!(
            (back.index, back.size, back.region),
            (4095, 4095, InstanceId(1))
        );
    }

    #[test]
    fn a_record_is_sixteen_bytes_and_keeps_its_kind_and_time() {
        assert_eq!(size_of::<Record>(), 16);
        let r = Record::new(Kind::TaskSchedule, (1 << TIME_BITS) - 1, 7);
        assert_eq!(r.kind(), Some(Kind::TaskSchedule));
        assert_eq!(r.time(), (1 << TIME_BITS) - 1);
        assert_eq!(
            Record {
                head: 0xff,
                payload: 0
            }
            .kind(),
            None
        );
    }
}
