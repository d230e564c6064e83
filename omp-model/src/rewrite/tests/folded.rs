//! Bodies of several constructs with one code: gcc makes all but one jump to that one.

use experiment::ids::FrameId;
use experiment::symbols::Construct;
use experiment::tables::{Context, ContextKind};

use super::*;

/// A worker of GNU's runtime, from our function that calls the body outward.
const WRAPPED: &str = "P:run G:?+1 G:?+2 start_thread clone3";

/// Regions of `foo` from lines 9 and 19, of which the second has the code of the first.
fn two() -> (TestProgram, ContextId, ContextId) {
    let mut program = TestProgram::new();
    let mut region = |line: u32, body: &str| {
        let fork = format!("foo+{line} {MAIN}");
        program.region_with_body(ContextId::ROOT, &fork, body)
    };
    let (first, second) = (region(9, "foo._omp_fn.0"), region(19, "foo._omp_fn.1"));
    program.fold("foo._omp_fn.1", "foo._omp_fn.0");
    (program, first, second)
}

#[test]
fn shared_code_belongs_to_the_construct_that_it_was_passed_for() {
    let (mut program, first, second) = two();
    let site = format!("foo._omp_fn.0+12 {WRAPPED}");
    let inner = program.region_with_body(second, &site, "foo._omp_fn.2");
    let table = format!(
        "
        Work first Worker: work foo._omp_fn.0+12 {WRAPPED}
            = work foo._omp_fn.0 …
        Work second Worker: work foo._omp_fn.0+12 {WRAPPED}
            = work foo._omp_fn.1 …
        Work second Worker: foo._omp_fn.0+13 {WRAPPED}
            = foo._omp_fn.1 …
        # At the jump.
        Work second Worker: foo._omp_fn.1+2 {WRAPPED}
            = foo._omp_fn.1 …
        Work inner Worker: work foo._omp_fn.2+22 {WRAPPED}
            = work foo._omp_fn.2 foo foo._omp_fn.1 …
        "
    );
    let table = table.replace("foo foo._omp_fn.1", "foo._omp_fn.1");
    let contexts = [("first", first), ("second", second), ("inner", inner)];
    check(program, &contexts, &table);
}

#[test]
fn a_wait_in_shared_code_is_at_its_construct_and_at_no_line_of_another() {
    let (mut program, first, second) = two();
    let call = program.frame("foo._omp_fn.0+14");
    let stacks = [
        String::new(),
        format!("{SPIN} G:GOMP_barrier foo._omp_fn.0+14 {WRAPPED}"),
    ];
    let samples = |program: &mut TestProgram, context| {
        stacks.clone().map(|stack| SampledStack {
            stack: program.stack(&stack),
            thread_state: program.thread_state_at(State::ExplicitBarrier, context, call),
            thread: Worker,
        })
    };
    let rest = "main+90 __libc_start_main _start";
    let expected = [
        (
            first,
            format!("<ExplicitBarrier> foo._omp_fn.0+14 foo+9 {rest}"),
        ),
        (
            second,
            format!("<ExplicitBarrier> foo._omp_fn.1 foo+19 {rest}"),
        ),
    ];
    for (context, expected) in expected {
        let [none, sampled] = samples(&mut program, context);
        let mut rewriter = Rewriter::new(&program.tables, &program.symbols, [sampled]);
        let (without, _) = rewriter.user_without_stack(none.thread_state, Worker);
        let (with, _) = rewriter.user(sampled);
        for path in [without, with] {
            assert_eq!(program.located(rewriter.paths(), path), expected);
        }
    }
}

#[test]
fn a_task_can_have_the_code_of_a_region() {
    let mut program = TestProgram::new();
    let fork = format!("foo+9 {MAIN}");
    let region = program.region_with_body(ContextId::ROOT, &fork, "foo._omp_fn.0");
    let stack = program.stack(&format!("foo+19 {MAIN}"));
    let body = program.frame("foo._omp_fn.1");
    let task = program.tables.context(Context {
        parent: ContextId::ROOT,
        kind: ContextKind::Task,
        stack,
        python: experiment::ids::StackId::EMPTY,
        body,
    });
    assert_ne!(body, FrameId::NONE);
    program.fold("foo._omp_fn.1", "foo._omp_fn.0");
    let mut functions = program.symbols.functions.iter_mut();
    let of_task = functions.find(|function| function.name == "foo._omp_fn.1");
    let outlined = of_task.and_then(|function| function.outlined.as_mut());
    outlined.expect("a body").construct = Construct::Task;
    let table = format!(
        "
        Work region Worker: work foo._omp_fn.0+12 {WRAPPED}
            = work foo._omp_fn.0 …
        Work task Initial: work foo._omp_fn.0+12 G:GOMP_task P:GOMP_task foo+19 {MAIN}
            = work foo._omp_fn.1 …
        "
    );
    check(program, &[("region", region), ("task", task)], &table);
}
