//! The head of the profile: categories, kinds of marker, the run, and what limits its accuracy.

use omp_model::metrics::Metric;
use report::timeline::{Activity, Family};
use serde_json::{Value as Json, json};

use super::markers;
use crate::subject::{EXPORTER, Subject};

/// The category of what has no state. The profiler wants a grey one.
pub(super) const OTHER: u64 = 0;

/// The subcategory of stacks that no sample of their own shows.
pub(super) const INFERRED: u64 = 1;

/// The number of a state's category.
pub(super) const fn category(activity: Activity) -> u64 {
    activity.number() as u64 + 1
}

pub(super) fn meta(subject: &Subject<'_>, merged: bool) -> Json {
    let analysis = subject.analysis();
    let header = &analysis.experiment.header;
    let mut notes = subject.notes(&[Metric::Total]);
    if merged {
        notes.push(
            "of the many samples of this recording, equal neighbours are merged, and each stands for the \
             mean time of its thread, state and stack"
                .to_owned(),
        );
    }
    let note = |text: &String| json!({"label": "Note", "format": "string", "value": text});
    let notes: Vec<Json> = notes.iter().map(note).collect();
    let period = header.sampling.period_us / 1e3;
    json!({
        "preprocessedProfileVersion": 55,
        "version": 24,
        "interval": if period > 0.0 { period } else { 1.0 },
        "startTime": 1e3 * header.started_unix,
        "profilingStartTime": 0,
        "profilingEndTime": analysis.experiment.duration().0 as f64 / 1e6,
        "processType": 0,
        "product": subject.title(),
        "importedFrom": EXPORTER,
        "oscpu": header.system,
        "CPUName": header.cpu_model,
        "logicalCPUs": header.cpus,
        "stackwalk": 1,
        "debug": false,
        "symbolicated": true,
        "usesOnlyOneStackType": true,
        "sourceCodeIsNotOnSearchfox": true,
        "pausedRanges": [],
        "extensions": {"length": 0, "baseURL": [], "id": [], "name": []},
        "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
        "categories": categories(),
        "markerSchema": markers::schemas(),
        "extra": [{"label": "Recording", "entries": notes}],
    })
}

fn categories() -> Json {
    let one = |name: &str, color: &str| json!({"name": name, "color": color, "subcategories": ["Other", "inferred stack"]});
    let states = Activity::ALL.map(|it| one(&capitalized(it.words()), color(it.family())));
    let other = std::iter::once(one("Other", "grey"));
    other.chain(states).collect()
}

/// A name that the profiler has a colour for.
const fn color(family: Family) -> &'static str {
    match family {
        Family::Serial => "lightblue",
        Family::Work => "green",
        Family::Runtime => "yellow",
        Family::Barrier => "orange",
        Family::Exclusion => "magenta",
        Family::Task => "purple",
        Family::Messages => "blue",
        Family::Idle => "transparent",
        Family::Unknown => "darkgray",
    }
}

fn capitalized(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|it| it.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
