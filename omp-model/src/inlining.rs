//! Inlined functions as frames of their own, under the function that they were inlined into.
//!
//! The machine stack has one frame for an instruction; debug information tells the functions that
//! were inlined around it. [`expand`] is the one step between display stacks and views that makes
//! frames of them, so no view knows of inlining.
//!
//! An inlined function is the same row as the function by itself, if the load object has one of
//! that name: of several, the one that is written in the same file. Functions that a compiler made
//! of constructs are artificial: inlined into each other (clang's `foo.omp_outlined_debug__` into
//! `foo.omp_outlined`) they are one frame.

use experiment::ids::{FrameId, ModuleId};
use experiment::linkage::construct_of;
use experiment::symbols::{FileId, Function, FunctionId, InlinedLine, SymbolTable};
use experiment::tables::{Interner, Tables};
use rustc_hash::FxHashMap;

use crate::profile::{Callee, DisplayFrame, FrameKind, Path, PathId, Profile};
use crate::views::names::{unqualified, without_parameters};

/// Gives inlined functions frames of their own. The first path stays the empty stack.
pub fn expand(profile: &mut Profile, tables: &Tables, symbols: &SymbolTable) {
    let moved = expand_paths(&mut profile.paths, tables, symbols);
    for item in &mut profile.items {
        item.path = moved[item.path.0 as usize];
    }
}

/// The same for paths alone: returns where each of them is now.
pub fn expand_paths(
    paths: &mut Interner<Path>,
    tables: &Tables,
    symbols: &SymbolTable,
) -> Vec<PathId> {
    let Some(&root) = paths.rows().first() else {
        return Vec::new();
    };
    let mut functions = Functions::new(tables, symbols);
    let mut expanded = Interner::with([root]);
    let mut moved = vec![PathId::EMPTY];
    let mut levels = Vec::new();
    for path in &paths.rows()[1..] {
        let mut at = moved[path.callers.0 as usize];
        let mut frame = path.frame;
        if let Some(name) = functions.put_back(frame)
            && let Some(inlined) = functions.inlined_around(&expanded, at, name)
        {
            moved.push(inlined);
            continue;
        }
        match frame.callee {
            Callee::ParentOf(body) => {
                frame.callee = functions.restored(body).unwrap_or(frame.callee);
            }
            Callee::Function(body) => at = functions.fork_of(&expanded, at, body),
            _ => {}
        }
        let mut push = |callers, frame| PathId(expanded.intern(Path { callers, frame }));
        at = push(at, frame);
        functions.levels(frame, &mut levels);
        for &Level { name, line } in &levels {
            let inlined = DisplayFrame {
                callee: functions.inlined(frame.frame, name),
                frame: frame.frame,
                kind: FrameKind::Inlined(line),
            };
            at = push(at, inlined);
        }
        moved.push(at);
    }
    expanded.close();
    *paths = expanded;
    moved
}

/// The number of the line of a frame's own function, among those of the frame: the last one, or
/// that of an artificial function inlined there. `is_body`: the function is the body of a
/// construct, which may itself be inlined into the function with the directive.
pub(crate) fn own_line(lines: &[InlinedLine], is_body: bool) -> usize {
    let mut own = lines.len().saturating_sub(1);
    if is_body && let Some(body) = lines.iter().position(is_body_of_construct) {
        own = body;
    }
    while own > 0 && is_artificial(&lines[own - 1]) {
        own -= 1;
    }
    own
}

/// A level of inlining: the numbers of the lines that give the function's name and the place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Level {
    name: u16,
    line: u16,
}

/// The functions inlined around an instruction, outermost first.
fn levels(lines: &[InlinedLine], is_body: bool, levels: &mut Vec<Level>) {
    levels.clear();
    let inner = lines.iter().enumerate().take(own_line(lines, is_body));
    for (at, line) in inner.rev() {
        let number = at as u16;
        match levels.last_mut() {
            Some(last) if is_artificial(line) => last.line = number,
            _ => levels.push(Level {
                name: number,
                line: number,
            }),
        }
    }
}

/// Whether a line's function is one that no author wrote.
fn is_artificial(line: &InlinedLine) -> bool {
    let function = line.function.as_deref();
    function.is_none_or(|name| name.starts_with(".omp_") || construct_of(name).is_some())
}

fn is_body_of_construct(line: &InlinedLine) -> bool {
    let function = line.function.as_deref();
    function.is_some_and(|name| construct_of(name).is_some())
}

/// Whether two names can be of one function. Debug information of a static C++ function has no
/// linkage name, so an inlined one may have no parameters where the function by itself has.
fn is_same_name(one: &str, other: &str) -> bool {
    let short = without_parameters;
    one == other || one == short(other) || short(one) == other
}

/// A row that inlined functions can be.
#[derive(Clone, Copy)]
struct Row<'a> {
    name: &'a str,
    /// Its name in debug information, if that is known: it is the same wherever it is inlined.
    debug_name: Option<&'a str>,
    /// The file that it is written in.
    file: Option<FileId>,
    callee: Callee,
}

/// The rows of inlined functions.
struct Functions<'a> {
    tables: &'a Tables,
    symbols: &'a SymbolTable,
    /// By load object and name without parameters.
    by_name: FxHashMap<(ModuleId, &'a str), Vec<Row<'a>>>,
    known: FxHashMap<(FrameId, u16), Callee>,
}

impl<'a> Functions<'a> {
    fn new(tables: &'a Tables, symbols: &'a SymbolTable) -> Functions<'a> {
        let mut functions = Functions {
            tables,
            symbols,
            by_name: FxHashMap::default(),
            known: FxHashMap::default(),
        };
        let debug_names = debug_names(symbols);
        for (id, function) in (0..).map(FunctionId).zip(&symbols.functions) {
            if function.outlined.is_none() && function.has_symbol() {
                let name = function.name.as_str();
                functions.rows(function.module, name).push(Row {
                    name,
                    debug_name: debug_names.get(&id).copied(),
                    file: function.source.map(|source| source.file),
                    callee: Callee::Function(id),
                });
            }
        }
        // All of them at once: which row a function has must not depend on the order of stacks.
        let mut inlined = Vec::new();
        for (frame, symbol) in (0..).map(FrameId).zip(&symbols.frames) {
            if symbol.lines.len() > 1 {
                levels(&symbol.lines, false, &mut inlined);
                for level in &inlined {
                    functions.inlined(frame, level.name);
                }
            }
        }
        functions
    }

    fn rows(&mut self, module: ModuleId, name: &'a str) -> &mut Vec<Row<'a>> {
        let key = (module, without_parameters(name));
        self.by_name.entry(key).or_default()
    }

    /// The functions inlined in a frame, outermost first.
    fn levels(&self, at: DisplayFrame, found: &mut Vec<Level>) {
        let is_body = match at.callee {
            Callee::Function(id) => self.function(id).is_some_and(|it| it.outlined.is_some()),
            Callee::Static(..) => false,
            _ => return found.clear(),
        };
        levels(&self.symbols.frame(at.frame).lines, is_body, found);
    }

    /// The row of the function that a line of a frame is written in.
    fn inlined(&mut self, frame: FrameId, line: u16) -> Callee {
        if let Some(&known) = self.known.get(&(frame, line)) {
            return known;
        }
        let itself = Callee::Inlined(frame, line);
        let at = &self.symbols.frame(frame).lines[usize::from(line)];
        let module = self.tables.frames.get(frame.0).map(|row| row.module);
        let callee = match (at.function.as_deref(), module) {
            (Some(name), Some(module)) => {
                let file = Some(at.source.file);
                let rows = self.rows(module, name);
                let known = row_of(rows, name, file);
                known.unwrap_or_else(|| {
                    rows.push(Row {
                        name,
                        debug_name: None,
                        file,
                        callee: itself,
                    });
                    itself
                })
            }
            _ => itself,
        };
        self.known.insert((frame, line), callee);
        callee
    }

    /// The caller of a body: without the functions that debug information says are inlined around the
    /// call, inside of the function that holds the directive. Compilers move code of a function that
    /// was inlined beside a construct around the construct's call.
    fn fork_of(&self, paths: &Interner<Path>, caller: PathId, body: FunctionId) -> PathId {
        let parent = self.parent(body).map(|(_, parent)| parent);
        let found = parent.and_then(|parent| self.nearest(paths, caller, parent));
        found.unwrap_or(caller)
    }

    /// The name of a function that no stack had: the rewriting put it back between a construct's
    /// fork and its body, as it holds the directive.
    fn put_back(&self, at: DisplayFrame) -> Option<&'a str> {
        match at.callee {
            Callee::ParentOf(body) => Some(self.parent(body)?.1),
            Callee::Function(id) if at.frame == FrameId::NONE => {
                let function = self.function(id)?;
                function.outlined.is_none().then_some(&function.name)
            }
            _ => None,
        }
    }

    /// The path to a function inlined around a call, if one of this name is.
    fn inlined_around(&self, paths: &Interner<Path>, caller: PathId, name: &str) -> Option<PathId> {
        let found = self.nearest(paths, caller, name)?;
        let kind = paths.get(found.0)?.frame.kind;
        (kind != FrameKind::Called).then_some(found)
    }

    /// The path to the innermost function of a name, among those inlined around a call and the one
    /// that they were inlined into.
    fn nearest(&self, paths: &Interner<Path>, caller: PathId, name: &str) -> Option<PathId> {
        let mut at = caller;
        loop {
            let path = paths.get(at.0)?;
            if self.is_called(path.frame, name) {
                return Some(at);
            }
            let FrameKind::Inlined(_) = path.frame.kind else {
                return None;
            };
            at = path.callers;
        }
    }

    /// Whether a frame is of the function of a name.
    fn is_called(&self, at: DisplayFrame, whole: &str) -> bool {
        let name = match at.callee {
            Callee::Function(id) => self.function(id).map(|function| function.name.as_str()),
            Callee::Inlined(frame, line) => {
                let line = self.symbols.frame(frame).lines.get(usize::from(line));
                line.and_then(|line| line.function.as_deref())
            }
            _ => None,
        };
        // Debug information names an inlined function without its scopes, unless it has a linkage
        // name.
        name.is_some_and(|name| is_same_name(name, whole) || name == unqualified(whole))
    }

    /// The row of the function that holds a body's directive, if it was inlined wherever it is
    /// called.
    fn restored(&self, body: FunctionId) -> Option<Callee> {
        let (module, parent) = self.parent(body)?;
        let rows = self.by_name.get(&(module, without_parameters(parent)))?;
        match rows.as_slice() {
            [row] if matches!(row.callee, Callee::Inlined(..)) => Some(row.callee),
            _ => None,
        }
    }

    fn parent(&self, body: FunctionId) -> Option<(ModuleId, &'a str)> {
        let function = self.function(body)?;
        Some((
            function.module,
            function.outlined.as_ref()?.parent.as_deref()?,
        ))
    }

    fn function(&self, id: FunctionId) -> Option<&'a Function> {
        self.symbols.functions.get(id.0 as usize)
    }
}

/// The names of functions in debug information, as far as frames tell them.
fn debug_names(symbols: &SymbolTable) -> FxHashMap<FunctionId, &str> {
    let mut names = FxHashMap::default();
    for frame in &symbols.frames {
        let name = frame.lines.last().and_then(|line| line.function.as_deref());
        if let (Some(id), Some(name)) = (frame.function, name)
            // Functions of the same code share a symbol.
            && symbols.functions.get(id.0 as usize).is_some_and(|it| is_same_name(name, &it.name))
        {
            names.insert(id, name);
        }
    }
    names
}

/// The row of an inlined function among those of its name: the only one in its file, else the only
/// function by itself.
fn row_of(rows: &[Row<'_>], name: &str, file: Option<FileId>) -> Option<Callee> {
    let is_named = |row: &&Row<'_>| match row.debug_name {
        Some(known) => known == name,
        None => is_same_name(row.name, name),
    };
    let named = || rows.iter().filter(is_named);
    let here = || named().filter(|row| row.file == file);
    let only = |mut rows: Vec<&Row<'_>>| (rows.len() == 1).then(|| rows.remove(0).callee);
    let whole = here().find(|row| row.name == name).map(|row| row.callee);
    let by_itself = |row: &&Row<'_>| matches!(row.callee, Callee::Function(_));
    whole
        .or_else(|| only(here().collect()))
        .or_else(|| only(named().filter(by_itself).collect()))
}

#[cfg(test)]
mod tests;
