//! What a thread did while others waited for it.

use std::ops::AddAssign;

use experiment::ids::ThreadId;
use experiment::rows::Interval;
use experiment::state::{Scheduling, State};
use experiment::tables::Tables;
use rustc_hash::FxHashMap;

use super::calls::Call;
use super::ranks::Ranks;

/// What a thread did over some time, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meanwhile {
    /// In the program, as far as nothing else is known.
    pub computes: u64,
    /// Ready to run without a CPU, for a millisecond or more at a time.
    pub ready: u64,
    /// Asleep outside of MPI, likewise.
    pub asleep: u64,
    /// In a wait of OpenMP, likewise.
    pub omp: u64,
    /// In functions of MPI that wait for other ranks.
    pub waits: u64,
    /// In other functions of MPI.
    pub mpi: u64,
    /// When it was not recorded.
    pub unknown: u64,
}

/// One of the things that a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Does {
    /// [`Meanwhile::computes`].
    Computes,
    /// [`Meanwhile::ready`].
    Ready,
    /// [`Meanwhile::asleep`].
    Asleep,
    /// [`Meanwhile::omp`].
    Omp,
    /// [`Meanwhile::waits`].
    Waits,
    /// [`Meanwhile::mpi`].
    Mpi,
    /// [`Meanwhile::unknown`].
    Unknown,
}

impl Does {
    /// Each of them.
    pub const ALL: [Does; 7] = [
        Does::Computes,
        Does::Ready,
        Does::Asleep,
        Does::Omp,
        Does::Waits,
        Does::Mpi,
        Does::Unknown,
    ];
}

impl Meanwhile {
    /// How long it did so, in nanoseconds.
    pub const fn time(&self, does: Does) -> u64 {
        match does {
            Does::Computes => self.computes,
            Does::Ready => self.ready,
            Does::Asleep => self.asleep,
            Does::Omp => self.omp,
            Does::Waits => self.waits,
            Does::Mpi => self.mpi,
            Does::Unknown => self.unknown,
        }
    }
}

impl AddAssign for Meanwhile {
    fn add_assign(&mut self, other: Meanwhile) {
        self.computes += other.computes;
        self.ready += other.ready;
        self.asleep += other.asleep;
        self.omp += other.omp;
        self.waits += other.waits;
        self.mpi += other.mpi;
        self.unknown += other.unknown;
    }
}

/// Times of a thread that do not overlap, each of a kind.
#[derive(Debug, Default)]
struct Spans<const KINDS: usize>(Vec<Span<KINDS>>);

#[derive(Debug)]
struct Span<const KINDS: usize> {
    start: u64,
    end: u64,
    kind: usize,
    /// The time of each kind before it.
    before: [u64; KINDS],
}

impl<const KINDS: usize> Spans<KINDS> {
    /// Adds one that begins after those before it; what overlaps them is left out.
    fn push(&mut self, start: u64, end: u64, kind: usize) {
        let (mut before, mut from) = ([0; KINDS], start);
        if let Some(last) = self.0.last() {
            before = last.before;
            before[last.kind] += last.end - last.start;
            from = from.max(last.end);
        }
        if from < end {
            self.0.push(Span {
                start: from,
                end,
                kind,
                before,
            });
        }
    }

    /// The time of each kind up to a moment.
    fn until(&self, time: u64) -> [u64; KINDS] {
        let after = self.0.partition_point(|it| it.start < time);
        let Some(last) = after.checked_sub(1).map(|at| &self.0[at]) else {
            return [0; KINDS];
        };
        let mut sums = last.before;
        sums[last.kind] += time.min(last.end) - last.start;
        sums
    }

    fn during(&self, from: u64, to: u64) -> [u64; KINDS] {
        let (mut sums, before) = (self.until(to), self.until(from));
        sums.iter_mut().zip(before).for_each(|(sum, it)| *sum -= it);
        sums
    }
}

/// What is known of all threads.
#[derive(Debug)]
pub(super) struct Activity<'a> {
    ranks: &'a Ranks<'a>,
    /// In functions that wait, in others.
    calls: FxHashMap<ThreadId, Spans<2>>,
    /// Ready, asleep, in waits of OpenMP.
    others: FxHashMap<ThreadId, Spans<3>>,
    /// Ready in functions of MPI that wait, and in others.
    ready_in_calls: FxHashMap<ThreadId, Spans<2>>,
}

impl<'a> Activity<'a> {
    /// Of calls in their order and of all listed intervals.
    pub(super) fn new(
        calls: &[Call],
        intervals: &[Interval],
        tables: &Tables,
        ranks: &'a Ranks<'a>,
    ) -> Activity<'a> {
        let mut activity = Activity {
            ranks,
            calls: FxHashMap::default(),
            others: FxHashMap::default(),
            ready_in_calls: FxHashMap::default(),
        };
        for call in calls {
            let waits = ::mpi::wait(call.function) != ::mpi::Wait::Nothing;
            let spans = activity.calls.entry(call.thread).or_default();
            spans.push(call.start, call.end, usize::from(!waits));
        }
        let mut listed: Vec<(ThreadId, u64, u64, usize)> = Vec::new();
        /// The first kind of [`Activity::ready_in_calls`].
        const IN_CALLS: usize = 3;
        for interval in intervals {
            let state = tables.thread_states.get(interval.thread_state.0);
            let state = state.map_or(State::Unknown, |it| it.state);
            let is_ready = matches!(
                interval.scheduling,
                Scheduling::Preempted | Scheduling::Stolen
            );
            let kind = match interval.scheduling {
                _ if state.is_mpi() && is_ready => IN_CALLS + usize::from(!state.is_wait()),
                _ if state.is_mpi() => continue,
                _ if state.is_wait() => 2,
                _ if is_ready => 0,
                Scheduling::Blocked => 1,
                _ => continue,
            };
            let start = ranks.on_clock(interval.thread, interval.start);
            listed.push((interval.thread, start, start + interval.length.0, kind));
        }
        listed.sort_unstable();
        for (thread, start, end, kind) in listed {
            match kind.checked_sub(IN_CALLS) {
                Some(kind) => {
                    let spans = activity.ready_in_calls.entry(thread).or_default();
                    spans.push(start, end, kind);
                }
                None => {
                    let spans = activity.others.entry(thread).or_default();
                    spans.push(start, end, kind);
                }
            }
        }
        activity
    }

    /// How long a thread was ready to run without a CPU from one moment of the ranks' common clock to another, for a
    /// millisecond or more at a time: in functions of MPI that wait for other ranks, and in others.
    pub(super) fn ready_in_calls(&self, thread: ThreadId, from: u64, to: u64) -> [u64; 2] {
        let spans = self.ready_in_calls.get(&thread);
        spans.map_or([0; 2], |spans| spans.during(from, to))
    }

    /// What a thread did from one moment of the ranks' common clock to another.
    pub(super) fn during(&self, thread: ThreadId, from: u64, to: u64) -> Meanwhile {
        let all = to.saturating_sub(from);
        let Some((begin, end)) = self.ranks.span(self.ranks.of_thread(thread)) else {
            return Meanwhile {
                unknown: all,
                ..Meanwhile::default()
            };
        };
        let (from, to) = (from.max(begin), to.min(end));
        if from >= to {
            return Meanwhile {
                unknown: all,
                ..Meanwhile::default()
            };
        }
        let known = to - from;
        let calls = self.calls.get(&thread);
        let [waits, mpi] = calls.map_or([0; 2], |spans| spans.during(from, to));
        let others = self.others.get(&thread);
        let [ready, asleep, omp] = others.map_or([0; 3], |spans| spans.during(from, to));
        // An interval may reach into a call by as much as clocks are apart.
        let rest = known.saturating_sub(waits + mpi);
        let ready = ready.min(rest);
        let asleep = asleep.min(rest - ready);
        let omp = omp.min(rest - ready - asleep);
        Meanwhile {
            computes: rest - ready - asleep - omp,
            ready,
            asleep,
            omp,
            waits,
            mpi,
            unknown: all - known,
        }
    }

    /// The same without some parts of it, in which it waited in MPI or in OpenMP for others that are known; what it did
    /// in functions of MPI without a CPU counts as that.
    pub(super) fn itself(
        &self,
        thread: ThreadId,
        (from, to): (u64, u64),
        without: impl Iterator<Item = (Does, u64, u64)>,
    ) -> Meanwhile {
        let mut did = self.during(thread, from, to);
        let [mut in_waits, in_others] = self.ready_in_calls(thread, from, to);
        for (does, from, to) in without {
            if does == Does::Omp {
                did.omp = did.omp.saturating_sub(to - from);
                continue;
            }
            did.waits = did.waits.saturating_sub(to - from);
            let [ready, _] = self.ready_in_calls(thread, from, to);
            in_waits = in_waits.saturating_sub(ready);
        }
        let (in_waits, in_others) = (in_waits.min(did.waits), in_others.min(did.mpi));
        did.waits -= in_waits;
        did.mpi -= in_others;
        did.ready += in_waits + in_others;
        did
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_add_up_between_any_two_moments() {
        let mut spans = Spans::<2>::default();
        spans.push(10, 20, 0);
        // Overlaps the one before.
        spans.push(15, 30, 1);
        spans.push(16, 25, 1);
        spans.push(40, 50, 0);
        assert_eq!(spans.during(0, 100), [20, 10]);
        assert_eq!(spans.during(12, 45), [13, 10]);
        assert_eq!(spans.during(22, 24), [0, 2]);
        assert_eq!(spans.during(30, 40), [0, 0]);
        assert_eq!(Spans::<2>::default().during(0, 9), [0, 0]);
    }
}
