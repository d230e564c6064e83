//! Loops in each round of which an instruction is executed once, whatever the branches decide.

use iced_x86::Instruction;

use super::flow::{Flow, reach};
use super::instructions::{LARGEST, decode, is_call};
use crate::symbols::Symbols;

/// The outermost loop around the instruction that contains `svma`, as the address of its first
/// instruction, if each round of the loop executes the instruction exactly once, the last one too.
/// `None`: there is none, or the machine code does not prove it.
pub(crate) fn loop_of(symbols: &Symbols, svma: u64) -> Option<u64> {
    let function = symbols.code(svma).filter(|it| it.size <= LARGEST)?;
    let code = decode(symbols.bytes(&function), function.start);
    let flow = Flow::of(&code)?;
    let at = code.partition_point(|it| it.next_ip() <= svma);
    flow.loop_around(at, &code).map(|head| code[head].ip())
}

impl Flow {
    /// The first instruction of the outermost loop around `at`, if [`loop_of`] can name it.
    fn loop_around(&self, at: usize, code: &[Instruction]) -> Option<usize> {
        self.next.get(at)?;
        let behind = reach(&self.next, at, |_| true);
        let before = reach(&self.before, at, |_| true);
        // All that lies on a way from the instruction back to it.
        let is_in = |it: usize| behind[it] && before[it];
        let body: Vec<usize> = (0..code.len()).filter(|it| is_in(*it)).collect();
        if !is_in(at) || body.iter().any(|it| self.leaves[*it]) {
            return None;
        }
        let is_entry =
            |it: &&usize| **it == 0 || self.before[**it].iter().any(|from| !is_in(*from));
        let mut entries = body.iter().filter(is_entry);
        let (head, None) = (*entries.next()?, entries.next()) else {
            return None;
        };
        // No inner loop contains it.
        if at != head && reach(&self.next, at, |it| is_in(it) && it != head)[at] {
            return None;
        }
        // No round and no exit passes it by, but that of a condition before the round.
        if at == head {
            return Some(head);
        }
        let beside = reach(&self.next, head, |it| is_in(it) && it != at);
        let condition = (head..code.len()).find(|it| self.next[*it].len() > 1);
        let is_pure = |condition: usize| !code[head..condition].iter().any(is_call);
        let condition = condition.filter(|it| is_pure(*it));
        let leaves = |it: usize| self.next[it].iter().any(|next| !is_in(*next));
        let passes_by = body
            .iter()
            .filter(|it| beside[**it] || **it == head)
            .any(|it| leaves(*it) && Some(*it) != condition);
        (!beside[head] && !passes_by).then_some(head)
    }
}

#[cfg(test)]
mod tests {
    use iced_x86::Mnemonic;

    use super::*;

    const NOP: u8 = 0x90;
    const RET: u8 = 0xc3;
    /// Of a condition, with the distance from its end.
    const JE: u8 = 0x74;
    const JNE: u8 = 0x75;
    const JMP: u8 = 0xeb;
    const CALL_RAX: [u8; 2] = [0xff, 0xd0];
    /// Something else, of two bytes.
    const INC: [u8; 2] = [0xff, 0xc0];

    fn back(bytes: i8) -> u8 {
        (-bytes).cast_unsigned()
    }

    /// For each `nop` of the code: whether [`Flow::loop_around`] names a loop.
    fn found(code: &[&[u8]]) -> Vec<bool> {
        let code = decode(&code.concat(), 0x1000);
        let flow = Flow::of(&code).expect("plain jumps");
        let marked = (0..code.len()).filter(|at| code[*at].mnemonic() == Mnemonic::Nop);
        marked
            .map(|at| flow.loop_around(at, &code).is_some())
            .collect()
    }

    #[test]
    fn what_each_round_executes_is_found() {
        let code: &[&[u8]] = &[&[NOP], &INC, &[NOP], &[JNE, back(5)], &[NOP, RET]];
        assert_eq!(found(code), [false, true, false]);
    }

    #[test]
    fn branches_and_inner_loops_are_not() {
        let code: &[&[u8]] = &[
            &[NOP],
            &[JE, 1],
            &[NOP],
            // The inner loop.
            &[NOP],
            &[JNE, back(3)],
            &[NOP],
            &[JNE, back(10)],
            &[RET],
        ];
        assert_eq!(found(code), [true, false, false, true]);
    }

    #[test]
    fn a_condition_before_the_round_may_end_the_loop() {
        let top: &[&[u8]] = &[&INC, &[JE, 3], &[NOP], &[JMP, back(7)], &[RET]];
        assert_eq!(found(top), [true]);
        let bottom: &[&[u8]] = &[&[JMP, 1], &[NOP], &INC, &[JNE, back(5)], &[RET]];
        assert_eq!(found(bottom), [true]);
    }

    #[test]
    fn what_the_last_round_leaves_out_is_not() {
        // A load for the next round, behind the accesses of this one.
        let ahead: &[&[u8]] = &[&CALL_RAX, &[JE, 3], &[NOP], &[JMP, back(7)], &[RET]];
        assert_eq!(found(ahead), [false]);
        let early: &[&[u8]] = &[
            &INC,
            &[JE, 6],
            &INC,
            &[JE, 3],
            &[NOP],
            &[JNE, back(11)],
            &[RET],
        ];
        assert_eq!(found(early), [false]);
    }

    #[test]
    fn a_loop_with_two_entries_or_a_jump_out_of_the_function_is_none() {
        let entered: &[&[u8]] = &[&[JE, 2], &INC, &[NOP], &[JNE, back(5)], &[RET]];
        assert_eq!(found(entered), [false]);
        let left: &[&[u8]] = &[&INC, &[NOP], &[JE, 100], &[JNE, back(7)], &[RET]];
        assert_eq!(found(left), [false]);
    }
}
