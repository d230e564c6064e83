//! The callbacks. Each decodes the runtime's arguments and passes the event to the thread.
//!
//! `work` and `dispatch` are deliberately not registered: the thread states do not need them, and
//! programs compiled by flang print a warning if a tool registers them (LLVM issue 112545).
//!
//! Contents of the tool's words: `parallel_data` holds the region's instance id, an explicit task's
//! `task_data` its instance id with [`EXPLICIT`] set, [`TASKLOOP`] for one of a taskloop's tasks, and
//! [`UNTIED`] for an untied one.
//! An implicit task's word stays zero. LLVM's runtime keeps a copy of it in each worker and asserts
//! that it is zero at a `taskwait` with dependences (`__kmpc_omp_taskwait_deps_51`), so a tool that
//! writes there crashes such programs.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint, c_void};

use ::ompt::numbers::{
    callback, endpoint, mutex, parallel, sync_region, task, task_status, thread,
};
use ::ompt::types::{Data, FRAME_APPLICATION, Function, TaskFrame};
use inside::context::Call;
use omp_ring::record::InstanceId;

use crate::passed::Current;
use crate::thread::Thread;
use crate::{control, process, tls};

/// Marks the word of an explicit task.
const EXPLICIT: u64 = 1 << 63;
/// Marks the word of an explicit task that is one of a taskloop's.
const TASKLOOP: u64 = 1 << 61;
/// Marks the word of an explicit task that is untied.
const UNTIED: u64 = 1 << 60;
/// The word of what the specification calls a taskwait task. It is no task, but a `taskwait` with
/// dependences, which the runtime reports only in this way.
const TASKWAIT: u64 = 1 << 62;

/// All callbacks with their numbers.
pub(crate) fn all() -> [(u8, Function); 15] {
    // SAFETY: function pointers of one size. The runtime calls each with the arguments of its
    // number, which match its signature.
    unsafe {
        [
            (callback::THREAD_BEGIN, erase(thread_begin as *const ())),
            (callback::THREAD_END, erase(thread_end as *const ())),
            (callback::PARALLEL_BEGIN, erase(parallel_begin as *const ())),
            (callback::PARALLEL_END, erase(parallel_end as *const ())),
            (callback::TASK_CREATE, erase(task_create as *const ())),
            (callback::TASK_SCHEDULE, erase(task_schedule as *const ())),
            (callback::IMPLICIT_TASK, erase(implicit_task as *const ())),
            (
                callback::SYNC_REGION_WAIT,
                erase(sync_region_wait as *const ()),
            ),
            (callback::LOCK_INIT, erase(lock_init as *const ())),
            (callback::MUTEX_ACQUIRE, erase(mutex_acquire as *const ())),
            (callback::MUTEX_ACQUIRED, erase(mutex_acquired as *const ())),
            (callback::MUTEX_RELEASED, erase(mutex_released as *const ())),
            (callback::NEST_LOCK, erase(nest_lock as *const ())),
            (callback::REDUCTION, erase(reduction as *const ())),
            (callback::CONTROL_TOOL, erase(control_tool as *const ())),
        ]
    }
}

/// # Safety
/// `function` is a function.
unsafe fn erase(function: *const ()) -> Function {
    // SAFETY: the caller's promise; the function is cast back before each call.
    unsafe { std::mem::transmute::<*const (), Function>(function) }
}

/// The tool's word in `data`; 0 for NULL.
///
/// # Safety
/// `data` is NULL or the runtime's.
#[inline(always)]
unsafe fn word(data: *const Data) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { data.as_ref() }.map_or(0, |data| data.value)
}

/// # Safety
/// `data` is NULL or the runtime's, and no other thread reads it now.
#[inline(always)]
unsafe fn set_word(data: *mut Data, value: u64) {
    // SAFETY: the caller's promise.
    if let Some(data) = unsafe { data.as_mut() } {
        data.value = value;
    }
}

/// The task with this word.
#[inline(always)]
fn current(word: u64) -> Current {
    if word & EXPLICIT == 0 {
        return Current::default();
    }
    Current {
        id: word & !(EXPLICIT | TASKLOOP | UNTIED),
        in_taskloop: word & TASKLOOP != 0,
        is_untied: word & UNTIED != 0,
    }
}

/// The thread encounters a construct in the task with this word. LLVM's runtime does not tell that a
/// thread leaves an untied task that another thread continues or has completed, so the thread may be
/// in another task than the events said.
#[inline(always)]
fn encounters(thread: &mut Thread, word: u64) {
    let said = thread.passed.current;
    if !said.is_untied || said.in_taskloop {
        return;
    }
    let task = current(word);
    if task.id != said.id {
        thread.passed.current = task;
        thread.task_schedule(InstanceId(task.id), task_status::SWITCH.into());
    }
}

/// # Safety
/// `task` and `frame` are NULL or the runtime's.
#[inline(always)]
unsafe fn call(task: *const Data, frame: *const TaskFrame, code: *const c_void) -> Call {
    // SAFETY: the caller's promise.
    let (frame, task) = unsafe { (frame.as_ref(), word(task)) };
    let in_task = task & EXPLICIT != 0;
    // The creator calls a task with `if(0)` directly, so the creator's frames belong to its
    // context.
    let entered = |frame: &&TaskFrame| in_task && frame.exit_frame_flags & FRAME_APPLICATION == 0;
    Call {
        code: code as u64,
        frame: frame.map_or(0, |frame| frame.enter_frame),
        body: 0,
        in_task,
        task_end: frame.filter(entered).map_or(0, |frame| frame.exit_frame),
    }
}

unsafe extern "C" fn thread_begin(kind: c_uint, _thread: *mut Data) {
    tls::with(|thread| thread.thread_begin(kind));
}

unsafe extern "C" fn thread_end(_thread: *mut Data) {
    tls::end(|thread| thread.thread_end());
}

/// Whether the thread, which forks now by the call that returns to `code`, is the root of the
/// runtime's hidden helper threads.
///
/// The runtime creates it, and it runs no code of the program. libomp 14 and 16 do not announce it,
/// but every thread of the program before its first region; later ones announce it as an initial
/// thread. The first fork of another thread is a call of the program; a later one may seem to be
/// the runtime's, where a task ended in a jump to the fork. A team of one may seem so, too, for
/// flang's `parallel if(...)` makes it by a call within the runtime; helpers are at least two.
#[cold]
fn is_helpers_root(thread: &Thread, code: u64, requested: c_uint) -> bool {
    is_created() && (!thread.is_announced() || requested > 1 && super::runtime_holds(code))
}

/// Whether the calling thread is not the process's first, nor the first of a fork's child, which is
/// never announced.
fn is_created() -> bool {
    let (pid, tid) = process::numbers();
    pid != tid
}

unsafe extern "C" fn parallel_begin(
    task: *mut Data,
    frame: *const TaskFrame,
    parallel: *mut Data,
    requested: c_uint,
    flags: c_int,
    code: *const c_void,
) {
    // SAFETY: the runtime's own pointers; the team that will read the word does not exist yet.
    unsafe {
        let encountering = word(task);
        let mut call = call(task, frame, code);
        let league = flags & parallel::LEAGUE as c_int != 0;
        let region = tls::with(|thread| {
            encounters(thread, encountering);
            if !thread.has_instances() && is_helpers_root(thread, call.code, requested) {
                thread.thread_begin(thread::OTHER.into());
            }
            thread.passed.complete(&mut call);
            let region = thread.instance();
            thread.forked.fork(region.0);
            thread.parallel_begin(region, &call, requested, league);
            region.0
        });
        set_word(parallel, region);
    }
}

unsafe extern "C" fn parallel_end(
    parallel: *mut Data,
    task: *mut Data,
    _flags: c_int,
    _code: *const c_void,
) {
    // SAFETY: the runtime's own pointers.
    let (told, task) = unsafe { (word(parallel), word(task)) };
    tls::with(|thread| {
        thread.passed.current = current(task);
        let region = InstanceId(thread.forked.join(told));
        thread.parallel_end(region);
    });
}

unsafe extern "C" fn implicit_task(
    endpoint: c_int,
    parallel: *mut Data,
    _task: *mut Data,
    size: c_uint,
    index: c_uint,
    _flags: c_int,
) {
    // SAFETY: the runtime's own pointer; NULL at the end.
    let region = InstanceId(unsafe { word(parallel) });
    if endpoint == c_int::from(endpoint::BEGIN) {
        tls::with(|thread| {
            thread.passed.current = Current::default();
            thread.implicit_begin(region, index, size);
        });
    } else if endpoint == c_int::from(endpoint::END) {
        tls::with(|thread| thread.implicit_end(region, index, size));
    }
}

unsafe extern "C" fn sync_region_wait(
    kind: c_uint,
    endpoint: c_int,
    parallel: *mut Data,
    task: *mut Data,
    code: *const c_void,
) {
    if endpoint == c_int::from(endpoint::END) {
        tls::with(|thread| thread.sync_wait_end(kind));
    } else if endpoint == c_int::from(endpoint::BEGIN) {
        // SAFETY: the runtime's own pointer.
        let task = unsafe { word(task) };
        tls::with(|thread| encounters(thread, task));
        // `ompt_sync_region_t`: barrier_implicit, barrier_implicit_parallel, barrier_teams.
        if matches!(kind, 2 | 9 | 10) {
            // SAFETY: the runtime's own pointer.
            let region = InstanceId(unsafe { word(parallel) });
            tls::with(|thread| thread.join_wait_begin(kind, region, code as u64));
        } else {
            tls::with(|thread| thread.sync_wait_begin(kind, code as u64));
        }
    }
}

unsafe extern "C" fn mutex_acquire(
    kind: c_uint,
    _hint: c_uint,
    _implementation: c_uint,
    wait: u64,
    code: *const c_void,
) {
    tls::with(|thread| thread.mutex_acquire(kind, mutex(thread, kind, wait), code as u64));
}

unsafe extern "C" fn mutex_acquired(kind: c_uint, wait: u64, code: *const c_void) {
    tls::with(|thread| thread.mutex_acquired(kind, mutex(thread, kind, wait), code as u64));
}

unsafe extern "C" fn mutex_released(kind: c_uint, wait: u64, _code: *const c_void) {
    tls::with(|thread| thread.mutex_released(kind, mutex(thread, kind, wait)));
}

/// The mutex's id: that of a critical section is its variable, which has the section's name.
#[inline(always)]
fn mutex(thread: &Thread, kind: c_uint, wait: u64) -> u64 {
    match thread.critical {
        variable if kind == c_uint::from(mutex::CRITICAL) && variable != 0 => variable,
        _ => wait,
    }
}

unsafe extern "C" fn lock_init(
    kind: c_uint,
    _hint: c_uint,
    _implementation: c_uint,
    wait: u64,
    code: *const c_void,
) {
    tls::with(|thread| thread.lock_init(kind, wait, code as u64));
}

unsafe extern "C" fn nest_lock(endpoint: c_uint, _wait: u64, _code: *const c_void) {
    tls::with(|thread| thread.nest_lock(endpoint));
}

unsafe extern "C" fn task_create(
    task: *mut Data,
    frame: *const TaskFrame,
    new_task: *mut Data,
    flags: c_int,
    _has_dependences: c_int,
    code: *const c_void,
) {
    if flags & task::NOT_EXPLICIT as c_int != 0 {
        return;
    }
    // SAFETY: the runtime's own pointers; no thread can execute the new task yet.
    unsafe {
        if flags & task::TASKWAIT as c_int != 0 {
            set_word(new_task, TASKWAIT);
            return tls::with(|thread| {
                thread.sync_wait_begin(sync_region::TASKWAIT.into(), code as u64)
            });
        }
        let encountering = word(task);
        let call = call(task, frame, code);
        let (id, in_taskloop) = tls::with(|thread| {
            encounters(thread, encountering);
            let (id, in_taskloop) = thread.task_created(call, flags as u32);
            (id.0, in_taskloop)
        });
        let mark = |is: bool, mark: u64| if is { mark } else { 0 };
        let marks = mark(in_taskloop, TASKLOOP) | mark(flags & task::UNTIED as c_int != 0, UNTIED);
        set_word(new_task, id | EXPLICIT | marks);
    }
}

unsafe extern "C" fn task_schedule(prior: *mut Data, status: c_uint, next: *mut Data) {
    // SAFETY: the runtime's own pointers.
    let (prior, next_word) = unsafe { (word(prior), word(next)) };
    if status == c_uint::from(task_status::TASKWAIT_COMPLETE) && prior == TASKWAIT {
        return tls::with(|thread| thread.sync_wait_end(sync_region::TASKWAIT.into()));
    }
    // Without a next task the thread does not switch: a detached task was fulfilled.
    if next.is_null() || next_word == TASKWAIT {
        return;
    }
    let (prior, next) = (current(prior), current(next_word));
    tls::with(|thread| {
        // LLVM's runtime does not tell that a thread leaves an untied task that other threads have
        // continued. The last thread to leave it completes it, whichever task it was in.
        if prior.id != thread.passed.current.id {
            thread.task_schedule(InstanceId(prior.id), task_status::SWITCH.into());
        }
        thread.passed.current = next;
        thread.task_schedule(InstanceId(next.id), status);
    });
}

unsafe extern "C" fn reduction(
    kind: c_uint,
    endpoint: c_int,
    _parallel: *mut Data,
    _task: *mut Data,
    code: *const c_void,
) {
    if endpoint == c_int::from(endpoint::BEGIN) {
        tls::with(|thread| thread.reduction_begin(kind, code as u64));
    } else if endpoint == c_int::from(endpoint::END) {
        tls::with(|thread| thread.reduction_end());
    }
}

/// `omp_control_tool` of the program. Returns `omp_control_tool_success`, or `omp_control_tool_ignored`
/// for a command that is not the specification's (5.2, section 18.14).
unsafe extern "C" fn control_tool(
    command: u64,
    _modifier: u64,
    _argument: *mut c_void,
    _code: *const c_void,
) -> c_int {
    const SUCCESS: c_int = 0;
    const IGNORED: c_int = 1;
    match command {
        1 => control::pause(false),
        2 => control::pause(true),
        // All records are in the arena already.
        3 => {}
        4 => control::terminate(),
        _ => return IGNORED,
    }
    SUCCESS
}
