//! Names and source lines for all frames of an experiment, resolved once at its end.
//!
//! Only frames in the tables are looked up, by load object and in the order of addresses, so that the
//! cost of a large program depends on what its samples touched. Only the [`SymbolSource`] opens files.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use experiment::ids::{FrameId, ModuleId};
use experiment::linkage::{self, Compiler, outlining_compiler};
use experiment::state::State;
use experiment::symbols::Barrier;
use experiment::symbols::{Construct, Directive, InlinedLine, SourceLine, Workshare};
use experiment::symbols::{FileId, FrameSymbol, Function, FunctionId, SymbolTable};
use experiment::tables::{PythonLine, RuntimeKind, Schedule, Tables};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::barriers;
use crate::builder::TableBuilder;
use crate::code::UserFrames;
use crate::directives::{self, is_fortran};
use crate::generated::Generated;
use crate::kallsyms::KernelFunction;
use crate::locks;
use crate::object::ObjectResolver;
use crate::source::{Files, SymbolSource, Texts};
use crate::symbols::Symbols;

/// Resolves every frame of a recording that holds no symbols, from the files as they are on this machine.
///
/// Anybody may have made it, and the files that it names: their names become text that a terminal shows,
/// and it has no digests, since nobody says what the sources were when it was recorded.
pub fn from_files(tables: &Tables) -> SymbolTable {
    named(tables, &mut Files::default())
}

/// As [`from_files`], with another source.
pub fn named(tables: &Tables, source: &mut impl SymbolSource) -> SymbolTable {
    let mut table = names(tables, source);
    table.make_printable();
    table
}

/// Resolves every frame of `tables`, and makes digests of the sources: by these a reader will know them.
pub fn resolve(tables: &Tables, source: &mut impl SymbolSource) -> SymbolTable {
    let mut table = names(tables, source);
    digest_sources(&mut table, source);
    table
}

/// A table of source files that names nothing, and the digests of those that can be read.
pub fn digests<'a>(
    files: impl IntoIterator<Item = &'a str>,
    source: &mut impl SymbolSource,
) -> SymbolTable {
    let mut table = SymbolTable {
        files: files.into_iter().map(str::to_owned).collect(),
        ..SymbolTable::default()
    };
    digest_sources(&mut table, source);
    table
}

fn names(tables: &Tables, source: &mut impl SymbolSource) -> SymbolTable {
    let frames = tables.frames.rows();
    let mut order: Vec<FrameId> = (0..frames.len() as u32).map(FrameId).collect();
    let is_python = |module: ModuleId| tables.runtime(module) == RuntimeKind::Python;
    // Generated code may be that of functions of Python.
    order.sort_unstable_by_key(|id| {
        let frame = frames[id.index()];
        (!is_python(frame.module), frame.module, frame.address)
    });
    let mut python = PythonFunctions::default();
    let mut builder = TableBuilder::default();
    builder.table.frames = vec![FrameSymbol::default(); frames.len()];
    let mut barriers = barrier_calls(tables);
    let user = UserFrames::of(tables);
    let locks = tables.locks.rows();
    let variables = locks.iter().map(|lock| lock.variable);
    let objects = tables.objects.rows().iter();
    let variables: FxHashSet<FrameId> = variables
        .chain(objects.map(|object| object.variable))
        .collect();
    let mut texts = Texts::new(source);
    let mut is_over = false;
    for ids in
        order.chunk_by(|one, other| frames[one.index()].module == frames[other.index()].module)
    {
        let module = frames[ids[0].index()].module;
        let row = tables.modules.get(module.0);
        let path = row.map_or("", |row| row.path.as_str());
        is_over = is_over || !texts.source.goes_on(path);
        if is_over {
            break;
        }
        let wanted: Vec<(FrameId, u64)> = ids
            .iter()
            .map(|&id| (id, frames[id.index()].address))
            .collect();
        if let Some(row) = row.filter(|_| is_python(module)) {
            name_python(
                &mut builder,
                tables,
                (module, &row.path),
                (&wanted, &mut python),
            );
            continue;
        }
        if let Some(functions) = row.and_then(|row| texts.source.generated(row)) {
            name_generated(&mut builder, module, (&functions, &python), &wanted);
            continue;
        }
        let missed = match (module, row) {
            (ModuleId::NONE, _) | (_, None) => None,
            (ModuleId::KERNEL, _) => kernel(&mut builder, texts.source, &wanted),
            (_, Some(row)) if row.path.is_empty() => None,
            (_, Some(row)) => match texts.source.symbols(row) {
                Ok(symbols) => {
                    // After a tail call of the program, the call is one of our own library or of
                    // the runtime, whose lines tell nothing of the program's directive.
                    if row.runtime == RuntimeKind::None {
                        for (id, address) in &wanted {
                            if let Some(barrier) = barriers.get_mut(id)
                                && texts.source.goes_on(path)
                            {
                                let text = |path: &str| texts.of(path);
                                *barrier = barriers::decide(&symbols, *address, text);
                            }
                        }
                    }
                    let variables: Vec<(FrameId, u64)> = wanted
                        .iter()
                        .copied()
                        .filter(|(id, _)| variables.contains(id))
                        .collect();
                    name_variables(&mut builder.table, &symbols, &variables);
                    let mut object = ObjectResolver::new(&mut builder, module, &row.path, &symbols);
                    let goes_on = &mut || {
                        is_over = is_over || !texts.source.goes_on(path);
                        !is_over
                    };
                    if row.runtime == RuntimeKind::None {
                        object.find_bodies(&user, &wanted, goes_on);
                    }
                    if user.concerns(tables, row, ids) {
                        object.read_code(&user, &wanted, goes_on);
                    }
                    object.resolve(&wanted, goes_on)
                }
                Err(why) => Some(why),
            },
        };
        let missed = missed.map(|why| (module, why));
        builder.table.misses.extend(missed);
    }
    let mut table = builder.table;
    if is_over {
        return table;
    }
    find_directives(&mut table, &builder.other_lines, &mut texts);
    find_worksharing(&mut table, tables, &barriers, &mut texts);
    name_inits(&mut table, tables, &mut texts);
    table.lock_names.sort_unstable_by_key(|row| row.0);
    table.barriers = barriers.into_iter().collect();
    table.code.sort_unstable_by_key(|row| row.0);
    table
}

/// The most bytes of sources that digests are made of: debug information may name any files, which take
/// time to read.
const DIGESTED: u64 = 512 << 20;

/// Makes the digests of all sources that can be read.
fn digest_sources(table: &mut SymbolTable, source: &mut impl SymbolSource) {
    let mut left = DIGESTED;
    for (id, path) in (0..).map(FileId).zip(&table.files) {
        if !source.goes_on(path) {
            return;
        }
        let Some(bytes) = source.source(path) else {
            continue;
        };
        table.digests.push((id, untrusted::digest(&bytes)));
        left = left.saturating_sub(bytes.len() as u64);
        if left == 0 {
            return;
        }
    }
}

/// Finds in the sources where the directives of Fortran's constructs begin, and those of others that
/// have another line and no directive at their own.
fn find_directives(
    table: &mut SymbolTable,
    other_lines: &FxHashMap<FunctionId, u32>,
    texts: &mut Texts<'_, impl SymbolSource>,
) {
    for (id, function) in (0..).map(FunctionId).zip(&mut table.functions) {
        // flang's line may be that of another directive which the construct begins with.
        let is_flang = outlining_compiler(&function.linkage) == Some(Compiler::Flang);
        let Some((outlined, source_line)) = function.outlined.as_mut().zip(function.source) else {
            continue;
        };
        let construct = is_flang.then_some(outlined.construct);
        let Some(line) = outlined.line.as_mut() else {
            continue;
        };
        let path = &table.files[source_line.file.0 as usize];
        let other = other_lines.get(&id).copied();
        if !is_fortran(path) && other.is_none() {
            continue;
        }
        if !texts.source.goes_on(path) {
            return;
        }
        let Some(text) = texts.of(path) else {
            continue;
        };
        if is_fortran(path) {
            let lines = [Some(*line), other.filter(|_| is_flang)];
            let mut found = lines
                .iter()
                .flatten()
                .filter_map(|&line| directives::first_line(&text, line, construct));
            let below = || directives::line_below(&text, *line, construct?);
            *line = found.next().or_else(below).unwrap_or(*line);
        } else if let Some(other) = other
            && directives::is_loop_of(&text, other, *line)
        {
            *line = other;
        }
    }
}

/// Finds in the sources the directives of calls that begin or end worksharing constructs, and those of
/// regions that are one.
fn find_worksharing(
    table: &mut SymbolTable,
    tables: &Tables,
    barriers: &BTreeMap<FrameId, Barrier>,
    texts: &mut Texts<'_, impl SymbolSource>,
) {
    let mut calls: BTreeMap<FrameId, Option<Workshare>> = BTreeMap::new();
    for thread_state in tables.thread_states.rows() {
        let ends = match thread_state.state {
            State::ImplicitBarrier => true,
            State::Barrier => barriers.get(&thread_state.call) == Some(&Barrier::Implicit),
            _ => false,
        };
        if ends && thread_state.call != FrameId::NONE {
            calls.insert(thread_state.call, None);
        }
    }
    for construct in tables.loops.rows() {
        calls.insert(construct.call, Some(word(construct.schedule)));
    }
    let files = &table.files;
    let mut text = |file: FileId| {
        let path = files.get(file.0 as usize)?;
        texts.source.goes_on(path).then(|| texts.of(path))?
    };
    for (call, construct) in calls {
        let lines = table.frames.get(call.index()).map(|it| it.lines.as_slice());
        let lines = lines.unwrap_or_default();
        // The construct may be in a function that is inlined, or the statement before it.
        let at = lines.iter().position(|line| {
            text(line.source.file).is_some_and(|text| {
                let found = directives::worksharing_above(&text, line.source.line);
                found.is_some_and(|it| construct.is_none_or(|only| only == it.construct))
            })
        });
        let at = at.or_else(|| construct.and(lines.len().checked_sub(1)));
        let found = at.and_then(|at| {
            let SourceLine { file, line } = lines.get(at)?.source;
            let text = text(file)?;
            let found = match construct {
                Some(construct) => directives::worksharing_near(&text, line, construct),
                None => directives::worksharing_above(&text, line),
            };
            let level = at as u32;
            Some(Directive { level, ..found? })
        });
        table.directives.extend(found.map(|found| (call, found)));
    }
    for (id, function) in (0..).map(FunctionId).zip(&table.functions) {
        let outlined = function.outlined.as_ref();
        let line = outlined.and_then(|it| it.line.filter(|_| it.construct == Construct::Parallel));
        let Some((line, at)) = line.zip(function.source) else {
            continue;
        };
        let found = text(at.file).and_then(|text| directives::worksharing_at(&text, line));
        table.loop_bodies.extend(found.map(|found| (id, found)));
    }
}

/// Names the mutexes, and memory of other ranks' accesses, that are variables of a load object, which come with their
/// svmas.
fn name_variables(table: &mut SymbolTable, symbols: &Symbols, variables: &[(FrameId, u64)]) {
    let named = variables.iter().filter_map(|(frame, svma)| {
        let symbol = symbols.data(*svma)?;
        Some((*frame, locks::variable_name(&symbol.name)))
    });
    table.lock_names.extend(named);
}

/// Names the mutexes that have no variable by what the calls that initialised them were given.
fn name_inits(table: &mut SymbolTable, tables: &Tables, texts: &mut Texts<'_, impl SymbolSource>) {
    let calls = tables.locks.rows().iter().map(|lock| lock.init);
    let calls: BTreeSet<FrameId> = calls.filter(|&call| call != FrameId::NONE).collect();
    for call in calls {
        let lines = &table.frame(call).lines;
        let name = lines.iter().find_map(|line| {
            let path = table.files.get(line.source.file.0 as usize)?;
            locks::argument(&*texts.of(path)?, line.source.line)
        });
        table.lock_names.extend(name.map(|name| (call, name)));
    }
}

/// The word of a schedule's directive.
const fn word(schedule: Schedule) -> Workshare {
    match schedule {
        Schedule::Sections => Workshare::Sections,
        Schedule::Single => Workshare::Single,
        Schedule::Taskloop => Workshare::Taskloop,
        _ => Workshare::Loop,
    }
}

/// The calls of barriers whose kind the events do not tell, as unknown.
fn barrier_calls(tables: &Tables) -> BTreeMap<FrameId, Barrier> {
    let thread_states = tables.thread_states.rows().iter();
    let undecided = thread_states.filter(|thread_state| {
        thread_state.state == State::Barrier && thread_state.call != FrameId::NONE
    });
    undecided
        .map(|thread_state| (thread_state.call, Barrier::Unknown))
        .collect()
}

/// The functions of Python by file and name; `None` of a name that several have.
type PythonFunctions = FxHashMap<(String, String), Option<FunctionId>>;

/// Resolves frames of Python in a file.
fn name_python(
    builder: &mut TableBuilder,
    tables: &Tables,
    (module, path): (ModuleId, &str),
    (wanted, named): (&[(FrameId, u64)], &mut PythonFunctions),
) {
    let mut known: FxHashMap<u64, FunctionId> = FxHashMap::default();
    for &(id, address) in wanted {
        let line = PythonLine::of_address(address);
        let Some(name) = tables.names.get(line.name.0) else {
            continue;
        };
        let [first_line, executed] = line.lines;
        let begin = address - u64::from(executed);
        let source = (first_line != 0).then(|| builder.line(path.to_owned(), first_line));
        let function = *known.entry(begin).or_insert_with(|| {
            let function = builder.function(Function {
                module,
                address: begin,
                size: PythonLine::SIZE,
                linkage: linkage::py(name, path),
                name: name.clone(),
                source,
                outlined: None,
            });
            let known = named.entry((path.to_owned(), name.clone()));
            known.and_modify(|it| *it = None).or_insert(Some(function));
            function
        });
        let line = (executed != 0).then(|| InlinedLine {
            function: Some(name.clone()),
            source: builder.line(path.to_owned(), executed),
        });
        builder.table.frames[id.index()] = FrameSymbol {
            function: Some(function),
            lines: line.into_iter().collect(),
        };
    }
}

/// Resolves frames of generated code.
fn name_generated(
    builder: &mut TableBuilder,
    module: ModuleId,
    (functions, python): (&Generated, &PythonFunctions),
    wanted: &[(FrameId, u64)],
) {
    // A name that several functions have, such as `<lambda>`, does not tell which of them was read.
    let mut told: FxHashMap<&str, u32> = FxHashMap::default();
    for name in functions.names() {
        *told.entry(name).or_default() += 1;
    }
    // Of a function and its piece of memory, the begin may be the same.
    let mut known: FxHashMap<Range<u64>, FunctionId> = FxHashMap::default();
    for &(id, address) in wanted {
        let Some((range, linkage)) = functions.at(address) else {
            continue;
        };
        let function = *known.entry(range.clone()).or_insert_with(|| {
            let of_python = linkage::of_python(linkage);
            let function = of_python
                .filter(|_| told.get(linkage) == Some(&1))
                .and_then(|(name, file)| *python.get(&(file.to_owned(), name.to_owned()))?);
            if let Some(function) = function {
                return function;
            }
            let name = match of_python {
                Some((name, _)) => name.to_owned(),
                None => builder.written(linkage, false),
            };
            builder.function(Function {
                module,
                address: range.start,
                size: range.end - range.start,
                linkage: linkage.to_owned(),
                name,
                source: None,
                outlined: None,
            })
        });
        builder.table.frames[id.index()].function = Some(function);
    }
}

/// Resolves kernel frames, whose addresses come sorted.
fn kernel(
    builder: &mut TableBuilder,
    source: &mut impl SymbolSource,
    wanted: &[(FrameId, u64)],
) -> Option<String> {
    let addresses: Vec<u64> = wanted.iter().map(|(_, address)| *address).collect();
    let found = match source.kernel(&addresses) {
        Ok(found) => found,
        Err(why) => return Some(why),
    };
    let mut functions: FxHashMap<u64, FunctionId> = FxHashMap::default();
    for ((id, _), found) in wanted.iter().zip(found) {
        let Some(KernelFunction { start, end, name }) = found else {
            continue;
        };
        let function = *functions.entry(start).or_insert_with(|| {
            builder.function(Function {
                module: ModuleId::KERNEL,
                address: start,
                size: end - start,
                linkage: name.clone(),
                name,
                source: None,
                outlined: None,
            })
        });
        builder.table.frames[id.index()].function = Some(function);
    }
    None
}

#[cfg(test)]
mod tests {
    use experiment::tables::{Frame, Module};

    use super::*;
    use crate::kallsyms;
    use crate::symbols::Symbols;

    struct Kernel(&'static str);

    impl SymbolSource for Kernel {
        fn symbols(&mut self, _: &Module) -> Result<Symbols, String> {
            Err("gone".to_owned())
        }

        fn kernel(&mut self, addresses: &[u64]) -> Result<Vec<Option<KernelFunction>>, String> {
            kallsyms::find_in(self.0.as_bytes(), addresses)
        }
    }

    const KALLSYMS: &str = "\
ffffffff81000000 T _stext
ffffffff81000100 t do_idle
ffffffff81000100 T alias_of_do_idle
ffffffff81000200 D some_data
ffffffff81000300 T schedule
ffffffffc0000000 t nft_do_chain\t[nf_tables]
";

    #[test]
    fn kernel_frames_are_named_by_kallsyms() {
        let mut tables = Tables::default();
        let mut frame = |address| {
            tables.frame(Frame {
                module: ModuleId::KERNEL,
                address,
            })
        };
        let inside = frame(0xffff_ffff_8100_0123);
        let later = frame(0xffff_ffff_8100_02ff);
        let in_module = frame(0xffff_ffff_c000_0010);
        let below = frame(0x1000);
        let table = resolve(&tables, &mut Kernel(KALLSYMS));
        let name = |frame| Some(table.function_of(frame)?.1.name.as_str());
        assert_eq!(name(inside), Some("alias_of_do_idle"));
        assert_eq!(name(later), Some("alias_of_do_idle"));
        assert_eq!(name(in_module), Some("nft_do_chain"));
        assert_eq!(name(below), None);
        assert_eq!(table.functions[0].size, 0x200);
        assert_eq!(table.misses, []);
    }

    #[test]
    fn hidden_kernel_addresses_are_a_miss_with_its_remedy() {
        let mut tables = Tables::default();
        tables.frame(Frame {
            module: ModuleId::KERNEL,
            address: 0xffff_ffff_8100_0123,
        });
        let hidden = "0000000000000000 T _stext\n0000000000000000 t do_idle\n";
        let table = resolve(&tables, &mut Kernel(hidden));
        let [(ModuleId::KERNEL, why)] = table.misses.as_slice() else {
            panic!("{:?}", table.misses);
        };
        assert!(why.contains("kernel.kptr_restrict"));
        assert_eq!(table.functions, []);
    }
}
