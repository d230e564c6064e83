//! The names of counters, which differ from experiment to experiment.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use experiment::header::Counter;

/// The name of a counter: `cache-misses`.
///
/// Metrics are small values that are copied everywhere, and their names live as long as the program.
/// So names of counters are interned for good: of each there is one, however many experiments have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CounterName(&'static &'static str);

impl CounterName {
    /// The counter of a name.
    pub fn new(name: &str) -> CounterName {
        static NAMES: Mutex<BTreeMap<&'static str, CounterName>> = Mutex::new(BTreeMap::new());
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&known) = names.get(name) {
            return known;
        }
        let text: &'static str = Box::leak(Box::from(name));
        let name = CounterName(Box::leak(Box::new(text)));
        names.insert(text, name);
        name
    }

    /// The name.
    pub const fn as_str(self) -> &'static str {
        self.0
    }

    /// Whether it counts time.
    pub fn is_clock(self) -> bool {
        Counter::is_clock(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_interned_once() {
        let [one, same] = [0, 1].map(|_| CounterName::new("cache-misses"));
        assert!(std::ptr::eq(one.0, same.0));
        assert_ne!(one, CounterName::new("cycles"));
        assert_eq!(one.as_str(), "cache-misses");
        assert!(CounterName::new("task-clock").is_clock() && !one.is_clock());
    }
}
