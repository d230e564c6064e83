//! Reads samples from their rings, unwinds them, and puts them into queues for the merge.

use std::collections::VecDeque;

use experiment::ids::{Nanos, ThreadStateId};
use experiment::losses::{LossKind, Stretch, Stretches};
use experiment::rows::{Sample, SampleKind, Within};

use super::{Merge, thread_of};
use crate::clock;
use crate::own_samples::OwnSamples;
use crate::perf::open::{Ring, Rings};
use crate::perf::parse::{self, FromSamples, PerfSample, UserHalf};

/// What made the samples of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Maker {
    Clock,
    Switch,
    /// The counter of this number.
    Counter(usize),
}

impl Merge {
    pub(super) fn take_all_samples(&mut self, rings: &mut Rings, until: u64) {
        let counters = rings.counters.len();
        let none = (0, Stretches::default());
        self.counts.counters.resize(counters, none);
        self.merged_of_counters.resize_with(counters, Vec::new);
        let clock = rings.samples.iter_mut().map(|ring| (Maker::Clock, ring));
        let switches = rings.switch_stacks.iter_mut();
        let switches = switches.map(|ring| (Maker::Switch, ring));
        let counters = rings.counters.iter_mut().enumerate();
        let counters = counters.flat_map(|(number, rings)| {
            rings.iter_mut().map(move |it| (Maker::Counter(number), it))
        });
        let all = clock.chain(switches).chain(counters);
        for (queue, (maker, ring)) in all.enumerate() {
            if queue == self.waiting.len() {
                self.waiting.push(VecDeque::new());
                self.makers.push(maker);
            }
            self.take_samples(ring, queue, until, maker);
        }
    }

    fn take_samples(&mut self, ring: &mut Ring, queue: usize, until: u64, maker: Maker) {
        let mut read_to = ring.read_to;
        let is_intact = ring.drain(until, |record| match parse::from_samples(record) {
            FromSamples::Sample(mut sample) => {
                sample.time = sample.time.saturating_sub(self.start);
                read_to = sample.time;
                self.take_sample(&sample, queue, maker);
            }
            FromSamples::Lost(parse::Lost { count, time }) => {
                let before = read_to;
                read_to = time.saturating_sub(self.start);
                self.lose_samples((queue, maker), (before, read_to), count);
            }
            FromSamples::Throttled => match maker {
                Maker::Counter(_) => self.counts.throttled_counters += 1,
                Maker::Clock | Maker::Switch => self.counts.throttled += 1,
            },
            FromSamples::Other => {}
        });
        let mut rest = u64::from(!is_intact);
        // The kernel tells of dropped samples with the next that it has room for.
        if until == u64::MAX
            && let Some(all) = ring.dropped()
        {
            rest += self.dropped.untold(queue, all);
        }
        if rest > 0 {
            let now = clock::raw_now().saturating_sub(self.start);
            self.lose_samples((queue, maker), (read_to, now), rest);
        }
        ring.read_to = read_to;
    }

    /// Counts samples for which a ring had no room.
    fn lose_samples(&mut self, (queue, maker): (usize, Maker), when: (u64, u64), count: u64) {
        let counted_for = self.dropped.lost(queue, count);
        match maker {
            Maker::Counter(number) => {
                let (samples, lost) = &mut self.counts.counters[number];
                *samples += counted_for;
                lost.add(Stretch {
                    from_ns: when.0,
                    to_ns: when.1,
                    count,
                });
            }
            Maker::Clock => self.counts.lost.add(LossKind::Samples, when, count),
            Maker::Switch => self.counts.lost.add(LossKind::SwitchStacks, when, count),
        }
    }

    /// Takes the samples before `cutoff` that threads took of themselves; it is `now`.
    pub(super) fn take_own_samples(&mut self, samples: &mut OwnSamples, cutoff: u64, now: u64) {
        self.waiting.resize_with(samples.slots(), VecDeque::new);
        self.makers.resize(samples.slots(), Maker::Clock);
        for queue in 0..samples.slots() {
            while let Some(((pid, tid), taken)) = samples.next(queue, cutoff) {
                let sample = PerfSample {
                    time: taken.time,
                    pid,
                    tid,
                    cpu: taken.cpu,
                    in_kernel: false,
                    chain: &[],
                    user: Some(UserHalf {
                        regs: parse::regs_of(&taken.registers),
                        stack: &taken.stack,
                    }),
                };
                self.take_sample(&sample, queue, Maker::Clock);
            }
        }
        let when = (self.looked_at, now);
        let lost = &mut self.counts.lost;
        match samples.take_lost() {
            0 => {}
            count => lost.add(LossKind::Samples, when, count),
        }
        lost.raise(LossKind::ThreadsUnsampled, when, samples.refused().into());
        self.counts.missed_periods = samples.missed();
        self.own_cpu_time = Some(samples.cpu_time());
        samples.recycle();
    }

    /// Unwinds a sample, and puts it into a queue for the merge.
    fn take_sample(&mut self, sample: &PerfSample<'_>, queue: usize, maker: Maker) {
        let is_paused = self.control.is_paused_at(sample.time);
        if is_paused || !self.processes.is_recorded(sample.pid) {
            match maker {
                // It stands for a part of what the kernel has counted.
                Maker::Counter(number) => {
                    self.counts.counters[number].0 += 1 + self.dropped.taken(queue, None);
                }
                Maker::Clock => self.counts.paused_samples += u64::from(is_paused),
                Maker::Switch => {}
            }
            return;
        }
        let thread = thread_of(
            &mut self.processes,
            &mut self.tables,
            (sample.pid, sample.tid),
            sample.time,
        );
        if let Maker::Counter(number) = maker {
            let key = (number, thread, Nanos(sample.time));
            self.counts.counters[number].0 += 1 + self.dropped.taken(queue, Some(key));
        }
        let unwound = self
            .stacks
            .of_sample(&mut self.tables, &mut self.processes, sample);
        if let Some(truncated) = unwound.truncated {
            self.counts.completed_by_memory += u64::from(truncated.callers.is_some());
            self.completion.add(thread, Nanos(sample.time), truncated);
        }
        let kind = match (maker, sample.in_kernel) {
            (Maker::Switch, _) => SampleKind::Blocked,
            (_, true) => SampleKind::Kernel,
            (_, false) => SampleKind::User,
        };
        if maker == Maker::Switch {
            self.counts.switch_samples += 1;
        } else {
            self.counts.samples += u64::from(maker == Maker::Clock);
            match unwound.cut {
                None => self.counts.endings.complete += 1,
                Some(reason) => self.counts.endings.cut[reason as usize] += 1,
            }
        }
        self.waiting[queue].push_back(Sample {
            time: Nanos(sample.time),
            thread,
            cpu: sample.cpu,
            kind,
            stack: unwound.stack,
            thread_state: ThreadStateId::OUTSIDE,
            within: Within::default(),
        });
    }
}
