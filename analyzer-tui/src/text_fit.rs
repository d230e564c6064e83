//! Fits texts into a width, in cells of the screen.

use omp_model::views::names::{short, without_parameters};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The width of a text.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The longest beginning of a text that fits a width.
pub fn cut(text: &str, width: usize) -> &str {
    let mut taken = 0;
    for (at, letter) in text.char_indices() {
        taken += letter.width().unwrap_or(0);
        if taken > width {
            return &text[..at];
        }
    }
    text
}

/// A text cut to a width, with a mark where it was cut.
pub fn fit(text: &str, width: usize) -> String {
    match width {
        _ if text.width() <= width => text.to_owned(),
        0 => String::new(),
        _ => format!("{}…", cut(text, width - 1)),
    }
}

/// A function's or construct's name cut to a width. Drops its parameters and symbol first, then
/// template arguments, then all words except the function and the line, which distinguish it.
pub fn fit_name(name: &str, width: usize) -> String {
    const LEAST: usize = 4;
    let fits = |text: &str| text.width() <= width;
    if fits(name) {
        return name.to_owned();
    }
    let (function, construct) = match name.split_once(" -- OMP ") {
        Some((function, rest)) => (function, Some(rest)),
        None => (name, None),
    };
    let words = construct.map(|it| it.split_once(" [").map_or(it, |(words, _)| words));
    let whole = |function: &str| match words {
        Some(words) => format!("{function} -- OMP {words}"),
        None => function.to_owned(),
    };
    let bare = whole(without_parameters(function));
    if fits(&bare) {
        return bare;
    }
    let function = short(function);
    let brief = whole(&function);
    let words = match words {
        Some(words) if !fits(&brief) => words,
        _ => return fit(&brief, width),
    };
    let (kind, line) = words.split_once(" from line ").unwrap_or((words, ""));
    let kind = kind.rsplit(' ').next().unwrap_or_default();
    let tail = match line {
        "" => String::new(),
        line => format!(" line {line}"),
    };
    let longer = format!("{function}… {kind}{tail}");
    if fits(&longer) {
        return longer;
    }
    let room = width.saturating_sub(tail.width() + 1);
    match room {
        0..LEAST => fit(&brief, width),
        _ => {
            format!("{}…{tail}", cut(&function, room))
        }
    }
}

/// Wraps a text at spaces; a word longer than a line is broken. Further lines are indented as the
/// first, and by two more.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let words = text.trim_start();
    let indent = &text[..text.len() - words.len()];
    let further = format!("{indent}  ");
    let options = textwrap::Options::new(width.max(1))
        .initial_indent(indent)
        .subsequent_indent(&further)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    let lines = textwrap::wrap(words, options).into_iter();
    lines.map(std::borrow::Cow::into_owned).collect()
}

/// A duration in a suitable unit.
pub fn duration(nanos: u64) -> String {
    match nanos {
        0..10_000 => format!("{:.1} us", nanos as f64 / 1e3),
        10_000..1_000_000 => format!("{:.0} us", nanos as f64 / 1e3),
        1_000_000..10_000_000 => format!("{:.2} ms", nanos as f64 / 1e6),
        10_000_000..1_000_000_000 => format!("{:.0} ms", nanos as f64 / 1e6),
        _ => format!("{:.3} s", nanos as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tells_a_construct_from_others_is_kept() {
        let name = "Calc(Domain&, double (*)[8]) -- OMP parallel region from line 782 [.omp.31]";
        assert_eq!(fit_name(name, 80), name);
        let short = "Calc -- OMP parallel region from line 782";
        assert_eq!(fit_name(name, 60), short);
        assert_eq!(fit_name(name, short.len()), short);
        assert_eq!(fit_name(name, 40), "Calc… region line 782");
        assert_eq!(fit_name(name, 14), "Calc… line 782");
        assert_eq!(
            fit_name("Calculate -- OMP task from line 9", 12),
            "Calc… line 9"
        );
        assert_eq!(fit_name(name, 8), "Calc --…");
        assert_eq!(fit_name(name, 1), "…");
        assert_eq!(fit_name(name, 0), "");
        assert_eq!(
            fit_name("f -- OMP parallel region [f.omp]", 30),
            "f -- OMP parallel region"
        );
        assert_eq!(
            fit_name("f -- OMP parallel region [f.omp]", 20),
            "f… region"
        );
    }

    #[test]
    fn parameters_go_first() {
        assert_eq!(fit_name("Calc(Domain&, int)", 8), "Calc");
        assert_eq!(fit_name("a::f(g(int), h) const", 10), "a::f");
        assert_eq!(fit_name("X::operator()(int)", 13), "X::operator()");
        assert_eq!(fit_name("a::F<int>::f(int)", 12), "a::F<int>::f");
        assert_eq!(fit_name("a::F<a::G, int>::f(int)", 12), "a::F<…>::f");
        assert_eq!(
            fit_name("F<a::G>::f(int) -- OMP task from line 9", 20),
            "F<…>::f… task line 9"
        );
        assert_eq!(fit_name("(anonymous)", 5), "(ano…");
        assert_eq!(fit_name("calculate", 5), "calc…");
        assert_eq!(fit_name("odd)", 3), "od…");
    }

    #[test]
    fn words_are_not_broken() {
        assert_eq!(wrap("one two three", 9), ["one two", "  three"]);
        assert_eq!(wrap("  one two three", 9), ["  one two", "    three"]);
        assert_eq!(wrap("abcdefghij", 6), ["abcd", "  efgh", "  ij"]);
    }

    #[test]
    fn wide_letters_take_two_cells() {
        assert_eq!(width("計算"), 4);
        assert_eq!(fit("計算する", 6), "計算…");
        assert_eq!(fit_name("計算 -- OMP task from line 9", 15), "計算… line 9");
        assert_eq!(wrap("計算 する", 6), ["計算", "  する"]);
    }
}
