//! `check`: a gate for continuous integration, such as `ompwait < 10%` or
//! `e.ompwork(kernel) < 1.05 * base`.

use omp_model::metrics::{Flavour, Metric, Quantity, SortKey};
use omp_model::views::compare::Shared;
use omp_model::views::{ListRow, Request};
use report::Document;
use report::document::Column;
use report::find::{self, Named};
use report::functions::{Kind, seconds};
use report::query::Source;
use report::text;
use serde_json::json;

use crate::open_experiment::OpenExperiment;
use crate::session::Session;
use crate::stop::Stop;

/// The limit of a condition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Limit {
    /// Seconds, or events of a counter.
    Number(f64),
    /// Percent of all thread time, or of all events of the counter.
    Percent(f64),
    /// A multiple of the base experiment's value.
    OfBase(f64),
}

/// A condition.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Check {
    metric: String,
    function: Option<String>,
    operator: &'static str,
    limit: Limit,
}

const OPERATORS: [&str; 6] = ["<=", ">=", "==", "!=", "<", ">"];

impl Check {
    /// Parses a condition.
    pub(crate) fn parse(text: &str) -> Result<Check, Stop> {
        let wrong = |what: &str| {
            Stop::Usage(format!(
                "check \"{text}\": {what}; write for example 'ompwait < 10%', 'e.total(main) < 2' \
                 or 'e.ompwork(kernel) < 1.05 * base'"
            ))
        };
        // A function's name may contain operators. The condition's comes after its parenthesis.
        let open = text.find('(');
        let close = open.and_then(|open| closing(text, open));
        let from = match (open, close) {
            (Some(open), _) if OPERATORS.iter().any(|sign| text[..open].contains(sign)) => 0,
            (Some(_), None) => return Err(wrong("a parenthesis is not closed")),
            (_, close) => close.map_or(0, |close| close + 1),
        };
        let found = OPERATORS
            .iter()
            .filter_map(|sign| Some((text[from..].find(sign)? + from, *sign)))
            .min_by_key(|&(at, sign)| (at, std::cmp::Reverse(sign.len())));
        let (at, operator) = found.ok_or_else(|| wrong("there is no comparison in it"))?;
        let (left, right) = (text[..at].trim(), text[at + operator.len()..].trim());
        let (metric, function) = match left.split_once('(') {
            Some((metric, rest)) => {
                let name = rest.trim_end().strip_suffix(')');
                let name = name.ok_or_else(|| wrong("a function's name ends with \")\""))?;
                (metric.trim(), Some(name.trim().to_owned()))
            }
            None => (left, None),
        };
        if metric.is_empty() || function.as_deref() == Some("") {
            return Err(wrong("it begins with a metric, or metric(function)"));
        }
        let limit = limit(right).ok_or_else(|| {
            wrong("right of the comparison stands a number of seconds, a percentage, or N * base")
        })?;
        Ok(Check {
            metric: metric.to_owned(),
            function,
            operator,
            limit,
        })
    }

    fn holds(&self, value: f64, limit: f64) -> bool {
        match self.operator {
            "<" => value < limit,
            "<=" => value <= limit,
            ">" => value > limit,
            ">=" => value >= limit,
            "==" => value == limit,
            _ => value != limit,
        }
    }
}

/// The parenthesis that closes the one at `open`.
fn closing(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, letter) in text.char_indices().skip_while(|(at, _)| *at < open) {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

fn limit(text: &str) -> Option<Limit> {
    let number = |text: &str| {
        let number = text.trim().parse::<f64>().ok()?;
        number.is_finite().then_some(number)
    };
    if text.eq_ignore_ascii_case("base") {
        return Some(Limit::OfBase(1.0));
    }
    if let Some((left, right)) = text.split_once('*') {
        let (left, right) = (left.trim(), right.trim());
        return match (
            left.eq_ignore_ascii_case("base"),
            right.eq_ignore_ascii_case("base"),
        ) {
            (true, false) => number(right).map(Limit::OfBase),
            (false, true) => number(left).map(Limit::OfBase),
            _ => None,
        };
    }
    if let Some(percent) = text.strip_suffix('%') {
        return number(percent).map(Limit::Percent);
    }
    number(text.strip_suffix('s').unwrap_or(text)).map(Limit::Number)
}

/// Prints a verdict. If a condition fails, the exit status is 1.
pub(crate) fn check(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let check = Check::parse(&arguments[0])?;
    let (passed, document) = {
        let [first, others @ ..] = session.experiments() else {
            return Err(Stop::usage(
                "check needs an experiment: name its directory last",
            ));
        };
        let one = Measure::of(session, first, &check)?;
        let (mut value, total) = (one.value(), one.total());
        let limit = match (check.limit, others.last()) {
            (Limit::Number(number), _) => number,
            (Limit::Percent(percent), _) => percent / 100.0 * total,
            (Limit::OfBase(times), Some(base)) => {
                let base = base.source(&session.settings);
                let (own, of_base) = one.compared(&base);
                value = own;
                times * of_base
            }
            (Limit::OfBase(_), None) => {
                return Err(Stop::usage(
                    "check compares with base: name the base experiment after the one to check",
                ));
            }
        };
        let passed = check.holds(value, limit);
        let column = Column::time(one.quantity);
        let line = format!(
            "{} {}: {} ({:.2} % of all), limit {}",
            if passed { "PASS" } else { "FAIL" },
            arguments[0],
            column.amount(value),
            text::percent(value, total),
            column.amount(limit)
        );
        let facts = [
            ("check", json!(arguments[0])),
            ("passed", json!(passed)),
            ("value", json!(value)),
            ("limit", json!(limit)),
            ("total", json!(total)),
        ];
        let facts = facts.map(|(key, fact)| (key.to_owned(), fact));
        let document = Document {
            facts: facts.into_iter().collect(),
            ..Document::of_lines("check", vec![line])
        };
        (passed, document)
    };
    session.failed_checks += u32::from(!passed);
    session.show(&document)
}

/// The value of a condition in an experiment.
struct Measure<'s> {
    source: Source<'s>,
    request: Request,
    quantity: Quantity,
    total: ListRow,
    /// The row of the function that is asked for.
    row: Option<ListRow>,
}

impl<'s> Measure<'s> {
    fn of(
        session: &'s Session<'_>,
        experiment: &'s OpenExperiment,
        check: &Check,
    ) -> Result<Measure<'s>, Stop> {
        let source = experiment.source(&session.settings);
        let key = SortKey::parse(&check.metric, experiment.available())
            .map_err(|error| Stop::Usage(error.to_string()))?;
        let quantity = key.quantity;
        let Quantity::Time(_, metric) = quantity else {
            return Err(Stop::Usage(format!(
                "check holds times against limits: \"{}\" is none",
                check.metric
            )));
        };
        if !experiment.available().has(metric) {
            return Err(Stop::Usage(format!(
                "this recording has no data for \"{}\": metric_list shows the metrics that it has",
                metric.id()
            )));
        }
        let request = Request {
            metrics: vec![metric, Metric::Total],
            sort: key,
        };
        let list = Kind::Functions.list(&source, &request);
        let row = match &check.function {
            None => None,
            Some(name) => {
                let named = Named {
                    name: name.clone(),
                    number: None,
                };
                Some(find::function(&source.names(), &list, &named)?.clone())
            }
        };
        Ok(Measure {
            source,
            request,
            quantity,
            total: list.total,
            row,
        })
    }

    fn value(&self) -> f64 {
        let row = self.row.as_ref().unwrap_or(&self.total);
        seconds(&self.request, row, self.quantity)
    }

    /// All thread time, or all events of the counter.
    fn total(&self) -> f64 {
        let whole = match self.quantity {
            Quantity::Time(_, metric) if metric.is_counter() => metric,
            _ => Metric::Total,
        };
        let all = Quantity::Time(Flavour::Exclusive, whole);
        seconds(&self.request, &self.total, all)
    }

    /// The values in both experiments, by the name that a function has in builds of any compiler;
    /// 0 if the base never ran it.
    fn compared(&self, base: &Source<'_>) -> (f64, f64) {
        let sides = [&self.source, base].map(|source| (source.profile(), source.names()));
        let shared = Shared::new(&sides);
        let name = self.row.as_ref().map(|row| shared.name_of(0, &row.name));
        let of = |side: usize| {
            let list = shared.functions(side, &self.request);
            let row = match name {
                None => Some(&list.total),
                Some(name) => list.rows.iter().find(|row| row.name == name),
            };
            row.map_or(0.0, |row| seconds(&self.request, row, self.quantity))
        };
        (of(0), of(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_understood() {
        let check = |metric: &str, function: Option<&str>, operator, limit| Check {
            metric: metric.to_owned(),
            function: function.map(str::to_owned),
            operator,
            limit,
        };
        for (text, expected) in [
            (
                "ompwait < 10%",
                check("ompwait", None, "<", Limit::Percent(10.0)),
            ),
            (
                "e.total(main)<=2s",
                check("e.total", Some("main"), "<=", Limit::Number(2.0)),
            ),
            (
                "i.ompwork(f(int, a<b>)) < 1.05 * base",
                check("i.ompwork", Some("f(int, a<b>)"), "<", Limit::OfBase(1.05)),
            ),
            (
                "total >= base",
                check("total", None, ">=", Limit::OfBase(1.0)),
            ),
            (
                "total != base*2",
                check("total", None, "!=", Limit::OfBase(2.0)),
            ),
        ] {
            assert_eq!(Check::parse(text), Ok(expected), "{text}");
        }
        for text in [
            "",
            "ompwait",
            "ompwait <",
            "< 3",
            "e.total( < 3",
            "total < x",
            "total < base * base",
            "total < NaN",
            "total() < 1",
            "total < 1 * 2",
        ] {
            assert!(Check::parse(text).is_err(), "{text}");
        }
    }
}
