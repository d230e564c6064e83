//! Reports of two hand-made experiments, held against golden files that a person has read.
//! `BLESS=1` writes them anew.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::handmade::{self, Folder};

fn er_print(folder: &Path, words: &[&str]) -> Output {
    let words = words.iter().copied();
    let mut command = Command::new(env!("CARGO_BIN_EXE_er_print"));
    // Named as a user would name them, so that golden files hold no path of this machine.
    command.args(words).current_dir(folder).output().unwrap()
}

fn golden_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

/// Runs er_print and compares what it prints; nothing may be on stderr.
fn check(name: &str, words: &[&str]) {
    let folder = Folder::new(name);
    handmade::openmp(&folder.path().join("omp.er"));
    handmade::plain(&folder.path().join("plain.er"));
    handmade::source(&folder.path().join("src"));
    handmade::single(&folder.path().join("one.er"));
    let output = er_print(folder.path(), words);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words:?}");
    assert_eq!(output.status.code(), Some(0), "{words:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let path = golden_path(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &printed).unwrap();
        return;
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        printed,
        golden,
        "{}: if this is right, run with BLESS=1",
        path.display()
    );
}

macro_rules! goldens {
    ($($name:ident: $file:literal, [$($word:literal),* $(,)?];)*) => {$(
        #[test]
        fn $name() {
            check($file, &[$($word),*]);
        }
    )*};
}

goldens! {
    functions: "functions.txt", ["-functions", "omp.er"];
    functions_of_plain: "functions_plain.txt", ["-functions", "plain.er"];
    functions_in_machine_mode: "functions_machine.txt",
        ["-viewmode", "machine", "-functions", "omp.er"];
    functions_by_other_metrics: "functions_metrics.txt", [
        "-metrics", "e.%total:i!total:e%ompwait:e.offcpuwork:size:address:name",
        "-sort", "i.total", "-limit", "4", "-functions", "omp.er",
    ];
    functions_by_name_reversed: "functions_by_name.txt",
        ["-sort", "-name", "-name", "mangled:soname", "-functions", "plain.er"];
    calltree: "calltree.txt", ["-calltree", "omp.er"];
    calltree_in_machine_mode: "calltree_machine.txt",
        ["-viewmode", "machine", "-calltree", "omp.er"];
    calltree_of_plain: "calltree_plain.txt", ["-name", "short", "-ctree", "plain.er"];
    callers_callees: "callers_callees.txt", ["-gprof", "omp.er"];
    callers_callees_of_a_recursion: "callers_callees_plain.txt",
        ["-callers-callees", "plain.er"];
    fsingle: "fsingle.txt", ["-fsingle", "bar", "-fsingle", "<OMP implicit barrier>", "omp.er"];
    lines: "lines.txt", ["-lines", "omp.er"];
    header: "header.txt", ["-header", "omp.er"];
    header_of_plain: "header_plain.txt", ["-header", "plain.er"];
    overview: "overview.txt", ["-overview", "omp.er"];
    overview_of_plain: "overview_plain.txt", ["-overview", "plain.er"];
    regions: "omp_preg.txt", ["-OMP_preg", "omp.er"];
    regions_as_json: "omp_preg.json", ["-printmode", "json", "-OMP_preg", "omp.er"];
    regions_under_a_filter: "omp_preg_filtered.txt",
        ["-filters", "THRID==1", "-OMP_preg", "omp.er"];
    regions_of_plain: "omp_preg_plain.txt", ["-OMP_preg", "plain.er"];
    tasks: "omp_task.txt", ["-OMP_task", "omp.er"];
    tasks_as_json: "omp_task.json", ["-printmode", "json", "-OMP_task", "omp.er"];
    index_objects: "index.txt", [
        "-indxobj_define", "Odd", "THRID & 1", "-indxobj_list", "-CPUs", "-Seconds", "-Processes",
        "-Experiment_IDs", "-Samples", "-indxobj", "odd", "omp.er",
    ];
    index_objects_as_json: "index.json",
        ["-printmode", "json", "-CPUs", "-indxobj", "sec", "omp.er"];
    blame: "blame.txt", ["-metrics", "e.ompwork:e.blame:i.blame", "-functions", "omp.er"];
    overview_as_json: "overview.json", ["-printmode", "json", "-overview", "omp.er"];
    thread_list: "thread_list.txt", ["-thread_list", "omp.er"];
    threads: "threads.txt", ["-Threads", "omp.er"];
    object_list: "object_list.txt", ["-object_list", "omp.er"];
    metric_list: "metric_list.txt", ["-metric_list", "omp.er"];
    metric_list_of_plain: "metric_list_plain.txt", ["-metric_list", "plain.er"];
    json_functions: "functions.json", ["-printmode", "json", "-functions", "omp.er"];
    json_calltree: "calltree.json", ["-printmode", "json", "-calltree", "omp.er"];
    json_callers_callees: "callers_callees.json",
        ["-printmode", "json", "-metrics", "e.ompwork", "-callers-callees", "omp.er"];
    json_threads: "threads.json", ["-printmode", "json", "-Threads", "omp.er"];
    json_header: "header.json", ["-printmode", "json", "-header", "plain.er"];
    filtered_functions: "filtered_functions.txt",
        ["-filters", "\"foo\" IN STACK && THRID==2", "-functions", "omp.er"];
    filtered_tree: "filtered_tree.txt",
        ["-thread_select", "1", "-filters", "OMPSTATE!=SERIAL", "-calltree", "omp.er"];
    filtered_time: "filtered_time.txt",
        ["-filters", "TSTAMP<6000000", "-metrics", "e.total", "-functions", "omp.er"];
    describe: "describe.txt", ["-describe"];
    hidden_objects: "hidden_objects.txt", [
        "-viewmode", "machine", "-object_hide", "libomp.so.5", "-object_api", "app",
        "-calltree", "omp.er",
    ];
    selected_objects: "selected_objects.txt",
        ["-object_select", "<app>", "-viewmode", "machine", "-functions", "omp.er"];
    added_up: "added_up.txt", ["-functions", "omp.er", "plain.er"];
    filtered_by_experiment: "filtered_by_experiment.txt",
        ["-filters", "EXPID==2", "-functions", "-Threads", "omp.er", "plain.er"];
    json_filtered: "filtered.json",
        ["-printmode", "json", "-filters", "MSTATE==BLOCKED", "-Threads", "omp.er"];
    pcs: "pcs.txt", ["-pcs", "omp.er"];
    fsummary: "fsummary.txt", ["-limit", "3", "-fsummary", "omp.er"];
    lsummary: "lsummary.txt", ["-limit", "2", "-lsummary", "plain.er"];
    psummary: "psummary.txt", ["-limit", "2", "-psummary", "plain.er"];
    source_without_its_file: "source_missing.txt", ["-source", "foo.c", "omp.er"];
    source: "source.txt", ["-setpath", "src", "-sthresh", "50", "-source", "bar", "omp.er"];
    source_without_comments: "source_bare.txt", [
        "-pathmap", "/home/ann/app", "./src", "-scc", "none", "-metrics", "e.total",
        "-source", "foo.c", "omp.er",
    ];
    json_source: "source.json",
        ["-printmode", "json", "-addpath", "src", "-metrics", "e.total", "-source", "bar", "omp.er"];
    disasm_without_its_file: "disasm_missing.txt", ["-disasm", "bar", "omp.er"];
    csingle: "csingle.txt", [
        "-csingle", "foo", "-cprepend", "main", "-cappend", "foo.omp_outlined", "-crmfirst",
        "-crmlast", "omp.er",
    ];
    csingle_of_a_recursion: "csingle_plain.txt",
        ["-metrics", "e.total", "-csingle", "fib", "-cappend", "fib", "plain.er"];
    json_csingle: "csingle.json", [
        "-printmode", "json", "-metrics", "e.total", "-csingle", "bar", "-cprepend",
        "foo.omp_outlined", "omp.er",
    ];
    experiment_list: "experiment_list.txt", ["-experiment_list", "omp.er", "plain.er"];
    other_lists: "other_lists.txt", ["-lwp_list", "-cpu_list", "-sample_list", "-objects", "omp.er"];
    json_lists: "other_lists.json", [
        "-printmode", "json", "-lwp_list", "-cpu_list", "-sample_list", "-objects",
        "-experiment_list", "omp.er",
    ];
    resources: "resources.txt", ["-statistics", "-sample_detail", "plain.er"];
    lists_of_metrics: "other_metrics.txt", ["-cmetric_list", "-indx_metric_list", "plain.er"];
    compared: "compare_on.txt", ["-compare", "on", "-functions", "omp.er", "one.er"];
    compared_by_difference: "compare_delta.txt",
        ["-compare", "delta", "-metrics", "e.total", "-functions", "-lines", "omp.er", "one.er"];
    compared_by_ratio: "compare_ratio.txt",
        ["-compare", "ratio", "-metrics", "i.total", "-functions", "one.er", "omp.er"];
    compared_trees: "compare_trees.txt", [
        "-compare", "on", "-metrics", "i.ompwork:i.ompwait", "-calltree", "-limit", "3",
        "-callers-callees", "omp.er", "one.er",
    ];
    compared_constructs: "compare_constructs.txt",
        ["-compare", "delta", "-OMP_preg", "-OMP_task", "omp.er", "one.er"];
    compared_lists: "compare_lists.txt", [
        "-compare", "ratio", "-Threads", "-Seconds", "-Processes", "-object_list", "-metrics",
        "e.total", "-source", "foo.c", "omp.er", "one.er",
    ];
    json_compared_views: "compare_views.json", [
        "-printmode", "json", "-compare", "on", "-metrics", "e.total", "-limit", "2", "-calltree",
        "-callers-callees", "-Threads", "-OMP_preg", "-source", "foo.c", "-compare", "scaling",
        "-OMP_preg", "omp.er", "one.er",
    ];
    disasm_of_two_builds: "disasm_two_builds.txt",
        ["-metrics", "e.total", "-disasm", "bar", "omp.er", "one.er"];
    scaling: "scaling.txt",
        ["-compare", "scaling", "-functions", "-OMP_preg", "omp.er", "one.er"];
    json_compared: "compare.json", [
        "-printmode", "json", "-metrics", "i.total", "-compare", "on", "-functions", "-compare",
        "scaling", "-functions", "omp.er", "one.er",
    ];
    open_and_drop: "open_and_drop.txt", [
        "-add_exp", "plain.er", "-drop_exp", "omp.er", "-experiment_list", "-add_exp", "one.er",
        "-experiment_list", "-open_exp", "omp.er", "-experiment_list", "omp.er",
    ];
    delimited: "delimited.txt",
        ["-printmode", ",", "-functions", "-thread_list", "-calltree", "omp.er"];
    html: "html.txt", ["-printmode", "html", "-functions", "-thread_list", "-header", "omp.er"];
    checks_that_hold: "checks.txt", [
        "-check", "ompwait < 50%", "-check", "e.total(bar)<=1.2*base",
        "-check", "e.total(foo -- OMP parallel region from line 9) < 1.6 * base", "-check", "i.total(foo) > 1s",
        "omp.er", "one.er",
    ];
    help: "help.txt", ["-help"];
}

/// Each view, in JSON, is one object and no more, whatever other commands run between.
#[test]
fn json_is_one_object_a_command() {
    let folder = Folder::new("one-object");
    handmade::openmp(&folder.path().join("omp.er"));
    let views = [
        "-functions",
        "-calltree",
        "-callers-callees",
        "-lines",
        "-header",
        "-overview",
        "-thread_list",
        "-Threads",
        "-object_list",
        "-metric_list",
        "-version",
        "-help",
    ];
    let mut words = vec![
        "-printmode",
        "json",
        "-limit",
        "5",
        "-metrics",
        "i.total:size",
    ];
    words.extend([
        "-sort",
        "i.total",
        "-viewmode",
        "machine",
        "-fsingle",
        "main",
    ]);
    words.extend(views);
    words.push("omp.er");
    let output = er_print(folder.path(), &words);
    assert_eq!(output.status.code(), Some(0));
    let printed = String::from_utf8(output.stdout).unwrap();
    let objects: Vec<serde_json::Value> = printed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let names: Vec<&str> = objects
        .iter()
        .map(|object| object["view"].as_str().unwrap())
        .collect();
    let expected: Vec<&str> = views.iter().map(|view| &view[1..]).collect();
    assert_eq!(names[0], "fsingle");
    assert_eq!(names[1..], expected);
    for object in &objects[..5] {
        assert_eq!(object["viewmode"], "machine");
        assert_eq!(object["experiments"], serde_json::json!(["omp.er"]));
    }
}

/// Full precision: work and wait add up to the lifetimes, in both modes.
#[test]
fn json_totals_add_up_in_both_modes() {
    let folder = Folder::new("totals");
    handmade::openmp(&folder.path().join("omp.er"));
    for mode in ["user", "machine"] {
        let metrics = "e.total:e.ompwork:e.ompwait:e.user:e.system:e.offcpu:e.offcpuwork";
        let words = [
            "-viewmode",
            mode,
            "-printmode",
            "json",
            "-metrics",
            metrics,
            "-functions",
            "omp.er",
        ];
        let output = er_print(folder.path(), &words);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let total = &report["rows"][0]["values"];
        let value = |id: &str| total[id].as_f64().unwrap();
        let close = |left: f64, right: f64| (left - right).abs() < 1e-9;
        assert!(close(value("e.total"), 4.4), "{mode}: {total}");
        assert!(close(value("e.ompwork"), 2.6), "{mode}: {total}");
        assert!(close(value("e.ompwait"), 1.8), "{mode}: {total}");
        assert!(
            close(value("e.user") + value("e.system"), 2.8),
            "{mode}: {total}"
        );
        assert!(close(value("e.offcpu"), 1.6), "{mode}: {total}");
        assert!(close(value("e.offcpuwork"), 0.1), "{mode}: {total}");
    }
}

#[test]
fn a_deep_recursion_is_shown_whole() {
    let folder = Folder::new("deep");
    handmade::recursion(&folder.path().join("deep.er"));
    let words = [
        "-calltree",
        "-gprof",
        "-printmode",
        "json",
        "-calltree",
        "deep.er",
    ];
    let output = er_print(folder.path(), &words);
    assert_eq!(output.status.code(), Some(0));
    let printed = String::from_utf8(output.stdout).unwrap();
    let rows = |mark| printed.lines().filter(|line| line.ends_with(mark)).count();
    assert_eq!(rows("+-dig"), handmade::DEEP);
    // `<Total>` is the outermost row.
    let json = printed.lines().last().unwrap();
    assert_eq!(json.matches("\"children\":[").count(), handmade::DEEP + 1);
    // The last one closes the report.
    assert_eq!(json.matches("]}").count(), handmade::DEEP + 2);
}
