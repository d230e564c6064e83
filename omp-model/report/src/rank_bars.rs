//! What each rank's time went to, as stacked bars.

use omp_model::mpi::balance::RankRow;
use omp_model::mpi::ranks::{RankId, Ranks};
use omp_model::views::openmp::bars::{RankUse, Use};

use crate::advice::{row_of_bar, table_of_bars};
use crate::document::{Row, Table};
use crate::text;

/// So many bars at most: of more ranks, each stands for several that follow each other.
const MOST: usize = 40;

/// Recorded ranks that follow each other, and what their time went to in the mean.
struct Group {
    first: RankId,
    last: RankId,
    uses: Vec<(Use, f64)>,
}

/// A bar for each recorded rank, the longest as wide as the table; `None` without ranks.
pub(crate) fn table(ranks: &Ranks<'_>, rows: &[RankRow]) -> Option<Table> {
    let groups = groups(rows, MOST);
    let seconds = |group: &Group| group.uses.iter().map(|it| it.1).sum::<f64>();
    let whole = groups.iter().map(seconds).fold(0.0, f64::max);
    if whole <= 0.0 {
        return None;
    }
    let name = |group: &Group| {
        let [first, last] = [group.first, group.last].map(|it| ranks.name(it));
        if group.first == group.last {
            first
        } else {
            format!("{first} to {last}, in the mean")
        }
    };
    let bar = |group: &Group| -> Row { row_of_bar(name(group), group.uses.clone(), whole) };
    let caption = format!(
        "Where the time of the ranks' threads went; the longest bar is {} s",
        text::seconds(whole)
    );
    let is_used = |what: &Use| {
        groups
            .iter()
            .any(|it| it.uses.iter().any(|part| part.0 == *what && part.1 > 0.0))
    };
    let legend: Vec<Use> = ALL.map(Use::Rank).into_iter().filter(is_used).collect();
    let bars = groups.iter().map(bar).collect();
    Some(table_of_bars(caption, bars, legend.into_iter()))
}

const ALL: [RankUse; 5] = [
    RankUse::Work,
    RankUse::Waiting,
    RankUse::Mpi,
    RankUse::OmpWait,
    RankUse::OffCpu,
];

fn groups(rows: &[RankRow], most: usize) -> Vec<Group> {
    let recorded = rows
        .iter()
        .filter_map(|row| Some((row.rank, row.spent.as_ref()?)));
    let recorded: Vec<_> = recorded.collect();
    let each = recorded.len().div_ceil(most).max(1);
    let group = |of: &[(RankId, &omp_model::mpi::balance::Spent)]| {
        let mut uses = ALL.map(|what| (Use::Rank(what), 0.0));
        for (_, spent) in of {
            for (sum, (_, seconds)) in uses.iter_mut().zip(spent.uses()) {
                sum.1 += seconds.max(0.0) / of.len() as f64;
            }
        }
        Group {
            first: of[0].0,
            last: of[of.len() - 1].0,
            uses: uses.to_vec(),
        }
    };
    recorded.chunks(each).map(group).collect()
}

#[cfg(test)]
mod tests {
    use omp_model::mpi::balance::Spent;

    use super::*;

    #[test]
    fn many_ranks_share_bars_and_their_time_stays_the_same() {
        let row = |number: u32| RankRow {
            rank: RankId {
                number,
                ..RankId::default()
            },
            spent: (number != 5).then(|| Spent {
                work: f64::from(number),
                mpi: 3.0,
                waiting: 2.0,
                ..Spent::default()
            }),
        };
        let rows: Vec<RankRow> = (0..101).map(row).collect();
        let groups = groups(&rows, 40);
        assert_eq!(groups.len(), 34);
        let numbers = [&groups[1], &groups[33]].map(|it| (it.first.number, it.last.number));
        assert_eq!(numbers, [(3, 6), (100, 100)], "rank 5 has no recording");
        let work = |group: &Group| group.uses[0].1;
        assert_eq!((work(&groups[0]), work(&groups[33])), (1.0, 100.0));
        let others = groups.iter().map(|it| it.uses[1].1 + it.uses[2].1);
        assert!(others.into_iter().all(|it| (it - 3.0).abs() < 1e-9));
    }
}
