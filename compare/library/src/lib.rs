//! `libparallax_compare.so`: the library inside a program under `collect -r compare`.
//!
//! At a fork from serial code, a copy of the process (the *keeper*) keeps memory as it is. The program runs the
//! region as it would alone. Then a copy of the keeper (the *peer*) runs it with one thread, and what both left is
//! compared word by word. Nothing is put back, since nothing of the program's is changed: all that a peer does ends
//! with it, and a filter of system calls keeps what it would do to files and other processes.
//!
//! Which pages an execution wrote, `/proc/self/pagemap` tells: those that are no longer shared with the keeper.
//!
//! Rules for code that runs inside another program:
//!
//! - Memory of ours comes from mappings of our own (`own_memory`): the program's allocator is what is compared.
//! - What fails, fails quietly: an instance is then not comparable, for a cause that is counted.
//! - Without a file of memory named by the environment, everything here only passes calls on.
//!
//! | module | what |
//! |---|---|
//! | `entry` | functions of OpenMP's runtimes that fork regions, and how they are called |
//! | `region` | an instance: whether it is compared, and what is counted |
//! | `compare`, `classes` | the memory of two executions, and what the differences are |
//! | `keeper`, `board` | the copies of the process, and how they are asked |
//! | `guard` | the filter of a peer's system calls |
//! | `pages` | what is mapped, and which pages were written |
//! | `objects`, `symbols` | the program's own load objects, and their variables |
//! | `blocks`, `allocation` | blocks of the heap and mappings of the program |
//! | `threads` | threads that the program creates |
//! | `output` | the file of memory that `collect` reads |
//! | `own_memory` | the allocator of this library |
//! | `load` | what is done while the library is loaded |

#![cfg_attr(
    test,
    allow(
        dead_code,
        non_snake_case,
        reason = "tests of modules export no functions"
    )
)]

mod allocation;
mod blocks;
mod board;
mod classes;
mod compare;
mod entry;
mod guard;
mod keeper;
mod load;
mod objects;
mod output;
mod own_memory;
mod pages;
mod region;
mod symbols;
mod threads;
