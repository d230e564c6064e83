//! Tests of display stacks by names, evaluated for all paths of a profile in one pass: a path's
//! result follows from that of its callers.

use experiment::ids::PhaseId;
use experiment::tables::Tables;
use rustc_hash::FxHashMap;

use crate::profile::{Callee, PathId, Profile};
use crate::states::Pseudo;
use crate::views::names::Names;

/// The condition that a test checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// The leaf is one of the names.
    Leaf,
    /// Every name is on the stack.
    All,
    /// One of the names is on the stack.
    Some,
    /// The names are on the stack in this order, callers first; other frames may be between them.
    Ordered,
}

/// A test of stacks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PathTest {
    pub(super) rule: Rule,
    pub(super) names: Vec<String>,
}

impl PathTest {
    /// The result for each phase, by its number. Its stack is the phases that it lies in.
    pub(super) fn phase_answers(&self, tables: &Tables) -> Vec<bool> {
        let phases = (0..tables.phases.len() as u32).map(PhaseId);
        let answer = |phase: PhaseId| {
            let mut open: Vec<&str> = tables
                .phases_of(phase)
                .map(|phase| tables.phase_name(phase))
                .collect();
            open.reverse();
            let mut progress = Progress::default();
            for name in open {
                let matches: Vec<bool> = self.names.iter().map(|it| is_like(it, name)).collect();
                progress.step(self.rule, &matches);
            }
            progress.done(self.rule, self.names.len())
        };
        phases.map(answer).collect()
    }

    /// The result for a stack of names, callers first.
    pub(super) fn answer<'n>(&self, stack: impl DoubleEndedIterator<Item = &'n str>) -> bool {
        let mut progress = Progress::default();
        let matches =
            |name: &str| -> Vec<bool> { self.names.iter().map(|it| is_like(it, name)).collect() };
        if self.rule == Rule::Leaf {
            let mut stack = stack;
            return stack
                .next_back()
                .is_some_and(|leaf| matches(leaf).contains(&true));
        }
        for name in stack {
            progress.step(self.rule, &matches(name));
        }
        progress.done(self.rule, self.names.len())
    }

    /// The result for each path, by its number.
    pub(super) fn answers(&self, profile: &Profile, names: &Names<'_>) -> Vec<bool> {
        let mut matcher = Matcher {
            wanted: &self.names,
            names,
            known: FxHashMap::default(),
        };
        let paths = profile.paths.rows();
        // Time at the empty path is shown as `<Unknown>`.
        let at_root = matcher.matches(Callee::Pseudo(Pseudo::Unknown)).to_vec();
        if self.rule == Rule::Leaf {
            let leaf = |path: usize| match path {
                0 => at_root.contains(&true),
                path => matcher.matches(paths[path].frame.callee).contains(&true),
            };
            return (0..paths.len()).map(leaf).collect();
        }
        let mut found: Vec<Progress> = Vec::with_capacity(paths.len());
        for (id, path) in paths.iter().enumerate() {
            let mut progress = match id {
                0 => Progress::default(),
                _ => found[path.callers.0 as usize].clone(),
            };
            if PathId(id as u32) != PathId::EMPTY {
                progress.step(self.rule, matcher.matches(path.frame.callee));
            }
            found.push(progress);
        }
        let mut root = Progress::default();
        root.step(self.rule, &at_root);
        let mut answers: Vec<bool> = found
            .iter()
            .map(|progress| progress.done(self.rule, self.names.len()))
            .collect();
        answers[0] = root.done(self.rule, self.names.len());
        answers
    }
}

/// How much of a test a stack has matched so far.
#[derive(Clone, Debug, Default)]
struct Progress {
    /// For [`Rule::Ordered`]: names matched in order; else the number of names matched.
    met: usize,
    /// The names matched, for rules that need them.
    which: Vec<u16>,
}

impl Progress {
    fn step(&mut self, rule: Rule, matches: &[bool]) {
        if rule == Rule::Ordered {
            self.met += usize::from(matches.get(self.met).copied().unwrap_or(false));
            return;
        }
        for (at, _) in matches.iter().enumerate().filter(|(_, met)| **met) {
            let at = at as u16;
            if !self.which.contains(&at) {
                self.which.push(at);
            }
        }
        self.met = self.which.len();
    }

    fn done(&self, rule: Rule, wanted: usize) -> bool {
        match rule {
            Rule::Some | Rule::Leaf => self.met > 0,
            Rule::All | Rule::Ordered => self.met == wanted,
        }
    }
}

/// The names of a test that each row matches, computed once for each row.
struct Matcher<'a> {
    wanted: &'a [String],
    names: &'a Names<'a>,
    known: FxHashMap<Callee, Box<[bool]>>,
}

impl Matcher<'_> {
    fn matches(&mut self, callee: Callee) -> &[bool] {
        let (names, wanted) = (self.names, self.wanted);
        self.known.entry(callee).or_insert_with(|| {
            let forms = names.forms(callee);
            let has = |name: &String| forms.iter().any(|form| is_like(name, form));
            wanted.iter().map(has).collect()
        })
    }
}

/// Whether a name matches a pattern, in which `*` matches any text.
pub fn is_like(pattern: &str, name: &str) -> bool {
    if pattern == name {
        return true;
    }
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        if let Some(part) = last.replace(part) {
            let part: &str = part;
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
    }
    last.is_some_and(|last| rest.ends_with(last))
}

#[cfg(test)]
mod tests {
    use super::is_like;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, name, like) in [
            ("foo", "foo", true),
            ("foo", "food", false),
            ("foo*", "food", true),
            ("*bar*", "a bar b", true),
            ("*bar", "barb", false),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "a1c2b", false),
            ("*", "", true),
            ("f(char*)", "f(char*)", true),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(is_like(pattern, name), like, "{pattern} {name}");
        }
    }
}
