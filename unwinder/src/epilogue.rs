//! Frames of generated code, for which no file has call frame information: where such a function returns to follows
//! from what it does to the stack from a return address on, up to its own return.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Mnemonic, OpKind, Register};

/// Number of instructions examined.
const LONGEST: usize = 256;

/// What a function does to the stack after a call, until it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Epilogue {
    /// How far above the stack pointer its return address is, in bytes.
    pub(crate) return_slot: u64,
    /// How far above it the caller's frame pointer is; `None` where the register still holds it.
    pub(crate) bp_slot: Option<u64>,
}

impl Epilogue {
    /// That of `code`, which begins at the return address `at`. `None` if the stack pointer is set from another
    /// register, or the function does not return within the code.
    pub(crate) fn of(code: &[u8], at: u64) -> Option<Epilogue> {
        let mut decoder = Decoder::with_ip(64, code, at, DecoderOptions::NONE);
        let mut distance = 0i64;
        let mut bp_slot = None;
        for _ in 0..LONGEST {
            if !decoder.can_decode() {
                return None;
            }
            let instruction = decoder.decode();
            let writes_sp = instruction.op0_register() == Register::RSP
                && !matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test);
            let immediate = || {
                let is_immediate = matches!(
                    instruction.op1_kind(),
                    OpKind::Immediate8to64 | OpKind::Immediate32to64
                );
                is_immediate.then(|| instruction.immediate(1).cast_signed())
            };
            match (instruction.mnemonic(), instruction.flow_control()) {
                (Mnemonic::INVALID | Mnemonic::Leave, _) => return None,
                (Mnemonic::Pop, _) => {
                    if instruction.op0_register() == Register::RBP {
                        bp_slot = Some(u64::try_from(distance).ok()?);
                    }
                    distance += 8;
                }
                (Mnemonic::Push, _) => distance -= 8,
                (Mnemonic::Add, _) if writes_sp => distance += immediate()?,
                (Mnemonic::Sub, _) if writes_sp => distance -= immediate()?,
                (Mnemonic::Lea, _) if writes_sp => {
                    let is_own = instruction.memory_base() == Register::RSP
                        && instruction.memory_index() == Register::None;
                    distance += is_own
                        .then(|| instruction.memory_displacement64())?
                        .cast_signed();
                }
                (_, FlowControl::Return) => {
                    let return_slot = u64::try_from(distance).ok()?;
                    return Some(Epilogue {
                        return_slot,
                        bp_slot,
                    });
                }
                (_, FlowControl::UnconditionalBranch) => {
                    let offset = instruction.near_branch_target().checked_sub(at)?;
                    let offset = usize::try_from(offset).ok().filter(|it| *it < code.len())?;
                    decoder.set_position(offset).ok()?;
                    decoder.set_ip(at + offset as u64);
                }
                (_, FlowControl::IndirectBranch) => return None,
                _ if writes_sp => return None,
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Epilogue;

    fn of(code: &[u8]) -> Option<(u64, Option<u64>)> {
        Epilogue::of(code, 0x7000).map(|it| (it.return_slot, it.bp_slot))
    }

    #[test]
    fn the_return_address_is_where_the_function_s_end_finds_it() {
        // CPython's trampolines: add rsp, 8; ret.
        assert_eq!(of(&[0x48, 0x83, 0xc4, 0x08, 0xc3]), Some((8, None)));
        assert_eq!(of(&[0xc3]), Some((0, None)));
        // A call between: mov rdi, rax; call rcx; add rsp, 0x18; pop rbx; pop rbp; ret.
        let calls = [
            0x48, 0x89, 0xc7, 0xff, 0xd1, 0x48, 0x83, 0xc4, 0x18, 0x5b, 0x5d, 0xc3,
        ];
        assert_eq!(of(&calls), Some((0x28, Some(0x20))));
        // jmp over a byte; pop rbp; ret.
        assert_eq!(of(&[0xeb, 0x01, 0xcc, 0x5d, 0xc3]), Some((8, Some(0))));
    }

    #[test]
    fn what_is_not_certain_is_not_known() {
        // leave; ret. mov rsp, rbp; ret. jmp rax. A loop without end. A jump out. Nothing.
        let codes: [&[u8]; 6] = [
            &[0xc9, 0xc3],
            &[0x48, 0x89, 0xec, 0xc3],
            &[0xff, 0xe0],
            &[0xeb, 0xfe],
            &[0xeb, 0x70],
            &[],
        ];
        for code in codes {
            assert_eq!(of(code), None, "{code:x?}");
        }
    }
}
