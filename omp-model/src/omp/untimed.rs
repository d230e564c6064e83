//! Time off CPUs of which only sums are known, not when it was.
//!
//! Without switch records a thread counts as on a CPU. Where `/proc` tells how long it was off one
//! since the last look, that time is taken from the thread states that it was in since then: time
//! asleep from its waits first, the rest in proportion. A thread that sleeps in its waits also waits
//! for a CPU at their ends, so then time without a CPU is taken from them first, too. That is an
//! inference, marked as such by [`experiment::header::Sampling::off_cpu_inferred`].

use experiment::state::{Scheduling, State};

use super::account::{Account, Activity};
use super::keyed_sums::KeyedSums;

/// What a thread did since the last look, and what is known of it.
#[derive(Debug, Default)]
pub(super) struct Untimed {
    /// By phase and thread state: time that counts as on a CPU.
    recent: KeyedSums<Recent>,
    /// Time asleep that is not in the sums yet, in nanoseconds.
    blocked: u64,
    /// The same of time preempted.
    preempted: u64,
}

/// Time in one thread state and phase.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    /// Nanoseconds.
    time: u64,
    activity: Activity,
    phase: u32,
}

impl Recent {
    fn is_wait(&self) -> bool {
        State::from_u8(self.activity.state).is_some_and(State::is_wait)
    }
}

const fn recent_key(activity: Activity, phase: u32) -> u64 {
    (phase as u64) << 32 | activity.thread_state as u64
}

impl Untimed {
    /// The thread counts as on a CPU for `nanos` more, in a thread state and a phase.
    pub(super) fn spend(&mut self, (activity, phase): (Activity, u32), nanos: u64) {
        let recent = self.recent.at(recent_key(activity, phase));
        recent.time += nanos;
        (recent.activity, recent.phase) = (activity, phase);
    }

    /// So much of the time in one thread state was in another one.
    pub(super) fn move_time(&mut self, (from, to): (Activity, Activity), phase: u32, nanos: u64) {
        let recent = self.recent.at(recent_key(from, phase));
        recent.time = recent.time.saturating_sub(nanos);
        self.spend((to, phase), nanos);
    }
}

impl Account {
    /// The thread was asleep and preempted for so long since the last call, in nanoseconds.
    pub(super) fn off_cpu(&mut self, blocked: u64, preempted: u64) {
        let mut untimed = self.untimed.take().unwrap_or_default();
        untimed.blocked += blocked;
        untimed.preempted += preempted;
        let mut recent = Vec::new();
        untimed.recent.drain(|_, time| recent.push(time));
        let asleep = Scheduling::Blocked;
        let slept = self.take_off(&mut recent, Recent::is_wait, untimed.blocked, asleep);
        untimed.blocked -= slept;
        untimed.blocked -= self.take_off(&mut recent, |_| true, untimed.blocked, asleep);
        let ready = Scheduling::Preempted;
        if slept > 0 {
            let in_waits = self.take_off(&mut recent, Recent::is_wait, untimed.preempted, ready);
            untimed.preempted -= in_waits;
        }
        untimed.preempted -= self.take_off(&mut recent, |_| true, untimed.preempted, ready);
        self.untimed = Some(untimed);
    }

    /// Moves up to `nanos` from the time on a CPU in some thread states, in proportion, to time in
    /// another scheduling state. Returns how much.
    fn take_off(
        &mut self,
        recent: &mut [Recent],
        is_meant: impl Fn(&Recent) -> bool,
        nanos: u64,
        scheduling: Scheduling,
    ) -> u64 {
        let meant = recent.iter_mut().filter(|recent| is_meant(recent));
        let meant: Vec<_> = meant.collect();
        let total: u64 = meant.iter().map(|recent| recent.time).sum();
        let due = nanos.min(total);
        let mut moved = 0;
        for recent in meant {
            if due == 0 {
                break;
            }
            let product = u128::from(recent.time) * u128::from(due);
            let share = (product / u128::from(total)) as u64;
            let running = recent.activity;
            let off_cpu = Activity {
                scheduling: scheduling as u8,
                ..running
            };
            let on_cpu = self.spent.at(running.key());
            // The rest is in the slice before.
            let share = share.min(on_cpu.time);
            on_cpu.time -= share;
            self.spent.at(off_cpu.key()).time += share;
            if recent.phase != 0 {
                let in_phase = self.phases.at(running.phase_key(recent.phase));
                let part = share.min(*in_phase);
                *in_phase -= part;
                *self.phases.at(off_cpu.phase_key(recent.phase)) += part;
            }
            if running.useful {
                self.worked = self.worked.saturating_sub(share);
            }
            recent.time -= share;
            moved += share;
        }
        moved
    }
}
