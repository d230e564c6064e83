//! Builds small OpenMP programs, runs them under `libcollector.so` and collects what they send.
#![allow(dead_code, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use omp_ring::consumer::{ArenaOptions, Consumer, SiteRef, SlotView};
use omp_ring::record::{
    JoinPayload, Kind, OriginPayload, Record, RegionPayload, SiteId, TaskPayload,
};

/// `ompt_sync_region_barrier_implicit_parallel`.
pub(crate) const JOIN_BARRIER: u8 = 9;

/// A record with its prefix applied.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) time: u64,
    pub(crate) kind: Kind,
    pub(crate) payload: u64,
    /// The ring that it lay in.
    pub(crate) slot: u32,
    pub(crate) site: Option<SiteId>,
    pub(crate) code: Option<u64>,
}

impl Event {
    pub(crate) fn region(&self) -> RegionPayload {
        RegionPayload::unpack(self.payload)
    }

    /// Of a record that makes an instance.
    pub(crate) fn origin(&self) -> OriginPayload {
        OriginPayload::unpack(self.payload, self.slot)
    }

    pub(crate) fn task(&self) -> TaskPayload {
        TaskPayload::unpack(self.payload)
    }
}

/// What one thread sent.
#[derive(Clone, Debug)]
pub(crate) struct ThreadLog {
    pub(crate) view: SlotView,
    pub(crate) events: Vec<Event>,
}

impl ThreadLog {
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        self.events.iter().map(|event| event.kind).collect()
    }

    /// Waits whose end is recorded, too: those of join barriers are not.
    pub(crate) fn waits(&self) -> usize {
        let ends = |event: &&Event| JoinPayload::unpack(event.payload).kind != JOIN_BARRIER;
        self.of(Kind::JoinWaitBegin).filter(ends).count() + self.of(Kind::SyncWaitBegin).count()
    }

    pub(crate) fn of(&self, kind: Kind) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(move |event| event.kind == kind)
    }

    /// The program's first thread, by its number.
    pub(crate) fn is_initial(&self) -> bool {
        self.view.pid == self.view.tid
    }
}

/// What a program sent and said.
pub(crate) struct Recording {
    pub(crate) consumer: Consumer,
    pub(crate) threads: Vec<ThreadLog>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) status: ExitStatus,
}

impl Recording {
    pub(crate) fn initial(&self) -> &ThreadLog {
        self.threads
            .iter()
            .find(|thread| thread.is_initial())
            .expect("the first thread recorded")
    }

    pub(crate) fn all(&self, kind: Kind) -> impl Iterator<Item = &Event> {
        self.threads.iter().flat_map(move |thread| thread.of(kind))
    }

    pub(crate) fn site(&self, event: &Event) -> SiteRef {
        let site = event
            .site
            .unwrap_or_else(|| panic!("no site with {event:?}"));
        self.consumer.site(site).expect("the site is in the arena")
    }

    /// The addresses that the program printed as `name=0x…`, by name.
    pub(crate) fn addresses(&self) -> BTreeMap<String, u64> {
        let parse = |word: &str| {
            let (name, value) = word.split_once("=0x")?;
            Some((name.to_owned(), u64::from_str_radix(value, 16).ok()?))
        };
        self.stdout.split_whitespace().filter_map(parse).collect()
    }
}

/// The library under test: built as a dependency of the tests, beside them.
pub(crate) fn library() -> PathBuf {
    let path = std::env::current_exe()
        .unwrap()
        .with_file_name("libcollector.so");
    assert!(path.exists(), "{} was not built", path.display());
    path
}

/// Compiles `source`, a file of `tests/programs`, with the first clang that can.
pub(crate) fn compile(source: &str, flags: &[&str]) -> PathBuf {
    let mut failures = String::new();
    for compiler in compilers() {
        match compile_by(&compiler, source, flags) {
            Ok(program) => return program,
            Err(message) => failures += &message,
        }
    }
    panic!(
        "no clang with OpenMP was found; `apt install clang libomp-dev` brings one.\n{failures}"
    );
}

/// Compiles `source`, a file of `tests/programs`, with GCC's compiler for its language.
pub(crate) fn compile_gnu(source: &str, flags: &[&str]) -> PathBuf {
    let compiler = match Path::new(source).extension().unwrap().to_str() {
        Some("f90") => "gfortran",
        Some("cpp") => "g++",
        _ => "gcc",
    };
    compile_by(compiler, source, flags).unwrap_or_else(|message| panic!("{message}"))
}

fn compile_by(compiler: &str, source: &str, flags: &[&str]) -> Result<PathBuf, String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let stem = Path::new(source).file_stem().unwrap().to_str().unwrap();
    let output = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("{stem}-{}-{count}", std::process::id()));
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(source);
    let result = Command::new(compiler)
        .args(["-O2", "-g", "-fopenmp", "-fomit-frame-pointer"])
        .arg(&source)
        .args(flags)
        .arg("-o")
        .arg(&output)
        .output();
    match result {
        Ok(done) if done.status.success() => Ok(output),
        Ok(done) => Err(String::from_utf8_lossy(&done.stderr).into_owned()),
        Err(error) => Err(format!("{compiler}: {error}\n")),
    }
}

fn compilers() -> Vec<String> {
    let versions = (14..=24).rev().map(|version| format!("clang-{version}"));
    std::iter::once("clang".to_owned())
        .chain(versions)
        .collect()
}

/// A command for `program` with the library as its tool.
pub(crate) fn command(program: &Path, consumer: &Consumer) -> Command {
    let mut command = Command::new(program);
    command
        .env("OMP_TOOL_LIBRARIES", library())
        .env(omp_ring::ARENA_VARIABLE, consumer.path())
        .env("OMP_WAIT_POLICY", "passive")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A command for `program` with the library preloaded.
pub(crate) fn preloaded(program: &Path, consumer: &Consumer) -> Command {
    let mut command = command(program, consumer);
    command
        .env_remove("OMP_TOOL_LIBRARIES")
        .env("OMP_DYNAMIC", "false")
        .env("LD_PRELOAD", library());
    command
}

/// As [`record`], with the library preloaded.
pub(crate) fn record_preloaded(program: &Path, env: &[(&str, &str)]) -> Recording {
    let consumer = Consumer::create(&ArenaOptions::default()).unwrap();
    let mut command = preloaded(program, &consumer);
    command.envs(env.iter().copied());
    let child = command.spawn().unwrap();
    record_child(consumer, child)
}

/// Runs `program` with the variables `env` until it ends, draining all the while.
pub(crate) fn record(program: &Path, env: &[(&str, &str)]) -> Recording {
    let consumer = Consumer::create(&ArenaOptions::default()).unwrap();
    let mut command = command(program, &consumer);
    command.envs(env.iter().copied());
    let child = command.spawn().unwrap();
    record_child(consumer, child)
}

/// As [`record`], for a program that was started.
pub(crate) fn record_child(consumer: Consumer, mut child: Child) -> Recording {
    let mut logs = BTreeMap::new();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        drain(&consumer, &mut logs);
        if start.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("the program hangs");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    drain(&consumer, &mut logs);
    let output = child.wait_with_output().unwrap();
    let threads = logs
        .into_values()
        .map(|(view, records)| ThreadLog {
            view,
            events: events(view.index, &records),
        })
        .collect();
    Recording {
        consumer,
        threads,
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        status: output.status,
    }
}

type Logs = BTreeMap<(u32, u32), (SlotView, Vec<Record>)>;

fn drain(consumer: &Consumer, logs: &mut Logs) {
    for view in consumer.slots().collect::<Vec<_>>() {
        let key = (view.generation, view.index);
        let (last, records) = logs.entry(key).or_insert((view, Vec::new()));
        *last = view;
        consumer.drain(view.index, usize::MAX, |record| records.push(record));
        // `view` was taken before the drain: closed then means that all of it is here.
        if view.closed {
            consumer.recycle(view.index);
        }
    }
}

fn events(slot: u32, records: &[Record]) -> Vec<Event> {
    let mut code = None;
    let mut events = Vec::new();
    let mut last = 0;
    for record in records {
        assert!(record.time() >= last, "a thread's time runs backwards");
        last = record.time();
        match record.kind().expect("a known kind") {
            Kind::Code => code = Some(record.payload),
            kind => events.push(Event {
                time: last,
                kind,
                payload: record.payload,
                slot,
                site: site_of(kind, record.payload),
                code: code.take(),
            }),
        }
    }
    events
}

fn site_of(kind: Kind, payload: u64) -> Option<SiteId> {
    let makes = matches!(
        kind,
        Kind::ParallelBegin | Kind::TeamsBegin | Kind::TaskCreate
    );
    let site = OriginPayload::unpack(payload, 0).site;
    (makes && site != SiteId::NONE).then_some(site)
}
