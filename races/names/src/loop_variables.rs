//! Loops of directives in C and C++ that change their own variable: which iterations are executed then is not
//! defined (OpenMP API Specification 5.2, 4.4.1). Compilers of Fortran refuse such a program.

use std::ops::RangeInclusive;

use crate::source::{Sources, Word, words};

/// A loop changes its own variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// The variable.
    pub(crate) variable: String,
    /// Where it is changed.
    pub(crate) line: u32,
    /// Where the loop begins.
    pub(crate) of: u32,
}

/// The changes in the loops of the directive at a line, and in those of the directives in its region if it is
/// no loop's.
pub(crate) fn changes(file: &str, directive: u32, sources: &mut Sources) -> Vec<Change> {
    let Some(text) = sources.directive(file, directive) else {
        return Vec::new();
    };
    if is_of_loop(&text) {
        return Vec::from_iter(change(file, directive, sources));
    }
    let Some(lines) = region(file, directive, sources) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for line in lines {
        let text = sources
            .is_directive(file, line)
            .then(|| sources.directive(file, line));
        if text.flatten().is_some_and(|text| is_of_loop(&text)) {
            all.extend(change(file, line, sources));
        }
    }
    all
}

/// Whether a directive divides a loop.
fn is_of_loop(directive: &str) -> bool {
    let is_loop =
        |word: &Word<'_>| matches!(word, Word::Name("for" | "taskloop" | "distribute" | "loop"));
    words(directive).iter().any(is_loop)
}

/// The lines of a region.
fn region(file: &str, directive: u32, sources: &mut Sources) -> Option<RangeInclusive<u32>> {
    let first = sources.below(file, directive)?;
    Some(first..=sources.statement(file, first)?.last())
}

/// The first change in the loop below a directive.
fn change(file: &str, directive: u32, sources: &mut Sources) -> Option<Change> {
    let text = sources.directive(file, directive)?;
    let loops = collapsed(&crate::source::words(&text));
    let first = sources.below(file, directive)?;
    let statement = sources.statement(file, first)?;
    let words = statement.words();
    let mut body = &words[..];
    // What depends on a condition need not be compiled.
    let is_unclear = |two: &[(u32, Word<'_>)]| {
        matches!(two, [(_, Word::Mark('#')), (_, Word::Name(name))] if *name != "pragma")
            || matches!(two, [(_, Word::Mark('\\')), _])
    };
    if body.windows(2).any(is_unclear) {
        return None;
    }
    let mut found: Option<Change> = None;
    for _ in 0..loops {
        let (of, _) = *body.first()?;
        let (variable, within) = header(body)?;
        let line = change_of(variable, within);
        let earlier = found.as_ref().map_or(u32::MAX, |it| it.line);
        if let Some(line) = line.filter(|line| *line < earlier) {
            let variable = variable.to_owned();
            found = Some(Change { variable, line, of });
        }
        body = match within.split_first() {
            Some(((_, Word::Mark('{')), block)) => block,
            _ => within,
        };
    }
    found
}

/// How many loops a directive divides.
fn collapsed(directive: &[Word<'_>]) -> u32 {
    let numbers = directive.windows(3).filter_map(|three| match three {
        [
            Word::Name("collapse"),
            Word::Mark('('),
            Word::Number(number),
        ] => number.parse().ok(),
        _ => None,
    });
    numbers.max().unwrap_or(1)
}

/// The variable of a `for` statement, and the words below its header.
fn header<'w, 'a>(words: &'w [(u32, Word<'a>)]) -> Option<(&'a str, &'w [(u32, Word<'a>)])> {
    let [(_, Word::Name("for")), (_, Word::Mark('(')), ..] = words else {
        return None;
    };
    let mut depth = 0_i32;
    let end = words.iter().position(|(_, word)| {
        match word {
            Word::Mark('(') => depth += 1,
            Word::Mark(')') => depth -= 1,
            _ => {}
        }
        *word == Word::Mark(')') && depth == 0
    })?;
    let within = words.get(2..end)?;
    let mark = within
        .iter()
        .position(|(_, word)| matches!(word, Word::Mark('=' | '{' | ';')))?;
    match within.get(mark.checked_sub(1)?..=mark)? {
        [(_, Word::Name(name)), (_, Word::Mark('='))] => Some((name, words.get(end + 1..)?)),
        _ => None,
    }
}

/// The line of the first statement that changes a variable; `None` also where another one may have its name.
fn change_of(variable: &str, words: &[(u32, Word<'_>)]) -> Option<u32> {
    const STATEMENTS: [&str; 5] = ["return", "else", "do", "case", "throw"];
    let mut found = None;
    for (at, (line, word)) in words.iter().enumerate() {
        if *word != Word::Name(variable) {
            continue;
        }
        // A clause makes another variable of it.
        if words.contains(&(*line, Word::Mark('#'))) {
            return found;
        }
        let word = |at: Option<usize>| at.and_then(|at| words.get(at)).map(|(_, word)| *word);
        let before = [1, 2, 3].map(|by| word(at.checked_sub(by)));
        let behind = [1, 2, 3].map(|by| word(Some(at + by)));
        let begins = |word| {
            matches!(
                word,
                Some(Word::Name(_) | Word::Number(_) | Word::Mark('('))
            )
        };
        let ends = |word| {
            matches!(
                word,
                Some(Word::Name(_) | Word::Number(_) | Word::Mark(')' | ']'))
            )
        };
        let is_assigned = match behind {
            [Some(Word::Mark('=')), next, _] => next != Some(Word::Mark('=')),
            [
                Some(Word::Mark('+' | '-' | '*' | '/' | '%' | '&' | '|' | '^')),
                Some(Word::Mark('=')),
                _,
            ] => true,
            [
                Some(Word::Mark(one @ ('<' | '>'))),
                Some(Word::Mark(two)),
                Some(Word::Mark('=')),
            ] => one == two,
            _ => false,
        };
        let is_double =
            |first, second| matches!(first, Some(Word::Mark('+' | '-'))) && first == second;
        let is_stepped = is_double(behind[0], behind[1]) && !begins(behind[2])
            || is_double(before[0], before[1]) && !ends(before[2]);
        match before[0] {
            // A member.
            Some(Word::Mark('.')) => continue,
            Some(Word::Mark(':')) if before[1] == Some(Word::Mark(':')) => continue,
            Some(Word::Mark('>')) if before[1] == Some(Word::Mark('-')) => continue,
            // A capture.
            Some(Word::Mark('[')) if is_assigned => return found,
            // A declaration, also of a pointer or reference.
            Some(Word::Name(name)) if !STATEMENTS.contains(&name) => return found,
            Some(Word::Mark('*' | '&' | '>')) if is_assigned => return found,
            _ => {}
        }
        if (is_assigned || is_stepped) && found.is_none() {
            found = Some(*line);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<(String, u32)> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.c");
        std::fs::write(&file, text).expect("a file");
        let all = changes(&file.to_string_lossy(), 1, &mut Sources::default());
        all.into_iter().map(|it| (it.variable, it.line)).collect()
    }

    fn in_loop(body: &str) -> Option<u32> {
        let text =
            format!("#pragma omp parallel for\nfor (int i = 0; i < n; i++) {{\n{body}\n}}\ni++;\n");
        of(&text).first().map(|(_, line)| *line)
    }

    #[test]
    fn a_change_of_the_loop_s_variable_is_found() {
        for body in [
            "i++;",
            "--i;",
            "i += 2;",
            "if (a[i])\ni = n;",
            "x = a[i++];",
            "x = a ? i++ : i--;",
            "i <<= 1;",
            "while (a[i]) { i++; }",
        ] {
            assert!(in_loop(body).is_some(), "{body}");
        }
        assert_eq!(
            in_loop("/* i++;\n i = 2; */ // i++\nx = i; i -= 1;"),
            Some(5)
        );
    }

    #[test]
    fn what_only_looks_like_one_is_not() {
        for body in [
            "x = i == 2;",
            "a[i] = i <= 3;",
            "p->i = 2; q.i++;",
            "x = a + +i;",
            "x = i + +1;",
            "f(&i);",
            "for (int i = 0; i < 3; i++) x = i;",
            "int i = 2; i++;",
            "T *i = p; i += 1;",
            "j = i;",
            "s = \"i++\";",
            "x = i >= 2;",
            "#pragma omp simd private(j, i)\nfor (j = 0; j < 3; j++) i = j;",
            "S::i = 2;",
            "\n#if 0\ni++;\n#endif",
            "x[i]++;",
        ] {
            assert_eq!(in_loop(body), None, "{body}");
        }
    }

    #[test]
    fn collapsed_loops_and_those_in_a_region_have_theirs() {
        let inner = "for (i = 0; i < n; i++)\nfor (j = 0; j < n; j++)\nj = 2;\n";
        assert_eq!(
            of(&format!("#pragma omp for collapse(2)\n{inner}")),
            [("j".to_owned(), 4)]
        );
        assert_eq!(of(&format!("#pragma omp for\n{inner}")), []);
        let region = "#pragma omp parallel\n{\nk = 2;\n#pragma omp for\nfor (k = 0; k < n; k++)\nk += 1;\n}\n";
        assert_eq!(of(region), [("k".to_owned(), 6)]);
    }
}
