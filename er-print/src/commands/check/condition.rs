//! The condition of a check, such as `ompwait < 10%` or `e.ompwork(each line) < 1.05 * base`.

use report::races::FindingKind;

use crate::stop::Stop;

/// What a condition limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// The whole program.
    Program,
    /// A function.
    Function(String),
    /// Each function by itself.
    EachFunction,
    /// Each source line by itself.
    EachLine,
}

/// The limit of a condition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Limit {
    /// Seconds, or events of a counter.
    Number(f64),
    /// Percent of all thread time, or of all events of the counter.
    Percent(f64),
    /// A multiple of the base's value.
    OfBase(f64),
}

/// A condition.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Condition {
    /// As it was written.
    pub(super) text: String,
    /// The word of the metric.
    pub(super) metric: String,
    pub(super) subject: Subject,
    operator: &'static str,
    pub(super) limit: Limit,
}

const OPERATORS: [&str; 7] = ["<=", ">=", "==", "!=", "<", ">", "="];

impl Condition {
    /// Parses a condition.
    pub(super) fn parse(text: &str) -> Result<Condition, Stop> {
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
        let (metric, subject) = match left.split_once('(') {
            Some((metric, rest)) => {
                let name = rest.trim_end().strip_suffix(')');
                let name = name.ok_or_else(|| wrong("a function's name ends with \")\""))?;
                let subject = match name.trim() {
                    "each function" => Subject::EachFunction,
                    "each line" => Subject::EachLine,
                    name => Subject::Function(name.to_owned()),
                };
                (metric.trim(), subject)
            }
            None => (left, Subject::Program),
        };
        if metric.is_empty() || subject == Subject::Function(String::new()) {
            return Err(wrong("it begins with a metric, or metric(function)"));
        }
        let limit = limit(right).ok_or_else(|| {
            wrong("right of the comparison stands a number of seconds, a percentage, or N * base")
        })?;
        Ok(Condition {
            text: text.to_owned(),
            metric: metric.to_owned(),
            subject,
            operator,
            limit,
        })
    }

    /// The condition that there is no finding of a kind.
    pub(super) fn none_of(kind: FindingKind) -> Condition {
        Condition {
            text: format!("{} == 0", kind.view()),
            metric: kind.view().to_owned(),
            subject: Subject::Program,
            operator: "==",
            limit: Limit::Number(0.0),
        }
    }

    /// The kind of findings that it limits, if it is about those.
    pub(super) fn findings(&self) -> Option<FindingKind> {
        let is = |kind: &FindingKind| kind.view().eq_ignore_ascii_case(&self.metric);
        FindingKind::ALL.into_iter().find(is)
    }

    /// Whether it holds for a value and a limit.
    pub(super) fn holds(&self, value: f64, limit: f64) -> bool {
        match self.operator {
            "<" => value < limit,
            "<=" => value <= limit,
            ">" => value > limit,
            ">=" => value >= limit,
            "==" | "=" => value == limit,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_understood() {
        let check = |metric: &str, subject: Subject, operator, limit| Condition {
            text: String::new(),
            metric: metric.to_owned(),
            subject,
            operator,
            limit,
        };
        let function = |name: &str| Subject::Function(name.to_owned());
        for (text, expected) in [
            (
                "ompwait < 10%",
                check("ompwait", Subject::Program, "<", Limit::Percent(10.0)),
            ),
            (
                "e.total(main)<=2s",
                check("e.total", function("main"), "<=", Limit::Number(2.0)),
            ),
            (
                "i.ompwork(f(int, a<b>)) < 1.05 * base",
                check(
                    "i.ompwork",
                    function("f(int, a<b>)"),
                    "<",
                    Limit::OfBase(1.05),
                ),
            ),
            (
                "total >= base",
                check("total", Subject::Program, ">=", Limit::OfBase(1.0)),
            ),
            (
                "total != base*2",
                check("total", Subject::Program, "!=", Limit::OfBase(2.0)),
            ),
            (
                "e.total(each line) < 1.1*base",
                check("e.total", Subject::EachLine, "<", Limit::OfBase(1.1)),
            ),
            (
                "races(step) = 0",
                check("races", function("step"), "=", Limit::Number(0.0)),
            ),
            (
                "ompwait( each function ) < 2",
                check("ompwait", Subject::EachFunction, "<", Limit::Number(2.0)),
            ),
        ] {
            let expected = Condition {
                text: text.to_owned(),
                ..expected
            };
            assert_eq!(Condition::parse(text), Ok(expected), "{text}");
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
            assert!(Condition::parse(text).is_err(), "{text}");
        }
    }
}
