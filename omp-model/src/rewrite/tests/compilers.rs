//! How compilers translate constructs: two functions for one, none at all, tail calls, inlining,
//! tasks and teams.

use experiment::ids::FrameId;
use experiment::symbols::{CodeFact, Jump};
use experiment::tables::ContextKind;

use super::*;

#[test]
fn outlined_functions_of_two_parts_are_one_frame() {
    let mut program = TestProgram::new();
    let o0 = program.region(ContextId::ROOT, &format!("foo+9 {MAIN}"));
    let clang14 = program.region(ContextId::ROOT, &format!("old+9 {MAIN}"));
    let task = program.context(
        o0,
        ContextKind::Task,
        &format!("foo.omp_outlined_debug__+11 foo.omp_outlined+9 {TEAM}"),
    );
    let inner = program.region(
        o0,
        &format!("foo.omp_outlined_debug__+13 foo.omp_outlined+9 {TEAM}"),
    );
    check(
        program,
        &[("o0", o0), ("inner", inner), ("clang14", clang14), ("task", task)],
        &format!(
            "
        Work o0 Worker: work foo.omp_outlined_debug__+10 foo.omp_outlined+9 {TEAM}
            = work foo-OMP …
        # At -O2 the wrapper jumps to the other part.
        Work o0 Worker: work foo.omp_outlined_debug__+10 {TEAM}
            = work foo-OMP …
        Work inner Worker: work foo.omp_outlined_debug__.omp_outlined_debug__+14 foo.omp_outlined_debug__.omp_outlined+14 {TEAM}
            = work foo.omp_outlined_debug__.omp_outlined foo-OMP …
        Work clang14 Worker: work .omp_outlined._debug__.1+10 .omp_outlined..2+9 {TEAM}
            = work .omp_outlined..2 old main __libc_start_main _start
        # A task: its entry calls its body.
        Work task Worker: work .omp_outlined..4 .omp_task_entry..5 R:?+4 R:?+5 R:__kmpc_barrier foo.omp_outlined+20 {TEAM}
            = work .omp_task_entry..5 foo-OMP …
        "
        ),
    );
}

#[test]
fn stubs_that_lead_into_the_runtime_are_the_runtime_s() {
    let mut program = TestProgram::new();
    let o0 = program.region(ContextId::ROOT, &format!("foo+9 {MAIN}"));
    check(
        program,
        &[("o0", o0)],
        &format!(
            "
        Work o0 Worker: work GOMP_critical_start@plt foo.omp_outlined+9 {TEAM}
            = <Overhead> foo-OMP …
        Work o0 Worker: work memcpy@plt foo.omp_outlined+9 {TEAM}
            = work memcpy@plt foo-OMP …
        "
        ),
    );
}

#[test]
fn bodies_that_events_name_need_no_stack() {
    // Forks and bodies are entered by tail calls: neither the function with the directives nor its
    // bodies are on a stack, and both forks have the same call in `main`.
    let mut program = TestProgram::new();
    program.symbol("foo", 8);
    let one = program.region_with_body(ContextId::ROOT, MAIN, "foo._omp_fn.0");
    let other = program.region_with_body(ContextId::ROOT, MAIN, "foo._omp_fn.1");
    let team = "R:gomp_thread_start start_thread clone3";
    let inner = program.region_with_body(one, team, "foo._omp_fn.2");
    check(
        program,
        &[("one", one), ("other", other), ("inner", inner)],
        &format!(
            "
        Work one Worker: work {team}
            = work foo._omp_fn.0 foo main __libc_start_main _start
        Work other Worker: work {team}
            = work foo._omp_fn.1 foo main __libc_start_main _start
        Work inner Worker: work {team}
            = work foo._omp_fn.2 foo._omp_fn.0 foo main __libc_start_main _start
        "
        ),
    );
}

#[test]
fn regions_that_tasks_fork_are_the_tasks_on_every_thread() {
    let runs = "R:gomp_barrier_handle_tasks R:GOMP_barrier";
    let waits = "R:?+7 R:GOMP_parallel";
    let mut program = TestProgram::new();
    let outer = program.region(ContextId::ROOT, &format!("foo+9 {MAIN}"));
    let site = "bar+4 foo._omp_fn.0+12 R:GOMP_parallel foo+9 main+90 __libc_start_main _start";
    let task = program.context(outer, ContextKind::Task, site);
    // The stack of such a fork point ends where the runtime runs the task.
    let inner = program.region(task, "baz+6 bar._omp_fn.1+3 R:gomp_barrier_handle_tasks");
    let team = "R:gomp_thread_start start_thread clone3";
    let gcc = "bar._omp_fn.1 bar foo._omp_fn.0 …";
    check(
        program,
        &[("outer", outer), ("task", task), ("inner", inner)],
        &format!(
            "
        Work task Worker: work bar._omp_fn.1+2 {runs} foo._omp_fn.0+20 {team}
            = work {gcc}
        Work inner Worker: work baz._omp_fn.2+2 {team}
            = work baz._omp_fn.2 baz {gcc}
        Work inner Worker: work baz._omp_fn.2+2 R:GOMP_parallel baz+6 bar._omp_fn.1+3 {runs} foo._omp_fn.0+20 {team}
            = work baz._omp_fn.2 baz {gcc}
        # The thread that forked waits at the region's end, or is about to enter it.
        ImplicitBarrier inner Worker: {waits} baz+6 bar._omp_fn.1+3 {runs} foo._omp_fn.0+20 {team}
            = <ImplicitBarrier> baz._omp_fn.2 baz {gcc}
        Overhead inner Worker: {waits} baz+6 bar._omp_fn.1+3 {runs} foo._omp_fn.0+20 {team}
            = <Overhead> baz._omp_fn.2 baz {gcc}
        "
        ),
    );
}

#[test]
fn tasks_are_under_their_creator_wherever_they_run() {
    let (mut program, r) = foo();
    let outer = program.context(
        r,
        ContextKind::Task,
        &format!("fib+4 foo.omp_outlined+12 {FORK} foo+9 {MAIN}"),
    );
    // Created by the outer task while it ran in another thread's barrier.
    let site = format!(
        "fib+4 .omp_outlined. .omp_task_entry. R:?+1 R:?+2 R:__kmpc_barrier foo.omp_outlined+20 {TEAM}"
    );
    let inner = program.context(outer, ContextKind::Task, &site);
    let steps = "fib .omp_task_entry. fib foo-OMP …";
    let two_deep = format!("fib .omp_task_entry. {steps}");
    let waiting = format!("<Task> {two_deep}");
    check(
        program,
        &[("outer", outer), ("inner", inner), ("r", r)],
        &format!(
            "
        Work outer Initial: fib+3 .omp_outlined. .omp_task_entry. R:?+1 R:?+2 R:__kmpc_omp_taskwait fib+6 foo.omp_outlined+12 {FORK} foo+9 {MAIN}
            = {steps}
        Work inner Worker: fib+3 .omp_outlined. .omp_task_entry. R:?+1 R:?+2 R:?+3 R:__kmpc_barrier {TEAM}
            = {two_deep}
        TaskWait inner Worker: R:?+1 R:__kmpc_omp_taskwait fib+6 .omp_outlined. .omp_task_entry. R:?+2 R:__kmpc_barrier {TEAM}
            = {waiting}
        # Scheduled, but not entered yet.
        Work outer Worker: R:?+2 R:__kmpc_barrier foo.omp_outlined+20 {TEAM}
            = <Overhead> .omp_task_entry. fib foo-OMP …
                # By its events the task is over; the stack was sampled slightly earlier.
        ImplicitBarrier r Worker: fib+3 .omp_outlined. .omp_task_entry. R:?+2 R:__kmpc_barrier foo.omp_outlined+20 {TEAM}
            = <ImplicitBarrier> foo-OMP …
        "
        ),
    );
}

/// `sort` creates tasks that do nothing but call it, and so on.
#[test]
fn a_task_that_calls_its_creator_has_the_frames_of_the_call() {
    let (mut program, r) = foo();
    let team = "R:GOMP_taskwait foo._omp_fn.0+20 R:gomp_thread_start start_thread clone3";
    let outer = program.context(
        r,
        ContextKind::Task,
        &format!("foo._omp_fn.0+12 {FORK} foo+9 {MAIN}"),
    );
    let site = "sort+4 sort._omp_fn.1+3 R:gomp_run";
    let body = "sort._omp_fn.1";
    let inner = program.with_body(outer, ContextKind::Task, site, body);
    // The same where the task ended in a jump.
    let left = "sort+4 R:gomp_run";
    let jumped = program.with_body(outer, ContextKind::Task, left, body);
    let again = program.with_body(jumped, ContextKind::Task, left, body);
    // A task of another construct, created there.
    let other = program.context(inner, ContextKind::Task, &format!("merge+4 {site}"));
    let outermost = "sort._omp_fn.1 sort foo._omp_fn.0 …";
    check(
        program,
        &[("inner", inner), ("again", again), ("other", other)],
        &format!(
            "
        Work inner Worker: quick sort+7 sort._omp_fn.1+3 R:gomp_run {team}
            = quick sort sort._omp_fn.1 sort {outermost}
        Work again Worker: quick sort+7 R:gomp_run {team}
            = quick sort sort._omp_fn.1 sort sort._omp_fn.1 sort {outermost}
        Work other Worker: work merge._omp_fn.2 R:gomp_run {team}
            = work merge._omp_fn.2 merge sort sort._omp_fn.1 sort {outermost}
        "
        ),
    );
}

#[test]
fn undeferred_tasks_and_serialized_regions_have_no_runtime_frames_between() {
    let (mut program, r) = foo();
    let task = program.context(r, ContextKind::Task, &format!("foo.omp_outlined+12 {TEAM}"));
    let serial = program.region(ContextId::ROOT, &format!("baz+50 {MAIN}"));
    program.symbol("baz.omp_outlined", 50);
    check(
        program,
        &[("task", task), ("serial", serial)],
        &format!(
            "
        Work task Worker: work .omp_outlined..6 .omp_task_entry..7 foo.omp_outlined+13 {TEAM}
            = work .omp_task_entry..7 foo-OMP …
        Work serial Initial: work baz.omp_outlined+51 baz+50 {MAIN}
            = work baz.omp_outlined baz main __libc_start_main _start
        # Inlined: the frame of `baz` is in the region's code.
        Work serial Initial: work baz+51 {MAIN}
            = work baz.omp_outlined baz main __libc_start_main _start
        Work serial Initial: baz+52 {MAIN}
            = baz.omp_outlined baz main __libc_start_main _start
        "
        ),
    );
}

#[test]
fn an_inlined_body_keeps_its_line() {
    let mut program = TestProgram::new();
    let serial = program.region(ContextId::ROOT, &format!("baz+50 {MAIN}"));
    program.symbol("baz.omp_outlined", 50);
    let sample = program.sample(
        &format!("work baz+51 {MAIN}"),
        (State::Work, serial),
        Initial,
    );
    let body = program.frame("baz+51");
    let mut rewriter = Rewriter::new(&program.tables, &program.symbols, [sample]);
    let (path, _) = rewriter.user(sample);
    let work = *rewriter.paths().get(path.0).expect("a path");
    let outlined = rewriter.paths().get(work.callers.0).expect("its caller");
    assert_eq!(outlined.frame.frame, body);
}

#[test]
fn tail_calls_take_nothing_away() {
    // main calls nested, which ends with a fork. Its region ends with a call of inner, which ends
    // with a fork. That region ends with a call of work.
    let mut program = TestProgram::new();
    let outer = program.region(ContextId::ROOT, &format!("main+80 {MAIN}"));
    let inner = program.region(outer, &format!("{FORK} main+80 {MAIN}"));
    // One of the two missing functions has a symbol in the table.
    program.symbol("inner", 0);
    check(
        program,
        &[("inner", inner), ("outer", outer)],
        &format!(
            "
        Work inner Initial: work {FORK} {FORK} main+80 {MAIN}
            = work inner.omp_outlined inner nested.omp_outlined <parent of nested.omp_outlined> main main __libc_start_main _start
        Work inner Worker: work {TEAM}
            = work inner.omp_outlined inner nested.omp_outlined <parent of nested.omp_outlined> main main __libc_start_main _start
        # One stack of each region shows the outlined function.
        Work inner Worker: inner.omp_outlined+2 {TEAM}
            = inner.omp_outlined inner nested.omp_outlined <parent of nested.omp_outlined> main main __libc_start_main _start
        Work outer Worker: nested.omp_outlined+2 {TEAM}
            = nested.omp_outlined <parent of nested.omp_outlined> main main __libc_start_main _start
                # The region ended with a barrier construct.
        ImplicitBarrier inner Worker: {SPIN} R:__kmpc_barrier {TEAM}
            = <ImplicitBarrier> inner.omp_outlined inner nested.omp_outlined <parent of nested.omp_outlined> main main __libc_start_main _start
        # The outer primary in the inner fork.
        ImplicitBarrier inner Initial: {SPIN} R:__kmpc_fork_call {FORK} main+80 {MAIN}
            = <ImplicitBarrier> inner.omp_outlined inner nested.omp_outlined <parent of nested.omp_outlined> main main __libc_start_main _start
        "
        ),
    );
}

#[test]
fn a_parent_that_was_inlined_stands_between() {
    let mut program = TestProgram::new();
    let r = program.region(ContextId::ROOT, &format!("main+9 {MAIN}"));
    program.symbol("foo", 0);
    check(
        program,
        &[("r", r)],
        &format!(
            "
        Work r Worker: foo.omp_outlined+12 {TEAM}
            = foo-OMP foo main main __libc_start_main _start
        "
        ),
    );
}

#[test]
fn a_parent_under_another_spelling_is_not_put_back_twice() {
    let mut program = TestProgram::new();
    let cold = program.region(ContextId::ROOT, &format!("foo.cold+9 {MAIN}"));
    let clone = program.region(ContextId::ROOT, &format!("foo.constprop.0+9 {MAIN}"));
    check(
        program,
        &[("cold", cold), ("clone", clone)],
        &format!(
            "
        Work cold Worker: foo._omp_fn.0.cold+12 {TEAM}
            = foo._omp_fn.0.cold foo.cold main __libc_start_main _start
        Work clone Worker: foo._omp_fn.1+12 {TEAM}
            = foo._omp_fn.1 foo.constprop.0 main __libc_start_main _start
        "
        ),
    );
}

#[test]
fn bodies_that_no_stack_shows_are_found_by_parent_and_line() {
    let mut program = TestProgram::new();
    let first = program.region(ContextId::ROOT, &format!("foo+9 {MAIN}"));
    let second = program.region(ContextId::ROOT, &format!("foo+20 {MAIN}"));
    let elsewhere = program.region(ContextId::ROOT, &format!("baz+70 {MAIN}"));
    program.symbol("foo.omp_outlined", 9);
    program.symbol("foo.omp_outlined.1", 20);
    program.symbol("qux.omp_outlined", 71);
    let tail = format!("{SPIN} R:?+8 R:__kmpc_fork_call");
    check(
        program,
        &[
            ("first", first),
            ("second", second),
            ("elsewhere", elsewhere),
        ],
        &format!(
            "
        ImplicitBarrier first Initial: {tail} foo+9 {MAIN}
            = <ImplicitBarrier> foo-OMP …
        Work second Worker: work {TEAM}
            = work foo.omp_outlined.1 …
        Work elsewhere Worker: work {TEAM}
            = work <construct 3> baz main __libc_start_main _start
        "
        ),
    );
}

#[test]
fn one_region_has_one_name_on_every_call_path() {
    // The body is sampled under one caller; the other caller's workers are sampled only in the
    // barrier.
    let mut program = TestProgram::new();
    let seen = program.region(ContextId::ROOT, &format!("foo+9 {MAIN}"));
    let unseen = program.region(ContextId::ROOT, &format!("foo+9 other+2 {MAIN}"));
    check(
        program,
        &[("seen", seen), ("unseen", unseen)],
        &format!(
            "
        Work seen Worker: work .omp_outlined..7+3 {TEAM}
            = work .omp_outlined..7 …
        ImplicitBarrier unseen Worker: {SPIN} R:?+7 start_thread clone3
            = <ImplicitBarrier> .omp_outlined..7 foo other main __libc_start_main _start
        "
        ),
    );
}

#[test]
fn teams_and_their_regions_nest() {
    let mut program = TestProgram::new();
    let league = program.context(
        ContextId::ROOT,
        ContextKind::Teams,
        &format!("solve+5 {MAIN}"),
    );
    let team = "R:?+1 R:?+2 R:?+3 start_thread clone3";
    let fork = format!(
        "solve.omp_outlined_debug__+6 solve.omp_outlined+5 R:__kmp_invoke_microtask R:__kmp_fork_call {team}"
    );
    let r = program.region(league, &fork);
    check(
        program,
        &[("r", r)],
        &format!(
            "
        Work r Worker: work solve.omp_outlined_debug__.omp_outlined+7 {FORK} {fork}
            = work solve.omp_outlined_debug__.omp_outlined solve.omp_outlined solve main __libc_start_main _start
        "
        ),
    );
}

#[test]
fn the_teams_of_a_league_and_the_regions_in_them_nest() {
    let mut program = TestProgram::new();
    let site = format!("solve+5 {MAIN}");
    let league = program.context(ContextId::ROOT, ContextKind::Teams, &site);
    let fork = "step+7 solve.omp_outlined+6 R:__kmp_invoke_microtask R:?+4 start_thread clone3";
    let inner = program.region(league, fork);
    check(
        program,
        &[("league", league), ("inner", inner)],
        &format!(
            "
        Work league Initial: work solve.omp_outlined+6 R:__kmp_invoke_microtask R:__kmp_fork_call R:?+3 R:__kmpc_fork_teams {site}
            = work solve.omp_outlined solve main __libc_start_main _start
        TeamsBarrier league Worker: R:?+6 R:?+4 start_thread clone3
            = <ImplicitBarrier> solve.omp_outlined solve main __libc_start_main _start
        Work inner Worker: work step.omp_outlined+8 {TEAM}
            = work step.omp_outlined step solve.omp_outlined solve main __libc_start_main _start
        "
        ),
    );
}

#[test]
fn gcc_and_flang_give_tasks_the_names_of_regions() {
    let mut program = TestProgram::new();
    let gcc = program.region(ContextId::ROOT, &format!("foo+9 {MAIN}"));
    let task = program.context(
        gcc,
        ContextKind::Task,
        &format!("foo._omp_fn.0+12 R:__kmp_GOMP_microtask_wrapper {TEAM}"),
    );
    check(
        program,
        &[("gcc", gcc), ("task", task)],
        &format!(
            "
        Work gcc Worker: work foo._omp_fn.0+12 R:__kmp_GOMP_microtask_wrapper {TEAM}
            = work foo._omp_fn.0 …
        Work task Worker: work foo._omp_fn.1+14 R:?+1 R:GOMP_barrier foo._omp_fn.0+12 {TEAM}
            = work foo._omp_fn.1 foo._omp_fn.0 …
                # The region ends with a call, and gcc's fork call was a tail call.
        Work gcc Worker: work R:__kmp_GOMP_microtask_wrapper {TEAM}
            = work foo._omp_fn.0 …
        "
        ),
    );
}

#[test]
fn a_tail_called_region_and_its_tasks_share_an_address() {
    let mut program = TestProgram::new();
    let r = program.region(ContextId::ROOT, &format!("main+80 {MAIN}"));
    let task = program.context(r, ContextKind::Task, &format!("main+80 {MAIN}"));
    check(
        program,
        &[("r", r), ("task", task)],
        &format!(
            "
        Work task Worker: work .omp_task_entry. R:?+2 R:__kmpc_barrier {TEAM}
            = work .omp_task_entry. <construct 1> main main __libc_start_main _start
        ImplicitBarrier r Worker: {SPIN} R:?+7 start_thread clone3
            = <ImplicitBarrier> <construct 1> main main __libc_start_main _start
        "
        ),
    );
}

#[test]
fn a_fork_by_the_runtime_makes_no_user_of_the_c_library() {
    let mut program = TestProgram::new();
    let league = program.region(ContextId::ROOT, &format!("solve+5 {MAIN}"));
    let r = program.region(league, "start_thread clone3");
    check(
        program,
        &[("r", r)],
        &format!(
            "
        Work r Worker: malloc R:?+1 solve.omp_outlined+6 {TEAM}
            = <Overhead> solve.omp_outlined <construct 1> solve main __libc_start_main _start
        "
        ),
    );
}

#[test]
fn a_region_seen_only_from_its_tasks_has_its_name_and_parent() {
    let mut program = TestProgram::new();
    let r = program.region(ContextId::ROOT, &format!("main+80 {MAIN}"));
    let task = program.context(
        r,
        ContextKind::Task,
        &format!(".omp_outlined..12+3 {FORK} main+80 {MAIN}"),
    );
    check(
        program,
        &[("task", task), ("r", r)],
        &format!(
            "
        Work task Worker: work .omp_task_entry. R:?+2 R:__kmpc_barrier {TEAM}
            = work .omp_task_entry. .omp_outlined..12 main main __libc_start_main _start
        ImplicitBarrier r Worker: {SPIN} R:?+7 start_thread clone3
            = <ImplicitBarrier> .omp_outlined..12 main main __libc_start_main _start
        "
        ),
    );
}

#[test]
fn a_nameless_region_is_one_for_all_threads_that_fork_it() {
    let (mut program, r) = foo();
    let primary = format!("{FORK} foo+9 {MAIN}");
    let by_primary = program.region(r, &primary);
    let by_worker = program.region(r, TEAM);
    check(
        program,
        &[("p", by_primary), ("w", by_worker)],
        &format!(
            "
        Work p Initial: work {FORK} {primary}
            = work <construct 2> foo-OMP …
        Work w Worker: work {FORK} {TEAM}
            = work <construct 2> foo-OMP …
        Work w Worker: work {TEAM}
            = work <construct 2> foo-OMP …
        "
        ),
    );
}

#[test]
fn a_critical_section_in_which_a_combiner_was_seen_is_the_reduction_s_own() {
    let (mut program, r) = foo();
    let own = program.frame("foo.omp_outlined+35");
    let other = program.frame("foo.omp_outlined+20");
    let inside = program.stack(&format!("merge .omp_combiner. foo.omp_outlined+36 {TEAM}"));
    let waiting = program.stack(&format!(
        "R:?+1 R:__kmpc_critical foo.omp_outlined+35 {TEAM}"
    ));
    let thread = ThreadKind::Worker;
    let mut at = |stack, state, call| SampledStack {
        stack,
        thread_state: program.thread_state_at(state, r, call),
        thread,
    };
    let samples = [
        at(inside, State::Work, own),
        at(waiting, State::Critical, own),
        at(waiting, State::Critical, other),
    ];
    let combining = "<Reduction> foo.omp_outlined foo main __libc_start_main _start";
    let critical = "<Critical> foo.omp_outlined foo main __libc_start_main _start";
    assert_eq!(program.user(&samples), [combining, combining, critical]);
    // By the machine code alone.
    let fact = CodeFact {
        spins: false,
        combines: true,
        contention: None,
        calls: Some("__kmpc_critical".to_owned()),
        body: None,
    };
    program.symbols.code.push((own, fact));
    assert_eq!(program.user(&samples[1..]), [combining, critical]);
}

#[test]
fn functions_that_ended_in_jumps_stand_where_the_calls_name_them() {
    let mut program = TestProgram::new();
    // main calls outer, which jumps to middle, which jumps to inner, which jumps to the fork.
    let r = program.region(ContextId::ROOT, &format!("main+80 {MAIN}"));
    let call = program.frame("main+80");
    let work = program.frame("inner.omp_outlined+7");
    let jumps = ["outer+30", "middle+20", "inner+10"].map(|at| program.frame(at));
    // The region's body calls helper, which jumps to leaf; main calls before, which jumps there, too.
    let leaf = program.frame("leaf+1");
    let before = program.frame("main+40");
    let helper = program.frame("helper+5");
    let jump = |caller, callee, frames: &[FrameId]| Jump {
        caller,
        callee,
        frames: frames.to_vec(),
    };
    program.symbols.jumps = vec![
        jump(call, FrameId::NONE, &jumps),
        jump(work, leaf, &[helper]),
        jump(before, leaf, &[helper]),
    ];
    let by_key = |jump: &Jump| (jump.caller, jump.callee);
    program.symbols.jumps.sort_by_key(by_key);
    let stack = "inner.omp_outlined inner middle outer main main __libc_start_main _start";
    let serial = program.sample(
        &format!("leaf+1 main+40 {MAIN}"),
        (State::Work, ContextId::ROOT),
        Initial,
    );
    let serial_stack = program.user(&[serial]);
    assert_eq!(
        serial_stack,
        ["leaf helper main main __libc_start_main _start"]
    );
    check(
        program,
        &[("r", r)],
        &format!(
            "
        Work r Worker: leaf+1 inner.omp_outlined+7 {TEAM}
            = leaf helper {stack}
        Work r Initial: leaf+1 inner.omp_outlined+7 {FORK} main+80 {MAIN}
            = leaf helper {stack}
        ImplicitBarrier r Worker: {SPIN} {TEAM}
            = <ImplicitBarrier> {stack}
        "
        ),
    );
}
