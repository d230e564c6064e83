//! The format of Google's pprof, which `go tool pprof` reads: a gzip file of protocol buffers.
//!
//! A sample has a value for each metric: nanoseconds, or events of a counter. Its labels are the thread,
//! the state, the region or task, and `inferred` where no sample of its own tells the stack. A location is
//! an instruction, with the functions that are inlined there as several lines; its address is that in the
//! file of its load object.

pub(crate) mod messages;
mod tables;

use std::collections::BTreeMap;
use std::io::{self, Write};

use experiment::ids::{ContextId, ThreadId};
use flate2::Compression;
use flate2::write::GzEncoder;
use omp_model::metrics::Metric;
use omp_model::profile::{Item, PathId};
use prost::Message;
use report::Query;
use report::timeline::Activity;

use crate::rounding::Rounding;
use crate::subject::{EXPORTER, Subject};
use messages::{Label, Profile, Sample, ValueType};
use tables::{Locations, Strings};

/// So many samples are written at a time.
const CHUNK: usize = 1 << 12;

/// The key of a pprof sample: values with equal keys are added up.
type Key = (ThreadId, PathId, Activity, ContextId, bool);

pub(crate) fn write(query: &Query<'_>, out: &mut dyn Write) -> io::Result<()> {
    let subject = Subject::new(query);
    let metrics = subject.analysis().available().metrics();
    let mut out = GzEncoder::new(out, Compression::fast());
    let mut strings = Strings::default();
    let mut put = |profile: Profile| out.write_all(&profile.encode_to_vec());
    put(head(&subject, metrics, &mut strings))?;

    let profile = subject.profile();
    let locations = Locations::new(&subject, &profile.paths, &mut strings);
    let constructs = subject.constructs();
    let mut keys = ["thread", "tid", "state", "construct", "inferred"].into_iter();
    let mut key = || strings.number(keys.next().unwrap_or_default());
    let keys = Keys {
        thread: key(),
        tid: key(),
        state: key(),
        construct: key(),
        inferred: key(),
    };
    let yes = strings.number("yes");
    let mut rounding = vec![Rounding::default(); metrics.len()];
    let mut chunk = Vec::new();
    for ((thread, path, activity, context, inferred), values) in sums(&subject, metrics) {
        let values = values.iter().zip(&mut rounding).zip(metrics);
        let values: Vec<i64> = values
            .map(|((value, rounding), metric)| rounding.next(value * unit(*metric).1))
            .collect();
        if values.iter().all(|value| *value == 0) {
            continue;
        }
        let tid = subject.names.tables.threads.get(thread.index());
        let mut label = vec![
            text(keys.thread, strings.number(&subject.thread_name(thread))),
            Label {
                key: keys.tid,
                str: 0,
                num: tid.map_or(0, |row| row.tid.into()),
            },
            text(keys.state, strings.number(activity.words())),
        ];
        let construct = constructs.name(context);
        label.extend(construct.map(|name| text(keys.construct, strings.number(name))));
        label.extend(inferred.then(|| text(keys.inferred, yes)));
        chunk.push(Sample {
            location_id: locations.of(path),
            value: values,
            label,
        });
        if chunk.len() == CHUNK {
            put(Profile {
                sample: std::mem::take(&mut chunk),
                ..Profile::default()
            })?;
        }
    }
    put(Profile {
        sample: chunk,
        mapping: locations.mappings,
        location: locations.rows,
        function: locations.functions,
        ..Profile::default()
    })?;
    put(Profile {
        string_table: strings.into_rows(),
        ..Profile::default()
    })?;
    out.finish().map(drop)
}

/// The numbers of the labels' names.
struct Keys {
    thread: i64,
    tid: i64,
    state: i64,
    construct: i64,
    inferred: i64,
}

const fn text(key: i64, str: i64) -> Label {
    Label { key, str, num: 0 }
}

/// The unit of a metric, and how many of it are in a second or an event.
fn unit(metric: Metric) -> (&'static str, f64) {
    if metric.is_time() {
        ("nanoseconds", 1e9)
    } else {
        ("count", 1.0)
    }
}

/// What is known before the samples.
fn head(subject: &Subject<'_>, metrics: &[Metric], strings: &mut Strings) -> Profile {
    let header = &subject.analysis().experiment.header;
    let mut value_type = |name: &str, unit: &str| ValueType {
        r#type: strings.number(name),
        unit: strings.number(unit),
    };
    let sample_type = metrics.iter().map(|it| value_type(it.id(), unit(*it).0));
    let sample_type = sample_type.collect();
    let period_type = Some(value_type("cpu", "nanoseconds"));
    let notes = subject.notes(metrics);
    let comments = [EXPORTER.to_owned(), subject.title()];
    let comments = comments.iter().chain(&notes);
    Profile {
        sample_type,
        period_type,
        period: (1e3 * header.sampling.period_us) as i64,
        time_nanos: (1e9 * header.started_unix) as i64,
        duration_nanos: i64::try_from(subject.analysis().experiment.duration().0)
            .unwrap_or(i64::MAX),
        comment: comments.map(|text| strings.number(text)).collect(),
        default_sample_type: strings.number(Metric::Total.id()),
        ..Profile::default()
    }
}

/// The values of each metric, added up over what the format does not tell apart.
fn sums(subject: &Subject<'_>, metrics: &[Metric]) -> BTreeMap<Key, Vec<f64>> {
    let profile = subject.profile();
    let mut sums = BTreeMap::<Key, Vec<f64>>::new();
    let activity = |item: &Item| {
        let leaf = profile.paths.get(item.path.0);
        let leaf = leaf.filter(|_| item.path != PathId::EMPTY);
        Activity::of_leaf(leaf.map(|row| row.frame.callee), item.state)
    };
    for item in &profile.items {
        let key = (
            item.thread,
            item.path,
            activity(item),
            item.context,
            item.inferred,
        );
        let sums = sums.entry(key).or_insert_with(|| vec![0.0; metrics.len()]);
        for (sum, metric) in sums.iter_mut().zip(metrics) {
            *sum += metric.value(item);
        }
    }
    sums
}
