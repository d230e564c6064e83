//! Which known word a misspelt one was meant to be.

/// The nearest of `known` to `word`, if it is near enough to be worth offering: at most a third
/// of the longer word's letters differ (Damerau's distance, case ignored), or they begin with
/// the same two thirds of the shorter one.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    known
        .into_iter()
        .filter_map(|candidate| Some((closeness(&word, candidate)?, candidate)))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// The distance of a candidate, `None` if it is too far to be meant.
fn closeness(word: &str, candidate: &str) -> Option<usize> {
    let candidate = candidate.to_lowercase();
    let distance = distance(word, &candidate);
    let longer = word.chars().count().max(candidate.chars().count());
    let shared = word
        .chars()
        .zip(candidate.chars())
        .take_while(|(left, right)| left == right);
    let (shared, shorter) = (
        shared.count(),
        word.chars().count().min(candidate.chars().count()),
    );
    let begins = shared >= 3 && 3 * shared >= 2 * shorter;
    (begins || 3 * distance <= longer).then_some(distance)
}

/// The least number of insertions, deletions, replacements and swaps of neighbours that turn
/// `left` into `right` (optimal string alignment).
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    let mut before = vec![0; right.len() + 1];
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (i, &l) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &r) in right.iter().enumerate() {
            let mut best = (last[j] + usize::from(l != r))
                .min(last[j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && l == right[j - 1] && left[i - 1] == r {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slip_of_the_finger_is_one_step() {
        assert_eq!(distance("functions", "functions"), 0);
        assert_eq!(distance("fucntions", "functions"), 1);
        assert_eq!(distance("function", "functions"), 1);
        assert_eq!(distance("", "abc"), 3);
    }

    #[test]
    fn near_words_are_offered_and_far_ones_are_not() {
        let known = ["functions", "calltree", "header"];
        assert_eq!(nearest("fuctions", known), Some("functions"));
        assert_eq!(nearest("HEADRE", known), Some("header"));
        assert_eq!(nearest("headerlist", known), Some("header"));
        assert_eq!(nearest("funcs", known), Some("functions"));
        assert_eq!(nearest("xyzzy", known), None);
        assert_eq!(nearest("", known), None);
    }
}
