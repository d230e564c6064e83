//! What is known of OpenMP runtimes, each fact once.
//!
//! | module | what |
//! |---|---|
//! | `numbers` | the numbers of the tools interface (OMPT) |
//! | `types` | its C types |
//! | `entry_points` | the functions of libgomp and of LLVM's runtime that compilers call: names, kinds, roles |

mod entry_points;
pub mod numbers;
pub mod types;

pub use entry_points::{Function, NAMES, is_of_locks, kind};
