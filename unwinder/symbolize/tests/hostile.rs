//! Somebody makes a recording, and a load object for it, to do harm.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use experiment::ids::FrameId;
use experiment::symbols::{FunctionId, SymbolTable};
use experiment::tables::{Frame, Module, RuntimeKind, Tables};
use symbolize::disassembly::{Code, Missing};
use symbolize::{Files, Symbols, from_files, resolve};
use tempfile::TempDir;

/// `work` jumps to a function with a name that clears the screen.
const SOURCE: &str = r#"
__asm__(".text\n.globl work\n.type work,@function\nwork: nop\njmp 1f\n.size work,.-work\n"
        ".type \"clear\033[2J\",@function\n1:\n\"clear\033[2J\": nop\nret\n"
        ".size \"clear\033[2J\",2\n");
int main(void) { return 0; }
"#;

fn build(flags: &[&str]) -> (TempDir, PathBuf) {
    build_source(SOURCE, flags)
}

fn build_source(text: &str, flags: &[&str]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let [source, program] = ["source.c", "program"].map(|name| folder.path().join(name));
    fs::write(&source, text).unwrap();
    let mut gcc = Command::new("gcc");
    let gcc = gcc.args(["-g", "-o"]).arg(&program).args(flags).arg(source);
    assert!(gcc.status().unwrap().success());
    (folder, program)
}

/// A recording with a frame in each of these functions, and with this build id of the program.
fn recording(program: &Path, build_id: &str, functions: &[&str]) -> (Tables, Vec<FrameId>) {
    let symbols = Symbols::open(program, None).unwrap();
    let mut tables = Tables::default();
    let module = tables.module(Module {
        path: program.to_str().unwrap().to_owned(),
        build_id: build_id.to_owned(),
        runtime: RuntimeKind::None,
    });
    let frames = functions.iter().map(|name| {
        let address = symbols.named(name).unwrap().start;
        tables.frame(Frame { module, address })
    });
    let frames = frames.collect();
    (tables, frames)
}

fn build_id(program: &Path) -> String {
    let symbols = Symbols::open(program, None).unwrap();
    symbols.build_id().unwrap().to_string()
}

fn function(table: &SymbolTable, name: &str) -> FunctionId {
    let at = table.functions.iter().position(|it| it.name == name);
    FunctionId(at.unwrap() as u32)
}

/// The debug information of a load object may name any file as its source.
#[test]
fn only_collect_says_what_the_sources_were() {
    let (_folder, program) = build(&["-Wl,--build-id"]);
    let (tables, _) = recording(&program, &build_id(&program), &["main"]);
    let recorded = resolve(&tables, &mut Files::default());
    assert_eq!(recorded.digests.len(), 1, "{:?}", recorded.files);
    let read = from_files(&tables);
    assert_eq!(read.files, recorded.files);
    assert_eq!(read.digests, []);
}

#[test]
fn names_in_a_load_object_are_text() {
    const NAME: &str = "clear\u{1b}[2J";
    let (_folder, program) = build(&["-Wl,--build-id"]);
    let (tables, frames) = recording(&program, &build_id(&program), &["work", NAME]);
    let table = from_files(&tables);
    let named = table.frame(frames[1]).function.unwrap();
    let named = &table.functions[named.0 as usize];
    assert_eq!(named.name, "clear\u{241b}[2J");
    assert_eq!(named.linkage, "clear\u{241b}[2J");
    let code = Code::read(&tables, &table, function(&table, "work"), Some(&program));
    let texts: Vec<&str> = code.instructions.iter().map(|it| &*it.text).collect();
    assert!(texts[1].contains("<clear\u{241b}[2J>"), "{texts:?}");
}

/// The recording may name any program that the user can read, and say that it had no build id.
#[test]
fn a_load_object_without_a_build_id_is_no_file_that_has_one() {
    for (flag, is_shown) in [("-Wl,--build-id", false), ("-Wl,--build-id=none", true)] {
        let (_folder, program) = build(&[flag]);
        for id in ["", "no hexadecimal"] {
            let (tables, frames) = recording(&program, id, &["work"]);
            let read = from_files(&tables);
            assert_eq!(
                read.misses.is_empty(),
                is_shown,
                "{flag}: {:?}",
                read.misses
            );
            assert_eq!(read.frame(frames[0]).function.is_some(), is_shown, "{flag}");
            let (tables, _) = recording(&program, id, &["work"]);
            let symbols = Symbols::open(&program, None).unwrap();
            let work = symbols.named("work").unwrap();
            let mut table = SymbolTable::default();
            table.functions.push(experiment::symbols::Function {
                module: tables.frames.rows()[frames[0].index()].module,
                address: work.start,
                size: work.size,
                linkage: "work".to_owned(),
                name: "work".to_owned(),
                source: None,
                outlined: None,
            });
            let code = Code::read(&tables, &table, FunctionId(0), Some(&program));
            let missing = (!is_shown).then_some(Missing::Changed);
            assert_eq!(code.missing, missing, "{flag}");
        }
    }
}

/// 300,000 instructions.
#[test]
fn of_a_function_without_end_the_beginning_is_shown() {
    let long = r#"__asm__(".globl long\n.type long,@function\nlong: .fill 300000,1,0x90\n.size long,.-long\n");
int main(void) { return 0; }
"#;
    let (_folder, program) = build_source(long, &["-Wl,--build-id"]);
    let (tables, _) = recording(&program, &build_id(&program), &["long"]);
    let table = from_files(&tables);
    let code = Code::read(&tables, &table, function(&table, "long"), Some(&program));
    assert_eq!(code.instructions.len(), 1 << 18);
    assert_eq!(code.missing, Some(Missing::Rest));
}

/// Of 4 GiB that are on no disk.
#[test]
fn a_segment_of_gigabytes_is_not_read() {
    const LENGTH: u64 = 4 << 30;
    let (_folder, program) = build(&["-Wl,--build-id"]);
    let mut bytes = fs::read(&program).unwrap();
    // Elf64_Ehdr: e_phoff, e_phnum; Elf64_Phdr: p_type, p_flags, p_filesz, p_memsz.
    let word = |bytes: &[u8], at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().unwrap());
    let (first, count) = (word(&bytes, 32) as usize, usize::from(bytes[56]));
    let segments = (0..count).map(|at| first + 56 * at);
    let executable: Vec<usize> = segments
        .filter(|&at| bytes[at..at + 4] == [1, 0, 0, 0] && bytes[at + 4] & 1 != 0)
        .collect();
    assert!(!executable.is_empty());
    for at in executable {
        for field in [32, 40] {
            bytes[at + field..at + field + 8].copy_from_slice(&LENGTH.to_le_bytes());
        }
    }
    fs::write(&program, bytes).unwrap();
    let file = File::options().write(true).open(&program).unwrap();
    file.set_len(2 * LENGTH).unwrap();
    let (tables, _) = recording(&program, &build_id(&program), &["work"]);
    let table = from_files(&tables);
    let code = Code::read(&tables, &table, function(&table, "work"), Some(&program));
    assert_eq!(code.missing, Some(Missing::Code));
}
