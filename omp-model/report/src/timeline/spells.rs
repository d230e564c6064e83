//! How the views refine recorded time: what a thread's seconds of one thread state were spent on.

use experiment::Sums;
use experiment::ids::{ThreadId, ThreadStateId};
use experiment::state::Scheduling;
use omp_model::profile::{PathId, Profile};

use super::activity::Activity;
use super::by_thread::ByThread;

/// Time of a thread in a slice, under one thread state and scheduling state, as the views show it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spell {
    pub(super) thread: ThreadId,
    pub(super) slice: u64,
    pub(super) thread_state: ThreadStateId,
    pub(super) scheduling: Scheduling,
    pub(super) activity: Activity,
    /// Nanoseconds.
    pub(super) time: f64,
}

type Key = (ThreadId, u64, ThreadStateId, Scheduling, Activity);

impl Spell {
    const fn key(&self) -> Key {
        (
            self.thread,
            self.slice,
            self.thread_state,
            self.scheduling,
            self.activity,
        )
    }
}

/// The spells of a profile in user mode, which holds the time of all `sums`: their stacks tell
/// overhead from work, and pools that are not OpenMP's.
pub(super) fn spells(profile: &Profile, sums: &Sums, threads: usize) -> ByThread<Spell> {
    let leaf = |path: PathId| {
        let row = profile.paths.get(path.0).filter(|_| path != PathId::EMPTY);
        row.map(|row| row.frame.callee)
    };
    let mut rows: Vec<Spell> = Vec::with_capacity(sums.len());
    let time = profile.items.iter().filter(|item| item.counter.is_none());
    rows.extend(time.map(|item| Spell {
        thread: item.thread,
        slice: u64::from(item.slice),
        thread_state: item.thread_state,
        scheduling: item.scheduling,
        activity: Activity::of_leaf(leaf(item.path), item.state),
        time: item.seconds * 1e9,
    }));
    by_thread(rows, threads)
}

/// The same by recorded states alone: those of each thread state.
pub(super) fn of_sums(sums: &Sums, activities: &[Activity], threads: usize) -> ByThread<Spell> {
    let rows = sums.iter().map(|sum| Spell {
        thread: sum.thread,
        slice: u64::from(sum.slice),
        thread_state: sum.thread_state,
        scheduling: sum.scheduling,
        activity: activities
            .get(sum.thread_state.index())
            .copied()
            .unwrap_or(Activity::Unknown),
        time: sum.time.0 as f64,
    });
    by_thread(rows.collect(), threads)
}

/// Spells of each thread, those alike as one.
fn by_thread(mut rows: Vec<Spell>, threads: usize) -> ByThread<Spell> {
    rows.sort_unstable_by_key(Spell::key);
    rows.dedup_by(|next, kept| {
        let same = next.key() == kept.key();
        if same {
            kept.time += next.time;
        }
        same
    });
    rows.shrink_to_fit();
    ByThread::new(rows, threads, |spell| spell.thread)
}

/// What most of the time in a thread state and scheduling state was spent on in a slice.
pub(super) fn main_activity(
    spells: &[Spell],
    thread_state: ThreadStateId,
    scheduling: Scheduling,
) -> Option<Activity> {
    let alike = spells
        .iter()
        .filter(|spell| (spell.thread_state, spell.scheduling) == (thread_state, scheduling));
    let most = alike.max_by(|left, right| left.time.total_cmp(&right.time));
    most.map(|spell| spell.activity)
}
