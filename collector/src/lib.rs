//! Recording: the library behind `collect`, which runs a program and makes an experiment.
//!
//! | module | what |
//! |---|---|
//! | [`cli`] | the command line |
//! | [`experiment`] | the experiment's directory |
//! | [`library`] | finding `libcollector.so` |
//! | [`launch`] | starting the program, held until its events are open |
//! | [`perf`] | the kernel's events, rings and records |
//! | [`processes`], [`history`] | processes, threads and what is mapped where |
//! | [`stacks`], [`last_stack`] | unwinding and interning |
//! | [`truncated`], [`memory`], [`completion`], [`fork_points`] | stacks deeper than the piece copied with their sample |
//! | [`openmp`], [`introduced`], [`contexts`], [`clock`] | the program's records, its runtimes, their calling contexts and times |
//! | [`merge`], [`heads`] | one stream by time |
//! | [`on_cpu`] | time on CPUs, and what a hypervisor takes of it |
//! | [`record`], [`session`] | the recording from start to end |
//! | [`facts`], [`silence`], [`shortfall`] | the header: what was recorded, what was not, and why |
//! | [`say`] | messages on standard error |
//! | [`signals`], [`sys`] | signals and other system calls |

pub mod cli;
pub mod clock;
pub mod completion;
pub mod contexts;
pub mod experiment;
pub mod facts;
pub mod fork_points;
pub mod heads;
pub mod history;
pub mod introduced;
pub mod last_stack;
pub mod launch;
pub mod library;
pub mod memory;
pub mod merge;
pub mod objects;
pub mod on_cpu;
pub mod openmp;
pub mod perf;
pub mod processes;
pub mod progress;
pub mod record;
mod rhythm;
pub mod runtimes;
pub mod say;
pub mod session;
pub mod shortfall;
pub mod signals;
pub mod silence;
pub mod sleepers;
pub mod stacks;
pub mod sys;
pub mod truncated;
