//! What is mapped, and which pages were written since the keeper was made.

use std::fs::File;
use std::os::unix::fs::FileExt;

use divergence::spans::Pages;

const PAGE: u64 = 4096;

/// Memory that the program can write to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Area {
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// Other processes see what is written.
    pub(crate) is_shared: bool,
    /// It is a device.
    pub(crate) is_device: bool,
}

/// The text of what is mapped; empty if the system does not tell.
pub(crate) fn text() -> Vec<u8> {
    std::fs::read("/proc/self/maps").unwrap_or_default()
}

/// Memory that can be written, in a text of maps (proc_pid_maps(5)), without `own` memory of ours.
pub(crate) fn areas(text: &[u8], own: &[(u64, u64)]) -> Vec<Area> {
    let lines = text.split(|byte| *byte == b'\n');
    let areas = lines.filter_map(|line| {
        let line = std::str::from_utf8(line).ok()?;
        let mut words = line.split_ascii_whitespace();
        let (begin, end) = words.next()?.split_once('-')?;
        let access = words.next()?.as_bytes();
        let path = words.nth(3).unwrap_or_default();
        let area = Area {
            begin: u64::from_str_radix(begin, 16).ok()?,
            end: u64::from_str_radix(end, 16).ok()?,
            is_shared: access.get(3) == Some(&b's'),
            is_device: path.starts_with("/dev/")
                && !path.starts_with("/dev/shm/")
                && !path.starts_with("/dev/zero"),
        };
        (access.get(1) == Some(&b'w')).then_some(area)
    });
    areas
        .filter(|area| {
            !own.iter()
                .any(|(begin, _)| (area.begin..area.end).contains(begin))
        })
        .collect()
}

/// The pages of areas that this process shares with no other one, as the kernel tells (`pagemap` in its
/// admin-guide): after a fork, those that were written. `None` if it does not.
pub(crate) fn unshared(areas: &[Area]) -> Option<Pages> {
    /// The page is mapped once; it is in memory; it is swapped out.
    const EXCLUSIVE: u64 = 1 << 56;
    const PRESENT: u64 = 1 << 63;
    const SWAPPED: u64 = 1 << 62;
    const AT_ONCE: u64 = 1 << 13;
    let file = File::open("/proc/self/pagemap").ok()?;
    let mut bytes = vec![0_u8; (AT_ONCE * 8) as usize];
    let mut pages: Pages = Vec::new();
    for area in areas.iter().filter(|area| !area.is_shared) {
        let mut page = area.begin / PAGE;
        while page < area.end / PAGE {
            let count = (area.end / PAGE - page).min(AT_ONCE);
            let part = bytes.get_mut(..(count * 8) as usize)?;
            file.read_exact_at(part, page * 8).ok()?;
            for (number, entry) in (page..).zip(part.chunks_exact(8)) {
                let entry = divergence::words::word(entry);
                let is_written =
                    entry & SWAPPED != 0 || entry & PRESENT != 0 && entry & EXCLUSIVE != 0;
                if is_written {
                    add(&mut pages, number * PAGE);
                }
            }
            page += count;
        }
    }
    Some(pages)
}

fn add(pages: &mut Pages, begin: u64) {
    match pages.last_mut() {
        Some((_, end)) if *end == begin => *end += PAGE,
        _ => pages.push((begin, begin + PAGE)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writable_memory_is_found_in_a_text_of_maps() {
        let text = b"1000-2000 r-xp 00000000 08:01 1 /p\n2000-3000 rw-p 00000000 00:00 0 [heap]\n\
                     3000-4000 rw-s 00000000 00:01 5 /dev/shm/x\n5000-6000 rw-s 00000000 00:01 5 /dev/nvidia0\n\
                     7000-8000 rw-s 00000000 00:01 5 /memfd:ours (deleted)\n";
        let found = areas(text, &[(0x7000, 0x1000)]);
        let flags: Vec<_> = found
            .iter()
            .map(|it| (it.begin, it.is_shared, it.is_device))
            .collect();
        assert_eq!(
            flags,
            [
                (0x2000, false, false),
                (0x3000, true, false),
                (0x5000, true, true)
            ]
        );
    }
}
