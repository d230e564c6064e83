//! What an arena takes of the address space: a test alone in its process.

use std::ffi::CString;

use omp_ring::Arena;
use omp_ring::consumer::{ArenaOptions, Consumer};
use omp_ring::producer::Producer;
use omp_ring::record::Kind;

/// Bytes that are mapped.
fn mapped() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").expect("the kernel has it");
    let pages = status.split(' ').next().and_then(|word| word.parse().ok());
    4096 * pages.unwrap_or(0_u64)
}

#[test]
fn an_arena_grows_with_the_threads() {
    let before = mapped();
    let mut consumer = Consumer::create(&ArenaOptions::default()).expect("a memory file");
    let path = CString::new(consumer.path()).expect("no zero byte");
    let arena = Arena::attach(&path).expect("just made");
    let empty = mapped() - before;
    let mut producers: Vec<_> = (0..8)
        .map(|tid| Producer::claim(&arena, 1, tid).expect("a free slot"))
        .collect();
    for (index, producer) in (0..).zip(&mut producers) {
        producer.push(Kind::ThreadBegin, 1);
        assert_eq!(consumer.drain(index, usize::MAX, |_| ()), Ok(1));
    }
    // Both ends are in this process.
    let whole = mapped() - before;
    assert!(empty < 8 << 20, "{empty} bytes without a thread");
    assert!(
        whole - empty <= 66 << 20,
        "{} bytes for eight",
        whole - empty
    );
    drop(producers);
    assert!(
        mapped() - before <= whole - (32 << 20),
        "a ring goes with its thread"
    );
}
