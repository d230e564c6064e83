//! Distinguishes explicit from implicit barriers by the lines of their calls.
//!
//! gcc generates the same call, `GOMP_barrier`, for the `barrier` directive and for the end of a
//! worksharing construct, and the events do not tell which it is
//! ([`State::Barrier`](experiment::state::State::Barrier)). The line of the call does: an explicit
//! barrier has the line of its directive, an implicit one that of a worksharing directive or of the
//! last statement before. If the source cannot be read, or a macro hides the directive, the line
//! table decides: the line of a directive has no code but the call.

use std::rc::Rc;

use experiment::symbols::Barrier;

use crate::directives::{Directive, Text, directive_at};
use crate::symbols::Symbols;

/// Decides whether the barrier is explicit whose call has its last byte at `address`. `source` returns
/// the text of a source file.
pub(crate) fn decide(
    symbols: &Symbols,
    address: u64,
    source: impl FnOnce(&str) -> Option<Rc<Text>>,
) -> Barrier {
    let Some((file, line)) = line_of(symbols, address) else {
        return Barrier::Unknown;
    };
    let directive = source(&file).and_then(|text| directive_at(&text, line));
    let first = || is_first(symbols, address, (&file, line));
    match directive {
        // gcc gives the end of a `single` the line of the statement before it, which may be an
        // explicit barrier. Then this call is not the first of its line.
        Some(Directive::Barrier) if first() => Barrier::Explicit,
        Some(_) => Barrier::Implicit,
        None if first() && stands_alone(symbols, address, (&file, line)) => Barrier::Explicit,
        None => Barrier::Implicit,
    }
}

/// Bytes of a call, by offset or through the global offset table.
const CALL: u64 = 6;

/// Least bytes of a statement: a call with one argument. Less can be a jump with its register, to which
/// gcc gives the line before.
const STATEMENT: u64 = 10;

/// Most bytes of a function that are searched.
const LARGEST: u64 = 1 << 20;

fn line_of(symbols: &Symbols, address: u64) -> Option<(String, u32)> {
    let location = symbols.locations(address).into_iter().next()?;
    Some((location.file?, location.line?))
}

fn is_on(symbols: &Symbols, address: u64, (file, line): (&str, u32)) -> bool {
    line_of(symbols, address).is_some_and(|(f, l)| l == line && f == file)
}

/// Whether the call that ends at `address` is the first code of its line there.
fn is_first(symbols: &Symbols, address: u64, line: (&str, u32)) -> bool {
    !is_on(symbols, address.saturating_sub(CALL), line)
}

/// Whether a line has nothing but the call that ends at `address`, and no statement elsewhere in
/// the function.
fn stands_alone(symbols: &Symbols, address: u64, line: (&str, u32)) -> bool {
    let Some(function) = symbols.code(address) else {
        return false;
    };
    if is_on(symbols, address.saturating_add(1), line) {
        return false;
    }
    let mut run = 0;
    for at in function.start..function.start.saturating_add(function.size.min(LARGEST)) {
        run = if is_on(symbols, at, line) { run + 1 } else { 0 };
        if run >= STATEMENT {
            return false;
        }
    }
    true
}
