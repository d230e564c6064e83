//! The findings of a query: added up, numbered, filtered, suppressed.

use std::collections::HashMap;

use experiment::findings::Findings;
use omp_model::filter::NamedStack;

use super::finding::Finding;
use super::kind::FindingKind;
use crate::error::Error;
use crate::query::{Query, Source};

/// A finding with its number.
#[derive(Clone, Debug)]
pub struct Row<T> {
    /// Its number, from 1.
    pub id: usize,
    /// The finding, of all experiments that have it.
    pub finding: T,
    /// How often each side has it; `None` where it does not.
    pub counts: Vec<Option<u64>>,
    /// Which rule suppresses it.
    pub suppressed: Option<usize>,
    /// Whether the filter keeps it.
    pub kept: bool,
}

/// The findings of a kind.
#[derive(Clone, Debug)]
pub struct Found<T> {
    /// All of them, by number.
    pub rows: Vec<Row<T>>,
    /// Sentences about what they are short of.
    pub notices: Vec<String>,
    /// Sentences about suppressions of the kind that suppress nothing.
    pub unused: Vec<String>,
}

impl<T: Finding> Found<T> {
    /// Those that documents show.
    pub fn shown(&self) -> impl Iterator<Item = &Row<T>> + Clone {
        self.rows
            .iter()
            .filter(|row| row.kept && row.suppressed.is_none())
    }

    /// How many are suppressed.
    pub fn suppressed(&self) -> usize {
        let rows = self.rows.iter();
        rows.filter(|row| row.kept && row.suppressed.is_some())
            .count()
    }
}

/// Whether any experiment of a query has findings, whatever was looked for.
pub fn has_findings(query: &Query<'_>) -> bool {
    sources(query).any(|source| source.analysis.experiment.findings.is_some())
}

/// The experiments of a query, one by one.
pub(super) fn sources<'q, 'a>(
    query: &'q Query<'a>,
) -> impl Iterator<Item = &'q Source<'a>> + Clone {
    let each: &[Source<'a>] = match query.each.as_slice() {
        [] => std::slice::from_ref(&query.all),
        several => several,
    };
    each.iter()
}

/// The findings of an experiment on a kind, if that was looked for.
fn data<'a>(source: &Source<'a>, kind: FindingKind) -> Result<&'a Findings, Error> {
    let analysis = source.analysis;
    let findings = analysis.experiment.findings.as_deref();
    if let Some(findings) = findings.filter(|it| it.checks.contains(&kind.check())) {
        return Ok(findings);
    }
    let what = match kind {
        FindingKind::Uninit => "uninitialised reads",
        FindingKind::Misuse => "misuse of OpenMP",
        FindingKind::Divergence => "differences from executions with one thread",
        other => other.view(),
    };
    let name = &analysis.name;
    Err(Error(format!(
        "the experiment has no data on {what} ({name}); record it with `collect -r {}`",
        kind.option()
    )))
}

/// The findings of a kind. A comparison has a count of each side.
///
/// # Errors
/// [`Error`] if no experiment has data on them, or one that is compared has none.
pub fn found<T: Finding>(query: &Query<'_>) -> Result<Found<T>, Error> {
    let sides: Vec<usize> = if query.is_comparison() {
        query.groups().sides().to_vec()
    } else {
        vec![0; sources(query).count()]
    };
    let side_count = sides.iter().max().map_or(1, |last| last + 1);
    let mut found = Found {
        rows: Vec::<Row<T>>::new(),
        notices: Vec::new(),
        unused: Vec::new(),
    };
    let mut known = HashMap::<(String, usize), usize>::new();
    let mut missing = Vec::new();
    for ((number, source), side) in (1..).zip(sources(query)).zip(sides) {
        let findings = match data(source, T::KIND) {
            Ok(findings) => findings,
            Err(error) if query.is_comparison() => return Err(error),
            Err(error) => {
                missing.push(error);
                continue;
            }
        };
        // Findings of one experiment stay apart, even where their names are the same.
        let mut times = HashMap::<String, usize>::new();
        for finding in T::all(findings) {
            let key = finding.key();
            let time = times.entry(key.clone()).or_default();
            *time += 1;
            let at = *known.entry((key, *time)).or_insert(found.rows.len());
            let kept = is_kept(query, finding, number, &mut found.notices);
            match found.rows.get_mut(at) {
                Some(row) => {
                    row.finding.absorb(finding);
                    row.kept |= kept;
                }
                None => found.rows.push(Row {
                    id: at + 1,
                    finding: finding.clone(),
                    counts: vec![None; side_count],
                    suppressed: query.settings.suppressions.rule_for(
                        T::KIND,
                        &finding.sites(),
                        &finding.variables(),
                    ),
                    kept,
                }),
            }
            let count = &mut found.rows[at].counts[side];
            *count = Some(count.unwrap_or(0).saturating_add(finding.count()));
        }
    }
    if missing.len() == sources(query).count() {
        return Err(missing.swap_remove(0));
    }
    if let Some(filter) = &query.settings.filter
        && found.notices.is_empty()
    {
        found
            .notices
            .push(format!("only what the filter keeps ({})", filter.text()));
    }
    found.notices.extend(missing.into_iter().map(|it| it.0));
    let suppressed = found.suppressed();
    if suppressed > 0 {
        let noun = T::KIND.noun(suppressed);
        found
            .notices
            .push(format!("{suppressed} {noun} suppressed"));
    }
    let used: Vec<usize> = found.rows.iter().filter_map(|row| row.suppressed).collect();
    found.unused = query.settings.suppressions.unused(T::KIND, &used);
    found.notices.extend(found.unused.iter().cloned());
    Ok(found)
}

/// Whether the filter keeps a finding: one of its stacks, or a value that it has not decides.
fn is_kept<T: Finding>(
    query: &Query<'_>,
    finding: &T,
    experiment: u32,
    notices: &mut Vec<String>,
) -> bool {
    let Some(filter) = &query.settings.filter else {
        return true;
    };
    let answers = finding.stacks().into_iter().map(|stack| {
        let functions = stack.iter().map(|frame| frame.function.as_str()).collect();
        filter.keeps_stack(&NamedStack {
            functions,
            experiment,
        })
    });
    let answers: Vec<Option<bool>> = answers.collect();
    if answers.contains(&Some(true)) {
        return true;
    }
    let is_unknown = answers.contains(&None) || answers.is_empty();
    if is_unknown {
        let notice = format!(
            "findings have functions, stacks and an experiment, and nothing else that the filter ({}) \
             asks for: what it does not decide is shown",
            filter.text()
        );
        if !notices.contains(&notice) {
            notices.push(notice);
        }
    }
    is_unknown
}
