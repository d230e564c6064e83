//! Demangling: linkage names as names of the source language.
//!
//! C++ and Rust are left to their crates. Fortran has no crate: the rules are those of gfortran
//! (`gfc_sym_mangled_function_id`) and flang (its document "Bijective Internal Name Uniquing").

use cpp_demangle::DemangleOptions;
use experiment::linkage::{STUB, without_clone};

/// The name for a Fortran main program, whose own name no compiler keeps.
pub(crate) const MAIN_PROGRAM: &str = "main program";

/// A name as in the source, with parameters in C++. A name that fits no rule is returned unchanged.
///
/// What a compiler appended to a mangled name for a part of the function (`.cold`, `._omp_fn.0`)
/// follows in brackets, as binutils writes it.
#[must_use]
pub fn demangle(raw: &str) -> String {
    translate(raw, &DemangleOptions::new())
}

/// The name that a function has in the source: as [`demangle`], without what a compiler appended for a part or a
/// clone of it. In a language other than Fortran, an underscore at the end is the author's.
pub(crate) fn written(raw: &str, is_fortran: bool) -> String {
    let base = raw.split('.').next().unwrap_or(raw);
    let name = if is_fortran || external(base).is_none() {
        demangle(raw)
    } else {
        raw.to_owned()
    };
    without_clone(&name).to_owned()
}

/// As [`demangle`], without the parameters and return types of C++.
#[must_use]
pub fn short(raw: &str) -> String {
    translate(raw, &DemangleOptions::new().no_params().no_return_type())
}

fn translate(raw: &str, options: &DemangleOptions) -> String {
    if let Some(function) = raw.strip_suffix(STUB).filter(|name| !name.is_empty()) {
        return translate(function, options) + STUB;
    }
    // A versioned symbol, `name@VERSION` or `name@@VERSION`.
    let raw = raw
        .split_once('@')
        .map_or(raw, |(name, _)| if name.is_empty() { raw } else { name });
    if let Some(name) = rust(raw) {
        return name;
    }
    if let Some((function, part)) = coroutine(raw) {
        return format!("{} [clone {part}]", translate(function, options));
    }
    let dot = raw.find('.').unwrap_or(raw.len());
    let (base, part) = raw.split_at(dot);
    match cpp(base, options).or_else(|| fortran(base)) {
        Some(name) if part.is_empty() => name,
        Some(name) => format!("{name} [clone {part}]"),
        None => raw.to_owned(),
    }
}

/// The function of the source and the part of it that gcc made of a coroutine. The name of such a part has the
/// type of the coroutine's frame, which is no name of C++: `_Z4flowPZ4flowiE14_Z4flowi.Frame.actor`.
fn coroutine(raw: &str) -> Option<(&str, &str)> {
    let at = raw.rfind(".actor").or_else(|| raw.rfind(".destroy"))?;
    let (name, part) = raw.split_at(at);
    let inner = name.get(2..).filter(|_| name.starts_with("_Z"))?;
    let function = inner[inner.find("_Z")?..].split_once(".Frame")?.0;
    Some((function, part))
}

/// Rust's own scheme, or the older one that looks like C++ and ends in a hash.
fn rust(raw: &str) -> Option<String> {
    let older = || {
        let end = raw.rfind("E.llvm.").unwrap_or(raw.len().saturating_sub(1));
        raw.starts_with("_ZN")
            && raw.get(end..).is_some_and(|rest| rest.starts_with('E'))
            && end
                .checked_sub(19)
                .and_then(|start| raw.get(start..end))
                .and_then(|hash| hash.strip_prefix("17h"))
                .is_some_and(|hash| hash.bytes().all(|digit| digit.is_ascii_hexdigit()))
    };
    if !raw.starts_with("_R") && !older() {
        return None;
    }
    rustc_demangle::try_demangle(raw)
        .ok()
        .map(|name| format!("{name:#}"))
}

fn cpp(base: &str, options: &DemangleOptions) -> Option<String> {
    if !base.starts_with("_Z") {
        return None;
    }
    cpp_demangle::Symbol::new(base)
        .ok()?
        .demangle_with_options(options)
        .ok()
}

fn fortran(base: &str) -> Option<String> {
    match base {
        "_QQmain" | "MAIN__" => Some(MAIN_PROGRAM.to_owned()),
        _ => flang(base)
            .or_else(|| gfortran_module(base))
            .or_else(|| external(base)),
    }
}

/// flang: `_Q`, the scopes from the outermost, each an upper-case letter and a name, at last `P`
/// and the procedure. Scopes are modules (`M`), submodules (`S`), host procedures (`F`, without a
/// name for the main program) and blocks (`B` and a number).
fn flang(base: &str) -> Option<String> {
    let mut rest = base.strip_prefix("_Q")?;
    let mut path: Vec<&str> = Vec::new();
    loop {
        let kind = rest.chars().next()?;
        let tail = &rest[kind.len_utf8()..];
        let (name, after) = tail.split_at(
            tail.find(|c: char| c.is_ascii_uppercase())
                .unwrap_or(tail.len()),
        );
        match kind {
            'M' | 'S' if !name.is_empty() => path.push(name),
            'F' => path.push(if name.is_empty() { MAIN_PROGRAM } else { name }),
            'B' => {}
            'P' if !name.is_empty() && after.is_empty() => {
                path.push(name);
                return Some(path.join("::"));
            }
            _ => return None,
        }
        rest = after;
    }
}

/// gfortran: `__module_MOD_procedure`.
fn gfortran_module(base: &str) -> Option<String> {
    let (module, procedure) = base.strip_prefix("__")?.split_once("_MOD_")?;
    let named = !module.is_empty() && !procedure.is_empty();
    named.then(|| format!("{module}::{procedure}"))
}

/// Whether a linkage name is one that gcc and gfortran give to a function within another one
/// (`inner.0`), or to a part of such (`inner.0._omp_fn.1`): which it is in, debug information alone
/// tells ([`crate::Symbols::scopes`]).
#[must_use]
pub fn is_internal(raw: &str) -> bool {
    let mut parts = raw.split('.');
    let name = parts.next().unwrap_or_default();
    let number = parts.next().unwrap_or_default();
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_name = name.bytes().all(is_letter) && !name.starts_with(|c: char| c.is_ascii_digit());
    is_number && is_name && !name.is_empty()
}

/// Whether a name is as Fortran's are, which have no case.
fn is_lower(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    name.bytes().all(fits) && name.starts_with(|first: char| first.is_ascii_lowercase())
}

/// A procedure outside of modules, of either compiler: in lower case, with an underscore behind.
fn external(base: &str) -> Option<String> {
    let name = base.strip_suffix('_')?;
    (is_lower(name) && !name.ends_with('_')).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_within_others_have_a_number() {
        for name in ["inner.0", "a_1.12", "inner.0._omp_fn.1", "Inner.0"] {
            assert!(is_internal(name), "{name}");
        }
        for name in [
            "inner",
            "inner.",
            "inner._omp_fn.0",
            ".0",
            "1.0",
            "inner.part.0",
        ] {
            assert!(!is_internal(name), "{name}");
        }
    }

    #[test]
    fn names_by_language() {
        let table = [
            // C, and what is no mangled name.
            ("main", "main", "main"),
            ("", "", ""),
            ("_start", "_start", "_start"),
            ("foo._omp_fn.0", "foo._omp_fn.0", "foo._omp_fn.0"),
            (
                "work.omp_outlined",
                "work.omp_outlined",
                "work.omp_outlined",
            ),
            (".omp_outlined.", ".omp_outlined.", ".omp_outlined."),
            ("memcpy@@GLIBC_2.14", "memcpy", "memcpy"),
            ("memcpy@GLIBC_2.2.5", "memcpy", "memcpy"),
            ("@", "@", "@"),
            ("memcpy@plt", "memcpy@plt", "memcpy@plt"),
            ("_Z3fooid@plt", "foo(int, double)@plt", "foo@plt"),
            ("@plt", "@plt", "@plt"),
            ("_Z", "_Z", "_Z"),
            ("_Zebra", "_Zebra", "_Zebra"),
            // C++.
            ("_Z3fooid", "foo(int, double)", "foo"),
            (
                "_ZN5space3Box4growEm",
                "space::Box::grow(unsigned long)",
                "space::Box::grow",
            ),
            (
                "_ZNK5space3Box4sizeEv",
                "space::Box::size() const",
                "space::Box::size",
            ),
            (
                "_Z3maxIdET_S0_S0_",
                "double max<double>(double, double)",
                "max<double>",
            ),
            (
                "_Z3fooid._omp_fn.0",
                "foo(int, double) [clone ._omp_fn.0]",
                "foo [clone ._omp_fn.0]",
            ),
            (
                "_ZN1AC2Ev.omp_outlined.1",
                "A::A() [clone .omp_outlined.1]",
                "A::A [clone .omp_outlined.1]",
            ),
            ("_Z3barv.cold", "bar() [clone .cold]", "bar [clone .cold]"),
            // Rust, both schemes, without the hash.
            (
                "_ZN4core3fmt5Write9write_str17h0123456789abcdefE",
                "core::fmt::Write::write_str",
                "core::fmt::Write::write_str",
            ),
            (
                "_ZN4core3fmt5Write9write_str17h0123456789abcdefE.llvm.12",
                "core::fmt::Write::write_str",
                "core::fmt::Write::write_str",
            ),
            ("_RNvC6_123foo3bar", "123foo::bar", "123foo::bar"),
            // flang.
            ("_QQmain", "main program", "main program"),
            ("_QPfoo", "foo", "foo"),
            ("_QMsolverPstep", "solver::step", "solver::step"),
            (
                "_QMsolverSdetailPstep_2",
                "solver::detail::step_2",
                "solver::detail::step_2",
            ),
            (
                "_QMsolverFstepPinner",
                "solver::step::inner",
                "solver::step::inner",
            ),
            ("_QFPhelper", "main program::helper", "main program::helper"),
            ("_QMmFaB1Pb", "m::a::b", "m::a::b"),
            (
                "_QMsolverPstep..omp_par",
                "solver::step [clone ..omp_par]",
                "solver::step [clone ..omp_par]",
            ),
            // A variable, not a procedure.
            ("_QMsolverEcount", "_QMsolverEcount", "_QMsolverEcount"),
            ("_Q", "_Q", "_Q"),
            // gfortran.
            ("MAIN__", "main program", "main program"),
            ("__solver_MOD_step", "solver::step", "solver::step"),
            ("__my_mod_MOD_a_b", "my_mod::a_b", "my_mod::a_b"),
            (
                "__solver_MOD_step._omp_fn.0",
                "solver::step [clone ._omp_fn.0]",
                "solver::step [clone ._omp_fn.0]",
            ),
            ("__x_MOD_", "__x_MOD_", "__x_MOD_"),
            (
                "_Z4flowPZ4flowiE14_Z4flowi.Frame.actor",
                "flow(int) [clone .actor]",
                "flow [clone .actor]",
            ),
            (
                "_Z4flowi.resume",
                "flow(int) [clone .resume]",
                "flow [clone .resume]",
            ),
            // Externals of both.
            ("dgemm_", "dgemm", "dgemm"),
            ("omp_get_wtime_", "omp_get_wtime", "omp_get_wtime"),
            ("Dgemm_", "Dgemm_", "Dgemm_"),
            ("__libc_", "__libc_", "__libc_"),
            ("_", "_", "_"),
            ("a__", "a__", "a__"),
        ];
        for (raw, long, brief) in table {
            assert_eq!(demangle(raw), long, "{raw}");
            assert_eq!(short(raw), brief, "{raw}");
        }
    }

    #[test]
    fn a_function_has_the_name_that_its_author_wrote() {
        for (raw, fortran, other) in [
            ("work_", "work", "work_"),
            ("units.isra.0", "units", "units"),
            ("_Z3fooi.constprop.0.cold", "foo(int)", "foo(int)"),
            ("mixed.__part.2", "mixed", "mixed"),
            ("work_.part.0", "work", "work_"),
        ] {
            assert_eq!(written(raw, true), fortran, "{raw}");
            assert_eq!(written(raw, false), other, "{raw}");
        }
    }
}
