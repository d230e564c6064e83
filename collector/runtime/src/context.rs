//! Calling contexts, cached.
//!
//! Unwinding at each fork would cost microseconds. A context is unwound once; what is kept is
//! each return address together with its place on the stack. The next time that the same call
//! site is reached at the same depth of the stack, the places are compared: if all hold the same
//! addresses, it is the same context, and its [`SiteId`] is known. That costs about a nanosecond
//! a frame.
//!
//! The depth must be known exactly. In a recursion the places of the outer instances are all
//! still in order, and would pass for a context that is one call too short. The runtime gives
//! the address of its frame below the call, but not always: at a task with `if(0)` LLVM's gives
//! the frame pointer of its caller, which may belong to any function further out. There the
//! depth of the callback itself serves, a fixed distance below.
//!
//! All tables have a fixed size and live in the thread's own mapping.

use std::ops::Range;

use omp_ring::layout::MAX_FRAMES;
use omp_ring::producer::Producer;
use omp_ring::record::SiteId;

use crate::process;
use crate::stack::{self, Frame};

/// Entries that share a hash; contexts that differ only further out share one.
const WAYS: usize = 4;
const BUCKETS: usize = 1024;
/// Frames of all cached contexts together: 1 MiB, touched as it fills.
const POOL: usize = 1 << 16;
/// Frames between the program and the unwinder: this library's and the runtime's.
const INNER: usize = 64;

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
    /// The encountering task is an explicit one: whoever runs it is not part of its context.
    pub(crate) in_task: bool,
}

/// A cached context. Zeroed memory is an empty entry: no generation is 0.
#[derive(Clone, Copy)]
#[repr(C)]
struct Entry {
    key: u64,
    depth: u64,
    start: u32,
    count: u32,
    site: u32,
    generation: u32,
}

/// The cache of one thread. Valid when zeroed.
#[repr(C)]
pub(crate) struct Contexts {
    /// The pool's contents in use; entries of earlier ones are void.
    generation: u32,
    /// Frames of the pool in use.
    used: u32,
    /// Which way of a full bucket goes next.
    victim: u32,
    /// The thread's [`stack::own_stack`].
    own_stack: Range<u64>,
    buckets: [[Entry; WAYS]; BUCKETS],
    pool: [Frame; POOL],
    scratch: [Frame; MAX_FRAMES + INNER],
    addresses: [u64; MAX_FRAMES],
}

impl Contexts {
    /// To be called once, by the thread that they are of.
    pub(crate) fn begin(&mut self, is_initial: bool) {
        self.own_stack = stack::own_stack(is_initial);
    }

    /// The site of `call`, which the calling thread is making now. [`SiteId::NONE`] where the
    /// stack cannot be read or the site area is full.
    #[inline]
    pub(crate) fn site(&mut self, call: &Call, producer: &Producer<'_>) -> SiteId {
        let here = 0u8;
        let here = (&raw const here) as u64;
        let key = key_of(call);
        match self
            .cached(key, call.frame)
            .or_else(|| self.cached(key, here))
        {
            Some(site) => site,
            None => self.unwind(call, here, producer),
        }
    }

    #[inline]
    fn cached(&self, key: u64, depth: u64) -> Option<SiteId> {
        let bucket = self.buckets.get(bucket_of(key, depth))?;
        for entry in bucket {
            let alike = entry.key == key && entry.depth == depth;
            if alike && entry.generation == self.generation {
                let start = entry.start as usize;
                let frames = self.pool.get(start..start + entry.count as usize)?;
                if stack::is_same(frames, &self.own_stack) {
                    return Some(SiteId(entry.site));
                }
            }
        }
        None
    }

    #[cold]
    #[inline(never)]
    fn unwind(&mut self, call: &Call, here: u64, producer: &Producer<'_>) -> SiteId {
        let walk = stack::walk(&mut self.scratch);
        let found = self.scratch.get(..walk.frames).unwrap_or_default();
        // Where the call site is not on the stack, or the runtime gave none, what comes after
        // this library's frames and the runtime's is the program all the same.
        let inner = found
            .iter()
            .position(|frame| frame.ip == call.code)
            .or_else(|| found.iter().position(|frame| !process::is_inner(frame.ip)));
        let Some(inner) = inner else {
            return SiteId::NONE;
        };
        let frames = found.get(inner..).unwrap_or_default();
        let (frames, cut) = if call.in_task {
            up_to_runtime(frames)
        } else {
            (frames, false)
        };
        let kept = frames.get(..MAX_FRAMES).unwrap_or(frames);
        let complete = kept.len() == frames.len() && (cut || walk.complete);
        self.addresses
            .iter_mut()
            .zip(kept)
            .for_each(|(to, frame)| *to = frame.ip);
        let addresses = self.addresses.get(..kept.len()).unwrap_or_default();
        let site = producer.site((call.code, call.body), addresses, complete);
        let leaf = kept.first().map_or(0, |frame| frame.slot);
        if site != SiteId::NONE && stack::can_be_cached(kept) {
            let depth = if (here..leaf).contains(&call.frame) {
                call.frame
            } else {
                here
            };
            let range = inner..inner + kept.len();
            self.remember((key_of(call), depth), site, range);
        }
        site
    }

    /// Caches the frames in `range` of the scratch buffer.
    fn remember(&mut self, key: (u64, u64), site: SiteId, range: Range<usize>) {
        let count = range.len().next_multiple_of(stack::GROUP);
        if self.generation == 0 || self.used as usize + count > POOL {
            // Wrapping past 0 would take four thousand million refills.
            self.generation = self.generation.wrapping_add(1).max(1);
            self.used = 0;
        }
        let start = self.used as usize;
        let (Some(to), Some(from)) = (
            self.pool.get_mut(start..start + count),
            self.scratch.get(range),
        ) else {
            return;
        };
        to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        to.iter_mut().skip(from.len()).for_each(Frame::fill);
        self.used += count as u32;

        let (key, depth) = key;
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
            let (start, count) = (start as u32, count as u32);
            *entry = Entry {
                key,
                depth,
                start,
                count,
                site: site.0,
                generation,
            };
        }
    }
}

/// Cuts `frames` after the first return address into the runtime that lies outside the program's
/// innermost frames; whether there is one. A task that the runtime runs in place (`if(0)`) has
/// none between itself and its creator.
fn up_to_runtime(frames: &[Frame]) -> (&[Frame], bool) {
    let program = frames
        .iter()
        .position(|frame| !process::is_runtime(frame.ip));
    let entry = program.and_then(|program| {
        let outer = frames.get(program..)?;
        Some(
            program
                + outer
                    .iter()
                    .position(|frame| process::is_runtime(frame.ip))?,
        )
    });
    match entry {
        Some(at) => (frames.get(..=at).unwrap_or(frames), true),
        None => (frames, false),
    }
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
