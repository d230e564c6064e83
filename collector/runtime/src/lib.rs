//! `libcollector.so`: the library inside the program under test.
//!
//! It turns the events of OpenMP runtimes, by OMPT or by interposition, into the records of
//! [`omp_ring`]. Each thread has a ring of its own in shared memory; an event costs a clock read and
//! two stores. A record of a fork or of a task creation refers to its calling context. A context is
//! sent once, as the stack words from which `collect` unwinds it, and recognised afterwards.
//!
//! Rules for code that runs inside another program:
//!
//! - A callback never blocks, allocates, opens a file or prints. A thread's memory is mapped at its
//!   first event.
//! - A callback never panics: what it reaches has no indexing and no unwrap.
//! - The library uses one pointer of static TLS: a library that is loaded late may get no more.
//! - Without an arena the tool declines, and the program runs as without the library.
//!
//! | module | what |
//! |---|---|
//! | `ompt` | front-end: the OMPT tool, its types and callbacks |
//! | `gomp` | front-end: the interposer of GCC's libgomp |
//! | `mpi` | the interposer of MPI, OpenSHMEM and coarrays |
//! | `gasp` | front-end: events of UPC's runtimes |
//! | `control` | calls of the program and signals that pause the recording, name phases and samples |
//! | `thread` | what both front-ends call: OpenMP events in, records out |
//! | `loops` | worksharing loops: their counts |
//! | `passed` | the bodies that calls into LLVM's runtime pass |
//! | `sampler` | samples that threads take of themselves where perf events are forbidden |
//! | `process` | the arena, the runtimes, and both across fork |
//! | `filters`, `traced` | what is done before the program sets a filter of system calls, or asks for a tracer |
//! | `tls` | the thread's state |

#![cfg_attr(
    test,
    allow(dead_code, reason = "tests of modules export no functions")
)]

mod control;
mod filters;
#[cfg(target_arch = "x86_64")]
mod gasp;
#[cfg(target_arch = "x86_64")]
mod gomp;
mod locks;
mod loops;
#[cfg(target_arch = "x86_64")]
mod mpi;
mod ompt;
mod passed;
mod process;
#[cfg(target_arch = "x86_64")]
mod sampler;
mod short;
mod thread;
mod tls;
#[cfg(target_arch = "x86_64")]
mod traced;
