//! Waits at the lines of their own calls.

use experiment::ids::FrameId;

use super::*;

const REST: &str = "foo+9 main+90 __libc_start_main _start";

/// The lines of user stacks, each a state, its call and a stack; none for time without a sample.
fn located(program: &mut TestProgram, rows: &[(State, ContextId, &str, &str)]) -> Vec<String> {
    let samples: Vec<(SampledStack, bool)> = rows
        .iter()
        .map(|&(state, context, call, stack)| {
            let call = match call {
                "" => FrameId::NONE,
                word => program.frame(word),
            };
            let sample = SampledStack {
                stack: program.stack(stack),
                thread_state: program.thread_state_at(state, context, call),
                thread: Worker,
            };
            (sample, stack.is_empty())
        })
        .collect();
    let evidence = samples.iter().filter(|(_, none)| !none);
    let evidence = evidence.map(|(sample, _)| *sample);
    let mut rewriter = Rewriter::new(&program.tables, &program.symbols, evidence);
    let paths: Vec<_> = samples
        .into_iter()
        .map(|(sample, none)| {
            if none {
                rewriter.user_without_stack(sample.thread_state, Worker)
            } else {
                rewriter.user(sample)
            }
        })
        .collect();
    let path = |&(path, _)| program.located(rewriter.paths(), path);
    paths.iter().map(path).collect()
}

#[test]
fn a_wait_is_at_its_own_call_whatever_its_stack_shows() {
    let (mut program, r) = foo();
    let at = "foo.omp_outlined+14";
    let rows = [
        format!("{SPIN} R:__kmpc_critical foo.omp_outlined+14 {TEAM}"),
        // Before the call, in user code and in another call.
        format!("work+3 foo.omp_outlined+12 {TEAM}"),
        format!("R:omp_get_thread_num foo.omp_outlined+13 {TEAM}"),
        // No sample.
        String::new(),
    ];
    let rows = rows
        .each_ref()
        .map(|stack| (State::Critical, r, at, stack.as_str()));
    let expected = format!("<Critical> foo.omp_outlined+14 {REST}");
    for found in located(&mut program, &rows) {
        assert_eq!(found, expected);
    }
}

#[test]
fn a_wait_in_a_function_of_the_region_is_at_its_call_there() {
    let (mut program, r) = foo();
    let below = format!("mid+30 foo.omp_outlined+12 {TEAM}");
    let stacks = [
        format!("{SPIN} R:__kmpc_barrier step+40 {below}"),
        format!("work+3 step+41 {below}"),
        // The function that made the call is on neither.
        format!("work+3 {below}"),
        String::new(),
    ];
    let rows = stacks
        .each_ref()
        .map(|stack| (State::ExplicitBarrier, r, "step+40", stack.as_str()));
    let inside = format!("<ExplicitBarrier> step+40 mid+30 foo.omp_outlined+12 {REST}");
    let found = located(&mut program, &rows);
    assert_eq!(found[..2], [inside.clone(), inside]);
    assert_eq!(
        found[2..],
        [
            format!("<ExplicitBarrier> step+40 foo.omp_outlined+12 {REST}"),
            format!("<ExplicitBarrier> step+40 foo.omp_outlined {REST}"),
        ]
    );
}

#[test]
fn a_join_barrier_is_at_its_region_and_a_worksharing_one_at_its_call() {
    let (mut program, r) = foo();
    let primary = format!("{SPIN} R:?+8 R:__kmpc_fork_call foo+9 main+90 __libc_start_main _start");
    let own = format!("{SPIN} R:__kmpc_barrier foo.omp_outlined+16 {TEAM}");
    let state = State::ImplicitBarrier;
    let rows = [
        (state, r, "foo+9", primary.as_str()),
        (state, r, "foo+9", ""),
        (state, r, "", ""),
        (state, r, "foo.omp_outlined+16", own.as_str()),
        (state, r, "foo.omp_outlined+16", ""),
    ];
    let join = format!("<ImplicitBarrier> foo.omp_outlined {REST}");
    let workshare = format!("<ImplicitBarrier> foo.omp_outlined+16 {REST}");
    let expected = [&join, &join, &join, &workshare, &workshare];
    let found = located(&mut program, &rows);
    assert_eq!(found.iter().collect::<Vec<_>>(), expected);
}

#[test]
fn a_call_that_waits_names_the_body_of_its_region() {
    let mut program = TestProgram::new();
    // Neither a stack nor a line ties the body to this region.
    let r = program.region(ContextId::ROOT, &format!("foo+9 {MAIN}"));
    let rows = [
        (State::Lock, r, "foo._omp_fn.3+14", ""),
        (State::Overhead, r, "", ""),
    ];
    assert_eq!(
        located(&mut program, &rows),
        [
            format!("<Lock> foo._omp_fn.3+14 {REST}"),
            format!("<Overhead> foo._omp_fn.3 {REST}"),
        ]
    );
}

#[test]
fn clang_s_inner_parts_of_a_body_are_not_shown_at_a_wait() {
    let mut program = TestProgram::new();
    let r = program.region_with_body(
        ContextId::ROOT,
        &format!("foo+9 {MAIN}"),
        "foo.omp_outlined",
    );
    let part = format!("foo.omp_outlined_debug__+13 foo.omp_outlined+9 {TEAM}");
    let stacks = [
        format!("{SPIN} R:__kmpc_critical foo.omp_outlined_debug__+14 foo.omp_outlined+9 {TEAM}"),
        format!("work+3 {part}"),
        String::new(),
    ];
    let rows = stacks.each_ref().map(|stack| {
        (
            State::Critical,
            r,
            "foo.omp_outlined_debug__+14",
            stack.as_str(),
        )
    });
    for found in located(&mut program, &rows) {
        assert_eq!(found, format!("<Critical> foo.omp_outlined+14 {REST}"));
    }
}

#[test]
fn a_wait_outside_of_constructs_is_at_its_call() {
    let (mut program, _) = foo();
    let root = ContextId::ROOT;
    let below = "__libc_start_main _start";
    let stacks = [
        format!("{SPIN} R:__kmpc_set_lock step+40 {MAIN}"),
        format!("work+3 step+41 {MAIN}"),
        // Seen before the call, at another line of `main`.
        format!("main+88 {below}"),
    ];
    let rows = stacks
        .each_ref()
        .map(|stack| (State::Lock, root, "step+40", stack.as_str()));
    assert_eq!(
        located(&mut program, &rows),
        [
            format!("<Lock> step+40 {MAIN}"),
            format!("<Lock> step+40 {MAIN}"),
            format!("<Lock> step+40 main {below}"),
        ]
    );
}
