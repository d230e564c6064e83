//! Handles the signals that `collect` receives while the program runs. Only SIGKILL ends `collect`:
//! if it ended before the program, nothing would record the program or return its exit status.
//!
//! A signal sent to `collect` alone is meant for the program and is forwarded. A signal sent to the
//! process group, as a terminal or `kill -TERM -GROUP` does, reaches the program anyway and must
//! not reach it twice. The kernel does not tell the two cases apart. A second process in the group
//! therefore only blocks all signals ([`Peer`]): a signal pending there was sent to the group.
#![allow(unsafe_code)] // signals and fork

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::thread;
use std::time::Duration;

use crate::sys::{self, check};

/// The longest time that a sender is expected to take when it signals the processes of a group one
/// by one.
const SENDING: Duration = Duration::from_millis(10);

/// Job control signals keep their effect: a signal that stops the program's group also stops
/// `collect`.
const JOB_CONTROL: [libc::c_int; 3] = [libc::SIGTSTP, libc::SIGTTIN, libc::SIGCONT];

/// Signals by which a user, a terminal or a batch system ends a command.
const ENDING: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGQUIT, libc::SIGHUP];

/// The blocked signals of this process, read from a signalfd.
#[derive(Debug)]
pub struct Signals {
    fd: OwnedFd,
    inherited: Inherited,
    peer: Option<Peer>,
    discarded: Vec<libc::c_int>,
}

/// The signal mask and actions with which `collect` was started. The program inherits them.
#[derive(Clone, Copy, Debug)]
pub struct Inherited {
    mask: libc::sigset_t,
    /// SIGCHLD was ignored.
    ignores_children: bool,
}

/// Signals that arrived since the last call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// A child may have ended.
    pub child: bool,
    /// Signals to forward to the program: their senders did not send them to it.
    pub for_program: Vec<libc::c_int>,
    /// One of [`ENDING`] arrived, whoever sent it: the user wants an end.
    pub ending: bool,
}

impl Signals {
    /// Blocks all signals but those of job control. From then on they are read from the signalfd.
    ///
    /// # Errors
    /// If the signalfd cannot be created.
    pub fn block() -> io::Result<Signals> {
        // SAFETY: sets and actions are plain data, valid when zeroed; the calls fill them or read them,
        // and SIG_DFL is no function of ours.
        let (all, inherited) = unsafe {
            let mut all = std::mem::zeroed();
            libc::sigfillset(&mut all);
            for signal in JOB_CONTROL {
                libc::sigdelset(&mut all, signal);
            }
            let mut mask = std::mem::zeroed();
            check(libc::sigprocmask(libc::SIG_BLOCK, &all, &mut mask))?;
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGCHLD, ptr::null(), &mut action);
            let ignores_children = action.sa_sigaction == libc::SIG_IGN;
            if ignores_children {
                // If SIGCHLD is ignored, the kernel discards the program's exit status.
                libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            }
            (
                all,
                Inherited {
                    mask,
                    ignores_children,
                },
            )
        };
        // SAFETY: `all` is initialised. `check` has excluded -1, so the result is a new descriptor that
        // nothing else owns.
        let fd = unsafe {
            let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
            OwnedFd::from_raw_fd(check(libc::signalfd(-1, &all, flags))?)
        };
        Ok(Signals {
            fd,
            inherited,
            // Without a peer, a signal sent to the group may reach the program twice.
            peer: Peer::new().ok(),
            discarded: Vec::new(),
        })
    }

    /// The signal state that the program inherits.
    pub fn inherited(&self) -> Inherited {
        self.inherited
    }

    /// Does not return these signals any more: they would end the program, and their senders mean
    /// `collect`.
    pub fn discard(&mut self, signals: impl IntoIterator<Item = libc::c_int>) {
        self.discarded.extend(signals);
    }

    /// Returns the signals that have arrived.
    pub fn arrived(&mut self) -> Arrived {
        let mut arrived = Arrived::default();
        self.read_into(&mut arrived);
        arrived
            .for_program
            .retain(|signal| !self.discarded.contains(signal));
        if arrived.for_program.is_empty() {
            return arrived;
        }
        if let Some(peer) = &self.peer {
            thread::sleep(SENDING);
            self.read_into(&mut arrived);
            let to_group = peer.pending();
            arrived
                .for_program
                .retain(|signal| to_group & 1 << (signal - 1) == 0);
            if to_group != 0 {
                // The peer's pending signals stay pending. A new peer starts without any.
                self.peer = Peer::new().ok();
            }
        }
        arrived
    }

    /// Waits for a signal, for at most a second: the timeout is for events that cannot be polled.
    pub fn wait(&mut self) -> Arrived {
        self.wait_for(1000)
    }

    /// Waits for a signal, for at most `timeout_ms` milliseconds.
    pub fn wait_for(&mut self, timeout_ms: i32) -> Arrived {
        let _ = sys::poll(&mut [sys::readable(self.as_raw_fd())], timeout_ms);
        self.arrived()
    }

    fn read_into(&self, arrived: &mut Arrived) {
        while let Some(info) = self.next() {
            let signal = info.ssi_signo as libc::c_int;
            // A signal from the kernel concerns `collect` itself, or comes from a terminal and goes
            // to the whole group. The same holds for one that the kernel sends in our own name
            // after a failed write (SIGPIPE, SIGXFSZ). An alarm is different: the process that set
            // it then became `collect` by `exec`, and meant it for the program.
            let is_own = info.ssi_pid == std::process::id();
            let is_sent = info.ssi_code <= libc::SI_USER && !is_own;
            let is_directed = is_sent || signal == libc::SIGALRM;
            arrived.ending |= ENDING.contains(&signal);
            if signal == libc::SIGCHLD {
                arrived.child = true;
            } else if is_directed && !arrived.for_program.contains(&signal) {
                arrived.for_program.push(signal);
            }
        }
    }

    fn next(&self) -> Option<libc::signalfd_siginfo> {
        // SAFETY: signalfd_siginfo is plain data, valid when zeroed and with whatever bytes `read`
        // writes to it, which are at most its size.
        unsafe {
            let mut info: libc::signalfd_siginfo = std::mem::zeroed();
            let size = size_of::<libc::signalfd_siginfo>();
            let got = libc::read(self.fd.as_raw_fd(), (&raw mut info).cast(), size);
            (got == size as isize).then_some(info)
        }
    }
}

impl AsRawFd for Signals {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl Inherited {
    /// Restores the signal state with which `collect` was started, in the process that will become
    /// the program.
    ///
    /// # Safety
    /// Only for the child after fork, whose signal state it replaces. Calls only async-signal-safe
    /// functions.
    pub(crate) unsafe fn restore(&self) {
        // SAFETY: the kernel filled the mask; SIG_IGN is no function of ours, and a null pointer for
        // the old mask is permitted.
        unsafe {
            if self.ignores_children {
                libc::signal(libc::SIGCHLD, libc::SIG_IGN);
            }
            libc::sigprocmask(libc::SIG_SETMASK, &self.mask, ptr::null_mut());
        }
    }
}

/// A process in `collect`'s group in which every signal stays pending.
#[derive(Debug)]
struct Peer {
    pid: libc::pid_t,
}

impl Peer {
    /// Forks a peer. It inherits the blocked signals, and ends when this process does.
    fn new() -> io::Result<Peer> {
        // SAFETY: the child calls only system calls, by wrappers that neither allocate nor lock, and
        // never returns from this block. So it does not matter what other threads of this process
        // did at the fork.
        let pid = unsafe {
            let pid = check(libc::fork())?;
            if pid == 0 {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                libc::prctl(libc::PR_SET_NAME, c"group-signals".as_ptr());
                libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0);
                loop {
                    libc::pause();
                }
            }
            pid
        };
        Ok(Peer { pid })
    }

    /// The signals pending in it: bit n-1 for signal n.
    fn pending(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap_or_default();
        pending_in(&status)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // SAFETY: the calls touch no memory: the pointer for the status is null. `pid` is still that
        // child, since nobody else waits for it.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, ptr::null_mut(), 0);
        }
    }
}

/// Whether a process handles a signal: if not, most signals end it.
pub fn is_handled(pid: i32, signal: libc::c_int) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    masks_in(&status, &["SigCgt"]) & 1 << (signal - 1) != 0
}

/// The signals pending for a process or its one thread, from its `status`.
fn pending_in(status: &str) -> u64 {
    masks_in(status, &["SigPnd", "ShdPnd"])
}

/// The signals in these masks of a process's `status` (proc(5)): bit n-1 for signal n.
fn masks_in(status: &str, names: &[&str]) -> u64 {
    let masks = status.lines().filter_map(|line| {
        let (name, mask) = line.split_once(':')?;
        let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
        names.contains(&name).then_some(mask)
    });
    masks.fold(0, |all, mask| all | mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pending_signals_are_read_from_the_status() {
        let status = "Name:\tx\nSigQ:\t1/95\nSigPnd:\t0000000000000001\nShdPnd:\t0000000000004000\n\
                      SigBlk:\tfffffffe7ffbfeff\n";
        assert_eq!(pending_in(status), 1 | 1 << (libc::SIGTERM - 1));
        assert_eq!(pending_in(""), 0);
        assert!(!is_handled(std::process::id() as i32, libc::SIGUSR2));
    }

    #[test]
    fn a_peer_has_no_pending_signals_at_first_and_ends_when_it_is_dropped() {
        let peer = Peer::new().expect("a process");
        let pid = peer.pid;
        // Signals are not blocked in this test's process: the child inherits its mask.
        assert_eq!(peer.pending() & 1 << (libc::SIGCHLD - 1), 0);
        drop(peer);
        assert!(fs::metadata(format!("/proc/{pid}")).is_err());
    }
}
