//! A process that runs already: whether it can be recorded, and what its events would have told if they
//! had been there from its start: threads, mappings, names. Only `/proc` is read: the process is neither
//! stopped nor traced.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;

use experiment::state::Scheduling;

use crate::shortfall::named;
use crate::{proc, sys};
use processes::records::{Side, SideRecord};

/// A process to be recorded.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its process id.
    pub pid: i32,
    /// Its argument vector.
    pub command: Vec<OsString>,
    /// Its working directory.
    pub directory: String,
    /// The environment with which it was started.
    pub environment: Vec<(OsString, OsString)>,
    /// What cannot be recorded, in a sentence each.
    pub notes: Vec<String>,
}

impl Target {
    /// Looks at a process. `follow` tells whether the children that it makes will be recorded.
    ///
    /// # Errors
    /// One sentence if there is none that can be recorded.
    pub fn of(pid: i32, follow: bool) -> Result<Target, String> {
        if pid as u32 == std::process::id() {
            return Err(format!("-P {pid}: collect cannot record itself"));
        }
        let status = fs::read_to_string(format!("/proc/{pid}/status"))
            .map_err(|_| format!("-P {pid}: no process has this id; `ps` lists them"))?;
        let group = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
        let group = group.map_or("", str::trim);
        if group != pid.to_string() {
            return Err(format!(
                "-P {pid}: it is a thread of process {group}: name that"
            ));
        }
        if !sys::is_running(pid) {
            return Err(format!("-P {pid}: the process has ended"));
        }
        let maps = fs::read_to_string(format!("/proc/{pid}/maps"))
            .map_err(|error| refusal(pid, &error))?;
        if maps.is_empty() {
            return Err(format!("-P {pid}: it is a process of the kernel"));
        }
        let strings = |name: &str| -> Vec<OsString> {
            let bytes = fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
            let strings = bytes.split(|byte| *byte == 0);
            let strings = strings.filter(|string| !string.is_empty());
            strings.map(|it| OsString::from_vec(it.to_vec())).collect()
        };
        let variable = |entry: OsString| {
            let bytes = entry.as_bytes();
            let at = bytes.iter().position(|byte| *byte == b'=')?;
            let part = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
            Some((part(&bytes[..at]), part(&bytes[at + 1..])))
        };
        let directory = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        Ok(Target {
            pid,
            command: strings("cmdline"),
            directory: directory.to_string_lossy().into_owned(),
            environment: strings("environ")
                .into_iter()
                .filter_map(variable)
                .collect(),
            notes: [note_on_memory(pid), note_on_children(pid, follow)]
                .into_iter()
                .flatten()
                .collect(),
        })
    }

    /// The ids of its threads.
    pub fn threads(&self) -> Vec<i32> {
        let mut tids = proc::threads(self.pid).unwrap_or_default();
        tids.sort_unstable();
        tids
    }

    /// Its name, mappings and threads, as records of the side band at time 0.
    pub fn records(&self) -> Vec<SideRecord> {
        let pid = self.pid;
        let record = |tid, what| SideRecord {
            time: 0,
            pid,
            tid,
            cpu: 0,
            what,
        };
        let named = |tid| {
            let name = proc::name((pid, tid))?;
            Some(record(tid, Side::Comm { exec: false, name }))
        };
        let mut records: Vec<SideRecord> = named(pid).into_iter().collect();
        let (_, mappings) = proc::mappings(pid);
        let mapped = |mapping| record(pid, Side::Map(Box::new(mapping)));
        records.extend(mappings.into_iter().map(mapped));
        for tid in self.threads() {
            let stat = fs::read(format!("/proc/{pid}/task/{tid}/stat")).unwrap_or_default();
            let scheduling = scheduling(&stat);
            records.push(record(tid, Side::Found { scheduling }));
            records.extend(named(tid));
        }
        records
    }
}

/// Why the mappings of a process may not be read.
fn refusal(pid: i32, error: &io::Error) -> String {
    let user = |path: &str| fs::metadata(path).ok().map(|file| file.uid());
    let theirs = user(&format!("/proc/{pid}"));
    match theirs {
        Some(uid) if theirs != user("/proc/self") => format!(
            "-P {pid}: the process belongs to another user (uid {uid}): run collect as that user or as \
             root"
        ),
        _ => format!(
            "-P {pid}: the kernel does not let you look into the process ({error}): it is set-user-id, has \
             capabilities or has forbidden it; root may, outside of a container"
        ),
    }
}

/// A note if the stacks of the process may not be read from its memory.
fn note_on_memory(pid: i32) -> Option<String> {
    let error = fs::File::open(format!("/proc/{pid}/mem")).err()?;
    Some(format!(
        "the memory of process {pid} may not be read ({error}): stacks deeper than what is copied are \
         cut, and threads that sleep all the time have none; `sysctl kernel.yama.ptrace_scope=0` or root \
         permits it"
    ))
}

/// A note if the process has children already, unless nobody asks for any.
fn note_on_children(pid: i32, follow: bool) -> Option<String> {
    let tids = proc::threads(pid).filter(|_| follow)?;
    let children = tids.into_iter().flat_map(|tid| proc::children((pid, tid)));
    let children: Vec<(i32, String)> = children
        .filter(|&child| sys::is_running(child))
        .filter_map(|child| Some((child, proc::name((child, child))?.into())))
        .collect();
    let they_run = match children.as_slice() {
        [] => return None,
        [_] => "a child process that runs already is",
        _ => "child processes that run already are",
    };
    Some(format!(
        "-P records a process and the children that it makes from now on: {they_run} not recorded: {}",
        named(&children)
    ))
}

/// What a thread does by its `stat` (proc(5)). A thread that is ready may or may not be on a CPU.
fn scheduling(stat: &[u8]) -> Scheduling {
    // The name before it may hold anything.
    let end = stat.windows(2).rposition(|part| part == b") ");
    match end.and_then(|end| stat.get(end + 2)) {
        Some(b'R') => Scheduling::Running,
        _ => Scheduling::Blocked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_s_state_follows_its_name() {
        assert_eq!(scheduling(b"7 (a) R) S 1"), Scheduling::Blocked);
        assert_eq!(scheduling(b"7 (a) R 1"), Scheduling::Running);
        assert_eq!(scheduling(b""), Scheduling::Blocked);
    }

    #[test]
    fn what_cannot_be_recorded_gets_a_sentence() {
        let own = std::process::id() as i32;
        let said = |pid| Target::of(pid, true).expect_err("it cannot be recorded");
        assert!(said(own).contains("cannot record itself"));
        assert!(said(i32::MAX).contains("no process has this id"));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id() as i32;
        while sys::is_running(pid) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(said(pid).contains("has ended"));
        child.wait().unwrap();
        let (send, receive) = std::sync::mpsc::channel::<()>();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let own = fs::read_link("/proc/thread-self").unwrap();
            let tid = own.file_name().and_then(|name| name.to_str()?.parse().ok());
            tell.send(tid).unwrap();
            receive.recv()
        });
        let tid: i32 = told.recv().unwrap().unwrap();
        assert!(said(tid).contains(&format!("it is a thread of process {own}")));
        drop(send);
        let _ = thread.join();
    }
}
