//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use experiment::header::Rank;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use mpi::Interface;

use race_stream::record::Checks;

use crate::control_options::{self, ControlOptions};
use crate::perf::counters::{self, Counter};
use crate::python;

/// What `-r` looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// Errors in what threads do.
    For(Checks),
    /// Memory that regions leave different with one thread.
    Compared {
        /// In every instance, and not in a sample.
        all: bool,
    },
}

/// The checked command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Path of the experiment.
    pub target: Destination,
    /// Microseconds of CPU time between clock samples; `None` for `-p off`.
    pub period_us: Option<f64>,
    /// `-h`: the events to count beside the clock.
    pub counters: Vec<Counter>,
    /// `-C`.
    pub comments: Vec<String>,
    /// `-r`: what to check the program for, instead of sampling it.
    pub checks: Option<Checked>,
    /// `-n`: print what would be recorded, and record nothing.
    pub dry_run: bool,
    /// `-v`.
    pub verbose: bool,
    /// `-q`: whether nothing is said of the result.
    pub is_quiet: bool,
    /// `-F`: whether child processes of the program are recorded too.
    pub follow: bool,
    /// `-j`: what is recorded of Python and of generated code.
    pub python: python::Recorded,
    /// The interfaces whose calls between ranks are recorded, a bit for each ([`mpi::Interface::bit`]).
    pub calls: u32,
    /// `-P`: the running process to record instead of a program.
    pub attach: Option<i32>,
    /// `--dump-events`: the file that gets the threads' events as text.
    pub dump_events: Option<PathBuf>,
    /// What is recorded of the run's time.
    pub control: ControlOptions,
    /// The program and its arguments.
    pub command: Vec<OsString>,
}

/// The experiment's name and directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// `-d`: the directory to which names are relative.
    pub directory: Option<PathBuf>,
    /// `-o` or `-O`; `None` for the next free `test.N.er`.
    pub name: Option<PathBuf>,
    /// `-O`: replaces an experiment of this name.
    pub replace: bool,
    /// The rank that is recorded, if a launcher started this process.
    pub rank: Option<Rank>,
    /// Whether its experiment is in a folder of its job. Otherwise it has a name of its own.
    pub is_in_job: bool,
}

/// `-p hi`, in microseconds. None of the named periods divides a second: samples of a program that
/// repeats something each millisecond would always hit the same code.
const HI_US: f64 = 997.0;
const ON_US: f64 = 10_007.0;
const LO_US: f64 = 100_000.0;
/// The shortest period, in microseconds. A sample costs microseconds, so a shorter period would
/// measure itself.
const SHORTEST_US: f64 = 50.0;
const LONGEST_US: f64 = 1e7;

/// Options of gprofng that are not supported: the letter, and its meaning.
const LATER: [(char, &str); 3] = [
    ('s', "synchronisation tracing"),
    ('H', "heap tracing"),
    ('i', "I/O tracing"),
];

/// What `-V` prints.
pub fn version() -> String {
    format!("collect: Parallax {}", env!("CARGO_PKG_VERSION"))
}

/// The action that the command line requests.
#[derive(Clone, Debug, PartialEq)]
pub enum Invocation {
    /// Record.
    Record(Box<Request>),
    /// Print this text and exit with success.
    Print(String),
    /// Bare `-h`: list the events that can be counted.
    ListCounters,
}

/// Parses the command line. Its first word is the program's name.
///
/// # Errors
/// One sentence that states the usage error.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Invocation, String> {
    let matches = match command().try_get_matches_from(words) {
        Ok(matches) => matches,
        Err(error) if !error.use_stderr() => return Ok(Invocation::Print(error.to_string())),
        Err(error) => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            let first = first.strip_prefix("error: ").unwrap_or(first);
            return Err(format!("{first}; `collect --help` lists the options"));
        }
    };
    if matches.get_flag("version") {
        return Ok(Invocation::Print(version()));
    }
    for (letter, what) in LATER {
        if matches.contains_id(what) {
            return Err(format!("-{letter} ({what}) is not supported yet"));
        }
    }
    if let Some(mut given) = matches.get_occurrences::<String>("counters")
        && given.any(|values| values.len() == 0)
    {
        return Ok(Invocation::ListCounters);
    }
    request(&matches).map(|request| Invocation::Record(Box::new(request)))
}

const USAGE: &str = "collect [OPTIONS] PROGRAM [ARGUMENTS]...\n       \
             mpirun [OPTIONS] collect [OPTIONS] PROGRAM [ARGUMENTS]...\n       \
             collect [OPTIONS] -P PID";

const AFTER_HELP: &str = "MPI: under mpirun or srun the experiment is a folder of all ranks, each an experiment of its \
             own: -o job.er makes job.er/r0.er, job.er/r1.er and so on. Where the launcher does not tell the ranks of \
             several hosts that they are one job, they are job.r0.er, job.r1.er and so on. \
             `collect mpirun -n 4 ./app` is the same as `mpirun -n 4 collect ./app`.\n\n\
             OpenMP: libcollector.so, which is loaded into the program, lies beside collect or in \
             ../lib/parallax from there; PARALLAX_LIBRARY=FILE names another.";

/// The options. Parsing, `--help` and the manual page are made from this table.
pub fn command() -> Command {
    let later = LATER.map(|(letter, what)| Arg::new(what).short(letter).num_args(0..=1).hide(true));
    let path = |id: &'static str, letter| {
        Arg::new(id)
            .short(letter)
            .value_parser(value_parser!(PathBuf))
    };
    let flag = |id: &'static str, letter| Arg::new(id).short(letter).action(ArgAction::SetTrue);
    Command::new("collect")
        .about("Records the run of a program as an experiment for er_print")
        .disable_help_flag(true)
        .disable_version_flag(true)
        .override_usage(USAGE)
        .after_help(AFTER_HELP)
        .arg(
            path("output", 'o')
                .value_name("DIR")
                .help("The experiment to make [default: the next free test.N.er]"),
        )
        .arg(
            path("replace", 'O')
                .value_name("DIR")
                .conflicts_with("output")
                .help("The same, replacing an experiment of that name"),
        )
        .arg(
            path("directory", 'd')
                .value_name("DIR")
                .overrides_with("directory")
                .help("Where the experiment goes"),
        )
        .arg(
            Arg::new("period")
                .short('p')
                .value_name("off|lo|on|hi|MS")
                .help(
                    "Clock profiling: every 100 ms, 10.007 ms, 0.997 ms, or N[m] milli- or Nu \
             microseconds [default: hi]",
                ),
        )
        .arg(
            Arg::new("counters")
                .short('h')
                .value_name("EVENT[,on|hi|lo|N],...")
                .num_args(0..=1)
                .action(ArgAction::Append)
                .help(
                    "Count events, by perf's names, and sample each N-th of a thread; alone: list what \
             this machine counts",
                ),
        )
        .arg(
            Arg::new("follow")
                .short('F')
                .value_name("on|off")
                .help(
                    "Whether child processes are recorded too, until they end [default: on]",
                ),
        )
        .arg(checked_for())
        .arg(generated())
        .arg(messages())
        .args(control_options::args())
        .arg(
            Arg::new("comment")
                .short('C')
                .value_name("TEXT")
                .action(ArgAction::Append)
                .allow_hyphen_values(true)
                .help("A comment for the experiment's header"),
        )
        .arg(
            Arg::new("attach")
                .short('P')
                .value_name("PID")
                .value_parser(value_parser!(i32).range(1..))
                .help(
                    "Record a running process, until it ends or Ctrl-C, which does not end it; \
                     OpenMP states come from stacks",
                ),
        )
        .arg(flag("dry", 'n').help("Say what would be recorded, and do not run the program"))
        .arg(flag("verbose", 'v').help("Say more on standard error"))
        .arg(flag("quiet", 'q').help(
            "Do not say at the end, on a terminal, how the time was used and what to do first",
        ))
        .arg(dump())
        .arg(flag("version", 'V').long("version").help("Print the version"))
        .arg(
            Arg::new("help")
                .long("help")
                .action(ArgAction::Help)
                .help("Print this text"),
        )
        .args(later)
        .arg(program())
}

/// What the program is checked for.
fn checked_for() -> Arg {
    Arg::new("checks")
        .short('r')
        .value_name("race|deadlock|init|all|off,...|compare[=all]")
        .conflicts_with_all(["attach", "counters", "period"])
        .help(
            "Check the program for data races, deadlocks and misuse, or uninitialised reads, \
             instead of sampling it; compare: run its parallel regions with one thread, too, and find \
             the memory that they leave different",
        )
}

/// What is recorded of generated code.
fn generated() -> Arg {
    Arg::new("generated")
        .short('j')
        .value_name("auto|on|off")
        .help(
            "Functions of Python at calls into OpenMP runtimes, and those that just-in-time compilers tell of (auto); \
             all functions of Python 3.12 and later, which costs it some time (on); none (off) [default: auto]",
        )
}

/// Which interfaces' calls are recorded, besides OpenMP's.
fn messages() -> Arg {
    Arg::new("messages")
        .short('M')
        .value_name("off|on|mpi,shmem,caf,gasp")
        .help(
            "Calls between ranks: of MPI with their messages, of OpenSHMEM, of Fortran's coarrays, and events of UPC's \
             runtimes by GASP; none, all, or those of some [default: on]",
        )
}

/// The interfaces whose calls are recorded, a bit for each. Sun's names of implementations mean MPI.
fn recorded_calls(words: &str) -> Result<u32, String> {
    const MPI: [&str; 6] = ["ompt", "ct", "openmpi", "mpich2", "mvapich2", "intel"];
    let all = Interface::ALL.iter().fold(0, |all, it| all | it.bit());
    match &*words.to_ascii_lowercase() {
        "off" => return Ok(0),
        "on" => return Ok(all),
        _ => {}
    }
    let mut wanted = 0;
    for word in words.to_ascii_lowercase().split(',') {
        let named = Interface::ALL.iter().find(|it| it.word() == word);
        wanted |= match named {
            Some(interface) => interface.bit(),
            None if MPI.contains(&word) => Interface::Mpi.bit(),
            None => {
                return Err(format!(
                    "-M {words}: expected off, on, or a list of mpi, shmem, caf and gasp"
                ));
            }
        };
    }
    Ok(wanted)
}

/// The file of the threads' events, for those who work on this.
fn dump() -> Arg {
    Arg::new("dump")
        .long("dump-events")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .conflicts_with("attach")
        .hide(true)
}

/// The program and its arguments.
fn program() -> Arg {
    Arg::new("command")
        .num_args(0..)
        .trailing_var_arg(true)
        .allow_hyphen_values(true)
        .value_parser(value_parser!(OsString))
        .hide(true)
}

fn request(matches: &ArgMatches) -> Result<Request, String> {
    let command: Vec<OsString> = matches
        .get_many("command")
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    let attach = matches.get_one::<i32>("attach").copied();
    if attach.is_some() {
        return match command.first() {
            None => checked(matches, attach, command),
            Some(program) => Err(format!(
                "-P records a running process: leave {} away",
                program.to_string_lossy()
            )),
        };
    }
    if command.is_empty() {
        return Err("no program to run was given; `collect --help` lists the options".into());
    }
    if command[0].as_encoded_bytes().starts_with(b"-") && command[0] != *"-" {
        let word = command[0].to_string_lossy();
        return Err(format!(
            "unknown option {word}; `collect --help` lists the options"
        ));
    }
    checked(matches, attach, command)
}

/// The request with this process or command.
fn checked(
    matches: &ArgMatches,
    attach: Option<i32>,
    command: Vec<OsString>,
) -> Result<Request, String> {
    let path = |id| matches.get_one::<PathBuf>(id).cloned();
    let replace = matches.contains_id("replace");
    let follow = match matches.get_one::<String>("follow").map(String::as_str) {
        None | Some("on" | "all") => true,
        Some("off") => false,
        Some(word) if word.starts_with('=') => {
            return Err(format!(
                "-F {word} (child processes by name) is not supported yet"
            ));
        }
        Some(word) => return Err(format!("-F {word}: expected on or off")),
    };
    let python = match matches.get_one::<String>("generated").map(String::as_str) {
        None | Some("auto") => python::Recorded::AtCalls,
        Some("on") if attach.is_some() => {
            return Err(
                "-j on needs a program that collect starts: Python reads it at its start"
                    .to_owned(),
            );
        }
        Some("on") => python::Recorded::All,
        Some("off") => python::Recorded::Nothing,
        Some(word) => return Err(format!("-j {word}: expected auto, on or off")),
    };
    let period = matches
        .get_one::<String>("period")
        .map_or("hi", String::as_str);
    Ok(Request {
        target: Destination {
            directory: path("directory"),
            name: path("output").or_else(|| path("replace")),
            replace,
            rank: None,
            is_in_job: false,
        },
        period_us: period_us(period)?,
        counters: {
            let given = matches.get_many::<String>("counters");
            let given = given.into_iter().flatten().map(String::as_str);
            counters::parse(given, counters::sysfs)?
        },
        comments: matches
            .get_many("comment")
            .into_iter()
            .flatten()
            .cloned()
            .collect(),
        checks: match matches.get_one::<String>("checks") {
            Some(words) => checks(words)?,
            None => None,
        },
        dry_run: matches.get_flag("dry"),
        verbose: matches.get_flag("verbose"),
        is_quiet: matches.get_flag("quiet"),
        follow,
        python,
        calls: recorded_calls(
            matches
                .get_one::<String>("messages")
                .map_or("on", String::as_str),
        )?,
        attach,
        dump_events: path("dump"),
        control: ControlOptions::of(matches)?,
        command,
    })
}

/// The argument of `-r`; `None` for off.
fn checks(words: &str) -> Result<Option<Checked>, String> {
    match words {
        "compare" => return Ok(Some(Checked::Compared { all: false })),
        "compare=all" => return Ok(Some(Checked::Compared { all: true })),
        _ => {}
    }
    let mut all = Checks::default();
    for word in words.split(',') {
        let check = match word {
            "off" if words == "off" => return Ok(None),
            "race" => Checks::RACE,
            "deadlock" => Checks::DEADLOCK,
            "init" => Checks::INIT,
            "all" => Checks::RACE.and(Checks::DEADLOCK).and(Checks::INIT),
            _ => {
                return Err(format!(
                    "-r {words}: expected race, deadlock, init or several with commas, all, compare, \
                     compare=all or off"
                ));
            }
        };
        all = all.and(check);
    }
    Ok(Some(Checked::For(all)))
}

/// The argument of `-p`, in microseconds; `None` for off.
fn period_us(word: &str) -> Result<Option<f64>, String> {
    match word {
        "off" => return Ok(None),
        "hi" | "high" => return Ok(Some(HI_US)),
        "on" => return Ok(Some(ON_US)),
        "lo" | "low" => return Ok(Some(LO_US)),
        _ => {}
    }
    let (number, unit_us) = match word.strip_suffix('u') {
        Some(number) => (number, 1.0),
        None => (word.strip_suffix('m').unwrap_or(word), 1000.0),
    };
    let period = number
        .parse::<f64>()
        .map(|number| number * unit_us)
        .ok()
        .filter(|p| p.is_finite());
    match period {
        Some(period) if (SHORTEST_US..=LONGEST_US).contains(&period) => Ok(Some(period)),
        Some(_) => Err(format!("-p {word}: a period is between 50u and 10000m")),
        None => Err(format!(
            "-p {word}: expected off, lo, on, hi or a number of milliseconds"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str) -> Result<Invocation, String> {
        parse(line.split(' ').map(OsString::from))
    }

    fn record(line: &str) -> Request {
        match run(line) {
            Ok(Invocation::Record(request)) => *request,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn the_program_s_own_options_are_its_own() {
        let request = record("collect -p on -o e.er ./app -p 7 --help -V -- x");
        assert_eq!(
            request.command,
            ["./app", "-p", "7", "--help", "-V", "--", "x"]
        );
        assert_eq!(request.period_us, Some(10_007.0));
        assert_eq!(request.target.name, Some("e.er".into()));
        assert!(!request.target.replace && request.follow && !request.dry_run);
    }

    #[test]
    fn periods_are_read_in_their_units() {
        let period = |word: &str| record(&format!("collect -p {word} a")).period_us;
        assert_eq!(period("off"), None);
        assert_eq!(period("lo"), Some(100_000.0));
        assert_eq!(period("hi"), Some(997.0));
        assert_eq!(period("2"), Some(2000.0));
        assert_eq!(period("1.5m"), Some(1500.0));
        assert_eq!(period("500u"), Some(500.0));
        for wrong in ["fast", "0", "-1", "1u", "nan", "inf"] {
            assert!(run(&format!("collect -p {wrong} a")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn counters_add_up_and_a_bare_h_lists_them() {
        let request = record("collect -h page-faults,7,cs -p off -h cpu-migrations a");
        let named: Vec<(&str, u64)> = request
            .counters
            .iter()
            .map(|it| (it.name.as_str(), it.interval))
            .collect();
        assert_eq!(
            named,
            [
                ("page-faults", 7),
                ("context-switches", 11),
                ("cpu-migrations", 1)
            ]
        );
        assert_eq!(request.period_us, None);
        for line in ["collect -h", "collect -h -o e.er a", "collect -h cs -h"] {
            assert_eq!(run(line), Ok(Invocation::ListCounters), "{line}");
        }
        let said = run("collect -h nothing a").expect_err("no event");
        assert!(said.starts_with("-h nothing: there is no event"), "{said}");
    }

    #[test]
    fn comments_add_up_and_replacing_is_noted() {
        let request = record("collect -C one -C -two -O e.er -d /tmp -F off a");
        assert_eq!(request.comments, ["one", "-two"]);
        assert!(request.target.replace && !request.follow);
        assert_eq!(request.target.directory, Some("/tmp".into()));
    }

    #[test]
    fn unsupported_options_are_refused_by_name() {
        for (letter, what) in LATER {
            for line in [
                format!("collect -{letter} x a"),
                format!("collect -{letter}"),
            ] {
                let said = run(&line).expect_err(&line);
                assert_eq!(said, format!("-{letter} ({what}) is not supported yet"));
            }
        }
        let said = run("collect -F =foo a").expect_err("a filter");
        assert!(said.contains("not supported yet"), "{said}");
    }

    #[test]
    fn calls_of_mpi_are_recorded_unless_they_are_not_wanted() {
        let of = |line: &str| record(line).calls;
        assert_eq!((of("collect a"), of("collect -M on a")), (0b1111, 0b1111));
        assert_eq!(of("collect -M MPICH2 a"), 0b0001, "as Sun named it");
        assert_eq!(of("collect -M off a"), 0);
        assert_eq!(of("collect -M shmem,gasp a"), 0b1010);
        assert_eq!(of("collect -M caf,mpi a"), 0b0101);
        let said = run("collect -M upc a").expect_err("not yet");
        assert_eq!(
            said,
            "-M upc: expected off, on, or a list of mpi, shmem, caf and gasp"
        );
    }

    #[test]
    fn a_running_process_stands_for_the_program() {
        let request = record("collect -P 12 -o e.er");
        assert_eq!((request.attach, request.command.len()), (Some(12), 0));
        for wrong in ["-P 0", "-P x", "-P -3", "-P 12 a"] {
            assert!(run(&format!("collect {wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn mistakes_get_one_line() {
        for line in [
            "collect",
            "collect -o",
            "collect -x a",
            "collect -o a -O b c",
            "collect --nix a",
        ] {
            let said = run(line).expect_err(line);
            assert_eq!(said.lines().count(), 1, "{said}");
        }
        assert_eq!(run("collect -V"), Ok(Invocation::Print(version())));
    }
}
