//! Checks of call trees.

use fixtures::{Bounds, Region, Truth};

use crate::report::Node;
use crate::stacks::is_c_library;
use crate::verdict::{ALLOWED, SAMPLED, Verdict, WAITS, get, sum};

/// Functions that the paths of threads may begin with: `main` of C, of flang, and the start of the
/// threads that fixtures make themselves.
const STARTS: [&str; 4] = ["main", "main program", "connection", "worker"];

/// Whether a name is that of the region.
fn is_region(name: &str, region: &Region) -> bool {
    let Some((parent, construct)) = name.split_once(" -- OMP ") else {
        return false;
    };
    let directive = construct.starts_with("parallel region") || construct.starts_with("teams");
    // flang's debug information has no line of the directive, only of what it made of it.
    let reach = if construct.contains("..omp_par") {
        3
    } else {
        0
    };
    let line = construct
        .split(" from line ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let line = line.and_then(|line| line.parse::<u32>().ok());
    let near = line.is_some_and(|line| line.abs_diff(region.line) <= reach);
    directive && near && is_function(parent, &region.function)
}

/// Whether a displayed name (with namespaces, template arguments and parameters) is that of a
/// function as the program calls it.
fn is_function(name: &str, function: &str) -> bool {
    name.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .any(|word| word == function)
        || name.contains(function)
        || name == "main program"
}

fn is_any_region(name: &str) -> bool {
    name.contains(" -- OMP parallel region") || name.contains(" -- OMP teams")
}

/// The region that a path is in: the innermost one.
fn innermost<'a>(above: &[&'a str], own: &'a str) -> Option<&'a str> {
    let mut path = above.iter().copied().chain([own]).rev();
    path.find(|name| is_any_region(name))
}

fn regions(truths: &[Truth]) -> Vec<&Region> {
    let mut all: Vec<&Region> = Vec::new();
    for region in truths.iter().flat_map(|truth| &truth.regions) {
        if all
            .iter()
            .all(|known| (&known.function, known.line) != (&region.function, region.line))
        {
            all.push(region);
        }
    }
    all
}

/// Time at nodes called `name` in the region, or in none.
fn time_at(tree: &Node, name: &str, region: Option<&Region>) -> f64 {
    let mut time = 0.0;
    tree.walk(&mut |above, node| {
        let fits = match (innermost(above, ""), region) {
            (Some(name), Some(region)) => is_region(name, region),
            (None, None) => true,
            _ => false,
        };
        if node.name == name && fits {
            time += get(&node.own, "total");
        }
    });
    time
}

/// Each pseudo-function's time, in all and in each region.
/// `unseen` is what workers may have been idle without knowing.
pub(crate) fn waits(verdict: &mut Verdict, tree: &Node, truths: &[Truth], unseen: f64) {
    let reduction = ("omprduc", "<OMP reduction>");
    for (kind, name) in WAITS.into_iter().chain([reduction]) {
        let mut all = 0.0;
        tree.walk(&mut |_, node| {
            if node.name == name {
                all += get(&node.own, "total");
            }
        });
        let mut whole = sum(truths, |e| e.kind == kind);
        let mut outside = sum(truths, |e| e.kind == kind && e.region_function.is_empty());
        if kind == "ompidle" {
            whole.most += unseen;
            outside.most += unseen;
        }
        if all > 0.0 || whole.most > 0.0 {
            verdict.compare(format!("{kind} in all"), whole, all);
        }
        let mut placed = 0.0;
        for region in regions(truths) {
            let inside = sum(truths, |e| {
                e.kind == kind
                    && e.region_function == region.function
                    && e.region_line == region.line
            });
            let time = time_at(tree, name, Some(region));
            placed += time;
            if time > 0.0 || inside.most > 0.0 {
                let what = format!("{kind} in {}:{}", region.function, region.line);
                verdict.compare(what, inside, time);
            }
        }
        let time = time_at(tree, name, None);
        if outside.most > 0.0 || time > 0.0 {
            verdict.compare(format!("{kind} outside of regions"), outside, time);
        }
        let astray = all - placed - time;
        if astray > 1e-6 {
            verdict.fault(format!(
                "{astray} s of {kind} are in a region that the program has not"
            ));
        }
    }
}

/// The time of user code in each region. What is overhead and what is work, only samples tell; the
/// program counts as work what it does between its constructs, with the calls into the runtime
/// that do not wait.
pub(crate) fn work(verdict: &mut Verdict, tree: &Node, truths: &[Truth]) {
    for region in regions(truths) {
        let (mut work, mut overhead) = (0.0, 0.0);
        tree.walk(&mut |above, node| {
            let inside = innermost(above, &node.name).is_some_and(|name| is_region(name, region));
            // Spinning on a flag is the program's own doing.
            let pseudo = node.name.starts_with("<OMP") && node.name != "<OMP flush spin>";
            if inside && !pseudo {
                work += get(&node.own, "total");
            } else if node.name == "<OMP overhead>" {
                overhead += get(&node.own, "total");
            }
        });
        let inside = sum(truths, |e| {
            e.kind == "work" && e.region_function == region.function && e.region_line == region.line
        });
        let bounds = Bounds {
            seconds: inside.seconds,
            least: inside.least - overhead,
            most: inside.most,
        };
        verdict.compare(
            format!("work in {}:{}", region.function, region.line),
            bounds,
            work,
        );
    }
}

/// Each region stands under the function that holds its directive, and that under `main`.
pub(crate) fn callers(verdict: &mut Verdict, tree: &Node, truths: &[Truth]) {
    let known = regions(truths);
    tree.walk(&mut |above, node| {
        if !is_any_region(&node.name) {
            return;
        }
        let Some(region) = known.iter().find(|region| is_region(&node.name, region)) else {
            verdict.fault(format!("the program has no {}", node.name));
            return;
        };
        // A directive inside a region's body is in an outlined part of the function.
        let parent = above.last().copied().unwrap_or_default();
        let parent = parent.split(" -- OMP ").next().unwrap_or(parent);
        if !is_function(parent, &region.function) {
            let path = above.join(" > ");
            verdict.fault(format!("{} stands under {path}", node.name));
        }
        if !above.iter().any(|name| STARTS.contains(&base(name))) {
            let path = above.join(" > ");
            verdict.fault(format!("{} does not come from main: {path}", node.name));
        }
    });
}

fn base(name: &str) -> &str {
    name.split('(').next().unwrap_or(name)
}

/// User mode shows nothing of the runtime.
pub(crate) fn no_runtime(verdict: &mut Verdict, tree: &Node) {
    tree.walk(&mut |above, node| {
        let name = node.name.as_str();
        let runtime =
            name.starts_with("__kmp") || name.starts_with("GOMP_") || name.starts_with("gomp_");
        let nameless =
            name.starts_with("<static>") && (name.contains("libomp") || name.contains("libgomp"));
        if runtime || nameless || name.contains("collector::") {
            verdict.fault(format!(
                "user mode shows {name} under {}",
                above.join(" > ")
            ));
        }
    });
}

/// Time in the system call that starts a program: the caller's code is gone, and the program's
/// not there yet.
fn time_before_start(machine: &Node) -> f64 {
    let mut time = 0.0;
    machine.walk(&mut |_, node| {
        if node.name.ends_with("sys_execve") {
            time += get(&node.all, "total");
        }
    });
    time
}

/// Nearly all time stands on whole stacks.
pub(crate) fn reaches_start(verdict: &mut Verdict, tree: &Node, machine: &Node) {
    let mut astray = -time_before_start(machine);
    let mut names = Vec::new();
    for child in &tree.children {
        // The first function of a stripped launcher has no name, but a caller has none either.
        let first = child
            .children
            .iter()
            .any(|next| next.name == "__libc_start_main");
        let start = first
            || matches!(child.name.as_str(), "_start" | "clone3" | "<OMP idle>")
            || is_c_library(&child.name);
        let time = get(&child.all, "total");
        if !start {
            astray += time;
            names.push(format!("{} {time:.4}", child.name));
        }
    }
    let total = get(&tree.all, "total");
    if astray > (0.001 * total).max(0.020) {
        verdict.fault(format!(
            "{astray} of {total} s begin elsewhere: {}",
            names.join(", ")
        ));
    }
}

/// A program without OpenMP: sleep is off the CPU, and time in each function as long as it took.
pub(crate) fn plain(verdict: &mut Verdict, tree: &Node, truths: &[Truth]) {
    for (kind, metric) in [("offcpu", "offcpu"), ("system", "total")] {
        let mut functions: Vec<&str> = Vec::new();
        for entry in truths.iter().flat_map(|truth| &truth.entries) {
            if entry.kind == kind && !functions.contains(&entry.function.as_str()) {
                functions.push(&entry.function);
            }
        }
        for function in functions {
            let mut time = 0.0;
            tree.walk(&mut |above, node| {
                if node.name == function && !above.contains(&function) {
                    time += get(&node.all, metric);
                }
            });
            let truth = sum(truths, |e| e.kind == kind && e.function == function);
            // What a thread does on the CPU, samples alone tell: a thousand of them to some percent.
            let what = format!("{kind} in {function}");
            verdict.compare_within(what, truth, time, (SAMPLED * truth.seconds).max(ALLOWED));
        }
    }
}
