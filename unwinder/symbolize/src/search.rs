//! Finds the files that an experiment names on this machine.

use std::path::{Path, PathBuf};

/// The folder of an experiment that holds archived files.
pub const ARCHIVE: &str = "archives";

/// Where sources and load objects are searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchPath {
    /// Folders, in order, and whether the user gave them; `$expts` is the experiment and `.` the current
    /// folder.
    folders: Vec<(String, bool)>,
    /// Beginnings of paths and what replaces them, in order.
    map: Vec<(String, String)>,
}

impl Default for SearchPath {
    fn default() -> SearchPath {
        SearchPath {
            folders: vec![("$expts".to_owned(), false), (".".to_owned(), false)],
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
        self.folders
            .extend(folders.map(|folder| (folder.to_owned(), true)));
    }

    /// Replaces the beginning of recorded paths; a later rule for the same beginning replaces an
    /// earlier one.
    pub fn map(&mut self, old: &str, new: &str) {
        self.map.retain(|(known, _)| known != old);
        self.map.push((old.to_owned(), new.to_owned()));
    }

    /// A recorded path with its beginning replaced; `None` if no rule is about it.
    pub fn mapped(&self, recorded: &str) -> Option<String> {
        let mut rules = self.map.iter();
        rules.find_map(|(old, new)| Some(format!("{new}{}", recorded.strip_prefix(old.as_str())?)))
    }

    /// The first file with path `recorded` that exists: its [candidates](Self::candidates) are tried in
    /// their order.
    pub fn find(&self, recorded: &str, experiments: &[String]) -> Option<PathBuf> {
        let mut all = self.candidates(recorded, experiments).into_iter();
        all.find(|found| found.path.is_file())
            .map(|found| found.path)
    }

    /// The places of a file with path `recorded` in the experiments: the archived file, the mapped paths,
    /// the path itself, and the path in each folder, with ever more of its beginning left out. A recorded
    /// path leads out of no folder.
    pub fn candidates(&self, recorded: &str, experiments: &[String]) -> Vec<Candidate> {
        let inside = within(recorded);
        let mut all: Vec<Candidate> = Vec::new();
        let mut add = |path: PathBuf, place: Place| all.push(Candidate { path, place });
        for experiment in experiments {
            let archive = Path::new(experiment).join(ARCHIVE);
            add(archive.join(inside.join("/")), Place::Experiment);
        }
        for (old, new) in &self.map {
            if let Some(rest) = recorded.strip_prefix(old.as_str()) {
                let is_whole = !rest.split('/').any(|part| part == "..");
                let path = PathBuf::from(format!("{new}{rest}"));
                add(
                    path,
                    if is_whole {
                        Place::Given
                    } else {
                        Place::Recorded
                    },
                );
            }
        }
        add(PathBuf::from(recorded), Place::Recorded);
        for (folder, given) in &self.folders {
            let (folders, place) = match (folder.as_str(), given) {
                ("$expts", _) => {
                    let experiments = experiments.iter().map(PathBuf::from);
                    (experiments.collect(), Place::Experiment)
                }
                (folder, true) => (vec![PathBuf::from(folder)], Place::Given),
                (folder, false) => (vec![PathBuf::from(folder)], Place::Recorded),
            };
            for folder in folders {
                for from in 0..inside.len() {
                    add(folder.join(inside[from..].join("/")), place);
                }
            }
        }
        all
    }
}

/// The parts of a path below a folder: `..` takes away the part before it, and leads no further up.
fn within(recorded: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for part in recorded.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts
}

/// A place where a file may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its path.
    pub path: PathBuf,
    /// Who says that it is there.
    pub place: Place,
}

/// Who says where a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It is inside an experiment. It may be a link to anywhere.
    Experiment,
    /// The user, by a folder or a rule.
    Given,
    /// The experiment alone, whoever made it.
    Recorded,
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
        let all: Vec<&str> = all.iter().filter_map(|it| it.path.to_str()).collect();
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

    #[test]
    fn a_recorded_path_leads_out_of_no_folder() {
        let mut path = SearchPath::default();
        path.add("/src");
        path.map("/build", "/home/ann");
        let all = path.candidates("/build/../../etc/shadow", &["a.er".to_owned()]);
        let all: Vec<(&str, Place)> = all
            .iter()
            .map(|it| (it.path.to_str().unwrap(), it.place))
            .collect();
        assert_eq!(
            all,
            [
                ("a.er/archives/etc/shadow", Place::Experiment),
                ("/home/ann/../../etc/shadow", Place::Recorded),
                ("/build/../../etc/shadow", Place::Recorded),
                ("a.er/etc/shadow", Place::Experiment),
                ("a.er/shadow", Place::Experiment),
                ("./etc/shadow", Place::Recorded),
                ("./shadow", Place::Recorded),
                ("/src/etc/shadow", Place::Given),
                ("/src/shadow", Place::Given),
            ]
        );
    }
}
