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
        .or_else(|| (has(CLANG) || has(CLANG_TASK)).then_some(Compiler::Clang))
}

/// Whether a linkage name is that of an outlined function.
pub fn is_outlined(linkage: &str) -> bool {
    outlining_compiler(linkage).is_some()
}

/// The construct that a compiler made a function of. gcc and flang name the functions of tasks and
/// teams like those of parallel regions, and clang those of teams.
pub fn construct_of(linkage: &str) -> Option<Construct> {
    if linkage.ends_with(STUB) {
        None
    } else if linkage.contains(REDUCTION) || linkage.starts_with(".omp_combiner.") {
        Some(Construct::Reduction)
    } else if !is_outlined(linkage) {
        None
    } else if linkage.contains(CLANG_TASK) {
        Some(Construct::Task)
    } else {
        Some(Construct::Parallel)
    }
}

/// The function that holds the directive: the part of the name of the outlined function, or of the
/// reduction's combiner, before the first mark. `None` if the name has no such part.
pub fn parent_of(linkage: &str) -> Option<&str> {
    let marks = [GCC, CLANG, CLANG_TASK, FLANG, REDUCTION].iter();
    let end = marks.filter_map(|mark| linkage.find(mark)).min()?;
    (end > 0).then(|| &linkage[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_outlined_functions_tell_construct_and_parent() {
        let parallel = Some(Construct::Parallel);
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
}
