//! The program's events, replayed: threads, teams and tasks become strands, their accesses intervals.
//!
//! | module | what |
//! |---|---|
//! | `regions` | threads, teams and their barriers, at which an interval ends |
//! | `explicit`, `work` | tasks; chunks, sections and singles |
//! | `order` | mutexes, and objects that are signalled and awaited |
//! | `accesses` | what strands access, until it is compared |
//! | `compare` | which accesses of an interval race |
//! | `places` | what memory it is, and what a report says of an access |
//! | `program` | what the rules of synchronisation ask |

use std::rc::Rc;

use hashbrown::HashMap;
use ompt::numbers::parallel::{INVOKER_RUNTIME, LEAGUE};
use race_stream::record::{
    Event, MUTEX_DECLARED, MUTEX_DECLARED_SHARED, MUTEX_POSIX, MUTEX_POSIX_SHARED, Record,
    UNWRITTEN, WORK_MASKED,
};

use crate::code::Code;
use crate::contexts::Contexts;
use crate::heap::Heap;
use crate::interval::{Interval, Source};
use crate::lock_order::Lock;
use crate::locksets::{LocksetId, Locksets};
use crate::races::Races;
use crate::rounds::Rounds;
use crate::site::{Base, Bases, ConstructKind, FramePlace, Place, StrandKind};
use crate::strands::{Certainty, Point, StrandId, Strands};
use crate::synchronisation::{Deadlock, Synchronisation};
use crate::tasks::{Siblings, Tasks};
use crate::uninitialised::UnwrittenReads;

mod accesses;
mod compare;
mod explicit;
mod order;
mod places;
mod program;
mod regions;
mod work;

use work::TASKLOOP;

/// A region's number; that of the program itself.
const ROOT: u64 = 0;

/// What a strand is known as.
#[derive(Debug)]
struct Info {
    kind: StrandKind,
    /// The slot of the thread that executes it, and its number in its team.
    thread: u32,
    index: u32,
    /// The region in which it runs.
    region: u64,
    /// What is around it.
    base: Option<Rc<Base>>,
    /// The program asked for the thread's number, or read the thread's own memory, in it or in the task
    /// around it.
    asked: bool,
    /// The implicit task around a chunk, a section or a single; else itself.
    implicit: StrandId,
    /// Of a chunk, a section or a single: the segment of the implicit task that it ended.
    after: u32,
    /// Of a task that a chunk, a section or a single has created, or another such task: the implicit task
    /// around that.
    born: Option<StrandId>,
    /// What it does in iterations of static loops.
    rounds: Option<Box<Rounds>>,
}

/// A team and its current interval.
#[derive(Debug)]
struct Team {
    /// Where it was forked; `None` for the program itself.
    parent: Option<Point>,
    base: Option<Rc<Base>>,
    size: u32,
    /// Barriers passed.
    phase: u32,
    interval: Interval,
    /// Strands that end with the interval.
    strands: Vec<StrandId>,
    /// Its implicit tasks.
    members: Vec<StrandId>,
    /// Strands may run at the same time.
    is_concurrent: bool,
    /// Its threads tell of the ends of all constructs.
    tells_ends: bool,
}

/// A task that a thread is in, with those beneath it suspended.
#[derive(Debug)]
struct TaskFrame {
    region: u64,
    /// The task.
    main: StrandId,
    /// What it is in now: itself, or a chunk, section or single.
    current: StrandId,
    /// An address above its own frames; 0: above all.
    frame: u64,
    phase: u32,
    locks: LocksetId,
    /// The worksharing construct that it is in: `ompt_work_t`, and the construct around its strands.
    work: Option<(u8, Rc<Base>)>,
    /// Its children, and the groups that it is in.
    siblings: Siblings,
    /// The task's number; 0: implicit.
    task: u64,
}

/// A thread.
#[derive(Debug, Default)]
struct Thread {
    stack: (u64, u64),
    tls: (u64, u64),
    tasks: Vec<TaskFrame>,
    /// Frames of its stack, outermost first: the call that made each, and registers in it.
    frames: Vec<FramePlace>,
    /// The program has ever asked for its number.
    asked: bool,
}

/// Where an object was signalled and offered.
#[derive(Debug, Default)]
struct Signals {
    points: Vec<(Point, Certainty)>,
    /// The strand that comes after all of them, with the certainty of each.
    last: Option<StrandId>,
}

/// A mutex that somebody holds or held.
#[derive(Clone, Debug, Default)]
struct Mutex {
    holder: Option<StrandId>,
    /// Where it was released last by one that no other may have held it with.
    released: Option<Point>,
    /// Where others have released it since then.
    shared: Vec<Point>,
    /// Former holders whose release is not told yet: a runtime may tell of it after the next thread
    /// has the mutex.
    late: Vec<StrandId>,
}

/// Everything known of the program.
#[derive(Debug, Default)]
pub struct Replay {
    strands: Strands,
    infos: HashMap<StrandId, Info>,
    locksets: Locksets,
    contexts: Contexts,
    heap: Heap,
    threads: HashMap<u32, Thread>,
    teams: HashMap<u64, Team>,
    tasks: Tasks,
    /// Untied tasks that no thread executes at the moment.
    untied: HashMap<u64, TaskFrame>,
    /// Constructs in regions that have ended.
    bases: Bases,
    sources: Vec<Source>,
    source_numbers: HashMap<Source, u32>,
    /// By source: the worksharing loop that executes it once in each iteration.
    loops: Vec<Option<u64>>,
    rounds_left_out: u64,
    /// Bytes that the accesses of one interval may take.
    most_bytes: Option<usize>,
    accesses_left_out: u64,
    /// Where objects were signalled and offered.
    signals: HashMap<u64, Signals>,
    /// The creations of threads that have not begun yet.
    creations: HashMap<u64, Rc<Base>>,
    mutexes: HashMap<(u8, u64), Mutex>,
    races: Races,
    unwritten: UnwrittenReads,
    accesses: u64,
    threads_seen: u64,
    synchronisation: Option<Box<Synchronisation>>,
    /// What memory the locks of findings are.
    lock_places: HashMap<Lock, Place>,
}

impl Replay {
    /// Looks for deadlocks and misuse, too.
    pub fn watch(&mut self, synchronisation: Synchronisation) {
        self.synchronisation = Some(Box::new(synchronisation));
    }

    /// Sets a limit to the memory of one interval's accesses: once they take so many bytes after a
    /// compaction, those that follow in the interval are counted, and not compared.
    pub fn limit(&mut self, bytes: usize) {
        self.most_bytes = Some(bytes);
    }

    /// What is known of deadlocks and misuse, if they are looked for.
    pub fn synchronisation(&mut self) -> Option<&mut Synchronisation> {
        self.synchronisation.as_deref_mut()
    }

    /// The threads that wait forever, now.
    pub fn hang(&mut self) -> Option<Deadlock> {
        let hang = self.synchronisation.as_deref()?.hang()?;
        for waiter in &hang.waiters {
            let held = waiter.holds.as_ref().map(|(lock, _)| *lock);
            waiter
                .wants
                .into_iter()
                .chain(held)
                .for_each(|lock| self.note_lock(lock));
        }
        Some(hang)
    }

    /// What memory the locks of findings are, unless it is known by their addresses alone.
    pub fn lock_places(&self) -> &HashMap<Lock, Place> {
        &self.lock_places
    }

    /// What comes next in the thread's stream. `code` is the program's. `false`: it makes no
    /// sense after what came before, and nothing has changed.
    pub fn record(&mut self, slot: u32, record: Record, code: &mut dyn Code) -> bool {
        match record {
            Record::Run(run) if !run.is_in_memory() => {}
            Record::Run(run) if run.kind & UNWRITTEN != 0 => self.read_unwritten(slot, &run, code),
            Record::Run(run) => self.run(slot, &run, code),
            Record::Context {
                id,
                parent,
                code: call,
            } => return self.contexts.define(slot, id, parent, call),
            Record::Stack(id, stack) => {
                let calls = code.calls(&stack);
                return self.contexts.define_stack(slot, id, &calls);
            }
            Record::Event(_, Event::AsksThread { code: call })
                if call != 0 && code.is_of_directive(call) => {}
            // Regions lie within older ones.
            Record::Event(_, Event::Fork { region, .. })
                if region == ROOT || self.teams.contains_key(&region) =>
            {
                return false;
            }
            Record::Event(number, event) => self.event(slot, number, event),
        }
        true
    }

    /// The program has ended.
    pub fn finish(&mut self) {
        let mut open: Vec<u64> = self
            .teams
            .keys()
            .copied()
            .filter(|id| *id != ROOT)
            .collect();
        // Inner teams were forked later.
        open.sort_unstable_by_key(|id| {
            let parent = self.teams.get(id).and_then(|team| team.parent);
            std::cmp::Reverse(parent.map(|point| point.strand))
        });
        for region in open {
            self.end_interval(region);
        }
        self.end_interval(ROOT);
    }

    /// The races found.
    pub fn races(&self) -> &Races {
        &self.races
    }

    /// The reads of unwritten memory.
    pub fn unwritten(&self) -> &UnwrittenReads {
        &self.unwritten
    }

    /// The calling contexts to which the races refer.
    pub fn contexts(&self) -> &Contexts {
        &self.contexts
    }

    /// Accesses, as runs count them.
    pub fn accesses(&self) -> u64 {
        self.accesses
    }

    /// Threads that recorded.
    pub fn threads(&self) -> u64 {
        self.threads_seen
    }

    /// How often the iterations of one thread's loops were not compared, for they were too many.
    pub fn rounds_left_out(&self) -> u64 {
        self.rounds_left_out
    }

    /// Accesses that were not compared, for those of their interval took too much memory.
    pub fn accesses_left_out(&self) -> u64 {
        self.accesses_left_out
    }

    /// Questions about the order of two accesses that were given up.
    pub fn given_up(&self) -> u64 {
        self.strands.given_up()
    }

    /// What these strands do may depend on which thread executes them.
    fn depends_on_thread(&mut self, strands: [StrandId; 2]) {
        for strand in strands {
            if let Some(info) = self.infos.get_mut(&strand) {
                info.asked = true;
            }
        }
    }

    fn event(&mut self, slot: u32, number: u64, event: Event) {
        if let Some(mut synchronisation) = self.synchronisation.take() {
            self.leave_ended_regions(slot);
            synchronisation.event(self, slot, &event);
            for lock in synchronisation.take_found() {
                self.note_lock(lock);
            }
            self.synchronisation = Some(synchronisation);
        }
        match event {
            Event::ThreadBegin {
                stack,
                stack_end,
                tls,
                tls_end,
                created,
                thread: _,
            } => self.begin_thread(slot, number, (stack, stack_end), (tls, tls_end), created),
            Event::ThreadEnd {} => {
                self.leave_ended_regions(slot);
                if let Some(task) = self
                    .threads
                    .get(&slot)
                    .and_then(|thread| thread.tasks.first())
                {
                    self.strands.end(task.main, number);
                }
                self.threads.remove(&slot);
            }
            Event::Frame {
                depth,
                code,
                stack,
                base,
            } => {
                if let Some(thread) = self.threads.get_mut(&slot) {
                    thread.frames.truncate(depth as usize);
                    if let Some(above) = thread.frames.last_mut() {
                        above.calls[0] = code;
                    }
                    thread.frames.push(FramePlace {
                        stack,
                        base,
                        ..FramePlace::default()
                    });
                }
            }
            Event::Alloc {
                address,
                bytes,
                code,
                caller,
                context,
            } => {
                let context = self.contexts.of_thread(slot, context);
                let base = self.top(slot).and_then(|task| self.base_of(task.current));
                let is_in_region = self.top(slot).is_some_and(|task| task.region != ROOT);
                let block = crate::site::Block {
                    address,
                    bytes,
                    code,
                    caller,
                    context,
                    base,
                };
                self.heap.allocate(block, slot, is_in_region);
            }
            Event::Free { address, .. } => self.heap.free(address),
            _ => {
                self.leave_ended_regions(slot);
                if self.is_in_task(slot) {
                    self.task_event(slot, number, event);
                } else if let Event::Implicit {
                    region,
                    index,
                    size,
                    frame,
                } = event
                {
                    self.begin_implicit(slot, number, region, (index, size), frame);
                }
            }
        }
    }

    fn is_in_task(&self, slot: u32) -> bool {
        self.top(slot).is_some()
    }

    fn top(&self, slot: u32) -> Option<&TaskFrame> {
        self.threads.get(&slot)?.tasks.last()
    }

    fn top_mut(&mut self, slot: u32) -> Option<&mut TaskFrame> {
        self.threads.get_mut(&slot)?.tasks.last_mut()
    }

    fn base_of(&self, strand: StrandId) -> Option<Rc<Base>> {
        self.infos.get(&strand).and_then(|info| info.base.clone())
    }

    /// Events of the task that the thread is in.
    fn task_event(&mut self, slot: u32, number: u64, event: Event) {
        let Some(task) = self.top(slot) else {
            return;
        };
        let (current, main, around) = (task.current, task.main, task.region);
        match event {
            Event::Fork {
                region,
                flags,
                code,
                context,
                data,
                body,
                ..
            } => self.fork(
                (slot, current, around),
                region,
                flags,
                (code, context),
                (data, body),
            ),
            // The fork was in a signal handler, and not recorded.
            Event::Join { region: ROOT } => {}
            Event::Join { region } => self.join(slot, current, region),
            Event::Implicit {
                region,
                index,
                size,
                frame,
            } => self.begin_implicit(slot, number, region, (index, size), frame),
            Event::ImplicitEnd { region } => self.end_implicit(slot, region),
            Event::Arrive { .. } => self.end_work_strand(slot, number),
            Event::Leave { .. } => self.leave_barrier(slot),
            Event::Create {
                task,
                flags,
                code,
                context,
                ..
            } => {
                self.note_call(slot, code, (0, 0));
                self.create(slot, number, task, flags, (code, context));
            }
            Event::Depend {
                task,
                address,
                kind,
            } => self.depend(slot, task, address, kind),
            Event::Switch {
                from,
                to,
                status,
                frame,
            } => self.switch(slot, number, (from, to), status, frame),
            Event::Taskwait { .. } => self.wait_for_children(slot, current),
            Event::GroupBegin { .. } => {
                let group = self.tasks.begin_group();
                if let Some(task) = self.top_mut(slot) {
                    task.siblings.groups.push(group);
                }
            }
            Event::GroupEnd { .. } => self.end_group(slot, current),
            // They share no work among the team, and may stand in what does.
            Event::Work {
                kind: WORK_MASKED | TASKLOOP,
                ..
            }
            | Event::WorkEnd {
                kind: WORK_MASKED | TASKLOOP,
            } => {}
            Event::Work {
                kind,
                code,
                context,
                ..
            } => self.begin_work(slot, number, kind, (code, context)),
            Event::WorkEnd { .. } => {
                self.end_work_strand(slot, number);
                if let Some(task) = self.top_mut(slot) {
                    task.work = None;
                }
            }
            Event::Chunk { first, count } => self.chunk(slot, number, first, count),
            event => self.order_event(slot, (current, main), event),
        }
    }

    /// Events that order what the thread does with others, and all that say nothing here.
    fn order_event(&mut self, slot: u32, (current, main): (StrandId, StrandId), event: Event) {
        match event {
            Event::Acquired { kind, lock, .. } => self.acquired(slot, current, kind, lock),
            Event::Released { kind, lock, .. } => self.released(slot, current, kind, lock),
            Event::CreatesThread {
                object,
                code,
                context,
            } => self.create_thread(slot, current, object, (code, context)),
            Event::Signal { object } => self.signal(current, object, Certainty::Certain),
            Event::Offer { object } => self.signal(current, object, Certainty::Chance),
            Event::Await { object } => self.await_signal(current, object, Certainty::Certain),
            Event::Notice { object } => self.await_signal(current, object, Certainty::Chance),
            Event::AsksThread { .. } => {
                if let Some(thread) = self.threads.get_mut(&slot) {
                    thread.asked = true;
                }
                self.depends_on_thread([current, main]);
            }
            _ => {}
        }
    }

    fn fork(
        &mut self,
        (slot, current, around): (u32, StrandId, u64),
        region: u64,
        flags: u32,
        (code, context): (u64, u32),
        (data, body): (u64, u64),
    ) {
        self.note_call(slot, code, (data, body));
        let kind = if flags & LEAGUE != 0 {
            ConstructKind::Teams
        } else {
            ConstructKind::Parallel
        };
        let base = self.construct(slot, current, kind, (code, body), context);
        let parent = self.strands.divide(current);
        let mut team = Team::new(Some(parent), Some(base));
        team.tells_ends = flags & INVOKER_RUNTIME != 0;
        let around = self.teams.get(&around);
        team.is_concurrent = around.is_some_and(|team| team.is_concurrent);
        self.teams.insert(region, team);
    }

    fn end_implicit(&mut self, slot: u32, region: u64) {
        if let Some(thread) = self.threads.get_mut(&slot) {
            thread.tasks.pop_if(|task| task.region == region);
        }
    }

    fn wait_for_children(&mut self, slot: u32, current: StrandId) {
        self.strands.divide(current);
        let children = self.top_mut(slot).map(|task| task.siblings.take_children());
        for child in children.unwrap_or_default() {
            self.join_task(child, current);
        }
    }

    fn end_group(&mut self, slot: u32, current: StrandId) {
        self.strands.divide(current);
        let group = self
            .top_mut(slot)
            .and_then(|task| task.siblings.groups.pop());
        let members = group.map(|group| self.tasks.end_group(group));
        for member in members.unwrap_or_default() {
            self.join_task(member, current);
        }
    }
}

/// Kinds of mutexes that can be one object.
pub(crate) fn family(kind: u8) -> u8 {
    match kind {
        // Lock and nestable lock, and the tests of each.
        1..=4 => 1,
        MUTEX_POSIX_SHARED => MUTEX_POSIX,
        MUTEX_DECLARED_SHARED => MUTEX_DECLARED,
        other => other,
    }
}

impl Team {
    fn new(parent: Option<Point>, base: Option<Rc<Base>>) -> Team {
        Team {
            parent,
            base,
            size: 0,
            phase: 0,
            interval: Interval::default(),
            strands: Vec::new(),
            members: Vec::new(),
            is_concurrent: false,
            tells_ends: false,
        }
    }
}

impl TaskFrame {
    fn new(region: u64, strand: StrandId, frame: u64) -> TaskFrame {
        TaskFrame {
            region,
            main: strand,
            current: strand,
            frame,
            phase: 0,
            locks: LocksetId::default(),
            work: None,
            siblings: Siblings::default(),
            task: 0,
        }
    }
}
