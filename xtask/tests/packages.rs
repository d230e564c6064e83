//! The packages of `cargo xtask dist`, installed as users do.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The packages by the ends of their files' names, as two runs made them.
struct Packages {
    folder: PathBuf,
    first: BTreeMap<String, Vec<u8>>,
    second: BTreeMap<String, Vec<u8>>,
}

impl Packages {
    /// The path of the one whose name ends so.
    fn path(&self, ending: &str) -> PathBuf {
        let mut names = self.first.keys();
        let name = names.find(|name| name.ends_with(ending)).unwrap();
        self.folder.join(name)
    }
}

/// Builds the packages twice, as users with other habits would.
fn packages() -> &'static Packages {
    static PACKAGES: OnceLock<Packages> = OnceLock::new();
    PACKAGES.get_or_init(|| {
        let xtask = Path::new(env!("CARGO_BIN_EXE_xtask"));
        let target = xtask.ancestors().nth(2).unwrap();
        let folder = target.join("dist");
        let build = |umask: &str, zone: &str| {
            let mut dist = Command::new("sh");
            dist.args(["-c", "umask $1; exec \"$0\" dist"]).arg(xtask);
            dist.arg(umask).env("TZ", zone);
            done(dist.env("CARGO_TARGET_DIR", target));
            let entries = std::fs::read_dir(&folder).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names
                .filter(|name| name.contains(VERSION))
                .map(|name| (name.clone(), std::fs::read(folder.join(name)).unwrap()))
                .collect()
        };
        Packages {
            first: build("022", "UTC"),
            second: build("077", "Asia/Tokyo"),
            folder,
        }
    })
}

/// Runs a command, which must be a success, and returns what it printed.
fn done(command: &mut Command) -> String {
    let out = command.output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{command:?}: {text}{errors}");
    text
}

/// Runs a line of the shell in a folder, with these words as `$1` and so on.
fn shell(folder: &Path, line: &str, words: &[&Path]) -> String {
    let mut shell = Command::new("sh");
    shell.args(["-euc", line, "sh"]).args(words);
    done(shell.current_dir(folder))
}

/// The paths of all files below a folder.
fn below(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            } else {
                found.insert(path.strip_prefix(folder).unwrap().to_owned());
            }
        }
    }
    found
}

/// Records a program by what is installed below a prefix, whose libraries `collect` must find.
fn records(prefix: &Path) {
    let place = tempfile::tempdir().unwrap();
    let source = "\
void spin(int thousands) { for (volatile int i = 0; i < thousands * 1000; i++); }
int main(void) {
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < 2; i++) spin(i * 200000);
}
";
    std::fs::write(place.path().join("app.c"), source).unwrap();
    shell(place.path(), "gcc -O2 -g -fopenmp app.c -o app", &[]);
    let run = |line: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-euc", &format!("{line} 2>&1")]);
        let path = format!("{}:/usr/bin:/bin", prefix.join("bin").display());
        shell.env_clear().env("PATH", path);
        shell.env("OMP_NUM_THREADS", "2");
        done(shell.current_dir(place.path()))
    };
    let said = run("collect -o app.er ./app");
    assert!(!said.contains("without OpenMP events"), "{said}");
    let functions = run("er_print -functions app.er");
    let region = "main -- OMP parallel region from line 3";
    for name in [region, "<OMP implicit barrier>"] {
        assert!(functions.contains(name), "{name} in {functions}");
    }
    // Of the other library.
    run("collect -r deadlock -o checked.er ./app");
    run("er_print -deadlocks checked.er");
    run("analyzer --version");
}

/// A new environment of Python, in a folder that is gone with the first of both.
fn environment() -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let environment = place.path().join("venv");
    // pip works from outside, so that all that is in the environment comes from the wheel.
    let make = "python3 -m venv --without-pip $1";
    shell(place.path(), make, &[&environment]);
    (place, environment)
}

const PIP: &str = "pip3 --python $1/bin/python --no-cache-dir --disable-pip-version-check";

/// Installs the wheel from the folder of the packages, with these options.
fn install(environment: &Path, options: &str) {
    let line =
        format!("{PIP} install --no-index --find-links $2 {options} parallax-openmp=={VERSION}");
    let packages = packages();
    shell(environment, &line, &[environment, &packages.folder]);
}

#[test]
#[ignore = "minutes: builds in release mode"]
fn the_same_commit_gives_the_same_bits() {
    let Packages { first, second, .. } = packages();
    let endings: BTreeSet<&str> = first
        .keys()
        .filter_map(|name| Some(name.rsplit_once('.')?.1))
        .collect();
    assert_eq!(endings, BTreeSet::from(["deb", "rpm", "whl", "xz"]));
    for (name, bytes) in first {
        assert!(second[name] == *bytes, "{name} differs");
    }
}

#[test]
#[ignore = "minutes: builds in release mode"]
fn a_wheel_serves_an_environment_and_leaves_no_file_in_it() {
    let (_place, environment) = environment();
    let before = below(&environment);
    install(&environment, "");
    records(&environment);
    // pip does not look at the digests.
    let digests = "\
import base64, hashlib, importlib.metadata as m
for file in m.files('parallax-openmp'):
    if file.hash:
        digest = hashlib.new(file.hash.mode, file.read_binary()).digest()
        assert base64.urlsafe_b64encode(digest).decode().rstrip('=') == file.hash.value, file
        print(file)
";
    let mut python = Command::new(environment.join("bin/python"));
    let listed = done(python.args(["-c", digests]));
    for file in [
        "bin/collect",
        "parallax/libcollector.so",
        "METADATA",
        "LICENSE-MIT",
    ] {
        assert!(listed.contains(file), "{file} in {listed}");
    }
    shell(
        &environment,
        &format!("{PIP} uninstall -y parallax-openmp"),
        &[&environment],
    );
    assert_eq!(below(&environment), before);
}

#[test]
#[ignore = "minutes: builds in release mode"]
fn a_wheel_serves_a_user_and_a_prefix() {
    let (place, environment) = environment();
    let prefix = place.path().join("prefix");
    install(&environment, &format!("--prefix {}", prefix.display()));
    records(&prefix);

    // An environment has no folder of the user's, the system's Python has.
    let user = place.path().join("user");
    let line = "PYTHONUSERBASE=$1 PIP_BREAK_SYSTEM_PACKAGES=1 \
                pip3 install --user --no-index --find-links $2 parallax-openmp";
    shell(place.path(), line, &[&user, &packages().folder]);
    records(&user);
}

#[test]
#[ignore = "minutes: builds in release mode"]
fn archives_hold_the_same_files_which_run_where_they_are_unpacked() {
    let place = tempfile::tempdir().unwrap();
    let unpacked = |ending: &str, line: &str, prefix: &str| {
        let folder = place.path().join(ending);
        std::fs::create_dir(&folder).unwrap();
        shell(&folder, line, &[&packages().path(ending)]);
        let prefix = folder.join(prefix);
        records(&prefix);
        let mode = |path: &str| {
            let metadata = std::fs::metadata(prefix.join(path)).unwrap();
            metadata.permissions().mode() & 0o777
        };
        assert_eq!(mode("bin/collect"), 0o755, "{ending}");
        assert_eq!(mode("share/doc/parallax/README.md"), 0o644, "{ending}");
        below(&prefix)
    };
    let folder = format!("parallax-{VERSION}-x86_64-linux");
    let files = unpacked("tar.xz", "tar -xf $1", &folder);
    let rpm = unpacked("rpm", "rpm2cpio $1 | cpio -id --quiet", "usr");
    let mut deb = unpacked("deb", "dpkg-deb -x $1 .", "usr");
    assert_eq!(rpm, files);
    assert!(deb.remove(Path::new("share/doc/parallax/copyright")));
    assert_eq!(deb, files);

    let (_place, environment) = environment();
    install(&environment, "");
    let missing: Vec<&PathBuf> = files
        .iter()
        .filter(|path| !environment.join(path).exists())
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
#[ignore = "minutes: builds in release mode"]
fn rpm_knows_what_its_package_owns_and_needs() {
    let rpm = packages().path("rpm");
    let ask = |line: &str| shell(Path::new("/"), line, &[&rpm]);
    assert!(ask("rpm --checksig --nosignature $1").contains("digests OK"));
    let owned = ask("rpm -qpl $1");
    for path in [
        "/usr/bin/collect",
        "/usr/lib/parallax",
        "/usr/share/doc/parallax",
    ] {
        assert!(owned.lines().any(|line| line == path), "{path} in {owned}");
    }
    assert!(!owned.lines().any(|line| line == "/usr/bin"), "{owned}");
    let needed = ask("rpm -qpR $1");
    let needed: Vec<&str> = needed
        .lines()
        .filter(|line| !line.starts_with("rpmlib("))
        .collect();
    assert_eq!(
        needed,
        ["libc.so.6(GLIBC_2.28)(64bit)", "libgcc_s.so.1()(64bit)"]
    );
}
