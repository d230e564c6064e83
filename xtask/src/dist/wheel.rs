//! The wheel: what `pip install` installs.
//!
//! Nothing in it is Python. Its data folder holds the layout below a prefix, which pip copies to that of
//! the environment, and programs lie among the scripts, so that an environment's `PATH` has them and
//! `collect` finds its libraries as in every installation
//! (<https://packaging.python.org/en/latest/specifications/binary-distribution-format/>).

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::{LICENCE, SUMMARY, VERSION, emptied, settle};
use crate::command::run;
use crate::floors::FLOOR_OF_PROGRAMS;
use crate::install::{self, Item, Kind};
use crate::{Outcome, root};

/// The name by which pip installs it; in names of files it has an underscore.
const NAME: &str = "parallax-openmp";

/// Makes the wheel. It is packed by `zip`, whose deflate is its own: that of Python differs with its zlib.
pub(super) fn wheel(folder: &Path, items: &[Item], seconds: u32) -> Outcome<PathBuf> {
    let tag = format!("py3-none-manylinux_2_{FLOOR_OF_PROGRAMS}_x86_64");
    let named = format!("{}-{VERSION}", NAME.replace('-', "_"));
    let stage = emptied(folder.join("wheel"))?;
    let information = PathBuf::from(format!("{named}.dist-info"));

    let mut items: Vec<Item> = items.iter().map(|item| placed(item, &named)).collect();
    let licences = ["LICENSE-APACHE", "LICENSE-MIT"];
    items.extend(licences.map(|name| Item {
        from: root().join(name),
        to: information.join("licenses").join(name),
        kind: Kind::Text,
    }));
    install::lay_out(&items, &stage, false)?;

    let readme = read(&root().join("README.md"))?;
    let mut paths: Vec<PathBuf> = items.into_iter().map(|item| item.to).collect();
    for (name, text) in [
        ("METADATA", metadata(&String::from_utf8_lossy(&readme))),
        ("WHEEL", about(&tag)),
    ] {
        let path = information.join(name);
        write(&stage.join(&path), &text)?;
        paths.push(path);
    }
    // In this order the information stands last, where installers look for it first.
    paths.sort();
    let record = information.join("RECORD");
    write(&stage.join(&record), &recorded(&stage, &paths, &record)?)?;
    paths.push(record);
    settle(&stage, seconds)?;

    let list = folder.join("wheel.txt");
    let lines = paths.iter().map(|path| format!("{}\n", path.display()));
    write(&list, &lines.collect::<String>())?;
    let list = File::open(&list).map_err(|e| format!("{} cannot be read: {e}", list.display()))?;
    let package = folder.join(format!("{named}-{tag}.whl"));
    if package.exists() {
        // `zip` would add to it.
        std::fs::remove_file(&package)
            .map_err(|e| format!("{} cannot be replaced: {e}", package.display()))?;
    }
    run(Command::new("zip")
        // No owners and times of access, no folders.
        .args(["-X", "-D", "-9", "--quiet"])
        .arg(&package)
        .arg("-@")
        .stdin(list)
        .current_dir(&stage)
        // An archive has local times.
        .env("TZ", "UTC")
        .env_remove("ZIPOPT"))?;
    Ok(package)
}

/// A file of the layout below a prefix, where a wheel has it.
fn placed(item: &Item, named: &str) -> Item {
    let data = PathBuf::from(format!("{named}.data"));
    let to = match item.to.strip_prefix("bin") {
        Ok(program) => data.join("scripts").join(program),
        Err(_) => data.join("data").join(&item.to),
    };
    Item {
        from: item.from.clone(),
        to,
        kind: item.kind,
    }
}

/// The description of the package, by the specification of core metadata.
fn metadata(readme: &str) -> String {
    format!(
        "\
Metadata-Version: 2.4
Name: {NAME}
Version: {VERSION}
Summary: {SUMMARY}
License-Expression: {LICENCE}
License-File: LICENSE-APACHE
License-File: LICENSE-MIT
Keywords: openmp,profiler,performance
Classifier: Environment :: Console
Classifier: Intended Audience :: Developers
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Programming Language :: C++
Classifier: Programming Language :: Fortran
Classifier: Topic :: Software Development :: Debuggers
Requires-Python: >=3.6
Description-Content-Type: text/markdown

{readme}"
    )
}

/// What an installer has to know of the wheel itself.
fn about(tag: &str) -> String {
    format!("Wheel-Version: 1.0\nGenerator: parallax\nRoot-Is-Purelib: false\nTag: {tag}\n")
}

/// The list of files with their digests and lengths, and of itself without.
fn recorded(stage: &Path, paths: &[PathBuf], itself: &Path) -> Outcome<String> {
    let mut record = String::new();
    for path in paths {
        let bytes = read(&stage.join(path))?;
        let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(&bytes));
        record += &format!("{},sha256={digest},{}\n", path.display(), bytes.len());
    }
    Ok(record + &format!("{},,\n", itself.display()))
}

fn read(path: &Path) -> Outcome<Vec<u8>> {
    std::fs::read(path).map_err(|e| format!("{} cannot be read: {e}", path.display()))
}

fn write(path: &Path, text: &str) -> Outcome {
    std::fs::write(path, text).map_err(|e| format!("{} cannot be written: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_scripts_and_the_rest_is_data() {
        let at = |to: &str| {
            let item = Item {
                from: "x".into(),
                to: to.into(),
                kind: Kind::Text,
            };
            placed(&item, "p-1").to
        };
        assert_eq!(at("bin/collect"), Path::new("p-1.data/scripts/collect"));
        assert_eq!(
            at("lib/parallax/libcollector.so"),
            Path::new("p-1.data/data/lib/parallax/libcollector.so")
        );
    }

    #[test]
    fn a_record_has_the_digest_of_each_file_but_itself() {
        let stage = tempfile::tempdir().unwrap();
        std::fs::write(stage.path().join("empty"), "").unwrap();
        assert_eq!(
            recorded(stage.path(), &["empty".into()], Path::new("RECORD")).unwrap(),
            "empty,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\nRECORD,,\n"
        );
    }
}
