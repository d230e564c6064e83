//! How far the clocks of several hosts are apart, for reports on ranks.

use omp_model::mpi::ranks::{RankId, Ranks};
use serde_json::{Value as Json, json};

/// A sentence for each clock but the first, whose rank is `first`.
pub(crate) fn notices(ranks: &Ranks<'_>) -> Vec<String> {
    let Some((first, _)) = ranks.all().find(|it| it.1.is_some()) else {
        return Vec::new();
    };
    let first = ranks.name(first);
    let host = |rank: RankId| ranks.recording(rank).map_or("", |it| &*it.host);
    let each = ranks.clocks().map(|(rank, difference)| {
        let own = format!("the clock of {} on {}", ranks.name(rank), host(rank));
        difference.map_or_else(
            || {
                format!(
                    "nothing tells how far {own} is apart from that of {first}, as messages both ways between their hosts would"
                )
            },
            |it| {
                let (by, way) = (it.ahead.abs(), if it.ahead < 0.0 { "behind" } else { "ahead of" });
                format!(
                    "{own} is {by:.6} s {way} that of {first}, to within {:.6} s, by the messages between ranks",
                    it.error
                )
            },
        )
    });
    each.collect()
}

/// The same for JSON. Times are seconds.
pub(crate) fn json(ranks: &Ranks<'_>) -> Json {
    let each = ranks.clocks().map(|(rank, it)| {
        json!({
            "rank": rank.number,
            "job": rank.job + 1,
            "ahead": it.map(|it| it.ahead),
            "error": it.map(|it| it.error),
            "rate_ppm": it.map(|it| it.millionths),
        })
    });
    each.collect()
}
