//! Calling contexts, cached.
//!
//! Sending the stack at each fork would cost microseconds. So a context is sent once, as the stack
//! words that an unwinder can need. The thread keeps each word that may be a return address, with
//! its address. When the same call site is reached again at the same depth of the stack, it compares
//! the words at these addresses. If all are the same, the context is the same, and its id is known.
//! That costs half a nanosecond a word. Stale words of earlier calls can give one context two ids,
//! but never two contexts one id.
//!
//! The depth must be exact. In a recursion the words of the outer calls are all unchanged, and would
//! match a context that is one call too short. The runtime tells the address of its frame below the
//! call, but not always: at a task with `if(0)` LLVM's tells the frame pointer of its caller, which
//! may belong to any outer function. There the address of a local of the callback serves, which lies
//! at a fixed distance below the call.
//!
//! Calls of Python leave nothing on the stack, so that a context is also known by a number of the thread's frames of
//! Python ([`crate::python`]), of 64 bits.
//!
//! All tables have a fixed size and live in the thread's own mapping.
#![allow(unsafe_code)]

use omp_ring::context::{Head, MAX_WORDS, Word};
use omp_ring::producer::Producer;
use omp_ring::record::CallingContextId;

use crate::code::Code;
use crate::memory::Zeroed;
use crate::process_forks;
use crate::python::Python;
use crate::stack::{self, Copied, Frame, OwnStack, Part};

/// The call into the runtime whose context is wanted. Passed by reference: for a copy the compiler
/// reads wider pieces than were just written, and the processor waits until the writes have left its
/// store buffer, which takes as long as a whole record.
#[derive(Debug)]
pub struct Call {
    /// The return address into the program, or 0.
    pub code: u64,
    /// The address of the frame of the runtime that was called, as the runtime tells it; 0: unknown.
    pub frame: u64,
    /// The outlined function that is passed to the runtime; 0: unknown.
    pub body: u64,
    /// The encountering task is explicit: the frames of the thread that executes it are no part of its
    /// context.
    pub in_task: bool,
    /// Stack frames from this address on belong to the thread that executes that task; 0 if unknown.
    pub task_end: u64,
}

/// What takes new contexts: a thread's ring.
pub trait Sender {
    /// Sends a context: its head, the words of the stack, and those about Python. Returns its id;
    /// [`CallingContextId::NONE`] if there is no room for it.
    fn context(&mut self, head: &Head, words: &[Word], python: &[u64]) -> CallingContextId;
}

impl Sender for Producer<'_> {
    fn context(&mut self, head: &Head, words: &[Word], python: &[u64]) -> CallingContextId {
        Producer::context(self, head, words, python)
    }
}

/// The contexts of one thread. Valid when zeroed.
#[repr(C)]
pub struct Contexts {
    own_stack: OwnStack,
    cache: Cache,
    code: Code,
    found: Found,
    copied: Copied,
    python: Python,
    reads_python: bool,
    /// Bytes that may still be examined beyond [`NEAR`].
    far_left: u64,
}

// SAFETY: integers only.
unsafe impl Zeroed for Contexts {}

/// A stack is always examined up to this distance, in bytes. Most frames lie within it.
const NEAR: u64 = 1 << 20;
/// Bytes that a thread examines beyond that, all contexts together. A new context in a function with an
/// array of 7 MB takes 2 ms, and a program may have thousands of contexts: at most some 70 ms in all.
const FAR: u64 = 256 << 20;

impl Contexts {
    /// Must be called once, by the thread that owns these contexts. `reads_python`: contexts get the frames of Python,
    /// too.
    pub fn begin(&mut self, is_initial: bool, reads_python: bool) {
        self.reads_python = reads_python;
        self.own_stack = OwnStack::of_thread(is_initial);
        self.far_left = FAR;
    }

    /// The id of the context of `call`, which the thread is in now. [`CallingContextId::NONE`] if the
    /// ring has no room for a new one, or no objects are known and the loader may not be called.
    ///
    /// `may_call_loader`: the loader may be asked whether objects were loaded, which takes its lock. Otherwise
    /// code of new ones is not found.
    #[inline]
    pub fn id_of(
        &mut self,
        call: &Call,
        may_call_loader: bool,
        sender: &mut impl Sender,
    ) -> CallingContextId {
        // Aligned as the words of the stack are.
        let here = 0u64;
        let here = (&raw const here) as u64;
        let key = key_of(call) ^ self.key_of_python(call);
        let find = |depth: u64| {
            let is_same = |words: &[Word]| stack::is_same(words, depth, &self.own_stack);
            self.cache.find(key, depth, is_same)
        };
        let id = find(call.frame).or_else(|| find(here));
        match id {
            Some(id) => id,
            None => self.miss(call, may_call_loader, here, sender),
        }
    }

    /// The frames of Python belong to the thread that executes a task, not to its context.
    #[inline]
    fn key_of_python(&self, call: &Call) -> u64 {
        if call.in_task { 0 } else { self.python.key() }
    }

    /// Sends a new context, and keeps the words that identify it.
    #[cold]
    #[inline(never)]
    fn miss(
        &mut self,
        call: &Call,
        may_call_loader: bool,
        here: u64,
        sender: &mut impl Sender,
    ) -> CallingContextId {
        // Unwinding begins in this function.
        let registers = stack::registers();
        let is_known = if may_call_loader {
            let is_known = self.code.refresh();
            if self.reads_python {
                process_forks::with_loader(|| self.python.refresh(self.code.loads()));
            }
            is_known
        } else {
            self.code.is_known()
        };
        if !is_known {
            return CallingContextId::NONE;
        }
        let key = key_of(call) ^ self.key_of_python(call);
        let bounds = (registers.sp, call.task_end);
        let most = NEAR + self.far_left;
        let part = Part::of(&mut self.own_stack, &mut self.copied, bounds, most);
        let end = self
            .found
            .fill(&part, &mut self.code, self.python.is_there());
        let far = (end - registers.sp).saturating_sub(NEAR);
        self.far_left = self.far_left.saturating_sub(far);
        let frames = of_program(self.found.frames(), call);
        let leaf = frames.first().map_or(0, |frame| frame.slot);
        let depth = match call.frame {
            frame if (here..leaf).contains(&frame) && frame.is_multiple_of(8) => frame,
            _ => here,
        };
        // Words of another stack than the thread's own may be unmapped: they are copied each time.
        // An odd depth keeps `is_same` from comparing them in place.
        let is_own = matches!(part, Part::Own(_));
        let depth = if is_own { depth } else { depth | 1 };
        if !is_own
            && let Some(id) = self
                .cache
                .find(key, depth, |known| is_equal(known, depth, frames))
        {
            return id;
        }
        let head = Head {
            code: call.code,
            body: call.body,
            registers,
            end,
            in_task: call.in_task,
        };
        let python = if call.in_task {
            &[]
        } else {
            self.python.frames()
        };
        let id = sender.context(&head, self.found.words(), python);
        if id != CallingContextId::NONE && leaf > depth {
            self.cache.remember((key, depth), id, frames);
        }
        id
    }
}

/// The words found in a part of the stack. Valid when zeroed.
#[repr(C)]
struct Found {
    word_count: usize,
    frame_count: usize,
    /// All words that an unwinder can need.
    words: [Word; MAX_WORDS],
    /// Those of them that may be return addresses.
    frames: [Frame; MAX_WORDS],
}

impl Found {
    /// Examines the words of a part, as many as there is room for. Returns the address where it ended. With
    /// `generates` the program calls code that it generates.
    fn fill(&mut self, part: &Part<'_>, code: &mut Code, generates: bool) -> u64 {
        let range = part.range();
        let mut end = range.end;
        (self.word_count, self.frame_count) = (0, 0);
        part.each(|at, word| {
            let is_on_stack = range.contains(&word);
            let is_code =
                code.holds(word) || generates && !is_on_stack && code.may_be_generated(word);
            // Otherwise it may be a saved frame pointer.
            if !is_code && !is_on_stack {
                return true;
            }
            let Some(entry) = self.words.get_mut(self.word_count) else {
                end = at;
                return false;
            };
            *entry = Word {
                bytes: at - range.start,
                value: word,
            };
            self.word_count += 1;
            if is_code
                && code.may_be_returned_to(word)
                && let Some(entry) = self.frames.get_mut(self.frame_count)
            {
                *entry = Frame { slot: at, ip: word };
                self.frame_count += 1;
            }
            true
        });
        end
    }

    fn words(&self) -> &[Word] {
        self.words.get(..self.word_count).unwrap_or_default()
    }

    fn frames(&self) -> &[Frame] {
        self.frames.get(..self.frame_count).unwrap_or_default()
    }
}

/// The frames from the call into the runtime outward, which are the program's; all frames if that
/// call is not among them. The frames inside of it are the runtime's and this library's.
fn of_program<'a>(frames: &'a [Frame], call: &Call) -> &'a [Frame] {
    // The runtime may keep copies of the address.
    let exact = |frame: &Frame| frame.ip == call.code && frame.slot == call.frame.wrapping_add(8);
    let first = frames
        .iter()
        .position(exact)
        .or_else(|| frames.iter().position(|frame| frame.ip == call.code));
    frames.get(first.unwrap_or(0)..).unwrap_or_default()
}

/// Entries with the same hash. Contexts that differ only in their outer frames share a hash.
const WAYS: usize = 4;
const BUCKETS: usize = 1024;
/// Words of all cached contexts together: 1 MiB, touched as it fills.
const POOL: usize = 1 << 16;

/// Contexts that were sent, with the words that identify them. Valid when zeroed.
#[repr(C)]
struct Cache {
    /// Counts how often the pool was emptied; entries of earlier generations are invalid.
    generation: u32,
    /// Words of the pool in use.
    used: u32,
    /// Chooses the entry of a full bucket that is replaced next.
    victim: u32,
    buckets: [[Entry; WAYS]; BUCKETS],
    pool: [Word; POOL],
}

/// A cached context. Zeroed memory is an empty entry: no generation is 0.
#[derive(Clone, Copy)]
#[repr(C)]
struct Entry {
    key: u64,
    depth: u64,
    start: u32,
    count: u32,
    id: u32,
    generation: u32,
}

impl Cache {
    /// The context with this key and depth whose words satisfy `is_same`. A word is stored with its
    /// distance above the depth.
    #[inline]
    fn find(
        &self,
        key: u64,
        depth: u64,
        is_same: impl Fn(&[Word]) -> bool,
    ) -> Option<CallingContextId> {
        let bucket = self.buckets.get(bucket_of(key, depth))?;
        for entry in bucket {
            let is_candidate = entry.key == key && entry.depth == depth;
            if is_candidate && entry.generation == self.generation {
                let start = entry.start as usize;
                if is_same(self.pool.get(start..start + entry.count as usize)?) {
                    return Some(CallingContextId(entry.id));
                }
            }
        }
        None
    }

    fn remember(&mut self, (key, depth): (u64, u64), id: CallingContextId, frames: &[Frame]) {
        let count = frames.len().next_multiple_of(stack::GROUP);
        if self.generation == 0 || self.used as usize + count > POOL {
            // Generation 0 is that of empty entries. Wrapping would take four thousand million refills.
            self.generation = self.generation.wrapping_add(1).max(1);
            self.used = 0;
        }
        let start = self.used as usize;
        let Some(to) = self.pool.get_mut(start..start + count) else {
            return;
        };
        let mut from = frames.iter().map(|frame| word_of(frame, depth));
        let first = from.clone().next().unwrap_or_default();
        to.iter_mut()
            .for_each(|to| *to = from.next().unwrap_or(first));
        self.used += count as u32;

        let Some(bucket) = self.buckets.get_mut(bucket_of(key, depth)) else {
            return;
        };
        let generation = self.generation;
        let invalid = bucket
            .iter()
            .position(|entry| entry.generation != generation);
        let way = invalid.unwrap_or_else(|| {
            self.victim = self.victim.wrapping_add(1);
            self.victim as usize % WAYS
        });
        if let Some(entry) = bucket.get_mut(way) {
            *entry = Entry {
                key,
                depth,
                start: start as u32,
                count: count as u32,
                id: id.0,
                generation,
            };
        }
    }
}

/// A frame as the cache stores it.
#[inline]
fn word_of(frame: &Frame, depth: u64) -> Word {
    Word {
        bytes: frame.slot.wrapping_sub(depth),
        value: frame.ip,
    }
}

/// Whether the stored words of a context at a depth are these frames.
fn is_equal(known: &[Word], depth: u64, frames: &[Frame]) -> bool {
    known.len() == frames.len().next_multiple_of(stack::GROUP)
        && known
            .iter()
            .zip(frames)
            .all(|(known, frame)| *known == word_of(frame, depth))
}

/// The key of a call: its return address, mixed with the outlined function that it passes. Tail calls
/// have the return address of their caller's call, which several of them share. The return address is
/// on the stack and compared there, so that equal keys mean equal outlined functions, too.
#[inline]
const fn key_of(call: &Call) -> u64 {
    call.code ^ call.body.rotate_left(20)
}

#[inline]
fn bucket_of(key: u64, depth: u64) -> usize {
    let mixed = (key.rotate_left(32) ^ depth).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 48) as usize % BUCKETS
}
