//! Words that people and programs write.

use std::hint::black_box;

use omp_model::defaults;
use omp_model::filter::Filter;

/// A filter, lines of an rc file, and names.
pub(crate) fn texts(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    if let Ok(filter) = Filter::parse(&text) {
        let _ = filter.and(&filter);
        black_box(filter.divides());
    }
    for line in text.lines() {
        let _ = defaults::words(line);
    }
    let shown = untrusted::printable(&text);
    assert!(!shown.chars().any(char::is_control), "{shown:?}");
    assert!(shown.len() <= untrusted::LONGEST_TEXT, "{shown:?}");
    black_box(symbolize::names::demangle(&text));
}
