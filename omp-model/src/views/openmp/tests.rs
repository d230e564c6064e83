//! Invariants that need several of these views.

mod parts;
mod program;
mod random;
