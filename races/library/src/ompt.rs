//! The OMPT tool. OpenMP API Specification 5.2, chapter 19.
//!
//! Contents of the tool's words: `parallel_data` holds the region's number, an explicit task's
//! `task_data` its own. An implicit task's word stays zero: LLVM's runtime keeps a copy of it in each
//! worker and asserts that it is zero at a `taskwait` with dependences. `thread_data` holds the kind
//! of the thread.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_uint, c_void};

use ::ompt::numbers::{
    callback, dependence, dispatch, endpoint, mutex, sync_region, task, task_status, thread,
};
use ::ompt::types::{
    ChunkBounds, Data, Dependence, Function, Lookup, SetCallback, StartToolResult, TaskFrame,
};
use race_stream::record::{Event, WORK_MASKED};

use crate::objects;
use crate::thread::Site;
use crate::{process, tls};

/// The tool's result, to which the runtime may write.
struct Writable(UnsafeCell<StartToolResult>);

// SAFETY: only the runtime accesses it, through the pointer that it was given.
unsafe impl Sync for Writable {}

static TOOL: Writable = Writable(UnsafeCell::new(StartToolResult {
    initialize,
    finalize,
    tool_data: Data { value: 0 },
}));

/// Called by a runtime before its first construct.
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn ompt_start_tool(_version: c_uint, _runtime: *const c_char) -> *mut StartToolResult {
    match process::shared() {
        Some(_) => TOOL.0.get(),
        None => std::ptr::null_mut(),
    }
}

const BEGIN: c_int = endpoint::BEGIN as c_int;
const END: c_int = endpoint::END as c_int;

/// # Safety
/// The runtime's lookup takes a C string and returns the functions that the specification names.
unsafe extern "C" fn initialize(lookup: Lookup, _device: c_int, _data: *mut Data) -> c_int {
    objects::note_runtime(inside::objects::library_of(lookup as usize as u64));
    // SAFETY: as above; the entry point of this name has this type (19.6.3).
    let set = unsafe {
        let Some(found) = lookup(c"ompt_set_callback".as_ptr()) else {
            return 0;
        };
        std::mem::transmute::<Function, SetCallback>(found)
    };
    let callbacks: [(u8, *const ()); 18] = [
        (callback::THREAD_BEGIN, thread_begin as *const ()),
        (callback::THREAD_END, thread_end as *const ()),
        (callback::PARALLEL_BEGIN, parallel_begin as *const ()),
        (callback::PARALLEL_END, parallel_end as *const ()),
        (callback::TASK_CREATE, task_create as *const ()),
        (
            callback::TASK_SCHEDULE,
            crate::stack::task_schedule as *const (),
        ),
        (
            callback::IMPLICIT_TASK,
            crate::stack::implicit_task as *const (),
        ),
        (callback::SYNC_REGION_WAIT, sync_region_wait as *const ()),
        (callback::MUTEX_RELEASED, mutex_released as *const ()),
        (callback::DEPENDENCES, dependences as *const ()),
        (callback::WORK, work as *const ()),
        (callback::MASKED, masked as *const ()),
        (callback::SYNC_REGION, sync_region as *const ()),
        (callback::LOCK_INIT, lock_init as *const ()),
        (callback::LOCK_DESTROY, lock_destroy as *const ()),
        (callback::MUTEX_ACQUIRE, mutex_acquire as *const ()),
        (callback::MUTEX_ACQUIRED, mutex_acquired as *const ()),
        (callback::DISPATCH, dispatch as *const ()),
    ];
    for (number, callback) in callbacks {
        // SAFETY: each has the signature of its number (19.5).
        unsafe {
            set(
                number.into(),
                std::mem::transmute::<*const (), Function>(callback),
            )
        };
    }
    1
}

unsafe extern "C" fn finalize(_data: *mut Data) {}

/// The tool's word in `data`; 0 for NULL.
///
/// # Safety
/// `data` is NULL or the runtime's.
unsafe fn word(data: *const Data) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { data.as_ref() }.map_or(0, |data| data.value)
}

/// # Safety
/// `data` is NULL or the runtime's, and no other thread uses it now.
unsafe fn set_word(data: *mut Data, value: u64) {
    // SAFETY: the caller's promise.
    if let Some(data) = unsafe { data.as_mut() } {
        data.value = value;
    }
}

/// Where the task left to the runtime; 0 if unknown.
///
/// # Safety
/// `frame` is NULL or the runtime's.
unsafe fn entered(frame: *const TaskFrame) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { frame.as_ref() }.map_or(0, |frame| frame.enter_frame)
}

/// `ompt_thread_worker`.
const WORKER: c_uint = thread::WORKER as c_uint;

unsafe extern "C" fn thread_begin(kind: c_uint, thread: *mut Data) {
    // SAFETY: the runtime's own word of this thread.
    unsafe { set_word(thread, kind.into()) };
    tls::with(|_| ());
}

unsafe extern "C" fn thread_end(thread: *mut Data) {
    // SAFETY: as above.
    if unsafe { word(thread) } == WORKER.into() {
        tls::end();
    }
}

unsafe extern "C" fn parallel_begin(
    _task: *mut Data,
    frame: *const TaskFrame,
    parallel: *mut Data,
    requested: c_uint,
    flags: c_int,
    code: *const c_void,
) {
    // SAFETY: the runtime's own arguments; the team does not exist yet.
    unsafe {
        let region = tls::with(|thread| {
            let region = thread.instance();
            let entered = entered(frame);
            let site = Site {
                code: code as u64,
                frame: entered,
            };
            thread.forked.fork(region);
            thread.fork(region, flags as u32, requested, (site, entered), (0, 0));
            region
        });
        set_word(parallel, region);
    }
}

unsafe extern "C" fn parallel_end(
    parallel: *mut Data,
    _task: *mut Data,
    _flags: c_int,
    _code: *const c_void,
) {
    // SAFETY: the runtime's own argument.
    let told = unsafe { word(parallel) };
    tls::with(|thread| {
        let region = thread.forked.join(told);
        thread.join(region);
    });
}

pub(crate) unsafe extern "C" fn implicit_task(
    endpoint: c_int,
    parallel: *mut Data,
    _task: *mut Data,
    size: c_uint,
    index: c_uint,
    flags: c_int,
) {
    /// `ompt_task_initial`.
    const INITIAL: c_int = task::INITIAL as c_int;
    // SAFETY: the runtime's own argument.
    let region = unsafe { word(parallel) };
    // That of the program; those of a league are like implicit tasks.
    if flags & INITIAL != 0 && region == 0 {
        return;
    }
    match endpoint {
        BEGIN => tls::with(|thread| thread.begin_implicit(region, index, size)),
        END => tls::with(|thread| thread.end_implicit(region)),
        _ => {}
    }
}

unsafe extern "C" fn sync_region(
    kind: c_uint,
    endpoint: c_int,
    _parallel: *mut Data,
    _task: *mut Data,
    code: *const c_void,
) {
    /// `ompt_sync_region_t`.
    const TASKWAIT: c_uint = sync_region::TASKWAIT as c_uint;
    const REDUCTION: c_uint = sync_region::REDUCTION as c_uint;
    let code = code as u64;
    tls::with(|thread| {
        let context = thread.context_of(thread.site_of(code));
        match (kind, endpoint) {
            (REDUCTION, _) | (TASKWAIT, BEGIN) | (TASKGROUP, END) => {}
            (TASKWAIT, END) => thread.event(&Event::Taskwait { code }),
            (TASKGROUP, BEGIN) => thread.event(&Event::GroupBegin { code }),
            (_, BEGIN) => thread.event(&Event::Arrive {
                kind: kind as u8,
                code,
                context,
            }),
            (_, END) => thread.event(&Event::Leave { kind: kind as u8 }),
            _ => {}
        }
    });
}

/// `ompt_sync_region_taskgroup`.
const TASKGROUP: c_uint = sync_region::TASKGROUP as c_uint;

/// A wait begins or ends. That of a taskgroup has ended before the thread combines the copies of its
/// reductions, and only then ends the taskgroup.
unsafe extern "C" fn sync_region_wait(
    kind: c_uint,
    endpoint: c_int,
    _parallel: *mut Data,
    _task: *mut Data,
    code: *const c_void,
) {
    if (kind, endpoint) == (TASKGROUP, END) {
        let code = code as u64;
        tls::with(|thread| thread.event(&Event::GroupEnd { code }));
    }
}

unsafe extern "C" fn work(
    kind: c_uint,
    endpoint: c_int,
    _parallel: *mut Data,
    _task: *mut Data,
    count: u64,
    code: *const c_void,
) {
    let (kind, code) = (kind as u8, code as u64);
    tls::with(|thread| {
        let context = thread.context_of(thread.site_of(code));
        match endpoint {
            BEGIN => thread.event(&Event::Work {
                kind,
                code,
                context,
                count,
            }),
            END => thread.event(&Event::WorkEnd { kind }),
            _ => {}
        }
    });
}

unsafe extern "C" fn masked(
    endpoint: c_int,
    _parallel: *mut Data,
    _task: *mut Data,
    code: *const c_void,
) {
    let (kind, code) = (WORK_MASKED, code as u64);
    tls::with(|thread| {
        let context = thread.context_of(thread.site_of(code));
        match endpoint {
            BEGIN => thread.event(&Event::Work {
                kind,
                code,
                context,
                count: 1,
            }),
            END => thread.event(&Event::WorkEnd { kind }),
            _ => {}
        }
    });
}

unsafe extern "C" fn dispatch(
    _parallel: *mut Data,
    _task: *mut Data,
    kind: c_uint,
    instance: *const c_void,
) {
    /// `ompt_dispatch_t`: a section, whose instance is its code.
    const SECTION: c_uint = dispatch::SECTION as c_uint;
    /// A chunk of a worksharing loop.
    const LOOP: c_uint = 3;
    let (first, count) = match kind {
        SECTION => (instance as u64, 1),
        // SAFETY: the runtime's own description of the chunk.
        LOOP if !instance.is_null() => unsafe {
            let chunk = &*instance.cast::<ChunkBounds>();
            (chunk.first, chunk.count)
        },
        _ => return,
    };
    tls::with(|thread| thread.event(&Event::Chunk { first, count }));
}

unsafe extern "C" fn task_create(
    _task: *mut Data,
    frame: *const TaskFrame,
    new_task: *mut Data,
    flags: c_int,
    _has_dependences: c_int,
    code: *const c_void,
) {
    /// `ompt_task_initial | ompt_task_implicit`.
    const NOT_EXPLICIT: c_int = task::NOT_EXPLICIT as c_int;
    if flags & NOT_EXPLICIT != 0 {
        return;
    }
    // SAFETY: the runtime's own arguments; nobody executes the task yet.
    unsafe {
        let task = tls::with(|thread| {
            let task = thread.instance();
            let entered = entered(frame);
            let site = Site {
                code: code as u64,
                frame: entered,
            };
            thread.create(task, flags as u32, site, entered);
            task
        });
        set_word(new_task, task);
    }
}

/// Bytes above a callback's own frame within which the frame of the runtime's function ends that
/// calls the task, and in which no frame of the program lies.
const RUNTIME_FRAME: u64 = 96;

pub(crate) unsafe extern "C" fn task_schedule(prior: *mut Data, status: c_uint, next: *mut Data) {
    /// `ompt_task_status_t`.
    const COMPLETE: c_uint = task_status::COMPLETE as c_uint;
    const CANCEL: c_uint = task_status::CANCEL as c_uint;
    const DETACH: c_uint = 4;
    const EARLY_FULFILL: c_uint = 5;
    const LATE_FULFILL: c_uint = 6;
    const TASKWAIT_COMPLETE: c_uint = 8;
    // SAFETY: the runtime's own arguments.
    let (from, to) = unsafe { (word(prior), word(next)) };
    let here = std::ptr::from_ref(&from) as u64 + RUNTIME_FRAME;
    let status_byte = status as u8;
    tls::with(|thread| match status {
        EARLY_FULFILL | LATE_FULFILL | TASKWAIT_COMPLETE => thread.event(&Event::Switch {
            from,
            to,
            status: status_byte,
            frame: 0,
        }),
        COMPLETE | CANCEL | DETACH => thread.switch(from, to, status_byte, true, here),
        _ => thread.switch(from, to, status_byte, false, here),
    });
}

unsafe extern "C" fn dependences(task: *mut Data, list: *const Dependence, count: c_int) {
    /// `ompt_dependence_type_t`: of doacross loops.
    const SOURCE: c_uint = dependence::SOURCE as c_uint;
    const SINK: c_uint = dependence::SINK as c_uint;
    if list.is_null() || count <= 0 {
        return;
    }
    // SAFETY: the runtime's own array.
    let list = unsafe { std::slice::from_raw_parts(list, count as usize) };
    // SAFETY: the runtime's own word.
    let task = unsafe { word(task) };
    let object = list.iter().fold(1 << 63, |hash: u64, dependence| {
        (hash ^ dependence.variable).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    tls::with(|thread| match list.first().map(|first| first.kind) {
        Some(SOURCE) => thread.event(&Event::Signal { object }),
        Some(SINK) => thread.event(&Event::Await { object }),
        _ => {
            for dependence in list {
                thread.event(&Event::Depend {
                    task,
                    address: dependence.variable,
                    kind: dependence.kind as u8,
                });
            }
        }
    });
}

macro_rules! mutex_events {
    ($($name:ident($($more:ident: $type:ty),*) $tell:ident;)*) => {$(
        unsafe extern "C" fn $name(kind: c_uint, $($more: $type,)* lock: u64, code: *const c_void) {
            /// `ompt_mutex_critical`.
            const CRITICAL: c_uint = mutex::CRITICAL as c_uint;
            tls::with(|thread| {
                // The call of the routine has told of it.
                if lock != 0 && lock == thread.lock_call {
                    return;
                }
                let lock = match (kind, thread.critical) {
                    (CRITICAL, section @ 1..) => section,
                    _ => lock,
                };
                thread.$tell(kind as u8, lock, thread.site_of(code as u64));
            });
        }
    )*};
}

mutex_events! {
    mutex_acquire(_hint: c_uint, _implementation: c_uint) wants;
    mutex_acquired() acquired;
    mutex_released() released;
    lock_init(_hint: c_uint, _implementation: c_uint) initialized;
    lock_destroy() destroyed;
}
