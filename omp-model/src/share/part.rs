//! What one thread has of a slice of time, while that is closed: samples and time, sorted and shared
//! out by the thread's own lane, beside those of other threads.

use std::ops::Range;

use super::blame::{Causes, Role};
use super::lane::{Lane, Spot};
use super::places::{Wanted, is_outside};
use super::roles::{Charge, Roles};
use super::{Group, Recording, Seen, Time, kind_of, own_parts, tag_of};
use crate::ids::{TagId, ThreadId};
use crate::rewrite::{Moment, Rewriter};
use crate::state::Presence;

/// What the sorting of a part asks of its recording.
#[derive(Clone, Copy)]
pub(super) struct Facts<'a> {
    pub(super) recording: &'a Recording<'a>,
    pub(super) rewriter: &'a Rewriter<'a>,
    pub(super) causes: &'a Causes<'a>,
}

/// Measured time of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub(super) group: Group,
    /// What no samples were found of yet.
    pub(super) nanos: u64,
    /// What of it is listed: long sleeps.
    pub(super) listed: u64,
}

/// Samples at switches.
#[derive(Debug)]
pub(super) struct Switches {
    pub(super) group: Group,
    pub(super) stacks: Vec<Seen>,
    /// What of its time is listed: long sleeps.
    pub(super) listed: u64,
}

/// A thread's part of a slice.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) thread: ThreadId,
    pub(super) slice: u32,
    /// Clock samples ([`super::digest::key`]), in the order of time.
    pub(super) clock: Vec<Vec<u64>>,
    /// In the order of groups.
    pub(super) switches: Vec<Switches>,
    /// In the order of groups.
    pub(super) times: Vec<Measured>,
    /// The clock samples as numbers of sums, by state.
    numbers: Vec<u32>,
    /// Groups of clock samples, in the order of states.
    pub(super) ticks: Vec<Ticks>,
    /// Groups of samples at switches, in the order of groups.
    pub(super) away: Vec<Away>,
    /// Time of which no samples tell: long sleeps first.
    pub(super) borrowing: Vec<Borrowing>,
}

/// Clock samples of a group, and its time.
#[derive(Debug)]
pub(super) struct Ticks {
    pub(super) group: Group,
    /// Which of [`Part::numbers`].
    numbers: Range<usize>,
    pub(super) nanos: u64,
    /// How much of it is of each role.
    pub(super) roles: Roles,
    pub(super) charge: Charge,
}

/// A group off the CPU.
#[derive(Debug)]
pub(super) struct Away {
    pub(super) group: Group,
    stacks: Vec<Seen>,
    /// Each stack's sum, and how many nanoseconds of it.
    parts: Vec<(u32, u64)>,
    pub(super) nanos: u64,
    pub(super) roles: Roles,
    pub(super) charge: Charge,
}

/// Time without samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct Borrowing {
    pub(super) wanted: Wanted,
    pub(super) nanos: u64,
    /// Whether samples tell of other time of its group.
    pub(super) is_unseen: bool,
    /// What a second of it is owed.
    pub(super) owed: f64,
}

impl Part {
    pub(super) fn new(thread: ThreadId, slice: u32) -> Part {
        Part {
            thread,
            slice,
            clock: Vec::new(),
            switches: Vec::new(),
            times: Vec::new(),
            numbers: Vec::new(),
            ticks: Vec::new(),
            away: Vec::new(),
            borrowing: Vec::new(),
        }
    }

    /// Finds the sums of all samples, and the time of their groups.
    pub(super) fn sort(&mut self, lane: &mut Lane, facts: Facts<'_>) {
        self.sort_clock(lane, facts);
        for Switches {
            group,
            stacks,
            listed,
        } in std::mem::take(&mut self.switches)
        {
            let nanos = self.time_of(group).map_or(0, std::mem::take);
            let owed = facts.causes.owed(group, nanos as f64 / 1e9);
            let mut time = Time { nanos, listed };
            let unseen = time.take_unseen(tag_of(facts.recording.tables, group.tag), &stacks);
            if unseen > 0 {
                self.borrowing.push(Borrowing {
                    wanted: Wanted { group, long: true },
                    nanos: unseen,
                    is_unseen: true,
                    owed,
                });
            }
            let (roles, parts) = place(lane, group, time, &stacks, facts);
            self.away.push(Away {
                group,
                stacks,
                parts,
                nanos: time.nanos,
                roles,
                charge: Charge::owed(owed),
            });
        }
        let left = std::mem::take(&mut self.times);
        let left = left.into_iter().filter(|left| left.nanos > 0);
        self.borrowing.extend(left.map(|left| {
            let Measured {
                group,
                nanos,
                listed,
            } = left;
            let long = Time { nanos, listed }.is_long();
            Borrowing {
                wanted: Wanted { group, long },
                nanos,
                is_unseen: false,
                owed: facts.causes.owed(group, nanos as f64 / 1e9),
            }
        }));
    }

    fn sort_clock(&mut self, lane: &mut Lane, facts: Facts<'_>) {
        let (thread, slice) = (self.thread, self.slice);
        let clock = std::mem::take(&mut self.clock);
        let keys = clock.iter().flatten().copied();
        let role = role_in(facts, thread);
        let mut start = 0;
        for of_state in lane.sort((thread, slice), keys, role, &mut self.numbers) {
            let count = of_state.count as usize;
            let numbers = start..start + count;
            start = numbers.end;
            let group = Group {
                thread,
                tag: of_state.tag,
                slice,
                presence: Presence::Running,
            };
            let nanos = match self.time_of(group) {
                Some(known) => std::mem::take(known),
                None => counted(facts.recording, group, count),
            };
            let mut roles = Roles::default();
            for (role, count) in of_state.roles {
                roles.add(role, u64::from(count));
            }
            let owed = facts.causes.owed(group, nanos as f64 / 1e9);
            self.ticks.push(Ticks {
                group,
                numbers,
                nanos,
                roles: roles.of(nanos, count as u64),
                charge: Charge::owed(owed),
            });
        }
    }

    /// A group's time, to be taken.
    fn time_of(&mut self, group: Group) -> Option<&mut u64> {
        let at = self
            .times
            .binary_search_by_key(&(group.tag, group.presence), |measured| {
                (measured.group.tag, measured.group.presence)
            });
        at.ok().map(|at| &mut self.times[at].nanos)
    }

    /// Offers the samples to time that has none, and shares their own time out over them.
    pub(super) fn share_out(self, lane: &mut Lane, facts: Facts<'_>) {
        let outside = |tag: TagId| is_outside(tag_of(facts.recording.tables, tag));
        for ticks in &self.ticks {
            let places = self.numbers[ticks.numbers.clone()].iter();
            let places = places.map(|&number| (number, 1));
            let group = ticks.group;
            lane.offer(group, false, outside(group.tag), places);
        }
        for away in &self.away {
            let is_outside = outside(away.group.tag);
            for long in [false, true] {
                let both = away.stacks.iter().zip(&away.parts);
                let places = both.filter(|(seen, _)| (seen.long > 0) == long);
                let mut places = places
                    .map(|(seen, &(number, _))| (number, seen.count))
                    .peekable();
                if places.peek().is_some() {
                    lane.offer(away.group, long, is_outside, places);
                }
            }
        }
        for Borrowing { wanted, .. } in &self.borrowing {
            let tag = wanted.group.tag;
            lane.ask(self.slice, tag, outside(tag));
        }
        for ticks in &self.ticks {
            let numbers = &self.numbers[ticks.numbers.clone()];
            lane.share_out(numbers, ticks.nanos, |role| ticks.charge.of(role));
        }
        for away in self.away.iter().filter(|away| away.charge.owed > 0.0) {
            for &(number, nanos) in &away.parts {
                let sum = &mut lane.sums[number as usize];
                sum.blame += nanos as f64 / 1e9 * away.charge.of(sum.role);
            }
        }
    }
}

/// The time of so many clock samples of which none was measured. Each counts its period where no
/// sums tell of its thread (no switch records were permitted).
fn counted(recording: &Recording<'_>, group: Group, samples: usize) -> u64 {
    if recording.sums.threads().contains(&group.thread) {
        return 0;
    }
    let period = recording.header.sampling.period_us * 1000.0;
    (samples as f64 * period).round() as u64
}

/// Adds time off the CPU to the sums of its stacks. None of it is work. Returns what it is to the
/// others, and the part of each sum.
fn place(
    lane: &mut Lane,
    group: Group,
    time: Time,
    stacks: &[Seen],
    facts: Facts<'_>,
) -> (Roles, Vec<(u32, u64)>) {
    let parts = match time.nanos {
        0 => vec![0; stacks.len()],
        _ => own_parts(time, stacks),
    };
    let mut roles = Roles::default();
    let mut role = role_in(facts, group.thread);
    let mut placed = Vec::with_capacity(stacks.len());
    for (seen, part) in stacks.iter().zip(parts) {
        let number = lane.at(group.thread, Spot::of(group, seen), &mut role);
        let sum = &mut lane.sums[number as usize];
        sum.samples += seen.count;
        if time.nanos > 0 {
            sum.count += seen.count;
        }
        sum.nanos += part;
        roles.add(sum.role, part);
        placed.push((number, part));
    }
    (roles, placed)
}

/// Tells what a thread is to the others at a spot.
fn role_in(facts: Facts<'_>, thread: ThreadId) -> impl FnMut(Spot) -> Option<Role> {
    let kind = kind_of(facts.recording.tables, thread);
    move |spot| {
        let shown = facts.rewriter.shown(Moment {
            stack: spot.stack(),
            tag: spot.tag(),
            thread: kind,
        });
        Role::of(spot.presence(), shown)
    }
}
