//! Short names: what tells functions apart, without what only compilers need.

use std::borrow::Cow;

use experiment::linkage::{STUB, without_clone};
use experiment::symbols::STATIC;

/// What stands for template arguments.
const ELIDED: &str = "<…>";

/// A function's short name: without parameters, return type, template arguments and the suffixes of
/// clones; lambdas by their number alone; Cython's functions as `module.function`.
pub fn short(name: &str) -> Cow<'_, str> {
    if name.starts_with(STATIC) {
        return Cow::Borrowed(name);
    }
    if let Some(function) = name.strip_suffix(STUB) {
        return Cow::Owned(short(function).into_owned() + STUB);
    }
    if let (function, Some(file)) = split_file(name) {
        return Cow::Owned(in_file(&short(function), file));
    }
    let whole = without_clone(name);
    if let Some(path) = cython(whole) {
        return Cow::Owned(path);
    }
    let bare = without_return_type(without_parameters(whole), whole);
    if bare.contains(['<', '{', '$', '(']) {
        Cow::Owned(without_call(&elided(bare)).to_owned())
    } else {
        Cow::Borrowed(bare)
    }
}

/// What precedes the file of a function that others are called like.
const IN_FILE: &str = " (in ";

/// The name of a function that others of other files are called like.
pub(crate) fn in_file(name: &str, file: &str) -> String {
    format!("{name}{IN_FILE}{file})")
}

/// The name of a function without its file, and that, if [`in_file`] has added one.
pub(crate) fn split_file(name: &str) -> (&str, Option<&str>) {
    let parts = name
        .strip_suffix(')')
        .and_then(|it| it.rsplit_once(IN_FILE));
    parts.map_or((name, None), |(name, file)| (name, Some(file)))
}

/// `ns::f<int>` of `ns::f<int>(char) const`. The parentheses of `(anonymous namespace)`,
/// `operator()`, lambdas, template arguments and of the function around a local one are part of the
/// name, as is the text after an address.
pub fn without_parameters(name: &str) -> &str {
    if name.starts_with(STATIC) {
        return name;
    }
    let (name, _) = split_file(name);
    let mut depth = 0_u32;
    let mut parentheses = 0_u32;
    for (at, letter) in name.char_indices() {
        let (before, rest) = name.split_at(at);
        match letter {
            '(' if parentheses > 0 => parentheses += 1,
            ')' if parentheses > 0 => parentheses -= 1,
            _ if parentheses > 0 => {}
            '(' if depth == 0 && begins_parameters(before, rest) => {
                if !is_around(rest) {
                    return before;
                }
                parentheses = 1;
            }
            _ if opens(before, letter) => depth += 1,
            _ if closes(before, letter) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    name
}

/// Whether a parenthesis begins parameters.
fn begins_parameters(before: &str, rest: &str) -> bool {
    let is_name = rest.starts_with("(anonymous namespace)") || before.ends_with("operator");
    !before.is_empty() && !is_name
}

/// Whether parameters are those of the function around a local one: `(int) const::{lambda()#1}`.
fn is_around(parameters: &str) -> bool {
    let mut depth = 0_u32;
    let end = parameters.find(|letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    let after = end.map_or("", |end| &parameters[end + 1..]);
    after
        .strip_prefix(" const")
        .unwrap_or(after)
        .starts_with("::")
}

/// A function's name without its scopes, parameters and template arguments: `apply` of
/// `void phys::Field<double>::apply<F>(F)`, `smooth` of `kernels::smooth`.
pub fn unqualified(name: &str) -> &str {
    let name = without_parameters(name);
    let mut depth = 0_u32;
    let mut start = 0;
    let mut end = name.len();
    for (at, byte) in name.bytes().enumerate() {
        match byte {
            // An operator's own brackets follow the word `operator`.
            _ if name[start..].starts_with("operator") => break,
            b'<' => {
                if depth == 0 {
                    end = at;
                }
                depth += 1;
            }
            b'>' => depth = depth.saturating_sub(1),
            b':' | b' ' if depth == 0 => {
                start = at + 1;
                end = name.len();
            }
            _ => {}
        }
    }
    name.get(start..end.max(start)).unwrap_or(name)
}

/// Whether a bracket begins template arguments or a lambda; that of an operator's name does not.
fn opens(before: &str, letter: char) -> bool {
    let is_operator = before.ends_with("operator") || before.ends_with("operator<");
    letter == '{' || letter == '<' && !is_operator
}

/// Whether a bracket ends them.
fn closes(before: &str, letter: char) -> bool {
    let is_operator = ["operator", "operator>", "operator<=", "-"]
        .iter()
        .any(|end| before.ends_with(end));
    letter == '}' || letter == '>' && !is_operator
}

/// Without the return type that the mangled names of C++'s templates have; `whole` has the
/// parameters, too.
fn without_return_type<'n>(bare: &'n str, whole: &str) -> &'n str {
    // Other names may have a space for another reason: `main program::helper`.
    if bare.len() == whole.len() || !bare.contains('<') {
        return bare;
    }
    let mut depth = 0_u32;
    let mut start = 0;
    for (at, letter) in bare.char_indices() {
        let before = &bare[..at];
        match letter {
            ' ' if bare[at..].starts_with(" const::") => {}
            // A conversion is named by a type, and an operator's template arguments stand apart.
            ' ' if bare[start..at].contains("operator") => {}
            ' ' if depth == 0 => start = at + 1,
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if opens(before, letter) => depth += 1,
            _ if closes(before, letter) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    &bare[start..]
}

/// The name with `<…>` for template arguments, and without the parameters of lambdas and of
/// functions around local ones. The outermost bracket of `<T as Trait>::method` stays.
fn elided(name: &str) -> String {
    let mut short = String::with_capacity(name.len());
    let (mut depth, mut parentheses) = (0_u32, 0_u32);
    for (at, letter) in name.char_indices() {
        let (before, rest) = name.split_at(at);
        let is_outer = depth == 0;
        match letter {
            '(' if parentheses > 0 => parentheses += 1,
            ')' if parentheses > 0 => parentheses -= 1,
            _ if parentheses > 0 => {}
            '(' if is_outer && !name.starts_with('<') && begins_parameters(before, rest) => {
                parentheses = 1;
            }
            '<' if at == 0 => short.push('<'),
            '{' | '}' if is_outer => short.push(letter),
            _ if opens(before, letter) => {
                if is_outer {
                    short.push_str(ELIDED);
                }
                depth += 1;
            }
            _ if is_outer => short.push(letter),
            _ if closes(before, letter) => depth -= 1,
            _ => {}
        }
    }
    short.replace(" const::", "::")
}

/// Without the name of a lambda's only function.
fn without_call(name: &str) -> &str {
    let Some(lambda) = name.strip_suffix("::operator()") else {
        return name;
    };
    let last = lambda.rsplit("::").next().unwrap_or(lambda);
    let is_lambda = last.starts_with("{lambda") || last.starts_with("$_");
    if is_lambda { lambda } else { name }
}

/// `sklearn.cluster.foo` of `__pyx_pf_7sklearn_7cluster_2foo`: scopes with their lengths before
/// them, then a number that is not shown, and the function. `__pyx_fuse_1` marks a variant for
/// other types.
fn cython(name: &str) -> Option<String> {
    let variant = name.strip_prefix("__pyx_fuse_");
    let name = variant.map_or(name, |rest| {
        rest.trim_start_matches(|c: char| c.is_ascii_digit())
    });
    let kinds = ["pf_", "pw_", "f_"].iter();
    let name = name.strip_prefix("__pyx_")?;
    let mut rest = kinds.filter_map(|kind| name.strip_prefix(kind)).next()?;
    let mut path = Vec::new();
    let number = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    while let Ok(length) = rest[..number(rest)].parse::<usize>() {
        let (start, end) = (number(rest), number(rest).checked_add(length)?);
        let scope = rest.get(start..end).filter(|scope| !scope.is_empty());
        let after = rest.get(end..).and_then(|after| after.strip_prefix('_'));
        let (Some(scope), Some(after)) = (scope, after) else {
            rest = &rest[start..];
            break;
        };
        path.push(scope);
        rest = after;
    }
    path.push(rest);
    (path.len() > 1 && !rest.is_empty()).then(|| path.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_has_no_more_than_tells_functions_apart() {
        for (name, brief) in [
            ("main", "main"),
            ("", ""),
            ("main program::helper", "main program::helper"),
            ("<static>@0x2a (<prog>)", "<static>@0x2a (<prog>)"),
            // C++.
            ("ns::f<int>(char) const", "ns::f<…>"),
            ("double max<double>(double, double)", "max<…>"),
            (
                "void phys::Field<double, 2ul>::apply<main::$_0>(main::$_0)",
                "phys::Field<…>::apply<…>",
            ),
            (
                "std::vector<int, std::allocator<int> > ns::make<int>(unsigned long)",
                "ns::make<…>",
            ),
            ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
            ("A::operator()(int) const", "A::operator()"),
            ("A<B>::operator()(int) const", "A<…>::operator()"),
            ("A<B>::operator<(A<B> const&)", "A<…>::operator<"),
            ("A<B>::operator<<(int)", "A<…>::operator<<"),
            ("A<B>::operator->() const", "A<…>::operator->"),
            ("bool operator<=> <int>(A<int>, A<int>)", "operator<=> <…>"),
            ("A<B>::operator bool() const", "A<…>::operator bool"),
            (
                "main::{lambda(int)#1}::operator()(int) const",
                "main::{lambda#1}",
            ),
            (
                "ns::f(int) const::{lambda(int, A<B>)#2}::operator()(int, A<B>) const",
                "ns::f::{lambda#2}",
            ),
            (
                "void run<main::{lambda(int)#1}>(main::{lambda(int)#1})",
                "run<…>",
            ),
            ("main::$_0::operator()(int) const", "main::$_0"),
            // Rust.
            (
                "<alloc::vec::Vec<T> as core::ops::Drop>::drop",
                "<alloc::vec::Vec<…> as core::ops::Drop>::drop",
            ),
            ("app::run::<u32>::{closure#0}", "app::run::<…>::{closure#0}"),
            // Clones.
            ("step.part.0", "step"),
            ("step.constprop.0.isra.2", "step"),
            ("step(int, double) [clone .cold]", "step"),
            ("step(int)@plt", "step@plt"),
            // Cython.
            (
                "__pyx_pf_7sklearn_7cluster_7_kmeans_2lloyd_iter",
                "sklearn.cluster._kmeans.lloyd_iter",
            ),
            ("__pyx_pw_5hello_5Klass_3method", "hello.Klass.method"),
            ("__pyx_fuse_1__pyx_f_5hello_work.part.0", "hello.work"),
            ("__pyx_pf_5hello", "__pyx_pf_5hello"),
            ("__pyx_tp_dealloc_x", "__pyx_tp_dealloc_x"),
        ] {
            assert_eq!(short(name), brief, "{name}");
        }
    }
}
