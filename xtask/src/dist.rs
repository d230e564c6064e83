//! `cargo xtask dist`: a tarball, packages of Debian and of rpm, and a wheel, which run on older systems than
//! the one that builds them.
//!
//! All have the layout of `cargo xtask install`, and the same bits wherever the same commit is built by
//! the same tools: paths of the machine are replaced in messages of panics, and files have the time of
//! the commit. Programs and library are built with `cargo build` as ever, since every build of them runs
//! with old C libraries (the crate `glibc-floor`).

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use crate::command::{cannot_start, run, stdout_of};
use crate::floors::{self, FLOOR_OF_PROGRAMS};
use crate::install::{self, DOCUMENTS, Item, Kind, PACKAGE};
use crate::{Outcome, packages, root, target, third_party};

mod rpm;
mod wheel;

/// The architecture and C library that are built for.
pub(crate) const TARGET: &str = "x86_64-unknown-linux-gnu";

const VERSION: &str = env!("CARGO_PKG_VERSION");
const LICENCE: &str = env!("CARGO_PKG_LICENSE");

/// What packages say of themselves, in a line, which Debian's begins without a capital, and in some.
const SUMMARY: &str = "Profiler for OpenMP programs";
const DESCRIPTION: &str = "\
Records programs built by clang, gcc, flang and gfortran as they are, and shows
their work, waits and overhead as the author wrote them: by function, region,
loop, lock, task and thread, as text, JSON and in a terminal.
";

/// The most bytes that a package may have.
const MOST_BYTES: u64 = 12_000_000;

/// The most bytes of a wheel, which can have no better compression than deflate, each file by itself: it takes
/// 2.4 times as much as the tarball. Optimization at link time, and for size where speed does not matter, saved 7
/// and 6 %.
const MOST_BYTES_OF_WHEEL: u64 = 16_000_000;

/// Builds the packages into `dist` in cargo's target folder.
pub(crate) fn dist() -> Outcome {
    for (name, package) in [
        ("objcopy", "binutils"),
        ("dpkg-deb", "dpkg"),
        ("tar", "tar"),
        ("xz", "xz-utils"),
        ("zip", "zip"),
        ("rpmbuild", "rpm"),
    ] {
        packages::program(name, package, "building packages")?;
    }
    if std::env::consts::ARCH != "x86_64" {
        return Err("packages are built on x86-64 only, for x86-64".into());
    }
    let seconds = seconds()?;
    let folder = target().join("dist");
    let release = folder.join("build").join(TARGET).join("release");
    build(&folder.join("build"))?;
    floors::check(&release)?;

    let mut items = install::items(root(), &release)?;
    items.extend(licences(&folder)?);
    let made = [
        (tarball(&folder, &items, seconds)?, MOST_BYTES),
        (deb(&folder, &items, seconds)?, MOST_BYTES),
        (rpm::rpm(&folder, &items, seconds)?, MOST_BYTES),
        (wheel::wheel(&folder, &items, seconds)?, MOST_BYTES_OF_WHEEL),
    ];
    println!();
    for (package, most) in made {
        let bytes = std::fs::metadata(&package)
            .map_err(|e| format!("{} cannot be read: {e}", package.display()))?
            .len();
        println!("{} {:.1} MB", package.display(), bytes as f64 / 1e6);
        if bytes > most {
            return Err(format!("{} is too large", package.display()));
        }
    }
    Ok(())
}

/// The time that files get, in seconds since 1970: that of the commit, or as `SOURCE_DATE_EPOCH` says
/// (<https://reproducible-builds.org/specs/source-date-epoch/>).
fn seconds() -> Outcome<u32> {
    let seconds = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(seconds) => seconds,
        Err(_) => stdout_of(
            Command::new("git")
                .args(["log", "-1", "--format=%ct"])
                .current_dir(root()),
        )
        .map_err(|e| {
            format!("{e}; without git, set SOURCE_DATE_EPOCH to the time that files shall have")
        })?,
    };
    let seconds = seconds.trim();
    seconds
        .parse()
        .map_err(|_| format!("SOURCE_DATE_EPOCH is {seconds:?}, which is no number of seconds"))
}

/// Builds programs and library in a target folder of their own, with options that make their bits the
/// same in every folder.
fn build(target_folder: &Path) -> Outcome {
    let mut build = install::release_build();
    // With a target, the options do not count for build scripts and macros.
    build.args(["--locked", "--target", TARGET]);
    build.arg("--target-dir").arg(target_folder);
    // Debug information would be stripped, and has paths of C files that no option of rustc replaces.
    build.env("CARGO_PROFILE_RELEASE_DEBUG", "false");
    build.env("CARGO_INCREMENTAL", "0");
    // Words are separated by 0x1f, because paths may have spaces.
    build.env(
        "CARGO_ENCODED_RUSTFLAGS",
        rustflags(&replaced()?).join("\x1f"),
    );
    for variable in ["CFLAGS", "CPPFLAGS"] {
        build.env_remove(variable);
    }
    run(&mut build)
}

/// Folders of this machine, and what stands for them in the programs. The last that matches is taken.
fn replaced() -> Outcome<Vec<(PathBuf, String)>> {
    let cargo_home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let sysroot = stdout_of(
        Command::new("rustc")
            .args(["--print", "sysroot"])
            .current_dir(root()),
    )?;
    let library = Path::new(sysroot.trim()).join("lib/rustlib/src/rust");
    let version = stdout_of(Command::new("rustc").arg("-vV").current_dir(root()))?;
    let commit = version
        .lines()
        .find_map(|line| line.strip_prefix("commit-hash: "));
    let mut replaced = vec![
        (target(), "/target".into()),
        (root().into(), "/parallax".into()),
    ];
    replaced.extend(cargo_home.map(|folder| (folder, "/cargo".into())));
    // As paths of the standard library are where its source is not installed.
    replaced.extend(commit.map(|commit| (library, format!("/rustc/{commit}"))));
    Ok(replaced)
}

fn rustflags(replaced: &[(PathBuf, String)]) -> Vec<String> {
    let remap = |(folder, word): &(PathBuf, String)| {
        format!("--remap-path-prefix={}={word}", folder.display())
    };
    let mut flags: Vec<String> = replaced.iter().map(remap).collect();
    // Experiments name load objects by it, and not every linker makes one by default.
    flags.push("-Clink-arg=-Wl,--build-id=sha1".into());
    flags
}

/// The licences of others as files to install: those of the packages, and those of Rust's standard
/// library, which its toolchain has.
fn licences(folder: &Path) -> Outcome<[Item; 2]> {
    let packages = folder.join("THIRD-PARTY-LICENSES.txt");
    std::fs::write(&packages, third_party::licences(TARGET)?)
        .map_err(|e| format!("{} cannot be written: {e}", packages.display()))?;
    let sysroot = stdout_of(
        Command::new("rustc")
            .args(["--print", "sysroot"])
            .current_dir(root()),
    )?;
    let library = Path::new(sysroot.trim()).join("share/doc/rust/COPYRIGHT-library.html");
    if !library.is_file() {
        return Err(format!(
            "{}, which has the licences of Rust's standard library, is missing; toolchains of rustup have it",
            library.display()
        ));
    }
    let item = |from, name: &str| Item {
        from,
        to: Path::new(DOCUMENTS).join(name),
        kind: Kind::Text,
    };
    Ok([
        item(packages, "THIRD-PARTY-LICENSES.txt"),
        item(library, "RUST.html"),
    ])
}

/// Makes a folder that is empty.
fn emptied(folder: PathBuf) -> Outcome<PathBuf> {
    let empty = || {
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)
    };
    match empty() {
        Ok(()) => Ok(folder),
        Err(e) => Err(format!("{} cannot be emptied: {e}", folder.display())),
    }
}

/// Gives a file, or a folder with all that is in it, the modes that it has for everybody, whatever the umask, and
/// this time, in seconds since 1970.
fn settle(path: &Path, seconds: u32) -> Outcome {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.into());
    let change = || {
        let metadata = std::fs::metadata(path)?;
        let is_executable = metadata.permissions().mode() & 0o100 != 0;
        let mode = if is_executable { 0o755 } else { 0o644 };
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode))?;
        File::open(path)?.set_modified(time)?;
        if !metadata.is_dir() {
            return Ok(Vec::new());
        }
        let entries = std::fs::read_dir(path)?;
        entries.map(|entry| entry.map(|e| e.path())).collect()
    };
    let entries: Result<Vec<PathBuf>, std::io::Error> = change();
    let entries = entries.map_err(|e| format!("{} cannot be changed: {e}", path.display()))?;
    entries.iter().try_for_each(|entry| settle(entry, seconds))
}

/// The tarball: one folder that can be unpacked anywhere.
fn tarball(folder: &Path, items: &[Item], seconds: u32) -> Outcome<PathBuf> {
    let name = format!("{PACKAGE}-{VERSION}-x86_64-linux");
    let stage = emptied(folder.join("tarball"))?;
    install::lay_out(items, &stage.join(&name), false)?;
    settle(&stage, seconds)?;
    let package = folder.join(format!("{name}.tar.xz"));
    let file = File::create(&package)
        .map_err(|e| format!("{} cannot be written: {e}", package.display()))?;
    let mut tar = Command::new("tar");
    tar.args(["--create", "--format=gnu", "--sort=name", "--numeric-owner"])
        .args(["--owner=0", "--group=0"])
        .arg("--directory")
        .args([stage.as_os_str(), OsString::from(&name).as_os_str()])
        .stdout(Stdio::piped());
    let mut packed = tar.spawn().map_err(|e| cannot_start(&tar, &e))?;
    let mut xz = Command::new("xz");
    // One thread: several divide the data into blocks by their number.
    xz.args(["-9", "--threads=1", "--stdout"]).stdout(file);
    if let Some(stdout) = packed.stdout.take() {
        xz.stdin(stdout);
    }
    run(&mut xz)?;
    let status = packed
        .wait()
        .map_err(|e| format!("tar cannot be waited for: {e}"))?;
    if status.success() {
        Ok(package)
    } else {
        Err(format!("tar: {status}"))
    }
}

/// The Debian package, by dpkg's own program: cargo-deb would need the list of files a second time.
fn deb(folder: &Path, items: &[Item], seconds: u32) -> Outcome<PathBuf> {
    let stage = emptied(folder.join("deb"))?;
    let bytes = install::lay_out(items, &stage.join("usr"), false)?;
    let control = stage.join("DEBIAN");
    let copyright = stage.join("usr").join(DOCUMENTS).join("copyright");
    let write = || {
        std::fs::create_dir(&control)?;
        std::fs::write(control.join("control"), control_file(bytes))?;
        std::fs::write(copyright, COPYRIGHT)
    };
    write().map_err(|e| format!("{} cannot be written: {e}", control.display()))?;
    settle(&stage, seconds)?;
    let package = folder.join(format!("{PACKAGE}_{VERSION}_amd64.deb"));
    run(Command::new("dpkg-deb")
        .args([
            "--root-owner-group",
            "-Zxz",
            "-z9",
            "--threads-max=1",
            "--build",
        ])
        .args([&stage, &package])
        .env("SOURCE_DATE_EPOCH", seconds.to_string()))?;
    Ok(package)
}

/// What Debian wants to know about the licence, in its place.
const COPYRIGHT: &str = "\
Parallax is licensed under MIT or Apache-2.0, at your choice: LICENSE-MIT and LICENSE-APACHE in this
folder. Packages of others that it contains: THIRD-PARTY-LICENSES.txt and RUST.html.
";

/// The package's description, of files with this sum of lengths.
fn control_file(bytes: u64) -> String {
    let kibibytes = bytes.div_ceil(1024);
    // Lines of a description begin with a space.
    let description = DESCRIPTION.trim_end().replace('\n', "\n ");
    format!(
        "\
Package: {PACKAGE}
Version: {VERSION}
Architecture: amd64
Maintainer: The Parallax developers
Installed-Size: {kibibytes}
Depends: libc6 (>= 2.{FLOOR_OF_PROGRAMS}), libgcc-s1 | libgcc1
Section: devel
Priority: optional
Description: profiler for OpenMP programs
 {description}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_machine_are_replaced() {
        let flags = rustflags(&[("/home/a b/parallax".into(), "/parallax".into())]);
        assert_eq!(flags[0], "--remap-path-prefix=/home/a b/parallax=/parallax");
        let folders: Vec<_> = replaced()
            .unwrap()
            .into_iter()
            .map(|(folder, _)| folder)
            .collect();
        assert!(folders.iter().any(|folder| folder == root()), "{folders:?}");
    }

    #[test]
    fn the_size_is_in_kibibytes_rounded_up() {
        assert!(control_file(1025).contains("\nInstalled-Size: 2\n"));
    }
}
