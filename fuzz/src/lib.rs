//! What reads the input of others, one function for each: whatever bytes they are given, they end, and
//! take memory and time in proportion to them. `tests/corpus.rs` gives them the inputs in `corpus/` and
//! variants of these; `libfuzzer/` looks for new ones.
#![allow(
    clippy::expect_used,
    reason = "what is not under test has to work: files in memory"
)]

mod findings;
mod objects;
mod recordings;
mod records;
mod rings;
mod streams;
mod texts;

/// A function that must withstand any bytes.
pub type Target = fn(&[u8]);

/// Each target by the name of its folder in `corpus/`.
pub const TARGETS: [(&str, Target); 9] = [
    ("records", records::records),
    ("findings", findings::findings),
    ("perf", rings::perf),
    ("ring", rings::ring),
    ("checks", streams::checks),
    ("symbols", objects::symbols),
    ("unwind", objects::unwind),
    ("texts", texts::texts),
    ("perf-data", recordings::perf_data),
];

/// Gives a target an input.
///
/// # Panics
/// If there is no such target, or if it does not withstand the input.
pub fn run(name: &str, input: &[u8]) {
    let target = TARGETS.iter().find(|target| target.0 == name);
    target.expect("a target's name").1(input);
}
