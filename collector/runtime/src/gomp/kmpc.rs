//! Entry points of LLVM's runtime, for what it does not tell tools: a wait for an iteration of a
//! doacross loop (its callback for dependences comes after the wait, and there is no other), and the
//! bodies of regions and tasks ([`crate::passed`]).

use inside::{Saved, What};

use super::doacross::NOBODYS;
use super::{kmpc_loops, provider};
use crate::passed::BodyCall;
use crate::process;
use crate::tls;

/// The location, the thread's global number, the iteration.
type Wait = unsafe extern "C-unwind" fn(usize, usize, usize);

/// Calls the function that may wait for an iteration. Recorded if the runtime has announced the
/// thread.
pub(super) unsafe extern "C-unwind" fn doacross_wait(saved: *mut Saved, what: What) {
    // SAFETY: the entry point's own.
    let saved = unsafe { &*saved };
    let [location, thread_number, iteration, ..] = saved.registers;
    let code = saved.at().code();
    let address = provider::bound(what.function(), code);
    // SAFETY: the function of that name, which is of this type.
    let real = unsafe { std::mem::transmute::<usize, Wait>(address) };
    let records = tls::with(|thread| {
        let records = thread.is_announced();
        if records {
            thread.mutex_acquire(what.kind(), NOBODYS, code);
        }
        records
    });
    // SAFETY: the caller's own arguments.
    unsafe { real(location, thread_number, iteration) };
    if records {
        tls::with(|thread| thread.mutex_acquired(what.kind(), NOBODYS, code));
    }
}

/// The head of a task (`kmp_task_t` of LLVM's `kmp.h`), which compilers generate code for.
#[repr(C)]
struct Task {
    shareds: usize,
    routine: usize,
}

/// A call that creates tasks: the third argument is the task, or the pattern of a taskloop's.
///
/// # Safety
/// `saved` belongs to such a call.
#[inline(always)]
unsafe fn task_call(saved: &Saved) -> BodyCall {
    let [_, _, task, ..] = saved.registers;
    // SAFETY: the caller's promise; the program allocated and filled the task.
    let task = unsafe { (task as *const Task).as_ref() };
    body_call(saved, task.map_or(0, |task| task.routine))
}

fn body_call(saved: &Saved, body: usize) -> BodyCall {
    BodyCall {
        code: saved.at().code(),
        frame: saved.at().frame(),
        body: body as u64,
    }
}

/// The module of the body is that of the directive. The return address may lie in another one: the
/// call may have been a jump.
fn bound(what: What, call: &BodyCall) -> usize {
    let hint = match call.body {
        0 => call.code,
        body => body,
    };
    provider::bound(what.function(), hint)
}

/// A task is created. Returns the real function, which is then jumped to: it sees its caller's
/// return address.
pub(super) unsafe extern "C-unwind" fn note_task(saved: *const Saved, what: What) -> usize {
    // SAFETY: the entry point's own.
    note(unsafe { task_call(&*saved) }, what)
}

/// A region or league is forked; the third argument is its body. Returns the real function, as
/// [`note_task`] does.
pub(super) unsafe extern "C-unwind" fn note_fork(saved: *const Saved, what: What) -> usize {
    // SAFETY: the entry point's own.
    let saved = unsafe { &*saved };
    let [_, _, body, ..] = saved.registers;
    note(body_call(saved, body), what)
}

/// A critical section is about to begin or to end; its third argument is the variable of its name, of
/// which the runtime reports only what it points to. Returns the real function.
pub(super) unsafe extern "C-unwind" fn note_critical(saved: *const Saved, what: What) -> usize {
    // SAFETY: the entry point's own.
    let saved = unsafe { &*saved };
    let [_, _, variable, ..] = saved.registers;
    if process::arena().is_some() {
        tls::with(|thread| {
            thread.critical = variable as u64;
            thread.mutex_releases();
        });
    }
    provider::of(what.function(), saved.at().code()).address(what.function())
}

/// The runtime looks for its tool within its first call, which may be this one.
#[inline(always)]
fn note(call: BodyCall, what: What) -> usize {
    if process::arena().is_some() {
        tls::with(|thread| thread.passed.last = call);
    }
    bound(what, &call)
}

/// Creates the tasks of a taskloop and, as a rule, waits for them.
pub(super) unsafe extern "C-unwind" fn taskloop(saved: *mut Saved, what: What) {
    // SAFETY: the entry point's own.
    let saved = unsafe { &*saved };
    // SAFETY: such a call.
    let call = unsafe { task_call(saved) };
    let real = bound(what, &call);
    let outer = tls::with(|thread| {
        let opens = thread.is_announced();
        if opens {
            kmpc_loops::count_taskloop(thread, saved);
        }
        opens.then(|| thread.passed.enter(call))
    });
    // SAFETY: the caller's own arguments.
    unsafe { saved.forward(real) };
    if let Some(outer) = outer {
        tls::with(|thread| thread.passed.leave(outer));
    }
}
