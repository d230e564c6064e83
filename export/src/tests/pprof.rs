//! pprof, read back by its own messages.

use std::collections::BTreeMap;

use omp_model::metrics::Metric;
use omp_model::states::RefinedState;
use prost::Message;
use report::Settings;

use super::made::{Made, assert_close, settings, unzipped};
use crate::pprof::messages::{Profile, Sample};

struct File(Profile);

impl File {
    fn read(made: &mut Made, settings: &Settings) -> File {
        let bytes = unzipped(&made.export("pprof", settings));
        File(Profile::decode(bytes.as_slice()).unwrap())
    }

    fn text(&self, number: i64) -> &str {
        &self.0.string_table[number as usize]
    }

    /// The functions of a sample with their lines, leaf first.
    fn stack(&self, sample: &Sample) -> Vec<(String, i64)> {
        let lines = sample.location_id.iter().flat_map(|&id| {
            let location = &self.0.location[id as usize - 1];
            assert_eq!(location.id, id);
            assert!(location.mapping_id <= self.0.mapping.len() as u64);
            &location.line
        });
        let lines = lines.map(|line| {
            let function = &self.0.function[line.function_id as usize - 1];
            (self.text(function.name).to_owned(), line.line)
        });
        lines.collect()
    }

    fn labels(&self, sample: &Sample) -> BTreeMap<String, String> {
        let labels = sample.label.iter().map(|label| {
            let value = match label.str {
                0 => label.num.to_string(),
                text => self.text(text).to_owned(),
            };
            (self.text(label.key).to_owned(), value)
        });
        labels.collect()
    }
}

#[test]
fn the_sum_of_each_metric_is_that_of_the_reports() {
    let mut made = Made::new();
    for settings in settings() {
        let file = File::read(&mut made, &settings);
        let metrics = made.analysis.available().metrics().to_vec();
        assert_eq!(file.0.sample_type.len(), metrics.len());
        for (at, metric) in metrics.into_iter().enumerate() {
            let kind = file.0.sample_type[at];
            assert_eq!(file.text(kind.r#type), metric.id());
            assert_eq!(file.text(kind.unit), "nanoseconds");
            let sum: i64 = file.0.sample.iter().map(|sample| sample.value[at]).sum();
            let seconds = made.seconds(metric, &settings);
            assert_close(sum as f64 / 1e9, seconds, metric.id());
        }
    }
}

#[test]
fn samples_have_labels_lines_and_inlined_frames() {
    let mut made = Made::new();
    let file = File::read(&mut made, &Settings::default());
    assert_eq!(file.text(file.0.default_sample_type), "total");
    let comments: Vec<&str> = file.0.comment.iter().map(|it| file.text(*it)).collect();
    assert!(
        comments.contains(&"lost: 2 samples, from 0.210 to 0.220 s"),
        "{comments:?}"
    );
    // The program comes first.
    assert_eq!(file.text(file.0.mapping[0].filename), "/home/ann/app/app");
    assert_eq!(file.text(file.0.mapping[0].build_id), "0011");
    let of = |thread: &str, state: &str| -> Vec<&Sample> {
        let samples = file.0.sample.iter();
        samples
            .filter(|sample| {
                let labels = file.labels(sample);
                labels["thread"] == thread && labels["state"] == state
            })
            .collect()
    };
    let work = of("Thread 101 (worker)", "work");
    let [work] = work.as_slice() else {
        panic!("{work:?}");
    };
    let named = |(name, line): (&str, i64)| (name.to_owned(), line);
    let region = "foo -- OMP parallel region from line 9 [foo.omp_outlined]";
    let expected = [
        ("tiny", 2),
        ("bar", 4),
        (region, 11),
        ("foo", 9),
        ("main", 20),
        ("_start", 0),
    ];
    assert_eq!(file.stack(work), expected.map(named));
    // tiny and bar are one instruction.
    assert_eq!(work.location_id.len(), 5);
    let labels = file.labels(work);
    assert_eq!(
        (labels["tid"].as_str(), labels.contains_key("inferred")),
        ("101", false)
    );
    assert!(
        labels["construct"].starts_with("foo -- OMP parallel region"),
        "{labels:?}"
    );
    let [critical] = of("Thread 100 (initial)", "critical")[..] else {
        panic!("one stack waits");
    };
    assert_eq!(file.stack(critical)[0].0, "<OMP critical section wait>");
    let total = made.analysis.available().metrics();
    let at = total
        .iter()
        .position(|it| *it == Metric::State(RefinedState::Critical))
        .unwrap();
    assert_eq!(critical.value[at], 200_000_000);
}
