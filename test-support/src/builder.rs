//! An experiment made by hand.

use std::path::Path;

use experiment::findings::Findings;
use experiment::header::{FORMAT_VERSION, Header, Losses, Sampling};
use experiment::ids::{
    ContextId, FrameId, ModuleId, NameId, Nanos, ProcessId, StackId, ThreadId, ThreadStateId,
};
use experiment::rows::{
    CpuUse, Interval, LockSum, LockWait, LoopSum, MpiCall, MpiMessage, PhaseSum, RegionSpan,
    RegionSum, RegionWork, Sample, SamplePoint, Span, Sum, TaskSpan, TaskSum,
};
use experiment::state::State;
use experiment::symbols::{
    Construct, FileId, FrameSymbol, Function, FunctionId, InlinedLine, Outlined, SourceLine,
    SymbolTable,
};
use experiment::tables::{
    Context, ContextKind, Frame, Module, Process, RuntimeKind, Stack, StackEntry, Tables, Thread,
    ThreadKind, ThreadState,
};
use experiment::{Batch, Writer};

/// Makes an experiment: methods add to the tables, and rows are pushed.
#[derive(Debug, Default)]
pub struct Builder {
    /// The header.
    pub header: Header,
    /// The tables.
    pub tables: Tables,
    /// The symbols, with one row for each frame of `tables`; not written if it has none.
    pub symbols: SymbolTable,
    /// Rows of one batch.
    pub samples: Vec<Sample>,
    /// Likewise, by counter of the header.
    pub counters: Vec<Vec<Sample>>,
    /// Rows of one batch.
    pub sums: Vec<Sum>,
    /// Rows of one batch.
    pub intervals: Vec<Interval>,
    /// Rows of one batch.
    pub region_sums: Vec<RegionSum>,
    /// Rows of one batch.
    pub region_works: Vec<RegionWork>,
    /// Rows of one batch.
    pub region_spans: Vec<RegionSpan>,
    /// Rows of one batch.
    pub task_sums: Vec<TaskSum>,
    /// Rows of one batch.
    pub task_spans: Vec<TaskSpan>,
    /// Worksharing loops.
    pub loop_sums: Vec<LoopSum>,
    /// Mutexes.
    pub lock_sums: Vec<LockSum>,
    /// Who waited for whom.
    pub lock_waits: Vec<LockWait>,
    /// Calls of MPI.
    pub mpi_calls: Vec<MpiCall>,
    /// Ends of messages.
    pub mpi_messages: Vec<MpiMessage>,
    /// Rows of one batch.
    pub cpu_uses: Vec<CpuUse>,
    /// Phases and pauses.
    pub spans: Vec<Span>,
    /// Time in phases.
    pub phase_sums: Vec<PhaseSum>,
    /// Sample points.
    pub sample_points: Vec<SamplePoint>,
    /// What `collect -r` found.
    pub findings: Option<Findings>,
}

impl Builder {
    /// An experiment of 2.2 s on two CPUs in `/home/ann/app`, whose source is one file.
    #[must_use]
    pub fn new(command: &[&str], source: &str) -> Builder {
        let header = Header {
            format: FORMAT_VERSION,
            writer: "0.1.0".to_owned(),
            command: command.iter().map(|&word| word.to_owned()).collect(),
            directory: "/home/ann/app".to_owned(),
            host: "fir".to_owned(),
            system: "Linux 6.1.0 x86_64".to_owned(),
            cpu_model: "a processor".to_owned(),
            cpus: 2,
            started_unix: 1_700_000_000.0,
            started_raw_ns: 1,
            duration_ns: 2_200_000_000,
            exit_status: Some(0),
            sampling: Sampling {
                event: "cpu-clock".to_owned(),
                period_us: 997.0,
                stack_bytes: 16_384,
                kernel_frames: true,
                switches: true,
                off_cpu_inferred: false,
                switch_stacks: true,
                minor_faults: true,
                major_faults: true,
                samples: 2_800,
                switch_samples: 12,
                cpu_ns: 2_800_000_000,
                stolen_ns: 0,
            },
            losses: Losses {
                stacks_complete: 2_800,
                ..Losses::default()
            },
            ..Header::default()
        };
        Builder {
            header,
            symbols: SymbolTable {
                files: vec![source.to_owned()],
                frames: vec![FrameSymbol::default()],
                ..SymbolTable::default()
            },
            ..Builder::default()
        }
    }

    /// Adds a process without a parent.
    pub fn process(&mut self, pid: i32, name: &str, executable: &str) -> ProcessId {
        let id = ProcessId(self.tables.processes.len() as u32);
        self.tables.processes.push(Process {
            pid,
            parent: None,
            name: name.to_owned(),
            executable: executable.to_owned(),
        });
        id
    }

    /// Adds a thread of the first process, which exists as long as the run.
    pub fn thread(&mut self, tid: i32, kind: ThreadKind) -> ThreadId {
        let id = ThreadId(self.tables.threads.len() as u32);
        self.tables.threads.push(Thread {
            process: ProcessId(0),
            tid,
            name: NameId::NONE,
            birth: Nanos(0),
            death: Some(Nanos(self.header.duration_ns)),
            kind,
        });
        id
    }

    /// Adds a load object, whose build id is derived from its path.
    pub fn module(&mut self, path: &str, runtime: RuntimeKind) -> ModuleId {
        self.tables.module(Module {
            path: path.to_owned(),
            build_id: format!("{:04x}", path.len()),
            runtime,
        })
    }

    /// Adds a function of 64 bytes with one frame, eight bytes from its start, at the line.
    pub fn function(
        &mut self,
        module: ModuleId,
        address: u64,
        name: &str,
        line: Option<u32>,
    ) -> FrameId {
        let id = self.unframed_function(module, address, 0x40, name, line);
        self.frame(id, address + 8, line)
    }

    /// Adds a function without frames.
    pub fn unframed_function(
        &mut self,
        module: ModuleId,
        address: u64,
        size: u64,
        name: &str,
        line: Option<u32>,
    ) -> FunctionId {
        let id = FunctionId(self.symbols.functions.len() as u32);
        self.symbols.functions.push(Function {
            module,
            address,
            size,
            linkage: name.to_owned(),
            name: name.to_owned(),
            source: line.map(in_the_source),
            outlined: None,
        });
        id
    }

    /// Adds a frame of a function.
    ///
    /// # Panics
    /// If the address has a frame already.
    pub fn frame(&mut self, function: FunctionId, address: u64, line: Option<u32>) -> FrameId {
        let module = self.symbols.functions[function.0 as usize].module;
        let at = line.map(|line| InlinedLine {
            function: None,
            source: in_the_source(line),
        });
        self.symbols.frames.push(FrameSymbol {
            function: Some(function),
            lines: at.into_iter().collect(),
        });
        let id = self.tables.frame(Frame { module, address });
        assert_eq!(id.index() + 1, self.symbols.frames.len(), "it is new");
        id
    }

    /// Makes the function of a frame the body of a construct.
    pub fn outlined(&mut self, frame: FrameId, construct: Construct, parent: &str, line: u32) {
        let function = self.symbols.frame(frame).function.unwrap();
        self.symbols.functions[function.0 as usize].outlined = Some(Outlined {
            construct,
            parent: Some(parent.to_owned()),
            line: Some(line),
        });
    }

    /// Adds a stack, innermost frame first.
    pub fn stack(&mut self, frames: &[FrameId]) -> StackId {
        let callers = frames.iter().rev();
        callers.fold(StackId::EMPTY, |callers, &frame| self.call(callers, frame))
    }

    /// Adds a stack: `callers` with one more frame.
    pub fn call(&mut self, callers: StackId, frame: FrameId) -> StackId {
        self.tables.stack(Stack {
            callers,
            entry: StackEntry::Frame(frame),
        })
    }

    /// Adds the context of a construct that was encountered at a stack.
    pub fn context(&mut self, parent: ContextId, kind: ContextKind, stack: StackId) -> ContextId {
        self.tables.context(Context {
            parent,
            kind,
            stack,
            python: StackId::EMPTY,
            body: FrameId::NONE,
        })
    }

    /// Adds a thread state without a call.
    pub fn thread_state(&mut self, state: State, context: ContextId) -> ThreadStateId {
        self.tables.thread_state(ThreadState {
            state,
            context,
            call: FrameId::NONE,
        })
    }

    /// Writes the experiment, in one batch.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn write(&self, path: &Path) {
        let mut writer = self.write_unfinished(path);
        if !self.symbols.frames.is_empty() {
            writer.symbols(&self.symbols).unwrap();
        }
        if let Some(findings) = &self.findings {
            writer.findings(findings).unwrap();
        }
        writer.finish(&self.header).unwrap();
    }

    /// Writes what a killed recording leaves: the first header and the rows.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn write_unfinished(&self, path: &Path) -> Writer {
        let mut writer = Writer::create(path, &self.header).unwrap();
        let batch = Batch {
            samples: &self.samples,
            counters: &self.counters,
            sums: &self.sums,
            intervals: &self.intervals,
            region_sums: &self.region_sums,
            region_works: &self.region_works,
            region_spans: &self.region_spans,
            task_sums: &self.task_sums,
            task_spans: &self.task_spans,
            loop_sums: &self.loop_sums,
            lock_sums: &self.lock_sums,
            lock_waits: &self.lock_waits,
            mpi_calls: &self.mpi_calls,
            mpi_messages: &self.mpi_messages,
            cpu_uses: &self.cpu_uses,
            spans: &self.spans,
            phase_sums: &self.phase_sums,
            sample_points: &self.sample_points,
            ..Batch::default()
        };
        writer.append(&self.tables, &batch).unwrap();
        writer
    }
}

/// A line of the one source file.
fn in_the_source(line: u32) -> SourceLine {
    SourceLine {
        file: FileId(0),
        line,
    }
}
