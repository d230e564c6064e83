//! The CPUs on which the program's threads may run: a program, or what starts it, may bind them.

use std::time::{Duration, Instant};

use experiment::tables::Tables;
use rustc_hash::FxHashMap;

use crate::sys;

/// The time between two looks, each of which is a system call for each thread.
const EVERY: Duration = Duration::from_millis(100);

/// The CPUs of each thread, as the kernel told last.
///
/// A thread is bound soon after its start if ever, so what was true last is taken to be true of the whole
/// run. Threads that ended before a look are not known.
#[derive(Debug, Default)]
pub struct Affinity {
    /// By the threads' index.
    last: FxHashMap<usize, Vec<u32>>,
    looked: Option<Instant>,
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
                self.last.insert(at, cpus);
            }
        }
    }

    /// The CPUs of each process's threads together, sorted; empty if no look saw any of them.
    pub fn by_process(&self, tables: &Tables) -> Vec<Vec<u32>> {
        let mut all = vec![Vec::new(); tables.processes.len()];
        for (at, thread) in tables.threads.iter().enumerate() {
            if let Some((cpus, had)) = self.last.get(&at).zip(all.get_mut(thread.process.index())) {
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
