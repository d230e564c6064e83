//! GCC's libgomp, interposed: the records are what programs did, and programs do the same as alone.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use omp_ring::layout::RuntimeKind;
use omp_ring::record::{
    CodePayload, InstanceId, JoinPayload, Kind, MutexPayload, TASK_ALL, TaskPayload,
};
use support::{Recording, check_sums, compile_gnu, preloaded, record_preloaded};

const THREAD_INITIAL: u64 = 1;
const THREAD_WORKER: u64 = 2;
/// `ompt_task_complete`
const COMPLETE: u32 = 1;

/// Properties of every recording: nothing is lost, each thread has one kind, regions nest, each
/// implicit task of a team of two or more ends in its join barrier, tasks belong to this process.
fn check(recording: &Recording) {
    assert!(
        recording.status.success(),
        "{:?} {}{}",
        recording.status,
        recording.stdout,
        recording.stderr
    );
    assert_eq!(recording.stderr, "");
    let mut regions = BTreeSet::new();
    let forks = [Kind::ParallelBegin, Kind::TeamsBegin];
    for event in forks.iter().flat_map(|kind| recording.all(*kind)) {
        assert!(
            regions.insert(event.instance()),
            "a region's id is used twice"
        );
        assert!(event.context.is_some(), "a region without a context");
    }
    for thread in &recording.threads {
        assert_eq!(thread.view.dropped, 0);
        assert_eq!(thread.events[0].kind, Kind::ThreadBegin);
        assert_eq!(thread.of(Kind::ThreadBegin).count(), 1);
        let kind = thread.events[0].payload;
        let expected = if thread.is_initial() {
            THREAD_INITIAL
        } else {
            THREAD_WORKER
        };
        assert_eq!(kind, expected);
        let mut open = Vec::new();
        let (mut parts, mut joins) = (0, 0);
        for event in &thread.events {
            match event.kind {
                Kind::ParallelBegin | Kind::TeamsBegin => open.push(event.instance()),
                Kind::ParallelEnd => assert_eq!(open.pop(), Some(event.region().region)),
                Kind::ImplicitBegin => {
                    let part = event.region();
                    assert!(regions.contains(&part.region), "{event:?} is of no region");
                    assert!(part.index < part.size, "{part:?}");
                    parts += (part.size > 1) as u32;
                }
                Kind::JoinWaitBegin => {
                    let join = JoinPayload::unpack(event.payload);
                    assert!(regions.contains(&join.region) && join.kind == 9);
                    joins += 1;
                }
                _ => (),
            }
        }
        assert_eq!(open, []);
        assert_eq!(parts, joins);
        let begins = thread.of(Kind::SyncWaitBegin).count();
        assert_eq!(begins, thread.of(Kind::SyncWaitEnd).count());
    }
    let kinds: Vec<_> = recording.consumer.runtimes().map(|it| it.kind).collect();
    assert!(kinds.iter().all(|kind| *kind == RuntimeKind::Gomp));
}

fn kinds(recording: &Recording, kind: Kind) -> BTreeMap<u8, usize> {
    let mut counts = BTreeMap::new();
    for event in recording.all(kind) {
        let unpacked = CodePayload::unpack(event.payload);
        assert_ne!(unpacked.code, 0, "{event:?} does not say where");
        *counts.entry(unpacked.kind).or_default() += 1;
    }
    counts
}

fn mutexes(recording: &Recording, kind: Kind) -> BTreeMap<u8, usize> {
    let mut counts = BTreeMap::new();
    for event in recording.all(kind) {
        let kind = MutexPayload::unpack(event.payload).kind;
        *counts.entry(kind).or_default() += 1;
    }
    counts
}

/// The ids of the mutexes of a kind.
fn locks(recording: &Recording, kind: Kind, mutex: u8) -> BTreeSet<u64> {
    let payloads = recording.all(kind).map(|e| MutexPayload::unpack(e.payload));
    let of_kind = payloads.filter(|payload| payload.kind == mutex);
    of_kind.map(|payload| payload.lock).collect()
}

fn plain(recording: &Recording, kind: Kind) -> BTreeMap<u64, usize> {
    let mut counts = BTreeMap::new();
    for event in recording.all(kind) {
        *counts.entry(event.payload).or_default() += 1;
    }
    counts
}

/// Each wait for a mutex has its call.
fn check_mutex_calls(recording: &Recording) {
    for event in recording.all(Kind::MutexAcquire) {
        assert!(event.code.is_some(), "{event:?}");
    }
}

fn check_constructs(flags: &[&str], policy: &str) {
    let program = compile_gnu("gomp/constructs.c", flags);
    let recording = record_preloaded(&program, &[("OMP_WAIT_POLICY", policy)]);
    check(&recording);
    // 1: two explicit barriers, and the implicit one after copyprivate, which is the same call.
    // 8: the ends of the dynamic loop, the sections and the ordered loop; both threads at the
    // start of the single, and the one that did it at its end. The loop with `nowait` has none.
    let sync = kinds(&recording, Kind::SyncWaitBegin);
    assert_eq!(sync.keys().copied().collect::<Vec<_>>(), [1, 8], "{sync:?}");
    assert_eq!((sync[&1], sync[&8]), (6, 9), "{sync:?}");
    let acquire = mutexes(&recording, Kind::MutexAcquire);
    let acquired = mutexes(&recording, Kind::MutexAcquired);
    let released = mutexes(&recording, Kind::MutexReleased);
    // 1 lock, 2 test lock, 3 nest lock, 4 test nest lock, 5 critical, 7 ordered.
    let at = |counts: &BTreeMap<u8, usize>, kind: u8| counts.get(&kind).copied().unwrap_or(0);
    assert_eq!((acquire[&1], at(&acquired, 1), at(&released, 1)), (2, 2, 3));
    assert_eq!(at(&acquired, 2), 1, "the second test fails");
    assert_eq!((acquire[&3], at(&acquired, 3), at(&released, 3)), (4, 4, 6));
    assert_eq!(at(&acquired, 4), 1);
    assert_eq!(plain(&recording, Kind::NestLock)[&1], 1);
    assert_eq!(
        (acquire[&5], at(&acquired, 5), at(&released, 5)),
        (12, 12, 12)
    );
    assert_eq!(at(&released, 7), 4);
    assert_eq!(acquire[&7], at(&acquired, 7));
    // Each mutex acquired and released was asked for.
    for kind in [1, 3, 5, 7] {
        let asked = locks(&recording, Kind::MutexAcquire, kind);
        assert!(!asked.is_empty() && !asked.contains(&0), "{kind}");
        assert_eq!(locks(&recording, Kind::MutexReleased, kind), asked);
    }
    check_mutex_calls(&recording);
    let sizes: Vec<u16> = recording
        .initial()
        .of(Kind::ParallelBegin)
        .map(|event| event.origin().info)
        .collect();
    assert_eq!(sizes, [2, 2, 2, 2, 2, 2, 2, 1]);
    // Each of the seven regions of two threads had an implicit task on both.
    let parts = recording.all(Kind::ImplicitBegin).count();
    assert_eq!(parts, 15);
}

#[test]
fn constructs_are_what_the_program_did() {
    check_constructs(&[], "passive");
    check_constructs(&["-O0"], "active");
}

fn check_tasks(recording: &Recording) {
    check(recording);
    let mut created = BTreeSet::new();
    let mut whole = BTreeSet::new();
    for event in recording.all(Kind::TaskCreate) {
        let origin = event.origin();
        assert!(
            created.insert(event.instance()),
            "a task's id is used twice"
        );
        if origin.info & TASK_ALL != 0 {
            whole.insert(event.instance());
        }
        let site = recording.site(event);
        assert_eq!(site.frames[0], site.code);
    }
    let mut started = BTreeSet::new();
    let mut ended = BTreeSet::new();
    for thread in &recording.threads {
        let mut stack = vec![InstanceId::NONE];
        for event in thread.of(Kind::TaskSchedule) {
            let TaskPayload { task, status } = event.task();
            let is_whole = whole.contains(&task);
            let ends_another = status == COMPLETE;
            if is_whole && ends_another && !stack.contains(&task) {
                assert!(ended.insert(task), "{event:?}: the taskloop has ended");
                continue;
            }
            let begins = is_whole && !ends_another;
            // Either a task begins on top of the current one, or the one below it resumes.
            if !begins && stack.len() > 1 && stack[stack.len() - 2] == task {
                stack.pop();
            } else {
                assert!(created.contains(&task), "{event:?} of no known task");
                started.insert(task);
                stack.push(task);
            }
        }
        assert_eq!(stack, [InstanceId::NONE]);
    }
    assert!(ended.is_subset(&whole));
    assert_eq!(started, created, "every task runs");
}

#[test]
fn tasks_keep_their_data_whatever_its_size() {
    for flags in [&["-O2"][..], &["-O0"]] {
        let program = compile_gnu("gomp/tasks.cpp", flags);
        let recording = record_preloaded(&program, &[]);
        check_tasks(&recording);
        assert!(recording.all(Kind::TaskCreate).count() > 100);
        let sync = kinds(&recording, Kind::SyncWaitBegin);
        assert!(
            sync[&5] >= 20 && sync[&6] >= 16,
            "taskwait and taskgroup: {sync:?}"
        );
    }
}

#[test]
fn recursive_tasks_share_few_contexts() {
    for threads in ["1", "2"] {
        let recording = record_preloaded(
            &compile_gnu("tasks.c", &[]),
            &[("OMP_NUM_THREADS", threads)],
        );
        check_tasks(&recording);
        assert_eq!(recording.all(Kind::TaskCreate).count(), 3192);
        let (names, stacks) = recording.contexts(recording.all(Kind::TaskCreate));
        assert!(
            stacks < 64 && names < 128,
            "{names} names of {stacks} stacks"
        );
    }
}

#[test]
fn a_fork_says_from_where_it_came() {
    let recording = record_preloaded(&compile_gnu("regions.c", &[]), &[]);
    check(&recording);
    let printed = recording.addresses();
    let begins: Vec<_> = recording.initial().of(Kind::ParallelBegin).collect();
    assert_eq!(begins.len(), 200);
    let (names, stacks) = recording.contexts(begins.iter().copied());
    assert!(
        stacks == 2 && names <= 4,
        "{names} names of {stacks} stacks"
    );
    for (event, path) in begins.iter().zip(["a", "b"].iter().cycle()) {
        let site = recording.site(event);
        assert_eq!(site.frames[0], site.code);
        assert_eq!(site.frames[1], printed[&format!("middle_{path}")]);
        assert_eq!(site.frames[2], printed[&format!("main_{path}")]);
        assert!(site.complete, "{site:x?}");
    }
}

#[test]
fn short_waits_are_summed_and_long_ones_recorded() {
    check_sums(&compile_gnu("short.c", &["-O2"]), preloaded);
}

#[test]
fn iterations_that_wait_for_others_are_ordered() {
    let recording = record_preloaded(&compile_gnu("gomp/doacross.c", &[]), &[]);
    check(&recording);
    let acquire = mutexes(&recording, Kind::MutexAcquire);
    // Two sinks an iteration less those outside of the loop, one in eight dimensions, one wide.
    assert_eq!(acquire.keys().copied().collect::<Vec<_>>(), [7]);
    assert_eq!(acquire[&7], 2 * 12 * 11 + 3 * 192 + 19);
    assert_eq!(mutexes(&recording, Kind::MutexAcquired)[&7], acquire[&7]);
}

#[test]
fn each_chunk_of_an_ordered_loop_waits_for_its_turn_once() {
    let recording = record_preloaded(&compile_gnu("gomp/ordered.c", &["-O2"]), &[]);
    check(&recording);
    assert_eq!(recording.stdout, "236 4\n");
    let chunks = 10 + 12 + 3 + 4 * 6;
    let acquire = mutexes(&recording, Kind::MutexAcquire);
    assert_eq!((acquire.len(), acquire[&7]), (1, chunks));
    assert_eq!(mutexes(&recording, Kind::MutexAcquired)[&7], chunks);
    // Passing the turn on is no wait: it follows all waits of a chunk.
    for thread in &recording.threads {
        let mut turns = vec![false];
        for event in &thread.events {
            let turn = turns.last_mut().unwrap();
            match event.kind {
                Kind::MutexAcquired => *turn = true,
                Kind::OverheadBegin => assert!(std::mem::take(turn), "{event:?}"),
                Kind::ParallelBegin => turns.push(false),
                Kind::ParallelEnd => drop(turns.pop()),
                _ => (),
            }
        }
    }
    assert_eq!(recording.all(Kind::OverheadBegin).count(), chunks);
    assert_eq!(recording.all(Kind::OverheadEnd).count(), chunks);
}

#[test]
fn regions_of_old_compilers_are_regions() {
    let recording = record_preloaded(&compile_gnu("gomp/old.c", &[]), &[]);
    check(&recording);
    // Ten outer ones with two inner ones each, and a loop.
    assert_eq!(recording.all(Kind::ParallelBegin).count(), 31);
    assert_eq!(recording.all(Kind::ParallelEnd).count(), 31);
    assert_eq!(recording.all(Kind::ImplicitBegin).count(), 62);
}

#[test]
fn threads_of_nested_teams_give_their_rings_back() {
    let recording = record_preloaded(&compile_gnu("gomp/old.c", &[]), &[]);
    // libgomp ends the threads of an inner team with it.
    let ended = recording
        .threads
        .iter()
        .filter(|thread| thread.of(Kind::ThreadEnd).count() == 1)
        .count();
    let threads = recording.threads.len();
    assert!(ended >= 5, "{ended} of {threads} threads ended");
}

#[test]
fn fortran_s_names_are_the_same_locks() {
    let modules = format!("-J{}", env!("CARGO_TARGET_TMPDIR"));
    let recording = record_preloaded(&compile_gnu("gomp/locks.f90", &[&modules]), &[]);
    check(&recording);
    let acquire = mutexes(&recording, Kind::MutexAcquire);
    assert_eq!((acquire[&1], acquire[&3]), (2, 2));
    let nested = plain(&recording, Kind::NestLock);
    assert_eq!(nested[&1], 2);
}

#[test]
fn odd_constructs_leave_balanced_records() {
    for policy in ["active", "passive"] {
        let recording = record_preloaded(
            &compile_gnu("shapes.c", &[]),
            &[("OMP_WAIT_POLICY", policy), ("OMP_CANCELLATION", "true")],
        );
        check_tasks(&recording);
        // Three levels of tasks in place, three times: one context for each level.
        let start = recording.addresses()["in_place"];
        let depths: Vec<usize> = recording
            .all(Kind::TaskCreate)
            .filter(|event| event.origin().info == omp_ring::record::TASK_UNDEFERRED)
            .map(|event| recording.site(event).frames)
            .map(|frames| {
                frames
                    .iter()
                    .filter(|f| (start..start + 256).contains(*f))
                    .count()
            })
            .collect();
        assert_eq!(depths.len(), 9);
    }
}

#[test]
fn a_forked_child_records_into_a_slot_of_its_own() {
    let recording = record_preloaded(&compile_gnu("gomp/fork.c", &[]), &[]);
    assert!(recording.status.success());
    let printed = recording.addresses();
    let regions = |pid: u64| -> usize {
        let of_process = |it: &&support::ThreadLog| it.view.pid as u64 == pid;
        let threads = recording.threads.iter().filter(of_process);
        threads.map(|it| it.of(Kind::ParallelBegin).count()).sum()
    };
    assert_eq!(
        (regions(printed["parent"]), regions(printed["child"])),
        (3, 1)
    );
    // The region in which the process forked ends once, in the process that began it.
    assert_eq!(recording.all(Kind::ParallelEnd).count(), 4);
    let pids: BTreeSet<u64> = recording
        .consumer
        .runtimes()
        .map(|it| it.pid as u64)
        .collect();
    assert_eq!(pids, BTreeSet::from([printed["parent"], printed["child"]]));
}

/// Allocations of the loader or the standard library for us would lie in the program's heap, and move
/// the runtime's own data there within their cache lines.
#[test]
fn the_program_s_heap_is_left_alone() {
    let program = compile_gnu("heap.c", &[]);
    let alone = std::process::Command::new(&program)
        .env("OMP_WAIT_POLICY", "passive")
        .output()
        .unwrap();
    let alone = String::from_utf8(alone.stdout).unwrap();
    assert!(alone.starts_with("calls=0x"), "{alone}");
    let recording = record_preloaded(&program, &[]);
    check(&recording);
    assert_eq!(recording.all(Kind::ParallelBegin).count(), 10);
    assert_eq!(recording.stdout, alone);
}
