//! Names for a recording that has some: of each load object those that tell more.

use experiment::ids::{FrameId, ModuleId};
use experiment::symbols::{
    CodeFact, FileId, FrameSymbol, Function, FunctionId, InlinedLine, SourceLine, SymbolTable,
};
use experiment::tables::Tables;
use rustc_hash::FxHashMap;

use crate::jumps::find_jumps;
use crate::resolve::named;
use crate::source::SymbolSource;

/// Names all frames of a recording anew, and keeps the old names of each load object of which the
/// source tells less now, as of one that is gone. Adds the frames of jumps to `tables`.
pub fn renew(
    tables: &mut Tables,
    old: &SymbolTable,
    source: &mut impl SymbolSource,
) -> (SymbolTable, Renewed) {
    let jumps = find_jumps(tables, source);
    let new = named(tables, source);
    let (before, after) = (told(tables, old), told(tables, &new));
    let is_kept: Vec<bool> = before
        .iter()
        .zip(&after)
        .map(|(old, new)| old > new)
        .collect();
    let kept = |module: ModuleId| is_kept.get(module.index()) == Some(&true);
    // Digests are of the old files, by their numbers.
    let mut merge = Merge::default();
    merge.table.files = old.files.clone();
    merge.table.digests = old.digests.clone();
    merge.table.frames = vec![FrameSymbol::default(); tables.frames.len()];
    merge.add(tables, &new, &|module| !kept(module));
    merge.add(tables, old, &kept);
    let mut table = merge.finish();
    table.jumps = jumps;
    for jump in &old.jumps {
        let found = |known: &experiment::symbols::Jump| {
            (known.caller, known.callee) == (jump.caller, jump.callee)
        };
        if !table.jumps.iter().any(found) {
            table.jumps.push(jump.clone());
        }
    }
    table
        .jumps
        .sort_unstable_by_key(|jump| (jump.caller, jump.callee));
    let renewed = Renewed {
        better: (0..)
            .map(ModuleId)
            .zip(before.iter().zip(&after))
            .filter_map(|(module, (old, new))| (new > old).then_some(module))
            .collect(),
        misses: table.misses.clone(),
    };
    (table, renewed)
}

/// What naming anew has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renewed {
    /// The load objects of which more is known than before.
    pub better: Vec<ModuleId>,
    /// What is missing still, as clauses.
    pub misses: Vec<(ModuleId, String)>,
}

/// How much a table tells of each load object: its frames with a name, and their lines.
fn told(tables: &Tables, table: &SymbolTable) -> Vec<usize> {
    let mut told = vec![0; tables.modules.len()];
    for (frame, symbol) in tables.frames.rows().iter().zip(&table.frames) {
        let function = symbol
            .function
            .and_then(|id| table.functions.get(id.0 as usize));
        let is_named = function.is_some_and(|function| !function.linkage.is_empty());
        if let Some(told) = told.get_mut(frame.module.index()) {
            *told += usize::from(is_named) + symbol.lines.len();
        }
    }
    told
}

/// A table made of parts of others.
#[derive(Default)]
struct Merge {
    table: SymbolTable,
    files: FxHashMap<String, FileId>,
}

impl Merge {
    /// Adds what a table tells of some load objects.
    fn add(&mut self, tables: &Tables, from: &SymbolTable, of: &dyn Fn(ModuleId) -> bool) {
        let mut functions: FxHashMap<FunctionId, FunctionId> = FxHashMap::default();
        for (id, function) in (0..).map(FunctionId).zip(&from.functions) {
            if of(function.module) {
                functions.insert(id, FunctionId(self.table.functions.len() as u32));
                let source = function.source.and_then(|line| self.line(from, line));
                let outlined = function.outlined.clone();
                self.table.functions.push(Function {
                    source,
                    outlined,
                    ..function.clone()
                });
            }
        }
        let frames = tables.frames.rows();
        let has = |frame: FrameId| frames.get(frame.index()).is_some_and(|row| of(row.module));
        for (id, symbol) in (0..)
            .map(FrameId)
            .zip(&from.frames)
            .filter(|(id, _)| has(*id))
        {
            let line = |line: &InlinedLine| {
                Some(InlinedLine {
                    function: line.function.clone(),
                    source: self.line(from, line.source)?,
                })
            };
            self.table.frames[id.index()] = FrameSymbol {
                lines: symbol.lines.iter().filter_map(line).collect(),
                function: symbol.function.and_then(|id| functions.get(&id).copied()),
            };
        }
        let table = &mut self.table;
        let misses = from.misses.iter().filter(|(module, _)| of(*module));
        table.misses.extend(misses.cloned());
        table
            .barriers
            .extend(from.barriers.iter().filter(|row| has(row.0)));
        table
            .directives
            .extend(from.directives.iter().filter(|row| has(row.0)));
        let locks = from.lock_names.iter().filter(|row| has(row.0));
        table.lock_names.extend(locks.cloned());
        let bodies = from.loop_bodies.iter();
        let bodies = bodies.filter_map(|(id, found)| Some((*functions.get(id)?, *found)));
        table.loop_bodies.extend(bodies);
        let code = from.code.iter().filter(|row| has(row.0));
        table.code.extend(code.map(|(frame, fact)| {
            let body = fact.body.and_then(|id| functions.get(&id).copied());
            (
                *frame,
                CodeFact {
                    body,
                    ..fact.clone()
                },
            )
        }));
    }

    /// A line in a file of another table.
    fn line(&mut self, from: &SymbolTable, line: SourceLine) -> Option<SourceLine> {
        let path = from.files.get(line.file.0 as usize)?;
        if self.files.is_empty() {
            let known = self.table.files.iter().cloned();
            self.files = known.zip((0..).map(FileId)).collect();
        }
        let file = *self.files.entry(path.clone()).or_insert_with(|| {
            self.table.files.push(path.clone());
            FileId(self.table.files.len() as u32 - 1)
        });
        Some(SourceLine { file, ..line })
    }

    fn finish(self) -> SymbolTable {
        let mut table = self.table;
        table.misses.sort();
        table.barriers.sort_unstable_by_key(|row| row.0);
        table.directives.sort_unstable_by_key(|row| row.0);
        table.loop_bodies.sort_unstable_by_key(|row| row.0);
        table.lock_names.sort_by_key(|row| row.0);
        table.code.sort_by_key(|row| row.0);
        table
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use experiment::symbols::static_name;
    use experiment::tables::{Frame, Module, RuntimeKind};

    use super::*;
    use crate::kallsyms::KernelFunction;
    use crate::symbols::Symbols;

    /// A machine without any file.
    struct Nothing;

    impl SymbolSource for Nothing {
        fn symbols(&mut self, _: &Module) -> Result<Symbols, String> {
            Err("it is gone".to_owned())
        }

        fn kernel(&mut self, _: &[u64]) -> Result<Vec<Option<KernelFunction>>, String> {
            Err("another kernel".to_owned())
        }
    }

    #[test]
    fn what_has_names_keeps_them_where_the_files_are_gone() {
        let mut tables = Tables::default();
        let module = |path: &str| Module {
            path: path.to_owned(),
            build_id: String::new(),
            runtime: RuntimeKind::None,
        };
        let [app, lib] =
            ["/app", "/lib.so"].map(|path| ModuleId(tables.modules.intern(module(path))));
        let [main, inner] =
            [(app, 16), (lib, 32)].map(|(module, address)| tables.frame(Frame { module, address }));
        let function = |module, name: &str| Function {
            module,
            address: 16,
            size: 8,
            linkage: name.to_owned(),
            name: if name.is_empty() {
                static_name("lib.so", 16)
            } else {
                name.to_owned()
            },
            source: Some(SourceLine {
                file: FileId(1),
                line: 7,
            }),
            outlined: None,
        };
        let mut old = SymbolTable {
            files: vec!["a.c".to_owned(), "b.c".to_owned()],
            digests: vec![(FileId(0), [1; 16])],
            functions: vec![function(lib, ""), function(app, "main")],
            frames: vec![FrameSymbol::default(); tables.frames.len()],
            misses: vec![(lib, "it is stripped".to_owned())],
            lock_names: vec![(main, "m".to_owned())],
            ..SymbolTable::default()
        };
        old.frames[main.index()].function = Some(FunctionId(1));
        old.frames[inner.index()].function = Some(FunctionId(0));
        let (table, renewed) = renew(&mut tables, &old, &mut Nothing);
        let names: BTreeMap<FrameId, &str> = [main, inner]
            .into_iter()
            .filter_map(|frame| Some((frame, table.function_of(frame)?.1.name.as_str())))
            .collect();
        assert_eq!(names, BTreeMap::from([(main, "main")]));
        let main_is = table.function_of(main).unwrap().1;
        assert_eq!(
            main_is.source,
            Some(SourceLine {
                file: FileId(1),
                line: 7
            })
        );
        assert_eq!((&table.files, &table.digests), (&old.files, &old.digests));
        assert_eq!(table.lock_name(main), Some("m"));
        // Of what had no name the reason is today's.
        assert_eq!(table.misses, [(lib, "it is gone".to_owned())]);
        assert_eq!(renewed.better, []);
        assert_eq!(renewed.misses, table.misses);
    }
}
