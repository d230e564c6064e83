//! Parallel regions and leagues of teams.
//!
//! A [`Region`] on the stack of the forking thread takes the place of the program's data. It outlives
//! the region: no thread passes the join barrier before all have left our function.

use std::ffi::c_void;

use inside::provider::Provider;
use inside::{Saved, What, call_with};
use ompt::Function;
use ompt::kind::{LEAGUE, REDUCTIONS, SECTIONS, WORK};
use ompt::numbers::parallel;

use super::real::{self, forward_to, query};
use super::state::{Body, DEEPEST, Region, Work};
use crate::thread::{Site, Thread};
use crate::tls;

/// A thread's implicit task.
unsafe extern "C-unwind" fn run(region: *mut c_void) {
    // SAFETY: the block that the forking thread passed; it lives until all threads have left.
    let region = unsafe { *region.cast::<Region>() };
    let Some(body) = region.body else {
        return;
    };
    crate::threads::attach_worker();
    enter(&region);
    crate::stack::begin_task();
    // SAFETY: the program's function and its data.
    unsafe { body(region.data) };
    tls::with(|thread| {
        if region.is_league {
            thread.end_implicit(region.number)
        } else {
            thread.arrive_at_join_barrier(region.number, region.code)
        }
    });
}

fn enter(region: &Region) {
    let (index, size) = if region.is_league {
        (Function::omp_get_team_num, Function::omp_get_num_teams)
    } else {
        (Function::omp_get_thread_num, Function::omp_get_num_threads)
    };
    let (index, size) = (query(region.runtime, index), query(region.runtime, size));
    // libgomp has the teams of a league run one after the other on the thread that forks it.
    let frame = if region.is_league || index == 0 {
        region.frame
    } else {
        0
    };
    tls::with(|thread| {
        thread.begin_implicit_below(region.number, index, size, frame);
        thread.place.provider = Some(region.runtime);
        if let Some((work, total)) = region.work {
            thread.meet(work, Site::of_code(region.code), total);
        }
    });
}

/// The loop or sections that a region of this kind is.
fn combined(saved: &Saved, kind: u32) -> Option<(Work, u64)> {
    let [_, _, _, start, end, step] = saved.registers;
    match kind & WORK {
        0 => None,
        SECTIONS => Some((Work::sections(), start as u64)),
        loops => {
            let work = Work::signed(loops as u8, start, step);
            Some((work, work.total(end)))
        }
    }
}

/// How many threads a region of this kind asks for; 0: unknown.
fn asked_for(runtime: &Provider, saved: &Saved, kind: u32) -> u32 {
    match saved.registers[2] as u32 {
        _ if kind == LEAGUE => 0,
        0 => query(runtime, Function::omp_get_max_threads),
        threads => threads,
    }
}

/// Tells of the fork. `None` if nothing is recorded.
fn begin(
    thread: &mut Thread,
    runtime: &'static Provider,
    saved: &Saved,
    (kind, threads): (u32, u32),
) -> Option<Region> {
    let [body, data, ..] = saved.registers;
    let is_league = kind == LEAGUE;
    let region = Region {
        first: 0,
        // SAFETY: the function that the compiler outlined.
        body: Some(unsafe { std::mem::transmute::<usize, Option<Body>>(body) }?),
        data: data as *mut c_void,
        number: thread.instance(),
        runtime,
        code: saved.code,
        frame: saved.frame(),
        is_league,
        work: combined(saved, kind),
    };
    let flags = if is_league {
        parallel::LEAGUE_BY_PROGRAM
    } else {
        parallel::TEAM_BY_PROGRAM
    };
    let call = (saved.at().into(), region.frame);
    thread.fork(
        region.number,
        flags,
        threads,
        call,
        (body as u64, data as u64),
    );
    Some(region)
}

/// Calls the real function with our function and a block in place of the program's.
///
/// # Safety
/// `saved` and `what` are an entry point's; `region` lives until the region has ended.
unsafe fn pass(saved: &Saved, what: What, region: *const Region) -> usize {
    let mut registers = saved.registers;
    registers[0] = run as *const () as usize;
    registers[1] = region as usize;
    // SAFETY: the caller's promise.
    unsafe {
        let real = (*region).runtime.address(what.function());
        call_with(real, registers, saved.stack)
    }
}

/// The region has ended.
fn joined(number: u64) {
    tls::with(|thread| {
        thread.leave_join_barrier();
        thread.join(number);
    });
}

/// Runs a region that begins and ends in one call.
pub(super) unsafe extern "C-unwind" fn fork(saved: &Saved, what: What) -> usize {
    let kind = what.kind();
    let runtime = real::of_body(saved, what);
    let asked = (kind, asked_for(runtime, saved, kind));
    let Some(mut region) = tls::with(|thread| begin(thread, runtime, saved, asked)) else {
        // SAFETY: the entry point's own.
        return unsafe { forward_to(runtime, saved, what) };
    };
    if kind == REDUCTIONS {
        // SAFETY: the data of such a region begins with this word.
        region.first = unsafe { *region.data.cast::<usize>() };
    }
    // SAFETY: the entry point's own; the block is there until the call returns.
    let result = unsafe { pass(saved, what, &raw const region) };
    joined(region.number);
    result
}

/// Begins a region. The program then calls its function itself, and then [`close`].
pub(super) unsafe extern "C-unwind" fn open(saved: &Saved, what: What) -> usize {
    let runtime = real::of_body(saved, what);
    let asked = (what.kind(), asked_for(runtime, saved, what.kind()));
    let block = tls::with(|thread| {
        let depth = thread.opened.depth;
        thread.opened.depth += 1;
        if depth >= DEEPEST {
            return None;
        }
        let region = begin(thread, runtime, saved, asked)?;
        let place = thread.opened.regions.get_mut(depth)?;
        // The thread's state is not moved.
        Some(&raw const *place.insert(region) as usize)
    });
    let Some(block) = block else {
        // SAFETY: the entry point's own.
        return unsafe { forward_to(runtime, saved, what) };
    };
    let block = block as *const Region;
    // SAFETY: the entry point's own; the block stays until `close`, when all threads have read it.
    unsafe {
        let result = pass(saved, what, block);
        enter(&*block);
        result
    }
}

/// Ends the region that was opened last.
pub(super) unsafe extern "C-unwind" fn close(saved: &Saved, what: What) -> usize {
    let region = tls::with(|thread| {
        let at = thread.opened.depth.checked_sub(1)?;
        let region = thread.opened.regions.get(at).copied().flatten()?;
        thread.arrive_at_join_barrier(region.number, saved.code);
        Some(region)
    });
    let runtime = region.map_or_else(|| real::of(saved, what), |region| region.runtime);
    // SAFETY: the entry point's own.
    let result = unsafe { forward_to(runtime, saved, what) };
    if let Some(region) = region {
        joined(region.number);
    }
    tls::with(|thread| {
        let depth = thread.opened.depth.saturating_sub(1);
        thread.opened.depth = depth;
        if let Some(place) = thread.opened.regions.get_mut(depth) {
            *place = None;
        }
    });
    result
}
