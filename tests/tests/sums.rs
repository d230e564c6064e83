//! The sums that hold in every report of a real run, in both modes, for every metric: what two
//! views show of one time is one number, and a filter and its opposite leave all of it.
//!
//! How much time there is is held against the programs in `truth.rs`; here nothing depends on it,
//! so that a loaded machine changes nothing.

use std::path::{Path, PathBuf};

use end_to_end::{Cell, compiler, metrics, reports, rows, sum, value};
use fixtures::{Family, WaitPolicy, program};
use serde_json::Value;

const MODES: [&str; 2] = ["user", "machine"];

/// Views whose rows are under a total and divide its exclusive time.
const LISTS: [&str; 6] = [
    "-functions",
    "-lines",
    "-pcs",
    "-fsummary",
    "-lsummary",
    "-psummary",
];

/// Views whose rows divide all time, without a total.
const INDEXES: [&str; 8] = [
    "-Threads",
    "-thread_list",
    "-CPUs",
    "-Seconds",
    "-Samples",
    "-Processes",
    "-Experiment_IDs",
    "-couples",
];

/// Filters with every word, each alone and some together; with its opposite it leaves everything.
const FILTERS: [&str; 23] = [
    "EXPID==1",
    "PID%2",
    "THRID==1",
    "THRID IN (1, 3-5)",
    "LWPID%2==0",
    "CPUID==0",
    "CPUID IN (-1, 1)",
    "TSTAMP<123456789",
    "CPUID>0 && TSTAMP>200000000",
    "SAMPLE==1",
    "PHASE==0",
    "\"x\" IN PHASE",
    "MSTATE==BLOCKED",
    "OMPSTATE==OMPIBAR",
    "CPRID>0",
    "TSKID>0",
    "CPRID==2 || TSKID IN (1-3)",
    "CPRID%2==1",
    "REGION>0",
    "TASK>0",
    "LEAF==\"<OMP implicit barrier>\"",
    "\"main\" IN STACK",
    "(\"*region*\", \"*task*\") SOME IN STACK",
];

/// What does not hold, in words.
struct Faults(Vec<String>);

impl Faults {
    /// Two sums of the same times: they differ by what adding in another order does.
    fn same(&mut self, what: &str, left: f64, right: f64) {
        if (left - right).abs() > 1e-6 * left.abs().max(right.abs()).max(1.0) {
            self.0.push(format!("{what}: {left} is not {right}"));
        }
    }
}

/// The row of everything, of a list.
fn total(report: &Value) -> &Value {
    &rows(report)[0]
}

fn view(report: &Value) -> &str {
    report["view"].as_str().expect("reports have a view")
}

/// Every list's rows against its total, and that against `<Total>` of the functions.
fn lists(found: &[Value], faults: &mut Faults) {
    let whole = total(&found[0]);
    for metric in &metrics(&found[0]) {
        let all = value(whole, "e", metric);
        for report in found {
            let of = |what: &str| format!("{}, {metric}, {what}", view(report));
            if !LISTS.iter().any(|list| list[1..] == *view(report)) {
                faults.same(&of("rows"), sum(rows(report), "e", metric), all);
                continue;
            }
            let [first, rest @ ..] = rows(report) else {
                panic!("{} has no total", view(report));
            };
            faults.same(&of("total"), value(first, "e", metric), all);
            faults.same(&of("exclusive"), sum(rest, "e", metric), all);
            for row in rest {
                let (own, inclusive) = (value(row, "e", metric), value(row, "i", metric));
                if own > inclusive + 1e-9 || inclusive > all + 1e-6 {
                    let name = &row["name"];
                    faults
                        .0
                        .push(of(&format!("{name}: {own}, {inclusive} of {all}")));
                }
            }
        }
    }
    parts(whole, &metrics(&found[0]), faults);
}

/// What each metric is made of, in the row of everything.
fn parts(whole: &Value, metrics: &[String], faults: &mut Faults) {
    const WAITS: [&str; 9] = [
        "ompibar",
        "ompebar",
        "ompidle",
        "omplkwt",
        "ompctwt",
        "ompodwt",
        "ompatwt",
        "omptskwt",
        "offcpuwork",
    ];
    let sums: [(&str, &[&str]); 4] = [
        ("total", &["totalcpu", "offcpu"]),
        ("totalcpu", &["user", "system"]),
        ("total", &["ompwork", "ompwait"]),
        ("ompwait", &WAITS),
    ];
    for (sum, parts) in sums {
        let known = |metric: &str| metrics.iter().any(|known| known == metric);
        if parts.iter().all(|part| known(part)) {
            let parts = parts.iter().map(|part| value(whole, "e", part)).sum();
            faults.same(sum, value(whole, "e", sum), parts);
        }
    }
}

/// A node's time is its own and its children's.
fn tree(node: &Value, metric: &str, faults: &mut Faults) {
    let mut pending = vec![node];
    while let Some(node) = pending.pop() {
        let children = node["children"].as_array().expect("nodes have children");
        let parts = value(node, "e", metric) + sum(children, "a", metric);
        let name = format!("tree, {metric}, {}", node["name"]);
        faults.same(&name, parts, value(node, "a", metric));
        pending.extend(children);
    }
}

/// A function's time comes from its callers, and is its own and its callees'.
fn neighbours(report: &Value, metric: &str, faults: &mut Faults) {
    for block in &rows(report)[1..] {
        let edges = |side: &str| {
            let edges = block[side].as_array().expect("blocks have both sides");
            sum(edges, "a", metric)
        };
        let whole = value(block, "i", metric);
        let name = format!("neighbours, {metric}, {}", block["name"]);
        faults.same(&name, edges("callers"), whole);
        let own = value(block, "e", metric);
        faults.same(&name, own + edges("callees"), whole);
    }
}

/// The parts of each gain are the gain, and none is negative.
fn gains(report: &Value, faults: &mut Faults) {
    for row in rows(report) {
        for flavour in ["exclusive", "inclusive"] {
            let gain = &row[flavour];
            let parts = gain["parts"].as_object().expect("a gain has parts");
            let parts: Vec<f64> = parts.values().filter_map(Value::as_f64).collect();
            let name = format!("gain, {flavour}, {}", row["name"]);
            let whole = gain["gain"].as_f64().expect("a gain is a number");
            faults.same(&name, parts.iter().sum(), whole);
            if parts.iter().any(|&part| part < -1e-9) {
                faults
                    .0
                    .push(format!("{name} has a negative part: {parts:?}"));
            }
        }
        // Of a region that never ended there is no instance to speak of.
        let balance = row["load_balance"].as_f64();
        if balance.is_some_and(|balance| !(0.0..=1.0 + 1e-9).contains(&balance)) {
            faults
                .0
                .push(format!("load balance {balance:?} of {}", row["name"]));
        }
    }
}

/// The losses of a node's children are its loss.
fn efficiency(node: &Value, faults: &mut Faults) {
    let children = node["children"].as_array().expect("nodes have children");
    let loss = |node: &Value| node["loss"].as_f64().expect("a loss is a number");
    if !children.is_empty() {
        let parts = children.iter().map(loss).sum();
        faults.same(&format!("efficiency, {}", node["id"]), parts, loss(node));
    }
    if !(-1e-9..=1.0 + 1e-9).contains(&loss(node)) {
        faults
            .0
            .push(format!("{} loses {}", node["id"], loss(node)));
    }
    for child in children {
        efficiency(child, faults);
    }
}

/// What `overview` says of all time.
fn overview(report: &Value, faults: &mut Faults) {
    if report["efficiency"].is_object() {
        efficiency(&report["efficiency"], faults);
    }
    let Some(parts) = report["wall_time"].as_object() else {
        return;
    };
    let part = |name: &str| parts.get(name).and_then(Value::as_f64);
    let parts = || parts.values().filter_map(Value::as_f64);
    let wall: f64 = parts().sum();
    if parts().any(|part| part < -1e-9 || part > wall + 1e-9) {
        faults
            .0
            .push(format!("not a part of {wall}: {}", report["wall_time"]));
    }
    // The efficiencies say the same of it.
    let useful = report["efficiency"]["efficiency"].as_f64();
    faults.same(
        "useful work",
        part("useful").unwrap_or_default(),
        useful.unwrap_or_default() * wall,
    );
    let mut nodes = vec![&report["efficiency"]];
    while let Some(node) = nodes.pop() {
        nodes.extend(node["children"].as_array().into_iter().flatten());
        let share = match node["id"].as_str() {
            Some(id @ ("no_team" | "serial")) => part(id),
            Some("process_communication") => part("serial_runtime")
                .zip(part("serial_offcpu"))
                .map(|(runtime, off)| runtime + off),
            _ => continue,
        };
        let loss = node["loss"].as_f64().unwrap_or_default();
        faults.same(
            &format!("wall time, {}", node["id"]),
            share.unwrap_or_default(),
            loss * wall,
        );
    }
    let losses = report["losses"].as_array().expect("a list");
    for loss in losses {
        let number = |key: &str| loss[key].as_f64().expect("a number");
        // A loss is a part of the wall time that they all are parts of.
        let of_parts = number("seconds") / number("share");
        faults.same("the parts of the wall time", wall, of_parts);
        // The regions' parts are of several, or of regions that are too small.
        let reason = loss["reason"].as_str().unwrap_or_default();
        if let Some(whole) = part(reason) {
            let more = number("seconds") > whole + 1e-9;
            if more {
                faults.0.push(format!("{reason}: {loss} of {whole}"));
            }
        }
    }
}

/// Regions, serial code and idle threads are all there is; so are tasks and what is none.
fn constructs(experiment: &Path, mode: &str, whole: &Value, faults: &mut Faults) {
    let only = |filter: &str| {
        let found = reports(experiment, mode, &["-filters", filter, "-functions"]);
        total(&found[0]).clone()
    };
    let serial = only("REGION==0 && OMPSTATE!=OMPIDLE");
    let idle = only("OMPSTATE==OMPIDLE");
    let outside_tasks = only("TASK==0");
    let found = reports(experiment, mode, &["-OMP_preg", "-OMP_task"]);
    for metric in &metrics(&found[0]) {
        let of = |row| value(row, "e", metric);
        let regions = sum(rows(&found[0]), "e", metric);
        let all = regions + of(&serial) + of(&idle);
        faults.same(&format!("regions, {metric}"), all, of(whole));
        let tasks = sum(rows(&found[1]), "e", metric);
        let all = tasks + of(&outside_tasks);
        faults.same(&format!("tasks, {metric}"), all, of(whole));
    }
}

/// What a filter leaves of functions, threads, CPUs and lines, and what its opposite does.
fn filters(experiment: &Path, mode: &str, (whole, all): (&Value, &[String]), faults: &mut Faults) {
    for filter in FILTERS {
        let opposite = format!("!({filter})");
        let left = |filter: &str| {
            let views = ["-functions", "-Threads", "-CPUs", "-lines", "-calltree"];
            let commands: Vec<&str> = ["-filters", filter].into_iter().chain(views).collect();
            reports(experiment, mode, &commands)
        };
        let (kept, rest) = (left(filter), left(&opposite));
        for metric in all {
            let of = |row| value(row, "e", metric);
            let name = format!("{mode}, {filter}, {metric}");
            let (part, other) = (of(total(&kept[0])), of(total(&rest[0])));
            faults.same(&name, part + other, of(whole));
            for report in [&kept[1], &kept[2]] {
                let name = format!("{name}, {}", view(report));
                faults.same(&name, sum(rows(report), "e", metric), part);
            }
            faults.same(&format!("{name}, lines"), of(total(&kept[3])), part);
            let tree = value(total(&kept[4]), "a", metric);
            faults.same(&format!("{name}, calltree"), tree, part);
        }
        if filter == "CPUID==0" {
            let names = rows(&kept[2]).iter().map(|row| &row["name"]);
            let names: Vec<&Value> = names.collect();
            if names.iter().any(|&name| name != "CPU 0") {
                faults.0.push(format!("what is on CPU 0 is on {names:?}"));
            }
        }
    }
}

/// Beside itself, an experiment has on each side what it has alone.
fn beside_itself(experiment: &Path, mode: &str, whole: &Value, faults: &mut Faults) {
    let path = experiment.to_str().expect("of our own making");
    let mut commands = vec![path, "-compare", "on"];
    commands.extend(LISTS);
    commands.extend(["-Threads", "-CPUs", "-Seconds"]);
    let found = reports(experiment, mode, &commands);
    for report in &found {
        // Lists and index objects alike have a total first.
        for metric in &metrics(report) {
            let of = |row: &Value, side: usize| {
                let value = &row["values"][side][format!("e.{metric}")];
                value.as_f64().expect("compared rows have values")
            };
            for side in 0..2 {
                let name = format!("{} beside itself, {metric}", view(report));
                let all = value(whole, "e", metric);
                faults.same(&name, of(total(report), side), all);
                let parts = rows(report)[1..].iter().map(|row| of(row, side));
                faults.same(&name, parts.sum(), all);
            }
        }
    }
    let alone = reports(experiment, mode, &["-OMP_preg", "-OMP_task"]);
    let beside = [path, "-compare", "on", "-OMP_preg", "-OMP_task"];
    let beside = reports(experiment, mode, &beside);
    for (alone, beside) in alone.iter().zip(&beside) {
        for side in 0..2 {
            let values = rows(beside).iter().map(|row| {
                let work = &row["values"][side]["e.ompwork"];
                work.as_f64().expect("each side has the construct")
            });
            let name = format!("{} beside itself", view(alone));
            faults.same(&name, values.sum(), sum(rows(alone), "e", "ompwork"));
        }
    }
}

/// Holds every sum against the others; what does not hold.
fn check(experiment: &Path) -> Vec<String> {
    let mut faults = Faults(Vec::new());
    let mut totals: Vec<Value> = Vec::new();
    let mut all = Vec::new();
    for mode in MODES {
        let defined = ["-indxobj_define", "couples", "THRID/2*1000+CPUID%2"];
        let views = defined.iter().chain(&LISTS).chain(&INDEXES);
        let views: Vec<&str> = views.copied().collect();
        let found = reports(experiment, mode, &views);
        let found: Vec<Value> = found
            .into_iter()
            .filter(|report| report["rows"].is_array() && report["metrics"].is_array())
            .collect();
        assert_eq!(found.len(), LISTS.len() + INDEXES.len());
        lists(&found, &mut faults);
        let whole = total(&found[0]).clone();
        all = metrics(&found[0]);
        let openmp = all.iter().any(|metric| metric == "ompwork");
        let more = ["-calltree", "-callers-callees", "-overview"];
        let found = reports(experiment, mode, &more);
        for metric in &all {
            tree(total(&found[0]), metric, &mut faults);
            neighbours(&found[1], metric, &mut faults);
        }
        overview(&found[2], &mut faults);
        if openmp {
            gains(&reports(experiment, mode, &["-OMP_preg"])[0], &mut faults);
            constructs(experiment, mode, &whole, &mut faults);
            beside_itself(experiment, mode, &whole, &mut faults);
        }
        // Hidden objects' functions are one row each, and no time is lost with them.
        let hidden = reports(experiment, mode, &["-object_hide", "all", "-functions"]);
        let hidden = hidden.last().expect("a list");
        for metric in &all {
            let name = format!("hidden objects, {metric}");
            let rows = &rows(hidden)[1..];
            faults.same(&name, sum(rows, "e", metric), value(&whole, "e", metric));
        }
        filters(experiment, mode, (&whole, &all), &mut faults);
        totals.push(whole);
    }
    for metric in &all {
        let of = |total: &Value| value(total, "e", metric);
        faults.same(&format!("modes, {metric}"), of(&totals[0]), of(&totals[1]));
    }
    faults.0
}

/// Records a program as each compiler of the languages builds it.
fn of(program_name: &str, families: &[Family]) {
    with(&[], program_name, families);
}

/// The same with options of `collect`.
fn with(options: &[&str], program_name: &str, families: &[Family]) {
    let program = program(program_name).expect("in the catalogue");
    for &family in families {
        let compiler = compiler(family);
        assert!(
            compiler.builds(program),
            "{} by {}",
            program.name,
            compiler.name
        );
        let cell = Cell {
            library: None,
            program,
            compiler: compiler.clone(),
            threads: 3,
            policy: WaitPolicy::Passive,
            perf: true,
        };
        let run = cell.record_with(options).unwrap_or_else(|e| panic!("{e}"));
        let faults = check(&run.experiment);
        assert!(
            faults.is_empty(),
            "{}, kept at {}:\n{}",
            cell.label(),
            run.experiment.display(),
            faults.join("\n")
        );
        run.discard();
    }
}

#[test]
fn of_every_wait_in_c() {
    of("moments", &[Family::Clang, Family::Gcc]);
}

/// Counters are metrics like others.
#[test]
fn of_counters_in_c() {
    let counters = ["-h", "page-faults,3,context-switches,1,task-clock"];
    with(&counters, "tasks", &[Family::Clang, Family::Gcc]);
}

#[test]
fn of_tasks_in_c() {
    of("tasks", &[Family::Clang, Family::Gcc]);
}

#[test]
fn of_nested_regions_in_c() {
    of("nested", &[Family::Clang, Family::Gcc]);
}

#[test]
fn of_a_program_without_openmp() {
    of("plain", &[Family::Gcc]);
}

#[test]
fn of_templates_in_cplusplus() {
    of("templates", &[Family::Clang, Family::Gcc]);
}

#[test]
fn of_procedures_in_fortran() {
    of("procedures", &[Family::Gfortran]);
}

#[test]
#[ignore = "needs flang"]
fn of_procedures_by_flang() {
    of("procedures", &[Family::Flang]);
}

/// For experiments of programs that are not ours: `PARALLAX_EXPERIMENTS=a.er:b.er cargo test
/// --test sums -- --ignored by_hand`.
#[test]
#[ignore = "needs experiments that somebody has recorded"]
fn of_experiments_by_hand() {
    let paths = std::env::var_os("PARALLAX_EXPERIMENTS").expect("names experiments");
    let mut faults = Vec::new();
    for path in std::env::split_paths(&paths).collect::<Vec<PathBuf>>() {
        let found = check(&path);
        println!(
            "{}: {} faults\n{}",
            path.display(),
            found.len(),
            found.join("\n")
        );
        faults.extend(
            found
                .iter()
                .map(|fault| format!("{}: {fault}", path.display())),
        );
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
