//! One sample in each state of the specification's model, in user and machine mode.

use super::*;

#[test]
fn user_mode_of_samples_1_to_4_work_and_overhead() {
    let (program, r) = foo();
    let dispatch = "R:?+7 R:__kmpc_dispatch_next_4 foo.omp_outlined+11";
    check(
        program,
        &[("r", r)],
        &format!(
            "
        # 1: before the first region.
        Serial root Initial: foo+8 {MAIN}
            = …
        # 2: all about to take their first chunk.
        Work r Initial: {dispatch} {FORK} foo+9 {MAIN}
            = <Overhead> foo-OMP …
        Work r Worker: {dispatch} {TEAM}
            = <Overhead> foo-OMP …
        # The fork itself, and a worker that has not come to the outlined function.
        Overhead r Initial: malloc R:___kmp_allocate R:?+9 R:__kmpc_fork_call foo+9 {MAIN}
            = <Overhead> foo-OMP …
        Overhead r Worker: R:?+2 R:?+3 start_thread clone3
            = <Overhead> foo-OMP …
        # 3: useful work, also in called functions.
        Work r Initial: foo.omp_outlined+12 {FORK} foo+9 {MAIN}
            = foo-OMP …
        Work r Worker: work+3 foo.omp_outlined+12 {TEAM}
            = work foo-OMP …
        # 4: between chunks; the runtime prints its traces.
        Work r Worker: _start_in_libc {dispatch} {TEAM}
            = <Overhead> foo-OMP …
        Work r Worker: foo.omp_outlined+12 {TEAM}
            = foo-OMP …
        "
        ),
    );
}

#[test]
fn user_mode_of_samples_5_to_7_waits() {
    let (program, r) = foo();
    let wait = "sched_yield R:__kmp_wait_4 R:?+1 R:?+2";
    check(
        program,
        &[("r", r)],
        &format!(
            "
        Critical r Initial: {wait} R:__kmpc_critical_with_hint foo.omp_outlined+14 {FORK} foo+9 {MAIN}
            = <Critical> foo-OMP …
        Critical r Worker: {wait} R:__kmpc_critical_with_hint foo.omp_outlined+14 {TEAM}
            = <Critical> foo-OMP …
        Work r Worker: work foo.omp_outlined+15 {TEAM}
            = work foo-OMP …
        Lock r Initial: {wait} R:__kmpc_set_lock foo.omp_outlined+16 {FORK} foo+9 {MAIN}
            = <Lock> foo-OMP …
        NestLock r Worker: {wait} R:__kmpc_set_lock foo.omp_outlined+16 {TEAM}
            = <Lock> foo-OMP …
        # 7: near the end; the worker has left the outlined function, the primary as well.
        ImplicitBarrier r Initial: {SPIN} R:?+8 R:__kmpc_fork_call foo+9 {MAIN}
            = <ImplicitBarrier> foo-OMP …
        ImplicitBarrier r Worker: {SPIN} R:?+7 R:?+8 start_thread clone3
            = <ImplicitBarrier> foo-OMP …
        Work r Worker: work foo.omp_outlined+12 {TEAM}
            = work foo-OMP …
        # An explicit barrier, in a function that the region calls.
        ExplicitBarrier r Worker: {SPIN} R:__kmpc_barrier step+40 foo.omp_outlined+12 {TEAM}
            = <ExplicitBarrier> step foo-OMP …
        # Asleep, with the kernel's frames.
        ExplicitBarrier r Worker: K:schedule K:futex_wait futex_wait R:?+4 R:__kmpc_barrier foo.omp_outlined+12 {TEAM}
            = <ExplicitBarrier> foo-OMP …
        "
        ),
    );
}

#[test]
fn user_mode_of_samples_8_to_10_reduction_barrier_idle() {
    let (program, r) = foo();
    let combine = "add .omp_combiner. foo.omp_outlined.omp.reduction.reduction_func R:?+1 R:?+2 R:__kmpc_reduce_nowait foo.omp_outlined+20";
    check(
        program,
        &[("r", r)],
        &format!(
            "
        # 8: the combiner runs in the runtime's own barrier.
        ImplementationBarrier r Initial: {combine} {FORK} foo+9 {MAIN}
            = <Reduction> foo-OMP …
        Work r Worker: {combine} {TEAM}
            = <Reduction> foo-OMP …
        ImplementationBarrier r Worker: {SPIN} R:__kmpc_reduce_nowait foo.omp_outlined+20 {TEAM}
            = <Reduction> foo-OMP …
        ImplementationBarrier r Worker: {SPIN} R:__kmpc_barrier foo.omp_outlined+20 {TEAM}
            = <ImplicitBarrier> foo-OMP …
        Critical r Worker: sched_yield R:?+2 R:__kmpc_reduce foo.omp_outlined+20 {TEAM}
            = <Reduction> foo-OMP …
        Work r Worker: work foo.omp_outlined+12 {TEAM}
            = work foo-OMP …
        # With up to four threads the body combines by itself.
        Work r Worker: add .omp_combiner. foo.omp_outlined+21 {TEAM}
            = <Reduction> foo-OMP …
        # 9: all at the barrier.
        ImplicitBarrier r Initial: {SPIN} R:?+8 R:__kmpc_fork_call foo+9 {MAIN}
            = <ImplicitBarrier> foo-OMP …
        ImplicitBarrier r Worker: {SPIN} R:?+7 start_thread clone3
            = <ImplicitBarrier> foo-OMP …
        # 10: after the region.
        Serial root Initial: work foo+30 {MAIN}
            = work …
        Idle root Worker: {SPIN} R:?+7 start_thread clone3
            = <Idle>
        Idle r Worker: {SPIN} R:?+7 start_thread clone3
            = <Idle>
        Outside root Worker: R:?+7 start_thread clone3
            = <Idle>
        "
        ),
    );
}

#[test]
fn user_mode_of_sample_11_nested() {
    let (mut program, r) = foo();
    let fork = format!("bar+5 foo.omp_outlined+12 {TEAM}");
    let inner = program.region(r, &fork);
    program.symbol("bar.omp_outlined", 5);
    check(
        program,
        &[("r", r), ("inner", inner)],
        &format!(
            "
        Work r Initial: foo.omp_outlined+12 {FORK} foo+9 {MAIN}
            = foo-OMP …
        # Worker 1 forked; worker 4 is new.
        Work inner Worker: bar.omp_outlined+6 {FORK} bar+5 foo.omp_outlined+12 {TEAM}
            = bar-OMP bar foo-OMP …
        Work inner Worker: bar.omp_outlined+6 {TEAM}
            = bar-OMP bar foo-OMP …
        # At the inner join, and in the outer region again.
        ImplicitBarrier inner Worker: {SPIN} R:?+8 R:__kmpc_fork_call bar+5 foo.omp_outlined+12 {TEAM}
            = <ImplicitBarrier> bar-OMP bar foo-OMP …
        ImplicitBarrier inner Worker: {SPIN} R:?+7 start_thread clone3
            = <ImplicitBarrier> bar-OMP bar foo-OMP …
        Overhead r Worker: R:?+8 R:__kmpc_fork_call bar+5 foo.omp_outlined+12 {TEAM}
            = <Overhead> bar foo-OMP …
        ImplicitBarrier r Worker: {SPIN} R:?+7 start_thread clone3
            = <ImplicitBarrier> foo-OMP …
        "
        ),
    );
}

#[test]
fn machine_mode_of_samples_is_as_measured() {
    let (mut program, r) = foo();
    let stacks = [
        (
            format!("foo+8 {MAIN}"),
            State::Serial,
            ContextId::ROOT,
            Initial,
            RefinedState::Serial,
        ),
        (
            format!("foo.omp_outlined+12 {TEAM}"),
            State::Work,
            r,
            Worker,
            RefinedState::Work,
        ),
        (
            format!("K:schedule {SPIN} R:?+7 start_thread clone3"),
            State::ImplicitBarrier,
            r,
            Worker,
            RefinedState::ImplicitBarrier,
        ),
        (
            format!("{SPIN} R:?+7 start_thread clone3"),
            State::Idle,
            ContextId::ROOT,
            Worker,
            RefinedState::Idle,
        ),
        (
            format!("bar.omp_outlined+6 {FORK} bar+5 foo.omp_outlined+12 {TEAM}"),
            State::Work,
            r,
            Worker,
            RefinedState::Work,
        ),
        (
            "work foo.omp_outlined !".to_owned(),
            State::Work,
            r,
            Worker,
            RefinedState::Work,
        ),
    ];
    for (text, state, context, thread, refined) in stacks {
        let sample = program.sample(&text, (state, context), thread);
        let plain: Vec<&str> = text
            .split_whitespace()
            .map(|word| word.split('+').next().unwrap_or(word))
            .map(|word| word.trim_start_matches("R:").trim_start_matches("K:"))
            .collect();
        assert_eq!(program.machine(sample), (plain.join(" "), refined));
    }
}
