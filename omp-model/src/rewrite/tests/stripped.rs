//! Programs and runtimes without symbols: functions are known by their bounds, the runtime's also
//! by its exports.

use experiment::tables::ContextKind;

use super::*;

const MAIN: &str = "~main+90 __libc_start_main ~start";
/// The primary's frames of a stripped LLVM runtime between the fork and the outlined function.
const FORK: &str = "R:~invoke R:~fork R:__kmpc_fork_call";
/// A worker's frames of a stripped LLVM runtime outside the outlined function.
const TEAM: &str = "R:~invoke+1 R:~launch R:~thread start_thread clone3";

fn check_stripped(program: TestProgram, contexts: &[(&str, ContextId)], table: &str) {
    let outward = "~foo ~main __libc_start_main ~start";
    check(program, contexts, &table.replace("OUT", outward));
}

/// Two regions in one function.
fn regions() -> (TestProgram, ContextId, ContextId) {
    let mut program = TestProgram::new();
    let a = program.region(ContextId::ROOT, &format!("~foo+9 {MAIN}"));
    let b = program.region(ContextId::ROOT, &format!("~foo+19 {MAIN}"));
    (program, a, b)
}

#[test]
fn each_region_of_a_stripped_program_has_one_body_under_its_parent() {
    let (program, a, b) = regions();
    check_stripped(
        program,
        &[("a", a), ("b", b)],
        &format!(
            "
        Work a Worker: ~work ~a+12 {TEAM}
            = ~work ~a OUT
        Work a Initial: ~a+13 {FORK} ~foo+9 {MAIN}
            = ~a OUT
        Work b Worker: ~b+20 {TEAM}
            = ~b OUT
        Work b Initial: ~work ~b+20 {FORK} ~foo+19 {MAIN}
            = ~work ~b OUT
                # Neither stack shows the body.
        ImplicitBarrier a Worker: sched_yield R:~wait R:~launch R:~thread start_thread clone3
            = <ImplicitBarrier> ~a OUT
        ImplicitBarrier b Initial: sched_yield R:~wait R:~join R:__kmpc_fork_call ~foo+19 {MAIN}
            = <ImplicitBarrier> ~b OUT
        ExplicitBarrier a Worker: R:~wait R:__kmpc_barrier ~a+14 {TEAM}
            = <ExplicitBarrier> ~a OUT
        # Code of the runtime that is not exported is no entry point.
        Work a Worker: R:~wait R:~omp ~a+14 {TEAM}
            = <Overhead> ~a OUT
        # Records were lost: the body's home is known.
        Unknown root Worker: ~work ~a+12 {TEAM}
            = ~work ~a OUT
        Serial root Initial: ~work ~foo+30 {MAIN}
            = ~work OUT
        Idle root Worker: R:~wait R:~launch R:~thread start_thread clone3
            = <Idle>
        "
        ),
    );
}

#[test]
fn what_the_runtime_seldom_calls_is_not_taken_for_the_body() {
    let (mut program, a, b) = regions();
    let task = program.context(a, ContextKind::Task, &format!("~a+16 {TEAM}"));
    check_stripped(
        program,
        &[("a", a), ("b", b), ("task", task)],
        &format!(
            "
        Work a Worker: ~a+12 {TEAM}
            = ~a OUT
        Work a Worker: ~a+13 {TEAM}
            = ~a OUT
        # A reduction's combiner.
        Work a Worker: ~combine R:~gather R:__kmpc_reduce ~a+14 {TEAM}
            = ~combine ~a OUT
        Work task Worker: ~work ~task+5 R:~run R:__kmpc_omp_taskwait ~a+15 {TEAM}
            = ~work ~task ~a OUT
        Work task Worker: ~task+6 R:~run R:__kmpc_omp_taskwait ~a+15 {TEAM}
            = ~task ~a OUT
                # The event came slightly before or after the call.
        Work task Worker: ~a+15 {TEAM}
            = ~task ~a OUT
        Work a Worker: ~task+6 R:~run R:__kmpc_omp_taskwait ~a+15 {TEAM}
            = ~a OUT
        "
        ),
    );
}

#[test]
fn a_helper_that_an_inlined_body_calls_is_no_body() {
    let (program, a, _) = regions();
    check_stripped(
        program,
        &[("a", a)],
        &format!(
            "
        Work a Initial: ~helper ~foo+11 {MAIN}
            = ~helper <construct 1> OUT
        "
        ),
    );
}

#[test]
fn gcc_s_bodies_are_what_libgomp_calls() {
    let mut program = TestProgram::new();
    let a = program.region(ContextId::ROOT, &format!("~foo+9 {MAIN}"));
    check_stripped(
        program,
        &[("a", a)],
        &format!(
            "
        Work a Initial: ~work ~a+12 R:GOMP_parallel ~foo+9 {MAIN}
            = ~work ~a OUT
        Work a Worker: ~work ~a+12 R:~gomp_thread_start start_thread clone3
            = ~work ~a OUT
        ImplicitBarrier a Worker: R:~wait R:~gomp_thread_start start_thread clone3
            = <ImplicitBarrier> ~a OUT
        "
        ),
    );
}
