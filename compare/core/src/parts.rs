//! Arrays with a part for each thread, such as partial sums.

/// A word of an array that an execution changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Where.
    pub address: u64,
    /// The execution with one thread changed it.
    pub by_one: bool,
}

/// Whether an array has a part for each thread: all that was changed in it are parts of equal shape, at most as many
/// as threads, and of those one thread changed the first.
///
/// `changed`: every changed word of the array, by ascending address.
pub fn is_per_thread(changed: &[Changed], threads: u64) -> bool {
    let own = changed.iter().take_while(|word| word.by_one).count();
    if own == 0 || own == changed.len() || !changed.len().is_multiple_of(own) {
        return false;
    }
    let parts = (changed.len() / own) as u64;
    let (first, others) = changed.split_at(own);
    if parts > threads || others.iter().any(|word| word.by_one) {
        return false;
    }
    let starts: Vec<u64> = changed.chunks(own).map(|part| part[0].address).collect();
    let distances = starts.windows(2).map(|pair| pair[1] - pair[0]);
    let Some(least) = distances.clone().min() else {
        return false;
    };
    // Threads that had nothing to do leave their part as it was.
    let are_even = distances
        .clone()
        .all(|distance| distance.is_multiple_of(least));
    let is_like_first = |part: &[Changed]| {
        let shift = part[0].address - first[0].address;
        let mut pairs = part.iter().zip(first);
        pairs.all(|(word, of_first)| word.address == of_first.address + shift)
    };
    are_even && others.chunks(own).all(is_like_first)
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
        assert!(is_per_thread(&changed(&[0], &[8, 16, 24]), 4));
        assert!(is_per_thread(&changed(&[0, 8], &[64, 72, 128, 136]), 4));
        // One thread had nothing to do.
        assert!(is_per_thread(&changed(&[0], &[8, 24]), 4));
    }

    #[test]
    fn other_patterns_are_not() {
        // More parts than threads.
        assert!(!is_per_thread(&changed(&[0], &[8, 16, 24]), 3));
        // A chunk that is too long.
        assert!(!is_per_thread(&changed(&[0, 8, 16, 24], &[32]), 4));
        // One thread wrote in the second part, too.
        assert!(!is_per_thread(&changed(&[0, 8], &[16, 24, 32]), 4));
        assert!(!is_per_thread(&changed(&[], &[8]), 4));
        assert!(!is_per_thread(&changed(&[8], &[]), 4));
        // Parts of other shapes.
        assert!(!is_per_thread(&changed(&[0, 8], &[64, 80]), 2));
    }
}
