//! A thread's end of its ring.

use std::ffi::CStr;
use std::io;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use omp_ring::context::{Head, MAX_WORDS, Word};

use crate::layout::{ENDED, FREE, GOES_ON, Header, LIVE, MAGIC, RING_WORDS, WAITS};
use crate::memory::{self, Memory, OWNER_DIED};
use crate::record::{Checks, Event, Kind, Run, stack_head, stack_words};

/// Whether nobody reads any more.
fn is_gone(header: &Header) -> bool {
    header.reader.load(Relaxed) & OWNER_DIED != 0
}

/// From now on a thread that waits makes no system calls: the program is about to forbid itself some.
pub fn wait_without_system_calls() {
    memory::wait_without_system_calls();
}

/// The shared memory, mapped in the program.
#[derive(Debug)]
pub struct Shared(Memory);

impl Shared {
    /// Maps the memory at `path`, which a [`Consumer`](crate::consumer::Consumer) has made.
    ///
    /// # Errors
    /// Those of the system; `InvalidData` for another kind of file.
    pub fn attach(path: &CStr) -> io::Result<Shared> {
        let memory = memory::attach(path)?;
        match memory.header().magic.load(Relaxed) {
            MAGIC => Ok(Shared(memory)),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// The bytes of memory.
    pub const fn bytes(&self) -> u64 {
        crate::layout::BYTES as u64
    }

    /// What is looked for.
    pub fn checks(&self) -> Checks {
        Checks(self.0.header().checks.load(Relaxed) as u8)
    }

    /// Whether a process records already.
    pub fn is_taken(&self) -> bool {
        self.0.header().process.load(Relaxed) != 0
    }

    /// Makes this process the one that records, and waits for a first look at it. `false` if another one
    /// does.
    pub fn begin(&self, process: u32) -> bool {
        let known = &self.0.header().process;
        let is_first = known
            .compare_exchange(0, process.into(), Relaxed, Relaxed)
            .is_ok();
        if is_first {
            self.wait_for_look();
        }
        is_first
    }

    /// Waits until the reader has looked at the process: what is mapped where, only the kernel knows, and
    /// only while the process is there.
    pub fn wait_for_look(&self) {
        let header = self.0.header();
        let look = &header.look;
        if look
            .compare_exchange(GOES_ON, WAITS, Release, Relaxed)
            .is_err()
        {
            return;
        }
        for tries in 0.. {
            if look.load(Acquire) != WAITS || is_gone(header) {
                return;
            }
            memory::pause(tries);
        }
    }

    /// In so many bytes unwritten memory is not looked for; `u64::MAX`: nowhere.
    pub fn count_unmarked(&self, bytes: u64) {
        let unmarked = &self.0.header().unmarked;
        if bytes == u64::MAX {
            unmarked.store(bytes, Relaxed);
        } else {
            unmarked.fetch_add(bytes, Relaxed);
        }
    }

    /// This process does what would be checked, and does not record.
    pub fn count_unchecked(&self) {
        self.0.header().unchecked.fetch_add(1, Relaxed);
    }

    /// The number of the next event of the program.
    #[inline]
    pub fn next_number(&self) -> u64 {
        self.0.header().next.fetch_add(1, Relaxed)
    }
}

/// A thread's ring.
#[derive(Debug)]
pub struct Producer {
    shared: &'static Shared,
    slot: usize,
    head: u64,
    /// What the thread has last read of the reader's position.
    tail: u64,
}

impl Producer {
    /// Takes a free slot for thread `thread`. `None` if there is none; that is counted.
    pub fn claim(shared: &'static Shared, thread: u32) -> Option<Producer> {
        let slots = shared.0.slots();
        let slot = slots.iter().position(|slot| {
            slot.state.load(Relaxed) == FREE
                && slot
                    .state
                    .compare_exchange(FREE, LIVE, Acquire, Relaxed)
                    .is_ok()
        });
        let Some(slot) = slot else {
            shared.0.header().refused.fetch_add(1, Relaxed);
            return None;
        };
        slots.get(slot)?.thread.store(thread, Relaxed);
        Some(Producer {
            shared,
            slot,
            head: 0,
            tail: 0,
        })
    }

    /// The number of its slot, which no other living thread has.
    pub fn slot(&self) -> usize {
        self.slot
    }

    /// Writes a run of accesses. Waits for room. `false` if nobody reads any more.
    #[inline]
    pub fn run(&mut self, run: &Run) -> bool {
        self.write(&run.words())
    }

    /// Writes that calling context `id` is a call at `code` in context `parent`.
    #[inline]
    pub fn context(&mut self, id: u32, parent: u32, code: u64) -> bool {
        let first = Kind::Context as u64 | u64::from(id) << 32;
        self.write(&[first, u64::from(parent), code])
    }

    /// Writes the stack that is calling context `id`, of at most [`MAX_WORDS`] words.
    #[cold]
    #[inline(never)]
    pub fn stack(&mut self, id: u32, head: &Head, words: &[Word]) -> bool {
        let words = words.get(..MAX_WORDS).unwrap_or(words);
        if !self.has_room(stack_words(words.len())) {
            return false;
        }
        self.put(stack_head(id, words.len()));
        let pairs = words.iter().map(|word| [word.bytes, word.value]);
        for [one, other] in head.pairs().into_iter().chain(pairs) {
            self.put(one);
            self.put(other);
        }
        self.publish();
        true
    }

    /// Numbers an event and writes it. `false` if nobody reads any more.
    #[inline]
    pub fn event(&mut self, event: &Event) -> bool {
        let number = self.shared.next_number();
        self.numbered(event, number)
    }

    /// Writes an event whose number was taken before.
    #[inline]
    pub fn numbered(&mut self, event: &Event, number: u64) -> bool {
        let (words, length) = event.words(number);
        self.write(words.get(..length).unwrap_or_default())
    }

    /// The last record has been written.
    pub fn end(&mut self) {
        if let Some(slot) = self.shared.0.slots().get(self.slot) {
            slot.state.store(ENDED, Release);
        }
    }

    #[inline]
    fn write(&mut self, words: &[u64]) -> bool {
        let has_room = self.has_room(words.len());
        if has_room {
            words.iter().for_each(|word| self.put(*word));
            self.publish();
        }
        has_room
    }

    /// Waits until the ring has room for this many words. `false` if nobody reads any more.
    #[inline]
    fn has_room(&mut self, words: usize) -> bool {
        self.head + words as u64 <= self.tail + RING_WORDS as u64 || self.wait(words)
    }

    /// Writes a word, for which there is room.
    #[inline]
    fn put(&mut self, word: u64) {
        let ring = self.shared.0.ring(self.slot);
        if let Some(to) = ring.get(self.head as usize % RING_WORDS) {
            to.store(word, Relaxed);
        }
        self.head += 1;
    }

    /// Lets the reader have what was written.
    #[inline]
    fn publish(&self) {
        if let Some(slot) = self.shared.0.slots().get(self.slot) {
            slot.head.store(self.head, Release);
        }
    }

    /// Waits for room for `words` words.
    #[cold]
    #[inline(never)]
    fn wait(&mut self, words: usize) -> bool {
        debug_assert!(words <= RING_WORDS);
        let (header, slots) = (self.shared.0.header(), self.shared.0.slots());
        let Some(slot) = slots.get(self.slot) else {
            return false;
        };
        let begin = memory::now();
        for tries in 0.. {
            self.tail = slot.tail.load(Acquire);
            if self.head + words as u64 <= self.tail + RING_WORDS as u64 {
                if tries > 0 {
                    slot.waited.fetch_add(memory::now() - begin, Relaxed);
                }
                return true;
            }
            if is_gone(header) {
                return false;
            }
            memory::pause(tries);
        }
        false
    }
}
