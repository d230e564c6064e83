//! What to do first: the largest losses of a run, each with its place, its size and a hint.

use rustc_hash::FxHashMap;

use super::Measured;
use super::efficiency::Run;
use super::gain::Cause;
use super::regions::RegionRow;
use super::spots::Spot;
use crate::ids::{FrameId, ThreadId};
use crate::metrics::Metric;
use crate::profile::{Profile, Shown};
use crate::state::State;
use crate::views::names::Names;

/// What time is lost to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Threads of a region's team that did no useful work.
    Region(Cause),
    /// One thread works, outside every region.
    Serial,
}

impl Reason {
    /// The key in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Reason::Region(cause) => cause.id(),
            Reason::Serial => "serial",
        }
    }
}

/// A loss.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// Where it comes from.
    pub spot: Spot,
    /// To what.
    pub reason: Reason,
    /// Wall seconds of the run that would be saved without it.
    pub seconds: f64,
    /// The part of the run, 0 to 1.
    pub share: f64,
    /// What the numbers show, in a clause.
    pub finding: String,
    /// What to try.
    pub hint: String,
}

/// The losses of a run, largest first: each cause of each region, and serial code. Losses below
/// one in a thousand of the run are left out.
pub fn losses(
    profile: &Profile,
    names: &Names<'_>,
    measured: &Measured<'_>,
    regions: &[RegionRow],
    run: &Run,
) -> Vec<Loss> {
    const LEAST: f64 = 1e-3;
    let places = Places::new(names, measured);
    let mut losses: Vec<Loss> = Vec::new();
    for row in regions {
        for cause in Cause::ALL {
            let seconds = row.of_run[cause as usize];
            if seconds < LEAST * run.wall {
                continue;
            }
            let place = places.heaviest(row, cause);
            let spot = place.map(|place| Spot::of_frame(names, place));
            let (finding, hint) = explain(names, row, cause);
            losses.push(Loss {
                spot: spot.unwrap_or_else(|| row.spot.clone()),
                reason: Reason::Region(cause),
                seconds,
                share: seconds / run.wall,
                finding,
                hint,
            });
        }
    }
    losses.extend(serial(profile, names, run).filter(|loss| loss.seconds >= LEAST * run.wall));
    losses.sort_by(|left, right| {
        let larger = right.seconds.total_cmp(&left.seconds);
        larger.then_with(|| left.spot.cmp(&right.spot))
    });
    losses
}

fn serial(profile: &Profile, names: &Names<'_>, run: &Run) -> Option<Loss> {
    let serial = run.serial;
    if serial.threads < 2 {
        return None;
    }
    let mut by_leaf = FxHashMap::default();
    for item in &profile.items {
        if item.thread == serial.thread && item.shown == Shown::Serial {
            let leaf = profile.paths.get(item.path.0);
            let leaf = leaf.map(|path| path.frame.callee);
            *by_leaf.entry(leaf).or_insert(0.0) += Metric::OmpWork.seconds(item);
        }
    }
    let larger = |left: &(_, f64), right: &(_, f64)| left.1.total_cmp(&right.1);
    let heaviest = by_leaf.into_iter().max_by(larger);
    let function = heaviest.and_then(|(callee, _)| callee).map(|callee| {
        let place = names
            .function_of(callee)
            .and_then(|function| function.place);
        let file = place.and_then(|at| names.symbols.files.get(at.file.0 as usize));
        Spot {
            file: file.cloned(),
            line: place.map(|at| at.line),
            function: Some(names.name(callee)),
        }
    });
    let most = function
        .as_ref()
        .and_then(|spot| spot.function.as_deref())
        .map(|name| format!(", most of it in {name}"))
        .unwrap_or_default();
    let seconds = serial.useful * (1.0 - 1.0 / serial.threads as f64);
    Some(Loss {
        spot: function.unwrap_or_default(),
        reason: Reason::Serial,
        seconds,
        share: seconds / run.wall,
        finding: format!(
            "one of {} threads works outside every region for {:.3} s{most}",
            serial.threads, serial.useful
        ),
        hint: "put its loops into a parallel region, or do it while the other threads work \
               (a task, or nowait)"
            .to_owned(),
    })
}

fn thread_name(names: &Names<'_>, thread: ThreadId) -> String {
    let row = names.tables.threads.get(thread.index());
    row.map_or_else(
        || "a thread".to_owned(),
        |row| format!("thread {}", row.tid),
    )
}

/// Seconds below which an instance of a region costs about as much as it does.
const SMALL: f64 = 100e-6;

fn small(row: &RegionRow, each: f64) -> (String, String) {
    (
        format!(
            "entered {} times for {:.1} us each",
            row.instances,
            each * 1e6
        ),
        "make one region of several, or put the parallel directive on an outer loop".to_owned(),
    )
}

/// What the numbers show, and what follows from that.
fn explain(names: &Names<'_>, row: &RegionRow, cause: Cause) -> (String, String) {
    let each = row.own.elapsed / row.instances.max(1) as f64;
    let (finding, hint): (String, &str) = match cause {
        Cause::Imbalance | Cause::Scheduling if row.instances > 0 && each < SMALL => {
            return small(row, each);
        }
        Cause::Imbalance => return imbalance(names, row),
        Cause::Lock => (
            waited(row, row.time(Metric::Lock) + row.time(Metric::Critical)),
            "do less while holding it, use one lock for each part of the data, or a reduction",
        ),
        Cause::Ordered => (
            waited(row, row.time(Metric::Ordered)),
            "move work out of the ordered section, or use schedule(static,1) so that turns come \
             evenly",
        ),
        Cause::Atomic => (
            waited(row, row.time(Metric::Atomic)),
            "sum up in a private variable, or use a reduction",
        ),
        Cause::Reduction => (
            waited(row, row.time(Metric::Reduction)),
            "reduce less often, or into smaller objects",
        ),
        Cause::Scheduling => (
            format!(
                "{:.3} s of thread time inside the runtime",
                row.time(Metric::Overhead)
            ),
            "hand out larger pieces: schedule(static), a larger chunk, grainsize for tasks",
        ),
        Cause::Tasks => (
            waited(row, row.time(Metric::Task)),
            "make more or smaller tasks than threads, and let their creator work too; OMP_task \
             shows their times",
        ),
        Cause::OffCpu if row.preempted > 0.5 * row.time(Metric::OffCpuWork) => (
            format!(
                "threads with work to do had no CPU for {:.3} s",
                row.time(Metric::OffCpuWork)
            ),
            "use no more threads than there are CPUs free (OMP_NUM_THREADS), and bind them \
             (OMP_PROC_BIND=true)",
        ),
        Cause::OffCpu => (
            format!(
                "threads slept for {:.3} s in the middle of their work",
                row.time(Metric::OffCpuWork)
            ),
            "keep what blocks (input, output, sleeping, memory that is paged in) out of the region",
        ),
    };
    (finding, hint.to_owned())
}

fn waited(row: &RegionRow, seconds: f64) -> String {
    format!("{seconds:.3} s on {} threads", row.threads)
}

fn imbalance(names: &Names<'_>, row: &RegionRow) -> (String, String) {
    let total: f64 = row.work.iter().map(|(_, seconds)| seconds).sum();
    let mean = total / f64::from(row.threads.max(1));
    let (heaviest, most) = row.work.first().copied().unwrap_or((ThreadId(0), 0.0));
    let ratio = if mean > 0.0 { most / mean } else { 1.0 };
    // The barrier's part that uneven work explains.
    let uneven = row.spread.map(|it| it.longest - it.mean);
    let explained = uneven.is_none_or(|uneven| uneven > 0.5 * row.own.part(Cause::Imbalance));
    let heavy = thread_name(names, heaviest);
    if mean > 0.0 && most > 0.9 * total && row.threads > 1 {
        return (
            format!(
                "{heavy} does {:.0} % of the work alone",
                100.0 * most / total
            ),
            "share out what is in single, master or masked, or make tasks of it".to_owned(),
        );
    }
    if ratio > 1.2 {
        return (
            format!("{heavy} works {ratio:.1} times the mean"),
            "try schedule(dynamic), or give each thread the same work".to_owned(),
        );
    }
    if explained {
        return (
            format!(
                "the work is uneven (load balance {:.2}), each time on another thread",
                row.load_balance()
            ),
            "try schedule(dynamic), or schedule(guided) with small chunks".to_owned(),
        );
    }
    let balance = row.load_balance();
    (
        match balance > 0.9 {
            true => format!("the work is even (load balance {balance:.2})"),
            false => format!("uneven work (load balance {balance:.2}) explains little of it"),
        },
        "threads come to the barrier late for another reason: too few CPUs, or waits and serial \
         parts inside the region; leave barriers out with nowait where one can"
            .to_owned(),
    )
}

/// Where threads waited, by the calls into the runtime.
struct Places {
    seconds: FxHashMap<(u32, Cause), FxHashMap<FrameId, f64>>,
}

impl Places {
    fn new(names: &Names<'_>, measured: &Measured<'_>) -> Places {
        let innermost = super::innermost_regions(names.tables);
        let mut seconds = FxHashMap::<_, FxHashMap<_, f64>>::default();
        for sum in measured.sums {
            let Some(tag) = names.tables.tags.get(sum.tag.0) else {
                continue;
            };
            let Some(cause) = cause_of(tag.state).filter(|_| tag.place != FrameId::NONE) else {
                continue;
            };
            let region = innermost
                .get(tag.context.index())
                .map_or(0, |region| region.0);
            let places = seconds.entry((region, cause)).or_default();
            *places.entry(tag.place).or_default() += sum.time.seconds();
        }
        Places { seconds }
    }

    /// The call that waited longest; none for causes that are the region's as a whole.
    fn heaviest(&self, row: &RegionRow, cause: Cause) -> Option<FrameId> {
        let mut all = FxHashMap::<FrameId, f64>::default();
        for context in &row.contexts {
            for (&place, seconds) in self.seconds.get(&(context.0, cause)).into_iter().flatten() {
                *all.entry(place).or_default() += seconds;
            }
        }
        let larger = |left: &(FrameId, f64), right: &(FrameId, f64)| {
            left.1.total_cmp(&right.1).then(right.0.cmp(&left.0))
        };
        all.into_iter().max_by(larger).map(|(place, _)| place)
    }
}

/// The cause of waits that have a place of their own inside a region.
const fn cause_of(state: State) -> Option<Cause> {
    match state {
        State::Lock | State::NestLock | State::Critical => Some(Cause::Lock),
        State::Ordered => Some(Cause::Ordered),
        State::Atomic => Some(Cause::Atomic),
        State::TaskWait | State::TaskGroup => Some(Cause::Tasks),
        _ => None,
    }
}
