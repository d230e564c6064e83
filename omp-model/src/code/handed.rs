//! Bodies of constructs that no stack showed: where a body ends by jumping into another function,
//! no sample ever lies in it. The call that forked has its address in a register.

use std::collections::HashSet;

use iced_x86::{
    FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};
use unwinder::{Function, Symbols};

use super::bodies::{Body, GIVEN};
use super::{LARGEST, decode, reached};

/// The bodies that calls of one load object hand over.
pub(crate) struct Handed<'a> {
    symbols: &'a Symbols,
    /// The function that was looked at last: calls come in the order of their addresses.
    holder: Option<Holder>,
}

/// A function whose calls are looked at.
struct Holder {
    function: Function,
    code: Vec<Instruction>,
    /// What its own branches lead to.
    joins: HashSet<u64>,
}

impl<'a> Handed<'a> {
    pub(crate) fn new(symbols: &'a Symbols) -> Self {
        Handed {
            symbols,
            holder: None,
        }
    }

    /// The function that the call instruction whose last byte is at `last` gives the runtime to
    /// run, and what it is the body of. Only what must be so: between the two there is neither
    /// another call nor a place that a branch leads to.
    pub(crate) fn at(&mut self, last: u64) -> Option<(Function, Body)> {
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
        let within =
            |function: &Function| (function.start..function.start + function.size).contains(&last);
        if !self.holder.as_ref().is_some_and(|it| within(&it.function)) {
            let function = self.symbols.code(last).filter(|it| it.size <= LARGEST)?;
            let code = decode(self.symbols.bytes(&function), function.start);
            let joins = code
                .iter()
                .filter(|it| it.is_jcc_short_or_near() || it.is_jmp_short_or_near())
                .map(Instruction::near_branch_target)
                .collect();
            self.holder = Some(Holder {
                function,
                code,
                joins,
            });
        }
        self.holder.as_ref()
    }
}

impl Holder {
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
        let calls = |it: &Instruction| is_call(it.flow_control());
        self.straight(at)
            .find(|(_, it)| calls(it))
            .map(|(at, _)| at)
    }

    /// The address in a register when a call is made: set on the straight way to it, or kept for
    /// the whole function in a register that calls leave alone.
    fn value(&self, call: usize, register: Register) -> Option<u64> {
        let mut holder = register;
        for (_, instruction) in self.straight(call) {
            if is_call(instruction.flow_control()) && !KEPT.contains(&holder) {
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

const fn is_call(flow: FlowControl) -> bool {
    matches!(flow, FlowControl::Call | FlowControl::IndirectCall)
}

/// Whether what stands behind such an instruction is reached from elsewhere.
const fn ends(flow: FlowControl) -> bool {
    matches!(
        flow,
        FlowControl::UnconditionalBranch | FlowControl::IndirectBranch | FlowControl::Return
    )
}
