//! What to do about a race, where the accesses prove it.

use findings::{Kind, Race};

/// One sentence, or nothing.
pub(crate) fn of(race: &Race) -> Option<String> {
    let [one, other] = &race.accesses;
    let are_plain = [one, other]
        .iter()
        .all(|access| matches!(access.kind, Kind::Read | Kind::Write));
    let is_half_atomic = !are_plain
        && [one, other]
            .iter()
            .any(|access| matches!(access.kind, Kind::Read | Kind::Write));
    is_half_atomic.then(|| "make both accesses atomic: only one of them is".to_owned())
}
