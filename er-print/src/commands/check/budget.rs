//! Budgets of what `collect -r` found: `races == 0`, `races(new) == 0`, `deadlocks(shutdown) == 0`.
//!
//! Races of class order by chance do not count: they may be no errors.

use std::collections::HashSet;

use experiment::findings::{Deadlock, Divergence, Misuse, Race, Uninitialised};
use report::document::Column;
use report::races::{self, Finding, FindingKind, Found};
use report::settings::Compare;
use report::{Document, Query, Settings};
use serde_json::{Value as Json, json};

use super::condition::{Condition, Limit, Subject};
use super::{Outcome, document, word};
use crate::open_experiment::OpenExperiment;
use crate::session::Session;
use crate::stop::Stop;

/// The function's name that stands for findings that the base has not.
const NEW: &str = "new";

/// The verdict on a condition about findings. `base` are the recordings of the last of several sides.
pub(super) fn verdict(
    session: &Session<'_>,
    condition: &Condition,
    kind: FindingKind,
    tested: &[&OpenExperiment],
    base: Option<&[&OpenExperiment]>,
) -> Result<(Outcome, Document), Stop> {
    match kind {
        FindingKind::Race => of::<Race>(session, condition, tested, base),
        FindingKind::Deadlock => of::<Deadlock>(session, condition, tested, base),
        FindingKind::Misuse => of::<Misuse>(session, condition, tested, base),
        FindingKind::Uninit => of::<Uninitialised>(session, condition, tested, base),
        FindingKind::Divergence => of::<Divergence>(session, condition, tested, base),
    }
}

fn of<T: Finding>(
    session: &Session<'_>,
    condition: &Condition,
    tested: &[&OpenExperiment],
    base: Option<&[&OpenExperiment]>,
) -> Result<(Outcome, Document), Stop> {
    let view = T::KIND.view();
    if matches!(condition.subject, Subject::EachFunction | Subject::EachLine) {
        return Err(Stop::Usage(format!(
            "check counts {view} of the program, of a function, or new ones: write {view} == 0, \
             {view}(main) == 0 or {view}(new) == 0"
        )));
    }
    let found = added_up::<T>(session, tested)?;
    // Where it is compared with nothing, a base need not have data.
    let needs_base = matches!(condition.limit, Limit::OfBase(_))
        || condition.subject == Subject::Function(NEW.to_owned());
    let base = match (needs_base, base) {
        (false, _) => None,
        (true, None) => {
            return Err(Stop::usage(
                "check compares with base: name the base experiment after the one to check",
            ));
        }
        (true, Some(base)) => Some(added_up::<T>(session, base)?),
    };
    let of_base = || base.iter().flat_map(|base| counted(base));
    let known: HashSet<String> = of_base().map(|row| row.finding.key()).collect();
    let matches = |finding: &T, is_base: bool| match &condition.subject {
        Subject::Program => true,
        Subject::Function(name) if name == NEW => !is_base && !known.contains(&finding.key()),
        Subject::Function(name) => finding.sites().iter().any(|site| site.function == *name),
        Subject::EachFunction | Subject::EachLine => false,
    };
    let failing: Vec<_> = counted(&found)
        .filter(|row| matches(&row.finding, false))
        .collect();
    let value = failing.len() as f64;
    let limit = match condition.limit {
        Limit::Number(number) => number,
        Limit::OfBase(times) => {
            times * of_base().filter(|row| matches(&row.finding, true)).count() as f64
        }
        Limit::Percent(_) => {
            return Err(Stop::Usage(format!(
                "check counts {view}, which are no part of a whole: write {view} == 0"
            )));
        }
    };
    let passed = condition.holds(value, limit);
    let suppressed = found.suppressed();
    let and = match suppressed {
        0 => String::new(),
        count => format!(", {count} suppressed"),
    };
    let column = Column::default();
    let not_checked = of_side(session, tested, races::not_checked)?;
    let verdict = format!(
        "{} {}: {}, limit {}{and}",
        word(passed),
        condition.text,
        column.amount(value),
        column.amount(limit),
    );
    let mut lines: Vec<String> = not_checked.iter().cloned().chain([verdict]).collect();
    if !passed {
        lines.extend(failing.iter().map(|row| line(row)));
    }
    lines.extend(found.unused.iter().map(|text| format!("  Note: {text}")));
    let mut document = document(condition, passed, lines);
    let failing: Json = failing
        .iter()
        .map(|row| json!({"id": row.id, "name": row.finding.name()}))
        .collect();
    let facts = [
        ("value", json!(value)),
        ("limit", json!(limit)),
        ("suppressed", json!(suppressed)),
        ("findings", failing),
        ("not_checked", json!(not_checked)),
        ("unused_suppressions", json!(found.unused)),
    ];
    let facts = facts.map(|(key, fact)| (key.to_owned(), fact));
    document.facts.extend(facts);
    let outcome = match (passed, not_checked.is_empty()) {
        (false, _) => Outcome::Failed,
        (true, false) => Outcome::NotChecked,
        (true, true) => Outcome::Passed,
    };
    Ok((outcome, document))
}

/// A finding that fails a condition.
fn line<T: Finding>(row: &races::Row<T>) -> String {
    let places: Vec<String> = row.finding.sites().into_iter().map(races::place).collect();
    format!(
        "  {} {}: {}, {}",
        T::KIND.word(),
        row.id,
        row.finding.name(),
        places.join(", ")
    )
}

/// The findings of recordings of one side, added up.
fn added_up<T: Finding>(session: &Session<'_>, side: &[&OpenExperiment]) -> Result<Found<T>, Stop> {
    Ok(of_side(session, side, races::found)??)
}

/// What `of` says of recordings of one side.
fn of_side<R>(
    session: &Session<'_>,
    side: &[&OpenExperiment],
    of: impl FnOnce(&Query<'_>) -> R,
) -> Result<R, Stop> {
    let settings = Settings {
        compare: Compare::Off,
        ..session.settings.shown.clone()
    };
    let sources: Vec<_> = side.iter().map(|it| it.source(&settings)).collect();
    let sort = session.sort_key()?;
    let query = Query::new(&settings, sources[0], &sources, Vec::new(), sort);
    Ok(of(&query))
}

/// Those that count.
fn counted<T: Finding>(found: &Found<T>) -> impl Iterator<Item = &races::Row<T>> {
    found.shown().filter(|row| row.finding.is_certain())
}
