//! The tools under test, built and found.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The three programs of the build that the running test belongs to.
#[derive(Debug)]
pub struct Tools {
    /// `collect`, with `libcollector.so`, `libparallax_races.so` and `libparallax_compare.so` beside it.
    pub collect: PathBuf,
    /// `er_print`.
    pub er_print: PathBuf,
    /// `analyzer`.
    pub analyzer: PathBuf,
}

/// The tools, built on first use.
///
/// Cargo builds a package's programs for that package's own tests only, and no test links the
/// library that is loaded into programs: so this calls cargo for them, with the profile and
/// target folder that the test itself lies in.
///
/// # Panics
/// When they cannot be built.
pub fn tools() -> &'static Tools {
    static TOOLS: OnceLock<Tools> = OnceLock::new();
    TOOLS.get_or_init(|| {
        let test = std::env::current_exe().expect("a running program has a path");
        // TARGET/PROFILE/deps/TEST
        let products = test
            .ancestors()
            .nth(2)
            .expect("cargo puts tests into deps of a profile's folder");
        let target = products.parent().expect("a profile's folder is in another");
        let release = products.file_name() == Some("release".as_ref());
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args(["build", "--quiet"])
            .args([
                "-p",
                "collector",
                "-p",
                "collector-runtime",
                "-p",
                "er-print",
                "-p",
                "analyzer-tui",
                "-p",
                "race-library",
                "-p",
                "compare-library",
            ])
            .arg("--target-dir")
            .arg(target)
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")));
        if release {
            cargo.arg("--release");
        }
        let status = cargo.status().expect("cargo started this test");
        assert!(status.success(), "{cargo:?}: {status}");
        Tools {
            collect: products.join("collect"),
            er_print: products.join("er_print"),
            analyzer: products.join("analyzer"),
        }
    })
}

/// A program that runs the rest of its command line with perf events forbidden, as a container's
/// filter does. Built on first use.
///
/// # Panics
/// When it cannot be built.
pub fn without_perf() -> &'static Path {
    static LAUNCHER: OnceLock<PathBuf> = OnceLock::new();
    LAUNCHER.get_or_init(|| {
        let source = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../fixtures/programs/cases/noperf.c"
        );
        let launcher = crate::folder().join(format!("noperf-{}", std::process::id()));
        let mut command = Command::new("gcc");
        command.args(["-O2", source, "-o"]).arg(&launcher);
        let status = command.status().expect("these tests need gcc");
        assert!(status.success(), "{command:?}: {status}");
        launcher
    })
}

impl Tools {
    /// Runs `er_print` and returns what it printed, which must be a success.
    ///
    /// # Panics
    /// When it ends otherwise.
    pub fn print(&self, experiment: &Path, commands: &[&str]) -> String {
        let out = self.try_print(experiment, commands);
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "er_print {commands:?}: {said}");
        String::from_utf8(out.stdout).expect("reports are UTF-8")
    }

    /// Runs `er_print`, whatever comes of it.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn try_print(&self, experiment: &Path, commands: &[&str]) -> Output {
        Command::new(&self.er_print)
            .args(commands)
            .arg(experiment)
            .output()
            .expect("er_print was built")
    }
}
