//! Code without symbols: stripped programs seen through their call frame information and PLT.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

#[path = "../../tests/compile/mod.rs"]
mod compile;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use compile::{build, fresh_path};
use experiment::linkage::is_outlined;
use symbolize::{ElfFunction, Symbols};

fn output(name: &str, arguments: &[&str], path: &Path) -> String {
    let output = Command::new(name)
        .args(arguments)
        .arg(path)
        .output()
        .expect("the tool runs");
    assert!(output.status.success(), "{name} {arguments:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// The program, and the path of it without symbols.
fn stripped(program: &Path) -> PathBuf {
    let path = fresh_path("stripped");
    let to = path.to_str().expect("a plain path");
    output("strip", &["--strip-all", "-o", to], program);
    path
}

fn open(path: &Path) -> Symbols {
    Symbols::open_among(path, None, &symbolize::DebugFolders::default()).expect("symbols")
}

/// ElfFunction starts and sizes by the symbols of `whole` for which readelf prints an FDE.
fn covered(whole: &Path, section: &str) -> Vec<ElfFunction> {
    let text = output("readelf", &[section, "--wide"], whole);
    let starts: Vec<u64> = text
        .lines()
        .filter_map(|line| line.split_once("pc=")?.1.split_once(".."))
        .filter_map(|(start, _)| u64::from_str_radix(start, 16).ok())
        .collect();
    let symbols = open(whole);
    let covered = |function: &ElfFunction| starts.contains(&function.start) && function.size > 1;
    symbols.functions().filter(covered).collect()
}

fn nameless(function: &ElfFunction) -> ElfFunction {
    ElfFunction {
        name: String::new(),
        ..function.clone()
    }
}

#[test]
fn functions_of_a_stripped_program_have_the_bounds_of_their_symbols() {
    have_their_bounds(&[
        ("gcc", "-O2 -fopenmp"),
        ("gcc", "-O2 -fopenmp -no-pie"),
        ("clang", "-O2 -fopenmp"),
    ]);
}

#[test]
#[ignore = "needs clang 22 and its linker"]
fn functions_of_a_stripped_program_by_a_newer_clang_have_them_too() {
    have_their_bounds(&[
        ("clang-22", "-O2 -fopenmp"),
        ("clang-22", "-O2 -fopenmp -fuse-ld=lld"),
    ]);
}

/// Programs by compilers, each with its words.
fn have_their_bounds(programs: &[(&str, &str)]) {
    for (compiler, words) in programs {
        let whole = build(compiler, "regions.c", words);
        let path = stripped(&whole);
        let symbols = open(&path);
        let functions = covered(&whole, "--debug-dump=frames");
        let outlined = |f: &&ElfFunction| is_outlined(&f.name);
        let regions = functions.iter().filter(outlined).count();
        assert!(regions >= 2, "{compiler} {words}: {functions:?}");
        for function in &functions {
            for svma in [function.start, function.start + function.size - 1] {
                assert_eq!(symbols.function(svma), None, "{function:?}");
                assert_eq!(
                    symbols.code(svma),
                    Some(nameless(function)),
                    "{function:?} of {compiler} {words}"
                );
            }
        }
        assert_eq!(symbols.code(0), None);
        assert_eq!(symbols.code(u64::MAX), None);
        let named = open(&whole);
        let main = named.named("main").expect("main");
        assert_eq!(named.code(main.start), Some(main), "a symbol is preferred");
    }
}

#[test]
fn what_a_stripped_library_exports_keeps_its_name() {
    let whole = build("gcc", "regions.c", "-O2 -fopenmp -shared -fPIC");
    let path = stripped(&whole);
    let symbols = open(&path);
    let (named, unnamed): (Vec<_>, Vec<_>) = covered(&whole, "--debug-dump=frames")
        .into_iter()
        .partition(|function| !is_outlined(&function.name) && function.name != "helper");
    assert!(named.iter().any(|function| function.name == "simple"));
    assert!(!unnamed.is_empty());
    for function in named {
        assert_eq!(symbols.code(function.start + 1), Some(function));
    }
    for function in unnamed {
        assert_eq!(symbols.code(function.start + 1), Some(nameless(&function)));
    }
}

#[test]
fn code_without_eh_frame_is_bounded_by_debug_frame_even_in_a_debug_file() {
    let words = "-O2 -g -fopenmp -Wl,--build-id -fno-asynchronous-unwind-tables -fno-exceptions";
    let whole = build("gcc", "regions.c", words);
    let unnamed = fresh_path("unnamed");
    let to = unnamed.to_str().expect("a plain path");
    output("strip", &["--strip-symbol=simple", "-o", to], &whole);
    let simple = open(&whole).named("simple").expect("simple");
    assert_eq!(
        open(&unnamed).code(simple.start + 1),
        Some(nameless(&simple)),
        "in the file itself"
    );
    let app = stripped(&unnamed);
    assert_eq!(open(&app).code(simple.start + 1), None);
    let debug = app.with_extension("debug");
    let to = debug.to_str().expect("a plain path").to_owned();
    let copied = Command::new("objcopy")
        .arg("--only-keep-debug")
        .args([&unnamed, &debug])
        .status();
    assert!(copied.expect("objcopy runs").success());
    output("objcopy", &[&format!("--add-gnu-debuglink={to}")], &app);
    assert_eq!(
        open(&app).code(simple.start + 1),
        Some(nameless(&simple)),
        "in the debug file"
    );
}

/// The stubs of a file's PLT by objdump, which names them by their relocations too.
fn stubs(path: &Path) -> BTreeMap<u64, String> {
    let text = output(
        "objdump",
        &["-d", "-j.plt", "-j.plt.sec", "-j.plt.got"],
        path,
    );
    text.lines()
        .filter_map(|line| {
            let (svma, name) = line.strip_suffix(">:")?.split_once(" <")?;
            let svma = u64::from_str_radix(svma, 16).ok()?;
            let name = name.strip_suffix("@plt")?;
            let plain = name.split('@').next().unwrap_or(name);
            Some((svma, format!("{plain}@plt")))
        })
        .collect()
}

#[test]
fn stubs_of_the_plt_are_named_by_what_they_lead_to() {
    for words in [
        "-O2 -fopenmp -Wl,-z,lazy",
        "-O2 -fopenmp -Wl,-z,now",
        "-O2 -fopenmp -Wl,-z,lazy,-z,ibtplt -fcf-protection",
        "-O2 -fopenmp -Wl,-z,lazy -no-pie",
    ] {
        let whole = build("gcc", "regions.c", words);
        let listed = stubs(&whole);
        assert!(listed.values().any(|name| name == "GOMP_parallel@plt"));
        for file in [&stripped(&whole), &whole] {
            let symbols = open(file);
            for (&svma, name) in &listed {
                for svma in [svma, svma + 6] {
                    let found = symbols.code(svma).expect("a stub");
                    assert_eq!(found.name, *name, "{svma:#x} {words} {}", file.display());
                }
                assert_eq!(symbols.code(svma).map(|stub| stub.start), Some(svma));
            }
            let first = listed.keys().next().copied().expect("stubs");
            let into_loader = symbols.code(first - 16).expect("the first stub");
            assert_eq!((into_loader.start, into_loader.size), (first - 16, 16));
        }
    }
}
