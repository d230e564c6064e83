//! The source positions of constructs that compilers outlined into functions.
//!
//! Each compiler records the parent function and the line differently. The rules here were found by
//! compiling with gcc and gfortran 12, clang 14 and 22, and flang 22, at -O0 and -O2. The tests check
//! them.

use experiment::linkage::{Compiler, outlining_compiler, parent_of, part_of, target_of};

use crate::debuginfo::{DebugInfo, Location, Row};
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
    /// Whether it is the task that clang makes of a `target` construct.
    pub target: bool,
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
        let start = function.start;
        if let Some(known) = self.origins.borrow().get(&start) {
            return known.clone();
        }
        let origin = self.find_origin(function, compiler);
        self.origins.borrow_mut().insert(start, origin.clone());
        origin
    }

    fn find_origin(&self, function: ElfFunction, compiler: Compiler) -> Option<Origin> {
        // The rows of a part that was split off begin in the middle of the body.
        let whole = part_of(&function.name).and_then(|name| self.named(name));
        let function = whole.unwrap_or(function);
        let named = parent_of(&function.name).map(str::to_owned);
        let Ok(debug) = self.debug_info() else {
            return Some(Origin {
                parent: named,
                ..Origin::default()
            });
        };
        let file = own_file(debug, function.start);
        let mut target = false;
        let (parent, line) = match compiler {
            Compiler::Gcc => (named, of_gcc(debug, &function)),
            Compiler::Clang => {
                let line = of_clang(debug, &function);
                if function.name.contains(".omp_task_entry.") {
                    target = line.is_some_and(|line| debug.has_target(function.start, line));
                }
                let around = || debug.function_around(function.start, line?);
                (named.or_else(around), line)
            }
            Compiler::Flang => {
                let parent = named.as_deref().and_then(|name| self.named(name));
                let declared = parent.and_then(|parent| debug.decl_line(parent.start));
                (named, of_flang(debug, &function, declared))
            }
        };
        Some(Origin {
            parent,
            line,
            file,
            target,
        })
    }
}

impl Symbols {
    /// The line of the directive of a region that code of flang forks by the call at `svma`. That call
    /// has a line of the body, but the thread's number is asked for just before it.
    #[must_use]
    pub fn forked_line(&self, svma: u64) -> Option<u32> {
        let is_flang = |location: &Location| location.file.as_deref().is_some_and(is_fortran);
        if !self.locations(svma).first().is_some_and(is_flang) {
            return None;
        }
        let call = self.last_call(svma, "__kmpc_global_thread_num", "__kmpc_fork_call")?;
        // The function itself, if others are inlined.
        let line = self.locations(call).first()?.line?;
        (line > 0).then_some(line)
    }

    /// The least line of the own code of a function that gcc outlined from C or C++, from `first` on; a
    /// call stands for what is inlined. Not all inlined code is marked as such: it may be above.
    pub(crate) fn least_line(&self, function: &ElfFunction, first: u32) -> Option<u32> {
        let debug = self.debug_info().ok()?;
        let home = own_file(debug, function.start)?;
        let gcc = outlining_compiler(&function.name) == Some(Compiler::Gcc);
        if !gcc || is_fortran(&home) {
            return None;
        }
        let rows = debug.rows(function.start, end(function)).into_iter();
        rows.filter_map(|row| own_line(debug, row.svma, &home))
            .filter(|&line| line >= first)
            .min()
    }
}

/// The line of an instruction in a function of the file `home`, or of the call of what is inlined.
fn own_line(debug: &DebugInfo, svma: u64, home: &str) -> Option<u32> {
    let outermost = debug.locations(svma).pop()?;
    outermost
        .line
        .filter(|_| outermost.file.as_deref() == Some(home))
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
fn of_gcc(debug: &DebugInfo, function: &ElfFunction) -> Option<u32> {
    let rows = debug.rows(function.start, end(function));
    let begins = rows.iter().find(|row| row.statement);
    let first = begins.or(rows.first())?.line;
    let Some(home) = own_file(debug, function.start).filter(|home| is_fortran(home)) else {
        return Some(first);
    };
    // The procedure that holds the directive.
    let scopes = debug.scopes(function.start).unwrap_or_default();
    let Some(declared) = scopes.last().and_then(|scope| scope.declared) else {
        return Some(first);
    };
    // A row of inlined code stands for the line of the call. Not all such rows are marked, but another
    // procedure is above or below this one. Rows of included code do not count.
    let own = |row: &Row| {
        let line = own_line(debug, row.svma, &home)?;
        (declared < line && line < first).then_some(line)
    };
    let least = rows.iter().filter_map(own).min();
    Some(least.map_or(first, |least| least - 1))
}

/// clang declares the outlined function on the line of the directive, which its first row has, too
/// (with `-g1`, alone). At -O0 that function calls one with the body, which is declared one line below.
/// The name of a target region's contains the line.
fn of_clang(debug: &DebugInfo, function: &ElfFunction) -> Option<u32> {
    if let Some((_, line)) = target_of(&function.name) {
        return Some(line);
    }
    let first = || {
        let rows = debug.rows(function.start, end(function));
        let first = rows.first().filter(|row| row.svma == function.start);
        first.map(|row| row.line)
    };
    let line = debug.decl_line(function.start).or_else(first)?;
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
