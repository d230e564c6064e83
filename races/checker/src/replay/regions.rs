//! Threads, teams and their barriers.

use std::rc::Rc;

use super::{Info, ROOT, Replay, TaskFrame, Team, Thread};
use crate::interval::Access;
use crate::site::{Base, ConstructKind, Creator, StrandKind};
use crate::strands::{Certainty, Point, StrandId};

impl Replay {
    pub(super) fn begin_thread(
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
            let base = self.creations.remove(&created);
            self.infos.insert(
                strand,
                Info {
                    kind,
                    thread: slot,
                    index: 0,
                    region: ROOT,
                    base,
                    asked: false,
                    implicit: strand,
                    after: 0,
                    born: None,
                    rounds: None,
                },
            );
            thread.tasks.push(TaskFrame::new(ROOT, strand, 0));
        }
        self.threads.insert(slot, thread);
    }

    /// The point of the strand outside all regions in which `point` lies.
    pub(super) fn at_root(&self, point: Point) -> Point {
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
    pub(super) fn leave_ended_regions(&mut self, slot: u32) {
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
    pub(super) fn construct(
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
            creator: None,
            outer: self.base_of(current),
        })
    }

    /// Strand `current` creates a thread.
    pub(super) fn create_thread(
        &mut self,
        slot: u32,
        current: StrandId,
        object: u64,
        (code, context): (u64, u32),
    ) {
        self.note_call(slot, code, (0, 0));
        let thread = self.threads.get(&slot);
        let creator = thread.map(|thread| Creator {
            stack: thread.stack,
            frames: thread.frames.clone(),
        });
        let base = Rc::new(Base {
            kind: ConstructKind::Thread,
            code,
            body: 0,
            context: self.contexts.of_thread(slot, context),
            creator,
            outer: self.base_of(current),
        });
        self.creations.insert(object, base);
        self.signal(current, object, Certainty::Certain);
    }

    pub(super) fn begin_implicit(
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
            region,
            base: team.base.clone(),
            asked: false,
            implicit: strand,
            after: 0,
            born: None,
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

    pub(super) fn join(&mut self, slot: u32, current: StrandId, region: u64) {
        self.end_interval(region);
        if let Some(team) = self.teams.remove(&region) {
            for member in team.members {
                self.forget_in(team.parent, member);
            }
        }
        if self.strands.are_many_forgotten() {
            let released = self.mutexes.values().flat_map(|mutex| {
                let points = mutex.shared.iter().chain(&mutex.released);
                points.map(|point| point.strand)
            });
            let signals = self.signals.values().flat_map(|signals| &signals.points);
            let signalled = signals.map(|(point, _)| point.strand);
            self.strands.clear_forgotten(released.chain(signalled));
        }
        self.leave_ended_regions(slot);
        self.strands.divide(current);
        // Accesses of a region around this one wait to be compared.
        if !self.teams.values().any(|team| team.is_concurrent) {
            self.heap.end_interval();
        }
    }

    /// The first thread to leave a barrier ends the interval: all have come to it.
    pub(super) fn leave_barrier(&mut self, slot: u32) {
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
    pub(super) fn end_interval(&mut self, region: u64) {
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
                let (infos, bases) = (&self.infos, &mut self.bases);
                let base_of = |access: &Access| match access.base {
                    0 => {
                        let info = infos.get(&access.strand);
                        let base = info.and_then(|info| info.base.as_ref());
                        base.map_or(0, |base| bases.number(base))
                    }
                    known => known,
                };
                for access in interval.into_accesses_of(here, base_of) {
                    team.interval.add(access);
                }
                if team.interval.is_due() {
                    self.retire(around);
                }
            }
        }
        // What comes after another one's point, as a lock that was handed over, comes after it for good.
        for strand in ended.iter().chain(&members) {
            for (from, certainty) in self.strands.take_edges(*strand) {
                let around = self.region_of(from.strand);
                if let Some(parent) = parent
                    && around.is_some_and(|around| around != region)
                {
                    self.strands.order_after(from, parent.strand, certainty);
                }
            }
        }
        let had_tasks = !ended.is_empty();
        for strand in ended {
            self.forget_in(parent, strand);
        }
        if had_tasks {
            self.tasks.retain(|strand| self.infos.contains_key(&strand));
            self.untied
                .retain(|task, _| self.tasks.strand(*task).is_some());
        }
    }

    /// Forgets a strand in a region that was forked there: what it did counts as done by the strand around
    /// the region.
    fn forget_in(&mut self, parent: Option<Point>, strand: StrandId) {
        match parent {
            Some(parent) => {
                let here = self.strands.here(parent.strand);
                self.strands.forget_as(strand, here);
            }
            None => self.strands.forget(strand),
        }
        self.infos.remove(&strand);
    }

    /// The region in which a strand runs.
    pub(super) fn region_of(&self, strand: StrandId) -> Option<u64> {
        self.infos.get(&strand).map(|info| info.region)
    }
}
