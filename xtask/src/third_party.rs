//! The licences of everything that is linked into the programs and the library.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::Outcome;
use crate::command::{cargo, stdout_of};
use crate::install::PACKAGES;

/// A package of others, and its licences.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Package {
    name: String,
    version: String,
    /// An SPDX expression.
    licence: String,
    /// Texts of the licences and notices in the package's folder, which are never empty.
    texts: Vec<String>,
}

/// The licences of all packages that are linked, as text: a list of the packages, then each text once.
///
/// # Errors
/// One sentence that names a package without the text of its licence.
pub(crate) fn licences(target: &str) -> Outcome<String> {
    let mut tree = cargo();
    tree.args(["tree", "--locked", "--target", target, "--prefix", "none"]);
    // Not of build scripts, tests and macros.
    tree.args(["--edges", "normal,no-proc-macro", "--format", "{p}"]);
    tree.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
    let linked = stdout_of(&mut tree)?;
    let linked = names(&linked);

    let mut metadata = cargo();
    metadata.args(["metadata", "--format-version", "1", "--locked"]);
    let metadata = stdout_of(&mut metadata)?;
    let metadata: Value = serde_json::from_str(&metadata)
        .map_err(|e| format!("the output of `cargo metadata` is no JSON: {e}"))?;
    let all = metadata["packages"].as_array().into_iter().flatten();
    let packages: Vec<Package> = all
        // Members of the workspace have no source.
        .filter(|package| !package["source"].is_null())
        .filter(|package| {
            let text = |key: &str| package[key].as_str().unwrap_or_default();
            linked.contains(&(text("name"), text("version")))
        })
        .map(read)
        .collect::<Outcome<_>>()?;
    Ok(document(packages))
}

/// Names and versions of packages by the output of `cargo tree`: `name v1.0 (path)`.
fn names(tree: &str) -> BTreeSet<(&str, &str)> {
    let lines = tree.lines();
    lines
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?, words.next()?.strip_prefix('v')?))
        })
        .collect()
}

/// A package by its entry in the metadata, with the texts in its folder.
fn read(package: &Value) -> Outcome<Package> {
    let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let manifest = PathBuf::from(text("manifest_path"));
    let (name, version, licence) = (text("name"), text("version"), text("license"));
    let mut texts = Vec::new();
    if let Some(folder) = manifest.parent() {
        let cannot = |e| {
            format!(
                "the licences of {name} in {} cannot be read: {e}",
                folder.display()
            )
        };
        // zstd's own licence lies in a folder of the package of its bindings.
        collect(folder, 1, &mut texts).map_err(cannot)?;
    }
    if texts.is_empty() {
        match licence.as_str() {
            "MIT" => texts.push(mit(&name)),
            // The licence is the same text for everyone.
            "Apache-2.0" => texts.push(include_str!("../../LICENSE-APACHE").trim().to_owned()),
            _ => {}
        }
    }
    if texts.is_empty() {
        return Err(format!(
            "{name} {version} is {licence} and has no text of its licence"
        ));
    }
    Ok(Package {
        name,
        version,
        licence,
        texts,
    })
}

/// The MIT licence for a package that names it and does not have its text.
fn mit(name: &str) -> String {
    let ours = include_str!("../../LICENSE-MIT");
    let terms = ours
        .split_once("Permission is")
        .map_or(ours, |(_, rest)| rest);
    format!("MIT License\n\nCopyright (c) the authors of {name}\n\nPermission is{terms}")
}

/// Adds the texts of licences and notices in a folder, and in its folders down to `depth`.
fn collect(folder: &Path, depth: usize, texts: &mut Vec<String>) -> Result<(), std::io::Error> {
    let mut entries = std::fs::read_dir(folder)?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<Vec<_>, _>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            if depth > 0 {
                collect(&path, depth - 1, texts)?;
            }
            continue;
        }
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_uppercase();
        let is_text = [
            "LICENSE",
            "LICENCE",
            "UNLICENSE",
            "COPYING",
            "COPYRIGHT",
            "NOTICE",
        ]
        .iter()
        .any(|word| name.starts_with(word));
        // A module of source code may be called so, too.
        if is_text && !name.ends_with(".RS") {
            let bytes = std::fs::read(&path)?;
            texts.push(
                String::from_utf8_lossy(&bytes)
                    .replace("\r\n", "\n")
                    .trim()
                    .to_owned(),
            );
        }
    }
    Ok(())
}

/// The document: a list of packages with the numbers of their texts, then the texts.
fn document(mut packages: Vec<Package>) -> String {
    packages.sort();
    let mut out = String::from(
        "Parallax contains the following packages, and the standard library of Rust, whose licences are in\n\
         RUST.html beside this file. The numbers are those of the texts below.\n\n",
    );
    let mut texts: Vec<&str> = Vec::new();
    for package in &packages {
        let mut numbers: Vec<usize> = Vec::new();
        for text in &package.texts {
            let at = texts
                .iter()
                .position(|known| known == text)
                .unwrap_or_else(|| {
                    texts.push(text);
                    texts.len() - 1
                });
            numbers.push(at + 1);
        }
        let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
        let Package {
            name,
            version,
            licence,
            ..
        } = package;
        let _ = writeln!(out, "{name} {version}: {licence} [{}]", numbers.join(", "));
    }
    for (at, text) in texts.iter().enumerate() {
        let _ = write!(out, "\n{}\n[{}]\n\n{text}\n", "-".repeat(80), at + 1);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn packages_are_those_of_the_tree() {
        let tree = "collector v0.1.0 (/src)\nzstd v1.5\nzstd v1.4 (*)\n\nzstd v1.5\n";
        let expected = [("collector", "0.1.0"), ("zstd", "1.4"), ("zstd", "1.5")];
        assert!(names(tree).iter().eq(&expected), "{:?}", names(tree));
    }

    #[test]
    fn each_text_is_there_once() {
        let package = |name: &str, texts: &[&str]| Package {
            name: name.into(),
            version: "1.0".into(),
            licence: "MIT".into(),
            texts: texts.iter().map(|&text| text.into()).collect(),
        };
        let text = document(vec![package("b", &["One", "Two"]), package("a", &["Two"])]);
        let (_, list) = text.split_once("\n\n").unwrap();
        let line = "-".repeat(80);
        let expected = format!(
            "a 1.0: MIT [1]\nb 1.0: MIT [2, 1]\n\n{line}\n[1]\n\nTwo\n\n{line}\n[2]\n\nOne\n"
        );
        assert_eq!(list, expected);
    }

    #[test]
    fn a_package_without_a_text_is_an_error_unless_its_licence_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = folder.path().join("Cargo.toml");
        let package = |licence: &str| {
            read(&json!({"name": "it", "version": "1.0", "license": licence,
                         "manifest_path": manifest}))
        };
        assert_eq!(
            package("Zlib"),
            Err("it 1.0 is Zlib and has no text of its licence".into())
        );
        let text = package("MIT").unwrap().texts.remove(0);
        assert!(text.starts_with(
            "MIT License\n\nCopyright (c) the authors of it\n\nPermission is hereby granted"
        ));
        assert!(!text.contains("Parallax"), "{text}");
        let text = package("Apache-2.0").unwrap().texts.remove(0);
        assert!(text.contains("Version 2.0, January 2004"), "{text}");
        std::fs::create_dir(folder.path().join("zstd")).unwrap();
        std::fs::write(folder.path().join("zstd/LICENSE"), "The text\r\nof it\n").unwrap();
        assert_eq!(package("Zlib").unwrap().texts, ["The text\nof it"]);
    }

    /// Of the packages that this workspace has now.
    #[test]
    fn all_that_is_linked_has_its_licence() {
        let text = licences(crate::dist::TARGET).unwrap();
        let list = text.split(&"-".repeat(80)).next().unwrap();
        for linked in [
            "framehop ",
            "gimli ",
            "ratatui ",
            "zstd-sys ",
            "iced-x86 ",
            "perf-event-open ",
        ] {
            assert!(list.contains(&format!("\n{linked}")), "{linked} in {list}");
        }
        for other in [
            "vt100 ",
            "clap_derive ",
            "clap_mangen ",
            "cc ",
            "collector ",
        ] {
            assert!(!list.contains(&format!("\n{other}")), "{other} in {list}");
        }
        assert!(text.contains("Meta Platforms"), "zstd's own licence");
    }
}
