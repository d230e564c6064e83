//! Statements that compute a variable's new value from its old one.

use crate::source::{Word, assignment};

/// How a statement combines the old value with another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Update {
    /// By an operator.
    Operator(char),
    /// The greater of the two.
    Maximum,
    /// The lesser.
    Minimum,
}

impl Update {
    /// What the only statement of a text, its condition with it, does with the variable `name`. `None`: it
    /// is no update, or it does more.
    pub(crate) fn of(words: &[Word<'_>], name: &str) -> Option<Update> {
        let operator = updated(words, name).map(Update::Operator);
        operator
            .or_else(|| by_function(words, name))
            .or_else(|| by_condition(words, name))
            .or_else(|| by_choice(words, name))
    }

    /// Whether it keeps the greater or the lesser value.
    pub(crate) fn is_extreme(self) -> bool {
        matches!(self, Update::Maximum | Update::Minimum)
    }

    /// What it is called in the clause `reduction`.
    pub(crate) fn reduction(self) -> String {
        match self {
            // Parts of a difference are added up.
            Update::Operator('-') => "+".to_owned(),
            Update::Operator(operator) => operator.to_string(),
            Update::Maximum => "max".to_owned(),
            Update::Minimum => "min".to_owned(),
        }
    }
}

/// How often words name a variable.
fn uses(words: &[Word<'_>], name: &str) -> usize {
    let own = Word::Name(name);
    words.iter().filter(|word| **word == own).count()
}

/// The target and the value of the assignment that words are, without the semicolon.
fn sides<'a, 'b>(words: &'a [Word<'b>], name: &str) -> Option<(&'a [Word<'b>], &'a [Word<'b>])> {
    let found = assignment(words).filter(|found| found.operator.is_none())?;
    let (target, value) = (words.get(..found.at)?, words.get(found.at + 1..)?);
    let value = value.strip_suffix(&[Word::Mark(';')]).unwrap_or(value);
    (target.last() == Some(&Word::Name(name))).then_some((target, value))
}

/// `x = max(x, a)`, with `std::`, `fmax` and the like.
fn by_function(words: &[Word<'_>], name: &str) -> Option<Update> {
    let (_, value) = sides(words, name)?;
    let begin = value.iter().position(|word| *word == Word::Mark('('))?;
    let (function, arguments) = value.split_at(begin);
    let Some(Word::Name(function)) = function.last() else {
        return None;
    };
    let update = match function.to_lowercase().as_str() {
        "max" | "fmax" | "fmaxf" | "fmaxl" | "dmax1" | "amax1" | "max0" => Update::Maximum,
        "min" | "fmin" | "fminf" | "fminl" | "dmin1" | "amin1" | "min0" => Update::Minimum,
        _ => return None,
    };
    let own = Word::Name(name);
    let is_whole = closes(arguments) == Some(arguments.len() - 1);
    let is_alone = matches!(arguments, [_, first, Word::Mark(','), ..] if *first == own)
        || matches!(arguments, [.., Word::Mark(','), last, _] if *last == own);
    (is_whole && is_alone && uses(value, name) == 1).then_some(update)
}

/// Where the parenthesis closes that words begin with.
fn closes(words: &[Word<'_>]) -> Option<usize> {
    let mut depth = 0_i32;
    words.iter().position(|word| {
        match word {
            Word::Mark('(') => depth += 1,
            Word::Mark(')') => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

/// The two sides of a comparison, the greater one first.
fn compared<'a, 'b>(words: &'a [Word<'b>]) -> Option<[&'a [Word<'b>]; 2]> {
    let at = |word: Word<'_>| words.iter().position(|it| *it == word);
    let fortran = |names: [&str; 2]| {
        let found = names.into_iter().find_map(|name| at(Word::Name(name)))?;
        let dots = [found.checked_sub(1)?, found + 1];
        let is_operator = dots
            .iter()
            .all(|dot| words.get(*dot) == Some(&Word::Mark('.')));
        is_operator.then_some((dots[0], dots[1] + 1))
    };
    let sign = |mark: char| {
        let begin = at(Word::Mark(mark))?;
        let is_equal = words.get(begin + 1) == Some(&Word::Mark('='));
        Some((begin, begin + 1 + usize::from(is_equal)))
    };
    let greater = sign('>').or_else(|| fortran(["gt", "ge"]));
    let lesser = sign('<').or_else(|| fortran(["lt", "le"]));
    match (greater, lesser) {
        (Some((end, begin)), None) => Some([&words[..end], &words[begin..]]),
        (None, Some((end, begin))) => Some([&words[begin..], &words[..end]]),
        _ => None,
    }
}

/// That of a variable which takes another value `value` if that is greater, or lesser, than its own.
fn extreme(condition: &[Word<'_>], value: &[Word<'_>], name: &str) -> Option<Update> {
    let own: &[Word<'_>] = &[Word::Name(name)];
    match compared(condition)? {
        [greater, lesser] if lesser == own && greater == value => Some(Update::Maximum),
        [greater, lesser] if greater == own && lesser == value => Some(Update::Minimum),
        _ => None,
    }
    .filter(|_| uses(value, name) == 0)
}

/// `if (a > x) x = a;`
fn by_condition(words: &[Word<'_>], name: &str) -> Option<Update> {
    let [Word::Name("if"), rest @ ..] = words else {
        return None;
    };
    let end = closes(rest)?;
    let (condition, statement) = (rest.get(1..end)?, rest.get(end + 1..)?);
    let statement = match statement {
        [Word::Mark('{') | Word::Name("then"), statement @ ..] => statement,
        _ => statement,
    };
    let statement = statement
        .strip_suffix(&[Word::Mark('}')])
        .unwrap_or(statement);
    let (target, value) = sides(statement, name)?;
    (target.len() == 1).then(|| extreme(condition, value, name))?
}

/// `x = a > x ? a : x;`
fn by_choice(words: &[Word<'_>], name: &str) -> Option<Update> {
    let (_, value) = sides(words, name)?;
    let place = |mark| value.iter().position(|word| *word == Word::Mark(mark));
    let (question, colon) = (place('?')?, place(':')?);
    let (condition, one, other) = (
        value.get(..question)?,
        value.get(question + 1..colon)?,
        value.get(colon + 1..)?,
    );
    let condition = match condition {
        [Word::Mark('('), inner @ .., Word::Mark(')')] => inner,
        _ => condition,
    };
    let own: &[Word<'_>] = &[Word::Name(name)];
    if other == own {
        return extreme(condition, one, name);
    }
    // The other way round: its own value if that is the greater one.
    let [greater, lesser] = compared(condition)?;
    if one != own || uses(other, name) != 0 {
        return None;
    }
    match () {
        () if greater == own && lesser == other => Some(Update::Maximum),
        () if lesser == own && greater == other => Some(Update::Minimum),
        () => None,
    }
}

/// The operator by which the only statement of a line computes the variable from its old value.
fn updated(words: &[Word<'_>], name: &str) -> Option<char> {
    let own = Word::Name(name);
    let others = |words: &[Word<'_>]| uses(words, name);
    let Some(found) = assignment(words) else {
        let at = words.iter().position(|word| *word == own)?;
        let is_only = others(words) == 1 && is_step(words, at);
        return is_only.then_some('+');
    };
    let left = found.at - usize::from(found.operator.is_some());
    let (target, value) = (words.get(..left)?, words.get(found.at + 1..)?);
    if target.last() != Some(&own) || uses(target, name) != 1 {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::words;

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

    #[test]
    fn the_greater_and_the_lesser_of_two_values_are_known_by_their_forms() {
        let of = |line| Update::of(&words(line), "x");
        for line in [
            "x = max(x, a[i]);",
            "x = std::max(a, x);",
            "x = fmax(fabs(a - b), x);",
            "if (a[i] > x) x = a[i];",
            "if (x < f(a)) { x = f(a); }",
            "if (a .gt. x) x = a",
            "if (a >= x) then x = a",
            "x = a > x ? a : x;",
            "x = (x < a) ? a : x;",
            "x = x > a ? x : a;",
        ] {
            assert_eq!(of(line), Some(Update::Maximum), "{line}");
        }
        for line in ["x = min(a, x)", "if (a < x) x = a;", "x = x < a ? x : a;"] {
            assert_eq!(of(line), Some(Update::Minimum), "{line}");
        }
        for line in [
            "x = max(a, b);",
            "x = max(x, x + a);",
            "x = max(x, a) + 1;",
            "if (a > x) x = b;",
            "if (a > x) x += a;",
            "if (a > x) y = a;",
            "if (a > x && b) x = a;",
            "x = a > x ? x + 1 : a;",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
