//! Rows as columns: what every kind of row stores, and how it is held against the tables.

use crate::TICK;
use crate::column::{Corrupt, Decoder, Encoder, unzigzag, zigzag};
use crate::ids::{ContextId, FrameId, ModuleId, Nanos, ProcessId, StackId, TagId, ThreadId};
use crate::rows::{
    Blame, Interval, RegionSpan, RegionSum, RegionWork, Sample, SampleKind, Sum, TaskSpan, TaskSum,
    Within,
};
use crate::state::{Presence, State};
use crate::tables::{
    Context, ContextKind, Cut, Frame, Stack, StackEntry, Tables, Tag, Thread, ThreadKind,
};

/// How many rows each table holds: a row may only point below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) processes: u32,
    pub(crate) threads: u32,
    pub(crate) modules: u32,
    pub(crate) frames: u32,
    pub(crate) stacks: u32,
    pub(crate) contexts: u32,
    pub(crate) tags: u32,
}

impl Known {
    /// Of rows that were never in a file: what they point to is their maker's part.
    pub(crate) const ANY: Known = Known {
        processes: u32::MAX,
        threads: u32::MAX,
        modules: u32::MAX,
        frames: u32::MAX,
        stacks: u32::MAX,
        contexts: u32::MAX,
        tags: u32::MAX,
    };

    pub(crate) fn of(tables: &Tables) -> Known {
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

    pub(crate) fn process(&self, id: u64) -> Result<ProcessId, Corrupt> {
        below(id, self.processes, "a process").map(ProcessId)
    }

    pub(crate) fn thread(&self, id: u64) -> Result<ThreadId, Corrupt> {
        below(id, self.threads, "a thread").map(ThreadId)
    }

    pub(crate) fn module(&self, id: u64) -> Result<ModuleId, Corrupt> {
        below(id, self.modules, "a load object").map(ModuleId)
    }

    pub(crate) fn frame(&self, id: u64) -> Result<FrameId, Corrupt> {
        below(id, self.frames, "a frame").map(FrameId)
    }

    pub(crate) fn stack(&self, id: u64) -> Result<StackId, Corrupt> {
        below(id, self.stacks, "a stack").map(StackId)
    }

    pub(crate) fn context(&self, id: u64) -> Result<ContextId, Corrupt> {
        below(id, self.contexts, "a context").map(ContextId)
    }

    pub(crate) fn tag(&self, id: u64) -> Result<TagId, Corrupt> {
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
pub(crate) const fn ticks(time: Nanos) -> u64 {
    time.0 / TICK.0
}

/// From tick to tick, so that what follows without a gap still does.
const fn length_ticks(start: Nanos, length: Nanos) -> u64 {
    ticks(Nanos(start.0.saturating_add(length.0))) - ticks(start)
}

pub(crate) fn nanos(ticks: u64) -> Result<Nanos, Corrupt> {
    let nanos = ticks.checked_mul(TICK.0);
    nanos.map(Nanos).ok_or(Corrupt("a time beyond 64 bits"))
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
    /// As differences to the row before.
    Delta,
    /// Ids of instances, of which 0 is none: as differences to the last row that has one. Two that are
    /// 2^63 apart, which no process reaches, would come back as none.
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
    /// How each is stored.
    const CODINGS: [Coding; N];

    /// The row's numbers; `index` is its place in the table that it belongs to.
    fn numbers(&self, index: u64) -> [u64; N];

    /// The row of such numbers, if all that it points to is there.
    fn row(numbers: [u64; N], index: u64, known: &Known) -> Result<Self, Corrupt>;
}

/// Appends `rows`, the first of which stands at `first` in its table.
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

impl Row<8> for Sample {
    const CODINGS: [Coding; 8] = [Delta, Delta, Plain, Plain, Plain, Plain, Instance, Instance];

    fn numbers(&self, _: u64) -> [u64; 8] {
        [
            u64::from(self.thread.0),
            ticks(self.time),
            u64::from(self.stack.0),
            u64::from(self.tag.0),
            u64::from(self.cpu),
            self.kind as u64,
            self.within.region,
            self.within.task,
        ]
    }

    fn row(numbers: [u64; 8], _: u64, known: &Known) -> Result<Self, Corrupt> {
        let [thread, time, stack, tag, cpu, kind, region, task] = numbers;
        Ok(Sample {
            time: nanos(time)?,
            thread: known.thread(thread)?,
            cpu: narrow(cpu)?,
            kind: SampleKind::from_u8(narrow(kind)?).ok_or(Corrupt("an unknown kind of sample"))?,
            stack: known.stack(stack)?,
            tag: known.tag(tag)?,
            within: Within { region, task },
        })
    }
}

impl Row<2> for Frame {
    const CODINGS: [Coding; 2] = [Delta, Plain];

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
    const CODINGS: [Coding; 2] = [Plain, Plain];

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
    const CODINGS: [Coding; 3] = [Plain, Delta, Plain];

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
    const CODINGS: [Coding; 3] = [Delta, Delta, Plain];

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
pub(crate) struct ThreadRow(pub(crate) u32, pub(crate) Thread);

impl Row<6> for ThreadRow {
    const CODINGS: [Coding; 6] = [Delta, Delta, Delta, Delta, Plain, Plain];

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
    const CODINGS: [Coding; 6] = [Delta, Delta, Delta, Plain, Plain, Plain];

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
    const CODINGS: [Coding; 5] = [Delta, Delta, Delta, Plain, Plain];

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
    const CODINGS: [Coding; 7] = [Delta, Delta, Plain, Delta, Plain, Instance, Instance];

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
    const CODINGS: [Coding; 6] = [Delta, Delta, Delta, Plain, Plain, Plain];

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
    const CODINGS: [Coding; 7] = [Delta, Delta, Delta, Plain, Plain, Instance, Instance];

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
    const CODINGS: [Coding; 6] = [Delta, Delta, Delta, Plain, Instance, Instance];

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
    const CODINGS: [Coding; 6] = [Delta, Delta, Delta, Plain, Plain, Plain];

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
    const CODINGS: [Coding; 10] = [
        Delta, Delta, Delta, Plain, Plain, Plain, Plain, Plain, Plain, Plain,
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
