//! Worksharing loops, sections, singles and taskloops: schedules, chunks and counts as in the source.

use crate::run::Run;
use crate::shown::{Construct, Faults, constructs};

/// A worksharing construct as the list should have it: its name, its schedule and chunk, and how many
/// instances, iterations and chunks all rounds have. `None` for what the program computes itself.
type Divided = (&'static str, &'static str, Option<u64>, [Option<u64>; 3]);

/// Checks the list of loops against these constructs.
fn loops_are(run: &Run, expected: &[Divided]) -> Result<(), String> {
    let found = constructs(&run.record().experiment, "-OMP_loop");
    let names: Vec<&str> = found.iter().map(|row| row.name.as_str()).collect();
    let mut faults = Faults::default();
    faults.unless(names.len() == expected.len(), || {
        format!("the rows are {names:#?}")
    });
    for &(name, schedule, chunk, counts) in expected {
        let Some(Construct { row, .. }) = found.iter().find(|row| row.name == name) else {
            faults.unless(false, || format!("no row is {name}, of {names:#?}"));
            continue;
        };
        let is = (row["schedule"].as_str(), row["chunk"].as_u64());
        faults.unless(is == (Some(schedule), chunk), || {
            format!("{name} has schedule and chunk {is:?}, not {schedule}, {chunk:?}")
        });
        let of = |id: &str| row["values"][id].as_u64();
        let mut known = ["instances", "iterations", "chunks"].map(of);
        if schedule == "guided" {
            // How it is divided depends on when the threads ask.
            known[2] = None;
        }
        faults.unless(known == counts, || {
            format!("{name} has instances, iterations and chunks {known:?}, not {counts:?}")
        });
        let threads = row["by_thread"].as_array().map_or(0, Vec::len);
        faults.unless((1..=2).contains(&threads), || {
            format!("{name} has {threads} threads")
        });
    }
    faults.found()
}

/// Worksharing constructs have the schedules, chunks and iterations of the source. gcc computes the
/// parts of static loops in the program.
pub(crate) fn of_gcc(run: &Run) -> Result<(), String> {
    let own = [
        ("apart -- OMP loop from line 20", "static", None, [None; 3]),
        ("apart -- OMP loop from line 22", "static", None, [None; 3]),
        (
            "combined -- OMP loop from line 49",
            "static",
            None,
            [Some(10), None, None],
        ),
        (
            "apart -- OMP sections from line 32",
            "sections",
            None,
            [10, 30, 30].map(Some),
        ),
        // Its teams follow each other on one thread.
        (
            "dependent -- OMP loop from line 67",
            "dynamic",
            Some(10),
            [100, 10_000, 1000].map(Some),
        ),
    ];
    loops_are(run, &[&asked()[..], &own].concat())
}

/// Likewise by clang, whose programs ask the runtime for the parts of all loops, and for those of
/// sections at once.
pub(crate) fn of_clang(run: &Run) -> Result<(), String> {
    let all = |counts: [u64; 3]| counts.map(Some);
    let own = [
        (
            "apart -- OMP loop from line 20",
            "static",
            Some(11),
            all([10, 10_000, 910]),
        ),
        (
            "apart -- OMP loop from line 22",
            "static",
            None,
            all([10, 10_000, 20]),
        ),
        (
            "combined -- OMP loop from line 49",
            "static",
            None,
            all([10, 10_000, 20]),
        ),
        (
            "apart -- OMP sections from line 32",
            "sections",
            None,
            all([10, 30, 20]),
        ),
        (
            "dependent -- OMP distribute from line 67",
            "distribute",
            Some(100),
            all([10, 10_000, 100]),
        ),
        // A team of one thread gets its part at once.
        (
            "dependent -- OMP loop from line 67",
            "dynamic",
            Some(10),
            all([50, 10_000, 100]),
        ),
    ];
    loops_are(run, &[&asked()[..], &own].concat())
}

/// The constructs of `loops.c` for whose parts both compilers' programs ask.
fn asked() -> [Divided; 9] {
    let all = |counts: [u64; 3]| counts.map(Some);
    [
        (
            "apart -- OMP loop from line 15",
            "dynamic",
            Some(7),
            all([10, 10_000, 1430]),
        ),
        (
            "apart -- OMP loop from line 17",
            "guided",
            Some(5),
            [Some(10), Some(3340), None],
        ),
        (
            "apart -- OMP loop from line 24",
            "runtime",
            None,
            all([10, 10_000, 1120]),
        ),
        (
            "apart -- OMP loop from line 26",
            "dynamic",
            Some(3),
            all([10, 10_000, 3340]),
        ),
        (
            "apart -- OMP single from line 41",
            "single",
            None,
            all([10, 10, 0]),
        ),
        (
            "combined -- OMP loop from line 47",
            "dynamic",
            Some(4),
            all([10, 3340, 840]),
        ),
        (
            "combined -- OMP single from line 52",
            "single",
            None,
            all([10, 10, 0]),
        ),
        (
            "dependent -- OMP loop from line 59",
            "dynamic",
            Some(8),
            all([10, 10_000, 1250]),
        ),
        (
            "combined -- OMP taskloop from line 53",
            "taskloop",
            Some(50),
            [Some(10), Some(10_000), None],
        ),
    ]
}

/// Likewise by gfortran.
pub(crate) fn of_gfortran(run: &Run) -> Result<(), String> {
    let all = |counts: [u64; 3]| counts.map(Some);
    let expected = [
        (
            "fields::apart -- OMP loop from line 9",
            "dynamic",
            Some(7),
            all([10, 10_000, 1430]),
        ),
        (
            "fields::apart -- OMP loop from line 14",
            "guided",
            Some(5),
            [Some(10), Some(3340), None],
        ),
        (
            "fields::apart -- OMP loop from line 19",
            "static",
            None,
            [None; 3],
        ),
        (
            "fields::apart -- OMP sections from line 24",
            "sections",
            None,
            all([10, 20, 20]),
        ),
        (
            "fields::apart -- OMP single from line 30",
            "single",
            None,
            all([10, 10, 0]),
        ),
        (
            "fields::apart -- OMP loop from line 34",
            "dynamic",
            Some(4),
            all([10, 3340, 840]),
        ),
    ];
    loops_are(run, &expected)
}
