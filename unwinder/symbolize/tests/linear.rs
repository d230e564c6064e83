//! What a library with more symbols costs more.
#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use experiment::ids::StackId;
use experiment::tables::{Frame, Module, RuntimeKind, Stack, StackEntry, Tables};
use symbolize::{Files, Symbols, find_jumps, resolve};

/// A library of that many functions and variables. `many` jumps to every tenth function, by its name, and
/// `hot` calls `many`.
fn library(folder: &tempfile::TempDir, count: usize) -> PathBuf {
    let name = |number: usize| format!("a_rather_long_name_as_cxx_makes_them_number_{number:06}");
    let mut text = ".text\n".to_owned();
    let mut function = |name: &str, code: &str| {
        writeln!(
            text,
            ".globl {name}\n.type {name},@function\n{name}: {code}\n.size {name},.-{name}"
        )
        .unwrap();
    };
    let mut many = String::new();
    for number in 0..count {
        function(&name(number), "lea 1(%rdi),%eax; ret");
        if number % 10 == 0 {
            many += &format!("cmp ${number},%esi; je {}@PLT; ", name(number));
        }
    }
    function("many", &(many + "ret"));
    function("hot", "sub $8,%rsp; call many@PLT; add $8,%rsp; ret");
    text += ".data\n";
    for number in 0..count {
        let name = format!("variable_{number}");
        writeln!(
            text,
            ".type {name},@object\n{name}: .quad 0\n.size {name},8"
        )
        .unwrap();
    }
    let source = folder.path().join("library.s");
    fs::write(&source, text).unwrap();
    let path = folder.path().join(format!("{count}.so"));
    let mut gcc = Command::new("gcc");
    let built = gcc
        .args(["-shared", "-nostdlib", "-o"])
        .arg(&path)
        .arg(&source);
    assert!(built.status().unwrap().success());
    path
}

/// The link-time address of a symbol, by nm(1).
fn address(path: &std::path::Path, symbol: &str) -> u64 {
    let listing = Command::new("nm").arg(path).output().unwrap();
    let listing = String::from_utf8(listing.stdout).unwrap();
    let ends = |line: &&str| line.ends_with(&format!(" {symbol}"));
    let line = listing.lines().find(ends).unwrap();
    u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap()
}

/// The least time that `work` takes of several tries.
fn least(mut work: impl FnMut()) -> Duration {
    let time = |_| {
        let begin = Instant::now();
        work();
        begin.elapsed()
    };
    (0..5).map(time).min().unwrap()
}

/// A stack of `hot` and a function to which `many` jumps, and a frame in each tenth function.
fn tables(path: &std::path::Path) -> Tables {
    let symbols = Symbols::open(path, None).unwrap();
    let mut tables = Tables::default();
    let module = tables.module(Module {
        path: path.to_str().unwrap().to_owned(),
        build_id: symbols
            .build_id()
            .map_or_else(String::new, ToString::to_string),
        runtime: RuntimeKind::None,
    });
    let hot = symbols.named("hot").unwrap().start;
    let first = symbols
        .named("a_rather_long_name_as_cxx_makes_them_number_000000")
        .unwrap()
        .start;
    let mut callers = StackId::EMPTY;
    // The call has nine bytes before its end.
    for address in [hot + 8, first] {
        let frame = tables.frame(Frame { module, address });
        let entry = StackEntry::Frame(frame);
        callers = tables.stack(Stack { callers, entry });
    }
    for function in symbols.functions().step_by(10) {
        tables.frame(Frame {
            module,
            address: function.start,
        });
    }
    tables
}

#[test]
fn names_and_jumps_take_time_in_proportion_to_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let [small, large] = [5_000, 20_000].map(|count| {
        let path = library(&folder, count);
        let tables = tables(&path);
        let symbols = Symbols::open(&path, None).unwrap();
        let names: Vec<String> = symbols.functions().map(|it| it.name).collect();
        let data = address(&path, "variable_0");
        let lookups = least(|| {
            let symbols = Symbols::open(&path, None).unwrap();
            for name in &names {
                assert!(symbols.named(name).is_some());
            }
            for number in 0..count as u64 {
                assert!(symbols.data(data + 8 * number).is_some());
            }
        });
        let naming = least(|| {
            let mut tables = tables.clone();
            let mut files = Files::default();
            find_jumps(&mut tables, &mut files);
            let table = resolve(&tables, &mut files);
            assert_eq!(table.misses, []);
        });
        [lookups, naming]
    });
    // Of four times as much. Quadratic is 16.
    for (small, large) in small.into_iter().zip(large) {
        let growth = large.as_secs_f64() / small.as_secs_f64();
        assert!(growth < 9.0, "{growth:.1}: {small:?}, {large:?}");
    }
}
