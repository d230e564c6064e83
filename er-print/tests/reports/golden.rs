//! Reports of two hand-made experiments, held against golden files that a person has read.
//! `UPDATE_EXPECT=1` writes them anew.

use std::path::{Path, PathBuf};

use expect_test::expect_file;

use crate::handmade;
use crate::program::{er_print, folder};

fn golden_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

/// Runs er_print and compares what it prints; nothing may be on stderr.
fn check(name: &str, words: &[&str]) {
    check_with(0, name, words);
}

/// The same of a run that ends with this status.
fn check_with(status: i32, name: &str, words: &[&str]) {
    let folder = folder();
    let ended = er_print(folder.path(), words);
    assert_eq!(ended.stderr, "", "{words:?}");
    assert_eq!(ended.code, Some(status), "{words:?}");
    expect_file![golden_path(name)].assert_eq(&ended.stdout);
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
    regions_by_a_metric: "omp_preg_sorted.txt",
        ["-sort", "e.ompctwt", "-OMP_preg", "-sort", "-name", "-OMP_task", "omp.er"];
    regions_of_plain: "omp_preg_plain.txt", ["-OMP_preg", "plain.er"];
    loops: "omp_loop.txt", ["-OMP_loop", "omp.er"];
    loops_as_json: "omp_loop.json", ["-printmode", "json", "-OMP_loop", "omp.er"];
    inferred_loops: "omp_loop_inferred.txt",
        ["-OMP_loop", "-printmode", "json", "-OMP_loop", "one.er"];
    locks: "omp_lock.txt", ["-OMP_lock", "omp.er"];
    locks_as_json: "omp_lock.json", ["-printmode", "json", "-OMP_lock", "omp.er"];
    tasks: "omp_task.txt", ["-OMP_task", "omp.er"];
    tasks_as_json: "omp_task.json", ["-printmode", "json", "-OMP_task", "omp.er"];
    phases: "phases.txt", [
        "-phases", "-sample_list", "-sample_detail", "-Samples", "-header", "marked.er",
    ];
    phases_as_json: "phases.json", [
        "-printmode", "json", "-phases", "-sample_list", "-sample_detail", "marked.er",
    ];
    phases_compared: "phases_compared.txt",
        ["-compare", "delta", "-phases", "-Samples", "marked.er", "omp.er"];
    filtered_by_phases: "filtered_phases.txt", [
        "-metrics", "e.total", "-filters", "\"solve\" IN PHASE", "-functions",
        "-filters", "PHASE==2", "-functions", "-filters", "SAMPLE==2", "-functions",
        "-filters", "THRID==1", "-phases", "marked.er",
    ];
    index_objects: "index.txt", [
        "-indxobj_define", "Odd", "THRID & 1", "-indxobj_list", "-CPUs", "-Seconds", "-Processes",
        "-Experiment_IDs", "-Samples", "-indxobj", "odd", "omp.er",
    ];
    index_objects_as_json: "index.json",
        ["-printmode", "json", "-CPUs", "-indxobj", "sec", "omp.er"];
    index_objects_by_a_metric: "index_sorted.txt", [
        "-sort", "i.ompwait", "-Threads", "-CPUs", "-sort", "-name", "-Threads", "-sort", "size",
        "-CPUs", "omp.er",
    ];
    limits_by_percent: "limit_percent.txt", [
        "-limit", "20%", "-functions", "-calltree", "-gprof", "-OMP_preg", "-Threads",
        "-printmode", "json", "-metrics", "e.ompwork", "-functions", "omp.er",
    ];
    counters: "counters.txt", [
        "-functions", "-calltree", "-Threads", "-thread_list", "-OMP_preg", "-OMP_task", "-overview",
        "-metric_list", "cnt.er",
    ];
    counters_by_line_and_callee: "counters_by_line.txt", [
        "-metrics", "e.page-faults:i.%cycles", "-sort", "i.cycles", "-lines", "-pcs", "-gprof",
        "-Seconds", "-CPUs", "-printmode", ",", "-functions", "cnt.er",
    ];
    counters_in_machine_mode: "counters_machine.txt", [
        "-viewmode", "machine", "-metrics", "i.instructions:e.CYCLES", "-functions", "cnt.er",
    ];
    counters_under_a_filter: "counters_filtered.txt", [
        "-metrics", "e.instructions:e.cycles", "-filters", "THRID==2", "-functions", "-filters",
        "TSTAMP<6000000", "-functions", "cnt.er",
    ];
    counters_as_json: "counters.json",
        ["-printmode", "json", "-functions", "-OMP_preg", "-overview", "-header", "cnt.er"];
    counters_added_up: "counters_added_up.txt",
        ["-metrics", "e.cycles:e.total", "-functions", "cnt.er", "cnt.er"];
    counters_compared: "compare_counters.txt", [
        "-compare", "on", "-metrics", "e.cycles:e.total", "-functions", "-OMP_preg", "-OMP_task",
        "-thread_list", "-overview", "cnt.er", "omp.er",
    ];
    counters_as_limits: "check_counters.txt", [
        "-check", "page-faults<40", "-check", "i.instructions(bar)<80%", "-check",
        "cycles<=1.1*base", "cnt.er", "cnt.er",
    ];
    header_with_counters: "header_counters.txt", ["-header", "cnt.er"];
    short_names: "short_names.txt",
        ["-name", "short", "-functions", "-OMP_preg", "-OMP_task", "omp.er"];
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
    json_statistics: "statistics.json", ["-printmode", "json", "-statistics", "plain.er"];
    json_threads: "threads.json", ["-printmode", "json", "-Threads", "omp.er"];
    json_header: "header.json", ["-printmode", "json", "-header", "plain.er"];
    filtered_functions: "filtered_functions.txt",
        ["-filters", "\"foo\" IN STACK && THRID==2", "-functions", "omp.er"];
    filtered_tree: "filtered_tree.txt",
        ["-thread_select", "1", "-filters", "OMPSTATE!=SERIAL", "-calltree", "omp.er"];
    filtered_time: "filtered_time.txt",
        ["-filters", "TSTAMP<6000000", "-metrics", "e.total", "-functions", "omp.er"];
    filtered_to_nothing: "filtered_nothing.txt", [
        "-metrics", "e.total", "-filters", "THRID==101", "-functions", "-filters",
        "LWPID IN (2, 7)", "-Threads", "-filters", "LEAF==\"nothing\"", "-OMP_preg", "omp.er",
    ];
    metrics_without_data: "no_data.txt", [
        "-metrics", "e.total:e.%ompwait", "-sort", "e.ompwait", "-limit", "3", "-functions",
        "-printmode", "json", "-functions", "plain.er",
    ];
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
    sorted_lists: "sorted_lists.txt", [
        "-sort", "i.ompwait", "-thread_list", "-lwp_list", "-cpu_list", "-sort", "-name",
        "-object_list", "-cpu_list", "-compare", "delta", "-sort", "ompwork", "-thread_list",
        "-object_list", "omp.er", "one.er",
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
    compared_details: "compare_details.txt", [
        "-compare", "on", "-limit", "2", "-fsummary", "-psummary", "-fsingle", "bar", "omp.er",
        "one.er",
    ];
    compared_details_by_ratio: "compare_details_ratio.txt", [
        "-compare", "ratio", "-limit", "3", "-metrics", "e.total", "-lsummary", "-pcs", "omp.er",
        "one.er",
    ];
    compared_fragments: "compare_fragments.txt", [
        "-compare", "on", "-metrics", "i.ompwork", "-csingle", "bar", "-cprepend",
        "foo -- OMP parallel region from line 9", "omp.er", "one.er",
    ];
    compared_overviews: "compare_overview.txt",
        ["-compare", "delta", "-limit", "3", "-overview", "omp.er", "one.er"];
    compared_overviews_as_json: "compare_overview.json", [
        "-printmode", "json", "-compare", "on", "-limit", "3", "-overview", "omp.er", "one.er"
    ];
    compared_resources: "compare_resources.txt",
        ["-compare", "delta", "-statistics", "-cpu_list", "omp.er", "one.er"];
    compared_threads: "compare_threads.txt",
        ["-compare", "on", "-thread_list", "-lwp_list", "omp.er", "one.er"];
    json_compared_threads: "compare_threads.json",
        ["-printmode", "json", "-compare", "delta", "-thread_list", "omp.er", "one.er"];
    json_compared_details: "compare_details.json", [
        "-printmode", "json", "-compare", "on", "-limit", "2", "-metrics", "i.ompwork",
        "-fsingle", "bar", "-csingle", "bar", "-statistics", "omp.er", "one.er",
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
    delimited: "delimited.txt", [
        "-printmode", ",", "-functions", "-thread_list", "-calltree", "-OMP_preg", "-OMP_task",
        "-overview", "-setpath", "src", "-source", "bar", "omp.er",
    ];
    html: "html.txt", [
        "-printmode", "html", "-functions", "-thread_list", "-header", "-OMP_preg", "-OMP_task",
        "-overview", "-setpath", "src", "-source", "bar", "-calltree", "omp.er",
    ];
    markdown: "markdown.md", [
        "-printmode", "markdown", "-functions", "-thread_list", "-header", "-OMP_preg",
        "-OMP_task", "-overview", "-setpath", "src", "-source", "bar", "-calltree", "omp.er",
    ];
    delimited_comparison: "delimited_comparison.txt",
        ["-printmode", "|", "-compare", "ratio", "-OMP_preg", "omp.er", "one.er"];
    checks_that_hold: "checks.txt", [
        "-check", "ompwait < 50%", "-check", "e.total(bar)<=1.2*base",
        "-check", "e.total(foo -- OMP parallel region from line 9) < 1.6 * base", "-check", "i.total(foo) > 1s",
        "omp.er", "one.er",
    ];
    races: "races.txt", ["-races", "-rsummary", "race.er"];
    races_in_detail: "rdetail.txt", ["-setpath", "checked", "-rdetail", "all", "race.er"];
    races_in_machine_mode: "races_machine.txt",
        ["-viewmode", "machine", "-races", "-rdetail", "2", "race.er"];
    races_as_json: "races.json",
        ["-printmode", "json", "-races", "-rdetail", "3", "-rsummary", "race.er"];
    races_under_a_filter: "races_filtered.txt", [
        "-filters", "\"nobody\" IN STACK", "-races", "-filters", "THRID==1", "-races",
        "-filters", "LEAF==\"add\"", "-limit", "1", "-races", "race.er",
    ];
    races_by_name: "races_sorted.txt",
        ["-sort", "name", "-races", "-sort", "e.total", "-races", "race.er"];
    races_delimited: "races_delimited.txt", ["-printmode", ",", "-races", "-printmode", "html", "-races", "race.er"];
    suppressed_races: "races_suppressed.txt", [
        "-suppressions", "known.txt", "-races", "-misuse", "-rsummary", "-rdetail", "1", "race.er",
    ];
    races_compared: "races_compared.txt",
        ["-compare", "on", "-races", "-deadlocks", "race.er", "later.er"];
    races_compared_as_json: "races_compared.json",
        ["-printmode", "json", "-compare", "on", "-limit", "2", "-races", "race.er", "later.er"];
    findings_compared_in_short: "findings_compared.txt", ["-compare", "race.er", "later.er"];
    races_added_up: "races_added_up.txt", ["-races", "race.er", "later.er", "plain.er"];
    deadlocks: "deadlocks.txt", [
        "-setpath", "checked", "-deadlocks", "-ddetail", "all", "-dsummary", "race.er",
    ];
    deadlocks_as_json: "deadlocks.json",
        ["-printmode", "json", "-deadlocks", "-ddetail", "2", "-dsummary", "race.er"];
    misuse_and_uninitialised_reads: "misuse.txt",
        ["-misuse", "-uninit", "-udetail", "1", "race.er"];
    misuse_and_uninitialised_reads_as_json: "misuse.json",
        ["-printmode", "json", "-misuse", "-uninit", "-udetail", "race.er"];
    divergences: "divergence.txt", [
        "-setpath", "checked", "-divergence", "-vdetail", "all", "-vsummary", "-header",
        "compare.er",
    ];
    divergences_as_json: "divergence.json",
        ["-printmode", "json", "-divergence", "-vdetail", "1", "-vsummary", "compare.er"];
    nothing_found: "nothing_found.txt", [
        "-deadlocks", "-ddetail", "all", "-dsummary", "-printmode", "json", "-deadlocks", "-misuse",
        "-check", "deadlocks", "clean.er",
    ];
    header_with_checks: "header_checks.txt",
        ["-header", "-overview", "-printmode", "json", "-header", "race.er"];
    ranks: "ranks.txt", [
        "-ranks", "-mpi", "job.r0.er", "job.r1.er", "job.r2.er",
    ];
    ranks_as_json: "ranks.json", [
        "-printmode", "json", "-ranks", "-limit", "2", "-mpi", "job.r0.er", "job.r1.er", "job.r2.er",
    ];
    time_by_rank_and_host: "rank_ids.txt", [
        "-Rank_IDs", "-Hosts", "-filters", "RANK >= 1", "-Rank_IDs", "far.r0.er", "far.r1.er", "far.r2.er",
    ];
    ranks_that_are_missing: "ranks_missing.txt", ["-ranks", "-mpi", "part.r0.er", "part.r1.er"];
    one_rank: "ranks_one.txt", [
        "-ranks", "-mpi", "-filters", "THRID==1", "-ranks", "-mpi", "job.r2.er",
    ];
    ranks_compared: "ranks_compared.txt",
        ["-compare", "delta", "-mpi", "-ranks", "job.r0.er", "job.r1.er"];
    no_ranks: "ranks_none.txt", [
        "-ranks", "-mpi", "-waits", "-printmode", "json", "-ranks", "-mpi", "-waits", "omp.er",
    ];
    waits_of_ranks: "waits.txt", ["-waits", "job.r0.er", "job.r1.er", "job.r2.er"];
    waits_of_ranks_as_json: "waits.json", [
        "-printmode", "json", "-waits", "job.r0.er", "job.r1.er", "job.r2.er",
    ];
    waits_of_ranks_in_other_forms: "waits_forms.txt", [
        "-printmode", "markdown", "-waits", "-ranks", "-printmode", "html", "-ranks", "-printmode",
        ",", "-limit", "2", "-mpi", "-waits", "job.r0.er", "job.r1.er", "job.r2.er",
    ];
    waits_for_ranks_that_are_missing: "waits_missing.txt", ["-waits", "part.r0.er", "part.r1.er"];
    waits_of_several_hosts: "waits_hosts.txt", ["-waits", "far.r0.er", "far.r1.er", "far.r2.er"];
    causes_of_waits: "causes.txt", [
        "-causes", "-critical", "-ranks", "late.r0.er", "late.r1.er", "late.r2.er", "late.r3.er",
    ];
    causes_of_waits_as_json: "causes.json", [
        "-printmode", "json", "-causes", "-critical", "late.r0.er", "late.r1.er", "late.r2.er",
        "late.r3.er",
    ];
    causes_with_ranks_that_are_missing: "causes_missing.txt",
        ["-causes", "-critical", "part.r0.er", "part.r1.er"];
    causes_of_several_hosts_or_jobs: "causes_hosts.txt", [
        "-causes", "-critical", "far.r0.er", "far.r1.er", "far.r2.er",
    ];
    no_causes: "causes_none.txt", [
        "-causes", "-critical", "-filters", "THRID==1", "-causes", "-critical", "job.r2.er",
    ];
    help: "help.txt", ["-help"];
}

/// All conditions hold, but not all of the program was checked.
#[test]
fn budgets_of_findings() {
    let words = [
        "-check",
        "races <= 2",
        "-check",
        "races(add) <= base",
        "-check",
        "races(main) = 0",
        "-check",
        "deadlocks < 3",
        "-suppressions",
        "known.txt",
        "-check",
        "races == 1",
        "-check",
        "misuse <= 1",
        "-printmode",
        "json",
        "-check",
        "uninit <= 2 * base",
        "race.er",
        "later.er",
    ];
    check_with(2, "check_findings.txt", &words);
}

/// Every command that shows something does so in JSON as one object a line and no more, also of
/// several experiments and beside each other. Those that only choose something are silent.
#[test]
fn json_is_one_object_a_command() {
    let folder = folder();
    let help = er_print(folder.path(), &["-printmode", "json", "-help"]);
    let help: serde_json::Value = serde_json::from_str(&help.stdout).unwrap();
    let words = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap().to_owned();
    let shows = |row: &&serde_json::Value| {
        let supported = row["supported"] == true;
        // A fragment that csingle has begun may be shortened; what ends the run comes last.
        let apart = [
            "crmfirst",
            "crmlast",
            "quit",
            "objects_default",
            "no_source",
            "redact",
            // Of no experiment here.
            "divergence",
            "vsummary",
        ];
        let name = words(row, "name");
        supported && row["arguments"] == "" && !apart.contains(&name.as_str())
    };
    let rows = help["rows"].as_array().unwrap();
    let mut views: Vec<String> = rows
        .iter()
        .filter(shows)
        .map(|row| words(row, "name"))
        .collect();
    assert!(views.len() >= 35, "{views:?}");
    views.extend(["fsingle main", "csingle main", "source foo", "disasm bar"].map(str::to_owned));
    views.push("check total < 99".to_owned());
    let findings = [
        "races",
        "rsummary",
        "deadlocks",
        "dsummary",
        "misuse",
        "uninit",
    ];
    for (mode, experiments) in [
        ("off", ["omp.er"].as_slice()),
        ("off", &["omp.er", "one.er"]),
        ("on", &["omp.er", "one.er"]),
        ("ratio", &["one.er", "omp.er"]),
    ] {
        for view in &views {
            let dashed = format!("-{view}");
            let (name, argument) = dashed.split_once(' ').unwrap_or((&dashed, ""));
            let mut words = vec!["-printmode", "json", "-limit", "5", "-compare", mode, name];
            words.extend((!argument.is_empty()).then_some(argument));
            let is_finding = findings.contains(&&name[1..]);
            words.extend(experiments.iter().map(|name| match *name {
                "omp.er" if is_finding => "race.er",
                "one.er" if is_finding => "later.er",
                name => name,
            }));
            let ended = er_print(folder.path(), &words);
            let what = format!("{words:?}: {}", ended.stderr);
            assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{what}");
            let report: serde_json::Value = serde_json::from_str(&ended.stdout).expect(&what);
            assert_eq!(ended.stdout.lines().count(), 1, "{what}");
            assert_eq!(report["view"], name[1..], "{what}");
        }
    }
}

/// A budget that does not hold ends with status 1 and names what breaks it; only races of class race count.
#[test]
fn findings_over_budget_fail_the_check() {
    let folder = folder();
    for (words, said) in [
        (
            &["-check", "race.er"] as &[&str],
            "FAIL races == 0: 2, limit 0\n  race 1: sum, foo.c:12 (add), foo.c:12 (add)\n  race 2: a[17], foo.c:12 (add), foo.c:14 (add)\n",
        ),
        (&["-check", "races", "race.er"], "FAIL races == 0: 2"),
        (
            &["-check", "races(new) == 0", "later.er", "race.er"],
            "FAIL races(new) == 0: 1, limit 0\n  race 1: count, foo.c:14 (add), foo.c:12 (add)\n",
        ),
        (
            &["-suppressions", "known.txt", "-check", "races", "race.er"],
            "FAIL races == 0: 1, limit 0, 1 suppressed\n  race 2",
        ),
        (
            &["-check", "deadlocks", "race.er"],
            "FAIL deadlocks == 0: 2",
        ),
        (&["-check", "misuse", "race.er"], "FAIL misuse == 0: 1"),
        (&["-check", "uninit == 0", "race.er"], "FAIL uninit == 0: 1"),
        (
            &["-check", "divergence == 0", "compare.er"],
            "FAIL divergence == 0: 1",
        ),
    ] {
        let ended = er_print(folder.path(), words);
        assert_eq!(
            (ended.code, ended.stderr.as_str()),
            (Some(1), ""),
            "{words:?}"
        );
        let verdict = match ended.stdout.split_once('\n') {
            Some((first, verdict)) if first.starts_with("Not all was checked: ") => verdict,
            _ => &ended.stdout,
        };
        assert!(verdict.starts_with(said), "{words:?}: {verdict}");
    }
}

/// An experiment without findings is not one without races.
#[test]
fn without_data_there_is_one_sentence_and_no_answer() {
    let folder = folder();
    for (words, said) in [
        (
            &["-races", "omp.er"] as &[&str],
            "er_print: the experiment has no data on races (omp.er); record it with `collect -r race`\n",
        ),
        (
            &["-udetail", "2", "clean.er"],
            "er_print: the experiment has no data on uninitialised reads (clean.er); record it with `collect -r init`\n",
        ),
        (
            &["-check", "clean.er"],
            "er_print: the experiment has no data on races (clean.er); record it with `collect -r race`\n",
        ),
        (
            &["-compare", "on", "-races", "race.er", "omp.er"],
            "er_print: the experiment has no data on races (omp.er); record it with `collect -r race`\n",
        ),
        (
            &["-rdetail", "4", "race.er"],
            "er_print: there is no race 4: races lists 3, from 1\n",
        ),
        (&["-rdetail", "x", "race.er"], ""),
        (
            &["-check", "races < 5%", "race.er"],
            "er_print: check counts races, which are no part of a whole: write races == 0\n",
        ),
        (
            &["-check", "races(each line) == 0", "race.er"],
            "er_print: check counts races of the program, of a function, or new ones: write races == 0, races(main) == 0 or races(new) == 0\n",
        ),
        (
            &["-check", "races(new) == 0", "race.er"],
            "er_print: check compares with base: name the base experiment after the one to check\n",
        ),
    ] {
        let ended = er_print(folder.path(), words);
        assert_eq!(
            (ended.code == Some(0), ended.stdout.as_str()),
            (false, ""),
            "{words:?}"
        );
        assert!(
            said.is_empty() || ended.stderr == said,
            "{words:?}: {}",
            ended.stderr
        );
    }
}

/// Full precision: work and wait add up to the lifetimes, in both modes.
#[test]
fn json_totals_add_up_in_both_modes() {
    let folder = tempfile::tempdir().unwrap();
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
        let ended = er_print(folder.path(), &words);
        let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
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
fn a_deep_recursion_is_folded() {
    let folder = tempfile::tempdir().unwrap();
    handmade::recursion(&folder.path().join("deep.er"));
    let words = [
        "-calltree",
        "-gprof",
        "-printmode",
        "json",
        "-calltree",
        "deep.er",
    ];
    let ended = er_print(folder.path(), &words);
    assert_eq!(ended.code, Some(0));
    let printed = ended.stdout;
    let rows = |mark| printed.lines().filter(|line| line.ends_with(mark)).count();
    assert_eq!(rows("+-dig (recursive)"), 1);
    assert_eq!(rows("+-dig"), 0);
    // `<Total>` is the outermost row.
    let json = printed.lines().last().unwrap();
    assert_eq!(json.matches("\"children\":[").count(), 2);
    assert_eq!(json.matches("\"recursive\":true").count(), 1);
}
