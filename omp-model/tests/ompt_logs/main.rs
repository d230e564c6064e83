//! The state machine on recorded event streams of eight runtimes and settings, compared with what
//! the recorded program logged between the events.

mod log;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

use experiment::ids::{ContextId, FrameId, Nanos, StackId, ThreadId};
use experiment::state::State;
use experiment::tables::{ContextKind, Interner, ThreadKind, ThreadState};
use log::Line;
use omp_model::omp::{Machine, TimeAccounting};
use omp_model::stream::{Instance, Mutex, Sync, What};

const LOGS: [&str; 8] = [
    "libomp14",
    "libomp16",
    "libomp19",
    "libomp22",
    "libomp22-active",
    "libomp22-passive",
    "libomp22-blocktime0",
    "libiomp5-2026",
];

/// A sample with the thread's state by the machine, and what the program logged last before it.
struct CheckedSample {
    log: &'static str,
    thread: ThreadId,
    time: Nanos,
    /// The construct that runs; `None` in the serial code between two.
    mark: Option<String>,
    /// Whether the program has passed its first mark.
    marked: bool,
    /// Whether the thread is in user work.
    user: bool,
    thread_state: ThreadState,
    /// The kind of the thread state's context.
    context: ContextKind,
    /// The code at the program counter.
    code: String,
}

/// A row to which the machine refers.
fn row<T: Clone + Eq + Hash>(table: &Interner<T>, index: u32) -> &T {
    table
        .get(index)
        .expect("the machine refers to rows of its tables")
}

/// All samples of a log.
fn samples(name: &'static str) -> Vec<CheckedSample> {
    let mut log = log::read(name);
    let mut machine = Machine::new();
    let mut accounting = TimeAccounting::new(Nanos(1_000_000));
    let mut user = HashMap::new();
    let mut mark = None;
    let mut marked = false;
    let mut seen = Vec::new();
    for line in log.lines {
        match line {
            Line::Event(event) => machine.apply(&mut log.tables, &mut accounting, &event),
            Line::User(thread, enters) => {
                user.insert(thread, enters);
            }
            Line::Mark(text) => {
                marked = true;
                mark = text.strip_prefix("B:").map(str::to_owned);
            }
            Line::Sample(thread, time, code) => {
                let thread_state =
                    *row(&log.tables.thread_states, machine.thread_state_of(thread).0);
                seen.push(CheckedSample {
                    log: name,
                    thread,
                    time,
                    mark: mark.clone(),
                    marked,
                    user: user.get(&thread) == Some(&true),
                    thread_state,
                    context: row(&log.tables.contexts, thread_state.context.0).kind,
                    code,
                });
            }
        }
    }
    seen
}

fn all_samples() -> Vec<CheckedSample> {
    LOGS.iter().flat_map(|name| samples(name)).collect()
}

impl CheckedSample {
    fn words(&self) -> String {
        format!(
            "{} at {} ns, thread {}, in {:?}, {}: {:?} in a {:?}, at {}",
            self.log,
            self.time.0,
            self.thread.0,
            self.mark,
            if self.user {
                "user work"
            } else {
                "no user work"
            },
            self.thread_state.state,
            self.context,
            self.code
        )
    }
}

/// Fails if any sample is wrong.
fn assert_none(wrong: Vec<String>) {
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn user_work_is_work_inside_regions_and_serial_outside() {
    let seen = all_samples();
    let in_user_work: Vec<_> = seen.iter().filter(|sample| sample.user).collect();
    assert!(in_user_work.len() > 9_000, "{}", in_user_work.len());
    let wrong = in_user_work.iter().filter(|sample| {
        // Marks are in serial code; only `serial_phase` has user work outside its regions.
        let serial_here = match sample.mark.as_deref() {
            None => Some(true),
            Some("serial_phase") if sample.thread == ThreadId(0) => None,
            Some(_) => Some(false),
        };
        let right = match sample.thread_state.state {
            State::Serial => {
                sample.thread == ThreadId(0)
                    && serial_here != Some(false)
                    && sample.thread_state.context == ContextId::ROOT
            }
            State::Work => {
                serial_here != Some(true) && sample.thread_state.context != ContextId::ROOT
            }
            _ => false,
        };
        !right
    });
    assert_none(wrong.map(|sample| sample.words()).collect());
}

#[test]
fn a_worker_between_two_constructs_is_idle_under_no_region() {
    let seen = all_samples();
    let between: Vec<_> = seen
        .iter()
        .filter(|it| it.marked && it.mark.is_none() && it.thread != ThreadId(0))
        .collect();
    assert!(between.len() > 1_500, "{}", between.len());
    let idle = ThreadState {
        state: State::Idle,
        context: ContextId::ROOT,
        call: FrameId::NONE,
    };
    let wrong = between.iter().filter(|sample| sample.thread_state != idle);
    assert_none(wrong.map(|sample| sample.words()).collect());
}

#[test]
fn the_initial_thread_is_never_idle_and_workers_are_never_serial() {
    let wrong = all_samples().into_iter().filter(|sample| {
        matches!(
            (sample.thread.0, sample.thread_state.state),
            (0, State::Idle) | (1.., State::Serial) | (_, State::Outside | State::Unknown)
        )
    });
    assert_none(wrong.map(|sample| sample.words()).collect());
}

/// The states, besides work and those of any region's begin and end, that a thread in each
/// construct can be in. `true`: some sample of the eight logs is in it.
const WAITS: [(&str, &[(State, bool)]); 36] = [
    ("parallel", &[]),
    ("parallel_masterlate", &[]),
    ("for_static", &[]),
    ("for_static_nowait", &[]),
    ("for_dynamic", &[]),
    ("for_guided", &[]),
    ("parallel_for", &[]),
    ("sections", &[]),
    ("single", &[]),
    (
        "single_copyprivate",
        &[(State::ImplementationBarrier, true)],
    ),
    ("master_barrier", &[(State::ExplicitBarrier, true)]),
    ("critical", &[(State::Critical, true)]),
    ("critical_named", &[(State::Critical, true)]),
    ("lock", &[(State::Lock, true)]),
    ("nest_lock", &[(State::NestLock, true)]),
    ("test_lock", &[(State::Lock, true)]),
    ("atomic", &[]),
    ("atomic_ld", &[]),
    ("ordered", &[(State::Ordered, true)]),
    ("ordered_doacross", &[]),
    ("barrier", &[(State::ExplicitBarrier, true)]),
    // Up to four threads combine in a critical section of the runtime.
    (
        "reduction_par",
        &[(State::Critical, false), (State::Reduction, false)],
    ),
    (
        "reduction_for",
        &[
            (State::ImplementationBarrier, true),
            (State::Critical, false),
            (State::Reduction, false),
        ],
    ),
    (
        "reduction_array",
        &[(State::Critical, false), (State::Reduction, false)],
    ),
    ("task_single_taskwait", &[(State::TaskWait, true)]),
    ("task_in_barrier", &[]),
    ("task_joinbarrier", &[]),
    ("taskgroup", &[(State::TaskGroup, true)]),
    ("taskloop", &[(State::TaskGroup, true)]),
    ("task_untied_if0", &[(State::TaskWait, true)]),
    ("nested", &[]),
    ("nested_serialized", &[]),
    ("serialized_if0", &[]),
    ("teams", &[(State::TeamsBarrier, true)]),
    ("workscope_shrink", &[]),
    ("serial_phase", &[]),
];

#[test]
fn each_construct_has_its_own_waits_and_no_others() {
    const EVERYWHERE: [State; 5] = [
        State::Serial,
        State::Work,
        State::Overhead,
        State::ImplicitBarrier,
        State::Idle,
    ];
    let waits = BTreeMap::from(WAITS);
    let mut wrong = Vec::new();
    let mut states_by_mark: BTreeMap<String, BTreeSet<State>> = BTreeMap::new();
    for sample in all_samples() {
        let Some(mark) = &sample.mark else { continue };
        let own = waits[mark.as_str()];
        let state = sample.thread_state.state;
        if !EVERYWHERE.contains(&state) && !own.iter().any(|(wait, _)| *wait == state) {
            wrong.push(sample.words());
        }
        states_by_mark
            .entry(mark.clone())
            .or_default()
            .insert(state);
    }
    for (mark, own) in WAITS {
        let states = states_by_mark
            .get(mark)
            .unwrap_or_else(|| panic!("no sample in {mark}"));
        for (wait, sampled) in own {
            if *sampled && !states.contains(wait) {
                wrong.push(format!("no {wait:?} in {mark}"));
            }
        }
    }
    assert_none(wrong);
}

#[test]
fn a_wait_is_in_the_region_where_its_thread_works() {
    // Waits and work are in a region, a league or a task; idle and serial time in none.
    let wrong = all_samples().into_iter().filter(|sample| {
        let nowhere = matches!(sample.thread_state.state, State::Idle | State::Serial);
        nowhere != (sample.context == ContextKind::Root)
    });
    assert_none(wrong.map(|sample| sample.words()).collect());
}

#[test]
fn tasks_that_run_inside_waits_are_work_of_their_tasks() {
    let seen = all_samples();
    for mark in [
        "task_in_barrier",
        "task_joinbarrier",
        "task_single_taskwait",
        "taskgroup",
    ] {
        let tasks = seen.iter().filter(|sample| {
            sample.mark.as_deref() == Some(mark)
                && sample.context == ContextKind::Task
                && sample.thread_state.state == State::Work
        });
        let on: BTreeSet<_> = tasks.map(|sample| (sample.log, sample.thread)).collect();
        assert!(on.len() >= LOGS.len(), "{mark}: {on:?}");
    }
}

#[test]
fn the_time_of_every_thread_is_booked_to_the_nanosecond() {
    for name in LOGS {
        let mut log = log::read(name);
        let mut machine = Machine::new();
        let mut accounting = TimeAccounting::new(Nanos(1_000_000));
        let mut instances = 0;
        for line in &log.lines {
            if let Line::Event(event) = line {
                // Without a call of the program, LLVM's runtimes make a team of a league's thread.
                instances += u32::from(match event.what {
                    What::ParallelBegin { site, .. } => site.stack != StackId::EMPTY,
                    _ => false,
                });
                machine.apply(&mut log.tables, &mut accounting, event);
            }
        }
        accounting.finish(log.end);
        let rows = accounting.take();
        for (index, thread) in log.tables.threads.iter().enumerate() {
            let sums = rows.sums.iter().filter(|sum| sum.thread.index() == index);
            let accounted: u64 = sums.map(|sum| sum.time.0).sum();
            assert_eq!(
                accounted,
                log.end.0 - thread.birth.0,
                "{name}: thread {index}"
            );
            let kind = if index == 0 {
                ThreadKind::Initial
            } else {
                ThreadKind::Worker
            };
            assert_eq!(thread.kind, kind, "{name}: thread {index}");
        }
        let accounted: u32 = rows.region_sums.iter().map(|sum| sum.instances).sum();
        assert_eq!(accounted, instances, "{name}");
        assert_eq!(accounting.late(), 0, "{name}");
    }
}

/// The time of each wait that has a begin and an end on its thread, summed directly from the
/// lines, without tasks inside.
#[test]
fn waits_are_as_long_as_their_events_say() {
    for name in LOGS {
        let mut log = log::read(name);
        let mut machine = Machine::new();
        let mut accounting = TimeAccounting::new(Nanos(1_000_000));
        let mut open: HashMap<(ThreadId, u8), Nanos> = HashMap::new();
        let mut expected: BTreeMap<State, u64> = BTreeMap::new();
        for line in &log.lines {
            let Line::Event(event) = line else { continue };
            let key = |which| (event.thread, which);
            match event.what {
                What::SyncBegin {
                    kind: Sync::BarrierExplicit,
                    ..
                } => {
                    open.insert(key(0), event.time);
                }
                What::SyncEnd {
                    kind: Sync::BarrierExplicit,
                } => {
                    let since = open.remove(&key(0)).expect("barriers have both ends");
                    *expected.entry(State::ExplicitBarrier).or_default() +=
                        event.time.since(since).0;
                }
                What::MutexAcquire { kind, .. } => {
                    open.insert((event.thread, 1 + kind as u8), event.time);
                }
                What::MutexAcquired { kind, .. } => {
                    let since = open
                        .remove(&key(1 + kind as u8))
                        .expect("acquired after acquire");
                    let state = match kind {
                        Mutex::Lock => State::Lock,
                        Mutex::NestLock => State::NestLock,
                        Mutex::Critical => State::Critical,
                        Mutex::Atomic => State::Atomic,
                        Mutex::Ordered => State::Ordered,
                    };
                    *expected.entry(state).or_default() += event.time.since(since).0;
                }
                _ => {}
            }
            machine.apply(&mut log.tables, &mut accounting, event);
        }
        // A nestable lock acquired again and a failed test have no end. Those waits end with the
        // thread's next event, which makes the machine's sum larger.
        accounting.finish(log.end);
        let rows = accounting.take();
        for (state, time) in expected {
            let accounted: u64 = rows
                .sums
                .iter()
                .filter(|sum| row(&log.tables.thread_states, sum.thread_state.0).state == state)
                .map(|sum| sum.time.0)
                .sum();
            let may_stay_open = matches!(state, State::NestLock | State::Lock);
            assert!(
                accounted == time
                    || may_stay_open && accounted > time && accounted - time < 100_000,
                "{name}: {state:?} {accounted} ns accounted, {time} ns by the events"
            );
        }
    }
}

#[test]
fn every_instance_of_a_region_ends_as_it_began() {
    for name in LOGS {
        let log = log::read(name);
        let mut open = BTreeSet::new();
        for line in &log.lines {
            let Line::Event(event) = line else { continue };
            match event.what {
                What::ParallelBegin { region, .. } => assert!(open.insert(region)),
                What::ParallelEnd { region } => assert!(open.remove(&region)),
                What::ImplicitBegin { region, .. } if region != Instance::NONE => {
                    // The machine relies on this: a worker is idle from its region's end on.
                    assert!(open.contains(&region), "{name}: {region:?}");
                }
                _ => {}
            }
        }
        assert!(open.is_empty(), "{name}: {open:?}");
    }
}
