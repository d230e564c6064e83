//! Calling contexts, cached.
//!
//! To send the stack at each fork would cost microseconds. A context is sent once, as the words of the
//! stack that an unwinder can need; what is kept is each word that may be a return
//! address, together with its place. The next time that the same call site is reached
//! at the same depth of the stack, the places are compared: if all hold the same words, it is the same
//! context, and its name is known. That costs half a nanosecond a word. Words that are
//! none, as earlier calls left them, can make two of one context, and never one of two.
//!
//! The depth must be known exactly. In a recursion the places of the outer instances are all
//! still in order, and would pass for a context that is one call too short. The runtime gives
//! the address of its frame below the call, but not always: at a task with `if(0)` LLVM's gives
//! the frame pointer of its caller, which may belong to any function further out. There the
//! depth of the callback itself serves, a fixed distance below.
//!
//! All tables have a fixed size and live in the thread's own mapping.

use omp_ring::context::{Head, MAX_BYTES, MAX_WORDS, Word};
use omp_ring::producer::Producer;
use omp_ring::record::CallingContextId;

use crate::code::Code;
use crate::stack::{self, Copied, Frame, OwnStack, Part};

/// The call into the runtime that creates a context. It is handed on by reference: to copy it, the
/// compiler reads by wider pieces what has just been written by narrower ones, and the processor
/// waits until those have left its store buffer, which takes as long as all of a record.
#[derive(Debug)]
pub(crate) struct Call {
    /// The return address into the program, or 0.
    pub(crate) code: u64,
    /// What the runtime says is the address of its frame that was called; 0: nothing.
    pub(crate) frame: u64,
    /// The function that the runtime is given to run; 0: the runtime does not say.
    pub(crate) body: u64,
    /// The encountering task is an explicit one: the frames of the thread that runs it are no part of
    /// its context.
    pub(crate) in_task: bool,
    /// From here on the stack belongs to the code that runs that task; 0 if unknown.
    pub(crate) task_end: u64,
}

/// The contexts of one thread. Valid when zeroed.
#[repr(C)]
pub(crate) struct Contexts {
    own_stack: OwnStack,
    cache: Cache,
    code: Code,
    found: Found,
    copied: Copied,
}

impl Contexts {
    /// To be called once, by the thread that they are of.
    pub(crate) fn begin(&mut self, is_initial: bool) {
        self.own_stack = OwnStack::of_thread(is_initial);
    }

    /// The name of the context of `call`, which the thread is making now. [`CallingContextId::NONE`] where the
    /// ring has no room for a new one.
    #[inline]
    pub(crate) fn id_of(&mut self, call: &Call, producer: &mut Producer<'_>) -> CallingContextId {
        // As the stack's words are.
        let here = 0u64;
        let here = (&raw const here) as u64;
        let key = key_of(call);
        let find = |depth: u64| {
            let is_same = |words: &[Word]| stack::is_same(words, depth, &self.own_stack);
            self.cache.find(key, depth, is_same)
        };
        let id = find(call.frame).or_else(|| find(here));
        match id {
            Some(id) => id,
            None => self.miss(call, here, producer),
        }
    }

    /// Sends the part of the stack that identifies the context, and keeps what recognises it.
    #[cold]
    #[inline(never)]
    fn miss(&mut self, call: &Call, here: u64, producer: &mut Producer<'_>) -> CallingContextId {
        // Unwinding begins in this function.
        let registers = stack::registers();
        if !self.code.refresh() {
            return CallingContextId::NONE;
        }
        let ends = (registers.sp, call.task_end);
        let part = Part::of(&mut self.own_stack, &mut self.copied, ends, MAX_BYTES);
        let end = self.found.fill(&part, &self.code);
        let frames = of_program(self.found.frames(), call);
        let leaf = frames.first().map_or(0, |frame| frame.slot);
        let depth = match call.frame {
            frame if (here..leaf).contains(&frame) && frame.is_multiple_of(8) => frame,
            _ => here,
        };
        let key = key_of(call);
        // What lies on another stack than the thread's own was not compared in place.
        if matches!(part, Part::Other(..))
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
        let id = producer.context(&head, self.found.words());
        if id != CallingContextId::NONE && leaf > depth {
            self.cache.remember((key, depth), id, frames);
        }
        id
    }
}

/// What was found in a part of the stack. Valid when zeroed.
#[repr(C)]
struct Found {
    word_count: usize,
    frame_count: usize,
    /// All that an unwinder can need.
    words: [Word; MAX_WORDS],
    /// Of those, what may be a return address.
    frames: [Frame; MAX_WORDS],
}

impl Found {
    /// Looks at all words of a part, or as many as there is room for; returns where it ended.
    fn fill(&mut self, part: &Part<'_>, code: &Code) -> u64 {
        let range = part.range();
        let mut end = range.end;
        (self.word_count, self.frame_count) = (0, 0);
        part.each(|at, word| {
            let is_code = code.holds(word);
            // Else it may be a frame pointer that was saved.
            if !is_code && !range.contains(&word) {
                return true;
            }
            let Some(place) = self.words.get_mut(self.word_count) else {
                end = at;
                return false;
            };
            *place = Word::new(at - range.start, word);
            self.word_count += 1;
            if is_code
                && code.may_be_returned_to(word)
                && let Some(place) = self.frames.get_mut(self.frame_count)
            {
                *place = Frame { slot: at, ip: word };
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

/// Those from the call into the runtime on, which the program has made; all where that cannot be
/// told. What lies before it is the runtime's own, and this library's.
fn of_program<'a>(frames: &'a [Frame], call: &Call) -> &'a [Frame] {
    // The runtime may keep copies of the address.
    let exact = |frame: &Frame| frame.ip == call.code && frame.slot == call.frame.wrapping_add(8);
    let first = frames
        .iter()
        .position(exact)
        .or_else(|| frames.iter().position(|frame| frame.ip == call.code));
    frames.get(first.unwrap_or(0)..).unwrap_or_default()
}

/// Entries that share a hash; contexts that differ only further out share one.
const WAYS: usize = 4;
const BUCKETS: usize = 1024;
/// Words of all cached contexts together: 512 KiB, touched as it fills.
const POOL: usize = 1 << 16;

/// Contexts that were sent, by what recognises them. Valid when zeroed.
#[repr(C)]
struct Cache {
    /// The pool's contents in use; entries of earlier ones are void.
    generation: u32,
    /// Words of the pool in use.
    used: u32,
    /// Which way of a full bucket goes next.
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
    /// The context with this key and depth of which `is_same` says so, given its words, of
    /// which each is so far above the depth.
    #[inline]
    fn find(
        &self,
        key: u64,
        depth: u64,
        is_same: impl Fn(&[Word]) -> bool,
    ) -> Option<CallingContextId> {
        let bucket = self.buckets.get(bucket_of(key, depth))?;
        for entry in bucket {
            let alike = entry.key == key && entry.depth == depth;
            if alike && entry.generation == self.generation {
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
            // Wrapping past 0 would take four thousand million refills.
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
        let void = bucket
            .iter()
            .position(|entry| entry.generation != generation);
        let way = void.unwrap_or_else(|| {
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

/// A frame as it is kept of a context at a depth.
#[inline]
fn word_of(frame: &Frame, depth: u64) -> Word {
    Word::new(frame.slot.wrapping_sub(depth), frame.ip)
}

/// Whether what is kept of a context at a depth are these frames.
fn is_equal(known: &[Word], depth: u64, frames: &[Frame]) -> bool {
    known.len() == frames.len().next_multiple_of(stack::GROUP)
        && known
            .iter()
            .zip(frames)
            .all(|(known, frame)| *known == word_of(frame, depth))
}

/// Tells calls apart by their place and by what they give the runtime to run: where a call was made
/// a jump, the place is that of the caller's call, and several jumps share it. The place is on the
/// stack and compared there, so that with equal keys the bodies are equal, too.
#[inline]
const fn key_of(call: &Call) -> u64 {
    call.code ^ call.body.rotate_left(20)
}

#[inline]
fn bucket_of(key: u64, depth: u64) -> usize {
    let mixed = (key.rotate_left(32) ^ depth).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 48) as usize % BUCKETS
}
