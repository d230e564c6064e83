//! The construct, function and line of each outlined function, by machine code and debug information.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

#[path = "../../tests/compile/mod.rs"]
mod compile;

use std::collections::BTreeSet;
use std::path::Path;

use experiment::linkage::is_outlined;
use experiment::symbols::Construct::{self, Parallel, Target, Task};
use experiment::symbols::SymbolTable;
use experiment::tables::{Frame, Module, RuntimeKind, Tables};
use symbolize::{Symbols, from_files};

type Row = (Construct, String, Option<u32>);

/// The symbols of a recording with each outlined function of a shared library.
fn table_of(library: &Path) -> SymbolTable {
    let symbols = Symbols::open(library, None).expect("symbols");
    let outlined = symbols.functions().filter(|it| is_outlined(&it.name));
    table_at(library, &symbols, outlined.map(|function| function.start))
}

/// The symbols of a recording with these addresses of a shared library.
fn table_at(
    library: &Path,
    symbols: &Symbols,
    addresses: impl Iterator<Item = u64>,
) -> SymbolTable {
    let mut tables = Tables::default();
    let module = tables.module(Module {
        path: library.to_str().expect("a plain path").to_owned(),
        build_id: symbols
            .build_id()
            .map_or_else(String::new, ToString::to_string),
        runtime: RuntimeKind::None,
    });
    for address in addresses {
        tables.frame(Frame { module, address });
    }
    from_files(&tables)
}

/// (construct, function, line) of each outlined function in a shared library.
fn found(compiler: &str, words: &str) -> BTreeSet<(u8, String, Option<u32>)> {
    let library = compile::build(compiler, "constructs.c", &format!("-fopenmp {words}"));
    let table = table_of(&library);
    let outlined = table.functions.iter().filter_map(|it| it.outlined.clone());
    outlined
        .map(|it| (it.construct as u8, it.parent.unwrap_or_default(), it.line))
        .collect()
}

fn rows(lines: bool) -> BTreeSet<(u8, String, Option<u32>)> {
    let expected: [Row; 6] = [
        (Parallel, "regions".to_owned(), Some(8)),
        (Task, "tasks".to_owned(), Some(14)),
        (Target, "targets".to_owned(), Some(26)),
        (Target, "combined".to_owned(), Some(32)),
        (Parallel, "combined".to_owned(), Some(32)),
        (Target, "repeated".to_owned(), Some(43)),
    ];
    let rows = expected.into_iter();
    rows.map(|(construct, parent, line)| (construct as u8, parent, line.filter(|_| lines)))
        .collect()
}

const LIBRARY: &str = "-shared -fPIC";

#[test]
fn bodies_of_gcc_are_told_apart_by_the_calls_that_pass_them() {
    for words in ["-O0 -g", "-O2 -g", "-O2 -g -gsplit-dwarf", "-O3 -g1"] {
        let words = format!("{words} {LIBRARY}");
        assert_eq!(found("gcc", &words), rows(true), "{words}");
    }
}

#[test]
fn without_debug_information_bodies_of_gcc_have_no_line() {
    let words = format!("-O2 -g0 {LIBRARY}");
    assert_eq!(found("gcc", &words), rows(false));
}

/// gcc inlines a Fortran main program into `main`, under its own name.
#[test]
fn an_inlined_main_program_has_the_name_of_one() {
    let modules = compile::fresh_path("modules");
    std::fs::create_dir(&modules).expect("a folder");
    let words = format!("-g -O2 -fopenmp {LIBRARY} -J {}", modules.display());
    let library = compile::build("gfortran", "internal.f90", &words);
    let symbols = Symbols::open(&library, None).expect("symbols");
    let main = symbols.named("main").expect("a main program");
    let addresses = main.start..main.start + main.size;
    let table = table_at(&library, &symbols, addresses);
    let lines = table.frames.iter().flat_map(|frame| &frame.lines);
    let found: BTreeSet<&str> = lines.filter_map(|line| line.function.as_deref()).collect();
    assert!(found.contains("main program"), "{found:?}");
    assert!(!found.contains("p"), "{found:?}");
}

#[test]
fn bodies_of_clang_have_their_function_and_line_at_every_level_of_debug_information() {
    // A target region that is inlined everywhere has no function.
    for words in ["-O0 -g", "-O0 -g1", "-O0 -g -gsplit-dwarf"] {
        let words = format!("{words} {LIBRARY} -nostdlib");
        assert_eq!(found("clang", &words), rows(true), "{words}");
    }
}

#[test]
#[ignore = "needs flang 22"]
fn bodies_of_flang_have_the_line_of_their_directive_where_its_source_is() {
    let modules = compile::fresh_path("modules");
    std::fs::create_dir(&modules).expect("a folder");
    let modules = modules.display();
    let words = format!("-g -fopenmp -O2 -shared -fPIC -nostdlib -module-dir {modules}");
    let table = table_of(&compile::build("flang-22", "regions.f90", &words));
    let outlined = table.functions.iter().filter_map(|it| it.outlined.as_ref());
    let lines: BTreeSet<u32> = outlined.filter_map(|it| it.line).collect();
    let marked = (1..).zip(include_str!("programs/regions.f90").lines());
    let marked = marked.filter(|(_, text)| text.contains("! parent "));
    assert_eq!(lines, marked.map(|(line, _)| line).collect());
}
