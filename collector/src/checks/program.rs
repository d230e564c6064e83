//! Whether a program can be checked, by its file.

use std::ffi::OsStr;
use std::path::Path;

use race_stream::record::Checks;
use unwinder::elf::{Elf, ElfFile};
use unwinder::symtab::ElfSymbols;

use crate::launcher;

/// What a program's file tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// It calls the sanitizer.
    calls: bool,
    /// It has the sanitizer's own runtime in it.
    defines: bool,
    /// It calls an OpenMP runtime, so that its own code is parallel.
    is_openmp: bool,
    /// That is LLVM's.
    is_llvms: bool,
    /// It is a tool of LLVM's runtime itself.
    is_tool: bool,
    /// It is linked statically.
    is_static: bool,
    compiler: Compiler,
}

/// Why nothing is known of a program.
const STATIC: &str = "the program is linked statically, and loads no library";
/// See [`STATIC`].
const UNLOADED: &str = "the program did nothing that is looked at, or the library was not loaded into it (is it \
                        set-user-id, or was its environment cleared on the way to it?), or could not open its memory \
                        there (does it run in a namespace of its own?)";

impl Facts {
    /// Why nothing was recorded of it.
    pub(super) fn why_nothing(&self) -> String {
        let why = if self.is_static {
            STATIC
        } else if let Some(why) = self.why_silent() {
            return why;
        } else {
            UNLOADED
        };
        format!("nothing was checked: {why}")
    }

    /// Why a library of ours was not loaded into it.
    pub(super) fn why_unloaded(&self) -> &'static str {
        if self.is_static { STATIC } else { UNLOADED }
    }

    /// Why LLVM's runtime tells nothing, if that is so.
    pub(super) fn why_silent(&self) -> Option<String> {
        let is_disabled = || std::env::var("OMP_TOOL").is_ok_and(|it| it.trim() == "disabled");
        let why = match self {
            Facts {
                is_llvms: false, ..
            } => return None,
            Facts { is_tool: true, .. } => {
                "the program has an OMPT tool of its own, and a runtime serves one"
            }
            _ if is_disabled() => "OMP_TOOL=disabled",
            _ => return None,
        };
        Some(format!(
            "nothing was checked: OpenMP's runtime tells of nothing ({why})"
        ))
    }
}

/// The compiler that built it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Compiler {
    #[default]
    Gcc,
    Gfortran,
    Clang,
    Flang,
}

/// Says what is missing before the program runs, or else what its file tells; nothing of a script. A program
/// that is not parallel itself, such as an interpreter, may load a library that is, and is not judged.
///
/// # Errors
/// One sentence with the flags for its compiler.
pub(super) fn check(command: &OsStr, checks: Checks) -> Result<Facts, String> {
    let Some(path) = launcher::program(command) else {
        return Ok(Facts::default());
    };
    let facts = facts_of(&path).unwrap_or_default();
    let program = path.display();
    let mut how = flags(facts.compiler).to_owned();
    if checks.has(Checks::INIT) && facts.compiler == Compiler::Clang {
        how += " -mllvm -tsan-instrument-read-before-write=1";
    }
    if facts.defines {
        return Err(format!(
            "{program} has the sanitizer's own runtime in it, whose place -r takes: {how}"
        ));
    }
    if super::sees_accesses(checks) && facts.is_openmp && !facts.calls {
        return Err(format!(
            "{program} is not instrumented, so -r would see none of its accesses: {how}"
        ));
    }
    Ok(facts)
}

/// How to compile for the checks.
fn flags(compiler: Compiler) -> &'static str {
    match compiler {
        Compiler::Gcc => "compile and link it with gcc -g -O1 -fsanitize=thread -fopenmp",
        Compiler::Gfortran => "compile and link it with gfortran -g -O0 -fsanitize=thread -fopenmp",
        Compiler::Clang => {
            "compile and link it with clang -g -O1 -fno-vectorize -fno-slp-vectorize -fsanitize=thread \
             -shared-libsan -fopenmp"
        }
        Compiler::Flang => {
            "flang has no flag for that: docs/races.md says how to instrument its programs with opt"
        }
    }
}

fn facts_of(path: &Path) -> Option<Facts> {
    let file = ElfFile::open(path).ok()?;
    let elf = file.parse().ok()?;
    let mut facts = Facts {
        compiler: compiler(&elf),
        is_static: elf.bytes(".interp").is_none(),
        ..Facts::default()
    };
    for table in [ElfSymbols::dynsym(&elf), ElfSymbols::symtab(&elf)] {
        let Some(table) = table else {
            continue;
        };
        for symbol in table.iter() {
            let name = table.name(&symbol);
            // A version follows in the table of a linked program.
            let name = name.split(|byte| *byte == b'@').next().unwrap_or(name);
            match name {
                b"__tsan_func_entry" if symbol.is_defined() => facts.defines = true,
                b"__tsan_func_entry" | b"__tsan_init" => facts.calls = true,
                b"__kmpc_fork_call" => (facts.is_openmp, facts.is_llvms) = (true, true),
                b"GOMP_parallel" => facts.is_openmp = true,
                b"ompt_start_tool" => facts.is_tool |= symbol.is_defined(),
                _ => {}
            }
            if name.starts_with(b"_gfortran_") && facts.compiler == Compiler::Gcc {
                facts.compiler = Compiler::Gfortran;
            }
        }
    }
    Some(facts)
}

/// By what compilers write into `.comment`. The C library's own objects are gcc's in every program.
fn compiler(elf: &Elf<'_>) -> Compiler {
    let comment = elf.bytes(".comment").unwrap_or_default();
    let comment = String::from_utf8_lossy(&comment).into_owned();
    if comment.contains("flang") {
        Compiler::Flang
    } else if comment.contains("clang") {
        Compiler::Clang
    } else {
        Compiler::Gcc
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// What is said of a program that is compiled with these options.
    fn said(options: &[&str], checks: Checks) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let (source, program) = (folder.path().join("p.c"), folder.path().join("p"));
        let text = "int main(void) { int x = 0;\n#pragma omp parallel\n#pragma omp atomic\nx++;\nreturn x == 0; }";
        std::fs::write(&source, text).unwrap();
        let mut gcc = Command::new("gcc");
        gcc.args(options).arg(&source).arg("-o").arg(&program);
        assert!(gcc.status().unwrap().success());
        check(program.as_os_str(), checks).err()
    }

    #[test]
    fn a_program_that_cannot_be_checked_is_told_how_to_be_compiled() {
        let plain = said(&["-fopenmp"], Checks::RACE).unwrap();
        assert!(
            plain.contains("is not instrumented") && plain.contains("gcc -g -O1 -fsanitize=thread")
        );
        for checks in [Checks::RACE, Checks::DEADLOCK] {
            let within = ["-fopenmp", "-fsanitize=thread", "-static-libtsan"];
            let within = said(&within, checks).unwrap();
            assert!(within.contains("runtime in it"), "{within}");
        }
        assert_eq!(said(&["-fopenmp"], Checks::DEADLOCK), None);
        assert_eq!(said(&["-fopenmp", "-fsanitize=thread"], Checks::RACE), None);
        assert_eq!(said(&[], Checks::RACE), None);
        assert!(check(OsStr::new("/bin/sh"), Checks::RACE).is_ok());
    }
}
