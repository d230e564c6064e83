//! Functions that left the stack by a jump.
//!
//! A function that ends in a call can jump to the callee instead (a tail call), and is on no stack
//! then: the callee's caller is that of the function. But the call instruction there names the
//! function. If it is another than the one called, and exactly one chain of jumps leads from it to the
//! one on the stack, then all functions of the chain were called. They are found here, as debuggers
//! find them: loops and two possible chains give nothing, and calls and jumps through pointers name
//! no function. The machine code is read, not DWARF's call-site entries: it has all jumps, in programs
//! without debug information, too.

mod chain;
mod exits;

use std::collections::{BTreeMap, BTreeSet};

use experiment::ids::{FrameId, ModuleId, StackId};
use experiment::symbols::Jump;
use experiment::tables::{Frame, RuntimeKind, StackEntry, Tables};
use rustc_hash::FxHashMap;

use crate::object::is_c_library;
use crate::source::SymbolSource;
use crate::symbols::Symbols;
use chain::{Goal, Link, chain};
use exits::{Exits, Target};

/// Finds the functions that left the stacks of `tables` by jumps. Adds the frames of the jumps to
/// `tables`: they are to be resolved with the others.
pub fn find_jumps(tables: &mut Tables, source: &mut impl SymbolSource) -> Vec<Jump> {
    let pairs = pairs(tables);
    let mut objects = Objects {
        source,
        opened: FxHashMap::default(),
    };
    let mut found = Vec::new();
    for of_module in pairs.chunk_by(|one, other| one.module == other.module) {
        let chains = objects.chains(tables, of_module);
        found.extend(chains);
    }
    let mut jumps: Vec<Jump> = found
        .into_iter()
        .map(|(pair, module, links)| Jump {
            caller: pair.caller,
            callee: pair.callee,
            frames: links
                .into_iter()
                .map(|Link { address }| tables.frame(Frame { module, address }))
                .collect(),
        })
        .collect();
    jumps.sort_unstable_by_key(|jump| (jump.caller, jump.callee));
    jumps
}

/// A call of the program, and what it seems to have called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    /// The load object of the caller.
    module: ModuleId,
    caller: FrameId,
    callee: FrameId,
    /// The caller's frame is the innermost of a calling context, and the callee is the body that
    /// was passed to the runtime, if known.
    is_context: bool,
    /// The caller is the C library's, and what it calls is `main`: it was itself called here, by
    /// the program's first function.
    start: Option<FrameId>,
}

/// All pairs of adjacent frames of which the outer one is the program's, and all calls that created
/// a region or task. Sorted by load object.
fn pairs(tables: &Tables) -> Vec<Pair> {
    let module = |frame: FrameId| tables.frames.get(frame.0).map(|frame| frame.module);
    let programs: Vec<bool> = (0..tables.modules.len() as u32)
        .map(|id| is_program(tables, ModuleId(id)))
        .collect();
    let of_program = |frame: FrameId| {
        let module = module(frame)?;
        (programs.get(module.index()) == Some(&true)).then_some(module)
    };
    let mut pairs = BTreeSet::new();
    let mut add = |stack: StackId, callee: FrameId, is_context: bool| {
        let Some(StackEntry::Frame(caller)) = tables.walk(stack).next() else {
            return;
        };
        // The C library calls `main` from one or two functions, which `_start` called.
        let outer = tables.walk(stack).skip(1).take(MOST_OF_START);
        let start = outer
            .filter_map(|entry| match entry {
                StackEntry::Frame(frame) => Some((frame, of_program(frame)?)),
                StackEntry::Cut(_) => None,
            })
            .next();
        let (module, start) = match (of_program(caller), start) {
            (Some(module), _) => (module, None),
            (None, Some((start, module))) => (module, Some(start)),
            (None, None) => return,
        };
        pairs.insert(Pair {
            module,
            caller,
            callee,
            is_context,
            start,
        });
    };
    for row in tables.stacks.rows() {
        if let StackEntry::Frame(callee) = row.entry
            && !matches!(
                module(callee),
                None | Some(ModuleId::NONE | ModuleId::KERNEL)
            )
        {
            add(row.callers, callee, false);
        }
    }
    for row in tables.contexts.rows().iter().skip(1) {
        add(row.stack, row.body, true);
    }
    pairs.into_iter().collect()
}

/// The function of the C library that `_start` calls (System V ABI for AMD64, section 3.4.1).
const START_MAIN: &str = "__libc_start_main";
/// The number of the C library's functions between `_start` and `main`.
const MOST_OF_START: usize = 2;

/// Whether a load object is the program's: no runtime, not the kernel, and not the C library.
fn is_program(tables: &Tables, module: ModuleId) -> bool {
    if module == ModuleId::NONE || module == ModuleId::KERNEL {
        return false;
    }
    tables.modules.get(module.0).is_some_and(|row| {
        let name = row.path.rsplit('/').next().unwrap_or_default();
        row.runtime == RuntimeKind::None && !name.is_empty() && !is_c_library(name)
    })
}

/// The load objects that have been opened.
struct Objects<'s, S> {
    source: &'s mut S,
    opened: FxHashMap<ModuleId, Option<Symbols>>,
}

/// A pair, the load object of the functions between, and these.
type Found = (Pair, ModuleId, Vec<Link>);

impl<S: SymbolSource> Objects<'_, S> {
    fn open(&mut self, tables: &Tables, module: ModuleId) {
        if !self.opened.contains_key(&module) {
            let row = tables.modules.get(module.0);
            let symbols = row.and_then(|row| self.source.symbols(row).ok());
            self.opened.insert(module, symbols);
        }
    }

    fn get(&self, module: ModuleId) -> Option<&Symbols> {
        self.opened.get(&module)?.as_ref()
    }

    /// The chains of pairs whose callers are in one load object.
    fn chains(&mut self, tables: &Tables, pairs: &[Pair]) -> Vec<Found> {
        let Some(module) = pairs.first().map(|pair| pair.module) else {
            return Vec::new();
        };
        let path = tables.modules.get(module.0).map(|row| row.path.as_str());
        let path = path.unwrap_or_default();
        self.open(tables, module);
        // What each call names.
        let mut named: BTreeMap<(FrameId, Option<FrameId>), Option<Target>> = BTreeMap::new();
        // Its part alone is borrowed.
        if let Some(Some(symbols)) = self.opened.get(&module) {
            for pair in pairs.iter().take_while(|_| self.source.goes_on(path)) {
                let called = || {
                    let call = pair.start.unwrap_or(pair.caller);
                    let called = exits::called(symbols, tables.frames.get(call.0)?.address)?;
                    match pair.start {
                        None => Some(called),
                        Some(_) if called != Target::Other(START_MAIN.to_owned()) => None,
                        Some(_) => Some(Target::Own(symbols.named("main")?.start)),
                    }
                };
                named
                    .entry((pair.caller, pair.start))
                    .or_insert_with(called);
            }
        }
        let mut exits: FxHashMap<ModuleId, Exits> = FxHashMap::default();
        let mut found = Vec::new();
        for &pair in pairs {
            let Some(Some(called)) = named.get(&(pair.caller, pair.start)) else {
                continue;
            };
            if !self.source.goes_on(path) {
                break;
            }
            let callee = tables.frames.get(pair.callee.0).copied();
            let of_callee = callee.map(|frame| frame.module);
            // Of a call into another load object, the jumps are in that one.
            let within = match called {
                Target::Own(_) => module,
                Target::Other(_) if pair.is_context => continue,
                Target::Other(_) => match of_callee {
                    Some(other) if is_program(tables, other) => other,
                    _ => continue,
                },
            };
            let elsewhere = of_callee.filter(|&of| of != within && !pair.is_context);
            for module in [Some(within), elsewhere].into_iter().flatten() {
                self.open(tables, module);
            }
            let Some(symbols) = self.get(within) else {
                continue;
            };
            let first = match called {
                Target::Own(start) => symbols.code(*start),
                Target::Other(name) => symbols.named(name),
            };
            let Some(first) = first else { continue };
            let goal = match callee {
                Some(body) if pair.is_context => {
                    Goal::Runtime((body.module == within).then_some(body.address))
                }
                None if pair.is_context => Goal::Runtime(None),
                Some(frame) if frame.module == within => match symbols.code(frame.address) {
                    Some(function) => Goal::Function(exits::whole(symbols, function).start),
                    None => continue,
                },
                Some(frame) => {
                    let other = self.get(frame.module);
                    let function = other.and_then(|symbols| symbols.code(frame.address));
                    Goal::Elsewhere(function.map(|function| function.name).unwrap_or_default())
                }
                None => continue,
            };
            let exits = exits.entry(within).or_default();
            if let Some(links) = chain(symbols, exits, &first, &goal)
                && !links.is_empty()
            {
                found.push((pair, within, links));
            }
        }
        found
    }
}
