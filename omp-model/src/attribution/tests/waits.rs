//! Waits without samples of their own, and time that the loader's samples do not tell of.

use super::*;

const BODY: &str = "foo.omp_outlined";
const REST: &str = "foo+9 main __libc_start_main _start";

impl TestExperiment {
    /// A wait of thread 1, half a second asleep in slice 0.
    fn wait(&mut self, state: State, context: ContextId, call: &str) -> ThreadStateId {
        let call = self.program.frame(call);
        let thread_state = self.program.thread_state_at(state, context, call);
        let thread = if context == ContextId::ROOT { 0 } else { 1 };
        self.sum(thread, 0, thread_state, Scheduling::Blocked, 500_000_000);
        thread_state
    }

    /// The lines of each item's stack, and whether they are inferred.
    fn located(&self, mode: ViewMode) -> Vec<(String, bool)> {
        let profile = self.profile(mode);
        let items = profile.items.iter();
        items
            .map(|item| {
                (
                    self.program.located(&profile.paths, item.path),
                    item.inferred,
                )
            })
            .collect()
    }
}

fn at(lines: &str, inferred: bool) -> (String, bool) {
    (lines.to_owned(), inferred)
}

#[test]
fn a_wait_without_a_sample_is_at_its_call_and_not_at_that_of_its_neighbour() {
    let mut test = TestExperiment::new(2);
    let region = test.region();
    let seen = test.wait(State::Critical, region, "foo.omp_outlined+14");
    let team = WORK.split_once(' ').expect("a caller").1;
    let team = team.split_once(' ').expect("a caller").1;
    let stack = format!("sched_yield R:__kmpc_critical foo.omp_outlined+14 {team}");
    test.sample(1, 0, seen, SampleKind::Blocked, &stack);
    test.wait(State::Critical, region, "foo.omp_outlined+18");
    // A wait whose call is not known has no part in it.
    let unknown = test.program.thread_state(State::Critical, region);
    test.sample(1, 0, unknown, SampleKind::Blocked, &stack);
    assert_eq!(
        test.located(ViewMode::User),
        [
            at(&format!("<Critical> {BODY}+14 {REST}"), false),
            // The event alone tells where it is.
            at(&format!("<Critical> {BODY}+18 {REST}"), false),
        ]
    );
    // In machine mode its frames are those of the other.
    let (machine, inferred) = test.located(ViewMode::Machine).swap_remove(1);
    assert!(machine.starts_with("foo.omp_outlined+18 __kmp_invoke_microtask"));
    assert!(inferred);
}

#[test]
fn the_callers_of_a_wait_without_a_sample_are_those_of_other_time_in_its_function() {
    let mut test = TestExperiment::new(2);
    let region = test.region();
    test.wait(State::ExplicitBarrier, region, "step+40");
    test.wait(State::TaskWait, region, "other+50");
    let work = test.program.thread_state(State::Work, region);
    test.sum(0, 0, work, Scheduling::Running, 10);
    let stack = "work step+30 mid+3 foo.omp_outlined+12 R:__kmp_invoke_microtask \
                 R:__kmpc_fork_call foo+9 main __libc_start_main _start";
    test.sample(0, 0, work, SampleKind::User, stack);
    assert_eq!(
        test.located(ViewMode::User),
        [
            at(&format!("work step+30 mid+3 {BODY}+12 {REST}"), false),
            at(
                &format!("<ExplicitBarrier> step+40 mid+3 {BODY}+12 {REST}"),
                true
            ),
            // Nothing shows its callers.
            at(&format!("<Task> other+50 {BODY} {REST}"), true),
        ]
    );
}

const LOADING: [&str; 2] = [
    "D:do_lookup D:_dl_relocate_object D:dl_main D:_dl_start",
    "init D:call_init D:_dl_init D:_dl_start_user",
];

#[test]
fn a_wait_outside_of_constructs_is_under_main_and_not_in_the_loader() {
    let mut test = TestExperiment::new(1);
    test.wait(State::Lock, ContextId::ROOT, "step+40");
    test.sum(0, 0, ThreadStateId::OUTSIDE, Scheduling::Running, 40);
    // A constructor of the executable runs before `main`, too.
    let own = "ctor+1 __libc_start_main _start";
    for stack in [LOADING[0], LOADING[0], LOADING[1], own] {
        test.sample(0, 0, ThreadStateId::OUTSIDE, SampleKind::User, stack);
    }
    let serial = test.program.thread_state(State::Serial, ContextId::ROOT);
    test.sum(0, 0, serial, Scheduling::Running, 10);
    for line in [3, 4] {
        let work = format!("work main+{line} __libc_start_main _start");
        test.sample(0, 0, serial, SampleKind::User, &work);
    }
    let found = test.located(ViewMode::User);
    let wait = at("<Lock> step+40 main __libc_start_main _start", true);
    assert!(found.contains(&wait), "{found:#?}");
    // The loader's own samples stay where they are.
    let loading = at("do_lookup _dl_relocate_object dl_main _dl_start", false);
    assert!(found.contains(&loading), "{found:#?}");
}

#[test]
fn no_time_takes_the_stacks_of_the_loader() {
    let mut test = TestExperiment::new(1);
    let outside = ThreadStateId::OUTSIDE;
    // The program reads its input: no sample off the CPU but those of the loader.
    test.sum(0, 0, outside, Scheduling::Blocked, 20);
    test.sum(0, 0, outside, Scheduling::Running, 30);
    test.sum(0, 5, outside, Scheduling::Blocked, 900);
    test.sample(0, 0, outside, SampleKind::Blocked, LOADING[0]);
    test.sample(0, 0, outside, SampleKind::User, LOADING[0]);
    let read = "read main+3 __libc_start_main _start";
    test.sample(0, 0, outside, SampleKind::User, read);
    assert_eq!(
        test.rows(ViewMode::User),
        [
            row(
                "do_lookup _dl_relocate_object dl_main _dl_start",
                15,
                1,
                false
            ),
            row("read main __libc_start_main _start", 15, 1, false),
            row(
                "do_lookup _dl_relocate_object dl_main _dl_start",
                20,
                0,
                false
            ),
            row("read main __libc_start_main _start", 900, 0, true),
        ]
    );
}

#[test]
fn a_process_that_ends_in_the_loader_has_its_frames() {
    let mut test = TestExperiment::new(1);
    let outside = ThreadStateId::OUTSIDE;
    test.sum(0, 0, outside, Scheduling::Running, 30);
    test.sum(0, 0, outside, Scheduling::Blocked, 20);
    test.sample(0, 0, outside, SampleKind::User, LOADING[0]);
    let loader = "do_lookup _dl_relocate_object dl_main _dl_start";
    assert_eq!(
        test.rows(ViewMode::User),
        [row(loader, 30, 1, false), row(loader, 20, 0, true)]
    );
}
