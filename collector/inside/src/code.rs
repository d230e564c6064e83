//! Where code is loaded. Distinguishes return addresses from other words of a stack.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ops::Range;

use crate::process_forks;
use crate::stack;

/// Most executable segments that are kept apart. Further ones are merged with the last, together with
/// the gaps between them.
const SEGMENTS: usize = 1024;

/// The executable segments of all loaded objects. Valid when zeroed: none.
///
/// Code that a program generates is not among them. Return addresses there are looked for only beside Python
/// ([`Code::may_be_generated`]); elsewhere, stacks are not followed beyond them.
#[repr(C)]
pub(crate) struct Code {
    /// The loader's counts of loaded and unloaded objects when the segments were read.
    changes: [u64; 2],
    /// The program's own code, if it can be read.
    program: [u64; 2],
    /// The last return address into generated code that was found; 0: none.
    generated: u64,
    count: usize,
    /// Sorted, without overlap: first address, and the one after the last address.
    segments: [[u64; 2]; SEGMENTS],
}

impl Code {
    /// Reads the segments again if objects were loaded or unloaded. Returns `false` if the loader may
    /// not be called now.
    pub(crate) fn refresh(&mut self) -> bool {
        process_forks::with_loader(|| {
            let mut walk = Walk {
                code: self,
                changed: false,
            };
            // SAFETY: the loader passes the pointer to the callback and keeps no copy, and `walk`
            // outlives the call. The callback casts it back to the type of `walk`.
            unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut walk).cast()) };
            if walk.changed {
                self.sort();
            }
        })
    }

    /// The number of objects that had been loaded when they were read.
    pub(crate) fn loads(&self) -> u64 {
        self.changes[0]
    }

    /// Whether they were read once.
    pub(crate) fn is_known(&self) -> bool {
        self.count > 0
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

    /// Whether an address of code can be a return address. In the program itself, a call must precede
    /// it. Libraries are not read: another thread may unload them at any time.
    #[inline]
    pub(crate) fn may_be_returned_to(&self, address: u64) -> bool {
        let [start, end] = self.program;
        if address < start.saturating_add(BEFORE as u64) || address >= end {
            return true;
        }
        let before = (address - BEFORE as u64) as *const [u8; BEFORE];
        // SAFETY: the bytes lie in the program's code, by the check above. Its segment is readable
        // (PF_R), and the loader never unmaps the program itself.
        ends_with_call(&unsafe { before.read_volatile() })
    }

    /// Whether a word can be a return address into code that the program generated: a call precedes it. Multiples of
    /// 16 count only near one that was found: most of them are addresses of objects, of which there are many, and
    /// each look costs a system call.
    pub(crate) fn may_be_generated(&mut self, word: u64) -> bool {
        /// Where programs have memory: above the first page, below the kernel's half.
        const PROGRAMS: Range<u64> = 1 << 12..1 << 47;
        const NEAR: u64 = 1 << 16;
        let is_likely = !word.is_multiple_of(16) || word.abs_diff(self.generated) < NEAR;
        let is_it = is_likely
            && PROGRAMS.contains(&word)
            && stack::bytes_before(word).is_some_and(|bytes| ends_with_call(&bytes));
        if is_it {
            self.generated = word;
        }
        is_it
    }

    fn sort(&mut self) {
        if let Some(segments) = self.segments.get_mut(..self.count) {
            segments.sort_unstable();
        }
    }

    fn add(&mut self, start: u64, end: u64) {
        match self.segments.get_mut(self.count) {
            Some(segment) => {
                *segment = [start, end];
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

/// Bytes before an address that tell whether a call ends there: more than any call has.
const BEFORE: usize = 8;

/// Whether the bytes end with a call.
#[cfg(target_arch = "x86_64")]
fn ends_with_call(bytes: &[u8; BEFORE]) -> bool {
    /// `call rel32`.
    const NEAR: u8 = 0xe8;
    /// The opcode of `call r/m64`, if the reg field of the ModRM byte that follows is 2.
    const INDIRECT: u8 = 0xff;
    // By length: register or address alone; with 8-bit displacement or SIB byte; with both; with
    // 32-bit displacement; with that and SIB byte.
    bytes[BEFORE - 5] == NEAR
        || [2, 3, 4, 6, 7].iter().any(|length| {
            bytes[BEFORE - length] == INDIRECT && bytes[BEFORE - length + 1] >> 3 & 7 == 2
        })
}

#[cfg(not(target_arch = "x86_64"))]
fn ends_with_call(_bytes: &[u8; BEFORE]) -> bool {
    true
}

/// A visit of all loaded objects.
struct Walk<'a> {
    code: &'a mut Code,
    /// Objects were loaded or unloaded since `code` was read.
    changed: bool,
}

unsafe extern "C" fn visit(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    walk: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes a description that is valid during the callback. `refresh` passed a
    // pointer to its own local, of this type, to which it holds no reference meanwhile.
    let (info, walk) = unsafe { (&*info, &mut *walk.cast::<Walk<'_>>()) };
    let changes = [info.dlpi_adds, info.dlpi_subs];
    if !walk.changed {
        if walk.code.changes == changes {
            return 1;
        }
        walk.changed = true;
        (walk.code.changes, walk.code.count) = (changes, 0);
        walk.code.program = [0; 2];
    }
    // The loader lists the program first.
    let is_program = walk.code.count == 0;
    // SAFETY: the pointer and the count describe the program headers of a loaded object, which stay
    // mapped while the loader calls back.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
    headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0)
        .for_each(|header| {
            let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
            let end = start.wrapping_add(header.p_memsz);
            if is_program && header.p_flags & libc::PF_R != 0 {
                walk.code.program = [start, end];
            }
            walk.code.add(start, end);
        });
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Box<Code> {
        Box::new(Code {
            changes: [0; 2],
            program: [0; 2],
            generated: 0,
            count: 0,
            segments: [[0; 2]; SEGMENTS],
        })
    }

    #[test]
    fn code_is_distinguished_from_data_and_heap() {
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
    fn calls_are_recognised_by_their_bytes() {
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
    fn in_the_program_only_an_address_after_a_call_is_a_return_address() {
        // Data serves as well: nobody looks here whether it is code.
        let bytes: [u8; 24] = *b"........\x90\x90\x90\xe8\x01\x02\x03\x04.......\xc3";
        let range = bytes.as_ptr_range();
        let (start, end) = (range.start as u64, range.end as u64);
        let mut code = empty();
        code.program = [start, end + 1];
        assert!(code.may_be_returned_to(start + 16), "a call");
        assert!(!code.may_be_returned_to(end), "a return");
        assert!(
            code.may_be_returned_to(start + 4),
            "not all bytes are the program's"
        );
        assert!(code.may_be_returned_to(16), "elsewhere");
        assert!(code.refresh());
        assert!(code.program[0] < code.program[1]);
        let own = empty as *const () as u64;
        assert!((code.program[0]..code.program[1]).contains(&own));
    }

    #[test]
    fn segments_beyond_the_limit_are_merged() {
        let mut code = empty();
        for at in 1..=SEGMENTS as u64 + 10 {
            code.add(at << 20, (at << 20) + 16);
        }
        assert_eq!(code.count, SEGMENTS);
        assert!(code.holds(5 << 20) && !code.holds((5 << 20) + 16));
        assert!(code.holds(((SEGMENTS as u64 + 10) << 20) + 15));
    }
}
