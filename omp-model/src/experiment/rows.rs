//! Rows as columns: what every kind of row stores, and how it is held against the tables.

use super::TICK;
use super::coding::{Corrupt, unzigzag, zigzag};
use super::column::{Decoder, Encoder};
use crate::ids::{ContextId, FrameId, ModuleId, Nanos, ProcessId, StackId, TagId, ThreadId};
use crate::rows::{
    Blame, Interval, RegionSpan, RegionSum, RegionWork, Sum, TaskSpan, TaskSum, Within,
};
use crate::state::{Presence, State};
use crate::tables::{
    Context, ContextKind, Cut, Frame, Stack, StackEntry, Tables, Tag, Thread, ThreadKind,
};

/// How many rows each table holds: a row may only point below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) processes: u32,
    pub(super) threads: u32,
    pub(super) modules: u32,
    pub(super) frames: u32,
    pub(super) stacks: u32,
    pub(super) contexts: u32,
    pub(super) tags: u32,
}

impl Known {
    /// Of rows that were never in a file: what they point to is their maker's part.
    pub(super) const ANY: Known = Known {
        processes: u32::MAX,
        threads: u32::MAX,
        modules: u32::MAX,
        frames: u32::MAX,
        stacks: u32::MAX,
        contexts: u32::MAX,
        tags: u32::MAX,
    };

    pub(super) fn of(tables: &Tables) -> Known {
        Known {
            processes: tables.processes.len() as u32,
            threads: tables.threads.len() as u32,
            modules: tables.modules.len() as u32,
            frames: tables.frames.len() as u32,
            stacks: tables.stacks.len() as u32,
            contexts: tables.contexts.len() as u32,
            tags: tables.tags.len() as u32,
        }
    }

    pub(super) fn process(&self, id: u64) -> Result<ProcessId, Corrupt> {
        below(id, self.processes, "a process").map(ProcessId)
    }

    pub(super) fn thread(&self, id: u64) -> Result<ThreadId, Corrupt> {
        below(id, self.threads, "a thread").map(ThreadId)
    }

    pub(super) fn module(&self, id: u64) -> Result<ModuleId, Corrupt> {
        below(id, self.modules, "a load object").map(ModuleId)
    }

    pub(super) fn frame(&self, id: u64) -> Result<FrameId, Corrupt> {
        below(id, self.frames, "a frame").map(FrameId)
    }

    pub(super) fn stack(&self, id: u64) -> Result<StackId, Corrupt> {
        below(id, self.stacks, "a stack").map(StackId)
    }

    pub(super) fn context(&self, id: u64) -> Result<ContextId, Corrupt> {
        below(id, self.contexts, "a context").map(ContextId)
    }

    pub(super) fn tag(&self, id: u64) -> Result<TagId, Corrupt> {
        below(id, self.tags, "a tag").map(TagId)
    }
}

fn below(id: u64, count: u32, what: &'static str) -> Result<u32, Corrupt> {
    if id < u64::from(count) {
        Ok(id as u32)
    } else {
        Err(Corrupt(what))
    }
}

/// A number that its type can hold.
fn narrow<T: TryFrom<u64>>(value: u64) -> Result<T, Corrupt> {
    T::try_from(value).map_err(|_| Corrupt("a number is too wide for its column"))
}

fn presence(value: u64) -> Result<Presence, Corrupt> {
    u8::try_from(value)
        .ok()
        .and_then(Presence::from_u8)
        .ok_or(Corrupt("an unknown presence"))
}

/// Whole ticks, rounded down.
pub(super) const fn ticks(time: Nanos) -> u64 {
    time.0 / TICK.0
}

/// From tick to tick, so that what follows without a gap still does.
const fn length_ticks(start: Nanos, length: Nanos) -> u64 {
    ticks(Nanos(start.0.saturating_add(length.0))) - ticks(start)
}

fn nanos(ticks: u64) -> Result<Nanos, Corrupt> {
    let nanos = ticks.checked_mul(TICK.0);
    nanos.map(Nanos).ok_or(Corrupt("a time beyond 64 bits"))
}

/// `None` as 0.
pub(super) fn optional(value: Option<u64>) -> u64 {
    value.map_or(0, |value| value.saturating_add(1))
}

/// A kind of row that is stored as `N` columns, the first of them dense.
pub(super) trait Row<const N: usize>: Sized {
    /// Columns that hold the difference to the row before.
    const DELTA: [bool; N];

    /// The row's numbers; `index` is its place in the table that it belongs to.
    fn numbers(&self, index: u64) -> [u64; N];

    /// The row of such numbers, if all that it points to is there.
    fn row(numbers: [u64; N], index: u64, known: &Known) -> Result<Self, Corrupt>;
}

/// Appends `rows`, the first of which stands at `first` in its table.
pub(super) fn encode<R: Row<N>, const N: usize>(encoder: &mut Encoder, rows: &[R], first: u64) {
    encode_by(encoder, rows, first, |numbers| numbers);
}

/// The same with some numbers `stored` otherwise, by those to the left of them and in earlier rows.
pub(super) fn encode_by<R: Row<N>, const N: usize>(
    encoder: &mut Encoder,
    rows: &[R],
    first: u64,
    mut stored: impl FnMut([u64; N]) -> [u64; N],
) {
    encoder.number(rows.len() as u64);
    let mut before = [0; N];
    encoder.table(rows.iter().zip(first..).map(|(row, index)| {
        let numbers = stored(row.numbers(index));
        let stored: [u64; N] = std::array::from_fn(|column| match R::DELTA[column] {
            true => zigzag(numbers[column].wrapping_sub(before[column]) as i64),
            false => numbers[column],
        });
        before = numbers;
        stored
    }));
}

/// Reads what [`encode`] wrote, row by row.
pub(super) fn decode<R: Row<N>, const N: usize>(
    decoder: &mut Decoder<'_, '_>,
    first: u64,
    known: &Known,
    each: impl FnMut(R) -> Result<(), Corrupt>,
) -> Result<(), Corrupt> {
    decode_by(decoder, first, known, |stored| stored, each)
}

/// Reads what [`encode_by`] wrote.
pub(super) fn decode_by<R: Row<N>, const N: usize>(
    decoder: &mut Decoder<'_, '_>,
    first: u64,
    known: &Known,
    mut loaded: impl FnMut([u64; N]) -> [u64; N],
    mut each: impl FnMut(R) -> Result<(), Corrupt>,
) -> Result<(), Corrupt> {
    let rows = decoder.rows()?;
    let mut before = [0_u64; N];
    for (stored, index) in decoder.table::<N>(rows)?.zip(first..) {
        let numbers = std::array::from_fn(|column| match R::DELTA[column] {
            true => before[column].wrapping_add(unzigzag(stored[column]) as u64),
            false => stored[column],
        });
        before = numbers;
        each(R::row(loaded(numbers), index, known)?)?;
    }
    Ok(())
}

impl Row<2> for Frame {
    const DELTA: [bool; 2] = [true, false];

    fn numbers(&self, _: u64) -> [u64; 2] {
        [self.address, u64::from(self.module.0)]
    }

    fn row([address, module]: [u64; 2], _: u64, known: &Known) -> Result<Self, Corrupt> {
        Ok(Frame {
            module: known.module(module)?,
            address,
        })
    }
}

impl Row<2> for Stack {
    const DELTA: [bool; 2] = [false, false];

    /// A new stack's callers are mostly the row before it: how far back they lie is small.
    fn numbers(&self, index: u64) -> [u64; 2] {
        let entry = match self.entry {
            StackEntry::Frame(frame) => u64::from(frame.0) << 1,
            StackEntry::Cut(cut) => (cut as u64) << 1 | 1,
        };
        [index.wrapping_sub(u64::from(self.callers.0)), entry]
    }

    fn row([back, entry]: [u64; 2], index: u64, known: &Known) -> Result<Self, Corrupt> {
        let callers = index
            .checked_sub(back)
            .filter(|&callers| callers < index)
            .ok_or(Corrupt("a stack is its own caller"))?;
        Ok(Stack {
            callers: StackId(narrow(callers)?),
            entry: match entry & 1 {
                0 => StackEntry::Frame(known.frame(entry >> 1)?),
                _ => StackEntry::Cut(
                    *usize::try_from(entry >> 1)
                        .ok()
                        .and_then(|number| Cut::ALL.get(number))
                        .ok_or(Corrupt("an unknown reason of a cut stack"))?,
                ),
            },
        })
    }
}

/// Bits of a context's last column that are its kind; above them stands its body, none as 0.
const CONTEXT_KIND_BITS: u32 = 2;

impl Row<3> for Context {
    const DELTA: [bool; 3] = [false, true, false];

    fn numbers(&self, index: u64) -> [u64; 3] {
        let back = index.wrapping_sub(u64::from(self.parent.0));
        let made = u64::from(self.body.0) << CONTEXT_KIND_BITS | self.kind as u64;
        [back, u64::from(self.stack.0), made]
    }

    fn row([back, stack, made]: [u64; 3], index: u64, known: &Known) -> Result<Self, Corrupt> {
        let kind = made & ((1 << CONTEXT_KIND_BITS) - 1);
        let parent = index
            .checked_sub(back)
            .filter(|&parent| parent < index)
            .ok_or(Corrupt("a context is its own parent"))?;
        Ok(Context {
            parent: ContextId(narrow(parent)?),
            kind: ContextKind::from_u8(narrow(kind)?).ok_or(Corrupt("an unknown context"))?,
            stack: known.stack(stack)?,
            body: known.frame(made >> CONTEXT_KIND_BITS)?,
        })
    }
}

impl Row<3> for Tag {
    const DELTA: [bool; 3] = [true, true, false];

    fn numbers(&self, _: u64) -> [u64; 3] {
        let context = u64::from(self.context.0);
        [context, u64::from(self.place.0), self.state as u64]
    }

    fn row([context, place, state]: [u64; 3], _: u64, known: &Known) -> Result<Self, Corrupt> {
        Ok(Tag {
            state: State::from_u8(narrow(state)?).ok_or(Corrupt("an unknown state"))?,
            context: known.context(context)?,
            place: known.frame(place)?,
        })
    }
}

/// A thread and its place in the table, since threads are written again when they change.
pub(super) struct ThreadRow(pub(super) u32, pub(super) Thread);

impl Row<6> for ThreadRow {
    const DELTA: [bool; 6] = [true, true, true, true, false, false];

    fn numbers(&self, _: u64) -> [u64; 6] {
        let ThreadRow(id, thread) = self;
        [
            u64::from(*id),
            u64::from(thread.process.0),
            thread.tid as u64,
            thread.birth.0,
            optional(thread.death.map(|death| death.0)),
            thread.kind as u64,
        ]
    }

    fn row(numbers: [u64; 6], _: u64, known: &Known) -> Result<Self, Corrupt> {
        let [id, process, tid, birth, death, kind] = numbers;
        let thread = Thread {
            process: known.process(process)?,
            tid: i32::try_from(tid as i64).map_err(|_| Corrupt("a thread id beyond 32 bits"))?,
            birth: Nanos(birth),
            death: death.checked_sub(1).map(Nanos),
            kind: match kind {
                0 => ThreadKind::Outside,
                1 => ThreadKind::Initial,
                2 => ThreadKind::Worker,
                3 => ThreadKind::Other,
                _ => return Err(Corrupt("an unknown kind of thread")),
            },
        };
        Ok(ThreadRow(narrow(id)?, thread))
    }
}

impl Row<6> for Sum {
    const DELTA: [bool; 6] = [true, true, true, false, false, false];

    fn numbers(&self, _: u64) -> [u64; 6] {
        [
            u64::from(self.tag.0),
            u64::from(self.thread.0),
            u64::from(self.slice),
            self.presence as u64,
            self.time.0,
            u64::from(self.count),
        ]
    }

    fn row(numbers: [u64; 6], _: u64, known: &Known) -> Result<Self, Corrupt> {
        let [tag, thread, slice, presence_number, time, count] = numbers;
        Ok(Sum {
            slice: narrow(slice)?,
            thread: known.thread(thread)?,
            tag: known.tag(tag)?,
            presence: presence(presence_number)?,
            time: Nanos(time),
            count: narrow(count)?,
        })
    }
}

impl Row<5> for Blame {
    const DELTA: [bool; 5] = [true, true, true, false, false];

    fn numbers(&self, _: u64) -> [u64; 5] {
        [
            u64::from(self.tag.0),
            u64::from(self.thread.0),
            u64::from(self.slice),
            self.presence as u64,
            self.time.0,
        ]
    }

    fn row(numbers: [u64; 5], _: u64, known: &Known) -> Result<Self, Corrupt> {
        let [tag, thread, slice, presence_number, time] = numbers;
        Ok(Blame {
            slice: narrow(slice)?,
            thread: known.thread(thread)?,
            tag: known.tag(tag)?,
            presence: presence(presence_number)?,
            time: Nanos(time),
        })
    }
}

impl Row<7> for Interval {
    const DELTA: [bool; 7] = [true, true, false, true, false, false, true];

    fn numbers(&self, _: u64) -> [u64; 7] {
        [
            ticks(self.start),
            u64::from(self.thread.0),
            length_ticks(self.start, self.length),
            u64::from(self.tag.0),
            self.presence as u64,
            self.within.region,
            self.within.task,
        ]
    }

    fn row(numbers: [u64; 7], _: u64, known: &Known) -> Result<Self, Corrupt> {
        let [start, thread, length, tag, presence_number, region, task] = numbers;
        Ok(Interval {
            thread: known.thread(thread)?,
            start: nanos(start)?,
            length: nanos(length)?,
            tag: known.tag(tag)?,
            presence: presence(presence_number)?,
            within: Within { region, task },
        })
    }
}

impl Row<6> for RegionSum {
    const DELTA: [bool; 6] = [true, true, true, false, false, false];

    fn numbers(&self, _: u64) -> [u64; 6] {
        [
            u64::from(self.context.0),
            u64::from(self.thread.0),
            u64::from(self.slice),
            u64::from(self.instances),
            self.elapsed.0,
            u64::from(self.team),
        ]
    }

    fn row(numbers: [u64; 6], _: u64, known: &Known) -> Result<Self, Corrupt> {
        let [context, thread, slice, instances, elapsed, team] = numbers;
        Ok(RegionSum {
            slice: narrow(slice)?,
            context: known.context(context)?,
            thread: known.thread(thread)?,
            instances: narrow(instances)?,
            elapsed: Nanos(elapsed),
            team: narrow(team)?,
        })
    }
}

impl Row<7> for RegionSpan {
    const DELTA: [bool; 7] = [true, true, true, false, false, false, true];

    fn numbers(&self, _: u64) -> [u64; 7] {
        [
            ticks(self.start),
            u64::from(self.context.0),
            u64::from(self.thread.0),
            length_ticks(self.start, self.length),
            u64::from(self.team),
            self.within.region,
            self.within.task,
        ]
    }

    fn row(numbers: [u64; 7], _: u64, known: &Known) -> Result<Self, Corrupt> {
        let [start, context, thread, length, team, region, task] = numbers;
        Ok(RegionSpan {
            context: known.context(context)?,
            thread: known.thread(thread)?,
            start: nanos(start)?,
            length: nanos(length)?,
            team: narrow(team)?,
            within: Within { region, task },
        })
    }
}

impl Row<6> for TaskSpan {
    const DELTA: [bool; 6] = [true, true, true, false, true, true];

    fn numbers(&self, _: u64) -> [u64; 6] {
        [
            ticks(self.start),
            u64::from(self.context.0),
            u64::from(self.thread.0),
            length_ticks(self.start, self.length),
            self.within.region,
            self.within.task,
        ]
    }

    fn row(numbers: [u64; 6], _: u64, known: &Known) -> Result<Self, Corrupt> {
        let [start, context, thread, length, region, task] = numbers;
        Ok(TaskSpan {
            context: known.context(context)?,
            thread: known.thread(thread)?,
            start: nanos(start)?,
            length: nanos(length)?,
            within: Within { region, task },
        })
    }
}

impl Row<6> for RegionWork {
    const DELTA: [bool; 6] = [true, true, true, false, false, false];

    fn numbers(&self, _: u64) -> [u64; 6] {
        [
            u64::from(self.context.0),
            u64::from(self.thread.0),
            u64::from(self.slice),
            self.capacity.0,
            self.longest.0,
            self.mean.0,
        ]
    }

    fn row(numbers: [u64; 6], _: u64, known: &Known) -> Result<Self, Corrupt> {
        let [context, thread, slice, capacity, longest, mean] = numbers;
        Ok(RegionWork {
            slice: narrow(slice)?,
            context: known.context(context)?,
            thread: known.thread(thread)?,
            capacity: Nanos(capacity),
            longest: Nanos(longest),
            mean: Nanos(mean),
        })
    }
}

impl Row<10> for TaskSum {
    const DELTA: [bool; 10] = [
        true, true, true, false, false, false, false, false, false, false,
    ];

    /// The squares' upper half is nearly always 0, and costs two bytes a frame then.
    fn numbers(&self, _: u64) -> [u64; 10] {
        [
            u64::from(self.context.0),
            u64::from(self.thread.0),
            u64::from(self.slice),
            u64::from(self.instances),
            u64::from(self.elsewhere),
            self.work.0,
            self.least.0,
            self.most.0,
            self.squares as u64,
            (self.squares >> 64) as u64,
        ]
    }

    fn row(numbers: [u64; 10], _: u64, known: &Known) -> Result<Self, Corrupt> {
        let [context, thread, slice, instances, elsewhere, rest @ ..] = numbers;
        let [work, least, most, squares, squares_above] = rest;
        Ok(TaskSum {
            slice: narrow(slice)?,
            context: known.context(context)?,
            thread: known.thread(thread)?,
            instances: narrow(instances)?,
            elsewhere: narrow(elsewhere)?,
            work: Nanos(work),
            least: Nanos(least),
            most: Nanos(most),
            squares: u128::from(squares_above) << 64 | u128::from(squares),
        })
    }
}
