//! Programs with a random fault at a random moment, each run without collect and with it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use end_to_end::{compiler, folder, tools};
use fastrand::Rng;
use fixtures::{Family, Opt, Run, WaitPolicy};

use crate::same::section;
use crate::signals::members_of;
use crate::{OPENMP, place, program, text};

/// How many runs there are, where the environment does not say.
const RUNS: usize = 60;
const RUNS_VARIABLE: &str = "PARALLAX_FAULTS";

/// Programs of the fixtures, each by gcc or clang in turn; with those of this folder twenty.
const FIXTURES: [&str; 14] = [
    "imbalance",
    "barrier",
    "critical",
    "lock",
    "tasks",
    "single",
    "sections",
    "reduction",
    "nested",
    "dependences",
    "teams",
    "recursion",
    "forks",
    "churn",
];

/// The truth of a fixture, in the folder of the run.
const TRUTH: &str = "truth.json";

/// What goes wrong, and when.
#[derive(Clone, Copy, Debug)]
enum Fault {
    None,
    /// collect is killed.
    Kill,
    /// collect gets a signal, alone or with its group.
    Signal {
        number: i32,
        group: bool,
    },
    /// collect is stopped for a while.
    Stop,
    /// A limit of the shell's, `ulimit`, in its unit.
    Limit {
        what: &'static str,
        value: u32,
    },
    /// Nobody can read what is said, or it is lost.
    Stderr(&'static str),
    /// Signals are ignored from the start.
    Ignored(&'static str),
    /// A system call is refused, by its number.
    Refused(u32),
    /// The program's unwind information is overwritten.
    Noise,
    /// The memory that it shares with collect is overwritten.
    Scribble,
    /// The experiment is taken away.
    Removed,
    /// A tool of the user's that is not there.
    NoTool,
    /// Other processes want the CPUs.
    Crowd,
}

fn of<T: Copy>(random: &mut Rng, all: &[T]) -> T {
    all[random.usize(..all.len())]
}

impl Fault {
    fn random(random: &mut Rng) -> Fault {
        match random.u8(..13) {
            0 => Fault::Kill,
            1 => Fault::Signal {
                number: of(random, &[1, 2, 3, 10, 12, 13, 14, 15, 24, 25]),
                group: random.bool(),
            },
            2 => Fault::Stop,
            3 => Fault::Limit {
                what: "-v",
                value: 500_000 + random.u32(..6_000_000),
            },
            4 => Fault::Limit {
                what: "-f",
                value: 40 + random.u32(..3000),
            },
            5 => Fault::Limit {
                what: "-n",
                value: 40 + random.u32(..60),
            },
            6 => Fault::Stderr(of(random, &["2>&-", "2>/dev/full", "2> >(exec true)"])),
            7 => Fault::Ignored(of(random, &["CHLD", "PIPE", "USR1 TERM", "HUP INT QUIT"])),
            // memfd_create, process_vm_readv, fallocate, madvise, close_range, prctl of x86-64.
            8 => Fault::Refused(of(random, &[319, 310, 285, 28, 436, 157])),
            9 => Fault::Noise,
            10 => Fault::Scribble,
            11 => of(random, &[Fault::Removed, Fault::NoTool, Fault::Crowd]),
            _ => Fault::None,
        }
    }
}

/// How collect records, and what er_print must be able to show of it.
#[derive(Clone, Copy, Debug)]
struct Recording {
    options: &'static [&'static str],
    reports: &'static [&'static str],
    /// It checks accesses to memory, of programs that were compiled for that.
    accesses: bool,
}

const PROFILES: &[Recording] = &[Recording {
    options: &[],
    reports: &["-functions", "-header", "-OMP_preg", "-overview"],
    accesses: false,
}];

const CHECKS: &[Recording] = &[
    Recording {
        options: &["-r", "deadlock"],
        reports: &["-deadlocks", "-misuse", "-header"],
        accesses: false,
    },
    Recording {
        options: &["-r", "all"],
        reports: &["-races", "-deadlocks", "-misuse", "-uninit", "-header"],
        accesses: true,
    },
];

/// A program and what it is started with.
struct Subject {
    name: String,
    words: Vec<String>,
    /// The same program compiled for checks of accesses. It is not run alone: the sanitizer's own
    /// runtime would then report what it finds.
    accesses: Option<String>,
    environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
}

fn subjects() -> Vec<Subject> {
    let own = |name: &str, words: &[&str]| Subject {
        name: name.to_owned(),
        words: [&[text(&program(name, &[]))], words]
            .concat()
            .iter()
            .map(|word| (*word).to_owned())
            .collect(),
        accesses: Some(text(&program(name, &["-fsanitize=thread"])).to_owned()),
        environment: OPENMP
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
    };
    let mut subjects = vec![
        own("busy", &["300"]),
        own("busy", &["300", "2"]),
        own("ways", &[]),
        own("ends", &["return", "3"]),
        own("ends", &["thread", "9"]),
        own("ends", &["exec", "4"]),
    ];
    for (name, family) in FIXTURES
        .iter()
        .zip([Family::Gcc, Family::Clang].into_iter().cycle())
    {
        let fixture = fixtures::program(name).expect("it is in the catalogue");
        let compiler = compiler(family);
        let exe = fixtures::build(fixture, compiler, Opt::O2, &folder().join("built"));
        let run = Run::new(fixture, &exe.unwrap_or_else(|error| panic!("{error}")))
            .threads(2)
            .policy(WaitPolicy::Passive)
            .truth_file(Path::new(TRUTH));
        let words = run.words();
        subjects.push(Subject {
            name: format!("{name} by {}", compiler.name),
            words: words
                .iter()
                .map(|word| word.to_str().unwrap().to_owned())
                .collect(),
            accesses: None,
            environment: run.environment(),
        });
    }
    subjects
}

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
struct Ended {
    status: i32,
    stdout: String,
    /// Of the program alone.
    stderr: String,
    /// Processes of its group that still live.
    left: Vec<String>,
    /// The files in its folder, and their sizes; not collect's. The truth is of size 0: its numbers
    /// are of a run and its name of a process.
    files: BTreeMap<String, u64>,
}

/// A run under way.
struct Started {
    child: Child,
    place: PathBuf,
}

impl Started {
    /// Starts words by a shell that prepares what the fault needs from the start.
    fn new(subject: &Subject, words: &[&str], fault: Fault, place: &Path) -> Started {
        let (before, after) = match fault {
            Fault::Limit { what, value } => (format!("ulimit {what} {value};"), ""),
            Fault::Ignored(signals) => (format!("trap '' {signals};"), ""),
            Fault::Stderr(how) => (String::new(), how),
            Fault::NoTool => ("export OMP_TOOL_LIBRARIES=/nowhere.so;".to_owned(), ""),
            _ => (String::new(), ""),
        };
        let launcher = match fault {
            Fault::Refused(number) => {
                let launcher = program("../../fixtures/programs/cases/noperf", &[]);
                vec![
                    "env".to_owned(),
                    format!("PXNR={number}"),
                    text(&launcher).to_owned(),
                ]
            }
            _ => Vec::new(),
        };
        let script = format!("{before} exec \"$@\" {after}");
        let file = |name: &str| File::create(place.join(name)).unwrap();
        let child = Command::new("bash")
            .args(["-c", &script, "bash"])
            .args(&launcher)
            .args(words)
            .current_dir(place)
            .envs(subject.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(file("stdout"))
            .stderr(file("stderr"))
            .process_group(0)
            .spawn()
            .unwrap();
        Started {
            child,
            place: place.to_owned(),
        }
    }

    /// The program itself, where it runs under collect.
    fn program(&self) -> Option<u32> {
        let pid = self.child.id();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
        let mut pids = children
            .split_whitespace()
            .filter_map(|pid| pid.parse().ok());
        let is_program = |pid: &u32| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            !matches!(name.trim(), "group-signals" | "collect")
        };
        pids.find(is_program)
    }

    fn kill(&self, number: i32, group: bool) {
        let whom = if group { "-" } else { "" };
        let line = format!("kill -{number} -- {whom}{} 2>/dev/null", self.child.id());
        let _ = Command::new("bash").args(["-c", &line]).status();
    }

    /// Waits for its end, and for that of a program that lives on without collect.
    fn end(mut self, program: Option<u32>) -> Ended {
        let group = self.child.id();
        let begin = Instant::now();
        let limit = Duration::from_secs(90);
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                begin.elapsed() < limit,
                "it hangs, in {}",
                self.place.display()
            );
            std::thread::sleep(Duration::from_millis(3));
        };
        while let Some(pid) = program
            && is_alive(pid)
        {
            assert!(
                begin.elapsed() < limit,
                "the program hangs, in {}",
                self.place.display()
            );
            std::thread::sleep(Duration::from_millis(3));
        }
        // What is ending needs a moment.
        let mut left = members_of(group);
        for _ in 0..100 {
            if left.is_empty() {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
            left = members_of(group);
        }
        let read = |name: &str| {
            let bytes = fs::read(self.place.join(name)).unwrap();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let is_collects = |line: &&str| {
            line.starts_with("collect:") || line.starts_with("Creating experiment directory")
        };
        let stderr = read("stderr");
        Ended {
            status: status.code().unwrap_or(128 + status.signal().unwrap_or(0)),
            stdout: read("stdout"),
            stderr: stderr
                .split_inclusive('\n')
                .filter(|line| !is_collects(line))
                .collect(),
            left,
            files: files(&self.place),
        }
    }
}

fn files(place: &Path) -> BTreeMap<String, u64> {
    let entries = fs::read_dir(place).unwrap().map(Result::unwrap);
    let named = entries.map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(TRUTH) {
            (TRUTH.to_owned(), 0)
        } else {
            (name, entry.metadata().unwrap().len())
        }
    });
    let is_programs = |(name, _): &(String, u64)| {
        !name.ends_with(".er") && !matches!(name.as_str(), "stdout" | "stderr")
    };
    named.filter(is_programs).collect()
}

fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Makes the fault happen after a moment, if it is one of those that do.
fn strike(fault: Fault, started: &Started, experiment: &Path, moment: Duration, random: &mut Rng) {
    std::thread::sleep(moment);
    match fault {
        Fault::Kill => started.kill(9, false),
        Fault::Signal { number, group } => started.kill(number, group),
        Fault::Stop => {
            started.kill(19, false);
            std::thread::sleep(Duration::from_millis(300));
            started.kill(18, false);
        }
        Fault::Scribble => scribble(started.child.id(), random),
        Fault::Removed => {
            let _ = fs::remove_dir_all(experiment);
        }
        Fault::Crowd => {
            let crowd = "for i in 1 2 3 4; do timeout 1 sh -c 'while :; do :; done' & done; wait";
            let _ = Command::new("bash").args(["-c", crowd]).status();
        }
        _ => {}
    }
}

/// Writes anything anywhere into the memory by which collect gets events.
fn scribble(collect: u32, random: &mut Rng) {
    for entry in fs::read_dir(format!("/proc/{collect}/fd"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let link = fs::read_link(entry.path()).unwrap_or_default();
        let link = link.to_string_lossy();
        let is_ours = ["parallax-arena", "parallax-races"];
        if !is_ours.iter().any(|name| link.contains(name)) {
            continue;
        }
        let Ok(file) = File::options().write(true).open(entry.path()) else {
            return;
        };
        let reach = of(random, &[4096, 1 << 16, 1 << 21, 8 << 20]);
        for _ in 0..2000 {
            let at = random.u64(..reach);
            let byte = of(random, &[0u8, 0xff, 0x7f, 1, 2, 3, 77]);
            let _ = file.write_at(&[byte], at);
        }
    }
}

#[test]
#[ignore = "minutes: a run of each program, bare and recorded, for each fault"]
fn faults_at_random() {
    faults(PROFILES);
}

#[test]
#[ignore = "minutes, as for profiles"]
fn faults_at_random_under_checks() {
    faults(CHECKS);
}

fn faults(recordings: &[Recording]) {
    let runs = std::env::var(RUNS_VARIABLE).ok();
    let runs = runs.map_or(RUNS, |runs| runs.parse().expect("a number of runs"));
    let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = seed.unwrap().as_nanos() as u64;
    println!("seed {seed}");
    let mut random = Rng::with_seed(seed);
    let subjects = subjects();
    let mut wrong = Vec::new();
    for run in 0..runs {
        let recording = of(&mut random, recordings);
        let fit = |subject: &&Subject| subject.accesses.is_some() || !recording.accesses;
        let fitting: Vec<_> = subjects.iter().filter(fit).collect();
        let subject = of(&mut random, &fitting);
        let fault = Fault::random(&mut random);
        let moment = Duration::from_millis(random.u64(..600));
        if let Err(what) = one(subject, recording, fault, moment, &mut random) {
            let options = recording.options.join(" ");
            let line = format!(
                "run {run}, {options} {}, {fault:?} after {moment:?}: {what}",
                subject.name
            );
            println!("{line}");
            wrong.push(line);
        }
    }
    println!(
        "{runs} runs of {} programs, {} wrong",
        subjects.len(),
        wrong.len()
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn one(
    subject: &Subject,
    recording: Recording,
    fault: Fault,
    moment: Duration,
    random: &mut Rng,
) -> Result<(), String> {
    let place = place(&format!("random{}", recording.options.concat()));
    let mut words: Vec<&str> = subject.words.iter().map(String::as_str).collect();
    let mut recorded = words.clone();
    if let (true, Some(instrumented)) = (recording.accesses, &subject.accesses) {
        recorded[0] = instrumented;
    }
    let mutants = [place.join("mutant"), place.join("recorded-mutant")];
    if let Fault::Noise = fault {
        for (words, mutant) in [&mut words, &mut recorded].into_iter().zip(&mutants) {
            make_mutant(Path::new(words[0]), mutant, random);
            words[0] = text(mutant);
        }
    }
    let bare_place = place.join("bare");
    let with_place = place.join("with");
    fs::create_dir_all(&bare_place).unwrap();
    fs::create_dir_all(&with_place).unwrap();

    let bare = Started::new(subject, &words, fault, &bare_place);
    // What is sent to collect is sent to the program instead.
    if let Fault::Signal { .. } = fault {
        strike(fault, &bare, &bare_place, moment, random);
    }
    let bare = bare.end(None);

    let experiment = with_place.join("run.er");
    let collect = [text(&tools().collect), "-O", "run.er"];
    let with = [&collect[..], recording.options, &recorded].concat();
    let with = Started::new(subject, &with, fault, &with_place);
    std::thread::sleep(Duration::from_millis(100));
    let own = with.program();
    strike(fault, &with, &experiment, moment, random);
    let with = with.end(own);

    // Without shared memory nothing is checked: the compiler's own runtime runs, as it does alone.
    let is_sanitized = recorded != words && with.stderr.contains("ThreadSanitizer");
    let same = if is_sanitized {
        let alone_place = place.join("alone");
        fs::create_dir_all(&alone_place).unwrap();
        let alone = Started::new(subject, &recorded, fault, &alone_place).end(None);
        let is_same = alone.status == with.status && takes_memory(fault);
        is_same.then_some(()).ok_or_else(|| {
            let statuses = (with.status, alone.status);
            format!("{statuses:?} by the sanitizer: {}", with.stderr)
        })
    } else {
        compare(fault, &bare, &with)
    };
    let found = same
        .and_then(|()| readable(fault, &experiment, recording.reports))
        .map_err(|what| format!("{what}; {}", keep(&place)));
    let _ = fs::remove_dir_all(&place);
    found
}

/// Whether collect may have got no memory to share with the program.
fn takes_memory(fault: Fault) -> bool {
    const MEMFD_CREATE: u32 = 319;
    matches!(fault, Fault::Limit { .. } | Fault::Refused(MEMFD_CREATE))
}

fn make_mutant(from: &Path, to: &Path, random: &mut Rng) {
    let mut bytes = fs::read(from).unwrap();
    let part = &mut bytes[section(from, ".eh_frame")];
    for _ in 0..1 + random.usize(..part.len()) {
        let at = random.usize(..part.len());
        part[at] = random.u8(..);
    }
    fs::write(to, bytes).unwrap();
    fs::set_permissions(to, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Moves what a run left to where it can be looked at.
fn keep(place: &Path) -> String {
    let kept = place
        .with_extension(format!("{:?}", Instant::now()).replace(['{', '}', ' ', ':', ','], ""));
    let _ = fs::rename(place, &kept);
    kept.display().to_string()
}

fn compare(fault: Fault, bare: &Ended, with: &Ended) -> Result<(), String> {
    let killed = matches!(fault, Fault::Kill);
    let signalled = matches!(fault, Fault::Signal { .. });
    // Whether a signal comes before the end or after is a matter of moments.
    if !killed && !signalled && with.status != bare.status {
        return Err(format!(
            "status {} and not {}: {}",
            with.status, bare.status, with.stderr
        ));
    }
    if signalled && with.status != bare.status {
        let by_signal = |ended: &Ended| ended.status > 128;
        if by_signal(bare) && by_signal(with) {
            return Err(format!("status {} and not {}", with.status, bare.status));
        }
    }
    let is_whole = bare.status < 128 && with.status < 128 || killed;
    if is_whole && !signalled && with.stdout != bare.stdout {
        return Err(format!(
            "printed {:?} and not {:?}",
            with.stdout, bare.stdout
        ));
    }
    let said = !matches!(fault, Fault::Stderr(_) | Fault::Signal { .. });
    if is_whole && said && with.stderr != bare.stderr {
        return Err(format!("said {:?} and not {:?}", with.stderr, bare.stderr));
    }
    if is_whole && !signalled && with.files != bare.files {
        return Err(format!("left {:?} and not {:?}", with.files, bare.files));
    }
    if !with.left.is_empty() {
        return Err(format!("{:?} are left", with.left));
    }
    Ok(())
}

/// The experiment can be read, however its recording ended.
fn readable(fault: Fault, experiment: &Path, reports: &[&str]) -> Result<(), String> {
    if matches!(fault, Fault::Removed) || !experiment.join("records").exists() {
        // Taken away, or killed before it was made.
        let may = matches!(fault, Fault::Removed | Fault::Kill | Fault::Limit { .. });
        return if may {
            Ok(())
        } else {
            Err("there is no experiment".to_owned())
        };
    }
    let out = tools().try_print(experiment, reports);
    let said = String::from_utf8_lossy(&out.stderr);
    let is_early = said.contains("is empty") && matches!(fault, Fault::Kill);
    if out.status.success() || is_early {
        Ok(())
    } else {
        Err(format!("er_print: {said}"))
    }
}
