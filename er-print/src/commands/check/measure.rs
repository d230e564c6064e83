//! The values of a condition in the recordings of the side that it tests and of the base.

use omp_model::metrics::{Flavour, Metric, Quantity, SortKey};
use omp_model::views::compare::groups::{Term, chance, mean, of_sampling};
use omp_model::views::compare::join::Joined;
use omp_model::views::{ListRow, Request};
use report::find::{self, Named};
use report::functions::{Kind, joined, seconds};
use report::query::Source;
use report::settings::Compare;
use report::{Query, Settings};

use super::condition::{Condition, Limit, Subject};
use crate::open_experiment::OpenExperiment;
use crate::session::Session;
use crate::stop::Stop;

/// The probability that a condition fails by chance, where it is known how recordings vary.
const LEVEL: f64 = 0.01;

/// The least part of a recording's whole that a row has to have in one of them, to be tested beside others:
/// the more rows are tested, the larger is a change that chance does not explain.
const LEAST: f64 = 0.01;

/// The rows that a condition is about.
pub(super) struct Measured {
    request: Request,
    pub(super) quantity: Quantity,
    /// By recording: first those of the tested side, then those of the base. The row of everything is the
    /// first.
    rows: Vec<Joined<ListRow>>,
    /// The number of recordings of the tested side.
    tested: usize,
    /// The row that is asked for.
    subject: usize,
    /// Seconds that a sample stands for.
    period: f64,
}

/// How a condition turned out.
pub(super) struct Verdict {
    /// The mean of the tested recordings.
    pub(super) value: f64,
    /// What it was held against.
    pub(super) limit: f64,
    /// All thread time, or all events of the counter, in the tested recordings.
    pub(super) total: f64,
    /// How far value and limit may be apart by chance, in one direction; `None` if no side has several
    /// recordings.
    pub(super) chance: Option<f64>,
    pub(super) passed: bool,
}

impl Measured {
    /// Reads the values. `base` are the recordings of the last of several sides.
    pub(super) fn of(
        session: &Session<'_>,
        condition: &Condition,
        tested: &[&OpenExperiment],
        base: &[&OpenExperiment],
    ) -> Result<Measured, Stop> {
        let (sort, request) = asked(condition, tested[0])?;
        let settings = Settings {
            compare: Compare::On,
            ..session.settings.shown.clone()
        };
        let experiments = || tested.iter().chain(base);
        let sources = experiments().map(|it| it.source(&settings));
        let sources: Vec<Source<'_>> = sources.collect();
        let mut query = Query::new(&settings, sources[0], &sources, Vec::new(), sort);
        query.request = request.clone();
        let kind = match condition.subject {
            Subject::EachLine => Kind::Lines,
            _ => Kind::Functions,
        };
        let rows = joined(&query, kind);
        let subject = match &condition.subject {
            Subject::Function(name) => {
                let named = Named {
                    name: name.clone(),
                    number: None,
                };
                let name = if query.is_comparison() {
                    find::shared(&query, &query.shared(), &named)?
                } else {
                    let list = kind.list(&query.all, &request);
                    find::function(&query.all.names(), &list, &named)?
                        .name
                        .clone()
                };
                rows.iter().position(|row| row.name == name).unwrap_or(0)
            }
            _ => 0,
        };
        let periods = experiments().map(|it| it.experiment.header.sampling.period_us / 1e6);
        Ok(Measured {
            request,
            quantity: sort.quantity,
            rows,
            tested: tested.len(),
            subject,
            period: periods.fold(0.0, f64::max),
        })
    }

    /// The verdict about the program, or the function that is asked for.
    pub(super) fn verdict(&self, condition: &Condition) -> Verdict {
        self.of_row(condition, LEVEL, &self.rows[self.subject])
    }

    /// The verdicts about each row that matters, by name. Together they fail by chance as rarely as one
    /// condition.
    pub(super) fn each(&self, condition: &Condition) -> Vec<(&str, Verdict)> {
        let Some((total, rows)) = self.rows.split_first() else {
            return Vec::new();
        };
        let whole = self.values(total, self.quantity);
        let matters = |row: &&Joined<ListRow>| {
            let values = self.values(row, self.quantity).into_iter();
            let mut parts = values.zip(&whole);
            parts.any(|(value, whole)| value >= LEAST * whole && *whole > 0.0)
        };
        let rows: Vec<&Joined<ListRow>> = rows.iter().filter(matters).collect();
        let level = LEVEL / rows.len().max(1) as f64;
        let verdict = |row: &&'_ Joined<ListRow>| self.of_row(condition, level, row);
        rows.iter()
            .map(|row| (row.name.as_str(), verdict(row)))
            .collect()
    }

    /// Whether it is known how recordings vary.
    pub(super) fn knows_chance(&self) -> bool {
        let recordings = self.rows.first().map_or(0, |total| total.rows.len());
        self.tested > 1 || recordings > self.tested + 1
    }

    /// A row's values by recording; what a recording lacks took no time in it.
    fn values(&self, row: &Joined<ListRow>, quantity: Quantity) -> Vec<f64> {
        let value = |row: &Option<ListRow>| {
            let row = row.as_ref();
            row.map_or(0.0, |row| seconds(&self.request, row, quantity))
        };
        row.rows.iter().map(value).collect()
    }

    fn of_row(&self, condition: &Condition, level: f64, row: &Joined<ListRow>) -> Verdict {
        let all = self.values(row, self.quantity);
        let whole = self.values(&self.rows[0], self.quantity);
        let totals = self.totals();
        let (values, bases) = all.split_at(self.tested);
        let (own, total) = (mean(values), mean(&totals[..self.tested]));
        let (limit, differences, times) = match condition.limit {
            Limit::Number(number) => (number, values.to_vec(), 0.0),
            Limit::Percent(percent) => {
                let share = percent / 100.0;
                let pairs = values.iter().zip(&totals);
                let differences = pairs.map(|(value, total)| value - share * total);
                (share * total, differences.collect(), 0.0)
            }
            Limit::OfBase(times) => (times * mean(bases), values.to_vec(), times),
        };
        let terms = [
            Term {
                runs: &differences,
                times: 1.0,
            },
            Term { runs: bases, times },
        ];
        let least = match self.quantity {
            Quantity::Time(_, metric) if metric.is_time() => {
                of_sampling(mean(&all), mean(&whole), self.period)
            }
            _ => 0.0,
        };
        let chance = chance(&terms, least, level);
        let is_chance = chance.is_some_and(|chance| (own - limit).abs() <= chance);
        Verdict {
            value: own,
            limit,
            total,
            chance,
            passed: condition.holds(own, limit) || is_chance,
        }
    }

    /// All thread time, or all events of the counter, by recording.
    fn totals(&self) -> Vec<f64> {
        let whole = match self.quantity {
            Quantity::Time(_, metric) if metric.is_counter() => metric,
            _ => Metric::Total,
        };
        self.values(&self.rows[0], Quantity::Time(Flavour::Exclusive, whole))
    }
}

/// The quantity that is limited, as a key of sorting, and what lists have to have.
fn asked(condition: &Condition, first: &OpenExperiment) -> Result<(SortKey, Request), Stop> {
    let key = SortKey::parse(&condition.metric, first.available())
        .map_err(|error| Stop::Usage(error.to_string()))?;
    let Quantity::Time(_, metric) = key.quantity else {
        return Err(Stop::Usage(format!(
            "check holds times against limits: \"{}\" is none",
            condition.metric
        )));
    };
    if !first.available().has(metric) {
        return Err(Stop::Usage(format!(
            "this recording has no data for \"{}\": metric_list shows the metrics that it has",
            metric.id()
        )));
    }
    let request = Request {
        metrics: vec![metric, Metric::Total],
        sort: key,
    };
    Ok((key, request))
}
