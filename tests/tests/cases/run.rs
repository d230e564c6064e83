//! A row of the table of cases: how its program is built, run and recorded.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use end_to_end::{Outcome, compiler, finish, folder, tools};
use fixtures::{Compiler, Family};

/// The file name of a case's program.
pub(crate) const PROGRAM: &str = "program";

/// Held while a case runs: recordings at the same time would compete for the CPUs.
static RECORDING: Mutex<()> = Mutex::new(());

/// A row of the table.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    /// The source of the program, in `fixtures/programs/cases`.
    pub(crate) source: &'static str,
    /// A second source: of a library, or of a program that starts the first.
    pub(crate) beside: Option<&'static str>,
    family: Family,
    environment: &'static [(&'static str, &'static str)],
    more_environment: &'static [(&'static str, &'static str)],
    arguments: &'static [&'static str],
    launcher: &'static [&'static str],
    options: &'static [&'static str],
    check: fn(&Run) -> Result<(), String>,
}

/// A row: a program, its compiler and environment, and the check of its runs. The check's error
/// says what was found instead. A check panics when it cannot judge: when the compiler is missing,
/// or the program itself fails.
pub(crate) const fn case(
    source: &'static str,
    family: Family,
    environment: &'static [(&'static str, &'static str)],
    check: fn(&Run) -> Result<(), String>,
) -> Case {
    Case {
        source,
        beside: None,
        family,
        environment,
        more_environment: &[],
        arguments: &[],
        launcher: &[],
        options: &[],
        check,
    }
}

impl Case {
    /// With a second source: of a library, or of a program that starts the first.
    pub(crate) const fn beside(self, source: &'static str) -> Case {
        let beside = Some(source);
        Case { beside, ..self }
    }

    /// With more variables in the environment.
    pub(crate) const fn with(self, more: &'static [(&'static str, &'static str)]) -> Case {
        let more_environment = more;
        Case {
            more_environment,
            ..self
        }
    }

    /// With arguments of the program.
    pub(crate) const fn arguments(self, arguments: &'static [&'static str]) -> Case {
        Case { arguments, ..self }
    }

    /// With words before the program's path.
    pub(crate) const fn launcher(self, launcher: &'static [&'static str]) -> Case {
        Case { launcher, ..self }
    }

    /// With options of `collect`.
    pub(crate) const fn options(self, options: &'static [&'static str]) -> Case {
        Case { options, ..self }
    }

    /// Runs the case.
    ///
    /// # Panics
    /// When it fails.
    pub(crate) fn run(&self, name: &str) {
        let _alone = RECORDING.lock().unwrap_or_else(PoisonError::into_inner);
        let run = Run::new(self, name);
        let found = (self.check)(&run);
        if let Err(found) = found {
            panic!("{name}: {found}\n(in {})", run.place.display());
        }
        fs::remove_dir_all(&run.place).expect("the test made it");
    }
}

/// A case with its program built.
pub(crate) struct Run<'a> {
    case: &'a Case,
    compiler: &'static Compiler,
    /// `OMP_NUM_THREADS`, if it is not what the row says.
    threads: Option<&'static str>,
    /// The program.
    pub(crate) program: PathBuf,
    /// A folder for this run's files.
    pub(crate) place: PathBuf,
}

/// A recorded run.
pub(crate) struct Recorded {
    /// How `collect` ended.
    pub(crate) outcome: Outcome,
    /// The experiment.
    pub(crate) experiment: PathBuf,
}

impl<'a> Run<'a> {
    fn new(case: &'a Case, name: &str) -> Run<'a> {
        let compiler = compiler(case.family);
        let place = folder().join(format!("cases/{name}-{}", std::process::id()));
        fs::create_dir_all(&place).expect("the target folder is ours");
        let mut run = Run {
            case,
            compiler,
            threads: None,
            program: PathBuf::new(),
            place,
        };
        run.program = run.build(case.source, PROGRAM, &["-fopenmp"]);
        run
    }

    /// The same with another program.
    pub(crate) fn instead(&self, program: PathBuf) -> Run<'a> {
        let place = self.place.clone();
        Run {
            program,
            place,
            ..*self
        }
    }

    /// The same with another number of threads.
    pub(crate) fn with_threads(&self, threads: &'static str) -> Run<'a> {
        let threads = Some(threads);
        Run {
            threads,
            ..self.instead(self.program.clone())
        }
    }

    /// Builds a source of `fixtures/programs/cases` with debug information at `-O2`.
    pub(crate) fn build(&self, source: &str, product: &str, words: &[&str]) -> PathBuf {
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/programs/cases");
        let product = self.place.join(product);
        let compiler = if source.ends_with(".cpp") {
            let beside = self.compiler.cxx.as_ref();
            beside.unwrap_or_else(|| panic!("{} has no C++ compiler beside it", self.compiler.name))
        } else {
            &self.compiler.path
        };
        let mut build = Command::new(compiler);
        // The compilers of Fortran write modules into the current directory.
        build.current_dir(&self.place);
        build.args(["-O2", "-g", "-pthread"]).args(words);
        build.args(self.compiler.header());
        build.arg(programs.join(source)).arg("-o").arg(&product);
        let built = build.output().expect("the compiler was found");
        let said = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "{build:?}: {said}");
        product
    }

    /// The command line of the program, after these words.
    pub(crate) fn command(&self, before: &[&Path]) -> Command {
        let case = self.case;
        let mut words = before
            .iter()
            .map(|word| word.as_os_str())
            .chain(case.launcher.iter().map(|word| word.as_ref()))
            .chain([self.program.as_os_str()])
            .chain(case.arguments.iter().map(|word| word.as_ref()));
        let mut command = Command::new(words.next().expect("there is the program"));
        command.args(words).current_dir(&self.place);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let families = ["OMP_", "GOMP_", "KMP_", "LIBOMP_", "LD_PRELOAD"];
            if families.iter().any(|family| text.starts_with(family)) {
                command.env_remove(name);
            }
        }
        command
            .envs(case.environment.iter().copied())
            .envs(case.more_environment.iter().copied())
            .envs(self.threads.map(|threads| ("OMP_NUM_THREADS", threads)));
        command
    }

    /// The command line of the program under `collect`, after these words; and the experiment.
    pub(crate) fn collected(&self, before: &[&Path]) -> (Command, PathBuf) {
        let experiment = self.place.join("run.er");
        let mut words = before.to_vec();
        words.extend([&tools().collect, Path::new("-O"), &experiment]);
        words.extend(self.case.options.iter().map(Path::new));
        let mut command = self.command(&words);
        command.env("PARALLAX_LIBRARY", library());
        (command, experiment)
    }

    /// Runs the program without `collect`.
    pub(crate) fn bare(&self) -> Outcome {
        finish(self.command(&[]))
    }

    /// Runs it under `collect`, which must be a success.
    pub(crate) fn record(&self) -> Recorded {
        let (command, experiment) = self.collected(&[]);
        let outcome = finish(command);
        assert_eq!(outcome.status, 0, "the run failed: {}", outcome.stderr);
        Recorded {
            outcome,
            experiment,
        }
    }
}

/// The library as users have it: built in release mode. How it is unwound through, as when a thread
/// ends by `pthread_exit` or is cancelled, is the profile's affair.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let target = tools().collect.ancestors().nth(2);
        let target = target.expect("TARGET/PROFILE/collect");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--release", "-p", "collector-runtime"]);
        cargo.arg("--target-dir").arg(target);
        cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
        let status = cargo.status().expect("cargo started this test");
        assert!(status.success(), "{cargo:?}: {status}");
        target.join("release/libcollector.so")
    })
}
