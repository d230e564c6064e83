//! Bodies of constructs in stripped programs. The function that holds the directive takes the body's
//! address and passes it to an entry point of the runtime, which tells the construct.

use std::collections::{BTreeMap, HashSet};

use experiment::symbols::Construct;
use iced_x86::{FlowControl, Mnemonic, OpKind, Register};

use super::instructions::{LARGEST, decode, reached};
use crate::symbols::{ElfFunction, Symbols};

/// The function and construct that a nameless function is the body of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Body {
    pub(crate) construct: Construct,
    pub(crate) parent: ElfFunction,
}

/// Entry points that take the address of a body (or combiner): the prefix of their names, the
/// construct, and the register of the argument (`kmp.h` of LLVM, `libgomp_g.h` of GCC). The first
/// match counts.
pub(super) const GIVEN: [(&str, Construct, Register); 9] = [
    ("__kmpc_fork_call", Construct::Parallel, Register::RDX),
    ("__kmpc_fork_teams", Construct::Teams, Register::RDX),
    ("__kmpc_omp_task_alloc", Construct::Task, Register::R9),
    ("__kmpc_omp_target_task", Construct::Task, Register::R9),
    ("__kmpc_reduce", Construct::Reduction, Register::R9),
    ("GOMP_parallel", Construct::Parallel, Register::RDI),
    ("GOMP_task", Construct::Task, Register::RDI),
    ("GOMP_teams_reg", Construct::Teams, Register::RDI),
    ("GOMP_target", Construct::Teams, Register::RSI),
];

/// The bodies among the functions that start at `nameless`. One whose address two functions take
/// is left out: it is shared code.
pub(crate) fn bodies(symbols: &Symbols, nameless: &HashSet<u64>) -> BTreeMap<u64, Body> {
    let mut found: BTreeMap<u64, Option<Body>> = BTreeMap::new();
    if nameless.is_empty() {
        return BTreeMap::new();
    }
    for (target, end) in symbols.takers(nameless) {
        let body = given_at(symbols, end);
        let known = found.entry(target).or_insert_with(|| body.clone());
        if *known != body {
            *known = None;
        }
    }
    let known = found.into_iter();
    known
        .filter_map(|(target, body)| Some((target, body?)))
        .collect()
}

/// The body whose address the instruction that ends at `end` takes. The next call must be an entry
/// point, with the address in the register for a body.
fn given_at(symbols: &Symbols, end: u64) -> Option<Body> {
    let parent = symbols.code(end - 1).filter(|f| f.size <= LARGEST)?;
    let bytes = symbols.bytes(&parent);
    let code = decode(bytes, parent.start);
    let at = code.iter().position(|taker| taker.next_ip() == end)?;
    let mut holder = code[at].op0_register().full_register();
    for instruction in &code[at + 1..] {
        if instruction.flow_control() == FlowControl::Next {
            let moves = instruction.mnemonic() == Mnemonic::Mov
                && instruction.op1_register() == holder
                && instruction.op0_kind() == OpKind::Register;
            if moves {
                holder = instruction.op0_register();
            }
            continue;
        }
        if instruction.flow_control() == FlowControl::ConditionalBranch {
            continue;
        }
        let entry = reached(symbols, instruction)?;
        let &(_, construct, register) =
            GIVEN.iter().find(|(start, ..)| entry.starts_with(start))?;
        return (register == holder).then_some(Body { construct, parent });
    }
    None
}
