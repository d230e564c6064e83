//! Rewriting: from machine stacks to display stacks, in user or machine mode.
//!
//! Rewriting is a pure function of (machine stack, recorded thread state, kind of thread), given
//! the experiment's tables and symbols. It does not need the thread's other samples, with one
//! exception: an outlined function that no symbol ties to its directive is found from all stacks of
//! the experiment, so that a region has the same name in all rows ([`Rewriter::new`] takes them as
//! evidence).
//!
//! To make a user stack, [`segment`] cuts the user's frames of the innermost construct out of the
//! machine stack. The construct's calling context, recorded once at its fork point, supplies all
//! outer frames, on every thread. So primary threads, workers and threads of nested teams have the
//! same callers by construction.

pub mod constructs;
mod display_stacks;
mod frames;
pub(crate) mod functions;
mod naming;
mod pools;
mod refined;
mod rewriter;
mod sampled;
mod segment;
#[cfg(test)]
pub(crate) mod test_program;
#[cfg(test)]
mod tests;
mod walk;

pub use rewriter::Rewriter;
pub use sampled::SampledStack;
