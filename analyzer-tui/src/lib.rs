//! `analyzer`: an experiment in a terminal.
//!
//! [`state::app::App`] holds the state and does no I/O. [`input`] changes it by keys, clicks and
//! sizes; [`draw`] turns it into cells. Views show the documents of the crate `report`, which
//! `er_print` prints, computed on background threads ([`jobs`], [`documents`]). Only [`terminal`]
//! talks to the terminal.

pub mod args;
pub mod axis;
pub mod bars;
pub mod boxes;
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
