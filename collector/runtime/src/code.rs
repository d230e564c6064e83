//! Where code is loaded: what tells a return address from other words of a stack.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::process;
use crate::stack::{self, Frame};

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

/// Bytes in front of an address that tell whether a call ends there.
const BEFORE: usize = 8;
/// Addresses that the kernel is asked of in one call.
const AT_ONCE: usize = 64;

/// Puts those of `frames` whose address stands behind a call to the front, in their order; their
/// number. Addresses before which nothing can be read are kept, too.
///
/// The kernel reads, since another thread may unload what they point into at any time. Where it is
/// forbidden to, all are kept.
pub(crate) fn keep_behind_calls(frames: &mut [Frame]) -> usize {
    let mut kept = 0;
    let mut start = 0;
    while start < frames.len() {
        let count = AT_ONCE.min(frames.len() - start);
        let mut bytes = [[0u8; BEFORE]; AT_ONCE];
        let read = read_before(
            frames.get(start..start + count).unwrap_or_default(),
            &mut bytes,
        );
        for at in 0..count {
            let is_kept = at >= read || bytes.get(at).is_none_or(ends_with_call);
            if is_kept && let Some(frame) = frames.get(start + at).copied() {
                if let Some(place) = frames.get_mut(kept) {
                    *place = frame;
                }
                kept += 1;
            }
        }
        start += count;
    }
    kept
}

/// Reads what stands before the addresses of up to [`AT_ONCE`] frames; of how many it could.
fn read_before(frames: &[Frame], bytes: &mut [[u8; BEFORE]; AT_ONCE]) -> usize {
    let mut pieces = [libc::iovec {
        iov_base: std::ptr::null_mut(),
        iov_len: 0,
    }; AT_ONCE];
    for (piece, frame) in pieces.iter_mut().zip(frames) {
        piece.iov_base = frame.ip.wrapping_sub(BEFORE as u64) as *mut c_void;
        piece.iov_len = BEFORE;
    }
    let local = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: BEFORE * frames.len().min(AT_ONCE),
    };
    // SAFETY: `local` is `bytes`, as long as there are frames.
    unsafe { stack::read(&local, &pieces) / BEFORE }
}

/// Whether the last of the bytes is that of a call.
#[cfg(target_arch = "x86_64")]
fn ends_with_call(bytes: &[u8; BEFORE]) -> bool {
    /// `call rel32`.
    const NEAR: u8 = 0xe8;
    /// `call r/m64` is this with 2 in the middle of the byte behind it.
    const INDIRECT: u8 = 0xff;
    // By length: a register or address alone, with 8 bits more, with an index too, with 32 bits more.
    bytes[BEFORE - 5] == NEAR
        || [2, 3, 4, 6, 7].iter().any(|length| {
            bytes[BEFORE - length] == INDIRECT && bytes[BEFORE - length + 1] >> 3 & 7 == 2
        })
}

#[cfg(not(target_arch = "x86_64"))]
fn ends_with_call(_bytes: &[u8; BEFORE]) -> bool {
    true
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
    #[cfg(target_arch = "x86_64")]
    fn calls_are_told_by_their_bytes() {
        // call 0x10; call rax; call [rax]; call [rbp-8]; call [rax+rcx*8-8]; call [rip+16];
        // call [rax+rcx*8+16]
        let calls: [&[u8]; 7] = [
            &[0xe8, 0x10, 0, 0, 0],
            &[0xff, 0xd0],
            &[0xff, 0x10],
            &[0xff, 0x55, 0xf8],
            &[0xff, 0x54, 0xc8, 0xf8],
            &[0xff, 0x15, 0x10, 0, 0, 0],
            &[0xff, 0x94, 0xc8, 0x10, 0, 0, 0],
        ];
        for call in calls {
            let mut bytes = [0x90; BEFORE];
            bytes[BEFORE - call.len()..].copy_from_slice(call);
            assert!(ends_with_call(&bytes), "{call:x?}");
        }
        // ret; jmp rel32; jmp rax; inc eax; nothing.
        let others: [&[u8]; 5] = [
            &[0xc3],
            &[0xe9, 0, 0, 0, 0],
            &[0xff, 0xe0],
            &[0xff, 0xc0],
            &[],
        ];
        for other in others {
            let mut bytes = [0x90; BEFORE];
            bytes[BEFORE - other.len()..].copy_from_slice(other);
            assert!(!ends_with_call(&bytes), "{other:x?}");
        }
    }

    #[test]
    fn of_many_words_those_behind_calls_are_kept() {
        // Data serves as well: nobody looks here whether it is code.
        let call: [u8; BEFORE] = [0x90, 0x90, 0x90, 0xe8, 1, 2, 3, 4];
        let ret: [u8; BEFORE] = [0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3];
        let nowhere = 16;
        let behind = |bytes: &[u8; BEFORE]| bytes.as_ptr_range().end as u64;
        let ips = [behind(&call), behind(&ret), nowhere];
        let mut frames: Vec<Frame> = (0..300)
            .map(|slot| Frame {
                slot,
                ip: ips[slot as usize % 2],
            })
            .collect();
        // All behind it in its call of the kernel are kept with it.
        frames.push(Frame {
            slot: 300,
            ip: nowhere,
        });
        frames.push(Frame {
            slot: 301,
            ip: ips[1],
        });
        let kept = keep_behind_calls(&mut frames);
        let slots: Vec<u64> = frames.iter().take(kept).map(|frame| frame.slot).collect();
        let expected: Vec<u64> = (0..300).step_by(2).chain([300, 301]).collect();
        assert_eq!(slots, expected);
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
