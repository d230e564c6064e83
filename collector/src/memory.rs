//! The memory of recorded processes: the part of a stack that was not copied with its sample.
//!
//! A function with large local arrays pushes its callers out of any piece that a sample can carry.
//! Those callers are the stack's oldest frames, and rarely change within the few milliseconds until
//! the sample is unwound. A return address in the copied piece proves it: while its slot still holds
//! it, the function that it belongs to has not returned, and the frames of its callers are unchanged.

use std::cell::{Cell, RefCell};
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
    files: FxHashMap<i32, Opened>,
}

/// A process's memory, kept open.
struct Opened {
    file: File,
    /// The process has ended or called `exec` since: reads find the end of the file.
    is_stale: Cell<bool>,
}

impl Memories {
    /// The memory of a process as it is now; `None` if it is gone or may not be read.
    pub fn of(&mut self, pid: i32) -> Option<Memory<'_>> {
        let opened = self.opened(pid)?;
        let pages = RefCell::new(Vec::new());
        Some(Memory { opened, pages })
    }

    /// The file of a process's memory; `None` if the process is gone or may not be read.
    pub fn file(&mut self, pid: i32) -> Option<&File> {
        self.opened(pid).map(|opened| &opened.file)
    }

    fn opened(&mut self, pid: i32) -> Option<&Opened> {
        if self.files.len() >= MOST_FILES && !self.files.contains_key(&pid) {
            self.files.clear();
        }
        let known = self.files.get(&pid);
        if known.is_none_or(|opened| opened.is_stale.get()) {
            let file = File::open(format!("/proc/{pid}/mem")).ok()?;
            let is_stale = Cell::new(false);
            self.files.insert(pid, Opened { file, is_stale });
        }
        self.files.get(&pid)
    }
}

/// The memory of one process. Each page is read once.
///
/// Only addresses on stacks are read: at an address without memory the kernel takes the process's lock of
/// mappings for writing, for which it waits while thousands of threads touch new pages, and they for it.
pub struct Memory<'a> {
    opened: &'a Opened,
    pages: RefCell<Vec<(u64, Box<[u8; PAGE as usize]>)>>,
}

impl Memory<'_> {
    /// Whether no more pages are read.
    pub fn is_spent(&self) -> bool {
        self.pages.borrow().len() >= MOST_PAGES
    }

    fn page(&self, number: u64) -> Option<Box<[u8; PAGE as usize]>> {
        let mut bytes = Box::new([0; PAGE as usize]);
        let read = self
            .opened
            .file
            .read_exact_at(bytes.as_mut_slice(), number * PAGE);
        if let Err(error) = &read {
            // An address without memory is another error.
            let is_stale = error.kind() == std::io::ErrorKind::UnexpectedEof;
            self.opened.is_stale.set(is_stale);
        }
        read.is_ok().then_some(bytes)
    }
}

impl StackMemory for Memory<'_> {
    fn read(&self, address: u64) -> Option<u64> {
        let (page, offset) = (address / PAGE, (address % PAGE) as usize);
        let mut pages = self.pages.borrow_mut();
        let at = match pages.iter().position(|(number, _)| *number == page) {
            Some(at) => at,
            None if pages.len() < MOST_PAGES => {
                pages.push((page, self.page(page)?));
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
    fn memory_from_before_an_exec_is_opened_again() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "read line; exec sleep 60"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("sh runs");
        let pid = child.id() as i32;
        let mut memories = Memories::default();
        let stack = |pid: i32| {
            let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("it lives");
            let line = maps.lines().find(|line| line.ends_with("[stack]"));
            let end = line.and_then(|line| line.split(['-', ' ']).nth(1).map(str::to_owned));
            end.and_then(|end| u64::from_str_radix(&end, 16).ok())
                .map(|end| end - 64)
        };
        let name = || std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        while name() != "sh\n" || stack(pid).is_none() {}
        let address = stack(pid).expect("a stack");
        assert!(memories.of(pid).expect("memory").read(address).is_some());
        drop(child.stdin.take());
        while name() != "sleep\n" || stack(pid).is_none() {}
        let address = stack(pid).expect("a stack");
        // The first reading finds out.
        let first = memories.of(pid).expect("memory").read(address);
        assert_eq!(first, None);
        assert!(memories.of(pid).expect("memory").read(address).is_some());
        child.kill().expect("it lives");
        child.wait().expect("it ends");
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
