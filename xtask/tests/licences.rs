//! Every dependency has a licence and a source that `deny.toml` allows.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::process::Command;

use spdx::{Expression, ParseMode};

fn strings(list: &toml::Value) -> Vec<&str> {
    let list = list.as_array().unwrap().iter();
    list.map(|entry| entry.as_str().unwrap()).collect()
}

/// The violations of a package, by its entry in `cargo metadata`.
fn fault(package: &serde_json::Value, licences: &[&str], registries: &[&str]) -> Option<String> {
    let text = |key: &str| package[key].as_str();
    let name = text("name").unwrap();
    // Members of the workspace have no source.
    if let Some(source) = text("source")
        && !registries
            .iter()
            .any(|registry| source == format!("registry+{registry}"))
    {
        return Some(format!("{name} comes from {source}"));
    }
    let Some(licence) = text("license") else {
        return Some(format!("{name} has no licence"));
    };
    // Older packages separate licences by a slash.
    let parsed = Expression::parse_mode(licence, ParseMode::LAX);
    let is_allowed = parsed.is_ok_and(|expression| {
        expression.evaluate(|required| {
            let id = required.license.id();
            id.is_some_and(|id| licences.contains(&id.name))
        })
    });
    (!is_allowed).then(|| format!("{name} is {licence}"))
}

#[test]
fn every_dependency_has_an_allowed_licence_and_source() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let rules: toml::Value =
        toml::from_str(&std::fs::read_to_string(root.join("deny.toml")).unwrap()).unwrap();
    let licences = strings(&rules["licenses"]["allow"]);
    let registries = strings(&rules["sources"]["allow-registry"]);
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(metadata.status.success(), "{metadata:?}");
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100, "{} packages", packages.len());
    let faults: Vec<String> = packages
        .iter()
        .filter_map(|package| fault(package, &licences, &registries))
        .collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn other_licences_and_sources_are_told() {
    let of = |licence: &str, source: &str| {
        let package = serde_json::json!({"name": "it", "license": licence, "source": source});
        fault(&package, &["MIT", "Zlib"], &["https://r"])
    };
    assert_eq!(of("MIT/Apache-2.0", "registry+https://r"), None);
    assert_eq!(of("GPL-3.0-only OR Zlib", "registry+https://r"), None);
    let told = |what: &str| Some(what.to_owned());
    let and = "MIT AND GPL-3.0-only";
    assert_eq!(of(and, "registry+https://r"), told(&format!("it is {and}")));
    assert_eq!(
        of("MIT", "git+https://g"),
        told("it comes from git+https://g")
    );
}
