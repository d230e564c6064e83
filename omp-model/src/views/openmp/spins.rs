//! Waiting that the program does itself, in loops around a flag. The OpenMP specification counts it
//! as work, so without this view the advice would be misleading.

use experiment::ids::FrameId;
use rustc_hash::FxHashMap;

use super::advice::LEAST;
use super::locations::ConstructLocation;
use crate::profile::{Callee, PathId, Profile};
use crate::states::Pseudo;
use crate::views::names::Names;

/// Time that a run spent in `<OMP flush spin>`.
#[derive(Clone, Debug, PartialEq)]
pub struct Spins {
    /// Thread seconds, on the CPU and ready to run.
    pub seconds: f64,
    /// Seconds of all OpenMP threads.
    pub all: f64,
    /// The loop with most of it.
    pub location: ConstructLocation,
}

impl Spins {
    /// The spins of a profile in user mode; `None` below [`LEAST`] of the threads' time.
    pub(super) fn of(profile: &Profile, names: &Names<'_>) -> Option<Spins> {
        let paths = profile.paths.rows();
        let mut by_loop = FxHashMap::<PathId, f64>::default();
        let (mut all, mut seconds) = (0.0, 0.0);
        for item in &profile.items {
            let thread = names.tables.threads.get(item.thread.index());
            if thread.is_none_or(|thread| !thread.kind.is_in_teams()) {
                continue;
            }
            all += item.seconds;
            let path = &paths[item.path.0 as usize];
            if path.frame.callee == Callee::Pseudo(Pseudo::FlushSpin) {
                seconds += item.seconds;
                *by_loop.entry(path.callers).or_default() += item.seconds;
            }
        }
        if seconds <= 0.0 || seconds < LEAST * all {
            return None;
        }
        let heaviest = by_loop
            .into_iter()
            .max_by(|left, right| left.1.total_cmp(&right.1).then(right.0.cmp(&left.0)));
        let location = heaviest.map(|(callers, _)| location(profile, names, callers));
        Some(Spins {
            seconds,
            all,
            location: location.unwrap_or_default(),
        })
    }

    /// The finding and the hint, in a sentence.
    pub fn words(&self) -> String {
        let Spins {
            seconds,
            all,
            location,
        } = self;
        format!(
            "Threads spin on variables of the program's own for {seconds:.3} s of {all:.3} s \
             ({:.1} %; <OMP flush spin>), most of it at {}: by the standard that is work, and below \
             it is called so; let OpenMP wait instead (depend clauses, ordered, a barrier), or \
             give each thread a CPU of its own",
            100.0 * seconds / all,
            location.short(),
        )
    }
}

/// The innermost function with a line, from the loop outward: the function that the loop calls to
/// yield has no line.
fn location(profile: &Profile, names: &Names<'_>, innermost: PathId) -> ConstructLocation {
    let mut first = None;
    let mut at = innermost;
    while at != PathId::EMPTY {
        let path = &profile.paths.rows()[at.0 as usize];
        if path.frame.frame != FrameId::NONE {
            let location = ConstructLocation::of_frame(names, path.frame.frame);
            if location.line.is_some() {
                return location;
            }
            first = first.or(Some(location));
        }
        at = path.callers;
    }
    first.unwrap_or_default()
}
