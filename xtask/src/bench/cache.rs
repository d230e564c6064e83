//! Dropping files from the page cache, to measure reports with a cold cache.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use crate::Outcome;

/// The file by which root makes the kernel drop all clean pages.
const DROP: &str = "/proc/sys/vm/drop_caches";

/// Writes an experiment out and drops its pages from the page cache. Root drops the pages of all
/// other files too, including programs. Other users can drop those of single files, by GNU's
/// `dd`; programs then stay in memory. Caches below the kernel may still hold both.
pub(super) fn forget(experiment: &Path) -> Outcome {
    let records = experiment.join("records");
    let synced = File::open(&records).and_then(|file| file.sync_all());
    synced.map_err(|e| format!("{}: {e}", records.display()))?;
    if std::fs::write(DROP, "1\n").is_ok() {
        return Ok(());
    }
    let mut dd = Command::new("dd");
    dd.arg(format!("if={}", records.display()))
        .args(["iflag=nocache", "count=0", "status=none"]);
    match dd.status() {
        Ok(status) if status.success() => Ok(()),
        _ => Err(format!(
            "{} stays in memory: only the superuser and GNU's dd can make the kernel forget it",
            records.display()
        )),
    }
}

/// A description of what is cold.
pub(super) fn words() -> &'static str {
    // Opening it changes nothing and shows whether `forget` may write to it.
    match File::options().write(true).open(DROP) {
        Ok(_) => "all files, programs too, dropped from memory before each report",
        Err(_) => "the experiment dropped from memory before each report, not the programs",
    }
}
