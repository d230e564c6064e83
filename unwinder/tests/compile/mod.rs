//! Builds the programs under `tests/programs`.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex};

/// A folder of this test binary, emptied when the process first asks for it.
fn scratch() -> &'static Path {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(env!("CARGO_CRATE_NAME"));
        // There is none on the first run.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("scratch folder");
        folder
    });
    &FOLDER
}

/// A path that no other call of this process returned.
pub fn fresh_path(stem: &str) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    scratch().join(format!("{stem}-{number}"))
}

/// Compiles `source` of `tests/programs`, once for each set of words.
pub fn build(compiler: &str, source: &str, words: &str) -> PathBuf {
    static BUILT: Mutex<Option<HashMap<String, PathBuf>>> = Mutex::new(None);
    let mut built = BUILT.lock().expect("no other build panicked");
    let key = format!("{compiler} {words} {source}");
    built
        .get_or_insert_with(HashMap::new)
        .entry(key.clone())
        .or_insert_with(|| {
            let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
            // Some compilers write files of split debug information into the current directory.
            let folder = fresh_path("build");
            fs::create_dir(&folder).expect("a fresh folder");
            let program = folder.join("program");
            let output = Command::new(compiler)
                .current_dir(folder)
                .args(words.split_whitespace())
                .arg(sources.join(source))
                .arg("-o")
                .arg(&program)
                .args(["-lm", "-pthread"])
                .output()
                .expect("the compiler runs");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{key}: {said}");
            program
        })
        .clone()
}
