//! The time and the samples of one thread, by state and stack, while they are summed up.

use rustc_hash::FxHashMap;

use super::blame::Role;
use super::digest;
use super::near::Near;
use super::part::Part;
use super::{Group, Origin, Seen, Share};
use crate::ids::{StackId, TagId, ThreadId};
use crate::state::Presence;

/// Where the thread was seen, in one state, on or off its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Spot {
    /// State, stack and kernel ([`digest::key`]).
    key: u64,
    presence: Presence,
}

impl Spot {
    /// Of clock samples.
    const fn running(key: u64) -> Spot {
        Spot {
            key,
            presence: Presence::Running,
        }
    }

    /// Of a group's samples at one stack.
    pub(super) const fn of(group: Group, seen: &Seen) -> Spot {
        Spot {
            key: digest::key(group.tag, seen.stack, seen.kernel),
            presence: group.presence,
        }
    }

    pub(super) const fn tag(self) -> TagId {
        digest::tag(self.key)
    }

    pub(super) const fn stack(self) -> StackId {
        digest::stack(self.key)
    }

    pub(super) const fn presence(self) -> Presence {
        self.presence
    }
}

/// All time and all samples at a spot. As large as a share, which it becomes in its place.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    pub(super) thread: ThreadId,
    pub(super) tag: TagId,
    pub(super) stack: StackId,
    /// Samples of groups that have time.
    pub(super) count: u32,
    /// All samples.
    pub(super) samples: u32,
    pub(super) presence: Presence,
    pub(super) kernel: bool,
    pub(super) role: Option<Role>,
    pub(super) nanos: u64,
    pub(super) blame: f64,
}

const _: () = assert!(size_of::<Sum>() == 40 && size_of::<Share>() == 40);

impl Sum {
    fn new(thread: ThreadId, spot: Spot, role: Option<Role>) -> Sum {
        Sum {
            thread,
            tag: spot.tag(),
            stack: spot.stack(),
            count: 0,
            samples: 0,
            presence: spot.presence,
            kernel: digest::kernel(spot.key),
            role,
            nanos: 0,
            blame: 0.0,
        }
    }

    /// So many samples at its stack.
    pub(super) fn seen(&self, count: u32) -> Seen {
        Seen {
            count,
            plain: count,
            ..Seen::none(self.stack, self.kernel)
        }
    }

    /// Of no one slice.
    pub(super) fn share(self) -> Share {
        Share {
            thread: self.thread,
            tag: self.tag,
            slice: 0,
            stack: self.stack,
            count: self.count,
            presence: self.presence,
            kernel: self.kernel,
            origin: Origin::Own,
            nanos: self.nanos,
            blame: self.blame,
        }
    }
}

/// A thread.
#[derive(Default)]
pub(super) struct Lane {
    pub(super) sums: Vec<Sum>,
    /// Beside the sums: small enough to stay in a cache when those do not.
    heads: Vec<Head>,
    /// The number of the sum of the first spot of clock samples at each stack; nearly always there
    /// is no other.
    first: ByStack,
    /// Those of all other spots.
    others: FxHashMap<Spot, u32>,
    states: FxHashMap<TagId, InState>,
    /// What time outside of constructs may borrow from.
    pub(super) outside: Near,
    /// What it has of the slices that are being closed, in their order.
    pub(super) parts: Vec<Part>,
    /// Of the slice that is being closed: each clock sample's sum and group.
    found: Vec<(u32, u32)>,
}

/// What a clock sample asks of a sum.
#[derive(Clone, Copy)]
struct Head {
    /// State and kernel.
    state: u32,
    role: Option<Role>,
}

const _: () = assert!(size_of::<Head>() == 8);

/// A number for each of those stacks that the thread was seen at, in pages: stacks of one thread
/// have numbers near to each other.
#[derive(Default)]
struct ByStack {
    /// The number of each page, from 1.
    pages: Vec<u32>,
    /// Numbers, from 1; 0 is none.
    numbers: Vec<[u32; PAGE]>,
}

/// As many as a line of a cache holds.
const PAGE: usize = 16;

impl ByStack {
    /// The number of a stack, from 1; 0 if it has none.
    fn get(&self, stack: StackId) -> u32 {
        let (page, within) = (stack.index() / PAGE, stack.index() % PAGE);
        match self.pages.get(page) {
            None | Some(0) => 0,
            Some(&page) => self.numbers[page as usize - 1][within],
        }
    }

    fn of(&mut self, stack: StackId) -> &mut u32 {
        let (page, within) = (stack.index() / PAGE, stack.index() % PAGE);
        if self.pages.len() <= page {
            self.pages.resize(page + 1, 0);
        }
        let page = &mut self.pages[page];
        if *page == 0 {
            self.numbers.push([0; PAGE]);
            *page = self.numbers.len() as u32;
        }
        &mut self.numbers[*page as usize - 1][within]
    }
}

/// A thread's state.
#[derive(Default)]
struct InState {
    near: Near,
    /// The last slice that has clock samples of it, and the number of their group there.
    slice: Option<u32>,
    group: u32,
}

/// Clock samples of one state in one slice.
pub(super) struct Ticks {
    pub(super) tag: TagId,
    pub(super) count: u32,
    /// How many are of each role.
    pub(super) roles: Vec<(Option<Role>, u32)>,
}

impl Lane {
    /// The number of a spot's sum; a new one begins with nothing, and the role that is made for it.
    pub(super) fn at(
        &mut self,
        thread: ThreadId,
        spot: Spot,
        role: impl FnOnce(Spot) -> Option<Role>,
    ) -> u32 {
        let count = self.sums.len() as u32;
        let number = if spot.presence == Presence::Running {
            let first = self.first.of(spot.stack());
            if *first == 0 {
                *first = count + 1;
            }
            let number = *first - 1;
            // A new one has no head yet.
            match self.heads.get(number as usize) {
                Some(head) if head.state != digest::state(spot.key) => {
                    *self.others.entry(spot).or_insert(count)
                }
                _ => number,
            }
        } else {
            *self.others.entry(spot).or_insert(count)
        };
        if number == count {
            let role = role(spot);
            let state = digest::state(spot.key);
            self.sums.push(Sum::new(thread, spot, role));
            self.heads.push(Head { state, role });
        }
        number
    }

    /// Sorts the clock samples of a slice by state: the numbers of their sums are added to
    /// `numbers`, those of one state after the other, in the order of states and of time.
    pub(super) fn sort(
        &mut self,
        (thread, slice): (ThreadId, u32),
        keys: impl Iterator<Item = u64> + Clone,
        mut role: impl FnMut(Spot) -> Option<Role>,
        numbers: &mut Vec<u32>,
    ) -> Vec<Ticks> {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        // What is known already is looked up apart: what is not in the cache is then waited for
        // together.
        found.extend(
            keys.clone()
                .map(|key| (self.first.get(digest::stack(key)), 0)),
        );
        let mut groups: Vec<Ticks> = Vec::new();
        let mut before = (u64::MAX, (0, 0));
        for (key, found) in keys.zip(&mut found) {
            // Neighbours are often alike.
            let (number, group) = match before {
                (same, known) if same == key => known,
                (other, (_, group)) => {
                    let first = (found.0 as usize).wrapping_sub(1);
                    let number = match self.heads.get(first) {
                        Some(head) if head.state == digest::state(key) => first as u32,
                        _ => self.at(thread, Spot::running(key), &mut role),
                    };
                    let tag = digest::tag(key);
                    let group = match other != u64::MAX && digest::tag(other) == tag {
                        true => group,
                        false => self.group(slice, tag, &mut groups),
                    };
                    (number, group)
                }
            };
            before = (key, (number, group));
            let ticks = &mut groups[group as usize];
            ticks.count += 1;
            let role = self.heads[number as usize].role;
            match ticks.roles.iter_mut().find(|(known, _)| *known == role) {
                Some((_, count)) => *count += 1,
                None => ticks.roles.push((role, 1)),
            }
            *found = (number, group);
        }
        let mut order: Vec<u32> = (0..groups.len() as u32).collect();
        order.sort_unstable_by_key(|&group| groups[group as usize].tag);
        let mut next = vec![0; groups.len()];
        let mut start = numbers.len();
        for &group in &order {
            next[group as usize] = start;
            start += groups[group as usize].count as usize;
        }
        numbers.resize(start, 0);
        for &(number, group) in &found {
            let at = &mut next[group as usize];
            numbers[*at] = number;
            *at += 1;
        }
        self.found = found;
        groups.sort_unstable_by_key(|ticks| ticks.tag);
        groups
    }

    /// The number of a state's group in a slice.
    fn group(&mut self, slice: u32, tag: TagId, groups: &mut Vec<Ticks>) -> u32 {
        let state = self.states.entry(tag).or_default();
        if state.slice != Some(slice) {
            state.slice = Some(slice);
            state.group = groups.len() as u32;
            groups.push(Ticks {
                tag,
                count: 0,
                roles: Vec::new(),
            });
        }
        state.group
    }

    /// Shares time out over clock samples: each has as much, to the last nanosecond. `charge`
    /// tells what a second of a role is charged with, in seconds.
    pub(super) fn share_out(
        &mut self,
        numbers: &[u32],
        nanos: u64,
        charge: impl Fn(Option<Role>) -> f64,
    ) {
        let count = numbers.len() as u64;
        let (each, rest) = (nanos / count, nanos % count);
        let timed = u32::from(nanos > 0);
        let mut over = 0;
        for &number in numbers {
            over += rest;
            let more = u64::from(over >= count);
            over -= more * count;
            let sum = &mut self.sums[number as usize];
            sum.samples += 1;
            sum.count += timed;
            sum.nanos += each + more;
            sum.blame += (each + more) as f64 / 1e9 * charge(sum.role);
        }
    }

    /// Offers samples to time that has none: the numbers of sums, each with a count.
    pub(super) fn offer(
        &mut self,
        group: Group,
        long: bool,
        is_outside: bool,
        places: impl Iterator<Item = (u32, u32)> + Clone,
    ) {
        let sums = &self.sums;
        let kind = (group.presence, long);
        if is_outside {
            self.outside.donor(group.slice, kind, places.clone(), sums);
        }
        let state = self.states.entry(group.tag).or_default();
        state.near.donor(group.slice, kind, places, sums);
    }

    /// Time without samples asks for what is nearest.
    pub(super) fn ask(&mut self, slice: u32, tag: TagId, is_outside: bool) {
        if is_outside {
            self.outside.borrower(slice, &self.sums);
        }
        let state = self.states.entry(tag).or_default();
        state.near.borrower(slice, &self.sums);
    }

    /// What was kept for time without samples, by state.
    pub(super) fn take_near(&mut self) -> impl Iterator<Item = (TagId, Near)> {
        let mut near: Vec<_> = std::mem::take(&mut self.states).into_iter().collect();
        near.sort_unstable_by_key(|&(tag, _)| tag);
        near.into_iter().map(|(tag, state)| (tag, state.near))
    }

    /// When all samples were seen: sorts the sums by spot, and forgets what finds them.
    pub(super) fn settle(&mut self) {
        self.heads = Vec::new();
        self.first = ByStack::default();
        self.others = FxHashMap::default();
        self.found = Vec::new();
        self.sums.sort_unstable_by_key(|sum| {
            let state = u64::from(sum.tag.0) << 2 | sum.presence as u64;
            let place = u64::from(sum.stack.0) << 1 | u64::from(sum.kernel);
            u128::from(state) << 64 | u128::from(place)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: ThreadId = ThreadId(3);

    fn key(tag: u32, stack: u32) -> u64 {
        digest::key(TagId(tag), StackId(stack), false)
    }

    #[test]
    fn clock_samples_are_sorted_by_state_and_share_time_to_the_last_nanosecond() {
        let mut lane = Lane::default();
        let keys = [(5, 1), (2, 7), (5, 1), (5, 9), (2, 7), (5, 1)].map(|(t, s)| key(t, s));
        let mut numbers = vec![99];
        let works = |spot: Spot| (spot.stack() != StackId(9)).then_some(Role::Works);
        let groups = lane.sort((THREAD, 4), keys.into_iter(), works, &mut numbers);
        let shape: Vec<(u32, u32)> = groups.iter().map(|it| (it.tag.0, it.count)).collect();
        assert_eq!(shape, [(2, 2), (5, 4)]);
        assert_eq!(groups[1].roles, [(Some(Role::Works), 3), (None, 1)]);
        // In the order of time within each state.
        assert_eq!(numbers, [99, 1, 1, 0, 0, 2, 0]);
        lane.share_out(&numbers[3..], 1_000_000_003, |role| match role {
            Some(_) => 2.0,
            None => 0.0,
        });
        lane.share_out(&numbers[1..3], 0, |_| 1.0);
        lane.settle();
        let sums = &lane.sums;
        let told: Vec<_> = sums
            .iter()
            .map(|sum| (sum.stack.0, sum.count, sum.samples))
            .collect();
        assert_eq!(told, [(7, 0, 2), (1, 3, 3), (9, 1, 1)]);
        assert_eq!(sums.iter().map(|sum| sum.nanos).sum::<u64>(), 1_000_000_003);
        assert!(sums[1].nanos.abs_diff(750_000_002) <= 3);
        assert!((sums[1].blame - 1.5).abs() < 1e-6 && sums[2].blame == 0.0);
    }

    #[test]
    fn each_spot_has_one_sum_and_its_role_is_asked_for_once() {
        let mut lane = Lane::default();
        let all: Vec<Spot> = (0..3)
            .flat_map(|tag| (0..500).map(move |stack| key(tag, stack)))
            .flat_map(|key| {
                [Presence::Running, Presence::Blocked].map(|presence| Spot { key, presence })
            })
            .collect();
        for (number, &spot) in all.iter().enumerate() {
            assert_eq!(lane.at(THREAD, spot, |_| Some(Role::Works)), number as u32);
        }
        for (number, &spot) in all.iter().enumerate() {
            assert_eq!(
                lane.at(THREAD, spot, |_| panic!("it is known")),
                number as u32
            );
        }
        let order = |sum: &Sum| (sum.tag, sum.presence, sum.stack);
        lane.settle();
        assert!(lane.sums.is_sorted_by_key(order));
    }
}
