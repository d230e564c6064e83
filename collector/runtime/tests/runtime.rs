//! `libcollector.so` in real programs: the records are what they did.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use omp_ring::consumer::{ArenaOptions, Consumer};
use omp_ring::layout::RuntimeKind;
use omp_ring::record::{CodePayload, InstanceId, JoinPayload, Kind, MutexPayload};
use support::{
    JOIN_BARRIER, Recording, command, compile, compile_gnu, record, record_child, record_preloaded,
};

/// Properties of every recording: nothing is lost, each region begins and ends once, on one thread,
/// and each implicit task belongs to a region.
fn check(recording: &Recording) {
    assert!(recording.status.success(), "{}", recording.stderr);
    assert_eq!(recording.stderr, "");
    assert!(
        recording
            .threads
            .iter()
            .all(|thread| thread.view.dropped == 0)
    );
    let mut known = BTreeSet::from([InstanceId::NONE]);
    for thread in &recording.threads {
        let mut open = Vec::new();
        for event in &thread.events {
            match event.kind {
                Kind::ParallelBegin | Kind::TeamsBegin => {
                    assert!(
                        known.insert(event.instance()),
                        "a region's id is used twice"
                    );
                    open.push(event.instance());
                }
                Kind::ParallelEnd => assert_eq!(open.pop(), Some(event.region().region)),
                _ => (),
            }
        }
        assert_eq!(open, []);
        // The implicit tasks nest, too. A worker's last one may still be open at its end, and one
        // that it left by a join barrier ends at the next begin.
        let (mut depth, mut joining) = (0, false);
        for event in &thread.events {
            match event.kind {
                Kind::ImplicitBegin => {
                    let over = joining && event.region().index != 0;
                    depth += i32::from(!over);
                    joining = false;
                }
                Kind::ImplicitEnd => depth -= 1,
                Kind::JoinWaitBegin => {
                    joining |= JoinPayload::unpack(event.payload).kind == JOIN_BARRIER;
                }
                _ => (),
            }
            assert!((0..=3).contains(&depth));
        }
    }
    for event in recording.all(Kind::ImplicitBegin) {
        assert!(
            known.contains(&event.region().region),
            "{event:?} is of no region"
        );
    }
}

#[test]
fn a_fork_says_from_where_it_came() {
    let program = compile("regions.c", &[]);
    let recording = record(&program, &[]);
    check(&recording);
    let printed = recording.addresses();
    let begins: Vec<_> = recording.initial().of(Kind::ParallelBegin).collect();
    assert_eq!(begins.len(), 200);
    // Two contexts, each sent once and then recognised.
    let (names, stacks) = recording.contexts(begins.iter().copied());
    assert!(
        stacks == 2 && names <= 4,
        "{names} names of {stacks} stacks"
    );
    for (event, path) in begins.iter().zip(["a", "b"].iter().cycle()) {
        let site = recording.site(event);
        assert_eq!(site.pid, recording.initial().view.pid);
        assert_eq!(site.frames[0], site.code);
        assert_eq!(site.frames[1], printed[&format!("middle_{path}")]);
        assert_eq!(site.frames[2], printed[&format!("main_{path}")]);
        assert!(site.complete, "{site:x?}");
        assert_eq!(event.origin().info, 2);
    }
}

#[test]
fn short_waits_are_summed_and_long_ones_recorded() {
    support::check_sums(&compile("short.c", &["-O2"]), support::command);
}

#[test]
fn a_stack_without_a_table_entry_is_guessed() {
    // The program has no call frame information; glibc has.
    let program = compile(
        "regions.c",
        &["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"],
    );
    let recording = record(&program, &[]);
    check(&recording);
    let printed = recording.addresses();
    let site = recording.site(recording.initial().of(Kind::ParallelBegin).next().unwrap());
    assert_eq!(site.frames[0], site.code);
    assert_eq!(site.frames[1], printed["middle_a"]);
    assert_eq!(site.frames[2], printed["main_a"]);
}

#[test]
fn a_fork_on_a_coroutine_s_stack_says_from_where_it_came() {
    let source = "coroutines.c";
    for recording in [
        record(&compile(source, &[]), &[]),
        record_preloaded(&compile_gnu(source, &[]), &[]),
    ] {
        assert!(recording.status.success(), "{}", recording.stderr);
        let printed = recording.addresses();
        let begins: Vec<_> = recording.initial().of(Kind::ParallelBegin).collect();
        assert_eq!(begins.len(), 20);
        for (event, caller) in begins.iter().zip(["first", "second"].iter().cycle()) {
            let site = recording.site(event);
            assert_eq!(site.frames[0], site.code);
            assert_eq!(site.frames[2], printed[*caller], "{site:x?}");
        }
        let (names, stacks) = recording.contexts(begins.iter().copied());
        assert!(
            stacks == 2 && names <= 4,
            "{names} names of {stacks} stacks"
        );
    }
}

fn check_constructs(policy: &str) {
    let recording = record(
        &compile("constructs.c", &[]),
        &[("OMP_WAIT_POLICY", policy)],
    );
    check(&recording);
    let count = |kind, mutex: u8| {
        recording
            .all(kind)
            .filter(|event| CodePayload::unpack(event.payload).kind == mutex)
            .count()
    };
    let plain = |kind, value: u64| recording.all(kind).filter(|e| e.payload == value).count();
    // ompt_mutex_t: 1 lock, 3 nest lock, 5 critical, 7 ordered. Re-acquiring a nest lock asks
    // once more than it gets.
    assert_eq!(
        (count(Kind::MutexAcquire, 5), count(Kind::MutexAcquired, 5)),
        (6, 6)
    );
    assert_eq!(
        (count(Kind::MutexAcquire, 1), count(Kind::MutexAcquired, 1)),
        (2, 2)
    );
    assert_eq!(
        (count(Kind::MutexAcquire, 3), count(Kind::MutexAcquired, 3)),
        (4, 2)
    );
    assert_eq!(
        (count(Kind::MutexAcquire, 7), count(Kind::MutexAcquired, 7)),
        (4, 4)
    );
    assert_eq!((plain(Kind::NestLock, 1), plain(Kind::NestLock, 2)), (2, 2));
    assert_eq!(count(Kind::MutexReleased, 5), 6);
    // Each mutex acquired and released was asked for.
    let locks = |kind| -> std::collections::BTreeSet<(u8, u64)> {
        let payloads = recording.all(kind).map(|e| MutexPayload::unpack(e.payload));
        payloads.map(|mutex| (mutex.kind, mutex.lock)).collect()
    };
    assert_eq!(locks(Kind::MutexAcquired), locks(Kind::MutexReleased));
    assert_eq!(locks(Kind::MutexAcquire), locks(Kind::MutexReleased));
    assert!(
        locks(Kind::MutexAcquired)
            .iter()
            .all(|&(_, lock)| lock != 0)
    );
    // Explicit barriers, 3.
    let explicit = |e: &&support::Event| CodePayload::unpack(e.payload).kind == 3;
    let barriers: Vec<_> = recording
        .all(Kind::SyncWaitBegin)
        .filter(explicit)
        .collect();
    assert_eq!(barriers.len(), 2);
    assert!(
        barriers
            .iter()
            .all(|event| CodePayload::unpack(event.payload).code != 0)
    );
    // Regions: one outer, one of one thread, one outer with two inner ones.
    assert_eq!(recording.all(Kind::ParallelBegin).count(), 5);
    let sizes: Vec<u16> = recording
        .initial()
        .of(Kind::ParallelBegin)
        .map(|event| event.origin().info)
        .collect();
    assert_eq!(sizes, [2, 1, 2, 2]);
    // Each implicit task of a team of two arrives at the join barrier of its region, which the record
    // names. Older runtimes report every implicit barrier like this.
    let mut arrivals = BTreeMap::<InstanceId, u32>::new();
    for event in recording.all(Kind::JoinWaitBegin) {
        let join = JoinPayload::unpack(event.payload);
        *arrivals.entry(join.region).or_default() += 1;
    }
    for event in recording.all(Kind::ParallelBegin) {
        let origin = event.origin();
        let size = if origin.info == 1 { 0 } else { 2 };
        let arrived = arrivals.get(&event.instance()).copied().unwrap_or(0);
        assert!(arrived >= size, "{arrived} of {size} arrived in {origin:?}");
    }
    // The end of a worker's last wait may be missing, but never its begin.
    for thread in &recording.threads {
        let begins = thread.waits();
        let ends = thread.of(Kind::SyncWaitEnd).count();
        assert!(
            begins == ends || begins == ends + 1,
            "{begins} begins, {ends} ends"
        );
    }
}

#[test]
fn constructs_are_balanced_when_waits_sleep() {
    check_constructs("passive");
}

#[test]
fn constructs_are_balanced_when_waits_spin() {
    check_constructs("active");
}

fn check_tasks(threads: &str) {
    let recording = record(&compile("tasks.c", &[]), &[("OMP_NUM_THREADS", threads)]);
    check(&recording);
    let mut sites = BTreeSet::new();
    let mut created = BTreeSet::new();
    for event in recording.all(Kind::TaskCreate) {
        assert!(
            created.insert(event.instance()),
            "a task's id is used twice"
        );
        sites.insert(event.context.unwrap().0);
        assert_eq!(recording.site(event).frames[0], recording.site(event).code);
    }
    assert_eq!(created.len(), 3192);
    let started: BTreeSet<_> = recording
        .all(Kind::TaskSchedule)
        .map(|event| event.task().task)
        .filter(|task| *task != InstanceId::NONE)
        .collect();
    assert_eq!(
        started, created,
        "every task runs, and none that was not created"
    );
    // A context in a task ends where the runtime entered the task; otherwise each of the 3192
    // would be unlike all others, for ever deeper stacks. What earlier calls left on the stack makes
    // several of one.
    assert!(sites.len() < 3192 / 8, "{} contexts", sites.len());
}

#[test]
fn recursive_tasks_share_few_contexts() {
    check_tasks("2");
}

#[test]
fn recursive_tasks_in_place_share_few_contexts() {
    check_tasks("1");
}

#[test]
fn the_runtime_is_registered() {
    let recording = record(&compile("regions.c", &[]), &[]);
    let runtimes: Vec<_> = recording.consumer.runtimes().collect();
    assert_eq!(runtimes.len(), 1);
    assert_eq!(runtimes[0].kind, RuntimeKind::Ompt);
    assert_eq!(runtimes[0].pid, recording.initial().view.pid);
    assert!(
        runtimes[0].version.contains("OMP"),
        "{}",
        runtimes[0].version
    );
    assert_eq!(runtimes[0].refused, 0);
}

#[test]
fn a_program_without_an_arena_runs_as_alone() {
    let program = compile("regions.c", &[]);
    for path in [
        None,
        Some("/nonexistent"),
        Some("/dev/null"),
        Some("/etc/passwd"),
    ] {
        let consumer = Consumer::create(&support::every_wait()).unwrap();
        let mut command = command(&program, &consumer);
        match path {
            Some(path) => command.env(omp_ring::ARENA_VARIABLE, path),
            None => command.env_remove(omp_ring::ARENA_VARIABLE),
        };
        let output = command.output().unwrap();
        assert!(output.status.success());
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!(consumer.slots().count(), 0);
    }
}

#[test]
fn threads_beyond_the_slots_run_unrecorded() {
    let options = ArenaOptions {
        slots: 1,
        ..ArenaOptions::default()
    };
    let consumer = Consumer::create(&options).unwrap();
    let child = command(&compile("tasks.c", &[]), &consumer)
        .env("OMP_NUM_THREADS", "3")
        .spawn();
    let recording = record_child(consumer, child.unwrap());
    assert!(recording.status.success());
    assert_eq!(recording.threads.len(), 1);
    assert_eq!(recording.consumer.refused_slots(), 2);
}

#[test]
fn a_context_without_room_leaves_the_code_address() {
    let options = ArenaOptions {
        // No stack fits.
        ring_records: 8,
        ..ArenaOptions::default()
    };
    let consumer = Consumer::create(&options).unwrap();
    let child = command(&compile("regions.c", &[]), &consumer).spawn();
    let recording = record_child(consumer, child.unwrap());
    assert!(recording.status.success(), "{}", recording.stderr);
    let begin = recording.initial().of(Kind::ParallelBegin).next().unwrap();
    assert_eq!(begin.context, None);
    assert_ne!(begin.code, None);
}

#[test]
fn a_forked_child_records_into_a_slot_of_its_own() {
    let recording = record(&compile("fork.c", &[]), &[]);
    assert!(recording.status.success());
    let printed = recording.addresses();
    let regions = |pid: u64| -> usize {
        let threads = recording
            .threads
            .iter()
            .filter(|thread| thread.view.pid as u64 == pid);
        threads
            .map(|thread| thread.of(Kind::ParallelBegin).count())
            .sum()
    };
    assert_eq!(
        (regions(printed["parent"]), regions(printed["child"])),
        (3, 2)
    );
    let ids: BTreeSet<_> = recording
        .all(Kind::ParallelBegin)
        .map(|event| event.instance())
        .collect();
    assert_eq!(ids.len(), 5);
    let child = recording
        .threads
        .iter()
        .find(|t| t.view.pid as u64 == printed["child"])
        .unwrap();
    let site = recording.site(child.of(Kind::ParallelBegin).next().unwrap());
    assert_eq!((site.pid as u64, site.complete), (printed["child"], true));
    let pids: BTreeSet<u64> = recording
        .consumer
        .runtimes()
        .map(|r| r.pid as u64)
        .collect();
    assert_eq!(pids, BTreeSet::from([printed["parent"], printed["child"]]));
}

#[test]
fn what_a_killed_program_sent_is_there() {
    let consumer = Consumer::create(&support::every_wait()).unwrap();
    let mut child = command(&compile("killed.c", &[]), &consumer)
        .spawn()
        .unwrap();
    let start = std::time::Instant::now();
    while consumer.slots().map(|slot| slot.pending).max().unwrap_or(0) < 1000 {
        assert!(
            start.elapsed().as_secs() < 60,
            "the program records nothing"
        );
        std::thread::yield_now();
    }
    child.kill().unwrap();
    let recording = record_child(consumer, child);
    assert!(!recording.status.success());
    assert!(recording.threads.iter().all(|thread| !thread.view.closed));
    let begun = recording.initial().of(Kind::ParallelBegin).count();
    let ended = recording.initial().of(Kind::ParallelEnd).count();
    assert!(
        begun > 100 && (begun == ended || begun == ended + 1),
        "{begun} begun, {ended} ended"
    );
}

#[test]
fn the_root_of_a_runtime_s_helpers_is_no_thread_of_the_program() {
    const INITIAL: u64 = 1;
    const OTHER: u64 = 3;
    let recording = with_fake_runtime("roots.c");
    let kinds = |thread: &support::ThreadLog| -> Vec<u64> {
        let begins = thread.of(Kind::ThreadBegin);
        begins.map(|event| event.payload).collect()
    };
    assert_eq!(kinds(recording.initial()), [INITIAL]);
    let created = recording.threads.iter().filter(|it| !it.is_initial());
    let mut created: Vec<_> = created.map(kinds).collect();
    created.sort();
    // A thread of the program's own, and two roots, of which one is announced.
    assert_eq!(created, [vec![INITIAL], vec![INITIAL, OTHER], vec![OTHER]]);
}

#[test]
fn a_thread_that_silently_leaves_an_untied_task_is_back_in_the_task_before() {
    const COMPLETE: u32 = 1;
    const SWITCH: u32 = 7;
    let recording = with_fake_runtime("untied.c");
    let created = recording.initial().of(Kind::TaskCreate);
    let ids: Vec<InstanceId> = created.map(|event| event.instance()).collect();
    let [untied, next] = ids[..] else {
        panic!("{ids:?}")
    };
    let switches = |thread: &support::ThreadLog| -> Vec<(InstanceId, u32)> {
        let events = thread.of(Kind::TaskSchedule).map(support::Event::task);
        events.map(|to| (to.task, to.status)).collect()
    };
    let none = InstanceId::NONE;
    let first = [
        (untied, SWITCH),
        (none, SWITCH),
        (untied, SWITCH),
        (none, COMPLETE),
    ];
    assert_eq!(switches(recording.initial()), first);
    let mut others = recording.threads.iter().filter(|it| !it.is_initial());
    let other = [
        (untied, SWITCH),
        (none, SWITCH),
        (next, SWITCH),
        (none, COMPLETE),
    ];
    assert_eq!(others.next().map(switches), Some(other.to_vec()));
}

/// The records of a program that is linked to a runtime which calls tools as LLVM's does.
fn with_fake_runtime(source: &str) -> Recording {
    let runtime = compile_gnu("fake_runtime.c", &["-fPIC", "-shared"]);
    let program = compile_gnu(source, &[runtime.to_str().unwrap()]);
    let recording = record_preloaded(&program, &[]);
    assert!(recording.status.success(), "{}", recording.stderr);
    recording
}
