//! Input that someone else has given: an experiment that came by mail, a recorded program, a file in
//! another user's folder.

mod file;
mod text;

pub use file::{digest, open, place, read, read_open};
pub use text::{LONGEST_TEXT, printable};
