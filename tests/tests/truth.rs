//! The table: each program, on each number of threads, with waits that spin and waits that sleep.
//!
//! A part of it runs always. `PARALLAX_TABLE=all` runs the whole; any other value runs the cells
//! whose label contains it, and prints their numbers.

use std::time::Instant;

use end_to_end::{Cell, Verdict, check, compiler};
use fixtures::{CATALOGUE, Family, WaitPolicy};

/// What runs always: each kind of waiting asleep and spinning, and each way of making a thread.
const ALWAYS: [(&str, WaitPolicy, u32); 18] = [
    ("imbalance", WaitPolicy::Passive, 4),
    ("imbalance", WaitPolicy::Active, 2),
    ("barrier", WaitPolicy::Active, 2),
    ("barrier", WaitPolicy::Passive, 4),
    ("critical", WaitPolicy::Passive, 4),
    ("lock", WaitPolicy::Active, 2),
    ("nest_lock", WaitPolicy::Passive, 2),
    ("ordered", WaitPolicy::Passive, 4),
    ("tasks", WaitPolicy::Passive, 4),
    ("single", WaitPolicy::Active, 2),
    ("reduction", WaitPolicy::Passive, 4),
    ("nested", WaitPolicy::Passive, 4),
    ("blame", WaitPolicy::Active, 2),
    ("recursion", WaitPolicy::Passive, 4),
    ("plain", WaitPolicy::Passive, 2),
    ("churn", WaitPolicy::Passive, 2),
    ("realigned", WaitPolicy::Passive, 4),
    ("under_sh", WaitPolicy::Active, 2),
];

/// A wrong profile is wrong each time. But where other programs want the CPUs, the kernel may take
/// one for tens of milliseconds just between a program's look at its clock and the construct: then
/// program and profile differ, and neither errs. So a cell that fails is run again.
const RUNS: usize = 3;

/// What deviates on libgomp, and so does not run always; docs/runtimes.md says by how much.
/// Reductions cannot be right, since GCC makes them of atomics.
const DEVIATES_ON_GNU: [&str; 1] = ["reduction"];

fn deviates(cell: &Cell) -> bool {
    let gnu = matches!(cell.compiler.family, Family::Gcc | Family::Gfortran);
    gnu && DEVIATES_ON_GNU.contains(&cell.program.name)
}

fn cells() -> Vec<Cell> {
    let asked = std::env::var("PARALLAX_TABLE").unwrap_or_default();
    let mut cells: Vec<Cell> = Vec::new();
    for program in CATALOGUE
        .iter()
        .filter(|p| p.measured && p.name != "moments")
    {
        let families = [Family::Clang, Family::Gcc, Family::Flang, Family::Gfortran];
        let found = families.into_iter().filter_map(compiler);
        for compiler in found.filter(|c| c.builds(program)) {
            for policy in [WaitPolicy::Passive, WaitPolicy::Active] {
                for threads in [2, 4] {
                    let fixed = program.fixed_threads || !program.openmp;
                    if fixed && threads != program.threads && threads != 2 {
                        continue;
                    }
                    let threads = if fixed { program.threads } else { threads };
                    cells.push(Cell {
                        program,
                        compiler: compiler.clone(),
                        threads,
                        policy,
                    });
                }
            }
        }
    }
    cells.dedup_by_key(|cell| cell.label());
    cells.retain(|cell| match asked.as_str() {
        "" => {
            !deviates(cell)
                && ALWAYS.iter().any(|&(name, policy, threads)| {
                    (cell.program.name, cell.policy) == (name, policy)
                        && (cell.threads == threads || cell.program.fixed_threads)
                })
        }
        "all" => true,
        part => cell.label().contains(part),
    });
    cells
}

fn summary(cell: &Cell, verdict: &Verdict, seconds: f64) -> String {
    let worst = verdict
        .deviations
        .iter()
        .max_by(|a, b| (a.off() / a.allowed).total_cmp(&(b.off() / b.allowed)));
    let worst = worst.map_or(String::new(), |d| {
        format!(
            "{:.4} s off of {:.4} s: {}",
            d.off(),
            d.truth.seconds,
            d.what
        )
    });
    let mark = if verdict.holds() { "ok   " } else { "WRONG" };
    let wrong = verdict.deviations.iter().filter(|d| d.fails()).count();
    let (label, faults) = (cell.label(), verdict.faults.len());
    format!("{mark} {label:<36} {seconds:>5.1} s, {wrong} sums and {faults} faults; {worst}")
}

#[test]
fn the_profile_says_what_the_program_measured() {
    let verbose = std::env::var_os("PARALLAX_TABLE").is_some_and(|asked| asked != "all");
    let cells = cells();
    assert!(
        !cells.is_empty(),
        "no cell: is there a clang with OpenMP, and the program?"
    );
    let mut lines = Vec::new();
    let mut wrong = String::new();
    for cell in cells {
        let mut last = None;
        for _ in 0..RUNS {
            let begin = Instant::now();
            let recorded = match cell.record() {
                Ok(recorded) => recorded,
                Err(sentence) => {
                    println!("{sentence}");
                    last = Some(sentence);
                    continue;
                }
            };
            let verdict = check(&cell, &recorded);
            let line = summary(&cell, &verdict, begin.elapsed().as_secs_f64());
            println!("{line}");
            if verbose || !verdict.holds() {
                println!("{verdict}");
            }
            lines.push(line);
            if verdict.holds() {
                recorded.discard();
                last = None;
                break;
            }
            let (label, experiment) = (cell.label(), recorded.experiment.display());
            last = Some(format!("{label}: {experiment}\n{verdict}"));
        }
        if let Some(sentence) = last {
            wrong.push_str(&sentence);
            wrong.push('\n');
        }
    }
    assert!(wrong.is_empty(), "\n{}\n\n{wrong}", lines.join("\n"));
}
