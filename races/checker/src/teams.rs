//! The barriers and worksharing constructs to which the threads of a team come: all threads the same
//! ones, in the same order.

use std::collections::VecDeque;

use hashbrown::HashMap;

use crate::site::Call;

/// What a thread comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Meeting {
    /// Its kind: `ompt_sync_region_t` or `ompt_work_t`.
    pub kind: u8,
    /// The call.
    pub call: Call,
}

/// One sequence, as far as some threads are ahead of others.
#[derive(Debug, Default)]
struct Sequence {
    /// What the first thread came to, from number `passed` on, and how many threads have come so far.
    met: VecDeque<(Meeting, u32)>,
    passed: u32,
}

impl Sequence {
    /// A thread comes to its meeting `number`. Returns what another one has come to, if it differs.
    fn meet(&mut self, number: u32, size: u32, meeting: &Meeting) -> Option<Meeting> {
        let at = number.checked_sub(self.passed)? as usize;
        if at >= self.met.len() {
            self.met.push_back((meeting.clone(), 0));
        }
        let (first, count) = self.met.get_mut(at)?;
        *count += 1;
        let other = (first != meeting).then(|| first.clone());
        while self.met.front().is_some_and(|(_, count)| *count >= size) {
            self.met.pop_front();
            self.passed += 1;
        }
        other
    }
}

/// A thread of a team.
#[derive(Clone, Debug, Default)]
pub struct Member {
    /// The slot of the thread.
    pub slot: u32,
    /// Barriers to which it has come.
    pub barriers: u32,
    /// Worksharing constructs to which it has come.
    work: u32,
    /// The barrier at which it is.
    pub at: Option<Meeting>,
    /// The thread has ended within the region.
    pub is_over: bool,
}

/// A team.
#[derive(Debug, Default)]
pub struct Team {
    /// Its threads, once the first has begun.
    pub size: u32,
    /// It is a league, and its threads are initial ones.
    is_league: bool,
    /// Of a region in an active one: the call that forks it, and how many threads that asks for.
    nested: Option<(Call, u32)>,
    /// By the threads' numbers.
    pub members: HashMap<u32, Member>,
    barriers: Sequence,
    work: Sequence,
}

pub use ompt::numbers::sync_region::PARALLEL as JOIN;

impl Team {
    /// One that is forked. `nested`: see the field.
    pub fn forked(is_league: bool, nested: Option<(Call, u32)>) -> Team {
        Team {
            is_league,
            nested,
            ..Team::default()
        }
    }

    /// The call that has asked for several threads in an active region, and got one; and how many it
    /// has asked for.
    pub fn refused(&self) -> Option<&(Call, u32)> {
        let nested = self.nested.as_ref();
        nested.filter(|(_, threads)| self.size == 1 && *threads > 1)
    }

    /// Whether regions in it are nested ones: it is a region of several threads, or within such a one.
    pub fn is_active(&self) -> bool {
        !self.is_league && (self.size > 1 || self.nested.is_some())
    }

    /// A thread comes to a barrier. Returns another one to which a thread of the team has come in its
    /// place.
    pub fn arrive(&mut self, index: u32, meeting: Meeting) -> Option<Meeting> {
        let member = self.members.get_mut(&index)?;
        let number = member.barriers;
        member.barriers += 1;
        member.at = Some(meeting.clone());
        self.barriers.meet(number, self.size, &meeting)
    }

    /// A thread comes to a worksharing construct. As [`arrive`](Self::arrive).
    pub fn work(&mut self, index: u32, meeting: &Meeting) -> Option<Meeting> {
        let member = self.members.get_mut(&index)?;
        let number = member.work;
        member.work += 1;
        self.work.meet(number, self.size, meeting)
    }

    /// The threads for which a thread waits at a barrier; `None` where all have come to it, or some have
    /// not begun. `true`: the thread cannot come any more.
    pub fn missing(&self, index: u32) -> Option<Vec<(u32, bool)>> {
        let waiting = self.members.get(&index)?;
        let kind = waiting.at.as_ref()?.kind;
        if (self.members.len() as u32) < self.size {
            return None;
        }
        let mut missing: Vec<(u32, bool)> = self
            .members
            .iter()
            .filter(|(other, _)| **other != index)
            .filter_map(|(other, member)| {
                let is_at_end = member.at.as_ref().is_some_and(|at| at.kind == JOIN);
                let is_elsewhere = member.barriers == waiting.barriers
                    && is_at_end != (kind == JOIN)
                    && member.at.is_some();
                let is_missing = member.barriers < waiting.barriers || is_elsewhere;
                let cannot_come = member.is_over
                    || is_at_end && kind != JOIN
                    || is_at_end && member.barriers < waiting.barriers;
                is_missing.then_some((*other, cannot_come))
            })
            .collect();
        missing.sort_unstable();
        Some(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(kind: u8, code: u64) -> Meeting {
        Meeting {
            kind,
            call: Call {
                code,
                ..Call::default()
            },
        }
    }

    fn team(size: u32) -> Team {
        let members = (0..size).map(|index| (index, Member::default()));
        Team {
            size,
            members: members.collect(),
            ..Team::default()
        }
    }

    #[test]
    fn threads_that_come_to_the_same_barriers_do_not_differ() {
        let mut team = team(2);
        assert_eq!(team.arrive(0, at(3, 10)), None);
        assert_eq!(team.missing(0), Some(vec![(1, false)]));
        assert_eq!(team.arrive(1, at(3, 10)), None);
        assert_eq!(team.missing(0), Some(vec![]));
        // A thread may be ahead of others at worksharing constructs.
        for code in [1, 2, 3] {
            assert_eq!(team.work(0, &at(10, code)), None);
        }
        assert_eq!(team.work(1, &at(10, 1)), None);
        assert_eq!(team.work(1, &at(10, 3)), Some(at(10, 2)));
        assert_eq!(team.work(1, &at(11, 3)), Some(at(10, 3)));
    }

    #[test]
    fn a_thread_at_the_regions_end_comes_to_no_barrier_in_it() {
        let mut team = team(2);
        assert_eq!(team.arrive(0, at(3, 10)), None);
        assert_eq!(team.arrive(1, at(JOIN, 20)), Some(at(3, 10)));
        assert_eq!(team.missing(0), Some(vec![(1, true)]));
        assert_eq!(team.missing(1), Some(vec![(0, false)]));
        // libgomp lets the two go together: then thread 0 is alone at the end.
        team.arrive(0, at(JOIN, 20));
        assert_eq!(team.missing(0), Some(vec![(1, true)]));
    }

    #[test]
    fn nothing_is_missing_before_all_threads_have_begun() {
        let mut team = team(2);
        team.size = 3;
        team.arrive(0, at(3, 10));
        assert_eq!(team.missing(0), None);
    }
}
