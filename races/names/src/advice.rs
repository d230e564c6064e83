//! What to do about a race, where the accesses and the lines of source prove it. Else nothing.

use findings::{Access, Frame, Kind, Origin, Race};

use crate::is_library_source;
use crate::places::outlined;
use crate::source::{Sources, Word, assignment, is_fortran, words};

/// One sentence, or nothing. `all`: every race of the program.
pub(crate) fn of(race: &Race, all: &[Race], sources: &mut Sources) -> Option<String> {
    half_atomic(race)
        .or_else(|| criticals(race))
        .or_else(|| one_lock(race))
        .or_else(|| loop_index(race, sources))
        .or_else(|| update(race, all, sources))
        .or_else(|| nowait(race, sources))
        .or_else(|| taskwait(race))
        .or_else(|| private(race, sources))
}

fn is_plain(access: &Access) -> bool {
    matches!(access.kind, Kind::Read | Kind::Write)
}

/// Whether an access stands in the program's own source, not in that of the C++ library.
fn is_own(access: &Access) -> bool {
    let innermost = access.machine_stack.first();
    innermost.is_none_or(|frame| !is_library_source(&frame.file))
}

/// Whether an access stands in the body of a construct itself, not in a function that it calls.
fn is_in_body(access: &Access) -> bool {
    let innermost = access.machine_stack.first();
    innermost.is_some_and(|frame| outlined(&frame.function).is_some())
}

fn half_atomic(race: &Race) -> Option<String> {
    let [one, other] = &race.accesses;
    // A counter of the C++ library's own is made so that its object need not be.
    (is_own(one) && is_own(other) && is_plain(one) != is_plain(other))
        .then(|| "make both accesses atomic: only one of them is".to_owned())
}

fn is_critical(lock: &str) -> bool {
    lock == "critical" || lock.starts_with("critical(")
}

fn criticals(race: &Race) -> Option<String> {
    let [one, other] = race
        .accesses
        .each_ref()
        .map(|access| access.locks.iter().find(|lock| is_critical(lock)));
    let (one, other) = (one?, other?);
    (one != other)
        .then(|| format!("give both critical constructs one name: {one} does not exclude {other}"))
}

fn one_lock(race: &Race) -> Option<String> {
    let [one, other] = &race.accesses;
    let held = match (&one.locks[..], &other.locks[..]) {
        ([held], []) | ([], [held]) => held,
        _ => return None,
    };
    match held.as_str() {
        "ordered" | "mutexinoutset" | "atomic" => None,
        critical if is_critical(critical) => Some(format!(
            "put both accesses into {critical}: only one of them is in it"
        )),
        lock => Some(format!(
            "hold {lock} at both accesses: only one of them does"
        )),
    }
}

/// The name of a variable that is no element or field, without its namespaces.
fn scalar(race: &Race) -> Option<&str> {
    let name = race.variable.name.as_deref()?;
    let is_whole = race.variable.whole == race.variable.size
        && !matches!(race.variable.origin, Origin::Heap(_));
    let last = name.rsplit("::").next()?;
    let is_name = last.chars().all(|it| it.is_alphanumeric() || it == '_');
    (is_whole && is_name).then_some(last)
}

/// The name with which the source ends that accesses a variable or field: `b` of `a.b`. None of an element.
fn last_name(race: &Race) -> Option<&str> {
    let name = race.variable.name.as_deref()?;
    let is_element = name.contains(['[', '(']);
    let last = name.rsplit(['.', '>', '%', ':']).next();
    last.filter(|_| !is_element)
}

fn line_of(access: &Access, sources: &mut Sources) -> Option<String> {
    let frame = access.stack.first()?;
    sources.line(&frame.file, frame.line)
}

/// Whether both accesses have the same constructs around them.
fn have_same_constructs(race: &Race) -> bool {
    let [one, other] = &race.accesses;
    !one.constructs.is_empty() && one.constructs == other.constructs
}

/// The index of a loop within a construct.
fn loop_index(race: &Race, sources: &mut Sources) -> Option<String> {
    let name = scalar(race)?;
    if !have_same_constructs(race) {
        return None;
    }
    let writes = race.accesses.iter().filter(|it| it.kind == Kind::Write);
    for access in writes {
        let line = line_of(access, sources)?;
        let words = words(&line);
        let is_index = if is_fortran(&access.stack.first()?.file) {
            matches!(&words[..], [Word::Name("do"), Word::Name(index), Word::Mark('='), ..]
                if *index == name)
        } else {
            words.windows(4).any(|four| {
                matches!(four, [
                    Word::Name("for"),
                    Word::Mark('('),
                    Word::Name(index),
                    Word::Mark('='),
                ] if *index == name)
            })
        };
        if is_index {
            return Some(format!(
                "give each thread its own index of the inner loop: private({name})"
            ));
        }
    }
    None
}

/// Lines that compute a new value from the old one.
fn update(race: &Race, all: &[Race], sources: &mut Sources) -> Option<String> {
    let [one, other] = &race.accesses;
    let is_candidate = |access: &Access| is_plain(access) && is_own(access);
    if !is_candidate(one) || !is_candidate(other) || !have_same_constructs(race) {
        return None;
    }
    let name = last_name(race)?;
    let mut operator = |access: &Access| {
        let line = line_of(access, sources)?;
        updated(&words(&line), name)
    };
    let (operator, _) = (operator(one)?, operator(other)?);
    if one.stack.first() != other.stack.first() {
        return Some("make both updates atomic".to_owned());
    }
    let is_task = one.constructs.first().is_some_and(|it| it.name == "task");
    match scalar(race) {
        // A function that the construct calls would go on with the original variable.
        Some(scalar) if !is_task && is_in_body(one) && is_loop(one, sources) => {
            // Whoever reads a sum while it grows does not want a reduction.
            let operator = if operator == '-' { '+' } else { operator };
            (!is_used_elsewhere(race, scalar, all, sources)).then(|| {
                format!("let each thread have a part of the result: reduction({operator}:{scalar})")
            })
        }
        _ => Some("make the update atomic".to_owned()),
    }
}

/// Whether the variable of an update also races on another line that names it.
fn is_used_elsewhere(race: &Race, name: &str, all: &[Race], sources: &mut Sources) -> bool {
    let own = race.accesses[0].stack.first();
    let is_same = |other: &&Race| {
        other.variable.name == race.variable.name && other.variable.origin == race.variable.origin
    };
    let accesses = all.iter().filter(is_same).flat_map(|other| &other.accesses);
    let mut elsewhere = accesses.filter(|access| access.stack.first() != own);
    // A compiler may move an access to a line that does not name the variable.
    elsewhere.any(|access| {
        let line = line_of(access, sources);
        line.is_none_or(|line| words(&line).contains(&Word::Name(name)))
    })
}

/// The operator by which the only statement of a line computes the variable from its old value.
fn updated(words: &[Word<'_>], name: &str) -> Option<char> {
    let own = Word::Name(name);
    let others = |words: &[Word<'_>]| words.iter().filter(|word| **word == own).count();
    let Some(found) = assignment(words) else {
        let at = words.iter().position(|word| *word == own)?;
        let is_only = others(words) == 1 && is_step(words, at);
        return is_only.then_some('+');
    };
    let left = found.at - usize::from(found.operator.is_some());
    let (target, value) = (words.get(..left)?, words.get(found.at + 1..)?);
    if target.last() != Some(&own) {
        return None;
    }
    match found.operator {
        Some(operator @ ('+' | '-' | '*' | '&' | '|' | '^')) => {
            (others(value) == 0).then_some(operator)
        }
        Some(_) => None,
        // x = x + ...: no operator of another rank follows at the same level.
        None => {
            let [
                first,
                Word::Mark(operator @ ('+' | '*' | '&' | '|' | '^')),
                rest @ ..,
            ] = value
            else {
                return None;
            };
            let mut depth = 0;
            let is_alone = rest.iter().all(|word| {
                match word {
                    Word::Mark('(' | '[') => depth += 1,
                    Word::Mark(')' | ']') => depth -= 1,
                    Word::Mark('+' | '*' | '/') if *operator == '+' => {}
                    Word::Mark('+' | '-' | '/' | '<' | '>' | '&' | '|' | '^' | '?' | '=')
                        if depth == 0 =>
                    {
                        return false;
                    }
                    _ => {}
                }
                true
            });
            (*first == own && others(rest) == 0 && is_alone).then_some(*operator)
        }
    }
}

/// Whether the variable or field whose name ends at a place is the whole of a statement with `++` or `--`.
fn is_step(words: &[Word<'_>], at: usize) -> bool {
    let before = |place: usize| place.checked_sub(1).and_then(|at| words.get(at));
    let two = |place: usize| {
        let two = words.get(place..place + 2);
        two == Some(&[Word::Mark('+'); 2]) || two == Some(&[Word::Mark('-'); 2])
    };
    // From `b` in `a.b` and `a->b` to `a`.
    let mut first = at;
    loop {
        let mark = match before(first) {
            Some(Word::Mark('.' | '%')) => 1,
            Some(Word::Mark('>'))
                if first >= 2 && words.get(first - 2) == Some(&Word::Mark('-')) =>
            {
                2
            }
            _ => break,
        };
        let Some(Word::Name(_)) = before(first - mark) else {
            return false;
        };
        first -= mark + 1;
    }
    let (begin, end) = if two(at + 1) {
        (first, at + 3)
    } else if first >= 2 && two(first - 2) {
        (first - 2, at + 1)
    } else {
        return false;
    };
    let begins = matches!(
        before(begin),
        None | Some(Word::Mark(')' | '{' | '}' | ';') | Word::Name("else"))
    );
    begins && words.get(end) == Some(&Word::Mark(';'))
}

/// Whether the innermost construct of an access is a worksharing loop, as its directive says.
fn is_loop(access: &Access, sources: &mut Sources) -> bool {
    let Some(construct) = access.constructs.first() else {
        return false;
    };
    if construct.name == "for" {
        return true;
    }
    // GCC compiles static schedules without a call.
    let text = sources.directive(&construct.file, construct.line);
    text.is_some_and(|text| {
        let words = words(&text);
        let has = |name: &str| words.contains(&Word::Name(name));
        has("omp") && has("parallel") && (has("for") || has("do"))
    })
}

/// A construct whose barrier `nowait` takes away.
fn nowait(race: &Race, sources: &mut Sources) -> Option<String> {
    let [one, other] = &race.accesses;
    for (first, second) in [(one, other), (other, one)] {
        let construct = first.constructs.first()?;
        let is_within = second.constructs.first() == Some(construct);
        if is_within
            || !matches!(construct.name.as_str(), "single" | "for" | "sections")
            || second.constructs.last() != first.constructs.last()
            || second.constructs.iter().any(|it| it.name == "task")
        {
            continue;
        }
        let text = sources.directive(&construct.file, construct.line)?;
        if words(&text).contains(&Word::Name("nowait")) && is_behind(second, first) {
            return Some(format!(
                "take nowait from the {} at line {}, or put a barrier behind it",
                construct.name, construct.line
            ));
        }
    }
    None
}

/// Whether an access stands behind another one in the same function.
fn is_behind(access: &Access, other: &Access) -> bool {
    let place = |access: &Access| access.stack.first().cloned();
    let (Some(access), Some(other)) = (place(access), place(other)) else {
        return false;
    };
    let same = |frame: &Frame| (frame.file.clone(), frame.function.clone());
    same(&access) == same(&other) && access.line > other.line
}

/// A task whose creator does not wait for it.
fn taskwait(race: &Race) -> Option<String> {
    let [one, other] = &race.accesses;
    for (task, creator) in [(one, other), (other, one)] {
        let [construct, around @ ..] = &task.constructs[..] else {
            continue;
        };
        // Only one thread executes a single, so it has created the task.
        let is_creator = construct.name == "task"
            && around.first().is_some_and(|it| it.name == "single")
            && creator.constructs == around;
        let frame = creator.stack.first()?;
        if is_creator && frame.file == construct.file && frame.line > construct.line {
            return Some(format!("put a taskwait before line {}", frame.line));
        }
    }
    None
}

/// A scalar of the function that each execution of the body assigns before anything else.
fn private(race: &Race, sources: &mut Sources) -> Option<String> {
    let name = scalar(race)?;
    let Origin::Stack(declaration) = &race.variable.origin else {
        return None;
    };
    let [one, other] = &race.accesses;
    let construct = one.constructs.first()?;
    if !have_same_constructs(race)
        || is_fortran(&construct.file)
        || !matches!(construct.name.as_str(), "parallel" | "for")
        || declaration.file != construct.file
        || declaration.line >= construct.line
    {
        return None;
    }
    // Its value may come from before the construct.
    let mut before = declaration.line + 1..construct.line;
    if before.any(|line| {
        let line = sources.line(&construct.file, line);
        line.is_none_or(|line| words(&line).contains(&Word::Name(name)))
    }) {
        return None;
    }
    let lines = [one, other].map(|access| access.stack.first().map(|frame| frame.line));
    let body = Body::read(&construct.file, construct.line, sources)?;
    let holds = |line: Option<u32>| line.is_some_and(|line| body.lines.contains(&line));
    if !lines.into_iter().all(holds) || !body.assigns_first(name) {
        return None;
    }
    if !body.is_used_behind(name) {
        Some(format!(
            "give each thread its own variable: private({name})"
        ))
    } else if is_loop(one, sources) {
        Some(format!(
            "give each thread its own variable, and keep the last one's value: lastprivate({name})"
        ))
    } else {
        None
    }
}

/// The block behind a directive: words with their depth in it, by lines.
struct Body {
    lines: std::ops::RangeInclusive<u32>,
    /// The words of each line of the block, and how deep its begin is within it.
    within: Vec<(i32, String)>,
    /// The lines from the block's end to that of the function.
    behind: Vec<String>,
}

impl Body {
    fn read(file: &str, directive: u32, sources: &mut Sources) -> Option<Body> {
        /// Lines of the longest function that is looked at.
        const MOST: u32 = 2000;
        let mut depth = 0;
        let mut begin = None;
        let mut within = Vec::new();
        let mut behind = Vec::new();
        let mut end = directive;
        for number in directive + 1..directive.saturating_add(MOST) {
            let line = sources.line(file, number)?;
            let is_open = begin.is_some() && end == directive;
            if is_open {
                within.push((depth, line.clone()));
            } else if begin.is_some() {
                behind.push(line.clone());
            }
            for character in line.chars() {
                match character {
                    '{' => {
                        depth += 1;
                        begin.get_or_insert(number);
                    }
                    '}' => depth -= 1,
                    ';' if begin.is_none() && !line.contains("for") => return None,
                    _ => {}
                }
            }
            if begin.is_some() && depth <= 0 && end == directive {
                end = number;
            }
            if depth < 0 {
                return Some(Body {
                    lines: begin?..=end,
                    within,
                    behind,
                });
            }
        }
        None
    }

    /// Whether the first use is an assignment that is always executed.
    fn assigns_first(&self, name: &str) -> bool {
        let own = Word::Name(name);
        let mut before: Option<&str> = None;
        for (depth, line) in &self.within {
            let words = words(line);
            let uses = words.iter().filter(|word| **word == own).count();
            if uses == 0 {
                if !words.is_empty() {
                    before = Some(line);
                }
                continue;
            }
            // The statement before it has ended.
            let follows = before.is_none_or(|line| line.trim_end().ends_with([';', '{', '}']));
            let is_assigned = words.first() == Some(&own)
                && words.get(1) == Some(&Word::Mark('='))
                && words.get(2) != Some(&Word::Mark('='))
                && assignment(&words).is_some();
            return *depth == 1 && follows && uses == 1 && is_assigned;
        }
        false
    }

    fn is_used_behind(&self, name: &str) -> bool {
        let own = Word::Name(name);
        self.behind.iter().any(|line| words(line).contains(&own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_statements_that_combine_the_old_value_with_another_one_are_updates() {
        let of = |line| updated(&words(line), "x");
        assert_eq!(of("x += a[i];"), Some('+'));
        assert_eq!(of("x -= 2;"), Some('-'));
        assert_eq!(of("for (i = 0; i < n; i++) x *= a[i];"), Some('*'));
        assert_eq!(of("x++;"), Some('+'));
        assert_eq!(of("--x;"), Some('+'));
        assert_eq!(of("if (a) x++; else y++;"), Some('+'));
        assert_eq!(of("if (a[i]) b->c.x--;"), Some('+'));
        assert_eq!(of("++b.x;"), Some('+'));
        assert_eq!(of("x = x + f(a - b);"), Some('+'));
        assert_eq!(of("x = x + a * b;"), Some('+'));
        for line in [
            "x = 1;",
            "x = a + x;",
            "x = x + a - b;",
            "x = x - a;",
            "x = x * a + b;",
            "x = x + x;",
            "x += x;",
            "x /= 2;",
            "y += x;",
            "a[x] += 1;",
            "x += 1; y = x;",
            "y = x++;",
            "f(x++, x);",
            "return ++x;",
            "f(x++);",
            "while (x++ < 3);",
            "if (x == 1) y = 2;",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }

    fn body(text: &str, directive: u32) -> Option<Body> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.c");
        std::fs::write(&file, text).expect("a file");
        Body::read(&file.to_string_lossy(), directive, &mut Sources::default())
    }

    #[test]
    fn a_variable_is_private_only_if_each_iteration_assigns_it_first() {
        let around = |within: &str, behind: &str| {
            let text = format!(
                "int f(void) {{\n#pragma omp parallel for\nfor (int i = 0; i < n; i++) {{\n{within}\n}}\n{behind}\n}}\n"
            );
            let body = body(&text, 2).expect("a body");
            body.assigns_first("x") && !body.is_used_behind("x")
        };
        assert!(around("x = a[i];\nb[i] = x;", "return 0;"));
        assert!(around("y = 1;\n// x\nx = a[i];\nb[i] = x;", ""));
        for (within, behind) in [
            ("x = a[i];", "return x;"),
            ("x = x + a[i];", ""),
            ("b[i] = x;\nx = a[i];", ""),
            ("if (a[i])\nx = a[i];\nb[i] = x;", ""),
            ("if (a[i]) {\nx = a[i];\n}\nb[i] = x;", ""),
            ("x += a[i];", ""),
        ] {
            assert!(!around(within, behind), "{within} {behind}");
        }
        assert!(body("#pragma omp parallel for\nfor (;;)\nx = 1;\n", 1).is_none());
    }
}
