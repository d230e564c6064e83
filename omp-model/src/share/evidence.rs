//! Every distinct moment that was seen, found by its stack.

use rustc_hash::FxHashSet;

use crate::ids::{StackId, TagId};
use crate::rewrite::Moment;
use crate::tables::ThreadKind;

/// Sorts moments by stack, tag and thread, each once. Nearly all stacks have one: those stand in a
/// list by stack, and only what comes beside is compared.
pub(super) fn distinct(moments: impl Iterator<Item = Moment>) -> Vec<Moment> {
    let mut firsts: Vec<Option<(TagId, ThreadKind)>> = Vec::new();
    let mut others = FxHashSet::default();
    let mut count = 0;
    for moment in moments {
        let at = moment.stack.index();
        if firsts.len() <= at {
            firsts.resize(at + 1, None);
        }
        let own = (moment.tag, moment.thread);
        match firsts[at] {
            None => {
                firsts[at] = Some(own);
                count += 1;
            }
            Some(first) if first == own => {}
            Some(_) => {
                others.insert(moment);
            }
        }
    }
    let mut sorted = Vec::with_capacity(count + others.len());
    let mut others: Vec<Moment> = others.into_iter().collect();
    others.sort_unstable_by_key(|moment| moment.stack);
    let mut others = others.into_iter().peekable();
    for (stack, first) in (0..).map(StackId).zip(firsts) {
        let Some((tag, thread)) = first else { continue };
        let start = sorted.len();
        sorted.push(Moment { stack, tag, thread });
        while let Some(other) = others.next_if(|other| other.stack == stack) {
            sorted.push(other);
        }
        sorted[start..].sort_unstable_by_key(|m| (m.tag, m.thread as u8));
    }
    sorted
}

/// Where in a list the moments of each stack begin that are sorted by stack, and where the last
/// one's end.
struct Starts(Vec<u32>);

impl Starts {
    fn of(moments: impl Iterator<Item = Moment>) -> Starts {
        let mut starts = vec![0];
        for moment in moments {
            let next = moment.stack.index() + 1;
            if starts.len() <= next {
                starts.resize(next + 1, 0);
            }
            starts[next] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        Starts(starts)
    }
}

/// Something of each moment of the evidence, made when it is first asked for.
pub(super) struct ByMoment<'e, T> {
    evidence: &'e [Moment],
    starts: Starts,
    made: Vec<Option<T>>,
}

impl<'e, T: Copy> ByMoment<'e, T> {
    /// Of moments that are sorted by stack.
    pub(super) fn new(evidence: &'e [Moment]) -> ByMoment<'e, T> {
        ByMoment {
            evidence,
            starts: Starts::of(evidence.iter().copied()),
            made: vec![None; evidence.len()],
        }
    }

    /// What is known of a moment; none for one that is not among the evidence.
    pub(super) fn of(&mut self, moment: Moment) -> Option<&mut Option<T>> {
        let at = moment.stack.index();
        let start = *self.starts.0.get(at)? as usize;
        let end = *self.starts.0.get(at + 1)? as usize;
        let of_stack = &self.evidence[start..end];
        let within = of_stack.iter().position(|&known| known == moment)?;
        Some(&mut self.made[start + within])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: StackId = StackId::EMPTY;

    fn moment((stack, tag, other): (u32, u32, bool)) -> Moment {
        Moment {
            stack: StackId(stack),
            tag: TagId(tag),
            thread: if other {
                ThreadKind::Other
            } else {
                ThreadKind::Worker
            },
        }
    }

    #[test]
    fn each_moment_stands_once_in_its_place_and_is_found_there() {
        let seen = [(5, 1), (2, 7), (5, 1), (9, 0), (2, 3), (5, 0)];
        let seen = seen
            .iter()
            .flat_map(|&(s, t)| [(s, t, true), (s, t, false)]);
        let evidence = distinct(seen.map(moment));
        let order = |m: &Moment| (m.stack, m.tag, m.thread as u8);
        assert!(evidence.is_sorted_by_key(order));
        assert_eq!(evidence.len(), 10);
        let mut found = ByMoment::new(&evidence);
        for (number, &moment) in evidence.iter().enumerate() {
            assert_eq!(found.of(moment), Some(&mut None));
            *found.of(moment).unwrap() = Some(number);
        }
        for (number, &moment) in evidence.iter().enumerate() {
            assert_eq!(found.of(moment), Some(&mut Some(number)));
        }
        assert_eq!(found.of(moment((5, 7, true))), None);
        assert_eq!(found.of(moment((77, 1, true))), None);
        assert_eq!(found.of(moment((NONE.0, 1, true))), None);
        assert!(distinct([].into_iter()).is_empty());
    }
}
