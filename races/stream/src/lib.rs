//! What a program under `collect -r` says: a stream of records for each thread, in shared memory.
//!
//! The library in the program writes ([`producer`]), `collect` reads ([`consumer`]). A thread's
//! records stand in its program order: first the accesses of a piece of code, then the event that
//! ends it. Events that synchronise have a number of one sequence for the whole program, taken
//! where the event happens: a release is numbered before the lock is free, an acquisition after it
//! is held. The sequence has no gaps, so the reader can put the threads' events in one order
//! without a clock.
//!
//! A full ring makes the program wait, for a lost access is a lost race. If nobody reads any more,
//! the program goes on unchecked.
//!
//! | module | what |
//! |---|---|
//! | [`record`] | the records and their words |
//! | `layout` | the memory: a header, slots, rings |
//! | `memory` | the file and its mappings; all of the crate's unsafe code |
//! | [`producer`] | a thread's end |
//! | [`consumer`] | `collect`'s end |

pub mod consumer;
mod layout;
mod memory;
pub mod producer;
pub mod record;

/// Environment variable with the path of the shared memory.
pub const VARIABLE: &str = "PARALLAX_RACES";
