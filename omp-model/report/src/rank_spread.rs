//! How far ranks are apart: of each quantity the least, the mean, the most and percentiles, and the ranks that are far from
//! the others.

use omp_model::mpi::balance::RankRow;
use omp_model::mpi::ranks::{RankId, Ranks};
use serde_json::{Value as Json, json};

use crate::document::{Column, InJson, Line, Row, Style, Table, Unit, Value};
use crate::ranks::{QUANTITIES, Quantity};

/// From so many ranks on percentiles are shown, and told which are far from the others.
const MANY: usize = 10;

/// So many ranks are told.
const TOLD: usize = 4;

/// A quantity over the recorded ranks.
pub(crate) struct Spread {
    quantity: &'static Quantity,
    /// Every rank's, least first.
    sorted: Vec<(RankId, f64)>,
    mean: f64,
}

impl Spread {
    /// The value that so many percent of the ranks do not exceed (nearest rank).
    fn percentile(&self, percent: usize) -> f64 {
        let rank = (self.sorted.len() * percent).div_ceil(100).max(1);
        self.sorted[rank - 1].1
    }

    fn least(&self) -> f64 {
        self.sorted[0].1
    }

    /// The most, and the first rank that has it.
    fn most(&self) -> (RankId, f64) {
        let most = self.sorted[self.sorted.len() - 1].1;
        let of_most = self.sorted.iter().filter(|it| it.1 >= most);
        let at = of_most.map(|it| it.0).min();
        (at.unwrap_or_default(), most)
    }

    /// The ranks beyond 1.5 times the range of the middle half, on either side of it (Tukey), by 5 percent of the mean
    /// at least; those farthest from it first.
    fn far(&self) -> Vec<(RankId, f64)> {
        let [low, high] = [25, 75].map(|it| self.percentile(it));
        let beyond = (1.5 * (high - low)).max(0.05 * self.mean);
        let far = |value: f64| (low - value).max(value - high);
        let all = self.sorted.iter().copied();
        let mut all: Vec<_> = all.filter(|it| far(it.1) > beyond).collect();
        all.sort_by(|one, other| far(other.1).total_cmp(&far(one.1)));
        all
    }

    fn is_time(&self) -> bool {
        self.quantity.unit == Unit::Seconds
    }
}

/// The quantities over the recorded ranks.
pub(crate) fn quantities(rows: &[RankRow]) -> Vec<Spread> {
    let of = |quantity: &'static Quantity| {
        let recorded = rows.iter().filter_map(|row| {
            let spent = row.spent.as_ref()?;
            Some((row.rank, (quantity.of)(spent)))
        });
        let mut sorted: Vec<(RankId, f64)> = recorded.collect();
        sorted.sort_by(|one, other| one.1.total_cmp(&other.1));
        let sum: f64 = sorted.iter().map(|it| it.1).sum();
        let mean = sum / sorted.len() as f64;
        (!sorted.is_empty()).then_some(Spread {
            quantity,
            sorted,
            mean,
        })
    };
    QUANTITIES.iter().filter_map(of).collect()
}

/// Least, mean, most and percentiles, which JSON has elsewhere.
pub(crate) fn table(ranks: &Ranks<'_>, quantities: &[Spread]) -> Table {
    let is_many = quantities.first().is_some_and(|it| it.sorted.len() >= MANY);
    let column = |id: &str, heading: &str, decimals| Column {
        heading: vec![heading.to_owned()],
        decimals,
        json: InJson::Nowhere,
        ..Column::fact(id)
    };
    let name = |id: RankId| match ranks.jobs() {
        0 | 1 => id.number.to_string(),
        _ => ranks.name(id),
    };
    let row = |it: &Spread| {
        let (at, most) = it.most();
        let mut values = vec![Value::Number(it.least())];
        if is_many {
            let percentiles = [10, 50, 90].map(|percent| Value::Number(it.percentile(percent)));
            values.extend(percentiles);
        }
        let even = if most > 0.0 {
            Value::Text(format!("{:.3}", it.mean / most))
        } else {
            Value::Absent
        };
        let others = [
            Value::Number(it.mean),
            Value::Number(most),
            Value::Text(name(at)),
            even,
            Value::Absent,
        ];
        values.extend(others);
        Row {
            values: vec![values],
            decimals: (!it.is_time()).then_some(0),
            ..Row::named(it.quantity.label)
        }
    };
    let mut columns = vec![column("least", "Least", 3)];
    if is_many {
        columns.extend([
            column("p10", "10 %", 3),
            column("median", "Median", 3),
            column("p90", "90 %", 3),
        ]);
    }
    columns.extend([
        column("mean", "Mean", 3),
        column("most", "Most", 3),
        column("at", "of rank", 0),
        column("even", "Mean/Most", 3),
        Column {
            heading: vec!["Of the ranks".to_owned()],
            ..Column::name()
        },
    ]);
    Table {
        style: Style::Ruled,
        columns,
        rows: quantities.iter().map(row).collect(),
        ..Table::default()
    }
}

/// The ranks that are far from the others by a time; `None` if there is none, or there are few ranks.
pub(crate) fn lines(ranks: &Ranks<'_>, quantities: &[Spread]) -> Option<Vec<Line>> {
    let line = |it: &Spread| {
        let far = it.far();
        let [low, high] = [25, 75].map(|percent| it.percentile(percent));
        let told = far.iter().take(TOLD);
        let told: Vec<String> = told
            .map(|(rank, value)| format!("{} ({value:.3} s)", ranks.name(*rank)))
            .collect();
        let more = match far.len().saturating_sub(TOLD) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let is_told = it.is_time() && it.sorted.len() >= MANY && !far.is_empty();
        is_told.then(|| {
            Line::plain(format!(
                "Far from the others by {}: {}{more}; half of the ranks have {low:.3} to {high:.3} s",
                it.quantity.label,
                told.join(", ")
            ))
        })
    };
    let lines: Vec<Line> = quantities.iter().filter_map(line).collect();
    (!lines.is_empty()).then_some(lines)
}

/// The same for JSON, with the ranks that are far from the others of many.
pub(crate) fn json(quantities: &[Spread]) -> Json {
    let of = |it: &Spread| {
        let (at, most) = it.most();
        let far = match it.sorted.len() {
            ..MANY => Vec::new(),
            _ => it.far(),
        };
        let far = far
            .iter()
            .map(|(rank, value)| json!({"rank": rank.number, "job": rank.job + 1, "value": value}));
        let values = json!({
            "least": it.least(),
            "p10": it.percentile(10),
            "median": it.percentile(50),
            "p90": it.percentile(90),
            "mean": it.mean,
            "most": most,
            "rank": at.number,
            "job": at.job + 1,
            "far": far.collect::<Vec<Json>>(),
        });
        (it.quantity.id.to_owned(), values)
    };
    Json::Object(quantities.iter().map(of).collect())
}

#[cfg(test)]
mod tests {
    use omp_model::mpi::balance::Spent;

    use super::*;

    fn rows(work: impl Iterator<Item = f64>) -> Vec<RankRow> {
        let row = |(number, work): (u32, f64)| RankRow {
            rank: RankId {
                number,
                ..RankId::default()
            },
            spent: Some(Spent {
                work,
                ..Spent::default()
            }),
        };
        (0..).zip(work).map(row).collect()
    }

    fn work(rows: &[RankRow]) -> Spread {
        let mut all = quantities(rows);
        all.retain(|it| it.quantity.id == "work");
        all.remove(0)
    }

    #[test]
    fn percentiles_are_values_of_ranks() {
        let even = work(&rows((1..=20).map(f64::from)));
        assert_eq!(
            [10, 50, 90].map(|it| even.percentile(it)),
            [2.0, 10.0, 18.0]
        );
        assert_eq!((even.least(), even.most().1, even.mean), (1.0, 20.0, 10.5));
        assert!(even.far().is_empty(), "they are spread evenly");
        let one = work(&rows([3.0].into_iter()));
        assert_eq!([10, 90].map(|it| one.percentile(it)), [3.0, 3.0]);
        assert!(quantities(&[]).is_empty());
    }

    #[test]
    fn a_rank_that_works_twice_as_long_is_far_from_the_others() {
        let of = |rank: u32| match rank {
            7 => 2.0,
            _ => 1.0 + f64::from(rank % 3) * 0.01,
        };
        let spread = work(&rows((0..16).map(of)));
        let far = spread.far();
        assert_eq!(far.len(), 1);
        assert_eq!((far[0].0.number, far[0].1), (7, 2.0));
        assert_eq!(spread.most().0.number, 7);
    }
}
