//! `collect`'s end of the rings.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, mpsc};

use crate::layout::{BYTES, CLOSED, ENDED, FREE, GOES_ON, LIVE, MAGIC, RING_WORDS, SLOTS, WAITS};
use crate::memory::{self, Memory};
use crate::record::Checks;

/// The memory, made by `collect`.
#[derive(Debug)]
pub struct Consumer {
    memory: Arc<Memory>,
    file: File,
}

/// Somebody reads, until this is dropped or the process ends.
#[derive(Debug)]
pub struct Presence {
    _until: mpsc::Sender<()>,
}

/// The state of a thread's slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotState {
    /// Nobody's.
    Free,
    /// A thread writes.
    Live,
    /// Nothing more will be written.
    Ended,
}

impl Consumer {
    /// Makes the memory for a program that is checked for `checks`.
    ///
    /// # Errors
    /// Those of the system.
    pub fn create(checks: Checks) -> io::Result<Consumer> {
        let file = memory::create()?;
        let memory = Arc::new(Memory::map(&file)?);
        memory.header().checks.store(checks.0.into(), Relaxed);
        memory.header().magic.store(MAGIC, Relaxed);
        Ok(Consumer { memory, file })
    }

    /// The bytes of address space that it takes in the program.
    pub const fn mapped() -> u64 {
        BYTES as u64
    }

    /// The path by which the program maps it, while this process runs.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// Has a thread stand for the reader. The program waits for a reader that has much to do, and for none
    /// that is gone.
    ///
    /// # Errors
    /// Those of the system.
    pub fn stay(&self) -> io::Result<Presence> {
        let memory = Arc::clone(&self.memory);
        let (until, end) = mpsc::channel::<()>();
        let stand = move || {
            memory::own(&memory.header().reader, || {
                // It ends when the other half of the channel is dropped.
                let _ = end.recv();
            });
        };
        std::thread::Builder::new()
            .name("reader".into())
            .spawn(stand)?;
        Ok(Presence { _until: until })
    }

    /// The process that records, by its own number; `None` if no library has come that far.
    pub fn process(&self) -> Option<u32> {
        match self.memory.header().process.load(Relaxed) {
            0 => None,
            process => Some(process as u32),
        }
    }

    /// Whether the process waits until it has been looked at.
    pub fn is_waiting(&self) -> bool {
        self.memory.header().look.load(Acquire) == WAITS
    }

    /// It has been looked at.
    pub fn let_go_on(&self) {
        self.memory.header().look.store(GOES_ON, Release);
    }

    /// Threads that were not recorded, for there was no slot.
    pub fn refused(&self) -> u64 {
        self.memory.header().refused.load(Relaxed)
    }

    /// Processes that did what would be checked, while another one recorded.
    pub fn unchecked(&self) -> u64 {
        self.memory.header().unchecked.load(Relaxed)
    }

    /// Bytes of blocks in which unwritten memory was not looked for; `None`: it was nowhere.
    pub fn unmarked(&self) -> Option<u64> {
        let bytes = self.memory.header().unmarked.load(Relaxed);
        (bytes != u64::MAX).then_some(bytes)
    }

    /// The number of slots.
    pub fn slots(&self) -> usize {
        SLOTS
    }

    /// The state of slot `index` and the thread that has it.
    pub fn state(&self, index: usize) -> (SlotState, u32) {
        let Some(slot) = self.memory.slots().get(index) else {
            return (SlotState::Free, 0);
        };
        let state = match slot.state.load(Acquire) {
            LIVE => SlotState::Live,
            ENDED => SlotState::Ended,
            _ => SlotState::Free,
        };
        (state, slot.thread.load(Relaxed))
    }

    /// Nanoseconds for which threads of slot `index` waited for room.
    pub fn waited(&self, index: usize) -> u64 {
        self.memory
            .slots()
            .get(index)
            .map_or(0, |slot| slot.waited.load(Relaxed))
    }

    /// Appends what slot `index` has written since the last call to `words`, and makes room there.
    pub fn take(&self, index: usize, words: &mut Vec<u64>) {
        let Some(slot) = self.memory.slots().get(index) else {
            return;
        };
        let (head, tail) = (slot.head.load(Acquire), slot.tail.load(Relaxed));
        // A program that writes nonsense there gets no more than a ring read.
        let count = head.saturating_sub(tail).min(RING_WORDS as u64) as usize;
        let ring = self.memory.ring(index);
        let begin = tail as usize % RING_WORDS;
        let first = count.min(RING_WORDS - begin);
        let pieces = [begin..begin + first, 0..count - first];
        for piece in pieces {
            words.extend(ring[piece].iter().map(|word| word.load(Relaxed)));
        }
        slot.tail.store(tail + count as u64, Release);
    }

    /// Gives the slot of an ended thread, whose words have been taken, to the next one.
    pub fn release(&self, index: usize) {
        if let Some(slot) = self.memory.slots().get(index) {
            slot.head.store(0, Relaxed);
            slot.tail.store(0, Relaxed);
            slot.state.store(FREE, Release);
        }
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.memory.header().look.store(CLOSED, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::OWNER_DIED;

    #[test]
    fn a_reader_that_is_gone_is_known() {
        let consumer = Consumer::create(Checks::DEADLOCK).expect("shared memory");
        let reader = || consumer.memory.header().reader.load(Acquire);
        let wait_for = |is_there: fn(u32) -> bool| {
            while !is_there(reader()) {
                std::thread::yield_now();
            }
        };
        let presence = consumer.stay().expect("a thread");
        wait_for(|reader| reader != 0);
        assert_eq!(reader() & OWNER_DIED, 0);
        drop(presence);
        wait_for(|reader| reader == OWNER_DIED);
    }
}
