//! `check`: a gate for continuous integration, such as `ompwait < 10%` or
//! `e.ompwork(kernel) < 1.05 * base`, or `races == 0` of what `collect -r` found.
//!
//! Where a side has several recordings, a condition fails only if it does so by more than recordings
//! of one program differ by chance.

mod budget;
mod condition;
mod measure;

use report::Document;
use report::document::Column;
use report::races::FindingKind;
use report::text;
use serde_json::{Value as Json, json};

use crate::open_experiment::OpenExperiment;
use crate::session::Session;
use crate::stop::Stop;
use condition::{Condition, Limit, Subject};
use measure::{Measured, Verdict};

/// What became of a condition about findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    /// It passed, but not all of the program was checked.
    NotChecked,
}

/// Tests a condition and prints the verdict. If a condition fails, the exit status is 1. If none fails, but one
/// about findings was not checked in all of the program, it is 2.
///
/// Without a condition, or with a kind of findings alone, there must be none.
pub(crate) fn check(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    test(
        session,
        &of_words(arguments.first().map_or("races", String::as_str))?,
    )
}

fn of_words(text: &str) -> Result<Condition, Stop> {
    let is = |kind: &FindingKind| kind.view().eq_ignore_ascii_case(text.trim());
    match FindingKind::ALL.into_iter().find(is) {
        Some(kind) => Ok(Condition::none_of(kind)),
        None => Condition::parse(text),
    }
}

/// Tests the conditions of a file, one a line; `#` begins a comment.
pub(crate) fn budgets(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let name = &arguments[0];
    let text = std::fs::read_to_string(name).map_err(|error| {
        Stop::Data(format!(
            "cannot read the budgets {name}: {error}; check the name"
        ))
    })?;
    let lines = text.lines().zip(1..);
    let lines = lines.map(|(line, number)| (line.split('#').next().unwrap_or(line).trim(), number));
    let lines: Vec<_> = lines.filter(|(line, _)| !line.is_empty()).collect();
    if lines.is_empty() {
        return Err(Stop::Usage(format!(
            "the budgets {name} hold no condition: write one a line, such as ompwait < 10%"
        )));
    }
    for (line, number) in lines {
        let tested = of_words(line).and_then(|it| test(session, &it));
        tested.map_err(|stop| match stop {
            Stop::Usage(message) => Stop::Usage(format!("{name}, line {number}: {message}")),
            other => other,
        })?;
    }
    Ok(())
}

fn test(session: &mut Session<'_>, condition: &Condition) -> Result<(), Stop> {
    let sides = session.groups().split(session.experiments());
    let Some((tested, others)) = sides.split_first() else {
        return Err(Stop::usage(
            "check needs an experiment: name its directory last",
        ));
    };
    let base: &[&OpenExperiment] = match (condition.limit, others.last()) {
        (Limit::OfBase(_), None) => {
            return Err(Stop::usage(
                "check compares with base: name the base experiment after the one to check",
            ));
        }
        (Limit::OfBase(_), Some(base)) => base,
        _ => &[],
    };
    if let Some(kind) = condition.findings() {
        let base = others.last().map(Vec::as_slice);
        let (outcome, document) = budget::verdict(session, condition, kind, tested, base)?;
        session.failed_checks += u32::from(outcome == Outcome::Failed);
        session.is_unchecked |= outcome == Outcome::NotChecked;
        return session.show(&document);
    }
    let measured = Measured::of(session, condition, tested, base)?;
    let (passed, document) = match condition.subject {
        Subject::Program | Subject::Function(_) => one(condition, &measured),
        Subject::EachFunction => each(condition, &measured, "functions")?,
        Subject::EachLine => each(condition, &measured, "lines")?,
    };
    session.failed_checks += u32::from(!passed);
    session.show(&document)
}

const fn word(passed: bool) -> &'static str {
    if passed { "PASS" } else { "FAIL" }
}

/// `, ± 0.010 s by chance`, if recordings tell.
fn by_chance(column: &Column, verdict: &Verdict) -> String {
    let chance = verdict.chance.map(|chance| column.amount(chance));
    chance.map_or_else(String::new, |it| format!(", ± {it} by chance"))
}

/// The verdict about the program or a function.
fn one(condition: &Condition, measured: &Measured) -> (bool, Document) {
    let verdict = measured.verdict(condition);
    let column = Column::time(measured.quantity);
    let line = format!(
        "{} {}: {} ({:.2} % of all), limit {}{}",
        word(verdict.passed),
        condition.text,
        column.amount(verdict.value),
        text::percent(verdict.value, verdict.total),
        column.amount(verdict.limit),
        by_chance(&column, &verdict),
    );
    let mut document = document(condition, verdict.passed, vec![line]);
    let facts = [
        ("value", json!(verdict.value)),
        ("limit", json!(verdict.limit)),
        ("total", json!(verdict.total)),
    ];
    let chance = verdict.chance.map(|chance| ("chance", json!(chance)));
    let facts = facts.into_iter().chain(chance);
    document
        .facts
        .extend(facts.map(|(key, fact)| (key.to_owned(), fact)));
    (verdict.passed, document)
}

/// The verdict about each function or line, with those that fail: the largest excess first.
fn each(condition: &Condition, measured: &Measured, what: &str) -> Result<(bool, Document), Stop> {
    if matches!(condition.limit, Limit::OfBase(_)) && !measured.knows_chance() {
        return Err(Stop::Usage(format!(
            "check needs several recordings to tell changes of {what} from chance: name them as \
             NEW1 NEW2 -- BASE1 BASE2"
        )));
    }
    let verdicts = measured.each(condition);
    let count = verdicts.len();
    let mut failed: Vec<(&str, Verdict)> = verdicts
        .into_iter()
        .filter(|(_, verdict)| !verdict.passed)
        .collect();
    let excess = |verdict: &Verdict| (verdict.value - verdict.limit).abs();
    failed.sort_by(|one, other| excess(&other.1).total_cmp(&excess(&one.1)));
    let passed = failed.is_empty();
    let said = match failed.len() {
        0 => format!("none of {count} {what} of 1 % or more fails"),
        failed => format!("{failed} of {count} {what} of 1 % or more"),
    };
    let column = Column::time(measured.quantity);
    let line = |(name, verdict): &(&str, Verdict)| {
        format!(
            "  {}, limit {}{}: {name}",
            column.amount(verdict.value),
            column.amount(verdict.limit),
            by_chance(&column, verdict)
        )
    };
    let head = format!("{} {}: {said}", word(passed), condition.text);
    let lines = std::iter::once(head).chain(failed.iter().map(line));
    let mut document = document(condition, passed, lines.collect());
    let failure = |(name, verdict): &(&str, Verdict)| {
        json!({
            "name": name,
            "value": verdict.value,
            "limit": verdict.limit,
            "chance": verdict.chance,
        })
    };
    let failed: Json = failed.iter().map(failure).collect();
    document.facts.insert("tested".to_owned(), json!(count));
    document.facts.insert("failed".to_owned(), failed);
    Ok((passed, document))
}

fn document(condition: &Condition, passed: bool, lines: Vec<String>) -> Document {
    let facts = [("check", json!(condition.text)), ("passed", json!(passed))];
    let facts = facts.map(|(key, fact)| (key.to_owned(), fact));
    Document {
        facts: facts.into_iter().collect(),
        ..Document::of_lines("check", lines)
    }
}
