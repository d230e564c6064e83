//! The table: each program by each compiler on each runtime, on each number of threads, with waits
//! that spin and waits that sleep. Each cell is a test of its own.
//!
//! A part of it runs always, by the compilers that every machine can have. The rest is ignored
//! unless it is asked for, as ignored tests of any kind are. `--nocapture` prints the numbers of
//! cells that pass too. A compiler or a runtime that cannot be had fails its tests.

use std::process::ExitCode;
use std::time::Instant;

use end_to_end::{Cell, Verdict, check, compiler_of, newest};
use fixtures::{CATALOGUE, Compiler, Family, Library, Runtime, WaitPolicy};
use libtest_mimic::{Arguments, Failed, Trial};

/// What runs always: each kind of waiting asleep and spinning, and each way of making a thread.
const ALWAYS: [(&str, WaitPolicy, u32); 20] = [
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
    ("doacross", WaitPolicy::Passive, 4),
    ("resize", WaitPolicy::Active, 2),
    ("nested", WaitPolicy::Passive, 4),
    ("blame", WaitPolicy::Active, 2),
    ("recursion", WaitPolicy::Passive, 4),
    ("plain", WaitPolicy::Passive, 2),
    ("churn", WaitPolicy::Passive, 2),
    ("realigned", WaitPolicy::Passive, 4),
    ("under_sh", WaitPolicy::Active, 2),
];

/// What cannot be known of a program on a runtime. docs/runtimes.md tells why, under the same noun.
struct Unknowable {
    runtime: Runtime,
    program: &'static str,
    /// The kinds of time that it concerns, by the first word of a sum's name.
    kinds: &'static [&'static str],
    noun: &'static str,
}

const UNKNOWABLE: [Unknowable; 1] = [Unknowable {
    runtime: Runtime::Libgomp,
    program: "reduction",
    kinds: &["omprduc", "ompatwt", "work"],
    noun: "reduction by atomics",
}];

/// A compiler's programs on a runtime.
struct Column {
    compiler: &'static Compiler,
    library: Option<&'static Library>,
}

/// The families whose newest compilers make columns on the machine's own runtime, and whether every
/// machine can have them.
const OWN: [(Family, bool); 4] = [
    (Family::Clang, true),
    (Family::Gcc, true),
    (Family::Flang, false),
    (Family::Gfortran, true),
];

/// Compilers and runtimes beside the newest of each family on the machine's own: each old clang on
/// the runtime of its release, and what else programs of clang run on.
const OTHERS: [(Family, Option<u32>, &str); 6] = [
    (Family::Clang, Some(14), "libomp-14"),
    (Family::Clang, Some(16), "libomp-16"),
    (Family::Clang, None, "libomp-19"),
    (Family::Clang, None, "libomp-22"),
    (Family::Clang, None, "libiomp5"),
    (Family::Flang, None, "libomp-22"),
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Cells share the CPUs.
    arguments.test_threads = Some(1);
    let verbose = arguments.nocapture;
    let mut tests = vec![
        Trial::test(
            "what_always_runs_is_in_the_table",
            what_always_runs_is_in_the_table,
        ),
        Trial::test(
            "what_cannot_be_known_is_explained_in_the_documents",
            what_cannot_be_known_is_explained_in_the_documents,
        ),
    ];
    for (family, common) in OWN {
        tests.extend(trials(own(family), common, verbose));
    }
    for (family, release, name) in OTHERS {
        if let Some(column) = other(family, release, name).transpose() {
            tests.extend(trials(column, false, verbose));
        }
    }
    libtest_mimic::run(&arguments, tests).exit_code()
}

/// The newest compiler of a family on the runtime that the machine gives its programs.
fn own(family: Family) -> Result<Column, String> {
    Ok(Column {
        compiler: newest(family)?,
        library: None,
    })
}

/// A row of [`OTHERS`]; none where it is the compiler's own runtime.
fn other(family: Family, release: Option<u32>, name: &str) -> Result<Option<Column>, String> {
    let compiler = match release {
        Some(release) => compiler_of(family, release)
            .ok_or_else(|| format!("no {family:?} {release} to build for {name}"))?,
        None => newest(family)?,
    };
    let library = fixtures::library(name).ok_or_else(|| format!("no runtime is called {name}"))?;
    if library
        .installed()
        .is_some_and(|folder| compiler.loads_from(&folder))
    {
        return Ok(None);
    }
    Ok(Some(Column {
        compiler,
        library: Some(library),
    }))
}

/// The cells of a column.
fn cells(column: &Column) -> Vec<Cell> {
    let programs = CATALOGUE.iter().filter(|program| {
        program.measured && program.name != "moments" && column.compiler.builds(program)
    });
    let mut cells = Vec::new();
    for program in programs {
        let fixed = program.fixed_threads || !program.openmp;
        let threads = if fixed {
            vec![program.threads]
        } else {
            vec![2, 4]
        };
        for policy in [WaitPolicy::Passive, WaitPolicy::Active] {
            cells.extend(threads.iter().map(|&threads| Cell {
                program,
                compiler: column.compiler.clone(),
                library: column.library,
                threads,
                policy,
                perf: true,
            }));
        }
    }
    cells
}

/// The part of a column that always runs, where perf events are forbidden: work and waits are known
/// from events, and what the threads did while off a CPU is inferred.
fn without_perf(cells: &[Cell]) -> Vec<Cell> {
    let cells = cells.iter().filter(|cell| runs_always(cell)).cloned();
    cells
        .map(|cell| Cell {
            perf: false,
            ..cell
        })
        .collect()
}

fn runs_always(cell: &Cell) -> bool {
    ALWAYS.iter().any(|&(name, policy, threads)| {
        (cell.program.name, cell.policy) == (name, policy)
            && (cell.threads == threads || cell.program.fixed_threads)
    })
}

/// Takes out of a verdict what cannot be known.
fn excuse(cell: &Cell, verdict: &mut Verdict) {
    let concerns =
        |it: &&Unknowable| (it.runtime, it.program) == (cell.compiler.runtime, cell.program.name);
    for unknowable in UNKNOWABLE.iter().filter(concerns) {
        verdict.excuse(unknowable.kinds, unknowable.noun);
    }
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

/// The tests of a column's cells, or one that fails where the machine lacks the column. `common`:
/// every machine can have it, and a part of its cells is not ignored.
fn trials(column: Result<Column, String>, common: bool, verbose: bool) -> Vec<Trial> {
    let column = match column {
        Ok(column) => column,
        Err(why) => {
            let name = why.clone();
            return vec![Trial::test(name, || Err(why.into())).with_ignored_flag(!common)];
        }
    };
    let trial = |cell: Cell| {
        let ignored = !(common && runs_always(&cell));
        Trial::test(cell.label(), move || hold(&cell, verbose)).with_ignored_flag(ignored)
    };
    let mut all = cells(&column);
    if common {
        all.extend(without_perf(&all));
    }
    all.into_iter().map(trial).collect()
}

/// Holds the profile of a cell against its truth; prints all numbers if asked to.
fn hold(cell: &Cell, verbose: bool) -> Result<(), Failed> {
    let begin = Instant::now();
    let recorded = cell.record()?;
    let mut verdict = check(cell, &recorded);
    excuse(cell, &mut verdict);
    verdict.allow_crowding(recorded.crowded);
    let crowded = recorded.crowded;
    let line = summary(cell, &verdict, begin.elapsed().as_secs_f64());
    if verbose {
        println!("\n{line}; others had its CPUs for {crowded:.3} s\n{verdict}");
    }
    if !verdict.holds() {
        let experiment = recorded.experiment.display();
        let why =
            format!("{line}; others had its CPUs for {crowded:.3} s\n{experiment}\n{verdict}");
        return Err(why.into());
    }
    recorded.discard();
    Ok(())
}

/// Every row of the part that always runs names a program of the table.
fn what_always_runs_is_in_the_table() -> Result<(), Failed> {
    for (name, ..) in ALWAYS {
        let program = fixtures::program(name).ok_or(format!("no program is called {name}"))?;
        if !program.measured {
            return Err(format!("{name} measures nothing").into());
        }
    }
    Ok(())
}

fn what_cannot_be_known_is_explained_in_the_documents() -> Result<(), Failed> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/runtimes.md");
    let text = std::fs::read_to_string(path)?;
    for row in &UNKNOWABLE {
        if !text.contains(row.noun) {
            return Err(format!("{path} lacks {:?}", row.noun).into());
        }
    }
    Ok(())
}
