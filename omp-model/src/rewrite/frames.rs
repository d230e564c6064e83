//! The role of frames and functions: the kernel's, the OpenMP runtime's or the user's.

use experiment::ids::{ContextId, FrameId, ModuleId, StackId};
use experiment::linkage::{self, is_outlined, without_clone};
use experiment::symbols::{Construct, FunctionId, InlinedLine, SymbolTable};
use experiment::tables::{Context, RuntimeKind, StackEntry, Tables};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::profile::Callee;

use super::functions::{FunctionFacts, TASK_ENTRY};
use super::pools::Waiting;

/// The experiment's tables and symbols, with cached properties that rewriting needs often.
pub(super) struct Facts<'a> {
    pub(super) tables: &'a Tables,
    pub(super) symbols: &'a SymbolTable,
    functions: Vec<FunctionFacts>,
    /// By frame: the properties that each step of a walk needs.
    frames: Vec<FrameFacts>,
    /// Whether bodies whose names do not tell their construct have been assigned one
    /// ([`super::constructs`]).
    settled: bool,
    /// By module: whether it holds the program's own code, rather than a system library.
    user: Vec<bool>,
    /// By module: whether it holds Python's interpreter.
    interpreters: Vec<bool>,
    /// The functions of Python.
    python: FxHashSet<FunctionId>,
    by_name: FxHashMap<(ModuleId, &'a str), FunctionId>,
    /// The runtimes' calls that were seen to call a body. Whatever else such a call calls is a body,
    /// too, or a function that a body jumped to.
    body_calls: FxHashSet<FrameId>,
    /// Addresses in inlined reduction combiners.
    combiners: FxHashSet<FrameId>,
    /// The bodies of target regions that are inlined at an address, outermost first.
    targets: FxHashMap<FrameId, Vec<FunctionId>>,
    /// The body of a task for a target construct that is inlined at an address.
    target_tasks: FxHashMap<FrameId, FunctionId>,
    /// The bodies that have the code of another body, and that one.
    folded: FxHashMap<FunctionId, FunctionId>,
    /// The outlined function that represents all those with the same absent parent.
    absent_parents: FxHashMap<(ModuleId, &'a str), FunctionId>,
}

/// By module: whether Python's interpreter is in it.
fn interpreters(tables: &Tables, symbols: &SymbolTable) -> Vec<bool> {
    let mut found = vec![false; tables.modules.len()];
    let functions = symbols.functions.iter();
    for function in functions.filter(|it| without_clone(&it.linkage) == linkage::PYTHON_INTERPRETER)
    {
        if let Some(found) = found.get_mut(function.module.index()) {
            *found = true;
        }
    }
    found
}

fn functions_of_python(symbols: &SymbolTable) -> FxHashSet<FunctionId> {
    let functions = (0..).map(FunctionId).zip(&symbols.functions);
    functions
        .filter(|(_, it)| linkage::of_python(&it.linkage).is_some())
        .map(|(id, _)| id)
        .collect()
}

/// The role of a frame in a user stack. Kernel frames have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// User code, and library code that it called.
    Code,
    /// The OpenMP runtime, our own library, and functions that they called for their own purposes
    /// (`sched_yield`, `malloc`, a reduction's combiner).
    Runtime,
    /// The first frames of a thread that the runtime started (`start_thread`, `clone3`).
    Start,
}

/// The part of a frame in running functions of Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A frame that was read from the interpreter.
    Frame,
    /// Generated code through which the interpreter calls a function, so that perf sees it.
    Trampoline,
    /// The interpreter's function that runs functions of Python.
    Runs,
    /// Another function of the interpreter.
    Helps,
    /// None.
    Other,
}

/// Properties of a frame, independent of the stack that it is on.
struct FrameFacts {
    function: Option<FunctionId>,
    role: Option<Role>,
}

impl FrameFacts {
    fn new(facts: &Facts<'_>, frame: FrameId) -> FrameFacts {
        FrameFacts {
            function: facts.find_function(frame),
            role: facts.find_role(frame),
        }
    }
}

impl<'a> Facts<'a> {
    pub(super) fn new(tables: &'a Tables, symbols: &'a SymbolTable) -> Self {
        let mut by_name = FxHashMap::default();
        let mut absent_parents = FxHashMap::default();
        let all = || (0..).map(FunctionId).zip(&symbols.functions);
        // Clones of a function have its name, but not its symbol.
        let linkages = all().map(|(id, function)| (id, function, &function.linkage));
        let names = all().map(|(id, function)| (id, function, &function.name));
        for (id, function, name) in linkages.chain(names) {
            if !name.is_empty() {
                by_name
                    .entry((function.module, name.as_str()))
                    .or_insert(id);
            }
        }
        for (id, function) in all() {
            if let Some(parent) = function.outlined.as_ref().and_then(|o| o.parent.as_deref()) {
                absent_parents
                    .entry((function.module, parent))
                    .or_insert(id);
            }
        }
        let mut facts = Facts {
            tables,
            symbols,
            functions: Vec::new(),
            frames: Vec::new(),
            settled: false,
            user: vec![false; tables.modules.len()],
            interpreters: interpreters(tables, symbols),
            python: functions_of_python(symbols),
            by_name,
            body_calls: FxHashSet::default(),
            combiners: inlined_combiners(symbols),
            targets: FxHashMap::default(),
            target_tasks: FxHashMap::default(),
            folded: FxHashMap::default(),
            absent_parents,
        };
        facts.functions = (0..symbols.functions.len())
            .map(|index| {
                let id = FunctionId(index as u32);
                FunctionFacts::new(id, &symbols.functions[index], &facts.by_name)
            })
            .collect();
        // Static functions of several files may have one name, and a part of one is of none of the others.
        let file = |id: FunctionId| symbols.functions[id.0 as usize].source.map(|it| it.file);
        for (id, function) in (0..).map(FunctionId).zip(&mut facts.functions) {
            let files = file(id).zip(file(function.whole));
            if files.is_some_and(|(own, whole)| own != whole) {
                function.whole = id;
            }
        }
        // Before that, all such bodies are taken for those of regions.
        let task = |f: &FunctionFacts| !f.clang && f.construct.is_some_and(Construct::is_task);
        facts.settled = facts.functions.iter().any(task);
        facts.frames = (0..tables.frames.len() as u32)
            .map(|frame| FrameFacts::new(&facts, FrameId(frame)))
            .collect();
        facts.find_user_modules();
        facts.find_targets();
        facts.find_folded();
        facts.body_calls = facts.find_body_calls();
        facts
    }

    /// The facts before bodies whose names do not tell their construct have been assigned one.
    pub(super) fn unsettled(tables: &'a Tables, symbols: &'a SymbolTable) -> Self {
        Facts {
            settled: false,
            ..Facts::new(tables, symbols)
        }
    }

    /// Finds the target regions that are inlined into other code. In the task that clang makes of a
    /// target construct, the region and the task are one.
    fn find_targets(&mut self) {
        for (at, symbol) in self.symbols.frames.iter().enumerate() {
            let Some(holder) = symbol.function else {
                continue;
            };
            if symbol.lines.len() < 2 || self.construct(Some(holder)) == Some(Construct::Target) {
                continue;
            }
            let frame = FrameId(at as u32);
            let module = self.symbols.functions[holder.0 as usize].module;
            let mut in_task = false;
            for name in symbol.lines.iter().rev() {
                let name = name.function.as_deref().unwrap_or_default();
                let function = self.by_name.get(&(module, name)).copied();
                match function.filter(|&function| self.is_target(Some(function))) {
                    Some(target) if in_task => {
                        self.target_tasks.insert(frame, target);
                    }
                    Some(target) => self.targets.entry(frame).or_default().push(target),
                    None => {}
                }
                in_task = name.contains(TASK_ENTRY) || (in_task && is_outlined(name));
            }
        }
    }

    /// Finds the bodies that have the code of another body. Those of tasks may have that of other
    /// constructs' bodies.
    fn find_folded(&mut self) {
        for context in self.tables.contexts.rows() {
            let fact = self.symbols.code_of(context.body);
            let code = fact.and_then(|fact| fact.body);
            if let Some((body, code)) = self.function(context.body).zip(code)
                && code.0 < self.functions.len() as u32
            {
                self.folded.insert(body, self.whole(code));
            }
        }
        for (&body, &code) in &self.folded {
            let is_task = |body| self.construct(Some(body)) == Some(Construct::Task);
            let both = is_task(body) != is_task(code);
            self.functions[code.0 as usize].serves_both |= both;
        }
    }

    fn find_body_calls(&self) -> FxHashSet<FrameId> {
        let rows = self.tables.stacks.rows().iter();
        let calls = rows.filter_map(|row| {
            let StackEntry::Frame(callee) = row.entry else {
                return None;
            };
            let (caller, _) = self.top(row.callers)?;
            let construct = self.construct(self.function(callee));
            let is_body = construct.is_some_and(|it| it != Construct::Reduction);
            (is_body && self.role(caller) == Some(Role::Runtime)).then_some(caller)
        });
        calls.collect()
    }

    /// Finds the modules with constructs, and the executables. Calls of the runtime into any other
    /// module are for its own purposes.
    fn find_user_modules(&mut self) {
        for context in self.tables.contexts.rows() {
            if let Some((frame, callers)) = self.top(context.stack) {
                let module = self.module(frame);
                // The stack of a call that the runtime makes may hold only the first frames of a
                // thread.
                let start = self.tables.walk(callers).all(|entry| match entry {
                    StackEntry::Frame(caller) => self.module(caller) == module,
                    StackEntry::Cut(_) => false,
                });
                if !start {
                    self.mark_user(module);
                }
            }
        }
        for function in &self.symbols.functions {
            if function.outlined.is_some() {
                self.mark_user(function.module);
            }
        }
        // A module that calls an entry point has constructs, even if none of their bodies is on a
        // stack because they end in tail calls.
        let callers = self.tables.stacks.rows().iter().filter_map(|row| {
            let (caller, _) = self.top(row.callers)?;
            match row.entry {
                StackEntry::Frame(frame) if self.is_entry(frame) => Some(self.module(caller)),
                _ => None,
            }
        });
        for module in callers.collect::<FxHashSet<_>>() {
            self.mark_user(module);
        }
        for (index, module) in self.tables.modules.rows().iter().enumerate() {
            if self
                .tables
                .processes
                .iter()
                .any(|p| p.executable == module.path)
            {
                self.mark_user(ModuleId(index as u32));
            }
        }
    }

    fn is_entry(&self, frame: FrameId) -> bool {
        let function = self.function(frame);
        let entry = function.is_some_and(|f| self.is_entry_point(f));
        entry && self.runtime(self.module(frame)) != RuntimeKind::None
    }

    fn mark_user(&mut self, module: ModuleId) {
        if module != ModuleId::NONE
            && module != ModuleId::KERNEL
            && self.runtime(module) == RuntimeKind::None
            && let Some(user) = self.user.get_mut(module.index())
        {
            *user = true;
        }
    }

    pub(super) fn context(&self, context: ContextId) -> Context {
        let contexts = &self.tables.contexts;
        *contexts.get(context.0).unwrap_or(&contexts.rows()[0])
    }

    /// The innermost frame of a stack and the stack of its callers.
    pub(super) fn top(&self, stack: StackId) -> Option<(FrameId, StackId)> {
        if stack == StackId::EMPTY {
            return None;
        }
        let node = self.tables.stacks.get(stack.0)?;
        match node.entry {
            StackEntry::Frame(frame) => Some((frame, node.callers)),
            StackEntry::Cut(_) => None,
        }
    }

    pub(super) fn module(&self, frame: FrameId) -> ModuleId {
        self.tables
            .frames
            .get(frame.0)
            .map_or(ModuleId::NONE, |f| f.module)
    }

    /// Whether any function is one of Python.
    pub(super) fn has_python(&self) -> bool {
        !self.python.is_empty()
    }

    /// The part of a frame in running Python.
    pub(super) fn part(&self, frame: FrameId) -> Part {
        let (module, function) = (self.module(frame), self.function(frame));
        let name = |function| without_clone(self.linkage(function));
        let is_interpreter = self.interpreters.get(module.index()).copied();
        match function {
            _ if self.runtime(module) == RuntimeKind::Python => Part::Frame,
            Some(function) if self.python.contains(&function) => Part::Trampoline,
            Some(function) if name(function) == linkage::PYTHON_INTERPRETER => Part::Runs,
            _ if is_interpreter == Some(true) => Part::Helps,
            _ => Part::Other,
        }
    }

    fn runtime(&self, module: ModuleId) -> RuntimeKind {
        self.tables.runtime(module)
    }

    pub(super) fn function(&self, frame: FrameId) -> Option<FunctionId> {
        match self.frames.get(frame.index()) {
            Some(known) => known.function,
            None => self.find_function(frame),
        }
    }

    fn find_function(&self, frame: FrameId) -> Option<FunctionId> {
        let function = self.symbols.frame(frame).function?;
        ((function.0 as usize) < self.functions.len()).then_some(function)
    }

    /// The function that this is a part of: itself, except for `_debug__` and `.cold` parts.
    pub(super) fn whole(&self, function: FunctionId) -> FunctionId {
        self.functions[function.0 as usize].whole
    }

    /// The body that was passed to the runtime by the call that made the construct: from the event,
    /// or from the machine code.
    pub(super) fn passed_body(&self, context: ContextId) -> Option<FunctionId> {
        if let Some(body) = self.event_body(context) {
            return Some(body);
        }
        let (fork, _) = self.top(self.context(context).stack)?;
        let body = self.symbols.code_of(fork)?.body?;
        (body.0 < self.functions.len() as u32).then(|| self.whole(body))
    }

    /// The body of a construct according to its event.
    pub(super) fn event_body(&self, context: ContextId) -> Option<FunctionId> {
        let body = self.context(context).body;
        let function = (body != FrameId::NONE).then(|| self.function(body))??;
        Some(self.whole(function))
    }

    /// The construct that a function is the body (or combiner) of.
    pub(super) fn construct(&self, function: Option<FunctionId>) -> Option<Construct> {
        self.functions[function?.0 as usize].construct
    }

    /// Whether a function can be the body of a task (`task`) or of another construct; `None` if it
    /// is not a body. gcc and flang name tasks and regions alike: the context that they ran in
    /// distinguishes them.
    pub(super) fn can_be_body(&self, function: Option<FunctionId>, task: bool) -> Option<bool> {
        let facts = &self.functions[function?.0 as usize];
        match facts.construct? {
            Construct::Reduction => None,
            _ if facts.serves_both => Some(true),
            Construct::Target => facts.task_entry.then_some(task),
            construct if facts.clang || self.settled || construct != Construct::Parallel => {
                Some(construct.is_task() == task)
            }
            _ => Some(true),
        }
    }

    /// Whether the body of a construct is inlined at an address.
    pub(super) fn is_in_inlined_body(&self, frame: FrameId) -> bool {
        let lines = self.symbols.frame(frame).lines.split_last();
        let mut names = lines.into_iter().flat_map(|(_, inlined)| inlined);
        names.any(|line| line.function.as_deref().is_some_and(is_outlined))
    }

    /// Whether a body has the code of another one, `code`: then the stacks show that.
    pub(super) fn is_folded_into(&self, body: FunctionId, code: FunctionId) -> bool {
        self.folded.get(&body) == Some(&self.whole(code))
    }

    /// Whether a function is the body of a target region, which is a call to the thread that
    /// encounters it: no event tells of it.
    pub(super) fn is_target(&self, function: Option<FunctionId>) -> bool {
        function.is_some_and(|f| self.functions[f.0 as usize].target)
    }

    /// The body of a task for a target construct that is inlined at an address.
    pub(super) fn inlined_target_task(&self, frame: FrameId) -> Option<FunctionId> {
        self.target_tasks.get(&frame).copied()
    }

    /// The bodies of target regions that are inlined at an address, outermost first.
    pub(super) fn inlined_targets(&self, frame: FrameId) -> impl Iterator<Item = FunctionId> {
        let targets = self.targets.get(&frame);
        targets.into_iter().flatten().copied()
    }

    /// Whether a frame is in the runtime function that calls outlined functions.
    pub(super) fn is_microtask(&self, frame: FrameId) -> bool {
        let microtask = |f: FunctionId| self.functions[f.0 as usize].microtask;
        self.role(frame) == Some(Role::Runtime) && self.function(frame).is_some_and(microtask)
    }

    /// Whether a function is an entry point of the runtime.
    pub(super) fn is_entry_point(&self, function: FunctionId) -> bool {
        self.functions[function.0 as usize].entry
    }

    /// Whether a function has a symbol; otherwise only its bounds are known.
    pub(super) fn is_named(&self, function: FunctionId) -> bool {
        self.functions[function.0 as usize].named
    }

    /// Whether a function has a name that clang before 19 gives to bodies of both regions and
    /// tasks, and later versions to those of tasks only.
    pub(super) fn is_nameless(&self, function: FunctionId) -> bool {
        self.functions[function.0 as usize].plain_outlined
    }

    /// Whether two addresses are in one function. Without symbols: in one load object, which
    /// suffices because callers are compared too.
    pub(super) fn same_function(&self, a: FrameId, b: FrameId) -> bool {
        if a == b {
            return true;
        }
        match (self.function(a), self.function(b)) {
            (Some(a), Some(b)) => self.whole(a) == self.whole(b),
            (None, None) => self.module(a) == self.module(b),
            _ => false,
        }
    }

    /// Whether a call is in the function that made a construct.
    pub(super) fn is_in_fork(&self, context: ContextId, call: FrameId) -> bool {
        let fork = self.top(self.context(context).stack);
        fork.is_some_and(|(fork, _)| self.same_function(fork, call))
    }

    /// The role of a frame, independent of its stack; `None` for no frame and for kernel frames.
    pub(super) fn role(&self, frame: FrameId) -> Option<Role> {
        match self.frames.get(frame.index()) {
            Some(known) => known.role,
            None => self.find_role(frame),
        }
    }

    fn find_role(&self, frame: FrameId) -> Option<Role> {
        let module = self.module(frame);
        if frame == FrameId::NONE || module == ModuleId::KERNEL {
            return None;
        }
        // A stub that leads into the runtime is not a call that the author wrote.
        let leads_in = || {
            let function = self.function(frame);
            function.is_some_and(|f| self.functions[f.0 as usize].leads_to_entry)
        };
        Some(match self.runtime(module) {
            RuntimeKind::None if !leads_in() => Role::Code,
            RuntimeKind::Python => Role::Code,
            _ => Role::Runtime,
        })
    }

    /// Whether a frame is in MPI, in its interface to Fortran, or in a library of another interface between ranks.
    pub(super) fn is_mpi(&self, frame: FrameId) -> bool {
        let runtime = self.runtime(self.module(frame));
        matches!(runtime, RuntimeKind::Mpi | RuntimeKind::Pgas)
    }

    /// Whether an address lies in an inlined reduction combiner.
    pub(super) fn inlines_combiner(&self, frame: FrameId) -> bool {
        self.combiners.contains(&frame)
    }

    /// The thread pool that waits in a function.
    pub(super) fn pool(&self, function: FunctionId) -> Option<Waiting> {
        self.functions[function.0 as usize].pool
    }

    pub(super) fn begins_thread(&self, function: Option<FunctionId>) -> bool {
        function.is_some_and(|f| self.functions[f.0 as usize].begins_thread)
    }

    /// Whether a frame is in a load object with the program's own code.
    pub(super) fn is_user(&self, frame: FrameId) -> bool {
        self.user
            .get(self.module(frame).index())
            .copied()
            .unwrap_or(false)
    }

    /// Whether code called by the runtime is a construct's body (or a function that the body jumped
    /// to), rather than a service function. `outer` is the frame that called `caller`.
    pub(super) fn is_body(&self, callee: FrameId, caller: FrameId, outer: Option<FrameId>) -> bool {
        let facts = self.function(callee).map(|f| self.functions[f.0 as usize]);
        match facts.and_then(|f| f.construct) {
            Some(Construct::Reduction) => return false,
            Some(_) => return true,
            None if facts.is_some_and(|f| f.callback) => return false,
            None => {}
        }
        if self.is_microtask(caller) || self.body_calls.contains(&caller) {
            return true;
        }
        let own = self.runtime(self.module(caller)) != RuntimeKind::Collector;
        // GNU's runtime calls our library only in place of a body.
        let wraps =
            outer.is_some_and(|outer| self.runtime(self.module(outer)) == RuntimeKind::Gomp);
        if !own && wraps {
            return true;
        }
        match self.function(caller) {
            // Few functions of the runtimes call user code. Their other named functions call
            // services, including those that the program replaces or links statically (`malloc`).
            Some(f) if own && self.is_named(f) && !self.functions[f.0 as usize].invokes => false,
            _ => self.is_user(callee),
        }
    }

    /// Whether `inner`, called directly by `outer`, is the same function as `outer` in the source.
    pub(super) fn is_part(&self, inner: Option<FunctionId>, outer: Option<FunctionId>) -> bool {
        let (Some(inner), Some(outer)) = (inner, outer) else {
            return false;
        };
        let (inner, outer) = (
            self.functions[inner.0 as usize],
            self.functions[outer.0 as usize],
        );
        if inner.construct.is_none() || outer.construct.is_none() {
            return false;
        }
        (inner.debug_part && !outer.debug_part)
            || ((inner.plain_outlined || inner.target) && outer.task_entry)
    }

    /// Whether a function has the name `name`, or is an outlined part of the function that has it.
    pub(super) fn is_called(&self, function: FunctionId, name: &str) -> bool {
        let function = &self.symbols.functions[function.0 as usize];
        let parent = function.outlined.as_ref().and_then(|o| o.parent.as_deref());
        let name = without_clone(name);
        let bare = |n: &str| n.split('(').next() == name.split('(').next();
        // Names with parameters distinguish overloads; a parent's name may lack them.
        let same = |n: &str| {
            let n = without_clone(n);
            n == name || (n.contains('(') != name.contains('(') && bare(n))
        };
        let own = || same(&function.name) || same(&function.linkage);
        // Without a symbol, the body's own name gives its parent.
        !function.has_symbol() && own() || parent.map_or_else(own, same)
    }

    /// The function that holds the directive of `outlined`, unless it is the one at `top`.
    pub(super) fn missing_parent(
        &self,
        outlined: FunctionId,
        top: Option<Callee>,
    ) -> Option<Callee> {
        let function = &self.symbols.functions[outlined.0 as usize];
        let outlined_facts = function.outlined.as_ref()?;
        let parent = outlined_facts.parent.as_deref()?;
        let present = match top {
            Some(Callee::Function(f)) => self.is_called(f, parent),
            Some(Callee::ParentOf(f)) => {
                let of = self.symbols.functions[f.0 as usize].outlined.as_ref();
                of.and_then(|o| o.parent.as_deref()) == Some(parent)
            }
            _ => false,
        };
        if present {
            return None;
        }
        let key = (function.module, parent);
        Some(match self.by_name.get(&key) {
            Some(&known) => Callee::Function(known),
            None => Callee::ParentOf(*self.absent_parents.get(&key).unwrap_or(&outlined)),
        })
    }

    /// A function's linkage name without its version.
    pub(super) fn linkage(&self, function: FunctionId) -> &'a str {
        let linkage = &self.symbols.functions[function.0 as usize].linkage;
        linkage.split('@').next().unwrap_or(linkage)
    }
}

fn inlined_combiners(symbols: &SymbolTable) -> FxHashSet<FrameId> {
    let combines = |line: &InlinedLine| {
        let name = line.function.as_deref();
        name.is_some_and(|name| name.starts_with(".omp_combiner."))
    };
    let frames = (0..).map(FrameId).zip(&symbols.frames);
    frames
        .filter(|(_, symbol)| symbol.lines.iter().any(combines))
        .map(|(frame, _)| frame)
        .collect()
}
