//! Loops of the program, by machine code and source text: worksharing loops and their iterations, and
//! loops that wait.
//!
//! A compiler may divide a loop with a static schedule in the program's own code, and no runtime tells
//! of its iterations. But an instruction that each round of the loop executes once has a number: how
//! often it was executed before. Two executions with different numbers are of different iterations,
//! also where the compiler unrolled the loop.
//!
//! Machine code proves that a loop's rounds execute an instruction once; the source that the loop is a
//! worksharing loop: the instruction's line lies in the statement of such a directive, which stands in
//! the instruction's own function, the body of a construct. Debug information and the source are needed.

use std::rc::Rc;

use experiment::linkage::{is_inner_body, is_outlined};
use experiment::symbols::Workshare;

use crate::code::{SpinLoops, call_before, loop_of};
use crate::debuginfo::Location;
use crate::directives::{
    Directive, Text, asks_for_thread, directive_at, first_line, is_fortran, loop_around,
    worksharing_above, worksharing_near,
};
use crate::symbols::Symbols;

/// The worksharing loop in each iteration of which the instruction that contains `svma` is executed
/// once, as the address of the loop's first instruction. `source` returns the text of a source file.
#[must_use]
pub fn worksharing_loop(
    symbols: &Symbols,
    svma: u64,
    source: impl FnOnce(&str) -> Option<Rc<Text>>,
) -> Option<u64> {
    let head = loop_of(symbols, svma)?;
    loop_directive(symbols, svma, source).map(|_| head)
}

/// The directive of the worksharing loop in whose statement an instruction lies: its file and line. The
/// directive stands in the function of the instruction that contains `svma`, the body of a construct,
/// and has no `ordered` clause.
#[must_use]
pub fn loop_directive(
    symbols: &Symbols,
    svma: u64,
    source: impl FnOnce(&str) -> Option<Rc<Text>>,
) -> Option<(String, u32)> {
    let function = symbols.code(svma).filter(|it| is_outlined(&it.name))?;
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
    let found = loop_around(&text, first, line)?;
    Some((file, found.line))
}

/// The line of the directive of the worksharing construct that a call begins: the call's own, or one
/// beside it, for gcc gives such calls other lines. The call's last byte is at `svma`; `construct`: what
/// it begins, if that is known.
#[must_use]
pub fn directive_of_call(
    symbols: &Symbols,
    svma: u64,
    construct: Option<Workshare>,
    source: impl FnOnce(&str) -> Option<Rc<Text>>,
) -> Option<u32> {
    let (file, line) = innermost(symbols, svma)?;
    let text = source(&file)?;
    let found = match construct {
        Some(construct) => worksharing_near(&text, line, construct),
        None => worksharing_above(&text, line),
    };
    found.map(|found| found.line)
}

/// Whether the call of `omp_get_thread_num` with its last byte at `svma` is the compiler's own, for a
/// directive: gcc gives it the line of the directive, that of its loop, or that of a statement before. The
/// function must not ask for the thread's number itself: gcc makes one call of both.
#[must_use]
pub fn is_of_directive(
    symbols: &Symbols,
    svma: u64,
    source: impl FnOnce(&str) -> Option<Rc<Text>>,
) -> bool {
    // clang inlines the body of a construct into a function that has the directive's line.
    let place = innermost(symbols, svma);
    let Some((text, line)) = place.and_then(|(file, line)| Some((source(&file)?, line))) else {
        return false;
    };
    let own = text.line(line);
    let function = symbols.code(svma);
    let begin = function.and_then(|it| line_of(symbols, it.start));
    let asks = asks_for_thread(
        &text,
        begin.map_or(line, |(_, begin)| begin.min(line)),
        line,
    );
    let is_of_loop = || {
        let above = worksharing_above(&text, line);
        let is_above = above.is_some_and(|it| it.construct == Workshare::Loop);
        // gcc divides a loop right after it has asked for the number of threads.
        let asks_both = || call_before(symbols, svma).as_deref() == Some("omp_get_num_threads");
        let is_near = || worksharing_near(&text, line, Workshare::Loop).is_some();
        is_above || !own.is_some_and(has_macro) && asks_both() && is_near()
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

/// Whether a line has a name that may stand for something else: one in capitals.
fn has_macro(line: &str) -> bool {
    let mut names = line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    names.any(|name| {
        let letters = || name.chars().filter(|letter| letter.is_alphabetic());
        letters().count() > 1 && letters().all(char::is_uppercase)
    })
}

/// The line of an instruction.
fn innermost(symbols: &Symbols, svma: u64) -> Option<(String, u32)> {
    let location = symbols.locations(svma).into_iter().next()?;
    Some((location.file?, location.line?))
}

/// The line in the function that the symbol table has, into which others may be inlined. What clang
/// makes the inner function of a body is a part of that function.
fn line_of(symbols: &Symbols, svma: u64) -> Option<(String, u32)> {
    let locations = symbols.locations(svma);
    let is_inner = |location: &Location| location.function.as_deref().is_some_and(is_inner_body);
    let own = match &locations[..] {
        [.., inner, _] if is_inner(inner) => inner,
        [.., outermost] => outermost,
        [] => return None,
    };
    Some((own.file.clone()?, own.line?))
}
