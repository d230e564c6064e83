//! The counts of worksharing loops, as differences between two readings of the threads' tables.

use experiment::ids::{LoopId, Nanos, ThreadId};
use experiment::losses::{LossKind, Lost};
use experiment::rows::{LoopSum, SLICE};
use experiment::tables::{Loop, LoopClause, Schedule, Tables};
use omp_ring::consumer::Consumer;
use omp_ring::loops::{self, LoopKey, LoopView};
use rustc_hash::{FxHashMap, FxHashSet};

use super::queue::Queue;
use crate::clock::Line;
use crate::stacks;
use processes::Processes;

/// The loops of all threads as read last.
#[derive(Default)]
pub(super) struct Loops {
    /// By slot and key.
    known: FxHashMap<(u32, LoopKey), (LoopId, LoopView)>,
    /// What has been added since it was taken.
    added: Vec<LoopSum>,
    /// Slots whose threads had no room for a loop.
    full: FxHashSet<u32>,
    /// Threads that had none, and when that was seen.
    pub(super) lost: Lost,
    /// When the tables were read last, in nanoseconds since the start.
    looked_at: u64,
}

impl Loops {
    /// Reads the table of a slot that a thread has.
    pub(super) fn read(
        &mut self,
        arena: &Consumer,
        queue: &Queue,
        line: &Line,
        (tables, processes): (&mut Tables, &mut Processes),
        now: u64,
    ) {
        let Some(thread) = queue.thread else {
            return;
        };
        let (views, is_full) = arena.loops(queue.index);
        if is_full {
            let is_new = self.full.insert(queue.index);
            let when = (self.looked_at, now);
            self.lost.add(LossKind::Loops, when, is_new.into());
        }
        for view in views {
            let Some((schedule, clause)) = schedule(view.key) else {
                continue;
            };
            let known = self.known.entry((queue.index, view.key));
            let (construct, before) = known.or_insert_with(|| {
                let code = (view.key.code(), now);
                let call = stacks::frame_of_call(tables, processes, queue.pid, code);
                let construct = tables.loop_id(Loop {
                    call,
                    schedule,
                    clause,
                });
                (construct, LoopView::none(view.key))
            });
            if let Some(sum) = added(*before, view, (thread, *construct), line) {
                let slice = (now / SLICE.0) as u32;
                self.added.push(LoopSum { slice, ..sum });
            }
            *before = view;
        }
    }

    /// A slot is free for another thread.
    pub(super) fn forget(&mut self, slot: u32) {
        self.full.remove(&slot);
        self.known.retain(|(known, _), _| *known != slot);
    }

    /// The rows since the last call; it is `now`.
    pub(super) fn take(&mut self, now: u64) -> Vec<LoopSum> {
        self.looked_at = now;
        std::mem::take(&mut self.added)
    }
}

/// The schedule of a key; `None` for a word that no thread writes.
fn schedule(key: LoopKey) -> Option<(Schedule, LoopClause)> {
    let number = key.schedule().0;
    let clause = match number & !0xff {
        0 => LoopClause::Plain,
        loops::Schedule::ORDERED => LoopClause::Ordered,
        loops::Schedule::NUM_TASKS => LoopClause::NumTasks,
        _ => return None,
    };
    Some((Schedule::from_u8(number as u8)?, clause))
}

/// What was added to a loop between two readings; `None` for nothing.
fn added(
    before: LoopView,
    view: LoopView,
    (thread, construct): (ThreadId, LoopId),
    line: &Line,
) -> Option<LoopSum> {
    let more = |count: fn(&LoopView) -> u64| count(&view).saturating_sub(count(&before));
    let instances = more(|it| it.instances);
    let length = |ticks: u64| Nanos(line.length_ns(ticks));
    (instances > 0).then_some(LoopSum {
        slice: 0,
        thread,
        construct,
        chunk: view.chunk,
        instances,
        iterations: more(|it| it.iterations),
        chunks: more(|it| it.chunks),
        time: length(more(|it| it.time)),
        calls_time: length(more(|it| it.calls_time)),
        calls: more(|it| it.calls),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Pair;

    #[test]
    fn a_reading_tells_what_was_added_since_the_one_before() {
        let line = Line::new(Pair {
            ticks: 0,
            raw_ns: 0,
        });
        let key = LoopKey::new(0x1000, loops::Schedule::GUIDED.ordered());
        let first = LoopView {
            chunk: 4,
            instances: 2,
            iterations: 20,
            chunks: 5,
            time: 900,
            ..LoopView::none(key)
        };
        let second = LoopView {
            instances: 3,
            iterations: 27,
            chunks: 7,
            time: 1_000,
            ..first
        };
        let of = (ThreadId(1), LoopId(2));
        let sum = added(first, second, of, &line).expect("there is more");
        assert_eq!((sum.instances, sum.iterations, sum.chunks), (1, 7, 2));
        assert_eq!((sum.chunk, sum.time.0), (4, 100));
        let of_key = (Schedule::Guided, LoopClause::Ordered);
        assert_eq!(schedule(key), Some(of_key));
        assert_eq!(added(second, second, of, &line), None);
        assert_eq!(schedule(LoopKey::new(0x1000, loops::Schedule(77))), None);
    }
}
