//! The shared-memory rings between the program under test and `collect`.
//!
//! `collect` creates one [`Arena`], a memory file that outlives a killed program. The library in
//! the program attaches to it by the path in [`ARENA_VARIABLE`]. Each OpenMP thread claims a
//! *slot*: a ring of sixteen-byte [`record::Record`]s with one producer (the thread) and one
//! consumer (`collect`). Each calling context is sent through the ring once, as the part of the
//! thread's stack from which it can be unwound. The arena also holds the *runtimes* table, with one
//! entry for each OpenMP runtime of the program.
//!
//! The producer never blocks, allocates or makes a system call. If the ring is full, it drops and
//! counts the record, and pushes [`record::Kind::Lost`] once there is room.
//!
//! | module | what |
//! |---|---|
//! | [`record`] | the format of a record |
//! | [`context`] | a calling context as a part of a stack |
//! | [`table`] | counts by key, in a table beside a thread's ring |
//! | [`loops`] | a thread's worksharing loops, in such a table |
//! | [`locks`] | a thread's mutexes, in such a table |
//! | [`control`] | what the program says about its recording: pauses, sample points, phases |
//! | [`arena`] | the mapped file, and errors of mapping it |
//! | [`layout`] | the layout of the arena; its only shared definition |
//! | [`producer`] | the program's side: claim a slot, push records and contexts |
//! | [`consumer`] | `collect`'s side: create, drain, recycle slots |
//! | [`shm`], `mapped` | files of shared memory, and what lies in them |
//! | [`python`] | the frames of Python at a context |
//! | [`samples`] | samples that threads take of themselves, in a file of their own |

pub mod arena;
mod clock;
pub mod consumer;
pub mod context;
pub mod control;
pub mod layout;
pub mod locks;
pub mod loops;
mod mapped;
pub mod producer;
pub mod python;
pub mod record;
pub mod samples;
pub mod shm;
pub mod table;
mod time;

use std::ffi::CStr;

pub use arena::{Arena, ArenaError};
pub use clock::ClockSource;
pub use shm::address_space_limit;

/// The environment variable that gives the library in the program the arena's path: a file to map,
/// readable and writable.
pub const ARENA_VARIABLE: &str = match ARENA_VARIABLE_C.to_str() {
    Ok(name) => name,
    Err(_) => panic!("ASCII is UTF-8"),
};
/// [`ARENA_VARIABLE`] as a C string.
pub const ARENA_VARIABLE_C: &CStr = c"PARALLAX_ARENA";
