//! Worksharing loops, sections and singles of LLVM's runtime, for their counts ([`crate::loops`]). They
//! are recorded if the runtime has announced the thread.
//!
//! OMPT would tell of them by `work` and `dispatch`: see [`crate::ompt`] for why it is not asked.

use inside::{Saved, What};
use omp_ring::loops::{LoopKey, Schedule};
use ompt::kind::{DISTRIBUTED, LONG, UNSIGNED};

use super::provider;
use crate::loops::Loop;
use crate::thread::Thread;
use crate::tls;

/// Calls the real function with the caller's arguments.
///
/// # Safety
/// `saved` belongs to a call of the function.
#[inline(always)]
unsafe fn real(saved: &Saved, what: What) -> usize {
    let address = provider::bound(what.function(), saved.at().code());
    // SAFETY: the function of that name, with its arguments.
    unsafe { saved.forward(address) }
}

/// Calls `f` with the thread if the runtime has announced it.
#[inline(always)]
fn with<R: Default>(f: impl FnOnce(&mut Thread) -> R) -> R {
    tls::with(|thread| {
        if thread.is_announced() {
            f(thread)
        } else {
            R::default()
        }
    })
}

/// The type of a loop's variable.
#[derive(Clone, Copy)]
struct Variable {
    is_unsigned: bool,
    is_long: bool,
}

impl Variable {
    fn of(what: What) -> Variable {
        Variable {
            is_unsigned: what.kind() & UNSIGNED != 0,
            is_long: what.kind() & LONG != 0,
        }
    }

    /// The value of an argument.
    #[inline(always)]
    fn value(self, word: u64) -> i128 {
        match (self.is_long, self.is_unsigned) {
            (true, true) => i128::from(word),
            (true, false) => i128::from(word as i64),
            (false, true) => i128::from(word as u32),
            (false, false) => i128::from(word as i32),
        }
    }

    /// The value that an argument points to.
    ///
    /// # Safety
    /// It points to such a variable.
    #[inline(always)]
    unsafe fn read(self, pointer: usize) -> i128 {
        // SAFETY: the caller's promise.
        let word = unsafe {
            if self.is_long {
                *(pointer as *const u64)
            } else {
                u64::from(*(pointer as *const u32))
            }
        };
        self.value(word)
    }

    /// A step or stride, which is signed.
    #[inline(always)]
    fn step(self, word: usize) -> i128 {
        if self.is_long {
            i128::from(word as i64)
        } else {
            i128::from(word as i32)
        }
    }
}

/// The number of iterations from `lower` to `upper`, both included.
#[inline(always)]
fn trip(lower: i128, upper: i128, step: i128) -> u64 {
    let distance = if step < 0 {
        lower - upper
    } else {
        upper - lower
    };
    if distance < 0 {
        return 0;
    }
    match step.unsigned_abs() {
        0 | 1 => distance as u64 + 1,
        // The distance of two values of 64 bits.
        step => distance as u64 / step as u64 + 1,
    }
}

/// `KMP_IDENT_WORK_SECTIONS`: clang compiles sections to a static loop over their numbers.
const SECTIONS: u32 = 0x400;

/// The number of a schedule (`sched_type` of LLVM's `kmp.h`) without what is added to it.
const fn number(argument: usize) -> u32 {
    /// `kmp_nm_lower`: loops whose chunks are not to be merged.
    const NOT_MERGED: u32 = 160;
    /// Bits that say monotonic and nonmonotonic.
    const MODIFIERS: u32 = 3 << 29;
    match argument as u32 & !MODIFIERS {
        number if number >= NOT_MERGED => number - 128,
        number => number,
    }
}

/// Whether a static schedule deals out chunks of a given length, in turn.
const fn has_chunks(argument: usize) -> bool {
    matches!(number(argument), 33 | 45 | 91)
}

/// The schedule of a call with this location.
fn schedule(argument: usize, location: usize) -> Schedule {
    let number = number(argument);
    // SAFETY: `ident_t`, which the compiler makes, or NULL: two words of four bytes first.
    let flags = unsafe { (location as *const [u32; 2]).as_ref() }.map_or(0, |[_, flags]| *flags);
    if flags & SECTIONS != 0 {
        return Schedule::SECTIONS;
    }
    let plain = |number| match number {
        33 | 45 => Schedule::STATIC_CHUNKED,
        34 | 40 | 41 => Schedule::STATIC,
        35 | 44 => Schedule::DYNAMIC,
        36 | 39 | 42 | 43 | 46 => Schedule::GUIDED,
        37 | 47 => Schedule::RUNTIME,
        91 | 92 => Schedule::DISTRIBUTE,
        _ => Schedule::AUTO,
    };
    match number {
        // The same schedules with an `ordered` clause.
        65..=71 => plain(number - 32).ordered(),
        _ => plain(number),
    }
}

/// A loop with a static schedule begins. Arguments: location, thread, schedule, pointers to a flag,
/// the lower and the upper bound; on the stack a pointer to the stride, the step, the chunk. The call
/// replaces the bounds of the loop by those of the thread's first chunk. If the loop is also distributed,
/// a pointer to the upper bound of the team's part stands before the stride.
pub(super) unsafe extern "C-unwind" fn static_init(saved: *mut Saved, what: What) -> usize {
    // SAFETY: the entry point's own.
    let saved = unsafe { &*saved };
    let [location, _, number, _, lower, upper] = saved.registers;
    let is_distributed = what.kind() & DISTRIBUTED != 0;
    let (stride, step, chunk) = match saved.stack {
        [_, stride, step, chunk, ..] if is_distributed => (stride, step, chunk),
        [stride, step, chunk, ..] => (stride, step, chunk),
    };
    let variable = Variable::of(what);
    let (step, chunk) = (variable.step(step), variable.step(chunk).max(1));
    let schedule = self::schedule(number, location);
    let frame = saved.at().frame();
    with(|thread| {
        let it = Loop {
            key: LoopKey::new(saved.at().code(), schedule),
            chunk: if has_chunks(number) { chunk as u64 } else { 0 },
            step: 1,
        };
        thread.loop_begin(frame, it);
    });
    // SAFETY: the caller's arguments: pointers to such variables.
    let (first, last) = unsafe { (variable.read(lower), variable.read(upper)) };
    // SAFETY: such a call.
    let result = unsafe { real(saved, what) };
    // SAFETY: as before.
    let (begin, end, stride) = unsafe {
        let stride = if variable.is_long {
            i128::from(*(stride as *const i64))
        } else {
            i128::from(*(stride as *const i32))
        };
        (variable.read(lower), variable.read(upper), stride)
    };
    let (chunks, iterations) = if has_chunks(number) && is_distributed {
        // SAFETY: a pointer to such a variable, which the runtime has set.
        let last = unsafe { variable.read(saved.stack[0]) };
        let trip = trip(begin, last, step);
        share(trip, chunk as u64, (0, step, stride))
    } else if has_chunks(number) {
        let trip = trip(first, last, step);
        share(trip, chunk as u64, (begin - first, step, stride))
    } else {
        let iterations = trip(begin, end, step);
        (u64::from(iterations > 0), iterations)
    };
    with(|thread| thread.loop_got_all(frame, chunks, iterations));
    result
}

/// A thread's chunks and iterations of a loop of `trip` iterations whose chunks are dealt out in turn:
/// its first chunk begins at `offset` from the loop's begin, and the next one a stride later.
fn share(trip: u64, chunk: u64, (offset, step, stride): (i128, i128, i128)) -> (u64, u64) {
    let length = step.max(1).max(-step) as u64;
    let length = length.saturating_mul(chunk);
    let first = offset.unsigned_abs() as u64 / length;
    let threads = (stride.unsigned_abs() as u64 / length).max(1);
    let all = trip.div_ceil(chunk);
    if first >= all {
        return (0, 0);
    }
    let chunks = (all - 1 - first) / threads + 1;
    let has_last = (all - 1 - first).is_multiple_of(threads);
    let missing = if has_last { all * chunk - trip } else { 0 };
    (chunks, chunks * chunk - missing)
}

/// Another loop begins. Arguments: location, thread, schedule, bounds, step; on the stack the chunk.
pub(super) unsafe extern "C-unwind" fn dispatch_init(saved: *mut Saved, what: What) -> usize {
    // SAFETY: the entry point's own.
    let saved = unsafe { &*saved };
    let [location, _, schedule, _, _, step] = saved.registers;
    let [chunk, ..] = saved.stack;
    let variable = Variable::of(what);
    let schedule = self::schedule(schedule, location);
    let has_chunk = !matches!(
        Schedule(schedule.0 & !Schedule::ORDERED),
        Schedule::RUNTIME | Schedule::AUTO | Schedule::STATIC
    );
    with(|thread| {
        let it = Loop {
            key: LoopKey::new(saved.at().code(), schedule),
            chunk: if has_chunk {
                variable.step(chunk).max(0) as u64
            } else {
                0
            },
            step: variable.step(step).unsigned_abs() as u64,
        };
        thread.loop_begin(saved.at().frame(), it);
    });
    // SAFETY: such a call.
    unsafe { real(saved, what) }
}

/// The next chunk. Arguments: location, thread, pointers to a flag, the bounds and the step. Returns
/// whether there is one; the loop ends with the last call.
pub(super) unsafe extern "C-unwind" fn dispatch_next(saved: *mut Saved, what: What) -> usize {
    // SAFETY: the entry point's own.
    let saved = unsafe { &*saved };
    let [_, _, _, lower, upper, _] = saved.registers;
    let variable = Variable::of(what);
    let frame = saved.at().frame();
    let asked = with(Thread::loop_asks);
    // SAFETY: such a call.
    let more = unsafe { real(saved, what) };
    let has_chunk = more as u32 != 0;
    let mut distance = 0;
    if has_chunk {
        // SAFETY: the runtime has written the bounds.
        let (lower, upper) = unsafe { (variable.read(lower), variable.read(upper)) };
        distance = (upper - lower).unsigned_abs() as u64 + 1;
    }
    with(|thread| {
        thread.loop_got(frame, asked, distance);
        if !has_chunk {
            thread.loop_end(frame);
        }
    });
    more
}

/// A loop with a static schedule ends.
pub(super) unsafe extern "C-unwind" fn end(saved: *mut Saved, what: What) -> usize {
    // SAFETY: the entry point's own.
    let saved = unsafe { &*saved };
    with(|thread| thread.loop_end(saved.at().frame()));
    // SAFETY: such a call.
    unsafe { real(saved, what) }
}

/// A single: the call returns whether this thread executes it, and calls [`end_single`]
/// then.
pub(super) unsafe extern "C-unwind" fn single(saved: *mut Saved, what: What) -> usize {
    // SAFETY: the entry point's own.
    let saved = unsafe { &*saved };
    // SAFETY: such a call.
    let is_it = unsafe { real(saved, what) };
    with(|thread| {
        let it = Loop {
            key: LoopKey::new(saved.at().code(), Schedule::SINGLE),
            chunk: 0,
            step: 1,
        };
        thread.loop_passed(it, u64::from(is_it as u32));
        if is_it as u32 != 0 {
            thread.loop_begin(saved.at().frame(), it);
        }
    });
    is_it
}

/// Adds a taskloop to the counts of loops. Arguments: location, thread, the pattern of its tasks, a
/// condition, pointers to the bounds; on the stack the step, a flag, whether the last one is a grain
/// size (1) or a number of tasks (2), and that.
pub(super) fn count_taskloop(thread: &mut Thread, saved: &Saved) {
    let [_, _, _, _, lower, upper] = saved.registers;
    let [step, _, kind, size, ..] = saved.stack;
    // SAFETY: the caller's arguments: pointers to numbers of 8 bytes.
    let (lower, upper) = unsafe { (*(lower as *const i64), *(upper as *const i64)) };
    let it = Loop {
        key: LoopKey::new(saved.at().code(), Schedule::taskloop(kind as u32 == 2)),
        chunk: if kind as u32 == 0 { 0 } else { size as u64 },
        step: 1,
    };
    let iterations = trip(lower.into(), upper.into(), (step as i64).into());
    thread.loop_passed(it, iterations);
}

/// A single ends on the thread that executed it.
pub(super) unsafe extern "C-unwind" fn end_single(saved: *mut Saved, what: What) -> usize {
    // SAFETY: the entry point's own.
    let saved = unsafe { &*saved };
    with(|thread| thread.single_end(Some(saved.at().frame())));
    // SAFETY: such a call.
    unsafe { real(saved, what) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trip_counts_both_bounds_and_none_of_an_empty_loop() {
        assert_eq!(trip(0, 9, 1), 10);
        assert_eq!(trip(9, 0, -3), 4);
        assert_eq!(trip(0, 9, 4), 3);
        assert_eq!(trip(10, 9, 1), 0);
        let all = Variable {
            is_unsigned: true,
            is_long: false,
        };
        assert_eq!(
            trip(all.value(0), all.value(u64::from(u32::MAX - 1)), 1),
            u64::from(u32::MAX)
        );
    }

    #[test]
    fn chunks_dealt_in_turn_add_up_to_the_loop() {
        for (trip, chunk, step) in [
            (103_u64, 10_u64, 1_i128),
            (103, 10, -2),
            (5, 3, 7),
            (1, 1, 1),
            (40, 10, 1),
        ] {
            let threads = 4;
            let length = chunk as i128 * step;
            let parts = (0..threads)
                .map(|thread| share(trip, chunk, (thread * length, step, threads * length)));
            let parts: Vec<(u64, u64)> = parts.collect();
            assert_eq!(
                parts.iter().map(|part| part.1).sum::<u64>(),
                trip,
                "{parts:?}"
            );
            assert_eq!(
                parts.iter().map(|part| part.0).sum::<u64>(),
                trip.div_ceil(chunk),
                "{parts:?}"
            );
        }
    }

    #[test]
    fn schedules_are_those_of_the_runtime_s_header() {
        let of = |number| schedule(number, 0);
        assert_eq!(of(34), Schedule::STATIC);
        assert_eq!(of(33), Schedule::STATIC_CHUNKED);
        assert_eq!(of(35 | 1 << 30), Schedule::DYNAMIC);
        assert_eq!(of(36 | 1 << 30), Schedule::GUIDED);
        assert_eq!(of(37), Schedule::RUNTIME);
        assert_eq!(of(67), Schedule::DYNAMIC.ordered());
        assert_eq!(of(161), Schedule::STATIC_CHUNKED);
        assert!([33, 91, 161].map(has_chunks).iter().all(|it| *it));
        assert!(![34, 35, 92, 162].map(has_chunks).iter().any(|it| *it));
        let location = [0_u32, SECTIONS];
        assert_eq!(schedule(34, location.as_ptr() as usize), Schedule::SECTIONS);
    }
}
