//! Processes, threads and mappings, from the side-band records.

mod copy;
pub mod files;
mod generated;
pub mod history;
mod jit;
pub mod last_stack;
pub mod maps;
pub mod objects;
pub mod records;
pub mod runtimes;
pub mod stacks;
pub mod usage;

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use experiment::ids::{FrameId, ModuleId, NameId, Nanos, ProcessId, StackId, ThreadId};
use experiment::state::Scheduling;
use experiment::tables::{self, Frame, RuntimeKind, Stack, StackEntry, Tables, Thread, ThreadKind};
use omp_model::stream::{Event, What};
use rustc_hash::{FxHashMap, FxHashSet};
use symbolize::Generated;
use untrusted::printable;
use unwinder::{AddressSpace, Image, MappedCode, ModuleIdx};

use crate::generated::GeneratedCode;
use crate::history::History;
use crate::last_stack::LastStack;
pub use crate::objects::LoadObjects;
use crate::objects::ModuleRows;
use crate::records::{Mapping, Side, SideRecord};
use crate::runtimes::Runtime;
use crate::usage::Usage;

/// A process between two `exec`s: its address space, load objects and frames.
#[derive(Clone, Default)]
pub struct Program {
    space: AddressSpace,
    /// By [`ModuleIdx`]; `None` until first used.
    modules: Vec<Option<ModuleRows>>,
    frames: FxHashMap<u64, FrameId>,
    last_stack: LastStack,
    executable: Option<PathBuf>,
}

impl Program {
    /// The address space.
    pub fn space(&self) -> &AddressSpace {
        &self.space
    }

    /// Path and build id of the load object at an address.
    pub fn module_at(&self, address: u64) -> Option<(String, String)> {
        let (index, _) = self.space.locate(address)?;
        let module = self.space.module(index)?;
        let build_id = module.image.as_deref().and_then(Image::build_id);
        let build_id = build_id.map(ToString::to_string).unwrap_or_default();
        Some((module.path.to_string_lossy().into_owned(), build_id))
    }

    /// The frame of an address in this program, interned.
    #[inline]
    pub fn frame(&mut self, tables: &mut Tables, objects: &LoadObjects, address: u64) -> FrameId {
        if let Some(frame) = self.frames.get(&address) {
            return *frame;
        }
        let frame = match self.space.locate(address) {
            Some((index, svma)) => {
                let module = self.module(tables, objects, (index, svma));
                tables.frame(Frame {
                    module,
                    address: svma,
                })
            }
            None => tables.frame(Frame {
                module: ModuleId::NONE,
                address,
            }),
        };
        self.frames.insert(address, frame);
        frame
    }

    /// The frame of a variable's address in this program, interned; [`FrameId::NONE`] if it lies in no
    /// load object.
    pub fn variable(
        &mut self,
        tables: &mut Tables,
        objects: &LoadObjects,
        address: u64,
    ) -> FrameId {
        let Some((index, svma)) = self.space.locate_data(address) else {
            return FrameId::NONE;
        };
        let module = self.module(tables, objects, (index, svma));
        tables.frame(Frame {
            module,
            address: svma,
        })
    }

    /// The OpenMP runtime whose code is at an address, if any.
    pub fn runtime_at(
        &mut self,
        tables: &mut Tables,
        objects: &LoadObjects,
        address: u64,
    ) -> RuntimeKind {
        let Some(at) = self.space.locate(address) else {
            return RuntimeKind::None;
        };
        let module = self.module(tables, objects, at);
        tables.runtime(module)
    }

    /// Interns the stack of calls at `addresses`, leaf first, with `outer` as its callers.
    pub fn stack(
        &mut self,
        tables: &mut Tables,
        objects: &LoadObjects,
        (outer, addresses): (StackId, &[u64]),
    ) -> StackId {
        let mut last = std::mem::take(&mut self.last_stack);
        let stack = last.stack(outer, addresses, |callers, address| {
            let frame = self.frame(tables, objects, address);
            tables.stack(Stack {
                callers,
                entry: StackEntry::Frame(frame),
            })
        });
        self.last_stack = last;
        stack
    }

    /// The row of the load object that an svma belongs to, or of the runtime linked into it.
    fn module(
        &mut self,
        tables: &mut Tables,
        objects: &LoadObjects,
        (at, svma): (ModuleIdx, u64),
    ) -> ModuleId {
        let index = at.0 as usize;
        if self.modules.len() <= index {
            self.modules.resize(index + 1, None);
        }
        let known = self.modules[index].get_or_insert_with(|| {
            let Some(module) = self.space.module(at) else {
                return ModuleRows {
                    id: ModuleId::NONE,
                    linked: None,
                };
            };
            let own = self.executable.as_deref() == Some(module.path.as_path());
            objects.rows(tables, &module.path, module.image.as_deref(), own)
        });
        match &known.linked {
            Some((row, runtime)) if runtime.holds(svma) => tables.module(row.clone()),
            _ => known.id,
        }
    }

    fn exec(&self) -> Program {
        // Indices of load objects survive `exec`, and so do their ids.
        let mut space = self.space.clone();
        space.clear();
        Program {
            space,
            modules: self.modules.clone(),
            ..Program::default()
        }
    }
}

/// A process: its programs over time, and its living threads.
struct Process {
    pid: i32,
    program: History<Program>,
    /// Its `exec` or end makes older state unnecessary.
    stale: bool,
    threads: Vec<ThreadId>,
    /// Value of [`Processes::changes`] at its last `exec`.
    since: u64,
    /// The time of its `exec`, if it has mapped nothing since.
    bare_since: Option<u64>,
}

/// An OpenMP runtime that a process has mapped.
#[derive(Clone, Debug)]
pub struct Mapped {
    /// The process.
    pub pid: i32,
    /// Distinguishes the programs of one process before and after an `exec`.
    pub program: u64,
    /// Path of the load object.
    pub path: String,
    /// Its build id in hexadecimal, empty if it has none.
    pub build_id: String,
    /// Whether the runtime is linked into the program itself or into another library.
    pub linked: bool,
    /// The runtime.
    pub runtime: Arc<Runtime>,
}

/// A process that the kernel does not permit to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unrecorded {
    /// Its process id.
    pub pid: i32,
    /// Its name.
    pub name: String,
}

/// All processes of an experiment, derived from the side-band records.
///
/// The kernel's ids (pid, tid) are resolved with the time of the record that holds them. Times are
/// nanoseconds since the start.
pub struct Processes {
    /// Load objects.
    pub objects: LoadObjects,
    /// Whether only the first process is recorded (`-F off`).
    first_only: bool,
    processes: Vec<Process>,
    pids: FxHashMap<i32, History<ProcessId>>,
    tids: FxHashMap<i32, History<ThreadId>>,
    /// By [`ThreadId`]: whether the thread lives.
    alive: Vec<bool>,
    /// By [`ThreadId`].
    process_of: Vec<ProcessId>,
    /// Number of changes of mappings.
    changes: u64,
    /// Threads that ended since [`Processes::forget_before`].
    ended: Vec<i32>,
    /// OpenMP runtimes, once for each program that mapped them.
    pub mapped: Vec<Mapped>,
    /// Programs that have loaded our library: process id and [`Mapped::program`].
    with_library: FxHashSet<(i32, u64)>,
    /// Processes whose events the kernel removed when they began a set-user-id program.
    pub unrecorded: Vec<Unrecorded>,
    /// Number of processes not recorded because of `-F off`.
    pub passed_over: u64,
    /// What the kernel counts for each thread.
    pub usage: Usage,
    generated: GeneratedCode,
    /// Code of files that memory was mapped over, of processes that run.
    covered: Vec<Covered>,
    /// CPU time that the first process had when the recording began, in nanoseconds.
    pub cpu_time_before: u64,
}

impl Processes {
    /// Without any process.
    pub fn new(objects: LoadObjects, first_only: bool) -> Self {
        let generated = GeneratedCode::new(objects.is_live());
        Processes {
            objects,
            first_only,
            processes: Vec::new(),
            pids: FxHashMap::default(),
            tids: FxHashMap::default(),
            alive: Vec::new(),
            process_of: Vec::new(),
            changes: 0,
            ended: Vec::new(),
            mapped: Vec::new(),
            with_library: FxHashSet::default(),
            unrecorded: Vec::new(),
            passed_over: 0,
            usage: Usage::default(),
            generated,
            covered: Vec::new(),
            cpu_time_before: 0,
        }
    }

    /// Applies side-band records, which must be sorted by time. Passes the threads' events to
    /// `emit` in that order.
    pub fn apply(&mut self, tables: &mut Tables, record: SideRecord, emit: &mut dyn FnMut(Event)) {
        let SideRecord {
            time,
            pid,
            tid,
            cpu,
            what,
        } = record;
        if self.first_only && self.processes.first().is_some_and(|first| first.pid != pid) {
            self.passed_over +=
                u64::from(matches!(what, Side::Fork { parent, .. } if parent != pid));
            return;
        }
        let mut emit_event = |thread, what| {
            emit(Event {
                time: Nanos(time),
                thread,
                what,
            });
        };
        match what {
            Side::SwitchIn | Side::SwitchOut { .. } => {
                let thread = match self.thread_at(tid, time) {
                    Some(thread) => thread,
                    None => {
                        let thread = self.adopt(tables, pid, tid, time);
                        emit_event(thread, What::Birth(Scheduling::Running));
                        thread
                    }
                };
                match what {
                    Side::SwitchOut { preempted } => self.usage.switch_out(thread, cpu, preempted),
                    _ => self.usage.switch_in(thread, cpu),
                }
                emit_event(thread, switch_event(&what));
            }
            Side::Stops { .. } | Side::Goes | Side::OffCpu { .. } => {
                if let Some(thread) = self.thread_at(tid, time) {
                    emit_event(thread, switch_event(&what));
                }
            }
            Side::Fork { parent, creator } => {
                let named = self.thread_at(creator, time);
                let name = named.map_or(NameId::NONE, |it| tables.threads[it.index()].name);
                if parent != pid {
                    self.fork(tables, pid, parent, time);
                }
                let thread = self.birth(tables, pid, tid, time);
                tables.threads[thread.index()].name = name;
                // The thread is runnable from now on, but does not run yet.
                emit_event(thread, What::Birth(Scheduling::Preempted));
            }
            Side::Found { scheduling } => {
                let thread = self.birth(tables, pid, tid, time);
                emit_event(thread, What::Birth(scheduling));
            }
            Side::Exit => {
                if let Some(thread) = self.thread_at(tid, time) {
                    self.look_at_end(tables, pid, time);
                    self.end(thread, tid);
                    emit_event(thread, What::Exit);
                }
            }
            Side::MinorFaults | Side::MajorFault => {
                if let Some(thread) = self.thread_at(tid, time) {
                    let is_major = what == Side::MajorFault;
                    self.usage.faults(thread, cpu, is_major);
                }
            }
            Side::Comm { exec, name } => {
                let process = self.process(tables, pid, time);
                if exec {
                    let (gone, new) = self.exec(tables, (pid, tid), time);
                    for thread in gone {
                        emit_event(thread, What::Exit);
                    }
                    if let Some(thread) = new {
                        emit_event(thread, What::Birth(Scheduling::Running));
                    }
                }
                self.name(tables, (process, pid, tid, time), &name);
            }
            Side::Map(mapping) => self.map(tables, pid, time, &mapping),
        }
    }

    /// The thread with a kernel thread id at a time, if it is known.
    #[inline]
    pub fn thread_at(&self, tid: i32, time: u64) -> Option<ThreadId> {
        self.tids.get(&tid).map(|history| *history.at(time))
    }

    /// Whether a thread with these ids, its process's and its own, is or was known.
    pub fn has_thread(&self, (pid, tid): (i32, i32)) -> bool {
        let mut threads = self.tids.get(&tid).into_iter().flat_map(History::all);
        threads.any(|thread| self.processes[self.process_of(*thread).index()].pid == pid)
    }

    /// Whether a process with this id is or was known.
    pub fn has_process(&self, pid: i32) -> bool {
        self.pids.contains_key(&pid)
    }

    /// Adds a thread whose fork record is missing: it begins now.
    pub fn adopt(&mut self, tables: &mut Tables, pid: i32, tid: i32, time: u64) -> ThreadId {
        self.birth(tables, pid, tid, time)
    }

    /// The program of a process at a time, and the load objects, for unwinding and locating.
    pub fn program_at(&mut self, pid: i32, time: u64) -> Option<(&mut Program, &LoadObjects)> {
        let process = *self.pids.get(&pid)?.at(time);
        let program = self.processes[process.index()].program.at_mut(time);
        Some((program, &self.objects))
    }

    /// Number of changes of mappings. While it stays the same, an address of a process maps to the
    /// same frame.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether process `pid` is recorded: it is the first one, or all are.
    pub fn is_recorded(&self, pid: i32) -> bool {
        !self.first_only || self.processes.first().is_none_or(|first| first.pid == pid)
    }

    /// Whether a thread is alive, as of the side-band records applied.
    pub fn is_alive(&self, thread: ThreadId) -> bool {
        self.alive.get(thread.index()).copied().unwrap_or(false)
    }

    /// The process of a thread.
    pub fn process_of(&self, thread: ThreadId) -> ProcessId {
        self.process_of[thread.index()]
    }

    /// The CPU time of each living process since the recording began, in nanoseconds; `of` gives that of a
    /// process since its own begin.
    pub fn cpu_times(&self, of: impl Fn(i32) -> Option<u64>) -> Vec<(ProcessId, u64)> {
        let all = (0..).map(ProcessId).zip(&self.processes);
        let living = all.filter(|(_, process)| !process.threads.is_empty());
        let time = |(id, process): (ProcessId, &Process)| {
            let before = if id == ProcessId(0) {
                self.cpu_time_before
            } else {
                0
            };
            Some((id, of(process.pid)?.saturating_sub(before)))
        };
        living.filter_map(time).collect()
    }

    /// Processes other than the first that still run, as `is_running` tells of a process id, and can be
    /// recorded at time `now`: process id and name.
    pub fn still_running(
        &self,
        tables: &Tables,
        now: u64,
        is_running: impl Fn(i32) -> bool,
    ) -> Vec<(i32, String)> {
        /// A program maps its own file at once. If not, its events have been removed.
        const MAPPING_NS: u64 = 200_000_000;
        let all = self.processes.iter().zip(&tables.processes).skip(1);
        let is_removed = |it: &Process| it.bare_since.is_some_and(|since| since + MAPPING_NS < now);
        let is_recorded = |it: &Process| !it.threads.is_empty() && !is_removed(it);
        all.filter(|(process, _)| is_recorded(process) && is_running(process.pid))
            .map(|(process, row)| (process.pid, row.name.clone()))
            .collect()
    }

    /// The functions of code that programs generated, by load object, as their files tell now. Without `told`, none
    /// that they tell of.
    pub fn generated(&self, told: bool) -> FxHashMap<String, Rc<Generated>> {
        self.generated.functions(told)
    }

    /// Removes the maps of their functions that interpreters of Python wrote.
    pub fn remove_maps_of_python(&self) {
        self.generated.remove_maps_of_python();
    }

    /// Called every so often. A program that wants large pages copies its code to memory that it mapped over it: such
    /// memory is the file's code again.
    pub fn look_at_copies(&mut self) {
        let mut covered = std::mem::take(&mut self.covered);
        covered.retain_mut(|it| {
            it.looks += 1;
            let is_copy = self.objects.is_in_memory(it.pid, &it.code);
            if is_copy {
                let code = it.code.clone();
                let program = self.processes[it.process.index()].program.at_mut(u64::MAX);
                let length = code.range.end - code.range.start;
                let image = Some(code.image);
                program
                    .space
                    .map(code.range.start, length, code.offset, image, &code.path);
                program.frames.clear();
                program.last_stack.clear();
                self.changes += 1;
            }
            !is_copy && it.looks < MOST_LOOKS
        });
        covered.append(&mut self.covered);
        self.covered = covered;
    }

    /// Called every so often. Just-in-time compilers of programs that run tell what code they generated.
    pub fn read_generated(&mut self) {
        self.generated.read_lists();
    }

    /// Drops state that only lookups at times before `time` need.
    pub fn forget_before(&mut self, time: u64) {
        for process in self.processes.iter_mut().filter(|process| process.stale) {
            process.program.forget_before(time);
            process.stale = false;
            if process.threads.is_empty() {
                // Parsed files are kept elsewhere. Most of the memory is the unwinder's state of the
                // process.
                *process.program.at_mut(time) = Program::default();
            }
        }
        for tid in self.ended.drain(..) {
            if let Some(history) = self.tids.get_mut(&tid) {
                history.forget_before(time);
            }
        }
    }

    /// Whether a program, identified as in [`Mapped`], has loaded our library.
    pub fn has_library(&self, pid: i32, program: u64) -> bool {
        self.with_library.contains(&(pid, program))
    }

    /// Notes a process whose events the kernel has removed: at its end its program has mapped
    /// nothing, not even itself. The kernel removes them at the `exec` of a program that the user
    /// may not inspect (set-user-id, or with capabilities of its own).
    fn look_at_end(&mut self, tables: &Tables, pid: i32, time: u64) {
        let Some(id) = self.pids.get(&pid).map(|history| *history.at(time)) else {
            return;
        };
        if self.processes[id.index()].bare_since.take().is_some() {
            self.unrecorded.push(Unrecorded {
                pid,
                name: tables.processes[id.index()].name.clone(),
            });
        }
    }

    fn process(&mut self, tables: &mut Tables, pid: i32, time: u64) -> ProcessId {
        match self.pids.get(&pid) {
            Some(history) => *history.at(time),
            None => self.new_process(tables, pid, None, time),
        }
    }

    fn new_process(
        &mut self,
        tables: &mut Tables,
        pid: i32,
        parent: Option<ProcessId>,
        time: u64,
    ) -> ProcessId {
        let id = ProcessId(self.processes.len() as u32);
        let (name, executable, program) = match parent {
            Some(parent) => {
                let row = &tables.processes[parent.index()];
                let program = self.processes[parent.index()].program.at(time).clone();
                (row.name.clone(), row.executable.clone(), program)
            }
            None => Default::default(),
        };
        tables.processes.push(tables::Process {
            pid,
            parent,
            name,
            executable,
        });
        let program = History::new(time, program);
        self.processes.push(Process {
            pid,
            program,
            stale: false,
            threads: Vec::new(),
            since: self.changes,
            bare_since: None,
        });
        change(&mut self.pids, pid, time, id);
        id
    }

    /// A thread has a new name. A process has that of its first thread.
    fn name(
        &self,
        tables: &mut Tables,
        (process, pid, tid, time): (ProcessId, i32, i32, u64),
        name: &str,
    ) {
        if tid == pid {
            tables.processes[process.index()].name = name.to_owned();
        }
        let Some(thread) = self.thread_at(tid, time) else {
            return;
        };
        let is_own = name != tables.processes[process.index()].name;
        let name = if is_own {
            name_id(tables, name)
        } else {
            NameId::NONE
        };
        tables.threads[thread.index()].name = name;
    }

    fn fork(&mut self, tables: &mut Tables, pid: i32, parent: i32, time: u64) {
        let parent = self.process(tables, parent, time);
        self.new_process(tables, pid, Some(parent), time);
    }

    fn birth(&mut self, tables: &mut Tables, pid: i32, tid: i32, time: u64) -> ThreadId {
        let process = self.process(tables, pid, time);
        let id = ThreadId(tables.threads.len() as u32);
        tables.threads.push(Thread {
            process,
            tid,
            name: NameId::NONE,
            birth: Nanos(time),
            death: None,
            kind: ThreadKind::Outside,
        });
        self.alive.push(true);
        self.processes[process.index()].threads.push(id);
        self.process_of.push(process);
        change(&mut self.tids, tid, time, id);
        id
    }

    fn end(&mut self, thread: ThreadId, tid: i32) {
        if !std::mem::replace(&mut self.alive[thread.index()], false) {
            return;
        }
        let process = &mut self.processes[self.process_of[thread.index()].index()];
        process.threads.retain(|other| *other != thread);
        process.stale |= process.threads.is_empty();
        self.ended.push(tid);
    }

    /// Applies an `exec`: all other threads of the process end. A thread other than the first takes
    /// over the first one's thread id. Returns the threads that ended, and the one that began, if
    /// any.
    fn exec(
        &mut self,
        tables: &mut Tables,
        (pid, tid): (i32, i32),
        time: u64,
    ) -> (Vec<ThreadId>, Option<ThreadId>) {
        let process = self.process(tables, pid, time);
        let known = self
            .thread_at(tid, time)
            .filter(|thread| self.is_alive(*thread));
        let others = self.processes[process.index()].threads.clone();
        let gone: Vec<ThreadId> = others
            .into_iter()
            .filter(|thread| Some(*thread) != known)
            .collect();
        for thread in &gone {
            self.end(*thread, tables.threads[thread.index()].tid);
        }
        self.changes += 1;
        let entry = &mut self.processes[process.index()];
        let program = entry.program.at(time).exec();
        entry.program.change(time, program);
        entry.stale = true;
        entry.since = self.changes;
        entry.bare_since = Some(time);
        tables.processes[process.index()].executable.clear();
        let new = known.is_none().then(|| self.birth(tables, pid, tid, time));
        (gone, new)
    }

    fn map(&mut self, tables: &mut Tables, pid: i32, time: u64, mapping: &Mapping) {
        let process = self.process(tables, pid, time);
        let path = &*self.objects.name(mapping);
        self.changes += 1;
        let image = self.objects.image(pid, path, mapping);
        let entry = &mut self.processes[process.index()];
        entry.bare_since = None;
        let (since, program) = (entry.since, entry.program.at_mut(time));
        if self.objects.is_collector(path) {
            self.with_library.insert((pid, since));
        }
        if let Some(image) = &image
            && let Some(runtime) = self.objects.runtime(image)
            && !matches!(runtime.kind, RuntimeKind::Mpi | RuntimeKind::Pgas)
        {
            let executable = program.executable.as_deref().is_none_or(|own| own == path);
            add_runtime(
                &mut self.mapped,
                Mapped {
                    pid,
                    program: since,
                    path: path.to_string_lossy().into_owned(),
                    build_id: image
                        .build_id()
                        .map(ToString::to_string)
                        .unwrap_or_default(),
                    linked: runtime.is_part(executable),
                    runtime: runtime.clone(),
                },
            );
        }
        let (start, length) = (mapping.start, mapping.length);
        if image.is_none() && generated::is_memory(mapping) {
            self.generated.add(pid, mapping);
            let code = program.space.code_in(start, length).into_iter();
            self.covered.extend(code.map(|code| Covered {
                pid,
                process,
                code,
                looks: 0,
            }));
            let object = generated::object_of(pid);
            // Its addresses are those of the process.
            program.space.map(start, length, start, None, &object);
            if let Some(code) = self.generated.code(pid, mapping) {
                program.space.add_generated(start, code);
            }
        } else {
            self.generated.add_dump(pid, mapping);
            let list = image.as_deref().and_then(|image| {
                let code = start.wrapping_sub(image.svma_of_offset(mapping.offset)?);
                Some(code.wrapping_add(image.jit_list()?))
            });
            if let Some(variable) = list {
                self.generated.add_list(pid, variable);
            }
            program
                .space
                .map(start, length, mapping.offset, image, path);
        }
        program.frames.clear();
        program.last_stack.clear();
        // The kernel maps the program first, before its interpreter.
        if program.executable.is_none() && path.is_absolute() {
            program.executable = Some(path.to_owned());
        }
        let row = &mut tables.processes[process.index()];
        if row.executable.is_empty() && path.is_absolute() {
            row.executable = path.to_string_lossy().into_owned();
        }
        // At once: a calling context may be about to be unwound.
        self.look_at_copies();
    }
}

/// Code of a file over which a process mapped memory.
struct Covered {
    pid: i32,
    process: ProcessId,
    code: MappedCode,
    /// How often it was looked at.
    looks: u32,
}

/// After so many looks at which memory differed from the code below it, it is taken for no copy of that code.
const MOST_LOOKS: u32 = 100;

/// Names that are told apart; all others have one name.
const MOST_NAMES: usize = 1 << 16;
const OTHER_NAMES: &str = "<other names>";

/// The id of a name of the program's.
pub fn name_id(tables: &mut Tables, name: &str) -> NameId {
    let name = match tables.names.len() {
        MOST_NAMES.. => OTHER_NAMES.into(),
        _ => printable(name),
    };
    tables.name(name.into_owned())
}

/// The event of a context switch, or of what is known without.
fn switch_event(switch: &Side) -> What {
    match switch {
        Side::SwitchOut { preempted: true } | Side::Stops { ready: true } => {
            What::SwitchOut(Scheduling::Preempted)
        }
        Side::SwitchOut { .. } | Side::Stops { .. } => What::SwitchOut(Scheduling::Blocked),
        Side::OffCpu {
            blocked,
            preempted,
            open,
        } => What::OffCpu {
            blocked: Nanos(*blocked),
            preempted: Nanos(*preempted),
            open: Nanos(*open),
        },
        _ => What::SwitchIn,
    }
}

/// Notes a runtime once, although each segment of its file is mapped separately.
fn add_runtime(known: &mut Vec<Mapped>, new: Mapped) {
    let same =
        |old: &Mapped| (old.pid, old.program, &old.path) == (new.pid, new.program, &new.path);
    if !known.iter().rev().any(same) {
        known.push(new);
    }
}

/// Gives a kernel's id a new value.
fn change<T>(ids: &mut FxHashMap<i32, History<T>>, id: i32, since: u64, value: T) {
    match ids.entry(id) {
        std::collections::hash_map::Entry::Occupied(mut entry) => {
            entry.get_mut().change(since, value);
        }
        std::collections::hash_map::Entry::Vacant(entry) => {
            entry.insert(History::new(since, value));
        }
    }
}

#[cfg(test)]
mod tests;
