//! Stacks that are truncated, early, late, without records, without a tool, or without OpenMP.

use experiment::symbols::CodeFact;

use super::*;

#[test]
fn cut_stacks_in_a_region_still_reach_main() {
    let (program, r) = foo();
    check(
        program,
        &[("r", r)],
        &format!(
            "
        Work r Worker: work foo.omp_outlined+12 !
            = work foo-OMP …
        Work r Worker: work helper !
            = work helper foo-OMP …
        ExplicitBarrier r Initial: R:?+1 R:__kmpc_barrier foo.omp_outlined+12 !
            = <ExplicitBarrier> foo-OMP …
        ImplicitBarrier r Worker: R:?+1 !
            = <ImplicitBarrier> foo-OMP …
        Work r Worker: !
            = foo-OMP …
        Serial root Initial: work helper !
            = work helper !
        ImplicitBarrier r Initial: {SPIN} R:?+8 R:__kmpc_fork_call foo+9 main+90 !
            = <ImplicitBarrier> foo-OMP …
        "
        ),
    );
}

#[test]
fn a_fork_point_unwound_otherwise_than_the_sample_is_recognised() {
    let mut program = TestProgram::new();
    // The fork point's stack ends before `_start`; another one reaches further than the sample's.
    let short = program.region(ContextId::ROOT, "foo+9 main+90 __libc_start_main");
    let fork = format!("foo+19 {MAIN}");
    let long = program.region(ContextId::ROOT, &fork);
    program.symbol("foo.omp_outlined", 9);
    program.symbol("foo.omp_outlined.1", 19);
    check(
        program,
        &[("short", short), ("long", long)],
        &format!(
            "
        ImplicitBarrier short Initial: R:?+8 R:__kmpc_fork_call foo+9 {MAIN}
            = <ImplicitBarrier> foo-OMP foo main __libc_start_main
        ImplicitBarrier long Initial: R:?+8 R:__kmpc_fork_call foo+19 main+90
            = <ImplicitBarrier> foo.omp_outlined.1 …
        "
        ),
    );
}

#[test]
fn a_body_that_forks_itself_has_its_callers_though_its_parent_was_lost() {
    let mut program = TestProgram::new();
    let r = program.region(
        ContextId::ROOT,
        &format!("foo+9 foo.omp_outlined+12 {TEAM}"),
    );
    check(
        program,
        &[("r", r)],
        &format!(
            "
                # The first caller is unknown, and the search for it ends.
        Work r Worker: work foo.omp_outlined+10 {TEAM}
            = work foo.omp_outlined foo foo.omp_outlined foo foo.omp_outlined foo
        Unknown root Worker: work foo.omp_outlined+10 {TEAM}
            = work foo.omp_outlined foo foo.omp_outlined foo foo.omp_outlined foo
        "
        ),
    );
}

#[test]
fn without_a_fork_point_the_primary_keeps_its_own_callers() {
    let mut program = TestProgram::new();
    let r = program.region(ContextId::ROOT, "");
    check(
        program,
        &[("r", r)],
        &format!(
            "
        Work r Initial: foo.omp_outlined+12 {FORK} foo+9 {MAIN}
            = foo-OMP …
        ImplicitBarrier r Initial: R:?+8 R:__kmpc_fork_call foo+9 {MAIN}
            = <ImplicitBarrier> foo-OMP …
        Work r Worker: foo.omp_outlined+12 {TEAM}
            = foo-OMP foo
        "
        ),
    );
}

#[test]
fn the_runtimes_services_are_the_runtimes() {
    let (program, r) = foo();
    check(
        program,
        &[("r", r)],
        &format!(
            "
        Work r Worker: malloc R:?+1 R:__kmpc_dispatch_next_4 foo.omp_outlined+12 {TEAM}
            = <Overhead> foo-OMP …
        ImplicitBarrier r Worker: ~Box .omp_task_destructor. R:?+1 R:__kmpc_barrier foo.omp_outlined+12 {TEAM}
            = <ImplicitBarrier> foo-OMP …
        # A body in a library, called by its tail; a callback of C's library is the user's.
        Work r Worker: L:dgemm {TEAM}
            = dgemm foo-OMP …
        Work r Worker: less qsort foo.omp_outlined+12 {TEAM}
            = less qsort foo-OMP …
        Serial root Initial: R:omp_get_num_threads foo+30 {MAIN}
            = <Overhead> …
        Work r Worker: sched_yield R:__kmpc_doacross_wait foo.omp_outlined+12 {TEAM}
            = <Ordered> foo-OMP …
        Work r Worker: R:__kmpc_doacross_post foo.omp_outlined+12 {TEAM}
            = <Overhead> foo-OMP …
        "
        ),
    );
}

#[test]
fn a_wait_whose_stack_is_slightly_early_or_late_keeps_its_call_site() {
    let (mut program, r) = foo();
    let call = program.frame("step+40");
    let thread_state = program.thread_state_at(State::ExplicitBarrier, r, call);
    let stack = program.stack(&format!("work step+41 foo.omp_outlined+12 {TEAM}"));
    let early = SampledStack {
        stack,
        thread_state,
        thread: Worker,
    };
    let join = program.sample(
        &format!("work foo.omp_outlined+12 {TEAM}"),
        (State::ImplicitBarrier, r),
        Worker,
    );
    let stacks = program.user(&[early, join]);
    assert_eq!(
        stacks[0],
        "<ExplicitBarrier> step foo.omp_outlined foo main __libc_start_main _start"
    );
    assert_eq!(
        stacks[1],
        "<ImplicitBarrier> foo.omp_outlined foo main __libc_start_main _start"
    );
}

#[test]
fn regions_of_plain_threads_are_under_them() {
    let mut program = TestProgram::new();
    let base = "thread_main+5 start_thread clone3";
    let r = program.region(ContextId::ROOT, &format!("foo+9 {base}"));
    program.symbol("foo.omp_outlined", 9);
    check(
        program,
        &[("r", r)],
        &format!(
            "
        Work r Other: foo.omp_outlined+12 {FORK} foo+9 {base}
            = foo-OMP foo thread_main start_thread clone3
        ImplicitBarrier r Other: R:?+1 R:__kmpc_fork_call foo+9 {base}
            = <ImplicitBarrier> foo-OMP foo thread_main start_thread clone3
        Work r Worker: foo.omp_outlined+12 {TEAM}
            = foo-OMP foo thread_main start_thread clone3
        Outside root Outside: K:futex_wait futex_wait work {base}
            = futex_wait work thread_main start_thread clone3
        "
        ),
    );
}

#[test]
fn where_records_were_lost_the_stack_alone_decides() {
    let (program, r) = foo();
    check(
        program,
        &[("r", r)],
        &format!(
            "
                # This stack ties the body to its region.
        Work r Worker: foo.omp_outlined+12 {TEAM}
            = foo-OMP …
        Unknown root Worker: work foo.omp_outlined+12 {TEAM}
            = work foo-OMP …
        Unknown root Worker: R:?+1 R:__kmpc_set_lock foo.omp_outlined+16 {TEAM}
            = <Lock> foo-OMP …
        Unknown root Worker: {SPIN} R:__kmpc_barrier foo.omp_outlined+16 {TEAM}
            = <ImplicitBarrier> foo-OMP …
        Unknown root Worker: {SPIN} R:?+7 start_thread clone3
            = <Idle>
        Unknown root Initial: foo.omp_outlined+12 {FORK} foo+9 {MAIN}
            = foo-OMP …
        Unknown root Initial: R:?+1 R:__kmpc_omp_taskwait_51 foo+9 {MAIN}
            = <Task> …
        "
        ),
    );
}

#[test]
fn without_any_tool_workers_still_come_under_main() {
    check(
        TestProgram::new(),
        &[],
        &format!(
            "
        Outside root Outside: foo.omp_outlined+12 {FORK} foo+9 {MAIN}
            = foo-OMP …
        Outside root Outside: work foo.omp_outlined+12 {TEAM}
            = work foo-OMP …
        Outside root Outside: R:?+1 R:__kmpc_critical foo.omp_outlined+12 {TEAM}
            = <Critical> foo-OMP …
        Outside root Outside: {SPIN} R:?+7 start_thread clone3
            = <Idle>
        Outside root Outside: main+3 __libc_start_main _start
            = main __libc_start_main _start
        "
        ),
    );
}

#[test]
fn time_without_a_sample_is_at_its_construct() {
    let (mut program, r) = foo();
    let call = program.frame("step+40");
    let barrier = program.thread_state_at(State::ExplicitBarrier, r, call);
    let own = program.frame("foo.omp_outlined+14");
    let critical = program.thread_state_at(State::Critical, r, own);
    let fork = program.frame("foo+9");
    let join = program.thread_state_at(State::ImplicitBarrier, r, fork);
    let idle = program.thread_state(State::Idle, ContextId::ROOT);
    let serial = program.thread_state(State::Serial, ContextId::ROOT);
    let mut rewriter = Rewriter::new(&program.tables, &program.symbols, []);
    let mut user = |thread_state| {
        let (path, _) = rewriter.user_without_stack(thread_state, Worker);
        program.text(&rewriter, path)
    };
    let rest = "foo.omp_outlined foo main __libc_start_main _start";
    assert_eq!(user(barrier), format!("<ExplicitBarrier> step {rest}"));
    assert_eq!(user(critical), format!("<Critical> {rest}"));
    assert_eq!(user(join), format!("<ImplicitBarrier> {rest}"));
    assert_eq!(user(idle), "<Idle>");
    assert_eq!(user(serial), "<Unknown>");
    let (path, state) = rewriter.machine_without_stack(join, Worker);
    assert_eq!(
        program.text(&rewriter, path),
        "foo main __libc_start_main _start"
    );
    assert_eq!(state, RefinedState::ImplicitBarrier);
}

/// Static executables have all code in one file; the runtime's code in it has its own row.
#[test]
fn a_runtime_within_the_program_is_taken_off_like_any_other() {
    let program = TestProgram::new();
    let team = "R:gomp_thread_start start_thread clone3";
    check(
        program,
        &[],
        &format!(
            "
        Outside root Outside: work foo._omp_fn.0+12 R:GOMP_parallel foo+9 {MAIN}
            = work foo._omp_fn.0 …
        Outside root Outside: work foo._omp_fn.0+12 {team}
            = work foo._omp_fn.0 …
        Outside root Outside: R:gomp_barrier_wait_end {team}
            = <Idle>
                # A service of the program for the runtime: its own `malloc`, linked in.
        Outside root Outside: my_malloc R:gomp_malloc R:GOMP_loop_dynamic_start foo._omp_fn.0+12 {team}
            = <Overhead> foo._omp_fn.0 …
        "
        ),
    );
}

#[test]
fn after_a_jump_out_of_the_entry_point_the_call_names_it() {
    let mut program = TestProgram::new();
    for (at, entry) in [
        (16, "omp_set_lock"),
        (18, "GOMP_barrier"),
        (20, "omp_get_level"),
    ] {
        let frame = program.frame(&format!("foo.omp_outlined+{at}"));
        let fact = CodeFact {
            spins: false,
            combines: false,
            contention: None,
            calls: Some(entry.to_owned()),
            body: None,
        };
        program.symbols.code.push((frame, fact));
    }
    program.symbols.code.sort_by_key(|row| row.0);
    let tree = format!(
        "
        Outside root Outside: foo.omp_outlined+12 {FORK} foo+9 {MAIN}
            = foo-OMP …
        Outside root Outside: R:gomp_mutex_lock_slow foo.omp_outlined+16 {TEAM}
            = <Lock> foo-OMP …
        Outside root Outside: R:?+1 foo.omp_outlined+18 {TEAM}
            = <ImplicitBarrier> foo-OMP …
        Outside root Outside: R:?+1 foo.omp_outlined+20 {TEAM}
            = <Overhead> foo-OMP …
                # The stack does not show it.
        Outside root Outside: R:?+1 foo.omp_outlined+22 {TEAM}
            = <Overhead> foo-OMP …
        "
    );
    check(program, &[], &tree);
}

#[test]
fn a_loop_that_waits_in_user_code_has_its_own_leaf_inside_work() {
    let (mut program, r) = foo();
    for at in [30, 31] {
        let frame = program.frame(&format!("await+{at}"));
        let fact = CodeFact {
            spins: true,
            combines: false,
            contention: None,
            calls: None,
            body: None,
        };
        program.symbols.code.push((frame, fact));
    }
    program.symbols.code.sort_by_key(|row| row.0);
    let tree = format!(
        "
        Work r Worker: await+30 foo.omp_outlined+12 {TEAM}
            = <FlushSpin> await foo-OMP …
        Work r Worker: R:__kmpc_flush await+31 foo.omp_outlined+12 {TEAM}
            = <FlushSpin> await foo-OMP …
        Work r Worker: sched_yield await+31 foo.omp_outlined+12 {TEAM}
            = <FlushSpin> sched_yield await foo-OMP …
                # By a loop in the machine code, in any load object.
        Work r Worker: sched_yield L:copy foo.omp_outlined+12 {TEAM}
            = <FlushSpin> sched_yield copy foo-OMP …
        Work r Worker: await+32 foo.omp_outlined+12 {TEAM}
            = await foo-OMP …
        Work r Worker: R:__kmpc_flush foo.omp_outlined+13 {TEAM}
            = foo-OMP …
        Serial root Initial: await+30 {MAIN}
            = await main __libc_start_main _start
        "
    );
    check(program, &[("r", r)], &tree);
}

#[test]
fn asking_for_a_lock_without_waiting_is_no_wait() {
    let (mut program, r) = foo();
    let calls = ["foo.omp_outlined+16", "foo.omp_outlined+18"].map(|word| program.frame(word));
    for (frame, entry) in calls.into_iter().zip(["omp_test_lock", "omp_set_lock"]) {
        let fact = CodeFact {
            spins: false,
            combines: false,
            contention: None,
            calls: Some(entry.to_owned()),
            body: None,
        };
        program.symbols.code.push((frame, fact));
    }
    program.symbols.code.sort_by_key(|row| row.0);
    let stack = program.stack(&format!("work foo.omp_outlined+17 {TEAM}"));
    let samples = calls.map(|call| SampledStack {
        stack,
        thread_state: program.thread_state_at(State::Lock, r, call),
        thread: Worker,
    });
    let mut rewriter = Rewriter::new(&program.tables, &program.symbols, samples);
    let states = samples.map(|sample| rewriter.user(sample).1);
    assert_eq!(states, [RefinedState::Work, RefinedState::Lock]);
}

#[test]
fn threads_of_a_runtime_without_events_have_states_by_their_stacks() {
    let (program, r) = foo();
    check(
        program,
        &[("r", r)],
        &format!(
            "
        Work r Worker: foo.omp_outlined+12 {TEAM}
            = foo-OMP …
        Outside root Outside: R:gomp_wait R:GOMP_taskwait bar._omp_fn.0+12 R:gomp_thread_start start_thread clone3
            = <Task> bar._omp_fn.0 <parent of bar._omp_fn.0>
        Outside root Outside: R:gomp_wait R:gomp_thread_start start_thread clone3
            = <Idle>
        Outside root Worker: {SPIN} R:?+7 start_thread clone3
            = <Idle>
        "
        ),
    );
}

#[test]
fn a_library_that_calls_the_runtime_works_for_itself_where_its_bodies_end_in_jumps() {
    let mut program = TestProgram::new();
    let stacks = [
        format!("L:kernel R:?+1 R:GOMP_parallel L:solve {MAIN}"),
        format!("L:kernel R:?+1 {TEAM}"),
        format!("malloc R:?+1 R:GOMP_parallel L:solve {MAIN}"),
    ];
    let state = (State::Outside, ContextId::ROOT);
    let samples = stacks.map(|stack| program.sample(&stack, state, ThreadKind::Outside));
    assert_eq!(
        program.user(&samples),
        [
            "kernel solve main __libc_start_main _start",
            "kernel",
            "<ImplicitBarrier> solve main __libc_start_main _start",
        ]
    );
}
