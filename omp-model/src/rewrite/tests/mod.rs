//! Machine stacks as recorded (LLVM 14 and 22, -O0 and -O2), and the expected user stacks.

mod compilers;
mod folded;
mod jumps;
mod losses;
mod python;
mod states;
mod stripped;
mod waits;

use ThreadKind::{Initial, Worker};
use experiment::ids::ContextId;
use experiment::state::State;
use experiment::tables::ThreadKind;

use super::test_program::TestProgram;
use super::{Rewriter, SampledStack};
use crate::states::RefinedState;

/// The initial thread outside of all constructs, and its callers.
const MAIN: &str = "main+90 __libc_start_main _start";
/// The primary's frames of the runtime between the fork and the outlined function.
const FORK: &str = "R:__kmp_invoke_microtask R:? R:__kmp_fork_call R:__kmpc_fork_call";
/// A worker's frames outside the outlined function.
const TEAM: &str = "R:__kmp_invoke_microtask R:?+1 R:?+2 R:?+3 start_thread clone3";
/// The waiting frames of a barrier, down to the yield.
const SPIN: &str = "sched_yield R:?+4 R:?+5 R:?+6";

/// `foo`'s region, forked at line 9 under `main`.
fn foo() -> (TestProgram, ContextId) {
    let mut program = TestProgram::new();
    let region = program.region(ContextId::ROOT, &format!("foo+9 {MAIN}"));
    program.symbol("foo.omp_outlined", 9);
    (program, region)
}

/// Checks samples of one experiment together. Each has a state, context, kind of thread and machine
/// stack, then the expected user stack.
fn check(mut program: TestProgram, contexts: &[(&str, ContextId)], table: &str) {
    let lines = table.lines().map(str::trim);
    let rows: Vec<&str> = lines
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
        .collect();
    let samples: Vec<SampledStack> = rows
        .iter()
        .step_by(2)
        .map(|row| {
            let (what, stack) = row.split_once(": ").expect("a colon and a stack");
            let words: Vec<&str> = what.split(' ').collect();
            let state = experiment::state::STATES
                .iter()
                .find(|s| format!("{s:?}") == words[0]);
            let context = match words[1] {
                "root" => ContextId::ROOT,
                name => contexts.iter().find(|c| c.0 == name).expect("a context").1,
            };
            let thread = match words[2] {
                "Initial" => Initial,
                "Worker" => Worker,
                "Other" => ThreadKind::Other,
                _ => ThreadKind::Outside,
            };
            program.sample(stack, (*state.expect("a state"), context), thread)
        })
        .collect();
    for (stack, row) in program.user(&samples).iter().zip(rows.chunks(2)) {
        let expected = row[1]
            .trim_start_matches("= ")
            .replace('…', "foo main __libc_start_main _start")
            .replace("foo-OMP", "foo.omp_outlined")
            .replace("bar-OMP", "bar.omp_outlined");
        assert_eq!(*stack, expected, "of {}", row[0]);
    }
}
