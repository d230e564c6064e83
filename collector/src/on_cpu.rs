//! Time of each process on CPUs, by its threads' switches and by the kernel's account.
//!
//! Switches in a guest do not show when a hypervisor runs another machine on the CPU. The guest's
//! kernel knows that time, *steal*, and leaves it out of the process's CPU time. The difference
//! becomes [`Scheduling::Stolen`]. The kernel gives it by process, not by moment, so it is shared among
//! the time on CPUs that the threads had since the last rows, in proportion. The account of the first
//! process is read again when it has ended; that of its children only when rows are made, so that
//! what was stolen from a child after that is not counted.

use experiment::ids::{Nanos, ProcessId, ThreadId};
use experiment::rows::Sum;
use experiment::state::Scheduling;

/// What the account of a running thread may lack until the kernel's next timer tick, in nanoseconds:
/// ticks are 1 to 10 ms apart.
const STALE: u64 = 10_000_000;

/// Time on CPUs, by thread and process.
#[derive(Debug, Default)]
pub struct OnCpu {
    /// By thread: since when it is on a CPU.
    since: Vec<Option<u64>>,
    /// By process.
    accounts: Vec<Account>,
}

/// A process's time on CPUs, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    /// The sum over the intervals that have ended.
    over: u64,
    /// How many threads are on a CPU.
    running: u64,
    /// The sum of the times at which they came on it.
    came: u64,
    /// By how much the kernel's account is certainly below the time by switches.
    stolen: u64,
    /// How much of that is in rows.
    booked: u64,
    /// The kernel's latest account.
    last: Option<u64>,
}

impl Account {
    fn upto(&self, now: u64) -> u64 {
        self.over + (self.running * now).saturating_sub(self.came)
    }
}

impl OnCpu {
    /// A thread came on a CPU, or is on one still.
    pub fn comes(&mut self, (process, thread): (ProcessId, ThreadId), now: u64) {
        let index = thread.index();
        if self.since.len() <= index {
            self.since.resize(index + 1, None);
        }
        if self.since[index].is_none() {
            self.since[index] = Some(now);
            let account = self.account(process);
            account.running += 1;
            account.came += now;
        }
    }

    /// A thread left its CPU, or was on none.
    pub fn leaves(&mut self, (process, thread): (ProcessId, ThreadId), now: u64) {
        let since = self.since.get_mut(thread.index()).and_then(Option::take);
        if let Some(since) = since {
            let account = self.account(process);
            account.running -= 1;
            account.came -= since;
            account.over += now.saturating_sub(since);
        }
    }

    /// The kernel's account of a living process a little after `now`, to which all its switches are
    /// known.
    pub fn heard(&mut self, process: ProcessId, now: u64, cpu_time: u64) {
        let account = self.account(process);
        if account.last.is_none() {
            let stale = STALE * account.running;
            let missing = account.upto(now).saturating_sub(cpu_time + stale);
            account.stolen = account.stolen.max(missing);
        }
    }

    /// The kernel's account of a process that has ended.
    pub fn last_heard(&mut self, process: ProcessId, cpu_time: u64) {
        self.account(process).last = Some(cpu_time);
    }

    /// The recording ends: threads that are still on CPUs are so until now.
    pub fn close(&mut self, end: u64) {
        for account in &mut self.accounts {
            account.over = account.upto(end);
            (account.running, account.came) = (0, 0);
            if let Some(last) = account.last {
                account.stolen = account.stolen.max(account.over.saturating_sub(last));
            }
        }
        self.since.clear();
    }

    /// Whether the kernel's accounts are short of anything that is not in rows yet.
    pub fn is_short(&self) -> bool {
        let mut all = self.accounts.iter();
        all.any(|account| account.stolen > account.booked)
    }

    /// Moves stolen time that is not in rows yet from the sums on a CPU.
    pub fn share(&mut self, rows: &mut Vec<Sum>, process_of: impl Fn(ThreadId) -> ProcessId) {
        let mut there = vec![0_u64; self.accounts.len()];
        let runs = |row: &Sum| row.scheduling == Scheduling::Running;
        for row in rows.iter().filter(|row| runs(row)) {
            if let Some(there) = there.get_mut(process_of(row.thread).index()) {
                *there += row.time.0;
            }
        }
        let due = self.accounts.iter().zip(&there);
        let due: Vec<u64> = due
            .map(|(account, there)| (account.stolen - account.booked).min(*there))
            .collect();
        if due.iter().all(|due| *due == 0) {
            return;
        }
        for at in 0..rows.len() {
            let row = rows[at];
            let process = process_of(row.thread).index();
            if !runs(&row) || due.get(process).is_none_or(|due| *due == 0) {
                continue;
            }
            let part = u128::from(row.time.0) * u128::from(due[process]);
            let part = (part / u128::from(there[process])) as u64;
            self.accounts[process].booked += part;
            rows[at].time.0 -= part;
            rows.push(Sum {
                scheduling: Scheduling::Stolen,
                time: Nanos(part),
                count: 0,
                ..row
            });
        }
    }

    /// Time of all processes on CPUs up to now, by their switches, and what of it is booked as
    /// stolen: nanoseconds.
    pub fn total(&self, now: u64) -> (u64, u64) {
        let all = self.accounts.iter();
        all.fold((0, 0), |(on_cpu, stolen), account| {
            (on_cpu + account.upto(now), stolen + account.booked)
        })
    }

    fn account(&mut self, process: ProcessId) -> &mut Account {
        let index = process.index();
        if self.accounts.len() <= index {
            self.accounts.resize(index + 1, Account::default());
        }
        &mut self.accounts[index]
    }
}

#[cfg(test)]
mod tests {
    use experiment::ids::ThreadStateId;

    use super::*;

    const MS: u64 = 1_000_000;
    const PROCESS: ProcessId = ProcessId(0);

    fn row(thread: u32, scheduling: Scheduling, ms: u64) -> Sum {
        Sum {
            slice: 0,
            thread: ThreadId(thread),
            thread_state: ThreadStateId::OUTSIDE,
            scheduling,
            time: Nanos(ms * MS),
            count: 1,
        }
    }

    /// Whole milliseconds: shares are rounded to nanoseconds.
    fn ms(nanos: u64) -> u64 {
        (nanos + MS / 2) / MS
    }

    /// Milliseconds in each scheduling state.
    fn sums(rows: &[Sum]) -> [u64; 4] {
        Scheduling::ALL.map(|scheduling| {
            let of = rows.iter().filter(|row| row.scheduling == scheduling);
            ms(of.map(|row| row.time.0).sum())
        })
    }

    #[test]
    fn what_the_kernel_s_account_is_short_of_is_taken_from_time_on_a_cpu() {
        let mut on_cpu = OnCpu::default();
        on_cpu.comes((PROCESS, ThreadId(0)), 0);
        on_cpu.comes((PROCESS, ThreadId(1)), 100 * MS);
        on_cpu.comes((PROCESS, ThreadId(1)), 150 * MS);
        on_cpu.leaves((PROCESS, ThreadId(1)), 400 * MS);
        on_cpu.leaves((PROCESS, ThreadId(1)), 500 * MS);
        // 1300 ms by the switches; one thread's account may be behind by a tick.
        on_cpu.heard(PROCESS, 1000 * MS, 1195 * MS);
        let mut rows = vec![
            row(0, Scheduling::Running, 600),
            row(0, Scheduling::Blocked, 400),
            row(1, Scheduling::Running, 300),
            row(7, Scheduling::Running, 0),
        ];
        on_cpu.share(&mut rows, |_| PROCESS);
        assert_eq!(sums(&rows), [900 - 95, 0, 400, 95]);
        // Also of a thread that has not left its CPU yet.
        let (so_far, stolen) = on_cpu.total(1000 * MS);
        assert_eq!((ms(so_far), ms(stolen)), (1300, 95));
        let of_first = rows.iter().filter(|row| row.thread == ThreadId(0));
        assert_eq!(of_first.map(|row| row.time.0).sum::<u64>(), 1000 * MS);
        // Nothing twice.
        let mut more = vec![row(0, Scheduling::Running, 100)];
        on_cpu.share(&mut more, |_| PROCESS);
        assert_eq!(sums(&more), [100, 0, 0, 0]);
        // Its last word leaves nothing open, and no reading after it counts.
        on_cpu.last_heard(PROCESS, 1700 * MS);
        on_cpu.heard(PROCESS, 2000 * MS, 0);
        on_cpu.close(1500 * MS);
        on_cpu.share(&mut more, |_| PROCESS);
        assert_eq!(sums(&more), [100 - 5, 0, 0, 5]);
        let (on_cpu, stolen) = on_cpu.total(1500 * MS);
        assert_eq!((ms(on_cpu), ms(stolen)), (1800, 100));
    }

    #[test]
    fn no_more_is_taken_than_there_is_and_the_rest_later() {
        let mut on_cpu = OnCpu::default();
        on_cpu.comes((PROCESS, ThreadId(0)), 0);
        on_cpu.leaves((PROCESS, ThreadId(0)), 1000 * MS);
        on_cpu.heard(PROCESS, 1000 * MS, 800 * MS);
        let mut rows = vec![row(0, Scheduling::Running, 150)];
        on_cpu.share(&mut rows, |_| PROCESS);
        assert_eq!(sums(&rows), [0, 0, 0, 150]);
        let mut rows = vec![
            row(0, Scheduling::Running, 850),
            row(9, Scheduling::Running, 1),
        ];
        on_cpu.share(&mut rows, |thread| ProcessId(thread.0 / 9));
        assert_eq!(sums(&rows), [800 + 1, 0, 0, 50]);
    }
}
