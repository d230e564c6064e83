//! What keeps readers from their goals, as profiles have shown: said where one is missed. What keeps
//! the recorder from its goals is told at the end of the page.

/// By the beginning of a measure's name.
const BOUNDS: [(&str, &str); 4] = [
    (
        "er_print -functions",
        "unpacking samples where a stack has many; where it has few, looking each one's sum up in \
         memory that no cache holds, and reading the tables and making places in user mode, one \
         after the other",
    ),
    (
        "analyzer to its first screen",
        "the same as er_print -functions, and the advice",
    ),
    (
        "memory of er_print",
        "what is kept of each distinct stack of each thread: its time, and its place in a mode",
    ),
    (
        "memory of analyzer",
        "what is kept of each distinct stack of each thread: its time, and its place in a mode",
    ),
];

/// What bounds a measure, if that is known.
pub(super) fn bound(measure: &str) -> Option<&'static str> {
    let known = BOUNDS.iter().find(|(start, _)| measure.starts_with(start));
    known.map(|&(_, bound)| bound)
}
