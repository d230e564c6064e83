//! What the machine code of a program tells that neither its events nor its symbols do: which
//! entry point of the runtime a call leads to, which loops do nothing but wait, which critical
//! sections are of a reduction, and which function holds the directive of a nameless body.

mod bodies;
mod combines;
mod handed;
mod spins;

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, OpKind};
use unwinder::Symbols;

use crate::ids::{FrameId, ModuleId};
use crate::state::State;
use crate::tables::{Module, RuntimeKind, StackEntry, Tables};

pub use ::experiment::symbols::CodeFact;

pub(crate) use bodies::{Body, bodies};
pub(crate) use handed::Handed;
use spins::Spins;

/// Functions that are longer are not looked through: 64 KiB.
const LARGEST: u64 = 1 << 16;

/// The frames of user code that the stacks have, by what is asked of them.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// Frames that called the runtime, and places of locks and critical sections.
    calls: BTreeSet<FrameId>,
    /// Frames that the runtime called.
    called: BTreeSet<FrameId>,
    /// Frames that made a construct.
    forks: BTreeSet<FrameId>,
}

impl Asked {
    /// Nothing for a recording in which no OpenMP runtime is on any stack.
    pub(crate) fn of(tables: &Tables) -> Asked {
        let runtime = |frame: FrameId| -> Option<bool> {
            let module = tables.frames.get(frame.0)?.module;
            if module == ModuleId::NONE || module == ModuleId::KERNEL {
                return None;
            }
            let row = tables.modules.get(module.0)?;
            Some(row.runtime != RuntimeKind::None)
        };
        let mut asked = Asked::default();
        for row in tables.stacks.rows() {
            let caller = tables.stacks.get(row.callers.0);
            if let StackEntry::Frame(inner) = row.entry
                && let Some(StackEntry::Frame(outer)) = caller.map(|caller| caller.entry)
            {
                match (runtime(inner), runtime(outer)) {
                    (Some(true), Some(false)) => asked.calls.insert(outer),
                    (Some(false), Some(true)) => asked.called.insert(inner),
                    _ => false,
                };
            }
        }
        for context in tables.contexts.rows() {
            if let Some(StackEntry::Frame(fork)) = tables.walk(context.stack).next()
                && runtime(fork) == Some(false)
            {
                asked.forks.insert(fork);
            }
            if runtime(context.body) == Some(false) {
                asked.called.insert(context.body);
            }
        }
        let locks = tables.tags.rows().iter();
        let locks = locks
            .filter(|tag| matches!(tag.state, State::Lock | State::NestLock | State::Critical));
        let places = locks.map(|tag| tag.place);
        asked
            .calls
            .extend(places.filter(|&place| place != FrameId::NONE));
        asked
    }

    /// Whether a load object's code is to be looked at: it called a runtime or was called by one,
    /// or is a program beside one. `frames` are all of its frames.
    pub(crate) fn concerns(&self, tables: &Tables, module: &Module, frames: &[FrameId]) -> bool {
        let none = self.calls.is_empty() && self.called.is_empty() && self.forks.is_empty();
        if none || module.runtime != RuntimeKind::None {
            return false;
        }
        let program = tables
            .processes
            .iter()
            .any(|row| row.executable == module.path);
        let touched = |frame| {
            let mut sets = [&self.calls, &self.called, &self.forks].into_iter();
            sets.any(|set| set.contains(frame))
        };
        program || frames.iter().any(touched)
    }

    /// Whether a frame made a construct.
    pub(crate) fn is_fork(&self, frame: FrameId) -> bool {
        self.forks.contains(&frame)
    }

    /// Whether the runtime called a frame's code.
    pub(crate) fn is_called(&self, frame: FrameId) -> bool {
        self.called.contains(&frame)
    }
}

/// What is known of the frames of one load object.
pub(crate) fn facts(
    asked: &Asked,
    symbols: &Symbols,
    frames: impl Iterator<Item = (FrameId, u64)>,
) -> BTreeMap<FrameId, CodeFact> {
    let mut spins = Spins::default();
    let mut facts = BTreeMap::new();
    for (frame, address) in frames {
        let calls = match asked.calls.contains(&frame) {
            true => callee(symbols, address),
            false => None,
        };
        let fact = CodeFact {
            spins: spins.hold(symbols, address),
            combines: enters(calls.as_deref()) && combines::combines(symbols, address),
            calls,
            body: None,
        };
        if fact != CodeFact::default() {
            facts.insert(frame, fact);
        }
    }
    facts
}

/// Whether a call of this name enters a critical section, as clang has them.
fn enters(name: Option<&str>) -> bool {
    name.is_some_and(|name| name.starts_with("__kmpc_critical"))
}

/// The function that the call instruction whose last byte is at `last` leads to.
fn callee(symbols: &Symbols, last: u64) -> Option<String> {
    let function = symbols.code(last)?;
    let bytes = symbols.bytes(&function);
    let end = usize::try_from(last.checked_sub(function.start)? + 1).ok()?;
    // `E8 rel32` and `FF 15 rel32`: the call instructions that name their function.
    [5, 6].into_iter().find_map(|length| {
        let code = bytes.get(end.checked_sub(length)?..end)?;
        let ip = last + 1 - length as u64;
        let mut decoder = Decoder::with_ip(64, code, ip, DecoderOptions::NONE);
        let call = decoder.decode();
        (call.len() == length).then(|| reached(symbols, &call))?
    })
}

/// The function that a call or jump leads to, by name.
fn reached(symbols: &Symbols, instruction: &Instruction) -> Option<String> {
    let name = target(symbols, instruction)?;
    // In a static libgomp an entry point has two names.
    let own = name.strip_prefix("gomp_ialias_").map(str::to_owned);
    Some(own.unwrap_or(name))
}

fn target(symbols: &Symbols, instruction: &Instruction) -> Option<String> {
    if instruction.is_call_near() || instruction.is_jmp_short_or_near() {
        return symbols.leads_to(instruction.near_branch_target());
    }
    let through_slot = instruction.is_call_near_indirect() || instruction.is_jmp_near_indirect();
    let slot = through_slot
        && instruction.op0_kind() == OpKind::Memory
        && instruction.is_ip_rel_memory_operand();
    slot.then(|| symbols.through_slot(instruction.ip_rel_memory_address()))?
}

/// Whether an instruction calls: what it leaves in registers that calls may use is its own.
fn is_call(instruction: &Instruction) -> bool {
    matches!(
        instruction.flow_control(),
        FlowControl::Call | FlowControl::IndirectCall
    )
}

/// The instructions of a function, in the order of their addresses.
fn decode(bytes: &[u8], start: u64) -> Vec<Instruction> {
    Decoder::with_ip(64, bytes, start, DecoderOptions::NONE)
        .into_iter()
        .collect()
}
