//! Reports: documents over one or several experiments, and their forms.
//!
//! A builder ([`functions`] and its like) makes a [`Document`] of what a [`Query`] asks for. A
//! document is data: it knows nothing of how it is shown. [`text`] and [`json`] are its forms for
//! files and pipes; `analyzer` draws the same documents with its widgets.
//!
//! A comparison is the same builder over several experiments: each row then has values by
//! experiment.

mod advice;
mod constructs;
pub mod document;
mod error;
pub mod functions;
pub mod json;
mod openmp;
pub mod overview;
pub mod query;
pub mod regions;
pub mod run;
mod scaling;
pub mod settings;
mod shares;
pub mod tasks;
pub mod text;

pub use document::Document;
pub use error::Error;
pub use query::Query;
pub use settings::Settings;
