//! The library behind `collect`, which runs a program and records an experiment.
//!
//! | module | what |
//! |---|---|
//! | [`cli`] | the command line |
//! | [`experiment`] | the experiment's directory |
//! | [`library`] | finds `libcollector.so` |
//! | [`launch`] | starts the program, held until its events are open |
//! | [`perf`] | the kernel's events, rings and records |
//! | [`processes`], [`history`], [`objects`], [`runtimes`] | processes, threads, load objects, and the OpenMP runtimes among them |
//! | [`stacks`], [`last_stack`], [`sleepers`] | unwind stacks and intern them |
//! | [`truncated`], [`memory`], [`completion`], [`fork_points`] | stacks deeper than the piece copied with their sample |
//! | [`openmp`], [`registered`], [`contexts`], [`clock`] | the program's OpenMP records, runtimes and calling contexts, and their clock |
//! | [`merge`], [`streams`] | one stream by time |
//! | [`on_cpu`] | time on CPUs, and what a hypervisor takes of it |
//! | [`record`], [`session`], `schedule` | the recording from start to end |
//! | [`header`], [`no_events`], [`shortfall`] | the header: what was recorded, what was not, and why |
//! | [`say`], [`progress`] | messages on standard error |
//! | [`signals`], [`sys`] | signals and other system calls |

pub mod cli;
pub mod clock;
pub mod completion;
pub mod contexts;
pub mod dropped;
pub mod experiment;
pub mod fork_points;
pub mod header;
pub mod history;
pub mod last_stack;
pub mod launch;
pub mod library;
pub mod memory;
pub mod merge;
pub mod no_events;
pub mod objects;
pub mod on_cpu;
pub mod openmp;
pub mod perf;
pub mod processes;
pub mod progress;
pub mod record;
pub mod registered;
pub mod runtimes;
pub mod say;
mod schedule;
pub mod session;
pub mod shortfall;
pub mod signals;
pub mod sleepers;
pub mod stacks;
pub mod streams;
pub mod sys;
pub mod truncated;
pub mod usage;
