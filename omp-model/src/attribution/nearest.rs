//! Keeps groups of samples whose stacks time without samples may take.
//!
//! Of each series of groups only those nearest in time to a group without samples are kept, so that
//! memory grows with the number of such groups and not with the number of slices.

use std::cmp::Reverse;

use experiment::ids::{ContextId, ThreadId, ThreadStateId};
use experiment::state::{Scheduling, State};
use experiment::tables::{Tables, ThreadState};
use rustc_hash::FxHashMap;

use super::group::{Group, Sampled, thread_state_of};
use super::phase::{is_first, is_loading};

/// The most stacks that inferred time is divided among: a group without samples is short, and more
/// detail would be invented.
const STACKS: usize = 8;

/// A group's samples whose stacks others may take.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) slice: u32,
    pub(super) scheduling: Scheduling,
    /// Whether the samples began long sleeps.
    pub(super) long: bool,
    /// Once kept: the most frequent ones, in the order of stacks.
    pub(super) stacks: Vec<Sampled>,
}

impl Candidate {
    /// Keeps only the most frequent stacks.
    pub(super) fn cut(mut self) -> Candidate {
        let stacks = &mut self.stacks;
        if stacks.len() > STACKS {
            stacks.select_nth_unstable_by_key(STACKS, |s| (Reverse(s.count), s.stack, s.kernel));
            stacks.truncate(STACKS);
        }
        stacks.sort_unstable();
        stacks.shrink_to_fit();
        self
    }
}

/// Time of a group of which no samples of its own tell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) group: Group,
    /// Whether it is long sleeps.
    pub(super) long: bool,
}

/// Candidates in series by scheduling state and by whether they are of long sleeps.
#[derive(Debug, Default)]
pub(super) struct Candidates([Series; 2 * Scheduling::ALL.len()]);

/// Candidates in the order of slices, one of a slice at most.
#[derive(Debug, Default)]
struct Series {
    kept: Vec<Candidate>,
    /// The last one, as long as nobody has asked for it.
    last: Option<Candidate>,
    /// Whether somebody has asked since the last one came: the next one may be the nearest.
    wanted: bool,
}

impl Series {
    /// Takes a group's samples of a kind, if there are any.
    fn offer(&mut self, group: Group, long: bool, stacks: &[Sampled]) {
        let last = self.last.as_ref().or(self.kept.last());
        // The first group of a slice stands for all of them.
        if last.is_some_and(|last| last.slice == group.slice) {
            return;
        }
        let of_kind = |sampled: &&Sampled| sampled.has_long() == long;
        if !stacks.iter().any(|sampled| of_kind(&sampled)) {
            return;
        }
        let last = self.last.take();
        let mut candidate = Candidate {
            slice: group.slice,
            scheduling: group.scheduling,
            long,
            stacks: last.map(|last| last.stacks).unwrap_or_default(),
        };
        candidate.stacks.clear();
        candidate.stacks.extend(stacks.iter().filter(of_kind));
        if std::mem::take(&mut self.wanted) {
            self.kept.push(candidate.cut());
        } else {
            self.last = Some(candidate);
        }
    }

    fn ask(&mut self) {
        self.kept.extend(self.last.take().map(Candidate::cut));
        self.wanted = true;
    }
}

impl Candidates {
    fn series(&mut self, scheduling: Scheduling, long: bool) -> &mut Series {
        let kind = scheduling as usize + if long { Scheduling::ALL.len() } else { 0 };
        &mut self.0[kind]
    }

    /// Offers a group's samples, those that began long sleeps by themselves.
    fn offer(&mut self, group: Group, stacks: &[Sampled]) {
        for long in [false, true] {
            self.series(group.scheduling, long)
                .offer(group, long, stacks);
        }
    }

    /// Keeps what is nearest to a group without samples.
    fn ask(&mut self) {
        self.0.iter_mut().for_each(Series::ask);
    }

    /// Keeps a candidate.
    pub(super) fn keep(&mut self, candidate: Candidate) {
        let series = self.series(candidate.scheduling, candidate.long);
        series.kept.push(candidate);
    }

    /// The nearest one kept, in time or in scheduling state, whichever counts more for such time.
    pub(super) fn nearest(&self, wanted: Wanted, is_wait: bool) -> Option<&Candidate> {
        let Wanted { group, long } = wanted;
        let nearest_in_time = self.0.iter().filter_map(|Series { kept, .. }| {
            let after = kept.partition_point(|candidate| candidate.slice < group.slice);
            let around = &kept[after.saturating_sub(1)..kept.len().min(after + 1)];
            let around = around.iter();
            around.min_by_key(|candidate| candidate.slice.abs_diff(group.slice))
        });
        nearest_in_time.min_by_key(|candidate| {
            let distance = candidate.slice.abs_diff(group.slice);
            let off_cpu = candidate.scheduling != Scheduling::Running;
            // Running time says more about a long sleep than short sleeps do.
            let unlike = if long && off_cpu && !candidate.long {
                3
            } else {
                u32::from(unlike(group.scheduling, candidate.scheduling))
            };
            if is_wait {
                (distance, unlike)
            } else {
                (unlike, distance)
            }
        })
    }
}

/// How far a candidate's scheduling state is from the wanted one.
fn unlike(wanted: Scheduling, has: Scheduling) -> u8 {
    use Scheduling::{Blocked, Running};
    match (wanted, has) {
        _ if wanted == has => 0,
        // A thread loses its CPU wherever it runs.
        (off, Running) | (Running, off) if off != Blocked => 1,
        _ if wanted.wants_cpu() && has.wants_cpu() => 1,
        (Blocked, Running) => 1,
        _ => 2,
    }
}

/// Whether time of a thread state may stand wherever its thread was seen outside of constructs.
pub(super) fn is_outside(thread_state: ThreadState) -> bool {
    thread_state.context == ContextId::ROOT && thread_state.state != State::Idle
}

/// The candidates of each thread. Stacks of the loader are none: nearly all time without samples is
/// after `main` began, and the loader's frames are never where the thread is then.
#[derive(Debug, Default)]
pub(super) struct Nearest {
    /// By process's first thread: the slice of its first stack that is not the loader's.
    loaded: FxHashMap<ThreadId, u32>,
    by_state: FxHashMap<(ThreadId, ThreadStateId), Candidates>,
    /// Of all that the thread did outside of constructs.
    outside: FxHashMap<ThreadId, Candidates>,
}

impl Nearest {
    /// Offers a group's samples. Groups come by slice, and those that ask in a slice after those
    /// that offer.
    pub(super) fn offer(&mut self, tables: &Tables, group: Group, stacks: &[Sampled]) {
        let of_program: Vec<Sampled>;
        let mut stacks = stacks;
        if self.may_load(tables, group) {
            let is_loading = |sampled: &&Sampled| is_loading(tables, group.thread, sampled.stack);
            of_program = stacks
                .iter()
                .filter(|it| !is_loading(it))
                .copied()
                .collect();
            if of_program.is_empty() {
                return;
            }
            self.loaded.entry(group.thread).or_insert(group.slice);
            stacks = &of_program;
        }
        let by_state = self
            .by_state
            .entry((group.thread, group.thread_state))
            .or_default();
        by_state.offer(group, stacks);
        if is_outside(thread_state_of(tables, group.thread_state)) {
            let outside = self.outside.entry(group.thread).or_default();
            outside.offer(group, stacks);
        }
    }

    /// Whether the loader can be on stacks of a group.
    fn may_load(&self, tables: &Tables, group: Group) -> bool {
        let loaded = self.loaded.get(&group.thread);
        loaded.is_none_or(|&slice| group.slice <= slice) && is_first(tables, group.thread)
    }

    /// Keeps what is nearest to a group without samples.
    pub(super) fn ask(&mut self, tables: &Tables, group: Group) {
        let by_state = self
            .by_state
            .entry((group.thread, group.thread_state))
            .or_default();
        by_state.ask();
        if is_outside(thread_state_of(tables, group.thread_state)) {
            self.outside.entry(group.thread).or_default().ask();
        }
    }

    /// The candidates of a thread's own state.
    pub(super) fn of_state(&self, group: Group) -> Option<&Candidates> {
        self.by_state.get(&(group.thread, group.thread_state))
    }

    /// Those of all that a thread did outside of constructs.
    pub(super) fn outside(&self, thread: ThreadId) -> Option<&Candidates> {
        self.outside.get(&thread)
    }
}
