//! Invariants that need several of these views.

mod random;
