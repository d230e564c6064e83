//! What the kernel counts for each thread on each CPU: switches, migrations and page faults.

use experiment::ids::ThreadId;
use experiment::rows::{CpuUse, FAULTS_EACH};
use rustc_hash::FxHashMap;

/// The counts of all threads.
#[derive(Debug, Default)]
pub struct Usage {
    uses: FxHashMap<(ThreadId, u16), CpuUse>,
    /// By thread: the CPU that it was on last.
    last: Vec<Option<u16>>,
}

impl Usage {
    fn at(&mut self, thread: ThreadId, cpu: u16) -> &mut CpuUse {
        self.uses.entry((thread, cpu)).or_insert(CpuUse {
            thread,
            cpu,
            migrations: 0,
            voluntary: 0,
            involuntary: 0,
            minor_faults: 0,
            major_faults: 0,
        })
    }

    /// A thread was seen on a CPU.
    fn seen(&mut self, thread: ThreadId, cpu: u16) {
        if self.last.len() <= thread.index() {
            self.last.resize(thread.index() + 1, None);
        }
        let last = self.last[thread.index()].replace(cpu);
        let moved = last.is_some_and(|last| last != cpu);
        self.at(thread, cpu).migrations += u64::from(moved);
    }

    /// A thread was switched in.
    pub fn switch_in(&mut self, thread: ThreadId, cpu: u16) {
        self.seen(thread, cpu);
    }

    /// A thread was switched out.
    pub fn switch_out(&mut self, thread: ThreadId, cpu: u16, preempted: bool) {
        self.seen(thread, cpu);
        let at = self.at(thread, cpu);
        at.involuntary += u64::from(preempted);
        at.voluntary += u64::from(!preempted);
    }

    /// A record of page faults of a thread on a CPU.
    pub fn faults(&mut self, thread: ThreadId, cpu: u16, is_major: bool) {
        let at = self.at(thread, cpu);
        if is_major {
            at.major_faults += 1;
        } else {
            at.minor_faults += FAULTS_EACH;
        }
    }

    /// The rows.
    pub fn rows(&self) -> Vec<CpuUse> {
        self.uses.values().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_migrations_and_faults_are_counted_by_thread_and_cpu() {
        let mut usage = Usage::default();
        let [first, other] = [ThreadId(0), ThreadId(1)];
        usage.switch_in(first, 0);
        usage.switch_out(first, 0, false);
        usage.switch_in(first, 3);
        usage.switch_out(first, 3, true);
        usage.switch_in(first, 3);
        usage.switch_in(other, 3);
        for is_major in [false, true, false] {
            usage.faults(other, 3, is_major);
        }
        usage.faults(first, 0, false);
        let mut rows = usage.rows();
        rows.sort_by_key(|row| (row.thread, row.cpu));
        let numbers = rows.iter().map(|it| {
            let switches = [it.migrations, it.voluntary, it.involuntary];
            (
                it.thread.0,
                it.cpu,
                switches,
                [it.minor_faults, it.major_faults],
            )
        });
        assert_eq!(
            numbers.collect::<Vec<_>>(),
            [
                (0, 0, [0, 1, 0], [FAULTS_EACH, 0]),
                (0, 3, [1, 0, 1], [0, 0]),
                (1, 3, [0, 0, 0], [2 * FAULTS_EACH, 1]),
            ]
        );
    }
}
