//! The display stacks of single samples and intervals, for a reader that points at one.

use experiment::ids::{StackId, ThreadId, ThreadStateId};
use experiment::tables::{Interner, ThreadKind};
use omp_model::analysis::Analysis;
use omp_model::inlining;
use omp_model::profile::{Callee, Inline, Path, PathId, ViewMode};
use omp_model::rewrite::Rewriter;
use omp_model::states::RefinedState;
use omp_model::views::names::NameStyle;
use omp_model::views::visibility;
use rustc_hash::FxHashMap;

use crate::Settings;

/// What each distinct sample of an experiment looks like under some settings.
#[derive(Debug)]
pub struct Stacks {
    paths: Interner<Path>,
    samples: FxHashMap<(StackId, ThreadStateId, ThreadKind), (PathId, RefinedState)>,
    constructs: FxHashMap<(ThreadStateId, ThreadKind), (PathId, RefinedState)>,
}

impl Stacks {
    /// Rewrites every distinct sample as the settings' mode, inlining and load objects have it: no
    /// more work than a profile takes.
    pub fn new(experiment: &Analysis, settings: &Settings) -> Stacks {
        let mode = settings.mode;
        let rows = &experiment.experiment;
        let tables = &rows.tables;
        let kind = |thread: ThreadId| {
            let row = tables.threads.get(thread.index());
            row.map_or(ThreadKind::Outside, |thread| thread.kind)
        };
        let seen = experiment.sampled_stacks();
        let mut rewriter = Rewriter::new(tables, &experiment.symbols, seen.iter().copied());
        let mut found = FxHashMap::default();
        for &moment in seen {
            let path = match mode {
                ViewMode::Machine => rewriter.machine(moment),
                ViewMode::User | ViewMode::Expert => rewriter.user(moment),
            };
            found.insert((moment.stack, moment.thread_state, moment.thread), path);
        }
        let thread_states = rows.sums.iter().map(|sum| (sum.thread_state, sum.thread));
        let more = rows
            .intervals
            .iter()
            .map(|row| (row.thread_state, row.thread));
        let mut constructs = FxHashMap::default();
        for (thread_state, thread) in thread_states.chain(more) {
            let key = (thread_state, kind(thread));
            constructs.entry(key).or_insert_with(|| match mode {
                ViewMode::Machine => rewriter.machine_without_stack(key.0, key.1),
                ViewMode::User | ViewMode::Expert => rewriter.user_without_stack(key.0, key.1),
            });
        }
        let mut paths = rewriter.into_paths();
        if settings.inline == Inline::On {
            let moved = inlining::expand_paths(&mut paths, tables, &experiment.symbols);
            let all = found.values_mut().chain(constructs.values_mut());
            all.for_each(|(path, _)| *path = moved[path.0 as usize]);
        }
        // As in the call tree: user stacks have no frames of these objects.
        if mode == ViewMode::Machine {
            let names = experiment.names(NameStyle::default());
            let visible = |module| settings.objects.visibility(&names, module);
            let (folded, moved) = visibility::hide(&paths, &names, visible);
            let all = found.values_mut().chain(constructs.values_mut());
            all.for_each(|(path, _)| *path = moved[path.0 as usize]);
            paths = folded;
        }
        Stacks {
            paths,
            samples: found,
            constructs,
        }
    }

    /// The display stack of a sample, and what the thread did.
    pub fn sample(
        &self,
        stack: StackId,
        thread_state: ThreadStateId,
        kind: ThreadKind,
    ) -> Option<(PathId, RefinedState)> {
        self.samples.get(&(stack, thread_state, kind)).copied()
    }

    /// The construct of a thread state of which no sample tells more.
    pub fn construct(
        &self,
        thread_state: ThreadStateId,
        kind: ThreadKind,
    ) -> Option<(PathId, RefinedState)> {
        self.constructs.get(&(thread_state, kind)).copied()
    }

    /// The leaf of a display stack.
    pub fn leaf(&self, path: PathId) -> Option<Callee> {
        let row = self.paths.get(path.0).filter(|_| path != PathId::EMPTY);
        row.map(|row| row.frame.callee)
    }

    /// The frames of a display stack, leaf first.
    pub fn walk(&self, path: PathId) -> impl Iterator<Item = Path> + '_ {
        let mut at = path;
        std::iter::from_fn(move || {
            if at == PathId::EMPTY {
                return None;
            }
            let row = *self.paths.get(at.0)?;
            at = row.callers;
            Some(row)
        })
    }
}
