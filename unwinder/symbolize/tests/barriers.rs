//! Explicit and implicit barriers in a program by gcc at -O2, with its source and without.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::Command;

use experiment::ids::{ContextId, FrameId, ModuleId};
use experiment::state::State;
use experiment::symbols::Barrier;
use experiment::tables::{Frame, Module, RuntimeKind, Tables, ThreadState};
use symbolize::{Files, KernelFunction, SymbolSource, Symbols, resolve};

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

/// The files of this machine, but for sources: all have this text, or none is found.
struct WithSource(Option<&'static str>);

impl SymbolSource for WithSource {
    fn symbols(&mut self, module: &Module) -> Result<Symbols, String> {
        Files::default().symbols(module)
    }

    fn kernel(&mut self, _: &[u64]) -> Result<Vec<Option<KernelFunction>>, String> {
        unreachable!("no frame is of the kernel")
    }

    fn source(&mut self, _: &str) -> Option<Vec<u8>> {
        self.0.map(|text| text.as_bytes().to_vec())
    }
}

/// What the barriers at `calls` in a load object of that kind are, each with the line of its call.
fn resolved(
    program: &std::path::Path,
    calls: &[u64],
    runtime: RuntimeKind,
    source: Option<&'static str>,
) -> Vec<(Option<u32>, Barrier)> {
    let mut tables = Tables::default();
    let path = program.to_string_lossy().into_owned();
    let symbols = Symbols::open(program, None).unwrap();
    let build_id = symbols.build_id();
    let build_id = build_id.map_or_else(String::new, ToString::to_string);
    let module = Module {
        path,
        build_id,
        runtime,
    };
    let module = ModuleId(tables.modules.intern(module));
    for &address in calls {
        let place = FrameId(tables.frames.intern(Frame { module, address }));
        let (state, context) = (State::Barrier, ContextId::ROOT);
        tables.thread_states.intern(ThreadState {
            state,
            context,
            call: place,
        });
    }
    let symbols = resolve(&tables, &mut WithSource(source));
    let line = |frame| Some(symbols.frame(frame).lines.first()?.source.line);
    let barriers = symbols.barriers.iter();
    barriers.map(|&(call, kind)| (line(call), kind)).collect()
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
        calls(&program)
    };
    let calls = build("-g");
    let with = resolved(&program, &calls, RuntimeKind::None, Some(SOURCE));
    let without = resolved(&program, &calls, RuntimeKind::None, None);
    assert_eq!(with.len(), calls.len());
    for line in [9, 11] {
        assert!(with.contains(&(Some(line), Barrier::Explicit)));
        assert!(without.contains(&(Some(line), Barrier::Explicit)));
    }
    // The end of the `single` has the line of the barrier before it; without the source the two
    // are one statement.
    let of_13 = |found: &[(Option<u32>, Barrier)]| -> Vec<Barrier> {
        let here = found.iter().filter(|row| row.0 == Some(13));
        here.map(|row| row.1).collect()
    };
    let (first, others) = (of_13(&with)[0], of_13(&with)[1..].to_vec());
    assert_eq!(first, Barrier::Explicit);
    assert!(others.iter().all(|kind| *kind == Barrier::Implicit));
    assert!(
        of_13(&without)
            .iter()
            .all(|kind| *kind == Barrier::Implicit)
    );

    // A jump leaves the call in our own library, whose lines would make it a directive's.
    let elsewhere = resolved(&program, &calls, RuntimeKind::Collector, Some(SOURCE));
    assert!(elsewhere.iter().all(|row| row.1 == Barrier::Unknown));

    let calls = build("-g0");
    assert!(!calls.is_empty());
    let unknown = vec![(None, Barrier::Unknown); calls.len()];
    assert_eq!(resolved(&program, &calls, RuntimeKind::None, None), unknown);
}
