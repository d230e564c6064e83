//! Call frame information, read with our own gimli: what kind of frame an address is in, and the
//! caller's registers for the frames that framehop gets wrong.
//!
//! framehop turns a rule that it cannot express into a walk along frame pointers, without saying
//! so. That loses every frame above a function that realigns its stack, whose CFA is an expression
//! that reads memory. So each address is classified here first.

use std::ops::Range;
use std::sync::Arc;

use gimli::{
    BaseAddresses, CfaRule, Encoding, Evaluation, EvaluationResult, EvaluationStorage,
    LittleEndian, Location, Piece, Reader, RegisterRule, UnwindContext, UnwindExpression,
    UnwindSection, UnwindTableRow, Value, X86_64,
};

use crate::elf::Elf;
use crate::fde::{CfiSections, Finder, Slice, debug_frame, eh_frame};
use crate::regs::Regs;
use crate::rule::{Fault, Rule};

pub(crate) type RowContext = UnwindContext<usize>;

/// How the caller of a frame at one address is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// framehop has a rule for it.
    Framehop,
    /// Any other rule, by [`Cfi::rule`] or evaluated in full.
    Evaluate,
    /// The return address is marked as undefined: the first function of the thread.
    Root,
    /// No call frame information covers the address.
    Uncovered,
    /// No load object covers the address.
    Unmapped,
}

/// What [`Cfi::evaluate`] finds beside the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Evaluated {
    /// The frame is a signal trampoline: a signal interrupted its caller, whose ip is the next
    /// instruction and no return address.
    pub(crate) signal: bool,
}

/// The call frame information of one file.
pub struct Cfi {
    data: Arc<[u8]>,
    is_debug_frame: bool,
    bases: BaseAddresses,
    finder: Finder,
}

struct Row<'r> {
    table: &'r UnwindTableRow<usize>,
    encoding: Encoding,
    signal: bool,
}

impl Cfi {
    /// The call frame information of a file, for the bounds of its functions.
    #[must_use]
    pub fn of(elf: &Elf<'_>) -> Option<Self> {
        Self::new(&mut CfiSections::of(elf))
    }

    /// The call frame information in the file's `.debug_frame` alone.
    #[must_use]
    pub fn of_debug_frame(elf: &Elf<'_>) -> Option<Self> {
        Self::new(&mut CfiSections::of_debug_frame(elf))
    }

    /// The call frame information in some sections, if there is any. `sections` are corrected
    /// for framehop, as in [`Finder::new`].
    pub(crate) fn new(sections: &mut CfiSections) -> Option<Self> {
        let (svma, data, is_debug_frame) = match (&sections.eh_frame, &sections.debug_frame) {
            (Some((svma, data)), _) => (*svma, data.clone(), false),
            (None, Some((svma, data))) => (*svma, data.clone(), true),
            (None, None) => return None,
        };
        let header_svma = sections.eh_frame_hdr.as_ref().map_or(0, |(svma, _)| *svma);
        let bases = BaseAddresses::default()
            .set_eh_frame(svma)
            .set_eh_frame_hdr(header_svma)
            .set_text(sections.text)
            .set_got(sections.got);
        let finder = Finder::new(sections, &data, is_debug_frame, &bases);
        Some(Self {
            data,
            is_debug_frame,
            bases,
            finder,
        })
    }

    /// Runs `look` on the unwind row that covers `svma`.
    fn with_row<T>(
        &self,
        svma: u64,
        context: &mut RowContext,
        look: impl FnOnce(Row<'_>) -> T,
    ) -> Option<T> {
        let offset = self.finder.fde_offset(svma, &self.bases)?;
        if self.is_debug_frame {
            row_at(
                &debug_frame(&self.data),
                &self.bases,
                offset,
                (svma, context),
                look,
            )
        } else {
            row_at(
                &eh_frame(&self.data),
                &self.bases,
                offset,
                (svma, context),
                look,
            )
        }
    }

    /// The code that the FDE of `svma` covers: by convention one function, or the part of one
    /// that the compiler moved away (`.cold`).
    #[must_use]
    pub fn bounds(&self, svma: u64) -> Option<Range<u64>> {
        let offset = self.finder.fde_offset(svma, &self.bases)?;
        let bounds = if self.is_debug_frame {
            fde_bounds(&debug_frame(&self.data), &self.bases, offset)
        } else {
            fde_bounds(&eh_frame(&self.data), &self.bases, offset)
        };
        bounds.filter(|bounds| bounds.contains(&svma))
    }

    /// The canonical frame address of a frame at `svma`, by its stack and frame pointers. `None` where
    /// it hangs on something else.
    #[must_use]
    pub fn frame_address(&self, svma: u64, sp: u64, bp: u64) -> Option<u64> {
        let address = |row: Row<'_>| match row.table.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => match *register {
                X86_64::RSP => Some(sp.wrapping_add_signed(*offset)),
                X86_64::RBP => Some(bp.wrapping_add_signed(*offset)),
                _ => None,
            },
            CfaRule::Expression(_) => None,
        };
        self.with_row(svma, &mut RowContext::new(), address)?
    }

    /// How the caller of a frame at `svma` is found.
    pub(crate) fn classify(&self, svma: u64, context: &mut RowContext) -> Step {
        self.with_row(svma, context, |row| self.step(&row))
            .unwrap_or(Step::Uncovered)
    }

    fn step(&self, row: &Row<'_>) -> Step {
        let return_address = row.table.register(X86_64::RA);
        let bp = row.table.register(X86_64::RBP);
        match return_address {
            Some(RegisterRule::Undefined) => return Step::Root,
            Some(RegisterRule::Offset(-8)) if !row.signal => {}
            _ => return Step::Evaluate,
        }
        match (row.table.cfa(), bp) {
            (CfaRule::RegisterAndOffset { register, offset }, bp) => {
                if framehop_has_rule(*register, *offset, bp.as_ref()) {
                    Step::Framehop
                } else {
                    Step::Evaluate
                }
            }
            (CfaRule::Expression(_), _) => Step::Evaluate,
        }
    }

    fn expression(&self, expression: &UnwindExpression<usize>) -> Option<&[u8]> {
        self.data.get(expression.offset..)?.get(..expression.length)
    }

    /// The N of `DW_OP_breg6 N`, followed by `DW_OP_deref` if `deref`, and by nothing else.
    fn bp_slot(&self, expression: &UnwindExpression<usize>, deref: bool) -> Option<i16> {
        let bytes = self.expression(expression)?;
        let mut rest = Slice::new(bytes, LittleEndian);
        let breg6 = gimli::DW_OP_breg0.0 + 6;
        if rest.read_u8().ok()? != breg6 {
            return None;
        }
        let slot = rest.read_sleb128().ok()?;
        if deref && rest.read_u8().ok()? != gimli::DW_OP_deref.0 {
            return None;
        }
        rest.is_empty().then_some(())?;
        i16::try_from(slot).ok()
    }

    /// The row of `svma` as a rule, if it has the usual form.
    pub(crate) fn rule(&self, svma: u64, context: &mut RowContext) -> Option<Rule> {
        let rule = |row: Row<'_>| {
            if row.signal {
                return None;
            }
            Rule::of(row.table, |expression, deref| {
                self.bp_slot(expression, deref)
            })
        };
        self.with_row(svma, context, rule)?
    }

    /// Replaces `regs`, those of a frame at `svma`, by those of its caller.
    ///
    /// A callee-saved register that cannot be restored becomes unknown; only ip, sp and bp must
    /// be found.
    pub(crate) fn evaluate(
        &self,
        svma: u64,
        context: &mut RowContext,
        regs: &mut Regs,
        read: &impl Fn(u64) -> Option<u64>,
    ) -> Result<Evaluated, Fault> {
        self.with_row(svma, context, |row| self.caller(&row, regs, read))
            .ok_or(Fault::NoRule)?
    }

    fn caller(
        &self,
        row: &Row<'_>,
        regs: &mut Regs,
        read: &impl Fn(u64) -> Option<u64>,
    ) -> Result<Evaluated, Fault> {
        let run = |expression: &UnwindExpression<usize>, initial: Option<u64>| {
            let bytes = self.expression(expression).ok_or(Fault::NoRule)?;
            run_expression(bytes, row.encoding, initial, regs, read)
        };
        let load = |address: u64| read(address).ok_or(Fault::Unread(address));
        let known = |number: u16| regs.number(number).ok_or(Fault::UnknownRegister);
        let cfa = match row.table.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                known(register.0)?.wrapping_add_signed(*offset)
            }
            CfaRule::Expression(expression) => run(expression, None)?,
        };
        let saved_at = |rule: &RegisterRule<usize>| match rule {
            RegisterRule::Offset(offset) => Ok(Some(cfa.wrapping_add_signed(*offset))),
            RegisterRule::Expression(expression) => run(expression, Some(cfa)).map(Some),
            _ => Ok(None),
        };
        let computed = |number: u16, rule: &RegisterRule<usize>| match rule {
            RegisterRule::SameValue => known(number),
            RegisterRule::ValOffset(offset) => Ok(cfa.wrapping_add_signed(*offset)),
            RegisterRule::Register(other) => known(other.0),
            RegisterRule::ValExpression(expression) => run(expression, Some(cfa)),
            RegisterRule::Constant(constant) => Ok(*constant),
            _ => Err(Fault::NoRule),
        };
        let return_rule = row.table.register(X86_64::RA).ok_or(Fault::NoRule)?;
        let ip = match saved_at(&return_rule)? {
            Some(address) => load(address)?,
            None => computed(X86_64::RA.0, &return_rule)?,
        };
        let mut caller = *regs;
        if !row.signal {
            caller.forget_caller_saved();
        }
        caller.set_number(X86_64::RSP.0, cfa);
        // A function saves registers in its own frame. In an epilogue a rule may still name the slot
        // of a register that was just popped, or be relative to the rbp that was just popped. Then
        // the register holds the caller's value again.
        let own_frame = regs.sp()..cfa;
        for (register, rule) in row.table.registers() {
            let value = match saved_at(rule) {
                Ok(Some(address)) if !row.signal && !own_frame.contains(&address) => continue,
                Ok(Some(address)) => load(address),
                Ok(None) => computed(register.0, rule),
                Err(fault) => Err(fault),
            };
            match value {
                Ok(value) => caller.set_number(register.0, value),
                Err(fault) if *register == X86_64::RBP => return Err(fault),
                Err(_) => caller.forget(register.0),
            }
        }
        caller.set_number(X86_64::RA.0, ip);
        *regs = caller;
        Ok(Evaluated { signal: row.signal })
    }
}

/// Whether framehop 0.16 translates the rule into one of its own, instead of falling back to
/// frame pointers or evaluating it each time. The return address is known to be at CFA - 8.
fn framehop_has_rule(
    register: gimli::Register,
    offset: i64,
    bp: Option<&RegisterRule<usize>>,
) -> bool {
    let bp_offset = match bp {
        None | Some(RegisterRule::Undefined | RegisterRule::SameValue) => None,
        Some(RegisterRule::Offset(bp_offset)) => Some(*bp_offset),
        Some(_) => return false,
    };
    if register == X86_64::RSP {
        offset % 8 == 0
            && u16::try_from(offset / 8).is_ok()
            && bp_offset.is_none_or(|bp| i16::try_from((offset + bp) / 8).is_ok())
    } else {
        register == X86_64::RBP && offset == 16 && bp_offset == Some(-16)
    }
}

fn row_at<'a, S: UnwindSection<Slice<'a>>, T>(
    section: &S,
    bases: &BaseAddresses,
    offset: usize,
    (svma, context): (u64, &mut RowContext),
    look: impl FnOnce(Row<'_>) -> T,
) -> Option<T> {
    let fde = section
        .fde_from_offset(bases, S::Offset::from(offset), S::cie_from_offset)
        .ok()?;
    let table = fde
        .unwind_info_for_address(section, bases, context, svma)
        .ok()?;
    let encoding = fde.cie().encoding();
    Some(look(Row {
        table,
        encoding,
        signal: fde.is_signal_trampoline(),
    }))
}

fn fde_bounds<'a, S: UnwindSection<Slice<'a>>>(
    section: &S,
    bases: &BaseAddresses,
    offset: usize,
) -> Option<Range<u64>> {
    let fde = section
        .fde_from_offset(bases, S::Offset::from(offset), S::cie_from_offset)
        .ok()?;
    Some(fde.initial_address()..fde.end_address())
}

/// Fixed space for the evaluation of an expression, so that it does not allocate.
struct OnStack;

impl<R: Reader> EvaluationStorage<R> for OnStack {
    type Stack = [Value; 32];
    type ExpressionStack = [(R, R); 2];
    type Result = [Piece<R>; 1];
}

/// Far more than any real expression has. Ends one with an endless loop.
const MAX_OPERATIONS: u32 = 1000;

fn run_expression(
    bytes: &[u8],
    encoding: Encoding,
    initial: Option<u64>,
    regs: &Regs,
    read: &impl Fn(u64) -> Option<u64>,
) -> Result<u64, Fault> {
    let bytecode = Slice::new(bytes, LittleEndian);
    let mut evaluation = Evaluation::<_, OnStack>::new_in(bytecode, encoding);
    evaluation.set_max_iterations(MAX_OPERATIONS);
    if let Some(value) = initial {
        evaluation.set_initial_value(value);
    }
    let mut state = evaluation.evaluate();
    loop {
        state = match state.map_err(|_| Fault::NoRule)? {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresRegister { register, .. } => {
                let value = regs.number(register.0).ok_or(Fault::UnknownRegister)?;
                evaluation.resume_with_register(Value::Generic(value))
            }
            EvaluationResult::RequiresMemory { address, size, .. } => {
                let word = read(address).ok_or(Fault::Unread(address))?;
                let value = if size < 8 {
                    word & ((1 << (8 * size)) - 1)
                } else {
                    word
                };
                evaluation.resume_with_memory(Value::Generic(value))
            }
            _ => return Err(Fault::NoRule),
        };
    }
    match evaluation.as_result() {
        [
            Piece {
                location: Location::Address { address },
                ..
            },
        ] => Ok(*address),
        _ => Err(Fault::NoRule),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENCODING: Encoding = Encoding {
        address_size: 8,
        format: gimli::Format::Dwarf32,
        version: 1,
    };

    fn run(bytes: &[u8], regs: &Regs) -> Result<u64, Fault> {
        let read = |address| (address == 0x1000).then_some(0x1122_3344_5566_7788);
        run_expression(bytes, ENCODING, None, regs, &read)
    }

    #[test]
    fn the_cfa_of_a_plt_stub_depends_on_the_ip() {
        // breg7 8, breg16 0, lit15, and, lit11, ge, lit3, shl, plus: the linkers' rule for .plt,
        // one word more once the relocation index is pushed.
        let rule = [0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22];
        assert_eq!(run(&rule, &Regs::new(0x4010, 0x8000, 0)), Ok(0x8008));
        assert_eq!(run(&rule, &Regs::new(0x401b, 0x8000, 0)), Ok(0x8010));
    }

    #[test]
    fn memory_registers_and_endless_loops_are_reported_apart() {
        let regs = Regs::new(0, 0x2000, 0x1008);
        assert_eq!(run(&[0x76, 0x78, 0x06], &regs), Ok(0x1122_3344_5566_7788));
        assert_eq!(run(&[0x76, 0x78, 0x94, 4], &regs), Ok(0x5566_7788));
        assert_eq!(run(&[0x76, 0x00, 0x06], &regs), Err(Fault::Unread(0x1008)));
        assert_eq!(run(&[0x7a, 0x00], &regs), Err(Fault::UnknownRegister));
        assert_eq!(run(&[0x2f, 0xfd, 0xff], &regs), Err(Fault::NoRule));
        assert_eq!(run(&[], &regs), Err(Fault::NoRule));
    }

    #[test]
    fn rows_that_framehop_would_replace_by_frame_pointers_are_not_left_to_it() {
        let saved = RegisterRule::Offset(-16);
        assert!(framehop_has_rule(X86_64::RSP, 64, None));
        assert!(framehop_has_rule(X86_64::RSP, 64, Some(&saved)));
        assert!(framehop_has_rule(X86_64::RBP, 16, Some(&saved)));
        assert!(!framehop_has_rule(X86_64::RBP, 32, Some(&saved)));
        assert!(!framehop_has_rule(X86_64::RBP, 16, None));
        assert!(!framehop_has_rule(X86_64::R10, 0, Some(&saved)));
        assert!(!framehop_has_rule(X86_64::RSP, 8 * 65536, None));
        assert!(!framehop_has_rule(
            X86_64::RSP,
            16,
            Some(&RegisterRule::Register(X86_64::R11))
        ));
    }
}
