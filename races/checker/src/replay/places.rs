//! What memory an address is, and what is known of an access for its report.

use ompt::numbers::mutex::LOCK;
use race_stream::record::{ATOMIC, MUTEX_DECLARED, MUTEX_POSIX, WRITE};

use super::{Replay, Thread};
use crate::interval::Access;
use crate::lock_order::Lock;
use crate::site::{FramePlace, Place, Site, Spread, StrandKind};
use crate::strands::StrandId;

impl Replay {
    /// What memory an address of these accesses is.
    pub(super) fn place(&self, accesses: &[Access], address: u64) -> Place {
        // A thread's block of thread-local memory lies in the memory of its stack.
        let is_in_tls = |thread: &&Thread| (thread.tls.0..thread.tls.1).contains(&address);
        let slots = accesses.iter().map(|access| access.thread);
        let mut own = slots.filter_map(|slot| self.threads.get(&slot).filter(is_in_tls));
        if let Some(thread) = own.next().or_else(|| self.threads.values().find(is_in_tls)) {
            return Place::ThreadLocal {
                before_end: thread.tls.1 - address,
            };
        }
        let mut strands = accesses.iter().map(|access| access.strand);
        if let Some(frame) = strands.find_map(|strand| self.creators_frame(strand, address)) {
            return Place::Stack(Some(frame));
        }
        if let Some((slot, _)) = self.stack_owner(address) {
            return Place::Stack(self.frame_at(slot, address));
        }
        match self.heap.block(address) {
            Some(block) => Place::Heap(block.clone()),
            None => Place::Static,
        }
    }

    /// Notes what memory the locks of races are, from this one on.
    pub(super) fn note_locks(&mut self, first: usize) {
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
    pub(super) fn note_lock(&mut self, lock: Lock) {
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

    /// The innermost function of the thread has made a call, with these variables.
    ///
    /// Compilers leave out the entry of a function without accesses. If the task has begun with such a
    /// one, the innermost frame is that of the task beneath, and the call is not in its function.
    pub(super) fn note_call(&mut self, slot: u32, code: u64, (data, body): (u64, u64)) {
        let Some(thread) = self.threads.get_mut(&slot) else {
            return;
        };
        let above = thread.tasks.last().map_or(0, |task| task.frame);
        let is_own = |frame: &&mut FramePlace| above == 0 || frame.stack < above;
        if let Some(frame) = thread.frames.last_mut().filter(is_own) {
            frame.calls = [0, code];
            (frame.data, frame.body) = (data, body);
        }
    }

    /// The frame of the thread's stack in which an address lies.
    pub(super) fn frame_at(&self, slot: u32, address: u64) -> Option<FramePlace> {
        let frames = &self.threads.get(&slot)?.frames;
        let below_all = FramePlace {
            outer: frames.last().map_or([0; 2], |frame| frame.calls),
            ..FramePlace::default()
        };
        Some(frame_with(frames, address).unwrap_or(below_all))
    }

    /// The frame in which an address lies, of the thread that created the one of a strand, or of that one's
    /// creator. It was in use while the new thread began, whatever became of the stack later.
    fn creators_frame(&self, strand: StrandId, address: u64) -> Option<FramePlace> {
        let mut next = self.infos.get(&strand)?.base.as_ref();
        while let Some(base) = next {
            if let Some(creator) = &base.creator
                && (creator.stack.0..creator.stack.1).contains(&address)
            {
                return frame_with(&creator.frames, address);
            }
            next = base.outer.as_ref();
        }
        None
    }

    pub(super) fn site(&self, access: &Access) -> Site {
        let source = self.sources[access.source as usize];
        let info = self.infos.get(&access.strand);
        let is_one = access.piece.count == 1 && access.piece.width <= source.size.into();
        let in_rounds = self.loops.get(access.source as usize);
        Site {
            code: source.code,
            kind: source.kind & (WRITE | ATOMIC),
            size: source.size,
            spread: match in_rounds {
                _ if is_one => Spread::One,
                Some(Some(_)) => Spread::Rounds,
                _ => Spread::Several,
            },
            context: source.context,
            strand: info.map_or(StrandKind::Implicit, |info| info.kind),
            thread: info.map_or(0, |info| info.index),
            base: {
                let within = self.bases.get(access.base);
                within.or_else(|| info?.base.as_ref()).cloned()
            },
            locks: self.locksets.locks(source.locks).to_vec(),
        }
    }
}

/// The one of these frames, outermost first, in which an address lies.
fn frame_with(frames: &[FramePlace], address: u64) -> Option<FramePlace> {
    let at = frames.iter().position(|frame| frame.stack < address)?;
    let above = at.checked_sub(1).and_then(|above| frames.get(above));
    Some(FramePlace {
        outer: above.map_or([0; 2], |frame| frame.calls),
        ..*frames.get(at)?
    })
}
