//! The lines with which `collect` ends: how long the run was, what its threads did, what to do first.

use omp_model::analysis::Analysis;
use omp_model::views::openmp::first::First;

use crate::query::{Query, Source, Subset};
use crate::settings::Settings;
use crate::{caveats, races, text};

/// The lines, each a sentence. What a reader must know of the run before any of its numbers comes first.
pub fn lines(analysis: &Analysis) -> Vec<String> {
    let settings = Settings::at_first([analysis]);
    let subset = Subset::default();
    let source = Source {
        analysis,
        subset: &subset,
        settings: &settings,
    };
    let query = Query::plain(&settings, source);
    let mut lines = caveats::lines(&query.caveats(), 1);
    match (races::in_short(&query), source.first()) {
        (Some(found), _) => lines.push(found),
        (None, Some(first)) => lines.extend(of_openmp(&first)),
        (None, None) => lines.push(without_openmp(source)),
    }
    lines
}

fn of_openmp(first: &First) -> [String; 2] {
    let run = &first.run;
    let work = 100.0 * run.efficiency.value();
    let did = format!(
        "{} s on {} threads: {work:.1} % useful work, {:.1} % waits and overhead",
        text::seconds(run.wall),
        run.threads,
        100.0 - work
    );
    let advice = first.losses.first().map(|loss| {
        let what = first.hint(loss).unwrap_or(loss.reason.words());
        let (place, gain) = (loss.location.short(), first.gain(loss));
        format!("First: {place}: {what} ({gain})")
    });
    // Where threads wanted CPUs, other advice is about times that are not the program's.
    if first.crowd.is_large() {
        return [did, format!("First: {}", first.crowd.hint())];
    }
    [did, advice.unwrap_or_else(First::nothing)]
}

fn without_openmp(source: Source<'_>) -> String {
    let analysis = source.analysis;
    let profile = source.profile();
    let cpu = profile.items.iter().filter(|item| item.is_on_cpu());
    let cpu: f64 = cpu.map(|item| item.seconds).sum();
    format!(
        "{} s, of which {} threads used {} s of CPU time",
        text::seconds(analysis.experiment.recorded().seconds()),
        analysis.experiment.tables.threads.len(),
        text::seconds(cpu)
    )
}
