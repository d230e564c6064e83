//! Calling contexts from stacks of every kind.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeSet;

use omp_ring::record::{CodePayload, Kind, TASK_UNDEFERRED};
use support::{Event, compile, record};

#[test]
fn contexts_that_look_alike_are_told_apart() {
    let recording = record(&compile("stacks.c", &[]), &[]);
    assert!(recording.status.success());
    let printed = recording.addresses();
    let begins: Vec<_> = recording.initial().of(Kind::ParallelBegin).collect();
    assert_eq!(begins.len(), 18);
    for round in begins.chunks(6) {
        // leaf, then `variable` but for the realigned one, then the caller that printed.
        for (event, name) in round.iter().zip(["first", "second", "third"]) {
            let site = recording.site(event);
            assert_eq!(site.frames[0], site.code, "{site:x?}");
            assert_eq!(site.frames[3], printed[name], "{name}");
            assert!(site.complete);
        }
        let realigned = recording.site(round[3]);
        assert_eq!(realigned.frames[2], printed["realigned"]);
        assert!(realigned.complete);
        let deep = recording.site(round[4]);
        assert!(deep.complete && deep.frames.len() > 100);
        let deepest = recording.site(round[5]);
        assert!(!deepest.complete && deepest.frames.len() > 1900);
    }
    let (names, stacks) = recording.contexts(begins.into_iter());
    assert!(
        stacks == 6 && names <= 12,
        "{names} names of {stacks} stacks"
    );
}

#[test]
fn odd_constructs_leave_balanced_records() {
    for policy in ["active", "passive"] {
        let recording = record(
            &compile("shapes.c", &[]),
            &[("OMP_WAIT_POLICY", policy), ("OMP_CANCELLATION", "true")],
        );
        assert!(
            recording.status.success(),
            "{:?} {}",
            recording.status,
            recording.stderr
        );
        assert_eq!(recording.stderr, "");
        let created: BTreeSet<_> = recording
            .all(Kind::TaskCreate)
            .map(|event| event.instance())
            .collect();
        for event in recording.all(Kind::TaskSchedule) {
            let task = event.task().task;
            assert!(
                task.0 == 0 || created.contains(&task),
                "{event:?} of no known task"
            );
        }
        for thread in &recording.threads {
            let begins = thread.waits();
            let ends = thread.of(Kind::SyncWaitEnd).count();
            assert!(
                begins == ends || begins == ends + 1,
                "{begins} begins, {ends} ends"
            );
            assert_eq!(
                thread.of(Kind::ParallelBegin).count() + thread.of(Kind::TeamsBegin).count(),
                thread.of(Kind::ParallelEnd).count()
            );
        }
        // ompt_sync_region_t 5: a taskwait with dependences, which the runtime reports as a task.
        let kind = |event: &&Event| CodePayload::unpack(event.payload).kind == 5;
        let taskwaits = recording.all(Kind::SyncWaitBegin).filter(kind).count();
        let ends = recording
            .all(Kind::SyncWaitEnd)
            .filter(|event| event.payload == 5)
            .count();
        assert!(
            taskwaits >= 1 && taskwaits == ends,
            "{taskwaits} waits for tasks, {ends} ends"
        );
        // The region inside `teams` is one without a context: the runtime's own.
        let (with, without): (Vec<_>, Vec<_>) = recording
            .all(Kind::ParallelBegin)
            .partition(|event| event.context.is_some());
        assert!(
            with.len() >= 3,
            "{} with a context, {} without",
            with.len(),
            without.len()
        );
        // Tasks in place nest on one stack, three deep, three times: a context of one depth must
        // not pass for that of another.
        let start = recording.addresses()["in_place"];
        let depths: Vec<usize> = recording
            .all(Kind::TaskCreate)
            .filter(|event| event.origin().info == TASK_UNDEFERRED)
            .map(|event| recording.site(event).frames)
            .map(|frames| {
                frames
                    .iter()
                    .filter(|f| (start..start + 256).contains(*f))
                    .count()
            })
            .collect();
        assert_eq!(depths, [1, 2, 3, 1, 2, 3, 1, 2, 3]);
    }
}
