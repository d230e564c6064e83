//! Compares a profile with the truth of its run.

use std::path::Path;

use fixtures::{Bounds, Truth};

use crate::check_tree;
use crate::report::{self, Node, ThreadRow, Threads};
use crate::verdict::{ALLOWED, Verdict, WAITS, get, sum};
use crate::{Cell, Recorded};

/// The share of a thread's CPU time that the scheduler may take for switching to and from it: the
/// thread's own clock counts that, while switch records stand between two threads. Threads that
/// wait by yielding, more of them than CPUs, do little else.
const SWITCHING: f64 = 0.5;

/// Compares a profile with its truth.
pub fn check(cell: &Cell, recorded: &Recorded) -> Verdict {
    let source = recorded.experiment.as_path();
    let user = Node::load(source, "user");
    let machine = Node::load(source, "machine");
    let threads = report::threads(source, "user");
    let mut verdict = Verdict::default();
    same_totals(&mut verdict, &user, &machine);
    same_threads(&mut verdict, &threads, &report::threads(source, "machine"));
    lists_agree(&mut verdict, source, &user);
    if cell.program.openmp {
        parts_of(&mut verdict, "user mode", &user);
        parts_of(&mut verdict, "machine mode", &machine);
        per_thread(&mut verdict, &threads, &recorded.truths);
        let unseen = unseen_of_workers(&threads, &recorded.truths);
        check_tree::waits(&mut verdict, &user, &recorded.truths, unseen);
        check_tree::work(&mut verdict, &user, &recorded.truths);
        check_tree::callers(&mut verdict, &user, &recorded.truths);
    } else {
        check_tree::plain(&mut verdict, &user, &recorded.truths);
    }
    check_tree::no_runtime(&mut verdict, &user);
    check_tree::reaches_start(&mut verdict, &user, &machine);
    lives(
        &mut verdict,
        &threads,
        &recorded.truths,
        get(&user.all, "total"),
    );
    verdict
}

/// The share of a sum, and of the time off the CPU, that a sum may be off which is known by stacks
/// alone: times are measured, but where a thread was while it had no CPU only samples tell.
const BY_STACKS: f64 = 0.2;

/// Compares a profile without events with its truth: the sums known from stacks, and everything
/// independent of states. The end of a region is a wait on the encountering thread and idle time on
/// workers. An explicit barrier looks like an implicit one.
pub fn check_by_stacks(recorded: &Recorded) -> Verdict {
    let source = recorded.experiment.as_path();
    let user = Node::load(source, "user");
    let machine = Node::load(source, "machine");
    let threads = report::threads(source, "user");
    let mut verdict = Verdict::default();
    same_totals(&mut verdict, &user, &machine);
    parts_of(&mut verdict, "user mode", &user);
    check_tree::callers(&mut verdict, &user, &recorded.truths);
    check_tree::no_runtime(&mut verdict, &user);
    lives(
        &mut verdict,
        &threads,
        &recorded.truths,
        get(&user.all, "total"),
    );
    let off_cpu = get(&user.all, "offcpu");
    let allowed = |truth: &Bounds| BY_STACKS * truth.seconds.max(off_cpu).max(ALLOWED);
    for kind in ["omplkwt", "ompctwt", "ompodwt", "omptskwt"] {
        let truth = sum(&recorded.truths, |e| e.kind == kind);
        let measured = get(&user.all, kind);
        let allowed = allowed(&truth);
        verdict.compare_within(format!("{kind} in all"), truth, measured, allowed);
    }
    let waits = |e: &fixtures::Entry| matches!(e.kind.as_str(), "ompibar" | "ompebar" | "ompidle");
    let truth = sum(&recorded.truths, waits);
    let measured = ["ompibar", "ompebar", "ompidle"]
        .iter()
        .map(|kind| get(&user.all, kind));
    let unseen = unseen_of_workers(&threads, &recorded.truths);
    let bounds = Bounds {
        most: truth.most + unseen,
        ..truth
    };
    let allowed = allowed(&truth);
    verdict.compare_within(
        "barriers and idle time".to_owned(),
        bounds,
        measured.sum(),
        allowed,
    );
    verdict
}

/// A thread's life before it was first seen in a region, and after the program wrote its truth:
/// a worker is idle then, and cannot know.
fn unseen(thread: &fixtures::Thread, row: &ThreadRow) -> f64 {
    (row.life - (thread.end_ns - thread.begin_ns) as f64 / 1e9).max(0.0)
}

/// [`unseen`] of all workers together.
pub(crate) fn unseen_of_workers(threads: &Threads, truths: &[Truth]) -> f64 {
    let of = |truth: &Truth| {
        let workers = truth
            .threads
            .iter()
            .filter(|thread| thread.tid != truth.pid);
        let rows =
            workers.filter_map(|t| Some(unseen(t, threads.iter().find(|r| r.tid == t.tid)?)));
        rows.sum::<f64>()
    };
    truths.iter().map(of).sum()
}

fn same_totals(verdict: &mut Verdict, user: &Node, machine: &Node) {
    for (metric, &seconds) in &user.all {
        let what = format!("{metric} in user mode and machine mode");
        verdict.equal(&what, seconds, get(&machine.all, metric));
    }
}

fn same_threads(verdict: &mut Verdict, user: &Threads, machine: &Threads) {
    for (left, right) in user.iter().zip(machine) {
        for (metric, &seconds) in &left.time {
            let what = format!("{metric} of thread {} in both modes", left.tid);
            verdict.equal(&what, seconds, get(&right.time, metric));
        }
    }
}

/// The function list's total is the tree's.
fn lists_agree(verdict: &mut Verdict, source: &Path, user: &Node) {
    let functions = report::functions(source, "user");
    let (name, total) = &functions[0];
    if name != "<Total>" {
        verdict.fault(format!("the first function is {name}"));
    }
    for (metric, &seconds) in &user.all {
        verdict.equal(&format!("{metric} of <Total>"), seconds, get(total, metric));
    }
}

/// Work and wait, CPU and off-CPU are the whole, on each path.
fn parts_of(verdict: &mut Verdict, mode: &str, tree: &Node) {
    tree.walk(&mut |_, node| {
        let time = |metric| get(&node.all, metric);
        let what = format!("{mode}, {}: work + wait", node.name);
        verdict.equal(&what, time("ompwork") + time("ompwait"), time("total"));
        let what = format!("{mode}, {}: CPU + off-CPU", node.name);
        verdict.equal(&what, time("totalcpu") + time("offcpu"), time("total"));
    });
}

/// Each thread's waits and CPU time.
fn per_thread(verdict: &mut Verdict, threads: &Threads, truths: &[Truth]) {
    for truth in truths {
        for thread in &truth.threads {
            let row = threads.iter().find(|row| row.tid == thread.tid);
            let Some(row) = row else {
                verdict.fault(format!("thread {} is not in the profile", thread.tid));
                continue;
            };
            for (kind, _) in WAITS {
                let mut seconds = truth.on_thread(kind, thread.tid);
                if kind == "ompidle" {
                    seconds.most += unseen(thread, row);
                }
                let what = format!("{kind} on thread {}", thread.thread);
                if seconds.most > 0.0 || get(&row.time, kind) > 0.0 {
                    verdict.compare(what, seconds, get(&row.time, kind));
                }
            }
        }
    }
}

/// Each thread's time is its life, and that is what the program saw of it and a little more.
fn lives(verdict: &mut Verdict, threads: &Threads, truths: &[Truth], total: f64) {
    let mut sum = 0.0;
    for row in threads {
        let time = get(&row.time, "total");
        sum += time;
        verdict.equal(&format!("the life of thread {}", row.tid), time, row.life);
    }
    verdict.equal("the lives of all threads", sum, total);
    for truth in truths {
        for thread in &truth.threads {
            let Some(row) = threads.iter().find(|row| row.tid == thread.tid) else {
                continue;
            };
            // Its start and end lie outside of what it saw of itself.
            let seen = (thread.end_ns - thread.begin_ns) as f64 / 1e9;
            let bounds = Bounds {
                seconds: seen,
                least: seen,
                most: f64::INFINITY,
            };
            let what = format!("life of thread {}", thread.thread);
            verdict.compare_within(what, bounds, row.life, 0.01 * seen);
            let bounds = Bounds {
                seconds: thread.cpu,
                least: thread.cpu,
                // A thread that has ended did so after its last look at its clock.
                most: thread.cpu + unseen(thread, row),
            };
            let what = format!("cpu on thread {}", thread.thread);
            let allowed = (SWITCHING * thread.cpu).max(ALLOWED);
            verdict.compare_within(what, bounds, get(&row.time, "totalcpu"), allowed);
        }
    }
}
