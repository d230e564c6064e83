//! Where code is loaded: what tells a return address from other words of a stack.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::process;

/// Executable segments that are told apart; those of further ones are one with what lies between.
const SEGMENTS: usize = 1024;

/// The executable segments of all loaded objects. Valid when zeroed: none.
///
/// Code that a program has made itself is not among them. No return address there is told, and no
/// stack is followed beyond it.
#[repr(C)]
pub(crate) struct Code {
    /// The loader's counts of objects that came and went when the segments were read.
    changes: [u64; 2],
    count: usize,
    /// Sorted, without overlap: first address, and the one after the last.
    segments: [[u64; 2]; SEGMENTS],
}

impl Code {
    /// Reads the segments anew if objects came or went. `false` where that is not possible now.
    pub(crate) fn refresh(&mut self) -> bool {
        process::with_loader(|| {
            let mut walk = Walk {
                code: self,
                changed: false,
            };
            // SAFETY: the callback gets the pointer to `walk`, which outlives the call.
            unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut walk).cast()) };
            if walk.changed {
                self.sort();
            }
        })
    }

    /// Whether `word` is an address of code.
    #[inline]
    pub(crate) fn holds(&self, word: u64) -> bool {
        let segments = self.segments.get(..self.count).unwrap_or_default();
        let (Some([lowest, _]), Some([_, end])) = (segments.first(), segments.last()) else {
            return false;
        };
        if word < *lowest || word >= *end {
            return false;
        }
        let after = segments.partition_point(|[start, _]| *start <= word);
        let segment = after.checked_sub(1).and_then(|at| segments.get(at));
        segment.is_some_and(|[_, end]| word < *end)
    }

    fn sort(&mut self) {
        if let Some(segments) = self.segments.get_mut(..self.count) {
            segments.sort_unstable();
        }
    }

    fn add(&mut self, start: u64, end: u64) {
        match self.segments.get_mut(self.count) {
            Some(place) => {
                *place = [start, end];
                self.count += 1;
            }
            None => {
                if let Some(last) = self.segments.last_mut() {
                    *last = [last[0].min(start), last[1].max(end)];
                }
            }
        }
    }
}

/// A walk over the loaded objects.
struct Walk<'a> {
    code: &'a mut Code,
    /// They are others than those that `code` knows.
    changed: bool,
}

unsafe extern "C" fn visit(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    walk: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes a valid description, and `refresh` its own local.
    let (info, walk) = unsafe { (&*info, &mut *walk.cast::<Walk<'_>>()) };
    let changes = [info.dlpi_adds, info.dlpi_subs];
    if !walk.changed {
        if walk.code.changes == changes {
            return 1;
        }
        walk.changed = true;
        (walk.code.changes, walk.code.count) = (changes, 0);
    }
    // SAFETY: the loader describes that many program headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
    headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0)
        .for_each(|header| {
            let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
            walk.code.add(start, start.wrapping_add(header.p_memsz));
        });
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Box<Code> {
        Box::new(Code {
            changes: [0; 2],
            count: 0,
            segments: [[0; 2]; SEGMENTS],
        })
    }

    #[test]
    fn code_is_told_from_data_and_heap() {
        static DATA: u64 = 7;
        let mut code = empty();
        assert!(code.refresh());
        assert!(code.holds(empty as *const () as u64));
        assert!(code.holds(libc::getpid as *const () as u64));
        let on_heap = Box::new(1u64);
        for word in [
            0,
            u64::MAX,
            &raw const DATA as u64,
            &raw const *on_heap as u64,
        ] {
            assert!(!code.holds(word), "{word:x}");
        }
    }

    #[test]
    fn more_segments_than_there_is_room_for_are_taken_together() {
        let mut code = empty();
        for at in 1..=SEGMENTS as u64 + 10 {
            code.add(at << 20, (at << 20) + 16);
        }
        assert_eq!(code.count, SEGMENTS);
        assert!(code.holds(5 << 20) && !code.holds((5 << 20) + 16));
        assert!(code.holds(((SEGMENTS as u64 + 10) << 20) + 15));
    }
}
