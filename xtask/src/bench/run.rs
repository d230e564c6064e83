//! A run of benchmarks: what was measured so far, and what all groups need for it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::results::{Measure, Results};
use super::tools::{COLLECT, Tool};
use crate::command::run;
use crate::{Outcome, packages, root};

/// A run of benchmarks.
pub(super) struct Bench {
    /// How often each measure is taken.
    pub(super) runs: u32,
    /// What was measured, and on what; both are written to `file` with every value.
    pub(super) results: Results,
    pub(super) facts: Vec<(String, String)>,
    pub(super) file: PathBuf,
    pub(super) program: Vec<String>,
    /// Of the application's loops, once its pace was found.
    pub(super) elements: Option<u32>,
    pub(super) scratch: PathBuf,
    pub(super) start: Instant,
    /// Tools that failed here, and are not started again.
    pub(super) failed: Vec<Tool>,
}

impl Bench {
    /// Adds a value to a measure, and writes it to the file at once: a run that is interrupted
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

    /// Says what was done, and how long all took so far.
    pub(super) fn progress(&self, what: &str) {
        println!("  [{:4.0} s] {what}", self.start.elapsed().as_secs_f64());
    }

    /// What a tool's run comes to. A peer that fails is named, with its reason, among the facts,
    /// and is not started again; `None` from then on. Parallax may not fail.
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
    pub(super) fn folder(&self) -> &Path {
        &self.scratch
    }

    /// The tools that are here; says which are not.
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
    pub(super) fn compiled_by_gcc(&self, source: &str, flags: &[&str]) -> Outcome<PathBuf> {
        let source = root().join(source);
        let stem = source.file_stem().unwrap_or_default().to_string_lossy();
        let program = self.scratch.join(format!("{stem}-gnu"));
        compile(Command::new("gcc").args(flags), &source, &program)
    }

    /// A library that, preloaded, does the least at each of OpenMP's moments.
    pub(super) fn floor(&self) -> Outcome<PathBuf> {
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
