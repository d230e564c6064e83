//! Every distinct moment that was seen, found by its stack.

use crate::rewrite::Moment;

/// Sorts moments by stack, tag and thread, each once. Most stacks have one or two: to count them by
/// stack takes less than to compare them.
pub(super) fn distinct(moments: impl Iterator<Item = Moment> + Clone) -> Vec<Moment> {
    let mut ends = Starts::of(moments.clone()).0;
    let Some(last) = moments.clone().last() else {
        return Vec::new();
    };
    let count = ends.last().copied().unwrap_or(0) as usize;
    let mut sorted = vec![last; count];
    for moment in moments {
        let end = &mut ends[moment.stack.index()];
        sorted[*end as usize] = moment;
        *end += 1;
    }
    // Where a stack's began now stands where they end.
    let mut start = 0;
    for end in ends {
        let end = end as usize;
        if end - start > 1 {
            sorted[start..end].sort_unstable_by_key(|m| (m.tag, m.thread as u8));
        }
        start = end;
    }
    sorted.dedup();
    sorted.shrink_to_fit();
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
    use crate::ids::{StackId, TagId};
    use crate::tables::ThreadKind;

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
