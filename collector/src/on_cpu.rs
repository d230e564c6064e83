//! Time of each process on CPUs, by its threads' switches and by the kernel's accounting.
//!
//! Switches in a guest do not show when a hypervisor runs another machine on the CPU. The guest's
//! kernel knows that time, *steal*, and leaves it out of the process's CPU time. The difference
//! becomes [`Scheduling::Stolen`]. The kernel tells it by process and without times, so it is divided
//! in proportion among the time on CPUs that the threads had since the last rows. The CPU time of
//! the first process is read once more when it has ended. That of its children is read only when
//! rows are made, so time stolen from a child after that is not counted.

use experiment::ids::{Nanos, ProcessId, ThreadId};
use experiment::rows::Sum;
use experiment::state::Scheduling;

/// How much the CPU time of a running thread may lack until the kernel's next timer tick, in
/// nanoseconds: ticks are 1 to 10 ms apart.
const TICK: u64 = 10_000_000;

/// Time on CPUs, by thread and process.
#[derive(Debug, Default)]
pub struct OnCpu {
    /// By thread: since when it has been on a CPU, if it is on one.
    since: Vec<Option<u64>>,
    /// By process.
    accounts: Vec<Account>,
}

/// A process's time on CPUs, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    /// The sum over the intervals that have ended.
    ended: u64,
    /// The number of threads that are on a CPU.
    running: u64,
    /// The sum of the times at which they were switched in.
    switched_in: u64,
    /// By how much the kernel's CPU time is certainly below the time by switches.
    stolen: u64,
    /// How much of that is in rows.
    in_rows: u64,
    /// The kernel's CPU time at the end of the process.
    last: Option<u64>,
}

impl Account {
    fn time_until(&self, now: u64) -> u64 {
        self.ended + (self.running * now).saturating_sub(self.switched_in)
    }
}

impl OnCpu {
    /// A thread was switched in, or is still on a CPU.
    pub fn switch_in(&mut self, (process, thread): (ProcessId, ThreadId), now: u64) {
        let index = thread.index();
        if self.since.len() <= index {
            self.since.resize(index + 1, None);
        }
        if self.since[index].is_none() {
            self.since[index] = Some(now);
            let account = self.account(process);
            account.running += 1;
            account.switched_in += now;
        }
    }

    /// A thread was switched out, or was on no CPU.
    pub fn switch_out(&mut self, (process, thread): (ProcessId, ThreadId), now: u64) {
        let since = self.since.get_mut(thread.index()).and_then(Option::take);
        if let Some(since) = since {
            let account = self.account(process);
            account.running -= 1;
            account.switched_in -= since;
            account.ended += now.saturating_sub(since);
        }
    }

    /// Takes the kernel's CPU time of a living process, read a little after `now`. All its switches up
    /// to `now` are known.
    pub fn take_cpu_time(&mut self, process: ProcessId, now: u64, cpu_time: u64) {
        let account = self.account(process);
        if account.last.is_none() {
            let not_counted = TICK * account.running;
            let missing = account
                .time_until(now)
                .saturating_sub(cpu_time + not_counted);
            account.stolen = account.stolen.max(missing);
        }
    }

    /// Takes the kernel's CPU time of a process that has ended.
    pub fn take_last_cpu_time(&mut self, process: ProcessId, cpu_time: u64) {
        self.account(process).last = Some(cpu_time);
    }

    /// Ends the recording: threads that are still on CPUs stay there until `end`.
    pub fn close(&mut self, end: u64) {
        for account in &mut self.accounts {
            account.ended = account.time_until(end);
            (account.running, account.switched_in) = (0, 0);
            if let Some(last) = account.last {
                account.stolen = account.stolen.max(account.ended.saturating_sub(last));
            }
        }
        self.since.clear();
    }

    /// Whether there is stolen time that is not in rows yet.
    pub fn has_stolen(&self) -> bool {
        let mut all = self.accounts.iter();
        all.any(|account| account.stolen > account.in_rows)
    }

    /// Moves stolen time that is not in rows yet from the sums on CPUs to rows of its own.
    pub fn move_stolen(&mut self, rows: &mut Vec<Sum>, process_of: impl Fn(ThreadId) -> ProcessId) {
        let mut on_cpu = vec![0_u64; self.accounts.len()];
        let is_running = |row: &Sum| row.scheduling == Scheduling::Running;
        for row in rows.iter().filter(|row| is_running(row)) {
            if let Some(time) = on_cpu.get_mut(process_of(row.thread).index()) {
                *time += row.time.0;
            }
        }
        let processes = self.accounts.iter().zip(&on_cpu);
        let due: Vec<u64> = processes
            .map(|(account, time)| (account.stolen - account.in_rows).min(*time))
            .collect();
        if due.iter().all(|due| *due == 0) {
            return;
        }
        for at in 0..rows.len() {
            let row = rows[at];
            let process = process_of(row.thread).index();
            if !is_running(&row) || due.get(process).is_none_or(|due| *due == 0) {
                continue;
            }
            let product = u128::from(row.time.0) * u128::from(due[process]);
            let part = (product / u128::from(on_cpu[process])) as u64;
            self.accounts[process].in_rows += part;
            rows[at].time.0 -= part;
            rows.push(Sum {
                scheduling: Scheduling::Stolen,
                time: Nanos(part),
                count: 0,
                ..row
            });
        }
    }

    /// Time of all processes on CPUs up to `now`, by their switches, and how much of it is in rows as
    /// stolen. In nanoseconds.
    pub fn total(&self, now: u64) -> (u64, u64) {
        let all = self.accounts.iter();
        all.fold((0, 0), |(on_cpu, stolen), account| {
            (on_cpu + account.time_until(now), stolen + account.in_rows)
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
    fn what_the_kernel_s_cpu_time_lacks_is_taken_from_time_on_cpus() {
        let mut on_cpu = OnCpu::default();
        on_cpu.switch_in((PROCESS, ThreadId(0)), 0);
        on_cpu.switch_in((PROCESS, ThreadId(1)), 100 * MS);
        on_cpu.switch_in((PROCESS, ThreadId(1)), 150 * MS);
        on_cpu.switch_out((PROCESS, ThreadId(1)), 400 * MS);
        on_cpu.switch_out((PROCESS, ThreadId(1)), 500 * MS);
        // 1300 ms by the switches; the CPU time of one thread may be behind by a tick.
        on_cpu.take_cpu_time(PROCESS, 1000 * MS, 1195 * MS);
        let mut rows = vec![
            row(0, Scheduling::Running, 600),
            row(0, Scheduling::Blocked, 400),
            row(1, Scheduling::Running, 300),
            row(7, Scheduling::Running, 0),
        ];
        on_cpu.move_stolen(&mut rows, |_| PROCESS);
        assert_eq!(sums(&rows), [900 - 95, 0, 400, 95]);
        // Also of a thread that has not left its CPU yet.
        let (so_far, stolen) = on_cpu.total(1000 * MS);
        assert_eq!((ms(so_far), ms(stolen)), (1300, 95));
        let of_first = rows.iter().filter(|row| row.thread == ThreadId(0));
        assert_eq!(of_first.map(|row| row.time.0).sum::<u64>(), 1000 * MS);
        // Nothing twice.
        let mut more = vec![row(0, Scheduling::Running, 100)];
        on_cpu.move_stolen(&mut more, |_| PROCESS);
        assert_eq!(sums(&more), [100, 0, 0, 0]);
        // The CPU time at its end is exact, and no later reading counts.
        on_cpu.take_last_cpu_time(PROCESS, 1700 * MS);
        on_cpu.take_cpu_time(PROCESS, 2000 * MS, 0);
        on_cpu.close(1500 * MS);
        on_cpu.move_stolen(&mut more, |_| PROCESS);
        assert_eq!(sums(&more), [100 - 5, 0, 0, 5]);
        let (on_cpu, stolen) = on_cpu.total(1500 * MS);
        assert_eq!((ms(on_cpu), ms(stolen)), (1800, 100));
    }

    #[test]
    fn stolen_time_beyond_the_rows_is_taken_from_later_rows() {
        let mut on_cpu = OnCpu::default();
        on_cpu.switch_in((PROCESS, ThreadId(0)), 0);
        on_cpu.switch_out((PROCESS, ThreadId(0)), 1000 * MS);
        on_cpu.take_cpu_time(PROCESS, 1000 * MS, 800 * MS);
        let mut rows = vec![row(0, Scheduling::Running, 150)];
        on_cpu.move_stolen(&mut rows, |_| PROCESS);
        assert_eq!(sums(&rows), [0, 0, 0, 150]);
        let mut rows = vec![
            row(0, Scheduling::Running, 850),
            row(9, Scheduling::Running, 1),
        ];
        on_cpu.move_stolen(&mut rows, |thread| ProcessId(thread.0 / 9));
        assert_eq!(sums(&rows), [800 + 1, 0, 0, 50]);
    }
}
