//! `libparallax_races.so`: the library inside a program under `collect -r`.
//!
//! A program compiled with `-fsanitize=thread` calls `__tsan_*` at each access to memory that
//! another thread can reach. This library takes the place of the compiler's own runtime. It also is
//! an OMPT tool, and interposes libgomp, POSIX threads and the allocator. What it learns becomes a
//! stream of records for each thread ([`race_stream`]); nothing is checked here.
//!
//! Accesses of one instruction in one calling context at a constant distance are one record, a
//! *run*, which is written when the pattern breaks or an event comes.
//!
//! Rules for code that runs inside another program:
//!
//! - A callback never allocates, opens a file or prints. A thread's memory is mapped at its first
//!   event, which takes no lock, since its caller may hold any. A callback waits only for room in the
//!   thread's ring.
//! - A callback never panics: what it reaches has no indexing and no unwrap.
//! - Without shared memory named by the environment, everything here only passes calls on.
//!
//! | module | what |
//! |---|---|
//! | `tsan` | the interface of the compilers |
//! | `atomics` | its atomic operations, which the library has to carry out |
//! | `ompt` | the OMPT tool |
//! | `gomp` | GCC's libgomp, interposed |
//! | `kmpc` | functions of LLVM's runtime of which OMPT does not tell enough |
//! | `fortran` | functions of libgfortran that print and read variables |
//! | `strings` | functions of the C library that copy and fill memory |
//! | `declared` | synchronisation that the program declares |
//! | `allocation`, `threads` | the allocator; POSIX threads and their synchronisation |
//! | `mutexes` | what a thread tells of mutexes |
//! | `thread` | what all of them call: events and accesses in, records out |
//! | `runs`, `contexts` | accesses as runs; calling contexts |
//! | `unwritten`, `stack` | which memory nothing has written; that of stacks |
//! | `load` | what is done while the library is loaded |
//! | `process`, `looked_for` | the shared memory, and fork; what is looked for |
//! | `own_memory` | a thread's stack and thread-local memory |
//! | `unload` | libraries that the program unloads |
//! | `filters` | what is done before the program sets a filter of system calls |
//! | `versions` | functions of which there are several |
//! | `objects` | the executable and its libraries: which are instrumented, which are runtimes |
//! | `tls` | the thread's state |

#![cfg_attr(
    test,
    allow(
        dead_code,
        non_snake_case,
        reason = "tests of modules export no functions"
    )
)]

mod allocation;
mod atomics;
mod contexts;
mod declared;
mod filters;
mod fortran;
mod gomp;
mod kmpc;
mod load;
mod looked_for;
mod mutexes;
mod objects;
mod ompt;
mod own_memory;
mod process;
mod runs;
mod stack;
mod strings;
mod thread;
mod threads;
mod tls;
mod tsan;
mod unload;
mod unwritten;
mod versions;
