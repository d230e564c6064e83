//! What to do first about a job's ranks, in sentences.

use omp_model::mpi::balance::RankRow;
use omp_model::mpi::causes::{Causes, Charged};
use omp_model::mpi::meanwhile::Does;
use omp_model::mpi::parts::Part;
use omp_model::mpi::ranks::{RankId, Ranks};

use crate::document::Line;
use crate::parts::{function, predicate};

/// The part of the ranks' time from which on waits for a cause are told.
const LEAST: f64 = 0.001;

/// How many times the mean a rank works from which on that is told.
const MORE: f64 = 1.1;

/// The part of all waits from which on those for a rank that works more come first.
const LARGE: f64 = 0.1;

/// The most causes that are told.
const MOST: usize = 3;

/// What one rank did, and the waits for that.
struct Cause<'a> {
    rank: RankId,
    does: Does,
    charged: &'a Charged,
    seconds: f64,
    /// The place with most of it.
    most: Option<&'a Part>,
    /// Its work, as a part of the mean of the ranks'.
    times: f64,
}

impl Cause<'_> {
    /// Whether the rank works more than the others, and they wait for that.
    fn is_slow_rank(&self) -> bool {
        self.does == Does::Computes && self.times >= MORE
    }
}

/// The causes that are worth a sentence: first a rank that works more than the others, then by time.
fn causes_of<'a>(rows: &[RankRow], causes: &'a Causes) -> Vec<Cause<'a>> {
    let spent = || rows.iter().filter_map(|it| it.spent.as_ref());
    let elapsed: f64 = spent().map(|it| it.elapsed).sum();
    let mean = spent().map(|it| it.work).sum::<f64>() / spent().count().max(1) as f64;
    let all = causes.seconds();
    let of = |(&(rank, does), charged): (&(RankId, Does), &'a Charged)| {
        let mut parts = causes.parts.iter();
        let row = rows.iter().find(|it| it.rank == rank);
        let work = row.and_then(|it| it.spent.as_ref()).map(|it| it.work);
        Cause {
            rank,
            does,
            charged,
            seconds: charged.seconds(),
            most: parts.find(|it| (it.rank, it.does) == (rank, does)),
            times: work.map_or(0.0, |work| if mean > 0.0 { work / mean } else { 0.0 }),
        }
    };
    let mut found: Vec<Cause<'_>> = causes.charged.iter().map(of).collect();
    found.retain(|it| it.seconds >= LEAST * elapsed);
    let is_first = |it: &Cause<'_>| it.is_slow_rank() && it.seconds >= LARGE * all;
    found.sort_by(|one, other| {
        let by_time = other.seconds.total_cmp(&one.seconds);
        is_first(other).cmp(&is_first(one)).then(by_time)
    });
    found
}

/// The largest causes, each with the longest chain that leads to it.
pub(crate) fn sentences(ranks: &Ranks<'_>, rows: &[RankRow], causes: &Causes) -> Vec<Line> {
    let mut lines = Vec::new();
    for cause in causes_of(rows, causes).iter().take(MOST) {
        lines.push(Line::plain(sentence(ranks, cause)));
        lines.extend(chain(ranks, cause).map(Line::plain));
    }
    lines
}

/// The first of them, if anything can be done about it by the program or its machine.
pub(crate) fn first(ranks: &Ranks<'_>, rows: &[RankRow], causes: &Causes) -> Option<Line> {
    let causes = causes_of(rows, causes);
    let first = causes.first()?;
    let is_clear = match first.does {
        Does::Computes => first.is_slow_rank(),
        Does::Ready | Does::Asleep | Does::Omp => true,
        Does::Waits | Does::Mpi | Does::Unknown => false,
    };
    is_clear.then(|| Line::plain(sentence(ranks, first)))
}

/// `rank 17 on host n3 works 1.9 times the mean, in flux (flux.c:88); 41.000 s of the other ranks wait for it`.
fn sentence(ranks: &Ranks<'_>, cause: &Cause<'_>) -> String {
    let name = ranks.name(cause.rank);
    let host = ranks.recording(cause.rank).map(|it| &*it.host);
    let host = host.map_or_else(String::new, |host| format!(" on host {host}"));
    let place = cause.most.and_then(|it| it.place.as_ref());
    let does = if cause.is_slow_rank() {
        let place = place.map_or_else(String::new, |it| format!(", in {}", function(it)));
        format!("works {:.1} times the mean{place}", cause.times)
    } else {
        predicate(cause.does, place)
    };
    format!(
        "{name}{host} {does}; {:.3} s of the other ranks wait for it",
        cause.seconds
    )
}

/// The most ranks of a chain that are named.
const LINKS: usize = 8;

/// How the farthest wait comes to it; `None` if it was waited for directly.
fn chain(ranks: &Ranks<'_>, cause: &Cause<'_>) -> Option<String> {
    let [first, rest @ ..] = &cause.charged.chain[..] else {
        return None;
    };
    if rest.len() < 2 {
        return None;
    }
    let (shown, last) = if rest.len() > LINKS {
        (&rest[..LINKS - 1], rest.last())
    } else {
        (rest, None)
    };
    let mut links: Vec<String> = shown.iter().map(|it| ranks.name(*it)).collect();
    links.extend(last.map(|it| {
        let left = rest.len() - LINKS;
        format!("{left} more, and at last {}", ranks.name(*it))
    }));
    Some(format!(
        "    the longest: {} waits for {}",
        ranks.name(*first),
        links.join(", that for ")
    ))
}
