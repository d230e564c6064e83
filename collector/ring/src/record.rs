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
    (@is structural) => { true };
    (@is doing) => { false };
    ($($(#[$doc:meta])* $name:ident = $value:literal, $is:ident, $payload:ty;)*) => {
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

            /// Whether the record tells which regions and tasks the thread is in. Others tell only what it
            /// does there; a part of the ring is kept free of them.
            #[inline(always)]
            pub const fn is_structural(self) -> bool {
                match self { $(Kind::$name => kinds!(@is $is),)* }
            }

            /// A payload as text, for those who look for a fault.
            pub fn text(self, payload: u64) -> String {
                match self { $(Kind::$name => format!("{:x?}", <$payload>::unpack(payload)),)* }
            }
        }

        /// Every kind.
        #[cfg(test)]
        const KINDS: &[Kind] = &[$(Kind::$name),*];
    };
}

// A row a kind: its number, whether it is structural or tells what the thread is doing, its payload.
kinds! {
    /// Records were dropped here because the ring was full; payload: how many. 0: recording was
    /// paused.
    Lost = 1, structural, u64;
    /// A league of teams begins on its encountering thread; payload: [`OriginPayload`], info = the
    /// number of teams requested, saturated.
    TeamsBegin = 2, structural, OriginPayload;
    /// Prefix: the return address into the program of the record that follows, if the payload has
    /// no room for it or no calling context could be taken; payload: the address.
    Code = 3, structural, Address;
    /// The runtime announces the thread; payload: `ompt_thread_t` (1 initial, 2 worker, 3 other).
    ThreadBegin = 4, structural, u64;
    /// The thread leaves the runtime; no payload.
    ThreadEnd = 5, structural, ();
    /// A parallel region begins on its encountering thread; payload: [`OriginPayload`], info = the
    /// number of threads requested, saturated.
    ParallelBegin = 6, structural, OriginPayload;
    /// The region ended on its encountering thread; payload: [`RegionPayload`], index and size 0.
    ParallelEnd = 7, structural, RegionPayload;
    /// The thread's implicit (or, in teams and at program start, initial) task begins;
    /// payload: [`RegionPayload`], region 0 for the program's own initial task.
    ImplicitBegin = 8, structural, RegionPayload;
    /// That task ends; payload: [`RegionPayload`], region 0 where the runtime no longer tells it.
    ImplicitEnd = 9, structural, RegionPayload;
    /// A wait that may be region `r`'s join barrier begins: `ompt_sync_region_t` 2 (barrier
    /// implicit; with a prefix [`Kind::Code`]), 9 (implicit parallel), 10 (teams);
    /// payload: [`JoinPayload`].
    JoinWaitBegin = 10, structural, JoinPayload;
    /// Another `sync_region_wait` begins; payload: [`CodePayload`] with `ompt_sync_region_t`.
    SyncWaitBegin = 11, doing, CodePayload;
    /// A `sync_region_wait` ends, other than of kind 9, a join barrier; payload:
    /// `ompt_sync_region_t`.
    SyncWaitEnd = 12, doing, u64;
    /// A wait for a mutex begins; payload: [`MutexPayload`]. A prefix [`Kind::Code`] has the call.
    MutexAcquire = 13, doing, MutexPayload;
    /// The mutex is acquired; payload: [`MutexPayload`].
    MutexAcquired = 14, doing, MutexPayload;
    /// The mutex is released; payload: [`MutexPayload`].
    MutexReleased = 15, doing, MutexPayload;
    /// A nestable lock is re-acquired or partly released; payload: 1 begin, 2 end.
    NestLock = 16, doing, u64;
    /// An explicit task is created; payload: [`OriginPayload`], info = any of [`TASK_UNDEFERRED`],
    /// [`TASK_DIVISION`], [`TASK_LOOP`] and [`TASK_ALL`].
    /// Its time is that of the previous record: only the order of task creations is recorded.
    TaskCreate = 17, structural, OriginPayload;
    /// The thread switches tasks; payload: [`TaskPayload`]: the next task (0: the implicit task)
    /// and `ompt_task_status_t` of the prior one.
    TaskSchedule = 18, structural, TaskPayload;
    /// The combining step of a reduction begins; payload: [`CodePayload`].
    ReductionBegin = 19, doing, CodePayload;
    /// That step ends; no payload.
    ReductionEnd = 20, doing, ();
    /// A call begins in which the runtime works, perhaps for long, without waiting for other
    /// threads; payload: [`CodePayload`], kind 0.
    OverheadBegin = 21, doing, CodePayload;
    /// That call ends; no payload.
    OverheadEnd = 22, doing, ();
    /// A calling context, to which later records of this ring refer by its id; payload:
    /// [`ContextPayload`]. The rest of it fills the positions that follow, which hold no records
    /// (see [`crate::context`]).
    Context = 23, structural, ContextPayload;
    /// Prefix: the number and the length of the waits of the record that follows; payload:
    /// [`ShortPayload`].
    Short = 24, structural, ShortPayload;
    /// Short waits in one call since the thread's last record: a sum, not an event. They took
    /// place in the state in which the thread is here; payload: [`CodePayload`] with
    /// `ompt_sync_region_t`. A prefix [`Kind::Short`] has their number and length.
    ShortSync = 25, doing, CodePayload;
    /// The same of short waits for one mutex, which was held shortly, too; payload:
    /// [`MutexPayload`]. Prefixes [`Kind::Code`] and [`Kind::Short`] precede it.
    ShortMutex = 26, doing, MutexPayload;
    /// Records that are not structural ([`Kind::is_structural`]) were dropped here because the
    /// ring was nearly full; payload: how many.
    LostWaits = 27, structural, u64;
    /// A lock is initialised; payload: [`MutexPayload`]. A prefix [`Kind::Code`] has the call.
    LockInit = 28, doing, MutexPayload;
    /// How long short acquisitions and holds of mutexes in one call took since the thread's last
    /// record; payload: [`HoldPayload`]. A prefix [`Kind::Code`] has the call.
    ShortHold = 29, doing, HoldPayload;
    /// A call of MPI begins; payload: [`MpiPayload`]. A prefix [`Kind::Code`] has its return address, if no
    /// calling context could be taken.
    MpiBegin = 30, doing, MpiPayload;
    /// It ends; payload: the bytes that it received in a collective or one-sided operation or from a file. A prefix
    /// [`Kind::MpiBytes`] has what it sent so, and its communicator; [`Kind::MpiPeer`] the root.
    MpiEnd = 31, doing, u64;
    /// Prefix: a rank and a tag; payload: [`PeerPayload`].
    MpiPeer = 32, doing, PeerPayload;
    /// Prefix: bytes and a communicator; payload: [`BytesPayload`].
    MpiBytes = 33, doing, BytesPayload;
    /// A message is sent; payload: when its call of MPI began, in units of the arena's clock, and [`MPI_DONE`] if that
    /// call completes it. The two prefixes tell where to, and which.
    MpiSent = 34, doing, u64;
    /// A message was received by the call of MPI that ends; payload: that of the [`Kind::MpiPosted`], 0 if that call
    /// posted it. The two prefixes tell where from, and which.
    MpiReceived = 35, doing, u64;
    /// A message was sent, as far as its sender can know; payload: when the call began that posted it.
    MpiSendDone = 36, doing, u64;
    /// A communicator; payload: [`BytesPayload`] with the number of its ranks for bytes. A prefix
    /// [`Kind::MpiPeer`] has what it is known by in all of its ranks, and the own rank in it.
    MpiComm = 37, structural, BytesPayload;
    /// Calls of MPI that asked whether something had happened, since the thread's last record, and nothing had: a
    /// sum, not an event; payload: [`MpiPayload`]. A prefix [`Kind::Short`] has their number and length.
    MpiPolls = 38, doing, MpiPayload;
    /// A receive is posted, or a message found that will be received; payload: when its call of MPI began, in units of
    /// the arena's clock.
    MpiPosted = 39, doing, u64;
    /// Prefix: the address or token, in the calling rank, of the memory that a call is about; of a [`Kind::Span`] the
    /// [`MpiPayload`] of what ends.
    Subject = 40, doing, u64;
    /// Something of the program's own ends in which other calls may have been made; payload: how long it took, in units
    /// of the arena's clock. A prefix [`Kind::Subject`] has what it is.
    Span = 41, doing, u64;
    /// A collective operation that was begun is complete by the call of MPI that ends; payload: that of its
    /// [`Kind::MpiPosted`]. The prefix [`Kind::MpiBytes`] has the communicator.
    MpiOperationDone = 42, doing, u64;
    /// The call of MPI that ends asks for access to a window of another rank or grants it; payload: which
    /// ([`MPI_START`] and others). [`Kind::MpiPeer`] has the rank, [`Kind::MpiBytes`] the window for communicator.
    MpiAccess = 43, doing, u64;
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

/// A value within a payload.
trait Field: Copy {
    fn bits(self) -> u64;
    fn of_bits(bits: u64) -> Self;
}

macro_rules! fields {
    ($($type:ty, $value:ident => $bits:expr, $of:expr;)*) => {$(
        impl Field for $type {
            #[inline(always)]
            fn bits(self) -> u64 {
                let $value = self;
                $bits
            }

            #[inline(always)]
            fn of_bits($value: u64) -> $type {
                $of
            }
        }
    )*};
}

fields! {
    u8, it => it.into(), it as u8;
    u16, it => it.into(), it as u16;
    u32, it => it.into(), it as u32;
    u64, it => it, it;
    bool, it => it.into(), it != 0;
    InstanceId, it => it.0, InstanceId(it);
    CallingContextId, it => it.0.into(), CallingContextId(it as u32);
}

/// The greatest value that fits in this number of bits.
const fn most(bits: u32) -> u64 {
    u64::MAX >> (u64::BITS - bits)
}

/// Payloads as bit fields: the first bit and the number of bits of each. A `count` is saturated, of other values the
/// upper bits are dropped.
macro_rules! payloads {
    (@bits count, $value:expr, $width:literal) => { $value.bits().min(most($width)) };
    (@bits id, $value:expr, $width:literal) => { $value.bits() & most($width) };
    ($(
        $(#[$doc:meta])*
        $name:ident {
            $($(#[$field_doc:meta])* $field:ident: $type:ty, $what:ident at $at:literal of $width:literal;)*
        }
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl $name {
            /// Packs into 64 bits.
            #[inline(always)]
            pub fn pack(self) -> u64 {
                0 $(| payloads!(@bits $what, self.$field, $width) << $at)*
            }

            /// Unpacks from 64 bits.
            #[inline(always)]
            pub fn unpack(payload: u64) -> Self {
                $name { $($field: Field::of_bits(payload >> $at & most($width)),)* }
            }
        }

        #[cfg(test)]
        impl tests::Sample for $name {
            fn sample(random: &mut impl FnMut() -> u64) -> Self {
                $name { $($field: Field::of_bits(random() & most($width)),)* }
            }
        }
    )*};
}

payloads! {
    /// A return address into the program.
    Address {
        /// `codeptr_ra`.
        code: u64, id at 0 of 64;
    }
    /// A part of a team.
    RegionPayload {
        /// The region's instance id.
        region: InstanceId, id at 0 of 40;
        /// The thread number in the team, from 0.
        index: u16, count at 40 of 12;
        /// The team size.
        size: u16, count at 52 of 12;
    }
    /// An instance that the recording thread creates, and its calling context.
    OriginPayload {
        /// The instance's count: the slot is that of the ring.
        count: u32, id at 0 of 28;
        /// Depends on the record kind.
        info: u16, count at 28 of 12;
        /// The calling context. [`CallingContextId::NONE`] if none could be taken: then a prefix
        /// [`Kind::Code`] has the return address alone, if it is known.
        context: CallingContextId, id at 40 of 24;
    }
    /// An instance id and an `ompt_sync_region_t`.
    JoinPayload {
        /// The region whose barrier the thread may wait at.
        region: InstanceId, id at 0 of 40;
        /// `ompt_sync_region_t`.
        kind: u8, id at 56 of 8;
    }
    /// A return address into the program and a kind.
    CodePayload {
        /// `codeptr_ra`, or 0 where the runtime passed NULL.
        code: u64, id at 0 of 56;
        /// An enumerated value of the specification, which depends on the record kind.
        kind: u8, id at 56 of 8;
    }
    /// A mutex.
    MutexPayload {
        /// Distinguishes the mutex from others of its kind in the process; usually its address. 0 if its
        /// holder is unknown.
        lock: u64, id at 0 of 56;
        /// `ompt_mutex_t` (1 lock, 2 test lock, 3 nest lock, 4 test nest lock, 5 critical, 6 atomic,
        /// 7 ordered).
        kind: u8, id at 56 of 8;
    }
    /// How many short waits there were, and how long they were together.
    ShortPayload {
        /// Their length, in units of the arena's clock.
        length: u64, count at 0 of 40;
        /// Their number.
        count: u32, count at 40 of 24;
    }
    /// The time of acquisitions that did not wait, and of holds, in units of the arena's clock.
    HoldPayload {
        /// Of holds.
        held: u64, count at 0 of 32;
        /// Of acquisitions.
        acquiring: u64, count at 32 of 32;
    }
    /// A function of MPI and the context of its call.
    MpiPayload {
        /// The function's number (`mpi::name`).
        function: u16, id at 0 of 12;
        /// The calling context; [`CallingContextId::NONE`] if none could be taken.
        context: CallingContextId, id at 40 of 24;
    }
    /// A rank and a tag.
    PeerPayload {
        /// The rank in `MPI_COMM_WORLD`.
        rank: u32, id at 0 of 32;
        /// The tag.
        tag: u32, id at 32 of 32;
    }
    /// A number of bytes, and a communicator.
    BytesPayload {
        /// The bytes.
        bytes: u64, count at 0 of 40;
        /// The communicator's number in its process ([`Kind::MpiComm`]); 0: none.
        comm: u32, id at 40 of 24;
    }
    /// The next task, and the status of the prior one.
    TaskPayload {
        /// The explicit task's instance id; [`InstanceId::NONE`]: an implicit task.
        task: InstanceId, id at 0 of 40;
        /// `ompt_task_status_t` of the prior task.
        status: u32, id at 40 of 24;
    }
    /// A calling context's id, and the numbers of stack words and of pairs of words about Python that follow.
    ContextPayload {
        /// Its id.
        context: CallingContextId, id at 0 of 32;
        /// Number of stack words that follow.
        words: u16, id at 32 of 16;
        /// The thread is in an explicit task: frames of the thread that executes it do not belong to
        /// the context.
        in_task: bool, id at 48 of 1;
        /// Number of pairs of words about Python that follow these ([`crate::python`]).
        python: u16, id at 49 of 15;
    }
}

impl OriginPayload {
    /// Of an instance that the thread with this ring creates.
    #[inline(always)]
    pub const fn new(instance: InstanceId, info: u16, context: CallingContextId) -> Self {
        OriginPayload {
            count: (instance.0 & COUNT_MASK) as u32,
            info,
            context,
        }
    }

    /// The instance, created in the ring of `slot`.
    #[inline(always)]
    pub const fn instance(self, slot: u32) -> InstanceId {
        InstanceId::new(slot, self.count)
    }
}

/// Payloads that are a number, or nothing.
trait Whole {
    fn unpack(payload: u64) -> Self;
}

impl Whole for u64 {
    fn unpack(payload: u64) -> u64 {
        payload
    }
}

impl Whole for () {
    fn unpack(_: u64) {}
}

/// In the payload of a [`Kind::MpiSent`].
pub const MPI_DONE: u64 = 1 << 63;

/// `MPI_Win_start`, in the payload of a [`Kind::MpiAccess`].
pub const MPI_START: u64 = 0;
/// `MPI_Win_post`.
pub const MPI_POST: u64 = 1;
/// `MPI_Win_lock` for several ranks.
pub const MPI_LOCK_SHARED: u64 = 2;
/// `MPI_Win_lock` for one rank.
pub const MPI_LOCK_EXCLUSIVE: u64 = 3;

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

#[cfg(test)]
mod tests {
    use super::*;

    /// A payload of random values, each of as many bits as it has.
    pub(super) trait Sample: Sized {
        fn sample(random: &mut impl FnMut() -> u64) -> Self;
    }

    #[test]
    fn payloads_survive_packing() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            state ^ state >> 32
        };
        macro_rules! survive {
            ($($payload:ty),*) => {$(
                let it = <$payload>::sample(&mut random);
                assert_eq!(<$payload>::unpack(it.pack()), it);
            )*};
        }
        for _ in 0..1000 {
            survive!(
                Address,
                RegionPayload,
                OriginPayload,
                JoinPayload,
                CodePayload,
                MutexPayload,
                ShortPayload,
                HoldPayload,
                TaskPayload,
                ContextPayload
            );
        }
    }

    #[test]
    fn counts_saturate() {
        let region = RegionPayload {
            region: InstanceId(1),
            index: 9000,
            size: 5000,
        };
        let back = RegionPayload::unpack(region.pack());
        assert_eq!(
            (back.index, back.size, back.region),
            (4095, 4095, InstanceId(1))
        );
        let short = ShortPayload {
            count: u32::MAX,
            length: u64::MAX,
        };
        let back = ShortPayload::unpack(short.pack());
        assert_eq!((back.count, back.length), ((1 << 24) - 1, (1 << 40) - 1));
    }

    #[test]
    fn an_origin_is_an_instance_of_its_ring() {
        let origin = OriginPayload {
            count: 7,
            info: TASK_LOOP,
            context: CallingContextId((1 << CONTEXT_BITS) - 1),
        };
        let back = OriginPayload::unpack(origin.pack());
        assert_eq!(back.instance(4095), InstanceId::new(4095, 7));
    }

    #[test]
    fn each_kind_has_a_number_of_its_own_and_a_text() {
        for kind in KINDS {
            assert_eq!(Kind::from_byte(*kind as u8), Some(*kind));
        }
        let mutex = MutexPayload { lock: 16, kind: 5 };
        assert_eq!(
            Kind::MutexAcquired.text(mutex.pack()),
            "MutexPayload { lock: 10, kind: 5 }"
        );
        assert_eq!(Kind::ThreadEnd.text(0), "()");
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
