//! Events of counters, which stand where their samples do, as time does.

use experiment::CounterSamples;

use super::*;
use crate::metrics::{CounterName, Metric};

/// A sample of a worker at work, and two where it waits in a barrier; each stands for 2.5 events.
fn made() -> (TestExperiment, Vec<CounterSamples>) {
    let mut test = TestExperiment::new(2);
    let inside = test.region();
    let work = test.program.thread_state(State::Work, inside);
    let wait = test.program.thread_state(State::ImplicitBarrier, inside);
    test.sum(1, 0, work, Scheduling::Running, 1_000);
    test.sample(1, 0, work, SampleKind::Kernel, WORK);
    test.sample(1, 1, wait, SampleKind::User, SPIN);
    test.sample(1, 1, wait, SampleKind::User, SPIN);
    let counter = |name: &str, samples: &[Sample]| CounterSamples {
        name: name.to_owned(),
        events_each: 2.5,
        samples: Samples::pack(samples).unwrap(),
    };
    let counters = vec![
        counter("page-faults", &test.samples),
        counter("cycles", &test.samples[..1]),
    ];
    test.samples.truncate(1);
    (test, counters)
}

fn profile(mode: ViewMode, slices: Slices) -> (TestExperiment, Profile) {
    let (test, counters) = made();
    let source = Source {
        counters: &counters,
        ..test.source(Default::default())
    };
    let samples = Samples::pack(&test.samples).unwrap();
    let attribution = Attribution::new(&source, &samples, slices);
    // The stack of the barrier is in samples of a counter alone.
    assert_eq!(attribution.sampled_stacks().len(), 2);
    let profile = attribution.profile(&source, mode);
    (test, profile)
}

/// What a metric has at each stack and second.
fn at(mode: ViewMode, slices: Slices, metric: Metric) -> Vec<(String, u32, f64)> {
    let (test, profile) = profile(mode, slices);
    let items = profile.items.iter();
    let some = items.filter(|item| metric.value(item) > 0.0);
    let row = |item: &Item| {
        let name = test.name(&profile.paths, item.path);
        (name, item.slice, metric.value(item))
    };
    some.map(row).collect()
}

fn counter(name: &str) -> Metric {
    Metric::Counter(CounterName::new(name))
}

#[test]
fn events_stand_at_the_stacks_of_their_samples_as_time_does() {
    let rows = at(ViewMode::User, Slices::Apart, counter("page-faults"));
    let callers = "foo.omp_outlined foo main __libc_start_main _start";
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert_eq!((rows[0].1, rows[0].2), (0, 2.5));
    assert!(rows[0].0.starts_with("work foo.omp_outlined"), "{rows:?}");
    assert_eq!((rows[1].1, rows[1].2), (1, 5.0));
    assert!(rows[1].0.starts_with("<ImplicitBarrier>"), "{rows:?}");
    assert!(
        rows.iter()
            .all(|row| row.0.ends_with("main __libc_start_main _start")),
        "{callers}"
    );
    let machine = at(ViewMode::Machine, Slices::Folded, counter("page-faults"));
    let sum: f64 = machine.iter().map(|row| row.2).sum();
    assert_eq!(sum, 7.5);
    assert!(
        machine
            .iter()
            .all(|row| row.0.ends_with("start_thread clone3"))
    );
}

#[test]
fn counters_are_apart_from_each_other_and_from_time() {
    let rows = at(ViewMode::User, Slices::Folded, counter("cycles"));
    assert_eq!(rows.iter().map(|row| row.2).collect::<Vec<_>>(), [2.5]);
    assert!(at(ViewMode::User, Slices::Folded, counter("branches")).is_empty());
    let (_, mut profile) = profile(ViewMode::User, Slices::Apart);
    let items = profile.items.clone();
    profile.fold();
    for items in [&items, &profile.items] {
        let sum = |metric: Metric| items.iter().map(|item| metric.value(item)).sum::<f64>();
        let [time, faults, cycles] =
            [Metric::Total, counter("page-faults"), counter("cycles")].map(sum);
        assert!((time - 1e-6).abs() < 1e-15, "{time}");
        assert_eq!((faults, cycles), (7.5, 2.5));
        // The kernel's half of a stack is no time in the kernel.
        let has_both = |item: &Item| item.seconds > 0.0 && item.events > 0.0;
        assert!(!items.iter().any(has_both));
    }
}
