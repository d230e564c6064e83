//! What a program that is checked says.

use omp_ring::context::Context;
use race_checker::code::Code;
use race_checker::replay::Replay;
use race_checker::streams::Streams;
use race_checker::synchronisation::Synchronisation;

/// Memory that the accesses of one interval may take, and records that wait.
const MOST_BYTES: usize = 1 << 20;

/// Pieces of the threads' streams in the order in which they are read: the slot in a byte, the number of words in
/// the next, and the words.
pub(crate) fn checks(mut input: &[u8]) {
    let mut streams = Streams::default();
    let mut replay = Replay::default();
    replay.watch(Synchronisation::new(false));
    replay.limit(MOST_BYTES);
    streams.limit(MOST_BYTES);
    while let Some(([slot, count], rest)) = input.split_first_chunk() {
        let bytes = (8 * usize::from(*count)).min(rest.len());
        let (piece, rest) = rest.split_at(bytes);
        let words = piece.as_chunks().0.iter().copied().map(u64::from_le_bytes);
        streams.add(usize::from(*slot), &words.collect::<Vec<_>>());
        streams.drain(&mut |slot, record| replay.record(slot, record, &mut Unknown));
        input = rest;
    }
    while streams.waiting() > 0 {
        streams.skip();
        streams.drain(&mut |slot, record| replay.record(slot, record, &mut Unknown));
    }
    replay.finish();
    if let Some(state) = replay.synchronisation() {
        state.finish();
    }
}

/// A program about whose code the answers are made up.
struct Unknown;

impl Code for Unknown {
    fn loop_around(&mut self, code: u64) -> Option<u64> {
        (code & 1 == 0).then_some(code & !0xf)
    }

    fn is_of_directive(&mut self, code: u64) -> bool {
        code & 7 == 3
    }

    fn calls(&mut self, stack: &Context) -> Vec<u64> {
        stack.words.iter().map(|(_, word)| *word).collect()
    }
}
