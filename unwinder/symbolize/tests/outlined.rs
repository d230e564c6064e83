//! The parent and the line of each outlined function, against marks in the source.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

#[path = "../../tests/compile/mod.rs"]
mod compile;

use std::collections::BTreeSet;
use std::path::Path;

use experiment::linkage::is_outlined;
use symbolize::{Symbols, names};

/// (line, parent) of each directive that the source marks.
fn marks(source: &str) -> BTreeSet<(u32, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(source);
    let text = std::fs::read_to_string(path).expect("the source");
    let marked = (1..)
        .zip(text.lines())
        .filter(|(_, line)| line.contains("omp "));
    marked
        .filter_map(|(number, line)| {
            let (_, parent) = line.split_once(" parent ")?;
            Some((number, parent.trim_end_matches("*/").trim().to_owned()))
        })
        .collect()
}

/// (line, readable parent) of each outlined function in a shared library made of `source`.
fn found(compiler: &str, source: &str, words: &str) -> BTreeSet<(u32, String)> {
    let library = compile::build(compiler, source, &format!("-g -fopenmp {words}"));
    let symbols = Symbols::open(&library, None).expect("symbols");
    assert_eq!(symbols.lines_miss(), None, "{compiler} {words}");
    let outlined = symbols
        .functions()
        .filter(|function| is_outlined(&function.name));
    outlined
        .map(|function| {
            let facts = symbols.origin(function.start).expect("outlined");
            let last = symbols
                .origin(function.start + function.size - 1)
                .expect("outlined");
            assert_eq!(facts, last, "{compiler} {words}: {}", function.name);
            let file = facts.file.unwrap_or_default();
            assert!(
                file.ends_with(source),
                "{compiler} {words}: {} in {file}",
                function.name
            );
            let parent = facts
                .parent
                .as_deref()
                .map(names::short)
                .unwrap_or_default();
            (
                facts.line.unwrap_or(0),
                parent.trim_start_matches("work::").to_owned(),
            )
        })
        .collect()
}

/// Linked as libraries with the system's linker: no OpenMP runtime is needed.
const LIBRARY: &str = "-shared -fPIC -nostdlib";

fn directives_by(compiler: &str, words: &str) {
    let expected = marks("regions.c");
    assert_eq!(expected.len(), 7);
    for level in ["-O0", "-O2"] {
        let found = found(compiler, "regions.c", &format!("{level} {words}"));
        assert_eq!(found, expected, "{compiler} {level}");
    }
}

#[test]
fn c_directives_are_found_exactly() {
    directives_by("gcc", "");
    directives_by("clang", LIBRARY);
}

#[test]
#[ignore = "needs clang 22"]
fn c_directives_by_a_newer_clang_are_found_exactly() {
    directives_by("clang-22", LIBRARY);
}

#[test]
fn gfortran_directives_are_found_exactly() {
    for level in ["-O0", "-O2"] {
        let modules = compile::fresh_path("modules");
        std::fs::create_dir(&modules).expect("a folder");
        let words = format!("{level} -J {}", modules.display());
        assert_eq!(
            found("gfortran", "regions.f90", &words),
            marks("regions.f90"),
            "{level}"
        );
    }
}

#[test]
fn gfortran_directives_with_computed_clauses_are_found() {
    for level in ["-O0", "-O2"] {
        let modules = compile::fresh_path("modules");
        std::fs::create_dir(&modules).expect("a folder");
        let words = format!("{level} {LIBRARY} -J {}", modules.display());
        assert_eq!(
            found("gfortran", "clauses.f90", &words),
            marks("clauses.f90"),
            "{level}"
        );
    }
}

#[test]
fn gfortran_s_internal_procedures_are_in_their_scopes() {
    for level in ["-O0", "-O2"] {
        let modules = compile::fresh_path("modules");
        std::fs::create_dir(&modules).expect("a folder");
        let words = format!("-g -fopenmp {level} {LIBRARY} -J {}", modules.display());
        let library = compile::build("gfortran", "internal.f90", &words);
        let symbols = Symbols::open(&library, None).expect("symbols");
        let bodies = symbols
            .functions()
            .filter(|function| is_outlined(&function.name));
        let mut count = 0;
        let found: BTreeSet<String> = bodies
            .map(|body| {
                count += 1;
                assert!(names::is_internal(&body.name), "{level}: {}", body.name);
                let scopes = symbols.scopes(body.start).expect("debug information");
                scopes.join("::")
            })
            .collect();
        let expected = ["alone::inner", "host::outer::inner", "main program::work"];
        assert_eq!(count, 5, "{level}");
        assert!(found.iter().eq(&expected), "{level}: {found:?}");
        let whole = symbols
            .functions()
            .filter(|function| names::is_internal(&function.name) && !is_outlined(&function.name));
        for function in whole {
            let scopes = symbols.scopes(function.start).expect("debug information");
            assert!(found.contains(&scopes.join("::")), "{level}: {scopes:?}");
        }
    }
}

#[test]
fn functions_within_functions_of_gnu_c_are_in_their_scopes() {
    for level in ["-O0", "-O2"] {
        let words = format!("-g -fopenmp {level} {LIBRARY}");
        let library = compile::build("gcc", "nested_functions.c", &words);
        let symbols = Symbols::open(&library, None).expect("symbols");
        let scopes = |function: &str| {
            let function = symbols.named(function).expect("a symbol");
            let scopes = symbols.scopes(function.start).expect("debug information");
            scopes.join("::")
        };
        for name in ["Inner.0", "Inner.0._omp_fn.0", "Inner.0._omp_fn.1"] {
            assert_eq!(scopes(name), "outer::Inner", "{level}: {name}");
        }
        assert_eq!(scopes("outer._omp_fn.0"), "outer", "{level}");
    }
}

#[test]
#[ignore = "needs flang 22"]
fn flang_directives_are_found_within_three_lines() {
    for level in ["-O0", "-O2"] {
        let modules = compile::fresh_path("modules");
        std::fs::create_dir(&modules).expect("a folder");
        let words = format!("{level} {LIBRARY} -module-dir {}", modules.display());
        let found: Vec<_> = found("flang-22", "regions.f90", &words)
            .into_iter()
            .collect();
        let expected: Vec<_> = marks("regions.f90").into_iter().collect();
        assert_eq!(found.len(), expected.len(), "{level}: {found:?}");
        for ((line, parent), (marked, holder)) in found.iter().zip(&expected) {
            assert_eq!(parent, holder, "{level}: {found:?}");
            assert!(line.abs_diff(*marked) <= 3, "{level}: {found:?}");
        }
    }
}

#[test]
fn without_debug_information_the_name_still_tells_the_parent() {
    let library = compile::build("gcc", "regions.c", "-O2 -g0 -fopenmp");
    let symbols = Symbols::open(&library, None).expect("symbols");
    let function = symbols.named("nested._omp_fn.1").expect("outlined");
    let facts = symbols.origin(function.start).expect("outlined");
    assert_eq!(
        (facts.parent.as_deref(), facts.line, facts.file),
        (Some("nested"), None, None)
    );
    let main = symbols.named("main").expect("main");
    assert_eq!(symbols.origin(main.start), None);
}
