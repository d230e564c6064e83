//! Where a library of ours is loaded into programs, and where it is not.
//!
//! A dynamic linker that cannot load what it is told to preload ends the program (musl), or complains
//! on its standard error output (glibc's, for another word size, or where the library cannot be seen). So
//! `collect` looks at the file that it starts, and the library in a program at those that the program
//! starts.
//!
//! The look allocates nothing, takes no lock and is async-signal-safe: it serves between `vfork` and
//! `exec`, too. It makes only system calls that a dynamic linker makes at every start: `access`, `openat`,
//! `pread64` and `close`.
//!
//! | module | what |
//! |---|---|
//! | `look` | the program's file, its scripts and its dynamic linker |
//! | `file` | system calls: files, and the search in `PATH` |
//! | `environment` | what `collect` adds to an environment, and how it is taken out |
//! | `exec` | the C library's functions that start programs, as our libraries have them |
//! | `limits` | those that limit the address space, of which our libraries hold a part |
//! | `filters` | those that set filters of system calls, or ask for a tracer |

mod environment;
#[cfg(target_arch = "x86_64")]
pub mod exec;
mod file;
#[cfg(target_arch = "x86_64")]
pub mod filters;
#[cfg(target_arch = "x86_64")]
pub mod limits;
mod look;

pub use environment::{ADDED_VARIABLE, ALONE_VARIABLE};
pub use file::Program;
pub use look::{Obstacle, obstacle};
