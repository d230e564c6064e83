//! `cargo xtask install --prefix DIR`.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{cannot_start, cargo, run};
use crate::{Outcome, packages, root, target};

/// The kind of a file, which decides how it is stripped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Stripped of all symbols that the dynamic linker does not need.
    Program,
    /// Stripped of debug information only: the library's frames are in users' stacks and need
    /// names.
    Library,
    Text,
}

/// A file to install: its path, and its destination below the prefix.
#[derive(Debug, PartialEq, Eq)]
struct Item {
    from: PathBuf,
    to: PathBuf,
    kind: Kind,
}

/// Builds everything in release mode, except what only this repository's tests and tasks need.
pub(crate) fn build_release() -> Outcome {
    run(cargo().args(["build", "--release", "--workspace"]).args([
        "--exclude",
        "xtask",
        "--exclude",
        "fixtures",
    ]))
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
    let mut bytes = 0;
    for item in items(root(), &target().join("release"))? {
        let to = prefix.join(&item.to);
        let made = match item.kind {
            Kind::Text => copy(&item.from, &to),
            Kind::Program | Kind::Library => install_stripped(&item, &to, debug_files),
        };
        bytes += made.map_err(|e| format!("{} cannot be installed: {e}", to.display()))?;
        println!("{}", to.display());
    }
    println!("{:.1} MB", bytes as f64 / 1e6);
    Ok(())
}

/// The files to install.
fn items(root: &Path, release: &Path) -> Outcome<Vec<Item>> {
    let item = |from: PathBuf, to: &str, kind| Item {
        from,
        to: to.into(),
        kind,
    };
    let mut items = vec![
        item(release.join("collect"), "bin/collect", Kind::Program),
        item(release.join("er_print"), "bin/er_print", Kind::Program),
        item(release.join("analyzer"), "bin/analyzer", Kind::Program),
        item(
            release.join("libcollector.so"),
            "lib/parallax/libcollector.so",
            Kind::Library,
        ),
    ];
    for page in files(&root.join("docs/man"))? {
        if page.extension().is_some_and(|e| e == "1") {
            let name = page.file_name().unwrap_or_default().to_owned();
            let to = Path::new("share/man/man1").join(name);
            items.push(Item {
                from: page,
                to,
                kind: Kind::Text,
            });
        }
    }
    for header in files(&root.join("collector/runtime/include"))? {
        let name = header.file_name().unwrap_or_default().to_owned();
        let to = Path::new("include/parallax").join(name);
        items.push(Item {
            from: header,
            to,
            kind: Kind::Text,
        });
    }
    for name in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        let from = root.join(name);
        if from.is_file() {
            items.push(item(
                from,
                &format!("share/doc/parallax/{name}"),
                Kind::Text,
            ));
        }
    }
    Ok(items)
}

/// The files of a folder by name; none if it does not exist.
fn files(folder: &Path) -> Outcome<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let read = |e| format!("{} cannot be read: {e}", folder.display());
    let entries = std::fs::read_dir(folder).map_err(read)?;
    let paths = entries.map(|entry| entry.map(|e| e.path()));
    let mut paths: Vec<PathBuf> = paths.collect::<Result<_, _>>().map_err(read)?;
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
        finish(to, 0o644)
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
        std::fs::create_dir_all(root.join("docs/man")).unwrap();
        std::fs::create_dir_all(root.join("collector/runtime/include")).unwrap();
        for name in [
            "docs/man/collect.1",
            "collector/runtime/include/collectorAPI.h",
            "docs/man/notes.txt",
            "README.md",
            "LICENSE-MIT",
        ] {
            std::fs::write(root.join(name), "x").unwrap();
        }
        let items = items(root, Path::new("/r")).unwrap();
        let copied = root.join("prefix/share/doc/parallax/README.md");
        assert_eq!(copy(&items[6].from, &copied), Ok(1));
        assert_eq!(std::fs::read_to_string(&copied).unwrap(), "x");
        let to: Vec<_> = items.into_iter().map(|item| (item.to, item.kind)).collect();
        let expected = [
            ("bin/collect", Kind::Program),
            ("bin/er_print", Kind::Program),
            ("bin/analyzer", Kind::Program),
            ("lib/parallax/libcollector.so", Kind::Library),
            ("share/man/man1/collect.1", Kind::Text),
            ("include/parallax/collectorAPI.h", Kind::Text),
            ("share/doc/parallax/README.md", Kind::Text),
            ("share/doc/parallax/LICENSE-MIT", Kind::Text),
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
