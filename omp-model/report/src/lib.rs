//! Reports: documents over one or several experiments, and their forms.
//!
//! A builder ([`functions`] and its like) makes a [`Document`] of what a [`Query`] asks for. A
//! document is data: it knows nothing of how it is shown. [`text`] and [`json`] are its forms for
//! files and pipes; `analyzer` draws the same documents with its widgets.
//!
//! A comparison is the same builder over several experiments: each row then has values by
//! experiment.

mod advice;
mod annotated;
pub mod averages;
pub mod calltree;
mod causes;
pub mod caveats;
pub mod change;
mod clocks;
pub mod closing;
mod constructs;
mod critical;
pub mod describe;
pub mod details;
pub mod disasm;
pub mod document;
mod error;
pub mod experiments;
pub mod find;
pub mod fragment;
pub mod functions;
pub mod header;
pub mod index;
pub mod json;
mod list;
pub mod locks;
pub mod loops;
pub mod lost;
pub mod metrics;
mod mpi;
pub mod neighbours;
pub mod objects;
mod openmp;
mod origin;
pub mod overview;
pub mod page;
mod parts;
mod phases;
pub mod prune;
pub mod query;
pub mod races;
mod rank_advice;
mod rank_bars;
mod rank_spread;
mod ranks;
pub mod regions;
pub mod reports;
pub mod resources;
pub mod run;
mod scaling;
pub mod settings;
mod shares;
pub mod source;
pub mod sources;
pub mod tasks;
pub mod text;
pub mod threads;
pub mod timeline;
mod unmatched;
mod usage;
pub mod views;
mod waits;

pub use document::Document;
pub use error::Error;
pub use query::Query;
pub use settings::Settings;
