//! One cell of the table: a program, how it is built and how it runs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use fixtures::{Compiler, Family, Library, Opt, Program, Run, Truth, WaitPolicy};

use crate::crowding::Crowding;
use crate::{tools, without_perf};

/// A program with a compiler, a runtime, a number of threads and a wait policy.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The program.
    pub program: &'static Program,
    /// The compiler.
    pub compiler: Compiler,
    /// The runtime, if it is another than the one that the machine gives the compiler's programs.
    pub library: Option<&'static Library>,
    /// `OMP_NUM_THREADS`, unless the program wants its own.
    pub threads: u32,
    /// `OMP_WAIT_POLICY`.
    pub policy: WaitPolicy,
    /// Whether perf events are permitted.
    pub perf: bool,
}

/// A recorded run, with what the program measured.
#[derive(Debug)]
pub struct Recorded {
    /// The experiment.
    pub experiment: PathBuf,
    /// The truth of each process, the first one's first.
    pub truths: Vec<Truth>,
    /// Seconds in which the program's threads could run and other programs had the CPU.
    pub crowded: f64,
}

/// The folder for the tests' files.
///
/// # Panics
/// When it cannot be made.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let test = std::env::current_exe().expect("a running program has a path");
        let products = test.ancestors().nth(2).expect("cargo puts tests into deps");
        let folder = products.join("end-to-end");
        std::fs::create_dir_all(&folder).expect("the target folder is ours");
        folder
    })
}

fn compilers() -> &'static [Compiler] {
    static COMPILERS: OnceLock<Vec<Compiler>> = OnceLock::new();
    COMPILERS.get_or_init(fixtures::compilers)
}

/// The newest compiler of a family.
///
/// # Errors
/// When the machine has none with OpenMP, in a sentence.
pub fn newest(family: Family) -> Result<&'static Compiler, String> {
    let found = compilers().iter().find(|c| c.family == family);
    found.ok_or_else(|| {
        format!("there is no {family:?} with OpenMP here; `cargo xtask test --all` installs it")
    })
}

/// As [`newest`].
///
/// # Panics
/// When the machine has none with OpenMP: a test without its compiler fails.
pub fn compiler(family: Family) -> &'static Compiler {
    newest(family).unwrap_or_else(|why| panic!("{why}"))
}

/// The compiler of a family and release, if the machine has it.
pub fn compiler_of(family: Family, major: u32) -> Option<&'static Compiler> {
    compilers()
        .iter()
        .find(|c| (c.family, c.major) == (family, major))
}

/// The folder of a runtime other than the machine's own.
///
/// # Errors
/// Why it cannot be had, in a clause.
pub fn library_folder(library: &Library) -> Result<PathBuf, String> {
    library.folder(&folder().join("runtimes"))
}

impl Cell {
    /// Its name in tables and files.
    pub fn label(&self) -> String {
        let (program, policy) = (self.program.name, self.policy.value());
        let perf = if self.perf { "" } else { "-noperf" };
        format!(
            "{program}-{}-{policy}-{}{perf}",
            self.column(),
            self.threads
        )
    }

    /// The name of its compiler and runtime.
    pub fn column(&self) -> String {
        match self.library {
            Some(library) => format!("{}+{}", self.compiler.name, library.name),
            None => self.compiler.name.clone(),
        }
    }

    /// Records a run and reads its truth.
    ///
    /// # Errors
    /// A sentence on what went wrong.
    pub fn record(&self) -> Result<Recorded, String> {
        self.record_with(&[])
    }

    /// As [`Cell::record`], with options of `collect`.
    ///
    /// # Errors
    /// A sentence on what went wrong.
    pub fn record_with(&self, options: &[&str]) -> Result<Recorded, String> {
        let text = |e: &dyn std::fmt::Display| format!("{}: {e}", self.label());
        let exe = fixtures::build(
            self.program,
            &self.compiler,
            Opt::O2,
            &folder().join("built"),
        )
        .map_err(|e| text(&e))?;
        self.record_as(&exe, &[], "", options)
    }

    /// As [`Cell::record`], of an executable that was built already, with variables in its
    /// environment. `variant` tells its files from those of other ways to run the cell.
    ///
    /// # Errors
    /// A sentence on what went wrong.
    pub fn record_built(
        &self,
        exe: &Path,
        environment: &[(&str, &OsStr)],
        variant: &str,
    ) -> Result<Recorded, String> {
        self.record_as(exe, environment, variant, &[])
    }

    fn record_as(
        &self,
        exe: &Path,
        environment: &[(&str, &OsStr)],
        variant: &str,
        options: &[&str],
    ) -> Result<Recorded, String> {
        let text = |e: &dyn std::fmt::Display| format!("{} {variant}: {e}", self.label());
        let name = format!("{}{variant}-{}", self.label(), std::process::id());
        let experiment = folder().join(&name).with_extension("er");
        // A folder for each: descendants' truths lie beside their parent's.
        let truth = experiment.with_extension("truth");
        let _ = std::fs::remove_dir_all(&truth);
        std::fs::create_dir_all(&truth).map_err(|e| text(&e))?;
        let run = Run::new(self.program, exe)
            .threads(self.threads)
            .policy(self.policy)
            .truth_file(&truth.join("truth.json"));
        let run = match self.library {
            Some(library) => run.library_path(&library_folder(library)?),
            None => run,
        };
        let set = |run: Run, &(name, value): &(&str, &OsStr)| run.env(name, value);
        let run = environment.iter().fold(run, set);
        let collect = tools().collect.as_os_str();
        let mut words = vec![collect, "-O".as_ref(), experiment.as_os_str()];
        words.extend(options.iter().map(OsStr::new));
        if !self.perf {
            words.insert(0, without_perf().as_os_str());
        }
        let command = run.under(&words);
        let crowding = Crowding::begin();
        run.finish(command).map_err(|e| text(&e))?;
        let truths = Truth::load_all(run.truth_path()).map_err(|e| text(&e))?;
        let crowded = crowding.end(&truths);
        Ok(Recorded {
            experiment,
            truths,
            crowded,
        })
    }
}

impl Recorded {
    /// Removes the files of a run that nobody needs to look at.
    pub fn discard(self) {
        let _ = std::fs::remove_dir_all(self.experiment.with_extension("truth"));
        let _ = std::fs::remove_dir_all(self.experiment);
    }
}
