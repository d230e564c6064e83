//! `cargo xtask install --prefix DIR`, and the layout below a prefix.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{cannot_start, cargo, run};
use crate::{Outcome, packages, root, target};

/// The kind of a file, which decides how it is stripped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Stripped of all symbols that the dynamic linker does not need.
    Program,
    /// Stripped of debug information only: the library's frames are in users' stacks and need
    /// names.
    Library,
    Text,
}

/// A file to install: its path, and its destination below the prefix.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) from: PathBuf,
    pub(crate) to: PathBuf,
    pub(crate) kind: Kind,
}

/// The packages of the programs and of the libraries.
pub(crate) const PACKAGES: [&str; 6] = [
    "collector",
    "collector-runtime",
    "race-library",
    "compare-library",
    "er-print",
    "analyzer-tui",
];

/// The programs and the library below cargo's folder of a profile.
pub(crate) const PROGRAMS: [&str; 3] = ["collect", "er_print", "analyzer"];
/// The libraries that are loaded into programs under test.
pub(crate) const LIBRARIES: [&str; 3] = [
    "libcollector.so",
    "libparallax_races.so",
    "libparallax_compare.so",
];

/// Builds the programs and the library in release mode.
pub(crate) fn build_release() -> Outcome {
    run(&mut release_build())
}

/// The command that builds the programs and the library in release mode.
pub(crate) fn release_build() -> Command {
    let mut build = cargo();
    build.args(["build", "--release"]);
    build.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
    build
}

/// Builds in release mode and installs what users need below `prefix`. `collect` finds the library
/// by its relative path below the prefix, so the folder can be moved as a whole.
///
/// The installed files are stripped. With `debug_files`, a folder `.debug` beside each program holds
/// its debug information, where gdb, perf and the backtraces of Rust's panics find it wherever the
/// prefix is.
pub(crate) fn install(prefix: &Path, debug_files: bool) -> Outcome {
    packages::program("objcopy", "binutils", "stripping what is installed")?;
    build_release()?;
    println!();
    let items = items(root(), &target().join("release"))?;
    let bytes = lay_out(&items, prefix, debug_files)?;
    for item in items {
        println!("{}", prefix.join(item.to).display());
    }
    println!("{:.1} MB", bytes as f64 / 1e6);
    Ok(())
}

/// Copies the files below `prefix`, stripped, and returns the sum of their lengths.
pub(crate) fn lay_out(items: &[Item], prefix: &Path, debug_files: bool) -> Outcome<u64> {
    let mut bytes = 0;
    for item in items {
        let to = prefix.join(&item.to);
        let made = match item.kind {
            Kind::Text => copy(&item.from, &to),
            Kind::Program | Kind::Library => install_stripped(item, &to, debug_files),
        };
        bytes += made.map_err(|e| format!("{} cannot be installed: {e}", to.display()))?;
    }
    Ok(bytes)
}

/// The name of the package, and of our folders below a prefix.
pub(crate) const PACKAGE: &str = "parallax";

/// Where the documents lie below a prefix. They keep their places relative to README.md, which links
/// to them.
pub(crate) const DOCUMENTS: &str = "share/doc/parallax";

/// Folders of the repository whose files are installed: those with this ending, and where.
const FOLDERS: [(&str, &str, &str); 10] = [
    ("docs/man", ".1", "share/man/man1"),
    (
        "docs/completions",
        ".bash",
        "share/bash-completion/completions",
    ),
    (
        "docs/completions",
        ".fish",
        "share/fish/vendor_completions.d",
    ),
    ("docs/completions", "_er_print", "share/zsh/site-functions"),
    ("collector/runtime/include", "", "include/parallax"),
    ("collector/gasp", "-upcc", "bin"),
    ("collector/gasp", ".c", "share/parallax/gasp"),
    ("collector/gasp", ".h", "share/parallax/gasp"),
    ("docs", ".md", "share/doc/parallax/docs"),
    ("docs/pictures", ".svg", "share/doc/parallax/docs/pictures"),
];

/// The files to install, of a checkout and of cargo's folder `release`.
pub(crate) fn items(root: &Path, release: &Path) -> Outcome<Vec<Item>> {
    let item = |from: PathBuf, to: PathBuf, kind| Item { from, to, kind };
    let mut items: Vec<Item> = PROGRAMS
        .iter()
        .map(|name| {
            item(
                release.join(name),
                Path::new("bin").join(name),
                Kind::Program,
            )
        })
        .collect();
    items.extend(LIBRARIES.map(|name| {
        item(
            release.join(name),
            Path::new("lib/parallax").join(name),
            Kind::Library,
        )
    }));
    for (folder, ending, to) in FOLDERS {
        for from in files(&root.join(folder))? {
            let name = from.file_name().unwrap_or_default().to_string_lossy();
            if name.ends_with(ending) {
                // bash-completion looks for a file that has the command's name.
                let name = name.strip_suffix(".bash").unwrap_or(&name);
                let to = Path::new(to).join(name);
                items.push(item(from, to, Kind::Text));
            }
        }
    }
    for from in files(root)? {
        let name = from.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".md") || name.starts_with("LICENSE-") {
            let to = Path::new(DOCUMENTS).join(&*name);
            items.push(item(from, to, Kind::Text));
        }
    }
    Ok(items)
}

/// The files of a folder by name, without its folders; none if it does not exist.
fn files(folder: &Path) -> Outcome<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let read = |e| format!("{} cannot be read: {e}", folder.display());
    let entries = std::fs::read_dir(folder).map_err(read)?;
    let paths = entries.map(|entry| entry.map(|e| e.path()));
    let mut paths: Vec<PathBuf> = paths.collect::<Result<_, _>>().map_err(read)?;
    paths.retain(|path| path.is_file());
    paths.sort();
    Ok(paths)
}

/// The temporary path of a file before it is renamed, so that a running program keeps its old file.
fn aside(to: &Path) -> PathBuf {
    let mut aside = to.to_owned().into_os_string();
    aside.push(".new");
    aside.into()
}

/// Renames a file from its temporary path ([`aside`]) and returns its length.
fn finish(to: &Path, mode: u32) -> Result<u64, std::io::Error> {
    let aside = aside(to);
    std::fs::set_permissions(&aside, PermissionsExt::from_mode(mode))?;
    let length = std::fs::metadata(&aside)?.len();
    std::fs::rename(&aside, to)?;
    Ok(length)
}

/// Copies a file and returns its length.
fn copy(from: &Path, to: &Path) -> Result<u64, String> {
    let copy = || {
        if let Some(folder) = to.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::copy(from, aside(to))?;
        // A script can be run.
        let mode = std::fs::metadata(from)?.permissions().mode();
        finish(to, if mode & 0o100 == 0 { 0o644 } else { 0o755 })
    };
    copy().map_err(|e| e.to_string())
}

/// Copies an ELF file stripped, and with `debug_files` also its debug information. Returns the sum
/// of their lengths.
fn install_stripped(item: &Item, to: &Path, debug_file: bool) -> Result<u64, String> {
    let text = |e: std::io::Error| e.to_string();
    let folder = to.parent().ok_or("it has no folder")?;
    let name = to.file_name().ok_or("it has no name")?;
    std::fs::create_dir_all(folder).map_err(text)?;
    let mut strip = Command::new("objcopy");
    strip.arg(match item.kind {
        Kind::Program => "--strip-all",
        Kind::Library | Kind::Text => "--strip-debug",
    });
    let mut bytes = 0;
    if debug_file {
        let mut name = name.to_owned();
        name.push(".debug");
        let debug = folder.join(".debug").join(name);
        std::fs::create_dir_all(folder.join(".debug")).map_err(text)?;
        // With zlib, which every debugger reads.
        objcopy(
            Command::new("objcopy")
                .args(["--only-keep-debug", "--compress-debug-sections=zlib"])
                .args([&item.from, &aside(&debug)]),
        )?;
        bytes += finish(&debug, 0o644).map_err(text)?;
        strip.arg("--add-gnu-debuglink").arg(&debug);
    }
    objcopy(strip.args([&item.from, &aside(to)]))?;
    Ok(bytes + finish(to, 0o755).map_err(text)?)
}

fn objcopy(command: &mut Command) -> Outcome {
    let out = command.output().map_err(|e| cannot_start(command, &e))?;
    if out.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&out.stderr).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_that_of_a_prefix() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in [
            "docs/man/collect.1",
            "docs/man/notes.txt",
            "docs/completions/_er_print",
            "docs/completions/er_print.bash",
            "docs/completions/er_print.fish",
            "docs/metrics.md",
            "docs/pictures/regions.svg",
            "collector/runtime/include/collectorAPI.h",
            "collector/gasp/parallax-upcc",
            "collector/gasp/pupc.h",
            "Cargo.toml",
            "README.md",
            "LICENSE-MIT",
        ] {
            std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            std::fs::write(root.join(name), "x").unwrap();
        }
        let items = items(root, Path::new("/r")).unwrap();
        let copied = root.join("prefix/share/doc/parallax/README.md");
        assert_eq!(copy(&items[16].from, &copied), Ok(1));
        assert_eq!(std::fs::read_to_string(&copied).unwrap(), "x");
        let to: Vec<_> = items.into_iter().map(|item| (item.to, item.kind)).collect();
        let expected = [
            ("bin/collect", Kind::Program),
            ("bin/er_print", Kind::Program),
            ("bin/analyzer", Kind::Program),
            ("lib/parallax/libcollector.so", Kind::Library),
            ("lib/parallax/libparallax_races.so", Kind::Library),
            ("lib/parallax/libparallax_compare.so", Kind::Library),
            ("share/man/man1/collect.1", Kind::Text),
            ("share/bash-completion/completions/er_print", Kind::Text),
            ("share/fish/vendor_completions.d/er_print.fish", Kind::Text),
            ("share/zsh/site-functions/_er_print", Kind::Text),
            ("include/parallax/collectorAPI.h", Kind::Text),
            ("bin/parallax-upcc", Kind::Text),
            ("share/parallax/gasp/pupc.h", Kind::Text),
            ("share/doc/parallax/docs/metrics.md", Kind::Text),
            ("share/doc/parallax/docs/pictures/regions.svg", Kind::Text),
            ("share/doc/parallax/LICENSE-MIT", Kind::Text),
            ("share/doc/parallax/README.md", Kind::Text),
        ];
        assert_eq!(to, expected.map(|(path, kind)| (PathBuf::from(path), kind)));
    }

    /// Uses this test's own executable as a program with debug information.
    #[test]
    fn what_is_installed_is_stripped_and_finds_its_debug_file() {
        let folder = tempfile::tempdir().unwrap();
        let item = Item {
            from: std::env::current_exe().unwrap(),
            to: "bin/program".into(),
            kind: Kind::Program,
        };
        let whole = std::fs::metadata(&item.from).unwrap().len();
        let to = folder.path().join(&item.to);
        let stripped = install_stripped(&item, &to, false).unwrap();
        assert!(stripped < whole / 2, "{stripped} of {whole} bytes");
        assert!(!folder.path().join("bin/.debug").exists());
        let listed = Command::new(&to).arg("--list").output().unwrap();
        assert!(listed.status.success(), "it still runs");

        let both = install_stripped(&item, &to, true).unwrap();
        let debug = folder.path().join("bin/.debug/program.debug");
        let length = |path: &Path| std::fs::metadata(path).unwrap().len();
        assert_eq!(both, length(&to) + length(&debug));
        let link = Command::new("objcopy")
            .args(["--dump-section", ".gnu_debuglink=/dev/stdout"])
            .args([&to, Path::new("/dev/null")])
            .output()
            .unwrap();
        assert!(link.stdout.starts_with(b"program.debug\0"), "{link:?}");
    }
}
