//! The model's moments, on stacks of real runs: `moments.c` holds each of them for 200 ms, and says
//! which thread played which part in it.

use end_to_end::{Cell, Seen, Stacks, Window, compiler};
use fixtures::{Family, WaitPolicy, program};

/// Where a thread is in a moment, leaf first, without the functions below.
#[derive(Clone, Copy, Debug)]
enum At {
    Is(&'static [&'static str]),
}

const WORK: At = At::Is(&["foo-OMP foo main _start"]);
const SERIAL: At = At::Is(&["foo main _start"]);
const OVERHEAD: At = At::Is(&["<OMP overhead> foo-OMP foo main _start"]);
const CRITICAL: At = At::Is(&["<OMP critical section wait> foo-OMP foo main _start"]);
const LOCK: At = At::Is(&["<OMP lock wait> foo-OMP foo main _start"]);
const BARRIER: At = At::Is(&["<OMP implicit barrier> foo-OMP foo main _start"]);
const REDUCTION: At = At::Is(&["<OMP reduction> foo-OMP foo main _start"]);
const NESTED: At = At::Is(&["bar-OMP bar foo-OMP foo main _start"]);
const IDLE: At = At::Is(&["<OMP idle>"]);

/// By number: primary, worker 1, 2, 3 and 4.
const USER: [&[At]; 11] = [
    &[SERIAL],
    &[OVERHEAD, OVERHEAD, OVERHEAD, OVERHEAD],
    &[WORK, WORK, WORK, WORK],
    &[WORK, OVERHEAD, WORK, WORK],
    &[CRITICAL, WORK, WORK, CRITICAL],
    &[LOCK, WORK, WORK, LOCK],
    &[BARRIER, BARRIER, WORK, BARRIER],
    &[REDUCTION, BARRIER, WORK, BARRIER],
    &[BARRIER, BARRIER, BARRIER, BARRIER],
    &[SERIAL, IDLE, IDLE, IDLE],
    &[WORK, NESTED, WORK, WORK, NESTED],
];

const IN_REGION: At = At::Is(&["foo-OMP R foo main _start"]);
const IN_REGION_WORKER: At = At::Is(&["foo-OMP R T"]);
const WAITS: At = At::Is(&["R foo main _start", "R foo-OMP R foo main _start"]);
const WAITS_WORKER: At = At::Is(&["R T", "R foo-OMP R T"]);
const BETWEEN: At = At::Is(&["R T"]);
const FORKED_INSIDE: At = At::Is(&["bar-OMP R bar foo-OMP R T"]);
const INNER_WORKER: At = At::Is(&["bar-OMP R T"]);

const MACHINE: [&[At]; 5] = [
    &[SERIAL],
    &[
        IN_REGION,
        IN_REGION_WORKER,
        IN_REGION_WORKER,
        IN_REGION_WORKER,
    ],
    &[WAITS, WAITS_WORKER, IN_REGION_WORKER, WAITS_WORKER],
    &[SERIAL, BETWEEN, BETWEEN, BETWEEN],
    &[
        IN_REGION,
        FORKED_INSIDE,
        IN_REGION_WORKER,
        IN_REGION_WORKER,
        INNER_WORKER,
    ],
];

const ROLES: [&str; 5] = ["primary", "worker 1", "worker 2", "worker 3", "worker 4"];

/// The share of a window in which the thread must be seen where the table says. Some moments
/// cannot be held, only repeated. In the others a tick may catch a thread on its way.
fn wanted(mode: &str, moment: u32) -> f64 {
    match (mode, moment) {
        ("user", 2 | 4 | 9) => 0.5,
        _ => 0.95,
    }
}

/// The share of the time seen at one of the places; nothing if nothing was seen.
fn share(seen: &[Seen], machine: bool, At::Is(places): At) -> Option<f64> {
    let (mut all, mut there) = (0.0, 0.0);
    for moment in seen {
        let stack = if machine {
            moment.machine.as_deref()
        } else {
            Some(moment.user.as_str())
        };
        let Some(stack) = stack else { continue };
        all += moment.seconds;
        if places.contains(&stack) {
            there += moment.seconds;
        }
    }
    (all > 0.0).then(|| there / all)
}

fn check(policy: WaitPolicy) {
    let compiler = compiler(Family::Clang);
    let cell = Cell {
        library: None,
        program: program("moments").expect("in the catalogue"),
        compiler: compiler.clone(),
        threads: 4,
        policy,
        perf: true,
    };
    let recorded = cell.record().unwrap_or_else(|e| panic!("{e}"));
    let stacks = Stacks::open(&recorded.experiment);
    let mut wrong = String::new();
    for moment in &recorded.truths[0].moments {
        let machine = moment.mode == "machine";
        let table: &[&[At]] = if machine { &MACHINE } else { &USER };
        let parts = table[moment.moment as usize - 1];
        let window = Window {
            begin: moment.begin_ns,
            end: moment.end_ns,
        };
        for (role, &part) in ROLES.iter().zip(parts) {
            let seen = stacks.of(moment.roles[*role], window);
            let share = share(&seen, machine, part);
            // Asleep without a stack taken at its switch: user mode knows the place all the same.
            let right = share.map_or(machine, |s| s >= wanted(&moment.mode, moment.moment));
            if !right {
                let (mode, number) = (&moment.mode, moment.moment);
                wrong.push_str(&format!(
                    "{mode} {number}, {role}: {share:?} at {part:?}, but\n"
                ));
                for one in top(&seen, machine) {
                    wrong.push_str(&format!("    {one}\n"));
                }
            }
        }
    }
    let label = cell.label();
    assert!(
        wrong.is_empty(),
        "{label} in {}:\n{wrong}",
        recorded.experiment.display()
    );
    recorded.discard();
}

/// The stacks that most of the time is seen at.
fn top(seen: &[Seen], machine: bool) -> Vec<String> {
    let mut sums: Vec<(String, f64)> = Vec::new();
    for moment in seen {
        let stack = match (machine, &moment.machine) {
            (false, _) => &moment.user,
            (true, Some(stack)) => stack,
            (true, None) => continue,
        };
        match sums.iter_mut().find(|(known, _)| known == stack) {
            Some((_, seconds)) => *seconds += moment.seconds,
            None => sums.push((stack.clone(), moment.seconds)),
        }
    }
    sums.sort_by(|a, b| b.1.total_cmp(&a.1));
    let line = |(stack, seconds): &(String, f64)| format!("{seconds:.3} s {stack}");
    sums.iter().take(4).map(line).collect()
}

#[test]
fn each_moment_looks_as_in_the_model_while_waits_sleep() {
    check(WaitPolicy::Passive);
}

#[test]
fn each_moment_looks_as_in_the_model_while_waits_spin() {
    check(WaitPolicy::Active);
}
