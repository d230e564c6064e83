use experiment::ids::{
    ContextId, FrameId, NameId, Nanos, ProcessId, StackId, ThreadId, ThreadStateId,
};
use experiment::rows::{Interval, Sample, SampleKind, Within};
use experiment::state::Scheduling;
use experiment::symbols::{Function, FunctionId, SymbolTable};
use experiment::tables::{Context, ContextKind, Interner, Process, Tables, Thread, ThreadKind};

use super::*;
use crate::metrics::{CounterName, Metric};
use crate::profile::{Callee, DisplayFrame, Item, Path, PathId, Profile, ViewMode};
use crate::states::{Pseudo, RefinedState};
use crate::views::names::{NameStyle, Names};

/// Two threads: `main > foo > bar` works on both, one waits asleep in a barrier.
struct TestData {
    tables: Tables,
    symbols: SymbolTable,
    profile: Profile,
    samples: Vec<Sample>,
    intervals: Vec<Interval>,
}

const WAITING: ThreadStateId = ThreadStateId(7);

impl TestData {
    fn new() -> TestData {
        let mut tables = Tables::default();
        tables.processes.push(Process {
            pid: 100,
            parent: None,
            name: "app".to_owned(),
            executable: "/app".to_owned(),
        });
        for tid in [100, 101] {
            tables.threads.push(Thread {
                process: ProcessId(0),
                tid,
                name: NameId::NONE,
                birth: Nanos(0),
                death: None,
                kind: ThreadKind::Initial,
            });
        }
        let functions = ["main", "foo(int)", "bar"];
        let symbols = SymbolTable {
            functions: functions
                .iter()
                .map(|name| Function {
                    module: experiment::ids::ModuleId(2),
                    address: 0,
                    size: 0,
                    linkage: format!("_Z{name}"),
                    name: (*name).to_owned(),
                    source: None,
                    outlined: None,
                })
                .collect(),
            ..SymbolTable::default()
        };
        let root = Path {
            callers: PathId::EMPTY,
            frame: DisplayFrame {
                callee: Callee::Pseudo(Pseudo::Unknown),
                frame: FrameId::NONE,
                kind: crate::profile::FrameKind::Called,
            },
        };
        let mut test = TestData {
            tables,
            symbols,
            profile: Profile {
                mode: ViewMode::User,
                paths: Interner::with([root]),
                items: Vec::new(),
            },
            samples: Vec::new(),
            intervals: Vec::new(),
        };
        // Second 0: thread 1 works for 0.8 s in bar, with four samples on CPUs 0, 0, 0, 1.
        let bar = test.path(&[0, 1, 2]);
        test.item(bar, 0, RefinedState::Work, Scheduling::Running, (0.8, 0));
        for (at, cpu) in [(100, 0), (300, 0), (600, 0), (900, 1)] {
            test.samples.push(Sample {
                time: Nanos(at * 1_000_000),
                thread: ThreadId(0),
                cpu,
                kind: SampleKind::User,
                stack: StackId(5),
                thread_state: ThreadStateId(0),
                within: Within::default(),
            });
        }
        // Thread 2 sleeps in the barrier from 0.2 s to 1.4 s.
        let foo = test.path(&[0, 1]);
        test.item(
            foo,
            1,
            RefinedState::ImplicitBarrier,
            Scheduling::Blocked,
            (0.8, 0),
        );
        test.item(
            foo,
            1,
            RefinedState::ImplicitBarrier,
            Scheduling::Blocked,
            (0.4, 1),
        );
        test.intervals.push(Interval {
            thread: ThreadId(1),
            start: Nanos(200_000_000),
            length: Nanos(1_200_000_000),
            thread_state: WAITING,
            scheduling: Scheduling::Blocked,
            within: Within::default(),
        });
        // Then it works in main, without a sample.
        let main = test.path(&[0]);
        test.item(main, 1, RefinedState::Work, Scheduling::Running, (0.2, 1));
        test
    }

    fn path(&mut self, functions: &[u32]) -> PathId {
        functions.iter().fold(PathId::EMPTY, |callers, &id| {
            let frame = DisplayFrame {
                callee: Callee::Function(FunctionId(id)),
                frame: FrameId::NONE,
                kind: crate::profile::FrameKind::Called,
            };
            PathId(self.profile.paths.intern(Path { callers, frame }))
        })
    }

    fn item(
        &mut self,
        path: PathId,
        thread: u32,
        state: RefinedState,
        scheduling: Scheduling,
        (seconds, slice): (f64, u32),
    ) {
        let waits = scheduling == Scheduling::Blocked;
        self.profile.items.push(Item {
            path,
            thread: ThreadId(thread),
            slice,
            thread_state: if waits { WAITING } else { ThreadStateId(0) },
            context: ContextId::ROOT,
            stack: StackId(5),
            state,
            scheduling,
            kernel: false,
            inferred: waits || thread == 1,
            seconds,
            blame: 0.0,
            samples: u32::from(thread == 0) * 4,
            counter: None,
            events: 0.0,
        });
    }

    fn names(&self) -> Names<'_> {
        Names {
            tables: &self.tables,
            symbols: &self.symbols,
            style: NameStyle::default(),
        }
    }

    fn source<'a>(&'a self, names: &'a Names<'a>) -> Source<'a> {
        Source {
            names,
            intervals: &self.intervals,
            experiments: &[],
            recordings: &[],
            marks: Box::leak(Box::default()),
        }
    }

    fn kept(&self, text: &str) -> Filtered {
        let names = self.names();
        let source = self.source(&names);
        let filter = Filter::parse(text).unwrap();
        apply(
            &filter,
            &self.profile,
            &source,
            self.samples.iter().map(|sample| (None, *sample)),
        )
    }

    fn seconds(&self, text: &str) -> f64 {
        let kept = self.kept(text);
        kept.profile.items.iter().map(|item| item.seconds).sum()
    }
}

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() < 1e-9
}

#[test]
fn words_that_decide_an_item_as_a_whole_are_exact() {
    let test = TestData::new();
    for (filter, seconds) in [
        ("1", 2.2),
        ("0", 0.0),
        ("THRID==1", 0.8),
        ("thrid == 2", 1.4),
        ("LWPID==101", 1.4),
        ("PID==100 && EXPID==1", 2.2),
        ("THRID IN (2, 4-9)", 1.4),
        ("THRID IN (1..2)", 2.2),
        ("MSTATE==BLOCKED", 1.2),
        ("OMPSTATE==OMPIBAR", 1.2),
        ("OMPSTATE != \"ompibar\"", 1.0),
        ("\"work\" == OMPSTATE", 1.0),
        ("LEAF==\"bar\"", 0.8),
        ("LEAF != \"bar\"", 1.4),
        ("LEAF IN (\"bar\", \"main\")", 1.0),
        ("\"foo\" IN STACK", 2.0),
        ("\"_Zfoo(int)\" IN STACK", 2.0),
        ("\"f*)\" IN STACK", 2.0),
        ("(\"foo\", \"bar\") IN STACK", 0.8),
        ("(\"bar\", \"baz\") SOME IN STACK", 0.8),
        ("(\"main\", \"bar\") ORDERED IN STACK", 0.8),
        ("(\"bar\", \"main\") ORDERED IN STACK", 0.0),
        ("(\"foo\" IN STACK) && !(\"bar\" IN STACK)", 1.2),
        ("THRID*2+1 == 5 && THRID%2==0 || 0", 1.4),
        ("1/0", 0.0),
        (
            "-1 < 0 && ~0 == -1 && (6&3)==2 && (6|1)==7 && (6^2)==4 && 1<<3==8",
            2.2,
        ),
    ] {
        let kept = test.kept(filter);
        let sum: f64 = kept.profile.items.iter().map(|item| item.seconds).sum();
        assert!(close(sum, seconds), "{filter}: {sum}");
        assert_eq!(kept.estimated, 0.0, "{filter}");
    }
}

#[test]
fn whole_seconds_are_exact_without_a_sample() {
    let test = TestData::new();
    for (filter, seconds) in [
        ("TSTAMP < 1000000000", 1.6),
        ("TSTAMP >= 1000000000", 0.6),
        ("TSTAMP < 1000000000 && THRID==2", 0.8),
    ] {
        let kept = test.kept(filter);
        let sum: f64 = kept.profile.items.iter().map(|item| item.seconds).sum();
        assert!(close(sum, seconds), "{filter}: {sum}");
        assert_eq!(kept.estimated, 0.0, "{filter}");
    }
}

#[test]
fn within_a_second_samples_vote_and_listed_waits_are_cut() {
    let test = TestData::new();
    // Two of four samples lie before 0.5 s, and 0.3 s of the wait.
    let kept = test.kept("TSTAMP < 500000000");
    let by_thread = |thread: u32| -> f64 {
        let items = kept.profile.items.iter();
        items
            .filter(|item| item.thread == ThreadId(thread))
            .map(|item| item.seconds)
            .sum()
    };
    assert!(close(by_thread(0), 0.4), "{}", by_thread(0));
    assert!(close(by_thread(1), 0.3), "{}", by_thread(1));
    assert!(close(kept.estimated, 0.4), "the cut of the wait is exact");
    assert!(close(test.seconds("CPUID==1"), 0.2));
    assert!(close(test.seconds("CPUID==0 && TSTAMP>200000000"), 0.4));
    // Time off CPU is on no CPU, and the CPU of time without a sample is unknown.
    assert!(close(test.seconds("CPUID==-1"), 1.4));
    assert!(close(test.seconds("CPUID==-1 && TSTAMP<1000000000"), 0.8));
}

/// Events are divided by the samples of their counter, whatever those of the clock say.
#[test]
fn events_are_kept_as_their_own_samples_are() {
    let mut test = TestData::new();
    let faults = CounterName::new("page-faults");
    let of_counter = |(item, events): (Item, f64)| Item {
        seconds: 0.0,
        samples: 0,
        counter: Some(faults),
        events,
        ..item
    };
    let bar = test.profile.items[0];
    test.profile.items.push(of_counter((bar, 90.0)));
    // Two of three samples on CPU 1, where the clock has one of four.
    let sample = |(at, cpu): (u64, u16)| {
        let time = Nanos(at * 100_000_000);
        let sample = Sample {
            time,
            cpu,
            ..test.samples[0]
        };
        (Some(faults), sample)
    };
    let samples = || {
        let clock = test.samples.iter().map(|sample| (None, *sample));
        clock.chain([(1, 0), (2, 1), (3, 1)].map(sample))
    };
    let names = test.names();
    let source = test.source(&names);
    let kept = |text: &str| {
        let filter = Filter::parse(text).unwrap();
        let kept = apply(&filter, &test.profile, &source, samples());
        let events = kept.profile.items.iter().map(|item| item.events);
        (events.sum::<f64>() * 1e6).round() / 1e6
    };
    assert_eq!(kept("CPUID==1"), 60.0);
    assert_eq!(kept("TSTAMP<250000000"), 60.0);
    assert_eq!(kept("TSTAMP<250000000 && CPUID==1"), 30.0);
    assert_eq!((kept("THRID==1"), kept("THRID==2")), (90.0, 0.0));
    let of_cpu = |cpu: i64| {
        let cpus = on_cpus(&test.profile, None, samples());
        let metric = Metric::Counter(faults);
        let rows = crate::views::indexes::cpus(&test.profile, &cpus, &[metric]);
        let row = rows.into_iter().find(|row| row.key.number() == Some(cpu));
        row.map_or(0.0, |row| (row.seconds[0] * 1e6).round() / 1e6)
    };
    assert_eq!((of_cpu(0), of_cpu(1)), (30.0, 60.0));
}

/// The time that a filter keeps for a CPU is on that CPU.
#[test]
fn the_cpus_of_what_a_filter_leaves() {
    let mut test = TestData::new();
    // Thread 1 also works for 0.4 s in foo without a sample of its own: it is on the CPUs of the
    // thread.
    let foo = test.path(&[0, 1]);
    test.item(
        foo,
        0,
        RefinedState::Overhead,
        Scheduling::Running,
        (0.4, 0),
    );
    let inferred = test.profile.items.last_mut().unwrap();
    (inferred.inferred, inferred.samples) = (true, 0);
    let rows = |text: &str| {
        let filter = Filter::parse(text).unwrap();
        let names = test.names();
        let source = test.source(&names);
        let kept = apply(
            &filter,
            &test.profile,
            &source,
            test.samples.iter().map(|sample| (None, *sample)),
        );
        let cpus = on_cpus(
            &kept.profile,
            Some((&filter, &source)),
            test.samples.iter().map(|sample| (None, *sample)),
        );
        let rows =
            crate::views::indexes::cpus(&kept.profile, &cpus, &[crate::metrics::Metric::Total]);
        rows.into_iter()
            .map(|row| (row.key.name(), (row.seconds[0] * 1e6).round() / 1e6))
            .collect::<Vec<_>>()
    };
    let row = |name: &str, seconds: f64| (name.to_owned(), seconds);
    assert_eq!(rows("CPUID==0"), [row("CPU 0", 0.9)]);
    assert_eq!(rows("CPUID==1"), [row("CPU 1", 0.3)]);
    assert_eq!(
        rows("THRID==1 && TSTAMP>500000000"),
        [row("CPU 0", 0.35), row("CPU 1", 0.25)]
    );
    assert_eq!(
        rows("CPUID<0"),
        [row("<Unknown CPU>", 0.2), row("<Off CPU>", 1.2)]
    );
}

#[test]
fn a_filter_and_its_opposite_add_up_to_everything() {
    let test = TestData::new();
    for filter in [
        "TSTAMP < 123456789",
        "TSTAMP % 1000000 < 300",
        "TSTAMP > 300000000 && TSTAMP < 1234567890 || CPUID == 1",
        "CPUID IN (0, 7)",
        "(\"bar\" IN STACK) == (TSTAMP > 700000000)",
        "MSTATE==BLOCKED && TSTAMP/2 < 500000000",
        "1/(TSTAMP-100000000)",
    ] {
        let (kept, rest) = (test.seconds(filter), test.seconds(&format!("!({filter})")));
        assert!(close(kept + rest, 2.2), "{filter}: {kept} + {rest}");
    }
}

#[test]
fn an_error_names_its_position() {
    for (filter, position, words) in [
        ("", 1, "the filter is empty"),
        ("THRID==", 8, "a word, a number or \"(\" is expected here"),
        ("THRID=2", 6, "compare with =="),
        ("THIRD==2", 1, "did you mean THRID?"),
        ("THRID==2 THRID", 10, "an operator such as && or the end"),
        ("(THRID==2", 10, "\")\" is expected here"),
        (
            "\"foo\" IN STAK",
            10,
            "STACK, LEAF or PHASE is expected here",
        ),
        ("\"foo", 1, "not closed"),
        ("STACK == 2", 1, "STACK stands right of IN"),
        ("1 && LEAF == 2", 14, "a function's name in quotation marks"),
        ("THRID IN (5-2)", 13, "write 2-5"),
        ("THRID == \"x\"", 10, "a number is expected here"),
        ("OMPSTATE == \"x\"", 13, "OMPSTATE is one of SERIAL"),
        ("12x", 1, "no whole number"),
        ("1 + é", 5, "no such word"),
        ("99999999999999999999", 1, "no whole number"),
    ] {
        let error = Filter::parse(filter).unwrap_err();
        assert_eq!(error.position, position, "{filter}: {error}");
        assert!(error.to_string().contains(words), "{filter}: {error}");
        assert_eq!(error.to_string().lines().count(), 1);
    }
    let deep = "(".repeat(1_000);
    assert!(
        Filter::parse(&deep)
            .unwrap_err()
            .to_string()
            .contains("128 deep")
    );
    let deep = format!("{}1", "!".repeat(100_000));
    assert!(Filter::parse(&deep).is_err());
}

#[test]
fn filters_are_joined_as_written() {
    let test = TestData::new();
    let left = Filter::parse("THRID==1 || THRID==2").unwrap();
    let right = Filter::parse("MSTATE==BLOCKED").unwrap();
    let both = left.and(&right).unwrap();
    assert!(close(test.seconds(both.text()), 1.2));
    assert!(both.has(Word::MState) && !both.has(Word::Time));
}

/// Thread 1 works in the region's instances 1 and 2, with three samples in the first and one in the
/// second. Thread 2 waits in instance 2, and then works without a sample.
fn with_instances() -> TestData {
    let mut test = TestData::new();
    let region = ContextId(test.tables.contexts.intern(Context {
        parent: ContextId::ROOT,
        kind: ContextKind::Region,
        stack: StackId::EMPTY,
        python: StackId::EMPTY,
        body: FrameId::NONE,
    }));
    for item in &mut test.profile.items {
        item.context = region;
    }
    let within = |region| Within { region, task: 0 };
    for (sample, region) in test.samples.iter_mut().zip([1, 1, 2, 1]) {
        sample.within = within(region);
    }
    test.intervals[0].within = within(2);
    test
}

#[test]
fn instances_come_from_samples_and_listed_waits() {
    let test = with_instances();
    for (filter, seconds, estimated) in [
        ("CPRID==1", 0.6, 0.6),
        ("CPRID==2", 0.2 + 1.2, 0.2),
        ("CPRID IN (2-9)", 0.2 + 1.2, 0.2),
        // The instance of time without a sample is unknown.
        ("CPRID==-1", 0.2, 0.2),
        ("CPRID!=1", 0.2 + 1.2 + 0.2, 0.4),
        // Time for which the filter has one result in every instance is exact.
        ("CPRID>0", 2.2, 0.0),
        ("CPRID==0", 0.0, 0.0),
        ("CPRID==0 || CPRID>=1", 2.2, 0.0),
        ("TSKID==0", 2.2, 0.0),
        ("TSKID>0", 0.0, 0.0),
        ("REGION==1", 2.2, 0.0),
        ("REGION!=1 || TASK>0", 0.0, 0.0),
        ("CPRID==2 && TSTAMP<1000000000", 0.2 + 0.8, 0.2),
        ("CPRID==1 && CPUID==1", 0.2, 0.2),
    ] {
        let kept = test.kept(filter);
        let sum: f64 = kept.profile.items.iter().map(|item| item.seconds).sum();
        assert!(close(sum, seconds), "{filter}: {sum}");
        assert!(
            close(kept.estimated, estimated),
            "{filter}: {}",
            kept.estimated
        );
        let rest = test.seconds(&format!("!({filter})"));
        assert!(close(sum + rest, 2.2), "{filter}: {sum} + {rest}");
    }
}

#[test]
fn time_is_grouped_by_instance() {
    let test = with_instances();
    let names = test.names();
    let expression = Filter::parse("CPRID").unwrap();
    let source = test.source(&names);
    let samples = test.samples.iter().map(|sample| (None, *sample));
    let parts = values(&expression, &test.profile, &source, samples);
    let of_samples: Parts = vec![(1, 0.75), (2, 0.25)];
    assert_eq!(parts[0], of_samples);
    assert_eq!(parts[3], [(-1, 1.0)]);
}

#[test]
fn states_have_words_names_of_metrics_and_numbers() {
    let parsed = |text: &str| Filter::parse(text).unwrap().parsed.root;
    for (word, metric) in [
        ("implicit_barrier", "OMPIBAR"),
        ("\"lock_wait\"", "omplkwt"),
        ("Task_Wait", "OMPTSKWT"),
        ("idle", "OMPIDLE"),
    ] {
        let with = |name: &str| parsed(&format!("OMPSTATE=={name}"));
        assert_eq!(with(word), with(metric));
    }
    let numbers: Vec<i64> = OMP_STATES.iter().map(|(_, number)| *number).collect();
    for number in numbers {
        assert!(Filter::parse(&format!("OMPSTATE=={number}")).is_ok());
    }
}
