//! Frames of functions without call frame information, such as hand-written kernels of numerical
//! libraries: their layout follows from what the function's first instructions do to the stack.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};

/// Number of instructions examined. Few functions need more to set up their frame.
const LONGEST: usize = 64;

/// Where a frame has its return address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    /// At this distance above the stack pointer, in bytes.
    Sp(u64),
    /// At this distance above the frame pointer, in bytes.
    Bp(u64),
}

/// The layout of a frame, as the function's first instructions make it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameLayout {
    base: Base,
    /// How far below the return address the caller's frame pointer was saved.
    saved_bp: Option<u64>,
}

impl FrameLayout {
    /// The layout at `svma` of the frame of a function with code `code` from `start` on.
    ///
    /// Assumes that later instructions do not move the stack pointer. The caller checks whether a
    /// return address is where the layout has it.
    pub(crate) fn at(svma: u64, start: u64, code: &[u8]) -> Option<FrameLayout> {
        let mut setup = Setup {
            depth: Some(0),
            deepest: 0,
            framed: None,
            saved_bp: None,
        };
        let decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
        for instruction in decoder.into_iter().take(LONGEST) {
            if instruction.ip() >= svma || instruction.is_invalid() {
                break;
            }
            setup.apply(&instruction);
        }
        setup.layout()
    }

    /// The address of the return address, by the registers of the frame.
    pub(crate) fn return_slot(self, sp: u64, bp: u64) -> Option<u64> {
        match self.base {
            Base::Sp(distance) => sp.checked_add(distance),
            Base::Bp(distance) => bp.checked_add(distance).filter(|_| bp >= sp),
        }
    }

    /// The address of the caller's frame pointer, `None` where the register still holds it.
    pub(crate) fn bp_slot(self, return_slot: u64) -> Option<u64> {
        return_slot.checked_sub(self.saved_bp?)
    }
}

/// The effect of the instructions so far.
struct Setup {
    /// Bytes from the stack pointer up to the return address; `None` once it was rounded or
    /// computed.
    depth: Option<i64>,
    /// The greatest `depth` so far.
    deepest: i64,
    /// Bytes from the frame pointer up to the return address.
    framed: Option<i64>,
    /// Bytes from the saved frame pointer up to the return address.
    saved_bp: Option<i64>,
}

impl Setup {
    fn apply(&mut self, instruction: &Instruction) {
        match instruction.mnemonic() {
            Mnemonic::Push => {
                self.grow(8);
                if instruction.op0_register() == Register::RBP {
                    self.saved_bp = self.saved_bp.or(self.depth);
                }
            }
            Mnemonic::Pop => self.grow(-8),
            Mnemonic::Sub if writes_sp(instruction) => self.moved(instruction, 1),
            Mnemonic::Add if writes_sp(instruction) => self.moved(instruction, -1),
            Mnemonic::Lea if writes_sp(instruction) => match offset_from_sp(instruction) {
                Some(distance) => self.grow(-distance),
                None => self.depth = None,
            },
            Mnemonic::Mov
                if instruction.op0_register() == Register::RBP
                    && instruction.op1_register() == Register::RSP =>
            {
                self.framed = self.depth;
            }
            Mnemonic::Mov if instruction.op0_register() == Register::RBP => {}
            Mnemonic::Mov if instruction.op1_register() == Register::RBP => {
                let slot = offset_from_sp(instruction).zip(self.depth);
                let slot = slot.map(|(distance, depth)| depth - distance);
                self.saved_bp = self.saved_bp.or(slot);
            }
            Mnemonic::Cmp | Mnemonic::Test => {}
            _ if matches!(
                instruction.flow_control(),
                FlowControl::Return | FlowControl::UnconditionalBranch
            ) =>
            {
                // Code that follows is reached by a branch, made while the frame was whole.
                self.depth = self.depth.map(|_| self.deepest);
            }
            _ if writes_sp(instruction) => self.depth = None,
            _ => {}
        }
    }

    fn grow(&mut self, bytes: i64) {
        self.depth = self.depth.map(|depth| depth + bytes);
        self.deepest = self.deepest.max(self.depth.unwrap_or(0));
    }

    fn moved(&mut self, instruction: &Instruction, sign: i64) {
        let immediate = matches!(
            instruction.op1_kind(),
            OpKind::Immediate8to64 | OpKind::Immediate32to64
        );
        if immediate {
            self.grow(sign * instruction.immediate(1).cast_signed());
        } else {
            self.depth = None;
        }
    }

    fn layout(&self) -> Option<FrameLayout> {
        let positive = |bytes: i64| u64::try_from(bytes).ok();
        let base = match (self.depth, self.framed) {
            (Some(depth), _) => Base::Sp(positive(depth)?),
            (None, Some(framed)) => Base::Bp(positive(framed)?),
            (None, None) => return None,
        };
        let saved_bp = match self.saved_bp {
            Some(bytes) => Some(positive(bytes)?),
            None => None,
        };
        Some(FrameLayout { base, saved_bp })
    }
}

/// Whether the stack pointer is the first operand.
fn writes_sp(instruction: &Instruction) -> bool {
    instruction.op0_kind() == OpKind::Register && instruction.op0_register() == Register::RSP
}

/// The offset from the stack pointer of a memory operand that has no other register.
fn offset_from_sp(instruction: &Instruction) -> Option<i64> {
    let plain =
        instruction.memory_base() == Register::RSP && instruction.memory_index() == Register::None;
    plain.then(|| instruction.memory_displacement64().cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The layout after all of the code.
    fn after(code: &[u8]) -> Option<FrameLayout> {
        let end = 0x1000 + code.len() as u64;
        FrameLayout::at(end, 0x1000, &[code, &[0x90, 0xc3]].concat())
    }

    /// sub $0x40,%rsp; mov %rbx,(%rsp); mov %rbp,8(%rsp): as kernels of linear algebra begin.
    const KERNEL: [u8; 13] = [
        0x48, 0x83, 0xec, 0x40, 0x48, 0x89, 0x1c, 0x24, 0x48, 0x89, 0x6c, 0x24, 0x08,
    ];

    #[test]
    fn registers_that_are_stored_into_a_frame_are_found() {
        let frame = after(&KERNEL).expect("a frame");
        let slot = frame.return_slot(0x7000, 1).expect("a slot");
        assert_eq!((slot, frame.bp_slot(slot)), (0x7040, Some(0x7008)));
    }

    #[test]
    fn the_frame_grows_with_the_instructions() {
        let slots: Vec<Option<u64>> = [0x1000, 0x1001, 0x1004]
            .into_iter()
            .map(|at| FrameLayout::at(at, 0x1000, &KERNEL)?.return_slot(0x7000, 1))
            .collect();
        // The second address is within the next instruction, as that of a call is.
        assert_eq!(slots, [Some(0x7000), Some(0x7040), Some(0x7040)]);
    }

    #[test]
    fn pushes_count_and_a_rounded_stack_pointer_needs_a_frame_pointer() {
        // push %rbp; mov %rsp,%rbp; push %rbx; and $-64,%rsp; sub $0x80,%rsp
        let framed = [
            0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x83, 0xe4, 0xc0, 0x48, 0x81, 0xec, 0x80, 0, 0, 0,
        ];
        let frame = after(&framed).expect("a frame");
        let slot = frame.return_slot(0x7000, 0x7100);
        assert_eq!(slot, Some(0x7108));
        assert_eq!(frame.bp_slot(0x7108), Some(0x7100));
        // and $-64,%rsp alone
        assert_eq!(after(&framed[5..9]), None);
        // push %rbx; mov $0x40,%eax; sub %rax,%rsp
        let computed = [0x53, 0xb8, 0x40, 0, 0, 0, 0x48, 0x29, 0xc4];
        assert_eq!(after(&computed), None);
    }

    #[test]
    fn an_early_return_does_not_end_the_frame() {
        // push %rbx; test %edi,%edi; jne +2; pop %rbx; ret
        let code = [0x53, 0x85, 0xff, 0x75, 0x02, 0x5b, 0xc3];
        let frame = after(&code).expect("a frame");
        assert_eq!(frame.return_slot(0x7000, 0), Some(0x7008));
    }
}
