//! Invariants that need several of these views.

mod kernel;
mod parts;
mod program;
mod random;
mod waits;
