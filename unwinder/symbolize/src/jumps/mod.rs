//! Functions that left the stack by a jump.
//!
//! A function that ends in a call can jump to the callee instead (a tail call), and is on no stack
//! then: the callee's caller is that of the function. But the call instruction there names the
//! function. If it is another than the one on the stack, and exactly one chain of jumps leads from it to
//! that, then all functions of the chain were called. They are found here, as debuggers find them. Of
//! several chains, what is common to them was called, and something unknown between. Calls and jumps
//! through pointers name no function. A body is named by its event: where it left the stack itself, chains
//! begin with it. The machine code is read, not DWARF's call-site entries: it has all jumps, in programs
//! without debug information, too.

mod chain;
mod exits;

use std::collections::{BTreeMap, BTreeSet};

use experiment::ids::{FrameId, ModuleId, StackId};
use experiment::linkage::is_outlined;
use experiment::symbols::Jump;
use experiment::tables::{Frame, RuntimeKind, StackEntry, Tables};
use rustc_hash::FxHashMap;

use crate::object::is_c_library;
use crate::source::SymbolSource;
use crate::symbols::Symbols;
use chain::{AllExits, Goal, Node, Scope, Step, chain};
use exits::Target;

/// Finds the functions that left the stacks of `tables` by jumps. Adds the frames of the jumps to
/// `tables`: they are to be resolved with the others.
pub fn find_jumps(tables: &mut Tables, source: &mut impl SymbolSource) -> Vec<Jump> {
    let Calls {
        pairs,
        bodies,
        called_by_runtimes,
    } = calls(tables);
    let mut objects = Objects {
        source,
        opened: FxHashMap::default(),
    };
    let mut chains = Chains::default();
    let mut found = Vec::new();
    let pairs: Vec<Pair> = pairs.into_iter().collect();
    for of_module in pairs.chunk_by(|one, other| one.module == other.module) {
        objects.chains(tables, of_module, &mut chains, &mut found);
    }
    for (module, caller) in bodies {
        if !objects.jumps_on(tables, (module, caller), &mut chains) {
            continue;
        }
        let pairs: Vec<Pair> = called_by_runtimes
            .iter()
            .map(|&callee| Pair {
                module,
                caller,
                callee,
                how: How::Body,
            })
            .collect();
        objects.chains(tables, &pairs, &mut chains, &mut found);
    }
    let mut jumps: Vec<Jump> = found
        .into_iter()
        .map(|(pair, steps)| Jump {
            caller: pair.caller,
            callee: pair.callee,
            frames: steps
                .into_iter()
                .map(|step| match step {
                    Step::Function(module, address) => tables.frame(Frame { module, address }),
                    Step::Unknown => FrameId::NONE,
                })
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
    how: How,
}

/// How it is known what was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum How {
    /// The caller's frame is a call instruction.
    Call,
    /// The caller's frame is the innermost of a calling context, and the callee is the body that was passed to
    /// the runtime, if known.
    Context,
    /// The caller is the C library's, and what it calls is `main`: it was itself called here, by the program's first
    /// function.
    Start(FrameId),
    /// The caller is a body that the runtime called, and the callee is what it seems to have called.
    Body,
}

/// The calls that stacks and events tell of.
struct Calls {
    /// All pairs of adjacent frames of which the outer one is the program's, and all calls that created a region or
    /// task. Sorted by load object.
    pairs: BTreeSet<Pair>,
    /// The bodies of regions and tasks, with their load objects.
    bodies: BTreeSet<(ModuleId, FrameId)>,
    /// The frames that seem to have been called by a runtime.
    called_by_runtimes: BTreeSet<FrameId>,
}

fn calls(tables: &Tables) -> Calls {
    let module = |frame: FrameId| tables.frames.get(frame.0).map(|frame| frame.module);
    let programs: Vec<bool> = (0..tables.modules.len() as u32)
        .map(|id| is_program(tables, ModuleId(id)))
        .collect();
    let of_program = |frame: FrameId| {
        let module = module(frame)?;
        (programs.get(module.index()) == Some(&true)).then_some(module)
    };
    let runtime =
        |frame: FrameId| module(frame).map_or(RuntimeKind::None, |module| tables.runtime(module));
    // No machine code is theirs.
    let is_python = |frame: FrameId| runtime(frame) == RuntimeKind::Python;
    let mut pairs = BTreeSet::new();
    let mut add = |stack: StackId, callee: FrameId, is_context: bool| {
        let Some(StackEntry::Frame(caller)) = tables.walk(stack).next() else {
            return;
        };
        if is_python(caller) || is_python(callee) {
            return;
        }
        // The C library calls `main` from one or two functions, which `_start` called.
        let outer = tables.walk(stack).skip(1).take(MOST_OF_START);
        let start = outer
            .filter_map(|entry| match entry {
                StackEntry::Frame(frame) => Some((frame, of_program(frame)?)),
                StackEntry::Cut(_) => None,
            })
            .next();
        let (module, how) = match (of_program(caller), start) {
            (Some(module), _) if is_context => (module, How::Context),
            (Some(module), _) => (module, How::Call),
            // One of these functions calls the other itself.
            (None, Some((start, object))) if module(callee) != module(caller) => {
                (object, How::Start(start))
            }
            (None, _) => return,
        };
        pairs.insert(Pair {
            module,
            caller,
            callee,
            how,
        });
    };
    let is_runtime =
        |frame: FrameId| !matches!(runtime(frame), RuntimeKind::None | RuntimeKind::Python);
    let of_runtime = |stack: StackId| {
        let caller = tables.walk(stack).next();
        matches!(caller, Some(StackEntry::Frame(caller)) if is_runtime(caller))
    };
    let mut called_by_runtimes = BTreeSet::new();
    for row in tables.stacks.rows() {
        if let StackEntry::Frame(callee) = row.entry
            && !matches!(
                module(callee),
                None | Some(ModuleId::NONE | ModuleId::KERNEL)
            )
        {
            add(row.callers, callee, false);
            if of_runtime(row.callers) && !is_runtime(callee) {
                called_by_runtimes.insert(callee);
            }
        }
    }
    let mut bodies = BTreeSet::new();
    for row in tables.contexts.rows().iter().skip(1) {
        add(row.stack, row.body, true);
        bodies.extend(of_program(row.body).map(|module| (module, row.body)));
    }
    Calls {
        pairs,
        bodies,
        called_by_runtimes,
    }
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

/// What was found in them.
#[derive(Default)]
struct Chains {
    exits: AllExits,
    /// By their first functions and goals: stacks have many frames in one function.
    known: FxHashMap<(Node, Goal), Option<Vec<Step>>>,
}

/// A pair and the functions between.
type Found = (Pair, Vec<Step>);

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

    /// Whether a body has jumps out of it. Most have none, and need not be compared with all that runtimes called.
    fn jumps_on(
        &mut self,
        tables: &Tables,
        (module, body): (ModuleId, FrameId),
        chains: &mut Chains,
    ) -> bool {
        self.open(tables, module);
        let address = tables.frames.get(body.0).map(|frame| frame.address);
        let symbols = self.get(module);
        let function = symbols.zip(address).and_then(|(it, at)| it.code(at));
        symbols.zip(function).is_some_and(|(symbols, function)| {
            let exits = chains.exits.entry(module).or_default();
            !exits.of(symbols, &function).is_empty()
        })
    }

    /// Adds the chains of pairs whose callers are in one load object.
    fn chains(
        &mut self,
        tables: &Tables,
        pairs: &[Pair],
        chains: &mut Chains,
        found: &mut Vec<Found>,
    ) {
        let Some(module) = pairs.first().map(|pair| pair.module) else {
            return;
        };
        let path = tables.modules.get(module.0).map(|row| row.path.as_str());
        let path = path.unwrap_or_default();
        self.open(tables, module);
        // What each call names.
        let mut named: BTreeMap<(FrameId, How), Option<Target>> = BTreeMap::new();
        for &pair in pairs {
            if !self.source.goes_on(path) {
                return;
            }
            let Some(symbols) = self.get(module) else {
                return;
            };
            let called = named
                .entry((pair.caller, pair.how))
                .or_insert_with(|| self::called(tables, symbols, pair));
            let Some(called) = called.clone() else {
                continue;
            };
            if let Some(steps) = self.steps(tables, (pair, &called), chains)
                && !steps.is_empty()
            {
                found.push((pair, steps));
            }
        }
    }

    /// The functions between a pair whose caller called `called`.
    fn steps(
        &mut self,
        tables: &Tables,
        (pair, called): (Pair, &Target),
        chains: &mut Chains,
    ) -> Option<Vec<Step>> {
        let callee = tables.frames.get(pair.callee.0).copied();
        let callee = callee.filter(|_| pair.callee != FrameId::NONE);
        // Functions of a runtime that is linked into the program are not the program's.
        let path = |module: ModuleId| tables.modules.get(module.0).map(|row| &row.path);
        let is_linked =
            |module: ModuleId| module != pair.module && path(module) == path(pair.module);
        if pair.how != How::Context && callee.is_some_and(|frame| is_linked(frame.module)) {
            return None;
        }
        let other = callee.map(|frame| frame.module);
        let other = other.filter(|&other| other != pair.module && is_program(tables, other));
        // Of a function of the C library, the name is known.
        if let Some(frame) = callee {
            self.open(tables, frame.module);
        }
        let file = |module: ModuleId| Some((module, self.get(module)?));
        let files = [Some(pair.module), other].into_iter().flatten();
        let scope = Scope {
            files: files.filter_map(file).collect(),
        };
        let first = scope.function(pair.module, called)?;
        let goal = self.goal(&scope, pair, callee)?;
        let key = (first, goal);
        let exits = &mut chains.exits;
        let known = chains.known.entry(key);
        let steps = known.or_insert_with_key(|(first, goal)| chain(&scope, exits, *first, goal));
        let mut steps = steps.clone()?;
        if pair.how == How::Body && !steps.is_empty() {
            // The body itself is known without, and one of equal code that it jumped to is its own.
            steps.remove(0);
            steps.retain(|step| match *step {
                Step::Function(module, address) => {
                    let function = self.get(module).and_then(|it| it.code(address));
                    !function.is_some_and(|it| is_outlined(&it.name))
                }
                Step::Unknown => true,
            });
        }
        Some(steps)
    }

    /// Where the chain of a pair ends.
    fn goal(&self, scope: &Scope<'_>, pair: Pair, callee: Option<Frame>) -> Option<Goal> {
        let inside = callee.filter(|frame| scope.files.iter().any(|file| file.0 == frame.module));
        match (callee, inside) {
            _ if pair.how == How::Context => {
                let body = inside.map(|body| (body.module, body.address));
                Some(Goal::Runtime(body))
            }
            (None, _) => None,
            (_, Some(frame)) => {
                let symbols = self.get(frame.module)?;
                let function = symbols.code(frame.address)?;
                let start = exits::whole(symbols, function).start;
                Some(Goal::Function((frame.module, start)))
            }
            (Some(frame), None) => {
                let other = self.get(frame.module);
                let function = other.and_then(|symbols| symbols.code(frame.address));
                Some(Goal::Elsewhere(
                    function.map(|function| function.name).unwrap_or_default(),
                ))
            }
        }
    }
}

/// What the caller of a pair called, as its call instruction or the construct's event names it.
fn called(tables: &Tables, symbols: &Symbols, pair: Pair) -> Option<Target> {
    let call = match pair.how {
        How::Start(start) => start,
        _ => pair.caller,
    };
    let address = tables.frames.get(call.0)?.address;
    match pair.how {
        How::Body => Some(Target::Own(symbols.code(address)?.start)),
        How::Start(_) => {
            let is_start = exits::called(symbols, address)? == Target::Other(START_MAIN.to_owned());
            is_start.then(|| Some(Target::Own(symbols.named("main")?.start)))?
        }
        How::Call | How::Context => exits::called(symbols, address),
    }
}
