//! Long holds of mutexes.

use std::ops::Range;

use experiment::ids::{FrameId, ThreadId};
use experiment::rows::Interval;
use experiment::state::State;
use experiment::tables::ThreadState;
use omp_model::analysis::Analysis;
use omp_model::views::names::NameStyle;
use omp_model::views::openmp::Measured;
use omp_model::views::openmp::locks::names_by_call;
use rustc_hash::FxHashMap;

use super::rows::Timeline;

/// A piece of time in which a thread worked with a mutex held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The thread.
    pub(super) thread: ThreadId,
    /// The call that acquired the mutex.
    pub call: FrameId,
    /// From when, in nanoseconds.
    pub start: u64,
    /// Until when.
    pub end: u64,
}

/// The holds of listed intervals, which are sorted by thread and time. A thread state of work names the
/// call that acquired the mutex in which the thread works.
pub(super) fn holds(intervals: &[Interval], thread_states: &[ThreadState]) -> Vec<Hold> {
    let mut holds: Vec<Hold> = Vec::new();
    for row in intervals {
        let Some(thread_state) = thread_states.get(row.thread_state.index()) else {
            continue;
        };
        let works = matches!(thread_state.state, State::Serial | State::Work);
        if !works || thread_state.call == FrameId::NONE {
            continue;
        }
        let (start, end) = (row.start.0, row.start.0 + row.length.0);
        let key = (row.thread, thread_state.call, start);
        match holds.last_mut() {
            // The thread has left its CPU, or come back.
            Some(last) if (last.thread, last.call, last.end) == key => last.end = end,
            _ => holds.push(Hold {
                thread: row.thread,
                call: thread_state.call,
                start,
                end,
            }),
        }
    }
    holds
}

impl Timeline {
    /// The listed holds of a thread in a range of time.
    pub fn holds(&self, thread: ThreadId, range: &Range<u64>) -> &[Hold] {
        let all = self.holds.of(thread);
        let first = all.partition_point(|hold| hold.end <= range.start);
        let last = all.partition_point(|hold| hold.start < range.end);
        all.get(first..last).unwrap_or(&[])
    }
}

/// The names of mutexes by the calls that acquire them.
pub fn mutex_names(recording: &Analysis) -> FxHashMap<FrameId, String> {
    names_by_call(
        &recording.names(NameStyle::default()),
        &Measured::of(&recording.experiment),
    )
}

#[cfg(test)]
mod tests {
    use experiment::ids::{ContextId, Nanos, ThreadStateId};
    use experiment::rows::Within;
    use experiment::state::Scheduling;

    use super::*;

    #[test]
    fn a_hold_goes_on_while_its_thread_has_no_cpu_and_waits_are_none() {
        let guard = FrameId(7);
        let thread_states = [
            (State::Work, FrameId::NONE),
            (State::Lock, guard),
            (State::Work, guard),
        ];
        let thread_states = thread_states.map(|(state, call)| ThreadState {
            state,
            context: ContextId::ROOT,
            call,
        });
        let rows = [
            (0, 0, 0, 10),
            (0, 1, 10, 30),
            (0, 2, 30, 50),
            (0, 2, 50, 60),
            (0, 0, 60, 70),
            (0, 2, 70, 90),
            (1, 2, 90, 95),
        ];
        let intervals = rows.map(|(thread, thread_state, start, end)| Interval {
            thread: ThreadId(thread),
            start: Nanos(start),
            length: Nanos(end - start),
            thread_state: ThreadStateId(thread_state),
            scheduling: Scheduling::Running,
            within: Within::default(),
        });
        let found = holds(&intervals, &thread_states);
        let found: Vec<_> = found
            .iter()
            .map(|it| (it.thread.0, it.start..it.end))
            .collect();
        assert_eq!(found, [(0, 30..60), (0, 70..90), (1, 90..95)]);
    }
}
