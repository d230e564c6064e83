//! User code that spins on a flag is work with a leaf of its own, by either compiler's `flush`.

use end_to_end::{Cell, compiler, tools};
use fixtures::{Family, WaitPolicy, program};

#[test]
fn a_loop_around_flush_has_its_own_leaf() {
    for family in [Family::Clang, Family::Gcc] {
        let compiler = compiler(family);
        let cell = Cell {
            program: program("flush_spin").expect("it is in the catalogue"),
            compiler: compiler.clone(),
            library: None,
            threads: 2,
            policy: WaitPolicy::Passive,
            perf: true,
        };
        let recorded = cell.record().unwrap_or_else(|error| panic!("{error}"));
        let tree = tools().print(&recorded.experiment, &["-calltree"]);
        let lines: Vec<&str> = tree.lines().collect();
        let leaf = lines
            .iter()
            .position(|line| line.contains("<OMP flush spin>"));
        let under = leaf.map(|at| lines[at - 1]).unwrap_or_default();
        assert!(under.contains("await_turn"), "{}:\n{tree}", compiler.name);
        // It is said before any advice that it is in what is called work.
        let overview = tools().print(&recorded.experiment, &["-overview"]);
        let said = overview
            .lines()
            .find(|line| line.contains("Threads spin on variables"));
        let said = said.unwrap_or_default();
        assert!(said.contains("flush_spin.c:"), "{overview}");
        recorded.discard();
    }
}
