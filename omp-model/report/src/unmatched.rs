//! Messages of which one end alone is known, in sentences.

use omp_model::mpi::matching::{Matched, Unmatched};
use omp_model::mpi::ranks::{RankId, Ranks};

/// The most pairs of ranks that are told one by one.
const MOST: usize = 12;

/// A sentence for each pair of ranks with messages that have one end, and why that is so if it is known.
pub(crate) fn notices(ranks: &Ranks<'_>, matched: &Matched) -> Vec<String> {
    let mut pairs: Vec<(&(RankId, RankId), &Unmatched)> = matched.unmatched.iter().collect();
    pairs.sort_by_key(|(_, it)| std::cmp::Reverse(it.sent + it.received));
    let mut said: Vec<String> = pairs
        .iter()
        .take(MOST)
        .flat_map(|(pair, it)| sentences(ranks, **pair, it))
        .collect();
    if let Some(others) = pairs.get(MOST..).filter(|it| !it.is_empty()) {
        let count: u64 = others.iter().map(|(_, it)| it.sent + it.received).sum();
        said.push(format!(
            "{count} more messages between {} other pairs of ranks have one end alone",
            others.len()
        ));
    }
    if matched.unequal > 0 {
        said.push(format!(
            "{} messages were received with other sizes than they were sent with",
            matched.unequal
        ));
    }
    said
}

fn sentences(ranks: &Ranks<'_>, (from, to): (RankId, RankId), it: &Unmatched) -> Vec<String> {
    let names = format!("from {} to {}", ranks.name(from), ranks.name(to));
    let why = |absent: RankId, other: RankId| {
        let causes = [why(ranks, absent), why(ranks, other)]
            .into_iter()
            .flatten();
        let doubtful =
            (it.doubtful > 0).then(|| "what is recorded of some contradicts itself".to_owned());
        causes.chain(doubtful).next()
    };
    let mut said = Vec::new();
    if it.sent > 0 {
        let (count, is_one) = messages(it.sent);
        let (has, was) = if is_one {
            ("has", "was")
        } else {
            ("have", "were")
        };
        said.push(match why(to, from) {
            Some(why) => format!("{count} {names} {has} no recorded receive: {why}"),
            None => format!("{count} {names} {was} sent, and never received"),
        });
    }
    if it.received > 0 {
        let (count, is_one) = messages(it.received);
        let (has, was, its) = if is_one {
            ("has", "was", "its send is")
        } else {
            ("have", "were", "their sends are")
        };
        said.push(match why(from, to) {
            Some(why) => format!("{count} {names} {has} no recorded send: {why}"),
            None => format!("{count} {names} {was} received, and {its} not recorded"),
        });
    }
    said
}

fn messages(count: u64) -> (String, bool) {
    match count {
        1 => ("1 message".to_owned(), true),
        count => (format!("{count} messages"), false),
    }
}

/// Why something of a rank may be missing.
fn why(ranks: &Ranks<'_>, id: RankId) -> Option<String> {
    let name = ranks.name(id);
    let Some(recording) = ranks.recording(id) else {
        return Some(format!("{name} has no recording"));
    };
    match (&recording.cut, recording.lost_from) {
        (Some(cut), _) => Some(format!("{name} {cut}")),
        (None, Some(lost)) => Some(format!(
            "records of {name} were lost from {:.3} s on",
            lost.seconds()
        )),
        (None, None) => None,
    }
}
