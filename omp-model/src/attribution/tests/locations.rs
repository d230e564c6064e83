//! The division of sums among the samples that fell into them.

use super::*;

#[test]
fn samples_share_a_sum_to_the_last_nanosecond() {
    let mut test = TestExperiment::new(2);
    let region = test.region();
    let thread_state = test.program.thread_state(State::Work, region);
    test.sum(1, 0, thread_state, Scheduling::Running, 600);
    test.sum(1, 0, thread_state, Scheduling::Running, 400);
    for stack in [
        WORK,
        WORK,
        "foo.omp_outlined+12 R:__kmp_invoke_microtask R:?+1 start_thread clone3",
    ] {
        test.sample(1, 0, thread_state, SampleKind::User, stack);
    }
    assert_eq!(
        test.rows(ViewMode::User),
        [
            row(REGION, 333, 1, false),
            row(&format!("work {REGION}"), 667, 2, false)
        ]
    );
}

#[test]
fn a_sleeping_wait_has_the_stack_of_the_spinning_one() {
    let mut test = TestExperiment::new(2);
    let region = test.region();
    let call = test.program.frame("step+40");
    let thread_state = test
        .program
        .thread_state_at(State::ExplicitBarrier, region, call);
    test.sum(1, 3, thread_state, Scheduling::Running, 10);
    test.sum(1, 3, thread_state, Scheduling::Blocked, 5000);
    test.sum(1, 4, thread_state, Scheduling::Blocked, 7000);
    let stack = format!("sched_yield R:?+4 R:__kmpc_barrier step+40 {}", &WORK[5..]);
    test.sample(1, 3, thread_state, SampleKind::User, &stack);
    let name = format!("<ExplicitBarrier> step {REGION}");
    assert_eq!(
        test.rows(ViewMode::User),
        [
            row(&name, 10, 1, false),
            row(&name, 5000, 0, false),
            row(&name, 7000, 0, true)
        ]
    );
}

#[test]
fn work_off_the_cpu_has_the_stack_of_its_switch_out() {
    let mut test = TestExperiment::new(1);
    let thread_state = test.program.thread_state(State::Serial, ContextId::ROOT);
    let (read, spin) = ("nanosleep work main _start", "work main _start");
    test.sum(0, 0, thread_state, Scheduling::Running, 100);
    test.sum(0, 0, thread_state, Scheduling::Blocked, 900);
    test.sum(0, 0, thread_state, Scheduling::Preempted, 50);
    test.sum(0, 9, thread_state, Scheduling::Blocked, 800);
    test.sample(0, 0, thread_state, SampleKind::User, spin);
    test.sample(0, 0, thread_state, SampleKind::Blocked, read);
    test.sample(0, 9, thread_state, SampleKind::Kernel, spin);
    assert_eq!(
        test.rows(ViewMode::User),
        [
            row(spin, 100, 1, false),
            row(spin, 50, 0, true),
            row(read, 900, 0, false),
            row(read, 800, 0, true),
        ]
    );
    let profile = test.profile(ViewMode::User);
    assert!(
        profile.items.iter().all(|item| !item.kernel),
        "no clock sample of a summed group was in the kernel"
    );
}

#[test]
fn inferred_stacks_come_from_similar_threads_then_from_the_construct() {
    let mut test = TestExperiment::new(3);
    let region = test.region();
    let work = test.program.thread_state(State::Work, region);
    let join = test.program.thread_state(State::ImplicitBarrier, region);
    test.sum(0, 0, work, Scheduling::Running, 5);
    test.sum(1, 0, work, Scheduling::Running, 100);
    test.sum(2, 0, work, Scheduling::Running, 7);
    test.sum(2, 0, join, Scheduling::Blocked, 9);
    test.sample(1, 0, work, SampleKind::User, WORK);
    let name = format!("work {REGION}");
    assert_eq!(
        test.rows(ViewMode::User),
        [
            // The primary's machine stacks have other outermost frames than the workers'.
            row(REGION, 5, 0, true),
            row(&name, 100, 1, false),
            row(&name, 7, 0, true),
            // A join barrier is at its region: there is nothing to infer.
            row(&format!("<ImplicitBarrier> {REGION}"), 9, 0, false),
        ]
    );
    let machine = test.rows(ViewMode::Machine);
    assert_eq!(machine[0].0, "foo main __libc_start_main _start");
    assert_eq!(
        machine[2].0,
        "work foo.omp_outlined __kmp_invoke_microtask ? start_thread clone3"
    );
}

#[test]
fn idle_time_is_one_leaf_in_user_mode_and_a_workers_stack_in_machine_mode() {
    let mut test = TestExperiment::new(3);
    let idle = test.program.thread_state(State::Idle, ContextId::ROOT);
    test.sum(1, 0, idle, Scheduling::Blocked, 40);
    test.sum(2, 0, ThreadStateId::OUTSIDE, Scheduling::Blocked, 60);
    test.sample(1, 0, idle, SampleKind::User, SPIN);
    // Events were recorded, so a worker without any is idle.
    test.region();
    assert_eq!(
        test.rows(ViewMode::User),
        [row("<Idle>", 40, 0, false), row("<Idle>", 60, 0, true)]
    );
    let spin = "sched_yield ? ? start_thread clone3";
    assert_eq!(
        test.rows(ViewMode::Machine),
        [row(spin, 40, 0, false), row(spin, 60, 0, true)]
    );
}

#[test]
fn without_sums_a_clock_sample_counts_its_period() {
    let mut test = TestExperiment::new(1);
    test.header.sampling.period_us = 1000.25;
    let thread_state = test.program.thread_state(State::Serial, ContextId::ROOT);
    test.sample(0, 0, thread_state, SampleKind::User, "work main _start");
    test.sample(0, 0, thread_state, SampleKind::User, "work main _start");
    test.sample(
        0,
        0,
        thread_state,
        SampleKind::Blocked,
        "nanosleep main _start",
    );
    assert_eq!(
        test.rows(ViewMode::User),
        [row("work main _start", 2_000_500, 2, false)]
    );
}

#[test]
fn where_records_were_lost_each_samples_stack_gives_its_state() {
    let mut test = TestExperiment::new(2);
    let region = test.region();
    let thread_state = test.program.thread_state(State::Unknown, region);
    test.sum(1, 0, thread_state, Scheduling::Running, 300);
    test.sample(1, 0, thread_state, SampleKind::User, WORK);
    test.sample(1, 0, thread_state, SampleKind::User, SPIN);
    test.sample(
        1,
        0,
        thread_state,
        SampleKind::User,
        &format!("R:?+1 R:__kmpc_set_lock {}", &WORK[5..]),
    );
    let profile = test.profile(ViewMode::User);
    let state: Vec<(RefinedState, u64, ContextId)> = profile
        .items
        .iter()
        .map(|i| (i.state, nanos(i), i.context))
        .collect();
    assert_eq!(
        state,
        [
            (RefinedState::Work, 100, ContextId::ROOT),
            (RefinedState::Idle, 100, ContextId::ROOT),
            (RefinedState::Lock, 100, ContextId::ROOT),
        ]
    );
}

/// A directive that is met on many paths has samples on few of them, which tell of all of it.
#[test]
fn contexts_without_samples_have_what_their_directive_s_samples_leave() {
    let mut test = TestExperiment::new(2);
    test.program.symbol("foo.omp_outlined", 9);
    let forks = [
        "foo+9 main __libc_start_main _start",
        "foo+9 bar main __libc_start_main _start",
    ];
    let [sampled, other] = forks.map(|fork| {
        let region = test.program.region(ContextId::ROOT, fork);
        test.program.thread_state(State::Work, region)
    });
    let stack = |leaf: &str| format!("{leaf}foo.omp_outlined+12 R:__kmp_invoke_microtask clone3");
    for leaf in ["work ", "work ", "work ", ""] {
        test.sample(1, 0, sampled, SampleKind::User, &stack(leaf));
    }
    test.sum(1, 0, sampled, Scheduling::Running, 1_000);
    test.sum(1, 0, other, Scheduling::Running, 2_000);
    // A state of which no sample tells stays at its construct.
    let reduction = test.program.thread_state(State::Reduction, ContextId(2));
    test.sum(1, 0, reduction, Scheduling::Running, 7);
    let bar = "foo.omp_outlined foo bar main __libc_start_main _start";
    let rows = test.rows(ViewMode::User);
    assert_eq!(
        rows,
        [
            row(REGION, 250, 1, false),
            row(&format!("work {REGION}"), 750, 3, false),
            row(bar, 500, 0, true),
            row(&format!("work {bar}"), 1_500, 0, true),
            row(&format!("<Reduction> {bar}"), 7, 0, true),
        ]
    );
}
