//! Comparison of several experiments: functions, paths and lines under shared names, independent of
//! compiler and runtime.

mod constructs;
pub mod groups;
pub mod join;
pub mod overview;
pub mod scaling;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use experiment::ids::FrameId;
use experiment::linkage::without_clone;
use experiment::symbols::Construct;
use experiment::tables::{Interner, Module};
use rustc_hash::FxHashMap;

use super::annotated::Pc;
use super::calltree::{self, CallTree};
use super::fragment::{self, NamedCode, Piece};
use super::functions::{self, List};
use super::lines;
use super::names::{NameForm, Names, construct_words, unqualified};
use super::neighbours::{self, Neighbours};
use super::tree::Tree;
use super::{Code, Request};
use crate::metrics::Metric;
use crate::profile::{Callee, Path, Profile};
use crate::states::Pseudo;
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

/// The lines of constructs by kind and function.
type Constructs<'a> = FxHashMap<(Construct, Option<Cow<'a, str>>), Vec<u32>>;

impl<'a> Shared<'a> {
    /// Finds the shared names of experiments.
    pub fn new(recordings: &[(&'a Profile, Names<'a>)]) -> Shared<'a> {
        let callees: Vec<Vec<Callee>> = recordings
            .iter()
            .map(|(profile, names)| callees(profile, names))
            .collect();
        let lines = lines_of(recordings, &callees);
        let whole_names = WholeNames::of(recordings, &callees);
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
                        let key = (construct, parent);
                        let known = lines.get(&key);
                        let line =
                            line.map(|line| known.map_or(line, |known| known.shared(number, line)));
                        construct_words(construct, key.1.as_deref().map(without_clone), line)
                    }
                    _ => whole_names.of_function(&names, callee, without_clone(&name)),
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

/// The names of functions with scopes and parameters, by their files and their names without these. Debug
/// information of gcc gives a static or contained function, where it is inlined, neither.
#[derive(Default)]
struct WholeNames(FxHashMap<(String, String), Option<String>>);

impl WholeNames {
    fn of(recordings: &[(&Profile, Names<'_>)], callees: &[Vec<Callee>]) -> WholeNames {
        let mut whole: FxHashMap<(String, String), Option<String>> = FxHashMap::default();
        for ((_, names), callees) in recordings.iter().zip(callees) {
            let functions = callees.iter().copied();
            for callee in functions.filter(|it| names.construct_of(*it).is_none()) {
                let name = names.name(callee);
                let name = without_clone(&name);
                let bare = unqualified(name);
                if let Some(file) = names.file_name(callee)
                    && bare != name
                {
                    let key = (file.to_owned(), bare.to_owned());
                    let known = whole.entry(key).or_insert_with(|| Some(name.to_owned()));
                    // Of several functions of one name, nobody knows which one it is.
                    known.take_if(|known| *known != name);
                }
            }
        }
        WholeNames(whole)
    }

    /// The whole name of a function, or `name`.
    fn of_function(&self, names: &Names<'_>, callee: Callee, name: &str) -> String {
        let whole = || {
            let file = names.file_name(callee)?;
            let key = (file.to_owned(), name.to_owned());
            self.0.get(&key)?.clone()
        };
        whole().unwrap_or_else(|| name.to_owned())
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

/// The matched lines of constructs, by construct and function.
fn lines_of<'a>(
    recordings: &[(&Profile, Names<'a>)],
    callees: &[Vec<Callee>],
) -> FxHashMap<(Construct, Option<Cow<'a, str>>), Lines> {
    let mut known: Vec<Constructs<'a>> = Vec::new();
    for ((_, names), callees) in recordings.iter().zip(callees) {
        let mut constructs = Constructs::default();
        for &callee in callees {
            if let Some((construct, parent, Some(line))) = names.construct_of(callee) {
                let lines = constructs.entry((construct, parent)).or_default();
                lines.push(line);
            }
        }
        known.push(constructs);
    }
    let mut lines = FxHashMap::default();
    for key in known.iter().flat_map(FxHashMap::keys) {
        lines.entry(key.clone()).or_insert_with(|| {
            let of_each = known.iter();
            Lines::new(of_each.map(|it| it.get(key).cloned().unwrap_or_default()))
        });
    }
    lines
}
