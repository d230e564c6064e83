//! Comparison of several experiments: functions, paths and lines under shared names, independent of
//! compiler and runtime.

mod common;
mod constructs;
pub mod groups;
pub mod join;
pub mod overview;
pub mod scaling;
#[cfg(test)]
mod tests;
pub mod verdict;

use experiment::ids::FrameId;
use experiment::symbols::Construct;
use experiment::tables::{Interner, Module};
use rustc_hash::FxHashMap;

use super::annotated::Pc;
use super::calltree::{self, CallTree};
use super::fragment::{self, NamedCode, Piece};
use super::functions::{self, List};
use super::lines;
use super::names::{NameForm, Names, construct_words};
use super::neighbours::{self, Neighbours};
use super::tree::Tree;
use super::{Code, Request};
use crate::metrics::Metric;
use crate::profile::{Callee, Path, Profile};
use crate::states::Pseudo;
use common::CommonNames;
use constructs::Lines;

/// A name shared by several experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct NameId(u32);

/// Experiments whose rows have shared names.
///
/// A function has its own name, without the suffix that a compiler adds to a clone (`[clone
/// .part.0]`). The body of a construct is named by the function that holds the directive, the
/// construct and its line, without its symbol. If compilers disagree about the line, or the source
/// changed between the runs, [`constructs`] matches the lines.
#[derive(Debug)]
pub struct Shared<'a> {
    sides: Vec<Side<'a>>,
    names: Interner<String>,
}

/// One experiment.
#[derive(Debug)]
struct Side<'a> {
    profile: &'a Profile,
    names: Names<'a>,
    ids: FxHashMap<Callee, NameId>,
    /// Shared names by the experiment's own names.
    by_name: FxHashMap<String, NameId>,
    /// The code of each name: the lowest address if there are several.
    codes: FxHashMap<NameId, Code>,
}

impl Side<'_> {
    /// The name of time without a stack.
    fn unknown(&self) -> NameId {
        self.ids[&Callee::Pseudo(Pseudo::Unknown)]
    }

    /// The name of a path's leaf.
    fn ids(&self) -> impl FnMut(&Path) -> NameId {
        let mut canonical = self.names.canonical();
        move |path| self.ids[&canonical.of(path.frame.callee)]
    }
}

/// The kind of a construct, and the shared name of the function that holds its directive.
type ConstructKey = (Construct, Option<String>);

impl<'a> Shared<'a> {
    /// Finds the shared names of experiments.
    pub fn new(recordings: &[(&'a Profile, Names<'a>)]) -> Shared<'a> {
        let callees: Vec<Vec<Callee>> = recordings
            .iter()
            .map(|(profile, names)| callees(profile, names))
            .collect();
        let common = CommonNames::of(recordings, &callees);
        let lines = lines_of(recordings, &callees, &common);
        let mut shared = Shared {
            sides: Vec::new(),
            names: Interner::with([]),
        };
        for (number, (&(profile, names), callees)) in recordings.iter().zip(&callees).enumerate() {
            let mut side = Side {
                profile,
                names,
                ids: FxHashMap::default(),
                by_name: FxHashMap::default(),
                codes: FxHashMap::default(),
            };
            for &callee in callees {
                let name = names.name(callee);
                let common = match names.construct_of(callee) {
                    Some((construct, parent, line)) if names.style.form != NameForm::Mangled => {
                        let parent = parent.map(|parent| common.name(&names, callee, &parent));
                        let key = (construct, parent);
                        let known = lines.get(&key);
                        let line =
                            line.map(|line| known.map_or(line, |known| known.shared(number, line)));
                        construct_words(construct, key.1.as_deref(), line)
                    }
                    _ => common.name(&names, callee, &name),
                };
                let id = NameId(shared.names.intern(common));
                side.ids.insert(callee, id);
                side.by_name.insert(name, id);
                if let Some(code) = names.code(callee) {
                    let known = side.codes.entry(id).or_insert(code);
                    if (code.module, code.address) < (known.module, known.address) {
                        *known = code;
                    }
                }
            }
            shared.sides.push(side);
        }
        shared
    }

    /// The number of experiments.
    pub fn len(&self) -> usize {
        self.sides.len()
    }

    /// Whether there are no experiments.
    pub fn is_empty(&self) -> bool {
        self.sides.is_empty()
    }

    /// The shared name for an experiment's own `name`.
    pub fn name_of<'s>(&'s self, side: usize, name: &'s str) -> &'s str {
        match self.sides[side].by_name.get(name) {
            Some(&id) => self.name(id),
            None => name.split_once(" [").map_or(name, |(words, _)| words),
        }
    }

    fn name(&self, id: NameId) -> &str {
        self.names.get(id.0).map_or("", String::as_str)
    }

    fn describe(&self, side: usize, id: NameId) -> NamedCode {
        let code = self.sides[side].codes.get(&id);
        (self.name(id).to_owned(), code.copied())
    }

    fn tree(&self, side: usize, metrics: &[Metric]) -> Tree<NameId> {
        let side = &self.sides[side];
        self.tree_of(side, side.profile, metrics)
    }

    /// The tree of a part of a side's profile.
    fn tree_of(&self, side: &Side<'a>, profile: &Profile, metrics: &[Metric]) -> Tree<NameId> {
        Tree::new(profile, metrics, side.unknown(), side.ids())
    }

    /// The list of functions of an experiment.
    pub fn functions(&self, side: usize, request: &Request) -> List {
        let tree = self.tree(side, &request.metrics);
        functions::list(&tree, request, |&id| self.describe(side, id))
    }

    /// The call tree of an experiment.
    pub fn calltree(&self, side: usize, request: &Request) -> CallTree {
        let of = &self.sides[side];
        let tree = Tree::folded(of.profile, &request.metrics, of.unknown(), of.ids());
        calltree::rows(&tree, request, &[], |&id| self.describe(side, id))
    }

    /// The functions of an experiment with their callers and callees.
    pub fn callers_callees(&self, side: usize, request: &Request) -> Vec<Neighbours> {
        let tree = self.tree(side, &request.metrics);
        neighbours::blocks(&tree, request, |&id| self.describe(side, id))
    }

    /// The list of lines of an experiment.
    pub fn lines(&self, side: usize, request: &Request) -> List {
        let side = &self.sides[side];
        let mut canonical = side.names.canonical();
        lines::lines_by(side.profile, &side.names, request, |callee| {
            lines::Function {
                name: self.name(side.ids[&canonical.of(callee)]).to_owned(),
                module: None,
            }
        })
    }

    /// The list of instructions of an experiment. An instruction is the same in all experiments
    /// with one build of its load object. If not all have that build, the name has the number of
    /// the first experiment that does.
    pub fn pcs(&self, side: usize, request: &Request) -> List {
        let builds = self.builds(side);
        let side = &self.sides[side];
        let names = &side.names;
        let mut canonical = names.canonical();
        let mut rows = Interner::<String>::with([]);
        let mut codes: Vec<Option<Code>> = Vec::new();
        let mut row = |pc: Pc| {
            let (name, code) = pc.describe(names);
            let build = code.and_then(|code| *builds.get(code.module.index())?);
            let id = rows.intern(match (code, build) {
                (None, _) => self.name(side.ids[&pc.callee]).to_owned(),
                (Some(_), None) => name,
                (Some(_), Some(build)) => format!("{name} (build of {})", build + 1),
            });
            if id as usize == codes.len() {
                codes.push(code);
            }
            id
        };
        let unknown = row(Pc {
            callee: Callee::Pseudo(Pseudo::Unknown),
            frame: FrameId::NONE,
        });
        let tree = Tree::of_some(side.profile, &request.metrics, unknown, |path| {
            Some(row(Pc::of(names, &mut canonical, path.frame)?))
        });
        functions::list(&tree, request, |&id| {
            let name = rows.get(id).cloned();
            (name.unwrap_or_default(), codes[id as usize])
        })
    }

    /// By load object of an experiment: the first experiment with the same build, if not all have
    /// that build.
    fn builds(&self, side: usize) -> Vec<Option<usize>> {
        let rows = self.sides[side].names.tables.modules.rows().iter();
        rows.map(|module| {
            let has = |side: &Side<'a>| {
                let mut modules = side.names.tables.modules.rows().iter();
                modules.any(|known| is_same(known, module))
            };
            let first = self.sides.iter().position(has);
            first.filter(|_| !self.sides.iter().all(has))
        })
        .collect()
    }

    /// A piece of an experiment's stacks with its callers and callees; `functions` are shared
    /// names.
    pub fn piece(&self, side: usize, request: &Request, functions: &[String]) -> Piece {
        let tree = self.tree(side, &request.metrics);
        let named = |name: &String| (name.clone(), None);
        let functions: Vec<NamedCode> = functions.iter().map(named).collect();
        fragment::piece_of(&tree, request, &functions, |&id| {
            (self.name(id).to_owned(), None)
        })
    }
}

/// Whether two load objects are the same file: by build id if known, else by path.
fn is_same(left: &Module, right: &Module) -> bool {
    let has_build_id = !left.build_id.is_empty() || !right.build_id.is_empty();
    left.build_id == right.build_id && (has_build_id || left.path == right.path)
}

/// All canonical callees on an experiment's stacks.
fn callees(profile: &Profile, names: &Names<'_>) -> Vec<Callee> {
    let mut canonical = names.canonical();
    let mut seen = FxHashMap::default();
    let mut found = vec![Callee::Pseudo(Pseudo::Unknown)];
    for path in profile.paths.rows() {
        let callee = path.frame.callee;
        seen.entry(callee).or_insert_with(|| {
            let callee = canonical.of(callee);
            found.push(callee);
        });
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The matched lines of constructs.
fn lines_of(
    recordings: &[(&Profile, Names<'_>)],
    callees: &[Vec<Callee>],
    common: &CommonNames,
) -> FxHashMap<ConstructKey, Lines> {
    let mut known: FxHashMap<ConstructKey, Known> = FxHashMap::default();
    for (number, ((_, names), callees)) in recordings.iter().zip(callees).enumerate() {
        for &callee in callees {
            if let Some((construct, parent, Some(line))) = names.construct_of(callee) {
                let parent = parent.map(|parent| common.name(names, callee, &parent));
                let found = known.entry((construct, parent)).or_insert_with(|| Known {
                    lines: vec![Vec::new(); recordings.len()],
                    sources: vec![Vec::new(); recordings.len()],
                });
                found.lines[number].push(line);
                let file = names.written_at(callee).map(|it| it.file);
                let digests = names.symbols.digests.iter();
                let digests = digests.filter(|(id, _)| Some(*id) == file);
                found.sources[number].extend(digests.map(|(_, digest)| *digest));
            }
        }
    }
    let lines = known.into_iter().map(|(key, known)| {
        let changed = !known.is_of_one_source();
        (key, Lines::new(known.lines.into_iter(), changed))
    });
    lines.collect()
}

/// The constructs of one kind in one function, by experiment.
struct Known {
    lines: Vec<Vec<u32>>,
    /// The digests of the source file.
    sources: Vec<Vec<[u8; 16]>>,
}

impl Known {
    /// Whether the source was the same in all experiments that have such constructs.
    fn is_of_one_source(&self) -> bool {
        let with = self.lines.iter().zip(&self.sources);
        let mut sources = with
            .filter(|(lines, _)| !lines.is_empty())
            .map(|(_, it)| it);
        let first = self.sources.iter().flatten().next();
        sources.all(|own| !own.is_empty() && own.iter().all(|it| Some(it) == first))
    }
}
