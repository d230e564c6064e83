//! Findings from the numbers of a region, and hints that follow from them.

use experiment::ids::ThreadId;
use experiment::symbols::Workshare;

use super::advice::Reason;
use super::efficiency::Serial;
use super::gain::Cause;
use super::kernel_work::{self, KernelPart};
use super::regions::{RegionRow, Spread};
use super::waits::{Asleep, Before};
use crate::metrics::Metric;
use crate::states::RefinedState;
use crate::views::names::Names;

/// What to try when threads are ready to run but get no CPU.
pub(super) const CROWDED: &str = "use no more threads than there are CPUs free (OMP_NUM_THREADS), and \
                           bind them (OMP_PROC_BIND=true)";

/// Seconds below which an instance of a region costs about as much as its work: forking and joining
/// a team takes a few microseconds, and waking a sleeping thread some tens of them.
const SMALL: f64 = 100e-6;

/// Whether the instances of a region are too short to be worth a team.
pub(super) fn is_small(row: &RegionRow) -> bool {
    row.instances > 0 && each(row) < SMALL
}

fn each(row: &RegionRow) -> f64 {
    row.own.elapsed / row.instances.max(1) as f64
}

/// The finding and hint for regions that are too small; `first` loses most.
pub(super) fn small(first: &RegionRow, regions: &[&RegionRow], whole: Whole) -> (String, String) {
    let entered = format!(
        "entered {} times for {:.1} us each",
        first.instances,
        1e6 * each(first)
    );
    let instances: u64 = regions.iter().map(|row| row.instances).sum();
    let finding = match regions.len() {
        0 | 1 => entered,
        count => format!(
            "{entered}; all {count} regions as small as that, entered {instances} times, are \
             counted here"
        ),
    };
    let hint = format!(
        "{ONE_REGION}, put the parallel directive on an outer loop, or run small cases serially (an if \
         clause)"
    );
    // Who is ready to run and has no CPU would have it less often if others spun.
    let ready: f64 = regions.iter().flat_map(|row| row.ready).sum();
    let lost: f64 = regions.iter().flat_map(|row| row.lost).sum();
    let hint = if whole.could_stay_awake() && ready < 0.25 * lost {
        format!("{AWAKE}; or {hint}")
    } else {
        hint
    };
    (finding, hint)
}

/// What to try first when threads sleep between regions that follow each other closely.
const AWAKE: &str = "threads sleep in their waits, and it takes long to wake them: keep them awake \
                     (OMP_WAIT_POLICY=active), if each has a CPU";

/// What to try when regions follow each other closely.
const ONE_REGION: &str = "make one region of several";

/// The finding and the hint for threads that are in no team, of a process with `threads` threads.
pub(super) fn no_team(row: &RegionRow, threads: usize) -> (String, String) {
    let finding = match row.threads {
        1 => format!("it runs on one of {threads} threads"),
        team if usize::from(team) < threads => format!("its team has {team} of {threads} threads"),
        _ => format!(
            "its teams have {:.1} of {threads} threads on average",
            row.occupied / row.outermost
        ),
    };
    let hint = "give its team all threads (num_threads, if, OMP_DYNAMIC and OMP_THREAD_LIMIT make \
                teams smaller), or run the program on fewer";
    (finding, hint.to_owned())
}

/// The finding and the hint for code outside of every region, of which `kernel` is in the kernel, and
/// which was ready to run without a CPU for `ready` seconds.
pub(super) fn serial(
    reason: Reason,
    serial: &Serial,
    kernel: &[KernelPart],
    ready: f64,
) -> (String, &'static str) {
    let does = |what: &str, seconds: f64| {
        format!(
            "one of {} threads {what} outside every region for {seconds:.3} s",
            serial.threads
        )
    };
    match reason {
        Reason::SerialRuntime => (
            does("is in the runtime", serial.runtime),
            "let it work itself before it waits for tasks, and let it make its threads once",
        ),
        Reason::SerialOffCpu if ready > 0.5 * serial.off_cpu => {
            (does("has work to do but no CPU", ready), CROWDED)
        }
        Reason::SerialOffCpu => (
            does("is off the CPU", serial.off_cpu),
            "do what blocks (input, output, sleeping, memory that is paged in) while the other \
             threads work (a task, or nowait)",
        ),
        _ => {
            let works = does("works", serial.useful);
            let inside: f64 = kernel.iter().map(|part| part.seconds).sum();
            // A parallel region would not make the kernel's work less.
            if inside > 0.5 * serial.useful {
                let words = kernel_work::words(kernel);
                let hint = kernel_work::mending(kernel);
                return (
                    format!("{works}, {inside:.3} s of it in the kernel by samples ({words})"),
                    hint.unwrap_or(
                        "make fewer and larger system calls, or make them while the other \
                         threads work (a task, or nowait)",
                    ),
                );
            }
            (
                works,
                "put its loops into a parallel region, or do it while the other threads work (a \
                 task, or nowait)",
            )
        }
    }
}

/// What is known of the run as a whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole {
    /// The CPUs that each process could use; 0 if that is not known.
    pub(super) cpus: u32,
    /// Whether there is a CPU for each thread that waits awake, and the program did not ask for such
    /// waits already.
    pub(super) fit: bool,
    /// Whether they sleep for most of the time that they wait in barriers or for regions.
    pub(super) sleep: bool,
    /// Whether threads come back for more chunks of a loop; `None` if that is not known, because the
    /// recording ended before the loop.
    pub(super) hands_out: Option<bool>,
}

impl Whole {
    /// Whether the program gains from waits that do not sleep: it takes time to wake threads, and none
    /// of them would take a CPU from another one.
    const fn could_stay_awake(self) -> bool {
        self.fit && self.sleep
    }
}

/// What is known of the place where a region loses time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    /// What stands before its longest barrier.
    pub(super) before: Before,
    /// The sleeps that are lost; `None` for another cause.
    pub(super) asleep: Option<&'a Asleep>,
}

/// The finding and the hint for a cause.
pub(super) fn explain(
    names: &Names<'_>,
    row: &RegionRow,
    cause: Cause,
    (whole, seen): (Whole, Seen<'_>),
) -> (String, String) {
    if let Some(found) = tiny_tasks(row, cause) {
        return found;
    }
    let (finding, hint): (String, &str) = match cause {
        Cause::Imbalance => return imbalance(names, row, whole, seen.before),
        Cause::Lock => mutexes(row),
        Cause::Ordered => (
            waited(row, row.time(Metric::State(RefinedState::Ordered))),
            "move work out of the ordered section, or use schedule(static,1) so that turns come \
             evenly",
        ),
        Cause::Atomic => (
            waited(row, row.time(Metric::State(RefinedState::Atomic))),
            "sum up in a private variable, or use a reduction",
        ),
        Cause::Reduction => (
            waited(row, row.time(Metric::State(RefinedState::Reduction))),
            "reduce less often, or into smaller objects",
        ),
        Cause::Scheduling => return scheduling(row, whole),
        Cause::Tasks => (
            waited(row, row.time(Metric::State(RefinedState::Task))),
            "make more tasks than threads, or smaller ones, and let their creator work too; \
             OMP_task shows their times",
        ),
        Cause::Mpi => (
            format!(
                "its threads were in calls of MPI for {:.3} s of thread time",
                row.lost[cause as usize]
            ),
            "let other threads of the team work meanwhile; `waits` shows for whom the rank waits",
        ),
        Cause::OffCpu => {
            let slept = row.time(Metric::OffCpuWork) - row.ready[cause as usize];
            asleep(row, slept, seen.asleep)
        }
    };
    // A thread that waits without a CPU waits longer because of that.
    let ready = row.ready[cause as usize];
    if ready > 0.5 * row.lost[cause as usize] {
        let finding = match cause {
            Cause::OffCpu => format!("threads with work to do had no CPU for {ready:.3} s"),
            _ => format!("{finding}; threads were ready to run for {ready:.3} s and had no CPU"),
        };
        return (finding, CROWDED.to_owned());
    }
    (finding, hint.to_owned())
}

/// Seconds of thread time to create, schedule and complete a task: LLVM's and GNU's runtimes need
/// between half a microsecond and three.
const TASK: f64 = 2e-6;

/// The finding for tasks whose overhead is about as large as their work, if there are enough of
/// them to matter.
fn tiny_tasks(row: &RegionRow, cause: Cause) -> Option<(String, String)> {
    let concerns = matches!(cause, Cause::Tasks | Cause::Scheduling | Cause::Imbalance);
    let count = row.tasks.count as f64;
    let mean = row.tasks.work / count.max(1.0);
    let cost = count * TASK;
    let tiny = mean < 5.0 * TASK && cost > 0.1 * row.lost[cause as usize];
    (concerns && tiny).then(|| {
        let finding = format!(
            "{} tasks do {:.1} us of work each, and to make one takes 1 to 3 us",
            row.tasks.count,
            1e6 * mean
        );
        let hint = "make fewer and larger tasks: call the function itself below some size (an if \
                    or final clause), a larger grainsize for taskloop";
        (finding, hint.to_owned())
    })
}

/// The finding for waits for locks and critical sections, and for the time to take and release them.
fn mutexes(row: &RegionRow) -> (String, &'static str) {
    let waits = row.time(Metric::State(RefinedState::Lock))
        + row.time(Metric::State(RefinedState::Critical));
    let calls = row.mutex_overhead;
    let mut finding = waited(row, waits);
    if calls > 0.1 * (waits + calls) {
        finding += &format!(", and {calls:.3} s to take and release them");
    }
    let hint = if calls > waits {
        "take them less often: one acquisition for several items, a part of the data for each \
         thread, or a reduction; OMP_lock counts them"
    } else {
        "do less while holding it, use one lock for each part of the data, or a reduction; \
         OMP_lock tells who waited for whom"
    };
    (finding, hint)
}

/// The finding for other time in the runtime, and for threads that have not joined their team yet.
fn scheduling(row: &RegionRow, whole: Whole) -> (String, String) {
    let lost = row.lost[Cause::Scheduling as usize];
    let inside = row.time(Metric::State(RefinedState::Overhead)) - row.mutex_overhead;
    let kernel = row.overhead_in_kernel;
    if row.instances <= 1 && inside <= 0.5 * lost {
        return (
            format!("threads came {:.3} s late to their team", lost - inside),
            "they are made, or woken, when the program's first region begins: once".to_owned(),
        );
    }
    let closer = |awake: bool| {
        if awake {
            format!("{AWAKE}; or {ONE_REGION}")
        } else {
            ONE_REGION.to_owned()
        }
    };
    if inside > 0.5 * lost && kernel > 0.5 * inside {
        (
            format!(
                "{inside:.3} s of thread time inside the runtime, {kernel:.3} s of it in the \
                 kernel by samples: it wakes threads there and puts them to sleep"
            ),
            closer(whole.fit),
        )
    } else if inside > 0.5 * lost {
        (
            format!("{inside:.3} s of thread time inside the runtime"),
            larger_pieces(row, whole).to_owned(),
        )
    } else {
        (
            format!("threads came {:.3} s late to their team", lost - inside),
            format!(
                "{}; threads without a CPU are late, too",
                closer(whole.could_stay_awake())
            ),
        )
    }
}

/// What to try where a runtime takes long to divide the work.
const fn larger_pieces(row: &RegionRow, whole: Whole) -> &'static str {
    if row.tasks.count > 0 {
        "make fewer and larger tasks: grainsize for taskloop; OMP_task shows their times"
    } else {
        match whole.hands_out {
            Some(true) => {
                "hand out larger pieces: schedule(static), or a larger chunk; OMP_loop shows them"
            }
            Some(false) => {
                "each of its loops and barriers costs time: make one loop of several, or let threads go on behind a loop \
                 whose results none needs before the next barrier (nowait)"
            }
            None => {
                "its loops had not ended when the recording did, so how they are divided is not known: larger \
                 chunks if they are given out while they run, else fewer loops and barriers"
            }
        }
    }
}

fn threads(row: &RegionRow) -> f64 {
    f64::from(row.threads.max(1))
}

fn waited(row: &RegionRow, seconds: f64) -> String {
    format!("{seconds:.3} s on {} threads", row.threads)
}

fn thread_name(names: &Names<'_>, thread: ThreadId) -> String {
    let row = names.tables.threads.get(thread.index());
    row.map_or_else(
        || "a thread".to_owned(),
        |row| format!("thread {}", row.tid),
    )
}

/// The finding and the hint where threads sleep for `slept` seconds in the middle of their work.
fn asleep(row: &RegionRow, slept: f64, places: Option<&Asleep>) -> (String, &'static str) {
    let mut finding = format!("threads slept for {slept:.3} s in the middle of their work");
    let most = row.work.first().map_or(0.0, |(_, seconds)| *seconds);
    let blame = places.map_or(0.0, |it| it.blame);
    finding += places.map_or("", |it| &it.place.words);
    let hint = if blame > 0.1 * slept {
        finding += &format!("; meanwhile others waited {blame:.3} s for mutexes that they held");
        "keep what blocks (input, output, sleeping, memory that is paged in) out of the region, or at least \
         out of critical sections and the hold of locks"
    } else if most > 0.9 * row.own.elapsed {
        "keep what blocks (input, output, sleeping, memory that is paged in) out of the region, and \
         share its work anew: one thread works all the time, so the first alone gains nothing"
    } else {
        "keep what blocks (input, output, sleeping, memory that is paged in) out of the region"
    };
    (finding, hint)
}

/// How to divide the work of a region evenly. No schedule divides fewer iterations than two for each thread.
fn division(row: &RegionRow, is_loop: bool, before: Before) -> String {
    let hint = match before {
        _ if row.tasks.count > 0 => {
            "make more tasks than threads, or smaller ones, or wait for them less often (taskwait); OMP_task \
             shows their times"
        }
        Before::Loop(Some(trip)) if trip < 2.0 * threads(row) => {
            return format!(
                "{trip:.0} iterations are too few for {} threads: collapse the loop with one inside it, or make \
                 outer iterations the parallel ones",
                row.threads
            );
        }
        Before::Loop(Some(_)) => {
            "try schedule(dynamic), or smaller chunks if that is its schedule; OMP_loop shows it"
        }
        Before::Directive => {
            "share out what one thread does alone before this barrier (master, masked), or give each thread \
             the same work"
        }
        _ if is_loop || before == Before::Loop(None) => {
            "try schedule(dynamic), or smaller chunks if that is its schedule; if it has few iterations, collapse \
             it with a loop inside; OMP_loop shows it"
        }
        _ => {
            "give each thread the same work; if a static loop divides it, try schedule(dynamic); OMP_loop \
             shows its schedule"
        }
    };
    hint.to_owned()
}

/// Seconds of a region's barriers by what explains them, per thread of its team.
struct Barriers {
    /// All of them.
    lost: f64,
    /// What uneven work explains: by instance if recorded, else from the sums over the run.
    uneven: f64,
    /// What threads without a CPU explain: one that gets none on its way delays the whole team.
    delayed: f64,
}

impl Barriers {
    fn of(row: &RegionRow) -> Barriers {
        let threads = threads(row);
        let Spread { longest, mean } = spread(row);
        let [waiting, working] = [Cause::Imbalance, Cause::OffCpu].map(|it| row.ready[it as usize]);
        Barriers {
            lost: row.lost[Cause::Imbalance as usize] / threads,
            uneven: longest - mean,
            delayed: (waiting + working * (threads - 1.0)) / threads,
        }
    }

    /// Whether threads without a CPU explain most of them.
    fn are_crowded(&self) -> bool {
        self.delayed > 0.5 * self.lost
    }
}

/// The work of the busiest threads and the mean work, in seconds on a CPU.
fn spread(row: &RegionRow) -> Spread {
    row.spread.unwrap_or_else(|| {
        let total: f64 = row.work.iter().map(|(_, seconds)| seconds).sum();
        Spread {
            longest: row.work.first().map_or(0.0, |(_, seconds)| *seconds),
            mean: total / threads(row),
        }
    })
}

/// Seconds of a sleep below which the time to wake the thread, some tens of microseconds, may be a good part
/// of it.
const SHORT_SLEEP: f64 = 2e-3;

/// What to try against waits for a single.
const SHARE_SINGLE: &str = "share out what is in the single (a loop, tasks), or let the others go on (nowait) if they do \
                            not need its results before the next barrier";

fn imbalance(names: &Names<'_>, row: &RegionRow, whole: Whole, before: Before) -> (String, String) {
    let barriers = Barriers::of(row);
    let Spread { longest, mean } = spread(row);
    let balance = row.load_balance();
    // One thread works, and which one it is may change: that its work is even in the sum says nothing.
    if before == Before::Single {
        let waits = row.time(Metric::State(RefinedState::ImplicitBarrier));
        let finding = format!(
            "one thread executes a single, and the others wait for it: most of {waits:.3} s"
        );
        return (finding, SHARE_SINGLE.to_owned());
    }
    // Seconds on a CPU tell of uneven work whoever else had the CPUs.
    let left = (barriers.lost - barriers.delayed).max(0.0);
    let is_uneven = if barriers.are_crowded() {
        balance <= 0.9 && barriers.uneven > 0.5 * left
    } else {
        barriers.uneven > 0.5 * barriers.lost
    };
    if is_uneven && mean > 0.0 {
        let (mut finding, mut hint) = uneven_work(names, row, barriers.uneven, before);
        if barriers.delayed > 0.1 * barriers.lost {
            finding += &format!(
                "; threads had no CPU for a part of it: alone the work would take {longest:.3} s, even {mean:.3} s"
            );
        }
        if barriers.are_crowded() {
            hint = format!("{hint}; and {CROWDED}");
        }
        return (finding, hint);
    }
    let work = if balance > 0.9 {
        format!("the work is even (load balance {balance:.2})")
    } else {
        format!("uneven work (load balance {balance:.2}) explains little of it")
    };
    if whole.cpus > 0 && u32::from(row.threads) > whole.cpus {
        // Whoever waits for a CPU is late, asleep or ready: the others wait for him in the barrier.
        let (threads, cpus) = (row.threads, whole.cpus);
        return (
            format!(
                "{work}; {threads} threads share {cpus} CPUs, so that they come one after the other"
            ),
            "use no more threads than CPUs (OMP_NUM_THREADS)".to_owned(),
        );
    }
    if barriers.are_crowded() {
        let ready = row.ready[Cause::Imbalance as usize] + row.ready[Cause::OffCpu as usize];
        let finding = format!("{work}; threads were ready to run for {ready:.3} s and had no CPU");
        return (finding, CROWDED.to_owned());
    }
    // Who waits for its turn or for a mutex comes late to the barrier.
    let inside: f64 = [Cause::Lock, Cause::Ordered]
        .iter()
        .map(|&it| row.lost[it as usize])
        .sum();
    if inside > row.lost[Cause::Imbalance as usize] {
        return (
            work,
            "threads come late because they waited for mutexes or their turn inside the region: that \
             is named apart"
                .to_owned(),
        );
    }
    let each = row.slept.seconds / row.slept.times.max(1) as f64;
    if row.slept.seconds > 0.5 * row.lost[Cause::Imbalance as usize] && each < SHORT_SLEEP {
        let finding = format!(
            "{work}; threads slept {} times in its barriers, for {:.0} us each: how much of that is late arrival, \
             and how much the time to wake them, no event tells",
            row.slept.times,
            1e6 * each
        );
        let awake = if whole.could_stay_awake() {
            "keep threads awake (OMP_WAIT_POLICY=active): if the loss stays, they come late; and "
        } else {
            ""
        };
        return (finding, format!("{awake}{}", fewer_barriers(row)));
    }
    // All that threads do between two barriers is work, or lost to another cause.
    let others = row.lost.iter().sum::<f64>() - row.lost[Cause::Imbalance as usize];
    if others < 0.5 * row.lost[Cause::Imbalance as usize] {
        return (
            format!(
                "{work}, but not before each barrier: now one thread has more to do, now another"
            ),
            fewer_barriers(row).to_owned(),
        );
    }
    let hint = format!(
        "threads come to the barrier late for another reason, such as waits and serial parts inside the region; {}",
        fewer_barriers(row)
    );
    (work, hint)
}

/// How to wait less often. Only the barrier at the end of a worksharing construct can have a nowait.
fn fewer_barriers(row: &RegionRow) -> &'static str {
    if row.time(Metric::State(RefinedState::ImplicitBarrier))
        > row.time(Metric::State(RefinedState::ExplicitBarrier))
    {
        "let them wait less often: one loop of several, or nowait at the end of a loop whose results no thread \
         needs before the next barrier"
    } else {
        "let them wait less often: do more between two barrier directives"
    }
}

/// What makes work uneven that explains `uneven` seconds of barriers of each thread.
fn uneven_work(
    names: &Names<'_>,
    row: &RegionRow,
    uneven: f64,
    before: Before,
) -> (String, String) {
    let total: f64 = row.work.iter().map(|(_, seconds)| seconds).sum();
    let threads = threads(row);
    let mean = total / threads;
    let (heaviest, most) = row.work.first().copied().unwrap_or((ThreadId(0), 0.0));
    let ratio = if mean > 0.0 { most / mean } else { 1.0 };
    let heavy = thread_name(names, heaviest);
    // No schedule evens out what the kernel does for whoever touches memory first.
    let kernel: f64 = row.kernel.iter().map(|(_, seconds)| seconds).sum();
    let own = row.kernel.iter().find(|(thread, _)| *thread == heaviest);
    let own = own.map_or(0.0, |(_, seconds)| *seconds);
    let excess = most - mean;
    if kernel > 0.5 * total || excess > 0.0 && own - kernel / threads > 0.5 * excess {
        return (
            format!(
                "{heavy} works {ratio:.1} times the mean, {own:.3} s of it in the kernel by \
                 samples (all threads {kernel:.3} s of {total:.3} s)"
            ),
            "first see what the kernel does there (<kernel: ...> in machine mode): memory \
             that is touched first or allocated anew (MALLOC_TOP_PAD_, huge pages), or input \
             and output; a schedule does not make that less"
                .to_owned(),
        );
    }
    let is_loop = row.loop_of(names) == Some(Workshare::Loop);
    let division = division(row, is_loop, before);
    if most > 0.9 * total && row.threads > 1 && !is_loop && row.tasks.count == 0 {
        return (
            format!(
                "{heavy} does {:.0} % of the work alone",
                100.0 * most / total
            ),
            "share out what is in single, master or masked, or make tasks of it; \
             schedule(dynamic), if it is a loop with a few long iterations"
                .to_owned(),
        );
    }
    if ratio > 1.2 {
        return (format!("{heavy} works {ratio:.1} times the mean"), division);
    }
    let who = if row.instances > 1 && most - mean < 0.5 * uneven {
        ", each time on another thread"
    } else {
        ""
    };
    let balance = row.load_balance();
    if balance > 0.9 {
        return (
            format!("the work is nearly even (load balance {balance:.2}){who}"),
            "a schedule hardly makes so small differences less; fewer barriers let them even out"
                .to_owned(),
        );
    }
    (
        format!("the work is uneven (load balance {balance:.2}){who}"),
        division,
    )
}
