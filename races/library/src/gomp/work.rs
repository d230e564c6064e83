//! Worksharing constructs: loops, sections, singles and scopes.

use inside::{Around, Onward, Saved, What};
use ompt::kind::{ANY, BARE, DOACROSS, ORDERED, REDUCTIONS, UNSIGNED, WORK};
use ompt::numbers::work;
use race_stream::record::Event;

use super::events::{BARRIER_WORKSHARE, at_barrier, object, tell, work_begins};
use super::real::{address, forward};
use super::state::Work;
use crate::thread::{Place, Site, Thread};
use crate::tls;

impl Place {
    /// An object of the current worksharing construct, one and the same for the whole team.
    pub(super) fn object(&self, words: impl IntoIterator<Item = u64>) -> u64 {
        object([self.region, self.work.number].into_iter().chain(words))
    }
}

impl Thread {
    /// The thread comes to a worksharing construct.
    pub(super) fn meet(&mut self, work: Work, site: impl Into<Site>, count: u64) {
        let number = self.place.work.number + 1;
        self.place.work = Work { number, ..work };
        work_begins(self, work.kind, site.into(), count);
    }
}

/// A schedule as `GOMP_loop_start` takes it: `gomp_schedule_type`, and a bit that says monotonic.
fn kind_of(schedule: usize) -> u8 {
    match schedule as u32 & !(1 << 31) {
        1 => work::LOOP_STATIC,
        2 => work::LOOP_DYNAMIC,
        3 => work::LOOP_GUIDED,
        _ => work::LOOP_OTHER,
    }
}

/// The arguments of a loop's first call.
struct Arguments {
    work: Work,
    /// Iterations.
    total: u64,
    /// The pointers to the chunk's bounds.
    bounds: [usize; 2],
    /// It has task reductions: a taskgroup begins.
    has_reductions: bool,
}

impl Arguments {
    /// # Safety
    /// `saved` are those of such a call.
    unsafe fn of(saved: &Saved, kind: u32) -> Arguments {
        let [a, b, c, d, e, f] = saved.registers;
        let [g, h, i, j, ..] = saved.stack;
        let all = [a, b, c, d, e, f, g, h, i, j];
        let argument = |at: usize| all.get(at).copied().unwrap_or(0);
        let mut work = match kind {
            _ if kind & DOACROSS != 0 => Work {
                dimensions: a as u32,
                ..Work::of(0)
            },
            _ if kind & UNSIGNED != 0 => Work::unsigned(0, a as u8 != 0, b, d),
            _ => Work::signed(0, a, c),
        };
        let (end, mut at) = match kind {
            // SAFETY: the lengths of the dimensions.
            _ if kind & DOACROSS != 0 => (unsafe { *(b as *const usize) }, 2),
            _ if kind & UNSIGNED != 0 => (c, 4),
            _ => (b, 3),
        };
        work.kind = (kind & WORK) as u8;
        if kind & ANY != 0 {
            work.kind = kind_of(argument(at));
            at += 1;
        }
        if kind & BARE == 0 {
            at += 1;
        }
        Arguments {
            work,
            total: work.total(end),
            bounds: [argument(at), argument(at + 1)],
            has_reductions: kind & ANY != 0 && argument(at + 2) != 0,
        }
    }
}

/// The thread has got a chunk.
///
/// # Safety
/// `bounds` point to what the runtime has just written.
unsafe fn got([start, end]: [usize; 2]) {
    // SAFETY: the caller's promise.
    let (start, end) = unsafe { (*(start as *const usize), *(end as *const usize)) };
    tls::with(|thread| {
        let chunk = thread.place.work.chunk(start, end);
        thread.event(&chunk);
    });
}

/// A loop begins: the call gives the first chunk, if there is one for this thread.
pub(super) unsafe extern "C-unwind" fn start(saved: &Saved, what: What) -> usize {
    // SAFETY: the entry point's own.
    let arguments = unsafe { Arguments::of(saved, what.kind()) };
    if arguments.bounds[0] == 0 && !arguments.has_reductions {
        // A static loop asks for memory, for a `scan` that waits at barriers in the loop.
        // SAFETY: the entry point's own.
        return unsafe { forward(saved, what) };
    }
    tls::with(|thread| {
        if what.kind() & ORDERED != 0 {
            thread.meet_ordered_clause(saved.at().into());
        }
        thread.meet(arguments.work, saved.at(), arguments.total);
        if arguments.has_reductions {
            thread.event(&Event::GroupBegin { code: saved.code });
        }
    });
    // SAFETY: the entry point's own.
    let more = unsafe { forward(saved, what) };
    // Some are called without pointers, to register a reduction alone.
    if more as u8 != 0 && arguments.bounds[0] != 0 {
        // SAFETY: the call has written them.
        unsafe { got(arguments.bounds) };
    }
    more
}

/// The next chunk of a loop.
pub(super) unsafe extern "C-unwind" fn next(saved: &Saved, what: What) -> usize {
    let [start, end, ..] = saved.registers;
    // SAFETY: the entry point's own, and what the call has written.
    unsafe {
        let more = forward(saved, what);
        if more as u8 != 0 {
            got([start, end]);
        }
        more
    }
}

/// A section begins, unless `number` is 0.
fn got_section(number: usize) {
    if number as u32 != 0 {
        tell(&Event::Chunk {
            first: u64::from(number as u32),
            count: 1,
        });
    }
}

/// Sections begin: the first argument is their number. The call gives the first one, from 1, or 0.
/// The second argument may be reductions.
pub(super) unsafe extern "C-unwind" fn sections(saved: &Saved, what: What) -> usize {
    let [count, reductions, ..] = saved.registers;
    tls::with(|thread| {
        thread.meet(Work::sections(), saved.at(), u64::from(count as u32));
        if what.kind() & REDUCTIONS != 0 && reductions != 0 {
            thread.event(&Event::GroupBegin { code: saved.code });
        }
    });
    // SAFETY: the entry point's own.
    let number = unsafe { forward(saved, what) };
    got_section(number);
    number
}

pub(super) unsafe extern "C-unwind" fn next_section(saved: &Saved, what: What) -> usize {
    // SAFETY: the entry point's own.
    let number = unsafe { forward(saved, what) };
    got_section(number);
    number
}

/// A scope, of which the compiler tells only if it has task reductions.
pub(super) unsafe extern "C-unwind" fn scope(saved: &Saved, what: What) -> usize {
    tls::with(|thread| {
        thread.meet(Work::of(work::SCOPE), saved.at(), 0);
        thread.event(&Event::GroupBegin { code: saved.code });
    });
    // SAFETY: the entry point's own.
    unsafe { forward(saved, what) }
}

/// The taskgroup of a worksharing construct with task reductions ends, and then a barrier is waited
/// at, unless the construct was cancelled.
pub(super) unsafe extern "C-unwind" fn reduction_ends(saved: &Saved, what: What) -> usize {
    let is_cancelled = saved.registers[0] as u8 != 0;
    tell(&Event::GroupEnd { code: saved.code });
    if is_cancelled {
        // SAFETY: the entry point's own.
        return unsafe { forward(saved, what) };
    }
    // SAFETY: the entry point's own.
    at_barrier(saved, BARRIER_WORKSHARE, || unsafe { forward(saved, what) })
}

/// The thread has done its part of a loop or of sections.
fn ends() {
    tls::with(|thread| {
        let kind = thread.place.work.kind;
        thread.event(&Event::WorkEnd { kind });
    });
}

/// A loop or sections end, with a barrier.
pub(super) unsafe extern "C-unwind" fn end(saved: &Saved, what: What) -> usize {
    ends();
    // SAFETY: the entry point's own.
    at_barrier(saved, BARRIER_WORKSHARE, || unsafe { forward(saved, what) })
}

/// They end without one.
pub(super) unsafe extern "C-unwind" fn end_nowait(saved: &Saved, what: What) -> usize {
    ends();
    // SAFETY: the entry point's own.
    unsafe { forward(saved, what) }
}

/// The thread comes to a single that another one executes.
fn meet_other(thread: &mut Thread, saved: &Saved) {
    thread.meet(Work::of(work::SINGLE_OTHER), saved.at(), 1);
    thread.event(&Event::WorkEnd {
        kind: work::SINGLE_OTHER,
    });
}

/// A single: the call returns whether this thread executes it. No call tells of its end.
pub(super) unsafe extern "C-unwind" fn single(saved: &Saved, what: What) -> usize {
    // SAFETY: the entry point's own.
    let is_it = unsafe { forward(saved, what) };
    tls::with(|thread| match is_it as u8 {
        0 => meet_other(thread, saved),
        _ => thread.meet(Work::of(work::SINGLE_EXECUTOR), saved.at(), 1),
    });
    is_it
}

/// A single with copyprivate: the thread that executes it gets NULL; the others wait, and get the
/// data when it has them. A barrier follows, when they have copied it.
pub(super) unsafe extern "C-unwind" fn single_copy(saved: &Saved, what: What) -> usize {
    // SAFETY: the entry point's own.
    let data = unsafe { forward(saved, what) };
    tls::with(|thread| match data {
        0 => thread.meet(Work::of(work::SINGLE_EXECUTOR), saved.at(), 1),
        _ => {
            meet_other(thread, saved);
            let object = thread.place.object([]);
            thread.event(&Event::Await { object });
        }
    });
    data
}

/// The thread that executes it hands its data out.
pub(super) unsafe extern "C-unwind" fn single_copy_end(saved: &Saved, what: What) -> usize {
    tls::with(|thread| {
        // What the single did comes before the others' copies, and what its thread did before: the object is
        // that thread's own.
        let object = thread.place.object([]);
        thread.event(&Event::Signal { object });
        thread.event(&Event::WorkEnd {
            kind: work::SINGLE_EXECUTOR,
        });
        thread.event(&Event::Signal { object });
    });
    // SAFETY: the entry point's own.
    unsafe { forward(saved, what) }
}

/// An iteration of a doacross loop is done; the argument points to its numbers.
pub(super) unsafe extern "C-unwind" fn post(saved: &Saved, what: What) -> usize {
    let numbers = saved.registers[0] as *const u64;
    tls::with(|thread| {
        let dimensions = thread.place.work.dimensions as usize;
        // SAFETY: as many numbers as the loop has dimensions.
        let numbers = (0..dimensions).map(|at| unsafe { *numbers.add(at) });
        let object = thread.place.object(numbers);
        thread.event(&Event::Signal { object });
    });
    // SAFETY: the entry point's own.
    unsafe { forward(saved, what) }
}

/// Before the function waits for an iteration.
pub(super) unsafe extern "C-unwind" fn waits(around: *mut Around, what: What) -> Onward {
    // SAFETY: the entry point's own frame.
    let at = unsafe { &*around }.at();
    let real = address(what.function(), at.code());
    match tls::with(|thread| thread.place.work.dimensions) {
        0 => Onward::jump(real),
        dimensions => Onward::call(real, dimensions),
    }
}

/// It has waited for the iteration with these numbers.
pub(super) unsafe extern "C-unwind" fn waited(around: *mut Around, result: usize) -> usize {
    tls::with(|thread| {
        let dimensions = thread.place.work.dimensions as usize;
        // SAFETY: the entry point's own frame; the call has as many arguments as the loop has dimensions.
        let numbers = unsafe { (*around).arguments(dimensions) };
        let object = thread.place.object(numbers);
        thread.event(&Event::Await { object });
    });
    result
}
