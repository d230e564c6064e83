//! The timeline's data: what each thread did at what time.
//!
//! Three sources, the most exact first. A slice of time that a column covers whole has its sums,
//! to the nanosecond, as the views refine them by stacks. Else listed intervals are drawn where they
//! were. Shorter ones have samples, which say where in the slice is what its sums leave over after its
//! listed intervals: columns add up to the sums. Where there is no sample, that is divided in proportion.

mod activity;
mod balance;
mod bands;
mod by_thread;
mod constructs;
mod document;
mod frames;
mod holds;
mod names;
mod rows;
mod slot;
mod slots;
mod spells;
mod stacks;
mod whole;
mod window;

pub use activity::{Activity, Family};
pub use bands::{Band, Bands};
pub use document::{Columns, TimelineRow, document};
pub use holds::{Hold, mutex_names};
pub use names::construct_names;
pub use rows::{MOST_REFINED, Timeline};
pub use slot::{Look, Precision, Share, Slot};
pub use slots::column;
pub use stacks::Stacks;
pub use whole::of_run;
pub use window::Window;
