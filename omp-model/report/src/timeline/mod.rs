//! The timeline's data: what each thread did at what time.
//!
//! Three sources, the most exact first. A slice of time that a column covers whole has its sums,
//! to the nanosecond, as the views refine them by stacks. Else listed intervals are drawn where they
//! were. Shorter ones have samples, which say what the thread did at their time; and where there is
//! no sample, what the slice's sums leave over after its listed intervals, in proportion.

mod activity;
mod bands;
mod by_thread;
mod constructs;
mod document;
mod frames;
mod holds;
mod names;
mod rows;
mod slots;
mod spells;
mod stacks;
mod window;

pub use activity::{Activity, Family};
pub use bands::{Band, Bands};
pub use document::{TimelineRow, document};
pub use holds::{Hold, mutex_names};
pub use names::construct_names;
pub use rows::{MOST_REFINED, Timeline};
pub use slots::{Precision, Slot, column};
pub use stacks::Stacks;
pub use window::Window;
