//! The table: each program by each compiler on each runtime, on each number of threads, with waits
//! that spin and waits that sleep.
//!
//! A part of it runs always, by the compilers that every machine can have. The whole runs when it
//! is asked for; `PARALLAX_TABLE` then names a part of it, by what the cells' labels contain, and
//! their numbers are printed. A compiler or a runtime that cannot be had fails the test.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use end_to_end::{Cell, Verdict, check, compiler, compiler_of, library_folder};
use fixtures::{CATALOGUE, Compiler, Family, Library, Runtime, WaitPolicy};

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

/// A wrong profile is wrong each time. But where other programs want the CPUs, the kernel may take
/// one for tens of milliseconds just between a program's look at its clock and the construct: then
/// program and profile differ, and neither errs. So a cell that fails is run again.
const RUNS: usize = 3;

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
#[derive(Clone)]
struct Column {
    compiler: &'static Compiler,
    library: Option<&'static Library>,
}

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

/// The newest compilers of families on the runtime that the machine gives their programs.
fn own(families: &[Family]) -> Vec<Column> {
    let column = |&family: &Family| Column {
        compiler: compiler(family),
        library: None,
    };
    families.iter().map(column).collect()
}

/// The columns beside them.
fn others() -> Vec<Column> {
    let mut columns = Vec::new();
    for (family, release, name) in OTHERS {
        let compiler = match release {
            Some(release) => compiler_of(family, release)
                .unwrap_or_else(|| panic!("no {family:?} {release} to build for {name}")),
            None => compiler(family),
        };
        let library = fixtures::library(name).expect("it is in the list");
        let folder = library_folder(library).unwrap_or_else(|why| panic!("no {name}: {why}"));
        if !compiler.loads_from(&folder) {
            let library = Some(library);
            columns.push(Column { compiler, library });
        }
    }
    columns
}

/// Every cell of columns.
fn cells(columns: &[Column]) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for program in CATALOGUE
        .iter()
        .filter(|p| p.measured && p.name != "moments")
    {
        for column in columns.iter().filter(|c| c.compiler.builds(program)) {
            for policy in [WaitPolicy::Passive, WaitPolicy::Active] {
                for threads in [2, 4] {
                    let fixed = program.fixed_threads || !program.openmp;
                    if fixed && threads != program.threads && threads != 2 {
                        continue;
                    }
                    let threads = if fixed { program.threads } else { threads };
                    cells.push(Cell {
                        program,
                        compiler: column.compiler.clone(),
                        library: column.library,
                        threads,
                        policy,
                    });
                }
            }
        }
    }
    cells.dedup_by_key(|cell| cell.label());
    cells
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

#[test]
fn the_profile_says_what_the_program_measured() {
    let mut cells = cells(&own(&[Family::Clang, Family::Gcc, Family::Gfortran]));
    cells.retain(runs_always);
    assert!(cells.len() > ALWAYS.len(), "{} cells", cells.len());
    hold(cells, false);
}

#[test]
#[ignore = "an hour: every program by every compiler on every runtime"]
fn the_profile_says_so_by_every_compiler_on_every_runtime() {
    let part = std::env::var("PARALLAX_TABLE").unwrap_or_default();
    let families = [Family::Clang, Family::Gcc, Family::Flang, Family::Gfortran];
    let columns = [own(&families), others()].concat();
    let mut cells = cells(&columns);
    cells.retain(|cell| cell.label().contains(&part));
    assert!(!cells.is_empty(), "no cell's label contains {part:?}");
    hold(cells, !part.is_empty());
}

/// Holds the profile of each cell against its truth; prints all numbers if asked to. One test at a
/// time: they share CPUs, and the folders of their cells.
fn hold(cells: Vec<Cell>, verbose: bool) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
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
            let mut verdict = check(&cell, &recorded);
            excuse(&cell, &mut verdict);
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

#[test]
fn what_cannot_be_known_is_explained_in_the_documents() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/runtimes.md");
    let text = std::fs::read_to_string(path).expect("the document is there");
    for row in &UNKNOWABLE {
        assert!(text.contains(row.noun), "{path} lacks {:?}", row.noun);
    }
}
