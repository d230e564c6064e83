//! The instructions of a function, and the targets of its calls.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, OpKind};

use crate::symbols::Symbols;

/// Longer functions are not examined: 64 KiB.
pub(crate) const LARGEST: u64 = 1 << 16;

/// The call instructions that name their function and whose last byte is at `last`: `E8 rel32` and
/// `FF 15 rel32`. At most one of the two is an instruction of the program.
pub(crate) fn calls_ending_at(symbols: &Symbols, last: u64) -> impl Iterator<Item = Instruction> {
    let function = symbols.code(last);
    [5, 6].into_iter().filter_map(move |length| {
        let function = function.as_ref()?;
        let end = usize::try_from(last.checked_sub(function.start)? + 1).ok()?;
        let code = symbols.bytes(function).get(end.checked_sub(length)?..end)?;
        let ip = last + 1 - length as u64;
        let call = Decoder::with_ip(64, code, ip, DecoderOptions::NONE).decode();
        (is_call(&call) && call.len() == length).then_some(call)
    })
}

/// The function that is called last before the call with its last byte at `last`, with no jump between the
/// two, by name.
pub(crate) fn call_before(symbols: &Symbols, last: u64) -> Option<String> {
    let function = symbols.code(last).filter(|it| it.size <= LARGEST)?;
    let code = decode(symbols.bytes(&function), function.start);
    let at = code.partition_point(|it| it.next_ip() <= last);
    let before = code.get(..at)?.iter().rev();
    let mut branches = before.filter(|it| it.flow_control() != FlowControl::Next);
    reached(symbols, branches.next().filter(|it| is_call(it))?)
}

/// The function that the call with its last byte at `last` reaches, by name.
#[must_use]
pub fn called(symbols: &Symbols, last: u64) -> Option<String> {
    calls_ending_at(symbols, last).find_map(|call| reached(symbols, &call))
}

/// The function that a call or jump leads to, by name.
pub(super) fn reached(symbols: &Symbols, instruction: &Instruction) -> Option<String> {
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

/// Whether an instruction is a call, after which caller-saved registers may have changed.
pub(super) fn is_call(instruction: &Instruction) -> bool {
    matches!(
        instruction.flow_control(),
        FlowControl::Call | FlowControl::IndirectCall
    )
}

/// The instructions of a function, in the order of their addresses.
pub(crate) fn decode(bytes: &[u8], start: u64) -> Vec<Instruction> {
    Decoder::with_ip(64, bytes, start, DecoderOptions::NONE)
        .into_iter()
        .collect()
}
