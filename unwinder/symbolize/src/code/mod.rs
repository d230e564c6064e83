//! Facts that the machine code of a program tells, and neither its events nor its symbols: the entry
//! point of the runtime that a call reaches, loops that only wait, critical sections of reductions,
//! instructions for whose memory threads contend,
//! the function that holds the directive of a nameless body, and what each round of a loop executes.

mod arguments;
mod bodies;
mod combines;
mod contention;
mod flow;
mod frames;
mod instructions;
mod rounds;
mod spins;

use std::collections::BTreeMap;

use experiment::ids::FrameId;
use experiment::symbols::CodeFact;

use crate::symbols::Symbols;

pub(crate) use arguments::BodyArguments;
pub(crate) use bodies::{Body, bodies, folded_into};
use contention::Contended;
pub use flow::{Side, beside};
pub(crate) use frames::UserFrames;
pub use instructions::called;
use instructions::reached;
pub(crate) use instructions::{LARGEST, call_before, calls_ending_at, decode};
pub(crate) use rounds::loop_of;
pub(crate) use spins::SpinLoops;

/// What is known of the frames of one load object.
pub(crate) fn facts(
    user: &UserFrames,
    symbols: &Symbols,
    frames: impl Iterator<Item = (FrameId, u64)>,
) -> BTreeMap<FrameId, CodeFact> {
    let mut spins = SpinLoops::default();
    let mut contended = Contended::default();
    let mut facts = BTreeMap::new();
    for (frame, address) in frames {
        let calls = if user.is_call(frame) || user.is_fork(frame) {
            calls_ending_at(symbols, address).find_map(|call| reached(symbols, &call))
        } else {
            None
        };
        let fact = CodeFact {
            spins: spins.hold(symbols, address),
            combines: combines::combines(symbols, address, calls.as_deref()),
            contention: contended.before(symbols, address),
            calls,
            body: None,
        };
        if fact != CodeFact::default() {
            facts.insert(frame, fact);
        }
    }
    facts
}
