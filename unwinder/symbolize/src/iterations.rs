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
use experiment::symbols::Workshare;

use crate::code::{SpinLoops, loop_of};
use crate::directives::{
    Directive, directive_at, first_line, is_fortran, loop_around, worksharing_above,
};
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

/// Whether a directive has the line of the instruction that contains `svma`, or the beginning of its
/// loop: gcc gives its own calls either. The loop must not ask for the thread's number itself.
#[must_use]
pub fn is_of_directive(
    symbols: &Symbols,
    svma: u64,
    source: impl FnOnce(&str) -> Option<String>,
) -> bool {
    // clang inlines the body of a construct into a function that has the directive's line.
    let place = symbols.locations(svma).into_iter().next();
    let place = place.and_then(|location| Some((location.file?, location.line?)));
    let Some((text, line)) = place.and_then(|(file, line)| Some((source(&file)?, line))) else {
        return false;
    };
    let own = text.lines().nth((line as usize).saturating_sub(1));
    let asks = own.is_some_and(|own| own.to_ascii_lowercase().contains("omp_get_thread_num"));
    let is_of_loop = || {
        let above = worksharing_above(&text, line);
        above.is_some_and(|it| it.construct == Workshare::Loop)
    };
    !asks
        && match directive_at(&text, line) {
            // A task asks for its thread's copy of a reduction.
            Some(Directive::Tasks) => false,
            Some(_) => true,
            None => is_of_loop(),
        }
}

/// Whether the instruction that contains `svma` is of a loop that waits for another thread: one that
/// reads memory and has no effect. The test before its first round has the line of the others.
#[must_use]
pub fn is_in_wait(symbols: &Symbols, svma: u64) -> bool {
    let mut loops = SpinLoops::default();
    if loops.hold(symbols, svma) {
        return true;
    }
    let Some(line) = line_of(symbols, svma) else {
        return false;
    };
    let of_line = |at: u64| line_of(symbols, at).as_ref() == Some(&line);
    loops
        .around(symbols, svma)
        .iter()
        .any(|range| range.clone().any(of_line))
}

/// The line in the function that the symbol table has, into which others may be inlined.
fn line_of(symbols: &Symbols, svma: u64) -> Option<(String, u32)> {
    let location = symbols.locations(svma).into_iter().next_back()?;
    Some((location.file?, location.line?))
}
