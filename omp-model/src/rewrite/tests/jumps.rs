//! Bodies that end by a jump into a library, whose own frames are on no stack.

use super::*;

/// A worker of GNU's runtime, from our function that calls the body outward.
const WRAPPED: &str = "P:run G:?+1 G:?+2 start_thread clone3";

#[test]
fn a_library_that_a_body_of_gcc_jumped_to_works_and_the_runtime_s_own_calls_do_not() {
    let mut program = TestProgram::new();
    let r = program.region_with_body(ContextId::ROOT, &format!("foo+9 {MAIN}"), "foo._omp_fn.0+1");
    let table = format!(
        "
        Work r Worker: memset {WRAPPED}
            = memset foo._omp_fn.0 …
        Work r Initial: K:do_nanosleep nanosleep P:run G:GOMP_parallel P:fork P:GOMP_parallel foo+9 {MAIN}
            = nanosleep foo._omp_fn.0 …
        Work r Worker: less qsort {WRAPPED}
            = less qsort foo._omp_fn.0 …
        # A library without symbols.
        Work r Worker: ~sort {WRAPPED}
            = ~sort foo._omp_fn.0 …
        # Our library's and the runtime's own calls.
        Work r Worker: malloc P:attach {WRAPPED}
            = <Overhead> foo._omp_fn.0 …
        Work r Worker: memset G:GOMP_task P:task P:GOMP_task foo._omp_fn.0+12 {WRAPPED}
            = <Overhead> foo._omp_fn.0 …
        Work r Worker: futex_wait G:?+5 {WRAPPED}
            = <Overhead> foo._omp_fn.0 …
        Overhead r Initial: malloc P:fork P:GOMP_parallel foo+9 {MAIN}
            = <Overhead> foo._omp_fn.0 …
        "
    );
    check(program, &[("r", r)], &table);
}

#[test]
fn the_call_of_a_runtime_that_called_a_body_calls_no_services() {
    let (mut program, r) = foo();
    let site = format!("foo.omp_outlined+12 {TEAM}");
    let task = program.context(r, experiment::tables::ContextKind::Task, &site);
    let run = format!("R:?+66 R:__kmpc_barrier {site}");
    let table = format!(
        "
        Work task Worker: work .omp_task_entry.+3 {run}
            = work .omp_task_entry. foo-OMP …
        Work task Worker: memset {run}
            = memset .omp_task_entry. foo-OMP …
        Work task Worker: memset R:?+67 R:__kmpc_barrier {site}
            = <Overhead> .omp_task_entry. foo-OMP …
        "
    );
    check(program, &[("r", r), ("task", task)], &table);
}
