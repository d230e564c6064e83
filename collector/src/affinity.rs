//! The CPUs on which the program's threads may run: a program, or what starts it, may bind them.

use std::time::{Duration, Instant};

use experiment::tables::Tables;
use rustc_hash::FxHashMap;

use crate::sys;

/// The time between two looks, each of which is a system call for each thread.
const EVERY: Duration = Duration::from_millis(100);

/// The CPUs of each thread, as the kernel told most often.
///
/// A thread is bound soon after its start if ever, so that is taken to be true of the whole run. What the
/// kernel told may hold for a moment only: LLVM's runtime binds the initial thread to one CPU after
/// the other when it starts, to learn how they are connected. So of sets that were seen equally often the largest
/// counts, which a short run leaves undecided. Threads that ended before a look are not known.
#[derive(Debug, Default)]
pub struct Affinity {
    /// By the threads' index: the sets of CPUs, in the order in which they were first seen.
    seen: FxHashMap<usize, Vec<Seen>>,
    looked: Option<Instant>,
}

/// A set of CPUs on which a thread might run.
#[derive(Debug)]
struct Seen {
    /// Sorted.
    cpus: Vec<u32>,
    /// The looks that saw it.
    looks: u32,
}

impl Affinity {
    /// Asks the kernel for each thread that lives, if that was not done just before.
    pub fn look(&mut self, tables: &Tables) {
        if self.looked.is_some_and(|looked| looked.elapsed() < EVERY) {
            return;
        }
        self.looked = Some(Instant::now());
        let threads = tables.threads.iter().enumerate();
        for (at, thread) in threads.filter(|(_, thread)| thread.death.is_none()) {
            if let Some(cpus) = sys::allowed_cpus(thread.tid) {
                self.see(at, cpus);
            }
        }
    }

    /// Takes what one look told of a thread.
    fn see(&mut self, thread: usize, cpus: Vec<u32>) {
        let seen = self.seen.entry(thread).or_default();
        match seen.iter_mut().find(|it| it.cpus == cpus) {
            Some(known) => known.looks += 1,
            None => seen.push(Seen { cpus, looks: 1 }),
        }
    }

    /// The CPUs of a thread: of sets that were seen equally often, the largest.
    fn of(&self, thread: usize) -> Option<&[u32]> {
        let seen = self.seen.get(&thread)?;
        let most = seen.iter().max_by_key(|it| (it.looks, it.cpus.len()))?;
        Some(&most.cpus)
    }

    /// The CPUs of each process's threads together, sorted; empty if no look saw any of them.
    pub fn by_process(&self, tables: &Tables) -> Vec<Vec<u32>> {
        let mut all = vec![Vec::new(); tables.processes.len()];
        for (at, thread) in tables.threads.iter().enumerate() {
            if let Some((cpus, had)) = self.of(at).zip(all.get_mut(thread.process.index())) {
                had.extend(cpus);
            }
        }
        for had in &mut all {
            had.sort_unstable();
            had.dedup();
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::Affinity;

    #[test]
    fn what_holds_for_a_moment_does_not_count() {
        let mut affinity = Affinity::default();
        for cpus in [&[0, 1][..], &[0, 1], &[0]] {
            affinity.see(0, cpus.to_vec());
        }
        assert_eq!(affinity.of(0), Some(&[0, 1][..]));
        // Bound after the first look.
        for cpus in [&[0, 1][..], &[1], &[1]] {
            affinity.see(1, cpus.to_vec());
        }
        assert_eq!(affinity.of(1), Some(&[1][..]));
        // A single look each does not tell whether it is bound, or was for a moment.
        affinity.see(2, vec![0, 1]);
        affinity.see(2, vec![1]);
        assert_eq!(affinity.of(2), Some(&[0, 1][..]));
        assert_eq!(affinity.of(3), None);
    }
}
