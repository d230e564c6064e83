//! Reads a recorded OMPT event stream (`data/ompt-logs/README.md` describes the format).

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use experiment::ids::{FrameId, ModuleId, NameId, Nanos, ProcessId, StackId, ThreadId};
use experiment::state::Scheduling;
use experiment::tables::{Frame, Process, Stack, StackEntry, Tables, Thread, ThreadKind};
use flate2::read::GzDecoder;
use omp_model::stream::{Event, Instance, Lock, Mutex, Sync, TaskOf, What};

/// One line of a log, in the order of the file.
#[derive(Clone, Debug)]
pub(crate) enum Line {
    /// An event, as the input of the machine.
    Event(Event),
    /// The program enters (`true`) or leaves user work on this thread.
    User(ThreadId, bool),
    /// `B:name` or `E:name`, from the initial thread.
    Mark(String),
    /// A timer sample of this thread, at this time, with the code at the program counter.
    Sample(ThreadId, Nanos, String),
}

/// A log, translated.
pub(crate) struct Log {
    pub(crate) lines: Vec<Line>,
    pub(crate) tables: Tables,
    /// The time of the last line.
    pub(crate) end: Nanos,
}

/// The columns of a line.
struct Columns<'a> {
    event: &'a str,
    a: i64,
    b: i64,
    code: &'a str,
    id: u64,
}

impl Columns<'_> {
    fn begins(&self) -> bool {
        self.a == 1
    }

    fn code_number(&self) -> u64 {
        u64::from_str_radix(self.code.trim_start_matches("0x"), 16).expect("a number in `code`")
    }
}

/// Reads and translates `data/ompt-logs/<name>.tsv.gz`.
pub(crate) fn read(name: &str) -> Log {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/ompt-logs")
        .join(format!("{name}.tsv.gz"));
    let mut text = String::new();
    GzDecoder::new(File::open(path).expect("the log is there"))
        .read_to_string(&mut text)
        .expect("the log is a gzip file");
    let mut reader = Reader::default();
    for line in text.lines().skip(1) {
        reader.line(line);
    }
    Log {
        lines: reader.lines,
        tables: reader.tables,
        end: reader.time,
    }
}

#[derive(Default)]
struct Reader {
    lines: Vec<Line>,
    tables: Tables,
    time: Nanos,
    explicit: HashSet<u64>,
    addresses: HashMap<String, u64>,
}

impl Reader {
    fn line(&mut self, line: &str) {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |at: usize| fields[at].parse::<i64>().expect("a number");
        self.time = Nanos(fields[0].parse().expect("a time"));
        let thread = self.thread(number(1) as u32);
        let columns = Columns {
            event: fields[2],
            a: number(3),
            b: number(4),
            code: fields[6],
            id: fields[7].parse().expect("an id"),
        };
        let line = match columns.event {
            "USER" => Line::User(thread, columns.a == 1),
            "MARK" => Line::Mark(columns.code.to_owned()),
            "SAMPLE" => Line::Sample(thread, self.time, columns.code.to_owned()),
            _ => match self.event(&columns) {
                Some(what) => Line::Event(Event {
                    time: self.time,
                    thread,
                    what,
                }),
                None => return,
            },
        };
        self.lines.push(line);
    }

    /// The thread with this number, born at its first line.
    fn thread(&mut self, number: u32) -> ThreadId {
        if self.tables.processes.is_empty() {
            self.tables.processes.push(Process {
                pid: 1,
                parent: None,
                name: String::new(),
                executable: String::new(),
            });
        }
        while self.tables.threads.len() <= number as usize {
            let thread = ThreadId(self.tables.threads.len() as u32);
            self.tables.threads.push(Thread {
                process: ProcessId(0),
                tid: 1 + thread.0 as i32,
                name: NameId::NONE,
                birth: self.time,
                death: None,
                kind: ThreadKind::Outside,
            });
            self.lines.push(Line::Event(Event {
                time: self.time,
                thread,
                what: What::Birth(Scheduling::Running),
            }));
        }
        ThreadId(number)
    }

    fn call(&mut self, code: &str) -> FrameId {
        if code == "0x0" {
            return FrameId::NONE;
        }
        let next = 1 + self.addresses.len() as u64;
        let address = *self.addresses.entry(code.to_owned()).or_insert(next);
        self.tables.frame(Frame {
            module: ModuleId::NONE,
            address,
        })
    }

    fn site(&mut self, code: &str) -> StackId {
        match self.call(code) {
            FrameId::NONE => StackId::EMPTY,
            frame => self.tables.stack(Stack {
                callers: StackId::EMPTY,
                entry: StackEntry::Frame(frame),
            }),
        }
    }

    fn event(&mut self, line: &Columns<'_>) -> Option<What> {
        const LEAGUE: i64 = 0x4000_0000;
        let id = Instance(line.id);
        Some(match line.event {
            "thread_begin" => What::ThreadBegin(match line.a {
                1 => ThreadKind::Initial,
                2 => ThreadKind::Worker,
                _ => ThreadKind::Other,
            }),
            "thread_end" => What::ThreadEnd,
            "parallel_begin" => What::ParallelBegin {
                region: id,
                site: self.site(line.code).into(),
                teams: line.b & LEAGUE != 0 && line.b > 0,
            },
            "parallel_end" => What::ParallelEnd { region: id },
            "implicit_task" if line.begins() => What::ImplicitBegin {
                region: Instance(line.code_number()),
                size: (line.b >> 8 & 0xff) as u16,
                index: (line.b & 0xff) as u16,
            },
            "implicit_task" => What::ImplicitEnd {
                region: Instance(line.code_number()),
            },
            "sync_wait" => sync(line, self.call(line.code))?,
            "reduction" if line.begins() => What::ReductionBegin {
                call: self.call(line.code),
            },
            "reduction" => What::ReductionEnd,
            "mutex_acquire" => What::MutexAcquire {
                kind: mutex(line.b),
                lock: Lock(line.id),
                call: self.call(line.code),
            },
            "mutex_acquired" => What::MutexAcquired {
                kind: mutex(line.b),
                lock: Lock(line.id),
            },
            "mutex_rel" => What::MutexReleased {
                kind: mutex(line.b),
                lock: Lock(line.id),
            },
            "nest_lock" => What::MutexAsked,
            "task_create" => {
                self.explicit.insert(line.id);
                What::TaskCreate {
                    task: id,
                    site: self.site(line.code).into(),
                    of: TaskOf::Directive,
                }
            }
            "task_schedule" => {
                let next = line.code_number();
                // ompt_task_complete, _cancel, _detach: the prior task is not resumed.
                What::TaskSchedule {
                    next: if self.explicit.contains(&next) {
                        Instance(next)
                    } else {
                        Instance::NONE
                    },
                    prior_done: matches!(line.a, 1 | 3 | 4),
                }
            }
            _ => return None,
        })
    }
}

fn sync(line: &Columns<'_>, call: FrameId) -> Option<What> {
    let kind = match line.b {
        2 => Sync::BarrierImplicit,
        3 => Sync::BarrierExplicit,
        4 => Sync::BarrierImplementation,
        5 => Sync::TaskWait,
        6 => Sync::TaskGroup,
        8 => Sync::BarrierWorkshare,
        9 => Sync::BarrierParallel,
        10 => Sync::BarrierTeams,
        _ => return None,
    };
    Some(if line.begins() {
        What::SyncBegin {
            kind,
            region: Instance(line.id),
            call,
        }
    } else {
        What::SyncEnd { kind }
    })
}

fn mutex(kind: i64) -> Mutex {
    match kind {
        1 | 2 => Mutex::Lock,
        3 | 4 => Mutex::NestLock,
        5 => Mutex::Critical,
        6 => Mutex::Atomic,
        7 => Mutex::Ordered,
        kind => panic!("ompt_mutex_t {kind}"),
    }
}
