//! Opens, adds and drops experiments, and chooses how they are compared.

use std::path::PathBuf;

use experiment::job;
use report::functions::{self, Kind};
use report::overview;
use report::races::FindingKind;
use report::reports::Report;
use report::settings::Compare;

use crate::open_experiment::OpenExperiment;
use crate::output::say;
use crate::session::Session;
use crate::stop::Stop;

/// Opens an experiment, or a job, instead of all others.
pub(crate) fn open_exp(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let experiments = open(&[(PathBuf::from(&arguments[0]), 0)])?;
    session.set_experiments(experiments);
    Ok(())
}

/// Adds an experiment, or a job, a side of its own.
pub(crate) fn add_exp(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let side = session.experiments().iter().map(|it| it.side + 1).max();
    let added = open(&[(PathBuf::from(&arguments[0]), side.unwrap_or(0))])?;
    let mut experiments = session.take_experiments();
    experiments.extend(added);
    renumber(&mut experiments);
    session.set_experiments(experiments);
    Ok(())
}

fn renumber(experiments: &mut [OpenExperiment]) {
    for (experiment, number) in experiments.iter_mut().zip(1..) {
        experiment.renumber(number);
    }
}

/// Drops an experiment, or a job; the others are numbered anew.
pub(crate) fn drop_exp(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let name = untrusted::printable(&arguments[0]);
    let name = name.trim_end_matches('/');
    let is = |experiment: &OpenExperiment| {
        let own = experiment.name.trim_end_matches('/');
        own == name || job::of_rank(own) == Some(name)
    };
    let all = session.experiments();
    if !all.iter().any(is) {
        return Err(Stop::Usage(format!(
            "{name} is not open: experiment_list shows what is"
        )));
    }
    if all.iter().all(is) {
        return Err(Stop::Usage(format!(
            "{name} is all that is open: open_exp opens another instead"
        )));
    }
    let mut experiments = session.take_experiments();
    experiments.retain(|experiment| !is(experiment));
    renumber(&mut experiments);
    session.set_experiments(experiments);
    Ok(())
}

/// Opens experiments and all ranks of jobs, each of a side, and prints their warnings.
pub(crate) fn open(named: &[(PathBuf, usize)]) -> Result<Vec<OpenExperiment>, Stop> {
    let names: Vec<&PathBuf> = named.iter().map(|(name, _)| name).collect();
    let opened = perf_data::analyses(&names).map_err(|error| Stop::Data(error.to_string()))?;
    let opened = opened.into_iter().map(|(place, analysis)| {
        for warning in &analysis.warnings {
            say(format!("warning: {warning}"));
        }
        let mut experiment = OpenExperiment::from(analysis);
        experiment.side = named[place].1;
        experiment
    });
    Ok(opened.collect())
}

/// Chooses how experiments are compared; without an argument, shows how far functions differ, or which
/// findings of `collect -r` are new.
pub(crate) fn compare(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let modes = [
        ("off", Compare::Off),
        ("on", Compare::On),
        ("delta", Compare::Delta),
        ("ratio", Compare::Ratio),
        ("scaling", Compare::Scaling),
    ];
    session.settings.compare_is_default = false;
    let Some(word) = arguments.first() else {
        session.settings.compare = Compare::Delta;
        if findings_alone(session) {
            return compare_findings(session);
        }
        let query = session.comparison()?;
        let mut document = functions::list(&query, Kind::Functions);
        document.blocks.insert(0, overview::verdict(&query));
        return session.show(&document);
    };
    session.settings.compare = super::choose("compare", word, &modes)?;
    Ok(())
}

/// Whether all experiments are those of `collect -r`, which have no samples.
fn findings_alone(session: &Session<'_>) -> bool {
    let mut all = session.experiments().iter();
    let is =
        |it: &OpenExperiment| it.experiment.findings.is_some() && it.experiment.samples.is_empty();
    !session.experiments().is_empty() && all.all(is)
}

/// Shows what became of the findings of each kind that all experiments looked for.
fn compare_findings(session: &mut Session<'_>) -> Result<(), Stop> {
    let query = session.comparison()?;
    let kinds = FindingKind::ALL.into_iter();
    let documents = kinds.filter_map(|kind| {
        let report = Report::by_name(kind.view())?;
        Some(report.document(&query, None))
    });
    let documents: Vec<_> = documents.collect();
    if documents.iter().all(Result::is_err) {
        let first = documents.into_iter().find_map(Result::err);
        return first.map_or(Ok(()), |error| Err(error.into()));
    }
    let documents: Vec<_> = documents.into_iter().filter_map(Result::ok).collect();
    documents
        .iter()
        .try_for_each(|document| session.show(document))
}
