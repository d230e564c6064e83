//! `analyzer`: an experiment in a terminal.
//!
//! Events go in and screens come out: [`app::App`] is a value that takes keys, clicks and sizes
//! and never does I/O; [`draw`] turns it into cells; [`terminal`] alone talks to the terminal,
//! [`world`] and [`live`] to files and programs. What is shown comes from `omp_model::views`, as in `er_print`.

pub mod about;
pub mod app;
pub mod args;
pub mod change;
pub mod compare;
pub mod data;
pub mod disasm;
pub mod draw;
pub mod export;
pub mod flame;
pub mod layout;
pub mod live;
pub mod output;
pub mod recording;
pub mod regions;
pub mod report;
pub mod source;
pub mod tables;
pub mod terminal;
pub mod tree;
pub mod world;
