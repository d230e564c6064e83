//! Programs that measure themselves have the same results with libgomp interposed as alone.
#![allow(clippy::unwrap_used)]

mod support;

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use fixtures::{CATALOGUE, Compiler, Opt, Program, Run, Truth, WaitPolicy, build, compilers};
use omp_ring::consumer::{ArenaOptions, Consumer, Item};
use omp_ring::record::Kind;

/// Calls `f` while `consumer` is drained. Returns the kinds of the records.
fn draining<R>(consumer: &mut Consumer, f: impl FnOnce() -> R) -> (R, Vec<Kind>) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let kinds = scope.spawn(|| {
            let mut kinds = Vec::new();
            loop {
                let last = done.load(Ordering::Acquire);
                for view in consumer.slots().collect::<Vec<_>>() {
                    let drained = consumer.drain(view.index, usize::MAX, |item| {
                        if let Item::Record(record) = item {
                            kinds.push(record.kind().expect("a known kind"));
                        }
                    });
                    drained.expect("the ring makes sense");
                }
                if last {
                    return kinds;
                }
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        });
        let result = f();
        done.store(true, Ordering::Release);
        (result, kinds.join().unwrap())
    })
}

fn check(program: &'static Program, compiler: &Compiler, opt: Opt) {
    let name = format!("{} by {} {}", program.name, compiler.name, opt.flag());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixtures");
    let exe = build(program, compiler, opt, &folder).unwrap_or_else(|error| panic!("{error}"));
    let mut consumer = Consumer::create(&ArenaOptions::default()).unwrap();
    let path = consumer.path();
    let run = Run::new(program, &exe).policy(WaitPolicy::Passive);
    let preload = |mut command: Command| {
        command
            .env("LD_PRELOAD", support::library())
            .env(omp_ring::ARENA_VARIABLE, &path);
        command
    };
    if !program.measured {
        let (status, _) = draining(&mut consumer, || preload(run.command()).status().unwrap());
        assert!(run.ended_as_expected(status), "{name}: {status}");
        return;
    }
    let (truth, kinds) = draining(&mut consumer, || run.finish(preload(run.command())));
    let truth: Truth = truth.unwrap_or_else(|error| panic!("{name}: {error}"));
    let begun = kinds
        .iter()
        .filter(|kind| matches!(kind, Kind::ParallelBegin | Kind::TeamsBegin));
    let instances: u64 = truth.regions.iter().map(|region| region.instances).sum();
    assert!(
        begun.count() as u64 >= instances,
        "{name}: {instances} regions of which some were not recorded"
    );
    for kind in program.kinds {
        assert!(truth.total(kind).seconds > 0.0, "{name}: no {kind}");
    }
}

fn check_all(opt: Opt) {
    let gnu: Vec<Compiler> = compilers()
        .into_iter()
        .filter(|compiler| compiler.runtime == fixtures::Runtime::Libgomp)
        .collect();
    let all: Vec<(&Compiler, &'static Program)> = gnu
        .iter()
        .flat_map(|compiler| {
            let able = CATALOGUE.iter().filter(|it| compiler.builds(it));
            able.map(move |program| (compiler, program))
        })
        .collect();
    let checked = all.len();
    // Two at a time: nothing here depends on how long a program waits for a CPU.
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((compiler, program)) = all.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    check(program, compiler, opt);
                }
            });
        }
    });
    assert!(checked > 20, "{checked} programs");
}

#[test]
fn fixtures_run_as_alone() {
    check_all(Opt::O2);
}

#[test]
#[ignore = "a minute more, for what differs in the compiler's code only"]
fn fixtures_run_as_alone_without_optimisation() {
    check_all(Opt::O0);
}
