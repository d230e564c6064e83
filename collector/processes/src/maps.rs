//! The mappings of a process, as `/proc/PID/maps` lists them (proc(5)).

use std::fs;
use std::ops::Range;

use crate::records::Mapping;

/// What the kernel puts behind the path of a file that is no more.
const DELETED: &[u8] = b" (deleted)";

/// A line of `/proc/PID/maps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Area {
    /// Its addresses.
    pub range: Range<u64>,
    /// Whether it holds code.
    pub executable: bool,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// The number of the file on its device; 0 if there is no file.
    pub inode: u64,
    /// Path of the file, or a name that the kernel made up: `//anon` for none. That of a file that was deleted
    /// ends with the kernel's mark.
    pub path: Box<[u8]>,
}

impl From<Area> for Mapping {
    fn from(area: Area) -> Mapping {
        Mapping {
            start: area.range.start,
            length: area.range.end - area.range.start,
            offset: area.offset,
            path: area.path,
            inode: area.inode,
            build_id: Box::default(),
        }
    }
}

/// The mappings of a process, by address; none if it is gone or may not be looked at.
pub fn areas(pid: i32) -> Vec<Area> {
    parsed(&fs::read(format!("/proc/{pid}/maps")).unwrap_or_default())
}

/// The path of a file without the kernel's mark that it was deleted.
pub(crate) fn unmarked(path: &[u8]) -> &[u8] {
    path.strip_suffix(DELETED).unwrap_or(path)
}

/// The areas in such a text.
pub fn parsed(maps: &[u8]) -> Vec<Area> {
    let lines = maps.split(|byte| *byte == b'\n');
    lines.filter_map(area).collect()
}

/// `START-END PERMISSIONS OFFSET DEVICE INODE PATH`.
fn area(line: &[u8]) -> Option<Area> {
    let mut fields = line.splitn(6, |byte| *byte == b' ');
    let mut text = || std::str::from_utf8(fields.next()?).ok();
    let (range, permissions, offset, _, inode) = (text()?, text()?, text()?, text()?, text()?);
    let (start, end) = range.split_once('-')?;
    let [start, end, offset] = [start, end, offset].map(|it| u64::from_str_radix(it, 16).ok());
    let (start, end) = (start?, end?);
    let path = fields.next().unwrap_or_default().trim_ascii_start();
    (start <= end).then_some(Area {
        range: start..end,
        executable: permissions.as_bytes().get(2) == Some(&b'x'),
        offset: offset?,
        inode: inode.parse().ok()?,
        path: unescaped(if path.is_empty() { b"//anon" } else { path }).into(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_read_with_any_name() {
        let maps = b"55d0-55e0 r--p 00000000 fe:00 12   /usr/bin/a b\n\
                     55e0-5600 r-xp 00001000 fe:00 12   /usr/bin/a b\n\
                     7000-7100 rwxp 00000000 00:00 0 \n\
                     7f00-7f10 r-xp 00002000 fe:00 13   /tmp/x.so (deleted)\n\
                     7f20-7f30 r-xp 00000000 fe:00 14   /tmp/new\\012line\n\
                     7ff0-7ff2 r-xp 00000000 00:00 0    [vdso]\n\
                     8000-7000 r-xp 00000000 00:00 0    /nonsense\n";
        let area = |range, executable, offset, inode, path: &str| Area {
            range,
            executable,
            offset,
            inode,
            path: path.as_bytes().into(),
        };
        let expected = [
            area(0x55d0..0x55e0, false, 0, 12, "/usr/bin/a b"),
            area(0x55e0..0x5600, true, 0x1000, 12, "/usr/bin/a b"),
            area(0x7000..0x7100, true, 0, 0, "//anon"),
            area(0x7f00..0x7f10, true, 0x2000, 13, "/tmp/x.so (deleted)"),
            area(0x7f20..0x7f30, true, 0, 14, "/tmp/new\nline"),
            area(0x7ff0..0x7ff2, true, 0, 0, "[vdso]"),
        ];
        assert_eq!(parsed(maps), expected);
        assert_eq!(unmarked(&expected[3].path), b"/tmp/x.so");
        assert_eq!(unmarked(&expected[0].path), b"/usr/bin/a b");
    }
}
