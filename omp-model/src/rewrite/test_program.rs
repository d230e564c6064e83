//! Experiments described by text, for tests. Stacks are written leaf first.
//!
//! `work+3 foo.omp_outlined R:__kmp_invoke_microtask R:? start_thread clone3`
//!
//! A word is a function; `+N` is an address in it, whose line is N; `R:` marks the OpenMP runtime
//! (`R:?` a function of it without a symbol), `G:` GNU's, `P:` our library in the program, `K:` the
//! kernel, `L:` a library, `D:` the loader. Functions of the C library are recognised by name. `~` begins the name of a function without a symbol. `!` ends a
//! truncated stack.

use experiment::ids::{ContextId, FrameId, ModuleId, StackId, ThreadStateId};
use experiment::state::State;
use experiment::symbols::{
    CodeFact, Construct, FileId, FrameSymbol, Function, FunctionId, InlinedLine, Outlined,
    SourceLine, SymbolTable,
};
use experiment::tables::{
    Context, ContextKind, Cut, Frame, Interner, Module, RuntimeKind, Stack, StackEntry, Tables,
    ThreadKind, ThreadState,
};
use rustc_hash::FxHashMap;

use super::rewriter::Rewriter;
use super::sampled::SampledStack;
use crate::profile::{Callee, Path, PathId};
use crate::states::{Pseudo, RefinedState};

const LIBC: [&str; 10] = [
    "start_thread",
    "clone3",
    "__libc_start_main",
    "sched_yield",
    "malloc",
    "futex_wait",
    "nanosleep",
    "qsort",
    "memset",
    "_start_in_libc",
];

pub(crate) struct TestProgram {
    pub(crate) tables: Tables,
    pub(crate) symbols: SymbolTable,
    functions: FxHashMap<String, FunctionId>,
    app: ModuleId,
    kmp: ModuleId,
    gomp: ModuleId,
    collector: ModuleId,
    libc: ModuleId,
    library: ModuleId,
    loader: ModuleId,
    script: ModuleId,
    interpreter: ModuleId,
    generated: ModuleId,
}

impl TestProgram {
    pub(crate) fn new() -> TestProgram {
        let mut tables = Tables::default();
        let mut module = |path: &str, runtime| {
            tables.module(Module {
                path: path.to_owned(),
                build_id: String::new(),
                runtime,
            })
        };
        let app = module("/home/u/app", RuntimeKind::None);
        let kmp = module("/usr/lib/libomp.so.5", RuntimeKind::Kmp);
        let libc = module("/usr/lib/libc.so.6", RuntimeKind::None);
        let library = module("/home/u/libsolver.so", RuntimeKind::None);
        let gomp = module("/usr/lib/libgomp.so.1", RuntimeKind::Gomp);
        let collector = module("/usr/lib/libcollector.so", RuntimeKind::Collector);
        let loader = module("/lib64/ld-linux-x86-64.so.2", RuntimeKind::None);
        let script = module("/home/u/script.py", RuntimeKind::Python);
        let interpreter = module("/usr/lib/libpython3.so", RuntimeKind::None);
        let generated = module("perf-1.map", RuntimeKind::None);
        TestProgram {
            tables,
            symbols: SymbolTable::default(),
            functions: FxHashMap::default(),
            app,
            kmp,
            gomp,
            collector,
            libc,
            library,
            loader,
            script,
            interpreter,
            generated,
        }
    }

    fn function(&mut self, module: ModuleId, name: &str) -> FunctionId {
        if let Some(&known) = self.functions.get(name) {
            return known;
        }
        let id = FunctionId(self.symbols.functions.len() as u32);
        self.symbols.functions.push(Function {
            module,
            address: (u64::from(id.0) + 1) << 12,
            size: 0,
            linkage: if name.starts_with('~') {
                String::new()
            } else {
                name.to_owned()
            },
            name: name.to_owned(),
            source: None,
            outlined: outlined(name),
        });
        self.functions.insert(name.to_owned(), id);
        id
    }

    /// Adds a function of the program that is on no stack, with the line of its directive.
    pub(crate) fn symbol(&mut self, name: &str, line: u32) {
        let id = self.function(self.app, name);
        if let Some(outlined) = &mut self.symbols.functions[id.0 as usize].outlined {
            outlined.line = Some(line);
        }
    }

    pub(crate) fn frame(&mut self, word: &str) -> FrameId {
        let (name, line) = match word.rsplit_once('+') {
            Some((name, line)) => (name, line.parse().expect("a line after +")),
            None => (word, 0u32),
        };
        let (module, name) = match name.split_once(':') {
            Some(("R", name)) => (self.kmp, name),
            Some(("G", name)) => (self.gomp, name),
            Some(("P", name)) => (self.collector, name),
            Some(("D", name)) => (self.loader, name),
            Some(("K", name)) => (ModuleId::KERNEL, name),
            Some(("L", name)) => (self.library, name),
            Some(("Y", name)) => (self.script, name),
            Some(("I", name)) => (self.interpreter, name),
            Some(("J", name)) => (self.generated, name),
            _ if LIBC.contains(&name) => (self.libc, name),
            _ => (self.app, name),
        };
        if name == "?" {
            return self.tables.frame(Frame {
                module,
                address: 0x100 + u64::from(line),
            });
        }
        let function = self.function(module, name);
        let address = self.symbols.functions[function.0 as usize].address + u64::from(line);
        let frame = self.tables.frame(Frame { module, address });
        if self.symbols.frames.len() <= frame.index() {
            self.symbols
                .frames
                .resize(frame.index() + 1, FrameSymbol::default());
        }
        let source = SourceLine {
            file: FileId(0),
            line,
        };
        self.symbols.frames[frame.index()] = FrameSymbol {
            function: Some(function),
            lines: vec![InlinedLine {
                function: Some(name.to_owned()),
                source,
            }],
        };
        frame
    }

    pub(crate) fn stack(&mut self, text: &str) -> StackId {
        let mut callers = StackId::EMPTY;
        for word in text.split_whitespace().rev() {
            let entry = match word {
                "!" => StackEntry::Cut(Cut::DumpTooSmall),
                word => StackEntry::Frame(self.frame(word)),
            };
            callers = self.tables.stack(Stack { callers, entry });
        }
        callers
    }

    pub(crate) fn context(
        &mut self,
        parent: ContextId,
        kind: ContextKind,
        fork: &str,
    ) -> ContextId {
        let stack = self.stack(fork);
        self.tables.context(Context {
            parent,
            kind,
            stack,
            python: StackId::EMPTY,
            body: FrameId::NONE,
        })
    }

    /// Adds a region that Python made: its stack with and without the frames of Python.
    pub(crate) fn region_of_python(&mut self, fork: &str, python: &str) -> ContextId {
        let (stack, python) = (self.stack(fork), self.stack(python));
        self.tables.context(Context {
            parent: ContextId::ROOT,
            kind: ContextKind::Region,
            stack,
            python,
            body: FrameId::NONE,
        })
    }

    /// Adds a region whose event names its body, which need not be on any stack.
    pub(crate) fn region_with_body(
        &mut self,
        parent: ContextId,
        fork: &str,
        body: &str,
    ) -> ContextId {
        self.with_body(parent, ContextKind::Region, fork, body)
    }

    /// Adds a construct whose event names its body.
    pub(crate) fn with_body(
        &mut self,
        parent: ContextId,
        kind: ContextKind,
        fork: &str,
        body: &str,
    ) -> ContextId {
        let stack = self.stack(fork);
        let body = self.frame(body);
        self.tables.context(Context {
            parent,
            kind,
            stack,
            python: StackId::EMPTY,
            body,
        })
    }

    /// Makes a body do nothing but jump to another one.
    pub(crate) fn fold(&mut self, body: &str, into: &str) {
        let (body, into) = (self.frame(body), self.function(self.app, into));
        let fact = CodeFact {
            body: Some(into),
            ..CodeFact::default()
        };
        self.symbols.code.push((body, fact));
        self.symbols.code.sort_by_key(|row| row.0);
    }

    pub(crate) fn region(&mut self, parent: ContextId, fork: &str) -> ContextId {
        self.context(parent, ContextKind::Region, fork)
    }

    pub(crate) fn thread_state(&mut self, state: State, context: ContextId) -> ThreadStateId {
        self.thread_state_at(state, context, FrameId::NONE)
    }

    pub(crate) fn thread_state_at(
        &mut self,
        state: State,
        context: ContextId,
        call: FrameId,
    ) -> ThreadStateId {
        self.tables.thread_state(ThreadState {
            state,
            context,
            call,
        })
    }

    pub(crate) fn sample(
        &mut self,
        stack: &str,
        (state, context): (State, ContextId),
        thread: ThreadKind,
    ) -> SampledStack {
        SampledStack {
            stack: self.stack(stack),
            thread_state: self.thread_state(state, context),
            thread,
        }
    }

    /// The user stack of each sample, with all of them as evidence.
    pub(crate) fn user(&self, samples: &[SampledStack]) -> Vec<String> {
        let mut rewriter = Rewriter::new(&self.tables, &self.symbols, samples.iter().copied());
        samples
            .iter()
            .map(|&sample| {
                let (path, _) = rewriter.user(sample);
                self.text(&rewriter, path)
            })
            .collect()
    }

    pub(crate) fn machine(&self, sample: SampledStack) -> (String, RefinedState) {
        let mut rewriter = Rewriter::new(&self.tables, &self.symbols, [sample]);
        let (path, state) = rewriter.machine(sample);
        (self.text(&rewriter, path), state)
    }

    /// A display stack as text, leaf first.
    pub(crate) fn text(&self, rewriter: &Rewriter<'_>, path: PathId) -> String {
        let mut words = Vec::new();
        let mut at = path;
        while at != PathId::EMPTY {
            let row = rewriter.paths().get(at.0).expect("paths are whole");
            words.push(self.word(row.frame.callee));
            at = row.callers;
        }
        words.join(" ")
    }

    /// As [`Self::text`], each frame with its line.
    pub(crate) fn located(&self, paths: &Interner<Path>, path: PathId) -> String {
        let mut words = Vec::new();
        let mut at = path;
        while at != PathId::EMPTY {
            let row = paths.get(at.0).expect("paths are whole");
            let name = self.word(row.frame.callee);
            let line = self.symbols.frame(row.frame.frame).lines.first();
            words.push(match line.map(|line| line.source.line) {
                Some(line) if line > 0 => format!("{name}+{line}"),
                _ => name,
            });
            at = row.callers;
        }
        words.join(" ")
    }

    fn word(&self, callee: Callee) -> String {
        let name = |f: FunctionId| self.symbols.functions[f.0 as usize].name.clone();
        match callee {
            Callee::Function(f) => name(f),
            Callee::Static(..) => "?".to_owned(),
            Callee::Pseudo(Pseudo::State(state)) => format!("<{state:?}>"),
            Callee::Pseudo(pseudo) => format!("<{pseudo:?}>"),
            Callee::Construct(context) => format!("<construct {}>", context.0),
            Callee::ParentOf(f) => format!("<parent of {}>", name(f)),
            Callee::Cut(_) => "!".to_owned(),
            Callee::Object(module) => format!("<object {}>", module.0),
            Callee::Kernel(_) => "<kernel>".to_owned(),
            Callee::Inlined(frame, line) => format!("<inlined {}:{line}>", frame.0),
        }
    }
}

/// The construct and parent by the names of clang and gcc.
fn outlined(name: &str) -> Option<Outlined> {
    let (construct, parent) =
        if name.contains(".omp.reduction.") || name.starts_with(".omp_combiner.") {
            (Construct::Reduction, None)
        } else if name.contains(".omp_task_entry.") {
            (Construct::Task, None)
        } else if let Some(at) = name.find(".omp_outlined") {
            (
                Construct::Parallel,
                Some(&name[..at]).filter(|p| !p.is_empty()),
            )
        } else if let Some(at) = name.find("._omp_fn") {
            (Construct::Parallel, Some(&name[..at]))
        } else {
            return None;
        };
    Some(Outlined {
        construct,
        parent: parent.map(str::to_owned),
        line: None,
    })
}
