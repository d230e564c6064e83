//! Where sources are looked for, and how they are annotated.

use std::path::{Path, PathBuf};

/// Comments that annotated sources and instructions have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Comments {
    /// Waits of OpenMP constructs at their lines.
    pub(crate) waits: bool,
    /// Inlined functions at the lines into which they were inlined.
    pub(crate) inlined: bool,
    /// Source lines between instructions.
    pub(crate) source: bool,
}

impl Comments {
    /// Every comment.
    pub(crate) const ALL: Comments = Comments {
        waits: true,
        inlined: true,
        source: true,
    };

    /// None.
    pub(crate) const NONE: Comments = Comments {
        waits: false,
        inlined: false,
        source: false,
    };
}

/// What commands on places set.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Places {
    /// Folders in which sources and load objects are looked for, in order; `$expts` is the
    /// experiment and `.` the current folder.
    pub(crate) path: Vec<String>,
    /// Beginnings of paths and what replaces them, in order.
    pub(crate) map: Vec<(String, String)>,
    /// Source lines with at least this percentage of a column's largest value are hot.
    pub(crate) source_hot: f64,
    /// The same for instructions.
    pub(crate) instruction_hot: f64,
    /// Comments in sources.
    pub(crate) source_comments: Comments,
    /// Comments in instructions.
    pub(crate) instruction_comments: Comments,
}

impl Default for Places {
    fn default() -> Places {
        Places {
            path: vec!["$expts".to_owned(), ".".to_owned()],
            map: Vec::new(),
            source_hot: 75.0,
            instruction_hot: 75.0,
            source_comments: Comments::ALL,
            instruction_comments: Comments::ALL,
        }
    }
}

/// The folder of an experiment that holds archived files.
const ARCHIVE: &str = "archives";

impl Places {
    /// The file that a recording calls `recorded`: the first that there is of the archived one,
    /// the recorded path, its mapped forms, and the search path with ever shorter ends of it.
    pub(crate) fn find(&self, recorded: &str, experiments: &[String]) -> Option<PathBuf> {
        self.candidates(recorded, experiments)
            .into_iter()
            .find(|path| path.is_file())
    }

    fn candidates(&self, recorded: &str, experiments: &[String]) -> Vec<PathBuf> {
        let archived = experiments.iter().map(|experiment| {
            let archive = Path::new(experiment).join(ARCHIVE);
            archive.join(recorded.trim_start_matches('/'))
        });
        let mut all: Vec<PathBuf> = archived.collect();
        for (old, new) in &self.map {
            if let Some(rest) = recorded.strip_prefix(old.as_str()) {
                all.push(PathBuf::from(format!("{new}{rest}")));
            }
        }
        all.push(PathBuf::from(recorded));
        let parts: Vec<&str> = recorded
            .split('/')
            .filter(|part| !part.is_empty())
            .collect();
        for folder in &self.path {
            let folders = match folder.as_str() {
                "$expts" => experiments.iter().map(PathBuf::from).collect(),
                folder => vec![PathBuf::from(folder)],
            };
            for folder in folders {
                let ends = (0..parts.len()).map(|from| folder.join(parts[from..].join("/")));
                all.extend(ends);
            }
        }
        all
    }
}
