//! The model of Parallax: what a recording holds, and how it is read as its author wrote it.
//!
//! Pure: values in, values out. Experiments are read by the `experiment` crate.

mod alike;
pub mod analysis;
pub mod attribution;
pub mod cpu_samples;
pub mod defaults;
pub mod filter;
pub mod inlining;
pub mod kernel;
pub mod metrics;
pub mod mpi;
pub mod omp;
pub mod profile;
pub mod rewrite;
pub mod spelling;
pub mod states;
pub mod stream;
pub mod time_marks;
pub mod views;
