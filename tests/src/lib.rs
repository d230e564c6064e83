//! Compares profiles with the truth of the same run.
//!
//! A program of [`fixtures`] measures itself while `collect` records it. Each number that `er_print`
//! reports is compared with the program's own. So a loaded machine or a runtime's behaviour does
//! not make a test fail, only a wrong profile.
//!
//! The tests run the tools as programs, from the folder of the build.

mod cell;
mod check;
mod check_tree;
mod crowding;
mod outcome;
mod races;
mod report;
mod stacks;
mod tools;
mod verdict;

pub use cell::{Cell, Recorded, compiler, compiler_of, folder, library_folder, newest};
pub use check::{check, check_by_stacks};
pub use crowding::stolen;
pub use outcome::{Outcome, finish, watch};
pub use races::{findings, planted, races, source};
pub use report::{Node, Seconds, lost, metrics, reports, rows, sum, value};
pub use stacks::{Seen, Stacks, Window};
pub use tools::{Tools, tools, without_perf};
pub use verdict::{Deviation, Verdict};
