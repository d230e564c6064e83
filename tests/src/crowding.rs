//! What other programs did to a run on a shared machine.
//!
//! A program reads its clock and then calls the runtime. Where the kernel takes the CPU away between
//! the two, the program and its profile differ by that time, and neither errs.

use std::fs;

use fixtures::Truth;

/// Jiffies a second in `/proc`: `USER_HZ` of Linux, 100 on x86-64 and aarch64.
const HERTZ: f64 = 100.0;

/// Seconds of CPU time until now.
#[derive(Debug, Clone, Copy)]
struct Cpus {
    /// Of all programs.
    busy: f64,
    /// Taken by a hypervisor.
    stolen: f64,
    /// Of the children of this process that have ended, with their own.
    children: f64,
}

/// A stretch of time in which a program runs.
#[derive(Debug)]
pub(crate) struct Crowding {
    begin: Option<Cpus>,
}

impl Cpus {
    /// `None` where `/proc` does not tell.
    fn now() -> Option<Self> {
        let stat = fs::read_to_string("/proc/stat").ok()?;
        let own = fs::read_to_string("/proc/self/stat").ok()?;
        Self::parse(&stat, &own)
    }

    fn parse(stat: &str, own: &str) -> Option<Self> {
        let all = stat.lines().next()?.strip_prefix("cpu ")?;
        // User, nice, system, idle, waiting for input, interrupts, soft interrupts, stolen.
        let all = numbers(all)?;
        let &[user, nice, system, _, _, hard, soft, stolen, ..] = &all[..] else {
            return None;
        };
        // After the name in parentheses, which may hold anything: the state is field 3, the children's
        // user and system time are fields 16 and 17.
        let (_, fields) = own.rsplit_once(") ")?;
        let (_, fields) = fields.split_once(' ')?;
        let fields = numbers(fields)?;
        Some(Self {
            busy: user + nice + system + hard + soft,
            stolen,
            children: fields.get(12)? + fields.get(13)?,
        })
    }
}

/// Seconds from jiffies.
fn numbers(words: &str) -> Option<Vec<f64>> {
    words
        .split_ascii_whitespace()
        .map(|word| word.parse::<f64>().ok().map(|jiffies| jiffies / HERTZ))
        .collect()
}

/// Seconds of CPU time that a hypervisor has taken since the machine started. 0 where `/proc` does not tell.
pub fn stolen() -> f64 {
    Cpus::now().map_or(0.0, |cpus| cpus.stolen)
}

impl Crowding {
    /// The program is about to start.
    pub(crate) fn begin() -> Self {
        Self { begin: Cpus::now() }
    }

    /// Seconds in which the program's threads could run and others had the CPU. Threads that wait
    /// for each other's CPU do not count: they do so on every machine. 0 where `/proc` does not tell.
    ///
    /// The program and its recorder have ended.
    pub(crate) fn end(self, truths: &[Truth]) -> f64 {
        let threads = truths.iter().flat_map(|truth| &truth.threads);
        let delay = threads.map(|thread| thread.delay).sum();
        match (self.begin, Cpus::now()) {
            (Some(begin), Some(end)) => lost(begin, end, delay),
            _ => 0.0,
        }
    }
}

/// As [`Crowding::end`]. `delay`: what the kernel says that the threads waited for CPUs.
fn lost(begin: Cpus, end: Cpus, delay: f64) -> f64 {
    let others = (end.busy - begin.busy) - (end.children - begin.children);
    delay.min(others).max(0.0) + (end.stolen - begin.stolen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_others_had_counts() {
        let at = |busy, stolen, children| Cpus {
            busy,
            stolen,
            children,
        };
        let begin = at(100.0, 1.0, 50.0);
        // Four threads on two idle CPUs delay each other.
        assert_eq!(lost(begin, at(104.0, 1.0, 54.0), 4.0), 0.0);
        // Others ran for three seconds, of which the threads waited for one.
        assert_eq!(lost(begin, at(107.0, 1.0, 54.0), 1.0), 1.0);
        assert_eq!(lost(begin, at(107.0, 1.0, 54.0), 5.0), 3.0);
        // A hypervisor's share is in no thread's delay.
        assert_eq!(lost(begin, at(104.0, 1.5, 54.0), 0.0), 0.5);
    }

    #[test]
    fn proc_is_read_as_it_is_written() {
        let stat = "cpu  100 200 300 400 500 600 700 800 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n";
        let own = "7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 11 12 1300 1400 20 0 1 0 99\n";
        let cpus = Cpus::parse(stat, own).expect("both have their fields");
        assert_eq!((cpus.busy, cpus.stolen, cpus.children), (19.0, 8.0, 27.0));
        assert!(Cpus::now().is_some(), "this machine's own");
    }
}
