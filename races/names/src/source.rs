//! Lines of source text, without what is no code.

use std::ops::RangeInclusive;
use std::path::Path;
use std::rc::Rc;

use hashbrown::HashMap;
use symbolize::{Text, is_fortran};

/// Source files that were read.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    files: HashMap<String, Option<Rc<Text>>>,
    /// Statements that were asked for, by file and line.
    statements: HashMap<(String, u32), Option<Rc<Statement>>>,
    /// By file and name, the lines of code that have the name.
    names: HashMap<String, HashMap<String, Vec<u32>>>,
}

impl Sources {
    /// A line, from 1, with blanks where comments and texts stand.
    pub(crate) fn line(&mut self, file: &str, line: u32) -> Option<String> {
        let line = self.raw(file, line)?;
        Some(if is_fortran(file) {
            without_fortran_comment(line).to_lowercase()
        } else {
            without_comments(line)
        })
    }

    /// The statement of C that begins on a line.
    pub(crate) fn statement(&mut self, file: &str, first: u32) -> Option<Rc<Statement>> {
        let key = (file.to_owned(), first);
        if let Some(known) = self.statements.get(&key) {
            return known.clone();
        }
        /// Lines of the longest statement that is looked at.
        const MOST: u32 = 2048;
        let mut found = None;
        let mut lines = 16;
        let source = self.text(file).filter(|_| !is_fortran(file));
        while let Some(source) = source.as_ref().filter(|_| found.is_none() && lines <= MOST) {
            let all = (first..first + lines).map_while(|line| source.line(line));
            let text = all.collect::<Vec<_>>().join("\n");
            found = Statement::first_of(first, without_comments(&text));
            lines *= 4;
        }
        let found = found.map(Rc::new);
        self.statements.insert(key, found.clone());
        found
    }

    /// The line below a directive, with those to which that is continued.
    pub(crate) fn below(&mut self, file: &str, directive: u32) -> Option<u32> {
        let known = self.read(file)?.directive(directive);
        Some(known.map_or(directive, |(lines, _)| *lines.end()) + 1)
    }

    /// The lines within some of a file whose code has a name.
    pub(crate) fn lines_with(
        &mut self,
        file: &str,
        name: &str,
        within: RangeInclusive<u32>,
    ) -> impl Iterator<Item = u32> + use<'_> {
        if !self.names.contains_key(file) {
            let names = self.names_in(file);
            self.names.insert(file.to_owned(), names);
        }
        let lines = self.names.get(file).and_then(|names| names.get(name));
        let lines = lines.map_or(&[][..], Vec::as_slice);
        let first = lines.partition_point(|line| line < within.start());
        let lines = lines[first..].iter().copied();
        lines.take_while(move |line| line <= within.end())
    }

    fn names_in(&mut self, file: &str) -> HashMap<String, Vec<u32>> {
        let mut names: HashMap<String, Vec<u32>> = HashMap::new();
        for number in 1.. {
            let Some(line) = self.line(file, number) else {
                break;
            };
            for word in words(&line) {
                if let Word::Name(name) = word {
                    let lines = names.entry_ref(name).or_default();
                    if lines.last() != Some(&number) {
                        lines.push(number);
                    }
                }
            }
        }
        names
    }

    /// Whether a directive begins at a line.
    pub(crate) fn is_directive(&mut self, file: &str, line: u32) -> bool {
        let directive = self.read(file).and_then(|text| text.directive(line));
        directive.is_some_and(|(lines, _)| *lines.start() == line)
    }

    /// The directive at a line, with those to which it is continued, in lower case. Compilers give
    /// some constructs the line behind it.
    pub(crate) fn directive(&mut self, file: &str, line: u32) -> Option<String> {
        let text = self.read(file)?;
        let here = text.directive(line);
        let (_, directive) = here.or_else(|| text.directive(line.checked_sub(1)?))?;
        Some(directive)
    }

    /// The first line with a directive from a line on, if it is near.
    pub(crate) fn directive_from(&mut self, file: &str, line: u32) -> Option<u32> {
        const MOST: u32 = 4;
        let text = self.read(file)?;
        (line..line.saturating_add(MOST)).find(|line| text.directive(*line).is_some())
    }

    /// The line of the statement below the `atomic` directive at a line; `None` if there may be two, or
    /// no such directive stands there.
    pub(crate) fn atomic_statement(&mut self, file: &str, line: u32) -> Option<u32> {
        if !self.is_directive(file, line) {
            return None;
        }
        let directive = self.directive(file, line)?;
        let words = words(&directive);
        let has = |name: &str| words.contains(&Word::Name(name));
        if !has("atomic") || has("capture") || has("compare") {
            return None;
        }
        let next = self.below(file, line)?;
        let text = self.line(file, next)?;
        (!text.trim().is_empty()).then_some(next)
    }

    /// Whether a line of Fortran, and the one before, certainly hold no `barrier` directive, nor end a construct
    /// that has a barrier of its own. flang gives many calls the line of another statement.
    pub(crate) fn is_no_barrier(&mut self, file: &str, line: u32) -> bool {
        if !is_fortran(file) || self.raw(file, line).is_none() {
            return false;
        }
        let text = self.text(file);
        let has_barrier = |line: u32| {
            let directive = text.as_ref().and_then(|text| text.directive(line));
            let directive = directive.map_or_else(String::new, |(_, directive)| directive);
            let words = words(&directive);
            ["barrier", "end"]
                .iter()
                .any(|name| words.contains(&Word::Name(name)))
        };
        ![line, line - 1].into_iter().any(has_barrier)
    }

    /// Whether a line of Fortran declares variables.
    pub(crate) fn is_declaration(&mut self, file: &str, line: u32) -> bool {
        is_fortran(file) && self.line(file, line).is_some_and(|line| declares(&line))
    }

    /// The whole text.
    pub(crate) fn text(&mut self, file: &str) -> Option<Rc<Text>> {
        self.read(file).cloned()
    }

    fn raw(&mut self, file: &str, line: u32) -> Option<&str> {
        self.read(file)?.line(line)
    }

    fn read(&mut self, file: &str) -> Option<&Rc<Text>> {
        let read = || {
            let bytes = untrusted::read(Path::new(file), symbolize::LONGEST_SOURCE).ok()?;
            Some(Rc::new(Text::new(&bytes)))
        };
        self.files.entry_ref(file).or_insert_with(read).as_ref()
    }
}

/// Texts and comments of C become blanks, so that places stay. No text goes on on the next line.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut within: Option<char> = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (within, character) {
            (_, '\n') => {
                within = within.filter(|it| *it == '*');
                out.push('\n');
            }
            (None, '/') if characters.peek() == Some(&'/') => {
                while characters.next_if(|it| *it != '\n').is_some() {}
            }
            (None, '/') if characters.peek() == Some(&'*') => {
                within = Some('*');
                out.push(' ');
            }
            (None, '"' | '\'') => {
                within = Some(character);
                out.push(' ');
            }
            (None, _) => out.push(character),
            (Some('*'), '*') if characters.peek() == Some(&'/') => {
                characters.next();
                within = None;
                out.push_str("  ");
            }
            (Some('"' | '\''), '\\') => {
                characters.next_if(|it| *it != '\n');
                out.push_str("  ");
            }
            (Some(end), _) => {
                if character == end && end != '*' {
                    within = None;
                }
                out.push(' ');
            }
        }
    }
    out
}

/// Whether a line of Fortran is a declaration with `::`, or that of a `common` block.
fn declares(line: &str) -> bool {
    const TYPES: [&str; 9] = [
        "integer",
        "real",
        "double",
        "complex",
        "logical",
        "character",
        "type",
        "class",
        "common",
    ];
    let words = words(line);
    let [Word::Name(first), rest @ ..] = &words[..] else {
        return false;
    };
    let marks = [Word::Mark(':'), Word::Mark(':')];
    let colons = rest.windows(2).position(|two| two == marks);
    // A section has colons, too: `real(i) = a(1::2)`.
    let before = &rest[..colons.unwrap_or_default()];
    TYPES.contains(first)
        && (*first == "common" && rest.first() == Some(&Word::Mark('/')) || colons.is_some())
        && !assigns_before(before)
}

/// Whether `=` stands outside of parentheses.
fn assigns_before(words: &[Word<'_>]) -> bool {
    let mut depth = 0_i32;
    words.iter().any(|word| {
        match word {
            Word::Mark('(') => depth += 1,
            Word::Mark(')') => depth -= 1,
            _ => {}
        }
        depth == 0 && *word == Word::Mark('=')
    })
}

fn without_fortran_comment(line: &str) -> &str {
    line.split('!').next().unwrap_or(line)
}

/// A statement of C, without comments and texts.
#[derive(Debug)]
pub(crate) struct Statement {
    first: u32,
    text: String,
    /// Its number of words.
    length: usize,
}

impl Statement {
    /// The statement with which lines from `first` on begin.
    fn first_of(first: u32, text: String) -> Option<Statement> {
        let all = Statement {
            first,
            text,
            length: usize::MAX,
        };
        let length = length_of(&all.words())?;
        Some(Statement { length, ..all })
    }

    /// Its words, each with its line.
    pub(crate) fn words(&self) -> Vec<(u32, Word<'_>)> {
        let lines = (self.first..).zip(self.text.lines());
        let words =
            lines.flat_map(|(line, text)| words(text).into_iter().map(move |it| (line, it)));
        words.take(self.length).collect()
    }

    /// Its last line.
    pub(crate) fn last(&self) -> u32 {
        self.words().last().map_or(self.first, |(line, _)| *line)
    }
}

/// The number of words of the statement with which some words of C begin.
pub(crate) fn length_of(words: &[(u32, Word<'_>)]) -> Option<usize> {
    let (mut parentheses, mut braces) = (0, 0);
    for (at, (_, word)) in words.iter().enumerate() {
        match word {
            Word::Mark('(') => parentheses += 1,
            Word::Mark(')') => parentheses -= 1,
            Word::Mark('{') => braces += 1,
            Word::Mark('}') => braces -= 1,
            _ => {}
        }
        let may_end = matches!(word, Word::Mark(';' | '}')) && (parentheses, braces) == (0, 0);
        let goes_on = || matches!(words.get(at + 1), Some((_, Word::Name("else"))));
        if may_end && !goes_on() {
            return Some(at + 1);
        }
    }
    None
}

/// A word of a line: a name or number, or one other character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word<'a> {
    Name(&'a str),
    Number(&'a str),
    Mark(char),
}

/// The words of a line.
pub(crate) fn words(line: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let is_part = |character: char| character.is_alphanumeric() || character == '_';
        let length = match first {
            _ if first.is_ascii_digit() => {
                let is_part = |character: char| is_part(character) || character == '.';
                rest.find(|character| !is_part(character))
                    .unwrap_or(rest.len())
            }
            _ if is_part(first) => rest.find(|it| !is_part(it)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (word, after) = rest.split_at(length);
        rest = after;
        if first.is_whitespace() {
            continue;
        }
        words.push(match () {
            () if first.is_ascii_digit() => Word::Number(word),
            () if is_part(first) => Word::Name(word),
            () => Word::Mark(first),
        });
    }
    words
}

/// The text of some words, without blanks that are not needed.
pub(crate) fn text_of(words: &[Word<'_>]) -> String {
    let mut text = String::new();
    let mut is_word = false;
    for word in words {
        let (own, is_next_word) = match word {
            Word::Name(own) | Word::Number(own) => ((*own).to_owned(), true),
            Word::Mark(mark) => (mark.to_string(), false),
        };
        if is_word && is_next_word {
            text.push(' ');
        }
        text += &own;
        is_word = is_next_word;
    }
    text
}

/// An assignment that is the only statement of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
    /// Where in the words its operator stands.
    pub(crate) at: usize,
    /// It also reads what it assigns: `+=`.
    pub(crate) operator: Option<char>,
}

/// The assignment of a line, if that is its only statement; what stands in `(...)` is none.
pub(crate) fn assignment(words: &[Word<'_>]) -> Option<Assignment> {
    let mut depth = 0_i32;
    let mut found: Option<Assignment> = None;
    let mut ends = 0;
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        let after = words.get(at + 1);
        match word {
            Word::Mark('(' | '[') => depth += 1,
            Word::Mark(')' | ']') => depth -= 1,
            Word::Mark(';') if depth == 0 => ends += 1,
            Word::Mark('=') if depth == 0 => {
                let operator = match before {
                    Some(Word::Mark('=' | '!' | '<' | '>')) => return None,
                    Some(Word::Mark(mark @ ('+' | '-' | '*' | '/' | '%' | '&' | '|' | '^'))) => {
                        Some(*mark)
                    }
                    _ => None,
                };
                let is_comparison = after == Some(&Word::Mark('='));
                if is_comparison || found.replace(Assignment { at, operator }).is_some() {
                    return None;
                }
            }
            _ => {}
        }
    }
    found.filter(|_| ends <= 1)
}

/// Whether a line may write memory: by an assignment, `++` or `--` outside of parentheses, or by a call.
pub(crate) fn writes(words: &[Word<'_>]) -> bool {
    const NO_FUNCTIONS: [&str; 6] = ["for", "while", "if", "switch", "return", "sizeof"];
    let mut depth = 0_i32;
    for (at, word) in words.iter().enumerate() {
        let after = words.get(at + 1);
        match word {
            Word::Mark('(' | '[') => depth += 1,
            Word::Mark(')' | ']') => depth -= 1,
            Word::Mark('=') if depth == 0 => return true,
            Word::Mark(mark @ ('+' | '-')) if depth == 0 && after == Some(&Word::Mark(*mark)) => {
                return true;
            }
            Word::Name(name) if after == Some(&Word::Mark('(')) && !NO_FUNCTIONS.contains(name) => {
                return true;
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_texts_are_no_code() {
        assert_eq!(without_comments("a = b; // c = d"), "a = b; ");
        assert_eq!(without_comments(r#"f("x\"y", 'c');"#), "f(      ,    );");
        assert_eq!(without_comments("a /* b */ = c;"), "a         = c;");
        let lines = "1'000; // b\n/* c\nd */ e; \"f\n\"";
        let blank = without_comments(lines);
        let words: Vec<Vec<Word<'_>>> = blank.lines().map(words).collect();
        assert_eq!(words.len(), 4);
        assert_eq!(words[2], [Word::Name("e"), Word::Mark(';')]);
    }

    #[test]
    fn a_statement_ends_where_it_does() {
        let end = |text: &str| Some(Statement::first_of(1, text.to_owned())?.last());
        assert_eq!(end("for (i = 0; i < n; i++) x++;\ny;"), Some(1));
        assert_eq!(
            end("for (i = 0; i < n; i++)\n  for (;;)\n    x++;\ny;"),
            Some(3)
        );
        assert_eq!(end("for (i = 0; i < n; i++) {\n  x++;\n}\ny;"), Some(3));
        assert_eq!(end("for (;;)\nif (a) b;\nelse\n c;\ny;"), Some(4));
        assert_eq!(end("for (;;)"), None);
    }

    #[test]
    fn a_header_of_a_loop_writes_nothing_else() {
        let of = |line| writes(&words(line));
        assert!(!of("for (j = s[i]; j < s[i + 1]; j++)"));
        assert!(!of("while (s[i] > sizeof(int)) {"));
        assert!(of("for (i = 0; i < n; i++) a[i] = 0;"));
        assert!(of("if (b) (*p)++;"));
        assert!(of("fill(p, n);"));
        assert!(of("*p = 1;"));
    }

    #[test]
    fn a_declaration_of_fortran_is_known_by_its_type() {
        for line in [
            "integer :: a, b",
            "  real(kind=8), allocatable :: x(:)",
            "type(t) :: x = t(1)",
            "common /block/ a, b",
        ] {
            assert!(declares(line), "{line}");
        }
        for line in [
            "real(i) = a(1::2)",
            "a = b(1::2)",
            "common = 1",
            "allocate(integer :: p)",
        ] {
            assert!(!declares(line), "{line}");
        }
    }

    #[test]
    fn the_statement_of_an_atomic_directive_is_below_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.f90");
        let text = "!$omp atomic &\n!$omp& update\nx = x + 1\n!$omp atomic capture\nv = x\n!$omp barrier\n";
        std::fs::write(&file, text).expect("a file");
        let file = file.to_string_lossy();
        let mut sources = Sources::default();
        let of = [1, 3, 4, 6].map(|line| sources.atomic_statement(&file, line));
        assert_eq!(of, [Some(3), None, None, None]);
        let of = [2, 3, 5, 7].map(|line| sources.directive_from(&file, line));
        assert_eq!(of, [Some(2), Some(4), Some(6), None]);
    }

    #[test]
    fn an_assignment_is_found_where_it_is_the_only_statement() {
        let of = |line| assignment(&words(line)).map(|it| (it.at, it.operator));
        assert_eq!(of("x = 1;"), Some((1, None)));
        assert_eq!(of("x += 1;"), Some((2, Some('+'))));
        assert_eq!(of("for (i = 0; i < n; i++) a[i] = b[i] == c;"), None);
        assert_eq!(of("for (i = 0; i < n; i++) a[i] = b[i];"), Some((18, None)));
        assert_eq!(of("x = 1; y = 2;"), None);
        assert_eq!(of("if (x == 1) f(x);"), None);
    }
}
