//! Rows of call frame information in the form that nearly all of them have. Such a row is translated
//! once, and then applied by a few additions and loads, where gimli's interpreter takes a
//! microsecond.

use gimli::{CfaRule, RegisterRule, UnwindExpression, UnwindTableRow, X86_64};

use crate::regs::{Register, Regs};

/// The registers that functions save. rbp must be found; the others may stay unknown.
const SAVED: [Register; 6] = [
    Register::Rbp,
    Register::Rbx,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];

/// Why a frame's caller could not be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The memory at this address is not known.
    Unread(u64),
    /// A register is needed whose value is not known.
    UnknownRegister,
    /// No call frame information covers the address, or it is invalid.
    NoRule,
}

/// How the caller's registers are found, where the return address lies below the CFA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    cfa: Cfa,
    saved: [Saved; SAVED.len()],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cfa {
    /// A register, by its DWARF number, and an offset.
    Register(u16, i32),
    /// The word at an offset from rbp: the stack was realigned.
    Stored(i16),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Saved {
    /// It was not saved.
    Not,
    /// At an offset from the CFA.
    ByCfa(i32),
    /// At an offset from rbp.
    ByBp(i16),
}

impl Rule {
    /// Translates a row of an ordinary frame. `None` if it has any other form than those above.
    /// `bp_slot` returns the offset of an expression that is rbp plus an offset or, if its second
    /// argument is true, the word at that address.
    pub(crate) fn of(
        row: &UnwindTableRow<usize>,
        bp_slot: impl Fn(&UnwindExpression<usize>, bool) -> Option<i16>,
    ) -> Option<Rule> {
        if row.register(X86_64::RA) != Some(RegisterRule::Offset(-8)) {
            return None;
        }
        let cfa = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                Cfa::Register(register.0, i32::try_from(*offset).ok()?)
            }
            CfaRule::Expression(expression) => Cfa::Stored(bp_slot(expression, true)?),
        };
        let mut saved = [Saved::Not; SAVED.len()];
        for (register, rule) in row.registers() {
            if *register == X86_64::RA {
                continue;
            }
            let at = SAVED.iter().position(|it| *it as u16 == register.0)?;
            saved[at] = match rule {
                RegisterRule::Offset(offset) => Saved::ByCfa(i32::try_from(*offset).ok()?),
                RegisterRule::Expression(expression) => Saved::ByBp(bp_slot(expression, false)?),
                RegisterRule::SameValue => Saved::Not,
                _ => return None,
            };
        }
        Some(Rule { cfa, saved })
    }

    /// Replaces the registers of a frame by those of its caller, as a full evaluation does.
    pub(crate) fn apply(
        &self,
        regs: &mut Regs,
        read: &impl Fn(u64) -> Option<u64>,
    ) -> Result<(), Fault> {
        let load = |address: u64| read(address).ok_or(Fault::Unread(address));
        let bp = || regs.get(Register::Rbp).ok_or(Fault::UnknownRegister);
        let cfa = match self.cfa {
            Cfa::Register(number, offset) => regs
                .number(number)
                .ok_or(Fault::UnknownRegister)?
                .wrapping_add_signed(offset.into()),
            Cfa::Stored(slot) => load(bp()?.wrapping_add_signed(slot.into()))?,
        };
        let ip = load(cfa.wrapping_sub(8))?;
        let mut caller = *regs;
        caller.forget_caller_saved();
        caller.set(Register::Rsp, cfa);
        // A slot outside of it is that of a register which the epilogue has restored by now.
        let own_frame = regs.sp()..cfa;
        for (register, saved) in SAVED.into_iter().zip(self.saved) {
            let address = match saved {
                Saved::Not => continue,
                Saved::ByCfa(offset) => cfa.wrapping_add_signed(offset.into()),
                Saved::ByBp(slot) => bp()?.wrapping_add_signed(slot.into()),
            };
            if !own_frame.contains(&address) {
                continue;
            }
            match read(address) {
                Some(value) => caller.set(register, value),
                None if register == Register::Rbp => return Err(Fault::Unread(address)),
                None => caller.forget(register as u16),
            }
        }
        caller.set(Register::Rip, ip);
        *regs = caller;
        Ok(())
    }
}
