//! What `/proc` tells of a process (proc(5)).

use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;

use processes::maps;
use processes::records::Mapping;

/// The ids of a process's threads; `None` if there is no such process.
pub(crate) fn threads(pid: i32) -> Option<Vec<i32>> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let tid = |entry: std::io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    Some(entries.filter_map(tid).collect())
}

/// The name of a thread; a process has that of its first one.
pub(crate) fn name((pid, tid): (i32, i32)) -> Option<Box<str>> {
    let name = fs::read(format!("/proc/{pid}/task/{tid}/comm")).ok()?;
    let name = String::from_utf8_lossy(&name);
    Some(name.strip_suffix('\n').unwrap_or(&name).into())
}

/// The parent of a process.
pub(crate) fn parent(pid: i32) -> Option<i32> {
    stat(&format!("/proc/{pid}/stat"), 1)?.parse().ok()
}

/// Whether a thread runs, or would if it had a CPU.
pub(crate) fn is_ready((pid, tid): (i32, i32)) -> bool {
    stat(&format!("/proc/{pid}/task/{tid}/stat"), 0).is_some_and(|state| state == "R")
}

/// A field of a `stat` file, counted from the state. The name before it may hold anything.
fn stat(path: &str, field: usize) -> Option<String> {
    let stat = fs::read_to_string(path).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let field = fields.split_ascii_whitespace().nth(field)?;
    Some(field.to_owned())
}

/// The processes that a thread has created and that have not been reaped. None where the kernel does not
/// list them (CONFIG_PROC_CHILDREN).
pub(crate) fn children((pid, tid): (i32, i32)) -> Vec<i32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/children"));
    let text = text.unwrap_or_default();
    let pids = text.split_ascii_whitespace();
    pids.filter_map(|pid| pid.parse().ok()).collect()
}

/// The executable mappings of a process, those of its executable first, as the kernel maps it, and where
/// that begins.
pub(crate) fn mappings(pid: i32) -> (Option<u64>, Vec<Mapping>) {
    let executable = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let is_its = |mapping: &Mapping| *mapping.path == *executable.as_os_str().as_bytes();
    let areas = maps::areas(pid).into_iter().filter(|it| it.executable);
    let mut mappings: Vec<Mapping> = areas.map(Mapping::from).collect();
    mappings.sort_by_key(|mapping| !is_its(mapping));
    let first = mappings.first().filter(|mapping| is_its(mapping));
    (first.map(|mapping| mapping.start), mappings)
}

/// The kernel's counts for a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Time on CPUs, in nanoseconds. While it runs, as of the last timer tick.
    pub(crate) on_cpu: u64,
    /// Time that it was ready to run and had no CPU, in nanoseconds, as of its last switch.
    pub(crate) preempted: u64,
    /// How often it got a CPU.
    pub(crate) runs: u64,
}

/// A thread's `schedstat`, kept open.
pub(crate) struct CpuTimes(File);

impl CpuTimes {
    pub(crate) fn open((pid, tid): (i32, i32)) -> Option<CpuTimes> {
        let file = File::open(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?;
        Some(CpuTimes(file))
    }

    /// `None` once the thread has ended, and where the kernel does not count.
    pub(crate) fn read(&self) -> Option<Counts> {
        let mut text = [0; 80];
        let length = self.0.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(text.get(..length)?).ok()?;
        let mut numbers = text.split_ascii_whitespace().map(str::parse);
        Some(Counts {
            on_cpu: numbers.next()?.ok()?,
            preempted: numbers.next()?.ok()?,
            runs: numbers.next()?.ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_process_is_told() {
        let pid = std::process::id() as i32;
        assert!(threads(pid).expect("it lives").contains(&pid));
        assert!(parent(pid).is_some_and(|parent| parent > 0));
        let tids = threads(pid).expect("it lives");
        assert!(tids.iter().any(|tid| is_ready((pid, *tid))), "this one");
        assert!(name((pid, pid)).is_some_and(|name| !name.is_empty()));
        let (executable, mappings) = mappings(pid);
        let own = std::env::current_exe().expect("it has one");
        assert_eq!(&*mappings[0].path, own.as_os_str().as_encoded_bytes());
        assert_eq!(executable, Some(mappings[0].start));
        let times = CpuTimes::open((pid, pid)).expect("schedstat");
        let before = times.read().expect("counts");
        assert!(before.on_cpu > 0 && before.runs > 0);
    }
}
