//! The memory of recorded processes: the part of a stack that was not copied with its sample.
//!
//! A function with large local arrays pushes its callers out of any piece that a sample can carry.
//! Those callers are the stack's oldest frames, and rarely change within the few milliseconds until
//! the sample is unwound. A return address in the copied piece proves it: while its slot still holds
//! it, the function that it belongs to has not returned, and the frames of its callers are unchanged.

use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;

use rustc_hash::FxHashMap;
use unwinder::{StackBytes, StackMemory};

const PAGE: u64 = 4096;

/// Most pages read for one stack: a stack of 256 KiB in small frames, or of any size in few.
const MOST_PAGES: usize = 64;

/// Most processes whose memory is kept open.
const MOST_FILES: usize = 64;

/// The memory of the recorded processes.
#[derive(Default)]
pub struct Memories {
    files: FxHashMap<i32, File>,
}

impl Memories {
    /// The memory of a process as it is now; `None` if it is gone or may not be read.
    pub fn of(&mut self, pid: i32) -> Option<Memory<'_>> {
        let file = self.file(pid)?;
        let pages = RefCell::new(Vec::new());
        Some(Memory { file, pages })
    }

    /// The file of a process's memory; `None` if the process is gone or may not be read.
    pub fn file(&mut self, pid: i32) -> Option<&File> {
        if self.files.len() >= MOST_FILES && !self.files.contains_key(&pid) {
            self.files.clear();
        }
        // After an `exec`, reads of a file that was opened before fail. So do those of a process
        // that has ended, even if its id is used again.
        let stale = |file: &File| {
            let probe = std::io::ErrorKind::UnexpectedEof;
            file.read_exact_at(&mut [0], PAGE)
                .is_err_and(|error| error.kind() == probe)
        };
        if self.files.get(&pid).is_none_or(stale) {
            let file = File::open(format!("/proc/{pid}/mem")).ok()?;
            self.files.insert(pid, file);
        }
        self.files.get(&pid)
    }
}

/// The memory of one process. Each page is read once.
pub struct Memory<'a> {
    file: &'a File,
    pages: RefCell<Vec<(u64, Box<[u8; PAGE as usize]>)>>,
}

impl Memory<'_> {
    /// Whether no more pages are read.
    pub fn is_spent(&self) -> bool {
        self.pages.borrow().len() >= MOST_PAGES
    }
}

impl StackMemory for Memory<'_> {
    fn read(&self, address: u64) -> Option<u64> {
        let (page, offset) = (address / PAGE, (address % PAGE) as usize);
        let mut pages = self.pages.borrow_mut();
        let at = match pages.iter().position(|(number, _)| *number == page) {
            Some(at) => at,
            None if pages.len() < MOST_PAGES => {
                let mut bytes = Box::new([0; PAGE as usize]);
                self.file
                    .read_exact_at(bytes.as_mut_slice(), page * PAGE)
                    .ok()?;
                pages.push((page, bytes));
                pages.len() - 1
            }
            None => return None,
        };
        // Stack slots are aligned, so none crosses into the next page.
        let bytes = pages[at].1.get(offset..)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    }
}

/// Whether the outermost of the `found` return addresses still lies where the sample has it.
///
/// With no return address in the copied piece there is nothing to compare: the leaf's own frame
/// is larger than it. Its caller is then still right, since whatever the caller called meanwhile
/// put an address of the same caller into that slot.
pub fn is_unchanged(memory: &impl StackMemory, stack: &StackBytes<'_>, found: &[u64]) -> bool {
    let [_, .., outermost] = found else {
        return true;
    };
    let misaligned = (stack.sp.wrapping_neg() % 8) as usize;
    let words = stack.bytes.get(misaligned..).unwrap_or_default();
    let slot = words
        .chunks_exact(8)
        .rposition(|word| word == outermost.to_le_bytes());
    slot.is_some_and(|slot| {
        let address = stack.sp + (misaligned + slot * 8) as u64;
        memory.read(address) == Some(*outermost)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Words(u64, Vec<u64>);

    impl StackMemory for Words {
        fn read(&self, address: u64) -> Option<u64> {
            self.1
                .get((address.checked_sub(self.0)? / 8) as usize)
                .copied()
        }
    }

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn a_return_address_that_moved_ends_the_stack() {
        let copied = bytes(&[1, 0x40_1234, 2, 0x40_5678, 3]);
        let stack = StackBytes {
            sp: 0x7000,
            bytes: &copied,
            beyond: None,
        };
        let found = [0x40_0000, 0x40_1234, 0x40_5678];
        let same = Words(0x7000, vec![9, 9, 9, 0x40_5678, 9]);
        let other = Words(0x7000, vec![1, 0x40_1234, 2, 0x40_9999, 3]);
        assert!(is_unchanged(&same, &stack, &found));
        assert!(!is_unchanged(&other, &stack, &found));
    }

    #[test]
    fn a_leaf_larger_than_the_copied_piece_has_nothing_to_compare() {
        let stack = StackBytes {
            sp: 0x7000,
            bytes: &[0; 64],
            beyond: None,
        };
        assert!(is_unchanged(&Words(0, vec![]), &stack, &[0x40_0000]));
    }

    #[test]
    fn reads_the_memory_of_a_living_process() {
        let here = [0x0123_4567_89ab_cdef_u64; 1024];
        let mut memories = Memories::default();
        let memory = memories
            .of(std::process::id() as i32)
            .expect("our own memory can be read");
        let start = here.as_ptr() as u64;
        assert_eq!(memory.read(start), Some(here[0]));
        assert_eq!(memory.read(start + 8 * 1023), Some(here[1023]));
        assert_eq!(memory.read(8), None, "the first page is never mapped");
        assert_eq!(memory.pages.borrow().len(), 2, "each page is read once");
    }

    #[test]
    fn a_process_that_is_gone_has_no_memory() {
        let mut child = std::process::Command::new("true")
            .spawn()
            .expect("true runs");
        let pid = child.id() as i32;
        child.wait().expect("true ends");
        assert!(Memories::default().of(pid).is_none());
    }
}
