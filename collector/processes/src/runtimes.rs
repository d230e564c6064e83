//! Recognises runtimes of OpenMP, MPI, OpenSHMEM and coarrays by the symbols of a load object, never by its name.
//!
//! A runtime is a library of its own, a private copy under another name, or a static library within
//! the program. Code of the last is distinguished from the program's by the names that runtimes
//! reserve for themselves.

use experiment::tables::RuntimeKind;
use symbolize::Linked;
use unwinder::Image;

/// A runtime that a load object is or contains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runtime {
    /// Which runtime it is.
    pub kind: RuntimeKind,
    /// Whether it was built with debug tracing, and so tests at every step whether to write a trace
    /// (`KMP_DEBUG` of LLVM's, as Debian builds it).
    pub traced: bool,
    linked: Linked,
}

/// The variable with the level of detail in such a build of LLVM's runtime (`kmp_debug.h`).
const TRACE_LEVEL: &[u8] = b"kmp_a_debug";

/// A function that each runtime defines and programs only call. LLVM's runtime also has those of
/// GNU's, so it comes first. MPI's interfaces to Fortran have libraries of their own.
const FORKS: [(&str, RuntimeKind); 8] = [
    ("__kmpc_fork_call", RuntimeKind::Kmp),
    ("GOMP_parallel", RuntimeKind::Gomp),
    ("PMPI_Send", RuntimeKind::Mpi),
    ("mpi_send_", RuntimeKind::Mpi),
    ("mpi_send_f08_", RuntimeKind::Mpi),
    ("mpi_send_f08ts_", RuntimeKind::Mpi),
    ("pshmem_init", RuntimeKind::Pgas),
    ("_gfortran_caf_init", RuntimeKind::Pgas),
];

impl Runtime {
    /// The runtime in a load object; reads the file's symbols if there is one.
    pub fn of(image: &Image) -> Option<Runtime> {
        let fork = FORKS.iter().find(|(function, _)| image.exports(function));
        let &(_, kind) = fork?;
        let mut traced = false;
        // If the file is gone by now, all of it counts as the runtime.
        let linked = Linked::read(image.path(), |name| {
            traced |= name == TRACE_LEVEL;
            is_own_name(kind, name)
        });
        Some(Runtime {
            kind,
            traced,
            linked: linked.unwrap_or_default(),
        })
    }

    /// Whether the runtime is only a part of the load object: of the program itself (`executable`), or
    /// of a library with more functions than the runtime's.
    pub fn is_part(&self, executable: bool) -> bool {
        executable || self.linked.known * 2 < self.linked.offered
    }

    /// Whether the code at an svma is the runtime's, in a load object that contains the runtime.
    pub fn holds(&self, svma: u64) -> bool {
        self.linked.holds(svma)
    }
}

/// What follows `omp_` in the names of the standard's routines (OpenMP 5.2, chapter 18). Programs
/// have functions with the prefix `omp_`, too.
const ROUTINES: [&str; 18] = [
    "get_", "set_", "in_", "init_", "destroy_", "unset_", "test_", "is_", "fulfill_", "pause_",
    "capture_", "display_", "control_", "alloc", "aligned_", "calloc", "realloc", "free",
];

/// The prefixes of the names of a runtime's own functions.
const fn prefixes(kind: RuntimeKind) -> &'static [&'static str] {
    match kind {
        RuntimeKind::Kmp => &[
            "__kmp", "kmpc_", "__ompt", "ompt_", "ompc_", "GOMP_", "__itt_",
        ],
        RuntimeKind::Gomp => &["gomp_", "GOMP_", "goacc_", "GOACC_"],
        RuntimeKind::Mpi => &[
            "MPI_", "PMPI_", "MPIR_", "MPID", "mpi_", "pmpi_", "ompi_", "opal_", "mca_",
        ],
        RuntimeKind::Pgas => &[
            "shmem",
            "pshmem",
            "oshmem_",
            "mca_",
            "_gfortran_caf_",
            "caf_",
        ],
        RuntimeKind::None | RuntimeKind::Collector | RuntimeKind::Python => &[],
    }
}

/// Whether a function's name is one that a runtime of that kind gives.
fn is_own_name(kind: RuntimeKind, name: &[u8]) -> bool {
    let starts = |rest: &[u8], list: &[&str]| list.iter().any(|s| rest.starts_with(s.as_bytes()));
    starts(name, prefixes(kind))
        || name
            .strip_prefix(b"omp_")
            .is_some_and(|rest| starts(rest, &ROUTINES))
        || kind == RuntimeKind::Kmp && is_member_of_kmp(name)
}

/// Whether a C++ symbol (Itanium ABI, 5.1) is of a function of LLVM's runtime: its first scope or
/// own name begins with `__kmp`, `kmp_` or, of classes for affinity, `KMP`.
fn is_member_of_kmp(name: &[u8]) -> bool {
    let Some(encoded) = name.strip_prefix(b"_Z") else {
        return false;
    };
    // Qualifiers of the name before its length: nested, const, internal.
    let at = encoded
        .iter()
        .position(|byte| !b"NKLV".contains(byte))
        .unwrap_or(encoded.len());
    let nested = encoded[..at].contains(&b'N');
    let own = &encoded[at..];
    let digits = own.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let own = &own[digits..];
    digits > 0
        && (own.starts_with(b"__kmp")
            || nested && (own.starts_with(b"kmp_") || own.starts_with(b"KMP")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_runtimes_are_recognised_by_reserved_names() {
        let kmp = |name: &str| is_own_name(RuntimeKind::Kmp, name.as_bytes());
        for own in [
            "__kmpc_fork_call",
            "__kmp_invoke_microtask",
            "GOMP_parallel",
            "omp_get_wtime",
            "omp_set_lock",
            "_ZL24__kmp_launch_workerPv",
            "_Z26__kmp_release_64P11kmp_flag_64",
            "_ZN11kmp_flag_64ILb0ELb1EE4waitEP8kmp_infoiPv",
            "_ZNK18KMPNativeAffinity4Mask5beginEv",
        ] {
            assert!(kmp(own), "{own}");
        }
        for other in [
            "main",
            "kmp_search",
            "_Z10kmp_searchPKcS0_",
            "omp_matmul",
            "gomp_init",
            "_ZN5tools5__kmpEv",
        ] {
            assert!(!kmp(other), "{other}");
        }
        let gomp = |name: &str| is_own_name(RuntimeKind::Gomp, name.as_bytes());
        assert!(gomp("gomp_thread_start") && gomp("GOMP_task") && gomp("omp_unset_nest_lock"));
        assert!(!gomp("gompertz") && !gomp("omp_sort") && !gomp("__kmpc_barrier"));
    }
}
