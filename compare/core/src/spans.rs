//! Memory that was written, by the variables and blocks in it.

/// Pages, as ascending ranges without overlaps: begin and end.
pub type Pages = Vec<(u64, u64)>;

/// The union of two sets of pages.
pub fn union(one: &[(u64, u64)], other: &[(u64, u64)]) -> Pages {
    let mut all: Pages = one.iter().chain(other).copied().collect();
    all.sort_unstable();
    let mut joined: Pages = Vec::new();
    for (begin, end) in all {
        match joined.last_mut() {
            Some((_, last)) if *last >= begin => *last = (*last).max(end),
            _ => joined.push((begin, end)),
        }
    }
    joined
}

/// Whether a range has a part in these pages.
pub fn touches(pages: &[(u64, u64)], begin: u64, end: u64) -> bool {
    let after = pages.partition_point(|(_, page_end)| *page_end <= begin);
    pages.get(after).is_some_and(|(start, _)| *start < end)
}

/// The parts of pages that lie in a range, begin and end.
pub fn within(pages: &[(u64, u64)], begin: u64, end: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
    let after = pages.partition_point(|(_, page_end)| *page_end <= begin);
    let rest = pages.get(after..).unwrap_or_default().iter();
    let rest = rest.take_while(move |(start, _)| *start < end);
    rest.map(move |(start, stop)| ((*start).max(begin), (*stop).min(end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_both_executions_are_joined() {
        let one = [(0, 4), (10, 12)];
        assert_eq!(union(&one, &[(4, 6), (11, 14)]), [(0, 6), (10, 14)]);
        assert_eq!(union(&[], &[]), []);
    }

    #[test]
    fn parts_of_a_range_are_found() {
        let pages = [(0, 4), (10, 12), (20, 30)];
        let parts = |begin, end| within(&pages, begin, end).collect::<Vec<_>>();
        assert_eq!(parts(2, 11), [(2, 4), (10, 11)]);
        assert_eq!(parts(4, 10), []);
        assert_eq!(parts(25, 99), [(25, 30)]);
        assert!(touches(&pages, 3, 5) && !touches(&pages, 4, 10) && touches(&pages, 0, 40));
    }
}
