//! Texts that must fit.

/// A text cut to a width, with a mark where it was cut.
pub(super) fn fit(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    match width {
        0 => String::new(),
        _ => format!("{kept}…"),
    }
}

/// A function's or construct's name cut to a width. What tells it from others goes last: first
/// its parameters and its symbol, then all words but the function and the line.
pub(crate) fn fit_name(name: &str, width: usize) -> String {
    const LEAST: usize = 4;
    let fits = |text: &str| text.chars().count() <= width;
    if fits(name) {
        return name.to_owned();
    }
    let (function, construct) = match name.split_once(" -- OMP ") {
        Some((function, rest)) => (function, Some(rest)),
        None => (name, None),
    };
    let function = without_parameters(function);
    let Some(construct) = construct else {
        return fit(function, width);
    };
    let words = construct
        .split_once(" [")
        .map_or(construct, |(words, _)| words);
    let short = format!("{function} -- OMP {words}");
    if fits(&short) {
        return short;
    }
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
    let room = width.saturating_sub(tail.chars().count() + 1);
    match room {
        0..LEAST => fit(&short, width),
        _ => {
            let kept: String = function.chars().take(room).collect();
            format!("{kept}…{tail}")
        }
    }
}

/// A C++ function's name without its parameters.
fn without_parameters(name: &str) -> &str {
    let end = name.trim_end_matches(" const");
    let Some(inside) = end.strip_suffix(')') else {
        return name;
    };
    let mut depth = 1;
    for (at, letter) in inside.char_indices().rev() {
        match letter {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return if at > 0 { &name[..at] } else { name };
        }
    }
    name
}

/// A text in lines of at most so many characters, broken at spaces; a longer word has a line of
/// its own, cut. Further lines stand in by two.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) => lines.push(fit(&format!("  {word}"), width)),
            None => lines.push(fit(word, width)),
        }
    }
    lines
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
        assert_eq!(fit_name("(anonymous)", 5), "(ano…");
        assert_eq!(fit_name("calculate", 5), "calc…");
        assert_eq!(fit_name("odd)", 3), "od…");
    }

    #[test]
    fn words_are_not_broken() {
        assert_eq!(wrap("one two three", 9), ["one two", "  three"]);
        assert_eq!(wrap("abcdefghij", 5), ["abcd…"]);
    }
}
