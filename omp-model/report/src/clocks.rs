//! How far the clocks of several hosts are apart, for reports on ranks.

use omp_model::mpi::ranks::{RankId, Ranks};
use serde_json::{Value as Json, json};

/// A sentence for each clock that is compared with another, or cannot be.
pub(crate) fn notices(ranks: &Ranks<'_>) -> Vec<String> {
    let host = |rank: RankId| ranks.recording(rank).map_or("", |it| &*it.host);
    let each = ranks.clocks().into_iter().map(|(rank, difference)| {
        let own = format!("the clock of {} on {}", ranks.name(rank), host(rank));
        let Some((first, it)) = difference else {
            return format!(
                "nothing tells how far {own} is apart from those of other ranks, as messages both ways between their hosts \
                 would"
            );
        };
        let (by, way) = (it.ahead.abs(), if it.ahead < 0.0 { "behind" } else { "ahead of" });
        format!(
            "{own} is {by:.6} s {way} that of {}, to within {:.6} s, by the messages between ranks",
            ranks.name(first),
            it.error
        )
    });
    each.collect()
}

/// That times depend on two clocks; `None` if all ranks have one.
pub(crate) fn notice(ranks: &Ranks<'_>) -> Option<String> {
    let known = ranks.clocks().into_iter().filter_map(|it| it.1);
    let mut errors: Vec<f64> = known.map(|(_, it)| it.error).collect();
    errors.sort_by(|one, other| other.total_cmp(one));
    // A time may depend on two clocks that are both compared with a third.
    let most: f64 = errors.iter().take(2).sum();
    (!errors.is_empty()).then(|| {
        format!(
            "hosts have different clocks, which are compared by the messages between ranks: each time that depends on the \
             clocks of two hosts may be off by up to {most:.6} s"
        )
    })
}

/// The differences for JSON. Times are seconds.
pub(crate) fn json(ranks: &Ranks<'_>) -> Json {
    let each = ranks.clocks().into_iter().map(|(rank, it)| {
        let (first, it) = it.unzip();
        json!({
            "rank": rank.number,
            "job": rank.job + 1,
            "ahead_of": first.map(|first| first.number),
            "ahead": it.map(|it| it.ahead),
            "error": it.map(|it| it.error),
            "rate_ppm": it.map(|it| it.millionths),
        })
    });
    each.collect()
}
