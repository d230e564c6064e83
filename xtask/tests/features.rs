//! Features of dependencies stand in one place, so that cargo compiles each dependency once.

use std::path::Path;

/// A member that asked for a feature of its own would have its dependencies, and all crates upon them,
/// compiled anew for `cargo build`, `cargo test` and each `-p`: minutes in a run of all tests.
#[test]
fn members_name_no_features_of_dependencies() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path: &Path| -> toml::Table {
        let text = std::fs::read_to_string(path).expect("a manifest");
        text.parse().expect("cargo reads it, too")
    };
    let workspace = read(&root.join("Cargo.toml"));
    let members = workspace["workspace"]["members"]
        .as_array()
        .expect("a list");
    assert!(members.len() > 20, "{members:?}");
    for member in members {
        let member = member.as_str().expect("a folder");
        let manifest = read(&root.join(member).join("Cargo.toml"));
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let Some(dependencies) = manifest.get(kind).and_then(toml::Value::as_table) else {
                continue;
            };
            for (name, dependency) in dependencies {
                let has_features = dependency.get("features").is_some();
                assert!(
                    !has_features,
                    "{member}: the features of {name} belong into the workspace's Cargo.toml"
                );
            }
        }
    }
}
