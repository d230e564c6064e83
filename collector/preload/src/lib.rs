//! Whether a library of ours can be loaded into a program, by a look at the program's file.
//!
//! A dynamic linker that cannot load what it is told to preload ends the program (musl), or complains
//! on its standard error output (glibc's, for another word size). So `collect` looks at the file that it
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

mod file;
mod look;

pub use file::Program;
pub use look::{Obstacle, obstacle};
