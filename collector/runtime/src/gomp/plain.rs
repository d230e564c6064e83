//! The block passed to the runtime in place of the data of nearly all tasks.

use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_set_epi64x, _mm_storeu_si128};
use std::mem::MaybeUninit;

use omp_ring::record::InstanceId;

use super::state::Body;
use super::task::Arguments;

/// The header in front of the data of nearly all tasks: tasks whose data is a few words copied
/// bytewise, and which have no event. It is short, since the runtime copies it too.
#[repr(C, align(16))]
pub(super) struct Plain {
    pub(super) body: Body,
    pub(super) id: InstanceId,
    data: [u8; Plain::BYTES],
}

impl Plain {
    const BYTES: usize = 112;
    /// Offset of the data, aligned as the block is.
    pub(super) const DATA: usize = std::mem::offset_of!(Plain, data);

    /// Whether the block can hold the data of a task without an event.
    #[inline(always)]
    pub(super) fn fits(arguments: &Arguments) -> bool {
        let Arguments {
            body,
            data,
            copy,
            size,
            align,
        } = *arguments;
        let has_bytes = data != 0 && copy == 0 && size <= Plain::BYTES;
        body != 0 && has_bytes && align <= align_of::<Plain>()
    }

    /// Fills the block of a task in place; it is not moved. Returns its length.
    ///
    /// It writes pieces of 16 bytes, because the runtime reads such pieces when it copies the
    /// block. A load of data that is still in the store buffer is fast only if one store wrote all
    /// of it.
    ///
    /// # Safety
    /// The arguments are those of a task's creation, and [`Plain::fits`] accepts them.
    #[inline(always)]
    pub(super) unsafe fn fill(
        block: &mut MaybeUninit<Plain>,
        arguments: &Arguments,
        id: InstanceId,
    ) -> usize {
        let to = block.as_mut_ptr().cast::<__m128i>();
        let from = arguments.data as *const u8;
        let size = arguments.size;
        // SAFETY: `size` bytes can be read, and the block has room for them. `few_bytes` reads fewer
        // than 16, which are written as 16; these fit too. The source may be unaligned, the block is
        // aligned to 16.
        unsafe {
            to.write(_mm_set_epi64x(id.0 as i64, arguments.body as i64));
            let data = to.byte_add(Plain::DATA);
            if size >= 16 {
                let mut at = 0;
                while at + 16 <= size {
                    let piece = _mm_loadu_si128(from.add(at).cast());
                    data.byte_add(at).write(piece);
                    at += 16;
                }
                let last = _mm_loadu_si128(from.add(size - 16).cast());
                _mm_storeu_si128(data.byte_add(size - 16), last);
            } else {
                data.write(few_bytes(from, size));
            }
        }
        Plain::DATA + size.next_multiple_of(16)
    }
}

/// The first `size` bytes at `from`, fewer than 16, padded with zeros.
///
/// # Safety
/// They can be read.
#[inline(always)]
unsafe fn few_bytes(from: *const u8, size: usize) -> __m128i {
    // SAFETY: each read is of bytes below `size`.
    unsafe {
        let [low, high] = match size {
            8.. => {
                let last = from.add(size - 8).cast::<u64>().read_unaligned();
                // At a size of 8 the shift is by 64: it yields no bits.
                let high = last.checked_shr(8 * (16 - size as u32)).unwrap_or(0);
                [from.cast::<u64>().read_unaligned(), high]
            }
            4.. => {
                let first = u64::from(from.cast::<u32>().read_unaligned());
                let last = u64::from(from.add(size - 4).cast::<u32>().read_unaligned());
                [first | last << (8 * (size - 4)), 0]
            }
            _ => {
                let mut word = 0;
                for at in 0..size {
                    word |= u64::from(from.add(at).read()) << (8 * at);
                }
                [word, 0]
            }
        };
        _mm_set_epi64x(high as i64, low as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::c_void;

    unsafe extern "C-unwind" fn body(_data: *mut c_void) {}

    #[test]
    fn data_of_every_length_and_place_is_copied_whole() {
        let source: Vec<u8> = (1..=200).collect();
        for size in 0..=Plain::BYTES {
            for start in 0..16 {
                let arguments = Arguments {
                    body: body as *const () as usize,
                    data: source[start..].as_ptr() as usize,
                    copy: 0,
                    size,
                    align: 1,
                };
                assert!(Plain::fits(&arguments));
                let mut block = MaybeUninit::<Plain>::zeroed();
                // SAFETY: they fit, and the data is there.
                let bytes = unsafe { Plain::fill(&mut block, &arguments, InstanceId(7)) };
                // SAFETY: zeroed, and a function written over it.
                let block = unsafe { block.assume_init() };
                assert!(bytes >= Plain::DATA + size && bytes <= size_of::<Plain>());
                assert_eq!(block.data[..size], source[start..start + size]);
                assert_eq!(block.id, InstanceId(7));
                assert!(std::ptr::fn_addr_eq(block.body, body as Body));
            }
        }
    }

    #[test]
    fn longer_data_has_no_room() {
        let arguments = Arguments {
            body: 1,
            data: 1,
            copy: 0,
            size: Plain::BYTES + 1,
            align: 1,
        };
        assert!(!Plain::fits(&arguments));
    }
}
