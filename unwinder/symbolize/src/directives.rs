//! OpenMP directives in source files: the directive of a line, and the first line of a Fortran one.
//!
//! gfortran gives a construct the last line of a continued directive, or the line of its first
//! statement or directive, or of the first statement in its loop. The source has the line of the
//! directive.

use std::cell::OnceCell;
use std::ops::RangeInclusive;

use experiment::symbols::{Construct, Directive as Workshared, Workshare};
use rustc_hash::FxHashMap;

/// The text of a source file, divided into lines once.
#[derive(Debug, Default)]
pub struct Text {
    lines: Vec<String>,
    worksharing: OnceCell<Worksharing>,
}

/// The worksharing constructs of a source file.
#[derive(Debug, Default)]
struct Worksharing {
    /// Their directives, by line.
    all: Vec<Workshared>,
    /// The numbers of these, by each line in which they have a part.
    by_line: FxHashMap<u32, usize>,
    /// The numbers of loops.
    loops: Vec<usize>,
    /// The lines with the word `ordered`.
    ordered: Vec<u32>,
}

impl Text {
    /// The text in the bytes of a file.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        Self {
            lines: text.lines().map(str::to_owned).collect(),
            worksharing: OnceCell::new(),
        }
    }

    /// A line, from 1.
    #[must_use]
    pub fn line(&self, line: u32) -> Option<&str> {
        let at = usize::try_from(line.checked_sub(1)?).ok()?;
        self.lines.get(at).map(String::as_str)
    }

    /// The OpenMP directive that has a part in a line, from 1: its lines, and its text in lower case. C and C++
    /// continue a line by a backslash, Fortran by an ampersand, or in fixed form by a mark in the sixth column.
    #[must_use]
    pub fn directive(&self, line: u32) -> Option<(RangeInclusive<u32>, String)> {
        whole_line(&self.lines, line).filter(|(_, whole)| directive(whole).is_some())
    }

    fn worksharing(&self) -> &Worksharing {
        self.worksharing
            .get_or_init(|| Worksharing::of(&self.lines))
    }
}

impl Worksharing {
    fn of(lines: &[String]) -> Worksharing {
        let mut found = Worksharing::default();
        let has = |line: &str, word: &[u8]| {
            let mut parts = line.as_bytes().windows(word.len());
            parts.any(|part| part.eq_ignore_ascii_case(word))
        };
        for (at, line) in lines.iter().enumerate() {
            let number = at as u32 + 1;
            if has(line, b"ordered") && words(&line.to_ascii_lowercase()).contains(&"ordered") {
                found.ordered.push(number);
            }
            if !has(line, b"omp") || found.by_line.contains_key(&number) {
                continue;
            }
            let own = lines_of_directive(lines, at);
            let Some(directive) = worksharing_in(lines, own.clone()) else {
                continue;
            };
            if directive.construct == Workshare::Loop {
                found.loops.push(found.all.len());
            }
            let own = own.map(|at| (at as u32 + 1, found.all.len()));
            found.by_line.extend(own);
            found.all.push(directive);
        }
        found
    }
}

/// A directive in a line of source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Directive {
    /// `barrier`.
    Barrier,
    /// `task`, `taskloop`, and others that let tasks share a reduction.
    Tasks,
    /// Any other directive.
    Other,
}

/// The directive on a line, from 1, or on one that it continues or that continues it. C and C++
/// continue a line by a backslash, Fortran by an ampersand.
pub(crate) fn directive_at(text: &Text, line: u32) -> Option<Directive> {
    let (_, whole) = whole_line(&text.lines, line)?;
    directive(&whole)
}

/// The lines, counted from 1, that a line is a part of, continued or not, and their text in lower case; `None`
/// beyond the end.
fn whole_line(lines: &[String], line: u32) -> Option<(RangeInclusive<u32>, String)> {
    let at = (line as usize).checked_sub(1)?;
    lines.get(at)?;
    let own = lines_of_directive(lines, at);
    let (first, last) = (*own.start(), *own.end());
    let whole = lines[own].join(" ").to_ascii_lowercase();
    Some((first as u32 + 1..=last as u32 + 1, whole))
}

/// Whether a line of C or C++ is of the loop below a directive, or of the statement in it, and holds no
/// directive itself.
pub(crate) fn is_loop_of(text: &Text, directive: u32, line: u32) -> bool {
    let is_directive = |at: u32| directive_at(text, at).is_some();
    let below = (directive + 1..).zip(text.lines.iter().skip(directive as usize));
    let mut code = below.filter(|(at, line)| {
        let line = line.trim_start();
        !(line.is_empty() || line.starts_with("//") || is_directive(*at))
    });
    let mut found = code.next();
    while let Some((at, text)) = found {
        let loops = text.trim_start().starts_with("for");
        if at == line || !loops {
            return at == line && is_directive(directive);
        }
        found = code.next();
    }
    false
}

/// The directive in a whole line of lower case: `#pragma omp x`, `_Pragma("omp x")`,
/// `[[omp::directive(x)]]`, `!$omp x`.
fn directive(line: &str) -> Option<Directive> {
    let words = words(line);
    let mut found = None;
    for (at, word) in words.iter().enumerate() {
        let pragma = || {
            matches!(
                at.checked_sub(1).map(|at| words[at]),
                Some("pragma" | "_pragma")
            )
        };
        let attribute = || words.get(at + 1) == Some(&"directive");
        if !(is_sentinel(word) || *word == "omp" && (pragma() || attribute())) {
            continue;
        }
        let mut rest = words[at + 1..].iter();
        let name = rest.find(|word| !is_sentinel(word) && **word != "directive");
        if name == Some(&"barrier") {
            return Some(Directive::Barrier);
        }
        let of_tasks = |word: &&str| matches!(*word, "task" | "taskloop");
        found = if words[at + 1..].iter().any(of_tasks) {
            Some(Directive::Tasks)
        } else {
            Some(Directive::Other)
        };
    }
    found
}

/// The line of the directive of a construct below a line: flang gives the initial value of a reduction
/// variable the line of the statement before the directive. `None` if there is anything else.
pub(crate) fn line_below(text: &Text, line: u32, construct: Construct) -> Option<u32> {
    let mut below = (line + 1..).zip(text.lines.iter().skip(line as usize));
    let (at, directive) = below.find(|(_, line)| !is_blank_or_comment(line))?;
    let directive = directive.to_ascii_lowercase();
    let mut words = words(&directive);
    words.retain(|word| !is_sentinel(word));
    let is_it = is_directive(&directive) && is_outlining(&words) && is_of(construct, &words);
    is_it.then_some(at)
}

/// The first line of the directive of a construct that debug information puts at `line` (from 1) of a
/// Fortran source: the directive there, or the one above. Between the two are at most the beginnings of
/// loops and of constructs without a body of their own (`do`, `single`), or of other constructs than
/// `construct`, if that is known. `None` if there is no such directive.
pub(crate) fn first_line(text: &Text, line: u32, construct: Option<Construct>) -> Option<u32> {
    let lines = &text.lines;
    let given = (line as usize).checked_sub(1)?;
    let mut at = given;
    loop {
        if is_directive(lines.get(at)?) {
            let last = at;
            while at > 0 && is_directive(&lines[at]) && continues(&lines[at - 1], &lines[at]) {
                at -= 1;
            }
            let directive = lines[at..=last].join(" ").to_ascii_lowercase();
            let mut words = words(&directive);
            words.retain(|word| !is_sentinel(word));
            let is_outlining = is_outlining(&words);
            if is_outlining && construct.is_none_or(|construct| is_of(construct, &words)) {
                return Some(at as u32 + 1);
            }
            if !is_outlining && !begins_block(&words) {
                return None;
            }
        } else if at != given && !begins_loop(&lines[at]) {
            return None;
        }
        at = (0..at)
            .rev()
            .find(|&before| !is_blank_or_comment(&lines[before]))?;
    }
}

/// How far from a call's line its directive is looked for.
const NEAR: u32 = 40;

/// The directive of the worksharing construct that a call begins, to which debug information gives
/// `line` (from 1). gcc gives such a call the line of the loop below the directive, or that of the
/// statement before it, but sometimes another line of the function: then it is the nearest.
pub(crate) fn worksharing_near(text: &Text, line: u32, construct: Workshare) -> Option<Workshared> {
    let lines = &text.lines;
    let is_it = |at: u32| worksharing_at(text, at).filter(|it| it.construct == construct);
    let here = is_it(line);
    let above = || is_it(statement_above(lines, line)?);
    let next = || is_it(line_with_code(lines, line)?);
    let below = || (line + 1..=line + NEAR).find_map(is_it);
    let before = || (line.saturating_sub(NEAR)..line).rev().find_map(is_it);
    let nearest = || {
        let found = below().or_else(before)?;
        Some(Workshared {
            is_nearest: true,
            ..found
        })
    };
    here.or_else(above).or_else(next).or_else(nearest)
}

/// The next line that is neither blank nor a comment.
fn line_with_code(lines: &[String], line: u32) -> Option<u32> {
    let below = (line + 1..).zip(lines.iter().skip(line as usize));
    let mut code = below.filter(|(_, text)| !is_blank_or_comment(text) && !is_comment(text));
    Some(code.next()?.0)
}

/// The directive of the worksharing construct that ends at a line: the one in the line itself, or in
/// the line above a loop's.
pub(crate) fn worksharing_above(text: &Text, line: u32) -> Option<Workshared> {
    worksharing_at(text, line).or_else(|| worksharing_at(text, statement_above(&text.lines, line)?))
}

/// The worksharing construct whose directive, continued or not, has a part in a line.
pub(crate) fn worksharing_at(text: &Text, line: u32) -> Option<Workshared> {
    let all = text.worksharing();
    all.by_line.get(&line).map(|number| all.all[*number])
}

/// The innermost worksharing loop around a line whose directive is not above the line `first`, and
/// whose iterations have no order: none has an `ordered` clause.
pub(crate) fn loop_around(text: &Text, first: u32, line: u32) -> Option<Workshared> {
    let all = text.worksharing();
    let directive = |number: &usize| &all.all[*number];
    let after = all
        .loops
        .partition_point(|number| directive(number).line <= line);
    let before = all.loops[..after].iter().rev().map(directive);
    let found = before
        .take_while(|it| it.line >= first)
        .find(|it| it.last >= line)?;
    let next = all.ordered.partition_point(|at| *at < found.line);
    let is_ordered = all.ordered.get(next).is_some_and(|at| *at <= line);
    (!is_ordered).then_some(*found)
}

/// Whether the program asks for the thread's number in a line, or in the function or the construct that
/// begins in `first`. Where the end of that is not found, the end of the text is.
pub(crate) fn asks_for_thread(text: &Text, first: u32, line: u32) -> bool {
    let begin = first.saturating_sub(1) as usize;
    let end = end_of(&text.lines, begin).map_or(text.lines.len(), |end| end + 1);
    let end = end.max(line as usize).min(text.lines.len());
    let lines = text.lines.get(begin..end).unwrap_or_default();
    lines
        .iter()
        .any(|it| it.to_ascii_lowercase().contains("omp_get_thread_num"))
}

/// The line above, but for blank lines, comments, and beginnings of loops that are collapsed.
fn statement_above(lines: &[String], line: u32) -> Option<u32> {
    let mut at = (line as usize).checked_sub(1)?;
    while at > 0 {
        at -= 1;
        let text = lines.get(at)?.trim_start();
        let is_loop = text.starts_with("for") || begins_loop(text);
        let is_comment = text.starts_with("//") || is_blank_or_comment(&lines[at]);
        if !is_loop && !is_comment {
            return Some(at as u32 + 1);
        }
    }
    None
}

/// The lines, counted from 0, of the directive that has a part in one, if one has.
fn lines_of_directive(lines: &[String], at: usize) -> RangeInclusive<usize> {
    let runs_on = |at: usize| {
        let line = lines[at].trim_end();
        let below = lines.get(at + 1).filter(|below| is_directive(below));
        line.ends_with('\\')
            || is_directive(line) && without_comment(line).ends_with('&')
            || below.is_some_and(|below| continues(line, below))
    };
    let first = (0..at).rev().find(|&before| !runs_on(before));
    let first = first.map_or(0, |before| before + 1);
    let last = (at..lines.len()).find(|&at| !runs_on(at)).unwrap_or(at);
    first..=last
}

/// The worksharing construct of the directive that stands in some lines.
fn worksharing_in(lines: &[String], own: RangeInclusive<usize>) -> Option<Workshared> {
    let (first, last) = (*own.start(), *own.end());
    let whole = lines[first..=last].join(" ").to_ascii_lowercase();
    directive(&whole)?;
    let words = words(&whole);
    // Names of clauses follow the first parenthesis.
    let names = whole.split('(').next().unwrap_or_default();
    let names = self::words(if names.trim() == "_pragma" {
        &whole
    } else {
        names
    });
    let has = |word: &str| names.contains(&word);
    let ends = words.iter().any(|word| word.starts_with("end"));
    let construct = if ends {
        None
    } else if has("sections") {
        Some(Workshare::Sections)
    } else if has("single") {
        Some(Workshare::Single)
    } else if has("taskloop") {
        Some(Workshare::Taskloop)
    } else if has("for") || has("do") || has("loop") || has("distribute") {
        Some(Workshare::Loop)
    } else {
        None
    };
    Some(Workshared {
        line: first as u32 + 1,
        last: end_of(lines, last + 1).map_or(last as u32 + 1, |at| at as u32 + 1),
        construct: construct?,
        level: 0,
        is_nearest: false,
    })
}

/// The last line, counted from 0, of the statement that begins in a line: in C up to where its
/// parentheses and braces close, in Fortran up to the `end do` of its loop.
fn end_of(lines: &[String], begin: usize) -> Option<usize> {
    let is_code = |at: &usize| !is_blank_or_comment(&lines[*at]) && !is_comment(&lines[*at]);
    let begin = (begin..lines.len()).find(is_code)?;
    if begins_loop(&lines[begin]) {
        let mut depth = 0;
        for at in (begin..lines.len()).filter(is_code) {
            let line = lines[at].trim_start().to_ascii_lowercase();
            let words = words(&line);
            if begins_loop(&lines[at]) {
                depth += 1;
            } else if words.starts_with(&["enddo"]) || words.starts_with(&["end", "do"]) {
                depth -= 1;
            }
            if depth == 0 {
                return Some(at);
            }
        }
        return None;
    }
    let mut depth = 0;
    let mut has_parentheses = !lines[begin].trim_start().starts_with("for");
    for at in (begin..lines.len()).filter(is_code) {
        for letter in lines[at].chars() {
            match letter {
                '(' | '{' => depth += 1,
                ')' | '}' => depth -= 1,
                _ => {}
            }
            // A loop's own parentheses end before its statement.
            if depth == 0 && letter == ')' && !has_parentheses {
                has_parentheses = true;
            } else if depth == 0 && has_parentheses && (letter == ';' || letter == '}') {
                return Some(at);
            }
        }
    }
    None
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// Whether a source file is Fortran's, by its name.
#[must_use]
pub fn is_fortran(path: &str) -> bool {
    const EXTENSIONS: [&str; 9] = ["f", "for", "ftn", "f77", "f90", "f95", "f03", "f08", "f18"];
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    EXTENSIONS
        .iter()
        .any(|known| extension.eq_ignore_ascii_case(known))
}

/// The sentinels of free and of fixed form.
fn is_directive(line: &str) -> bool {
    let start = line.trim_start().get(..5).unwrap_or_default();
    ["!$omp", "c$omp", "*$omp"]
        .iter()
        .any(|sentinel| start.eq_ignore_ascii_case(sentinel))
}

fn is_blank_or_comment(line: &str) -> bool {
    // In fixed form a letter in the first column begins a comment. It may be a name in free form.
    let lettered = line.strip_prefix(['c', 'C']).is_some_and(|rest| {
        !rest.starts_with(|next: char| next.is_ascii_alphanumeric() || "_%$".contains(next))
            && !rest.trim_start().starts_with(['=', '('])
    });
    let line = line.trim_start();
    (line.is_empty() || lettered || line.starts_with(['!', '*'])) && !is_directive(line)
}

/// Whether a directive's line is continued by the next: by an ampersand at its end, or in fixed form by
/// a character in the sixth column of the next line.
fn continues(above: &str, below: &str) -> bool {
    let marked = !below.starts_with([' ', '\t'])
        && below
            .chars()
            .nth(5)
            .is_some_and(|mark| !mark.is_whitespace() && mark != '0');
    is_directive(above) && (marked || without_comment(above).ends_with('&'))
}

/// A line of a Fortran directive without the comment that may follow it. Any other line as it is.
fn without_comment(line: &str) -> &str {
    let line = line.trim();
    let comment = line
        .char_indices()
        .skip(1)
        .find(|(_, letter)| *letter == '!');
    match comment {
        Some((at, _)) if is_directive(line) => line[..at].trim_end(),
        _ => line,
    }
}

/// Whether a directive, as its words, has one of a construct whose body is outlined.
fn is_outlining(words: &[&str]) -> bool {
    let ends = words.first().is_some_and(|word| word.starts_with("end"));
    let makes = |word: &&str| {
        word.starts_with("parallel") || matches!(*word, "task" | "taskloop" | "teams")
    };
    !ends && words.iter().any(makes)
}

/// Whether a directive, as its words, is that of a construct of this kind, alone or combined.
fn is_of(construct: Construct, words: &[&str]) -> bool {
    let name = match construct {
        Construct::Parallel => "parallel",
        Construct::Task => "task",
        Construct::Taskloop => "taskloop",
        Construct::Teams => "teams",
        Construct::Target => "target",
        Construct::Reduction => return false,
    };
    words.iter().any(|word| word.starts_with(name))
}

/// Whether a directive, as its words, is that of a construct whose body is not outlined.
fn begins_block(words: &[&str]) -> bool {
    const BLOCKS: [&str; 13] = [
        "critical",
        "distribute",
        "do",
        "loop",
        "masked",
        "master",
        "ordered",
        "scope",
        "section",
        "sections",
        "simd",
        "single",
        "workshare",
    ];
    words.first().is_some_and(|word| BLOCKS.contains(word))
}

/// Whether a statement begins a loop: `do i = 1, n`, with a label or name before it or without.
fn begins_loop(line: &str) -> bool {
    let line = line.trim_start().to_ascii_lowercase();
    let labelled = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let named = labelled
        .split_once(':')
        .map_or(labelled, |(_, named)| named);
    words(named).first() == Some(&"do")
}

/// The words of a line, names and sentinels among them.
fn words(line: &str) -> Vec<&str> {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || "_$".contains(letter);
    let words = line.split(|letter| !is_word(letter));
    words.filter(|word| !word.is_empty()).collect()
}

/// Whether a lower-case word is a sentinel of Fortran's directives.
fn is_sentinel(word: &str) -> bool {
    matches!(word, "$omp" | "c$omp")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Text {
        Text::new(text.as_bytes())
    }

    fn line_of(lines: &str, line: u32) -> u32 {
        first_line(&text(lines), line, None).unwrap_or(line)
    }

    #[test]
    fn a_directive_that_is_continued_stands_where_it_begins() {
        let free =
            "x = 1\n!$omp parallel do &\n!$omp& private(i) &\n!$omp shared(x)\ndo i = 1, 9\n";
        assert_eq!([2, 3, 4].map(|line| line_of(free, line)), [2, 2, 2]);
        let commented = "!$omp parallel do & ! all\n!$omp private(i) ! of it\ndo i = 1, 9\n";
        assert_eq!([2, 3].map(|line| line_of(commented, line)), [1, 1]);
        let fixed = "      x = 1\n!$omp parallel default(shared)\nC$OMP& private(i)\n      y = 1\n";
        assert_eq!([2, 3].map(|line| line_of(fixed, line)), [2, 2]);
        let two = "!$omp parallel\n!$omp parallel\n      y = 1\n";
        assert_eq!([1, 2].map(|line| line_of(two, line)), [1, 2]);
    }

    #[test]
    fn a_first_statement_stands_for_the_directive_above_it() {
        let text = "  !$omp parallel if(n > 9) &\n  !$omp& shared(n)\n\n  ! Much.\n  call w(n)\n\
                    \x20 call w(n)\n  !$omp end parallel\n  call w(n)\n";
        assert_eq!(line_of(text, 5), 1);
        for line in [0, 6, 7, 8, 99] {
            assert_eq!(line_of(text, line), line, "{line}");
        }
        // No construct with a body, whatever its variables are called.
        let text = "!$omp do private(task_id)\ndo i = 1, 9\n";
        assert_eq!(line_of(text, 2), 2);
    }

    #[test]
    fn a_construct_begins_above_what_it_begins_with() {
        let loops = "!$omp target teams loop\ndo i = 1, n\n  a: DO j = 1, n\n10 do k = 1, n\n\
                     x = 1\ny = 1\nend do\n";
        for line in 1..=5 {
            assert_eq!(line_of(loops, line), 1, "{line}");
        }
        for line in [6, 7] {
            assert_eq!(line_of(loops, line), line);
        }
        let fixed = "      call w(1)\n*$omp parallel\n*$omp& num_threads(nt)\n* more\n\
                     c$omp do\nc$omp& private(i)\n      do i = 1, nt\n        call w(i)\n";
        for line in 2..=8 {
            assert_eq!(line_of(fixed, line), 2, "{line}");
        }
        let other = "!$omp parallel\n!$omp master taskloop\ndo i = 1, 9\n";
        let of = |construct| [2, 3].map(|line| first_line(&text(other), line, construct));
        assert_eq!(of(Some(Construct::Parallel)), [Some(1); 2]);
        assert_eq!(of(Some(Construct::Taskloop)), [Some(2); 2]);
        assert_eq!(of(None), [Some(2); 2]);
        let before = "t = 0\n\n!$omp parallel do reduction(+: t)\ndo i = 1, 9\nt = t + i\n";
        let parallel = |line| line_below(&text(before), line, Construct::Parallel);
        assert_eq!([1, 3, 5, 99].map(parallel), [Some(3), None, None, None]);
        assert_eq!(line_below(&text(before), 1, Construct::Task), None);
        let lettered = "!$omp parallel\nc-----\nC\nc  More.\n      call w(1)\n";
        assert_eq!(line_of(lettered, 5), 1);
        let named = "!$omp parallel\nc = 1\ncall w(1)\nd = 1\n";
        assert_eq!([2, 3, 4].map(|line| line_of(named, line)), [1, 3, 4]);
        // A directive that has no block is a statement.
        let barrier = "!$omp parallel\n!$omp barrier\ncall w(1)\n";
        assert_eq!([2, 3].map(|line| line_of(barrier, line)), [2, 3]);
        // The loop of another construct.
        let inner = "!$omp parallel\n!$omp do\ndo i = 1, 9\n!$omp task\ncall w(1)\n";
        assert_eq!([3, 4, 5].map(|line| line_of(inner, line)), [1, 4, 4]);
    }

    #[test]
    fn the_loop_of_a_combined_construct_is_below_its_directive() {
        let c =
            "w(1);\n#pragma omp target teams loop \\\n  map(to: x)\n// all\nfor (;;)\n  w(2);\n";
        let is_loop = |line| is_loop_of(&text(c), 2, line);
        let expected = [false, false, false, true, true, false];
        assert_eq!([2, 3, 4, 5, 6, 7].map(is_loop), expected);
        assert!(!is_loop_of(&text(c), 1, 5));
        assert!(!is_loop_of(&text(c), 9, 10));
    }

    #[test]
    fn a_worksharing_construct_is_found_from_the_lines_that_compilers_give_its_calls() {
        let c = "void f(int n) {\n  w(0);\n#pragma omp for \\\n  schedule(dynamic)\n  // all\n\
                 for (int i = 0; i < n; i++) {\n    w(i);\n  }\n#pragma omp single\n  w(1);\n\
                 #pragma omp barrier\n}\n";
        let found = |line, construct| {
            let found = worksharing_near(&text(c), line, construct);
            found.map(|it| (it.line, it.last, it.is_nearest))
        };
        for (line, is_nearest) in [(1, true), (2, false), (3, false), (4, false), (6, false)] {
            let expected = Some((3, 8, is_nearest));
            assert_eq!(found(line, Workshare::Loop), expected, "{line}");
        }
        for (line, is_nearest) in [(7, true), (8, false), (9, false), (10, false), (11, true)] {
            let expected = Some((9, 10, is_nearest));
            assert_eq!(found(line, Workshare::Single), expected, "{line}");
        }
        assert_eq!(found(3, Workshare::Sections), None);
        let ends = |line| worksharing_above(&text(c), line).map(|it| it.line);
        assert_eq!(
            [3, 6, 7, 9, 11].map(ends),
            [Some(3), Some(3), Some(3), Some(9), None]
        );
        let fortran = "!$omp parallel\n!$omp do schedule(static) &\n!$omp& private(j)\n\
                       do i = 1, n\n do j = 1, n\n  a(i) = j\n end do\nenddo\n!$omp end do\n";
        let found = worksharing_near(&text(fortran), 4, Workshare::Loop);
        assert_eq!(found.map(|it| (it.line, it.last)), Some((2, 8)));
        assert_eq!(worksharing_at(&text(fortran), 9), None);
        assert_eq!(
            worksharing_at(&text("#pragma omp parallel if(for)\n"), 1),
            None
        );
    }

    #[test]
    fn the_directive_of_a_line_in_all_its_spellings() {
        let barriers = [
            "#pragma omp barrier",
            "  # pragma  OMP   barrier // done",
            "_Pragma(\"omp barrier\")",
            "for (;;) { _Pragma( \"omp barrier\" ) }",
            "[[omp::directive(barrier)]];",
            "!$omp barrier",
            "      !$OMP BARRIER",
            "C$OMP BARRIER",
            "*$omp barrier",
        ];
        for line in barriers {
            assert_eq!(
                directive_at(&text(line), 1),
                Some(Directive::Barrier),
                "{line}"
            );
        }
        let others = [
            "#pragma omp for // no barrier needed",
            "#pragma omp single",
            "!$omp end do",
            "[[omp::directive(parallel for)]]",
        ];
        for line in others {
            assert_eq!(
                directive_at(&text(line), 1),
                Some(Directive::Other),
                "{line}"
            );
        }
        let tasks = [
            "#pragma omp taskloop reduction(+ : x)",
            "!$omp parallel do reduction(task, +:x)",
        ];
        for line in tasks {
            assert_eq!(
                directive_at(&text(line), 1),
                Some(Directive::Tasks),
                "{line}"
            );
        }
        for line in ["w(1);", "// an omp barrier", "BARRIER;", "#pragma once", ""] {
            assert_eq!(directive_at(&text(line), 1), None, "{line}");
        }
    }

    #[test]
    fn a_directive_may_be_continued() {
        let c = "w(1);\n#pragma omp \\\n  barrier\nw(2);\n";
        assert_eq!(directive_at(&text(c), 1), None);
        assert_eq!(directive_at(&text(c), 2), Some(Directive::Barrier));
        assert_eq!(directive_at(&text(c), 3), Some(Directive::Barrier));
        assert_eq!(directive_at(&text(c), 4), None);
        assert_eq!(directive_at(&text(c), 5), None);
        assert_eq!(directive_at(&text(c), 0), None);
        let fortran = "call w(1)\n!$omp &\n!$omp& barrier\ncall w(2)\n";
        assert_eq!(directive_at(&text(fortran), 3), Some(Directive::Barrier));
        assert_eq!(directive_at(&text(fortran), 4), None);
        let fixed = "      x = 1\nc$omp parallel do\nc$omp+ private(i)\n      do i = 1, 9\n";
        let found = text(fixed).directive(3).map(|(lines, _)| lines);
        assert_eq!(found, Some(2..=3));
        assert_eq!(text(fixed).directive(4), None);
    }
}
