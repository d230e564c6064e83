//! What keys and the mouse do to the state.

pub mod bindings;
mod filter;
mod find;
pub mod keys;
mod mouse;
mod perform;
mod questions;
mod select;
mod timeline;
