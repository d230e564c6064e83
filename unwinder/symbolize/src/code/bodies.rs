//! Bodies of constructs by machine code. The function that holds the directive takes the body's
//! address and passes it to an entry point of the runtime, which tells the construct. gcc names the
//! bodies of all constructs alike, and stripped programs have no names.

use std::collections::{BTreeMap, HashSet};

use experiment::symbols::Construct;
use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind, Register};

use super::arguments::{CALLEE_SAVED, writes};
use super::instructions::{LARGEST, decode, is_call, reached};
use crate::symbols::{ElfFunction, Symbols};

/// The construct that a function is the body of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Body {
    pub(crate) construct: Construct,
    /// The calls that pass it to the runtime: the function, and the svma of the call's last byte. A
    /// function that is inlined has several.
    pub(crate) calls: Vec<(ElfFunction, u64)>,
}

impl Body {
    /// The function that passes it to the runtime, if there is only one.
    pub(crate) fn parent(&self) -> Option<&ElfFunction> {
        let ((first, _), others) = self.calls.split_first()?;
        others
            .iter()
            .all(|(other, _)| other == first)
            .then_some(first)
    }
}

/// Entry points that take the address of a body (or combiner): the prefix of their names, the
/// construct, and the register of the argument (`kmp.h` of LLVM, `libgomp_g.h` of GCC). The first
/// match counts.
pub(super) const GIVEN: [(&str, Construct, Register); 10] = [
    ("__kmpc_fork_call", Construct::Parallel, Register::RDX),
    ("__kmpc_fork_teams", Construct::Teams, Register::RDX),
    ("__kmpc_omp_task_alloc", Construct::Task, Register::R9),
    ("__kmpc_omp_target_task", Construct::Target, Register::R9),
    ("__kmpc_reduce", Construct::Reduction, Register::R9),
    ("GOMP_parallel", Construct::Parallel, Register::RDI),
    ("GOMP_taskloop", Construct::Taskloop, Register::RDI),
    ("GOMP_task", Construct::Task, Register::RDI),
    ("GOMP_teams_reg", Construct::Teams, Register::RDI),
    ("GOMP_target", Construct::Target, Register::RSI),
];

/// The bodies among the functions that start at `functions`. Left out is a function that is passed to
/// the runtime for two constructs, or whose address is taken for another purpose: it is shared code.
pub(crate) fn bodies(symbols: &Symbols, functions: &HashSet<u64>) -> BTreeMap<u64, Body> {
    let mut found: BTreeMap<u64, Option<Body>> = BTreeMap::new();
    if functions.is_empty() {
        return BTreeMap::new();
    }
    let mut taking = Taking::default();
    for (target, end) in symbols.takers(functions) {
        let body = taking.given_at(symbols, end);
        match found.get_mut(&target) {
            None => {
                found.insert(target, body);
            }
            Some(known) => {
                *known = match (known.take(), body) {
                    (Some(mut one), Some(other)) if one.construct == other.construct => {
                        one.calls.extend(other.calls);
                        Some(one)
                    }
                    _ => None,
                }
            }
        }
    }
    let known = found.into_iter();
    known
        .filter_map(|(target, body)| Some((target, body?)))
        .collect()
}

/// The function to which the one at `svma` does nothing but jump. gcc gives functions with the same code
/// one of them (`-fipa-icf`, on at -O2).
pub(crate) fn folded_into(symbols: &Symbols, svma: u64) -> Option<ElfFunction> {
    let function = symbols.code(svma).filter(|it| it.start == svma)?;
    let code = decode(symbols.bytes(&function), function.start);
    let mut code = code.iter().filter(|it| it.mnemonic() != Mnemonic::Endbr64);
    let jump = code.next().filter(|it| it.is_jmp_short_or_near())?;
    let target = jump.near_branch_target();
    let other = symbols.code(target)?;
    (other.start == target && target != svma).then_some(other)
}

/// The function of the last address taken: they come in order.
#[derive(Default)]
struct Taking {
    last: Option<(ElfFunction, Vec<Instruction>)>,
}

impl Taking {
    fn function(
        &mut self,
        symbols: &Symbols,
        svma: u64,
    ) -> Option<&(ElfFunction, Vec<Instruction>)> {
        let holds = |it: &(ElfFunction, _)| {
            (it.0.start..it.0.start.saturating_add(it.0.size)).contains(&svma)
        };
        if !self.last.as_ref().is_some_and(holds) {
            let function = symbols.code(svma).filter(|it| it.size <= LARGEST)?;
            let code = decode(symbols.bytes(&function), function.start);
            self.last = Some((function, code));
        }
        self.last.as_ref()
    }

    /// The body whose address the instruction that ends at `end` takes. The first call with the
    /// address in a register for a body must be that of an entry point. Of the ways from there, those without
    /// conditional jumps come first.
    fn given_at(&mut self, symbols: &Symbols, end: u64) -> Option<Body> {
        let (parent, code) = self.function(symbols, end - 1)?;
        let number = |start: u64| code.binary_search_by_key(&start, Instruction::ip).ok();
        let taking = code.binary_search_by_key(&end, Instruction::next_ip).ok()?;
        let mut ways = vec![(
            taking + 1,
            vec![code[taking].op0_register().full_register()],
        )];
        let mut seen = HashSet::new();
        while let Some((mut at, mut holders)) = ways.pop() {
            while let Some(instruction) = code.get(at).filter(|_| !holders.is_empty())
                && seen.insert(at)
            {
                at += 1;
                match instruction.flow_control() {
                    FlowControl::Next => {
                        let moves = instruction.mnemonic() == Mnemonic::Mov
                            && instruction.op0_kind() == OpKind::Register
                            && holders.contains(&instruction.op1_register());
                        holders.retain(|&holder| !writes(instruction, holder));
                        if moves {
                            holders.push(instruction.op0_register());
                        }
                    }
                    FlowControl::ConditionalBranch => {
                        let target = number(instruction.near_branch_target());
                        ways.extend(target.map(|target| (target, holders.clone())));
                    }
                    FlowControl::Call
                    | FlowControl::IndirectCall
                    | FlowControl::UnconditionalBranch
                    | FlowControl::IndirectBranch => {
                        let entry = reached(symbols, instruction);
                        let given = entry.and_then(|entry| {
                            GIVEN.iter().find(|(start, _, register)| {
                                entry.starts_with(start) && holders.contains(register)
                            })
                        });
                        if let Some(&(_, construct, _)) = given {
                            return Some(Body {
                                construct,
                                calls: vec![(parent.clone(), instruction.next_ip() - 1)],
                            });
                        }
                        if is_call(instruction) {
                            // A function that it is passed to may call it, too.
                            holders.retain(|holder| CALLEE_SAVED.contains(holder));
                            continue;
                        }
                        let is_known = instruction.is_jmp_short_or_near();
                        match number(instruction.near_branch_target()).filter(|_| is_known) {
                            Some(target) => at = target,
                            None => break,
                        }
                    }
                    _ => break,
                }
            }
        }
        None
    }
}
