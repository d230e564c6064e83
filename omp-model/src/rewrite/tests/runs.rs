//! What stacks tell along with others of their run is what they tell by themselves.

use super::*;
use crate::rewrite::frames::Facts;
use crate::tables::ContextKind;

/// Words that stacks are made of, the plain ones most often.
const WORDS: [&str; 24] = [
    "a",
    "b",
    "c",
    "c+7",
    "foo+3",
    "foo+9",
    "bar+4",
    "?+1",
    "?+2",
    "~f+1",
    "L:solve",
    "L:dgemm_",
    "L:exec_blas",
    "sched_yield",
    "K:irq",
    "K:fault",
    "foo.omp_outlined",
    "bar.omp_task_entry.",
    ".omp_combiner.",
    "omp_own",
    "R:__kmpc_fork_call",
    "R:__kmp_invoke_microtask",
    "R:__kmpc_barrier",
    "R:?+3",
];

struct Noise(u64);

impl Noise {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as usize % limit
    }

    fn word(&mut self) -> &'static str {
        let kinds = if self.below(4) > 0 { 10 } else { WORDS.len() };
        WORDS[self.below(kinds)]
    }
}

/// Moments of a program in which anything may call anything, in the order of evidence.
pub(in crate::rewrite) fn anything(seed: u64) -> (World, Vec<Moment>) {
    let mut noise = Noise(seed);
    let mut world = World::new();
    world.symbol("foo.omp_outlined", 9);
    let ends = [
        "main+90 __libc_start_main _start",
        "R:__kmp_invoke_microtask R:?+1 start_thread clone3",
        "!",
    ];
    let mut stacks: Vec<String> = ends.map(str::to_owned).to_vec();
    for _ in 0..400 {
        // Any stack may be called by any other.
        let callers = stacks[noise.below(stacks.len())].clone();
        let word = noise.word();
        // A region's body is called by no other, or none of both would have an outer end.
        if !(word.contains("outlined") && callers.contains("outlined")) {
            stacks.push(format!("{word} {callers}"));
        }
    }
    let mut contexts = vec![ContextId::ROOT];
    for _ in 0..6 {
        let parent = contexts[noise.below(contexts.len())];
        let kind = [ContextKind::Region, ContextKind::Region, ContextKind::Task][noise.below(3)];
        // What forks it is in no other construct, of which it might be the body, too.
        let outer: Vec<&String> = stacks.iter().filter(|s| !s.contains("R:")).collect();
        let fork = outer[noise.below(outer.len())].clone();
        contexts.push(world.context(parent, kind, &fork));
    }
    let states = [
        State::Work,
        State::Serial,
        State::Critical,
        State::ImplicitBarrier,
        State::Unknown,
    ];
    let mut moments = Vec::new();
    for stack in &stacks {
        for _ in 0..3 {
            let state = (
                states[noise.below(states.len())],
                contexts[noise.below(contexts.len())],
            );
            let thread = [Initial, Worker][noise.below(2)];
            moments.push(world.moment(stack, state, thread));
        }
    }
    moments.sort_unstable_by_key(|m| (m.stack, m.tag, m.thread as u8));
    moments.dedup();
    (world, moments)
}

#[test]
fn a_stack_has_the_same_place_along_with_others_and_by_itself() {
    let mut along = 0;
    for seed in 1..40 {
        let (world, moments) = anything(seed);
        let mut all = Rewriter::new(&world.tables, &world.symbols, moments.iter().copied());
        let learnt = all.what_was_learnt();
        // As a recording's shares are gone through: by state.
        let mut moments = moments;
        moments.sort_unstable_by_key(|m| (m.tag, m.thread as u8, m.stack));
        for &moment in &moments {
            along += usize::from(all.along(moment).is_some());
            let (path, shown) = all.rewritten(moment);
            let mut alone = Rewriter::learnt(&world.tables, &world.symbols, &learnt);
            let (own, own_shown) = alone.by_itself(moment);
            assert_eq!(shown, own_shown, "seed {seed}, {moment:?}");
            let nameless = |text: String| match text.find("<construct") {
                // Of several without a name, the one that was met first stands for all.
                Some(_) => text
                    .split("<construct")
                    .map(|part| part.split_once('>').map_or(part, |p| p.1))
                    .collect(),
                None => text,
            };
            let shows = |rewriter: &Rewriter<'_>, path| nameless(world.show(rewriter, path));
            assert_eq!(
                shows(&all, path),
                shows(&alone, own),
                "seed {seed}, {moment:?}"
            );
            let fresh = Rewriter::learnt(&world.tables, &world.symbols, &learnt);
            assert_eq!(
                all.shown(moment),
                fresh.shown(moment),
                "seed {seed}, {moment:?}"
            );
        }
    }
    assert!(along > 500, "{along} moments were told by others");
}

#[test]
fn stacks_that_differ_by_plain_code_are_of_one_run() {
    let mut world = World::new();
    let base = "foo.omp_outlined R:__kmp_invoke_microtask start_thread clone3";
    let stack = |world: &mut World, inner: &str| world.stack(&format!("{inner} {base}"));
    let alike = ["a", "b a", "c+7 b a", "K:irq c+7 b a", "?+1 a"];
    let alike = alike.map(|inner| stack(&mut world, inner));
    let others = [
        "",
        "b",
        "R:__kmpc_barrier a",
        ".omp_combiner. a",
        "L:exec_blas a",
        "L:solve a",
    ];
    let others = others.map(|inner| stack(&mut world, inner));
    let facts = Facts::new(&world.tables, &world.symbols);
    let run = |stack| facts.runs().of(stack).expect("the stack is known");
    assert!(alike.iter().all(|&stack| run(stack) == run(alike[0])));
    assert!(others.iter().all(|&stack| run(stack) != run(alike[0])));
}
