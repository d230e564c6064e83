//! Parallel and teams regions.
//!
//! The outlined function is replaced by ours. Two registers carry what its threads need
//! ([`named`]). If it does not fit there, a [`Region`] on the stack of the forking thread takes
//! the place of the program's data. That block outlives the region: no thread passes the join
//! barrier before all have left our function, and the return of the entry point *is* the end of the
//! join barrier.
//!
//! One record, `ParallelEnd`, marks the end of a region. It also ends the join barrier and the
//! implicit task of the forking thread.

use std::ffi::c_void;

use inside::{At, Saved, What};
use omp_ring::record::{COUNT_BITS, InstanceId};
use ompt::kind::{BARE, LEAGUE, REDUCTIONS, SECTIONS, WORK};
use ompt::numbers::sync_region;

use super::loops;
use super::named;
use super::provider::{self, Provider};
use super::state::{Body, DEEPEST, Outer, Region, Task};
use super::{THREAD_WORKER, with, with_kind, with_same};
use crate::thread::Thread;

/// `ompt_sync_region_barrier_implicit_parallel`.
const JOIN: u32 = sync_region::PARALLEL as u32;

/// The type of all entry points that fork: a function, its data and up to six more arguments. They
/// return a count or nothing.
type Fork = unsafe extern "C-unwind" fn(
    Body,
    *mut c_void,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
) -> usize;

fn begin(
    thread: &mut Thread,
    region: InstanceId,
    (at, body): (At, usize),
    (requested, league): (u32, bool),
) -> Outer {
    let state = &thread.gomp;
    let call = state.call(at, body);
    let outer = Outer {
        team: state.team,
        in_turn: state.in_turn,
        body: state.body,
        task: state.task,
        provider: state.provider,
        token: thread.token(),
        region: region.0,
    };
    thread.parallel_begin(region, &call, requested, league);
    outer
}

fn end(outer: Outer) {
    with_same(outer.token, |thread| {
        thread.parallel_end(InstanceId(outer.region));
        thread.gomp.team = outer.team;
        thread.gomp.in_turn = outer.in_turn;
        thread.gomp.body = outer.body;
        thread.gomp.task = outer.task;
        thread.gomp.provider = outer.provider;
    });
}

/// A thread's implicit task in a region passed as a block.
unsafe extern "C-unwind" fn run(region: *mut c_void) {
    // SAFETY: the block that the forking thread passed; it lives until all threads have left.
    let region = unsafe { *region.cast::<Region>() };
    let (Some(body), Some(provider)) = (region.body, region.provider) else {
        return;
    };
    // SAFETY: the program's function and its data.
    unsafe { work((body, region.data), provider, region.id, region.teams) };
}

/// A thread's implicit task in a region that was passed as in [`named`].
///
/// # Safety
/// `body` takes `data`.
#[inline(always)]
pub(super) unsafe fn run_named(
    body: Body,
    data: *mut c_void,
    provider: &'static Provider,
    id: InstanceId,
) {
    // SAFETY: the caller's promise.
    unsafe { work((body, data), provider, id, false) };
}

/// Runs and records the thread's implicit task.
#[inline(always)]
unsafe fn work(
    (body, data): (Body, *mut c_void),
    provider: &'static Provider,
    id: InstanceId,
    league: bool,
) {
    let forked_by = (id.0 >> COUNT_BITS) as u32;
    // A thread without an event so far is a worker: the forking thread has had one.
    let (token, joins) = with_kind(THREAD_WORKER, |thread| {
        let part = if league {
            // On the host the runtime runs the teams one after another, on one thread.
            (0, 1)
        } else if thread.slot() == forked_by {
            (0, provider.team_size())
        } else {
            // The forking thread has just written the cache line of the size. The number of this
            // thread gives a lower bound of the size without reading it.
            let index = provider.thread_number();
            (index, index + 1)
        };
        enter(thread, provider, (id, body as usize), part);
        (thread.token(), part.1 > 1)
    });
    // SAFETY: the caller's promise.
    unsafe { body(data) };
    if joins {
        // The thread now always goes to the join barrier.
        with_same(token, |thread| {
            thread.single_end(None);
            thread.join_wait_begin(JOIN, id, 0);
        });
    }
}

fn enter(
    thread: &mut Thread,
    provider: &'static Provider,
    (id, body): (InstanceId, usize),
    (index, size): (u32, u32),
) {
    thread.gomp.team = size;
    thread.gomp.body = body;
    thread.gomp.in_turn = false;
    thread.gomp.task = Task::NONE;
    thread.gomp.provider = Some(provider);
    thread.implicit_begin(id, index, size);
}

/// Remembers the loop of a region that is one.
#[inline]
fn note_combined(saved: &Saved, what: What) {
    let [body, _, _, _, _, step] = saved.registers;
    let [chunk, ..] = saved.stack;
    let step = (step as i64).unsigned_abs();
    let is_bare = what.kind() & BARE != 0;
    match what.kind() & WORK {
        0 => {}
        SECTIONS => loops::note_combined(body, 1, 0),
        _ => loops::note_combined(body, step, if is_bare { 0 } else { chunk as u64 }),
    }
}

/// Runs a region that begins and ends in one call.
pub(super) unsafe extern "C-unwind" fn fork(saved: *mut Saved, what: What) -> usize {
    // SAFETY: the entry point's own.
    let saved = unsafe { &*saved };
    let [body, data, threads, third, fourth, fifth] = saved.registers;
    let [sixth, seventh, ..] = saved.stack;
    let provider = provider::of(what.function(), body as u64);
    // SAFETY: such a function; arguments beyond its own are ignored.
    let real = unsafe { provider.real::<Fork>(what.function()) };
    let league = what.kind() == LEAGUE;
    note_combined(saved, what);
    let mut is_named = false;
    let outer = if provider.records() {
        with(|thread| {
            // Regions passed in registers must not be open twice on one thread.
            let name = if thread.gomp.team == 0 && !matches!(what.kind(), REDUCTIONS | LEAGUE) {
                named::next(thread.slot(), &mut thread.gomp.number)
            } else {
                None
            };
            is_named = name.is_some();
            let id = name.unwrap_or_else(|| thread.instance());
            begin(thread, id, (saved.at(), body), (threads as u32, league))
        })
    } else {
        Outer::default()
    };
    let id = InstanceId(outer.region);
    let call = |body: Body, data: *mut c_void| {
        // SAFETY: the caller's arguments, but for the function and its data, which go together.
        unsafe { real(body, data, threads, third, fourth, fifth, sixth, seventh) }
    };
    let name = if is_named {
        named::hand_over(id, provider, (body, data))
    } else {
        None
    };
    if let Some((entry, word)) = name {
        let result = call(entry, word);
        end(outer);
        return result;
    }
    // SAFETY: the function that the compiler outlined, never NULL.
    let body = unsafe { std::mem::transmute::<usize, Body>(body) };
    let data = data as *mut c_void;
    if outer.token == 0 {
        return call(body, data);
    }
    let mut region = Region {
        first: 0,
        body: Some(body),
        data,
        provider: Some(provider),
        id,
        teams: league,
    };
    if what.kind() == REDUCTIONS {
        // SAFETY: the data of such a region starts with this word.
        region.first = unsafe { *data.cast::<usize>() };
    }
    let result = call(run, (&raw mut region).cast());
    end(outer);
    result
}

/// Begins a region. The program then calls its function itself, and then [`close`].
pub(super) unsafe extern "C-unwind" fn open(saved: *mut Saved, what: What) {
    // SAFETY: the entry point's own.
    let saved = unsafe { &*saved };
    let [body, data, threads, third, fourth, fifth] = saved.registers;
    let [sixth, seventh, ..] = saved.stack;
    let provider = provider::of(what.function(), body as u64);
    // SAFETY: such a function; arguments beyond its own are ignored.
    let real = unsafe { provider.real::<Fork>(what.function()) };
    // SAFETY: the function that the compiler outlined, never NULL.
    let body = unsafe { std::mem::transmute::<usize, Body>(body) };
    note_combined(saved, what);
    let data = data as *mut c_void;
    let block = if provider.records() {
        with(|thread| {
            let depth = thread.gomp.open.depth;
            thread.gomp.open.depth += 1;
            if depth >= DEEPEST {
                return 0;
            }
            let id = thread.instance();
            let outer = begin(
                thread,
                id,
                (saved.at(), body as usize),
                (threads as u32, false),
            );
            let region = Region {
                first: 0,
                body: Some(body),
                data,
                provider: Some(provider),
                id: InstanceId(outer.region),
                teams: false,
            };
            let place = thread.gomp.open.regions.get_mut(depth);
            place.map_or(0, |place| {
                let (region, _) = place.insert((region, outer));
                // The thread's state is not moved until the thread ends.
                &raw mut *region as usize
            })
        })
    } else {
        0
    };
    let (body, data): (Body, *mut c_void) = match block {
        0 => (body, data),
        block => (run, block as *mut c_void),
    };
    // SAFETY: the caller's arguments, but for the function and its data, which go together.
    unsafe { real(body, data, threads, third, fourth, fifth, sixth, seventh) };
    if block != 0 {
        // SAFETY: written above by this thread, and valid until `close`.
        let region = unsafe { *(block as *const Region) };
        with(|thread| {
            let of = (region.id, region.body.map_or(0, |body| body as usize));
            enter(thread, provider, of, (0, provider.team_size()));
        });
    }
}

/// Ends the region that was opened last.
pub(super) unsafe extern "C-unwind" fn close(_: usize, _: usize, at: At, what: What) {
    let provider = provider::of(what.function(), at.code());
    let opened = if provider.records() {
        with(arrive)
    } else {
        None
    };
    let (provider, outer) = opened.unwrap_or((provider, Outer::default()));
    // SAFETY: GOMP_parallel_end's type.
    unsafe { provider.real::<unsafe extern "C-unwind" fn()>(what.function())() };
    end(outer);
    if opened.is_some() {
        // Every thread of the team has read the block by now.
        with_same(outer.token, |thread| thread.gomp.open.depth -= 1);
    }
}

/// The thread reaches the join barrier of the region that it opened last.
fn arrive(thread: &mut Thread) -> Option<(&'static Provider, Outer)> {
    let at = thread.gomp.open.depth.checked_sub(1)?;
    let Some(Some((region, outer))) = thread.gomp.open.regions.get(at).copied() else {
        // Nested too deeply to be recorded.
        thread.gomp.open.depth = at;
        return None;
    };
    if thread.gomp.team > 1 {
        thread.join_wait_begin(JOIN, region.id, 0);
    }
    Some((region.provider?, outer))
}
