//! Which calls of a runtime's barrier a program's author wrote.
//!
//! gcc makes one call, `GOMP_barrier`, of the `barrier` directive and of the end of a worksharing
//! construct, and its events do not tell which ([`State::Barrier`]). The line of the call does:
//! an explicit barrier stands on the line of its directive, an implicit one on that of a
//! worksharing directive or of the last statement before. Where the source cannot be read, or a
//! macro hides the directive, the line table tells: a directive's line holds nothing but the call.

use unwinder::Symbols;

use crate::directives::{Directive, directive_at};
use crate::ids::{ContextId, FrameId};
use crate::state::State;
use crate::symbols::SymbolTable;
use crate::tables::Tag;

/// What a call of the runtime's barrier is to the author.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Barrier {
    /// Neither source nor line table tells; shown as implicit, of which there are more.
    Unknown = 0,
    /// The end of a construct.
    Implicit = 1,
    /// A `barrier` directive.
    Explicit = 2,
}

impl Barrier {
    /// The decision of a stored number.
    pub const fn from_u8(number: u8) -> Option<Barrier> {
        match number {
            0 => Some(Barrier::Unknown),
            1 => Some(Barrier::Implicit),
            2 => Some(Barrier::Explicit),
            _ => None,
        }
    }
}

impl SymbolTable {
    /// What is known of the call of a barrier at `place`.
    pub fn barrier(&self, place: FrameId) -> Barrier {
        let found = self.barriers.binary_search_by_key(&place, |row| row.0);
        found.map_or(Barrier::Unknown, |at| self.barriers[at].1)
    }

    /// The state of a tag, where its place tells more than its event: which kind of barrier it
    /// is, and whether a lock was only asked for (LLVM 14 and 16 send the same event for that, and
    /// none when it was refused).
    pub fn state_of(&self, tag: Tag) -> State {
        match tag.state {
            State::Barrier => match self.barrier(tag.place) {
                Barrier::Explicit => State::ExplicitBarrier,
                Barrier::Implicit | Barrier::Unknown => State::ImplicitBarrier,
            },
            State::Lock | State::NestLock if self.is_attempt(tag.place) => match tag.context {
                ContextId::ROOT => State::Serial,
                _ => State::Work,
            },
            other => other,
        }
    }

    /// Whether the call at a place asks for a lock without waiting for it.
    fn is_attempt(&self, place: FrameId) -> bool {
        let called = self.code_of(place).and_then(|fact| fact.calls.as_deref());
        // A static libgomp has the function under two names.
        called.is_some_and(|name| name.starts_with("omp_test_") || name.starts_with("gomp_test_"))
    }

    /// In how many places there are barriers of which nothing tells what they are.
    pub fn undecided_barriers(&self) -> usize {
        let unknown = |row: &&(FrameId, Barrier)| row.1 == Barrier::Unknown;
        self.barriers.iter().filter(unknown).count()
    }
}

/// Decides what the barrier is whose call, by its last byte, stands at `address`. `source` gives
/// the text of a source file.
pub fn decide(
    symbols: &Symbols,
    address: u64,
    source: impl FnOnce(&str) -> Option<String>,
) -> Barrier {
    let Some((file, line)) = line_of(symbols, address) else {
        return Barrier::Unknown;
    };
    let directive = source(&file).and_then(|text| directive_at(&text, line));
    let first = || is_first(symbols, address, (&file, line));
    match directive {
        // gcc gives the end of a `single` the line of the statement before it: of this barrier,
        // if that is what is there.
        Some(Directive::Barrier) if first() => Barrier::Explicit,
        Some(_) => Barrier::Implicit,
        None if first() && stands_alone(symbols, address, (&file, line)) => Barrier::Explicit,
        None => Barrier::Implicit,
    }
}

/// Bytes of a call, by offset or through the global offset table.
const CALL: u64 = 6;

/// Bytes of a statement that does something: a call with one argument. What is shorter can be a
/// jump and its register, which gcc gives to the line before them.
const STATEMENT: u64 = 10;

/// What a function may have in bytes to be searched whole.
const LARGEST: u64 = 1 << 20;

fn line_of(symbols: &Symbols, address: u64) -> Option<(String, u32)> {
    let place = symbols.lines(address).into_iter().next()?;
    Some((place.file?, place.line?))
}

fn is_on(symbols: &Symbols, address: u64, (file, line): (&str, u32)) -> bool {
    line_of(symbols, address).is_some_and(|(f, l)| l == line && f == file)
}

/// Whether the call that ends at `address` is the first thing that its line does there.
fn is_first(symbols: &Symbols, address: u64, line: (&str, u32)) -> bool {
    !is_on(symbols, address.saturating_sub(CALL), line)
}

/// Whether a line has nothing but the call that ends at `address`, and no statement elsewhere in
/// the function.
fn stands_alone(symbols: &Symbols, address: u64, line: (&str, u32)) -> bool {
    let Some(function) = symbols.code(address) else {
        return false;
    };
    if is_on(symbols, address + 1, line) {
        return false;
    }
    let mut run = 0;
    for at in function.start..function.start + function.size.min(LARGEST) {
        run = if is_on(symbols, at, line) { run + 1 } else { 0 };
        if run >= STATEMENT {
            return false;
        }
    }
    true
}
