//! Target constructs, whose code the host executes where there is no device.

use std::ffi::c_void;
use std::ptr;

use inside::{Saved, What, call_with};
use ompt::Function;
use ompt::numbers::parallel;
use ompt::numbers::task::TARGET;
use race_stream::record::Event;

use super::events::tell;
use super::real::{self, forward, query};
use super::state::Body;
use super::task::{EXPLICIT, Origin, UNDEFERRED, execute};
use crate::tls;

/// GOMP_target, or GOMP_target_ext: kind 1. Arguments of the latter: device, function, number of
/// maps, addresses, sizes, kinds; on the stack flags, dependences, arguments.
pub(super) unsafe extern "C-unwind" fn target(saved: &Saved, what: What) -> usize {
    /// `GOMP_TARGET_FLAG_NOWAIT`.
    const NOWAIT: usize = 1;
    let [flags, depend, ..] = saved.stack;
    let is_new = what.kind() != 0;
    let is_deferred = is_new && flags & NOWAIT != 0;
    let origin = Origin {
        flags: EXPLICIT | TARGET | if is_deferred { 0 } else { UNDEFERRED },
        site: saved.at().into(),
        frame: saved.frame(),
        depend: if is_new {
            depend as *const usize
        } else {
            ptr::null()
        },
    };
    if is_deferred {
        // SAFETY: the entry point's own.
        return unsafe { deferred_target(saved, what, &origin) };
    }
    let mut result = 0;
    // SAFETY: the entry point's own.
    execute(origin.create(), None, origin.frame, || {
        // The region ends with a barrier: all tasks created in it have ended then.
        tell(&Event::GroupBegin { code: saved.code });
        result = unsafe { forward(saved, what) };
        tell(&Event::GroupEnd { code: saved.code });
    });
    result
}

/// Most maps of a deferred target task that is recorded.
const MAPS: usize = 64;

/// Words that stand before the addresses of the maps: the program's function, and the task.
const OWN: usize = 2;

/// A target task that another thread may execute later. Where there is no device, it gets our
/// function, and two maps more.
unsafe fn deferred_target(saved: &Saved, what: What, origin: &Origin) -> usize {
    /// `GOMP_MAP_FIRSTPRIVATE_INT`.
    const VALUE: u16 = 0x0d;
    let [device, body, count, addresses, sizes, kinds] = saved.registers;
    let [flags, depend, arguments, ..] = saved.stack;
    let runtime = real::of(saved, what);
    if count > MAPS || query(runtime, Function::omp_get_num_devices) != 0 {
        // SAFETY: the entry point's own.
        return unsafe { forward(saved, what) };
    }
    let mut own_addresses = [0usize; MAPS + OWN];
    let mut own_sizes = [0usize; MAPS + OWN];
    let mut own_kinds = [VALUE; MAPS + OWN];
    let task = origin.create();
    // SAFETY: the program's arrays of `count` elements, for which ours have room; libgomp copies them.
    unsafe {
        own_addresses.as_mut_ptr().write(body);
        own_addresses.as_mut_ptr().add(1).write(task as usize);
        if count != 0 {
            let to = own_addresses.as_mut_ptr().add(OWN);
            ptr::copy_nonoverlapping(addresses as *const usize, to, count);
            let to = own_sizes.as_mut_ptr().add(OWN);
            ptr::copy_nonoverlapping(sizes as *const usize, to, count);
            let to = own_kinds.as_mut_ptr().add(OWN);
            ptr::copy_nonoverlapping(kinds as *const u16, to, count);
        }
        let registers = [
            device,
            run_target as *const () as usize,
            count + OWN,
            own_addresses.as_ptr() as usize,
            own_sizes.as_ptr() as usize,
            own_kinds.as_ptr() as usize,
        ];
        let stack = [flags, depend, arguments, 0, 0, 0];
        call_with(runtime.address(what.function()), registers, stack)
    }
}

/// Executes such a task.
unsafe extern "C-unwind" fn run_target(addresses: *mut c_void) {
    // SAFETY: a copy of the array that `deferred_target` made.
    unsafe {
        let [body, task] = *addresses.cast::<[usize; OWN]>();
        if let Some(body) = std::mem::transmute::<usize, Option<Body>>(body) {
            let rest = addresses.cast::<usize>().add(OWN).cast();
            let here = &raw const rest as u64;
            execute(task as u64, None, here, || body(rest));
        }
    }
}

/// GOMP_teams4: asks whether the thread is to execute a team, or one more; the last argument says that
/// it is the first. The league ends when there are no more.
pub(super) unsafe extern "C-unwind" fn teams(saved: &Saved, what: What) -> usize {
    let is_first = saved.registers[3] as u8 != 0;
    // SAFETY: the entry point's own.
    let result = unsafe { forward(saved, what) };
    let is_more = result as u8 != 0;
    let runtime = real::of(saved, what);
    let (index, size) = (
        query(runtime, Function::omp_get_team_num),
        query(runtime, Function::omp_get_num_teams),
    );
    tls::with(|thread| {
        let region = if is_first {
            let number = thread.instance();
            thread.fork(
                number,
                parallel::LEAGUE_BY_PROGRAM,
                0,
                (saved.at().into(), saved.frame()),
                (0, 0),
            );
            number
        } else if thread.place.is_team {
            let number = thread.place.region;
            thread.end_implicit(number);
            number
        } else {
            return;
        };
        if is_more {
            // The teams share the frame of the target region's function: what is in it is each team's.
            thread.begin_implicit_below(region, index, size, 0);
            thread.place.is_team = true;
        } else {
            thread.join(region);
        }
    });
    result
}
