//! What the library costs a program: nanoseconds per construct without and with it, printed.
//!
//! A lock's round trip is three records; a region on the thread that forks it is six and a
//! prefix, and the look-up of its context.
#![allow(clippy::unwrap_used)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::process::Command;

use omp_ring::record::Kind;

fn parse(output: &str) -> Vec<(String, f64)> {
    let line = |line: &str| {
        let (name, value) = line.split_once(' ')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    output.lines().filter_map(line).collect()
}

fn main() {
    let program = support::compile("../../benches/cost.c", &[]);
    let env = [("OMP_WAIT_POLICY", "active"), ("OMP_DYNAMIC", "false")];
    let bare = Command::new(&program).envs(env).output().unwrap();
    let bare = parse(&String::from_utf8_lossy(&bare.stdout));
    let recording = support::record(&program, &env);
    let with = parse(&recording.stdout);
    println!(
        "{:<32}{:>10}{:>10}{:>10}  ns",
        "", "bare", "recorded", "extra"
    );
    for ((name, bare), (_, with)) in bare.iter().zip(&with) {
        println!("{name:<32}{bare:>10.1}{with:>10.1}{:>10.1}", with - bare);
    }
    let lock = with[0].1 - bare[0].1;
    println!("one record: {:.1} ns", lock / 3.0);
    let lost: u64 = recording
        .threads
        .iter()
        .map(|thread| thread.view.dropped)
        .sum();
    let regions = recording.all(Kind::ParallelBegin).count();
    println!("{regions} regions recorded, {lost} records lost");
}
