//! The runtime of a call: private copies, several at once, one with OMPT.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use fixtures::Private;
use omp_ring::consumer::{ArenaOptions, Consumer};
use omp_ring::layout::RuntimeKind;
use omp_ring::record::{CodePayload, Kind};
use support::{compile_gnu, preloaded, record_child, record_preloaded};

fn folder(name: &str) -> PathBuf {
    let path =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn private_copies_are_each_their_own_runtime() {
    let folder = folder("private");
    let Private { host, extensions } = fixtures::private(&folder);
    let alone = Command::new(&host).args(&extensions).status();
    assert!(alone.unwrap().success());
    let consumer = Consumer::create(&support::every_wait()).unwrap();
    let child = preloaded(&host, &consumer)
        .args(&extensions)
        .spawn()
        .unwrap();
    let recording = record_child(consumer, child);
    assert!(recording.status.success(), "{}", recording.stderr);
    assert_eq!(recording.stderr, "");
    let addresses: BTreeSet<u64> = recording.consumer.runtimes().map(|it| it.address).collect();
    assert_eq!(addresses.len(), 2);
    assert!(
        recording
            .consumer
            .runtimes()
            .all(|it| it.kind == RuntimeKind::Gomp)
    );
    // Twenty times: a region of the first, in each of its two threads one of the second; and one
    // of the second by itself.
    assert_eq!(recording.all(Kind::ParallelBegin).count(), 80);
    assert_eq!(recording.all(Kind::ParallelEnd).count(), 80);
    let ids: BTreeSet<_> = recording
        .all(Kind::ParallelBegin)
        .map(|event| event.instance())
        .collect();
    assert_eq!(ids.len(), 80);
    let mut parts = BTreeMap::<_, BTreeSet<u16>>::new();
    for event in recording.all(Kind::ImplicitBegin) {
        let part = event.region();
        assert_eq!(part.size, 2);
        assert!(parts.entry(part.region).or_default().insert(part.index));
    }
    assert_eq!(parts.len(), 80);
    assert!(parts.values().all(|indices| indices.len() == 2));
    // Two barriers for each thread of each team, and two in `single`.
    assert_eq!(recording.all(Kind::SyncWaitBegin).count(), 80 * 2 * 2);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn llvm_s_runtime_in_place_of_libgomp_is_recorded_by_ompt() {
    let Some(libomp) = (14..=24)
        .rev()
        .map(|version| format!("/usr/lib/llvm-{version}/lib/libomp.so.5"))
        .map(PathBuf::from)
        .find(|path| path.is_file())
    else {
        return;
    };
    let folder = folder("llvm");
    std::os::unix::fs::symlink(libomp, folder.join("libgomp.so.1")).unwrap();
    let program = compile_gnu("gomp/constructs.c", &[]);
    let path = folder.to_str().unwrap();
    let recording = record_preloaded(&program, &[("LD_LIBRARY_PATH", path)]);
    assert!(recording.status.success(), "{}", recording.stderr);
    let kinds: Vec<_> = recording.consumer.runtimes().map(|it| it.kind).collect();
    assert_eq!(kinds, [RuntimeKind::Ompt]);
    assert_eq!(recording.all(Kind::ParallelBegin).count(), 8);
    let criticals = recording
        .all(Kind::MutexAcquire)
        .filter(|event| CodePayload::unpack(event.payload).kind == 5);
    // The interposer does not record them again.
    assert_eq!(criticals.count(), 12);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_program_that_calls_nothing_of_openmp_leaves_no_trace() {
    let consumer = Consumer::create(&support::every_wait()).unwrap();
    let child = preloaded(Path::new("/bin/true"), &consumer).spawn();
    let recording = record_child(consumer, child.unwrap());
    assert!(recording.status.success());
    assert_eq!(recording.stderr, "");
    assert_eq!(recording.consumer.runtimes().count(), 0);
    assert_eq!(recording.threads.len(), 0);
}

#[test]
fn without_an_arena_programs_run_as_alone() {
    for source in ["gomp/constructs.c", "gomp/tasks.cpp", "gomp/doacross.c"] {
        let program = compile_gnu(source, &[]);
        let consumer = Consumer::create(&support::every_wait()).unwrap();
        let mut command = preloaded(&program, &consumer);
        command.env_remove(omp_ring::ARENA_VARIABLE);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{source}");
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
    let child = preloaded(&compile_gnu("gomp/constructs.c", &[]), &consumer).spawn();
    let recording = record_child(consumer, child.unwrap());
    assert!(recording.status.success(), "{}", recording.stdout);
    assert_eq!(recording.threads.len(), 1);
    assert_eq!(recording.all(Kind::ImplicitBegin).count(), 8);
}
