//! Findings of `collect -r`, made by hand.
//!
//! | number | kind | what |
//! |---|---|---|
//! | 1 | race | two writes of the global `sum` on one line, as `sum += a[i]` makes them |
//! | 2 | race | an atomic write and a read of an element on the heap |
//! | 3 | order by chance | a write and a read that only a lock orders |
//! | 1 | deadlock | two locks, taken in both orders |
//! | 2 | deadlock | a barrier that a thread never reaches; it happened |
//! | 1 | misuse | a lock that another thread releases |
//! | 1 | uninitialised read | an element of a block |
//! | 2 | initial value | the global `ready`, before it is written |

use experiment::findings::{
    Access, Check, Class, Compared, Comparison, Construct, Content, Coverage, Deadlock,
    Declaration, Difference, Divergence, Edge, Findings, Frame, Kind, Misuse, Origin, Race,
    Uninitialised, Values, Variable,
};

/// The file that they name.
const FILE: &str = "/home/ann/app/foo.c";

/// Its text, up to the last line that they name.
pub const SOURCE: &str = "\
#include <omp.h>
double sum, *a;
int ready;
omp_lock_t x, y;

void add(int n)
{
#pragma omp parallel
  {
#pragma omp for
    for (int i = 0; i < n; i++)
      sum += a[i];
    omp_set_lock(&x);
    ready = 1;
    omp_unset_lock(&x);
  }
}

int main(void)
{
  a = malloc(800);
  add(100);
}
";

fn frame(function: &str, line: u32) -> Frame {
    Frame {
        function: function.to_owned(),
        file: FILE.to_owned(),
        line,
    }
}

fn stack(line: u32) -> Vec<Frame> {
    vec![frame("add", line), frame("main", 22)]
}

fn access(kind: Kind, line: u32, thread: u32, strand: &str, locks: &[&str]) -> Access {
    let construct = |name: &str, line| Construct {
        name: name.to_owned(),
        file: FILE.to_owned(),
        line,
    };
    let unknown = |function: &str| Frame {
        function: function.to_owned(),
        ..Frame::default()
    };
    Access {
        kind,
        stack: stack(line),
        machine_stack: vec![
            frame("add.omp_outlined", line),
            unknown("__kmp_invoke_microtask"),
        ],
        constructs: vec![construct("for", 10), construct("parallel", 8)],
        thread,
        strand: strand.to_owned(),
        locks: locks.iter().map(|&lock| lock.to_owned()).collect(),
        is_line_inferred: false,
    }
}

/// What an experiment has found.
pub fn findings() -> Findings {
    let first = |kind, line| access(kind, line, 0, "iterations 0 to 49", &[]);
    let second = |kind, line| access(kind, line, 1, "iterations 50 to 99", &[]);
    let global = |name: &str, line| Variable {
        name: Some(name.to_owned()),
        address: 0x60_1040,
        size: 8,
        whole: 8,
        origin: Origin::Global(Declaration {
            function: String::new(),
            file: FILE.to_owned(),
            line,
        }),
    };
    let block = |name: &str| Variable {
        name: Some(name.to_owned()),
        address: 0x7f00_0000_1088,
        size: 8,
        whole: 800,
        origin: Origin::Heap(vec![frame("main", 21)]),
    };
    let edge = |thread, holds: &str, held, wants: &str, wanted| Edge {
        thread,
        holds: holds.to_owned(),
        held: if holds.is_empty() {
            Vec::new()
        } else {
            stack(held)
        },
        wants: wants.to_owned(),
        wanted: stack(wanted),
    };
    Findings {
        checks: vec![Check::Race, Check::Deadlock, Check::Init],
        coverage: Coverage {
            accesses: 1_200,
            threads: 2,
            waited: 0.25,
            uninstrumented: vec!["libblas.so.3".to_owned(), "libsolver.so".to_owned()],
            own_uninstrumented: vec!["libsolver.so".to_owned()],
            losses: vec!["a checker ended after 3 of 7 intervals".to_owned()],
        },
        races: vec![
            Race {
                class: Class::Race,
                variable: global("sum", 2),
                count: 12,
                accesses: [first(Kind::Write, 12), second(Kind::Write, 12)],
                advice: Some("add reduction(+:sum) to the for construct at foo.c:10".to_owned()),
            },
            Race {
                class: Class::Race,
                variable: block("a[17]"),
                count: 1,
                accesses: [first(Kind::AtomicWrite, 12), second(Kind::Read, 14)],
                advice: None,
            },
            Race {
                class: Class::OrderByChance,
                variable: Variable {
                    size: 4,
                    whole: 4,
                    ..global("ready", 3)
                },
                count: 3,
                accesses: [
                    access(Kind::Write, 14, 0, "", &["x"]),
                    access(Kind::Read, 12, 1, "iterations 50 to 99", &[]),
                ],
                advice: None,
            },
        ],
        deadlocks: vec![
            Deadlock {
                happened: false,
                edges: vec![edge(0, "x", 13, "y", 14), edge(1, "y", 14, "x", 13)],
                detail: "two threads take x and y in different orders".to_owned(),
            },
            Deadlock {
                happened: true,
                edges: vec![edge(1, "", 0, "barrier at foo.c:16", 16)],
                detail: "thread 0 has left the region, and never reaches the barrier".to_owned(),
            },
        ],
        misuse: vec![Misuse {
            kind: "lock released by another thread".to_owned(),
            detail: "thread 1 releases x at foo.c:15, which thread 0 set at foo.c:13".to_owned(),
            stack: stack(15),
            count: 2,
        }],
        uninitialised: vec![
            Uninitialised {
                class: Content::Undefined,
                variable: block("a[3]"),
                stack: stack(12),
                constructs: access(Kind::Read, 12, 0, "", &[]).constructs,
                count: 100,
            },
            Uninitialised {
                class: Content::Initial,
                variable: global("ready", 3),
                stack: stack(14),
                constructs: access(Kind::Read, 14, 0, "", &[]).constructs,
                count: 1,
            },
        ],
        ..Findings::default()
    }
}

/// What is found once the program has changed: the first race is gone, the second is another element's, and
/// one is new.
pub fn later_findings() -> Findings {
    let mut later = findings();
    later.races.remove(0);
    later.races[0].variable.name = Some("a[18]".to_owned());
    let mut fresh = later.races[1].clone();
    fresh.variable.name = Some("count".to_owned());
    fresh.class = Class::Race;
    later.races.insert(0, fresh);
    later.deadlocks.clear();
    later.coverage.uninstrumented.clear();
    later.coverage.own_uninstrumented.clear();
    later.coverage.losses.clear();
    later
}

/// What `collect -r compare` finds: an array of which a part is not written, and a list in another order.
pub fn divergences() -> Findings {
    let construct = Construct {
        name: "parallel".to_owned(),
        file: FILE.to_owned(),
        line: 8,
    };
    let array = Variable {
        name: Some("a[17]".to_owned()),
        address: 0x7f00_0000_1088,
        size: 8,
        whole: 800,
        origin: Origin::Heap(vec![frame("main", 21)]),
    };
    let value = |name: &str, one: &str, several: &str| Values {
        name: Some(name.to_owned()),
        before: "0".to_owned(),
        one: one.to_owned(),
        several: several.to_owned(),
    };
    let unwritten = Divergence {
        class: Difference::Unwritten,
        variable: array.clone(),
        last: Some("a[18]".to_owned()),
        elements: 2,
        element_bytes: 8,
        is_cut: false,
        ranges: vec![(136, 16)],
        values: vec![value("a[17]", "1.5", "0"), value("a[18]", "2.5", "0")],
        spread: 1e-16,
        stack: vec![frame("add", 8)],
        constructs: vec![construct.clone()],
        instance: 2,
        count: 3,
        threads: 4,
        advice: Some("look how the region divides its work".to_owned()),
    };
    let reordered = Divergence {
        class: Difference::Order,
        last: None,
        is_cut: true,
        spread: 0.0,
        advice: None,
        ..unwritten.clone()
    };
    let compared = |line, compared, not: &[(&str, u64)]| Compared {
        construct: Construct {
            line,
            ..construct.clone()
        },
        function: "add".to_owned(),
        instances: 20,
        compared,
        not: not
            .iter()
            .map(|(cause, count)| ((*cause).to_owned(), *count))
            .collect(),
        words: 100 * compared,
        rounded: compared,
        spread: 1e-12,
        ..Compared::default()
    };
    Findings {
        checks: vec![Check::Compare],
        divergences: vec![unwritten, reordered],
        comparison: Some(Comparison {
            constructs: vec![
                compared(8, 6, &[]),
                compared(10, 0, &[("reads from a file, a pipe or a terminal", 3)]),
            ],
            spent: 0.25,
            elapsed: 0.75,
        }),
        coverage: Coverage {
            losses: vec!["3 of 20 instances of parallel at foo.c:10: reads from a file".to_owned()],
            ..Coverage::default()
        },
        ..Findings::default()
    }
}
