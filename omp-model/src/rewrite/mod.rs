//! From measured stacks to display stacks: as their author wrote them, or as measured.
//!
//! A pure function of (machine stack, recorded tag, kind of thread), given the recording's tables
//! and symbols. It never needs the thread's other samples, with one exception: an outlined
//! function that no symbol ties to its directive is learnt from the stacks of the recording, so
//! that one region has one name in all rows ([`Rewriter::new`] takes them as evidence).
//!
//! How a stack in user mode comes about: [`segment`] cuts the user's frames of the innermost
//! construct out of the machine stack; the construct's calling context, taken once at its fork
//! point, supplies everything outward of it, on every thread alike. So primary, workers and
//! threads of nested teams have the same callers by construction.

pub mod constructs;
mod frames;
mod functions;
mod naming;
mod placing;
mod pools;
mod rewriter;
mod sampled;
mod segment;
mod shown;
#[cfg(test)]
mod tests;
mod walk;
#[cfg(test)]
pub(crate) mod world;

pub use rewriter::Rewriter;
pub use sampled::SampledStack;
