//! The calls and jumps out of functions, by the machine code.

use std::collections::HashMap;
use std::rc::Rc;

use experiment::linkage::{part_of, without_clone};
use iced_x86::{FlowControl, Instruction, OpKind};

use crate::code::{LARGEST, calls_ending_at, decode};
use crate::symbols::{ElfFunction, Symbols};

/// What a call or jump names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The function of the same file that starts at this svma.
    Own(u64),
    /// The function of this linkage name, in another file.
    Other(String),
}

/// A jump out of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Exit {
    /// The svma of the jump's last byte.
    pub(super) last: u64,
    pub(super) to: Target,
}

/// The jumps out of the functions of a file, each read once.
#[derive(Default)]
pub(super) struct Exits(HashMap<u64, Rc<[Exit]>>);

impl Exits {
    /// The jumps out of a function and its parts, by their addresses.
    pub(super) fn of(&mut self, symbols: &Symbols, function: &ElfFunction) -> Rc<[Exit]> {
        let known = self.0.entry(function.start);
        known
            .or_insert_with(|| {
                let parts = parts(symbols, function);
                let exits = [function.clone()]
                    .into_iter()
                    .chain(parts)
                    .collect::<Vec<_>>();
                let exits = exits.iter().flat_map(|part| {
                    let code = decode(code_of(symbols, part), part.start);
                    let exits = code
                        .iter()
                        .filter_map(|it| exit(symbols, function, part, it));
                    exits.collect::<Vec<_>>()
                });
                exits.collect()
            })
            .clone()
    }
}

/// The parts that compilers split off from a function.
fn parts(symbols: &Symbols, function: &ElfFunction) -> Vec<ElfFunction> {
    /// clang's sections of basic blocks have numbers, of which some may be missing.
    const MOST: u32 = 32;
    if !has_name(function) {
        return Vec::new();
    }
    let blocks = (0..MOST).map(|number| format!(".__part.{number}"));
    let ends = blocks.chain([".cold".to_owned()]);
    ends.filter_map(|end| symbols.named(&format!("{}{end}", function.name)))
        .collect()
}

fn has_name(function: &ElfFunction) -> bool {
    !function.name.is_empty()
}

/// The bytes of a function, none if it is too long to be examined.
fn code_of<'s>(symbols: &'s Symbols, function: &ElfFunction) -> &'s [u8] {
    if function.size > LARGEST {
        return &[];
    }
    symbols.bytes(function)
}

/// The function that a function is a part of: compilers move code that seldom runs to a function of
/// its own (`foo.cold`).
pub(super) fn whole(symbols: &Symbols, function: ElfFunction) -> ElfFunction {
    let whole = part_of(&function.name).and_then(|name| symbols.named(name));
    whole.unwrap_or(function)
}

/// Whether two functions are one in the source: compilers make clones and parts of functions, which
/// have its name with a suffix.
pub(super) fn is_one_source(one: &ElfFunction, other: &ElfFunction) -> bool {
    let is_same = || without_clone(&one.name) == without_clone(&other.name);
    one.start == other.start || has_name(one) && is_same()
}

/// The function that the call instruction whose last byte is at `last` names.
pub(super) fn called(symbols: &Symbols, last: u64) -> Option<Target> {
    calls_ending_at(symbols, last).find_map(|call| target(symbols, &call))
}

fn exit(
    symbols: &Symbols,
    whole: &ElfFunction,
    part: &ElfFunction,
    instruction: &Instruction,
) -> Option<Exit> {
    if !matches!(
        instruction.flow_control(),
        FlowControl::UnconditionalBranch
            | FlowControl::ConditionalBranch
            | FlowControl::IndirectBranch
    ) {
        return None;
    }
    let to = target(symbols, instruction)?;
    let own = |function: &ElfFunction| to == Target::Own(function.start);
    if own(whole) || own(part) {
        return None;
    }
    Some(Exit {
        last: instruction.next_ip() - 1,
        to,
    })
}

/// What a call or jump names; `None` for one within its function, or through a pointer.
fn target(symbols: &Symbols, instruction: &Instruction) -> Option<Target> {
    let is_near = matches!(instruction.op0_kind(), OpKind::NearBranch64);
    if is_near {
        let to = instruction.near_branch_target();
        let function = symbols.code(to);
        let Some(function) = function.filter(|it| !it.name.ends_with(experiment::linkage::STUB))
        else {
            return Some(by_name(symbols, symbols.leads_to(to)?));
        };
        let whole = whole(symbols, function.clone());
        return (function.start == to || whole.start != function.start)
            .then_some(Target::Own(whole.start));
    }
    let through_slot =
        instruction.op0_kind() == OpKind::Memory && instruction.is_ip_rel_memory_operand();
    let slot = instruction.ip_rel_memory_address();
    through_slot.then(|| Some(by_name(symbols, symbols.through_slot(slot)?)))?
}

/// A function of the file itself may be called by its name, too.
fn by_name(symbols: &Symbols, name: String) -> Target {
    match symbols.named(&name) {
        Some(function) => Target::Own(function.start),
        None => Target::Other(name),
    }
}
