//! Events as runtimes send them, and the time that is accounted by them.

mod accounting;
mod control;
mod counts;
mod driver;
mod helper;
mod instance;
mod lock;
mod loss;
mod mpi;
mod random;
mod region;
mod short;
mod task;
mod wait;
mod work;
