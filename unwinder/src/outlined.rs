//! The functions into which compilers move the bodies of OpenMP constructs: which function the
//! directive stands in, and on which line.
//!
//! Each compiler hides both in another place. The rules here were found by compiling with gcc and
//! gfortran 12, clang 14 and 22, and flang 22, at -O0 and -O2; the tests hold them.

use crate::debuginfo::{DebugInfo, Row};
use crate::symbols::{Function, Symbols};

/// What is known of an outlined function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outlined {
    /// The linkage name of the function that holds the directive.
    pub parent: Option<String>,
    /// The line of the directive. flang's is that of the first statement of the body, up to three
    /// lines below it; gfortran's, where a clause is computed, that above the first statement.
    pub line: Option<u32>,
    /// The source file, as the compiler was told.
    pub file: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compiler {
    Gcc,
    Clang,
    Flang,
}

const GCC: &str = "._omp_fn.";
const CLANG: &str = ".omp_outlined";
const CLANG_TASK: &str = ".omp_task_entry.";
const FLANG: &str = "..omp_par";

impl Compiler {
    /// The compiler that gives outlined functions such names.
    fn of(name: &str) -> Option<Self> {
        // clang names a helper of a reduction after the function that it helps.
        if name.contains(".omp.reduction.") {
            return None;
        }
        let has = |part| name.contains(part);
        has(GCC)
            .then_some(Self::Gcc)
            .or_else(|| has(FLANG).then_some(Self::Flang))
            .or_else(|| (has(CLANG) || has(CLANG_TASK)).then_some(Self::Clang))
    }
}

/// Whether a linkage name is that of an outlined function.
#[must_use]
pub fn is_outlined(name: &str) -> bool {
    Compiler::of(name).is_some()
}

/// The parent as the name itself has it: what stands before the first mark of outlining.
fn parent_in(name: &str) -> Option<&str> {
    let end = [GCC, CLANG, CLANG_TASK, FLANG]
        .iter()
        .filter_map(|mark| name.find(mark))
        .min()?;
    (end > 0).then(|| &name[..end])
}

impl Symbols {
    /// What is known of the outlined function that holds `svma`; `None` for other functions.
    ///
    /// Without debug information only the parent is known, and with clang before 19, or in a
    /// clang task, not even that.
    #[must_use]
    pub fn omp_facts(&self, svma: u64) -> Option<Outlined> {
        let function = self.function(svma)?;
        let compiler = Compiler::of(&function.name)?;
        // The rows of a part that was split off begin in the middle of the body.
        let whole = function
            .name
            .split_once(".cold")
            .and_then(|(name, _)| self.named(name));
        let function = whole.unwrap_or(function);
        let named = parent_in(&function.name).map(str::to_owned);
        let Ok(debug) = self.debug_info() else {
            return Some(Outlined {
                parent: named,
                ..Outlined::default()
            });
        };
        let file = debug
            .lines(function.start)
            .pop()
            .and_then(|place| place.file);
        let (parent, line) = match compiler {
            Compiler::Gcc => {
                let parent = named.as_deref().and_then(|name| self.named(name));
                let declared = parent.and_then(|parent| debug.decl_line(parent.start));
                (named, of_gcc(debug, &function, declared))
            }
            Compiler::Clang => {
                let line = of_clang(debug, &function);
                let around = || debug.function_around(function.start, line?);
                (named.or_else(around), line)
            }
            Compiler::Flang => {
                let parent = named.as_deref().and_then(|name| self.named(name));
                let declared = parent.and_then(|parent| debug.decl_line(parent.start));
                (named, of_flang(debug, &function, declared))
            }
        };
        Some(Outlined { parent, line, file })
    }
}

fn end(function: &Function) -> u64 {
    function.start.saturating_add(function.size)
}

/// gcc gives the line of the directive to the function's first row. More rows may follow at the
/// same address, and before it may stand the last one of the function in front, which ends there:
/// that begins no statement. But gfortran, where a clause of `parallel` is computed (`if(n > 9)`,
/// `num_threads(n)`), has the line of the body's last statement there, and in the call: then the
/// directive is taken to stand right above the first statement.
fn of_gcc(debug: &DebugInfo, function: &Function, declared: Option<u32>) -> Option<u32> {
    let rows = debug.rows(function.start, end(function));
    let begins = rows.iter().find(|row| row.statement);
    let first = begins.or(rows.first())?.line;
    let file = |svma| debug.lines(svma).pop().and_then(|place| place.file);
    let home = file(function.start);
    let Some(declared) = declared.filter(|_| home.as_deref().is_some_and(is_fortran)) else {
        return Some(first);
    };
    // What was inlined or included is written elsewhere; not all rows of the former say that they
    // are, but another procedure stands above this one or below.
    let own = |row: &&Row| debug.lines(row.svma).len() == 1 && file(row.svma) == home;
    let above = rows
        .iter()
        .filter(|row| declared < row.line && row.line < first);
    let least = above.filter(own).map(|row| row.line).min();
    Some(least.map_or(first, |least| least - 1))
}

/// Whether a source file is Fortran's, by its name.
fn is_fortran(file: &str) -> bool {
    let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension);
    extension.starts_with(['f', 'F'])
}

/// clang declares the outlined function on the line of the directive, and at -O0 the one with
/// the body, which it calls, one line below.
fn of_clang(debug: &DebugInfo, function: &Function) -> Option<u32> {
    let line = debug.decl_line(function.start)?;
    let unnumbered = function
        .name
        .trim_end_matches(|c: char| c.is_ascii_digit())
        .trim_end_matches('.');
    let has_body = unnumbered.ends_with("_debug__");
    line.checked_sub(u32::from(has_body))
        .filter(|&line| line > 0)
}

/// flang says nothing of the directive. The first row that belongs to the function itself, and
/// not to something inlined, is the first statement's; but before it may stand what the function
/// does with the arguments of its parent, at the line where that is declared.
fn of_flang(debug: &DebugInfo, function: &Function, declared: Option<u32>) -> Option<u32> {
    let rows = debug.rows(function.start, end(function));
    let mut own = rows.iter().filter(|row| debug.lines(row.svma).len() == 1);
    let first = own.next()?;
    match declared == Some(first.line) {
        true => Some(own.find(|row| row.line != first.line).unwrap_or(first).line),
        false => Some(first.line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_stands_before_the_first_mark() {
        let table = [
            ("foo.omp_outlined", true, Some("foo")),
            ("foo.omp_outlined_debug__.omp_outlined.3", true, Some("foo")),
            (".omp_outlined..7", true, None),
            (".omp_task_entry..2", true, None),
            ("_Z3fooi._omp_fn.0.cold", true, Some("_Z3fooi")),
            ("_QMmPfoo..omp_par.1", true, Some("_QMmPfoo")),
            ("alone_..omp_par", true, Some("alone_")),
            (
                "foo.omp_outlined_debug__.omp.reduction.reduction_func",
                false,
                Some("foo"),
            ),
            ("main", false, None),
            (".omp_task_privates_map.", false, None),
        ];
        for (name, outlined, parent) in table {
            assert_eq!(is_outlined(name), outlined, "{name}");
            assert_eq!(parent_in(name), parent, "{name}");
        }
    }
}
