//! Profiles described by stacks of names, for tests.

use experiment::ids::NameId;
use experiment::ids::{
    ContextId, FrameId, ModuleId, Nanos, ProcessId, StackId, ThreadId, ThreadStateId,
};
use experiment::state::Scheduling;
use experiment::symbols::{Function, FunctionId, SymbolTable};
use experiment::tables::{Interner, Module, Process, RuntimeKind, Tables, Thread, ThreadKind};
use rustc_hash::FxHashMap;

use crate::metrics::{Flavour, Metric, Quantity, SortKey};
use crate::profile::{Callee, DisplayFrame, Item, Path, PathId, Profile, ViewMode};
use crate::states::{Pseudo, RefinedState};
use crate::views::Request;
use crate::views::names::{NameStyle, Names};

/// A profile described by stacks of names, outermost first: `<…>` are pseudo-functions.
pub(in crate::views) struct TestProfile {
    pub(in crate::views) tables: Tables,
    pub(in crate::views) symbols: SymbolTable,
    pub(in crate::views) functions: FxHashMap<String, FunctionId>,
    pub(in crate::views) profile: Profile,
}

impl TestProfile {
    pub(in crate::views) fn new() -> TestProfile {
        let root = Path {
            callers: PathId::EMPTY,
            frame: DisplayFrame {
                callee: Callee::Pseudo(Pseudo::Unknown),
                frame: FrameId::NONE,
                kind: crate::profile::FrameKind::Called,
            },
        };
        let mut tables = Tables::default();
        tables.module(Module {
            path: "/app/prog".to_owned(),
            build_id: "ab".to_owned(),
            runtime: RuntimeKind::None,
        });
        tables.processes.push(Process {
            pid: 100,
            parent: None,
            name: "prog".to_owned(),
            executable: "/app/prog".to_owned(),
        });
        for (tid, kind) in [(100, ThreadKind::Initial), (101, ThreadKind::Worker)] {
            let (process, birth, death) = (ProcessId(0), Nanos(0), None);
            tables.threads.push(Thread {
                process,
                tid,
                birth,
                death,
                kind,
                name: NameId::NONE,
            });
        }
        TestProfile {
            tables,
            symbols: SymbolTable {
                files: vec!["/src/a.c".to_owned()],
                ..Default::default()
            },
            functions: FxHashMap::default(),
            profile: Profile {
                mode: ViewMode::User,
                paths: Interner::with([root]),
                items: Vec::new(),
            },
        }
    }

    pub(in crate::views) fn function(&mut self, name: &str) -> FunctionId {
        let next = FunctionId(self.symbols.functions.len() as u32);
        if let Some(&known) = self.functions.get(name) {
            return known;
        }
        self.functions.insert(name.to_owned(), next);
        self.symbols.functions.push(Function {
            module: ModuleId(2),
            address: 0x1000 + 0x100 * u64::from(next.0),
            size: 0x80,
            linkage: name.to_owned(),
            name: name.to_owned(),
            source: None,
            outlined: None,
        });
        next
    }

    pub(in crate::views) fn callee(&mut self, name: &str) -> Callee {
        match name {
            "<OMP idle>" => Callee::Pseudo(Pseudo::State(RefinedState::Idle)),
            "<OMP implicit barrier>" => {
                Callee::Pseudo(Pseudo::State(RefinedState::ImplicitBarrier))
            }
            name => Callee::Function(self.function(name)),
        }
    }

    pub(in crate::views) fn path(&mut self, stack: &[&str]) -> PathId {
        let mut at = PathId::EMPTY;
        for name in stack {
            let frame = DisplayFrame {
                callee: self.callee(name),
                frame: FrameId::NONE,
                kind: crate::profile::FrameKind::Called,
            };
            at = PathId(self.profile.paths.intern(Path { callers: at, frame }));
        }
        at
    }

    pub(in crate::views) fn add(
        &mut self,
        stack: &[&str],
        state: RefinedState,
        seconds: f64,
    ) -> &mut Item {
        let path = self.path(stack);
        self.profile.items.push(Item {
            path,
            thread: ThreadId(0),
            slice: 0,
            thread_state: ThreadStateId::OUTSIDE,
            context: ContextId::ROOT,
            stack: StackId::EMPTY,
            state,
            scheduling: Scheduling::Running,
            kernel: false,
            inferred: false,
            seconds,
            blame: 0.0,
            samples: 1,
            counter: None,
            events: 0.0,
        });
        self.profile.items.last_mut().unwrap()
    }

    pub(in crate::views) fn names(&self) -> Names<'_> {
        Names {
            tables: &self.tables,
            symbols: &self.symbols,
            style: NameStyle::default(),
        }
    }
}

/// Total time, OMP Work and OMP Wait, sorted by exclusive total time.
pub(in crate::views) fn by_total() -> Request {
    by(Quantity::Time(Flavour::Exclusive, Metric::Total))
}

/// The same, sorted by another quantity.
pub(in crate::views) fn by(quantity: Quantity) -> Request {
    let sort = SortKey {
        quantity,
        reversed: false,
    };
    Request {
        metrics: vec![Metric::Total, Metric::OmpWork, Metric::OmpWait],
        sort,
    }
}
