//! What to do first: the largest losses of a run, each with its code location, size and a hint.

use experiment::ids::ContextId;
use experiment::state::{Scheduling, State};
use experiment::symbols::Contention;
use experiment::tables::Schedule;

use super::bars::Use;
use super::contended::Contended;
use super::crowd::Crowd;
use super::diagnosis::{Seen, Whole};
use super::efficiency::Run;
use super::gain::Cause;
use super::kernel_work::{self, KernelPart};
use super::locations::ConstructLocation;
use super::own_code::{OwnCode, OwnPlace};
use super::regions::RegionRow;
use super::waits::{Asleep, WaitingCalls};
use super::{Measured, diagnosis};
use crate::profile::{Item, PathId, Profile};
use crate::states::RefinedState;
use crate::views::names::Names;

/// Why time is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Threads of a region's team did no useful work.
    Region(Cause),
    /// Regions whose overhead is about as large as their work, whatever their threads wait in.
    Small,
    /// Threads were in no team while others were in the region.
    NoTeam,
    /// One thread works outside every region.
    Serial,
    /// It is in the runtime outside every region.
    SerialRuntime,
    /// It is off the CPU outside every region.
    SerialOffCpu,
    /// The kernel gives memory to useful work, or takes it back. A part of the useful work, which
    /// all other losses leave.
    Memory,
    /// Atomic operations of the program's own code take long. A part of the useful work, too.
    Atomics,
}

impl Reason {
    /// The key in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Reason::Region(cause) => cause.id(),
            Reason::Small => "small",
            Reason::NoTeam => "no_team",
            Reason::Serial => "serial",
            Reason::SerialRuntime => "serial_runtime",
            Reason::SerialOffCpu => "serial_offcpu",
            Reason::Memory => "memory",
            Reason::Atomics => "atomics",
        }
    }

    /// The reason, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Reason::Region(cause) => cause.words(),
            Reason::Small => "forking and joining",
            Reason::NoTeam => Use::NoTeam.words(),
            Reason::Serial => "serial code",
            Reason::SerialRuntime => Use::SerialRuntime.words(),
            Reason::SerialOffCpu => Use::SerialOffCpu.words(),
            Reason::Memory => "page faults and heap calls in useful work",
            Reason::Atomics => "atomic operations in useful work",
        }
    }
}

/// A loss.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// The code location that causes it.
    pub location: ConstructLocation,
    /// The reason.
    pub reason: Reason,
    /// Wall seconds that the run would save if all threads shared what is left: thread seconds lost
    /// ([`RegionRow::usable`]), divided by the number of threads.
    pub seconds: f64,
    /// The part of it in which threads were ready to run, but had no CPU: what saves the rest may not save
    /// this.
    pub ready: f64,
    /// Its share of the run, 0 to 1.
    pub share: f64,
    /// What the numbers show, in a clause.
    pub finding: String,
    /// What to try.
    pub hint: String,
}

/// The smallest share of a run that is reported.
pub const LEAST: f64 = 0.01;

/// The losses of a run, largest first: one per cause and region, one per region for threads in no
/// team, one for all regions that are too small, and up to three for serial code. All these losses and the
/// useful work add up to the run, unless it has more threads than CPUs. Two more are parts of the useful work: [`Reason::Memory`] and [`Reason::Atomics`]. Losses
/// below [`LEAST`] of the run are left out.
pub fn losses(
    profile: &Profile,
    names: &Names<'_>,
    measured: &Measured<'_>,
    regions: &[RegionRow],
    (run, crowd): (&Run, &Crowd),
    kernel: &[KernelPart],
) -> Vec<Loss> {
    let calls = WaitingCalls::new(names, measured);
    let own = OwnCode::of(profile, names);
    let whole = Whole {
        cpus: measured.cpus.each,
        fit: run.at_once == run.threads && !measured.asks_to_spin && !crowd.is_large(),
        sleep: waits_sleep(names, measured),
        hands_out: hands_out(names, measured),
    };
    let mut losses: Vec<Loss> = Vec::new();
    let (small, large): (Vec<&RegionRow>, Vec<&RegionRow>) =
        regions.iter().partition(|row| diagnosis::is_small(row));
    losses.extend(
        small_regions(&small, run, whole)
            .into_iter()
            .filter(|loss| loss.seconds >= LEAST * run.wall),
    );
    for row in large {
        for cause in Cause::ALL {
            let seconds = row.usable[cause as usize] / run.threads as f64;
            if seconds < LEAST * run.wall {
                continue;
            }
            let asleep = Asleep::of(profile, names, row, &own).filter(|_| cause == Cause::OffCpu);
            let wait = calls.longest(row, cause);
            let location = asleep.as_ref().map(|it| &it.place.location);
            let location = location.or(wait.location.as_ref()).unwrap_or(&row.location);
            let seen = Seen {
                before: wait.before,
                asleep: asleep.as_ref(),
            };
            let (finding, hint) = diagnosis::explain(names, row, cause, (whole, seen));
            losses.push(Loss {
                location: location.clone(),
                reason: Reason::Region(cause),
                seconds,
                ready: (row.ready[cause as usize] / run.threads as f64).min(seconds),
                share: seconds / run.wall,
                finding,
                hint,
            });
        }
        let seconds = without_team(row, run);
        if seconds >= LEAST * run.wall {
            let (finding, hint) = diagnosis::no_team(row, run.threads);
            losses.push(Loss {
                location: row.location.clone(),
                reason: Reason::NoTeam,
                seconds,
                ready: 0.0,
                share: seconds / run.wall,
                finding,
                hint,
            });
        }
    }
    losses.extend(serial(profile, names, run, &own));
    losses.extend(memory(kernel, run));
    losses.extend(atomics(profile, names, run, &own));
    losses.sort_by(|left, right| {
        let larger = right.seconds.total_cmp(&left.seconds);
        larger.then_with(|| left.location.cmp(&right.location))
    });
    losses
}

/// The useful work that is the kernel's, for the program's memory.
fn memory(kernel: &[KernelPart], run: &Run) -> Option<Loss> {
    let parts: Vec<KernelPart> = kernel.iter().filter(|it| it.is_memory()).cloned().collect();
    let all: f64 = parts.iter().map(|part| part.seconds).sum();
    let seconds = all / run.at_once as f64;
    let location = parts.first()?.location.clone();
    let hint = kernel_work::mending(&parts)?;
    if seconds < LEAST * run.wall {
        return None;
    }
    let share = 100.0 * all / run.spent.useful;
    let words = kernel_work::words(&parts);
    Some(Loss {
        location,
        reason: Reason::Memory,
        seconds,
        ready: 0.0,
        share: seconds / run.wall,
        finding: format!(
            "by samples, {share:.0} % of all useful work, the largest part here: {words}"
        ),
        hint: hint.to_owned(),
    })
}

/// The useful work at atomic operations. One that no other thread disturbs takes some nanoseconds; what
/// is summed up privately needs neither.
fn atomics(profile: &Profile, names: &Names<'_>, run: &Run, own: &OwnCode<'_>) -> Option<Loss> {
    let found = Contended::of(profile, names, run, (Contention::Atomic, own))?;
    let seconds = found.seconds / run.at_once as f64;
    (seconds >= LEAST * run.wall).then(|| Loss {
        location: found.location().clone(),
        reason: Reason::Atomics,
        seconds,
        ready: 0.0,
        share: seconds / run.wall,
        finding: format!(
            "by samples, {:.0} % of all useful work is at atomic operations{}: threads that share a variable wait for its \
             cache line",
            100.0 * found.seconds / found.all,
            found.place.words
        ),
        hint: "sum up in a private variable or by a reduction, or let threads have variables of their own"
            .to_owned(),
    })
}

/// Wall seconds lost to threads that are in no team while one is in the region or in one nested in
/// it. Only where one thread encounters all regions, this is the time that its teams leave.
fn without_team(row: &RegionRow, run: &Run) -> f64 {
    match run.serial {
        Some(_) if row.nesting == 1 && run.processes == 1 => {
            (row.outermost - row.occupied / run.at_once as f64).max(0.0)
        }
        _ => 0.0,
    }
}

/// The losses outside of regions: the other threads have nothing to do, and the initial thread may be
/// in the runtime or off the CPU.
fn serial(profile: &Profile, names: &Names<'_>, run: &Run, own: &OwnCode<'_>) -> Vec<Loss> {
    let Some(serial) = run.serial else {
        return Vec::new();
    };
    let threads = serial.threads as f64;
    let reasons = [
        (
            Reason::Serial,
            serial.useful * (threads - threads / threads.min(run.at_once as f64)),
        ),
        (Reason::SerialRuntime, serial.runtime * threads),
        (Reason::SerialOffCpu, serial.off_cpu * threads),
    ];
    let share = |(reason, lost): (Reason, f64)| (reason, lost / run.threads as f64);
    let reasons = reasons.into_iter().map(share);
    let reasons: Vec<_> = reasons
        .filter(|(_, seconds)| *seconds >= LEAST * run.wall)
        .collect();
    if reasons.is_empty() {
        return Vec::new();
    }
    let regions = super::innermost_regions(names.tables);
    let of = |item: &Item| {
        let region = regions.get(item.context.index());
        let outside = region.is_none_or(|&region| region == ContextId::ROOT);
        let user = matches!(item.state, RefinedState::Serial | RefinedState::Work);
        (item.thread == serial.thread && outside).then_some(match (user, item.is_on_cpu()) {
            (true, true) => Reason::Serial,
            (true, false) => Reason::SerialOffCpu,
            (false, _) => Reason::SerialRuntime,
        })
    };
    let loss = |(reason, seconds): (Reason, f64)| {
        let items = profile.items.iter().filter(|item| of(item) == Some(reason));
        let times: Vec<(PathId, f64)> = items.map(|item| (item.path, item.seconds)).collect();
        let OwnPlace { location, words } = own.place(&times);
        let kernel = kernel_work::parts(profile, names, |item| of(item) == Some(reason));
        let items = profile.items.iter().filter(|item| of(item) == Some(reason));
        let ready = items.filter(|item| item.scheduling.wants_cpu());
        let ready: f64 = ready.map(|item| item.seconds).sum();
        let (finding, hint) = diagnosis::serial(reason, &serial, &kernel, ready);
        Loss {
            location,
            reason,
            seconds,
            ready: ready.min(seconds),
            share: seconds / run.wall,
            finding: format!("{finding}{words}"),
            hint: hint.to_owned(),
        }
    };
    reasons.into_iter().map(loss).collect()
}

/// The loss of all regions that are too small, reported at the one that loses most.
fn small_regions(regions: &[&RegionRow], run: &Run, whole: Whole) -> Option<Loss> {
    let lost = |row: &RegionRow| {
        row.usable.iter().sum::<f64>() / run.threads as f64 + without_team(row, run)
    };
    let larger = |left: &&&RegionRow, right: &&&RegionRow| lost(left).total_cmp(&lost(right));
    let first = regions.iter().max_by(larger)?;
    let seconds = regions.iter().map(|row| lost(row)).sum();
    let ready = regions.iter().flat_map(|row| row.ready);
    let ready = ready.sum::<f64>() / run.threads as f64;
    let (finding, hint) = diagnosis::small(first, regions, whole);
    Some(Loss {
        location: first.location.clone(),
        reason: Reason::Small,
        seconds,
        ready: ready.min(seconds),
        share: seconds / run.wall,
        finding,
        hint,
    })
}

/// Whether threads sleep for most of the time that they wait in barriers or for regions.
fn waits_sleep(names: &Names<'_>, measured: &Measured<'_>) -> bool {
    let (mut asleep, mut all) = (0.0, 0.0);
    for sum in measured.sums.iter() {
        let row = names.tables.thread_states.get(sum.thread_state.0);
        let waits = row.is_some_and(|row| {
            let state = row.state;
            matches!(
                state,
                State::ImplicitBarrier | State::ExplicitBarrier | State::Barrier | State::Idle
            )
        });
        if waits {
            let seconds = sum.time.seconds();
            all += seconds;
            if sum.scheduling == Scheduling::Blocked {
                asleep += seconds;
            }
        }
    }
    asleep > 0.5 * all
}

/// Whether threads come back for more chunks of a loop; `None` if no loop says so, and some may not have
/// ended.
fn hands_out(names: &Names<'_>, measured: &Measured<'_>) -> Option<bool> {
    let hands_out = measured.loop_sums.iter().any(|sum| {
        let row = names.tables.loops.get(sum.construct.0);
        let asks = row.is_some_and(|row| !matches!(row.schedule, Schedule::Static));
        asks && sum.chunks > 2 * sum.instances
    });
    (hands_out || !measured.is_cut && measured.has_all_loops).then_some(hands_out)
}

#[cfg(test)]
mod tests;
