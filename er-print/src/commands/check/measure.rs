//! The values of a condition in the recordings of the side that it tests and of the base.

use omp_model::metrics::{Flavour, Metric, Quantity, SortKey};
use omp_model::views::compare::Shared;
use omp_model::views::compare::groups::{Term, chance, mean, of_sampling};
use omp_model::views::functions::List;
use omp_model::views::{ListRow, Request};
use report::find::{self, Named};
use report::functions::{Kind, seconds};
use report::query::Source;

use super::condition::{Condition, Limit, Subject};
use crate::open_experiment::OpenExperiment;
use crate::session::Session;
use crate::stop::Stop;

/// The probability that a condition fails by chance, where it is known how recordings vary.
const LEVEL: f64 = 0.01;

/// The least part of a recording's whole that a row has to have in one of them, to be tested beside others:
/// the more rows are tested, the larger is a change that chance does not explain.
const LEAST: f64 = 0.01;

/// The lists that a condition is about.
pub(super) struct Measured {
    request: Request,
    pub(super) quantity: Quantity,
    /// Of each recording of the tested side.
    tested: Vec<List>,
    /// Of each recording of the base.
    base: Vec<List>,
    /// The name of the function that is asked for.
    function: Option<String>,
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
        let (quantity, request) = asked(condition, tested[0])?;
        let experiments = tested.iter().chain(base);
        let sources: Vec<Source<'_>> = experiments
            .clone()
            .map(|it| it.source(&session.settings))
            .collect();
        let kind = match condition.subject {
            Subject::EachLine => Kind::Lines,
            _ => Kind::Functions,
        };
        let named = match &condition.subject {
            Subject::Function(name) => Some(Named {
                name: name.clone(),
                number: None,
            }),
            _ => None,
        };
        let own = |source: &Source<'_>| Kind::Functions.list(source, &request);
        let (mut lists, function) = if let [only] = sources.as_slice() {
            let list = kind.list(only, &request);
            let row = named.map(|named| find::function(&only.names(), &own(only), &named).cloned());
            (vec![list], row.transpose()?.map(|row| row.name))
        } else {
            let sides = sources.iter().map(|it| (it.profile(), it.names()));
            let shared = Shared::new(&sides.collect::<Vec<_>>());
            let function = named.map(|named| {
                let tested = sources[..tested.len()].iter().enumerate();
                let mut found = tested.map(|(side, source)| -> Result<String, report::Error> {
                    let list = own(source);
                    let row = find::function(&source.names(), &list, &named)?;
                    Ok(shared.name_of(side, &row.name).to_owned())
                });
                // A recording may lack a function that has little time.
                let first = found.next();
                first.into_iter().chain(found).reduce(Result::or)
            });
            let function = function.flatten().transpose()?;
            let lists = (0..sources.len()).map(|side| kind.shared(&shared, side, &request));
            (lists.collect(), function)
        };
        let base = lists.split_off(tested.len());
        let periods = experiments.map(|it| it.experiment.header.sampling.period_us / 1e6);
        Ok(Measured {
            request,
            quantity,
            tested: lists,
            base,
            function,
            period: periods.fold(0.0, f64::max),
        })
    }

    /// The verdict about the program, or the function that is asked for.
    pub(super) fn verdict(&self, condition: &Condition) -> Verdict {
        match &self.function {
            None => self.of_row(condition, LEVEL, |list| Some(&list.total)),
            Some(name) => self.of_name(condition, LEVEL, name),
        }
    }

    /// The verdicts about each row that matters, by name. Together they fail by chance as rarely as one
    /// condition.
    pub(super) fn each(&self, condition: &Condition) -> Vec<(&str, Verdict)> {
        let lists = || self.tested.iter().chain(&self.base);
        let matters = |(list, row): &(&List, &ListRow)| {
            let all = self.seconds(&list.total, self.quantity);
            self.seconds(row, self.quantity) >= LEAST * all && all > 0.0
        };
        let rows = lists().flat_map(|list| list.rows.iter().map(move |row| (list, row)));
        let mut names: Vec<&str> = rows
            .filter(matters)
            .map(|(_, row)| row.name.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        let level = LEVEL / names.len().max(1) as f64;
        let verdicts = names.into_iter();
        verdicts
            .map(|name| (name, self.of_name(condition, level, name)))
            .collect()
    }

    /// Whether it is known how recordings vary.
    pub(super) fn knows_chance(&self) -> bool {
        self.tested.len() > 1 || self.base.len() > 1
    }

    fn of_name(&self, condition: &Condition, level: f64, name: &str) -> Verdict {
        let row = |list: &'_ List| list.rows.iter().position(|row| row.name == name);
        self.of_row(condition, level, |list| Some(&list.rows[row(list)?]))
    }

    /// The verdict about a row of each list; what a recording lacks took no time in it.
    fn of_row(
        &self,
        condition: &Condition,
        level: f64,
        row: impl Fn(&List) -> Option<&ListRow>,
    ) -> Verdict {
        let value = |list: &List| row(list).map_or(0.0, |row| self.seconds(row, self.quantity));
        let values: Vec<f64> = self.tested.iter().map(value).collect();
        let totals: Vec<f64> = self.tested.iter().map(|list| self.total(list)).collect();
        let bases: Vec<f64> = self.base.iter().map(value).collect();
        let (own, total) = (mean(&values), mean(&totals));
        let (limit, differences, times) = match condition.limit {
            Limit::Number(number) => (number, values, 0.0),
            Limit::Percent(percent) => {
                let share = percent / 100.0;
                let pairs = values.iter().zip(&totals);
                let differences = pairs.map(|(value, total)| value - share * total);
                (share * total, differences.collect(), 0.0)
            }
            Limit::OfBase(times) => (times * mean(&bases), values, times),
        };
        let terms = [
            Term {
                runs: &differences,
                times: 1.0,
            },
            Term {
                runs: if times == 0.0 { &[] } else { &bases },
                times,
            },
        ];
        let lists = || self.tested.iter().chain(&self.base);
        let each: Vec<f64> = lists().map(value).collect();
        let whole = lists().map(|list| self.seconds(&list.total, self.quantity));
        let whole: Vec<f64> = whole.collect();
        let least = match self.quantity {
            Quantity::Time(_, metric) if metric.is_time() => {
                of_sampling(mean(&each), mean(&whole), self.period)
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

    fn seconds(&self, row: &ListRow, quantity: Quantity) -> f64 {
        seconds(&self.request, row, quantity)
    }

    /// All thread time, or all events of the counter.
    fn total(&self, list: &List) -> f64 {
        let whole = match self.quantity {
            Quantity::Time(_, metric) if metric.is_counter() => metric,
            _ => Metric::Total,
        };
        self.seconds(&list.total, Quantity::Time(Flavour::Exclusive, whole))
    }
}

/// The quantity that is limited, and what lists have to have.
fn asked(condition: &Condition, first: &OpenExperiment) -> Result<(Quantity, Request), Stop> {
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
    Ok((key.quantity, request))
}
