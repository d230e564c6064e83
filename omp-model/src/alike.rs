//! Names for functions that are called alike: static functions of several source files get the name of theirs,
//! `helper (in a.c)`. So a name means one function, wherever rows are joined by what they show.

use std::collections::{BTreeMap, BTreeSet};

use experiment::ids::{FrameId, ModuleId};
use experiment::symbols::{FileId, SymbolTable};
use experiment::tables::{RuntimeKind, Tables};

use crate::views::names::{base_name, in_file, split_file};

/// Tells functions of one name apart. Functions of which nobody knows where they are written keep their names, and so
/// do those of OpenMP's runtimes and of our own library: no author calls a function differently because they have one.
pub(crate) fn distinguish(symbols: &mut SymbolTable, tables: &Tables) {
    let is_program_s = |module: ModuleId| {
        let runtime = tables.runtime(module);
        matches!(runtime, RuntimeKind::None | RuntimeKind::Python)
    };
    let of_program: Vec<bool> = (0..symbols.frames.len() as u32)
        .map(|frame| {
            let row = tables.frames.get(FrameId(frame).0);
            row.is_some_and(|row| is_program_s(row.module))
        })
        .collect();
    let alike = alike(symbols, &of_program, is_program_s);
    if alike.is_empty() {
        return;
    }
    let files = &symbols.files;
    let distinguish = |name: &mut String, file: FileId| {
        let file = files.get(file.0 as usize).map(|path| base_name(path));
        let (bare, _) = split_file(name);
        if let Some(file) = file
            && alike.get(bare).is_some_and(|known| known.contains(file))
        {
            *name = in_file(bare, file);
        }
    };
    for function in &mut symbols.functions {
        let Some(source) = function.source.filter(|_| is_program_s(function.module)) else {
            continue;
        };
        match &mut function.outlined {
            Some(outlined) => {
                let parent = outlined.parent.as_mut();
                parent
                    .into_iter()
                    .for_each(|it| distinguish(it, source.file));
            }
            None => distinguish(&mut function.name, source.file),
        }
    }
    let frames = symbols.frames.iter_mut().zip(of_program);
    let frames = frames.filter_map(|(frame, of_program)| of_program.then_some(frame));
    for line in frames.flat_map(|it| &mut it.lines) {
        if let Some(name) = &mut line.function {
            distinguish(name, line.source.file);
        }
    }
}

/// The files of each name that functions of several files have.
fn alike(
    symbols: &SymbolTable,
    of_program: &[bool],
    is_program_s: impl Fn(ModuleId) -> bool,
) -> BTreeMap<String, BTreeSet<String>> {
    let base = |file: FileId| {
        symbols
            .files
            .get(file.0 as usize)
            .map(|path| base_name(path))
    };
    let functions = symbols.functions.iter();
    let functions = functions.filter(|it| is_program_s(it.module));
    let begun = functions.filter_map(|it| Some((it, base(it.source?.file)?)));
    let begun: Vec<_> = begun.collect();
    // Where no function begins, lines may be a part of a function of another file.
    let files: BTreeSet<&str> = begun.iter().map(|(_, file)| *file).collect();
    let frames = symbols.frames.iter().zip(of_program);
    let lines = frames
        .filter(|(_, of_program)| **of_program)
        .flat_map(|(frame, _)| &frame.lines);
    let inlined =
        lines.filter_map(|line| Some((line.function.as_deref()?, base(line.source.file)?)));
    let inlined = inlined.filter(|(_, file)| files.contains(file));
    let named = begun
        .iter()
        .filter_map(|(function, file)| match &function.outlined {
            Some(outlined) => Some((outlined.parent.as_deref()?, *file)),
            None => Some((function.name.as_str(), *file)),
        });
    let mut places: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, file) in named.chain(inlined) {
        // Experiments that are united have such names already.
        let (bare, _) = split_file(name);
        places.entry(bare).or_default().insert(file);
    }
    let several = places.into_iter().filter(|(_, files)| files.len() > 1);
    let owned = |files: BTreeSet<&str>| files.into_iter().map(str::to_owned).collect();
    several
        .map(|(name, files)| (name.to_owned(), owned(files)))
        .collect()
}

#[cfg(test)]
mod tests {
    use experiment::symbols::{
        Construct, FrameSymbol, Function, InlinedLine, Outlined, SourceLine,
    };
    use experiment::tables::{Frame, Interner, Module};

    use super::*;

    fn function(name: &str, file: u32, outlined: Option<&str>) -> Function {
        Function {
            module: ModuleId(2),
            address: 0,
            size: 0,
            linkage: name.to_owned(),
            name: name.to_owned(),
            source: Some(SourceLine {
                file: FileId(file),
                line: 1,
            }),
            outlined: outlined.map(|parent| Outlined {
                construct: Construct::Parallel,
                parent: Some(parent.to_owned()),
                line: Some(2),
            }),
        }
    }

    /// A program and a runtime, and a frame of the program.
    fn tables() -> Tables {
        let mut tables = Tables::default();
        let mut module = |path: &str, runtime| {
            tables.module(Module {
                path: path.to_owned(),
                build_id: String::new(),
                runtime,
            })
        };
        let program = module("/x/program", RuntimeKind::None);
        module("/x/libgomp.so.1", RuntimeKind::Gomp);
        tables.frames = Interner::with([Frame {
            module: program,
            address: 0,
        }]);
        tables
    }

    fn line(function: &str, file: u32) -> InlinedLine {
        InlinedLine {
            source: SourceLine {
                file: FileId(file),
                line: 3,
            },
            function: Some(function.to_owned()),
        }
    }

    #[test]
    fn static_functions_of_several_files_are_told_apart() {
        let files = ["/x/a.c", "/x/b.c", "/x/body.inc"].map(str::to_owned);
        let mut symbols = SymbolTable {
            files: files.to_vec(),
            functions: vec![
                function("helper", 0, None),
                function("helper._omp_fn.0", 1, Some("helper")),
                function("only", 0, None),
                // A runtime has such a function, too.
                Function {
                    module: ModuleId(3),
                    ..function("only", 1, None)
                },
            ],
            frames: vec![FrameSymbol {
                function: None,
                // The body of `only` is included from a file of its own.
                lines: vec![line("helper", 1), line("only", 2), line("only", 0)],
            }],
            ..SymbolTable::default()
        };
        let tables = tables();
        distinguish(&mut symbols, &tables);
        let names = symbols.functions.iter().map(|it| it.name.as_str());
        let expected = ["helper (in a.c)", "helper._omp_fn.0", "only", "only"];
        assert!(names.eq(expected));
        let body = symbols.functions[1].outlined.as_ref();
        let parent = body.and_then(|it| it.parent.as_deref());
        assert_eq!(parent, Some("helper (in b.c)"));
        let lines = symbols.frames[0].lines.iter();
        let lines = lines.filter_map(|it| it.function.as_deref());
        assert!(lines.eq(["helper (in b.c)", "only", "only"]));
        let before = symbols.clone();
        distinguish(&mut symbols, &tables);
        assert_eq!(symbols, before);
    }
}
