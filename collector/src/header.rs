//! The header of the experiment: the machine, the command, the counts and the runtimes.

use experiment::header::{FORMAT_VERSION, Header, Python, Runtime, Sampling};
use experiment::losses::LossKind;
use experiment::tables::{self, Cut, RuntimeKind, Tables};
use std::ffi::OsString;

use crate::cli::Request;
use crate::control_options::signal_name;
use crate::merge::{Counts, Merge};
use crate::no_events::{Cause, ProcessState};
use crate::perf::counters::Counter;
use crate::perf::open::cpu_list;
use crate::perf::plan::Plan;
use crate::python;
use crate::source::Source;
use crate::sys::{self, Ended};
use mpi::Interface;
use processes::Mapped;
use processes::stacks::description;

/// Prefixes of the environment variables that OpenMP runtimes read.
const OPENMP_VARIABLES: [&str; 5] = ["OMP_", "KMP_", "GOMP_", "OMPT_", "LIBOMP"];

/// The header at the start of the recording.
pub fn initial(request: &Request, environment: &[(OsString, OsString)], start: u64) -> Header {
    let (host, system) = sys::host_and_system();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    let mut openmp: Vec<(String, String)> = environment
        .iter()
        .map(|(name, value)| (text(name), text(value)))
        .filter(|(name, _)| {
            OPENMP_VARIABLES
                .iter()
                .any(|prefix| name.starts_with(prefix))
        })
        .collect();
    openmp.sort();
    let cpu_list = sys::own_cpus();
    Header {
        format: FORMAT_VERSION,
        writer: format!("collect {}", env!("CARGO_PKG_VERSION")),
        command: request.command.iter().map(text).collect(),
        directory: std::env::current_dir()
            .map(|path| path.to_string_lossy().into_owned())
            .unwrap_or_default(),
        rank: request.target.rank.clone(),
        calls_left_out: calls_left_out(request.calls),
        comments: request.comments.clone(),
        host,
        clock: sys::clock_identity(),
        system,
        cpu_model: cpu_model(),
        cpus: cpu_list.len() as u32,
        cpu_list,
        numa_nodes: numa_nodes(),
        environment: openmp,
        started_unix: now.map_or(0.0, |since| since.as_secs_f64()),
        started_raw_ns: start,
        counters: request.counters.iter().map(Counter::row).collect(),
        ..Header::default()
    }
}

/// The interfaces whose calls are not to be recorded.
fn calls_left_out(recorded: u32) -> Vec<String> {
    let left_out = Interface::ALL.iter().filter(|it| recorded & it.bit() == 0);
    left_out.map(|it| it.word().to_owned()).collect()
}

/// Notes how the target ended, as far as that is known.
pub fn end(header: &mut Header, ended: Ended) {
    header.exit_status = (ended != Ended::Unknown).then(|| ended.status());
    header.killed_by = match ended {
        Ended::Killed(signal) => Some(signal_name(signal)),
        Ended::Unknown | Ended::Exited(_) => None,
    };
}

/// The CPUs of each NUMA node, if there are several.
fn numa_nodes() -> Vec<(u32, Vec<u32>)> {
    let entries = std::fs::read_dir("/sys/devices/system/node").into_iter();
    let node = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.ok()?;
        let number = entry.file_name().to_str()?.strip_prefix("node")?.parse();
        let listed = std::fs::read_to_string(entry.path().join("cpulist")).ok()?;
        Some((number.ok()?, cpu_list(listed.trim())))
    };
    let mut nodes: Vec<(u32, Vec<u32>)> = entries.flatten().filter_map(node).collect();
    nodes.sort();
    // Nodes of memory alone run no thread.
    nodes.retain(|(_, cpus)| !cpus.is_empty());
    if nodes.len() > 1 { nodes } else { Vec::new() }
}

/// Bytes of the machine's memory (`/proc/meminfo`), if the system tells.
pub(crate) fn memory() -> Option<usize> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let all = info
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: usize = all.split_whitespace().next()?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

fn cpu_model() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    info.lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map(|(_, model)| model.trim().to_owned())
        .unwrap_or_default()
}

/// The plan and the counts of sampling. `on_cpu` and `stolen` are the time of all threads on CPUs
/// and what a hypervisor took of it, in nanoseconds.
pub fn sampling(plan: &Plan, counts: &Counts, (on_cpu, stolen): (u64, u64)) -> Sampling {
    Sampling {
        event: plan
            .event
            .map_or(String::new(), |event| event.name().to_owned()),
        period_us: plan.period_us,
        stack_bytes: if plan.event.is_some() {
            plan.stack_bytes
        } else {
            0
        },
        kernel_frames: plan.kernel,
        switches: plan.switches,
        off_cpu_inferred: !plan.switches,
        // Known when the recording ends.
        minor_faults: false,
        major_faults: false,
        switch_stacks: plan.switch_stacks,
        samples: counts.samples,
        switch_samples: counts.switch_samples,
        cpu_ns: on_cpu.saturating_sub(stolen),
        stolen_ns: stolen,
    }
}

/// Brings the header's numbers up to date with the merge.
pub fn update(header: &mut Header, plan: &Plan, merge: &Merge) {
    header.sampling = sampling(plan, &merge.counts, merge.on_cpu());
    let losses = &mut header.losses;
    losses.lost = merge.lost();
    losses.omp_taken = merge.openmp.taken;
    losses.omp_late = merge.late();
    losses.regions_open = merge.regions_left_open();
    losses.stacks_complete = merge.counts.endings.complete;
    losses.stacks_later = merge.counts.completed_by_memory;
    losses.stacks_remembered = merge.counts.completed_by_sample;
    losses.stacks_joined = merge.counts.completed_by_fork_point;
    losses.stacks_cut = Cut::ALL
        .iter()
        .map(|reason| {
            (
                description(*reason).to_owned(),
                merge.counts.endings.cut[*reason as usize],
            )
        })
        .filter(|(_, count)| *count > 0)
        .collect();
    losses.phases_unbegun = merge.control.unbegun;
    let end = match header.duration_ns {
        0 => merge.merged_to(),
        end => end,
    };
    header.paused_ns = merge.control.paused_until(end);
    header.runtimes.clone_from(&merge.registered.runtimes);
    let pythons = merge.openmp.pythons().iter();
    header.pythons = pythons
        .map(|(&version, &frames)| Python {
            version: python::version(version),
            frames,
        })
        .collect();
}

/// Brings the counts of counters up to date.
pub fn count(header: &mut Header, source: &Source, merge: &Merge) {
    let Source::Perf(rings) = source else {
        return;
    };
    let counted = rings.counted().into_iter().zip(&merge.counts.counters);
    for (counter, ((events, part), (samples, lost))) in header.counters.iter_mut().zip(counted) {
        (counter.events, counter.counted) = (events, part);
        (counter.samples, counter.lost) = (*samples, lost.clone());
    }
}

/// A runtime in which samples were taken and that sent no events, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silent {
    /// The file's name.
    pub name: String,
    /// `None` where it is linked into the program, so that nothing can listen to it.
    pub cause: Option<Cause>,
}

/// Completes the header's runtimes at the end of the recording: adds the runtimes without events, and
/// notes on what is wrong with any.
pub fn close_runtimes(
    header: &mut Header,
    merge: &Merge,
    library: Result<(), &Cause>,
) -> Vec<Silent> {
    let mapped = &merge.processes.mapped;
    let silent: Vec<Silent> = silent_runtimes(&merge.tables, header, mapped)
        .into_iter()
        .map(|module| silent_runtime(merge, &module.path, library))
        .collect();
    header.notes.extend(silent.iter().map(silent_note));
    for runtime in mapped {
        let known = |row: &Runtime| row.pid == runtime.pid && row.path == runtime.path;
        if !header.runtimes.iter().any(known) {
            header.runtimes.push(Runtime {
                pid: runtime.pid,
                path: runtime.path.clone(),
                build_id: runtime.build_id.clone(),
                version: String::new(),
                interface: SILENT.to_owned(),
            });
        }
    }
    header.notes.extend(several_runtimes(mapped));
    header.notes.extend(traced_runtimes(mapped));
    silent
}

/// The interface of a runtime without events.
const SILENT: &str = "none: not called, or states come from stacks only";

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Runtimes in which samples were taken and that sent no events.
fn silent_runtimes<'a>(
    tables: &'a Tables,
    header: &Header,
    mapped: &[Mapped],
) -> Vec<&'a tables::Module> {
    let has_events = |path: &str| header.runtimes.iter().any(|row| row.path == path);
    // A process that another one forked has the mappings of its parent.
    let known = |path: &str| mapped.iter().any(|it| it.path == path);
    let modules = tables.modules.rows().iter();
    modules
        .filter(|row| matches!(row.runtime, RuntimeKind::Kmp | RuntimeKind::Gomp))
        .filter(|row| known(&row.path) && !has_events(&row.path))
        .collect()
}

fn silent_runtime(merge: &Merge, path: &str, library: Result<(), &Cause>) -> Silent {
    let mapped = merge.processes.mapped.iter().zip(&merge.states);
    let mut mapped = mapped.filter(|(it, _)| it.path == path);
    let is_linked = mapped.clone().any(|(it, _)| it.linked);
    let cause = match (library, mapped.next()) {
        (Err(cause), _) => Some(cause.clone()),
        (Ok(()), Some((first, state))) if !is_linked => Some(cause_in(merge, first, state)),
        (Ok(()), _) => None,
    };
    Silent {
        name: base_name(path).to_owned(),
        cause,
    }
}

/// Why a runtime of this process sent no events.
fn cause_in(merge: &Merge, mapped: &Mapped, state: &ProcessState) -> Cause {
    let mut others = merge.registered.other_tools.iter();
    let other = others.find(|tool| tool.pid == mapped.pid);
    match other {
        _ if merge.lost().of(LossKind::ThreadsGivenUp).is_some() => Cause::GivenUp,
        Some(other) => Cause::OtherTool(other.name.clone()),
        None => {
            let is_loaded = merge.processes.has_library(mapped.pid, mapped.program);
            Cause::of(state, is_loaded)
        }
    }
}

fn silent_note(silent: &Silent) -> String {
    let name = &silent.name;
    match &silent.cause {
        Some(cause @ Cause::NoLibrary(_)) => format!("no OpenMP states from {name}: {cause}"),
        Some(cause) => format!(
            "no OpenMP events from {name}: {cause}; what its threads did is read from their stacks"
        ),
        None => format!(
            "no OpenMP events from the runtime that is linked into {name}: what its threads did is \
             read from their stacks; link the runtime's shared library to have it measured"
        ),
    }
}

/// Notes on programs with more than one runtime: each has threads of its own, and none knows of the
/// others.
fn several_runtimes(mapped: &[Mapped]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for (at, first) in mapped.iter().enumerate() {
        let same = |it: &&Mapped| (it.pid, it.program) == (first.pid, first.program);
        if mapped[..at].iter().any(|it| same(&it)) {
            continue;
        }
        let paths: Vec<&str> = mapped
            .iter()
            .filter(same)
            .map(|it| it.path.as_str())
            .collect();
        let [others @ .., last] = paths.as_slice() else {
            continue;
        };
        if others.is_empty() {
            continue;
        }
        let note = format!(
            "process {} has {} OpenMP runtimes, {} and {last}: each makes threads of its own for \
             the same CPUs; build all parts for one, or give each few threads",
            first.pid,
            paths.len(),
            others.join(", ")
        );
        notes.push(note);
    }
    notes
}

/// Notes on runtimes that were built with debug tracing.
fn traced_runtimes(mapped: &[Mapped]) -> Vec<String> {
    let mut paths: Vec<&str> = Vec::new();
    for it in mapped.iter().filter(|it| it.runtime.traced) {
        if !paths.contains(&it.path.as_str()) {
            paths.push(&it.path);
        }
    }
    let note = |path: &str| {
        format!(
            "{path} was built with debug tracing (KMP_DEBUG): its calls take longer than they \
             need, a chunk of a dynamic loop about ten times; LLVM's own or Intel's build of the \
             library has none"
        )
    };
    paths.into_iter().map(note).collect()
}

#[cfg(test)]
mod tests;
