//! What to do about a race, where the accesses and the lines of source prove it. Else nothing.

use std::ops::RangeInclusive;
use std::rc::Rc;

use experiment::findings::{Access, Construct, Frame, Kind, Origin, Race};
use hashbrown::HashMap;
use symbolize::is_fortran;

use crate::is_library_source;
use crate::places::outlined;
use crate::source::{Sources, Word, assignment, length_of, words};
use crate::updates::Update;

/// What advice is made of.
pub(crate) struct Advisor<'a> {
    /// Every race of the program, by the name of its variable.
    races: HashMap<Option<&'a str>, Vec<&'a Race>>,
    /// The blocks behind directives, by file and line.
    bodies: HashMap<(String, u32), Option<Rc<Body>>>,
    /// The lines at which the loops of Fortran below directives end.
    ends: HashMap<(String, u32), Option<u32>>,
    sources: &'a mut Sources,
}

impl<'a> Advisor<'a> {
    /// `all`: every race of the program.
    pub(crate) fn new(all: &'a [Race], sources: &'a mut Sources) -> Self {
        let mut races: HashMap<Option<&str>, Vec<&Race>> = HashMap::new();
        for race in all {
            let name = race.variable.name.as_deref();
            races.entry(name).or_default().push(race);
        }
        Advisor {
            races,
            bodies: HashMap::new(),
            ends: HashMap::new(),
            sources,
        }
    }

    /// One sentence, or nothing.
    pub(crate) fn of(&mut self, race: &Race) -> Option<String> {
        reduced(race, self.sources)
            .or_else(|| half_atomic(race))
            .or_else(|| criticals(race))
            .or_else(|| one_lock(race))
            .or_else(|| undivided(race, self.sources))
            .or_else(|| loop_index(race, self.sources))
            .or_else(|| self.update(race))
            .or_else(|| nowait(race, self.sources))
            .or_else(|| taskwait(race))
            .or_else(|| self.private(race))
    }

    /// The block behind a directive.
    fn body(&mut self, construct: &Construct) -> Option<Rc<Body>> {
        let place = (construct.file.clone(), construct.line);
        let body = self.bodies.entry(place);
        body.or_insert_with_key(|(file, line)| Body::read(file, *line, self.sources).map(Rc::new))
            .clone()
    }
}

fn is_plain(access: &Access) -> bool {
    matches!(access.kind, Kind::Read | Kind::Write)
}

/// The combination of a reduction, which is atomic and has the line of the directive, and an access that
/// does not wait for it.
fn reduced(race: &Race, sources: &mut Sources) -> Option<String> {
    let [one, other] = &race.accesses;
    let (reduction, other) = match (is_plain(one), is_plain(other)) {
        (false, true) => (one, other),
        (true, false) => (other, one),
        _ => return None,
    };
    let (place, other) = (reduction.stack.first()?, other.stack.first()?);
    let text = sources.directive(&place.file, place.line)?;
    let is_reduction = words(&text).contains(&Word::Name("reduction"));
    (is_reduction && other.file == place.file && other.line > place.line).then(|| {
        format!(
            "put a barrier before line {}: the reduction at line {} has its result behind the next one",
            other.line, place.line
        )
    })
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
        // No variable of the program: the library's, which prints or allocates.
        unnamed if unnamed.contains(" 0x") => None,
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

/// A loop that stands for itself in a region and is no worksharing loop: each thread executes all of it. Who
/// asks for the number of the thread may divide it by that.
fn undivided(race: &Race, sources: &mut Sources) -> Option<String> {
    let construct = race.accesses[0].constructs.first()?;
    if construct.name != "parallel" || !have_same_constructs(race) {
        return None;
    }
    let file = &construct.file;
    let directive = sources.directive(file, construct.line)?;
    let divides = |word: &Word<'_>| {
        matches!(
            word,
            Word::Name("for" | "do" | "sections" | "loop" | "workshare" | "master" | "masked")
        )
    };
    if words(&directive).iter().any(divides) {
        return None;
    }
    let at = [construct.line, construct.line - 1];
    let at = at
        .into_iter()
        .find(|line| sources.is_directive(file, *line))?;
    let lines = race.accesses.each_ref().map(|access| {
        let frame = access.stack.first().filter(|it| it.file == *file);
        frame.map_or(0, |it| it.line)
    });
    let (first, word) = if is_fortran(file) {
        (do_of_region(file, at, lines, sources)?, "do")
    } else {
        (loop_of_region(file, at, lines, sources)?, "for")
    };
    Some(if first == at + 1 {
        format!(
            "divide the loop at line {first} among the threads, each of which executes all of it: add {word} to the directive at line {at}"
        )
    } else {
        format!(
            "divide the loop at line {first} among the threads, each of which executes all of it: omp {word}"
        )
    })
}

/// The loop of C that stands for itself in the region of a directive, or in its block, and has these lines.
fn loop_of_region(
    file: &str,
    directive: u32,
    lines: [u32; 2],
    sources: &mut Sources,
) -> Option<u32> {
    let below = sources.below(file, directive)?;
    let region = sources.statement(file, below)?;
    let region = region.words();
    let asks = |word: &(u32, Word<'_>)| word.1 == Word::Name("omp_get_thread_num");
    if region.iter().any(asks) {
        return None;
    }
    let mut rest = match region.split_first()? {
        ((_, Word::Mark('{')), block) => block,
        _ => &region,
    };
    while let Some(length) = length_of(rest) {
        let (one, others) = rest.split_at_checked(length)?;
        rest = others;
        let [(first, begin), .., (last, _)] = one else {
            continue;
        };
        let has_lines = lines.iter().all(|line| (*first..=*last).contains(line));
        if has_lines {
            return (*begin == Word::Name("for") && !divides_work(one)).then_some(*first);
        }
    }
    None
}

/// Whether there are directives among words other than those that exclude threads from each other.
fn divides_work(words: &[(u32, Word<'_>)]) -> bool {
    words.windows(2).any(|two| {
        matches!(two, [(_, Word::Name("omp")), (_, Word::Name(name))]
            if !["atomic", "critical", "simd"].contains(name))
    })
}

/// The loop of Fortran below the directive of a region, if it has these lines.
fn do_of_region(file: &str, directive: u32, lines: [u32; 2], sources: &mut Sources) -> Option<u32> {
    let first = sources.below(file, directive)?;
    let line = sources.line(file, first)?;
    let is_loop = words(&line).first() == Some(&Word::Name("do"));
    let end = end_of_do(file, first - 1, sources).filter(|_| is_loop)?;
    let mut all = (first..=end).filter_map(|line| sources.line(file, line));
    let asks = all.any(|line| line.contains("omp_get_thread_num"));
    let has_lines = lines.iter().all(|line| (first..=end).contains(line));
    (has_lines && !asks).then_some(first)
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

/// What the statement of an access does with the variable, and its lines.
fn update_of(
    access: &Access,
    name: &str,
    sources: &mut Sources,
) -> Option<(Update, RangeInclusive<u32>)> {
    let frame = access.stack.first()?;
    let line = line_of(access, sources)?;
    if let Some(update) = Update::of(&words(&line), name) {
        return Some((update, frame.line..=frame.line));
    }
    // The condition may stand in the line before.
    let first = frame.line.checked_sub(1)?;
    let whole = sources.line(&frame.file, first)? + " " + &line;
    let update = Update::of(&words(&whole), name);
    Some((
        update.filter(|update| update.is_extreme())?,
        first..=frame.line,
    ))
}

impl Advisor<'_> {
    /// Statements that compute a new value from the old one.
    fn update(&mut self, race: &Race) -> Option<String> {
        let [one, other] = &race.accesses;
        let is_candidate = |access: &Access| is_plain(access) && is_own(access);
        if !is_candidate(one) || !is_candidate(other) || !have_same_constructs(race) {
            return None;
        }
        let name = last_name(race)?;
        let (update, lines) = update_of(one, name, self.sources)?;
        if !is_within(other, one, &lines) {
            let (other, _) = update_of(other, name, self.sources)?;
            return Some(if update.is_extreme() || other.is_extreme() {
                "put both updates into one critical construct".to_owned()
            } else {
                "make both updates atomic".to_owned()
            });
        }
        let is_task = one.constructs.first().is_some_and(|it| it.name == "task");
        match scalar(race) {
            // A function that the construct calls would go on with the original variable.
            Some(scalar) if !is_task && is_in_body(one) && is_loop(one, self.sources) => {
                // Whoever reads a sum while it grows does not want a reduction.
                let is_read = self.is_used_elsewhere(race, &lines, scalar)
                    || self.is_named_around(one, &lines, scalar);
                let operator = update.reduction();
                (!is_read).then(|| {
                    format!(
                        "let each thread have a part of the result: reduction({operator}:{scalar})"
                    )
                })
            }
            _ if update.is_extreme() => {
                Some("put the comparison and the assignment into one critical construct".to_owned())
            }
            _ => Some("make the update atomic".to_owned()),
        }
    }

    /// Whether the variable of an update, which has these lines, also races on another one that names it.
    fn is_used_elsewhere(&mut self, race: &Race, lines: &RangeInclusive<u32>, name: &str) -> bool {
        let own = &race.accesses[0];
        let same = self.races.get(&race.variable.name.as_deref());
        let same = same.into_iter().flatten();
        let same = same.filter(|other| other.variable.origin == race.variable.origin);
        let accesses = same.flat_map(|other| &other.accesses);
        let mut elsewhere = accesses.filter(|access| !is_within(access, own, lines));
        // A compiler may move an access to a line that does not name the variable.
        elsewhere.any(|access| {
            let line = line_of(access, self.sources);
            line.is_none_or(|line| words(&line).contains(&Word::Name(name)))
        })
    }

    /// Whether the loop around an access names the variable on other lines than these, before them or behind,
    /// as far as the loop's end is known.
    fn is_named_around(
        &mut self,
        access: &Access,
        lines: &RangeInclusive<u32>,
        name: &str,
    ) -> bool {
        let (Some(frame), Some(construct)) = (access.stack.first(), access.constructs.first())
        else {
            return false;
        };
        if frame.file != construct.file || frame.line <= construct.line {
            return false;
        }
        let end = match self.body(construct) {
            Some(body) if !is_fortran(&construct.file) => *body.lines.end(),
            _ => self.end_of_do(construct).unwrap_or(frame.line),
        };
        let within = construct.line + 1..=end;
        let mut named = self.sources.lines_with(&construct.file, name, within);
        named.any(|line| !lines.contains(&line))
    }

    /// The line at which the loop of Fortran below a directive ends.
    fn end_of_do(&mut self, construct: &Construct) -> Option<u32> {
        let place = (construct.file.clone(), construct.line);
        let end = self.ends.entry(place);
        *end.or_insert_with_key(|(file, line)| end_of_do(file, *line, self.sources))
    }

    /// A scalar of the function that each execution of the body assigns before anything else.
    fn private(&mut self, race: &Race) -> Option<String> {
        let name = scalar(race)?;
        let Origin::Stack(declaration) = &race.variable.origin else {
            return None;
        };
        let [one, other] = &race.accesses;
        let construct = one.constructs.first()?;
        let file = &construct.file;
        if !have_same_constructs(race)
            || is_fortran(file)
            || !matches!(construct.name.as_str(), "parallel" | "for")
            || declaration.file != *file
            || declaration.line >= construct.line
        {
            return None;
        }
        let body = self.body(construct)?;
        // Its value may come from before the construct.
        let before = declaration.line + 1..=construct.line - 1;
        if self.sources.lines_with(file, name, before).next().is_some() {
            return None;
        }
        let lines = [one, other].map(|access| access.stack.first().map(|frame| frame.line));
        let holds = |line: Option<u32>| line.is_some_and(|line| body.lines.contains(&line));
        let within = body.lines.start() + 1..=*body.lines.end();
        let first = self.sources.lines_with(file, name, within).next();
        if !lines.into_iter().all(holds) || !body.assigns_first(name, first) {
            return None;
        }
        let behind = body.lines.end() + 1..=body.end;
        let is_used_behind = self.sources.lines_with(file, name, behind).next().is_some();
        if !is_used_behind {
            Some(format!(
                "give each thread its own variable: private({name})"
            ))
        } else if is_loop(one, self.sources) {
            Some(format!(
                "give each thread its own variable, and keep the last one's value: lastprivate({name})"
            ))
        } else {
            None
        }
    }
}

/// Whether an access stands in these lines of another one's function.
fn is_within(access: &Access, other: &Access, lines: &RangeInclusive<u32>) -> bool {
    let (Some(frame), Some(other)) = (access.stack.first(), other.stack.first()) else {
        return false;
    };
    (&frame.file, &frame.function) == (&other.file, &other.function) && lines.contains(&frame.line)
}

/// The line at which the loop of Fortran below a directive ends.
fn end_of_do(file: &str, directive: u32, sources: &mut Sources) -> Option<u32> {
    /// Lines of the longest loop that is looked at.
    const MOST: u32 = 2000;
    if !is_fortran(file) {
        return None;
    }
    let mut depth = 0;
    for number in directive + 1..directive.saturating_add(MOST) {
        let line = sources.line(file, number)?;
        match &words(&line)[..] {
            [Word::Name("end"), Word::Name("do"), ..] | [Word::Name("enddo"), ..] => {
                depth -= 1;
                if depth <= 0 {
                    return Some(number);
                }
            }
            [Word::Name("do"), ..] | [Word::Name(_), Word::Mark(':'), Word::Name("do"), ..] => {
                depth += 1;
            }
            _ => {}
        }
    }
    None
}

/// Whether the innermost construct of an access is a worksharing loop, as its directive says.
fn is_loop(access: &Access, sources: &mut Sources) -> bool {
    let Some(construct) = access.constructs.first() else {
        return false;
    };
    if matches!(construct.name.as_str(), "for" | "do") {
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
            || !matches!(
                construct.name.as_str(),
                "single" | "for" | "do" | "sections"
            )
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

/// The block behind a directive.
struct Body {
    lines: RangeInclusive<u32>,
    /// Each line behind the block's first one, and how deep its begin is within the block.
    within: Vec<(i32, String)>,
    /// The line at which the function around it ends.
    end: u32,
}

impl Body {
    fn read(file: &str, directive: u32, sources: &mut Sources) -> Option<Body> {
        /// Lines of the longest function that is looked at.
        const MOST: u32 = 2000;
        let mut depth = 0;
        let mut begin = None;
        let mut within = Vec::new();
        let mut end = directive;
        for number in directive + 1..directive.saturating_add(MOST) {
            let line = sources.line(file, number)?;
            let is_open = begin.is_some() && end == directive;
            if is_open {
                within.push((depth, line.clone()));
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
                    end: number,
                });
            }
        }
        None
    }

    /// Whether the first use, which is at line `first`, is an assignment that is always executed.
    fn assigns_first(&self, name: &str, first: Option<u32>) -> bool {
        let at = first.and_then(|first| first.checked_sub(self.lines.start() + 1));
        let Some((before, [(depth, line), ..])) =
            at.and_then(|at| self.within.split_at_checked(at as usize))
        else {
            return false;
        };
        let own = Word::Name(name);
        let words = words(line);
        let uses = words.iter().filter(|word| **word == own).count();
        let mut before = before.iter().rev().map(|(_, line)| line);
        let before = before.find(|line| !self::words(line).is_empty());
        // The statement before it has ended.
        let follows = before.is_none_or(|line| line.trim_end().ends_with([';', '{', '}']));
        let is_assigned = words.first() == Some(&own)
            && words.get(1) == Some(&Word::Mark('='))
            && words.get(2) != Some(&Word::Mark('='))
            && assignment(&words).is_some();
        *depth == 1 && follows && uses == 1 && is_assigned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The block behind a directive: whether it assigns `x` first, and whether `x` is used behind it.
    fn body(text: &str, directive: u32) -> Option<(bool, bool)> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.c");
        std::fs::write(&file, text).expect("a file");
        let (file, sources) = (file.to_string_lossy(), &mut Sources::default());
        let body = Body::read(&file, directive, sources)?;
        let mut first = |lines| sources.lines_with(&file, "x", lines).next();
        let within = body.lines.start() + 1..=*body.lines.end();
        let is_assigned = body.assigns_first("x", first(within));
        let is_used = first(body.lines.end() + 1..=body.end).is_some();
        Some((is_assigned, is_used))
    }

    #[test]
    fn a_variable_is_private_only_if_each_iteration_assigns_it_first() {
        let around = |within: &str, behind: &str| {
            let text = format!(
                "int f(void) {{\n#pragma omp parallel for\nfor (int i = 0; i < n; i++) {{\n{within}\n}}\n{behind}\n}}\n"
            );
            body(&text, 2).expect("a body") == (true, false)
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
