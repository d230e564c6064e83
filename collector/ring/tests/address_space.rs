//! What an arena takes of memory: a test alone in its process.

use std::ffi::CString;

use omp_ring::Arena;
use omp_ring::consumer::{ArenaOptions, Consumer};
use omp_ring::producer::Producer;
use omp_ring::record::Kind;

/// Bytes of the process in memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").expect("the kernel has it");
    let pages = status.split(' ').nth(1).and_then(|word| word.parse().ok());
    4096 * pages.unwrap_or(0_u64)
}

#[test]
fn an_arena_takes_addresses_and_little_memory() {
    let before = resident();
    let mut consumer = Consumer::create(&ArenaOptions::default()).expect("a memory file");
    let path = CString::new(consumer.path()).expect("no zero byte");
    let arena = Arena::attach(&path).expect("just made");
    let mut producers: Vec<_> = (0..8)
        .map(|tid| Producer::claim(&arena, 1, tid).expect("a free slot"))
        .collect();
    for (index, producer) in (0..).zip(&mut producers) {
        producer.push(Kind::ThreadBegin, 1);
        assert_eq!(consumer.drain(index, usize::MAX, |_| ()), Ok(1));
    }
    // All rings can be opened at once, and still only what is used is in memory.
    arena.open_all();
    let late = Producer::claim(&arena, 1, 8).expect("a free slot");
    let taken = resident().saturating_sub(before);
    assert!(taken < 8 << 20, "{taken} bytes for nine threads");
    drop((producers, late));
}
