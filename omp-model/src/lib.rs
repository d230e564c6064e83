//! The model of Parallax: what a recording holds, and how it is read as its author wrote it.
//!
//! Pure: values in, values out. Experiments are read by the `experiment` crate.

pub mod attribution;
pub mod defaults;
pub mod filter;
pub mod metrics;
pub mod omp;
pub mod profile;
pub mod ran;
pub mod recording;
pub mod rewrite;
pub mod spelling;
pub mod stream;
pub mod views;

pub use ::experiment::{barriers, header, ids, linkage, state, symbols, tables, union};

pub mod experiment {
    //! The stored format.
    pub use crate::ran::{OnCpus, Ran};
    pub use ::experiment::*;
}

pub mod rows {
    //! The rows of a recording.
    pub use experiment::rows::Sample as Sight;
    pub use experiment::rows::*;
}
