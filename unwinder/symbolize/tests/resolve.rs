//! Symbols of real programs: gcc at -O2, with and without debug information.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use experiment::ids::{FrameId, ModuleId};
use experiment::symbols::{Construct, Function, SymbolTable};
use experiment::tables::{Frame, Module, RuntimeKind, Tables};
use symbolize::{Symbols, from_files};

const SOURCE: &str = r#"
#include <stdio.h>
static inline __attribute__((always_inline)) double square(double x)
{
    return x * x;
}
__attribute__((noinline)) double fill(double *a, int n)
{
    #pragma omp parallel for
    for (int i = 0; i < n; i++)
        a[i] += square(a[i]) + 1.0;
    return a[0];
}
int main(int argc, char **argv)
{
    static double a[100];
    printf("%f\n", fill(a, argc));
    return 0;
}
"#;

struct Program {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

impl Program {
    fn build(flags: &[&str]) -> Program {
        Program::build_with("gcc", flags)
    }

    fn build_with(compiler: &str, flags: &[&str]) -> Program {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("fill.c"), SOURCE).unwrap();
        let path = folder.path().join("program");
        let built = Command::new(compiler)
            .args(["-O2", "-fopenmp", "-o"])
            .arg(&path)
            .args(flags)
            .arg(folder.path().join("fill.c"))
            .status()
            .expect("the compiler is installed where the tests run");
        assert!(built.success());
        Program {
            path,
            _folder: folder,
        }
    }

    /// Tables with a frame at each address of the function, and those frames.
    fn frames(&self, function: &str) -> (Tables, Vec<FrameId>) {
        let symbols = Symbols::open(&self.path, None).unwrap();
        let function = symbols.named(function).unwrap();
        let mut tables = Tables::default();
        let module = tables.module(self.module());
        let addresses = function.start..function.start + function.size;
        let frames = addresses.map(|address| tables.frame(Frame { module, address }));
        let frames = frames.collect();
        (tables, frames)
    }

    fn strip(&self) {
        let stripped = Command::new("strip").arg(&self.path).status();
        assert!(stripped.unwrap().success());
    }

    fn module(&self) -> Module {
        let symbols = Symbols::open(&self.path, None).unwrap();
        let build_id = symbols.build_id();
        Module {
            path: self.path.to_str().unwrap().to_owned(),
            build_id: build_id.map_or_else(String::new, ToString::to_string),
            runtime: RuntimeKind::None,
        }
    }
}

fn file_of(table: &SymbolTable, frame: FrameId) -> Option<&Path> {
    let place = table.frame(frame).lines.first()?.source;
    Some(Path::new(&table.files[place.file.0 as usize]))
}

#[test]
fn an_outlined_loop_has_its_parent_line_and_inlined_calls() {
    let program = Program::build(&["-g"]);
    let (tables, frames) = program.frames("fill._omp_fn.0");
    let table = from_files(&tables);
    assert_eq!(table.misses, []);
    let (_, function) = table.function_of(frames[0]).unwrap();
    assert_eq!(function.linkage, "fill._omp_fn.0");
    let outlined = function.outlined.as_ref().unwrap();
    assert_eq!(outlined.construct, Construct::Parallel);
    assert_eq!(outlined.parent.as_deref(), Some("fill"));
    assert_eq!(outlined.line, Some(9));
    assert_eq!(function.source.unwrap().line, 9);
    assert!(file_of(&table, frames[0]).unwrap().ends_with("fill.c"));
    // The parent is kept although no frame lies in it.
    assert!(
        table
            .functions
            .iter()
            .any(|function| function.name == "fill")
    );
    // Somewhere in the loop `square` was inlined, at line 5, into line 11.
    let inlined = frames.iter().find_map(|&frame| {
        let [inner, outer] = table.frame(frame).lines.as_slice() else {
            return None;
        };
        Some((
            inner.function.as_deref()?,
            inner.source.line,
            outer.source.line,
        ))
    });
    assert_eq!(inlined, Some(("square", 5, 11)));
    for &frame in &frames {
        let last = table.frame(frame).lines.last().unwrap();
        assert_eq!(last.function.as_deref(), Some("fill._omp_fn.0"));
    }
}

#[test]
fn without_debug_information_the_name_still_tells_the_parent() {
    let program = Program::build(&[]);
    let (tables, frames) = program.frames("fill._omp_fn.0");
    let table = from_files(&tables);
    assert_eq!(table.misses, []);
    let (_, function) = table.function_of(frames[3]).unwrap();
    let outlined = function.outlined.as_ref().unwrap();
    assert_eq!(outlined.parent.as_deref(), Some("fill"));
    assert_eq!((outlined.line, function.source), (None, None));
    assert_eq!(table.frame(frames[3]).lines, []);
    assert_eq!(table.files, <[String; 0]>::default());
}

#[test]
fn a_stripped_program_and_a_missing_one_say_so() {
    let program = Program::build(&[]);
    let (mut tables, frames) = program.frames("fill._omp_fn.0");
    let gone = tables.module(Module {
        path: "/nonexistent/library.so".to_owned(),
        ..program.module()
    });
    tables.frame(Frame {
        module: gone,
        address: 0x1000,
    });
    program.strip();
    let table = from_files(&tables);
    assert!(!table.function_of(frames[0]).unwrap().1.has_symbol());
    let path = program.path.to_str().unwrap();
    let [(ModuleId(2), stripped), (missing_module, missing)] = table.misses.as_slice() else {
        panic!("{:?}", table.misses);
    };
    assert_eq!(*stripped, format!("{path} is stripped"));
    assert_eq!(*missing_module, gone);
    assert!(missing.starts_with("/nonexistent/library.so "), "{missing}");
}

#[test]
fn a_function_of_a_stripped_program_is_one_row_called_by_its_start() {
    one_row_called_by_its_start("gcc", "fill._omp_fn.0");
    one_row_called_by_its_start("clang", ".omp_outlined.");
}

#[test]
#[ignore = "needs clang 22"]
fn a_function_of_a_newer_clang_s_stripped_program_is_one_row_too() {
    one_row_called_by_its_start("clang-22", "fill.omp_outlined");
}

/// `body` is the linkage name of the region's body.
fn one_row_called_by_its_start(compiler: &str, body: &str) {
    let program = Program::build_with(compiler, &[]);
    let (mut tables, in_body) = program.frames(body);
    let symbols = Symbols::open(&program.path, None).unwrap();
    let module = ModuleId(2);
    let parent = symbols.named("fill").unwrap();
    let body = symbols.named(body).unwrap();
    let in_parent = tables.frame(Frame {
        module,
        address: parent.start + 1,
    });
    let nowhere = tables.frame(Frame {
        module,
        address: 0x10,
    });
    program.strip();
    let table = from_files(&tables);
    assert_eq!(table.functions.len(), 2, "{compiler}");
    for (frame, function) in in_body
        .iter()
        .map(|&frame| (frame, &body))
        .chain([(in_parent, &parent)])
    {
        let (_, found) = table.function_of(frame).unwrap();
        let expected = Function {
            module,
            address: function.start,
            size: function.size,
            linkage: String::new(),
            name: format!("<static>@{:#x} (<program>)", function.start),
            source: None,
            outlined: None,
        };
        assert_eq!(*found, expected, "{compiler}");
    }
    assert_eq!(table.frame(nowhere).function, None);
}

#[test]
fn another_build_of_the_program_gives_no_names() {
    let program = Program::build(&["-g"]);
    let (_, _) = program.frames("fill");
    let mut tables = Tables::default();
    let module = tables.module(Module {
        build_id: "00112233445566778899aabbccddeeff00112233".to_owned(),
        ..program.module()
    });
    let frame = tables.frame(Frame {
        module,
        address: 0x1200,
    });
    let table = from_files(&tables);
    assert_eq!(table.frame(frame).function, None);
    assert_eq!(table.misses.len(), 1);
    assert_eq!(table.misses[0].0, module);
}
