//! Threads that wait for others of their OpenMP team, as far as listed intervals tell: for a millisecond or more.

use experiment::Experiment;
use experiment::ids::{ProcessId, ThreadId};
use experiment::rows::LONG;
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
    let state = |it: &experiment::rows::Interval| {
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
        let end = ranks.on_host(it.thread, it.end());
        Some((process(it.thread)?, it.within.region, end, it.thread))
    });
    let mut worked: Vec<(ProcessId, u64, u64, ThreadId)> = worked.collect();
    worked.sort_unstable();
    let link = |it: &experiment::rows::Interval| {
        let start = ranks.on_host(it.thread, it.start);
        let end = ranks.on_host(it.thread, it.end());
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
