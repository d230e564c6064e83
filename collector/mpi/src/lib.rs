//! What is known of calls between ranks: the functions of MPI, OpenSHMEM and coarrays, and the events of GASP; the form
//! of their arguments, what they wait for, and how implementations represent what passes between them and the program.
//!
//! The functions of MPI are those of MPI 4.1 that move data, complete operations, or take part in what other ranks
//! wait for. Queries, conversions and types are not among them: they take no time that a user would look for.

mod abi;
pub mod caf;
mod form;
mod functions;
pub mod gasp;
pub mod pgas;
pub mod shmem;

pub use abi::{Abi, OPEN_MPI_VARIABLES};
pub use form::Form;
pub use functions::{
    COUNT, Function, Wait, begins, class, form, is_large, is_later, name, narrow, symbols, wait,
};
pub use pgas::Interface;
