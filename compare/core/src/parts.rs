//! Arrays with a part for each thread, such as partial sums.

/// An element of an array that an execution changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Where.
    pub address: u64,
    /// The execution with one thread changed it.
    pub by_one: bool,
}

/// Whether an array has a part for each thread.
///
/// All that was changed in it are then parts of equal shape. Either one thread changed the first of at most as many as
/// there are threads. Or it changed nothing but perhaps some of the first, which stayed as it was, and three threads or
/// more all of the others, at equal distances.
///
/// `changed`: every changed element of the array, of `unit` bytes each, by ascending address.
pub fn is_per_thread(changed: &[Changed], threads: u64, unit: u64) -> bool {
    let own = changed.iter().take_while(|word| word.by_one).count();
    let (first, others) = changed.split_at(own);
    if others.is_empty() || others.iter().any(|word| word.by_one) {
        return false;
    }
    has_first_part(first, others, threads) || has_other_parts(first, others, threads, unit)
}

/// The distances between the begins of parts of this length; `None` if they are not of equal shape.
fn distances(words: &[Changed], length: usize) -> Option<Vec<u64>> {
    if length == 0 || !words.len().is_multiple_of(length) {
        return None;
    }
    let (first, _) = words.split_at(length);
    let is_like_first = |part: &[Changed]| {
        let shift = part[0].address - first[0].address;
        let mut pairs = part.iter().zip(first);
        pairs.all(|(word, of_first)| word.address == of_first.address + shift)
    };
    let starts: Vec<u64> = words.chunks(length).map(|part| part[0].address).collect();
    let distances = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    words.chunks(length).all(is_like_first).then_some(distances)
}

fn has_first_part(first: &[Changed], others: &[Changed], threads: u64) -> bool {
    let all: Vec<Changed> = first.iter().chain(others).copied().collect();
    let Some(distances) = distances(&all, first.len()) else {
        return false;
    };
    let least = distances.iter().min().copied().unwrap_or_default();
    // Threads that had nothing to do leave their part as it was.
    let mut each = distances.iter();
    (distances.len() as u64) < threads && each.all(|distance| distance.is_multiple_of(least))
}

fn has_other_parts(first: &[Changed], others: &[Changed], threads: u64, unit: u64) -> bool {
    /// Bytes of a number.
    const NUMBER: u64 = 8;
    let Some(parts) = threads.checked_sub(1).filter(|parts| *parts > 1) else {
        return false;
    };
    let length = others.len() / parts as usize;
    let Some(distances) = distances(others, length).filter(|it| it.len() as u64 + 1 == parts)
    else {
        return false;
    };
    let distance = distances[0];
    let bytes = length as u64 * unit;
    // Parts of several numbers each, without a gap, may be any array.
    if bytes > NUMBER && distance == bytes {
        return false;
    }
    let of_first = |word: &Changed| {
        let part = others.iter().take(length);
        part.map(|it| it.address)
            .any(|at| at == word.address + distance)
    };
    distances.iter().all(|it| *it == distance) && first.iter().all(of_first)
}

/// The arrays with a part for each thread among variables that lie side by side: begin and end. They consist of whole
/// runs of elements without a gap that the same execution changed.
pub fn per_thread_arrays(changed: &[Changed], threads: u64, unit: u64) -> Vec<(u64, u64)> {
    /// More runs than that are of no such array.
    const MOST: usize = 64;
    let is_same = |one: &Changed, other: &Changed| {
        one.by_one == other.by_one && one.address + unit == other.address
    };
    let mut starts = vec![0];
    starts.extend(changed.chunk_by(is_same).scan(0, |at, run| {
        *at += run.len();
        Some(*at)
    }));
    let mut arrays = Vec::new();
    let mut first = 0;
    while first + 1 < starts.len() {
        let ends = (first + 1..starts.len()).take(MOST).rev();
        let of = |end: &usize| &changed[starts[first]..starts[*end]];
        let end = ends
            .into_iter()
            .find(|end| is_per_thread(of(end), threads, unit));
        if let Some(array) = end.as_ref().map(of)
            && let (Some(begin), Some(last)) = (array.first(), array.last())
        {
            arrays.push((begin.address, last.address + unit));
        }
        first = end.unwrap_or(first + 1);
    }
    arrays
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(one: &[u64], several: &[u64]) -> Vec<Changed> {
        let of = |addresses: &[u64], by_one| {
            let all = addresses.iter().map(move |at| Changed {
                address: *at,
                by_one,
            });
            all.collect::<Vec<_>>()
        };
        let mut all = of(one, true);
        all.extend(of(several, false));
        all.sort_by_key(|word| word.address);
        all
    }

    #[test]
    fn partial_sums_are_per_thread() {
        assert!(is_per_thread(&changed(&[0], &[8, 16, 24]), 4, 8));
        assert!(is_per_thread(&changed(&[0, 8], &[64, 72, 128, 136]), 4, 8));
        // One thread had nothing to do.
        assert!(is_per_thread(&changed(&[0], &[8, 24]), 4, 8));
    }

    #[test]
    fn a_first_part_may_stay_as_it_was() {
        assert!(is_per_thread(&changed(&[], &[8, 16, 24]), 4, 8));
        assert!(is_per_thread(&changed(&[0], &[64, 72, 128, 136]), 3, 8));
        // With two threads, a single word proves nothing.
        assert!(!is_per_thread(&changed(&[], &[8]), 2, 8));
        assert!(!is_per_thread(&changed(&[], &[8, 16]), 4, 8));
        assert!(!is_per_thread(&changed(&[], &[8, 16, 32]), 4, 8));
    }

    #[test]
    fn arrays_side_by_side_are_told_apart() {
        let all = changed(&[0, 32, 100], &[8, 16, 24, 36, 40, 44]);
        assert_eq!(per_thread_arrays(&all, 4, 4), [(0, 28), (32, 48)]);
        // The first element of the second array stayed as it was.
        let all = changed(&[0], &[8, 16, 24, 40, 48, 56]);
        assert_eq!(per_thread_arrays(&all, 4, 8), [(0, 32), (40, 64)]);
        // A row that is too long.
        let row: Vec<u64> = (1..=198).map(|at| at * 8).collect();
        assert_eq!(per_thread_arrays(&changed(&[], &row), 4, 8), []);
    }

    #[test]
    fn other_patterns_are_not() {
        // More parts than threads.
        assert!(!is_per_thread(&changed(&[0], &[8, 16, 24]), 3, 8));
        // A chunk that is too long.
        assert!(!is_per_thread(&changed(&[0, 8, 16, 24], &[32]), 4, 8));
        // One thread wrote in the second part, too.
        assert!(!is_per_thread(&changed(&[0, 8], &[16, 24, 32]), 4, 8));
        assert!(!is_per_thread(&changed(&[], &[8]), 4, 8));
        assert!(!is_per_thread(&changed(&[8], &[]), 4, 8));
        // Parts of other shapes.
        assert!(!is_per_thread(&changed(&[0, 8], &[64, 80]), 2, 8));
    }
}
