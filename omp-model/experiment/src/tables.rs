//! The tables that a recording's rows point to. Each entry is stored once; its index is its id.
//!
//! `collect` interns entries while recording and appends new ones to the experiment; a reader loads
//! the same tables. Addresses are not resolved here.

use std::hash::{Hash, Hasher};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::FxHasher;

use crate::ids::{
    ContextId, FrameId, LockId, LoopId, ModuleId, NameId, Nanos, ObjectId, PhaseId, ProcessId,
    StackId, ThreadStateId,
};
use crate::numbered::numbered;
use crate::state::State;

/// A load object as mapped: the file, by path and build id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Module {
    /// The path that the kernel reported; `[vdso]`, `[kernel]` or empty if there is no file.
    pub path: String,
    /// The GNU build id in hexadecimal; empty if there is none.
    pub build_id: String,
    /// The OpenMP runtime whose symbols it exports, if any.
    pub runtime: RuntimeKind,
}

numbered! {
        /// The OpenMP runtime in a load object, recognized by its exported symbols, not by its
        /// name.
    #[derive(Default)]
    pub enum RuntimeKind {
        /// Program or library code.
        #[default]
        None = 0,
        /// LLVM's or Intel's runtime (`__kmpc_fork_call`).
        Kmp = 1,
        /// GNU's runtime (`GOMP_parallel` without `__kmpc_fork_call`).
        Gomp = 2,
        /// Parallax's own library in the program.
        Collector = 3,
        /// None: a source file of Python, which the interpreter runs. The address of a frame there is that of a line
        /// of a function ([`PythonLine`]).
        Python = 4,
        /// A library of MPI, or of its interface to Fortran.
        Mpi = 5,
        /// A library of OpenSHMEM or of coarrays.
        Pgas = 6,
    }
}

/// An address in a load object. For a caller's frame it is the return address less one, so that
/// it lies in the call instruction; for a leaf the instruction pointer itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The load object.
    pub module: ModuleId,
    /// The link-time address (stated virtual memory address); absolute without a load object, and a [`PythonLine`]
    /// in a file of Python.
    pub address: u64,
}

/// A line of a function of Python, as the address of a frame in its file ([`RuntimeKind::Python`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PythonLine {
    /// The function's name, with those that it is defined in.
    pub name: NameId,
    /// Its first line, and the line that it executes; 0: not known.
    pub lines: [u32; 2],
}

impl PythonLine {
    const LINE_BITS: u32 = 20;
    /// The addresses of a function.
    pub const SIZE: u64 = 1 << Self::LINE_BITS;

    /// As an address; `None` if there are too many names. The lines of a function are a range of addresses, which
    /// begins with that of line 0.
    #[must_use]
    pub fn address(self) -> Option<u64> {
        let line = |line: u32| match line >> Self::LINE_BITS {
            0 => u64::from(line),
            _ => 0,
        };
        let [first, line] = self.lines.map(line);
        let name = u64::from(self.name.0);
        let fits = name >> (u64::BITS - 2 * Self::LINE_BITS) == 0;
        fits.then_some((name << Self::LINE_BITS | first) << Self::LINE_BITS | line)
    }

    /// From an address.
    #[must_use]
    pub fn of_address(address: u64) -> PythonLine {
        let line = |bits: u64| bits as u32 & ((1 << Self::LINE_BITS) - 1);
        PythonLine {
            name: NameId((address >> (2 * Self::LINE_BITS)) as u32),
            lines: [line(address >> Self::LINE_BITS), line(address)],
        }
    }
}

/// A node of the prefix tree of machine stacks: a frame and the stack of its callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stack {
    /// The stack without this frame; [`StackId::EMPTY`] below the outermost frame.
    pub callers: StackId,
    /// The frame; of an incomplete stack, the outermost entry is a mark.
    pub entry: StackEntry,
}

/// An entry of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StackEntry {
    /// A frame.
    Frame(FrameId),
    /// Outermost only: why the stack could not be followed further.
    Cut(Cut),
}

numbered! {
    /// Why a stack does not reach the thread's first function.
    pub enum Cut {
        /// The copied piece of the stack ended before it.
        DumpTooSmall = 0,
        /// A function without unwind information.
        NoUnwindInfo = 1,
        /// A return address outside every load object.
        NoModule = 2,
        /// The stack's contents contradict the unwind information.
        BadStack = 3,
        /// More frames than the limit.
        TooDeep = 4,
                /// The sample has no user registers: a kernel thread, or the process was gone.
        NoUserStack = 5,
    }
}

/// An OpenMP calling context: a region, teams region, explicit task or taskloop, with the stack at its
/// construct and the context that encountered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Context {
    /// The context of the task that encountered the construct.
    pub parent: ContextId,
    /// The kind of construct.
    pub kind: ContextKind,
    /// The machine stack at the construct, from the frame that holds the call into the runtime
    /// outward; [`StackId::EMPTY`] if it could not be taken.
    pub stack: StackId,
    /// The same with the frames of Python, those that an activation of the interpreter executes outward of it.
    /// [`StackId::EMPTY`] if no Python made the call, or its frames are not known.
    pub python: StackId,
    /// The first instruction of the function that the call passed to the runtime to run;
    /// [`FrameId::NONE`] if no event named it.
    pub body: FrameId,
}

numbered! {
    /// The kinds of calling context.
    pub enum ContextKind {
        /// The root: no construct.
        Root = 0,
        /// A parallel region.
        Region = 1,
        /// A teams region.
        Teams = 2,
        /// An explicit task of a `task` construct.
        Task = 3,
        /// The tasks of a `taskloop` construct.
        Taskloop = 4,
    }
}

impl ContextKind {
    /// Whether explicit tasks are of this kind.
    #[inline]
    pub const fn is_task(self) -> bool {
        matches!(self, ContextKind::Task | ContextKind::Taskloop)
    }
}

/// What a thread does in OpenMP's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ThreadState {
    /// The recorded state.
    pub state: State,
    /// The innermost region or task.
    pub context: ContextId,
    /// The call into the runtime that waits, or that entered the critical section in which the
    /// thread is: its return address less one. [`FrameId::NONE`] if the event did not name it.
    pub call: FrameId,
}

/// A process of the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// The kernel's process id.
    pub pid: i32,
    /// The parent process, if it is part of the recording.
    pub parent: Option<ProcessId>,
    /// The command's name (`comm`), the last one seen.
    pub name: String,
    /// Path of the executable, the last one seen.
    pub executable: String,
}

numbered! {
        /// The kind of thread, as OMPT has it.
    #[derive(Default)]
    pub enum ThreadKind {
                /// Unknown to any runtime.
        #[default]
        Outside = 0,
        /// `ompt_thread_initial`.
        Initial = 1,
        /// `ompt_thread_worker`.
        Worker = 2,
        /// `ompt_thread_other`: a helper of the runtime, in no team of the program.
        Other = 3,
    }
}

impl ThreadKind {
    /// Whether such a thread can be in a team of the program.
    pub const fn is_in_teams(self) -> bool {
        matches!(self, ThreadKind::Initial | ThreadKind::Worker)
    }
}

/// A thread of the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its process.
    pub process: ProcessId,
    /// The kernel's thread id.
    pub tid: i32,
    /// The name that the program gave it, the last one seen; [`NameId::NONE`] if it has its
    /// process's.
    pub name: NameId,
    /// Its start, or that of the recording if it was older.
    pub birth: Nanos,
    /// Its end within the recording; `None` if it is not known.
    pub death: Option<Nanos>,
    /// Its kind.
    pub kind: ThreadKind,
}

numbered! {
    /// How the iterations of a worksharing loop are given to threads; or the construct, if it is
    /// another one that divides work.
    pub enum Schedule {
        /// `schedule(static)`: one part for each thread.
        Static = 1,
        /// `schedule(static, chunk)`.
        StaticChunked = 2,
        /// `schedule(dynamic)`.
        Dynamic = 3,
        /// `schedule(guided)`.
        Guided = 4,
        /// `schedule(auto)`.
        Auto = 5,
        /// `schedule(runtime)`.
        Runtime = 6,
        /// `distribute`.
        Distribute = 7,
        /// `sections`: their iterations are the sections.
        Sections = 8,
        /// `single`: its iterations are the times that the thread executed it.
        Single = 9,
        /// `taskloop`, of which the thread created the tasks.
        Taskloop = 10,
    }
    /// What is particular about a loop.
    pub enum LoopClause {
        /// Nothing.
        Plain = 0,
        /// It has an `ordered` clause.
        Ordered = 1,
        /// A taskloop with `num_tasks`: its chunk is their number.
        NumTasks = 2,
    }
}

/// A worksharing construct, as the call tells by which it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Loop {
    /// The call.
    pub call: FrameId,
    /// Its schedule.
    pub schedule: Schedule,
    /// What is particular about it.
    pub clause: LoopClause,
}

numbered! {
    /// The kinds of mutex: `ompt_mutex_t` without the difference between a wait and a test.
    pub enum Mutex {
        /// A lock.
        Lock = 1,
        /// A nestable lock.
        NestLock = 3,
        /// A critical section.
        Critical = 5,
        /// An atomic operation for which the runtime takes a lock.
        Atomic = 6,
        /// The turn of an iteration: `ordered`.
        Ordered = 7,
    }
}

/// A mutex, or several of a kind that were not told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lock {
    /// Its process.
    pub process: ProcessId,
    /// Its kind.
    pub kind: Mutex,
    /// What distinguishes it from others of its kind: mostly its address. 0 stands for several.
    pub address: u64,
    /// The variable that it is, if that is in a load object; else [`FrameId::NONE`].
    pub variable: FrameId,
    /// The call that initialised it; [`FrameId::NONE`] if none was seen.
    pub init: FrameId,
}

impl Lock {
    /// Mutexes of a kind that were not told apart.
    pub const fn of_several(process: ProcessId, kind: Mutex) -> Lock {
        Lock {
            process,
            kind,
            address: 0,
            variable: FrameId::NONE,
            init: FrameId::NONE,
        }
    }
}

/// A phase that the program named, as a node of the tree of phases within phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Phase {
    /// The phase in which it began; [`PhaseId::NONE`] outside others.
    pub parent: PhaseId,
    /// Its name.
    pub name: NameId,
}

/// Memory that other ranks can access, as a rank knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Object {
    /// The variable that it is, if that is in a load object; else [`FrameId::NONE`].
    pub variable: FrameId,
    /// The call that allocated it; [`FrameId::NONE`] if none was seen.
    pub allocation: FrameId,
}

/// All tables. Entries are only ever added; threads and processes are also updated in place.
#[derive(Clone, Debug)]
pub struct Tables {
    /// By [`ProcessId`].
    pub processes: Vec<Process>,
    /// By [`ThreadId`].
    pub threads: Vec<Thread>,
    /// By [`ModuleId`].
    pub modules: Interner<Module>,
    /// By [`FrameId`].
    pub frames: Interner<Frame>,
    /// By [`StackId`].
    pub stacks: Interner<Stack>,
    /// By [`ContextId`].
    pub contexts: Interner<Context>,
    /// By [`ThreadStateId`].
    pub thread_states: Interner<ThreadState>,
    /// By [`LoopId`].
    pub loops: Interner<Loop>,
    /// By [`LockId`].
    pub locks: Interner<Lock>,
    /// By [`ObjectId`].
    pub objects: Interner<Object>,
    /// By [`NameId`].
    pub names: Interner<String>,
    /// By [`PhaseId`].
    pub phases: Interner<Phase>,
}

impl Default for Tables {
    /// Tables with the entries of constant ids only.
    fn default() -> Self {
        let unnamed = |path: &str| Module {
            path: path.to_owned(),
            build_id: String::new(),
            runtime: RuntimeKind::None,
        };
        let no_frame = Frame {
            module: ModuleId::NONE,
            address: 0,
        };
        let no_stack = Stack {
            callers: StackId::EMPTY,
            entry: StackEntry::Frame(FrameId::NONE),
        };
        let root = Context {
            parent: ContextId::ROOT,
            kind: ContextKind::Root,
            stack: StackId::EMPTY,
            python: StackId::EMPTY,
            body: FrameId::NONE,
        };
        let outside = ThreadState {
            state: State::Outside,
            context: ContextId::ROOT,
            call: FrameId::NONE,
        };
        let no_phase = Phase {
            parent: PhaseId::NONE,
            name: NameId::NONE,
        };
        Tables {
            processes: Vec::new(),
            threads: Vec::new(),
            modules: Interner::with([unnamed(""), unnamed("[kernel]")]),
            frames: Interner::with([no_frame]),
            stacks: Interner::with([no_stack]),
            contexts: Interner::with([root]),
            thread_states: Interner::with([outside]),
            loops: Interner::with([]),
            locks: Interner::with([]),
            objects: Interner::with([Object {
                variable: FrameId::NONE,
                allocation: FrameId::NONE,
            }]),
            names: Interner::with([String::new()]),
            phases: Interner::with([no_phase]),
        }
    }
}

impl Tables {
    /// The module's id, new or known.
    pub fn module(&mut self, module: Module) -> ModuleId {
        ModuleId(self.modules.intern(module))
    }

    /// The OpenMP runtime in a load object, or what else it is known to be; none of an unknown id.
    pub fn runtime(&self, module: ModuleId) -> RuntimeKind {
        let row = self.modules.get(module.0);
        row.map_or(RuntimeKind::None, |row| row.runtime)
    }

    /// The frame's id, new or known.
    pub fn frame(&mut self, frame: Frame) -> FrameId {
        FrameId(self.frames.intern(frame))
    }

    /// The stack's id, new or known.
    pub fn stack(&mut self, stack: Stack) -> StackId {
        StackId(self.stacks.intern(stack))
    }

    /// The context's id, new or known.
    pub fn context(&mut self, context: Context) -> ContextId {
        ContextId(self.contexts.intern(context))
    }

    /// The thread state's id, new or known.
    pub fn thread_state(&mut self, thread_state: ThreadState) -> ThreadStateId {
        ThreadStateId(self.thread_states.intern(thread_state))
    }

    /// The construct's id, new or known.
    pub fn loop_id(&mut self, construct: Loop) -> LoopId {
        LoopId(self.loops.intern(construct))
    }

    /// The mutex's id, new or known.
    pub fn lock(&mut self, lock: Lock) -> LockId {
        LockId(self.locks.intern(lock))
    }

    /// The memory's id, new or known.
    pub fn object(&mut self, object: Object) -> ObjectId {
        ObjectId(self.objects.intern(object))
    }

    /// The name's id, new or known.
    pub fn name(&mut self, name: String) -> NameId {
        NameId(self.names.intern(name))
    }

    /// The phase's id, new or known.
    pub fn phase(&mut self, phase: Phase) -> PhaseId {
        PhaseId(self.phases.intern(phase))
    }

    /// The name of a phase; empty outside every phase.
    pub fn phase_name(&self, phase: PhaseId) -> &str {
        let name = self.phases.get(phase.0).map(|phase| phase.name);
        let name = name.and_then(|name| self.names.get(name.0));
        name.map_or("", String::as_str)
    }

    /// The phase and those that it lies in, innermost first.
    pub fn phases_of(&self, phase: PhaseId) -> impl Iterator<Item = PhaseId> + '_ {
        let mut at = phase;
        std::iter::from_fn(move || {
            let node = self.phases.get(at.0)?;
            let phase = (at != PhaseId::NONE).then_some(at);
            at = node.parent;
            phase
        })
    }

    /// The stack without its innermost `count` entries.
    pub fn callers(&self, stack: StackId, count: usize) -> StackId {
        (0..count).fold(stack, |at, _| {
            let node = self.stacks.get(at.0);
            node.map_or(StackId::EMPTY, |node| node.callers)
        })
    }

    /// The entries of a stack, leaf first.
    pub fn walk(&self, stack: StackId) -> impl Iterator<Item = StackEntry> + '_ {
        let mut at = stack;
        std::iter::from_fn(move || {
            if at == StackId::EMPTY {
                return None;
            }
            let node = self.stacks.get(at.0)?;
            at = node.callers;
            Some(node.entry)
        })
    }
}

/// A table whose entries are distinct: adding a known one returns its index.
///
/// The hash table holds indices only, so that entries are kept once.
#[derive(Clone, Debug)]
pub struct Interner<T> {
    rows: Vec<T>,
    index: HashTable<u32>,
}

impl<T: Clone + Eq + Hash> Interner<T> {
    /// A table that begins with `rows` (a repeated one counts once).
    pub fn with<const N: usize>(rows: [T; N]) -> Self {
        let mut table = Interner {
            rows: Vec::new(),
            index: HashTable::new(),
        };
        for row in rows {
            table.intern(row);
        }
        table
    }

    /// Frees the hash table, for a table to which no rows will be added. Adding one rebuilds it.
    pub fn close(&mut self) {
        self.rows.shrink_to_fit();
        self.index = HashTable::new();
    }

    fn reopen(&mut self) {
        let rows = &self.rows;
        let hash_at = |&at: &u32| hash(&rows[at as usize]);
        // The rows that are not indexed are the last ones.
        let known = self.index.len();
        self.index.reserve(rows.len() - known, hash_at);
        for at in known as u32..rows.len() as u32 {
            self.index.insert_unique(hash_at(&at), at, hash_at);
        }
    }

    /// Adds a row without looking for an equal one.
    pub(crate) fn append(&mut self, row: T) {
        self.rows.push(row);
    }

    /// The index of `row`, added if it is new.
    pub fn intern(&mut self, row: T) -> u32 {
        if self.index.len() < self.rows.len() {
            self.reopen();
        }
        let rows = &mut self.rows;
        let same = |&at: &u32| rows[at as usize] == row;
        let hash_at = |&at: &u32| hash(&rows[at as usize]);
        match self.index.entry(hash(&row), same, hash_at) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(free) => {
                let at = rows.len() as u32;
                free.insert(at);
                rows.push(row);
                at
            }
        }
    }

    /// The row at an index.
    pub fn get(&self, index: u32) -> Option<&T> {
        self.rows.get(index as usize)
    }

    /// All rows, by index.
    pub fn rows(&self) -> &[T] {
        &self.rows
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none (tables of this crate always hold their constant entries).
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

fn hash(row: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    row.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_table_knows_its_rows_when_more_are_added() {
        let mut table = Interner::with([30, 10]);
        table.close();
        assert_eq!(table.rows(), [30, 10]);
        assert_eq!([10, 20, 30, 20].map(|row| table.intern(row)), [1, 2, 0, 2]);
        assert_eq!(table.rows(), [30, 10, 20]);
    }
}
