//! How the views refine recorded time: what a thread's seconds of one tag were spent on.

use experiment::Sums;
use experiment::ids::{TagId, ThreadId};
use experiment::state::Presence;
use omp_model::profile::{PathId, Profile};

use super::activity::Activity;
use super::by_thread::ByThread;

/// Time of a thread in a slice, under one tag and presence, as the views show it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spell {
    pub(super) thread: ThreadId,
    pub(super) slice: u64,
    pub(super) tag: TagId,
    pub(super) presence: Presence,
    pub(super) activity: Activity,
    /// Nanoseconds.
    pub(super) time: f64,
}

type Key = (ThreadId, u64, TagId, Presence, Activity);

impl Spell {
    const fn key(&self) -> Key {
        (
            self.thread,
            self.slice,
            self.tag,
            self.presence,
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
    rows.extend(profile.items.iter().map(|item| Spell {
        thread: item.thread,
        slice: u64::from(item.slice),
        tag: item.tag,
        presence: item.presence,
        activity: Activity::of_leaf(leaf(item.path), item.shown),
        time: item.seconds * 1e9,
    }));
    by_thread(rows, threads)
}

/// The same by recorded states alone: those of each tag.
pub(super) fn of_sums(sums: &Sums, activities: &[Activity], threads: usize) -> ByThread<Spell> {
    let rows = sums.iter().map(|sum| Spell {
        thread: sum.thread,
        slice: u64::from(sum.slice),
        tag: sum.tag,
        presence: sum.presence,
        activity: activities
            .get(sum.tag.index())
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

/// What most of the time of a tag and presence was spent on, among a slice's spells.
pub(super) fn main_activity(spells: &[Spell], tag: TagId, presence: Presence) -> Option<Activity> {
    let alike = spells
        .iter()
        .filter(|spell| (spell.tag, spell.presence) == (tag, presence));
    let most = alike.max_by(|left, right| left.time.total_cmp(&right.time));
    most.map(|spell| spell.activity)
}
