//! The library behind `collect`, which runs a program and records an experiment.
//!
//! | module | what |
//! |---|---|
//! | [`cli`] | the command line |
//! | [`control_options`] | its options on which part of a run is recorded |
//! | [`experiment`] | the experiment's directory |
//! | [`library`] | finds `libcollector.so` |
//! | [`attach`] | a process that runs already: its threads, mappings and environment |
//! | [`rank`], [`job`], [`launcher`] | MPI ranks, and the folder of their job; command lines of `mpirun` and `srun` |
//! | [`launch`] | starts the program, held until its events are open |
//! | [`perf`] | the kernel's events, rings and records |
//! | [`own_samples`], `proc` | what takes their place where they are forbidden: samples by the program's threads, and `/proc` |
//! | [`source`] | one or the other |
//! | [`stacks`], [`sleepers`] | unwind stacks and intern them |
//! | [`truncated`], `deep`, [`memory`], [`completion`], [`fork_points`] | stacks deeper than the piece copied with their sample |
//! | [`openmp`], [`registered`], [`contexts`], [`clock`] | the program's OpenMP records, runtimes and calling contexts, and their clock |
//! | [`control`] | pauses, phases, sample points and the end, by calls of the program and by options |
//! | [`merge`], [`streams`] | one stream by time |
//! | [`on_cpu`] | time on CPUs, and what a hypervisor takes of it |
//! | [`record`], [`session`], `schedule` | the recording from start to end |
//! | [`after`] | what is done after the program's end, until a signal ends it |
//! | [`affinity`] | the CPUs on which threads may run |
//! | [`archive`] | files that are copied into the experiment |
//! | [`checks`] | `-r`: a program that is checked instead of sampled |
//! | [`header`], [`no_events`], [`shortfall`] | the header: what was recorded, what was not, and why |
//! | [`say`] | messages on standard error |
//! | [`signals`], [`sys`] | signals and other system calls |

pub mod affinity;
pub mod after;
pub mod archive;
pub mod attach;
mod calls_notes;
pub mod checks;
pub mod cli;
pub mod clock;
mod closing;
pub mod completion;
pub mod contexts;
pub mod control;
pub mod control_options;
mod deep;
pub mod dropped;
pub mod dump;
pub mod experiment;
pub mod fork_points;
pub mod header;
mod job;
pub mod launch;
pub mod launcher;
pub mod library;
pub mod memory;
pub mod merge;
pub mod no_events;
pub mod on_cpu;
pub mod openmp;
pub mod own_samples;
pub mod perf;
mod proc;
pub mod python;
pub mod rank;
pub mod record;
pub mod registered;
pub mod say;
mod schedule;
pub mod session;
pub mod shortfall;
pub mod signals;
pub mod sleepers;
pub mod source;
pub mod stacks;
pub mod streams;
pub mod sys;
pub mod truncated;
