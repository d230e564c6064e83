//! Compiles programs, runs them with the library in place of the sanitizer's runtime, and reads what
//! they say.
#![allow(dead_code, reason = "each test uses a part")]

pub(crate) mod structure;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use race_stream::consumer::{Consumer, SlotState};
use race_stream::record::{Checks, Event, Record, Run};

/// One thread's records in its program order.
pub(crate) type Records = Vec<Record>;

/// What a program said.
pub(crate) struct Recording {
    pub(crate) threads: Vec<Records>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) status: ExitStatus,
}

impl Recording {
    /// The events of each thread.
    pub(crate) fn events(&self) -> Vec<Vec<Event>> {
        self.threads.iter().map(|it| events(it)).collect()
    }

    /// The events of all threads by number.
    pub(crate) fn in_order(&self) -> Vec<(usize, Event)> {
        let mut all = BTreeMap::new();
        for (thread, records) in self.threads.iter().enumerate() {
            for record in records {
                if let Record::Event(number, event) = record {
                    let before = all.insert(*number, (thread, *event));
                    assert_eq!(before, None, "two events have number {number}");
                }
            }
        }
        all.into_values().collect()
    }

    /// The program ended well, and printed nothing to complain of.
    pub(crate) fn check(&self) -> &Recording {
        let (out, err) = (&self.stdout, &self.stderr);
        assert!(self.status.success(), "{}\n{out}{err}", self.status);
        self
    }
}

/// The events among records.
pub(crate) fn events(records: &[Record]) -> Vec<Event> {
    let event = |record: &Record| match record {
        Record::Event(_, event) => Some(*event),
        _ => None,
    };
    records.iter().filter_map(event).collect()
}

/// The runs among records.
pub(crate) fn runs(records: &[Record]) -> impl Iterator<Item = &Run> {
    records.iter().filter_map(|record| match record {
        Record::Run(run) => Some(run),
        _ => None,
    })
}

/// The library under test: built as a dependency of the tests, beside them.
pub(crate) fn library() -> PathBuf {
    let path = std::env::current_exe()
        .unwrap()
        .with_file_name("libparallax_races.so");
    assert!(path.exists(), "{} was not built", path.display());
    path
}

/// A folder where the library has the name of GCC's sanitizer runtime.
fn as_sanitizer() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("sanitizer-{}-{count}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["libtsan.so.2", "libtsan.so.0"] {
        std::os::unix::fs::symlink(library(), folder.join(name)).unwrap();
    }
    folder
}

/// Compiles `source`, a file of `tests/programs` or another folder, with GCC's compiler for its
/// language, instrumented unless `flags` say otherwise.
pub(crate) fn compile(source: &str, flags: &[&str]) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(source);
    let compiler = match source.extension().unwrap().to_str() {
        Some("f90") => "gfortran",
        Some("cpp") => "g++",
        _ => "gcc",
    };
    let stem = source.file_stem().unwrap().to_str().unwrap();
    let output = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("{stem}-{}-{count}", std::process::id()));
    let done = Command::new(compiler)
        .args(["-O1", "-g", "-fsanitize=thread", "-fopenmp"])
        .arg(&source)
        .args(flags)
        .arg("-o")
        .arg(&output)
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .output()
        .unwrap_or_else(|error| panic!("{compiler}: {error}; `apt install g++ gfortran`"));
    let message = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{message}");
    output
}

/// A command for `program` with the library as its sanitizer runtime.
pub(crate) fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env("LD_LIBRARY_PATH", as_sanitizer())
        .env("LD_PRELOAD", library())
        .env("OMP_DYNAMIC", "false")
        .env("OMP_WAIT_POLICY", "passive")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs `program` and reads what it says.
pub(crate) fn record(program: &Path) -> Recording {
    let consumer = Consumer::create(Checks::RACE).unwrap();
    let mut command = command(program);
    let child = command
        .env(race_stream::VARIABLE, consumer.path())
        .spawn()
        .unwrap();
    record_child(&consumer, child)
}

/// Reads what a program says that was started with `consumer`.
pub(crate) fn record_child(consumer: &Consumer, mut child: Child) -> Recording {
    let out = read_all(child.stdout.take());
    let err = read_all(child.stderr.take());
    let _presence = consumer.stay().unwrap();
    let mut open = vec![(0, Vec::new()); consumer.slots()];
    let mut ended = Vec::new();
    let mut take = || {
        if consumer.is_waiting() {
            consumer.let_go_on();
        }
        for (slot, (thread, words)) in open.iter_mut().enumerate() {
            let (state, id) = consumer.state(slot);
            if state == SlotState::Free {
                continue;
            }
            *thread = id;
            consumer.take(slot, words);
            if state == SlotState::Ended {
                ended.push((*thread, std::mem::take(words)));
                consumer.release(slot);
            }
        }
    };
    let status = loop {
        take();
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    take();
    ended.extend(open.into_iter().filter(|(_, words)| !words.is_empty()));
    // The first thread has the process's id.
    ended.sort_by_key(|(thread, _)| *thread);
    assert_eq!(consumer.refused(), 0);
    Recording {
        threads: ended.iter().map(|(_, words)| parse(words)).collect(),
        stdout: out.join().unwrap(),
        stderr: err.join().unwrap(),
        status,
    }
}

/// Reads a pipe meanwhile, so that the program does not wait for room in it.
fn read_all(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = Vec::new();
        pipe.unwrap().read_to_end(&mut text).unwrap();
        String::from_utf8_lossy(&text).into_owned()
    })
}

fn parse(mut words: &[u64]) -> Records {
    let mut records = Vec::new();
    while let Some((record, length)) = Record::parse(words) {
        records.push(record);
        words = &words[length..];
    }
    assert_eq!(words, &[] as &[u64], "after {:?}", records.last());
    records
}
