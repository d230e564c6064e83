use experiment::CounterSamples;
use experiment::header::Sampling;
use experiment::ids::{ContextId, StackId, ThreadId, ThreadStateId};
use experiment::state::Scheduling;

use super::*;
use crate::profile::{Item, PathId};
use crate::states::RefinedState;

fn every_kind_of_item() -> Vec<Item> {
    let mut items = Vec::new();
    for state in RefinedState::ALL {
        for scheduling in [
            Scheduling::Running,
            Scheduling::Preempted,
            Scheduling::Blocked,
        ] {
            for kernel in [false, true] {
                items.push(Item {
                    path: PathId::EMPTY,
                    thread: ThreadId(0),
                    slice: 0,
                    thread_state: ThreadStateId::OUTSIDE,
                    context: ContextId::ROOT,
                    stack: StackId::EMPTY,
                    state,
                    scheduling,
                    kernel: kernel && scheduling == Scheduling::Running,
                    inferred: false,
                    seconds: 1.0,
                    blame: 0.0,
                    samples: 1,
                    counter: None,
                    events: 0.0,
                });
            }
        }
    }
    items
}

fn available(openmp: bool) -> Available {
    let sampling = Sampling {
        event: "cpu-clock".to_owned(),
        kernel_frames: true,
        switches: true,
        ..Sampling::default()
    };
    Available::new(&sampling, &[], openmp).without_mpi()
}

fn openmp() -> Available {
    available(true)
}

fn without_openmp() -> Available {
    available(false)
}

fn specs(list: &str, available: &Available) -> Vec<String> {
    let columns = Column::parse_list(list, available).unwrap();
    columns.iter().map(Column::to_string).collect()
}

fn error(list: &str, available: &Available) -> String {
    Column::parse_list(list, available).unwrap_err().to_string()
}

#[test]
fn each_item_counts_in_exactly_one_part_of_each_partition() {
    let waits = [
        Metric::OffCpuWork,
        Metric::State(RefinedState::ImplicitBarrier),
        Metric::State(RefinedState::ExplicitBarrier),
        Metric::State(RefinedState::Idle),
        Metric::State(RefinedState::Lock),
        Metric::State(RefinedState::Critical),
        Metric::State(RefinedState::Ordered),
        Metric::State(RefinedState::Atomic),
        Metric::State(RefinedState::Task),
        Metric::State(RefinedState::MpiReceive),
        Metric::State(RefinedState::MpiSend),
        Metric::State(RefinedState::MpiRequest),
        Metric::State(RefinedState::MpiBarrier),
        Metric::State(RefinedState::MpiCollective),
        Metric::State(RefinedState::MpiOneSided),
        Metric::State(RefinedState::PgasTransfer),
        Metric::State(RefinedState::PgasQuiet),
        Metric::State(RefinedState::PgasFlag),
        Metric::State(RefinedState::PgasLock),
        Metric::State(RefinedState::PgasBarrier),
        Metric::State(RefinedState::PgasCollective),
    ];
    for item in every_kind_of_item() {
        let counted = |metrics: &[Metric]| metrics.iter().filter(|m| m.counts(&item)).count();
        assert_eq!(counted(&[Metric::OmpWork, Metric::OmpWait]), 1, "{item:?}");
        assert_eq!(counted(&[Metric::TotalCpu, Metric::OffCpu]), 1, "{item:?}");
        let on_cpu = usize::from(Metric::TotalCpu.counts(&item));
        assert_eq!(counted(&[Metric::User, Metric::System]), on_cpu, "{item:?}");
        let waiting = usize::from(Metric::OmpWait.counts(&item));
        assert_eq!(counted(&waits), waiting, "{item:?}");
        let parts_of_work = counted(&[
            Metric::State(RefinedState::Overhead),
            Metric::State(RefinedState::Reduction),
            Metric::State(RefinedState::Mpi),
            Metric::State(RefinedState::Pgas),
        ]);
        assert!(parts_of_work <= counted(&[Metric::OmpWork]), "{item:?}");
    }
}

#[test]
fn waiting_counts_whether_the_thread_spins_or_sleeps() {
    for item in every_kind_of_item() {
        if item.state == RefinedState::ImplicitBarrier {
            assert!(Metric::OmpWait.counts(&item));
            assert!(Metric::State(RefinedState::ImplicitBarrier).counts(&item));
        }
        if item.state == RefinedState::Work && item.scheduling == Scheduling::Preempted {
            assert!(Metric::OmpWait.counts(&item) && Metric::OffCpuWork.counts(&item));
        }
    }
}

#[test]
fn the_default_list_follows_what_was_recorded() {
    let default = [
        "e.%ompwork",
        "i.%ompwork",
        "e.%ompwait",
        "i.%ompwait",
        "name",
    ];
    assert_eq!(specs("default", &openmp()), default);
    let plain = [
        "e.%total", "i.%total", "e.user", "e.system", "e.offcpu", "name",
    ];
    assert_eq!(specs("default", &without_openmp()), plain);

    let unprivileged = Sampling {
        event: "cpu-clock".to_owned(),
        ..Sampling::default()
    };
    let available = Available::new(&unprivileged, &[], false);
    let on_cpu = ["e.%total", "i.%total", "e.totalcpu", "name"];
    assert_eq!(specs("default", &available), on_cpu);
    assert!(!available.has(Metric::OffCpu) && !available.has(Metric::System));
}

/// An experiment with two counters, of two recordings each.
fn with_counters() -> Available {
    let counter = |name: &str| CounterSamples {
        name: name.to_owned(),
        ..CounterSamples::default()
    };
    let names = ["cycles", "LLC-load-misses", "cpu/event=0x3c,umask=0/"];
    let counters: Vec<CounterSamples> = names.into_iter().chain(names).map(counter).collect();
    Available::new(&Sampling::default(), &counters, true)
}

#[test]
fn counters_are_metrics_by_their_names() {
    let available = with_counters();
    let raw = "e.%cpu/event=0x3c,umask=0/";
    assert_eq!(
        specs("default", &available)[4..],
        ["e.%cycles", "e.%LLC-load-misses", raw, "name"]
    );
    assert_eq!(
        specs("i.Cycles:e%llc-load-misses", &available),
        ["i.cycles", "e%LLC-load-misses", "name"]
    );
    assert_eq!(specs(raw, &available), [raw, "name"]);
    assert_eq!(available.counters().count(), 3);
    let key = SortKey::parse("-i.cycles", &available).unwrap();
    let cycles = Metric::Counter(CounterName::new("cycles"));
    assert_eq!(key.quantity, Quantity::Time(Flavour::Inclusive, cycles));
    assert_eq!(key.quantity.label(), "Inclusive cycles");
    let said = error("e.cycels", &available);
    assert!(said.contains("did you mean \"cycles\"?"), "{said}");
    // Another recording may not have them.
    assert!(error("e.cycles", &openmp()).contains("there is no metric"));
    assert!(Metric::ALL.into_iter().all(|metric| metric.is_time()));
    assert!(!cycles.is_time() && Metric::Counter(CounterName::new("task-clock")).is_time());
}

#[test]
fn no_two_metrics_have_a_name() {
    for (at, metric) in Metric::ALL.into_iter().enumerate() {
        assert!(
            Metric::ALL[..at]
                .iter()
                .all(|other| other.id() != metric.id())
        );
    }
}

#[test]
fn flavours_and_visibilities_combine() {
    let omp = openmp();
    assert_eq!(specs("e.ompwork", &omp), ["e.ompwork", "name"]);
    assert_eq!(specs("e+ompwork", &omp), ["e.ompwork", "name"]);
    assert_eq!(specs("e%ompwork", &omp), ["e%ompwork", "name"]);
    assert_eq!(specs("e%+ompwork", &omp), ["e.%ompwork", "name"]);
    assert_eq!(
        specs("ie.%ompwork", &omp),
        ["e.%ompwork", "i.%ompwork", "name"]
    );
    assert_eq!(
        specs("e!ompwork:I.OmpWait", &omp),
        ["e!ompwork", "i.ompwait", "name"]
    );
    assert_eq!(specs("ompwork", &omp), ["e.ompwork", "i.ompwork", "name"]);
    assert_eq!(
        specs("name:e.total:size:!address", &omp),
        ["name", "e.total", "size", "!address"]
    );
}

#[test]
fn all_is_every_metric_of_the_recording_and_no_other() {
    let plain = specs("e.all", &without_openmp());
    let times = ["e.total", "e.totalcpu", "e.user", "e.system", "e.offcpu"];
    assert_eq!(plain, [&times[..], &["size", "address", "name"]].concat());
    let is_of_mpi = |metric: &&Metric| matches!(metric, Metric::State(state) if state.is_mpi());
    let all = Metric::ALL.len() - Metric::ALL.iter().filter(is_of_mpi).count();
    assert_eq!(specs("i%any", &openmp()).len(), all + 3);
    let both = specs("e.all:i.all", &openmp());
    assert_eq!(both.len(), 2 * all + 3);
}

#[test]
fn wrong_metrics_say_how_to_mend_them() {
    let omp = openmp();
    assert_eq!(
        error("e.ompwrok", &omp),
        "there is no metric \"ompwrok\": did you mean \"ompwork\"?"
    );
    assert_eq!(
        error("e.xyzzy", &omp),
        "there is no metric \"xyzzy\": metric_list shows the names"
    );
    assert!(error("q.ompwork", &omp).contains("as in e.%ompwork"));
    assert!(error("a.ompwork", &omp).contains("write e.ompwork or i.ompwork"));
    assert!(error("e.ompwork:e%ompwork", &omp).contains("twice"));
    assert!(error("e.ompwork::name", &omp).contains("empty entry"));
    assert!(error("e.", &omp).contains("is not a metric"));
}

#[test]
fn sorting_takes_one_metric_and_its_direction() {
    let omp = openmp();
    let key = SortKey::parse("i.ompwait", &omp).unwrap();
    assert_eq!(
        key.quantity,
        Quantity::Time(Flavour::Inclusive, Metric::OmpWait)
    );
    assert!(!key.reversed);
    let key = SortKey::parse("-ompwait", &omp).unwrap();
    assert_eq!(
        key.quantity,
        Quantity::Time(Flavour::Exclusive, Metric::OmpWait)
    );
    assert!(key.reversed);
    assert_eq!(
        SortKey::parse("name", &omp).unwrap().quantity,
        Quantity::Name
    );
    assert!(matches!(
        SortKey::parse("e.all", &omp),
        Err(MetricSpecError::NotOne(_))
    ));
    let list = Column::parse_list("i.ompwork:e.ompwait", &omp).unwrap();
    let first = Quantity::Time(Flavour::Exclusive, Metric::OmpWait);
    assert_eq!(SortKey::of_list(&list).quantity, first);
}
