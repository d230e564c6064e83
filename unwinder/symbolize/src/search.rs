//! Finds the files that an experiment names on this machine.

use std::path::{Path, PathBuf};

/// The folder of an experiment that holds archived files.
pub const ARCHIVE: &str = "archives";

/// Where sources and load objects are searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchPath {
    /// Folders, in order; `$expts` is the experiment and `.` the current folder.
    folders: Vec<String>,
    /// Beginnings of paths and what replaces them, in order.
    map: Vec<(String, String)>,
}

impl Default for SearchPath {
    fn default() -> SearchPath {
        SearchPath {
            folders: vec!["$expts".to_owned(), ".".to_owned()],
            map: Vec::new(),
        }
    }
}

impl SearchPath {
    /// Searches these folders, separated by colons, and no others.
    pub fn set(&mut self, list: &str) {
        self.folders.clear();
        self.add(list);
    }

    /// Searches these folders, too.
    pub fn add(&mut self, list: &str) {
        let folders = list.split(':').filter(|folder| !folder.is_empty());
        self.folders.extend(folders.map(str::to_owned));
    }

    /// Replaces the beginning of recorded paths; a later rule for the same beginning replaces an
    /// earlier one.
    pub fn map(&mut self, old: &str, new: &str) {
        self.map.retain(|(known, _)| known != old);
        self.map.push((old.to_owned(), new.to_owned()));
    }

    /// The file with path `recorded` in the experiments. Takes the first that exists of: the archived
    /// file, the mapped paths, the path itself, and the path in each folder, with ever more of its
    /// beginning left out.
    pub fn find(&self, recorded: &str, experiments: &[String]) -> Option<PathBuf> {
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
        for folder in &self.folders {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_looked_for_in_the_archive_then_by_rules_then_where_it_was() {
        let mut path = SearchPath::default();
        path.set("/src:$expts");
        path.map("/build", "/elsewhere");
        path.map("/build", "/home/ann");
        let all = path.candidates("/build/app/foo.c", &["a.er".to_owned()]);
        let all: Vec<&str> = all.iter().filter_map(|path| path.to_str()).collect();
        assert_eq!(
            all,
            [
                "a.er/archives/build/app/foo.c",
                "/home/ann/app/foo.c",
                "/build/app/foo.c",
                "/src/build/app/foo.c",
                "/src/app/foo.c",
                "/src/foo.c",
                "a.er/build/app/foo.c",
                "a.er/app/foo.c",
                "a.er/foo.c",
            ]
        );
    }
}
