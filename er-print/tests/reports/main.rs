//! The program as its users run it, on experiments made by hand.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod constructs;
mod export;
mod golden;
mod handmade;
mod hostile;
mod page;
mod program;
mod random;
mod recordings;
mod words;
