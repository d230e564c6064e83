//! Opens, adds and drops experiments, and chooses how they are compared.

use std::path::Path;

use report::functions::{self, Kind};
use report::overview;
use report::races::FindingKind;
use report::reports::Report;
use report::settings::Compare;

use crate::open_experiment::OpenExperiment;
use crate::output::say;
use crate::session::Session;
use crate::stop::Stop;

/// Opens an experiment instead of all others.
pub(crate) fn open_exp(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let experiment = open(Path::new(&arguments[0]), 1, 0)?;
    session.set_experiments(vec![experiment]);
    Ok(())
}

/// Adds an experiment, a side of its own.
pub(crate) fn add_exp(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let number = session.experiments().len() as u32 + 1;
    let side = session.experiments().iter().map(|it| it.side + 1).max();
    let experiment = open(Path::new(&arguments[0]), number, side.unwrap_or(0))?;
    let mut experiments = session.take_experiments();
    experiments.push(experiment);
    session.set_experiments(experiments);
    Ok(())
}

/// Drops an experiment; the others are numbered anew.
pub(crate) fn drop_exp(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let name = untrusted::printable(&arguments[0]);
    let name = name.trim_end_matches('/');
    let is = |experiment: &OpenExperiment| experiment.name.trim_end_matches('/') == name;
    if !session.experiments().iter().any(is) {
        return Err(Stop::Usage(format!(
            "{name} is not open: experiment_list shows what is"
        )));
    }
    if session.experiments().len() == 1 {
        return Err(Stop::Usage(format!(
            "{name} is the only experiment: open_exp opens another instead"
        )));
    }
    let mut experiments = session.take_experiments();
    if let Some(at) = experiments.iter().position(is) {
        experiments.remove(at);
    }
    for (experiment, number) in experiments.iter_mut().zip(1..) {
        experiment.renumber(number);
    }
    session.set_experiments(experiments);
    Ok(())
}

/// Opens an experiment and prints its warnings.
pub(crate) fn open(path: &Path, number: u32, side: usize) -> Result<OpenExperiment, Stop> {
    let experiment = OpenExperiment::open(path, number, side)?;
    for warning in &experiment.warnings {
        say(format!("warning: {warning}"));
    }
    Ok(experiment)
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
