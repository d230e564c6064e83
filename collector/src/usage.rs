//! What the kernel counts for each thread on each CPU: switches, migrations and page faults.

use experiment::ids::ThreadId;
use experiment::rows::CpuUse;
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

    /// A thread that has ended had so many page faults on a CPU.
    pub fn faults(&mut self, thread: ThreadId, cpu: u16, count: u64, major: bool) {
        let at = self.at(thread, cpu);
        if major {
            at.major_faults += count;
        } else {
            at.minor_faults += count;
        }
    }

    /// Of `all` page faults on a CPU, those of no thread that has ended are the first thread's: the
    /// event is its own.
    pub fn first_thread(&mut self, first: ThreadId, cpu: u16, all: u64, major: bool) {
        let of = |it: &CpuUse| {
            if major {
                it.major_faults
            } else {
                it.minor_faults
            }
        };
        let here = self.uses.values().filter(|it| it.cpu == cpu);
        let ended: u64 = here.map(of).sum();
        let rest = all.saturating_sub(ended);
        if rest > 0 {
            self.faults(first, cpu, rest, major);
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
        usage.faults(other, 3, 40, false);
        // The event on CPU 3 counted 100 faults, that on CPU 0 none.
        usage.first_thread(first, 3, 100, false);
        usage.first_thread(first, 3, 2, true);
        usage.first_thread(first, 0, 0, false);
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
                (0, 0, [0, 1, 0], [0, 0]),
                (0, 3, [1, 0, 1], [60, 2]),
                (1, 3, [0, 0, 0], [40, 0]),
            ]
        );
    }
}
