//! `cargo xtask bench`: the cost of Parallax, compared with the other profilers of this machine.

use std::time::Instant;

use crate::{Outcome, install, target};

mod application;
mod cache;
mod cpu;
mod end;
mod events;
mod growth;
mod readers;
mod recorder;
mod report;
mod results;
mod run;
mod terminal;
mod tools;
mod usage;

use results::Results;
use run::Bench;

/// A group of measures: its name on the command line, its description, and its function.
type Group = (&'static str, &'static str, fn(&mut Bench) -> Outcome);

/// The groups of measures.
const GROUPS: [Group; 9] = [
    (
        "cpu",
        "CPU time of an application whose threads spin",
        cpu::spinning,
    ),
    (
        "sleep",
        "CPU time of an application whose threads sleep",
        cpu::sleeping,
    ),
    (
        "events",
        "what OpenMP's constructs cost more in the program",
        events::constructs,
    ),
    (
        "unwind",
        "unwinding a frame of recorded stacks",
        recorder::unwinding,
    ),
    (
        "samples",
        "what a sample costs: collect's CPU time, bytes; one run takes a minute",
        recorder::samples,
    ),
    (
        "growth",
        "collect's cost by the rate of events and the depth of stacks",
        growth::collect,
    ),
    (
        "threads",
        "2 to 256 threads on this machine's CPUs: overhead, memory",
        recorder::threads,
    ),
    (
        "end",
        "the end of collect for large programs with debug information",
        end::symbols,
    ),
    (
        "readers",
        "from a run of a second to 100 million samples: er_print and analyzer",
        readers::sizes,
    ),
];

/// The options, as `cargo xtask bench --help` prints them after the groups.
const OPTIONS: &str = "\
  --runs N            runs of each measure (7)
  --built             measure the programs that stand in target/release, without building
  --add               keep the runs of target/bench.json and add to them
  --renew             renew docs/benchmarks.md by what was measured; without groups it always is
  --program WORDS...  last: the application to measure instead of the repository's own";

/// The options of the command line.
struct Options {
    groups: Vec<String>,
    runs: u32,
    built: bool,
    add: bool,
    renew: bool,
    program: Vec<String>,
}

/// Measures the named groups, or all if none is named.
pub(crate) fn bench(words: &[&str]) -> Outcome {
    if words.contains(&"--help") {
        println!("usage: cargo xtask bench [GROUP...] [OPTION...]\n");
        for (name, about, _) in GROUPS {
            println!("  {name:<19} {about}");
        }
        println!("{OPTIONS}");
        return Ok(());
    }
    let options = parse(words)?;
    if !options.built {
        install::build_release()?;
        readers::build_generator()?;
    }
    let file = target().join("bench.json");
    let scratch = target().join(format!("bench-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
    let mut bench = Bench {
        runs: options.runs,
        results: if options.add {
            Results::load(&file)?
        } else {
            Results::default()
        },
        facts: report::facts(),
        file,
        program: options.program,
        elements: None,
        scratch,
        start: Instant::now(),
        failed: Vec::new(),
    };
    let renews = options.renew || options.groups.is_empty();
    let chosen = |name: &str| options.groups.is_empty() || options.groups.iter().any(|g| g == name);
    let mut outcome = Ok(());
    for (name, about, measure) in GROUPS.iter().filter(|(name, ..)| chosen(name)) {
        println!("\n{name}: {about}");
        let start = Instant::now();
        let measured = measure(&mut bench);
        println!("{}", report::table(&bench.results, name));
        println!("  {name} took {:.0} s", start.elapsed().as_secs_f64());
        if let Err(sentence) = &measured {
            println!("  {name} was not measured to its end: {sentence}");
        }
        // Keep the results so far, even if a later group fails.
        if renews {
            report::renew(&bench.results, &bench.facts)?;
        }
        outcome = outcome.and(measured);
    }
    println!("{}", bench.file.display());
    outcome
}

fn parse(words: &[&str]) -> Outcome<Options> {
    let mut options = Options {
        groups: Vec::new(),
        runs: 7,
        built: false,
        add: false,
        renew: false,
        program: Vec::new(),
    };
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        match word {
            "--built" => options.built = true,
            "--add" => options.add = true,
            "--renew" => options.renew = true,
            "--runs" => {
                let number = words.next().and_then(|word| word.parse().ok());
                options.runs = number
                    .filter(|&runs| runs > 0)
                    .ok_or("--runs needs a number")?;
            }
            "--program" => options.program = words.by_ref().map(|&w| w.to_owned()).collect(),
            group if GROUPS.iter().any(|(name, ..)| *name == group) => {
                options.groups.push(group.to_owned());
            }
            other => {
                let known: Vec<&str> = GROUPS.iter().map(|(name, ..)| *name).collect();
                return Err(format!(
                    "bench does not know {other}; its groups are {}",
                    known.join(", ")
                ));
            }
        }
    }
    Ok(options)
}
