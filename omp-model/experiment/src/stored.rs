//! Rows as columns: what each kind of row stores, and how its references are checked.

use crate::TICK;
use crate::column::{Corrupt, Decoder, Encoder, unzigzag, zigzag};
use crate::ids::{
    ContextId, FrameId, LockId, LoopId, ModuleId, NameId, Nanos, ObjectId, PhaseId, ProcessId,
    StackId, ThreadId, ThreadStateId,
};
use crate::rows::{
    Blame, CpuUse, Interval, LockSum, LockWait, LoopSum, MessageEnd, MpiCall, MpiMessage, PhaseSum,
    PointKind, RegionSpan, RegionSum, RegionWork, SLICE, Sample, SampleKind, SamplePoint, Span,
    SpanKind, Sum, TaskSpan, TaskSum, Within,
};
use crate::state::{Scheduling, State};
use crate::tables::{
    Context, ContextKind, Cut, Frame, Lock, Loop, LoopClause, Mutex, Object, Phase, Schedule,
    Stack, StackEntry, Tables, Thread, ThreadKind, ThreadState,
};

/// The number of rows in each table, against which ids are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) processes: u32,
    pub(crate) threads: u32,
    pub(crate) modules: u32,
    pub(crate) frames: u32,
    pub(crate) stacks: u32,
    /// Those of them that are kept; a reference to another one is to an unknown stack.
    pub(crate) stacks_kept: u32,
    pub(crate) contexts: u32,
    pub(crate) thread_states: u32,
    pub(crate) loops: u32,
    pub(crate) locks: u32,
    pub(crate) objects: u32,
    pub(crate) names: u32,
    pub(crate) phases: u32,
}

impl Known {
    /// For rows that were never in a file, which are not checked.
    pub(crate) const ANY: Known = Known {
        processes: u32::MAX,
        threads: u32::MAX,
        modules: u32::MAX,
        frames: u32::MAX,
        stacks: u32::MAX,
        stacks_kept: u32::MAX,
        contexts: u32::MAX,
        thread_states: u32::MAX,
        loops: u32::MAX,
        locks: u32::MAX,
        objects: u32::MAX,
        names: u32::MAX,
        phases: u32::MAX,
    };

    pub(crate) fn of(tables: &Tables) -> Known {
        Known {
            processes: tables.processes.len() as u32,
            threads: tables.threads.len() as u32,
            modules: tables.modules.len() as u32,
            frames: tables.frames.len() as u32,
            stacks: tables.stacks.len() as u32,
            stacks_kept: tables.stacks.len() as u32,
            contexts: tables.contexts.len() as u32,
            thread_states: tables.thread_states.len() as u32,
            loops: tables.loops.len() as u32,
            locks: tables.locks.len() as u32,
            objects: tables.objects.len() as u32,
            names: tables.names.len() as u32,
            phases: tables.phases.len() as u32,
        }
    }

    /// The id or enum that a stored number stands for.
    pub(crate) fn id<T: Form<T>>(&self, number: u64) -> Result<T, Corrupt> {
        T::value(number, self)
    }
}

/// A type of values that a column stores as numbers.
pub(crate) trait Form<T> {
    fn number(value: T) -> u64;

    /// The value of a stored number, checked against the tables.
    fn value(number: u64, known: &Known) -> Result<T, Corrupt>;
}

macro_rules! ids {
    ($($id:ident in $table:ident: $what:literal,)*) => {$(
        impl Form<$id> for $id {
            fn number(id: $id) -> u64 {
                u64::from(id.0)
            }

            fn value(number: u64, known: &Known) -> Result<$id, Corrupt> {
                match number < u64::from(known.$table) {
                    true => Ok($id(number as u32)),
                    false => Err(Corrupt($what)),
                }
            }
        }
    )*};
}

ids! {
    ProcessId in processes: "a process that is not in its table",
    ThreadId in threads: "a thread that is not in its table",
    ModuleId in modules: "a load object that is not in its table",
    FrameId in frames: "a frame that is not in its table",
    ContextId in contexts: "a context that is not in its table",
    ThreadStateId in thread_states: "a thread state that is not in its table",
    LoopId in loops: "a loop that is not in its table",
    LockId in locks: "a mutex that is not in its table",
    ObjectId in objects: "memory that is not in its table",
    NameId in names: "a name that is not in its table",
    PhaseId in phases: "a phase that is not in its table",
}

impl Form<StackId> for StackId {
    fn number(id: StackId) -> u64 {
        u64::from(id.0)
    }

    fn value(number: u64, known: &Known) -> Result<StackId, Corrupt> {
        if number >= u64::from(known.stacks) {
            return Err(Corrupt("a stack that is not in its table"));
        }
        let is_kept = number < u64::from(known.stacks_kept);
        Ok(if is_kept {
            StackId(number as u32)
        } else {
            StackId::EMPTY
        })
    }
}

macro_rules! enums {
    ($($kind:ident: $what:literal,)*) => {$(
        impl Form<$kind> for $kind {
            fn number(value: $kind) -> u64 {
                value as u64
            }

            fn value(number: u64, _: &Known) -> Result<$kind, Corrupt> {
                let known = u8::try_from(number).ok().and_then($kind::from_u8);
                known.ok_or(Corrupt($what))
            }
        }
    )*};
}

enums! {
    ContextKind: "an unknown context",
    Cut: "an unknown reason of a cut stack",
    Scheduling: "an unknown scheduling state",
    SampleKind: "an unknown kind of sample",
    SpanKind: "an unknown kind of span",
    PointKind: "an unknown kind of sample point",
    MessageEnd: "an unknown end of a message",
    Schedule: "an unknown schedule",
    LoopClause: "an unknown clause",
    Mutex: "an unknown kind of mutex",
    State: "an unknown state",
    ThreadKind: "an unknown kind of thread",
}

macro_rules! numbers {
    ($($number:ident)*) => {$(
        impl Form<$number> for $number {
            fn number(value: $number) -> u64 {
                u64::from(value)
            }

            fn value(number: u64, _: &Known) -> Result<$number, Corrupt> {
                narrow(number)
            }
        }
    )*};
}

numbers!(u16 u32 u64);

impl Form<Nanos> for Nanos {
    fn number(time: Nanos) -> u64 {
        time.0
    }

    fn value(number: u64, _: &Known) -> Result<Nanos, Corrupt> {
        below(MOST_TIME, number)
    }
}

/// The longest recording: a year. Views go through a recording's seconds one by one.
const LONGEST: u64 = 366 * 86_400 * SLICE.0;

/// The most time of many threads and instances together.
const MOST_TIME: u64 = 1 << 60;

fn below(most: u64, number: u64) -> Result<Nanos, Corrupt> {
    if number <= most {
        Ok(Nanos(number))
    } else {
        Err(Corrupt("a time longer than any recording"))
    }
}

/// A moment of a recording.
pub(crate) fn moment(number: u64) -> Result<Nanos, Corrupt> {
    below(LONGEST, number)
}

/// The slice of a moment of a recording.
pub(crate) enum SliceOf {}

impl Form<u32> for SliceOf {
    fn number(slice: u32) -> u64 {
        u64::from(slice)
    }

    fn value(number: u64, _: &Known) -> Result<u32, Corrupt> {
        moment(number.saturating_mul(SLICE.0))?;
        narrow(number)
    }
}

/// A moment of a recording, in nanoseconds.
pub(crate) enum Moment {}

impl Form<Nanos> for Moment {
    fn number(time: Nanos) -> u64 {
        time.0
    }

    fn value(number: u64, _: &Known) -> Result<Nanos, Corrupt> {
        moment(number)
    }
}

/// Times of whole [`TICK`]s.
pub(crate) enum Ticks {}

impl Form<Nanos> for Ticks {
    fn number(time: Nanos) -> u64 {
        ticks(time)
    }

    fn value(number: u64, _: &Known) -> Result<Nanos, Corrupt> {
        nanos(number)
    }
}

/// A number that its type can hold.
pub(crate) fn narrow<T: TryFrom<u64>>(value: u64) -> Result<T, Corrupt> {
    T::try_from(value).map_err(|_| Corrupt("a number is too wide for its column"))
}

/// Whole ticks, rounded down.
pub(crate) const fn ticks(time: Nanos) -> u64 {
    time.0 / TICK.0
}

pub(crate) fn nanos(ticks: u64) -> Result<Nanos, Corrupt> {
    moment(ticks.saturating_mul(TICK.0))
}

/// An interval with start and end rounded down to ticks, so that adjacent ones stay adjacent.
pub(crate) fn in_ticks(start: Nanos, length: Nanos) -> (Nanos, Nanos) {
    let floor = |time: u64| Nanos(time / TICK.0 * TICK.0);
    let (from, to) = (floor(start.0), floor(start.0.saturating_add(length.0)));
    (from, to.since(from))
}

/// `None` as 0.
pub(crate) fn optional(value: Option<u64>) -> u64 {
    value.map_or(0, |value| value.saturating_add(1))
}

/// How the numbers of a column are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// As they are.
    Plain,
    /// As differences from the row before.
    Delta,
    /// Instance ids, where 0 is none: as differences from the last row that has one. Two ids that
    /// are 2^63 apart, which no process reaches, would be read as none.
    Instance,
}

use Coding::{Delta, Instance, Plain};

impl Coding {
    #[inline]
    fn store(self, number: u64, before: &mut u64) -> u64 {
        if self == Plain || self == Instance && number == 0 {
            return number;
        }
        let step = zigzag(number.wrapping_sub(*before) as i64);
        *before = number;
        match self {
            Instance => step.wrapping_add(1),
            _ => step,
        }
    }

    #[inline]
    fn load(self, stored: u64, before: &mut u64) -> u64 {
        if self == Plain || self == Instance && stored == 0 {
            return stored;
        }
        let step = match self {
            Instance => stored.wrapping_sub(1),
            _ => stored,
        };
        *before = before.wrapping_add(unzigzag(step) as u64);
        *before
    }
}

/// A kind of row that is stored as `N` columns.
pub(crate) trait Row<const N: usize>: Sized {
    /// The coding of each column.
    const CODINGS: [Coding; N];

    /// The row's numbers; `index` is its index in its table.
    fn numbers(&self, index: u64) -> [u64; N];

    /// The row with these numbers, if all rows that it points to exist.
    fn row(numbers: [u64; N], index: u64, known: &Known) -> Result<Self, Corrupt>;
}

/// Writes `rows`, the first of which has index `first` in its table.
pub(crate) fn encode<R: Row<N>, const N: usize>(encoder: &mut Encoder, rows: &[R], first: u64) {
    encoder.number(rows.len() as u64);
    let mut before = [0; N];
    encoder.table::<N>(rows.iter().zip(first..).map(|(row, index)| {
        let numbers = row.numbers(index);
        std::array::from_fn(|at| R::CODINGS[at].store(numbers[at], &mut before[at]))
    }));
}

/// Reads what [`encode`] wrote, row by row.
pub(crate) fn decode<R: Row<N>, const N: usize>(
    decoder: &mut Decoder<'_>,
    first: u64,
    known: &Known,
    mut each: impl FnMut(R) -> Result<(), Corrupt>,
) -> Result<(), Corrupt> {
    let rows = decoder.rows()?;
    let mut before = [0; N];
    for (stored, index) in decoder.table::<N>(rows)?.zip(first..) {
        let numbers: [u64; N] =
            std::array::from_fn(|at| R::CODINGS[at].load(stored[at], &mut before[at]));
        each(R::row(numbers, index, known)?)?;
    }
    Ok(())
}

/// Rows whose columns are their fields, with the type and the coding of each.
macro_rules! rows {
    ($($row:ident[$count:literal] {
        $($field:ident: $form:ident $coding:ident,)*
        $(; within $region:ident: $of_region:ident, $task:ident: $of_task:ident)?
    })*) => {$(
        impl Row<$count> for $row {
            const CODINGS: [Coding; $count] = [$($coding,)* $($of_region, $of_task)?];

            fn numbers(&self, _: u64) -> [u64; $count] {
                [
                    $($form::number(self.$field),)*
                    $(self.within.$region, self.within.$task)?
                ]
            }

            fn row(numbers: [u64; $count], _: u64, known: &Known) -> Result<Self, Corrupt> {
                let [$($field,)* $($region, $task)?] = numbers;
                Ok($row {
                    $($field: $form::value($field, known)?,)*
                    $(within: Within { $region, $task },)?
                })
            }
        }
    )*};
}

rows! {
    Frame[2] {
        address: u64 Delta,
        module: ModuleId Plain,
    }
    ThreadState[3] {
        context: ContextId Delta,
        call: FrameId Delta,
        state: State Plain,
    }
    Sample[8] {
        thread: ThreadId Delta,
        time: Ticks Delta,
        stack: StackId Plain,
        thread_state: ThreadStateId Plain,
        cpu: u16 Plain,
        kind: SampleKind Plain,
        ; within region: Instance, task: Instance
    }
    Sum[6] {
        thread_state: ThreadStateId Delta,
        thread: ThreadId Delta,
        slice: SliceOf Delta,
        scheduling: Scheduling Plain,
        time: Nanos Plain,
        count: u32 Plain,
    }
    Blame[5] {
        thread_state: ThreadStateId Delta,
        thread: ThreadId Delta,
        slice: SliceOf Delta,
        scheduling: Scheduling Plain,
        time: Nanos Plain,
    }
    Interval[7] {
        start: Ticks Delta,
        thread: ThreadId Delta,
        length: Ticks Plain,
        thread_state: ThreadStateId Delta,
        scheduling: Scheduling Plain,
        ; within region: Instance, task: Instance
    }
    RegionSum[6] {
        context: ContextId Delta,
        thread: ThreadId Delta,
        slice: SliceOf Delta,
        instances: u32 Plain,
        elapsed: Nanos Plain,
        team: u16 Plain,
    }
    RegionSpan[7] {
        start: Ticks Delta,
        context: ContextId Delta,
        thread: ThreadId Delta,
        length: Ticks Plain,
        team: u16 Plain,
        ; within region: Instance, task: Instance
    }
    RegionWork[6] {
        context: ContextId Delta,
        thread: ThreadId Delta,
        slice: SliceOf Delta,
        capacity: Nanos Plain,
        longest: Nanos Plain,
        mean: Nanos Plain,
    }
    Loop[3] {
        call: FrameId Delta,
        schedule: Schedule Plain,
        clause: LoopClause Plain,
    }
    LoopSum[10] {
        construct: LoopId Delta,
        thread: ThreadId Delta,
        slice: SliceOf Delta,
        chunk: u64 Plain,
        instances: u64 Plain,
        iterations: u64 Plain,
        chunks: u64 Plain,
        time: Nanos Plain,
        calls_time: Nanos Plain,
        calls: u64 Plain,
    }
    Lock[5] {
        process: ProcessId Plain,
        kind: Mutex Plain,
        address: u64 Delta,
        variable: FrameId Delta,
        init: FrameId Delta,
    }
    Object[2] {
        variable: FrameId Delta,
        allocation: FrameId Delta,
    }
    LockSum[9] {
        lock: LockId Delta,
        call: FrameId Delta,
        thread: ThreadId Delta,
        slice: SliceOf Delta,
        acquisitions: u64 Plain,
        contended: u64 Plain,
        wait: Nanos Plain,
        held: Nanos Plain,
        longest: Nanos Plain,
    }
    LockWait[5] {
        lock: LockId Delta,
        waiter: FrameId Delta,
        holder: FrameId Delta,
        count: u64 Plain,
        time: Nanos Plain,
    }
    MpiCall[11] {
        thread: ThreadId Delta,
        start: Moment Delta,
        length: Moment Plain,
        count: u32 Plain,
        function: u16 Plain,
        call: FrameId Delta,
        comm: u32 Plain,
        peer: u32 Plain,
        object: ObjectId Delta,
        sent: u64 Plain,
        received: u64 Plain,
    }
    MpiMessage[8] {
        thread: ThreadId Delta,
        end: MessageEnd Plain,
        posted: Moment Delta,
        length: Nanos Plain,
        peer: u32 Plain,
        tag: u32 Plain,
        comm: u32 Plain,
        bytes: u64 Plain,
    }
    CpuUse[7] {
        thread: ThreadId Delta,
        cpu: u16 Plain,
        migrations: u64 Plain,
        voluntary: u64 Plain,
        involuntary: u64 Plain,
        minor_faults: u64 Plain,
        major_faults: u64 Plain,
    }
    Span[5] {
        process: ProcessId Delta,
        kind: SpanKind Plain,
        phase: PhaseId Delta,
        start: Moment Delta,
        length: Moment Plain,
    }
    PhaseSum[6] {
        thread: ThreadId Delta,
        slice: SliceOf Delta,
        phase: PhaseId Delta,
        state: State Plain,
        scheduling: Scheduling Plain,
        time: Nanos Plain,
    }
    SamplePoint[8] {
        time: Moment Delta,
        process: ProcessId Delta,
        kind: PointKind Plain,
        name: NameId Plain,
        user: Nanos Delta,
        system: Nanos Delta,
        minor_faults: u64 Delta,
        major_faults: u64 Delta,
    }
    TaskSpan[6] {
        start: Ticks Delta,
        context: ContextId Delta,
        thread: ThreadId Delta,
        length: Ticks Plain,
        ; within region: Instance, task: Instance
    }
}

/// The index of the row that lies `back` rows before `index`.
fn earlier(index: u64, back: u64, itself: &'static str) -> Result<u32, Corrupt> {
    let earlier = index.checked_sub(back);
    let earlier = earlier.filter(|&earlier| earlier < index);
    narrow(earlier.ok_or(Corrupt(itself))?)
}

impl Row<2> for Stack {
    const CODINGS: [Coding; 2] = [Plain, Plain];

    /// A new stack's callers are mostly the row before it, so the distance is stored.
    fn numbers(&self, index: u64) -> [u64; 2] {
        let entry = match self.entry {
            StackEntry::Frame(frame) => u64::from(frame.0) << 1,
            StackEntry::Cut(cut) => (cut as u64) << 1 | 1,
        };
        [index.wrapping_sub(u64::from(self.callers.0)), entry]
    }

    fn row([back, entry]: [u64; 2], index: u64, known: &Known) -> Result<Self, Corrupt> {
        Ok(Stack {
            callers: StackId(earlier(index, back, "a stack is its own caller")?),
            entry: match entry & 1 {
                0 => StackEntry::Frame(known.id(entry >> 1)?),
                _ => StackEntry::Cut(known.id(entry >> 1)?),
            },
        })
    }
}

impl Row<2> for Phase {
    const CODINGS: [Coding; 2] = [Plain, Plain];

    fn numbers(&self, index: u64) -> [u64; 2] {
        let back = index.wrapping_sub(u64::from(self.parent.0));
        [back, u64::from(self.name.0)]
    }

    fn row([back, name]: [u64; 2], index: u64, known: &Known) -> Result<Self, Corrupt> {
        Ok(Phase {
            parent: PhaseId(earlier(index, back, "a phase lies in itself")?),
            name: known.id(name)?,
        })
    }
}

impl Row<5> for Context {
    const CODINGS: [Coding; 5] = [Plain, Delta, Plain, Plain, Plain];

    fn numbers(&self, index: u64) -> [u64; 5] {
        let back = index.wrapping_sub(u64::from(self.parent.0));
        let (stack, body) = (u64::from(self.stack.0), u64::from(self.body.0));
        let python = u64::from(self.python.0);
        [back, stack, self.kind as u64, body, python]
    }

    fn row(
        [back, stack, kind, body, python]: [u64; 5],
        index: u64,
        known: &Known,
    ) -> Result<Self, Corrupt> {
        Ok(Context {
            parent: ContextId(earlier(index, back, "a context is its own parent")?),
            kind: known.id(kind)?,
            stack: known.id(stack)?,
            python: known.id(python)?,
            body: known.id(body)?,
        })
    }
}

/// A thread with its index, since threads are written again when they change.
pub(crate) struct ThreadRow(pub(crate) u32, pub(crate) Thread);

impl Row<7> for ThreadRow {
    const CODINGS: [Coding; 7] = [Delta, Delta, Delta, Delta, Plain, Plain, Plain];

    fn numbers(&self, _: u64) -> [u64; 7] {
        let ThreadRow(id, thread) = self;
        [
            u64::from(*id),
            u64::from(thread.process.0),
            thread.tid as u64,
            thread.birth.0,
            optional(thread.death.map(|death| death.0)),
            thread.kind as u64,
            u64::from(thread.name.0),
        ]
    }

    fn row(numbers: [u64; 7], _: u64, known: &Known) -> Result<Self, Corrupt> {
        let [id, process, tid, birth, death, kind, name] = numbers;
        let thread = Thread {
            process: known.id(process)?,
            tid: i32::try_from(tid as i64).map_err(|_| Corrupt("a thread id beyond 32 bits"))?,
            birth: moment(birth)?,
            death: death.checked_sub(1).map(moment).transpose()?,
            kind: known.id(kind)?,
            name: known.id(name)?,
        };
        Ok(ThreadRow(narrow(id)?, thread))
    }
}

impl Row<11> for TaskSum {
    const CODINGS: [Coding; 11] = [
        Delta, Delta, Delta, Plain, Plain, Plain, Plain, Plain, Plain, Plain, Plain,
    ];

    fn numbers(&self, _: u64) -> [u64; 11] {
        [
            u64::from(self.context.0),
            u64::from(self.thread.0),
            u64::from(self.slice),
            u64::from(self.instances),
            u64::from(self.unfinished),
            u64::from(self.elsewhere),
            self.work.0,
            self.least.0,
            self.most.0,
            self.squares as u64,
            (self.squares >> 64) as u64,
        ]
    }

    fn row(numbers: [u64; 11], _: u64, known: &Known) -> Result<Self, Corrupt> {
        let [
            context,
            thread,
            slice,
            instances,
            unfinished,
            elsewhere,
            rest @ ..,
        ] = numbers;
        let [work, least, most, squares, squares_above] = rest;
        Ok(TaskSum {
            slice: SliceOf::value(slice, known)?,
            context: known.id(context)?,
            thread: known.id(thread)?,
            instances: narrow(instances)?,
            unfinished: narrow(unfinished)?,
            elsewhere: narrow(elsewhere)?,
            work: below(MOST_TIME, work)?,
            least: below(MOST_TIME, least)?,
            most: below(MOST_TIME, most)?,
            squares: u128::from(squares_above) << 64 | u128::from(squares),
        })
    }
}
