//! Starts the program under test. The child process waits before `exec` until its events are open.
//!
//! `std::process::Command` cannot hold a child at that point.
#![allow(unsafe_code)] // fork, exec and the pipes between the two processes

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::signals::Inherited;
use crate::sys::check;

/// State that Rust's runtime changes before `main`: it ignores SIGPIPE, and opens `/dev/null` for
/// each closed standard descriptor. Only a constructor can see what the program is to inherit.
static SIGPIPE_IGNORED: AtomicBool = AtomicBool::new(false);
static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

extern "C" fn note_inherited_state() {
    // SAFETY: sigaction is plain data, valid when zeroed. With a null new action the call only fills
    // it, and F_GETFD only returns flags.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGPIPE, ptr::null(), &mut action);
        SIGPIPE_IGNORED.store(action.sa_sigaction == libc::SIG_IGN, Ordering::Relaxed);
        for (fd, closed) in (0..).zip(&CLOSED) {
            closed.store(libc::fcntl(fd, libc::F_GETFD) == -1, Ordering::Relaxed);
        }
    }
}

// SAFETY: the loader calls each pointer of this section once, on the main thread, before `main`;
// the function needs nothing of Rust's runtime.
#[unsafe(link_section = ".init_array")]
#[used]
static AT_START: extern "C" fn() = note_inherited_state;

/// A child process that waits before `exec`.
#[derive(Debug)]
pub struct Held {
    /// Its process id.
    pub pid: i32,
    gate: File,
    failure: File,
}

/// The reason why the program could not be started.
#[derive(Debug)]
pub struct ExecError(pub io::Error);

impl ExecError {
    /// The exit status that shells use for it: 127 for a program that does not exist, else 126.
    pub fn status(&self) -> i32 {
        match self.0.raw_os_error() {
            Some(libc::ENOENT) => 127,
            _ => 126,
        }
    }
}

/// Forks a child that will run `command` with `environment`. The command is found in PATH as a
/// shell does it. The child waits until [`Held::release`]. If `collect` dies first, the child exits
/// without running the program.
pub fn hold(
    command: &[OsString],
    environment: &[(OsString, OsString)],
    inherited: Inherited,
) -> io::Result<Held> {
    let arguments = command
        .iter()
        .map(|word| c_string(word))
        .collect::<io::Result<Vec<_>>>()?;
    let variables = environment
        .iter()
        .map(|(name, value)| {
            let mut entry = name.clone();
            entry.push("=");
            entry.push(value);
            c_string(&entry)
        })
        .collect::<io::Result<Vec<_>>>()?;
    let argv = pointers(&arguments);
    let envp = pointers(&variables);
    let (gate_read, gate) = pipe()?;
    let (failure, failure_write) = pipe()?;

    // SAFETY: the child runs only `run`, which never returns. It uses memory that was prepared before
    // the fork, and calls async-signal-safe functions and glibc's `execvpe`, which neither allocates
    // nor locks. So it does not matter what other threads of this process did at the fork.
    let pid = unsafe {
        let pid = check(libc::fork())?;
        if pid == 0 {
            libc::close(gate.as_raw_fd());
            run(
                argv.as_ptr(),
                envp.as_ptr(),
                gate_read.as_raw_fd(),
                &failure_write,
                &inherited,
            );
        }
        pid
    };
    Ok(Held {
        pid,
        gate: File::from(gate),
        failure: File::from(failure),
    })
}

/// The child: waits, restores the state that `collect` changed, and calls `exec`.
///
/// # Safety
/// Only after fork; `argv` and `envp` must be null-terminated arrays of C strings.
unsafe fn run(
    argv: *const *const libc::c_char,
    envp: *const *const libc::c_char,
    gate: libc::c_int,
    failure: &OwnedFd,
    inherited: &Inherited,
) -> ! {
    // SAFETY: the caller vouches for the arrays, of which `argv` has at least the null pointer. The
    // other pointers are to locals of at least the length passed. `restore` runs in the child after
    // fork, as it requires.
    unsafe {
        let mut go = 0_u8;
        if libc::read(gate, (&raw mut go).cast(), 1) != 1 {
            libc::_exit(0);
        }
        if !SIGPIPE_IGNORED.load(Ordering::Relaxed) {
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        }
        for (fd, closed) in (0..).zip(&CLOSED) {
            if closed.load(Ordering::Relaxed) {
                libc::close(fd);
            }
        }
        inherited.restore();
        libc::execvpe(*argv, argv, envp);
        let errno = (*libc::__errno_location()).to_ne_bytes();
        libc::write(failure.as_raw_fd(), errno.as_ptr().cast(), errno.len());
        libc::_exit(127)
    }
}

impl Held {
    /// Lets the child call `exec`, and returns once it has.
    pub fn release(mut self) -> Result<(), ExecError> {
        self.gate.write_all(&[1]).map_err(ExecError)?;
        let mut errno = [0; 4];
        match self.failure.read_exact(&mut errno) {
            Ok(()) => {
                let error = io::Error::from_raw_os_error(i32::from_ne_bytes(errno));
                Err(ExecError(error))
            }
            // End of file: `exec` has closed the other end.
            Err(_) => Ok(()),
        }
    }
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: pipe2 fills both elements with new descriptors that nothing else owns.
    unsafe {
        check(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC))?;
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

fn c_string(word: &OsStr) -> io::Result<CString> {
    CString::new(word.as_bytes())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "an argument holds a zero byte"))
}

fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings
        .iter()
        .map(|string| string.as_ptr())
        .chain([ptr::null()])
        .collect()
}
