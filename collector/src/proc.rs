//! What `/proc` tells of a process (proc(5)).

use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;

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
/// that begins. A file that was deleted keeps the mark that the kernel gives it: another file may have its
/// name now.
pub(crate) fn mappings(pid: i32) -> (Option<u64>, Vec<Mapping>) {
    let maps = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    let executable = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let is_its = |mapping: &Mapping| *mapping.path == *executable.as_os_str().as_bytes();
    let mut mappings = parsed(&maps);
    mappings.sort_by_key(|mapping| !is_its(mapping));
    let first = mappings.first().filter(|mapping| is_its(mapping));
    (first.map(|mapping| mapping.start), mappings)
}

/// The executable mappings in `/proc/PID/maps`.
fn parsed(maps: &[u8]) -> Vec<Mapping> {
    let lines = maps.split(|byte| *byte == b'\n');
    lines.filter_map(mapping).collect()
}

/// `START-END PERMISSIONS OFFSET DEVICE INODE PATH` (proc(5)).
fn mapping(line: &[u8]) -> Option<Mapping> {
    let mut fields = line.splitn(6, |byte| *byte == b' ');
    let mut text = || std::str::from_utf8(fields.next()?).ok();
    let (range, permissions, offset, _, _) = (text()?, text()?, text()?, text()?, text()?);
    if permissions.as_bytes().get(2) != Some(&b'x') {
        return None;
    }
    let (start, end) = range.split_once('-')?;
    let [start, end, offset] = [start, end, offset].map(|it| u64::from_str_radix(it, 16).ok());
    let path = fields.next().unwrap_or_default().trim_ascii_start();
    Some(Mapping {
        start: start?,
        length: end?.checked_sub(start?)?,
        offset: offset?,
        path: unescaped(if path.is_empty() { b"//anon" } else { path }).into(),
        build_id: Box::default(),
    })
}

/// A path of `/proc/PID/maps`, where the kernel writes a line end as `\012`.
fn unescaped(path: &[u8]) -> Vec<u8> {
    let mut path = path.to_vec();
    while let Some(at) = path.windows(4).position(|part| part == br"\012") {
        path.splice(at..at + 4, [b'\n']);
    }
    path
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
    fn executable_mappings_are_read_with_any_name() {
        let maps = b"55d0-55e0 r--p 00000000 fe:00 12   /usr/bin/a b\n\
                     55e0-5600 r-xp 00001000 fe:00 12   /usr/bin/a b\n\
                     7000-7100 rwxp 00000000 00:00 0 \n\
                     7f00-7f10 r-xp 00002000 fe:00 13   /tmp/x.so (deleted)\n\
                     7f20-7f30 r-xp 00000000 fe:00 14   /tmp/new\\012line\n\
                     7ff0-7ff2 r-xp 00000000 00:00 0    [vdso]\n";
        let found: Vec<_> = parsed(maps)
            .into_iter()
            .map(|it| {
                (
                    it.start,
                    it.length,
                    it.offset,
                    String::from_utf8(it.path.into()).unwrap(),
                )
            })
            .collect();
        let expected = [
            (0x55e0, 0x20, 0x1000, "/usr/bin/a b"),
            (0x7000, 0x100, 0, "//anon"),
            (0x7f00, 0x10, 0x2000, "/tmp/x.so (deleted)"),
            (0x7f20, 0x10, 0, "/tmp/new\nline"),
            (0x7ff0, 2, 0, "[vdso]"),
        ];
        let expected =
            expected.map(|(start, length, offset, path)| (start, length, offset, path.to_owned()));
        assert_eq!(found, expected);
    }

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
