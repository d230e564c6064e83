//! Reads linkage names: which functions a compiler outlined from OpenMP constructs, and which are
//! stubs of the procedure linkage table.
//!
//! The rules were found by compiling with gcc and gfortran 12, clang 14 and 22, and flang 22, at
//! -O0 and -O2.

use crate::symbols::Construct;

/// The suffix of a function's name in that of its stub of the procedure linkage table.
pub const STUB: &str = "@plt";

const GCC: &str = "._omp_fn.";
const CLANG: &str = ".omp_outlined";
const CLANG_TASK: &str = ".omp_task_entry.";
/// Followed by the device and number of the file, both in hexadecimal, the function and the line:
/// `__omp_offloading_fe00_9aa2a2_foo_l7`.
const CLANG_TARGET: &str = "__omp_offloading_";
/// The mark of the inner function that clang makes with debug information.
const DEBUG: &str = "_debug__";
const FLANG: &str = "..omp_par";

/// The mark of a reduction's combiner by clang: `foo.omp_outlined.omp.reduction.reduction_func`.
const REDUCTION: &str = ".omp.reduction.";

/// A compiler, by the names of its outlined functions, which hold the bodies of constructs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compiler {
    /// gcc and gfortran.
    Gcc,
    /// clang.
    Clang,
    /// flang.
    Flang,
}

/// The compiler that made an outlined function of that linkage name; `None` for other functions.
pub fn outlining_compiler(linkage: &str) -> Option<Compiler> {
    // clang names a reduction's combiner after the outlined function that it helps.
    if linkage.contains(REDUCTION) {
        return None;
    }
    let has = |mark| linkage.contains(mark);
    has(GCC)
        .then_some(Compiler::Gcc)
        .or_else(|| has(FLANG).then_some(Compiler::Flang))
        .or_else(|| {
            let clang = has(CLANG) || has(CLANG_TASK) || linkage.starts_with(CLANG_TARGET);
            clang.then_some(Compiler::Clang)
        })
}

/// The function that a part was split off from: `foo` for `foo.cold`, which seldom runs, and for `foo.__part.2`,
/// one of clang's sections of basic blocks.
pub fn part_of(linkage: &str) -> Option<&str> {
    let of = |mark: &str| {
        let at = linkage.rfind(mark).filter(|&at| at > 0)?;
        let number = &linkage[at + mark.len()..];
        let digits = number.strip_prefix('.').unwrap_or(number).bytes();
        digits
            .into_iter()
            .all(|byte| byte.is_ascii_digit())
            .then_some(&linkage[..at])
    };
    of(".cold").or_else(|| of(".__part"))
}

/// A name without the suffixes that compilers add to clones and parts of a function: `foo` for
/// `foo.constprop.0.cold` and for `foo [clone .part.0]`.
pub fn without_clone(name: &str) -> &str {
    const ENDS: [&str; 7] = [
        ".cold",
        ".constprop.",
        ".isra.",
        ".part.",
        ".lto_priv.",
        ".__part.",
        ".llvm.",
    ];
    let name = name.split(" [clone").next().unwrap_or(name);
    let ends = ENDS.iter().filter_map(|end| name.find(end));
    let end = ends.filter(|&end| end > 0).min();
    &name[..end.unwrap_or(name.len())]
}

/// Whether an outlined function of that linkage name is the inner one of the two that clang makes of a body
/// with debug information. The outer one calls it, or it is inlined there.
pub fn is_inner_body(linkage: &str) -> bool {
    let part = linkage.rsplit_once(DEBUG).map(|(_, number)| number);
    part.is_some_and(|number| {
        let digits = number.strip_prefix('.').unwrap_or(number).bytes();
        digits.into_iter().all(|byte| byte.is_ascii_digit())
    })
}

/// Whether a linkage name is that of an outlined function.
pub fn is_outlined(linkage: &str) -> bool {
    outlining_compiler(linkage).is_some()
}

/// The construct that a compiler made a function of. gcc and flang name the functions of all
/// constructs like those of parallel regions, and clang those of teams.
pub fn construct_of(linkage: &str) -> Option<Construct> {
    if linkage.ends_with(STUB) {
        None
    } else if linkage.contains(REDUCTION) || linkage.starts_with(".omp_combiner.") {
        Some(Construct::Reduction)
    } else if !is_outlined(linkage) {
        None
    } else if linkage.contains(CLANG_TASK) {
        Some(Construct::Task)
    } else if target_of(linkage).is_some() {
        Some(Construct::Target)
    } else {
        Some(Construct::Parallel)
    }
}

/// The function that holds the directive: the part of the name of the outlined function, or of the
/// reduction's combiner, before the first mark. `None` if the name has no such part.
pub fn parent_of(linkage: &str) -> Option<&str> {
    let marks = [GCC, CLANG, CLANG_TASK, FLANG, REDUCTION].iter();
    let end = marks.filter_map(|mark| linkage.find(mark)).min();
    let whole = &linkage[..end.unwrap_or(linkage.len())];
    match target_of(whole) {
        Some((parent, _)) => Some(parent),
        None => (end.is_some_and(|end| end > 0)).then_some(whole),
    }
}

/// The function that holds a `target` directive, and the directive's line, of the function that clang
/// made of the construct.
pub fn target_of(linkage: &str) -> Option<(&str, u32)> {
    let rest = linkage.strip_prefix(CLANG_TARGET)?;
    let (_device, rest) = rest.split_once('_')?;
    let (_file, rest) = rest.split_once('_')?;
    let rest = rest.strip_suffix(DEBUG).unwrap_or(rest);
    let positioned = |text: &'_ str| -> Option<(usize, u32)> {
        let (parent, line) = text.rsplit_once("_l")?;
        Some((parent.len(), line.parse().ok()?))
    };
    // Several directives on one line are numbered.
    let (end, line) = positioned(rest).or_else(|| {
        let (head, number) = rest.rsplit_once('_')?;
        let numbered = number.bytes().all(|byte| byte.is_ascii_digit());
        positioned(head).filter(|_| numbered)
    })?;
    (end > 0).then(|| (&rest[..end], line))
}

/// The linkage name of a function of Python: what the interpreter calls it where it tells perf of it.
#[must_use]
pub fn py(name: &str, file: &str) -> String {
    format!("py::{name}:{file}")
}

/// The name and the file of a function of Python, by its linkage name.
#[must_use]
pub fn of_python(linkage: &str) -> Option<(&str, &str)> {
    linkage.strip_prefix("py::")?.rsplit_once(':')
}

/// The function of Python's interpreter that runs functions of Python.
pub const PYTHON_INTERPRETER: &str = "_PyEval_EvalFrameDefault";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_outlined_functions_tell_construct_and_parent() {
        let parallel = Some(Construct::Parallel);
        let target = Some(Construct::Target);
        let table = [
            ("main", None, None),
            ("", None, None),
            (".omp_outlined.", parallel, None),
            (".omp_outlined..3", parallel, None),
            ("foo.omp_outlined", parallel, Some("foo")),
            ("foo.omp_outlined_debug__.1", parallel, Some("foo")),
            (
                "foo.omp_outlined_debug__.omp_outlined.3",
                parallel,
                Some("foo"),
            ),
            (".omp_task_entry..5", Some(Construct::Task), None),
            ("_QMmPfoo..omp_par.2", parallel, Some("_QMmPfoo")),
            ("alone_..omp_par", parallel, Some("alone_")),
            ("foo._omp_fn.0.cold", parallel, Some("foo")),
            ("_Z3fooi._omp_fn.0.cold", parallel, Some("_Z3fooi")),
            ("__m_MOD_foo._omp_fn.1", parallel, Some("__m_MOD_foo")),
            (".omp_task_privates_map.", None, None),
            ("foo.omp_outlined@plt", None, Some("foo")),
            ("__omp_offloading_fe00_9aa2a2_foo_l7", target, Some("foo")),
            (
                "__omp_offloading_fe00_9aa2a2_a_l7_b_l9_2",
                target,
                Some("a_l7_b"),
            ),
            (
                "__omp_offloading_fe00_9aa2a2__Z3fooi_l7_debug__",
                target,
                Some("_Z3fooi"),
            ),
            (
                "__omp_offloading_fe00_9aa2a2_foo_l7.omp_outlined.2",
                parallel,
                Some("foo"),
            ),
        ];
        for (name, construct, parent) in table {
            assert_eq!(construct_of(name), construct, "{name}");
            assert_eq!(parent_of(name), parent, "{name}");
            let outlined = name.strip_suffix(STUB).is_some() || construct.is_some();
            assert_eq!(is_outlined(name), outlined, "{name}");
        }
        let combiners = [
            ("foo.omp_outlined.omp.reduction.reduction_func", Some("foo")),
            (
                "foo.omp_outlined_debug__.omp.reduction.reduction_func",
                Some("foo"),
            ),
            (".omp.reduction.reduction_func", None),
            (".omp_combiner.", None),
        ];
        for (name, parent) in combiners {
            assert_eq!(construct_of(name), Some(Construct::Reduction), "{name}");
            assert_eq!(parent_of(name), parent, "{name}");
            assert!(!is_outlined(name), "{name}");
        }
    }

    #[test]
    fn clones_have_the_name_of_their_function() {
        for (name, whole) in [
            ("foo", "foo"),
            ("foo.part.0", "foo"),
            ("foo.constprop.0.isra.1.cold", "foo"),
            ("_Z3fooi.lto_priv.7", "_Z3fooi"),
            ("foo(int) [clone .part.0] [clone .cold]", "foo(int)"),
            ("inner.0", "inner.0"),
            (".part.0", ".part.0"),
            ("", ""),
        ] {
            assert_eq!(without_clone(name), whole, "{name}");
        }
    }

    #[test]
    fn parts_that_seldom_run_belong_to_their_function() {
        let table = [
            ("main.cold", Some("main")),
            ("foo._omp_fn.0.cold", Some("foo._omp_fn.0")),
            ("_Z3fooi.cold.1", Some("_Z3fooi")),
            ("mixed.__part.2", Some("mixed")),
            (".omp_outlined..__part.8", Some(".omp_outlined.")),
            ("foo.coldest", None),
            (".cold", None),
            ("main", None),
        ];
        for (name, whole) in table {
            assert_eq!(part_of(name), whole, "{name}");
        }
    }

    #[test]
    fn names_of_target_regions_tell_the_line() {
        let foo = |line| Some(("foo", line));
        let table = [
            ("__omp_offloading_fe00_9aa2a2_foo_l7", foo(7)),
            ("__omp_offloading_fe00_9aa2a2_foo_l70_3", foo(70)),
            ("__omp_offloading_fe00_9aa2a2_foo_l7_debug__", foo(7)),
            ("__omp_offloading_fe00_9aa2a2_foo", None),
            ("__omp_offloading_fe00_9aa2a2__l7", None),
            ("__omp_offloading_", None),
            ("foo_l7", None),
        ];
        for (name, position) in table {
            assert_eq!(target_of(name), position, "{name}");
        }
    }
}
