//! Files that are not in memory: what a report costs that is the first one of the day.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use crate::Outcome;

/// Where the superuser has the kernel drop every clean page that it keeps.
const DROP: &str = "/proc/sys/vm/drop_caches";

/// Writes an experiment out and has the kernel forget its pages. The superuser's way forgets all
/// other files, too, the programs among them. Anybody else can name one file, which GNU's `dd`
/// does; programs then stay in memory. What lies below the kernel may still remember both.
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

/// What is cold, in words.
pub(super) fn words() -> &'static str {
    // Opening it changes nothing, and says whether `forget` may write there.
    match File::options().write(true).open(DROP) {
        Ok(_) => "all files, programs too, dropped from memory before each report",
        Err(_) => "the experiment dropped from memory before each report, not the programs",
    }
}
