//! Bodies of constructs that are on no stack. If a body ends in a jump to another function, no sample
//! lies in it. Its address is in a register at the call into the runtime.

use std::collections::HashSet;

use iced_x86::{
    FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};

use super::bodies::{Body, GIVEN};
use super::instructions::{LARGEST, decode, is_call, reached};
use crate::symbols::{ElfFunction, Symbols};

/// Finds the bodies that calls of one load object pass to the runtime.
pub(crate) struct BodyArguments<'a> {
    symbols: &'a Symbols,
    /// The function of the last call: calls come in the order of their addresses.
    caller: Option<Caller>,
}

/// A function that calls the runtime.
struct Caller {
    function: ElfFunction,
    code: Vec<Instruction>,
    /// The targets of its branches.
    targets: HashSet<u64>,
}

impl<'a> BodyArguments<'a> {
    pub(crate) fn new(symbols: &'a Symbols) -> Self {
        BodyArguments {
            symbols,
            caller: None,
        }
    }

    /// The body that the call (or jump) whose last byte is at `last` passes to the runtime, and its
    /// construct. Only if it is certain ([`Caller::value`]).
    pub(crate) fn at(&mut self, last: u64) -> Option<(ElfFunction, Body)> {
        let symbols = self.symbols;
        let caller = self.caller(last)?;
        let call = caller
            .code
            .binary_search_by_key(&(last + 1), Instruction::next_ip)
            .ok()?;
        let entry = reached(symbols, &caller.code[call])?;
        // The body of a task is passed by the call before, which allocates the task.
        let call = match entry.as_str() {
            "__kmpc_omp_task"
            | "__kmpc_omp_task_with_deps"
            | "__kmpc_taskloop"
            | "__kmpc_taskloop_5" => caller.call_before(call)?,
            _ => call,
        };
        let entry = reached(symbols, &caller.code[call])?;
        let &(_, construct, register) =
            GIVEN.iter().find(|(start, ..)| entry.starts_with(start))?;
        let target = caller.value(call, register)?;
        let body = symbols.code(target)?;
        let given = Body {
            construct,
            calls: vec![(caller.function.clone(), last)],
        };
        (body.start == target).then_some((body, given))
    }

    fn caller(&mut self, last: u64) -> Option<&Caller> {
        let within = |function: &ElfFunction| {
            (function.start..function.start + function.size).contains(&last)
        };
        if !self.caller.as_ref().is_some_and(|it| within(&it.function)) {
            let function = self.symbols.code(last).filter(|it| it.size <= LARGEST)?;
            let code = decode(self.symbols.bytes(&function), function.start);
            self.caller = Some(Caller::new(function, code));
        }
        self.caller.as_ref()
    }
}

impl Caller {
    fn new(function: ElfFunction, code: Vec<Instruction>) -> Caller {
        let branches = code
            .iter()
            .filter(|it| it.is_jcc_short_or_near() || it.is_jmp_short_or_near());
        let targets = branches.map(Instruction::near_branch_target).collect();
        Caller {
            function,
            code,
            targets,
        }
    }

    /// The instructions that always run before one, the nearest first.
    fn run_before(&self, at: usize) -> impl Iterator<Item = (usize, &Instruction)> {
        let is_target = |at: usize| self.targets.contains(&self.code[at].ip());
        let count = (0..=at).rev().take_while(move |&at| !is_target(at)).count();
        let before = (at.saturating_sub(count)..at).rev();
        before
            .map(|at| (at, &self.code[at]))
            .take_while(|(_, it)| !ends(it.flow_control()))
    }

    /// The call before a call.
    fn call_before(&self, at: usize) -> Option<usize> {
        let mut before = self.run_before(at);
        before.find(|(_, it)| is_call(it)).map(|(at, _)| at)
    }

    /// The address in a register at a call: set by an instruction that always runs before the call, or
    /// set once in the function, in a callee-saved register.
    fn value(&self, call: usize, register: Register) -> Option<u64> {
        let mut holder = register;
        for (_, instruction) in self.run_before(call) {
            if is_call(instruction) && !CALLEE_SAVED.contains(&holder) {
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
        if !CALLEE_SAVED.contains(&holder) {
            return None;
        }
        let mut written = self.code.iter().filter(|it| writes(it, holder));
        match (written.next(), written.next()) {
            (Some(only), None) => address(only),
            _ => None,
        }
    }
}

/// Callee-saved registers (System V ABI for AMD64, 3.2.1).
pub(super) const CALLEE_SAVED: [Register; 6] = [
    Register::RBX,
    Register::RBP,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];

/// Whether an instruction writes a register, other than restoring it for the caller.
pub(super) fn writes(instruction: &Instruction, register: Register) -> bool {
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

/// Whether the next instruction is reached only from elsewhere.
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
        let caller = Caller::new(function, decode(&bytes, ENTRY));
        let call = caller.code.iter().rposition(is_call)?;
        caller.value(call, Register::RDI)
    }

    #[test]
    fn a_certain_body_is_found() {
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
    fn an_uncertain_body_is_not_found() {
        // A call may change the register.
        assert_eq!(argument(&[&SET_RDI, &CALL, &CALL]), None);
        // je over the setting: at the call it may be what it was.
        assert_eq!(argument(&[&[0x74, 0x05], &SET_RDI, &CALL]), None);
        // Set twice, and neither instruction always runs before the call.
        let over = [0x74, 0x05];
        let twice: [&[u8]; 5] = [&SET_RBP, &over, &SET_RBP, &MOVE, &CALL];
        assert_eq!(argument(&twice), None);
        // add $1,%edi
        assert_eq!(argument(&[&SET_RDI, &[0x83, 0xc7, 1], &CALL]), None);
        assert_eq!(argument(&[&CALL]), None);
    }
}
