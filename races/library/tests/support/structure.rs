//! Whether a program's events make sense together, as libgomp executes it.

use std::collections::{BTreeMap, BTreeSet};

use race_stream::record::Event;

/// `ompt_task_status_t`.
const COMPLETE: u8 = 1;
const DETACH: u8 = 4;
const EARLY_FULFILL: u8 = 5;
const LATE_FULFILL: u8 = 6;
const SWITCH: u8 = 7;
/// `ompt_sync_region_barrier_implicit_parallel`.
const JOIN: u8 = 9;
/// `ompt_parallel_league`.
const LEAGUE: u32 = 0x4000_0000;

/// The kind, iterations and chunks of a worksharing construct.
type Work = (u8, u64, Vec<(u64, u64)>);

#[derive(Default)]
struct Region {
    forked_by: usize,
    is_league: bool,
    size: u32,
    begun: BTreeSet<u32>,
    /// Threads that have come to each barrier.
    arrived: BTreeMap<usize, u32>,
    joining: u32,
    is_joined: bool,
    /// The worksharing constructs, in the order in which threads meet them.
    works: BTreeMap<usize, Work>,
}

/// A task that a thread is in.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Task {
    Implicit { region: u64, index: u32 },
    Explicit(u64),
}

#[derive(Default)]
struct Thread {
    tasks: Vec<Task>,
    /// By depth of the implicit task: barriers and worksharing constructs met.
    met: Vec<(usize, usize)>,
    created: u64,
    at_barrier: Vec<u8>,
}

/// Checks the events in the order of their numbers. `is_cancelled`: a construct was cancelled, so
/// that barriers and loops may be left early.
pub(crate) fn check(events: &[(usize, Event)], is_cancelled: bool) {
    let mut regions: BTreeMap<u64, Region> = BTreeMap::new();
    let mut threads: BTreeMap<usize, Thread> = BTreeMap::new();
    let mut parents: BTreeMap<u64, Option<Task>> = BTreeMap::new();
    let mut unfinished: BTreeSet<u64> = BTreeSet::new();
    let mut started: BTreeSet<u64> = BTreeSet::new();
    let mut holders: BTreeMap<u64, usize> = BTreeMap::new();
    let mut signalled: BTreeSet<u64> = BTreeSet::new();
    for (at, (number, event)) in events.iter().enumerate() {
        let thread = threads.entry(*number).or_default();
        let top = thread.tasks.last().copied();
        let current = match top {
            Some(Task::Explicit(task)) => task,
            _ => 0,
        };
        let here = || format!("event {at} of thread {number}: {event:x?}, in {top:x?}");
        match *event {
            Event::Fork { region, flags, .. } => {
                let new = Region {
                    forked_by: *number,
                    is_league: flags & LEAGUE != 0,
                    ..Region::default()
                };
                assert!(regions.insert(region, new).is_none(), "{}", here());
            }
            Event::Implicit {
                region,
                index,
                size,
                ..
            } => {
                let it = regions
                    .get_mut(&region)
                    .unwrap_or_else(|| panic!("{}", here()));
                assert!(!it.is_joined && index < size, "{}", here());
                assert!(it.begun.insert(index), "{}", here());
                it.size = size;
                assert!(index != 0 || it.forked_by == *number, "{}", here());
                thread.tasks.push(Task::Implicit { region, index });
                thread.met.push((0, 0));
            }
            Event::ImplicitEnd { region } => {
                let is_own =
                    matches!(top, Some(Task::Implicit { region: own, .. }) if own == region);
                assert!(is_own, "{}", here());
                thread.tasks.pop();
                thread.met.pop();
            }
            Event::Join { region } => {
                let it = regions
                    .get_mut(&region)
                    .unwrap_or_else(|| panic!("{}", here()));
                assert!(it.forked_by == *number && !it.is_joined, "{}", here());
                assert_eq!(it.begun.len(), it.size as usize, "{}", here());
                assert!(it.is_league || it.joining == it.size, "{}", here());
                it.is_joined = true;
                for (kind, total, chunks) in it.works.values_mut() {
                    check_chunks(*kind, *total, chunks, is_cancelled, &here);
                }
            }
            Event::Arrive { kind, .. } => {
                thread.at_barrier.push(kind);
                if let (Some(Task::Implicit { region, .. }), Some((barriers, _))) =
                    (top, thread.met.last_mut())
                {
                    let it = regions.get_mut(&region).expect("it has begun");
                    *barriers += 1;
                    *it.arrived.entry(*barriers).or_default() += 1;
                    it.joining += u32::from(kind == JOIN);
                }
            }
            Event::Leave { kind } => {
                assert_eq!(thread.at_barrier.pop(), Some(kind), "{}", here());
                if let (Some(Task::Implicit { region, .. }), Some((barriers, _))) =
                    (top, thread.met.last())
                {
                    let it = &regions[&region];
                    let has_come = it.arrived.get(barriers).copied().unwrap_or(0);
                    assert!(
                        is_cancelled || has_come == it.size,
                        "{}: {has_come}",
                        here()
                    );
                }
            }
            Event::Work { kind, count, .. } if kind != 7 => {
                if let (Some(Task::Implicit { region, .. }), Some((_, works))) =
                    (top, thread.met.last_mut())
                {
                    *works += 1;
                    let it = regions.get_mut(&region).expect("it has begun");
                    let kind = if kind == 4 { 3 } else { kind };
                    let work = it.works.entry(*works).or_insert((kind, count, Vec::new()));
                    assert_eq!((work.0, work.1), (kind, count), "{}", here());
                }
            }
            Event::Chunk { first, count } => {
                if let (Some(Task::Implicit { region, .. }), Some((_, works))) =
                    (top, thread.met.last())
                {
                    let work = regions
                        .get_mut(&region)
                        .and_then(|it| it.works.get_mut(works));
                    let (_, _, chunks) = work.unwrap_or_else(|| panic!("{}", here()));
                    chunks.push((first, count));
                }
            }
            Event::Create { task, flags, .. } => {
                assert!(
                    task != 0 && parents.insert(task, top).is_none(),
                    "{}",
                    here()
                );
                thread.created = task;
                if flags & 4 != 0 {
                    unfinished.insert(task);
                }
            }
            Event::Depend { task, .. } => assert_eq!(task, thread.created, "{}", here()),
            Event::Switch {
                from, to, status, ..
            } => match status {
                SWITCH => {
                    assert!(from == current && parents.contains_key(&to), "{}", here());
                    assert!(started.insert(to), "{}", here());
                    thread.tasks.push(Task::Explicit(to));
                }
                COMPLETE | DETACH => {
                    assert_eq!(from, current, "{}", here());
                    thread.tasks.pop();
                    let back = match thread.tasks.last() {
                        Some(Task::Explicit(task)) => *task,
                        _ => 0,
                    };
                    assert_eq!(back, to, "{}", here());
                    if status == COMPLETE {
                        unfinished.remove(&from);
                    }
                }
                LATE_FULFILL => {
                    assert!(unfinished.remove(&from), "{}", here());
                }
                EARLY_FULFILL => assert!(unfinished.contains(&from), "{}", here()),
                _ => {}
            },
            Event::Taskwait { .. } => {
                let left = unfinished.iter().find(|task| parents[*task] == top);
                assert!(is_cancelled || left.is_none(), "{}: {left:x?}", here());
            }
            Event::Acquired { lock, kind, .. } if kind < 64 => {
                let before = holders.insert(lock, *number);
                assert_eq!(before, None, "{}", here());
            }
            Event::Released { lock, kind, .. } if kind < 64 => {
                assert_eq!(holders.remove(&lock), Some(*number), "{}", here());
            }
            Event::Signal { object } => {
                signalled.insert(object);
            }
            // No address: an iteration of a doacross loop, or the data of a copyprivate clause.
            Event::Await { object } if object >> 63 != 0 => {
                assert!(signalled.contains(&object), "{}", here());
            }
            _ => {}
        }
    }
    for (region, it) in &regions {
        assert!(it.is_joined, "region {region:x} has no end");
    }
    assert!(is_cancelled || unfinished.is_empty(), "{unfinished:x?}");
    assert!(holders.is_empty(), "{holders:x?}");
}

/// The chunks of a loop are all its iterations, each once.
fn check_chunks(
    kind: u8,
    total: u64,
    chunks: &mut [(u64, u64)],
    is_cancelled: bool,
    here: &dyn Fn() -> String,
) {
    let is_loop = (10..=13).contains(&kind);
    // The compiler itself makes the chunks of some loops.
    if is_cancelled || !is_loop && kind != 2 || chunks.is_empty() {
        return;
    }
    chunks.sort_unstable();
    let mut next = if is_loop { 0 } else { 1 };
    for (first, count) in chunks.iter() {
        assert_eq!(*first, next, "{}: {chunks:?}", here());
        next += count;
    }
    let end = if is_loop { total } else { total + 1 };
    assert_eq!(next, end, "{}: {chunks:?} of {total}", here());
}
