//! A copy of a file from the memory of a process that has mapped it: what the loader maps. That is the program
//! headers, the functions that other files may call, call frame information and code; no sections, and so no
//! names of other functions and no lines.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;

use rustix::fs::{MemfdFlags, memfd_create};
use unwinder::elf::ElfFile;

use crate::files;
use crate::maps::{self, Area};
use crate::records::Mapping;

/// The longest file that is copied, in bytes.
const LONGEST: u64 = 256 << 20;

/// The length of an ELF header of 64 bits.
const HEADER: usize = 64;

/// What a process has mapped of the file of `mapping`, at its places in that file.
pub(crate) fn of(pid: i32, mapping: &Mapping) -> Option<File> {
    let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
    let areas = areas_of_one_load(maps::areas(pid), mapping);
    let length = |area: &Area| area.range.end - area.range.start;
    let ends = areas
        .iter()
        .map(|area| area.offset.checked_add(length(area)));
    let end = ends.max()??;
    if end > LONGEST {
        return None;
    }
    let mut bytes = vec![0; end as usize];
    for area in &areas {
        let at = area.offset as usize;
        let place = &mut bytes[at..at + length(area) as usize];
        // A part that may not be read, such as a gap between segments, stays empty.
        let _ = memory.read_exact_at(place, area.range.start);
    }
    without_sections(&mut bytes)?;
    let begin = areas.iter().find(|area| area.offset == 0)?.range.start;
    let mut copy = File::from(memfd_create("copied", MemfdFlags::CLOEXEC).ok()?);
    copy.write_all(&bytes).ok()?;
    unrelocate(&copy, begin)?;
    Some(copy)
}

/// The areas of the file of `mapping`. A process may have loaded it more than once: then those from the begin of
/// the file before `mapping` to the next one.
fn areas_of_one_load(areas: Vec<Area>, mapping: &Mapping) -> Vec<Area> {
    let own = areas.iter().find(|it| it.range.contains(&mapping.start));
    let Some(own) = own.filter(|it| it.inode != 0).cloned() else {
        return Vec::new();
    };
    let is_same = |area: &Area| (area.inode, &area.path) == (own.inode, &own.path);
    let same: Vec<Area> = areas.into_iter().filter(is_same).collect();
    let is_begin = |area: &Area| area.offset == 0 && !area.executable;
    let at = same.partition_point(|area| area.range.start <= own.range.start);
    let from = same[..at].iter().rposition(is_begin).unwrap_or(0);
    let to = same[at..].iter().position(is_begin);
    same[from..to.map_or(same.len(), |to| at + to)].to_vec()
}

/// Makes the header say that there are no section headers: they are not mapped.
fn without_sections(bytes: &mut [u8]) -> Option<()> {
    let header = bytes.get_mut(..HEADER)?;
    header.starts_with(b"\x7fELF").then_some(())?;
    // e_shoff; e_shnum and e_shstrndx.
    header[40..48].fill(0);
    header[60..64].fill(0);
    Some(())
}

/// Takes the address at which the file was loaded, `start`, away from the pointers of its dynamic section, to which
/// the loader has added it. A file may have none.
fn unrelocate(copy: &File, start: u64) -> Option<()> {
    // DT_HASH, DT_STRTAB, DT_SYMTAB, DT_GNU_HASH.
    const POINTERS: [u64; 4] = [4, 5, 6, 0x6fff_fef5];
    let file = ElfFile::open(&files::place(copy)).ok()?;
    let elf = file.parse().ok()?;
    let first = elf.segments().find(|segment| segment.offset == 0)?;
    let bias = start.checked_sub(first.svma)?;
    let word = |at: u64| {
        let mut word = [0; 8];
        copy.read_exact_at(&mut word, at).ok()?;
        Some(u64::from_le_bytes(word))
    };
    for at in elf.dynamic_range().unwrap_or_default().step_by(16) {
        let (tag, value) = (word(at)?, word(at.checked_add(8)?)?);
        if POINTERS.contains(&tag) && value >= bias {
            copy.write_all_at(&(value - bias).to_le_bytes(), at + 8)
                .ok()?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(start: u64, offset: u64, executable: bool, inode: u64) -> Area {
        Area {
            range: start..start + 0x1000,
            executable,
            offset,
            inode,
            path: b"/lib (deleted)".as_slice().into(),
        }
    }

    #[test]
    fn what_is_mapped_of_a_file_is_enough_to_unwind_and_to_name_what_it_exports() {
        let pid = std::process::id() as i32;
        let is_code = |area: &Area| area.executable && area.path.starts_with(b"/");
        let code: Vec<Area> = maps::areas(pid).into_iter().filter(is_code).collect();
        let is_library = |area: &&Area| area.path.windows(7).any(|part| part == b"libc.so");
        let area = code.iter().find(is_library).expect("the C library");
        let copy = of(pid, &Mapping::from(area.clone())).expect("a copy");
        let place = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&copy));
        let (path, place) = (String::from_utf8_lossy(&area.path), place);
        let [own, copied] = [&*path, &place].map(|path| {
            let path = std::path::Path::new(path);
            let image = unwinder::Image::open(path).expect("an ELF file");
            let symbols = symbolize::Symbols::open(path, image.build_id()).expect("symbols");
            (image, symbols)
        });
        assert!(copied.0.has_unwind_info());
        assert_eq!(copied.0.build_id(), own.0.build_id());
        for svma in (0..0x10_0000).step_by(0x1000) {
            assert_eq!(copied.0.svma_of_offset(svma), own.0.svma_of_offset(svma));
        }
        let malloc = |symbols: &symbolize::Symbols| {
            let malloc = symbols.named("malloc").expect("it is exported");
            (malloc.start, malloc.size)
        };
        assert_eq!(malloc(&copied.1), malloc(&own.1));
        let bounds = |symbols: &symbolize::Symbols| {
            let code = symbols.code(malloc(symbols).0).expect("a function");
            (code.start, code.size)
        };
        assert_eq!(bounds(&copied.1), bounds(&own.1));
        assert!(copied.0.exports("malloc") && !copied.0.exports("no_such_function"));
    }

    #[test]
    fn of_a_file_that_was_loaded_twice_one_load_is_copied() {
        let areas = vec![
            area(0x1000, 0, false, 7),
            area(0x2000, 0x1000, true, 7),
            area(0x3000, 0, false, 8),
            area(0x5000, 0, false, 7),
            area(0x6000, 0x1000, true, 7),
            area(0x7000, 0x2000, false, 7),
        ];
        let starts = |start| {
            let mapping = Mapping::from(area(start, 0x1000, true, 7));
            let found = areas_of_one_load(areas.clone(), &mapping);
            let starts: Vec<u64> = found.iter().map(|area| area.range.start).collect();
            starts
        };
        assert_eq!(starts(0x2000), [0x1000, 0x2000]);
        assert_eq!(starts(0x6000), [0x5000, 0x6000, 0x7000]);
        assert_eq!(starts(0x9000), [0; 0]);
    }
}
