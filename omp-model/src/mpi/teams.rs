//! Threads that wait for others of their OpenMP team, as far as listed intervals tell: for a millisecond or more.

use experiment::Experiment;
use experiment::ids::{ProcessId, ThreadId};
use experiment::rows::{Interval, LONG};
use experiment::state::State;
use experiment::tables::ThreadKind;
use rustc_hash::FxHashMap;

use super::chains::Link;
use super::meanwhile::Does;
use super::ranks::Ranks;

/// Waits at barriers for the thread that came last, and of workers between regions for the thread that forks.
///
/// The last to come to a barrier is the thread of its region that was last seen at anything but waiting, if that was less
/// than a millisecond before the barrier's end: it had no time for a wait that is listed.
pub(super) fn teams(experiment: &Experiment, ranks: &Ranks<'_>) -> Vec<Link> {
    let tables = &experiment.tables;
    let listed = || experiment.intervals.iter().filter(|it| it.length >= LONG);
    let state = |it: &Interval| {
        let state = tables.thread_states.get(it.thread_state.0);
        state.map_or(State::Unknown, |it| it.state)
    };
    let process = |thread: ThreadId| Some(tables.threads.get(thread.index())?.process);
    let mut initial = FxHashMap::<ProcessId, ThreadId>::default();
    for (thread, id) in tables.threads.iter().zip((0..).map(ThreadId)) {
        if thread.kind == ThreadKind::Initial {
            initial.entry(thread.process).or_insert(id);
        }
    }
    let worked = listed().filter(|it| it.within.region != 0 && !state(it).is_wait());
    let worked = worked.filter_map(|it| {
        let end = ranks.on_clock(it.thread, it.end());
        Some((process(it.thread)?, it.within.region, end, it.thread))
    });
    let mut worked: Vec<(ProcessId, u64, u64, ThreadId)> = worked.collect();
    worked.sort_unstable();
    let link = |it: &Interval| {
        let start = ranks.on_clock(it.thread, it.start);
        let end = ranks.on_clock(it.thread, it.end());
        let process = process(it.thread)?;
        let (peer, until) = match state(it) {
            State::Idle => (*initial.get(&process)?, end),
            State::ImplicitBarrier
            | State::ExplicitBarrier
            | State::ImplementationBarrier
            | State::Barrier => {
                let region = (process, it.within.region);
                let after =
                    worked.partition_point(|it| (it.0, it.1, it.2) <= (region.0, region.1, end));
                let last = worked[..after].iter().rev();
                let mut last = last
                    .take_while(|it| (it.0, it.1) == region && it.2 > start && end - it.2 < LONG.0);
                let last = last.find(|other| other.3 != it.thread)?;
                (last.3, last.2)
            }
            _ => return None,
        };
        (peer != it.thread).then_some(Link {
            thread: it.thread,
            peer,
            start,
            until,
            does: Does::Omp,
        })
    };
    listed().filter_map(link).collect()
}

#[cfg(test)]
mod tests {
    use experiment::ids::{ContextId, FrameId, Nanos};
    use experiment::rows::Within;
    use experiment::state::Scheduling;
    use experiment::tables::ThreadState;

    use super::*;
    use crate::mpi::ranks::tests::recording;
    use crate::views::openmp::test_run::{MS, TestRun};

    #[test]
    fn a_team_waits_for_the_thread_that_came_last_and_a_worker_for_the_next_region() {
        let mut test = TestRun::new(3, 1_000);
        let made = test_support::TempExperiment::new("teams");
        test_support::Builder::new(&["./a"], "a.c").write(&made.path);
        let mut experiment = Experiment::open(&made.path).expect("it was written");
        let mut interval = |thread: u32, region: u64, state, [start, end]: [u64; 2]| Interval {
            thread: ThreadId(thread),
            start: Nanos(start * MS),
            length: Nanos((end - start) * MS),
            thread_state: test.tables.thread_state(ThreadState {
                state,
                context: ContextId::ROOT,
                call: FrameId::NONE,
            }),
            scheduling: Scheduling::Running,
            within: Within { region, task: 0 },
        };
        experiment.intervals = vec![
            interval(1, 0, State::Idle, [0, 100]),
            interval(0, 7, State::Work, [100, 130]),
            interval(0, 7, State::ImplicitBarrier, [130, 200]),
            interval(1, 7, State::Work, [100, 200]),
            interval(2, 7, State::Work, [100, 150]),
            interval(2, 7, State::ImplicitBarrier, [150, 200]),
            // Nobody was seen at work shortly before it ended.
            interval(0, 8, State::Work, [300, 310]),
            interval(0, 8, State::ExplicitBarrier, [310, 350]),
            interval(1, 8, State::Work, [300, 340]),
        ];
        experiment.tables = test.tables;
        let recordings = [recording("a", 0, 1, 0)];
        let links = teams(&experiment, &Ranks::of(&recordings, &[1, 1, 1]));
        let found: Vec<(u32, u32, u64, u64)> = links
            .iter()
            .map(|it| (it.thread.0, it.peer.0, it.start / MS, it.until / MS))
            .collect();
        assert_eq!(found, [(1, 0, 0, 100), (0, 1, 130, 200), (2, 1, 150, 200)]);
    }
}
