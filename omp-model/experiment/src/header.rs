//! `header.json`: what was recorded, how, and what was lost.

use serde::{Deserialize, Serialize};
use untrusted::printable;

use crate::losses::{Lost, Stretches};

/// The version of the format that this crate writes, and the only one that it reads.
pub const FORMAT_VERSION: u32 = 17;

/// The recording in words and numbers. Written when the recording starts and again at its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Header {
    /// [`FORMAT_VERSION`] of the writer.
    pub format: u32,
    /// Version of the program that wrote it.
    pub writer: String,
    /// The target's argument vector.
    pub command: Vec<String>,
    /// Its working directory.
    pub directory: String,
    /// Its rank, if a launcher of MPI or Slurm started it.
    pub rank: Option<Rank>,
    /// Whether the target ran already when the recording began (`-P`).
    pub attached: bool,
    /// The version of perf, if `perf record` made the recording.
    pub perf: Option<String>,
    /// `-C` comments.
    pub comments: Vec<String>,
    /// Name of the host.
    pub host: String,
    /// Equal for recordings whose clocks are one: the boot of their machine and their time namespace. Empty where that
    /// is not known.
    pub clock: String,
    /// Operating system, kernel release and machine.
    pub system: String,
    /// Model of the processor.
    pub cpu_model: String,
    /// CPUs that the target could run on.
    pub cpus: u32,
    /// Their numbers; empty in recordings of earlier versions.
    pub cpu_list: Vec<u32>,
    /// The CPUs on which the threads of each process could run, by [`ProcessId`](crate::ids::ProcessId):
    /// numbers in order. Empty where that is not known.
    pub process_cpus: Vec<Vec<u32>>,
    /// The CPUs of each NUMA node, of a machine that has several: the node's number and its CPUs.
    pub numa_nodes: Vec<(u32, Vec<u32>)>,
    /// The target's environment variables for OpenMP (`OMP_*`, `KMP_*`, `GOMP_*`).
    pub environment: Vec<(String, String)>,
    /// Wall clock at the start, seconds since 1970.
    pub started_unix: f64,
    /// CLOCK_MONOTONIC_RAW at the start, in nanoseconds: time zero of all rows.
    pub started_raw_ns: u64,
    /// Wall time of the recording, in nanoseconds; 0 while it goes on.
    pub duration_ns: u64,
    /// The target's exit status as a shell says it (128 + signal); `None` while it runs.
    pub exit_status: Option<i32>,
    /// The name of the signal that killed the target (`SIGTERM`); `None` if none did.
    pub killed_by: Option<String>,
    /// Why the recording ended before the target did, as a clause: a full disk, for example.
    pub stopped: Option<String>,
    /// Why the recording ended before the target did although nothing failed, as a clause: an option or
    /// the program asked for it.
    pub limit: Option<String>,
    /// The part of `duration_ns` in which recording was paused.
    pub paused_ns: u64,
    /// The sampling clock.
    pub sampling: Sampling,
    /// The counters that were asked for, in that order.
    pub counters: Vec<Counter>,
    /// OpenMP runtimes that reported themselves, in order of appearance.
    pub runtimes: Vec<Runtime>,
    /// The interfaces between ranks whose calls were not to be recorded (`-M`): `mpi`, `shmem`, `caf`, `gasp`.
    pub calls_left_out: Vec<String>,
    /// Interpreters of Python that called OpenMP runtimes.
    pub pythons: Vec<Python>,
    /// What was lost or cut.
    pub losses: Losses,
    /// What was not permitted or not possible: a sentence each, with what to do about it.
    pub notes: Vec<String>,
}

impl Header {
    /// The command as one text, which is cut like a name if it is too long: it can have thousands of
    /// arguments.
    pub fn command_line(&self) -> String {
        printable(&self.command.join(" ")).into_owned()
    }
}

/// The place of the target among the processes that a launcher started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rank {
    /// From 0.
    pub number: u32,
    /// How many there are; `None` if the launcher does not tell.
    pub size: Option<u32>,
    /// Equal for all ranks of one launch, as far as the launcher tells.
    pub job: String,
}

/// An interpreter of Python.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Python {
    /// Its version, such as `3.12.1`.
    pub version: String,
    /// Whether the frames of this version are known.
    pub frames: bool,
}

/// The clock that took the samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sampling {
    /// `cycles`, `cpu-clock` …; empty with `-p off`.
    pub event: String,
    /// Microseconds between samples of a running thread, as asked for.
    pub period_us: f64,
    /// Bytes of stack copied at each sample.
    pub stack_bytes: u32,
    /// Whether kernel frames were permitted.
    pub kernel_frames: bool,
    /// Whether context-switch records were permitted (without them off-CPU time is unknown).
    pub switches: bool,
    /// Whether time off CPUs is known by sums from `/proc` alone. What a thread did meanwhile is
    /// inferred: see [`Sum`](crate::rows::Sum).
    pub off_cpu_inferred: bool,
    /// Whether minor page faults were sampled, and no record of them was lost.
    pub minor_faults: bool,
    /// Whether major page faults were counted, and no record of them was lost.
    pub major_faults: bool,
    /// Whether stacks at switch-out were permitted.
    pub switch_stacks: bool,
    /// Clock samples taken.
    pub samples: u64,
    /// Switch-out samples taken.
    pub switch_samples: u64,
    /// CPU time of all threads while they were recorded, in nanoseconds: with `samples` it
    /// gives the rate really achieved.
    pub cpu_ns: u64,
    /// Time that a hypervisor took from threads on their CPUs, in nanoseconds; not in `cpu_ns`.
    pub stolen_ns: u64,
}

/// An event that was counted, and sampled each time that so many had come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counter {
    /// perf's name: `cache-misses`, `r01c2`, `cpu/event=0x3c,umask=0/`.
    pub name: String,
    /// Events from one sample to the next, of a thread on one CPU.
    pub interval: u64,
    /// The events of all recorded threads. The kernel counted them, or as many of them as
    /// [`counted`](Counter::counted) says, and they are scaled to the whole; 0 if it did not say.
    pub events: u64,
    /// For which part of the threads' time on CPUs it was counted: less than 1 where more events were
    /// asked for than the processor can count at a time.
    pub counted: f64,
    /// Samples, those of threads included that are not recorded, and those that were dropped: a sample
    /// beside them on the CPU counts for them too.
    pub samples: u64,
    /// Samples that the kernel dropped for want of room.
    pub lost: Stretches,
}

/// The most counters of a recording.
pub const MOST_COUNTERS: usize = 64;

/// The longest name of a counter, in bytes.
pub const LONGEST_COUNTER: usize = 128;

impl Counter {
    /// Whether a name can be one of a counter: it stands in lists of metrics, which `:` divides, behind
    /// one of `.%+!`.
    pub fn is_name(name: &str) -> bool {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_/,=".contains(&byte);
        (1..=LONGEST_COUNTER).contains(&name.len())
            && name.as_bytes()[0].is_ascii_alphanumeric()
            && name.bytes().all(is_allowed)
    }

    /// Whether its events are nanoseconds.
    pub fn is_clock(name: &str) -> bool {
        matches!(name, "cpu-clock" | "task-clock")
    }

    /// The events that a sample stands for: the kernel's count divided by the samples, so that all samples
    /// together are that count. It makes up for samples that were dropped, for what threads counted
    /// after their last sample, and for time in which the event was not counted.
    pub fn events_each(&self) -> f64 {
        match (self.events, self.samples) {
            (0, _) | (_, 0) => self.interval as f64,
            (events, samples) => events as f64 / samples as f64,
        }
    }
}

/// An OpenMP runtime in the target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Runtime {
    /// Process.
    pub pid: i32,
    /// Path of its load object.
    pub path: String,
    /// Build id in hexadecimal.
    pub build_id: String,
    /// What it says of itself.
    pub version: String,
    /// The source of its events: `OMPT`, `none: stacks only`.
    pub interface: String,
}

/// Everything that is missing from the recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Losses {
    /// What was lost, and when.
    pub lost: Lost,
    /// OpenMP records taken.
    pub omp_taken: u64,
    /// Ends of phases that no phase had begun, which are left out.
    pub phases_unbegun: u64,
    /// OpenMP records that arrived after their time had been merged; their times were moved.
    pub omp_late: u64,
    /// Regions that were not over when their process or the recording ended. What runtimes tell at the end of
    /// loops is missing.
    pub regions_open: u64,
    /// Clock samples whose stack reaches the thread's first function.
    pub stacks_complete: u64,
    /// Stacks of clock and switch-out samples that are complete because the frames beyond the
    /// copied piece were read from the thread's memory shortly after, where return addresses
    /// proved it unchanged.
    pub stacks_later: u64,
    /// Likewise, where that memory was gone or had changed: completed from other samples in the
    /// same frame, or in other code that the runtime calls in the same way. Their outer frames are
    /// inferred.
    pub stacks_remembered: u64,
    /// Stacks that are complete because they reach the fork point of their region, whose stack the
    /// library captured when the region began.
    pub stacks_joined: u64,
    /// Clock samples whose stack was cut, by reason (the words of a report).
    pub stacks_cut: Vec<(String, u64)>,
}
