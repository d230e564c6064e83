//! The source positions of constructs that compilers outlined into functions.
//!
//! Each compiler records the parent function and the line differently. The rules here were found by
//! compiling with gcc and gfortran 12, clang 14 and 22, and flang 22, at -O0 and -O2. The tests check
//! them.

use experiment::linkage::{Compiler, outlining_compiler, parent_of};

use crate::debuginfo::{DebugInfo, Row};
use crate::directives::is_fortran;
use crate::symbols::{ElfFunction, Symbols};

/// The source position of the construct of an outlined function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The linkage name of the function that holds the directive.
    pub parent: Option<String>,
    /// The line of the directive. flang's is that of the first statement of the body, up to three
    /// lines below it; gfortran's, where a clause is computed, that above the first statement.
    pub line: Option<u32>,
    /// The source file, as the compiler was told.
    pub file: Option<String>,
}

impl Symbols {
    /// The source position of the construct of the outlined function that holds `svma`; `None` for
    /// other functions.
    ///
    /// Without debug information only the parent is known, and with clang before 19, or in a
    /// clang task, not even that.
    #[must_use]
    pub fn origin(&self, svma: u64) -> Option<Origin> {
        let function = self.function(svma)?;
        let compiler = outlining_compiler(&function.name)?;
        // The rows of a part that was split off begin in the middle of the body.
        let whole = function
            .name
            .split_once(".cold")
            .and_then(|(name, _)| self.named(name));
        let function = whole.unwrap_or(function);
        let named = parent_of(&function.name).map(str::to_owned);
        let Ok(debug) = self.debug_info() else {
            return Some(Origin {
                parent: named,
                ..Origin::default()
            });
        };
        let file = own_file(debug, function.start);
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
        Some(Origin { parent, line, file })
    }
}

/// The source file of the function that holds `svma`, whatever is inlined there.
fn own_file(debug: &DebugInfo, svma: u64) -> Option<String> {
    debug.locations(svma).pop()?.file
}

fn end(function: &ElfFunction) -> u64 {
    function.start.saturating_add(function.size)
}

/// gcc gives the line of the directive to the function's first row. More rows may follow at the same
/// address. The last row of the previous function, which ends there, may come before; it begins no
/// statement. If a clause of `parallel` is computed (`if(n > 9)`, `num_threads(n)`), gfortran has the
/// line of the body's last statement there and in the call. Then the directive is assumed to be right
/// above the first statement.
fn of_gcc(debug: &DebugInfo, function: &ElfFunction, declared: Option<u32>) -> Option<u32> {
    let rows = debug.rows(function.start, end(function));
    let begins = rows.iter().find(|row| row.statement);
    let first = begins.or(rows.first())?.line;
    let home = own_file(debug, function.start);
    let Some(declared) = declared.filter(|_| home.as_deref().is_some_and(is_fortran)) else {
        return Some(first);
    };
    // Rows of inlined and included code do not count. Not all rows of inlined code are marked, but
    // another procedure is above or below this one.
    let own =
        |row: &&Row| debug.locations(row.svma).len() == 1 && own_file(debug, row.svma) == home;
    let above = rows
        .iter()
        .filter(|row| declared < row.line && row.line < first);
    let least = above.filter(own).map(|row| row.line).min();
    Some(least.map_or(first, |least| least - 1))
}

/// clang declares the outlined function on the line of the directive. At -O0 that function calls one
/// with the body, which is declared one line below.
fn of_clang(debug: &DebugInfo, function: &ElfFunction) -> Option<u32> {
    let line = debug.decl_line(function.start)?;
    let unnumbered = function
        .name
        .trim_end_matches(|c: char| c.is_ascii_digit())
        .trim_end_matches('.');
    let has_body = unnumbered.ends_with("_debug__");
    line.checked_sub(u32::from(has_body))
        .filter(|&line| line > 0)
}

/// flang does not record the directive. The first row of the function itself, not of inlined code, is
/// the first statement's. Rows for the parent's arguments may precede it, at the line where the parent
/// is declared.
fn of_flang(debug: &DebugInfo, function: &ElfFunction, declared: Option<u32>) -> Option<u32> {
    let rows = debug.rows(function.start, end(function));
    let mut own = rows
        .iter()
        .filter(|row| debug.locations(row.svma).len() == 1);
    let first = own.next()?;
    let begins = if declared == Some(first.line) {
        own.find(|row| row.line != first.line).unwrap_or(first)
    } else {
        first
    };
    Some(begins.line)
}
