//! Why an OpenMP runtime sent no events, judged by what `/proc` shows of its process.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use omp_ring::ARENA_VARIABLE;
use preload::ALONE_VARIABLE;

use crate::library::{self, PRELOAD_VARIABLE, TOOLS_VARIABLE};

/// The state of a process that has mapped a runtime, as far as events depend on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessState {
    /// Whether its initial environment names the library; `None` if that may not be read.
    pub names_library: Option<bool>,
    /// Its initial environment disables OMPT tools.
    pub disables_tools: bool,
    /// Its user id, if it is not ours.
    pub other_user: Option<u32>,
    /// It is in a PID or user namespace of its own.
    pub has_own_namespace: bool,
    /// It lacks capabilities that we have.
    pub lacks_capabilities: bool,
    /// What keeps the library out of its program.
    pub obstacle: Option<String>,
    /// It ended before it was read: the other fields are unknown.
    pub has_ended: bool,
}

impl ProcessState {
    /// Reads the state of a process. Fields that may not be read stay unknown.
    pub fn of(pid: i32, library: Option<&Path>) -> ProcessState {
        // That of a process that has ended is empty, too: see below.
        let environment = fs::read(format!("/proc/{pid}/environ")).ok();
        let user = |path: String| fs::metadata(path).ok().map(|file| file.uid());
        let own_user = user("/proc/self".to_owned());
        let namespace =
            |pid: &str, kind: &str| fs::read_link(format!("/proc/{pid}/ns/{kind}")).ok();
        let is_apart = |kind: &&str| {
            let theirs = namespace(&pid.to_string(), kind);
            theirs.is_some() && theirs != namespace("self", kind)
        };
        let state = ProcessState {
            names_library: environment
                .as_deref()
                .zip(library)
                .map(|(variables, library)| name_library(variables, library)),
            disables_tools: environment.is_some_and(|variables| {
                value(&variables, "OMP_TOOL").is_some_and(|value| value == b"disabled")
            }),
            other_user: user(format!("/proc/{pid}")).filter(|uid| Some(*uid) != own_user),
            has_own_namespace: ["pid", "user"].iter().any(is_apart),
            lacks_capabilities: permitted("self") & !permitted(&pid.to_string()) != 0,
            obstacle: library::obstacle(format!("/proc/{pid}/exe").as_ref())
                .or_else(|| out_of_sight(pid, library?)),
            has_ended: false,
        };
        // The link is gone once the program has ended, even while the process waits for its parent.
        match fs::read_link(format!("/proc/{pid}/exe")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => ProcessState {
                has_ended: true,
                ..ProcessState::default()
            },
            _ => state,
        }
    }
}

/// What is said of a process in whose root folder the library is not.
fn out_of_sight(pid: i32, library: &Path) -> Option<String> {
    let inside = format!("/proc/{pid}/root{}", library.display());
    let missing = fs::metadata(inside).err()?.kind() == io::ErrorKind::NotFound;
    missing.then(|| "its root folder or mount namespace does not have the library".into())
}

/// The permitted capabilities of a process, from its `status` (proc(5)).
fn permitted(pid: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapPrm:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(u64::MAX)
}

/// The value of a variable in an environment block as in `/proc/PID/environ`.
fn value<'a>(variables: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut entries = variables.split(|byte| *byte == 0);
    entries.find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

/// Whether these variables name the library to a runtime or the loader, and the arena to the library.
fn name_library(variables: &[u8], library: &Path) -> bool {
    let library = library.as_os_str().as_bytes();
    let names = |list: &str| {
        let list = value(variables, list).unwrap_or_default();
        list.split(|byte| matches!(byte, b':' | b' '))
            .any(|entry| entry == library)
    };
    // With `-F off` the library has taken itself out.
    let is_alone = value(variables, ALONE_VARIABLE).is_some();
    let is_named = names(PRELOAD_VARIABLE) || names(TOOLS_VARIABLE);
    value(variables, ARENA_VARIABLE).is_some() && (is_named || is_alone)
}

/// Why a runtime sent no events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// There was no library to load, or no arena: why.
    NoLibrary(String),
    /// The library cannot be loaded into the program: why.
    CannotLoad(String),
    /// The process ran already when the recording began.
    Attached,
    /// Its records were invalid.
    GivenUp,
    /// The program has an OMPT tool of its own.
    OtherTool(String),
    /// The environment does not name the library.
    Cleared,
    /// The library is not loaded in the process.
    NotLoaded,
    /// The process belongs to another user, who may not open the arena.
    OtherUser(u32),
    /// The process is in another namespace and may not open the arena.
    OwnNamespace,
    /// The process has fewer capabilities and may not open the arena.
    FewerCapabilities,
    /// `OMP_TOOL=disabled`.
    ToolsDisabled,
    /// The process ended before it was read. It is known whether it had loaded the library.
    Ended(bool),
    /// Unknown.
    NotCalled,
}

impl Cause {
    /// The cause in a process that has loaded the library, or has not (`is_loaded`).
    pub fn of(state: &ProcessState, is_loaded: bool) -> Cause {
        if state.has_ended {
            return Cause::Ended(is_loaded);
        }
        if let Some(obstacle) = &state.obstacle {
            return Cause::CannotLoad(obstacle.clone());
        }
        if state.names_library == Some(false) {
            return Cause::Cleared;
        }
        match state.other_user {
            Some(uid) => return Cause::OtherUser(uid),
            None if state.has_own_namespace => return Cause::OwnNamespace,
            None => {}
        }
        match (is_loaded, state.disables_tools) {
            (_, true) => Cause::ToolsDisabled,
            (false, _) => Cause::NotLoaded,
            (true, false) if state.lacks_capabilities => Cause::FewerCapabilities,
            (true, false) => Cause::NotCalled,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::NoLibrary(reason) => f.write_str(reason),
            Cause::CannotLoad(obstacle) => {
                write!(f, "libcollector.so cannot be loaded into it: {obstacle}")
            }
            Cause::Attached => f.write_str(
                "collect was attached to it (-P) and loads nothing into a process that runs; start \
                 the program with collect to have its regions and waits measured",
            ),
            Cause::GivenUp => f.write_str("they made no sense"),
            Cause::OtherTool(path) => write!(
                f,
                "the program has an OMPT tool of its own, {path}, and a runtime serves one"
            ),
            Cause::Cleared => write!(
                f,
                "its environment was cleared on the way to it (env -i, sudo), and {TOOLS_VARIABLE}, \
                 {PRELOAD_VARIABLE} and {ARENA_VARIABLE} with it"
            ),
            Cause::NotLoaded => f.write_str(
                "libcollector.so was not loaded into it, as into a program that is linked statically, \
                 set-user-id, or has capabilities of its own",
            ),
            Cause::OtherUser(uid) => write!(
                f,
                "it runs as another user (uid {uid}), who may not open collect's memory; run collect \
                 as that user"
            ),
            Cause::OwnNamespace => f.write_str(
                "it runs in a namespace of its own (unshare, a container), from where collect's \
                 memory cannot be opened; run collect inside",
            ),
            Cause::FewerCapabilities => f.write_str(
                "it has fewer capabilities than collect, and may not open collect's memory; drop \
                 them before collect",
            ),
            Cause::ToolsDisabled => f.write_str("OMP_TOOL=disabled"),
            Cause::Ended(false) => f.write_str(
                "libcollector.so was not loaded into it, and it was over before collect could see \
                 why; its environment may have been cleared on the way to it (env -i, sudo)",
            ),
            Cause::Ended(true) => f.write_str(
                "it was over before collect could see why; it may have run as another user, with \
                 fewer capabilities or in a namespace of its own",
            ),
            Cause::NotCalled => f.write_str(
                "it was not called, or only by what was loaded with RTLD_DEEPBIND and does not find \
                 our entry points",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: &str = "/opt/p/libcollector.so";

    #[test]
    fn an_environment_leads_to_the_library_by_either_list() {
        let names = |variables: &str| name_library(variables.as_bytes(), Path::new(LIBRARY));
        let arena = "PARALLAX_ARENA=/proc/1/fd/5\0";
        assert!(names(&format!("A=1\0LD_PRELOAD=/x.so:{LIBRARY}\0{arena}")));
        assert!(names(&format!("{arena}OMP_TOOL_LIBRARIES={LIBRARY}\0")));
        assert!(!names(&format!("LD_PRELOAD={LIBRARY}\0")));
        assert!(!names(&format!("{arena}LD_PRELOAD=/x.so\0")));
        assert!(!names(""));
    }

    #[test]
    fn our_own_process_is_no_stranger() {
        let own = ProcessState::of(std::process::id() as i32, Some(Path::new(LIBRARY)));
        assert_eq!((own.other_user, own.has_own_namespace), (None, false));
        assert!(!own.lacks_capabilities);
        assert_eq!(own.names_library, Some(false));
    }

    #[test]
    fn the_cause_is_what_the_process_shows() {
        let usual = ProcessState {
            names_library: Some(true),
            ..ProcessState::default()
        };
        assert_eq!(Cause::of(&usual, true), Cause::NotCalled);
        assert_eq!(Cause::of(&usual, false), Cause::NotLoaded);
        let cases = [
            (
                ProcessState {
                    names_library: Some(false),
                    other_user: Some(7),
                    ..usual.clone()
                },
                Cause::Cleared,
            ),
            (
                ProcessState {
                    other_user: Some(7),
                    ..usual.clone()
                },
                Cause::OtherUser(7),
            ),
            (
                ProcessState {
                    has_own_namespace: true,
                    ..usual.clone()
                },
                Cause::OwnNamespace,
            ),
            (
                ProcessState {
                    lacks_capabilities: true,
                    ..usual.clone()
                },
                Cause::FewerCapabilities,
            ),
            (
                ProcessState {
                    disables_tools: true,
                    ..usual
                },
                Cause::ToolsDisabled,
            ),
        ];
        for (state, cause) in cases {
            assert_eq!(Cause::of(&state, true), cause);
        }
    }

    #[test]
    fn a_process_that_has_ended_has_no_known_cause() {
        let mut child = std::process::Command::new("true")
            .spawn()
            .expect("true runs");
        std::thread::sleep(std::time::Duration::from_millis(200));
        // The child waits for this process.
        let state = ProcessState::of(child.id() as i32, Some(Path::new(LIBRARY)));
        child.wait().expect("true ends");
        assert!(state.has_ended);
        assert_eq!(Cause::of(&state, true), Cause::Ended(true));
        assert_eq!(Cause::of(&state, false), Cause::Ended(false));
    }
}
