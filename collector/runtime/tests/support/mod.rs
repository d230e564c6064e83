//! Builds small OpenMP programs, runs them under `libcollector.so` and reads their records.
#![allow(dead_code, clippy::unwrap_used)]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use omp_ring::consumer::{ArenaOptions, Consumer, Item, SlotView};
use omp_ring::context::Context;
use omp_ring::record::{
    CallingContextId, InstanceId, JoinPayload, Kind, OriginPayload, Record, RegionPayload,
    ShortPayload, TaskPayload,
};
use unwinder::{AddressSpace, Ending, ImageCache, Regs, StackBytes, StackMemory, UnwindCache};

/// `ompt_sync_region_barrier_implicit_parallel`.
pub(crate) const JOIN_BARRIER: u8 = 9;

/// A record with its prefix applied.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) time: u64,
    pub(crate) kind: Kind,
    pub(crate) payload: u64,
    /// The slot of its ring.
    pub(crate) slot: u32,
    pub(crate) context: Option<CallingContextId>,
    pub(crate) code: Option<u64>,
}

impl Event {
    pub(crate) fn region(&self) -> RegionPayload {
        RegionPayload::unpack(self.payload)
    }

    /// The calling context, if the record creates an instance with one.
    pub(crate) fn origin(&self) -> OriginPayload {
        OriginPayload::unpack(self.payload)
    }

    /// The instance that the event creates.
    pub(crate) fn instance(&self) -> InstanceId {
        self.origin().instance(self.slot)
    }

    pub(crate) fn task(&self) -> TaskPayload {
        TaskPayload::unpack(self.payload)
    }
}

/// The records of one thread.
#[derive(Clone, Debug)]
pub(crate) struct ThreadLog {
    pub(crate) view: SlotView,
    pub(crate) events: Vec<Event>,
    /// The calling contexts that it sent, by id.
    pub(crate) contexts: BTreeMap<u32, Context>,
}

/// A calling context, unwound.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// The process whose addresses these are.
    pub(crate) pid: i32,
    /// The return address of the call into the runtime.
    pub(crate) code: u64,
    /// The outlined function that the call passed to the runtime; 0: unknown.
    pub(crate) body: u64,
    /// Return addresses from the call outward, leaf first. Those of a task end at the first one that is
    /// not the program's.
    pub(crate) frames: Vec<u64>,
    /// The stack is complete.
    pub(crate) complete: bool,
}

impl ThreadLog {
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        self.events.iter().map(|event| event.kind).collect()
    }

    /// Waits whose end is recorded, which excludes join barriers.
    pub(crate) fn waits(&self) -> usize {
        let ends = |event: &&Event| JoinPayload::unpack(event.payload).kind != JOIN_BARRIER;
        self.of(Kind::JoinWaitBegin).filter(ends).count() + self.of(Kind::SyncWaitBegin).count()
    }

    pub(crate) fn of(&self, kind: Kind) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(move |event| event.kind == kind)
    }

    /// The program's initial thread, by its id.
    pub(crate) fn is_initial(&self) -> bool {
        self.view.pid == self.view.tid
    }
}

/// The records and the output of a program.
pub(crate) struct Recording {
    pub(crate) consumer: Consumer,
    pub(crate) threads: Vec<ThreadLog>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) status: ExitStatus,
    programs: BTreeMap<i32, Program>,
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

    pub(crate) fn site(&self, event: &Event) -> Site {
        let name = event
            .context
            .unwrap_or_else(|| panic!("no context with {event:?}"));
        let has = |thread: &&ThreadLog| thread.events.iter().any(|it| std::ptr::eq(it, event));
        let thread = self.threads.iter().find(has).expect("an event of ours");
        let context = &thread.contexts[&name.0];
        let pid = thread.view.pid;
        // The mappings of a fork's child that has ended already are those of its parent.
        let own = self.programs.get(&pid).filter(|own| !own.maps.is_empty());
        let program = own.or_else(|| self.programs.values().next());
        program.expect("it was looked at").unwind(pid, context)
    }

    /// Number of contexts to which events refer, and number of different stacks among them. A word
    /// that points into code and is no return address can give one stack two contexts.
    pub(crate) fn contexts<'a>(&self, events: impl Iterator<Item = &'a Event>) -> (usize, usize) {
        let events: Vec<&Event> = events.collect();
        let names: BTreeSet<_> = events
            .iter()
            .map(|it| (it.slot, it.context.unwrap().0))
            .collect();
        let stacks: BTreeSet<_> = events.iter().map(|it| self.site(it).frames).collect();
        (names.len(), stacks.len())
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
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let result = Command::new(compiler)
        .args(["-O2", "-g", "-fopenmp", "-fomit-frame-pointer"])
        .args([programs.join(source), programs.join("linger.c")])
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
        .stdin(Stdio::piped())
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

/// An arena in which each wait is a record, however short.
pub(crate) fn every_wait() -> ArenaOptions {
    ArenaOptions {
        short_ns: 0,
        python: true,
        ..ArenaOptions::default()
    }
}

/// As [`record`], with the library preloaded.
pub(crate) fn record_preloaded(program: &Path, env: &[(&str, &str)]) -> Recording {
    let consumer = Consumer::create(&every_wait()).unwrap();
    let mut command = preloaded(program, &consumer);
    command.envs(env.iter().copied());
    let child = command.spawn().unwrap();
    record_child(consumer, child)
}

/// Records the program `short.c` as `collect` does, by the command that `command` makes of it, and
/// checks that what is short is summed, and what is long is recorded.
pub(crate) fn check_sums(program: &Path, command: impl Fn(&Path, &Consumer) -> Command) {
    const OFTEN: u64 = 2 * 200_000;
    let consumer = Consumer::create(&ArenaOptions::default()).unwrap();
    let child = command(program, &consumer).spawn().unwrap();
    let recording = record_child(consumer, child);
    assert!(recording.status.success(), "{}", recording.stderr);
    let sums = recording.all(Kind::Short);
    let summed: u64 = sums
        .map(|sum| u64::from(ShortPayload::unpack(sum.payload).count))
        .sum();
    let acquired: Vec<_> = recording.all(Kind::MutexAcquire).collect();
    // A thread that is interrupted is long. What was summed last is not pushed if it did not wait.
    assert!(acquired.len() < 4000, "{} records", acquired.len());
    assert!((OFTEN * 8 / 10..=OFTEN + 2).contains(&summed), "{summed}");
    assert!(acquired.iter().all(|event| event.code.is_some()));
    for thread in &recording.threads {
        assert_eq!(thread.view.dropped, 0);
        let times: Vec<u64> = thread.events.iter().map(|event| event.time).collect();
        assert!(times.is_sorted(), "records are pushed in order");
        // The long hold, or the wait and the hold.
        let last = thread.of(Kind::MutexReleased).last();
        assert!(last.is_some(), "a long hold is recorded");
    }
}

/// Runs `program` with the variables `env` until it ends, and drains its rings meanwhile.
pub(crate) fn record(program: &Path, env: &[(&str, &str)]) -> Recording {
    let consumer = Consumer::create(&every_wait()).unwrap();
    let mut command = command(program, &consumer);
    command.envs(env.iter().copied());
    let child = command.spawn().unwrap();
    record_child(consumer, child)
}

/// As [`record`], for a program that was started.
pub(crate) fn record_child(consumer: Consumer, mut child: Child) -> Recording {
    let mut consumer = consumer;
    let mut logs = Logs::default();
    let start = Instant::now();
    let mut input = child.stdin.take();
    // The start may take long.
    let mut idle_from = start + START;
    while child.try_wait().unwrap().is_none() {
        if drain(&mut consumer, &mut logs) > 0 {
            idle_from = Instant::now() + IDLE;
        }
        if Instant::now() > idle_from {
            // It is about to end, and its mappings are known.
            drop(input.take());
        }
        if start.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("the program hangs");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    drain(&mut consumer, &mut logs);
    let output = child.wait_with_output().unwrap();
    let threads = logs
        .threads
        .into_values()
        .map(|log| ThreadLog {
            view: log.view,
            events: events(log.view.index, &log.records),
            contexts: log.contexts,
        })
        .collect();
    Recording {
        consumer,
        threads,
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        status: output.status,
        programs: logs.programs,
    }
}

#[derive(Default)]
struct Logs {
    threads: BTreeMap<(u32, u32), Log>,
    programs: BTreeMap<i32, Program>,
}

struct Log {
    view: SlotView,
    records: Vec<Record>,
    contexts: BTreeMap<u32, Context>,
}

/// How long a program records nothing before it may end.
const IDLE: Duration = Duration::from_millis(50);
/// How long before its first record.
const START: Duration = Duration::from_secs(1);

/// Returns the number of records.
fn drain(consumer: &mut Consumer, logs: &mut Logs) -> usize {
    let mut all = 0;
    for view in consumer.slots().collect::<Vec<_>>() {
        let key = (view.generation, view.index);
        let log = logs.threads.entry(key).or_insert(Log {
            view,
            records: Vec::new(),
            contexts: BTreeMap::new(),
        });
        log.view = view;
        let drained = consumer.drain(view.index, usize::MAX, |item| match item {
            Item::Record(record) => log.records.push(record),
            Item::Context(name, context) => {
                log.contexts.insert(name.0, *context);
            }
        });
        let count = drained.unwrap();
        all += count;
        if count > 0 && !log.contexts.is_empty() {
            let program = logs.programs.entry(view.pid).or_default();
            program.look(view.pid);
        }
        // `view` was read before the drain. If it was closed then, all records are here.
        if view.closed {
            consumer.recycle(view.index);
        }
    }
    all
}

/// The load objects of a process.
#[derive(Default)]
struct Program {
    maps: String,
    space: AddressSpace,
    /// The addresses of objects that are not the program's own: the runtime and our library.
    inner: Vec<std::ops::Range<u64>>,
    cache: RefCell<UnwindCache>,
}

struct Sent<'a>(&'a Context);

impl StackMemory for Sent<'_> {
    fn read(&self, address: u64) -> Option<u64> {
        self.0.read(address)
    }
}

impl Program {
    /// Reads the mappings, if the process lives and they have changed.
    fn look(&mut self, pid: i32) {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        // If the process ends meanwhile, the list may be incomplete.
        if !maps.contains("[stack]") || maps == self.maps {
            return;
        }
        let mut images = ImageCache::new();
        self.space.clear();
        self.inner.clear();
        for line in maps.lines() {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let [range, access, offset, _, _, path] = words[..] else {
                continue;
            };
            if !access.contains('x') || !path.starts_with('/') {
                continue;
            }
            let hex = |word| u64::from_str_radix(word, 16).unwrap();
            let (start, end) = range.split_once('-').unwrap();
            let (start, end) = (hex(start), hex(end));
            let image = images.get(Path::new(path), None).ok();
            self.space
                .map(start, end - start, hex(offset), image, Path::new(path));
            let name = path.rsplit('/').next().unwrap();
            if ["libcollector", "libomp", "libgomp", "libiomp"]
                .iter()
                .any(|inner| name.starts_with(inner))
            {
                self.inner.push(start..end);
            }
        }
        self.maps = maps;
    }

    fn unwind(&self, pid: i32, context: &Context) -> Site {
        let head = context.head;
        let regs = Regs::new(head.registers.ip, head.registers.sp, head.registers.bp);
        let sent = Sent(context);
        let bytes = StackBytes {
            sp: regs.sp(),
            bytes: &[],
            beyond: Some(&sent),
        };
        let mut frames = Vec::new();
        let mut cache = self.cache.borrow_mut();
        let ending = self.space.unwind(&mut cache, &regs, &bytes, &mut frames);
        let is_inner = |frame: &u64| self.inner.iter().any(|range| range.contains(frame));
        let call = frames.iter().position(|frame| *frame == head.code);
        let first = call.or_else(|| frames.iter().position(|frame| !is_inner(frame)));
        frames.drain(..first.unwrap_or(frames.len()));
        let mut complete = ending == Ending::Complete;
        if head.in_task {
            let program = frames
                .iter()
                .position(|frame| !is_inner(frame))
                .unwrap_or(0);
            let end = frames.iter().skip(program).position(is_inner);
            if let Some(end) = end {
                frames.truncate(program + end + 1);
                complete = true;
            }
        }
        Site {
            pid,
            code: head.code,
            body: head.body,
            frames,
            complete,
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
                context: context_of(kind, record.payload),
                code: code.take(),
            }),
        }
    }
    events
}

fn context_of(kind: Kind, payload: u64) -> Option<CallingContextId> {
    let makes = matches!(
        kind,
        Kind::ParallelBegin | Kind::TeamsBegin | Kind::TaskCreate
    );
    let context = OriginPayload::unpack(payload).context;
    (makes && context != CallingContextId::NONE).then_some(context)
}
