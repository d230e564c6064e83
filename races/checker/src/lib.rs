//! The checkers of `collect -r`: streams of a program in, findings in addresses out.
//!
//! ```text
//! streams ──▶ replay ──▶ strands, locksets, contexts, heap ──▶ interval ──▶ races
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`streams`] | the threads' records in one order |
//! | [`replay`] | threads, teams, tasks and loops become strands; their accesses, intervals |
//! | [`strands`] | the order between strands; pure |
//! | [`locksets`] | sets of locks; pure |
//! | [`tasks`] | explicit tasks, groups, dependences; pure |
//! | [`memory`] | pieces of memory and what two have in common; pure |
//! | [`sweep`] | which pieces of many touch; pure, behind a trait |
//! | [`blocks`] | scattered memory, a word for each block; pure |
//! | [`interval`] | the accesses between two barriers |
//! | [`comparison`] | which of them race |
//! | [`heap`] | heap blocks and recycled memory |
//! | [`contexts`] | calling contexts of all threads |
//! | [`code`] | what is asked of the program's code |
//! | [`synchronisation`] | locks, barriers and worksharing: deadlocks and misuse |
//! | [`lock_order`], [`position`] | cycles in the order of locks; pure |
//! | [`holders`], [`teams`] | who holds what; who comes to which barrier; pure |
//! | [`hang`] | which threads wait forever; pure |
//! | [`races`], [`misuse`], [`uninitialised`], [`site`] | what was found |

pub mod blocks;
pub mod code;
pub mod comparison;
pub mod contexts;
pub mod hang;
pub mod heap;
pub mod holders;
pub mod interval;
pub mod lock_order;
pub mod locksets;
pub mod memory;
pub mod misuse;
pub mod position;
pub mod races;
pub mod replay;
pub mod rounds;
pub mod site;
pub mod strands;
pub mod streams;
pub mod sweep;
pub mod synchronisation;
pub mod tasks;
pub mod teams;
pub mod uninitialised;
