//! What `collect -r` found: races, deadlocks, misuse, and reads of memory that nothing has written.
//!
//! A finding has the number that all documents give it: its place among those of its kind, whether it is
//! shown or not. Where several experiments are added up, a finding of all of them is one.

mod details;
mod finding;
mod kind;
mod list;
mod rows;
mod summary;
pub(crate) mod suppressions;
mod view;

pub use details::{details, misuse};
pub use finding::{Finding, place_of as place};
pub use kind::FindingKind;
pub use list::list;
pub use rows::{Found, Row, found, has_findings};
pub(crate) use summary::coverage;
pub use summary::{coverage_lines, coverage_notices, in_short, not_checked, summary};
pub use suppressions::{Rule, Suppressions};
pub(crate) use view::in_full;
pub use view::view;
