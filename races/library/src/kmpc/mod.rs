//! Functions of LLVM's runtime of which its OMPT events do not tell enough, interposed.
//!
//! | module | what |
//! |---|---|
//! | `task` | the memory of tasks, untied tasks, taskloops |
//! | `reduction` | what the runtime calls to combine copies |
//! | `sync` | critical sections, `ordered` clauses, flushes |
//! | `team` | what the program asks about its team, and sets |
#![allow(unsafe_code)]

mod reduction;
pub(crate) mod sync;
pub(crate) mod task;
pub(crate) mod team;
