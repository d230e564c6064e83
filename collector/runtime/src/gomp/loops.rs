//! Worksharing loops, sections and singles of libgomp, for their counts ([`crate::loops`]).
//!
//! gcc makes the parts of a loop with a static schedule itself: no call tells of it.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, AtomicUsize};

use inside::{At, Saved, What};
use omp_ring::loops::{LoopKey, Schedule};
use ompt::kind::{ANY, BARE, DOACROSS, DYNAMIC, GUIDED, ORDERED, STATIC, UNSIGNED, WORK};

use super::provider::{self, Provider};
use super::{sync, with};
use crate::loops::Loop;

/// Up to ten arguments; those that a function does not have are ignored.
type Start = unsafe extern "C-unwind" fn(
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
) -> usize;

type Next = unsafe extern "C-unwind" fn(usize, usize) -> usize;

/// The schedule of an entry point of this kind.
const fn schedule(kind: u32) -> Schedule {
    let schedule = match kind & WORK {
        STATIC => Schedule::STATIC_CHUNKED,
        DYNAMIC => Schedule::DYNAMIC,
        GUIDED => Schedule::GUIDED,
        _ => Schedule::RUNTIME,
    };
    if kind & ORDERED != 0 {
        schedule.ordered()
    } else {
        schedule
    }
}

/// A schedule as libgomp's `GOMP_loop_start` takes it (`gomp_schedule_type`, without the bit that
/// says monotonic).
const fn schedule_of(argument: usize) -> Schedule {
    match argument as u32 & !(1 << 31) {
        1 => Schedule::STATIC_CHUNKED,
        2 => Schedule::DYNAMIC,
        3 => Schedule::GUIDED,
        4 => Schedule::AUTO,
        _ => Schedule::RUNTIME,
    }
}

/// The first call of a loop, and the pointers to the chunk's bounds that it fills.
fn arguments(saved: &Saved, kind: u32) -> (Loop, [usize; 2]) {
    let [r0, r1, r2, r3, r4, r5] = saved.registers;
    let [s0, s1, s2, s3, ..] = saved.stack;
    let all = [r0, r1, r2, r3, r4, r5, s0, s1, s2, s3];
    let argument = |at: usize| all.get(at).copied().unwrap_or(0);
    // Before the schedule or chunk: the bounds and the step, or the dimensions.
    let (step, mut chunk_at) = match kind {
        _ if kind & DOACROSS != 0 => (1, 2),
        _ if kind & UNSIGNED != 0 => (argument(3), 4),
        _ => (argument(2), 3),
    };
    let mut schedule = schedule(kind);
    if kind & ANY != 0 {
        schedule = Schedule(schedule.0 & Schedule::ORDERED | schedule_of(argument(chunk_at)).0);
        chunk_at += 1;
    }
    let (chunk, bounds_at) = if kind & BARE != 0 {
        (0, chunk_at)
    } else {
        (argument(chunk_at), chunk_at + 1)
    };
    let it = Loop {
        key: LoopKey::new(saved.at().code(), schedule),
        chunk: chunk as u64,
        step: (step as i64).unsigned_abs(),
    };
    (it, [argument(bounds_at), argument(bounds_at + 1)])
}

/// The distance between a chunk's bounds.
///
/// # Safety
/// They point to the bounds that the runtime has just written.
#[inline(always)]
unsafe fn distance([start, end]: [usize; 2]) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { (*(end as *const i64)).wrapping_sub(*(start as *const i64)) }.unsigned_abs()
}

/// A loop begins: the call gives the first chunk, if there is one for this thread.
pub(super) unsafe extern "C-unwind" fn start(saved: *mut Saved, what: What) -> usize {
    // SAFETY: the entry point's own.
    let saved = unsafe { &*saved };
    let (at, provider) = (saved.at(), provider::of(what.function(), saved.at().code()));
    // SAFETY: such a function; arguments beyond its own are ignored.
    let real = unsafe { provider.real::<Start>(what.function()) };
    let [r0, r1, r2, r3, r4, r5] = saved.registers;
    let [s0, s1, s2, s3, ..] = saved.stack;
    let (it, bounds) = arguments(saved, what.kind());
    let asked = with_loops(provider, |thread| {
        if what.kind() & DOACROSS != 0 {
            thread.gomp.dimensions = r0 as u32;
        }
        thread.loop_begin(at.frame(), it)
    });
    // SAFETY: the caller's own arguments.
    let more = unsafe { real(r0, r1, r2, r3, r4, r5, s0, s1, s2, s3) };
    // Some are called without pointers, to register a reduction alone.
    let has_chunk = more as u8 != 0 && bounds[0] != 0;
    // SAFETY: the runtime has written them.
    let distance = if has_chunk {
        unsafe { distance(bounds) }
    } else {
        0
    };
    with_loops(provider, |thread| {
        thread.loop_got(at.frame(), asked, distance)
    });
    more
}

/// Calls `f` with the thread if the runtime's constructs are recorded.
#[inline(always)]
fn with_loops<R: Default>(
    provider: &Provider,
    f: impl FnOnce(&mut crate::thread::Thread) -> R,
) -> R {
    if provider.records() {
        with(f)
    } else {
        R::default()
    }
}

/// The next chunk of a loop.
pub(super) unsafe extern "C-unwind" fn next(a: usize, b: usize, at: At, what: What) -> usize {
    let provider = provider::of(what.function(), at.code());
    // SAFETY: a function of two arguments.
    let real = unsafe { provider.real::<Next>(what.function()) };
    let asked = with_loops(provider, |thread| {
        if !thread.is_in_loop(at.frame())
            && let Some((step, chunk)) = combined(thread.gomp.body)
        {
            let key = LoopKey::new(at.code(), schedule(what.kind()));
            return thread.loop_begin(at.frame(), Loop { key, chunk, step });
        }
        thread.loop_asks()
    });
    // SAFETY: the caller's own arguments.
    let more = unsafe { real(a, b) };
    // SAFETY: the runtime has written the bounds.
    let distance = if more as u8 != 0 {
        unsafe { distance([a, b]) }
    } else {
        0
    };
    with_loops(provider, |thread| {
        thread.loop_got(at.frame(), asked, distance)
    });
    more
}

/// As [`next`], after the runtime's call has been made and returned `more`: of a loop with an
/// `ordered` clause, which the call may wait for.
pub(super) fn ordered_next(at: At, [a, b]: [usize; 2], more: usize) {
    // SAFETY: the runtime has written the bounds.
    let distance = if more as u8 != 0 {
        unsafe { distance([a, b]) }
    } else {
        0
    };
    with(|thread| thread.loop_got(at.frame(), 0, distance));
}

/// Sections begin: the first argument is their number. The call gives the first one, from 1, or 0.
pub(super) unsafe extern "C-unwind" fn sections(saved: *mut Saved, what: What) -> usize {
    // SAFETY: the entry point's own.
    let saved = unsafe { &*saved };
    let at = saved.at();
    let provider = provider::of(what.function(), at.code());
    // SAFETY: such a function; arguments beyond its own are ignored.
    let real = unsafe { provider.real::<Start>(what.function()) };
    let [r0, r1, r2, r3, r4, r5] = saved.registers;
    let it = of_sections(at);
    let asked = with_loops(provider, |thread| thread.loop_begin(at.frame(), it));
    // SAFETY: the caller's own arguments.
    let section = unsafe { real(r0, r1, r2, r3, r4, r5, 0, 0, 0, 0) };
    let got = u64::from(section as u32 != 0);
    with_loops(provider, |thread| thread.loop_got(at.frame(), asked, got));
    section
}

fn of_sections(at: At) -> Loop {
    Loop {
        key: LoopKey::new(at.code(), Schedule::SECTIONS),
        chunk: 0,
        step: 1,
    }
}

/// The next section. Those of a region that is nothing else begin with it.
pub(super) unsafe extern "C-unwind" fn next_section(
    a: usize,
    b: usize,
    at: At,
    what: What,
) -> usize {
    let provider = provider::of(what.function(), at.code());
    // SAFETY: a function without arguments.
    let real = unsafe { provider.real::<Next>(what.function()) };
    let asked = with_loops(provider, |thread| {
        if !thread.is_in_loop(at.frame()) && combined(thread.gomp.body).is_some() {
            return thread.loop_begin(at.frame(), of_sections(at));
        }
        thread.loop_asks()
    });
    // SAFETY: it takes none.
    let section = unsafe { real(a, b) };
    let got = u64::from(section as u32 != 0);
    with_loops(provider, |thread| thread.loop_got(at.frame(), asked, got));
    section
}

/// A loop or sections end, with a barrier; the kind is that of the barrier.
pub(super) unsafe extern "C-unwind" fn end(a: usize, b: usize, at: At, what: What) -> usize {
    let provider = provider::of(what.function(), at.code());
    with_loops(provider, |thread| thread.loop_end(at.frame()));
    // SAFETY: the caller's own arguments.
    unsafe { sync::wait(a, b, at, what) }
}

/// They end without one.
pub(super) unsafe extern "C-unwind" fn end_nowait(a: usize, b: usize, at: At, what: What) -> usize {
    let provider = provider::of(what.function(), at.code());
    with_loops(provider, |thread| thread.loop_end(at.frame()));
    // SAFETY: a function without arguments.
    unsafe { provider.real::<Next>(what.function())(a, b) }
}

/// A single begins: the call returns whether this thread executes it. Its end is the barrier that
/// follows, or that of the region; one with `nowait` has none.
pub(super) unsafe extern "C-unwind" fn single(a: usize, b: usize, at: At, what: What) -> usize {
    let provider = provider::of(what.function(), at.code());
    // SAFETY: a function without arguments.
    let is_it = unsafe { provider.real::<Next>(what.function())(a, b) };
    with_loops(provider, |thread| {
        let it = Loop {
            key: LoopKey::new(at.code(), Schedule::SINGLE),
            chunk: 0,
            step: 1,
        };
        thread.loop_passed(it, u64::from(is_it as u8));
        if is_it as u8 != 0 {
            thread.loop_begin(at.frame(), it);
        }
    });
    is_it
}

/// A barrier that a single with its frame, if there is one, ends at.
pub(super) unsafe extern "C-unwind" fn barrier(a: usize, b: usize, at: At, what: What) -> usize {
    let provider = provider::of(what.function(), at.code());
    with_loops(provider, |thread| {
        thread.single_end(Some(at.frame()));
    });
    // SAFETY: the caller's own arguments.
    unsafe { sync::wait(a, b, at, what) }
}

/// Regions that are one loop or sections: the threads' first call asks for a chunk, and only the call
/// that forks the region tells about the loop. By the outlined function; as many as there is room for.
static COMBINED: [Combined; 256] = [const {
    Combined {
        body: AtomicUsize::new(0),
        step: AtomicU64::new(0),
        chunk: AtomicU64::new(0),
    }
}; 256];

struct Combined {
    /// 0: free.
    body: AtomicUsize,
    step: AtomicU64,
    chunk: AtomicU64,
}

fn places(body: usize) -> impl Iterator<Item = &'static Combined> {
    let first = body.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
    (first..first + COMBINED.len()).map_while(|at| COMBINED.get(at % COMBINED.len()))
}

/// Before a region is forked that is one loop of this step and chunk, or sections.
#[inline]
pub(super) fn note_combined(body: usize, step: u64, chunk: u64) {
    for place in places(body) {
        let known = match place.body.load(Acquire) {
            0 => place.body.compare_exchange(0, body, Release, Acquire),
            known => Err(known),
        };
        if known.is_ok() || known == Err(body) {
            // Only a change takes the cache line from the other threads.
            for (word, value) in [(&place.step, step.max(1)), (&place.chunk, chunk)] {
                if word.load(Relaxed) != value {
                    word.store(value, Relaxed);
                }
            }
            return;
        }
    }
}

/// The step and chunk of the region with this body, if it is one loop.
#[inline]
fn combined(body: usize) -> Option<(u64, u64)> {
    for place in places(body) {
        match place.body.load(Acquire) {
            0 => return None,
            known if known == body => {
                return Some((place.step.load(Relaxed), place.chunk.load(Relaxed)));
            }
            _ => {}
        }
    }
    None
}
