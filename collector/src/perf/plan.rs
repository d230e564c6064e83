//! Which perf events to request. When the kernel refuses one, a pure function maps the refusal to
//! the next best plan, so that every step can be tested without such a kernel.

use std::fmt;

/// The event that triggers clock samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleEvent {
    /// The processor's cycle counter, at a frequency.
    Cycles,
    /// The kernel's high-resolution timer on CPU time (`cpu-clock`).
    CpuClock,
    /// A timer of each thread on its CPU time, in the program. It is no perf event.
    ThreadTimer,
}

impl SampleEvent {
    /// perf's name of the event.
    pub fn name(self) -> &'static str {
        match self {
            SampleEvent::Cycles => "cycles",
            SampleEvent::CpuClock => "cpu-clock",
            SampleEvent::ThreadTimer => "thread-cputime timer",
        }
    }
}

/// The events to request from the kernel, and their attributes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// The event that triggers samples; `None` for `-p off`.
    pub event: Option<SampleEvent>,
    /// CPU time between samples, in microseconds.
    pub period_us: f64,
    /// Whether to sample in the kernel, with kernel frames.
    pub kernel: bool,
    /// Whether to take switch-out samples.
    pub switch_stacks: bool,
    /// Whether to record context switches.
    pub switches: bool,
    /// Whether mmap records carry build ids (Linux 5.12).
    pub build_ids: bool,
    /// Whether child processes inherit the events. If not, only threads do (Linux 5.13).
    pub follow: bool,
    /// Bytes of stack copied with each sample.
    pub stack_bytes: u32,
    /// Sizes of the rings: an index into [`RINGS`].
    pub ring_step: usize,
}

/// The rings of one CPU: each an exponent of 2, in pages of 4 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingSizes {
    /// Samples.
    pub samples: u8,
    /// mmap, comm, fork, exit and switch records.
    pub side_band: u8,
    /// Switch-out samples.
    pub switch_stacks: u8,
}

const fn sizes(samples: u8, side_band: u8, switch_stacks: u8) -> RingSizes {
    RingSizes {
        samples,
        side_band,
        switch_stacks,
    }
}

/// Ring sizes, largest first. The first row holds 250 ms of samples at 1 kHz. The last row fits in
/// the 516 KiB that an ordinary user may lock for each CPU where RLIMIT_MEMLOCK adds nothing. A
/// side-band ring of 4 MiB holds 100,000 records: more than a second of a CPU that switches 40,000
/// times a second. That is as long as collect may have to wait for a CPU on a machine that is short
/// of them.
pub const RINGS: [RingSizes; 5] = [
    sizes(10, 10, 7),
    sizes(9, 9, 6),
    sizes(8, 7, 6),
    sizes(7, 6, 5),
    sizes(6, 5, 4),
];

/// Bytes of stack copied with each sample. 16 KiB hold all but 1 in 2,500 stacks of real
/// applications; 4 KiB truncate 2 to 3 in 100.
pub const STACK_BYTES: u32 = 16 << 10;
/// The same with the smallest rings, which then hold 31 samples instead of 15.
const SMALL_STACK_BYTES: u32 = 8 << 10;

/// From more rings of a kind than this on, they start one, two, three, four steps smaller: each locks
/// memory. There is one for each CPU of each recording on a node, and 128 ranks on 128 CPUs would take
/// 139 GB with the largest.
const MANY_CPUS: [usize; 4] = [32, 1 << 10, 1 << 12, 1 << 13];

impl Plan {
    /// The plan to try first, with every feature. `cpus` is the number of CPUs that the program may run
    /// on, times that of the programs recorded beside each other.
    pub fn wished(period_us: Option<f64>, follow: bool, cpus: usize) -> Plan {
        Plan {
            event: period_us.map(|_| SampleEvent::Cycles),
            period_us: period_us.unwrap_or(0.0),
            kernel: true,
            switch_stacks: period_us.is_some(),
            switches: true,
            build_ids: true,
            follow,
            stack_bytes: STACK_BYTES,
            ring_step: MANY_CPUS.iter().filter(|many| cpus > **many).count(),
        }
    }

    /// What is recorded without perf events, of what was wished.
    pub fn without_perf(&self) -> Plan {
        Plan {
            event: self.event.map(|_| SampleEvent::ThreadTimer),
            kernel: false,
            switch_stacks: false,
            switches: false,
            build_ids: false,
            ..*self
        }
    }

    /// The sizes of the rings of a CPU. They are the smallest for a CPU that the program may not run on
    /// at its start (`is_allowed`): it gets there only if it changes its affinity.
    pub fn rings(&self, is_allowed: bool) -> RingSizes {
        let step = if is_allowed {
            self.ring_step
        } else {
            RINGS.len() - 1
        };
        RINGS[step]
    }
}

/// Which request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The event that samples.
    Samples,
    /// The event of the side-band records.
    SideBand,
    /// The event of switch-out stacks.
    SwitchStacks,
    /// That of a counter, by its number.
    Counter(usize),
    /// The memory of a ring.
    Ring,
}

/// A request that the kernel or the crate refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The request.
    pub stage: Stage,
    /// `errno`; EOPNOTSUPP where the crate was built without the feature.
    pub errno: i32,
}

/// The permissions on this machine, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Situation {
    /// `/proc/sys/kernel/perf_event_paranoid`, if it can be read.
    pub paranoid: Option<i32>,
    /// Whether collect runs as root.
    pub root: bool,
}

/// Recording is not possible. One sentence says why and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impossible(pub String);

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A plan with one feature less, and a sentence about it where a user should know.
pub type Less = (Plan, Option<String>);

/// The next best plan after a refusal.
///
/// # Errors
/// [`Impossible`] when no feature is left to drop.
pub fn step_down(plan: &Plan, refusal: Refusal, situation: Situation) -> Result<Less, Impossible> {
    let forbidden = matches!(refusal.errno, libc::EACCES | libc::EPERM);
    if let Some(impossible) = without_remedy(refusal.errno) {
        return Err(impossible);
    }
    match refusal.stage {
        Stage::Ring => smaller_rings(plan, refusal.errno),
        Stage::Samples if plan.event == Some(SampleEvent::Cycles) && !forbidden => Ok((
            Plan {
                event: Some(SampleEvent::CpuClock),
                ..*plan
            },
            None,
        )),
        Stage::SwitchStacks if !forbidden => Ok((
            Plan {
                switch_stacks: false,
                ..*plan
            },
            Some(format!(
                "no stacks at switch-out: the kernel does not offer them (error {})",
                refusal.errno
            )),
        )),
        Stage::SideBand if !forbidden && plan.build_ids => Ok((
            Plan {
                build_ids: false,
                ..*plan
            },
            None,
        )),
        _ if forbidden && plan.kernel => Ok((
            Plan {
                kernel: false,
                switch_stacks: false,
                ..*plan
            },
            Some(no_kernel(situation)),
        )),
        _ if forbidden => Err(Impossible(forbidden_altogether(situation))),
        _ if !plan.follow => Err(Impossible(
            "-F off needs Linux 5.13 or newer: leave it away to record child processes too".into(),
        )),
        stage => {
            let error = std::io::Error::from_raw_os_error(refusal.errno);
            Err(Impossible(format!(
                "the kernel refused the event of the {stage}: {error}"
            )))
        }
    }
}

/// Errors that no smaller plan avoids.
pub(super) fn without_remedy(errno: i32) -> Option<Impossible> {
    let reason = match errno {
        libc::EMFILE | libc::ENFILE => {
            "too few open files are allowed for the events on each CPU, with -P of each thread: raise \
             the limit with `ulimit -n`"
        }
        libc::ESRCH => "the process has ended",
        libc::ENOSYS => "this kernel was built without perf events",
        _ => return None,
    };
    Some(Impossible(reason.into()))
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stage::Samples => "samples",
            Stage::SideBand => "mmap, fork and switch records",
            Stage::SwitchStacks => "switch-out stacks",
            Stage::Counter(_) => "counters",
            Stage::Ring => "rings",
        })
    }
}

fn smaller_rings(plan: &Plan, errno: i32) -> Result<Less, Impossible> {
    let ring_step = plan.ring_step + 1;
    if ring_step >= RINGS.len() {
        let error = std::io::Error::from_raw_os_error(errno);
        return Err(Impossible(format!(
            "not even small rings may be locked in memory ({error}): raise the limit with \
             `ulimit -l unlimited` or `sysctl kernel.perf_event_mlock_kb=2048`"
        )));
    }
    let smallest = ring_step + 1 == RINGS.len();
    let stack_bytes = if smallest {
        plan.stack_bytes.min(SMALL_STACK_BYTES)
    } else {
        plan.stack_bytes
    };
    let note = smallest.then(|| {
        format!(
            "little memory may be locked for rings, so {} KiB of stack are copied and not {}, and \
             samples may be lost: `ulimit -l unlimited` or `sysctl \
             kernel.perf_event_mlock_kb=2048`",
            SMALL_STACK_BYTES >> 10,
            STACK_BYTES >> 10
        )
    });
    Ok((
        Plan {
            ring_step,
            stack_bytes,
            ..*plan
        },
        note,
    ))
}

fn paranoid(situation: Situation) -> String {
    match situation.paranoid {
        Some(level) => format!("kernel.perf_event_paranoid is {level}"),
        None => "kernel.perf_event_paranoid cannot be read".into(),
    }
}

fn no_kernel(situation: Situation) -> String {
    format!(
        "no kernel frames, no stacks at switch-out, and system CPU time counted as the user code's \
         that called: {}; `sysctl kernel.perf_event_paranoid=1` permits them",
        paranoid(situation)
    )
}

fn forbidden_altogether(situation: Situation) -> String {
    let blocked = situation.root || situation.paranoid.is_some_and(|level| level <= 2);
    if blocked {
        format!(
            "perf events are forbidden although {}: a container's seccomp filter or a security \
             module denies perf_event_open; permit it (docker run --cap-add PERFMON \
             --security-opt seccomp=unconfined)",
            paranoid(situation)
        )
    } else {
        format!(
            "perf events are forbidden: {}; `sysctl kernel.perf_event_paranoid=1` as root permits \
             them",
            paranoid(situation)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: Situation = Situation {
        paranoid: Some(2),
        root: false,
    };

    fn refused(stage: Stage, errno: i32) -> Refusal {
        Refusal { stage, errno }
    }

    fn wished() -> Plan {
        Plan::wished(Some(997.0), true, 2)
    }

    #[test]
    fn a_machine_without_counters_samples_by_the_clock_and_says_nothing() {
        for errno in [libc::ENOENT, libc::EOPNOTSUPP, libc::EINVAL, libc::ENODEV] {
            let (plan, note) =
                step_down(&wished(), refused(Stage::Samples, errno), USER).expect("a step");
            assert_eq!(plan.event, Some(SampleEvent::CpuClock));
            assert_eq!((plan.kernel, plan.switch_stacks, note), (true, true, None));
        }
    }

    #[test]
    fn an_ordinary_user_does_without_the_kernel_and_is_told_the_command() {
        let (plan, note) =
            step_down(&wished(), refused(Stage::Samples, libc::EACCES), USER).expect("a step");
        assert!(!plan.kernel && !plan.switch_stacks && plan.switches);
        let note = note.expect("a sentence");
        assert!(note.contains("perf_event_paranoid is 2"), "{note}");
        assert!(
            note.contains("`sysctl kernel.perf_event_paranoid=1`"),
            "{note}"
        );
    }

    #[test]
    fn nothing_permitted_is_told_apart_from_a_container() {
        let plan = Plan {
            kernel: false,
            ..wished()
        };
        let refusal = refused(Stage::SideBand, libc::EACCES);
        let strict = Situation {
            paranoid: Some(3),
            root: false,
        };
        let said = step_down(&plan, refusal, strict).expect_err("impossible").0;
        assert!(
            said.contains("`sysctl kernel.perf_event_paranoid=1` as root"),
            "{said}"
        );
        let said = step_down(&plan, refusal, USER).expect_err("impossible").0;
        assert!(said.contains("seccomp"), "{said}");
    }

    #[test]
    fn rings_shrink_until_the_last_step_which_also_copies_less() {
        let mut plan = wished();
        let mut steps = 0;
        let end = loop {
            match step_down(&plan, refused(Stage::Ring, libc::EPERM), USER) {
                Ok((next, note)) => {
                    steps += 1;
                    assert_eq!(note.is_some(), steps == RINGS.len() - 1);
                    plan = next;
                }
                Err(end) => break end.0,
            }
        };
        assert_eq!((steps, plan.stack_bytes), (RINGS.len() - 1, 8 << 10));
        assert!(end.contains("ulimit -l"), "{end}");
        let rings = plan.rings(true);
        let pages: u32 = [rings.samples, rings.side_band]
            .iter()
            .map(|exponent| (1 << exponent) + 1)
            .sum();
        assert!(
            pages * 4 <= 516,
            "two rings fit an ordinary user's share: {pages} pages"
        );
    }

    /// Bytes of all rings.
    fn locked(cpus: u64, allowed: u64, ranks: u64) -> u64 {
        let plan = Plan::wished(Some(997.0), true, (allowed * ranks) as usize);
        let bytes = |is_allowed| {
            let sizes = plan.rings(is_allowed);
            let exponents = [sizes.samples, sizes.side_band, sizes.switch_stacks];
            exponents.iter().map(|it| 4096_u64 << it).sum::<u64>()
        };
        ranks * (allowed * bytes(true) + (cpus - allowed) * bytes(false))
    }

    #[test]
    fn recordings_beside_each_other_do_not_fill_the_memory_of_a_node() {
        const GB: u64 = 1 << 30;
        // Alone, on a large node.
        assert!(locked(256, 256, 1) < 2 * GB);
        // A rank on each CPU, bound and not; few ranks with many threads.
        assert!(locked(128, 1, 128) < 10 * GB);
        assert!(locked(128, 128, 128) < 10 * GB);
        assert!(locked(128, 32, 4) < 2 * GB);
        // A bound rank keeps large rings where it runs.
        let bound = Plan::wished(Some(997.0), true, 128);
        assert_eq!(bound.rings(true), RINGS[1]);
        assert_eq!(bound.rings(false), RINGS[4]);
    }

    #[test]
    fn old_kernels_give_no_build_ids_and_no_thread_only_inheritance() {
        let (plan, note) =
            step_down(&wished(), refused(Stage::SideBand, libc::EINVAL), USER).expect("a step");
        assert_eq!((plan.build_ids, note), (false, None));
        let alone = Plan {
            follow: false,
            build_ids: false,
            ..wished()
        };
        let said = step_down(&alone, refused(Stage::SideBand, libc::EINVAL), USER)
            .expect_err("no")
            .0;
        assert!(said.contains("-F off"), "{said}");
    }
}
