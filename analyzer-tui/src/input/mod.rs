//! What keys and the mouse do to the state.

pub mod bindings;
mod filter;
mod find;
pub mod keys;
mod perform;
mod pointer;
mod questions;
mod select;
mod timeline;
