//! Critical sections that a compiler generated for a reduction. Clang's code asks the runtime how the
//! threads of a team combine their results (`__kmpc_reduce*`). If the result is 2, each thread
//! combines for itself; where no atomic instruction can do that, the compiler generates a critical
//! section, which the source does not have. Its lock serves nothing else in the function.

use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind, Register};

use super::instructions::{LARGEST, decode, is_call, reached};
use crate::symbols::Symbols;

/// The result of `__kmpc_reduce*` after which each thread combines for itself (`kmp_csupport.cpp`).
const EACH_FOR_ITSELF: u64 = 2;

/// Most instructions between that call and the comparison of its result.
const NEAR: usize = 12;

/// Whether the call of `callee` whose last byte is at `last` enters a reduction's section.
pub(super) fn combines(symbols: &Symbols, last: u64, callee: Option<&str>) -> bool {
    if !callee.is_some_and(|name| name.starts_with("__kmpc_critical")) {
        return false;
    }
    let Some(function) = symbols.code(last).filter(|f| f.size <= LARGEST) else {
        return false;
    };
    let code = decode(symbols.bytes(&function), function.start);
    let mut names = |call: &Instruction| reached(symbols, call);
    at_call(&code, last + 1, &mut names)
}

/// Whether the call that ends at `after` enters a reduction's section.
fn at_call(
    code: &[Instruction],
    after: u64,
    names: &mut dyn FnMut(&Instruction) -> Option<String>,
) -> bool {
    let Some(at) = code.iter().position(|call| call.next_ip() == after) else {
        return false;
    };
    let Some(lock) = lock_of(code, at) else {
        return false;
    };
    (0..code.len()).any(|asked| {
        let asks = is_call(&code[asked])
            && names(&code[asked]).is_some_and(|name| name.starts_with("__kmpc_reduce"));
        let section = asks
            .then(|| each_for_itself(code, asked))
            .flatten()
            .and_then(|from| first_section(code, from, names));
        section.is_some_and(|section| lock_of(code, section) == Some(lock))
    })
}

/// The index of the first instruction for that result of the call at `asked`.
fn each_for_itself(code: &[Instruction], asked: usize) -> Option<usize> {
    let compares = |it: &Instruction| {
        matches!(it.mnemonic(), Mnemonic::Cmp | Mnemonic::Sub)
            && it.op0_kind() == OpKind::Register
            && it.op_count() == 2
            && immediate(it, 1) == Some(EACH_FOR_ITSELF)
    };
    let near = code.iter().enumerate().skip(asked + 1).take(NEAR);
    let (at, _) = near
        .take_while(|(_, it)| !is_call(it))
        .find(|(_, it)| compares(it))?;
    let jump = code.get(at + 1)?;
    match jump.mnemonic() {
        Mnemonic::Je => code
            .iter()
            .position(|it| it.ip() == jump.near_branch_target()),
        Mnemonic::Jne => Some(at + 2),
        _ => None,
    }
}

/// The first call of `__kmpc_critical` from an instruction on, before other paths join: the code
/// after that is the program's.
fn first_section(
    code: &[Instruction],
    from: usize,
    names: &mut dyn FnMut(&Instruction) -> Option<String>,
) -> Option<usize> {
    let start = code.get(from)?.ip();
    // A conditional jump back is the loop around an atomic exchange.
    let joins = |jump: &Instruction| match jump.flow_control() {
        FlowControl::ConditionalBranch => jump.ip() < start,
        FlowControl::UnconditionalBranch => true,
        _ => false,
    };
    let joined = |ip: u64| {
        let mut jumps = code.iter().filter(|jump| joins(jump));
        jumps.any(|jump| jump.near_branch_target() == ip)
    };
    for (at, instruction) in code.iter().enumerate().skip(from) {
        if at > from && joined(instruction.ip()) {
            return None;
        }
        match instruction.flow_control() {
            FlowControl::Next | FlowControl::ConditionalBranch => {}
            _ if is_call(instruction) => {
                let name = names(instruction)?;
                if name.starts_with("__kmpc_critical") {
                    return Some(at);
                }
                // Other variables of the same reduction.
                if !name.contains("atomic") {
                    return None;
                }
            }
            _ => return None,
        }
    }
    None
}

/// The address of the lock that the call at `call` is given, or of the linker's slot for it.
fn lock_of(code: &[Instruction], call: usize) -> Option<u64> {
    let mut holder = Register::RDX;
    for instruction in code[..call].iter().rev() {
        let writes = instruction.op_count() > 0
            && instruction.op0_kind() == OpKind::Register
            && instruction.op0_register().full_register() == holder
            && !matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test);
        if !writes {
            // A call leaves nothing in the registers of arguments.
            if is_call(instruction) && holder == Register::RDX {
                return None;
            }
            continue;
        }
        let within = instruction.is_ip_rel_memory_operand();
        match (instruction.mnemonic(), instruction.op1_kind()) {
            (Mnemonic::Lea | Mnemonic::Mov, OpKind::Memory) if within => {
                return Some(instruction.ip_rel_memory_address());
            }
            (Mnemonic::Mov, OpKind::Register) => {
                holder = instruction.op1_register().full_register();
            }
            (Mnemonic::Mov, _) => return immediate(instruction, 1),
            // Given back at the function's end.
            (Mnemonic::Pop, _) => {}
            _ => return None,
        }
    }
    None
}

fn immediate(instruction: &Instruction, operand: u32) -> Option<u64> {
    let kind = instruction.op_kind(operand);
    let is = matches!(
        kind,
        OpKind::Immediate8
            | OpKind::Immediate16
            | OpKind::Immediate32
            | OpKind::Immediate64
            | OpKind::Immediate8to32
            | OpKind::Immediate8to64
            | OpKind::Immediate32to64
    );
    is.then(|| instruction.immediate(operand))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: u64 = 0x1000;
    const REDUCE: u64 = 0x2000;
    const CRITICAL: u64 = 0x2010;
    const OTHER: u64 = 0x2020;

    /// Builds code at `ENTRY`.
    #[derive(Default)]
    struct Assembler(Vec<u8>);

    impl Assembler {
        fn here(&self) -> u64 {
            ENTRY + self.0.len() as u64
        }

        fn bytes(mut self, bytes: &[u8]) -> Self {
            self.0.extend(bytes);
            self
        }

        fn call(mut self, target: u64) -> Self {
            let next = self.here() + 5;
            self.0.push(0xe8);
            self.0.extend(
                i32::try_from(target.cast_signed() - next.cast_signed())
                    .unwrap()
                    .to_le_bytes(),
            );
            self
        }

        /// lea lock(%rip),%rdx
        fn lock(mut self, lock: u64) -> Self {
            let next = self.here() + 7;
            self.0.extend([0x48, 0x8d, 0x15]);
            self.0.extend(
                i32::try_from(lock.cast_signed() - next.cast_signed())
                    .unwrap()
                    .to_le_bytes(),
            );
            self
        }
    }

    /// The result for each call of `__kmpc_critical`.
    fn results(code: &Assembler) -> Vec<bool> {
        let code = decode(&code.0, ENTRY);
        let mut names = |call: &Instruction| {
            let name = match call.near_branch_target() {
                REDUCE => "__kmpc_reduce_nowait",
                CRITICAL => "__kmpc_critical",
                _ => "burn",
            };
            Some(name.to_owned())
        };
        let calls = code.iter().filter(|it| is_call(it));
        let criticals: Vec<u64> = calls
            .filter(|call| call.near_branch_target() == CRITICAL)
            .map(Instruction::next_ip)
            .collect();
        let at = |&after: &u64| at_call(&code, after, &mut names);
        criticals.iter().map(at).collect()
    }

    #[test]
    fn the_section_of_the_answer_two_combines_and_the_program_s_own_does_not() {
        let code = Assembler::default()
            .call(REDUCE)
            // cmp $2,%eax; jne over two sections
            .bytes(&[0x83, 0xf8, 0x02, 0x75, 29])
            .lock(0x3000)
            .call(CRITICAL)
            .call(OTHER)
            .lock(0x3000)
            .call(CRITICAL)
            // Both ways lead here.
            .lock(0x3040)
            .call(CRITICAL)
            .bytes(&[0xc3]);
        assert_eq!(results(&code), [true, true, false]);
    }

    #[test]
    fn a_lock_is_followed_through_a_register() {
        let code = Assembler::default()
            .call(REDUCE)
            // cmp $2,%eax; je +1; ret; mov $0x3000,%r15d; mov %r15,%rdx
            .bytes(&[0x83, 0xf8, 0x02, 0x74, 1, 0xc3])
            .bytes(&[0x41, 0xbf, 0x00, 0x30, 0x00, 0x00, 0x4c, 0x89, 0xfa])
            .call(CRITICAL)
            .bytes(&[0xc3]);
        assert_eq!(results(&code), [true]);
    }

    #[test]
    fn a_section_behind_a_reduction_by_atomic_instructions_is_the_program_s() {
        let code = Assembler::default()
            .call(REDUCE)
            // cmp $1,%eax; je +8; cmp $2,%eax; jne +4; lock incl (%rdi); nop
            .bytes(&[0x83, 0xf8, 0x01, 0x74, 9])
            .bytes(&[0x83, 0xf8, 0x02, 0x75, 4, 0xf0, 0xff, 0x07, 0x90])
            .lock(0x3040)
            .call(CRITICAL)
            .bytes(&[0xc3]);
        assert_eq!(results(&code), [false]);
        let none = Assembler::default()
            .lock(0x3040)
            .call(CRITICAL)
            .bytes(&[0xc3]);
        assert_eq!(results(&none), [false]);
    }
}
