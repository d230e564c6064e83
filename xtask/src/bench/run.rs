//! A run of benchmarks: the results so far, and what all groups need to measure.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::results::{Measure, Results};
use super::tools::{COLLECT, Tool};
use crate::command::run;
use crate::{Outcome, packages, root};

/// A run of benchmarks.
pub(super) struct Bench {
    /// Runs of each measure.
    pub(super) runs: u32,
    /// The results and the facts about the machine; every new value writes both to `file`.
    pub(super) results: Results,
    pub(super) facts: Vec<(String, String)>,
    pub(super) file: PathBuf,
    pub(super) program: Vec<String>,
    /// The size of the application's loops, once it has been determined.
    pub(super) elements: Option<u32>,
    pub(super) scratch: PathBuf,
    pub(super) start: Instant,
    /// Tools that failed and are not started again.
    pub(super) failed: Vec<Tool>,
}

impl Bench {
    /// Adds a value to a measure and writes it to the file at once, so that an interrupted run
    /// loses nothing.
    pub(super) fn add(
        &mut self,
        group: &str,
        what: &Measure<'_>,
        tool: &str,
        value: f64,
    ) -> Outcome {
        self.results.add(group, what, tool, value);
        self.results.save(&self.file, &self.facts)
    }

    /// Prints the progress, with the time since the start.
    pub(super) fn progress(&self, what: &str) {
        println!("  [{:4.0} s] {what}", self.start.elapsed().as_secs_f64());
    }

    /// The result of a tool's run. If another profiler fails, the reason is added to the facts, it
    /// is not started again, and the result is `None` from then on. A failure of Parallax is an
    /// error.
    pub(super) fn of_tool<T>(
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
        // Paths of this machine do not belong in the published page.
        let scratch = self.scratch.display().to_string() + "/";
        let reason = format!("fails: {}", reason.replace(&scratch, ""));
        match self.facts.iter_mut().find(|(name, _)| name == tool.name) {
            Some((_, version)) => *version = format!("{version}; {reason}"),
            None => self.facts.push((tool.name.to_owned(), reason)),
        }
        self.failed.push(tool);
        Ok(None)
    }

    /// The folder for recordings; everything in it may be overwritten.
    pub(super) fn folder(&self) -> &Path {
        &self.scratch
    }

    /// The tools that this machine has. Prints those that it lacks.
    pub(super) fn present(&self, tools: &[Tool]) -> Vec<Tool> {
        let (here, absent): (Vec<Tool>, Vec<Tool>) =
            tools.iter().partition(|tool| tool.path().is_some());
        for tool in absent {
            println!("  {} is not on this machine", tool.name);
        }
        here
    }

    /// An OpenMP program of `xtask/programs`, or another of the repository, built with clang.
    pub(super) fn compiled(&self, source: &str, flags: &[&str]) -> Outcome<PathBuf> {
        let source = if source.contains('/') {
            root().join(source)
        } else {
            root().join("xtask/programs").join(source)
        };
        let compiler = packages::clang("the programs to measure")?;
        let name = source.file_stem().unwrap_or_default();
        let program = self.scratch.join(name);
        let mut command = Command::new(&compiler.path);
        command.args(flags).args(compiler.header());
        compile(&mut command, &source, &program)
    }

    /// Builds a program of the repository by gcc, which links it to libgomp, or a library if the
    /// flags say so.
    pub(super) fn compiled_by_gcc(&self, source: &str, flags: &[&str]) -> Outcome<PathBuf> {
        let source = root().join(source);
        let stem = source.file_stem().unwrap_or_default().to_string_lossy();
        let program = self.scratch.join(format!("{stem}-gnu"));
        compile(Command::new("gcc").args(flags), &source, &program)
    }

    /// Builds the minimal OpenMP tool, a library to preload.
    pub(super) fn floor(&self) -> Outcome<PathBuf> {
        self.compiled_by_gcc("collector/runtime/benches/floor.c", &["-shared", "-fPIC"])
    }
}

/// Builds an OpenMP program, unless it exists.
fn compile(compiler: &mut Command, source: &Path, program: &Path) -> Outcome<PathBuf> {
    if !program.is_file() {
        compiler.args(["-O2", "-g", "-fopenmp"]).arg(source);
        run(compiler.arg("-o").arg(program))?;
    }
    std::path::absolute(program).map_err(|e| e.to_string())
}

impl Drop for Bench {
    fn drop(&mut self) {
        // A failure leaves recordings in cargo's target folder, where they do no harm.
        let _ = std::fs::remove_dir_all(&self.scratch);
    }
}
