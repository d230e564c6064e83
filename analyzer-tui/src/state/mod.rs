//! What is shown: values that keys change and that drawing reads.

pub mod app;
pub mod overlay;
mod rows;
pub mod timeline;
mod tree;
