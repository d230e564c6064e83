//! The counts of `cargo test`, summed over its test programs.

/// Tests that passed and failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Counts {
    /// Adds the counts of a line of libtest's output, if it is a line of results:
    /// `test result: ok. 11 passed; 0 failed; 0 ignored; …`.
    pub(crate) fn add_line(&mut self, line: &str) {
        let Some(results) = line.trim_start().strip_prefix("test result: ") else {
            return;
        };
        let Some((_, results)) = results.split_once(". ") else {
            return;
        };
        for part in results.split(';') {
            let mut words = part.split_whitespace();
            let (Some(number), Some(what)) = (words.next(), words.next()) else {
                continue;
            };
            let Ok(number) = number.parse::<u64>() else {
                continue;
            };
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                _ => {}
            }
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_several_programs_are_summed() {
        let output = "\
running 3 tests
test a ... ok
test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.39s

   Doc-tests fixtures
test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1s
error: test failed, to rerun pass `-p fixtures`";
        let mut counts = Counts::default();
        output.lines().for_each(|line| counts.add_line(line));
        assert_eq!(
            counts,
            Counts {
                passed: 7,
                failed: 2
            }
        );
        assert_eq!(counts.to_string(), "7 passed, 2 failed");
    }

    #[test]
    fn what_only_looks_like_a_result_is_not_counted() {
        let mut counts = Counts::default();
        for line in [
            "test result: mine",
            "the test result: ok. 9 passed; 9 failed",
            "test 5 passed ... ok",
        ] {
            counts.add_line(line);
        }
        assert_eq!(counts, Counts::default());
    }
}
