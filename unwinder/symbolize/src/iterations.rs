//! Loops of the program, by machine code and source text: iterations of worksharing loops, and loops
//! that wait.
//!
//! A compiler may divide a loop with a static schedule in the program's own code, and no runtime tells
//! of its iterations. But an instruction that each round of the loop executes once has a number: how
//! often it was executed before. Two executions with different numbers are of different iterations,
//! also where the compiler unrolled the loop.
//!
//! Machine code proves that a loop's rounds execute an instruction once; the source that the loop is a
//! worksharing loop: the instruction's line lies in the statement of such a directive, which stands in
//! the instruction's own function, the body of a construct. Debug information and the source are needed.

use experiment::linkage::is_outlined;

use crate::code::{SpinLoops, loop_of};
use crate::directives::{directive_at, first_line, is_fortran, loop_around};
use crate::symbols::Symbols;

/// The worksharing loop in each iteration of which the instruction that contains `svma` is executed
/// once, as the address of the loop's first instruction. `source` returns the text of a source file.
#[must_use]
pub fn worksharing_loop(
    symbols: &Symbols,
    svma: u64,
    source: impl FnOnce(&str) -> Option<String>,
) -> Option<u64> {
    let function = symbols.code(svma).filter(|it| is_outlined(&it.name))?;
    let head = loop_of(symbols, svma)?;
    let (file, line) = line_of(symbols, svma)?;
    let (own_file, first) = line_of(symbols, function.start)?;
    if file != own_file {
        return None;
    }
    let text = source(&file)?;
    let first = if is_fortran(&file) {
        first_line(&text, first, None).unwrap_or(first)
    } else {
        first
    };
    loop_around(&text, first, line).map(|_| head)
}

/// Whether a directive has the line of the instruction that contains `svma`: a call there is the
/// compiler's own.
#[must_use]
pub fn is_of_directive(
    symbols: &Symbols,
    svma: u64,
    source: impl FnOnce(&str) -> Option<String>,
) -> bool {
    // clang inlines the body of a construct into a function that has the directive's line.
    let place = symbols.locations(svma).into_iter().next();
    let place = place.and_then(|location| Some((location.file?, location.line?)));
    place.is_some_and(|(file, line)| {
        source(&file).is_some_and(|text| directive_at(&text, line).is_some())
    })
}

/// Whether the instruction that contains `svma` is in a loop that waits for another thread: it reads
/// memory and has no effect.
#[must_use]
pub fn is_in_wait(symbols: &Symbols, svma: u64) -> bool {
    SpinLoops::default().hold(symbols, svma)
}

/// The line in the function that the symbol table has, into which others may be inlined.
fn line_of(symbols: &Symbols, svma: u64) -> Option<(String, u32)> {
    let location = symbols.locations(svma).into_iter().next_back()?;
    Some((location.file?, location.line?))
}
