//! One name in all experiments for a function that compilers or builds name differently.

use std::collections::BTreeSet;

use experiment::linkage::without_clone;
use rustc_hash::FxHashMap;

use crate::profile::{Callee, Profile};
use crate::views::names::{Names, split_file, unqualified, without_parameters};

/// A source file, by the last part of its path, and a name.
type Key = (String, String);

/// A source file, a name without parameters, and the line of its function.
type Place<'a> = (&'a str, String, u32);

/// The shared names of functions, by their files and own names, where these differ:
///
/// - Another function has the name in one experiment, which adds the file, and none has it in the other.
/// - Debug information of gcc gives a static or contained function, where it is inlined, no scopes and parameters.
/// - The type of a parameter has another name for each runtime (`omp_depend_t`).
#[derive(Debug, Default)]
pub(super) struct CommonNames {
    /// Names with files, by these without.
    in_files: FxHashMap<Key, String>,
    /// Names with scopes and parameters, by these without; `None` if several have them.
    whole: FxHashMap<Key, Option<String>>,
    /// Of names that differ in parameters alone, the first.
    first: FxHashMap<Key, String>,
}

impl CommonNames {
    pub(super) fn of(recordings: &[(&Profile, Names<'_>)], callees: &[Vec<Callee>]) -> CommonNames {
        // (experiment, file, line of a function by itself, name)
        let mut all: Vec<(usize, &str, Option<u32>, String)> = Vec::new();
        for (side, ((_, names), callees)) in recordings.iter().zip(callees).enumerate() {
            for &callee in callees {
                let at = names.written_at(callee);
                if let Some(at) = at
                    && let Some(file) = names.file_name(at.file)
                    && names.construct_of(callee).is_none()
                {
                    let line = matches!(callee, Callee::Function(_)).then_some(at.line);
                    let name = without_clone(&names.name(callee)).to_owned();
                    all.push((side, file, line, name));
                }
            }
        }
        let mut common = CommonNames::default();
        let key = |file: &str, name: &str| (file.to_owned(), name.to_owned());
        for (_, file, _, name) in &all {
            if let (bare, Some(_)) = split_file(name) {
                common.in_files.insert(key(file, bare), name.clone());
            }
        }
        // The names at each, with their experiments.
        let mut lines: FxHashMap<Place<'_>, Vec<(usize, String)>> = FxHashMap::default();
        for (side, file, line, name) in &all {
            let name = common.with_file(file, name);
            let bare = unqualified(&name);
            if bare != split_file(&name).0 {
                let known = common.whole.entry(key(file, bare));
                let known = known.or_insert_with(|| Some(name.clone()));
                // Of several functions of one name, nobody knows which one it is.
                known.take_if(|known| *known != name);
            }
            if let Some(line) = line {
                let at = (*file, without_parameters(&name).to_owned(), *line);
                lines.entry(at).or_default().push((*side, name));
            }
        }
        for ((file, ..), names) in lines {
            let sides: BTreeSet<usize> = names.iter().map(|(side, _)| *side).collect();
            let [(_, first), rest @ ..] = names.as_slice() else {
                continue;
            };
            if sides.len() == names.len() {
                let others = rest.iter().filter(|(_, name)| name != first);
                common
                    .first
                    .extend(others.map(|(_, name)| (key(file, name), first.clone())));
            }
        }
        common
    }

    /// The shared name of the function of a row that is named `name`, or that holds the directive of its construct.
    pub(super) fn name(&self, names: &Names<'_>, callee: Callee, name: &str) -> String {
        let name = without_clone(name);
        let at = names.written_at(callee);
        let Some(file) = at.and_then(|at| names.file_name(at.file)) else {
            return name.to_owned();
        };
        let name = self.with_file(file, name);
        let key = (file.to_owned(), name);
        let whole = self.whole.get(&key).cloned().flatten();
        let whole = whole.map_or(key, |whole| (file.to_owned(), whole));
        self.first.get(&whole).cloned().unwrap_or(whole.1)
    }

    fn with_file(&self, file: &str, name: &str) -> String {
        let key = (file.to_owned(), split_file(name).0.to_owned());
        let known = self.in_files.get(&key);
        known.map_or_else(|| name.to_owned(), String::clone)
    }
}
