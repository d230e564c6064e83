//! `libcollector.so`: the library inside the program under test.
//!
//! It turns what an OpenMP runtime tells a tool (OMPT) into the records of [`omp_ring`]. Each
//! thread has a ring of its own in shared memory; an event costs a clock read and two stores.
//! A record of a fork or of a task creation names its calling context. A context is sent once, as
//! the words of the stack from which `collect` unwinds it, and recognised afterwards.
//!
//! Rules for code that runs inside another program:
//!
//! - A callback never blocks, allocates, opens a file or prints. A thread's memory is mapped
//!   when its first event comes.
//! - It never panics: no indexing, no unwrap in what callbacks reach.
//! - One pointer of static TLS, because a library that is loaded late gets no more for sure.
//! - Where there is nothing to record into, the tool declines and the program runs as without it.
//!
//! | module | what |
//! |---|---|
//! | `ompt` | front-end: the OMPT tool, its types and callbacks |
//! | `gomp` | front-end: the interposer of GCC's libgomp |
//! | `thread` | what front-ends call: constructs in, records out |
//! | `context` | calling contexts, cached |
//! | `stack`, `code` | reading the thread's own stack; what of it points into code |
//! | `process`, `forks` | the arena, the runtimes, fork |
//! | `loader`, `symbols` | what is loaded, and what it defines |
//! | `tls`, `pointer`, `memory` | the thread's state, where it is and its memory |

mod code;
mod context;
mod forks;
#[cfg(target_arch = "x86_64")]
mod gomp;
mod loader;
mod memory;
mod ompt;
mod pointer;
mod process;
mod stack;
mod symbols;
mod thread;
mod tls;
