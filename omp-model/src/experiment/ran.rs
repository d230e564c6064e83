//! Which CPUs threads ran on, as their samples say: of each only that is unpacked.

use std::collections::BTreeMap;

use super::Samples;
use super::column::Scratch;
use crate::ids::ThreadId;

/// The CPUs that samples were taken on, clock samples and those at switches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// How many on each CPU.
    pub by_cpu: BTreeMap<u16, u64>,
    /// By thread.
    pub by_thread: BTreeMap<ThreadId, OnCpus>,
}

/// Where one thread ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnCpus {
    /// The CPU of all its samples, if it is one.
    pub only: Option<u16>,
    /// How many samples it has.
    pub samples: u64,
}

impl Ran {
    /// Goes through all samples, on all CPUs.
    pub fn of(samples: &Samples) -> Ran {
        let mut all = Ran::default();
        let make = |frame, scratch: &mut Scratch| {
            let mut ran = Ran::default();
            samples.cpus(frame, scratch, |thread, cpus| ran.add(thread, cpus));
            ran
        };
        samples.each_frame(make, |_, ran| all.join(ran));
        all
    }

    fn add(&mut self, thread: ThreadId, cpus: &[u64]) {
        for alike in cpus.chunk_by(|one, other| one == other) {
            let cpu = alike[0] as u16;
            let on = OnCpus {
                only: Some(cpu),
                samples: alike.len() as u64,
            };
            self.join_thread(thread, on);
            *self.by_cpu.entry(cpu).or_default() += on.samples;
        }
    }

    fn join_thread(&mut self, thread: ThreadId, more: OnCpus) {
        let known = self
            .by_thread
            .entry(thread)
            .or_insert(OnCpus { samples: 0, ..more });
        known.only = known.only.filter(|_| known.only == more.only);
        known.samples += more.samples;
    }

    fn join(&mut self, other: Ran) {
        for (cpu, samples) in other.by_cpu {
            *self.by_cpu.entry(cpu).or_default() += samples;
        }
        for (thread, on) in other.by_thread {
            self.join_thread(thread, on);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Nanos, StackId, TagId};
    use crate::rows::{Sample, SampleKind, Within};

    #[test]
    fn samples_are_counted_by_cpu_and_a_thread_on_one_alone_is_told() {
        let sample = |at: u64, thread, cpu| Sample {
            time: Nanos(at * 1_000_000),
            thread: ThreadId(thread),
            cpu,
            kind: SampleKind::User,
            stack: StackId(at as u32 % 300),
            tag: TagId(at as u32 % 7),
            within: Within::default(),
        };
        let frames = (0..5_u64).map(|frame| {
            let at = frame * 1000;
            let one = (0..400).map(move |row| sample(at + row, 0, 3));
            let other = (0..300).map(move |row| sample(at + row, 1, (row % 2) as u16));
            one.chain(other).collect::<Vec<_>>()
        });
        let ran = Ran::of(&Samples::of_frames(frames).unwrap());
        assert_eq!(ran.by_cpu, BTreeMap::from([(0, 750), (1, 750), (3, 2000)]));
        let on = |only, samples| OnCpus { only, samples };
        let threads = [
            (ThreadId(0), on(Some(3), 2000)),
            (ThreadId(1), on(None, 1500)),
        ];
        assert_eq!(ran.by_thread, BTreeMap::from(threads));
        assert_eq!(Ran::of(&Samples::default()), Ran::default());
    }
}
