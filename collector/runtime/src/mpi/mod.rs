//! Interposes the functions of MPI, OpenSHMEM and coarrays.
//!
//! Each function of [`mpi::functions`], and of OpenSHMEM, is taken under both of its names, that for programs and that for tools:
//! interfaces to Fortran call the second one. The outermost call of a thread is recorded, of whichever interface, with the
//! messages that it posts or completes; what MPI calls for its own purposes, or another one of MPI, is not. The real functions are found in any loaded object,
//! as Python loads MPI where only its extension sees it.
//!
//! | module | what |
//! |---|---|
//! | `entry` | the exported functions |
//! | `call` | a call of MPI: before the real function, and after it |
//! | `pgas`, `moved` | calls of OpenSHMEM and coarrays, and what they move |
//! | `messages` | what calls post and complete |
//! | `volume` | bytes of collective and one-sided operations and of files |
//! | `communicators` | communicators by handle: what all of their ranks know them by |
//! | `requests` | requests by handle: what was posted |
//! | `narrow` | counts of 64 bits where MPI has functions for 32 |
//! | `table` | a table by handle that threads share without a lock |
//! | `real` | MPI's own functions, and which interface it has |
#![allow(unsafe_code)]

mod call;
mod communicators;
mod entry;
mod messages;
mod moved;
mod narrow;
mod pgas;
mod real;
mod requests;
mod table;
mod volume;

pub(crate) use call::{State, is_wanted};
