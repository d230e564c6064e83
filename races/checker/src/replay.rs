//! The program's events, replayed: threads, teams and tasks become strands, their accesses intervals.

use std::rc::Rc;

use hashbrown::{HashMap, HashSet};
use race_stream::record::{
    ATOMIC, Event, MUTEX_DECLARED, MUTEX_DECLARED_SHARED, MUTEX_POSIX, MUTEX_POSIX_SHARED, Record,
    Run, UNWRITTEN, WORK_MASKED, WRITE, is_shared,
};

use crate::contexts::Contexts;
use crate::heap::Heap;
use crate::interval::{Access, Comparison, Conflict, Interval, Source};
use crate::lock_order::Lock;
use crate::locksets::{Held, LocksetId, Locksets};
use crate::memory::Piece;
use crate::races::Races;
use crate::rounds::{Loops, Rounds};
use crate::site::{Base, ConstructKind, FramePlace, Place, Site, StrandKind};
use crate::strands::{Certainty, END, Order, Point, StrandId, Strands};
use crate::sweep::Sweep;
use crate::synchronisation::{Deadlock, Synchronisation};
use crate::tasks::{Siblings, Tasks};
use crate::uninitialised::UnwrittenReads;

mod program;

/// `ompt_task_undeferred`.
const UNDEFERRED: u32 = 0x0800_0000;
/// `ompt_task_taskwait`.
const TASKWAIT: u32 = 0x10;
/// `ompt_parallel_league`.
const LEAGUE: u32 = 0x4000_0000;
/// `ompt_parallel_invoker_runtime`: the code is not GCC's, which tells no runtime of a single's end.
const INVOKER_RUNTIME: u32 = 2;

/// `ompt_mutex_t`.
const ORDERED: u8 = 7;

/// A region's number; that of the program itself.
const ROOT: u64 = 0;

/// What a strand is known as.
#[derive(Debug)]
struct Info {
    kind: StrandKind,
    /// The slot of the thread that executes it, and its number in its team.
    thread: u32,
    index: u32,
    /// What is around it.
    base: Option<Rc<Base>>,
    /// The program asked for the thread's number in it, or in the task around it.
    asked: bool,
    /// The implicit task around a chunk, a section or a single; else itself.
    implicit: StrandId,
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
    released: Option<Point>,
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
    sources: Vec<Source>,
    source_numbers: HashMap<Source, u32>,
    /// By source: the worksharing loop that executes it once in each iteration.
    loops: Vec<Option<u64>>,
    /// Where objects were signalled and offered.
    signals: HashMap<u64, Signals>,
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

    /// What comes next in the thread's stream. `loops` are those of the program.
    pub fn record(&mut self, slot: u32, record: Record, loops: &mut dyn Loops) {
        match record {
            Record::Run(run) if run.kind & UNWRITTEN != 0 => self.read_unwritten(slot, &run, loops),
            Record::Run(run) => self.run(slot, &run, loops),
            Record::Context { id, parent, code } => self.contexts.define(slot, id, parent, code),
            Record::Event(_, Event::AsksThread { code })
                if code != 0 && loops.is_of_directive(code) => {}
            Record::Event(number, event) => self.event(slot, number, event),
        }
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

    /// The return addresses of the calls that reported accesses, some of them repeated.
    pub fn codes(&self) -> Vec<u64> {
        self.sources.iter().map(|source| source.code).collect()
    }

    /// Accesses, as runs count them.
    pub fn accesses(&self) -> u64 {
        self.accesses
    }

    /// Threads that recorded.
    pub fn threads(&self) -> u64 {
        self.threads_seen
    }

    /// Questions about the order of two accesses that were given up.
    pub fn given_up(&self) -> u64 {
        self.strands.given_up()
    }

    fn run(&mut self, slot: u32, run: &Run, loops: &mut dyn Loops) {
        self.accesses += u64::from(run.count);
        let Some(task) = self
            .threads
            .get(&slot)
            .and_then(|thread| thread.tasks.last())
        else {
            return;
        };
        let (region, strand, locks) = (task.region, task.current, task.locks);
        let is_implicit = task.task == 0 && task.current == task.main;
        let space = self.space(run.first);
        let source = Source {
            code: run.code,
            context: self.contexts.of_thread(slot, run.context),
            kind: run.kind & (WRITE | ATOMIC),
            size: run.size,
            locks,
        };
        let source = self.source(source, loops);
        let segment = self.strands.here(strand).segment;
        let piece = Piece::of_run(
            space,
            run.first,
            run.size.into(),
            run.stride.into(),
            run.count,
        );
        if let Some(team) = self.teams.get_mut(&region)
            && team.is_concurrent
        {
            if is_implicit
                && let Some(head) = self.loops.get(source as usize).copied().flatten()
                && let Some(info) = self.infos.get_mut(&strand)
            {
                let rounds = info.rounds.get_or_insert_default();
                rounds.add(source, head, segment, space, run);
            }
            for piece in piece.parts() {
                team.interval.add(Access {
                    piece,
                    source,
                    strand,
                    thread: slot,
                    first: segment,
                    last: segment,
                });
            }
            if team.interval.is_due() {
                self.retire(region);
            }
        }
    }

    /// Compares accesses to memory that is another one by now, and forgets them and the tasks that made
    /// no others.
    fn retire(&mut self, region: u64) {
        let Some(team) = self.teams.get_mut(&region) else {
            return;
        };
        let mut interval = std::mem::take(&mut team.interval);
        let strands = std::mem::take(&mut team.strands);
        let mut dead = interval.take(|piece| self.is_dead(piece));
        self.check(&mut dead);
        interval.compact();
        let needed: HashSet<StrandId> = interval.strands().collect();
        // Children come after their parents.
        let mut kept = Vec::new();
        for strand in strands.into_iter().rev() {
            if needed.contains(&strand) || !self.strands.is_spent(strand) {
                kept.push(strand);
            } else {
                self.strands.forget(strand);
                self.infos.remove(&strand);
            }
        }
        kept.reverse();
        self.tasks.retain(|strand| self.strands.is_known(strand));
        if let Some(team) = self.teams.get_mut(&region) {
            (team.interval, team.strands) = (interval, kept);
        }
    }

    /// Whether a piece is of memory that has become another one: a frame of a task that has ended, or a
    /// block that was given back.
    fn is_dead(&self, piece: &Piece) -> bool {
        if let Some(owner) = owner_of(piece.space) {
            return self.strands.is_over(owner);
        }
        let is_other = |address| self.heap.space(address) != piece.space;
        is_other(piece.first) && is_other(piece.end() - 1)
    }

    fn read_unwritten(&mut self, slot: u32, run: &Run, loops: &mut dyn Loops) {
        self.leave_ended_regions(slot);
        let Some(strand) = self.top(slot).map(|task| task.current) else {
            return;
        };
        // The frames of the thread have been told: this is a call in the innermost one.
        let frames = self.threads.get_mut(&slot).map(|thread| &mut thread.frames);
        if let Some(frame) = frames.and_then(|frames| frames.last_mut()) {
            frame.calls[0] = run.code;
        }
        let source = Source {
            code: run.code,
            context: self.contexts.of_thread(slot, run.context),
            kind: run.kind,
            size: run.size,
            locks: LocksetId::default(),
        };
        let source = self.source(source, loops);
        let segment = self.strands.here(strand).segment;
        let access = Access {
            piece: Piece::of_run(0, run.first, run.size.into(), 0, 1),
            source,
            strand,
            thread: slot,
            first: segment,
            last: segment,
        };
        let place = self.place(&access, run.first);
        let mut unwritten = std::mem::take(&mut self.unwritten);
        unwritten.add(source, run.first, place, || self.site(&access));
        self.unwritten = unwritten;
    }

    fn source(&mut self, source: Source, loops: &mut dyn Loops) -> u32 {
        let new = self.sources.len() as u32;
        let number = *self.source_numbers.entry(source).or_insert(new);
        if number == new {
            self.sources.push(source);
            // A function that is called by others is called more than once, and so are its loops.
            let is_body = self.contexts.is_first_call(source.context);
            let around = if is_body {
                loops.around(source.code)
            } else {
                None
            };
            self.loops.push(around);
        }
        number
    }

    /// What memory an address is: on a stack, that of the task whose frame it is in; in recycled
    /// memory, that of one of its users.
    fn space(&self, address: u64) -> u32 {
        match self.stack_owner(address) {
            Some((_, owner)) => space_of(owner),
            None => self.heap.space(address),
        }
    }

    /// The slot of the thread on whose stack an address is, and the task whose frame it is in.
    fn stack_owner(&self, address: u64) -> Option<(u32, StrandId)> {
        let (slot, thread) = self
            .threads
            .iter()
            .find(|(_, thread)| (thread.stack.0..thread.stack.1).contains(&address))?;
        let owner = thread
            .tasks
            .iter()
            .rev()
            .find(|task| task.frame == 0 || address < task.frame)?;
        Some((*slot, owner.main))
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
                context,
            } => {
                let context = self.contexts.of_thread(slot, context);
                let base = self.top(slot).and_then(|task| self.base_of(task.current));
                let is_in_region = self.top(slot).is_some_and(|task| task.region != ROOT);
                let block = crate::site::Block {
                    address,
                    bytes,
                    code,
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
            } => {
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
            Event::Join { region } => self.join(slot, current, region),
            Event::Implicit {
                region,
                index,
                size,
                frame,
            } => self.begin_implicit(slot, number, region, (index, size), frame),
            Event::ImplicitEnd { region } => {
                let thread = self.threads.get_mut(&slot);
                if let Some(thread) = thread
                    && thread
                        .tasks
                        .last()
                        .is_some_and(|task| task.region == region)
                {
                    thread.tasks.pop();
                }
            }
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
            Event::Taskwait { .. } => {
                self.strands.divide(current);
                let children = self.top_mut(slot).map(|task| task.siblings.take_children());
                for child in children.unwrap_or_default() {
                    self.join_task(child, current);
                }
            }
            Event::GroupBegin { .. } => {
                let group = self.tasks.begin_group();
                if let Some(task) = self.top_mut(slot) {
                    task.siblings.groups.push(group);
                }
            }
            Event::GroupEnd { .. } => {
                self.strands.divide(current);
                let group = self
                    .top_mut(slot)
                    .and_then(|task| task.siblings.groups.pop());
                for member in group
                    .map(|group| self.tasks.end_group(group))
                    .unwrap_or_default()
                {
                    self.join_task(member, current);
                }
            }
            Event::Work {
                kind: WORK_MASKED, ..
            }
            | Event::WorkEnd { kind: WORK_MASKED } => {}
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
            Event::Acquired { kind, lock, .. } => self.acquired(slot, current, kind, lock),
            Event::Released { kind, lock, .. } => self.released(slot, current, kind, lock),
            Event::Signal { object } => self.signal(current, object, Certainty::Certain),
            Event::Offer { object } => self.signal(current, object, Certainty::Chance),
            Event::Await { object } => self.await_signal(current, object, Certainty::Certain),
            Event::Notice { object } => self.await_signal(current, object, Certainty::Chance),
            Event::AsksThread { .. } => {
                if let Some(thread) = self.threads.get_mut(&slot) {
                    thread.asked = true;
                }
                for strand in [current, main] {
                    if let Some(info) = self.infos.get_mut(&strand) {
                        info.asked = true;
                    }
                }
            }
            Event::Want { .. }
            | Event::LockInit { .. }
            | Event::LockDestroy { .. }
            | Event::OrderedClause { .. }
            | Event::SetsThreads { .. }
            | Event::ThreadBegin { .. }
            | Event::ThreadEnd {}
            | Event::Frame { .. }
            | Event::Alloc { .. }
            | Event::Free { .. } => {}
        }
    }

    fn begin_thread(
        &mut self,
        slot: u32,
        number: u64,
        stack: (u64, u64),
        tls: (u64, u64),
        created: u64,
    ) {
        self.contexts.begin_thread(slot);
        let mut thread = Thread {
            stack,
            tls,
            ..Thread::default()
        };
        let is_first = self.threads_seen == 0;
        self.threads_seen += 1;
        let root = self
            .teams
            .entry(ROOT)
            .or_insert_with(|| Team::new(None, None));
        if is_first || created != 0 {
            let kind = if is_first {
                StrandKind::Initial
            } else {
                StrandKind::Thread
            };
            let creators = self.signals.get(&created);
            let parent = creators
                .and_then(|creators| creators.points.last())
                .map(|creator| creator.0);
            root.is_concurrent |= !is_first;
            let parent = parent.map(|point| self.at_root(point));
            let strand = self.strands.begin(parent, number);
            self.infos.insert(
                strand,
                Info {
                    kind,
                    thread: slot,
                    index: 0,
                    base: None,
                    asked: false,
                    implicit: strand,
                    rounds: None,
                },
            );
            thread.tasks.push(TaskFrame::new(ROOT, strand, 0));
        }
        self.threads.insert(slot, thread);
    }

    /// The point of the strand outside all regions in which `point` lies.
    fn at_root(&self, point: Point) -> Point {
        let mut point = point;
        while let Some(parent) = self.strands.created(point.strand) {
            let is_root = self
                .infos
                .get(&point.strand)
                .is_none_or(|info| matches!(info.kind, StrandKind::Initial | StrandKind::Thread));
            if is_root {
                break;
            }
            point = self.strands.here(parent.strand);
        }
        point
    }

    /// Leaves implicit tasks of regions that have been joined: their runtime tells of their end late.
    fn leave_ended_regions(&mut self, slot: u32) {
        let Some(thread) = self.threads.get_mut(&slot) else {
            return;
        };
        while thread
            .tasks
            .last()
            .is_some_and(|task| !self.teams.contains_key(&task.region))
        {
            thread.tasks.pop();
        }
    }

    /// The construct at `code` in strand `current`.
    fn construct(
        &self,
        slot: u32,
        current: StrandId,
        kind: ConstructKind,
        (code, body): (u64, u64),
        context: u32,
    ) -> Rc<Base> {
        Rc::new(Base {
            kind,
            code,
            body,
            context: self.contexts.of_thread(slot, context),
            outer: self.base_of(current),
        })
    }

    fn begin_implicit(
        &mut self,
        slot: u32,
        number: u64,
        region: u64,
        (index, size): (u32, u32),
        frame: u64,
    ) {
        let Some(team) = self.teams.get_mut(&region) else {
            return;
        };
        let strand = self.strands.begin(team.parent, number);
        team.size = team.size.max(size);
        team.is_concurrent |= size > 1;
        team.members.push(strand);
        let info = Info {
            kind: StrandKind::Implicit,
            thread: slot,
            index,
            base: team.base.clone(),
            asked: false,
            implicit: strand,
            rounds: None,
        };
        self.infos.insert(strand, info);
        if let Some(thread) = self.threads.get_mut(&slot) {
            // Unknown, on a thread with frames of other tasks: it is not told apart from them.
            let around = thread.tasks.last().map_or(0, |task| task.frame);
            let frame = if frame == 0 { around } else { frame };
            thread.tasks.push(TaskFrame::new(region, strand, frame));
        }
    }

    fn join(&mut self, slot: u32, current: StrandId, region: u64) {
        self.end_interval(region);
        if let Some(team) = self.teams.remove(&region) {
            for member in team.members {
                self.strands.forget(member);
                self.infos.remove(&member);
            }
        }
        self.leave_ended_regions(slot);
        self.strands.divide(current);
        if !self.is_root_concurrent() {
            self.heap.end_interval();
        }
    }

    fn is_root_concurrent(&self) -> bool {
        self.teams.get(&ROOT).is_some_and(|team| team.is_concurrent)
    }

    /// The first thread to leave a barrier ends the interval: all have come to it.
    fn leave_barrier(&mut self, slot: u32) {
        let Some(task) = self.top(slot) else {
            return;
        };
        let (region, phase, current) = (task.region, task.phase, task.current);
        let Some(team) = self.teams.get(&region) else {
            return;
        };
        if phase == team.phase {
            self.end_interval(region);
        }
        let phase = self.teams.get(&region).map_or(0, |team| team.phase);
        self.strands.divide(current);
        if let Some(task) = self.top_mut(slot) {
            task.phase = phase;
            task.siblings.forget();
        }
    }

    /// Compares what the team did since the last barrier, and passes it on to the strand around it.
    fn end_interval(&mut self, region: u64) {
        let Some(team) = self.teams.get_mut(&region) else {
            return;
        };
        team.phase += 1;
        let mut interval = std::mem::take(&mut team.interval);
        let parent = team.parent;
        let ended = std::mem::take(&mut team.strands);
        let members = team.members.clone();
        if !interval.is_empty() {
            self.check(&mut interval);
            for member in &members {
                self.check_rounds(*member);
            }
        }
        if let Some(parent) = parent {
            let around = self.region_of(parent.strand).unwrap_or(region);
            let here = self.strands.here(parent.strand);
            if let Some(team) = self.teams.get_mut(&around).filter(|_| around != region)
                && team.is_concurrent
            {
                for access in interval.into_accesses_of(here) {
                    team.interval.add(access);
                }
                if team.interval.is_due() {
                    self.retire(around);
                }
            }
        }
        let had_tasks = !ended.is_empty();
        for strand in ended {
            self.strands.forget(strand);
            self.infos.remove(&strand);
        }
        if had_tasks {
            self.tasks.retain(|strand| self.infos.contains_key(&strand));
            self.untied
                .retain(|task, _| self.tasks.strand(*task).is_some());
        }
        for member in members {
            self.strands.forget_edges(member);
        }
    }

    /// The region in which a strand runs.
    fn region_of(&self, strand: StrandId) -> Option<u64> {
        let thread = self.infos.get(&strand)?.thread;
        let tasks = &self.threads.get(&thread)?.tasks;
        let found = tasks
            .iter()
            .rev()
            .find(|task| task.current == strand || task.main == strand);
        found.map(|task| task.region)
    }

    fn check(&mut self, interval: &mut Interval) {
        let mut races = std::mem::take(&mut self.races);
        let known = races.all().len();
        let comparison = Comparison {
            sources: &self.sources,
            locksets: &self.locksets,
            strands: &self.strands,
            is_own: &|one, other, address| self.is_own(one, other, address),
        };
        interval.check(&Sweep, comparison, &mut |conflict| {
            let place = self.place(&conflict.accesses[0], conflict.address);
            let sites = || conflict.accesses.map(|access| self.site(&access));
            let sources = conflict.accesses.map(|access| access.source);
            races.add(&conflict, sources, place, sites);
        });
        self.races = races;
        self.note_locks(known);
    }

    /// Notes what memory the locks of races are, from this one on.
    fn note_locks(&mut self, first: usize) {
        let new = self.races.all().iter().skip(first);
        let sites = new.flat_map(|race| &race.sites);
        let locks: Vec<Lock> = sites
            .flat_map(|site| &site.locks)
            .map(|held| held.lock)
            .collect();
        for lock in locks {
            self.note_lock(lock);
        }
    }

    /// Notes what memory a lock is now. Where other locks of findings were at its address, none of them
    /// is known.
    fn note_lock(&mut self, lock: Lock) {
        /// `ompt_mutex_lock`.
        const LOCK: u8 = 1;
        if !matches!(lock.0, LOCK | MUTEX_POSIX | MUTEX_DECLARED) {
            return;
        }
        let place = match self.stack_owner(lock.1) {
            Some((slot, _)) => Place::Stack(self.frame_at(slot, lock.1)),
            None => match self.heap.block(lock.1) {
                Some(block) => Place::Heap(block.clone()),
                None => return,
            },
        };
        let known = self
            .lock_places
            .entry(lock)
            .or_insert_with(|| place.clone());
        let is_same = match (&*known, &place) {
            (Place::Stack(Some(one)), Place::Stack(Some(other))) => one.stack == other.stack,
            (one, other) => one == other,
        };
        if !is_same {
            *known = Place::Static;
        }
    }

    /// Compares the iterations of static loops that one thread executed.
    fn check_rounds(&mut self, strand: StrandId) {
        let info = self.infos.get_mut(&strand);
        let Some((mut rounds, slot)) = info.and_then(|it| Some((it.rounds.take()?, it.thread)))
        else {
            return;
        };
        let mut races = std::mem::take(&mut self.races);
        let known = races.all().len();
        let kind = |source: u32| {
            let kind = self.sources[source as usize].kind;
            (kind & WRITE != 0, kind & ATOMIC != 0)
        };
        rounds.check(&Sweep, kind, &mut |meeting| {
            let access = |source: u32| Access {
                piece: Piece::of_run(0, meeting.address, 1, 0, 1),
                source,
                strand,
                thread: slot,
                first: 0,
                last: 0,
            };
            let accesses = meeting.sources.map(access);
            let [one, other] = meeting.sources.map(|it| self.sources[it as usize].locks);
            let has_asked = self.threads.get(&slot).is_none_or(|thread| thread.asked);
            if has_asked
                || self.locksets.exclude(one, other)
                || self.is_own(&accesses[0], &accesses[1], meeting.address)
            {
                return;
            }
            let conflict = Conflict {
                accesses,
                address: meeting.address,
                order: Order::None,
                count: 1,
            };
            let place = self.place(&accesses[0], meeting.address);
            let sites = || {
                let [one, other] = accesses.map(|access| self.site(&access));
                let [first, second] = meeting.rounds.map(StrandKind::Round);
                [
                    Site {
                        strand: first,
                        ..one
                    },
                    Site {
                        strand: second,
                        ..other
                    },
                ]
            };
            races.add(&conflict, meeting.sources, place, sites);
        });
        self.races = races;
        self.note_locks(known);
        // How often each source was executed stays known.
        if let Some(info) = self.infos.get_mut(&strand) {
            info.rounds = Some(rounds);
        }
    }

    /// Whether an address that one thread accessed in two strands would be another one, had another
    /// thread executed one of them.
    fn is_own(&self, one: &Access, other: &Access, address: u64) -> bool {
        if one.thread != other.thread {
            return false;
        }
        let (Some(first), Some(second)) =
            (self.infos.get(&one.strand), self.infos.get(&other.strand))
        else {
            return false;
        };
        let Some(thread) = self.threads.get(&one.thread) else {
            return false;
        };
        if (thread.tls.0..thread.tls.1).contains(&address) || first.asked || second.asked {
            return true;
        }
        if first.implicit != second.implicit {
            return false;
        }
        let implicit = self.infos.get(&first.implicit);
        if implicit.is_some_and(|implicit| implicit.asked) {
            return true;
        }
        let is_own_frame = self.stack_owner(address) == Some((one.thread, first.implicit));
        is_own_frame || self.heap.is_of(address, one.thread)
    }

    /// What memory an address of an access is.
    fn place(&self, access: &Access, address: u64) -> Place {
        // A thread's block of thread-local memory lies in the memory of its stack.
        let is_in_tls = |thread: &&Thread| (thread.tls.0..thread.tls.1).contains(&address);
        let own = self.threads.get(&access.thread).filter(is_in_tls);
        if let Some(thread) = own.or_else(|| self.threads.values().find(is_in_tls)) {
            return Place::ThreadLocal {
                before_end: thread.tls.1 - address,
            };
        }
        if let Some((slot, _)) = self.stack_owner(address) {
            return Place::Stack(self.frame_at(slot, address));
        }
        match self.heap.block(address) {
            Some(block) => Place::Heap(block.clone()),
            None => Place::Static,
        }
    }

    /// The innermost function of the thread has made a call, with these variables.
    fn note_call(&mut self, slot: u32, code: u64, (data, body): (u64, u64)) {
        let frames = self.threads.get_mut(&slot).map(|thread| &mut thread.frames);
        if let Some(frame) = frames.and_then(|frames| frames.last_mut()) {
            frame.calls = [0, code];
            (frame.data, frame.body) = (data, body);
        }
    }

    /// The frame of the thread's stack in which an address lies.
    fn frame_at(&self, slot: u32, address: u64) -> Option<FramePlace> {
        let frames = &self.threads.get(&slot)?.frames;
        let found = frames.iter().position(|frame| frame.stack < address);
        let above = match found {
            Some(at) => at.checked_sub(1).and_then(|above| frames.get(above)),
            None => frames.last(),
        };
        let own = found.and_then(|at| frames.get(at)).copied();
        Some(FramePlace {
            outer: above.map_or([0; 2], |frame| frame.calls),
            ..own.unwrap_or_default()
        })
    }

    fn site(&self, access: &Access) -> Site {
        let source = self.sources[access.source as usize];
        let info = self.infos.get(&access.strand);
        Site {
            code: source.code,
            kind: source.kind & (WRITE | ATOMIC),
            size: source.size,
            context: source.context,
            strand: info.map_or(StrandKind::Implicit, |info| info.kind),
            thread: info.map_or(0, |info| info.index),
            base: info.and_then(|info| info.base.clone()),
            locks: self.locksets.locks(source.locks).to_vec(),
        }
    }

    fn create(
        &mut self,
        slot: u32,
        number: u64,
        task: u64,
        flags: u32,
        (code, context): (u64, u32),
    ) {
        let Some(frame) = self.top(slot) else {
            return;
        };
        let (region, current, group) = (frame.region, frame.current, frame.siblings.group());
        let base = self.construct(slot, current, ConstructKind::Task, (code, 0), context);
        let parent = self.strands.divide(current);
        let strand = self.strands.begin(Some(parent), number);
        self.tasks
            .begin(task, strand, flags & UNDEFERRED != 0, group);
        if flags & TASKWAIT != 0 {
            // It stands for a wait, and executes nothing.
            if let Some(team) = self.teams.get_mut(&region) {
                team.strands.push(strand);
            }
            return;
        }
        self.infos.insert(
            strand,
            Info {
                kind: StrandKind::Task,
                thread: slot,
                index: 0,
                base: Some(base),
                asked: false,
                implicit: strand,
                rounds: None,
            },
        );
        if let Some(team) = self.teams.get_mut(&region) {
            team.is_concurrent = true;
            team.strands.push(strand);
        }
        if let Some(frame) = self.top_mut(slot) {
            frame.siblings.children.push(strand);
        }
    }

    fn depend(&mut self, slot: u32, task: u64, address: u64, kind: u8) {
        let Some(strand) = self.tasks.strand(task) else {
            return;
        };
        let Some(frame) = self.top_mut(slot) else {
            return;
        };
        let (before, is_exclusive) = frame.siblings.depend(strand, address, kind);
        self.strands.keep(strand);
        for earlier in before {
            let end = Point {
                strand: earlier,
                segment: END,
            };
            self.strands.order_after(end, strand, Certainty::Certain);
        }
        if is_exclusive {
            self.tasks.exclude(task, address);
        }
    }

    fn join_task(&mut self, task: StrandId, waiter: StrandId) {
        self.strands.join(task, waiter);
    }

    fn switch(&mut self, slot: u32, number: u64, (from, to): (u64, u64), status: u8, frame: u64) {
        /// `ompt_task_status_t`.
        const COMPLETE: u8 = 1;
        const CANCEL: u8 = 3;
        const DETACH: u8 = 4;
        const EARLY_FULFILL: u8 = 5;
        const LATE_FULFILL: u8 = 6;
        const TASKWAIT_COMPLETE: u8 = 8;
        match status {
            COMPLETE | CANCEL | DETACH => {
                let Some(thread) = self.threads.get_mut(&slot) else {
                    return;
                };
                if thread.tasks.last().is_some_and(|task| task.task == from) && from != 0 {
                    thread.tasks.pop();
                }
                self.untied.remove(&from);
                let Some(strand) = self.tasks.strand(from) else {
                    return;
                };
                if status != DETACH {
                    self.strands.end(strand, number);
                }
                if self.tasks.is_undeferred(from)
                    && let Some(current) = self.top(slot).map(|task| task.current)
                {
                    self.strands.divide(current);
                    self.strands.join(strand, current);
                }
            }
            EARLY_FULFILL | LATE_FULFILL => {
                // What comes before the fulfilment comes before what waits for the task.
                if let Some(task) = self.tasks.strand(from)
                    && let Some(current) = self.top(slot).map(|task| task.current)
                {
                    let here = self.strands.divide(current);
                    self.strands.order_after(here, task, Certainty::Certain);
                }
            }
            TASKWAIT_COMPLETE => {
                if let (Some(waited), Some(current)) = (
                    self.tasks.strand(from),
                    self.top(slot).map(|task| task.current),
                ) {
                    self.strands.divide(current);
                    self.strands.join(waited, current);
                }
            }
            _ if self.return_to(slot, from, to) => {}
            _ => {
                let Some(region) = self.top(slot).map(|task| task.region) else {
                    return;
                };
                let Some(strand) = self.tasks.strand(to) else {
                    return;
                };
                let index = self
                    .top(slot)
                    .and_then(|task| self.infos.get(&task.main))
                    .map_or(0, |info| info.index);
                if let Some(info) = self.infos.get_mut(&strand) {
                    (info.thread, info.index) = (slot, index);
                }
                if let Some(mut task) = self.untied.remove(&to) {
                    task.frame = frame;
                    if let Some(thread) = self.threads.get_mut(&slot) {
                        thread.tasks.push(task);
                    }
                    return;
                }
                let mut task = TaskFrame::new(region, strand, frame);
                task.task = to;
                task.siblings.inherited = self.tasks.group(to);
                for address in self.tasks.exclusions(to) {
                    let held = Held {
                        lock: (EXCLUSIVE_DEPENDENCE, *address),
                        is_shared: false,
                    };
                    task.locks = self.locksets.with(task.locks, held);
                }
                let phase = self.teams.get(&region).map_or(0, |team| team.phase);
                task.phase = phase;
                if let Some(thread) = self.threads.get_mut(&slot) {
                    thread.tasks.push(task);
                }
            }
        }
    }

    /// If the thread goes back from an untied task, which has not ended, to the one beneath it: keeps
    /// what is known of the task for the thread that goes on with it.
    fn return_to(&mut self, slot: u32, from: u64, to: u64) -> bool {
        let Some(thread) = self.threads.get_mut(&slot) else {
            return false;
        };
        let [.., beneath, top] = thread.tasks.as_slice() else {
            return false;
        };
        let is_return =
            from != 0 && (top.task, beneath.task) == (from, to) && top.region == beneath.region;
        if is_return && let Some(task) = thread.tasks.pop() {
            self.untied.insert(from, task);
        }
        is_return
    }

    fn begin_work(&mut self, slot: u32, number: u64, kind: u8, (code, context): (u64, u32)) {
        self.end_work_strand(slot, number);
        let Some(task) = self.top(slot) else {
            return;
        };
        let construct = match kind {
            SECTIONS => ConstructKind::Sections,
            SINGLE => ConstructKind::Single,
            LOOP | LOOP_STATIC..=LOOP_OTHER => ConstructKind::Loop,
            _ => return,
        };
        let base = self.construct(slot, task.main, construct, (code, 0), context);
        if let Some(task) = self.top_mut(slot) {
            task.work = Some((kind, base.clone()));
        }
        if kind == SINGLE {
            self.begin_work_strand(slot, number, StrandKind::Single, base);
        }
    }

    fn chunk(&mut self, slot: u32, number: u64, first: u64, count: u64) {
        self.end_work_strand(slot, number);
        let Some((kind, base)) = self.top(slot).and_then(|task| task.work.clone()) else {
            return;
        };
        let strand = match kind {
            SECTIONS => StrandKind::Section,
            // The thread of each chunk is known beforehand.
            LOOP_STATIC => return,
            _ => StrandKind::Iterations(first, count),
        };
        self.begin_work_strand(slot, number, strand, base);
    }

    /// A chunk, section or single begins. Any thread of the team could execute it, so it comes after
    /// the begin of the region alone.
    fn begin_work_strand(&mut self, slot: u32, number: u64, kind: StrandKind, base: Rc<Base>) {
        let Some(task) = self.top(slot) else {
            return;
        };
        let (region, main) = (task.region, task.main);
        let Some(team) = self.teams.get_mut(&region).filter(|team| team.size > 1) else {
            return;
        };
        let strand = self.strands.begin(team.parent, number);
        team.strands.push(strand);
        let (index, asked) = self
            .infos
            .get(&main)
            .map_or((0, false), |info| (info.index, info.asked));
        self.infos.insert(
            strand,
            Info {
                kind,
                thread: slot,
                index,
                base: Some(base),
                asked,
                implicit: main,
                rounds: None,
            },
        );
        if let Some(task) = self.top_mut(slot) {
            task.current = strand;
        }
    }

    fn end_work_strand(&mut self, slot: u32, number: u64) {
        let Some(task) = self.top_mut(slot) else {
            return;
        };
        if task.current != task.main {
            let ended = std::mem::replace(&mut task.current, task.main);
            self.strands.end(ended, number);
        }
    }

    fn acquired(&mut self, slot: u32, current: StrandId, kind: u8, lock: u64) {
        let key = (family(kind), lock);
        let mutex = self.mutexes.entry(key).or_default();
        if !is_shared(kind)
            && let Some(holder) = mutex.holder.replace(current)
            && holder != current
        {
            mutex.late.push(holder);
            mutex.released = Some(self.strands.here(holder));
            self.strands.divide(holder);
        }
        let released = mutex.released;
        self.strands.keep(current);
        self.strands.divide(current);
        let certainty = match kind {
            ORDERED => Certainty::Certain,
            _ => Certainty::Chance,
        };
        if let Some(released) = released {
            self.strands.order_after(released, current, certainty);
        }
        let held = Held {
            lock: key,
            is_shared: is_shared(kind),
        };
        if let Some(task) = self
            .threads
            .get_mut(&slot)
            .and_then(|thread| thread.tasks.last_mut())
        {
            task.locks = self.locksets.with(task.locks, held);
        }
    }

    fn released(&mut self, slot: u32, current: StrandId, kind: u8, lock: u64) {
        let key = (family(kind), lock);
        let here = self.strands.divide(current);
        self.strands.keep(current);
        let mutex = self.mutexes.entry(key).or_default();
        let is_current = |strand: &StrandId| *strand == current;
        if let Some(at) = mutex.late.iter().position(is_current) {
            mutex.late.swap_remove(at);
        } else if mutex.holder.is_none_or(|holder| holder == current) {
            mutex.holder = None;
            mutex.released = Some(here);
        }
        if let Some(task) = self
            .threads
            .get_mut(&slot)
            .and_then(|thread| thread.tasks.last_mut())
        {
            task.locks = self.locksets.without(task.locks, key);
        }
    }

    fn signal(&mut self, current: StrandId, object: u64, certainty: Certainty) {
        let here = self.strands.divide(current);
        self.strands.keep(current);
        let signals = self.signals.entry(object).or_default();
        // What comes after this comes after those before it, too.
        let is_next = signals.last.take() == Some(current);
        let points = &mut signals.points;
        points.retain(|(point, known)| {
            let is_own = point.strand == current || is_next;
            !(is_own && certainty <= *known) && self.strands.is_known(point.strand)
        });
        points.push((here, certainty));
    }

    fn await_signal(&mut self, current: StrandId, object: u64, certainty: Certainty) {
        self.strands.divide(current);
        let Some(signals) = self.signals.get_mut(&object) else {
            return;
        };
        for (point, known) in &signals.points {
            self.strands
                .order_after(*point, current, certainty.max(*known));
        }
        let is_same = |(_, known): &(Point, Certainty)| certainty <= *known;
        signals.last = signals.points.iter().all(is_same).then_some(current);
    }
}

/// The space of the memory in a task's frames; those of the heap have the highest bit.
fn space_of(owner: StrandId) -> u32 {
    (owner.0 + 1) % (1 << 31)
}

/// The task in whose frames memory of this space is.
fn owner_of(space: u32) -> Option<StrandId> {
    (1..1 << 31).contains(&space).then(|| StrandId(space - 1))
}

/// The kind of a lock that stands for tasks that exclude each other by their dependences.
const EXCLUSIVE_DEPENDENCE: u8 = 128;

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

/// `ompt_work_t`.
const LOOP: u8 = 1;
const SECTIONS: u8 = 2;
const SINGLE: u8 = 3;
const LOOP_STATIC: u8 = 10;
const LOOP_OTHER: u8 = 13;

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
