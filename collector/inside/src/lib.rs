//! What both libraries in the program share: the profiler's and that of the checks.
//!
//! | module | what |
//! |---|---|
//! | `forked` | the regions that a thread has forked |

mod forked;

pub use forked::Forked;
