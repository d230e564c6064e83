//! What all libraries in the program share: how a function of ours takes the place of another one, and what
//! it may use there.
//!
//! | module | what |
//! |---|---|
//! | `x86_64` | entry points |
//! | `next` | the functions that ours hide |
//! | `allocator` | those of the allocator |
//! | `loader`, `symbols` | objects by name, and their symbols |
//! | `provider` | the runtime of a call: its functions, by caller |
//! | `objects` | the memory of the process's objects |
//! | `memory` | mapped memory |
//! | `thread_word` | a library's own word in each thread |
//! | `context` | calling contexts: the stack, sent once and then known |
//! | `python` | the frames of Python on the thread |
//! | `stack`, `code` | reads the thread's own stack, and finds the words that point into code |
//! | `forked` | the regions that a thread has forked |
//! | `process_forks` | keeps forks of the process and calls of the loader apart |
//! | `filters`, `valgrind` | whether the program has set a filter of system calls, and whether valgrind runs it |

pub mod allocator;
mod code;
pub mod context;
pub mod filters;
mod forked;
pub mod loader;
pub mod memory;
pub mod next;
pub mod objects;
pub mod process_forks;
pub mod provider;
mod python;
pub mod stack;
mod symbols;
mod thread_word;
pub mod valgrind;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub use forked::Forked;
#[cfg(target_arch = "x86_64")]
pub use x86_64::{Around, At, Onward, Saved, What, call_with};
