//! Profiles held against the truth of the same run.
//!
//! A program of [`fixtures`] measures itself while `collect` records it; what `er_print` then
//! reports is compared with what the program measured, number by number. So neither a loaded
//! machine nor a runtime's habits make a test fail, only a profile that is wrong.
//!
//! The tests run the tools as people do: as programs, from the folder of the build.

mod cell;
mod check;
mod check_tree;
mod outcome;
mod report;
mod stacks;
mod tools;
mod verdict;

pub use cell::{Cell, Recorded, compiler, compiler_of, folder, library_folder, newest};
pub use check::{check, check_by_stacks};
pub use outcome::{Outcome, finish, watch};
pub use report::{Node, Seconds, metrics, reports, rows, sum, value};
pub use stacks::{Seen, Stacks, Window};
pub use tools::{Tools, tools};
pub use verdict::{Deviation, Verdict};
