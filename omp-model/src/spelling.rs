//! Suggestions for misspelt words.

/// The word of `known` nearest to `word`, if it is near enough to suggest: at most a third of the
/// longer word's letters differ (optimal string alignment, case ignored), or both begin with the
/// same two thirds of the shorter one.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    known
        .into_iter()
        .filter_map(|candidate| Some((closeness(&word, candidate)?, candidate)))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// The distance of a candidate; `None` if it is too large to suggest it.
fn closeness(word: &str, candidate: &str) -> Option<usize> {
    let candidate = candidate.to_lowercase();
    let distance = strsim::osa_distance(word, &candidate);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_offered_and_far_ones_are_not() {
        let known = ["functions", "calltree", "header"];
        assert_eq!(nearest("fuctions", known), Some("functions"));
        assert_eq!(nearest("HEADRE", known), Some("header"));
        assert_eq!(nearest("headerlist", known), Some("header"));
        assert_eq!(nearest("funcs", known), Some("functions"));
        assert_eq!(
            nearest("fucntions", known),
            Some("functions"),
            "two letters swapped"
        );
        assert_eq!(nearest("xyzzy", known), None);
        assert_eq!(nearest("", known), None);
    }
}
