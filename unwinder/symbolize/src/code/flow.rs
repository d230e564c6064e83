//! The order in which the instructions of a function can be executed.

use std::collections::VecDeque;
use std::ops::Range;

use iced_x86::{FlowControl, Instruction};

use super::instructions::{LARGEST, decode, reached};
use crate::symbols::Symbols;

/// Which instructions can follow which, by index.
pub(super) struct Flow {
    pub(super) next: Vec<Vec<usize>>,
    pub(super) before: Vec<Vec<usize>>,
    /// Those that also lead out of the function, other than by a call.
    pub(super) leaves: Vec<bool>,
}

impl Flow {
    /// `None`: a jump has targets that are not known.
    pub(super) fn of(code: &[Instruction]) -> Option<Flow> {
        let mut flow = Flow {
            next: vec![Vec::new(); code.len()],
            before: vec![Vec::new(); code.len()],
            leaves: vec![false; code.len()],
        };
        for (at, instruction) in code.iter().enumerate() {
            let (falls, jumps) = match instruction.flow_control() {
                FlowControl::Next | FlowControl::Call | FlowControl::IndirectCall => (true, false),
                FlowControl::ConditionalBranch => (true, true),
                FlowControl::UnconditionalBranch => (false, true),
                FlowControl::Return | FlowControl::Interrupt | FlowControl::Exception => {
                    (false, false)
                }
                _ => return None,
            };
            if falls && at + 1 < code.len() {
                flow.connect(at, at + 1);
            }
            if jumps {
                let target = instruction.near_branch_target();
                match code.binary_search_by_key(&target, Instruction::ip) {
                    Ok(target) => flow.connect(at, target),
                    Err(_) => flow.leaves[at] = true,
                }
            }
        }
        Some(flow)
    }

    fn connect(&mut self, from: usize, to: usize) {
        self.next[from].push(to);
        self.before[to].push(from);
    }
}

/// What can be reached from `start` by at least one step, through instructions that `allow` names.
pub(super) fn reach(
    steps: &[Vec<usize>],
    start: usize,
    allow: impl Fn(usize) -> bool,
) -> Vec<bool> {
    let mut reached = vec![false; steps.len()];
    let mut open = vec![start];
    while let Some(at) = open.pop() {
        for next in steps[at].iter().copied().filter(|next| allow(*next)) {
            if !std::mem::replace(&mut reached[next], true) {
                open.push(next);
            }
        }
    }
    reached
}

/// What is asked for about an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// What can be executed before it.
    Before,
    /// What can be executed after it.
    After,
}

/// What can be executed before or after the instruction that contains `svma`, in its own function, as the
/// addresses of instructions: those first that are fewest steps away. Nothing beyond a call by which a
/// construct begins or ends. Empty if the function has jumps whose targets are not known.
#[must_use]
pub fn beside(symbols: &Symbols, svma: u64, side: Side) -> Vec<Range<u64>> {
    let Some(function) = symbols.code(svma).filter(|it| it.size <= LARGEST) else {
        return Vec::new();
    };
    let code = decode(symbols.bytes(&function), function.start);
    let Some(flow) = Flow::of(&code) else {
        return Vec::new();
    };
    let steps = match side {
        Side::Before => &flow.before,
        Side::After => &flow.next,
    };
    let at = code.partition_point(|it| it.next_ip() <= svma);
    let is_boundary = |instruction: &Instruction| {
        let name = reached(symbols, instruction);
        name.is_some_and(|name| name.starts_with("__kmpc_") || name.starts_with("GOMP_"))
    };
    let mut found = Vec::new();
    let mut seen = vec![false; code.len()];
    let mut open: VecDeque<usize> = steps.get(at).into_iter().flatten().copied().collect();
    while let Some(at) = open.pop_front() {
        if std::mem::replace(&mut seen[at], true) || is_boundary(&code[at]) {
            continue;
        }
        found.push(code[at].ip()..code[at].next_ip());
        open.extend(&steps[at]);
    }
    found
}
