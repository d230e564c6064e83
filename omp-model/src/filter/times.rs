//! What a filter leaves out by the time alone.

use super::eval::{KnownValues, value};
use super::expression::Filter;
use super::weigh::computes;
use super::words::Word;

/// A point in time of which nothing else is known.
struct OnlyTime(i64);

impl KnownValues for OnlyTime {
    fn word(&self, word: Word) -> Option<i64> {
        (word == Word::Time).then_some(self.0)
    }

    fn path(&self, _: usize) -> Option<bool> {
        None
    }

    fn phase(&self, _: usize) -> Option<bool> {
        None
    }
}

impl Filter {
    /// Whether it keeps nothing from one time to another, in nanoseconds, whatever happened there. If
    /// that takes arithmetic to tell, it may keep something.
    pub fn leaves_out(&self, from_ns: u64, to_ns: u64) -> bool {
        if computes(&self.parsed.root) {
            return false;
        }
        let [from, to] = [from_ns, to_ns].map(|at| i64::try_from(at).unwrap_or(i64::MAX));
        // Between the numbers of the filter its value is the same.
        let near = |&at: &i64| [at.saturating_sub(1), at, at.saturating_add(1)];
        let near = self.parsed.numbers.iter().flat_map(near);
        let mut times = near.filter(|at| (from..=to).contains(at)).chain([from, to]);
        times.all(|time| value(&self.parsed.root, &OnlyTime(time)) == Some(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_on_time_leaves_out_what_is_outside() {
        let leaves_out = |text: &str| Filter::parse(text).unwrap().leaves_out(100, 200);
        let outside = [
            "TSTAMP<100",
            "TSTAMP>200",
            "TSTAMP>=300 && TSTAMP<400 && THRID==1",
            "TSTAMP<50 || (TSTAMP>=201 && \"main\" IN STACK)",
            "!(TSTAMP IN (90-210))",
            "0",
        ];
        for text in outside {
            assert!(leaves_out(text), "{text}");
        }
        let touching = [
            "TSTAMP<=100",
            "TSTAMP==200",
            // Inside, as short as it can be.
            "TSTAMP==150",
            "TSTAMP>149 && TSTAMP<151",
            "THRID==1",
            "TSTAMP<50 || THRID==1",
            "TSTAMP/1000==7",
            "\"solve\" IN PHASE",
            "1",
        ];
        for text in touching {
            assert!(!leaves_out(text), "{text}");
        }
    }
}
