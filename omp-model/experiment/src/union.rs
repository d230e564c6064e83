//! Several experiments as one: all their threads, with one set of tables. Load objects are the same
//! if path and build id are. Functions are the same if their symbols are, so that those of a
//! program that was built again are one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::header::{Counter, Header};
use crate::ids::{
    ContextId, FrameId, LockId, LoopId, ModuleId, NameId, ObjectId, PhaseId, ProcessId, StackId,
    ThreadId, ThreadStateId,
};
use crate::packed::{Packed, RecordedRow};
use crate::symbols::{
    CodeFact, FileId, FrameSymbol, Function, FunctionId, InlinedLine, Jump, SourceLine, SymbolTable,
};
use crate::tables::{
    Context, Frame, Lock, Loop, Object, Phase, Process, PythonLine, RuntimeKind, Stack, StackEntry,
    Tables, Thread, ThreadState,
};
use crate::{CounterSamples, Experiment, Samples, Sums};

/// Several experiments as one.
#[derive(Clone, Debug)]
pub struct Union {
    /// The rows and tables of all.
    pub experiment: Experiment,
    /// The symbols of all.
    pub symbols: SymbolTable,
    /// The number of each thread's experiment, from 1, by [`ThreadId`].
    pub origins: Vec<u32>,
}

/// Unites experiments. Their samples and sums stay in their files.
pub fn unite(parts: &[(&Experiment, &SymbolTable)]) -> Union {
    let mut all = Uniting::default();
    let numbered = (1..).zip(parts);
    let ids: Vec<Arc<Ids>> = numbered
        .map(|(number, (part, symbols))| Arc::new(all.add(number, &part.tables, symbols)))
        .collect();
    let parts_and_ids = || parts.iter().map(|part| part.0).zip(&ids);
    macro_rules! rows {
        ($rows:ident) => {{
            let each = parts_and_ids();
            each.flat_map(|(part, ids)| part.$rows.iter().map(|row| row.among(ids)))
                .collect()
        }};
    }
    macro_rules! packed {
        ($rows:ident) => {
            Packed::unite(parts_and_ids().map(|(part, ids)| (&part.$rows, ids)))
        };
    }
    let machines = machines(parts);
    let of_processes = parts_and_ids()
        .zip(&machines)
        .flat_map(|((part, _), machine)| {
            std::iter::repeat_n(*machine, part.tables.processes.len())
        });
    let of_processes = of_processes.collect();
    let first = parts.first().map(|part| part.0.path.clone());
    let last = parts.iter().map(|part| part.0.last).max();
    let experiment = Experiment {
        path: first.unwrap_or_default(),
        name: join(parts.iter().map(|part| part.0.name.as_str())),
        header: united_header(parts),
        samples: Samples::unite(parts_and_ids().map(|(part, ids)| (&part.samples, ids))),
        // Each experiment's samples stand for their own number of events.
        counters: parts_and_ids()
            .flat_map(|(part, ids)| {
                part.counters.iter().map(move |counter| CounterSamples {
                    samples: Samples::unite([(&counter.samples, ids)]),
                    ..counter.clone()
                })
            })
            .collect(),
        sums: Sums::unite(parts_and_ids().map(|(part, ids)| (&part.sums, ids))),
        blames: packed!(blames),
        intervals: rows!(intervals),
        region_sums: packed!(region_sums),
        region_spans: rows!(region_spans),
        region_works: packed!(region_works),
        loop_sums: packed!(loop_sums),
        lock_sums: packed!(lock_sums),
        lock_waits: packed!(lock_waits),
        task_sums: packed!(task_sums),
        task_spans: rows!(task_spans),
        mpi_calls: packed!(mpi_calls),
        mpi_messages: packed!(mpi_messages),
        cpu_uses: packed!(cpu_uses),
        spans: rows!(spans),
        phase_sums: packed!(phase_sums),
        sample_points: rows!(sample_points),
        machines: of_processes,
        tables: all.tables,
        symbols: None,
        findings: None,
        finished: parts.iter().all(|part| part.0.finished),
        last: last.unwrap_or_default(),
        warnings: Vec::new(),
    };
    Union {
        experiment,
        symbols: all.symbols,
        origins: all.origins,
    }
}

fn join<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// The number of each experiment's machine.
fn machines(parts: &[(&Experiment, &SymbolTable)]) -> Vec<u32> {
    let hosts: Vec<&str> = parts.iter().map(|(it, _)| &*it.header.host).collect();
    let first = |host: &&str| hosts.iter().position(|it| it == host).unwrap_or(0) as u32;
    hosts.iter().map(first).collect()
}

/// How many CPUs all of them could run on: of each machine, those that any of them could.
fn cpus(parts: &[(&Experiment, &SymbolTable)]) -> u32 {
    let mut by_machine = BTreeMap::<u32, (BTreeSet<u32>, u32)>::new();
    for (machine, (part, _)) in machines(parts).into_iter().zip(parts) {
        let (list, most) = by_machine.entry(machine).or_default();
        list.extend(&part.header.cpu_list);
        *most = (*most).max(part.header.cpus);
    }
    let of_machine = |(list, most): &(BTreeSet<u32>, u32)| (*most).max(list.len() as u32);
    by_machine.values().map(of_machine).sum()
}

/// The header of the first experiment with the counts of all added up.
fn united_header(parts: &[(&Experiment, &SymbolTable)]) -> Header {
    // The header of a killed recording has no duration.
    let longest = parts.iter().map(|part| part.0.duration().0).max();
    let mut headers = parts.iter().map(|part| &part.0.header);
    let mut all = headers.next().cloned().unwrap_or_default();
    all.duration_ns = longest.unwrap_or(0);
    all.cpus = cpus(parts);
    let by_process = parts.iter().flat_map(|(part, _)| {
        let known = part.header.process_cpus.iter().cloned();
        known
            .chain(std::iter::repeat(Vec::new()))
            .take(part.tables.processes.len())
    });
    all.process_cpus = by_process.collect();
    for header in headers {
        all.sampling.kernel_frames &= header.sampling.kernel_frames;
        all.sampling.switches &= header.sampling.switches;
        all.sampling.off_cpu_inferred |= header.sampling.off_cpu_inferred;
        all.sampling.minor_faults &= header.sampling.minor_faults;
        all.sampling.major_faults &= header.sampling.major_faults;
        if all.numa_nodes != header.numa_nodes {
            // CPUs of several machines.
            all.numa_nodes.clear();
        }
        all.sampling.samples += header.sampling.samples;
        all.sampling.switch_samples += header.sampling.switch_samples;
        all.sampling.cpu_ns += header.sampling.cpu_ns;
        all.sampling.stolen_ns += header.sampling.stolen_ns;
        all.runtimes.extend(header.runtimes.iter().cloned());
        add_counters(&mut all.counters, &header.counters);
        for note in &header.notes {
            if !all.notes.contains(note) {
                all.notes.push(note.clone());
            }
        }
        let (sum, more) = (&mut all.losses, &header.losses);
        sum.lost.extend(&more.lost);
        sum.phases_unbegun += more.phases_unbegun;
        sum.omp_taken += more.omp_taken;
        sum.omp_late += more.omp_late;
        sum.regions_open += more.regions_open;
        sum.stacks_complete += more.stacks_complete;
        sum.stacks_later += more.stacks_later;
        sum.stacks_remembered += more.stacks_remembered;
        sum.stacks_joined += more.stacks_joined;
        for (why, count) in &more.stacks_cut {
            match sum.stacks_cut.iter_mut().find(|(known, _)| known == why) {
                Some((_, sum)) => *sum += count,
                None => sum.stacks_cut.push((why.clone(), *count)),
            }
        }
    }
    all
}

/// Adds up the counters of the same name.
fn add_counters(all: &mut Vec<Counter>, more: &[Counter]) {
    for counter in more {
        match all.iter_mut().find(|known| known.name == counter.name) {
            Some(known) => {
                let events = [&*known, counter].map(|it| it.events as f64);
                let all: f64 = events.iter().sum();
                if all > 0.0 {
                    let parts = events[0] * known.counted + events[1] * counter.counted;
                    known.counted = parts / all;
                }
                known.events = known.events.saturating_add(counter.events);
                known.samples = known.samples.saturating_add(counter.samples);
                known.lost.extend(&counter.lost);
            }
            None => all.push(counter.clone()),
        }
    }
}

/// Maps the ids of one experiment to those of the union.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    first_thread: u32,
    first_process: u32,
    modules: Vec<ModuleId>,
    frames: Vec<FrameId>,
    stacks: Vec<StackId>,
    contexts: Vec<ContextId>,
    thread_states: Vec<ThreadStateId>,
    loops: Vec<LoopId>,
    locks: Vec<LockId>,
    objects: Vec<ObjectId>,
    names: Vec<NameId>,
    phases: Vec<PhaseId>,
}

impl Ids {
    pub(crate) fn thread(&self, id: ThreadId) -> ThreadId {
        ThreadId(id.0 + self.first_thread)
    }

    pub(crate) fn process(&self, id: ProcessId) -> ProcessId {
        ProcessId(id.0 + self.first_process)
    }

    fn module(&self, id: ModuleId) -> ModuleId {
        row(&self.modules, id.index(), ModuleId::NONE)
    }

    pub(crate) fn frame(&self, id: FrameId) -> FrameId {
        row(&self.frames, id.index(), FrameId::NONE)
    }

    pub(crate) fn stack(&self, id: StackId) -> StackId {
        row(&self.stacks, id.index(), StackId::EMPTY)
    }

    pub(crate) fn context(&self, id: ContextId) -> ContextId {
        row(&self.contexts, id.index(), ContextId::ROOT)
    }

    pub(crate) fn construct(&self, id: LoopId) -> LoopId {
        row(&self.loops, id.index(), id)
    }

    pub(crate) fn name(&self, id: NameId) -> NameId {
        row(&self.names, id.index(), NameId::NONE)
    }

    pub(crate) fn phase(&self, id: PhaseId) -> PhaseId {
        row(&self.phases, id.index(), PhaseId::NONE)
    }

    pub(crate) fn lock(&self, id: LockId) -> LockId {
        row(&self.locks, id.index(), id)
    }

    pub(crate) fn memory(&self, id: ObjectId) -> ObjectId {
        row(&self.objects, id.index(), ObjectId::NONE)
    }

    pub(crate) fn thread_state(&self, id: ThreadStateId) -> ThreadStateId {
        row(&self.thread_states, id.index(), ThreadStateId::OUTSIDE)
    }
}

/// The value of a row, or `none` if the table was cut before it.
fn row<T: Copy>(rows: &[T], at: usize, none: T) -> T {
    rows.get(at).copied().unwrap_or(none)
}

/// The address of a frame, where the ids of names are the new ones.
fn address(ids: &Ids, tables: &Tables, frame: Frame) -> u64 {
    if tables.runtime(frame.module) != RuntimeKind::Python {
        return frame.address;
    }
    let PythonLine { name, lines } = PythonLine::of_address(frame.address);
    let name = ids.name(name);
    let address = PythonLine { name, lines }.address();
    address.unwrap_or(frame.address)
}

#[derive(Default)]
struct Uniting {
    tables: Tables,
    symbols: SymbolTable,
    origins: Vec<u32>,
    files: FxHashMap<String, FileId>,
    functions: FxHashMap<String, Vec<FunctionId>>,
}

impl Uniting {
    fn add(&mut self, number: u32, tables: &Tables, symbols: &SymbolTable) -> Ids {
        let mut ids = Ids {
            first_thread: self.tables.threads.len() as u32,
            first_process: self.tables.processes.len() as u32,
            ..Ids::default()
        };
        for process in &tables.processes {
            self.tables.processes.push(Process {
                parent: process.parent.map(|parent| ids.process(parent)),
                ..process.clone()
            });
        }
        for name in tables.names.rows() {
            ids.names.push(self.tables.name(name.clone()));
        }
        for thread in &tables.threads {
            self.origins.push(number);
            self.tables.threads.push(Thread {
                process: ids.process(thread.process),
                name: ids.name(thread.name),
                ..thread.clone()
            });
        }
        for module in tables.modules.rows() {
            ids.modules.push(self.tables.module(module.clone()));
        }
        let functions = self.frames(&mut ids, tables, symbols);
        self.barriers(&ids, symbols);
        self.directives(&ids, symbols, &functions);
        self.code(&ids, symbols, &functions);
        self.jumps(&ids, symbols);
        // A row of these tables comes after those that it points to.
        for stack in tables.stacks.rows() {
            let entry = match stack.entry {
                StackEntry::Frame(frame) => StackEntry::Frame(ids.frame(frame)),
                cut => cut,
            };
            let callers = ids.stack(stack.callers);
            ids.stacks.push(self.tables.stack(Stack { callers, entry }));
        }
        for context in tables.contexts.rows() {
            ids.contexts.push(self.tables.context(Context {
                parent: ids.context(context.parent),
                kind: context.kind,
                stack: ids.stack(context.stack),
                python: ids.stack(context.python),
                body: ids.frame(context.body),
            }));
        }
        for thread_state in tables.thread_states.rows() {
            ids.thread_states
                .push(self.tables.thread_state(ThreadState {
                    state: thread_state.state,
                    context: ids.context(thread_state.context),
                    call: ids.frame(thread_state.call),
                }));
        }
        for construct in tables.loops.rows() {
            ids.loops.push(self.tables.loop_id(Loop {
                call: ids.frame(construct.call),
                ..*construct
            }));
        }
        for phase in tables.phases.rows() {
            ids.phases.push(self.tables.phase(Phase {
                parent: ids.phase(phase.parent),
                name: ids.name(phase.name),
            }));
        }
        for lock in tables.locks.rows() {
            ids.locks.push(self.tables.lock(Lock {
                process: ids.process(lock.process),
                variable: ids.frame(lock.variable),
                init: ids.frame(lock.init),
                ..*lock
            }));
        }
        for object in tables.objects.rows() {
            ids.objects.push(self.tables.object(Object {
                variable: ids.frame(object.variable),
                allocation: ids.frame(object.allocation),
            }));
        }
        ids
    }

    /// Adds the frames and their symbols. Returns the experiment's functions in the union.
    fn frames(&mut self, ids: &mut Ids, tables: &Tables, symbols: &SymbolTable) -> Vec<FunctionId> {
        let files: Vec<FileId> = symbols.files.iter().map(|path| self.file(path)).collect();
        for &(file, digest) in &symbols.digests {
            self.symbols
                .digests
                .extend(files.get(file.0 as usize).map(|&file| (file, digest)));
        }
        self.symbols.digests.sort_unstable();
        self.symbols.digests.dedup();
        let functions = self.functions(ids, symbols, &files);
        for (module, why) in &symbols.misses {
            let miss = (ids.module(*module), why.clone());
            if !self.symbols.misses.contains(&miss) {
                self.symbols.misses.push(miss);
            }
        }
        for (id, frame) in (0..).map(FrameId).zip(tables.frames.rows()) {
            let new = self.tables.frame(Frame {
                module: ids.module(frame.module),
                address: address(ids, tables, *frame),
            });
            ids.frames.push(new);
            if self.symbols.frames.len() <= new.index() {
                let frames = self.tables.frames.len();
                self.symbols.frames.resize(frames, FrameSymbol::default());
            }
            let known = &mut self.symbols.frames[new.index()];
            if known.function.is_some() {
                continue;
            }
            let symbol = symbols.frame(id);
            known.function = symbol
                .function
                .and_then(|id| functions.get(id.0 as usize).copied());
            let lines = symbol.lines.iter().map(|at| InlinedLine {
                function: at.function.clone(),
                source: moved(at.source, &files),
            });
            known.lines = lines.collect();
        }
        functions
    }

    /// Adds the kinds of barriers. A known kind replaces an unknown one.
    fn barriers(&mut self, ids: &Ids, symbols: &SymbolTable) {
        let known = &mut self.symbols.barriers;
        known.extend(
            symbols
                .barriers
                .iter()
                .map(|&(at, what)| (ids.frame(at), what)),
        );
        known.sort_unstable_by_key(|&(at, what)| (at, std::cmp::Reverse(what)));
        known.dedup_by_key(|row| row.0);
    }

    /// Adds the directives of calls and of outlined functions, and the names of mutexes.
    fn directives(&mut self, ids: &Ids, symbols: &SymbolTable, functions: &[FunctionId]) {
        let known = &mut self.symbols.directives;
        let more = symbols.directives.iter();
        known.extend(more.map(|&(at, directive)| (ids.frame(at), directive)));
        known.sort_by_key(|row| row.0);
        known.dedup_by_key(|row| row.0);
        let known = &mut self.symbols.lock_names;
        let more = symbols.lock_names.iter();
        known.extend(more.map(|(at, name)| (ids.frame(*at), name.clone())));
        known.sort_by_key(|row| row.0);
        known.dedup_by_key(|row| row.0);
        let known = &mut self.symbols.loop_bodies;
        let more = symbols.loop_bodies.iter().filter_map(|&(body, directive)| {
            let body = functions.get(body.0 as usize)?;
            Some((*body, directive))
        });
        known.extend(more);
        known.sort_by_key(|row| row.0);
        known.dedup_by_key(|row| row.0);
    }

    /// Adds the facts read from machine code, which are the same for all experiments of one
    /// file.
    fn code(&mut self, ids: &Ids, symbols: &SymbolTable, functions: &[FunctionId]) {
        let known = &mut self.symbols.code;
        let more = symbols.code.iter().map(|(at, fact)| {
            let body = fact.body.and_then(|id| functions.get(id.0 as usize));
            let fact = CodeFact {
                body: body.copied(),
                ..fact.clone()
            };
            (ids.frame(*at), fact)
        });
        known.extend(more);
        known.sort_by_key(|row| row.0);
        known.dedup_by_key(|row| row.0);
    }

    /// Adds the functions that left the stacks by jumps.
    fn jumps(&mut self, ids: &Ids, symbols: &SymbolTable) {
        let known = &mut self.symbols.jumps;
        known.extend(symbols.jumps.iter().map(|jump| Jump {
            caller: ids.frame(jump.caller),
            callee: ids.frame(jump.callee),
            frames: jump.frames.iter().map(|&frame| ids.frame(frame)).collect(),
        }));
        known.sort_by_key(|jump| (jump.caller, jump.callee));
        known.dedup_by_key(|jump| (jump.caller, jump.callee));
    }

    fn file(&mut self, path: &str) -> FileId {
        if let Some(&id) = self.files.get(path) {
            return id;
        }
        let id = FileId(self.symbols.files.len() as u32);
        self.symbols.files.push(path.to_owned());
        self.files.insert(path.to_owned(), id);
        id
    }

    /// Adds the functions, and returns them in the union. Two of one experiment stay two.
    fn functions(&mut self, ids: &Ids, symbols: &SymbolTable, files: &[FileId]) -> Vec<FunctionId> {
        let mut taken = FxHashSet::default();
        let mut functions = Vec::with_capacity(symbols.functions.len());
        for function in &symbols.functions {
            let module = ids.module(function.module);
            let function = Function {
                module,
                source: function.source.map(|line| moved(line, files)),
                ..function.clone()
            };
            let found = self.same(&function, &taken);
            let id = found.unwrap_or_else(|| {
                let id = FunctionId(self.symbols.functions.len() as u32);
                let named = self.functions.entry(key(&function).to_owned());
                named.or_default().push(id);
                self.symbols.functions.push(function);
                id
            });
            taken.insert(id);
            functions.push(id);
        }
        functions
    }

    /// The known function with the same symbol. One at the same address comes first, then one in
    /// the same load object, then one in a load object of the same name, then any. Without a
    /// symbol, only one at the same address. Static functions of other source files are others.
    fn same(&self, function: &Function, taken: &FxHashSet<FunctionId>) -> Option<FunctionId> {
        let module = function.module;
        let file = |function: &Function| {
            let path = self.symbols.files.get(function.source?.file.0 as usize)?;
            Some(base_name(path))
        };
        let is_elsewhere = |id: FunctionId| {
            let files = file(&self.symbols.functions[id.0 as usize]).zip(file(function));
            files.is_some_and(|(known, own)| known != own)
        };
        let path = |module: ModuleId| {
            let row = self.tables.modules.get(module.0);
            row.map_or("", |row| base_name(&row.path))
        };
        let candidates = self.functions.get(key(function))?;
        let here = |id: FunctionId| {
            let known = &self.symbols.functions[id.0 as usize];
            (known.module, known.address) == (module, function.address)
        };
        let free = candidates
            .iter()
            .filter(|&&id| !taken.contains(&id) && (function.has_symbol() || here(id)))
            .filter(|&&id| here(id) || !is_elsewhere(id));
        free.copied().min_by_key(|id| {
            let known = &self.symbols.functions[id.0 as usize];
            (
                !here(*id),
                known.module != module,
                path(known.module) != path(module),
            )
        })
    }
}

/// The name by which functions of two experiments are compared.
fn key(function: &Function) -> &str {
    if function.has_symbol() {
        &function.linkage
    } else {
        &function.name
    }
}

fn moved(line: SourceLine, files: &[FileId]) -> SourceLine {
    let file = files.get(line.file.0 as usize).copied();
    SourceLine {
        file: file.unwrap_or(line.file),
        ..line
    }
}

/// The last part of a path.
fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
