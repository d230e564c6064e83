//! Explicit and implicit barriers in a program by gcc at -O2, with its source and without.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::Command;

use omp_model::barriers::{Barrier, decide};
use omp_model::ids::{ContextId, FrameId, ModuleId};
use omp_model::state::State;
use omp_model::symbolize::{Files, resolve};
use omp_model::tables::{Frame, Module, RuntimeKind, Tables, Tag};
use unwinder::Symbols;

const SOURCE: &str = r#"#define SYNC _Pragma("omp barrier")
extern void work(int);
void work(int i) { __asm__ volatile("" :: "r"(i)); }
int main(int n, char **v)
{
    #pragma omp parallel
    {
        work(7);
        #pragma omp barrier
        work(9);
        SYNC
        work(11);
        #pragma omp barrier
        #pragma omp single
        work(14);
        work(15);
    }
    return 0;
}
"#;

/// Link-time addresses of the last bytes of the calls of `GOMP_barrier`, by objdump(1).
fn calls(program: &std::path::Path) -> Vec<u64> {
    let listing = Command::new("objdump").arg("-d").arg(program).output();
    let listing = String::from_utf8(listing.unwrap().stdout).unwrap();
    let calls = listing.lines().filter_map(|line| {
        let (address, rest) = line.trim().split_once(":\t")?;
        let (bytes, _) = rest.split_once('\t')?;
        let length = bytes.split_whitespace().count() as u64;
        let start = u64::from_str_radix(address, 16).ok()?;
        let call = rest.contains("call") && rest.contains("<GOMP_barrier@plt>");
        call.then_some(start + length - 1)
    });
    calls.collect()
}

/// The decisions of a recording with barriers at `calls` in a load object of that kind.
fn recorded(program: &std::path::Path, calls: &[u64], runtime: RuntimeKind) -> Vec<Barrier> {
    let mut tables = Tables::default();
    let path = program.to_string_lossy().into_owned();
    let build_id = String::new();
    let module = Module {
        path,
        build_id,
        runtime,
    };
    let module = ModuleId(tables.modules.intern(module));
    for &address in calls {
        let place = FrameId(tables.frames.intern(Frame { module, address }));
        let (state, context) = (State::Barrier, ContextId::ROOT);
        tables.tags.intern(Tag {
            state,
            context,
            place,
        });
    }
    let symbols = resolve(&tables, &mut Files::default());
    symbols.barriers.iter().map(|row| row.1).collect()
}

#[test]
fn barriers_of_gcc_are_told_by_their_lines() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("b.c"), SOURCE).unwrap();
    let program = folder.join("program");
    let build = |debug: &str| {
        let built = Command::new("gcc")
            .args(["-O2", "-fopenmp", debug, "-o"])
            .arg(&program)
            .arg(folder.join("b.c"))
            .status();
        assert!(built.unwrap().success());
        let symbols = Symbols::open(&program, None).unwrap();
        (symbols, calls(&program))
    };
    let (symbols, calls) = build("-g");
    let lines = |at: &u64| symbols.lines(*at).first().and_then(|place| place.line);
    let found: Vec<_> = calls
        .iter()
        .map(|at| {
            let with = decide(&symbols, *at, |_| Some(SOURCE.to_owned()));
            (lines(at), with, decide(&symbols, *at, |_| None))
        })
        .collect();
    assert!(found.contains(&(Some(9), Barrier::Explicit, Barrier::Explicit)));
    assert!(found.contains(&(Some(11), Barrier::Explicit, Barrier::Explicit)));
    // The end of the `single` has the line of the barrier before it; without the source the two
    // are one statement.
    let of_13: Vec<_> = found.iter().filter(|row| row.0 == Some(13)).collect();
    assert_eq!(of_13[0].1, Barrier::Explicit);
    assert!(of_13[1..].iter().all(|row| row.1 == Barrier::Implicit));
    assert!(of_13.iter().all(|row| row.2 == Barrier::Implicit));

    // A jump leaves the call in our own library, whose lines would make it a directive's.
    let here = recorded(&program, &calls, RuntimeKind::None);
    assert!(here.contains(&Barrier::Explicit));
    let elsewhere = recorded(&program, &calls, RuntimeKind::Collector);
    assert_eq!(elsewhere, vec![Barrier::Unknown; calls.len()]);

    let (symbols, calls) = build("-g0");
    assert!(!calls.is_empty());
    let decided = calls.iter().map(|at| decide(&symbols, *at, |_| None));
    assert!(
        decided
            .into_iter()
            .all(|barrier| barrier == Barrier::Unknown)
    );
}
