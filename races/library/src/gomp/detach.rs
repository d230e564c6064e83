//! The tasks whose events are not fulfilled, by the handles of the events.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::events::object;

struct Entry {
    /// 0: free.
    handle: AtomicU64,
    /// The task, and [`ENDED`] if its body has ended.
    task: AtomicU64,
}

const ENDED: u64 = 1 << 63;
const SIZE: usize = 4096;
/// Entries that may hold a handle.
const PROBES: usize = 16;

static TABLE: [Entry; SIZE] = [const {
    Entry {
        handle: AtomicU64::new(0),
        task: AtomicU64::new(0),
    }
}; SIZE];

fn places(handle: usize) -> impl Iterator<Item = &'static Entry> {
    let first = (object([handle as u64]) >> 20) as usize;
    (first..first + PROBES).filter_map(|at| TABLE.get(at % SIZE))
}

fn find(handle: usize) -> Option<&'static Entry> {
    places(handle).find(|entry| entry.handle.load(Acquire) == handle as u64)
}

/// The event of a new task. Where there is no room, its end is that of its body.
pub(super) fn add(handle: usize, task: u64) {
    for entry in places(handle) {
        let claimed = entry
            .handle
            .compare_exchange(0, handle as u64, AcqRel, Relaxed);
        if claimed.is_ok() {
            entry.task.store(task, Release);
            return;
        }
    }
}

/// The body of a task ends. Whether its event is not fulfilled yet.
pub(super) fn body_ends(handle: usize, task: u64) -> bool {
    find(handle).is_some_and(|entry| {
        entry
            .task
            .compare_exchange(task, task | ENDED, AcqRel, Relaxed)
            .is_ok()
    })
}

/// An event is fulfilled. Its task, and whether its body has ended.
pub(super) fn take(handle: usize) -> Option<(u64, bool)> {
    let entry = find(handle)?;
    let task = entry.task.swap(0, AcqRel);
    entry.handle.store(0, Release);
    Some((task & !ENDED, task & ENDED != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_fulfilled_once_before_or_after_its_tasks_body_ends() {
        add(0x1000, 7);
        add(0x1000 + SIZE, 8);
        assert!(body_ends(0x1000, 7));
        assert_eq!(take(0x1000), Some((7, true)));
        assert_eq!(take(0x1000), None);
        assert_eq!(take(0x1000 + SIZE), Some((8, false)));
        assert!(!body_ends(0x1000 + SIZE, 8));
    }
}
