//! Findings in numbers, and how much of the program the checks saw.

use std::collections::BTreeMap;

use experiment::findings::{
    Check, Compared, Comparison, Coverage, Deadlock, Divergence, Findings, Misuse, Race,
    Uninitialised,
};
use serde_json::{Value as Json, json};

use super::finding::{Finding, at};
use super::kind::FindingKind;
use super::rows::{found, sources};
use super::suppressions::without_indexes;
use crate::document::{Block, Column, Document, InJson, Line, Row, Style, Table, TablePart, Value};
use crate::error::Error;
use crate::json;
use crate::query::{Query, Source};

/// Findings and how often they occurred, of one class, function or variable.
#[derive(Clone, Copy, Default)]
struct Sum {
    findings: u64,
    count: u64,
}

/// The findings of a kind by class, function and variable, with what the checks saw.
///
/// # Errors
/// [`Error`] if there are no data on them.
pub fn summary<T: Finding>(query: &Query<'_>) -> Result<Document, Error> {
    let query = &query.added_up();
    let found = found::<T>(query)?;
    let mut by_class = BTreeMap::<String, Sum>::new();
    let mut by_function = BTreeMap::<String, Sum>::new();
    let mut by_variable = BTreeMap::<String, Sum>::new();
    let mut count = 0_u64;
    for row in found.shown() {
        let finding = &row.finding;
        let add = |sums: &mut BTreeMap<String, Sum>, mut names: Vec<String>| {
            names.sort();
            names.dedup();
            for name in names {
                let sum = sums.entry(name).or_default();
                sum.findings += 1;
                sum.count = sum.count.saturating_add(finding.count());
            }
        };
        add(&mut by_class, vec![finding.class().to_owned()]);
        let sites = finding.sites().into_iter();
        let functions = sites.map(|site| match site.function.as_str() {
            "" => at(Some(site)),
            function => function.to_owned(),
        });
        add(&mut by_function, functions.collect());
        let names = finding.variables();
        add(
            &mut by_variable,
            names.into_iter().map(without_indexes).collect(),
        );
        count = count.saturating_add(finding.count());
    }
    let variables = match T::KIND {
        FindingKind::Deadlock => "Lock",
        _ => "Variable",
    };
    let tables = [
        ("class", "Class", by_class),
        ("function", "Function", by_function),
        ("variable", variables, by_variable),
    ];
    let tables = tables.into_iter().filter(|(.., sums)| !sums.is_empty());
    let tables = tables.map(|(by, heading, sums)| Block::Table(table(by, heading, sums)));
    let shown = found.shown().count();
    let view = match T::KIND {
        FindingKind::Race => "rsummary",
        FindingKind::Deadlock => "dsummary",
        FindingKind::Divergence => "vsummary",
        other => other.view(),
    };
    let head = format!("{shown} {}", T::KIND.noun(shown));
    let not_checked = not_checked(query);
    let mut blocks = vec![Block::Lines(vec![Line::plain(head)])];
    blocks.extend(tables);
    blocks.push(Block::Lines(coverage_lines(query)));
    Ok(Document {
        facts: json::fields([
            ("findings", json!(shown)),
            ("count", json!(count)),
            ("suppressed", json!(found.suppressed())),
            ("not_checked", json!(not_checked)),
            ("coverage", coverage(query)),
        ]),
        title: not_checked.join("\n"),
        blocks,
        notices: found.notices,
        ..query.document_of_findings(view)
    })
}

fn table(by: &str, heading: &str, sums: BTreeMap<String, Sum>) -> Table {
    let mut sums: Vec<(String, Sum)> = sums.into_iter().collect();
    sums.sort_by_key(|(_, sum)| std::cmp::Reverse((sum.findings, sum.count)));
    let column = |id: &str, heading: &str| Column {
        heading: vec![heading.to_owned()],
        ..Column::fact(id)
    };
    let name = Column {
        heading: vec![heading.to_owned()],
        json: InJson::Row,
        ..Column::name()
    };
    let row = |(name, sum): (String, Sum)| Row {
        name,
        values: vec![vec![
            Value::Text(by.to_owned()),
            Value::Absent,
            Value::Count(sum.findings),
            Value::Count(sum.count),
        ]],
        ..Row::default()
    };
    Table {
        style: Style::Ruled,
        columns: vec![
            Column::fact("by"),
            name,
            column("findings", "Findings"),
            column("count", "Count"),
        ],
        parts: vec![TablePart::new("", ["findings", "count", "name"])],
        rows: sums.into_iter().map(row).collect(),
        ..Table::default()
    }
}

/// How much of the program the checks saw, of each experiment that has findings.
pub fn coverage_lines(query: &Query<'_>) -> Vec<Line> {
    let several = sources(query).count() > 1;
    let mut lines = Vec::new();
    for source in sources(query) {
        let Some(findings) = source.analysis.experiment.findings.as_deref() else {
            continue;
        };
        let words: Vec<&str> = findings.checks.iter().map(|it| word(*it)).collect();
        let words = words.join(", ");
        lines.push(Line::plain(if several {
            format!("Checks of {}: {words}", source.analysis.name)
        } else {
            format!("Checks: {words}")
        }));
        let Coverage {
            accesses,
            threads,
            waited,
            uninstrumented,
            losses,
            own_uninstrumented: _,
        } = &findings.coverage;
        match &findings.comparison {
            None => lines.push(Line::plain(format!(
                "  Recorded: {accesses} accesses of {threads} threads, which waited {waited:.3} seconds \
                 for the checkers"
            ))),
            Some(comparison) => lines.extend(comparison_lines(comparison)),
        }
        let objects = uninstrumented.iter();
        let objects = objects.map(|it| format!("  Not instrumented, and so not seen: {it}"));
        let losses = losses.iter().map(|loss| format!("  Not checked: {loss}"));
        lines.extend(objects.chain(losses).map(Line::warning));
    }
    lines
}

/// What was compared with executions by one thread, a line for each construct.
fn comparison_lines(comparison: &Comparison) -> Vec<Line> {
    let (compared, all) = comparison.instances();
    let mut lines = vec![Line::plain(format!(
        "  Compared: {compared} of {all} instances of {} parallel constructs, in {:.3} of {:.3} seconds",
        comparison.constructs.len(),
        comparison.spent,
        comparison.elapsed
    ))];
    for it in &comparison.constructs {
        let Compared {
            compared,
            instances,
            words,
            ..
        } = it;
        lines.push(Line::plain(format!(
            "  {}: {compared} of {instances} instances, {words} words",
            construct_words(it)
        )));
        let others = [
            (it.rounded, "differ within rounding"),
            (it.varying, "vary by themselves"),
            (it.per_thread, "are a thread's own"),
            (it.pointers, "are pointers to new blocks"),
        ];
        for (count, what) in others.into_iter().filter(|(count, _)| *count > 0) {
            let spread = if count == it.rounded && it.spread > 0.0 && what.ends_with("rounding") {
                format!(" (rounding changes them by {:.1e} at most)", it.spread)
            } else {
                String::new()
            };
            lines.push(Line::plain(format!("    {count} words {what}{spread}")));
        }
        for (cause, count) in &it.not {
            lines.push(Line::plain(format!("    {count} not comparable: {cause}")));
        }
    }
    lines
}

/// `parallel at a.c:10 (main)`.
fn construct_words(compared: &Compared) -> String {
    let place = experiment::findings::Frame {
        function: compared.function.clone(),
        file: compared.construct.file.clone(),
        line: compared.construct.line,
    };
    format!("{} at {}", compared.construct.name, at(Some(&place)))
}

/// How many instances were compared, of how many, in all experiments; and how many are not comparable.
pub(super) fn instances(query: &Query<'_>) -> (u64, u64, u64) {
    let of = |source: &Source<'_>| {
        let findings = source.analysis.experiment.findings.as_deref()?;
        let comparison = findings.comparison.as_ref()?;
        let causes = comparison.constructs.iter().flat_map(|it| &it.not);
        let not = causes.fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
        let (compared, all) = comparison.instances();
        Some((compared, all, not))
    };
    sources(query).filter_map(of).fold((0, 0, 0), |one, other| {
        (
            one.0.saturating_add(other.0),
            one.1.saturating_add(other.1),
            one.2.saturating_add(other.2),
        )
    })
}

/// What a list of differences rests on.
fn compared(query: &Query<'_>) -> String {
    let (compared, all, not) = instances(query);
    let not = if not > 0 {
        format!(", {not} are not comparable (vsummary)")
    } else {
        String::new()
    };
    format!("{compared} of {all} instances of parallel constructs were compared{not}")
}

/// The same as JSON, a row for each experiment; null for those without findings.
pub(crate) fn coverage(query: &Query<'_>) -> Json {
    let of = |source: &Source<'_>| {
        let findings = source.analysis.experiment.findings.as_deref()?;
        let checks: Vec<&str> = findings.checks.iter().map(|it| word(*it)).collect();
        let coverage = &findings.coverage;
        Some(json!({
            "checks": checks,
            "accesses": coverage.accesses,
            "threads": coverage.threads,
            "waited_seconds": coverage.waited,
            "uninstrumented": coverage.uninstrumented,
            "own_uninstrumented": coverage.own_uninstrumented,
            "losses": coverage.losses,
            "comparison": findings.comparison,
        }))
    };
    sources(query).map(of).collect()
}

/// The word of `collect -r`.
const fn word(check: Check) -> &'static str {
    match check {
        Check::Race => "race",
        Check::Deadlock => "deadlock",
        Check::Init => "init",
        Check::Compare => "compare",
    }
}

/// How many findings there are of each kind, in a sentence; `None` without data on any.
pub fn in_short(query: &Query<'_>) -> Option<String> {
    let query = &query.added_up();
    let counts = [
        counted::<Race>(query),
        counted::<Deadlock>(query),
        counted::<Misuse>(query),
        counted::<Uninitialised>(query),
        counted::<Divergence>(query),
    ];
    let told: Vec<String> = counts.into_iter().flatten().collect();
    (!told.is_empty()).then(|| format!("collect -r found {}", told.join(", ")))
}

/// `3 races (races)`.
fn counted<T: Finding>(query: &Query<'_>) -> Option<String> {
    let count = found::<T>(query).ok()?.shown().count();
    let (noun, view) = (T::KIND.noun(count), T::KIND.view());
    Some(if view == noun {
        format!("{count} {noun}")
    } else {
        format!("{count} {noun} ({view})")
    })
}

/// What all findings are short of.
pub fn coverage_notices(query: &Query<'_>) -> Vec<String> {
    let mut all = not_checked(query);
    all.extend(notices_of(query, FindingKind::Race));
    all
}

/// The findings of each experiment, behind the number of its side if they are compared.
fn numbered<'q>(query: &'q Query<'_>) -> impl Iterator<Item = (String, &'q Findings)> {
    let sides = query.groups().sides().iter();
    let sides = sides.map(|side| {
        let number = query.is_comparison().then(|| format!("({}) ", side + 1));
        number.unwrap_or_default()
    });
    let numbered = sources(query).zip(sides.chain(std::iter::repeat(String::new())));
    let of = |(source, side): (&'q Source<'_>, String)| {
        let findings = source.analysis.experiment.findings.as_deref()?;
        Some((side, findings))
    };
    numbered.collect::<Vec<_>>().into_iter().filter_map(of)
}

/// What of the program itself was not checked: the first lines of every document on findings.
pub fn not_checked(query: &Query<'_>) -> Vec<String> {
    let lines = numbered(query).filter_map(|(side, findings)| {
        let said = findings.coverage.shortfall()?;
        Some(format!("{side}{said}"))
    });
    let mut lines: Vec<String> = lines.collect();
    lines.dedup();
    lines
}

/// What else findings of a kind are short of; with the number of their side if experiments are compared.
pub(super) fn notices_of(query: &Query<'_>, kind: FindingKind) -> Vec<String> {
    let sees_accesses = matches!(kind, FindingKind::Race | FindingKind::Uninit);
    let mut notices = Vec::new();
    if kind == FindingKind::Divergence {
        notices.push(compared(query));
    }
    if kind == FindingKind::Uninit {
        let unseen = "local variables whose address never leaves their function are not seen: compilers tell \
                      of no access to them";
        notices.push(unseen.to_owned());
    }
    for (side, findings) in numbered(query) {
        let Coverage {
            uninstrumented,
            own_uninstrumented,
            ..
        } = &findings.coverage;
        let others = uninstrumented.iter();
        let others = others.filter(|it| !own_uninstrumented.contains(it));
        let objects = others.cloned().collect::<Vec<_>>().join(", ");
        if sees_accesses && !objects.is_empty() {
            notices.push(format!(
                "{side}not instrumented, and so not seen: {objects}"
            ));
        }
    }
    notices.dedup();
    notices
}
