//! A function's instructions, decoded from its load object's file, with the time spent at each
//! and the source lines that each came from.
//!
//! A crate of its own because the decoder's tables are large and only readers need them:
//! `omp-model` is part of `collect`, too.

mod code;
mod listing;

pub use code::{Image, Instruction};
pub use listing::{Code, Listing, Missing, Row};
