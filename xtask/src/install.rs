//! `cargo xtask install --prefix DIR`.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::command::{cargo, run};
use crate::{Outcome, root, target};

/// A file to install: from where, to where below the prefix, and whether it is executable.
#[derive(Debug, PartialEq, Eq)]
struct Item {
    from: PathBuf,
    to: PathBuf,
    executable: bool,
}

/// Builds everything in release mode, without the programs that only this repository needs.
pub(crate) fn build_release() -> Outcome {
    run(cargo().args(["build", "--release", "--workspace"]).args([
        "--exclude",
        "xtask",
        "--exclude",
        "fixtures",
    ]))
}

/// Builds in release mode and copies what users need below `prefix`. `collect` finds the library
/// by the place that both have below the prefix, so the folder can be moved as a whole.
pub(crate) fn install(prefix: &Path) -> Outcome {
    build_release()?;
    println!();
    for item in items(root(), &target().join("release"))? {
        let to = prefix.join(&item.to);
        copy(&item, &to).map_err(|e| format!("{} cannot be installed: {e}", to.display()))?;
        println!("{}", to.display());
    }
    Ok(())
}

/// What there is to install.
fn items(root: &Path, release: &Path) -> Outcome<Vec<Item>> {
    let item = |from: PathBuf, to: &str, executable| Item {
        from,
        to: to.into(),
        executable,
    };
    let mut items = vec![
        item(release.join("collect"), "bin/collect", true),
        item(release.join("er_print"), "bin/er_print", true),
        item(
            release.join("libcollector.so"),
            "lib/parallax/libcollector.so",
            true,
        ),
    ];
    if root.join("analyzer-tui/Cargo.toml").is_file() {
        items.push(item(release.join("analyzer"), "bin/analyzer", true));
    }
    for page in files(&root.join("docs/man"))? {
        if page.extension().is_some_and(|e| e == "1") {
            let name = page.file_name().unwrap_or_default().to_owned();
            let to = Path::new("share/man/man1").join(name);
            items.push(Item {
                from: page,
                to,
                executable: false,
            });
        }
    }
    for name in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        let from = root.join(name);
        if from.is_file() {
            items.push(item(from, &format!("share/doc/parallax/{name}"), false));
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

/// Copies beside the destination and renames, so that a program that runs keeps its old file.
fn copy(item: &Item, to: &Path) -> std::io::Result<()> {
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut aside = to.to_owned().into_os_string();
    aside.push(".new");
    std::fs::copy(&item.from, &aside)?;
    let mode = if item.executable { 0o755 } else { 0o644 };
    std::fs::set_permissions(&aside, PermissionsExt::from_mode(mode))?;
    std::fs::rename(&aside, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_that_of_a_prefix() {
        let root = std::env::temp_dir().join(format!("xtask-install-{}", std::process::id()));
        std::fs::create_dir_all(root.join("docs/man")).unwrap();
        for name in [
            "docs/man/collect.1",
            "docs/man/notes.txt",
            "README.md",
            "LICENSE-MIT",
        ] {
            std::fs::write(root.join(name), "x").unwrap();
        }
        let items = items(&root, Path::new("/r"));
        let copied = root.join("prefix/share/doc/parallax/README.md");
        let installed = items.as_ref().map(|items| copy(&items[4], &copied));
        let text = std::fs::read_to_string(&copied);
        std::fs::remove_dir_all(&root).unwrap();
        assert!(installed.unwrap().is_ok());
        assert_eq!(text.unwrap(), "x");
        let to: Vec<_> = items
            .unwrap()
            .into_iter()
            .map(|i| (i.to, i.executable))
            .collect();
        let expected = [
            ("bin/collect", true),
            ("bin/er_print", true),
            ("lib/parallax/libcollector.so", true),
            ("share/man/man1/collect.1", false),
            ("share/doc/parallax/README.md", false),
            ("share/doc/parallax/LICENSE-MIT", false),
        ];
        assert_eq!(
            to,
            expected.map(|(path, executable)| (PathBuf::from(path), executable))
        );
    }
}
