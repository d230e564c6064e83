//! `cargo xtask bench`: what Parallax costs, beside every other profiler that is here.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::command::{cannot_start, run, typed};
use crate::{Outcome, install, packages, root, target};

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
mod terminal;
mod tools;
mod usage;

use results::{Measure, Results};
use tools::{COLLECT, Tool};

/// The word for what can be measured by itself, what that is, and how it is measured.
type Group = (&'static str, &'static str, fn(&mut Bench) -> Outcome);

/// What can be measured by itself.
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

/// What `cargo xtask bench --help` prints after the groups.
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

/// A run of benchmarks.
struct Bench {
    /// How often each measure is taken.
    runs: u32,
    /// What was measured, and on what; both are written to `file` with every value.
    results: Results,
    facts: Vec<(String, String)>,
    file: PathBuf,
    program: Vec<String>,
    /// Of the application's loops, once its pace was found.
    elements: Option<u32>,
    scratch: PathBuf,
    start: Instant,
    /// Tools that failed here, and are not started again.
    failed: Vec<Tool>,
}

/// Measures the groups that the words name, all without any.
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
        results: match options.add {
            true => Results::load(&file)?,
            false => Results::default(),
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
        // What is measured by now is kept, whatever becomes of the rest.
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

impl Bench {
    /// Adds a value to a measure, and writes it to the file at once: a run that is interrupted
    /// loses nothing.
    fn add(&mut self, group: &str, what: &Measure<'_>, tool: &str, value: f64) -> Outcome {
        self.results.add(group, what, tool, value);
        self.results.save(&self.file, &self.facts)
    }

    /// Says what was done, and how long all took so far.
    fn progress(&self, what: &str) {
        println!("  [{:4.0} s] {what}", self.start.elapsed().as_secs_f64());
    }

    /// What a tool's run comes to. A peer that fails is named, with its reason, among the facts,
    /// and is not started again; `None` from then on. Parallax may not fail.
    fn of_tool<T>(
        &mut self,
        tool: Tool,
        run: impl FnOnce(&Path) -> Outcome<T>,
    ) -> Outcome<Option<T>> {
        if self.failed.contains(&tool) {
            return Ok(None);
        }
        let reason = match run(&self.scratch) {
            Err(reason) if tool != COLLECT => reason,
            outcome => return outcome.map(Some),
        };
        println!("  {} fails and is left out: {reason}", tool.name);
        // Where things lie on this machine is nobody's business who reads the page.
        let scratch = self.scratch.display().to_string() + "/";
        let reason = format!("fails: {}", reason.replace(&scratch, ""));
        match self.facts.iter_mut().find(|(name, _)| name == tool.name) {
            Some((_, version)) => *version = format!("{version}; {reason}"),
            None => self.facts.push((tool.name.to_owned(), reason)),
        }
        self.failed.push(tool);
        Ok(None)
    }

    /// A folder for what is recorded; everything in it may be overwritten.
    fn folder(&self) -> &Path {
        &self.scratch
    }

    /// The tools that are here; says which are not.
    fn present(&self, tools: &[Tool]) -> Vec<Tool> {
        let (here, absent): (Vec<Tool>, Vec<Tool>) =
            tools.iter().partition(|tool| tool.path().is_some());
        for tool in absent {
            println!("  {} is not on this machine", tool.name);
        }
        here
    }

    /// An OpenMP program of `xtask/programs`, or another of the repository, built with clang.
    fn compiled(&self, source: &str, flags: &[&str]) -> Outcome<PathBuf> {
        let source = match source.contains('/') {
            true => root().join(source),
            false => root().join("xtask/programs").join(source),
        };
        let compiler = packages::clang("the programs to measure")?;
        let name = source.file_stem().unwrap_or_default();
        let program = self.scratch.join(name);
        let mut command = Command::new(&compiler.path);
        command.args(flags);
        if let Some(folder) = &compiler.omp_header {
            command.arg("-idirafter").arg(folder);
        }
        compile(&mut command, &source, &program)
    }

    /// Builds a program of the repository by gcc, and so for GNU's runtime; a library where the
    /// flags say so.
    fn compiled_by_gcc(&self, source: &str, flags: &[&str]) -> Outcome<PathBuf> {
        let source = root().join(source);
        let stem = source.file_stem().unwrap_or_default().to_string_lossy();
        let program = self.scratch.join(format!("{stem}-gnu"));
        compile(Command::new("gcc").args(flags), &source, &program)
    }

    /// A library that, preloaded, does the least at each of OpenMP's moments.
    fn floor(&self) -> Outcome<PathBuf> {
        self.compiled_by_gcc("collector/runtime/benches/floor.c", &["-shared", "-fPIC"])
    }
}

/// Has an OpenMP program built by such a compiler, unless it is there already.
fn compile(compiler: &mut Command, source: &Path, program: &Path) -> Outcome<PathBuf> {
    if !program.is_file() {
        compiler.args(["-O2", "-g", "-fopenmp"]).arg(source);
        run(compiler.arg("-o").arg(program))?;
    }
    std::path::absolute(program).map_err(|e| e.to_string())
}

impl Drop for Bench {
    fn drop(&mut self) {
        // What is left of recordings is in cargo's folder, which nobody reads.
        let _ = std::fs::remove_dir_all(&self.scratch);
    }
}

/// What a command prints.
fn said(command: &mut Command) -> Outcome<String> {
    let output = command.output().map_err(|e| cannot_start(command, &e))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("`{}`: {}", typed(command), output.status)),
    }
}
