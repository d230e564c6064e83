//! What the header says of the machine, the command and the runtimes.

use std::ffi::OsString;
use std::path::Path;

use omp_model::header::{FORMAT_VERSION, Header, Runtime, Sampling};
use omp_model::tables::{Cut, RuntimeKind as RuntimeModule, Tables};
use omp_ring::consumer::RuntimeView;
use omp_ring::layout::RuntimeKind;

use crate::cli::Request;
use crate::merge::{Counts, Merge};
use crate::perf::plan::Plan;
use crate::processes::Processes;
use crate::{stacks, sys};

/// Prefixes of the environment variables that steer OpenMP runtimes.
const OPENMP_VARIABLES: [&str; 5] = ["OMP_", "KMP_", "GOMP_", "OMPT_", "LIBOMP"];

/// The header at the start.
pub fn header(request: &Request, environment: &[(OsString, OsString)], start: u64) -> Header {
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
    Header {
        format: FORMAT_VERSION,
        writer: format!("collect {}", env!("CARGO_PKG_VERSION")),
        command: request.command.iter().map(text).collect(),
        directory: std::env::current_dir()
            .map(|path| path.to_string_lossy().into_owned())
            .unwrap_or_default(),
        comments: request.comments.clone(),
        host,
        system,
        cpu_model: cpu_model(),
        cpus: sys::allowed_cpus(),
        environment: openmp,
        started_unix: now.map_or(0.0, |since| since.as_secs_f64()),
        started_raw_ns: start,
        ..Header::default()
    }
}

fn cpu_model() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    info.lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map(|(_, model)| model.trim().to_owned())
        .unwrap_or_default()
}

/// What sampling came to.
pub fn sampling(plan: &Plan, counts: &Counts) -> Sampling {
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
        switch_stacks: plan.switch_stacks,
        samples: counts.samples,
        switch_samples: counts.switch_samples,
        cpu_ns: counts.cpu_ns,
    }
}

/// Brings the header's numbers up to date with the merge.
pub fn update(header: &mut Header, plan: &Plan, merge: &Merge) {
    header.sampling = sampling(plan, &merge.counts);
    let losses = &mut header.losses;
    losses.samples = merge.counts.lost_samples;
    losses.side_band = merge.counts.lost_side_band;
    losses.omp_taken = merge.openmp.taken;
    losses.omp_lost = merge.openmp.lost;
    losses.omp_late = merge.late();
    losses.stacks_complete = merge.counts.endings.complete;
    losses.stacks_later = merge.stacks_later();
    losses.stacks_joined = merge.counts.joined;
    losses.stacks_cut = Cut::ALL
        .iter()
        .map(|reason| {
            (
                stacks::words(*reason).to_owned(),
                merge.counts.endings.cut[*reason as usize],
            )
        })
        .filter(|(_, count)| *count > 0)
        .collect();
    losses.sites_lost = merge.openmp.sites_lost + merge.openmp.arena().refused_sites();
    header.runtimes.clone_from(&merge.runtimes);
}

/// A runtime that introduced itself, with its file.
pub fn runtime(view: RuntimeView, processes: &mut Processes, time: u64) -> Runtime {
    let module = processes
        .program_at(view.pid, time)
        .and_then(|(program, _)| program.module_at(view.address));
    let (path, build_id) = module.unwrap_or_default();
    Runtime {
        pid: view.pid,
        path,
        build_id,
        version: view.version,
        interface: match view.kind {
            RuntimeKind::Ompt => "OMPT".into(),
            RuntimeKind::Gomp => "interposed".into(),
        },
    }
}

/// OpenMP runtimes that were loaded in programs and did not speak: the sentence for each.
pub fn silent_runtimes(tables: &Tables, header: &Header, library: Result<(), &str>) -> Vec<String> {
    tables
        .modules
        .rows()
        .iter()
        .filter(|module| matches!(module.runtime, RuntimeModule::Kmp | RuntimeModule::Gomp))
        .filter(|module| {
            header
                .runtimes
                .iter()
                .all(|spoke| spoke.path != module.path)
        })
        .map(|module| {
            let name = Path::new(&module.path)
                .file_name()
                .unwrap_or_default()
                .to_string_lossy();
            match library {
                Err(reason) => format!("no OpenMP states from {name}: {reason}"),
                Ok(()) => format!(
                    "no OpenMP events from {name}: it was not called, or could not be listened \
                     to (OMP_TOOL=disabled, loaded with RTLD_DEEPBIND, a set-user-id program); \
                     what its threads did is read from their stacks"
                ),
            }
        })
        .collect()
}
