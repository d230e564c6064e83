//! Where a Fortran directive begins.
//!
//! gfortran gives a construct the last line of a directive that is continued, and one whose clause
//! is computed the line of its first statement. The source tells where the directive stands.

/// The line of the directive that a construct said to begin at `line`, from 1, has in its Fortran
/// source: the first of the lines that it is continued over. `line` itself where no directive for a
/// construct stands there, or right above it.
pub(crate) fn first_line(text: &str, line: u32) -> u32 {
    let lines: Vec<&str> = text.lines().collect();
    found(&lines, line).unwrap_or(line)
}

fn found(lines: &[&str], line: u32) -> Option<u32> {
    let mut at = (line as usize).checked_sub(1)?;
    if !is_directive(lines.get(at)?) {
        at = (0..at).rev().find(|&before| !is_remark(lines[before]))?;
    }
    let last = at;
    while at > 0 && is_directive(lines[at]) && continues(lines[at - 1], lines[at]) {
        at -= 1;
    }
    let makes = lines[at..=last].iter().any(|line| makes_a_body(line));
    makes.then_some(at as u32 + 1)
}

/// The sentinels of free and of fixed form.
fn is_directive(line: &str) -> bool {
    let start = line.trim_start().get(..5).unwrap_or_default();
    ["!$omp", "c$omp", "*$omp"]
        .iter()
        .any(|sentinel| start.eq_ignore_ascii_case(sentinel))
}

fn is_remark(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('!') && !is_directive(line)
}

/// Whether a directive's line goes on with that below: by an ampersand at its end, or in fixed form
/// by a mark in the sixth column of the line below.
fn continues(above: &str, below: &str) -> bool {
    let marked = !below.starts_with([' ', '\t'])
        && below
            .chars()
            .nth(5)
            .is_some_and(|mark| !mark.is_whitespace() && mark != '0');
    is_directive(above) && (marked || above.trim_end().ends_with('&'))
}

/// Whether a line has a word of a directive whose body is a function of its own.
fn makes_a_body(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    let words: Vec<&str> = line
        .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '$')
        .filter(|word| !word.is_empty() && !word.ends_with("$omp"))
        .collect();
    let ends = words.first().is_some_and(|word| word.starts_with("end"));
    let makes = |word: &&str| {
        word.starts_with("parallel") || matches!(*word, "task" | "taskloop" | "teams")
    };
    !ends && words.iter().any(makes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directive_that_is_continued_stands_where_it_begins() {
        let free =
            "x = 1\n!$omp parallel do &\n!$omp& private(i) &\n!$omp shared(x)\ndo i = 1, 9\n";
        assert_eq!([2, 3, 4].map(|line| first_line(free, line)), [2, 2, 2]);
        let fixed = "      x = 1\n!$omp parallel default(shared)\nC$OMP& private(i)\n      y = 1\n";
        assert_eq!([2, 3].map(|line| first_line(fixed, line)), [2, 2]);
        let two = "!$omp parallel\n!$omp parallel\n      y = 1\n";
        assert_eq!([1, 2].map(|line| first_line(two, line)), [1, 2]);
    }

    #[test]
    fn a_first_statement_stands_for_the_directive_above_it() {
        let text = "  !$omp parallel if(n > 9) &\n  !$omp& shared(n)\n\n  ! Much.\n  call w(n)\n\
                    \x20 call w(n)\n  !$omp end parallel\n  call w(n)\n";
        assert_eq!(first_line(text, 5), 1);
        for line in [0, 6, 7, 8, 99] {
            assert_eq!(first_line(text, line), line, "{line}");
        }
        assert_eq!(first_line("!$omp do\ndo i = 1, 9\n", 2), 2);
    }
}
