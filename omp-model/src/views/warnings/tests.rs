use super::*;
use experiment::Packed;
use experiment::Samples;
use experiment::ids::{ContextId, FrameId, NameId, Nanos, ProcessId, StackId, ThreadStateId};
use experiment::rows::{Sample, SampleKind};
use experiment::state::State;
use experiment::tables::{Module, Thread, ThreadKind, ThreadState};

fn tables() -> Tables {
    let mut tables = Tables::default();
    tables.module(Module {
        path: "/usr/lib/libgomp.so.1".to_owned(),
        build_id: String::new(),
        runtime: RuntimeKind::Gomp,
    });
    for tid in 10..13 {
        tables.threads.push(Thread {
            process: ProcessId(0),
            tid,
            name: NameId::NONE,
            birth: Nanos(0),
            death: None,
            kind: ThreadKind::Worker,
        });
    }
    tables
}

fn thread_state(tables: &mut Tables, state: State) -> ThreadStateId {
    tables.thread_state(ThreadState {
        state,
        context: ContextId::ROOT,
        call: FrameId::NONE,
    })
}

fn sum(
    slice: u32,
    thread: u32,
    (thread_state, scheduling): (ThreadStateId, Scheduling),
    tenths: u64,
) -> Sum {
    Sum {
        slice,
        thread: ThreadId(thread),
        thread_state,
        scheduling,
        time: Nanos(tenths * 100_000_000),
        count: 1,
    }
}

/// The header of a program with so many CPUs and these environment variables.
fn given(cpus: u32, environment: &[(&str, &str)]) -> Header {
    let environment = environment
        .iter()
        .map(|&(name, value)| (name.to_owned(), value.to_owned()));
    Header {
        cpus,
        environment: environment.collect(),
        ..Header::default()
    }
}

fn packed(rows: &[Sum]) -> Sums {
    rows.iter().copied().collect()
}

#[test]
fn spinning_costs_what_it_took_from_others_in_the_same_second() {
    let mut tables = tables();
    let wait = (
        thread_state(&mut tables, State::ImplicitBarrier),
        Scheduling::Running,
    );
    let work = thread_state(&mut tables, State::Work);
    let sums = [
        sum(0, 0, wait, 5),
        sum(0, 1, (work, Scheduling::Preempted), 3),
        // Spinning that takes no CPU from others, and ready time without spinning.
        sum(1, 0, wait, 9),
        sum(2, 1, (work, Scheduling::Preempted), 9),
    ];
    let found = warnings(
        &tables,
        &packed(&sums),
        &CpuSamples::default(),
        &given(2, &[]),
    );
    let [
        Warning::SpinsCrowded {
            seconds,
            spun,
            variables,
        },
    ] = found.as_slice()
    else {
        panic!("{found:?}");
    };
    assert!((seconds - 0.3).abs() < 1e-9 && (spun - 1.4).abs() < 1e-9);
    assert!(variables.is_some_and(|it| it.contains("GOMP_SPINCOUNT=0")));
    // Ten thousand sleeps cost more than these 0.3 s.
    let mut many = sums;
    many[0].count = 10_000;
    let found = warnings(
        &tables,
        &packed(&many),
        &CpuSamples::default(),
        &given(2, &[]),
    );
    let [
        few_threads @ Warning::SpinsCrowded {
            variables: None, ..
        },
    ] = found.as_slice()
    else {
        panic!("{found:?}");
    };
    assert!(few_threads.to_string().ends_with("(OMP_NUM_THREADS)"));
    // As little as another program takes by running briefly.
    let little = [
        sums[0],
        sums[2],
        sum(0, 1, (wait.0, Scheduling::Blocked), 160),
        sums[1],
    ];
    let none = warnings(
        &tables,
        &packed(&little),
        &CpuSamples::default(),
        &given(2, &[]),
    );
    assert_eq!(none, []);
    let asleep = [sum(0, 0, (wait.0, Scheduling::Blocked), 9), sums[1]];
    let none = warnings(
        &tables,
        &packed(&asleep),
        &CpuSamples::default(),
        &given(2, &[]),
    );
    assert_eq!(none, []);
}

#[test]
fn a_runtime_set_to_sleep_needs_no_warning() {
    let mut tables = tables();
    let advice = |tables: &Tables, environment: &[(&str, &str)]| {
        variables(tables, &given(2, environment).environment)
    };
    let passive = ("OMP_WAIT_POLICY", "PASSIVE");
    assert_eq!(advice(&tables, &[passive]), None);
    assert_eq!(advice(&tables, &[("GOMP_SPINCOUNT", "0")]), None);
    // The runtime's own variable overrides OpenMP's.
    let own = [passive, ("GOMP_SPINCOUNT", "300k")];
    assert_eq!(advice(&tables, &own), Some("GOMP_SPINCOUNT=0"));
    // The variable belongs to another runtime.
    let other = [("KMP_BLOCKTIME", "0")];
    let both = "OMP_WAIT_POLICY=passive or GOMP_SPINCOUNT=0";
    assert_eq!(advice(&tables, &other), Some(both));
    tables.module(Module {
        path: "/usr/lib/libomp.so.5".to_owned(),
        build_id: String::new(),
        runtime: RuntimeKind::Kmp,
    });
    assert_eq!(advice(&tables, &[]), Some("OMP_WAIT_POLICY=passive"));
    assert_eq!(advice(&tables, &[("KMP_BLOCKTIME", "0ms")]), Some(both));
    assert!(!asks_to_spin(&given(2, &[passive]).environment));
    assert!(asks_to_spin(
        &given(2, &[("OMP_WAIT_POLICY", "Active")]).environment
    ));
    let infinite = [passive, ("KMP_BLOCKTIME", "infinite")];
    assert!(asks_to_spin(&given(2, &infinite).environment));
    assert_eq!(advice(&tables, &infinite), Some("KMP_BLOCKTIME=0"));
}

#[test]
fn threads_bound_to_one_cpu_that_spin_there_are_named() {
    let mut tables = tables();
    let wait = (
        thread_state(&mut tables, State::ImplicitBarrier),
        Scheduling::Running,
    );
    let sums = [sum(0, 0, wait, 5), sum(0, 1, wait, 4)];
    let on = |thread: u32, cpu: u16| Sample {
        time: Nanos(0),
        thread: ThreadId(thread),
        cpu,
        kind: SampleKind::User,
        stack: StackId::EMPTY,
        thread_state: wait.0,
        within: experiment::rows::Within::default(),
    };
    let samples = |cpus: [u16; 3]| {
        let all = (0..3).zip(cpus).map(move |(thread, cpu)| on(thread, cpu));
        let all = all.flat_map(|sample| std::iter::repeat_n(sample, 60));
        all.collect::<Vec<_>>()
    };
    let shared = |samples: &[Sample], cpus| {
        let on_cpus = CpuSamples::of(&Samples::pack(samples).unwrap());
        warnings(&tables, &packed(&sums), &on_cpus, &given(cpus, &[]))
    };
    let found = shared(&samples([0, 0, 1]), 2);
    let [
        Warning::SharedCpu {
            cpu: 0, tids, spun, ..
        },
    ] = found.as_slice()
    else {
        panic!("{found:?}");
    };
    assert_eq!(tids, &[10, 11]);
    assert!((spun - 0.9).abs() < 1e-9);
    assert_eq!(shared(&samples([0, 1, 2]), 3), []);
    assert_eq!(shared(&samples([0, 0, 0]), 1), [], "no other CPU");
    let all = shared(&samples([0, 0, 0]), 2);
    let [Warning::SharedCpu { tids, .. }] = all.as_slice() else {
        panic!("another CPU was idle: {all:?}");
    };
    assert_eq!(tids, &[10, 11, 12]);
    // A thread that moved is not bound.
    let mut moved = samples([0, 0, 1]);
    moved.extend(std::iter::repeat_n(on(1, 1), 9));
    assert_eq!(shared(&moved, 2), []);
}

/// On two nodes of two CPUs: page faults and samples on each CPU.
fn far(nodes: u32, faults: [u64; 4], samples: [u64; 4]) -> Option<String> {
    let mut header = given(4, &[]);
    header.sampling.minor_faults = true;
    let node = |node: u32| (node, vec![2 * node, 2 * node + 1]);
    header.numa_nodes = (0..nodes).map(node).collect();
    let uses: Packed<CpuUse> = (0..)
        .zip(faults)
        .map(|(cpu, minor_faults)| CpuUse {
            thread: ThreadId(0),
            cpu,
            migrations: 0,
            voluntary: 0,
            involuntary: 0,
            minor_faults,
            major_faults: 0,
        })
        .collect();
    let on_cpus = CpuSamples {
        by_cpu: (0..).zip(samples).collect(),
        ..CpuSamples::default()
    };
    let found = first_touch(&uses, &on_cpus, &header);
    found.map(|warning| warning.to_string())
}

#[test]
fn memory_that_one_node_touched_first_is_far_from_the_others() {
    let even = [100; 4];
    let words = far(2, [19_000, 0, 500, 500], even).unwrap();
    assert!(
        words.starts_with("95 % of the page faults were on NUMA node 0, and 50 % of"),
        "{words}"
    );
    // Both nodes touched it; there is little of it; one node did all work; there is one node.
    assert_eq!(far(2, [15_000, 0, 5_000, 0], even), None);
    assert_eq!(far(2, [9_000, 0, 0, 0], even), None);
    assert_eq!(far(2, [19_000, 0, 500, 500], [100, 100, 20, 20]), None);
    assert_eq!(far(1, [19_000, 0, 0, 0], even), None);
}
