//! The model of Parallax: what a recording holds, and how it is read as its author wrote it.
//!
//! Pure: values in, values out. Files are touched by the `experiment` module alone.

pub mod attribution;
pub mod barriers;
pub mod code;
pub mod defaults;
mod directives;
pub mod experiment;
pub mod filter;
pub mod header;
pub mod ids;
pub mod kallsyms;
pub mod metrics;
pub mod omp;
pub mod places;
pub mod profile;
pub mod recording;
pub mod rewrite;
pub mod rows;
pub mod spelling;
pub mod state;
pub mod stream;
pub mod symbolize;
pub mod symbols;
pub mod tables;
pub mod union;
pub mod views;
