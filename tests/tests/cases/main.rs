//! Programs on which Parallax was wrong, each with a check of what is right.
//!
//! Checks compare names, lines and counts with the source, and times with what the program measured
//! in the same run. `OMP_WAIT_POLICY` and the number of threads are always set.
#![allow(clippy::unwrap_used)]

mod advice;
mod bodies;
mod constructs;
mod counters;
mod locks;
mod loops;
mod programs;
mod run;
mod shown;
mod times;

use fixtures::Family::{Clang, Gcc, Gfortran};

use run::{Case, case};

type Environment = &'static [(&'static str, &'static str)];

const fn environment(
    policy: &'static str,
    threads: &'static str,
) -> [(&'static str, &'static str); 3] {
    [
        ("OMP_WAIT_POLICY", policy),
        ("OMP_NUM_THREADS", threads),
        ("OMP_DYNAMIC", "false"),
    ]
}
const PASSIVE_2: Environment = &environment("passive", "2");
const PASSIVE_4: Environment = &environment("passive", "4");
const ACTIVE_1: Environment = &environment("active", "1");
const ACTIVE_2: Environment = &environment("active", "2");

/// A test for each row, and the list of the rows.
macro_rules! cases {
    ($($name:ident: $case:expr;)+) => {
        $(
            #[test]
            fn $name() {
                $case.run(stringify!($name));
            }
        )+

        const CASES: &[Case] = &[$($case),+];
    };
}

/// libomp splits a taskloop of more tasks than this: tasks of its own create the loop's. The
/// default grows with the team. With 2, the loop of `taskloop.c` is split in every run.
const SPLIT: Environment = &[("KMP_TASKLOOP_MIN_TASKS", "2")];

/// The schedule of loops that leave it to the run.
const DYNAMIC_9: Environment = &[("OMP_SCHEDULE", "dynamic,9")];

/// libomp 14 aborts one in five runs of `target.c`, with collect or without, by an assertion in its
/// hidden helper threads.
const NO_HELPERS: Environment = &[("LIBOMP_USE_HIDDEN_HELPER_TASK", "0")];

/// With a clock, which waits have a sample differs from run to run, since the kernel takes a stack at
/// some context switches only. Without a clock none has, so that the outcome is the same in every
/// run.
const NO_CLOCK: &[&str] = &["-p", "off"];

/// So few samples that the rings hold them all, whenever `collect` gets a CPU.
const COUNTERS: &[&str] = &["-h", "page-faults,211,context-switches,5"];

/// The same without a clock.
const COUNTERS_ALONE: &[&str] = &[
    "-p",
    "off",
    "-h",
    "page-faults,211",
    "-h",
    "context-switches,5",
];

/// libgomp hangs when a thread of a team was cancelled.
const AT_MOST_2_S: &[&str] = &["timeout", "-s", "KILL", "2"];

cases! {
    // Regions, tasks and target regions.
    task_jumps_gcc: case("task_jumps.c", Gcc, PASSIVE_4, constructs::task_jumps);
    task_jumps_clang: case("task_jumps.c", Clang, PASSIVE_4, constructs::task_jumps);
    task_at_region_end_gcc:
        case("task_at_region_end.c", Gcc, PASSIVE_4, constructs::task_at_region_end);
    task_at_region_end_clang:
        case("task_at_region_end.c", Clang, PASSIVE_4, constructs::task_at_region_end);
    taskloop_gcc: case("taskloop.c", Gcc, PASSIVE_4, constructs::taskloop);
    taskloop_clang:
        case("taskloop.c", Clang, PASSIVE_4, constructs::taskloop).with(SPLIT);
    loops_gcc: case("loops.c", Gcc, PASSIVE_2, loops::of_gcc).with(DYNAMIC_9);
    loops_clang: case("loops.c", Clang, PASSIVE_2, loops::of_clang).with(DYNAMIC_9);
    loops_gfortran: case("loops.f90", Gfortran, PASSIVE_2, loops::of_gfortran);
    locks_gcc: case("locks.c", Gcc, PASSIVE_2, locks::locks);
    locks_clang: case("locks.c", Clang, PASSIVE_2, locks::locks);
    advice_gcc: case("advice.c", Gcc, PASSIVE_2, advice::deserved).arguments(&["1"]);
    advice_clang: case("advice.c", Clang, PASSIVE_2, advice::deserved).arguments(&["1"]);
    no_advice_gcc: case("advice.c", Gcc, PASSIVE_2, advice::nearly_deserved).arguments(&["0"]);
    no_advice_clang:
        case("advice.c", Clang, PASSIVE_2, advice::nearly_deserved).arguments(&["0"]);
    task_paths_gcc: case("task_paths.c", Gcc, PASSIVE_2, times::task_paths);
    task_paths_clang: case("task_paths.c", Clang, PASSIVE_2, times::task_paths);
    counters_gcc:
        case("counters.c", Gcc, PASSIVE_2, counters::known_events).options(COUNTERS);
    counters_clang:
        case("counters.c", Clang, PASSIVE_2, counters::known_events).options(COUNTERS);
    counters_alone_gcc:
        case("counters.c", Gcc, PASSIVE_2, counters::known_events).options(COUNTERS_ALONE);
    short_holds_gcc: case("short_holds.c", Gcc, PASSIVE_2, locks::short_holds);
    short_holds_clang: case("short_holds.c", Clang, PASSIVE_2, locks::short_holds);
    taskloops_gcc: case("taskloops.c", Gcc, PASSIVE_4, constructs::taskloops);
    taskloops_clang: case("taskloops.c", Clang, PASSIVE_4, constructs::taskloops);
    left_open_gcc: case("left_open.c", Gcc, PASSIVE_2, constructs::left_open);
    left_open_clang: case("left_open.c", Clang, PASSIVE_2, constructs::left_open);
    target_gcc: case("target.c", Gcc, PASSIVE_4, constructs::target);
    target_clang:
        case("target.c", Clang, PASSIVE_4, constructs::target).with(NO_HELPERS);
    target_template_gcc:
        case("target_template.cpp", Gcc, PASSIVE_4, constructs::target_template);
    target_template_clang:
        case("target_template.cpp", Clang, PASSIVE_4, constructs::target_template);
    target_inlined_gcc:
        case("target_inlined.cpp", Gcc, PASSIVE_4, constructs::target_inlined);
    target_inlined_clang:
        case("target_inlined.cpp", Clang, PASSIVE_4, constructs::target_inlined);
    teams_gcc: case("teams.c", Gcc, PASSIVE_2, constructs::teams);
    teams_clang: case("teams.c", Clang, PASSIVE_2, constructs::teams);
    // libgomp has no such threads.
    hidden_helpers_clang:
        case("hidden_helpers.c", Clang, PASSIVE_4, constructs::hidden_helpers);
    main_jumps_gcc: case("main_jumps.c", Gcc, PASSIVE_4, constructs::main_jumps);
    main_jumps_clang: case("main_jumps.c", Clang, PASSIVE_4, constructs::main_jumps);
    function_ends_gcc: case("function_ends.c", Gcc, PASSIVE_2, constructs::function_ends);
    function_ends_clang: case("function_ends.c", Clang, PASSIVE_2, constructs::function_ends);
    target_loops_gcc: case("target_loops.cpp", Gcc, PASSIVE_4, constructs::target_loops);
    target_loops_clang:
        case("target_loops.cpp", Clang, PASSIVE_4, constructs::target_loops);
    untied_gcc: case("untied.c", Gcc, PASSIVE_4, constructs::untied);
    untied_clang: case("untied.c", Clang, PASSIVE_4, constructs::untied);
    large_frame_gcc: case("large_frame.c", Gcc, PASSIVE_4, constructs::large_frame);
    large_frame_clang: case("large_frame.c", Clang, PASSIVE_4, constructs::large_frame);
    templates_gcc: case("templates.cpp", Gcc, PASSIVE_4, constructs::templates);
    templates_clang: case("templates.cpp", Clang, PASSIVE_4, constructs::templates);
    main_program_clause_gfortran:
        case("main_program_clause.f90", Gfortran, PASSIVE_2, constructs::main_program_clause);
    first_directives_gfortran:
        case("first_directives.f90", Gfortran, PASSIVE_4, bodies::first_directives);
    equal_bodies_gcc: case("equal_bodies.c", Gcc, PASSIVE_4, bodies::equal_bodies);
    equal_bodies_clang: case("equal_bodies.c", Clang, PASSIVE_4, bodies::equal_bodies);
    // clang has no functions within others.
    nested_functions_gcc:
        case("nested_functions.c", Gcc, PASSIVE_4, bodies::nested_functions);
    nested_procedures_gfortran:
        case("nested_procedures.f90", Gfortran, PASSIVE_4, bodies::nested_procedures);

    // Regions where records are lost.
    lost_records_gcc: case("lost_records.c", Gcc, ACTIVE_2, constructs::lost_records);
    lost_records_clang: case("lost_records.c", Clang, ACTIVE_2, constructs::lost_records);
    many_small_gcc: case("many_small.c", Gcc, ACTIVE_1, constructs::many_small);
    many_small_clang: case("many_small.c", Clang, ACTIVE_1, constructs::many_small);

    // Code locations of time.
    library_jumps_gcc: case("library_jumps.c", Gcc, PASSIVE_2, times::library_jumps);
    library_jumps_clang: case("library_jumps.c", Clang, PASSIVE_2, times::library_jumps);
    first_touch_gcc: case("first_touch.c", Gcc, PASSIVE_2, times::first_touch);
    first_touch_clang: case("first_touch.c", Clang, PASSIVE_2, times::first_touch);
    small_team_gcc: case("small_team.c", Gcc, PASSIVE_4, times::small_team);
    small_team_clang: case("small_team.c", Clang, PASSIVE_4, times::small_team);
    // The program prints what two threads measured.
    barrier_lines_gcc:
        case("barrier_lines.c", Gcc, PASSIVE_2, times::barrier_lines).options(NO_CLOCK);
    barrier_lines_clang:
        case("barrier_lines.c", Clang, PASSIVE_2, times::barrier_lines).options(NO_CLOCK);
    lock_lines_gcc:
        case("lock_lines.c", Gcc, PASSIVE_4, times::lock_lines).options(NO_CLOCK);
    lock_lines_clang:
        case("lock_lines.c", Clang, PASSIVE_4, times::lock_lines).options(NO_CLOCK);
    wait_lines_gcc: case("wait_lines.c", Gcc, PASSIVE_4, times::wait_lines);
    wait_lines_clang: case("wait_lines.c", Clang, PASSIVE_4, times::wait_lines);
    wait_lines_gfortran: case("wait_lines.f90", Gfortran, PASSIVE_4, times::wait_lines);
    wait_lines_without_samples_gcc:
        case("wait_lines.c", Gcc, PASSIVE_2, times::wait_lines).options(NO_CLOCK);
    wait_lines_without_samples_clang:
        case("wait_lines.c", Clang, PASSIVE_2, times::wait_lines).options(NO_CLOCK);
    wait_lines_without_samples_gfortran:
        case("wait_lines.f90", Gfortran, PASSIVE_2, times::wait_lines).options(NO_CLOCK);

    // Programs that must run as they do without collect.
    wrong_cfi_gcc: case("wrong_cfi.c", Gcc, PASSIVE_2, programs::as_bare);
    wrong_cfi_clang: case("wrong_cfi.c", Clang, PASSIVE_2, programs::as_bare);
    address_limit_gcc: case("address_limit.c", Gcc, PASSIVE_4, programs::as_bare_limited);
    address_limit_clang:
        case("address_limit.c", Clang, PASSIVE_4, programs::as_bare_limited);
    thread_exits_task_gcc: thread_exits(Gcc, &["task"]);
    thread_exits_task_clang: thread_exits(Clang, &["task"]);
    thread_exits_exit1_gcc: thread_exits(Gcc, &["exit1"]);
    thread_exits_exit1_clang: thread_exits(Clang, &["exit1"]);
    thread_exits_cancel1_gcc: thread_exits(Gcc, &["cancel1"]);
    thread_exits_cancel1_clang: thread_exits(Clang, &["cancel1"]);
    thread_exits_cancel2_gcc: thread_exits(Gcc, &["cancel2"]).launcher(AT_MOST_2_S);
    thread_exits_cancel2_clang: thread_exits(Clang, &["cancel2"]);
    thread_exits_cancelidle_gcc: thread_exits(Gcc, &["cancelidle"]);
    thread_exits_cancelidle_clang: thread_exits(Clang, &["cancelidle"]);
    thread_exits_crit_gcc: thread_exits(Gcc, &["crit"]);
    thread_exits_crit_clang: thread_exits(Clang, &["crit"]);
    thread_exits_longjmp_gcc: thread_exits(Gcc, &["longjmp"]);
    thread_exits_longjmp_clang: thread_exits(Clang, &["longjmp"]);
    // libgomp loads no tools.
    own_tool_clang: own_tool(programs::own_tool_by_variable);
    own_tool_preloaded_clang: own_tool(programs::own_tool_preloaded);
    nonsense_in_rings_gcc: nonsense_in_rings(Gcc);
    nonsense_in_rings_clang: nonsense_in_rings(Clang);

    // Machines that do not permit perf events.
    noperf_gcc: noperf(Gcc);
    noperf_clang: noperf(Clang);
    noperf_unknown_gcc: noperf(Gcc).with(&[("PXERR", "38")]);
}

const fn thread_exits(family: fixtures::Family, mode: &'static [&'static str]) -> Case {
    case("thread_exits.c", family, PASSIVE_4, programs::as_bare).arguments(mode)
}

const fn own_tool(holds: fn(&run::Run) -> Result<(), String>) -> Case {
    case("task_at_region_end.c", Clang, PASSIVE_4, holds).beside("own_tool.c")
}

const fn nonsense_in_rings(family: fixtures::Family) -> Case {
    case(
        "nonsense_in_rings.c",
        family,
        PASSIVE_4,
        programs::nonsense_in_rings,
    )
    .arguments(&["5", "0"])
}

const fn noperf(family: fixtures::Family) -> Case {
    // Arguments make the program run longer.
    let case = case("main_jumps.c", family, PASSIVE_2, programs::no_perf_events);
    case.arguments(&["and", "some", "more"]).beside("noperf.c")
}

#[test]
fn every_source_is_in_the_table() {
    let programs = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/programs/cases");
    for file in std::fs::read_dir(programs).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let listed = CASES
            .iter()
            .any(|case| case.source == name || case.beside == Some(name.as_str()));
        assert!(listed, "{name} is in no row");
    }
}
