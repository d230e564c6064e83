//! Events as runtimes send them, and the time that is accounted by them.

mod accounting;
mod driver;
mod instance;
mod lock;
mod loss;
mod random;
mod region;
mod task;
mod wait;
mod work;
