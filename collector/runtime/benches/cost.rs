//! What the library costs a program: nanoseconds per construct without and with it, printed, on
//! LLVM's runtime as a tool and on GCC's by interposition.
//!
//! A lock's round trip and a wait are short here, so they are parts of sums. A task is three records,
//! a prefix and the look-up of its context; a region on the thread that forks it is four records (six
//! on LLVM's), a prefix and the look-up.
#![allow(clippy::unwrap_used)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::path::Path;
use std::process::Command;

use omp_ring::record::Kind;
use support::Recording;

fn parse(output: &str) -> Vec<(String, f64)> {
    let line = |line: &str| {
        let (name, value) = line.split_once(' ')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    output.lines().filter_map(line).collect()
}

type Record = fn(&Path, &[(&str, &str)]) -> Recording;

fn compare(runtime: &str, program: &Path, record: Record) {
    let env = [("OMP_WAIT_POLICY", "active"), ("OMP_DYNAMIC", "false")];
    let bare = Command::new(program).envs(env).output().unwrap();
    let bare = parse(&String::from_utf8_lossy(&bare.stdout));
    let recording = record(program, &env);
    let with = parse(&recording.stdout);
    println!(
        "{runtime:<32}{:>10}{:>10}{:>10}  ns",
        "bare", "recorded", "extra"
    );
    for ((name, bare), (_, with)) in bare.iter().zip(&with) {
        println!("{name:<32}{bare:>10.1}{with:>10.1}{:>10.1}", with - bare);
    }
    let lost: u64 = recording
        .threads
        .iter()
        .map(|thread| thread.view.dropped)
        .sum();
    let regions = recording.all(Kind::ParallelBegin).count();
    println!("{regions} regions recorded, {lost} records lost\n");
}

fn main() {
    let source = "../../benches/cost.c";
    compare("LLVM", &support::compile(source, &[]), support::record);
    let gnu = support::compile_gnu(source, &[]);
    compare("GNU", &gnu, support::record_preloaded);
}
