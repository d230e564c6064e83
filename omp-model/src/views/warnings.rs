//! Warnings on spin waiting, which takes CPUs from threads that have work to do, and on memory that is
//! far from the threads that use it.

use std::collections::BTreeMap;
use std::fmt;

use experiment::Packed;
use experiment::Sums;
use experiment::header::Header;
use experiment::ids::ThreadId;
use experiment::rows::{CpuUse, Sum};
use experiment::state::Scheduling;
use experiment::tables::{RuntimeKind, Tables};
use rustc_hash::FxHashMap;

use super::notices::WORTH_TELLING;
use crate::cpu_samples::CpuSamples;

/// The share of the thread time lost to spinning from which it is reported. About one hundredth is
/// lost whenever anything, including `collect`, runs briefly beside a program that uses all CPUs:
/// no variable of the program changes that.
const CROWDED: f64 = 0.02;

/// Seconds of thread time that it costs to put a thread to sleep and to wake it, at least.
const SLEEP: f64 = 50e-6;

/// Page faults on NUMA nodes from which memory is said to lie on one: 40 MiB of it.
const FAULTS: u64 = 10_000;

/// A loss that is cheap to avoid.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// Threads spun in waits while threads with work to do had no CPU.
    SpinsCrowded {
        /// Thread seconds of work that could have run instead: in each second of the experiment,
        /// the lesser of spinning time and ready time.
        seconds: f64,
        /// Seconds on the CPU in waits.
        spun: f64,
        /// The variables of the runtimes that spun; `None` if the waits are so many that to sleep in
        /// them would cost more than it saves.
        variables: Option<&'static str>,
    },
    /// Threads of one process ran almost only on the same CPU, and spun there.
    SharedCpu {
        /// The CPU.
        cpu: u16,
        /// The threads' kernel numbers.
        tids: Vec<i32>,
        /// Seconds that they spun.
        spun: f64,
        /// The variables of the runtimes that spun.
        variables: &'static str,
    },
    /// Threads of one NUMA node touched almost all memory first, and threads of other nodes worked.
    FirstTouch {
        /// The node.
        node: u32,
        /// The share of the minor page faults there, 0 to 1.
        faults: f64,
        /// The share of the samples on other nodes, 0 to 1.
        elsewhere: f64,
    },
}

/// The warning for memory that was touched first on one NUMA node, if nearly all was and a quarter of
/// the work was elsewhere; `None` on a machine with one node.
pub fn first_touch(
    uses: &Packed<CpuUse>,
    on_cpus: &CpuSamples,
    header: &Header,
) -> Option<Warning> {
    if !header.sampling.minor_faults {
        return None;
    }
    let nodes = header.numa_nodes.iter();
    let mut by_node: Vec<(u64, u64, u32)> = Vec::new();
    for (node, cpus) in nodes {
        let here = |cpu: u16| cpus.contains(&u32::from(cpu));
        let faults = uses.iter().filter(|it| here(it.cpu));
        let samples = on_cpus.by_cpu.iter().filter(|(cpu, _)| here(**cpu));
        by_node.push((
            faults.map(|it| it.minor_faults).sum(),
            samples.map(|(_, count)| count).sum(),
            *node,
        ));
    }
    let sum = |of: fn(&(u64, u64, u32)) -> u64| by_node.iter().map(of).sum::<u64>();
    let (all_faults, all_samples) = (sum(|it| it.0), sum(|it| it.1));
    let &(faults, samples, node) = by_node.iter().max()?;
    let faults_here = faults as f64 / all_faults.max(1) as f64;
    let elsewhere = 1.0 - samples as f64 / all_samples.max(1) as f64;
    let is_far = all_faults >= FAULTS && faults_here >= 0.9 && elsewhere >= 0.25;
    (is_far && by_node.len() > 1).then_some(Warning::FirstTouch {
        node,
        faults: faults_here,
        elsewhere,
    })
}

/// The warnings on spins for an experiment; `on_cpus` covers all its samples.
pub fn warnings(
    tables: &Tables,
    sums: &Sums,
    on_cpus: &CpuSamples,
    header: &Header,
) -> Vec<Warning> {
    // Waits that sleep use the CPU only to fall asleep and wake up.
    let Some(variables) = variables(tables, &header.environment) else {
        return Vec::new();
    };
    let waits = |sum: &Sum| {
        let thread_state = tables.thread_states.get(sum.thread_state.0);
        thread_state.is_some_and(|thread_state| thread_state.state.is_wait())
    };
    let total: f64 = sums.iter().map(|sum| sum.time.seconds()).sum();
    let mut slices: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    let mut spun: FxHashMap<ThreadId, f64> = FxHashMap::default();
    let mut waited = 0_u64;
    for sum in sums.iter() {
        let (spins, starves) = slices.entry(sum.slice).or_default();
        if waits(&sum) {
            if sum.scheduling == Scheduling::Running {
                *spins += sum.time.seconds();
                waited += u64::from(sum.count);
                *spun.entry(sum.thread).or_default() += sum.time.seconds();
            }
        } else if sum.scheduling == Scheduling::Preempted {
            *starves += sum.time.seconds();
        }
    }
    let mut found = Vec::new();
    let cost = slices.values().map(|(spins, starves)| spins.min(*starves));
    let (seconds, spun_in_all) = (cost.sum(), slices.values().map(|slice| slice.0).sum());
    if seconds > CROWDED * total {
        found.push(Warning::SpinsCrowded {
            seconds,
            spun: spun_in_all,
            variables: (waited as f64 * SLEEP < seconds).then_some(variables),
        });
    }
    for (cpu, threads) in shared_cpus(tables, on_cpus, header.cpus) {
        let seconds: f64 = threads.iter().filter_map(|thread| spun.get(thread)).sum();
        if seconds > WORTH_TELLING * total {
            let tid = |thread: &ThreadId| tables.threads.get(thread.index()).map(|row| row.tid);
            found.push(Warning::SharedCpu {
                cpu,
                tids: threads.iter().filter_map(tid).collect(),
                spun: seconds,
                variables,
            });
        }
    }
    found
}

/// The variables that make the experiment's spinning runtimes sleep; `None` if all are set to
/// sleep. Each runtime has its own variable, which overrides OpenMP's.
fn variables(tables: &Tables, environment: &[(String, String)]) -> Option<&'static str> {
    let value = |name: &str| {
        let found = environment.iter().find(|(known, _)| known == name)?;
        Some(found.1.trim().to_ascii_lowercase())
    };
    let passive = value("OMP_WAIT_POLICY").is_some_and(|policy| policy == "passive");
    let own = |variable| value(variable).filter(|own| !own.is_empty());
    let spins = |kind, variable| {
        let has = tables.modules.rows().iter().any(|row| row.runtime == kind);
        has && own(variable).map_or(!passive, |own| !is_zero(&own))
    };
    let llvm = spins(RuntimeKind::Kmp, "KMP_BLOCKTIME").then(|| own("KMP_BLOCKTIME").is_some());
    let gcc = spins(RuntimeKind::Gomp, "GOMP_SPINCOUNT").then(|| own("GOMP_SPINCOUNT").is_some());
    Some(match (llvm, gcc) {
        (Some(false), None) => "OMP_WAIT_POLICY=passive or KMP_BLOCKTIME=0",
        (Some(true), None) => "KMP_BLOCKTIME=0",
        (None, Some(false)) => "OMP_WAIT_POLICY=passive or GOMP_SPINCOUNT=0",
        (None, Some(true)) => "GOMP_SPINCOUNT=0",
        (Some(false), Some(false)) => "OMP_WAIT_POLICY=passive",
        (Some(_), Some(_)) => "KMP_BLOCKTIME=0 and GOMP_SPINCOUNT=0",
        (None, None) => return None,
    })
}

/// Whether variables ask a runtime to spin in waits for as long as they last.
pub fn asks_to_spin(environment: &[(String, String)]) -> bool {
    environment.iter().any(|(name, value)| {
        let asked = match name.as_str() {
            "OMP_WAIT_POLICY" => "active",
            "KMP_BLOCKTIME" | "GOMP_SPINCOUNT" => "infinite",
            _ => return false,
        };
        value.trim().eq_ignore_ascii_case(asked)
    })
}

/// Whether a number, with or without a unit, is zero.
fn is_zero(value: &str) -> bool {
    let digits = value.trim_end_matches(|unit: char| !unit.is_ascii_digit());
    !digits.is_empty() && digits.bytes().all(|digit| digit == b'0')
}

/// CPUs that several threads of OpenMP were bound to: by enough samples, each of the threads ran
/// almost only there, although other CPUs were available.
fn shared_cpus(tables: &Tables, on_cpus: &CpuSamples, given: u32) -> Vec<(u16, Vec<ThreadId>)> {
    const ENOUGH: u64 = 50;
    let mut bound: BTreeMap<(u32, u16), Vec<ThreadId>> = BTreeMap::new();
    for (&thread, on) in &on_cpus.by_thread {
        let Some(row) = tables.threads.get(thread.index()) else {
            continue;
        };
        let of_team = row.kind.is_in_teams();
        if let Some(cpu) = on.mostly().filter(|_| on.samples() >= ENOUGH && of_team) {
            bound.entry((row.process.0, cpu)).or_default().push(thread);
        }
    }
    let bound = bound.into_iter().map(|((_, cpu), threads)| (cpu, threads));
    // With only one CPU, sharing it is unavoidable.
    let choice = given > 1 || on_cpus.by_cpu.len() > 1;
    let shared = bound.filter(|(_, threads)| choice && live_together(tables, threads));
    shared.collect()
}

/// Whether any two of the threads were alive at one time.
fn live_together(tables: &Tables, threads: &[ThreadId]) -> bool {
    let lives: Vec<_> = threads
        .iter()
        .filter_map(|thread| tables.threads.get(thread.index()))
        .map(|row| (row.birth, row.death))
        .collect();
    lives.iter().enumerate().any(|(at, &(birth, death))| {
        lives[at + 1..].iter().any(|&(other, end)| {
            death.is_none_or(|death| other < death) && end.is_none_or(|end| birth < end)
        })
    })
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::SpinsCrowded {
                seconds,
                spun,
                variables,
            } => {
                write!(
                    f,
                    "threads with work to do had no CPU for {seconds:.3} s while others spun in waits \
                     (for {spun:.3} s in all): use no more threads than there are CPUs free \
                     (OMP_NUM_THREADS)"
                )?;
                match variables {
                    Some(variables) => write!(f, ", or set {variables}"),
                    None => Ok(()),
                }
            }
            Warning::FirstTouch {
                node,
                faults,
                elsewhere,
            } => write!(
                f,
                "{:.0} % of the page faults were on NUMA node {node}, and {:.0} % of the samples on \
                 others: memory probably lies on the node of the thread that touched it first; touch \
                 it in parallel, with the schedule of the loops that use it",
                100.0 * faults,
                100.0 * elsewhere
            ),
            Warning::SharedCpu {
                cpu,
                tids,
                spun,
                variables,
            } => {
                let tids: Vec<String> = tids.iter().map(ToString::to_string).collect();
                write!(
                    f,
                    "threads {} ran on CPU {cpu} alone, and spun there in waits for {spun:.3} s: \
                     bind them apart (OMP_PLACES=cores with OMP_PROC_BIND=true), or set {variables}",
                    tids.join(", ")
                )
            }
        }
    }
}

#[cfg(test)]
mod tests;
