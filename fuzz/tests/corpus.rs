//! What the targets withstood once, they withstand now; and variants of it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use fastrand::Rng;
use fuzz::TARGETS;

/// Variants of each input.
const VARIANTS: usize = 200;

/// No input takes as long, on a machine that has others to serve too.
const LONGEST: Duration = Duration::from_secs(20);

fn inputs(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// A few bytes changed, taken away, or repeated.
fn variant(input: &[u8], random: &mut Rng) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..random.usize(1..8) {
        if bytes.is_empty() {
            bytes.push(random.u8(..));
        }
        let at = random.usize(..bytes.len());
        match random.u8(..5) {
            0 => bytes[at] = random.u8(..),
            1 => bytes[at] ^= 1 << random.u8(..8),
            2 => bytes[at] = *random.choice([0, 1, 0x7f, 0x80, 0xff].iter()).unwrap(),
            3 => {
                bytes.remove(at);
            }
            _ => bytes.insert(at, random.u8(..)),
        }
    }
    bytes
}

#[test]
fn what_was_too_much_once_is_withstood() {
    for (name, target) in TARGETS {
        let inputs = inputs(name);
        assert!(!inputs.is_empty(), "{name} has no inputs");
        let mut random = Rng::with_seed(inputs.len() as u64);
        for input in inputs {
            let start = Instant::now();
            target(&input);
            for _ in 0..VARIANTS {
                target(&variant(&input, &mut random));
            }
            assert!(start.elapsed() < LONGEST, "{name}: {} bytes", input.len());
        }
    }
}
