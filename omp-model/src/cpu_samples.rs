//! The CPUs that threads ran on, according to their samples.

use std::collections::BTreeMap;

use experiment::Samples;
use experiment::ids::ThreadId;
use experiment::rows::Sample;

/// The CPUs of samples: clock samples and switch-out samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuSamples {
    /// Number of samples on each CPU.
    pub by_cpu: BTreeMap<u16, u64>,
    /// Samples by thread.
    pub by_thread: BTreeMap<ThreadId, OnCpus>,
}

/// The CPUs that one thread ran on: its number of samples on each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OnCpus(pub BTreeMap<u16, u64>);

impl OnCpus {
    /// The number of all samples.
    pub fn samples(&self) -> u64 {
        self.0.values().sum()
    }

    /// The CPU that the thread ran on, apart from at most one sample in 50: a program's first
    /// thread is bound only when its runtime starts.
    pub fn mostly(&self) -> Option<u16> {
        const RATIO: u64 = 50;
        let (&cpu, &most) = self.0.iter().max_by_key(|(_, samples)| **samples)?;
        let samples = self.samples();
        ((samples - most) * RATIO <= samples).then_some(cpu)
    }
}

impl CpuSamples {
    /// Counts all samples, using all CPUs.
    pub fn of(samples: &Samples) -> CpuSamples {
        let mut all = CpuSamples::default();
        let make = |rows: &[Sample]| {
            let mut on_cpus = CpuSamples::default();
            let alike =
                |one: &Sample, other: &Sample| (one.thread, one.cpu) == (other.thread, other.cpu);
            for rows in rows.chunk_by(alike) {
                on_cpus.add(rows[0].thread, rows[0].cpu, rows.len() as u64);
            }
            on_cpus
        };
        samples.in_order(make, |_, on_cpus| all.join(on_cpus));
        all
    }

    fn add(&mut self, thread: ThreadId, cpu: u16, samples: u64) {
        let on = self.by_thread.entry(thread).or_default();
        *on.0.entry(cpu).or_default() += samples;
        *self.by_cpu.entry(cpu).or_default() += samples;
    }

    fn join(&mut self, other: CpuSamples) {
        for (cpu, samples) in other.by_cpu {
            *self.by_cpu.entry(cpu).or_default() += samples;
        }
        for (thread, on) in other.by_thread {
            let known = self.by_thread.entry(thread).or_default();
            for (cpu, samples) in on.0 {
                *known.0.entry(cpu).or_default() += samples;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::ids::{Nanos, StackId, ThreadStateId};
    use experiment::rows::{SampleKind, Within};

    #[test]
    fn a_few_samples_elsewhere_are_the_time_before_a_thread_was_bound() {
        let on = |here, there| OnCpus(BTreeMap::from([(0, here), (1, there)]));
        assert_eq!(on(1260, 1).mostly(), Some(0));
        assert_eq!(on(2, 98).mostly(), Some(1));
        assert_eq!(on(3, 97).mostly(), None);
        assert_eq!(OnCpus::default().mostly(), None);
    }

    #[test]
    fn samples_are_counted_by_cpu_and_a_thread_on_one_cpu_is_found() {
        let sample = |at: u64, thread, cpu| Sample {
            time: Nanos(at * 1_000_000),
            thread: ThreadId(thread),
            cpu,
            kind: SampleKind::User,
            stack: StackId(at as u32 % 300),
            thread_state: ThreadStateId(at as u32 % 7),
            within: Within::default(),
        };
        let frames = (0..5_u64).map(|frame| {
            let at = frame * 1000;
            let one = (0..400).map(move |row| sample(at + row, 0, 3));
            let other = (0..300).map(move |row| sample(at + row, 1, (row % 2) as u16));
            one.chain(other).collect::<Vec<_>>()
        });
        let on_cpus = CpuSamples::of(&Samples::of_frames(frames).unwrap());
        assert_eq!(
            on_cpus.by_cpu,
            BTreeMap::from([(0, 750), (1, 750), (3, 2000)])
        );
        let one = OnCpus(BTreeMap::from([(3, 2000)]));
        let both = OnCpus(BTreeMap::from([(0, 750), (1, 750)]));
        assert_eq!((one.mostly(), one.samples()), (Some(3), 2000));
        assert_eq!((both.mostly(), both.samples()), (None, 1500));
        let threads = [(ThreadId(0), one), (ThreadId(1), both)];
        assert_eq!(on_cpus.by_thread, BTreeMap::from(threads));
        assert_eq!(CpuSamples::of(&Samples::default()), CpuSamples::default());
    }
}
