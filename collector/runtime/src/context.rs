//! Calling contexts, cached.
//!
//! Unwinding at each fork would cost microseconds. A context is unwound once; what is kept is
//! each return address together with its place on the stack. The next time that the same call
//! site is reached with its frame at the same address, the places are compared: if all hold the
//! same addresses, it is the same context, and its [`SiteId`] is known. That costs about a
//! nanosecond a frame.
//!
//! All tables have a fixed size and live in the thread's own mapping.

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

/// The call into the runtime that creates a context.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    /// The return address into the program, or 0.
    pub(crate) code: u64,
    /// The stack address of the runtime's frame that was called, or 0: the program's frames are
    /// those called above it.
    pub(crate) frame: u64,
    /// The encountering task is an explicit one: whoever runs it is not part of its context.
    pub(crate) in_task: bool,
}

/// A cached context. Zeroed memory is an empty entry: no generation is 0.
#[derive(Clone, Copy)]
#[repr(C)]
struct Entry {
    code: u64,
    frame: u64,
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
    buckets: [[Entry; WAYS]; BUCKETS],
    pool: [Frame; POOL],
    scratch: [Frame; MAX_FRAMES + 1],
    addresses: [u64; MAX_FRAMES + 1],
}

impl Contexts {
    /// The site of `call`, which the calling thread is making now. [`SiteId::NONE`] where the
    /// stack cannot be read or the site area is full.
    #[inline]
    pub(crate) fn site(&mut self, call: Call, producer: &Producer<'_>) -> SiteId {
        match self.cached(call) {
            Some(site) => site,
            None => self.unwind(call, producer),
        }
    }

    #[inline]
    fn cached(&self, call: Call) -> Option<SiteId> {
        let bucket = self.buckets.get(bucket_of(call))?;
        for entry in bucket {
            if entry.code == call.code
                && entry.frame == call.frame
                && entry.generation == self.generation
            {
                let start = entry.start as usize;
                let frames = self.pool.get(start..start + entry.count as usize)?;
                if stack::is_same(call.frame, frames) {
                    return Some(SiteId(entry.site));
                }
            }
        }
        None
    }

    #[cold]
    #[inline(never)]
    fn unwind(&mut self, call: Call, producer: &Producer<'_>) -> SiteId {
        let walk = stack::walk(call.frame, &mut self.scratch);
        let found = self.scratch.get(..walk.frames).unwrap_or_default();
        // Frames of the runtime and of this library lie within. Where the call site is not on
        // the stack, because the runtime reported an address of its own, the frames above the
        // runtime's are right all the same; without a frame address they are not.
        let inner = match found.iter().position(|frame| frame.ip == call.code) {
            Some(at) => at,
            None if call.frame != 0 => 0,
            None => return SiteId::NONE,
        };
        let frames = found.get(inner..).unwrap_or_default();
        let (frames, in_task) = if call.in_task {
            up_to_runtime(frames)
        } else {
            (frames, false)
        };
        if frames.is_empty() {
            return SiteId::NONE;
        }
        let kept = frames.get(..MAX_FRAMES).unwrap_or(frames);
        let complete = in_task || walk.complete && kept.len() == frames.len();
        self.addresses
            .iter_mut()
            .zip(kept)
            .for_each(|(to, frame)| *to = frame.ip);
        let addresses = self.addresses.get(..kept.len()).unwrap_or_default();
        let site = producer.site(call.code, addresses, complete);
        let range = inner..inner + kept.len();
        if site != SiteId::NONE && stack::can_be_cached(call.frame, kept) {
            self.remember(call, site, range);
        }
        site
    }

    /// Caches the frames in `range` of the scratch buffer.
    fn remember(&mut self, call: Call, site: SiteId, range: std::ops::Range<usize>) {
        let count = range.len();
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
        self.used += count as u32;

        let Some(bucket) = self.buckets.get_mut(bucket_of(call)) else {
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
            let Call { code, frame, .. } = call;
            *entry = Entry {
                code,
                frame,
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

#[inline]
fn bucket_of(call: Call) -> usize {
    let mixed = (call.code.rotate_left(32) ^ call.frame).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 48) as usize % BUCKETS
}
