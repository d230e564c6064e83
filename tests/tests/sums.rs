//! The sums that hold in every report of a real run, in both modes: what two views show of one
//! time is one number, and a filter and its opposite leave all of it.
//!
//! How much time there is is held against the programs in `truth.rs`; here nothing depends on it,
//! so that a loaded machine changes nothing.

use end_to_end::{Cell, Recorded, compiler, tools};
use fixtures::{Family, WaitPolicy, program};
use serde::Deserialize;
use serde_json::Value;

const MODES: [&str; 2] = ["user", "machine"];

const METRICS: [&str; 17] = [
    "total",
    "totalcpu",
    "offcpu",
    "ompwork",
    "ompwait",
    "offcpuwork",
    "ompovhd",
    "omprduc",
    "ompibar",
    "ompebar",
    "ompidle",
    "omplkwt",
    "ompctwt",
    "ompodwt",
    "ompatwt",
    "omptskwt",
    "blame",
];

/// One filter of each kind of word; with its opposite it leaves everything.
const FILTERS: [&str; 9] = [
    "THRID==1",
    "LWPID%2==0",
    "CPUID==0",
    "TSTAMP<123456789",
    "CPUID>0 && TSTAMP>200000000",
    "OMPSTATE==OMPIBAR",
    "MSTATE==BLOCKED",
    "CPRID>0",
    "\"main\" IN STACK",
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

/// The reports of several commands, in their order.
fn reports(run: &Recorded, mode: &str, commands: &[&str]) -> Vec<Value> {
    let list: Vec<String> = METRICS.iter().map(|m| format!("e.{m}:i.{m}")).collect();
    let list = format!("{}:name", list.join(":"));
    let mut words = vec!["-printmode", "json", "-viewmode", mode, "-metrics", &list];
    words.extend(commands);
    let text = tools().print(&run.experiment, &words);
    text.lines()
        .map(|line| {
            let mut reader = serde_json::Deserializer::from_str(line);
            reader.disable_recursion_limit();
            Value::deserialize(&mut reader).unwrap_or_else(|e| panic!("{commands:?}: {e}"))
        })
        .collect()
}

fn rows(report: &Value) -> &[Value] {
    report["rows"].as_array().expect("reports have rows")
}

fn value(row: &Value, flavour: &str, metric: &str) -> f64 {
    let value = &row["values"][format!("{flavour}.{metric}")];
    value.as_f64().expect("rows have the metrics asked for")
}

fn sum<'a>(rows: impl IntoIterator<Item = &'a Value>, flavour: &str, metric: &str) -> f64 {
    let rows = rows.into_iter();
    rows.map(|row| value(row, flavour, metric)).sum()
}

/// Every list's rows against its total, and that against `<Total>` of the functions.
fn lists(reports: &[Value], faults: &mut Faults) {
    let total = &rows(&reports[0])[0];
    for metric in METRICS {
        let all = value(total, "e", metric);
        for report in reports {
            let view = report["view"].as_str().expect("reports have a view");
            let of = |what: &str| format!("{view}, {metric}, {what}");
            match view {
                "functions" | "lines" | "pcs" => {
                    let [first, rest @ ..] = rows(report) else {
                        panic!("{view} has no total");
                    };
                    faults.same(&of("total"), value(first, "e", metric), all);
                    faults.same(&of("exclusive"), sum(rest, "e", metric), all);
                    for row in rest {
                        let (own, whole) = (value(row, "e", metric), value(row, "i", metric));
                        if own > whole + 1e-9 || whole > all + 1e-6 {
                            let name = &row["name"];
                            faults
                                .0
                                .push(of(&format!("{name}: {own}, {whole} of {all}")));
                        }
                    }
                }
                _ => faults.same(&of("rows"), sum(rows(report), "e", metric), all),
            }
        }
    }
    let of = |metric: &str| value(total, "e", metric);
    faults.same("work and wait", of("ompwork") + of("ompwait"), of("total"));
    faults.same("on and off", of("totalcpu") + of("offcpu"), of("total"));
    let waits = METRICS[8..16].iter().map(|&metric| of(metric)).sum::<f64>();
    faults.same("waits", waits + of("offcpuwork"), of("ompwait"));
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
        let balance = row["load_balance"].as_f64().expect("every region ended");
        if !(0.0..=1.0 + 1e-9).contains(&balance) {
            faults
                .0
                .push(format!("load balance {balance} of {}", row["name"]));
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

/// What a filter leaves of the functions, threads and CPUs, and what its opposite does.
fn filters(run: &Recorded, mode: &str, all: &Value, faults: &mut Faults) {
    for filter in FILTERS {
        let opposite = format!("!({filter})");
        let left = |filter: &str| {
            let views = [
                "-filters",
                filter,
                "-functions",
                "-Threads",
                "-CPUs",
                "-lines",
            ];
            reports(run, mode, &views)
        };
        let (kept, rest) = (left(filter), left(&opposite));
        for metric in METRICS {
            let total = |reports: &[Value]| value(&rows(&reports[0])[0], "e", metric);
            let name = format!("{mode}, {filter}, {metric}");
            faults.same(&name, total(&kept) + total(&rest), value(all, "e", metric));
            for report in [&kept[1], &kept[2]] {
                let name = format!("{name}, {}", report["view"]);
                faults.same(&name, sum(rows(report), "e", metric), total(&kept));
            }
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

/// Holds every sum against the others; what does not hold.
fn check(run: &Recorded) -> Vec<String> {
    let mut faults = Faults(Vec::new());
    let mut totals: Vec<Value> = Vec::new();
    for mode in MODES {
        let views = [
            "-functions",
            "-lines",
            "-pcs",
            "-Threads",
            "-CPUs",
            "-Seconds",
            "-Processes",
            "-Experiment_IDs",
        ];
        let found = reports(run, mode, &views);
        lists(&found, &mut faults);
        let total = rows(&found[0])[0].clone();
        let more = ["-calltree", "-callers-callees", "-OMP_preg", "-overview"];
        let found = reports(run, mode, &more);
        for metric in METRICS {
            tree(&rows(&found[0])[0], metric, &mut faults);
            neighbours(&found[1], metric, &mut faults);
        }
        gains(&found[2], &mut faults);
        efficiency(&found[3]["efficiency"], &mut faults);
        // Regions, serial code and idle threads are all there is.
        let outside = ["-filters", "CPRID==0", "-functions"];
        let outside = reports(run, mode, &outside);
        for metric in ["total", "ompwork", "ompwait"] {
            let inside = sum(rows(&found[2]), "e", metric);
            let outside = value(&rows(&outside[0])[0], "e", metric);
            let all = value(&total, "e", metric);
            faults.same(&format!("regions, {metric}"), inside + outside, all);
        }
        filters(run, mode, &total, &mut faults);
        totals.push(total);
    }
    for metric in METRICS {
        let of = |total: &Value| value(total, "e", metric);
        faults.same(&format!("modes, {metric}"), of(&totals[0]), of(&totals[1]));
    }
    faults.0
}

/// Records a program as each compiler of the languages builds it.
fn of(program_name: &str, families: &[Family]) {
    let program = program(program_name).expect("in the catalogue");
    for &family in families {
        let Some(compiler) = compiler(family).filter(|it| it.builds(program)) else {
            continue;
        };
        let cell = Cell {
            library: None,
            program,
            compiler: compiler.clone(),
            threads: 3,
            policy: WaitPolicy::Passive,
        };
        let run = cell.record().unwrap_or_else(|e| panic!("{e}"));
        let faults = check(&run);
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

#[test]
fn of_tasks_in_c() {
    of("tasks", &[Family::Clang, Family::Gcc]);
}

#[test]
fn of_nested_regions_in_c() {
    of("nested", &[Family::Clang, Family::Gcc]);
}

#[test]
fn of_templates_in_cplusplus() {
    of("templates", &[Family::Clang, Family::Gcc]);
}

#[test]
fn of_procedures_in_fortran() {
    of("procedures", &[Family::Flang, Family::Gfortran]);
}
