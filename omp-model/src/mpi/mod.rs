//! Calls of MPI and messages between ranks, read from the recordings of all ranks.
//!
//! Each rank is an experiment of its own; several that are open together are one job. What they are asked:
//! which function of MPI took how long ([`functions`]), how ranks compare ([`balance`]), which send belongs to which
//! receive ([`matching`]), which calls are one collective operation ([`collectives`]), how far clocks of hosts are apart
//! ([`clocks`]), who waited for whom
//! ([`waits`]), what that one did in which function ([`causes`]), and what the run could not have been shorter without
//! ([`critical`]).

mod access;
pub mod balance;
pub mod calls;
pub mod causes;
mod chains;
pub mod clocks;
pub mod collectives;
mod coverage;
pub mod critical;
pub mod functions;
pub mod matching;
pub mod meanwhile;
pub mod parts;
pub mod ranks;
mod teams;
pub mod waits;

#[cfg(test)]
mod test_job;
