//! Explicit tasks and taskloops.
//!
//! The runtime copies a task's data, by the program's copy function or bytewise, and passes the
//! copy to the task's function. We give it a longer block: a [`Header`] followed by the program's
//! data. Our function finds the header at the start of its copy, and passes the rest on. The
//! runtime itself writes to the first words of the block: the event of a task with `detach`, the
//! bounds of a taskloop's task.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;

use inside::memory::{self, Zeroed};
use inside::{Saved, What};
use omp_ring::loops::{LoopKey, Schedule};
use omp_ring::record::{InstanceId, TASK_ALL, TASK_LOOP};
use ompt::Function;
use ompt::numbers::task::{EXPLICIT, UNDEFERRED};
use ompt::numbers::{sync_region, task_status};

use super::plain::Plain;
use super::provider;
use super::state::Body;
use super::state::Task;
use super::{current, with};
use crate::loops::Loop;
use crate::tls;

/// `GOMP_TASK_FLAG_DEPEND`.
const DEPEND: usize = 1 << 3;
/// `GOMP_TASK_FLAG_GRAINSIZE`: the number of tasks is that of a task's iterations.
const GRAINSIZE: usize = 1 << 9;
/// `GOMP_TASK_FLAG_NOGROUP`: a taskloop without the taskgroup around it.
const NOGROUP: usize = 1 << 11;
/// `GOMP_TASK_FLAG_REDUCTION`.
const REDUCTION: usize = 1 << 12;
/// `GOMP_TASK_FLAG_DETACH`.
const DETACH: usize = 1 << 13;

/// `ompt_task_status_t`.
const COMPLETE: u32 = task_status::COMPLETE as u32;
const SWITCH: u32 = task_status::SWITCH as u32;
const TASKWAIT: u32 = sync_region::TASKWAIT as u32;
const TASKGROUP: u32 = sync_region::TASKGROUP as u32;

/// The program's function that copies a task's data: to, from.
type Copy = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void);

/// The header in front of a task's data.
#[derive(Clone, std::marker::Copy, Debug)]
#[repr(C)]
struct Header {
    /// Words that the runtime reads and writes; the first [`Header::shared`] are the task's.
    words: [usize; 3],
    body: Body,
    copy: Option<Copy>,
    /// The program's data, valid during the task's creation.
    data: *mut c_void,
    id: InstanceId,
    /// Offset of the task's copy of its data; 0 if it has none.
    offset: usize,
    shared: usize,
}

/// The arguments that a task and a taskloop have in common.
pub(super) struct Arguments {
    pub(super) body: usize,
    pub(super) data: usize,
    pub(super) copy: usize,
    pub(super) size: usize,
    pub(super) align: usize,
}

impl Arguments {
    /// From a call whose first arguments they are.
    #[inline(always)]
    fn of(saved: &Saved) -> Arguments {
        let [body, data, copy, size, align, _] = saved.registers;
        Arguments {
            body,
            data,
            copy,
            size,
            align,
        }
    }
}

/// The arguments passed to the runtime instead.
struct Wrapped {
    body: Body,
    block: *mut c_void,
    copy: Option<Copy>,
    size: usize,
    align: usize,
}

/// Executes a task: `block` is the runtime's copy of the block that it was given.
unsafe extern "C-unwind" fn run(block: *mut c_void) {
    // SAFETY: each block passed with this function starts with a header. Nobody writes to it once
    // the task runs, and the runtime keeps its copy until we return.
    let header = unsafe { &*block.cast::<Header>() };
    let data = if header.offset == 0 {
        ptr::null_mut()
    } else {
        // SAFETY: the copy extends to there and beyond. It holds at least the words that the
        // runtime would have written there itself.
        unsafe {
            let data = block.byte_add(header.offset);
            // Usually there are none; this avoids a useless call of `memcpy`.
            if header.shared != 0 {
                let words = header.words.as_ptr();
                ptr::copy_nonoverlapping(words, data.cast::<usize>(), header.shared);
            }
            data
        }
    };
    // SAFETY: the program's function and its data.
    unsafe { work((header.body, data), header.id) };
}

/// Calls the program's function of a task. A taskloop's tasks have one id.
///
/// # Safety
/// `body` takes `data`.
#[inline(always)]
unsafe fn work((body, data): (Body, *mut c_void), id: InstanceId) {
    let mut token = 0;
    let mut outer = Task::NONE;
    // SAFETY: no longer used when the body is called.
    if let Some(thread) = unsafe { current() } {
        outer = thread.gomp.task;
        // This frame, to which the body returns, is the outermost of the task.
        let end = (&raw const outer) as u64;
        thread.gomp.task = Task { id, end };
        thread.task_schedule(id, SWITCH);
        token = thread.token();
    }
    // SAFETY: the caller's promise.
    unsafe { body(data) };
    if token == 0 {
        return;
    }
    // SAFETY: nothing is called any more. In the child of a fork the state is new, and this task is
    // not in it.
    if let Some(thread) = unsafe { tls::current() }.filter(|thread| thread.token() == token) {
        thread.gomp.task = outer;
        thread.task_schedule(outer.id, COMPLETE);
    }
}

/// Copies a task's data by the program's own function.
unsafe extern "C-unwind" fn copy(to: *mut c_void, from: *mut c_void) {
    // SAFETY: `from` is the block that was passed, `to` has its size and alignment.
    unsafe {
        let header = *from.cast::<Header>();
        to.cast::<Header>().write(header);
        if let Some(copy) = header.copy {
            copy(to.byte_add(header.offset), header.data);
        }
    }
}

/// Executes a plain task: `block` is the runtime's copy of the block that it was given.
unsafe extern "C-unwind" fn run_plain(block: *mut c_void) {
    // SAFETY: each block passed with this function starts with this header. The runtime keeps its
    // copy, which is as long as the data, until we return.
    let (body, id) = unsafe {
        let plain = block.cast::<Plain>();
        ((*plain).body, (*plain).id)
    };
    // SAFETY: the program's function, and the copy of its data, which follows.
    unsafe { work((body, block.byte_add(Plain::DATA)), id) };
}

/// Space for a block on the stack; larger ones are mapped.
#[repr(C, align(64))]
struct Room<const BYTES: usize>(MaybeUninit<[u8; BYTES]>);

/// A block for data of any size that programs use.
#[repr(C)]
struct Mapped(MaybeUninit<[u8; 1 << 20]>);

// SAFETY: any bit pattern is valid.
unsafe impl Zeroed for Mapped {}

/// Calls `real` with a block in place of the data.
///
/// # Safety
/// `arguments` are those of a task's creation, and `header` was made for them.
#[inline(always)]
unsafe fn hand_over(arguments: &Arguments, header: &Header, real: impl FnOnce(&Wrapped)) -> bool {
    /// Enough for most tasks. Small, because tasks executed immediately nest on the stack.
    const FEW: usize = 256;

    let bytes = if header.copy.is_some() {
        size_of::<Header>()
    } else {
        header.offset + arguments.size
    };
    if arguments.align > 64 || bytes > FEW {
        // SAFETY: the caller's promise.
        return unsafe { hand_over_large(arguments, header, bytes, real) };
    }
    let mut room = Room::<FEW>(MaybeUninit::uninit());
    // SAFETY: the room is as large as needed, and aligned to 64.
    let wrapped = unsafe { fill((&raw mut room).cast(), arguments, header) };
    real(&wrapped);
    true
}

/// As [`hand_over`], for the few tasks that need more `bytes`.
#[cold]
#[inline(never)]
unsafe fn hand_over_large(
    arguments: &Arguments,
    header: &Header,
    bytes: usize,
    real: impl FnOnce(&Wrapped),
) -> bool {
    const MANY: usize = 4096;

    #[inline(never)]
    unsafe fn on_stack(arguments: &Arguments, header: &Header, real: impl FnOnce(&Wrapped)) {
        let mut room = Room::<MANY>(MaybeUninit::uninit());
        // SAFETY: the caller has checked that the space is large enough.
        let wrapped = unsafe { fill((&raw mut room).cast(), arguments, header) };
        real(&wrapped);
    }

    // SAFETY: the room is as large as needed, and aligned to 64 or a page.
    unsafe {
        if arguments.align <= 64 && bytes <= MANY {
            on_stack(arguments, header, real);
            return true;
        }
        if arguments.align > 4096 || bytes > size_of::<Mapped>() {
            return false;
        }
        let Some(room) = memory::map::<Mapped>() else {
            return false;
        };
        real(&fill(room.cast(), arguments, header));
        memory::unmap(room);
    }
    true
}

/// # Safety
/// `block` is aligned and large enough for `header` and, where bytes are copied, the data.
#[inline(always)]
unsafe fn fill(block: *mut c_void, arguments: &Arguments, header: &Header) -> Wrapped {
    // SAFETY: the caller's promise; the data has the size that the program says.
    unsafe {
        block.cast::<Header>().write(*header);
        if header.copy.is_none() && header.offset != 0 {
            let to = block.byte_add(header.offset).cast::<u8>();
            ptr::copy_nonoverlapping(header.data.cast::<u8>(), to, arguments.size);
        }
    }
    Wrapped {
        body: run,
        block,
        copy: header.copy.map(|_| copy as Copy),
        size: header.offset.max(size_of::<Header>()) + arguments.size,
        align: arguments.align.max(align_of::<Header>()),
    }
}

/// The header of a task; `None` for arguments that no compiler generates.
///
/// # Safety
/// `arguments` are those of a task's creation.
#[inline(always)]
unsafe fn header(arguments: &Arguments, id: InstanceId, shared: usize) -> Option<Header> {
    let align = arguments.align.max(1);
    if !align.is_power_of_two() || arguments.size > isize::MAX as usize / 2 {
        return None;
    }
    // SAFETY: a function, checked not to be NULL, and a function or NULL.
    let (body, copy) = unsafe {
        (
            std::mem::transmute::<usize, Option<Body>>(arguments.body)?,
            std::mem::transmute::<usize, Option<Copy>>(arguments.copy),
        )
    };
    let has_data = arguments.data != 0;
    Some(Header {
        words: [0; 3],
        body,
        copy: copy.filter(|_| has_data),
        data: arguments.data as *mut c_void,
        id,
        offset: if has_data {
            // Rounds up without the division that the compiler would generate.
            (size_of::<Header>() + align - 1) & !(align - 1)
        } else {
            0
        },
        shared: if has_data { shared } else { 0 },
    })
}

/// The instance id of the task that this call creates; none if nothing is recorded.
#[inline]
fn create(saved: &Saved, flags: u32, kind: u16) -> InstanceId {
    // SAFETY: used only here, with no other calls.
    let Some(thread) = (unsafe { current() }) else {
        return InstanceId::NONE;
    };
    let [body, ..] = saved.registers;
    let call = thread.gomp.call(saved.at(), body);
    thread.task_create(&call, flags, kind)
}

/// Adds a taskloop to the counts of loops.
fn count_taskloop(saved: &Saved) {
    let [_, _, _, _, _, flags] = saved.registers;
    let [tasks, _, start, end, step, _] = saved.stack;
    let step = (step as i64).unsigned_abs().max(1);
    let distance = (end as i64).wrapping_sub(start as i64).unsigned_abs();
    let schedule = Schedule::taskloop(tasks != 0 && flags & GRAINSIZE == 0);
    let it = Loop {
        key: LoopKey::new(saved.at().code(), schedule),
        chunk: tasks as u64,
        step,
    };
    with(|thread| thread.loop_passed(it, distance.div_ceil(step)));
}

type RealTask = unsafe extern "C-unwind" fn(
    Body,
    *mut c_void,
    Option<Copy>,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
);

/// GOMP_task. Arguments: function, data, copy function, size, alignment, whether it may be
/// deferred; on the stack flags, dependences, priority, address of the event. Code from older
/// compilers omits the last ones, and shows that in the flags.
pub(super) unsafe extern "C-unwind" fn task(saved: *mut Saved, what: What) {
    // SAFETY: the entry point's own.
    let saved = unsafe { &*saved };
    let [body, .., deferrable] = saved.registers;
    let [flags, depend, priority, detach, ..] = saved.stack;
    let arguments = Arguments::of(saved);
    let provider = provider::of(what.function(), body as u64);
    // SAFETY: GOMP_task's type.
    let real = unsafe { provider.real::<RealTask>(what.function()) };
    let mut id = InstanceId::NONE;
    if provider.records() {
        let undeferred = if deferrable as u8 == 0 { UNDEFERRED } else { 0 };
        id = create(saved, EXPLICIT | undeferred, 0);
        // Before it executes an undeferred task, the thread waits for the tasks on which it
        // depends.
        let waits = undeferred != 0 && flags & DEPEND != 0;
        if id != InstanceId::NONE && !waits && flags & DETACH == 0 && Plain::fits(&arguments) {
            let mut plain = MaybeUninit::<Plain>::uninit();
            // SAFETY: the caller's arguments, which fit, and GOMP_task's; the runtime copies the
            // block before it returns.
            unsafe {
                let bytes = Plain::fill(&mut plain, &arguments, id);
                real(
                    run_plain,
                    plain.as_mut_ptr().cast(),
                    None,
                    bytes,
                    align_of::<Plain>(),
                    deferrable,
                    flags,
                    depend,
                    priority,
                    detach,
                );
            }
            return;
        }
    }
    // SAFETY: the caller's own.
    unsafe { task_of_any_shape(saved, real, id) };
}

/// Creates a task by `real`, as `id` unless that is none. Handles data of any size, a copy
/// function, dependences to wait for, and an event.
///
/// # Safety
/// `saved` and `real` belong to a call of GOMP_task.
#[inline(never)]
unsafe fn task_of_any_shape(saved: &Saved, real: RealTask, id: InstanceId) {
    let [body, data, copy, size, align, deferrable] = saved.registers;
    let [flags, depend, priority, detach, ..] = saved.stack;
    let arguments = Arguments::of(saved);
    if id != InstanceId::NONE {
        let waits = deferrable as u8 == 0 && flags & DEPEND != 0;
        let shared = if flags & DETACH != 0 { 1 } else { 0 };
        // SAFETY: the caller's arguments, and a header made for them.
        let done = unsafe { header(&arguments, id, shared) }.is_some_and(|header| unsafe {
            if waits {
                with(|thread| thread.sync_wait_begin(TASKWAIT, saved.at().code()));
            }
            let done = hand_over(&arguments, &header, |it| {
                real(
                    it.body, it.block, it.copy, it.size, it.align, deferrable, flags, depend,
                    priority, detach,
                );
            });
            if waits {
                with(|thread| thread.sync_wait_end(TASKWAIT));
            }
            done
        });
        if done {
            return;
        }
    }
    // SAFETY: the caller's own arguments; a function and a function or NULL.
    unsafe {
        let body = std::mem::transmute::<usize, Body>(body);
        let copy = std::mem::transmute::<usize, Option<Copy>>(copy);
        real(
            body,
            data as *mut c_void,
            copy,
            size,
            align,
            deferrable,
            flags,
            depend,
            priority,
            detach,
        );
    }
}

type RealTaskloop = unsafe extern "C-unwind" fn(
    Body,
    *mut c_void,
    Option<Copy>,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
);

/// GOMP_taskloop and its `unsigned long long` form. Arguments: function, data, copy function, size,
/// alignment, flags; on the stack number of tasks, priority, start, end, step.
///
/// The records have one id for all its tasks: these have one creator and one calling context, and
/// the runtime says nothing of them but that it calls the function, once for each.
///
/// The taskgroup around them is opened and closed here, as the runtime does it itself. So the wait
/// at its end is recorded separately from the creation of the tasks. It is not done if the tasks
/// take part in a reduction, which the runtime has to register in between. Then the wait is
/// recorded from the begin of the call.
pub(super) unsafe extern "C-unwind" fn taskloop(saved: *mut Saved, what: What) {
    // SAFETY: the entry point's own.
    let saved = unsafe { &*saved };
    let [body, data, copy, size, align, flags] = saved.registers;
    let [tasks, priority, start, end, step, _] = saved.stack;
    let arguments = Arguments::of(saved);
    let provider = provider::of(what.function(), body as u64);
    // SAFETY: GOMP_taskloop's type.
    let real = unsafe { provider.real::<RealTaskloop>(what.function()) };
    let id = if provider.records() {
        count_taskloop(saved);
        create(saved, EXPLICIT, TASK_LOOP | TASK_ALL)
    } else {
        InstanceId::NONE
    };
    // SAFETY: the caller's arguments.
    let header = unsafe { header(&arguments, id, 2) }.filter(|_| id != InstanceId::NONE);
    let done = header.is_some_and(|mut header| {
        let group = flags & (NOGROUP | REDUCTION) == 0;
        let inside = flags & (NOGROUP | REDUCTION) == REDUCTION;
        if flags & REDUCTION != 0 {
            // SAFETY: such data starts with two bounds and a pointer.
            header.words[2] = unsafe { *(data as *const usize).add(2) };
        }
        // SAFETY: the types of the taskgroup's functions, and of no others.
        let call = |function: Function| unsafe {
            provider.real::<unsafe extern "C-unwind" fn()>(function as usize)();
        };
        let code = saved.at().code();
        if group {
            call(Function::GOMP_taskgroup_start);
        }
        if inside {
            with(|thread| thread.sync_wait_begin(TASKGROUP, code));
        }
        let own_group = if group { NOGROUP } else { 0 };
        // SAFETY: the caller's arguments, and a header made for them.
        let done = unsafe {
            hand_over(&arguments, &header, |it| {
                real(
                    it.body,
                    it.block,
                    it.copy,
                    it.size,
                    it.align,
                    flags | own_group,
                    tasks,
                    priority,
                    start,
                    end,
                    step,
                );
            })
        };
        if group {
            with(|thread| thread.sync_wait_begin(TASKGROUP, code));
            call(Function::GOMP_taskgroup_end);
        }
        if group || inside {
            with(|thread| {
                thread.sync_wait_end(TASKGROUP);
                // All tasks of the taskloop have ended.
                thread.task_schedule(id, COMPLETE);
            });
        }
        done
    });
    if !done {
        // SAFETY: the caller's own arguments; a function and a function or NULL.
        unsafe {
            let body = std::mem::transmute::<usize, Body>(body);
            let copy = std::mem::transmute::<usize, Option<Copy>>(copy);
            real(
                body,
                data as *mut c_void,
                copy,
                size,
                align,
                flags,
                tasks,
                priority,
                start,
                end,
                step,
            );
        }
    }
}
