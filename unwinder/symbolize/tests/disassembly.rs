//! Instructions of a function of a real program.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

#[path = "../../tests/compile/mod.rs"]
mod compile;

use std::path::Path;

use compile::{build, fresh_path};
use experiment::symbols::{FunctionId, SymbolTable};
use experiment::tables::{Frame, Module, RuntimeKind, Tables};
use symbolize::disassembly::{Code, Missing};
use symbolize::{Symbols, from_files};

/// The tables of an experiment with one frame, in `inlining._omp_fn.0` of `path`, and its symbols.
fn recorded(path: &Path) -> (Tables, SymbolTable) {
    let symbols = Symbols::open(path, None).expect("symbols");
    let function = symbols.named("inlining._omp_fn.0").expect("outlined");
    let mut tables = Tables::default();
    let module = tables.module(Module {
        path: path.to_str().expect("a plain path").to_owned(),
        build_id: symbols.build_id().expect("a build id").to_string(),
        runtime: RuntimeKind::None,
    });
    tables.frame(Frame {
        module,
        address: function.start,
    });
    let table = from_files(&tables);
    (tables, table)
}

#[test]
fn instructions_cover_the_function_and_have_their_lines() {
    let path = build("gcc", "regions.c", "-O2 -g -fopenmp -Wl,--build-id");
    let (tables, table) = recorded(&path);
    let function = &table.functions[0];
    assert_eq!(function.linkage, "inlining._omp_fn.0");
    let code = Code::read(&tables, &table, FunctionId(0), Some(&path));
    assert_eq!(code.missing, None);
    let mut next = function.address;
    for instruction in &code.instructions {
        assert_eq!(instruction.address, next);
        next += instruction.length;
        assert!(!instruction.lines.is_empty(), "{}", instruction.text);
    }
    assert_eq!(next, function.address + function.size);
    // The helper's line, and that of the call which was inlined.
    let inlined = code.instructions.iter().find(|it| it.lines.len() == 2);
    let inner = &inlined.expect("helper is inlined").lines[0];
    assert_eq!(
        (inner.function.as_deref(), inner.source.line),
        (Some("helper"), 41)
    );
}

#[test]
fn why_instructions_are_not_shown() {
    let path = build("gcc", "regions.c", "-O2 -g -fopenmp -Wl,--build-id");
    let other = build("gcc", "regions.c", "-O1 -g -fopenmp -Wl,--build-id");
    let (tables, table) = recorded(&path);
    let missing = |file| Code::read(&tables, &table, FunctionId(0), file).missing;
    let why = |why: &str| Some(Missing::File(why.to_owned()));
    assert_eq!(missing(None), why("there is no such file here"));
    assert_eq!(missing(Some(&other)), Some(Missing::Changed));
    let text = fresh_path("text");
    std::fs::write(&text, "no program").expect("written");
    assert_eq!(missing(Some(&text)), why("it is not an ELF file"));
    let mut arm = vec![0; 64];
    arm[..6].copy_from_slice(b"\x7fELF\x02\x01");
    arm[18] = 183;
    std::fs::write(&text, arm).expect("written");
    assert_eq!(missing(Some(&text)), Some(Missing::Code));
}
