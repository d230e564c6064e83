//! Functions of Python in the places of the interpreter's.

use super::*;

/// The interpreter's function that runs functions of Python.
const RUNS: &str = "I:_PyEval_EvalFrameDefault";
/// From a thread's first function of the interpreter outward.
const FIRST: &str = "I:Py_BytesMain main+90 __libc_start_main _start";

#[test]
fn frames_that_were_read_take_the_places_of_the_interpreter_s() {
    let mut program = TestProgram::new();
    let fork = format!("L:work+9 I:call {RUNS} I:vector {RUNS} I:eval {FIRST}");
    let read = format!(
        "L:work+9 I:call {RUNS} Y:py::inner:s.py+7 Y:py::outer:s.py+3 I:vector {RUNS} \
         Y:py::<module>:s.py+20 I:eval {FIRST}"
    );
    let region = program.region_of_python(&fork, &read);
    // The frames of the outer activation are not known.
    let part = format!("L:work+9 I:call {RUNS} Y:py::inner:s.py+7 I:vector {RUNS} I:eval {FIRST}");
    let partly = program.region_of_python(&fork, &part);
    program.symbol("work.omp_outlined", 9);
    let table = format!(
        "
        Work region Worker: work.omp_outlined+10 {TEAM}
            = work.omp_outlined work py::inner:s.py py::outer:s.py py::<module>:s.py Py_BytesMain main …
        Work partly Worker: work.omp_outlined+10 {TEAM}
            = work.omp_outlined work py::inner:s.py _PyEval_EvalFrameDefault Py_BytesMain main …
        # Nothing is known of what the interpreter runs.
        Serial root Initial: I:lookup {RUNS} I:eval {FIRST}
            = lookup _PyEval_EvalFrameDefault eval Py_BytesMain main …
        "
    );
    let table = table.replace('…', "__libc_start_main _start");
    check(program, &[("region", region), ("partly", partly)], &table);
}

#[test]
fn trampolines_are_the_functions_that_they_call() {
    let mut program = TestProgram::new();
    let outer =
        format!("{RUNS} J:py::outer:s.py I:evaluator {RUNS} J:py::<module>:s.py I:eval {FIRST}");
    let fork = format!("L:work+9 I:call {RUNS} J:py::inner:s.py I:evaluator {outer}");
    // A frame was read, and its trampoline is there, too.
    let read =
        format!("L:work+9 I:call {RUNS} Y:py::inner:s.py+7 J:py::inner:s.py I:evaluator {outer}");
    let region = program.region_of_python(&fork, &read);
    program.symbol("work.omp_outlined", 9);
    let table = format!(
        "
        Work region Worker: work.omp_outlined+10 {TEAM}
            = work.omp_outlined work py::inner:s.py py::outer:s.py py::<module>:s.py Py_BytesMain main …
        Serial root Initial: {outer}
            = py::outer:s.py py::<module>:s.py Py_BytesMain main …
        # At the leaf the time is the interpreter's.
        Serial root Initial: I:lookup {outer}
            = lookup py::outer:s.py py::<module>:s.py Py_BytesMain main …
        Serial root Initial: L:solve I:call {outer}
            = solve py::outer:s.py py::<module>:s.py Py_BytesMain main …
        "
    );
    let table = table.replace('…', "__libc_start_main _start");
    check(program, &[("region", region)], &table);
}
