//! What `/proc` tells of a process (proc(5)).

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use crate::perf::parse::Mapping;

/// The ids of a process's threads; `None` if there is no such process.
pub(super) fn threads(pid: i32) -> Option<Vec<i32>> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let tid = |entry: std::io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    Some(entries.filter_map(tid).collect())
}

/// The name of a process.
pub(super) fn name(pid: i32) -> Option<Box<str>> {
    let name = fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(String::from_utf8_lossy(&name).trim_end().into())
}

/// The parent of a process.
pub(super) fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The executable mappings of a process, those of its executable first, and where that begins.
pub(super) fn mappings(pid: i32) -> (Option<u64>, Vec<Mapping>) {
    let maps = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    let executable = fs::read_link(format!("/proc/{pid}/exe"));
    let executable = executable.map(|path| path.into_os_string().into_encoded_bytes());
    let executable = executable.unwrap_or_default();
    let lines = maps.split(|byte| *byte == b'\n');
    let mut mappings: Vec<Mapping> = lines.filter_map(mapping).collect();
    let is_its = |mapping: &Mapping| *mapping.path == *strip(&executable);
    mappings.sort_by_key(|mapping| !is_its(mapping));
    let start = mappings.first().filter(|mapping| is_its(mapping));
    (start.map(|mapping| mapping.start), mappings)
}

/// An executable mapping, from its line in `maps`: addresses, permissions, offset, device, inode, path.
fn mapping(line: &[u8]) -> Option<Mapping> {
    let mut rest = line;
    let mut word = || {
        let begin = rest.iter().position(|byte| *byte != b' ')?;
        rest = &rest[begin..];
        let end = rest.iter().position(|byte| *byte == b' ');
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        std::str::from_utf8(word).ok()
    };
    let (start, end) = word()?.split_once('-')?;
    let permissions = word()?;
    let offset = word()?;
    let _device_and_inode = (word()?, word()?);
    let path = rest.trim_ascii_start();
    let hexadecimal = |text| u64::from_str_radix(text, 16).ok();
    let start = hexadecimal(start)?;
    permissions.contains('x').then_some(Mapping {
        start,
        length: hexadecimal(end)?.checked_sub(start)?,
        offset: hexadecimal(offset)?,
        // As perf calls memory without a file.
        path: if path.is_empty() {
            b"//anon".as_slice().into()
        } else {
            strip(path).into()
        },
        build_id: Box::default(),
    })
}

/// The path of a file that was deleted since.
fn strip(path: &[u8]) -> &[u8] {
    path.strip_suffix(b" (deleted)").unwrap_or(path)
}

/// The kernel's counts for a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Time on CPUs, in nanoseconds. While it runs, as of the last timer tick.
    pub(super) on_cpu: u64,
    /// Time that it was ready to run and had no CPU, in nanoseconds, as of its last switch.
    pub(super) preempted: u64,
    /// How often it got a CPU.
    pub(super) runs: u64,
}

/// A thread's `schedstat`, kept open.
pub(super) struct CpuTimes(File);

impl CpuTimes {
    pub(super) fn open((pid, tid): (i32, i32)) -> Option<CpuTimes> {
        let file = File::open(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?;
        Some(CpuTimes(file))
    }

    /// `None` once the thread has ended, and where the kernel does not count.
    pub(super) fn read(&self) -> Option<Counts> {
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
    fn a_line_of_maps_becomes_a_mapping() {
        let line = b"7f01a000-7f01c000 r-xp 00002000 fe:00 1234    /opt/my lib/a.so (deleted)";
        let found = mapping(line).expect("a mapping");
        assert_eq!(
            (found.start, found.length, found.offset),
            (0x7f01_a000, 0x2000, 0x2000)
        );
        assert_eq!(&*found.path, b"/opt/my lib/a.so");
        let jit = mapping(b"7f01a000-7f01c000 rwxp 00000000 00:00 0 ").expect("a mapping");
        assert_eq!(&*jit.path, b"//anon");
        for other in [
            b"7f01a000-7f01c000 rw-p 00000000 00:00 0 [heap]".as_slice(),
            b"7f01c000-7f01a000 r-xp 00000000 00:00 0 x",
            b"7f01a000 r-xp",
            b"",
        ] {
            assert_eq!(mapping(other), None);
        }
    }

    #[test]
    fn our_own_process_is_told() {
        let pid = std::process::id() as i32;
        assert!(threads(pid).expect("it lives").contains(&pid));
        assert!(parent(pid).is_some_and(|parent| parent > 0));
        assert!(name(pid).is_some_and(|name| !name.is_empty()));
        let (executable, mappings) = mappings(pid);
        let own = std::env::current_exe().expect("it has one");
        assert_eq!(&*mappings[0].path, own.as_os_str().as_encoded_bytes());
        assert_eq!(executable, Some(mappings[0].start));
        let times = CpuTimes::open((pid, pid)).expect("schedstat");
        let before = times.read().expect("counts");
        assert!(before.on_cpu > 0 && before.runs > 0);
    }
}
