//! The registers from which a stack is unwound, with DWARF's numbers.

/// A general-purpose register of x86-64, with its DWARF number (System V ABI, AMD64 supplement,
/// figure 3.36).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Register {
    Rax = 0,
    Rdx = 1,
    Rcx = 2,
    Rbx = 3,
    Rsi = 4,
    Rdi = 5,
    Rbp = 6,
    Rsp = 7,
    R8 = 8,
    R9 = 9,
    R10 = 10,
    R11 = 11,
    R12 = 12,
    R13 = 13,
    R14 = 14,
    R15 = 15,
    /// The instruction pointer, or in a caller the return address column.
    Rip = 16,
}

const COUNT: usize = 17;
/// rbx, rbp, rsp, r12 to r15: a callee returns them unchanged.
const CALLEE_SAVED: u32 = 1 << 3 | 1 << 6 | 1 << 7 | 0xf << 12;

/// Register values, each known or not.
///
/// Unwinding needs ip, sp and bp. The others matter only if the leaf is in the prologue of a function
/// that realigns its stack, or below hand-written code that keeps its frame in another register. Give
/// all that the sample has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Regs {
    values: [u64; COUNT],
    known: u32,
}

impl Regs {
    /// Registers of which only the instruction, stack and frame pointers are known.
    #[must_use]
    pub fn new(ip: u64, sp: u64, bp: u64) -> Self {
        let mut values = [0; COUNT];
        values[Register::Rip as usize] = ip;
        values[Register::Rsp as usize] = sp;
        values[Register::Rbp as usize] = bp;
        Self {
            values,
            known: 1 << Register::Rip as u32
                | 1 << Register::Rsp as u32
                | 1 << Register::Rbp as u32,
        }
    }

    /// Sets one register.
    pub fn set(&mut self, register: Register, value: u64) {
        self.set_number(register as u16, value);
    }

    /// The value of one register, if known.
    #[must_use]
    pub fn get(&self, register: Register) -> Option<u64> {
        self.number(register as u16)
    }

    /// The instruction pointer.
    #[must_use]
    pub fn ip(&self) -> u64 {
        self.values[Register::Rip as usize]
    }

    /// The stack pointer.
    #[must_use]
    pub fn sp(&self) -> u64 {
        self.values[Register::Rsp as usize]
    }

    /// The frame pointer; in code without frame pointers, whatever rbp holds.
    #[must_use]
    pub fn bp(&self) -> u64 {
        self.values[Register::Rbp as usize]
    }

    pub(crate) fn number(&self, dwarf: u16) -> Option<u64> {
        let known = usize::from(dwarf) < COUNT && self.known & (1 << dwarf) != 0;
        known.then(|| self.values[usize::from(dwarf)])
    }

    pub(crate) fn set_number(&mut self, dwarf: u16, value: u64) {
        if let Some(slot) = self.values.get_mut(usize::from(dwarf)) {
            *slot = value;
            self.known |= 1 << dwarf;
        }
    }

    pub(crate) fn forget(&mut self, dwarf: u16) {
        if usize::from(dwarf) < COUNT {
            self.known &= !(1 << dwarf);
        }
    }

    /// Forgets the registers that a call may have overwritten.
    pub(crate) fn forget_caller_saved(&mut self) {
        self.known &= CALLEE_SAVED | 1 << Register::Rip as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_registers_that_were_set_are_known() {
        let mut regs = Regs::new(1, 2, 3);
        assert_eq!(regs.get(Register::R10), None);
        regs.set(Register::R10, 0);
        regs.set(Register::R12, 12);
        assert_eq!(regs.get(Register::R10), Some(0));
        regs.forget_caller_saved();
        assert_eq!(regs.get(Register::R10), None);
        assert_eq!(regs.get(Register::R12), Some(12));
        assert_eq!((regs.ip(), regs.sp(), regs.bp()), (1, 2, 3));
        assert_eq!(regs.number(99), None);
    }
}
