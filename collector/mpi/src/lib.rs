//! What is known of MPI: its functions, the form of their arguments, what they wait for, and how
//! implementations represent what passes between them and the program.
//!
//! The functions are those of MPI 4.1 that move data, complete operations, or take part in what other ranks
//! wait for. Queries, conversions and types are not among them: they take no time that a user would look for.

mod abi;
mod form;
mod functions;

pub use abi::{Abi, OPEN_MPI_VARIABLES};
pub use form::Form;
pub use functions::{COUNT, Function, Wait, form, is_large, is_later, name, narrow, symbols, wait};
