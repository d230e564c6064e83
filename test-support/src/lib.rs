//! Experiments for tests: made by hand with [`Builder`], or by chance with [`Recording`].
//!
//! Unit tests of `experiment` cannot use it: it is built with another `experiment` than the one
//! under test.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot write its experiment has failed"
)]

mod builder;
mod findings;
mod noise;
mod ranks;
mod recording;

use std::path::PathBuf;

use tempfile::TempDir;

pub use builder::Builder;
pub use findings::{SOURCE, divergences, findings, later_findings};
pub use noise::skewed;
pub use ranks::{Job, Message};
pub use recording::{JITTER_NS, Recording, assert_same_tables};

/// A path for one experiment, in a temporary folder of its own.
#[derive(Debug)]
pub struct TempExperiment {
    /// The path, at which nothing exists yet.
    pub path: PathBuf,
    _folder: TempDir,
}

impl TempExperiment {
    /// The path ends in `name.er`.
    #[must_use]
    pub fn new(name: &str) -> TempExperiment {
        let folder = tempfile::tempdir().unwrap();
        TempExperiment {
            path: folder.path().join(name).with_extension("er"),
            _folder: folder,
        }
    }
}
