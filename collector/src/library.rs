//! Locates `libcollector.so` for a checkout, an installation and a copied directory.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use omp_ring::samples::SAMPLES_VARIABLE;
use preload::{ADDED_VARIABLE, ALONE_VARIABLE, Program};

/// File name of the library that is loaded into the program.
pub const NAME: &str = "libcollector.so";

/// Environment variable with the path of the library. It disables the search.
pub const VARIABLE: &str = "PARALLAX_LIBRARY";

/// The specification's list of tool libraries, separated by colons (OpenMP 5.2, section 21.13).
pub const TOOLS_VARIABLE: &str = "OMP_TOOL_LIBRARIES";

/// The dynamic linker's list of libraries to load before all others, separated by colons or spaces
/// (ld.so(8)). It is how events of GNU's runtime, which does not support OMPT, are recorded.
pub const PRELOAD_VARIABLE: &str = "LD_PRELOAD";

/// What keeps our libraries out of the program that a command line starts, as `exec` finds it.
pub fn obstacle(program: &OsStr) -> Option<String> {
    let name = CString::new(program.as_bytes()).ok()?;
    preload::obstacle(Program::Name(&name)).map(|it| it.to_string())
}

/// Candidate paths of the library for `collect` at `executable`, in the order of the search.
///
/// In a checkout and a copied directory it lies beside `collect`. In an installation `collect` lies
/// in `PREFIX/bin`, and the library in `PREFIX/lib/parallax`.
pub fn candidates(executable: &Path) -> Vec<PathBuf> {
    candidates_of(executable, NAME)
}

fn candidates_of(executable: &Path, name: &str) -> Vec<PathBuf> {
    let beside = executable.parent();
    let installed = beside
        .and_then(Path::parent)
        .map(|prefix| prefix.join("lib/parallax"));
    let folders = beside.map(Path::to_owned).into_iter().chain(installed);
    folders.map(|folder| folder.join(name)).collect()
}

/// Returns the absolute path of the library.
///
/// # Errors
/// One sentence that names the paths tried.
pub fn find() -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        let path = PathBuf::from(&named);
        return usable(&path)
            .ok_or_else(|| format!("{VARIABLE} names {}, which cannot be read", path.display()))
            .and_then(nameable);
    }
    let executable = std::fs::canonicalize("/proc/self/exe")
        .map_err(|error| format!("collect cannot find itself: {error}"))?;
    first(&candidates(&executable)).and_then(nameable)
}

/// Returns the absolute path of another library of ours, which lies where [`NAME`] does.
///
/// # Errors
/// One sentence that names the paths tried.
pub fn find_beside(name: &str) -> Result<PathBuf, String> {
    let executable = std::fs::canonicalize("/proc/self/exe")
        .map_err(|error| format!("collect cannot find itself: {error}"))?;
    let paths = candidates_of(&executable, name);
    let found = paths.iter().find_map(|path| usable(path));
    found
        .ok_or_else(|| format!("{name} is not at {}", listed_paths(&paths)))
        .and_then(nameable)
}

fn listed_paths(paths: &[PathBuf]) -> String {
    let listed: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    listed.join(" nor at ")
}

/// The first of the paths that is a file.
fn first(paths: &[PathBuf]) -> Result<PathBuf, String> {
    paths.iter().find_map(|path| usable(path)).ok_or_else(|| {
        format!(
            "{NAME} is not at {}; set {VARIABLE} to its path",
            listed_paths(paths)
        )
    })
}

fn usable(path: &Path) -> Option<PathBuf> {
    std::fs::File::open(path).ok()?;
    std::fs::canonicalize(path).ok()
}

/// Returns the library if the lists of [`TOOLS_VARIABLE`] and [`PRELOAD_VARIABLE`] can name its
/// path.
fn nameable(path: PathBuf) -> Result<PathBuf, String> {
    let separates = |byte: &u8| matches!(byte, b':' | b' ');
    if path.as_os_str().as_encoded_bytes().iter().any(separates) {
        Err(format!(
            "the dynamic linker cannot take {} from a list, where spaces and colons separate; move \
             it to a path without them",
            path.display()
        ))
    } else {
        Ok(path)
    }
}

/// The program's environment: ours, and with a library and an arena the variables that name them.
/// `samples` is the file of samples where threads are to sample themselves. Without `follow` only the
/// program itself is told of them, and not its children.
/// The library comes before the user's tools and preloaded libraries. LLVM's and Intel's runtimes
/// find it as a tool, even where preloading is not possible. GNU's runtime needs it preloaded.
pub fn environment(
    library_and_arena: Option<(&Path, &str)>,
    samples: Option<&str>,
    follow: bool,
) -> Vec<(OsString, OsString)> {
    let mut variables: Vec<_> = std::env::vars_os()
        .filter(|(name, _)| name != omp_ring::ARENA_VARIABLE && name != SAMPLES_VARIABLE)
        .collect();
    let Some((library, arena)) = library_and_arena else {
        return variables;
    };
    let entries = [
        (TOOLS_VARIABLE, library.as_os_str()),
        (PRELOAD_VARIABLE, library.as_os_str()),
        (SANITIZER_VARIABLE, OsStr::new(SANITIZER_OPTION)),
    ];
    add(&mut variables, &entries, follow);
    variables.push((omp_ring::ARENA_VARIABLE.into(), arena.into()));
    variables.extend(samples.map(|samples| (SAMPLES_VARIABLE.into(), samples.into())));
    variables
}

/// Puts an entry in front of each of these lists, and tells the library of it, which takes them out of the
/// environment of a program that cannot load it. Without `follow`, of all that the program starts.
pub(crate) fn add(
    variables: &mut Vec<(OsString, OsString)>,
    entries: &[(&str, &OsStr)],
    follow: bool,
) {
    let mut added = OsString::new();
    for (name, entry) in entries {
        let before = variables.iter().position(|(known, _)| known == name);
        let before = before.map(|at| variables.remove(at).1);
        variables.push(((*name).into(), listed(entry, before.as_deref())));
        for part in [OsStr::new(name), OsStr::new("="), entry, OsStr::new(":")] {
            added.push(part);
        }
    }
    variables.retain(|(name, _)| name != ADDED_VARIABLE && name != ALONE_VARIABLE);
    variables.push((ADDED_VARIABLE.into(), added));
    if !follow {
        variables.push((ALONE_VARIABLE.into(), "1".into()));
    }
}

/// Options of AddressSanitizer, separated by colons. The last of two contradicting options wins.
pub(crate) const SANITIZER_VARIABLE: &str = "ASAN_OPTIONS";

/// AddressSanitizer's runtime refuses to start a program in which it is not the first library. With
/// ours preloaded, it is not. It demands the first place because it replaces `malloc`, which our
/// library does not.
pub(crate) const SANITIZER_OPTION: &str = "verify_asan_link_order=0";

/// The value of a list with an entry in front of the previous value. A runtime takes the first tool that
/// accepts, so the user's own tool is next if ours declines.
fn listed(entry: &OsStr, before: Option<&OsStr>) -> OsString {
    let mut value = entry.to_owned();
    if let Some(before) = before.filter(|before| !before.is_empty()) {
        value.push(":");
        value.push(before);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_beside_collect_or_under_lib_of_the_prefix() {
        assert_eq!(
            candidates(Path::new("/opt/p/bin/collect")),
            [
                PathBuf::from("/opt/p/bin/libcollector.so"),
                "/opt/p/lib/parallax/libcollector.so".into()
            ]
        );
    }

    #[test]
    fn where_it_was_looked_for_is_said() {
        let prefix = tempfile::tempdir().expect("there is room");
        let paths = candidates(&prefix.path().join("bin/collect"));
        let [beside, installed] = &paths[..] else {
            panic!("{paths:?}")
        };
        let (beside, installed) = (beside.display(), installed.display());
        assert_eq!(
            first(&paths),
            Err(format!(
                "libcollector.so is not at {beside} nor at {installed}; set PARALLAX_LIBRARY to its path"
            ))
        );
        std::fs::create_dir_all(prefix.path().join("lib/parallax")).expect("a folder");
        std::fs::write(&paths[1], "").expect("a file");
        assert!(first(&paths).is_ok_and(|found| found.ends_with("lib/parallax/libcollector.so")));
    }

    #[test]
    fn a_path_that_would_be_taken_apart_is_refused_with_the_reason() {
        let refused = nameable("/home/a b/libcollector.so".into()).expect_err("it has a space");
        assert!(refused.contains("/home/a b/libcollector.so"), "{refused}");
        assert!(nameable("/home/ab/libcollector.so".into()).is_ok());
    }

    #[test]
    fn the_program_has_our_environment_and_the_way_to_the_library() {
        let own: Vec<_> = std::env::vars_os().collect();
        let bare = environment(None, None, true);
        assert!(own.iter().all(|variable| bare.contains(variable)));
        let library = Path::new("/p/libcollector.so");
        let listening = environment(Some((library, "/proc/1/fd/3")), Some("/proc/1/fd/4"), true);
        let value = |name: &str| {
            let mut values = listening.iter().filter(|(known, _)| known == name);
            let (_, value) = values.next()?;
            assert_eq!(values.next(), None, "{name} is there once");
            value.to_str()
        };
        assert!(value("LD_PRELOAD").is_some_and(|it| it.starts_with("/p/libcollector.so")));
        assert!(value("OMP_TOOL_LIBRARIES").is_some_and(|it| it.starts_with("/p/libcollector.so")));
        assert_eq!(value("PARALLAX_ARENA"), Some("/proc/1/fd/3"));
        assert_eq!(value("PARALLAX_SAMPLES"), Some("/proc/1/fd/4"));
        assert!(value("ASAN_OPTIONS").is_some_and(|it| it.starts_with(SANITIZER_OPTION)));
        let added = "OMP_TOOL_LIBRARIES=/p/libcollector.so:LD_PRELOAD=/p/libcollector.so:\
                     ASAN_OPTIONS=verify_asan_link_order=0:";
        assert_eq!(value("PARALLAX_ADDED"), Some(added));
        assert_eq!(value("PARALLAX_ALONE"), None);
    }

    #[test]
    fn the_user_s_own_tool_stays_in_the_list() {
        let ours = OsStr::new("/p/libcollector.so");
        assert_eq!(listed(ours, None), "/p/libcollector.so");
        assert_eq!(listed(ours, Some(OsStr::new(""))), "/p/libcollector.so");
        assert_eq!(
            listed(ours, Some(OsStr::new("/u/t.so"))),
            "/p/libcollector.so:/u/t.so"
        );
    }
}
