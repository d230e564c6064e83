//! Mutexes, and objects that are signalled and awaited.

use ompt::numbers::mutex::ORDERED;
use race_stream::record::is_shared;

use super::{Replay, family};
use crate::locksets::Held;
use crate::strands::{Certainty, Point, StrandId};

impl Replay {
    pub(super) fn acquired(&mut self, slot: u32, current: StrandId, kind: u8, lock: u64) {
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
        // Those who hold it at one time have no order, whoever gives it back first.
        let mut before: Vec<Point> = mutex.released.into_iter().collect();
        if !is_shared(kind) {
            before.append(&mut mutex.shared);
        }
        self.strands.keep(current);
        self.strands.divide(current);
        let certainty = match kind {
            ORDERED => Certainty::Certain,
            _ => Certainty::Chance,
        };
        for released in before {
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

    pub(super) fn released(&mut self, slot: u32, current: StrandId, kind: u8, lock: u64) {
        let key = (family(kind), lock);
        let here = self.strands.divide(current);
        self.strands.keep(current);
        let held = self.top(slot).map(|task| self.locksets.locks(task.locks));
        let mut held = held.into_iter().flatten();
        let is_held_shared = held.any(|held| held.lock == key && held.is_shared);
        let mutex = self.mutexes.entry(key).or_default();
        let is_current = |strand: &StrandId| *strand == current;
        if let Some(at) = mutex.late.iter().position(is_current) {
            mutex.late.swap_remove(at);
        } else if mutex.holder == Some(current) || !is_held_shared && mutex.holder.is_none() {
            mutex.holder = None;
            mutex.released = Some(here);
        } else if is_held_shared {
            let strands = &self.strands;
            mutex
                .shared
                .retain(|point| point.strand != current && strands.is_known(point.strand));
            mutex.shared.push(here);
        }
        if let Some(task) = self
            .threads
            .get_mut(&slot)
            .and_then(|thread| thread.tasks.last_mut())
        {
            task.locks = self.locksets.without(task.locks, key);
        }
    }

    pub(super) fn signal(&mut self, current: StrandId, object: u64, certainty: Certainty) {
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

    pub(super) fn await_signal(&mut self, current: StrandId, object: u64, certainty: Certainty) {
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
