//! Matches the constructs of several experiments.
//!
//! Compilers give a directive its own line or that of the loop after it (gfortran's `parallel do`),
//! and a change of the source between two runs moves it by any number of lines. So the constructs
//! of one kind in one function are matched with those of the experiments before. If there are as
//! many and none differs by more than [`NEAR`] lines, they match in the order of their lines.
//! Otherwise constructs with the same line match first, then the nearest within [`NEAR`] lines, and
//! the rest in order, if equally many are left on both sides and the source may have changed.

use std::collections::BTreeMap;

/// The largest difference between the lines that compilers give to one directive.
const NEAR: u32 = 2;

/// The lines of the constructs of one kind in one function, in every experiment.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// By experiment: from its own line to the shared line.
    shared: Vec<BTreeMap<u32, u32>>,
}

impl Lines {
    /// Matches the lines of the experiments. The first experiment that has a construct defines its
    /// shared line. `changed`: the source may have changed between them.
    pub(super) fn new(recordings: impl Iterator<Item = Vec<u32>>, changed: bool) -> Lines {
        let mut known: Vec<u32> = Vec::new();
        let mut lines = Lines::default();
        for mut own in recordings {
            own.sort_unstable();
            own.dedup();
            let matched = match_lines(&known, &own, changed);
            known.extend(own.iter().filter(|line| !matched.contains_key(line)));
            known.sort_unstable();
            let of = |&line: &u32| (line, matched.get(&line).copied().unwrap_or(line));
            lines.shared.push(own.iter().map(of).collect());
        }
        lines
    }

    /// The shared line for an experiment's own line.
    pub(super) fn shared(&self, recording: usize, line: u32) -> u32 {
        let lines = self.shared.get(recording);
        let shared = lines.and_then(|lines| lines.get(&line));
        shared.copied().unwrap_or(line)
    }
}

/// Maps an experiment's own lines to known lines, one to one; lines without a match are absent.
fn match_lines(known: &[u32], own: &[u32], changed: bool) -> BTreeMap<u32, u32> {
    let mut matched = BTreeMap::new();
    let pairs = || own.iter().copied().zip(known.iter().copied());
    if own.len() == known.len() && pairs().all(|(own, known)| own.abs_diff(known) <= NEAR) {
        return pairs().collect();
    }
    for distance in 0..=NEAR {
        for &line in own {
            let free = |at: &&u32| {
                at.abs_diff(line) == distance && !matched.values().any(|taken| taken == *at)
            };
            if !matched.contains_key(&line)
                && let Some(&at) = known.iter().find(free)
            {
                matched.insert(line, at);
            }
        }
    }
    let rest = |all: &[u32], taken: &dyn Fn(u32) -> bool| -> Vec<u32> {
        all.iter().copied().filter(|&line| !taken(line)).collect()
    };
    let own_rest = rest(own, &|line| matched.contains_key(&line));
    let known_rest = rest(known, &|line| matched.values().any(|&taken| taken == line));
    if changed && own_rest.len() == known_rest.len() {
        matched.extend(own_rest.into_iter().zip(known_rest));
    }
    matched
}

#[cfg(test)]
mod tests {
    use super::Lines;

    fn shared(recordings: &[&[u32]]) -> Vec<Vec<u32>> {
        shared_if(recordings, true)
    }

    fn shared_if(recordings: &[&[u32]], changed: bool) -> Vec<Vec<u32>> {
        let lines = Lines::new(recordings.iter().map(|lines| lines.to_vec()), changed);
        let all = recordings.iter().enumerate();
        all.map(|(at, own)| own.iter().map(|&line| lines.shared(at, line)).collect())
            .collect()
    }

    #[test]
    fn a_compiler_may_place_a_directive_a_line_off() {
        let found = shared(&[&[12, 55, 83], &[11, 54, 84], &[12, 83]]);
        assert_eq!(found, [[12, 55, 83].as_slice(), &[12, 55, 83], &[12, 83]]);
    }

    #[test]
    fn neighbouring_directives_keep_their_order() {
        assert_eq!(shared(&[&[10, 11], &[11, 12]]), [[10, 11], [10, 11]]);
    }

    #[test]
    fn the_same_line_wins_over_a_near_one() {
        let found = shared(&[&[10, 11, 40], &[11, 12]]);
        assert_eq!(found[1], [11, 10]);
    }

    #[test]
    fn a_changed_source_is_matched_in_order_if_nothing_was_added() {
        assert_eq!(shared(&[&[10, 40], &[30, 80]]), [[10, 40], [10, 40]]);
        let found = shared(&[&[10, 40], &[30, 80, 90]]);
        assert_eq!(found[1], [30, 80, 90]);
    }

    #[test]
    fn in_an_unchanged_source_distant_lines_are_other_constructs() {
        let found = shared_if(&[&[10, 40], &[11, 80]], false);
        assert_eq!(found[1], [10, 80]);
    }

    #[test]
    fn a_recording_without_the_function_takes_no_part() {
        assert_eq!(shared(&[&[], &[9], &[10]]), [vec![], vec![9], vec![9]]);
    }
}
