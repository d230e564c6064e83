//! What strands access, and when it is compared and forgotten.

use hashbrown::HashSet;
use race_stream::record::{ATOMIC, Run, WRITE};

use super::Replay;
use crate::code::Code;
use crate::interval::{Access, Source};
use crate::locksets::LocksetId;
use crate::memory::Piece;
use crate::strands::StrandId;

/// The space of the memory in a task's frames; those of the heap have the highest bit.
fn space_of(owner: StrandId) -> u32 {
    (owner.0 + 1) % (1 << 31)
}

/// The task in whose frames memory of this space is.
pub(super) fn owner_of(space: u32) -> Option<StrandId> {
    (1..1 << 31).contains(&space).then(|| StrandId(space - 1))
}

impl Replay {
    pub(super) fn run(&mut self, slot: u32, run: &Run, code: &mut dyn Code) {
        self.accesses += u64::from(run.count);
        let Some(thread) = self.threads.get(&slot) else {
            return;
        };
        let Some(task) = thread.tasks.last() else {
            return;
        };
        let (region, strand, locks) = (task.region, task.current, task.locks);
        let is_implicit = task.task == 0 && task.current == task.main;
        // A pointer or a number that is there may be another one on another thread.
        if run.kind & WRITE == 0 && (thread.tls.0..thread.tls.1).contains(&run.first) {
            let strands = [task.current, task.main];
            self.depends_on_thread(strands);
        }
        let space = self.space(run.first);
        let source = Source {
            code: run.code,
            context: self.contexts.of_thread(slot, run.context),
            kind: run.kind & (WRITE | ATOMIC),
            size: run.size,
            locks,
        };
        let source = self.source(source, code);
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
            if self
                .most_bytes
                .is_some_and(|most| team.interval.is_full(most))
            {
                self.accesses_left_out += u64::from(run.count);
                return;
            }
            // Of one thread's accesses, those of other strands than its implicit task's may be another
            // thread's as well, and so may the iterations of a loop.
            let is_round =
                is_implicit && self.loops.get(source as usize).is_some_and(Option::is_some);
            let is_own = (is_round || !is_implicit) && self.heap.is_of(run.first, slot);
            if is_implicit
                && let Some(head) = self.loops.get(source as usize).copied().flatten()
                && let Some(info) = self.infos.get_mut(&strand)
            {
                let rounds = info.rounds.get_or_insert_default();
                rounds.add(source, head, segment, (!is_own).then_some(space), run);
            }
            for piece in piece.parts() {
                team.interval.add(Access {
                    piece,
                    source,
                    strand,
                    thread: slot,
                    first: segment,
                    last: segment,
                    is_own,
                    base: 0,
                });
            }
            if team.interval.is_due() {
                self.retire(region);
            }
        }
    }

    /// Compares accesses to freed memory, then drops them, and tasks that have no other accesses.
    pub(super) fn retire(&mut self, region: u64) {
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
    pub(super) fn is_dead(&self, piece: &Piece) -> bool {
        if let Some(owner) = owner_of(piece.space) {
            return self.strands.is_over(owner);
        }
        let is_other = |address| self.heap.space(address) != piece.space;
        is_other(piece.first) && is_other(piece.end() - 1)
    }

    pub(super) fn read_unwritten(&mut self, slot: u32, run: &Run, code: &mut dyn Code) {
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
        let source = self.source(source, code);
        let segment = self.strands.here(strand).segment;
        let access = Access {
            piece: Piece::of_run(0, run.first, run.size.into(), 0, 1),
            source,
            strand,
            thread: slot,
            first: segment,
            last: segment,
            is_own: false,
            base: 0,
        };
        let place = self.place(&[access], run.first);
        let mut unwritten = std::mem::take(&mut self.unwritten);
        unwritten.add(source, run.first, place, || self.site(&access));
        self.unwritten = unwritten;
    }

    pub(super) fn source(&mut self, source: Source, code: &mut dyn Code) -> u32 {
        let new = self.sources.len() as u32;
        let number = *self.source_numbers.entry(source).or_insert(new);
        if number == new {
            self.sources.push(source);
            // A function that is called by others is called more than once, and so are its loops.
            let is_body = self.contexts.is_first_call(source.context);
            let around = if is_body {
                code.loop_around(source.code)
            } else {
                None
            };
            self.loops.push(around);
        }
        number
    }

    /// What memory an address is: on a stack, that of the task whose frame it is in; in recycled
    /// memory, that of one of its users.
    pub(super) fn space(&self, address: u64) -> u32 {
        match self.stack_owner(address) {
            Some((_, owner)) => space_of(owner),
            None => self.heap.space(address),
        }
    }

    /// The slot of the thread on whose stack an address is, and the task whose frame it is in.
    pub(super) fn stack_owner(&self, address: u64) -> Option<(u32, StrandId)> {
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
}
