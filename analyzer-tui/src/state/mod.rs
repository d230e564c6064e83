//! The state that input changes and drawing reads.

pub mod app;
mod detail;
pub(crate) mod history;
pub mod overlay;
mod rows;
pub mod timeline;
mod tree;
