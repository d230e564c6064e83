//! Changes the state by keys and the mouse.

pub mod bindings;
mod filter;
mod find;
pub mod keys;
mod mouse;
mod perform;
mod questions;
mod select;
mod timeline;
