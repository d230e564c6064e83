//! What all libraries in the program share: how a function of ours takes the place of another one, and what
//! it may use there.
//!
//! | module | what |
//! |---|---|
//! | `x86_64` | entry points |
//! | `next` | the functions that ours hide |
//! | `loader`, `symbols` | objects by name, and their symbols |
//! | `objects` | the memory of the process's objects |
//! | `memory` | mapped memory |
//! | `thread_word` | a library's own word in each thread |
//! | `forked` | the regions that a thread has forked |

mod forked;
pub mod loader;
pub mod memory;
pub mod next;
pub mod objects;
mod symbols;
mod thread_word;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub use forked::Forked;
#[cfg(target_arch = "x86_64")]
pub use x86_64::{At, Onward, Saved, What, arguments};
