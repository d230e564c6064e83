//! Bodies of constructs that no stack showed: where a body ends by jumping into another function,
//! no sample ever lies in it. The call that forked has its address in a register.

use std::collections::HashSet;

use iced_x86::{
    FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};

use super::bodies::{Body, GIVEN};
use super::instructions::{LARGEST, decode, is_call, reached};
use crate::symbols::{ElfFunction, Symbols};

/// The bodies that calls of one load object hand over.
pub(crate) struct BodyArguments<'a> {
    symbols: &'a Symbols,
    /// The function that was looked at last: calls come in the order of their addresses.
    holder: Option<Holder>,
}

/// A function whose calls are looked at.
struct Holder {
    function: ElfFunction,
    code: Vec<Instruction>,
    /// What its own branches lead to.
    joins: HashSet<u64>,
}

impl<'a> BodyArguments<'a> {
    pub(crate) fn new(symbols: &'a Symbols) -> Self {
        BodyArguments {
            symbols,
            holder: None,
        }
    }

    /// The function that the call instruction whose last byte is at `last` gives the runtime to
    /// run, and what it is the body of. Only what must be so ([`Holder::value`]).
    pub(crate) fn at(&mut self, last: u64) -> Option<(ElfFunction, Body)> {
        let symbols = self.symbols;
        let holder = self.holder(last)?;
        let call = holder
            .code
            .binary_search_by_key(&(last + 1), Instruction::next_ip)
            .ok()?;
        let entry = reached(symbols, &holder.code[call])?;
        // A task's body was given to the runtime when its memory was asked for.
        let call = match entry.as_str() {
            "__kmpc_omp_task" | "__kmpc_omp_task_with_deps" | "__kmpc_taskloop" => {
                holder.call_before(call)?
            }
            _ => call,
        };
        let entry = reached(symbols, &holder.code[call])?;
        let &(_, construct, register) =
            GIVEN.iter().find(|(start, ..)| entry.starts_with(start))?;
        let target = holder.value(call, register)?;
        let body = symbols.code(target)?;
        let parent = holder.function.clone();
        (body.start == target).then_some((body, Body { construct, parent }))
    }

    fn holder(&mut self, last: u64) -> Option<&Holder> {
        let within = |function: &ElfFunction| {
            (function.start..function.start + function.size).contains(&last)
        };
        if !self.holder.as_ref().is_some_and(|it| within(&it.function)) {
            let function = self.symbols.code(last).filter(|it| it.size <= LARGEST)?;
            let code = decode(self.symbols.bytes(&function), function.start);
            self.holder = Some(Holder::new(function, code));
        }
        self.holder.as_ref()
    }
}

impl Holder {
    fn new(function: ElfFunction, code: Vec<Instruction>) -> Holder {
        let branches = code
            .iter()
            .filter(|it| it.is_jcc_short_or_near() || it.is_jmp_short_or_near());
        let joins = branches.map(Instruction::near_branch_target).collect();
        Holder {
            function,
            code,
            joins,
        }
    }

    /// The instructions before one that are always run before it, the nearest first.
    fn straight(&self, at: usize) -> impl Iterator<Item = (usize, &Instruction)> {
        let joins = |at: usize| self.joins.contains(&self.code[at].ip());
        let joined = (0..=at).rev().take_while(move |&at| !joins(at)).count();
        let before = (at.saturating_sub(joined)..at).rev();
        before
            .map(|at| (at, &self.code[at]))
            .take_while(|(_, it)| !ends(it.flow_control()))
    }

    /// The call before a call.
    fn call_before(&self, at: usize) -> Option<usize> {
        let mut before = self.straight(at);
        before.find(|(_, it)| is_call(it)).map(|(at, _)| at)
    }

    /// The address in a register when a call is made: set on the straight way to it, or kept for
    /// the whole function in a register that calls leave alone.
    fn value(&self, call: usize, register: Register) -> Option<u64> {
        let mut holder = register;
        for (_, instruction) in self.straight(call) {
            if is_call(instruction) && !KEPT.contains(&holder) {
                return None;
            }
            if !writes(instruction, holder) {
                continue;
            }
            if (instruction.mnemonic(), instruction.op1_kind()) != (Mnemonic::Mov, OpKind::Register)
            {
                return address(instruction);
            }
            holder = instruction.op1_register().full_register();
        }
        if !KEPT.contains(&holder) {
            return None;
        }
        let mut written = self.code.iter().filter(|it| writes(it, holder));
        match (written.next(), written.next()) {
            (Some(only), None) => address(only),
            _ => None,
        }
    }
}

/// Registers that a function leaves as they were.
const KEPT: [Register; 6] = [
    Register::RBX,
    Register::RBP,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];

/// Whether an instruction gives a register a value, other than the one that it had for the caller.
fn writes(instruction: &Instruction, register: Register) -> bool {
    if instruction.mnemonic() == Mnemonic::Pop {
        return false;
    }
    let mut factory = InstructionInfoFactory::new();
    let used = factory.info(instruction).used_registers().iter();
    let mut written = used.filter(|used| {
        !matches!(
            used.access(),
            OpAccess::None | OpAccess::NoMemAccess | OpAccess::Read | OpAccess::CondRead
        )
    });
    written.any(|used| used.register().full_register() == register)
}

/// The address that an instruction puts into a register.
fn address(instruction: &Instruction) -> Option<u64> {
    match (instruction.mnemonic(), instruction.op1_kind()) {
        (Mnemonic::Lea, OpKind::Memory) if instruction.is_ip_rel_memory_operand() => {
            Some(instruction.ip_rel_memory_address())
        }
        (Mnemonic::Mov, OpKind::Immediate32 | OpKind::Immediate32to64) => {
            Some(u64::from(instruction.immediate32()))
        }
        _ => None,
    }
}

/// Whether what stands behind such an instruction is reached from elsewhere.
const fn ends(flow: FlowControl) -> bool {
    matches!(
        flow,
        FlowControl::UnconditionalBranch | FlowControl::IndirectBranch | FlowControl::Return
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: u64 = 0x1000;
    /// `call` to somewhere.
    const CALL: [u8; 5] = [0xe8, 0, 1, 0, 0];
    /// `mov $0x3000,%edi`, `mov $0x3000,%ebp`, `mov %rbp,%rdi`.
    const SET_RDI: [u8; 5] = [0xbf, 0, 0x30, 0, 0];
    const SET_RBP: [u8; 5] = [0xbd, 0, 0x30, 0, 0];
    const MOVE: [u8; 3] = [0x48, 0x89, 0xef];
    /// `push %rbp`, `pop %rbp`.
    const PUSH: [u8; 1] = [0x55];
    const POP: [u8; 1] = [0x5d];

    /// What is in %rdi at the last call of code that is put together of these pieces.
    fn argument(pieces: &[&[u8]]) -> Option<u64> {
        let bytes = pieces.concat();
        let function = ElfFunction {
            name: "f".to_owned(),
            start: ENTRY,
            size: bytes.len() as u64,
        };
        let holder = Holder::new(function, decode(&bytes, ENTRY));
        let call = holder.code.iter().rposition(is_call)?;
        holder.value(call, Register::RDI)
    }

    #[test]
    fn a_body_is_told_where_it_must_be_that_one() {
        let body = Some(0x3000);
        assert_eq!(argument(&[&SET_RDI, &CALL]), body);
        // lea 0x1000(%rip),%rdi
        let lea = [0x48, 0x8d, 0x3d, 0, 0x10, 0, 0];
        assert_eq!(argument(&[&lea, &CALL]), Some(ENTRY + 7 + 0x1000));
        assert_eq!(argument(&[&SET_RBP, &MOVE, &CALL]), body);
        // Kept over a call, or over a loop (jne to the move).
        assert_eq!(argument(&[&SET_RBP, &CALL, &MOVE, &CALL]), body);
        let again = [0x75, 0xf6];
        let kept: [&[u8]; 6] = [&PUSH, &SET_RBP, &MOVE, &CALL, &again, &POP];
        assert_eq!(argument(&kept), body);
    }

    #[test]
    fn a_body_that_may_be_another_one_is_not_told() {
        // What a call leaves in a register is its own.
        assert_eq!(argument(&[&SET_RDI, &CALL, &CALL]), None);
        // je over the setting: at the call it may be what it was.
        assert_eq!(argument(&[&[0x74, 0x05], &SET_RDI, &CALL]), None);
        // Set in two places, of which neither is on the straight way.
        let over = [0x74, 0x05];
        let twice: [&[u8]; 5] = [&SET_RBP, &over, &SET_RBP, &MOVE, &CALL];
        assert_eq!(argument(&twice), None);
        // add $1,%edi
        assert_eq!(argument(&[&SET_RDI, &[0x83, 0xc7, 1], &CALL]), None);
        assert_eq!(argument(&[&CALL]), None);
    }
}
