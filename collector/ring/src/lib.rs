//! The shared-memory rings between the program under test and `collect`.
//!
//! `collect` creates one [`Arena`], a memory file that outlives a killed program; the library in
//! the program attaches to it by the path in [`ARENA_VARIABLE`]. Each OpenMP thread claims a
//! *slot*: a ring of sixteen-byte [`record::Record`]s with one producer (the thread) and one
//! consumer (`collect`). A calling context goes through the ring, too, once, as the part of the
//! thread's stack that tells it. Beside the rings lies the *runtimes* table, one entry for each
//! OpenMP runtime that called.
//!
//! The producer never blocks, allocates or makes a system call: a full ring drops the record,
//! counts it, and says so in the stream with [`record::Kind::Lost`] once there is room.
//!
//! | module | what |
//! |---|---|
//! | [`record`] | what one record says |
//! | [`context`] | a calling context, as a part of a stack |
//! | [`arena`] | the mapped file, and why it could not be mapped |
//! | [`layout`] | where everything lies in the arena; the only shared definition of it |
//! | [`producer`] | the program's end: claim a slot, push records and contexts |
//! | [`consumer`] | `collect`'s end: create, drain, recycle slots |

pub mod arena;
mod clock;
pub mod consumer;
pub mod context;
pub mod layout;
pub mod producer;
pub mod record;
mod shm;

use std::ffi::CStr;

pub use arena::{Arena, ArenaError};
pub use clock::ClockSource;

/// The environment variable that tells the library in the program where the arena is:
/// the path of a file to map, read and write.
pub const ARENA_VARIABLE: &str = match ARENA_VARIABLE_C.to_str() {
    Ok(name) => name,
    Err(_) => panic!("ASCII is UTF-8"),
};
/// [`ARENA_VARIABLE`] as the C library wants it.
pub const ARENA_VARIABLE_C: &CStr = c"PARALLAX_ARENA";
