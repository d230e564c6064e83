//! What the kernel and the program put into shared memory.

use std::io::Write;

use omp_ring::consumer::{ArenaOptions, Consumer};
use omp_ring::samples::SampleReader;
use recording::perf::parse;

/// Records of perf events, each with its length in the two bytes before it.
pub(crate) fn perf(mut input: &[u8]) {
    while let Some((length, rest)) = input.split_first_chunk() {
        let length = usize::from(u16::from_le_bytes(*length));
        let (record, rest) = rest.split_at(length.min(rest.len()));
        let _ = parse::sample_time(record);
        let sampled = parse::from_samples(record);
        if let parse::FromSamples::Sample(sample) = &sampled {
            let _ = sample.kernel_chain().count();
        }
        let _ = parse::from_side_band(record);
        input = rest;
    }
}

/// A program's arena, and its file of samples, over which the input is written from the beginning on.
pub(crate) fn ring(input: &[u8]) {
    arena(input);
    samples(input);
}

fn samples(input: &[u8]) {
    let mut reader = SampleReader::create(1_000_000, Some(3 << 20)).expect("memory");
    overwrite(&reader.path(), input);
    for thread in reader.threads().collect::<Vec<_>>() {
        reader.drain(thread.index, |_| {});
        reader.recycle(thread.index);
    }
    reader.take_lost();
}

fn arena(input: &[u8]) {
    let options = ArenaOptions {
        slots: 4,
        ring_records: 64,
        ..ArenaOptions::default()
    };
    let mut consumer = Consumer::create(&options).expect("memory");
    overwrite(&consumer.path(), input);
    for slot in consumer.slots().collect::<Vec<_>>() {
        let _ = consumer.drain(slot.index, usize::MAX, |_| {});
        consumer.held(slot.index);
        consumer.loops(slot.index).0.for_each(drop);
        consumer.locks(slot.index).0.for_each(drop);
        consumer.recycle(slot.index);
    }
    consumer.calls(drop);
    consumer.calls_lost();
    consumer.runtimes().for_each(drop);
}

/// Writes the input over a memory file, as far as that reaches.
fn overwrite(path: &str, input: &[u8]) {
    let mut file = std::fs::File::options()
        .write(true)
        .open(path)
        .expect("its own file");
    let length = file.metadata().expect("an open file").len() as usize;
    file.write_all(&input[..input.len().min(length)])
        .expect("its own file");
}
