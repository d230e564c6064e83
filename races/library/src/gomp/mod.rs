//! Interposes the entry points of GCC's libgomp, which has no OMPT, and says what OMPT would say.
//!
//! The functions that the compiler outlines are replaced by our own ([`region`], [`task`]), which
//! mark the begin and end of each implicit and explicit task on the thread that executes it.
//!
//! Calls to a runtime with OMPT, such as LLVM's with its `GOMP_*` functions, are passed on by a jump,
//! so that it sees the program's own return address. So are all calls in a program that is not
//! recorded.
//!
//! The facts about libgomp's interface are those of GCC 12's `libgomp_g.h`. gcc makes the chunks of a
//! static schedule itself: no call tells of such a loop, but for the barrier after it.

#![allow(unsafe_code)]

mod detach;
mod entry;
mod events;
mod real;
mod region;
pub(crate) mod state;
mod sync;
mod target;
mod task;
mod work;

pub(crate) use real::address;
