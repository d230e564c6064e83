//! Files of `perf record`.

use std::fs;
use std::sync::OnceLock;

use omp_model::analysis::Analysis;
use omp_model::profile::{Inline, ViewMode};

/// The input is a file. It is converted and attributed.
pub(crate) fn perf_data(input: &[u8]) {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let made = FOLDER.get_or_init(|| tempfile::tempdir_in("/dev/shm").expect("a folder in memory"));
    let path = made
        .path()
        .join(format!("{:?}", std::thread::current().id()));
    fs::write(&path, input).expect("a file in memory");
    if let Ok(experiment) = perf_data::open(&path) {
        Analysis::of(experiment, 1).profile(ViewMode::User, Inline::On);
    }
}
