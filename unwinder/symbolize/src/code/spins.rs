//! Loops that wait for another thread: user code that spins on a flag.
//!
//! A loop without an effect ends only if another thread does something. A loop has no effect if it
//! writes no memory, and if no iteration reads a register that the previous one wrote: then all
//! iterations do the same, except for the values that they load. Compilers generate such loops around
//! an atomic read, `flush`, or a fence. A loop with `pause` (or a call of `sched_yield`) is meant to
//! wait; such a loop may also count its iterations, and try to set the flag by an atomic operation.

use std::collections::HashMap;
use std::ops::Range;

use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, Register};

use super::instructions::{LARGEST, decode, reached};
use crate::symbols::Symbols;

/// Most instructions of a loop that is examined.
const LONGEST: usize = 48;

/// The waiting loops of one load object, by function.
#[derive(Default)]
pub(crate) struct SpinLoops {
    /// By the function's first address.
    loops: HashMap<u64, Vec<Range<u64>>>,
}

impl SpinLoops {
    /// Whether an address lies in a loop that waits.
    pub(crate) fn hold(&mut self, symbols: &Symbols, address: u64) -> bool {
        let loops = self.around(symbols, address);
        loops.iter().any(|range| range.contains(&address))
    }

    /// The waiting loops of the function around an address.
    pub(crate) fn around(&mut self, symbols: &Symbols, address: u64) -> &[Range<u64>] {
        let function = symbols.code(address);
        let Some(function) = function.filter(|it| it.size <= LARGEST) else {
            return &[];
        };
        self.loops.entry(function.start).or_insert_with(|| {
            let code = decode(symbols.bytes(&function), function.start);
            waiting_loops(&code, &mut |call| effect_of(reached(symbols, call)))
        })
    }
}

/// The effect of a call in a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    /// It orders memory.
    Fence,
    /// It lets others run.
    Yield,
    /// Anything.
    Other,
}

fn effect_of(callee: Option<String>) -> Call {
    match callee.as_deref() {
        Some("__kmpc_flush" | "__tsan_atomic_thread_fence") => Call::Fence,
        // The sanitizer is told of a read.
        Some(name) if name.starts_with("__tsan_read") => Call::Fence,
        Some("sched_yield" | "__sched_yield" | "pthread_yield" | "thrd_yield") => Call::Yield,
        _ => Call::Other,
    }
}

/// The address ranges of a function's loops that wait, each without another loop in it.
fn waiting_loops(
    code: &[Instruction],
    judge: &mut dyn FnMut(&Instruction) -> Call,
) -> Vec<Range<u64>> {
    let mut loops: Vec<Range<u64>> = Vec::new();
    let mut factory = InstructionInfoFactory::new();
    for (last, jump) in code.iter().enumerate() {
        let Some(head) = back_to(jump) else { continue };
        let Ok(first) = code[..=last].binary_search_by_key(&head, Instruction::ip) else {
            continue;
        };
        let body = &code[first..=last];
        if body.len() <= LONGEST
            && Iteration::of(body, &mut factory, judge).is_some_and(Iteration::waits)
        {
            loops.push(head..jump.next_ip());
        }
    }
    loops
}

/// Where a branch leads that leads back.
fn back_to(jump: &Instruction) -> Option<u64> {
    let branches = matches!(
        jump.flow_control(),
        FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
    );
    let target = jump.near_branch_target();
    (branches && target <= jump.ip()).then_some(target)
}

/// What one iteration of a loop does.
#[derive(Clone, Copy, Debug, Default)]
struct Iteration {
    loads: bool,
    /// Atomic operations on memory.
    takes: bool,
    /// `pause`, or a call that lets others run.
    yields: bool,
    /// A register or flag carries a value into the next iteration.
    carries: bool,
}

impl Iteration {
    fn waits(self) -> bool {
        if self.yields {
            return self.loads || self.takes;
        }
        self.loads && !self.takes && !self.carries
    }

    /// `None` if it does what a waiting loop does not: writes, calls, returns, branches within.
    fn of(
        body: &[Instruction],
        factory: &mut InstructionInfoFactory,
        judge: &mut dyn FnMut(&Instruction) -> Call,
    ) -> Option<Iteration> {
        let (first, last) = (body.first()?, body.last()?);
        let inside = first.next_ip()..last.next_ip();
        let mut iteration = Iteration::default();
        let mut values = Values::default();
        for (at, instruction) in body.iter().enumerate() {
            let ends = at + 1 == body.len();
            match instruction.flow_control() {
                FlowControl::Next => {}
                FlowControl::ConditionalBranch if ends => {}
                FlowControl::UnconditionalBranch if ends => {}
                FlowControl::ConditionalBranch
                    if !inside.contains(&instruction.near_branch_target()) => {}
                FlowControl::Call | FlowControl::IndirectCall => {
                    match judge(instruction) {
                        // It orders loads, so the loop has some.
                        Call::Fence => iteration.loads = true,
                        Call::Yield => iteration.yields = true,
                        Call::Other => return None,
                    }
                    values.forget_after_call();
                    continue;
                }
                _ => return None,
            }
            iteration.yields |= instruction.mnemonic() == Mnemonic::Pause;
            values.apply(instruction, factory);
            iteration.access(instruction, factory)?;
        }
        iteration.carries = values.carried();
        Some(iteration)
    }

    /// Notes what an instruction does to memory; `None` for a plain write.
    fn access(
        &mut self,
        instruction: &Instruction,
        factory: &mut InstructionInfoFactory,
    ) -> Option<()> {
        // `lock or $0, (%rsp)` is gcc's fence.
        let fence = instruction.has_lock_prefix()
            && instruction.mnemonic() == Mnemonic::Or
            && instruction.memory_base() == Register::RSP;
        let fence = fence || matches!(instruction.mnemonic(), Mnemonic::Mfence | Mnemonic::Lfence);
        if fence {
            return Some(());
        }
        let atomic = instruction.has_lock_prefix() || instruction.mnemonic() == Mnemonic::Xchg;
        for memory in factory.info(instruction).used_memory() {
            match memory.access() {
                OpAccess::Read | OpAccess::CondRead => self.loads = true,
                OpAccess::None | OpAccess::NoMemAccess => {}
                _ if atomic => self.takes = true,
                _ => return None,
            }
        }
        Some(())
    }
}

/// The registers and flags that an iteration reads before it writes them, and those that it writes.
#[derive(Default)]
struct Values {
    read: Vec<Register>,
    written: Vec<Register>,
    flags_read: u32,
    flags_written: u32,
}

/// Registers that a called function may change (System V ABI for AMD64, 3.2.1).
pub(super) const CALLER_SAVED: [Register; 9] = [
    Register::RAX,
    Register::RCX,
    Register::RDX,
    Register::RSI,
    Register::RDI,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
];

impl Values {
    fn apply(&mut self, instruction: &Instruction, factory: &mut InstructionInfoFactory) {
        self.flags_read |= instruction.rflags_read() & !self.flags_written;
        let mut wrote = Vec::new();
        for used in factory.info(instruction).used_registers() {
            let whole = used.register().full_register();
            let (reads, writes) = match used.access() {
                OpAccess::Read | OpAccess::CondRead => (true, false),
                OpAccess::Write => (false, true),
                OpAccess::ReadWrite | OpAccess::CondWrite | OpAccess::ReadCondWrite => (true, true),
                _ => (false, false),
            };
            if reads && !self.written.contains(&whole) {
                self.read.push(whole);
            }
            if writes {
                // A write of a part keeps the rest of the register, unless the part has 32 bits.
                let part = used.register().size() < 4 && !self.written.contains(&whole);
                if part {
                    self.read.push(whole);
                }
                wrote.push(whole);
            }
        }
        self.written.extend(wrote);
        self.flags_written |= instruction.rflags_modified();
    }

    fn forget_after_call(&mut self) {
        self.written.extend(CALLER_SAVED);
        self.flags_written = u32::MAX;
    }

    fn carried(&self) -> bool {
        let register = self.read.iter().any(|register| {
            // The stack pointer returns to its value in each iteration.
            *register != Register::RSP && self.written.contains(register)
        });
        register || self.flags_read & self.flags_written != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Begin and end of each.
    fn loops(bytes: &[u8]) -> Vec<(u64, u64)> {
        let found = waiting_loops(&decode(bytes, 0x1000), &mut |_| Call::Fence);
        found.iter().map(|at| (at.start, at.end)).collect()
    }

    #[test]
    fn a_loop_around_a_read_waits() {
        // mov (%rdi),%eax; test %eax,%eax; je -6
        let bytes = [0x8b, 0x07, 0x85, 0xc0, 0x74, 0xfa, 0xc3];
        assert_eq!(loops(&bytes), [(0x1000, 0x1006)]);
        // cmpl $0,(%rdi); je -5
        assert_eq!(
            loops(&[0x83, 0x3f, 0x00, 0x74, 0xfb, 0xc3]),
            [(0x1000, 0x1005)]
        );
    }

    #[test]
    fn fences_are_no_effect() {
        // lock orq $0,(%rsp); mov (%rdi),%eax; cmp %eax,%esi; jg -12
        let gcc = [
            0xf0, 0x48, 0x83, 0x0c, 0x24, 0x00, 0x8b, 0x07, 0x39, 0xc6, 0x7f, 0xf4, 0xc3,
        ];
        assert_eq!(loops(&gcc), [(0x1000, 0x100c)]);
        // mfence; mov (%rdi),%eax; test %eax,%eax; je -9
        let mfence = [0x0f, 0xae, 0xf0, 0x8b, 0x07, 0x85, 0xc0, 0x74, 0xf7, 0xc3];
        assert_eq!(loops(&mfence), [(0x1000, 0x1009)]);
        // call flush; mov (%rbx),%eax; cmp %ebp,%eax; jl -11
        let clang = [
            0xe8, 0x00, 0x10, 0x00, 0x00, 0x8b, 0x03, 0x39, 0xe8, 0x7c, 0xf5, 0xc3,
        ];
        assert_eq!(loops(&clang), [(0x1000, 0x100b)]);
    }

    #[test]
    fn a_loop_that_pauses_may_count_and_take() {
        // pause; dec %ecx; je +4; mov (%rdi),%eax; test %eax,%eax; je -12
        let counted = [
            0xf3, 0x90, 0xff, 0xc9, 0x74, 0x06, 0x8b, 0x07, 0x85, 0xc0, 0x74, 0xf4, 0xc3,
        ];
        assert_eq!(loops(&counted), [(0x1000, 0x100c)]);
        // pause; xchg %eax,(%rdi); test %eax,%eax; jne -8
        let taking = [0xf3, 0x90, 0x87, 0x07, 0x85, 0xc0, 0x75, 0xf8, 0xc3];
        assert_eq!(loops(&taking), [(0x1000, 0x1008)]);
    }

    #[test]
    fn work_does_not_wait() {
        // add (%rdi),%eax; add $4,%rdi; cmp %rsi,%rdi; jne -11: a sum
        let sum = [
            0x03, 0x07, 0x48, 0x83, 0xc7, 0x04, 0x48, 0x39, 0xf7, 0x75, 0xf5, 0xc3,
        ];
        // mov %eax,(%rdi); cmp (%rsi),%eax; jne -6: writes
        let store = [0x89, 0x07, 0x3b, 0x06, 0x75, 0xfa, 0xc3];
        // dec %ecx; jne -4: counts, and waits for nobody
        let count = [0xff, 0xc9, 0x75, 0xfc, 0xc3];
        // call anything; mov (%rbx),%eax; test %eax,%eax; je -11
        let call = [
            0xe8, 0x00, 0x10, 0x00, 0x00, 0x8b, 0x03, 0x85, 0xc0, 0x74, 0xf5, 0xc3,
        ];
        for bytes in [&sum[..], &store, &count] {
            assert_eq!(loops(bytes), [], "{bytes:x?}");
        }
        let others = waiting_loops(&decode(&call, 0x1000), &mut |_| Call::Other);
        assert_eq!(others, []);
    }
}
