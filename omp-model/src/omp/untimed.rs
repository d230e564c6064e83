//! Time off CPUs of which only sums are known, not when it was.
//!
//! Without switch records a thread counts as on a CPU. Where `/proc` tells how long it was off one
//! since the last look, that time is taken from the thread states that it was in since then: time
//! asleep from its waits first, the rest in proportion. A thread that sleeps in its waits also waits
//! for a CPU at their ends, so then time without a CPU is taken from them first, too. That is an
//! inference, marked as such by [`experiment::header::Sampling::off_cpu_inferred`].
//!
//! Time on a CPU is thus not certain until the next look, which may be slices later where collect itself
//! gets no CPU. It is held back here until then. So is what a look leaves open: the kernel's count of a
//! running thread is behind.

use experiment::ids::{Nanos, PhaseId, ThreadId, ThreadStateId};
use experiment::rows::{PhaseSum, Sum};
use experiment::state::{Scheduling, State};

use super::account::{Account, Activity, Rows, scheduling_of};
use super::keyed_sums::KeyedSums;

/// The most sums that are held back of slices that are over. Beyond, where nobody looks any more, all
/// count as time on a CPU.
const MOST_EARLIER: usize = 1 << 12;

/// What a thread did since the last look, and what is known of it.
#[derive(Debug, Default)]
pub(super) struct Untimed {
    /// Of the open slice, by phase and thread state.
    recent: KeyedSums<Recent>,
    /// The same of slices that are over.
    earlier: Vec<(u32, Recent)>,
    /// Time asleep that is not in the sums yet, in nanoseconds.
    blocked: u64,
    /// The same of time preempted.
    preempted: u64,
}

/// Time in one thread state and phase.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    /// Nanoseconds by [`Scheduling`].
    time: [u64; Scheduling::ALL.len()],
    activity: Activity,
    phase: u32,
}

impl Recent {
    fn new((activity, phase): (Activity, u32)) -> Recent {
        Recent {
            activity,
            phase,
            ..Recent::default()
        }
    }

    fn is_wait(&self) -> bool {
        State::from_u8(self.activity.state).is_some_and(State::is_wait)
    }

    const fn on_cpu(&mut self) -> &mut u64 {
        &mut self.time[Scheduling::Running as usize]
    }
}

const fn recent_key(activity: Activity, phase: u32) -> u64 {
    (phase as u64) << 32 | activity.thread_state as u64
}

impl Untimed {
    /// The thread counts as on a CPU for `nanos` more, in a thread state and a phase.
    pub(super) fn spend(&mut self, (activity, phase): (Activity, u32), nanos: u64) {
        let recent = self.recent.at(recent_key(activity, phase));
        *recent.on_cpu() += nanos;
        (recent.activity, recent.phase) = (activity, phase);
    }

    /// So much of the time in one thread state was in another one. Returns how much was moved: no more
    /// than is there.
    pub(super) fn move_time(
        &mut self,
        (from, to): (Activity, Activity),
        phase: u32,
        nanos: u64,
    ) -> u64 {
        let recent = self.recent.at(recent_key(from, phase));
        (recent.activity, recent.phase) = (from, phase);
        let moved = nanos.min(*recent.on_cpu());
        *recent.on_cpu() -= moved;
        self.spend((to, phase), moved);
        moved
    }

    /// The open slice, of this number, is over. Returns whether too much is held back.
    pub(super) fn next_slice(&mut self, slice: u32) -> bool {
        let earlier = &mut self.earlier;
        self.recent.drain(|_, recent| earlier.push((slice, recent)));
        self.earlier.len() > MOST_EARLIER
    }

    /// Holds so much of `recent` back again, in proportion: when the thread was off a CPU is unknown. `open`
    /// is the number of the open slice.
    fn keep(&mut self, recent: &mut [(u32, Recent)], nanos: u64, open: u32) {
        let on_cpu = recent.iter_mut().map(|(_, recent)| *recent.on_cpu());
        let total: u64 = on_cpu.sum();
        for (slice, recent) in recent {
            let share = share(*recent.on_cpu(), (nanos.min(total), total));
            if share == 0 {
                continue;
            }
            *recent.on_cpu() -= share;
            let what = (recent.activity, recent.phase);
            if *slice == open {
                self.spend(what, share);
            } else {
                let mut kept = Recent::new(what);
                *kept.on_cpu() = share;
                self.earlier.push((*slice, kept));
            }
        }
    }

    /// Takes time asleep and time preempted from what is held back.
    fn take_off_cpu(&mut self, recent: &mut [(u32, Recent)]) {
        let asleep = Scheduling::Blocked;
        let slept = take_off(recent, Recent::is_wait, self.blocked, asleep);
        self.blocked -= slept;
        self.blocked -= take_off(recent, |_| true, self.blocked, asleep);
        let ready = Scheduling::Preempted;
        if slept > 0 {
            self.preempted -= take_off(recent, Recent::is_wait, self.preempted, ready);
        }
        self.preempted -= take_off(recent, |_| true, self.preempted, ready);
    }
}

/// Takes up to `nanos` from the time on a CPU in some thread states, in proportion, as time in another
/// scheduling state. Returns how much.
fn take_off(
    recent: &mut [(u32, Recent)],
    is_meant: impl Fn(&Recent) -> bool,
    nanos: u64,
    scheduling: Scheduling,
) -> u64 {
    let meant = recent.iter_mut().map(|(_, recent)| recent);
    let mut meant: Vec<&mut Recent> = meant.filter(|recent| is_meant(recent)).collect();
    let total: u64 = meant.iter_mut().map(|recent| *recent.on_cpu()).sum();
    let due = nanos.min(total);
    if due == 0 {
        return 0;
    }
    let mut taken = 0;
    for recent in meant {
        let share = share(*recent.on_cpu(), (due, total));
        *recent.on_cpu() -= share;
        recent.time[scheduling as usize] += share;
        taken += share;
    }
    taken
}

/// The share of one of the times that are `total` in all, of a part of `due` of them.
fn share(time: u64, (due, total): (u64, u64)) -> u64 {
    let product = u128::from(time) * u128::from(due);
    (product / u128::from(total.max(1))) as u64
}

impl Account {
    /// The thread was asleep and preempted for so long since the last call, and perhaps for `open` more, in
    /// nanoseconds.
    pub(super) fn off_cpu(
        &mut self,
        thread: ThreadId,
        (blocked, preempted): (u64, u64),
        open: u64,
        rows: &mut Rows,
    ) {
        let untimed = self.untimed.get_or_insert_default();
        untimed.blocked += blocked;
        untimed.preempted += preempted;
        self.settle_but(open, thread, rows);
    }

    /// Adds to the sums what is held back: it was on a CPU, except for what is known of time off one.
    pub(super) fn settle(&mut self, thread: ThreadId, rows: &mut Rows) {
        self.settle_but(0, thread, rows);
    }

    /// As [`Account::settle`], but goes on to hold back `kept` nanoseconds, if there is as much.
    fn settle_but(&mut self, kept: u64, thread: ThreadId, rows: &mut Rows) {
        let open = self.open_slice();
        let Some(untimed) = &mut self.untimed else {
            return;
        };
        untimed.next_slice(open);
        let mut recent = std::mem::take(&mut untimed.earlier);
        untimed.take_off_cpu(&mut recent);
        untimed.keep(&mut recent, kept, open);
        for (slice, recent) in recent {
            for (scheduling, time) in Scheduling::ALL.into_iter().zip(recent.time) {
                if time == 0 {
                    continue;
                }
                if scheduling != Scheduling::Running && recent.activity.useful {
                    self.worked = self.worked.saturating_sub(time);
                }
                let activity = Activity {
                    scheduling: scheduling as u8,
                    ..recent.activity
                };
                self.add_time((thread, slice), (activity, recent.phase), time, rows);
            }
        }
    }

    /// Adds time to the sums of the open slice, or makes rows for one that is over.
    fn add_time(
        &mut self,
        (thread, slice): (ThreadId, u32),
        (activity, phase): (Activity, u32),
        nanos: u64,
        rows: &mut Rows,
    ) {
        if slice == self.open_slice() {
            self.spent.at(activity.key()).time += nanos;
            if phase != 0 {
                *self.phases.at(activity.phase_key(phase)) += nanos;
            }
            return;
        }
        rows.sums.push(Sum {
            slice,
            thread,
            thread_state: ThreadStateId(activity.thread_state),
            scheduling: scheduling_of(activity.key()),
            time: Nanos(nanos),
            count: 0,
        });
        if phase != 0 {
            rows.phase_sums.push(PhaseSum {
                slice,
                thread,
                phase: PhaseId(phase),
                state: State::from_u8(activity.state).expect("it was one"),
                scheduling: scheduling_of(activity.key()),
                time: Nanos(nanos),
            });
        }
    }
}
