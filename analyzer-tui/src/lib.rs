//! `analyzer`: an experiment in a terminal.
//!
//! Events go in and screens come out: [`state::app::App`] is a value that keys, clicks and sizes
//! change ([`input`]) and that never does I/O; [`draw`] turns it into cells. What is shown are the
//! documents of the crate `report`, as `er_print` prints them, made on threads of their own
//! ([`jobs`], [`documents`]). [`terminal`] alone talks to the terminal.

pub mod args;
pub mod bars;
pub mod boxes;
pub mod change;
pub mod columns;
pub mod documents;
pub mod draw;
pub mod experiments;
pub mod export;
pub mod flame;
pub mod input;
pub mod jobs;
pub mod layout;
pub mod list;
pub mod live;
pub mod output;
pub mod row_order;
pub mod settings;
pub mod state;
pub mod terminal;
pub mod text_fit;
pub mod tree;
pub mod view;
