//! Explicit tasks and taskloops.
//!
//! The runtime copies a task's data, by the program's copy function or as bytes, and gives the
//! copy to the task's function. We hand it a longer block: a [`Header`] and behind it what the
//! program handed over. Our function finds the header at the start of its copy, and passes the
//! rest on. The first words of the block are where the runtime itself writes: the event of a
//! task with `detach`, the bounds of a taskloop's task.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;

use omp_ring::record::InstanceId;

use super::entry::{Saved, What};
use super::plain::Plain;
use super::provider::{self, Function};
use super::region::Body;
use super::{Task, current, with};
use crate::memory::{self, Zeroed};
use crate::thread::Thread;
use crate::tls;

/// `GOMP_TASK_FLAG_DEPEND`.
const DEPEND: usize = 1 << 3;
/// `GOMP_TASK_FLAG_NOGROUP`: a taskloop without the taskgroup around it.
const NOGROUP: usize = 1 << 11;
/// `GOMP_TASK_FLAG_REDUCTION`.
const REDUCTION: usize = 1 << 12;
/// `GOMP_TASK_FLAG_DETACH`.
const DETACH: usize = 1 << 13;

/// `ompt_task_explicit` of `ompt_task_flag_t`.
const EXPLICIT: u32 = 0x4;
/// `ompt_task_undeferred` of `ompt_task_flag_t`.
const UNDEFERRED: u32 = 0x0800_0000;
/// `ompt_task_complete` of `ompt_task_status_t`.
const COMPLETE: u32 = 1;
/// `ompt_task_switch` of `ompt_task_status_t`.
const SWITCH: u32 = 7;
/// `ompt_sync_region_t`.
const TASKWAIT: u32 = 5;
/// `ompt_sync_region_t`.
const TASKGROUP: u32 = 6;

/// The program's function that copies a task's data: to, from.
type Copy = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void);

/// What stands before a task's data.
#[derive(Clone, std::marker::Copy, Debug)]
#[repr(C)]
struct Header {
    /// What the runtime reads and writes; the first [`Header::shared`] words are the task's.
    words: [usize; 3],
    body: Body,
    copy: Option<Copy>,
    /// The program's data, valid while the task is being created.
    data: *mut c_void,
    id: InstanceId,
    /// The task's copy of its data from here; 0 where it has none.
    offset: usize,
    shared: u16,
    /// `ompt_task_status_t` with which the task leaves.
    status: u16,
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
    /// Of a call that has them first.
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

/// What the runtime is told instead.
struct Wrapped {
    body: Body,
    block: *mut c_void,
    copy: Option<Copy>,
    size: usize,
    align: usize,
}

/// Runs a task: `block` is the runtime's copy of what it was handed.
unsafe extern "C-unwind" fn run(block: *mut c_void) {
    // SAFETY: each block that is handed over with this function starts with a header, which
    // nobody writes to once the task runs; the runtime keeps its copy until we return.
    let header = unsafe { &*block.cast::<Header>() };
    let data = if header.offset == 0 {
        ptr::null_mut()
    } else {
        // SAFETY: the copy goes on to there and beyond; it holds at least the words that the
        // runtime would have written there itself.
        unsafe {
            let data = block.byte_add(header.offset);
            // Mostly there are none, and the call of `memcpy` would be for nothing.
            if header.shared != 0 {
                let shared = header.shared as usize;
                ptr::copy_nonoverlapping(header.words.as_ptr(), data.cast::<usize>(), shared);
            }
            data
        }
    };
    // SAFETY: the program's function and its data.
    unsafe { work((header.body, data), header.id, header.status as u32) };
}

/// The program's part of a task, which it leaves with a status (`ompt_task_status_t`).
///
/// # Safety
/// `body` takes `data`.
#[inline(always)]
unsafe fn work((body, data): (Body, *mut c_void), id: InstanceId, status: u32) {
    let mut token = 0;
    let mut outer = Task::NONE;
    // SAFETY: used before the body is called alone.
    if let Some(thread) = unsafe { current() } {
        outer = thread.gomp.task;
        // This frame, into which the body returns, is the last one of the task.
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
    // SAFETY: nothing is called any more. Of a state that is new in the child of a fork, this
    // is not the task.
    if let Some(thread) = unsafe { tls::current() }.filter(|thread| thread.token() == token) {
        thread.gomp.task = outer;
        thread.task_schedule(outer.id, status);
    }
}

/// Copies a task's data by the program's own function.
unsafe extern "C-unwind" fn copy(to: *mut c_void, from: *mut c_void) {
    // SAFETY: from is the block that was handed over, to has its size and alignment.
    unsafe {
        let header = *from.cast::<Header>();
        to.cast::<Header>().write(header);
        if let Some(copy) = header.copy {
            copy(to.byte_add(header.offset), header.data);
        }
    }
}

/// Runs a plain task: `block` is the runtime's copy of what it was handed.
unsafe extern "C-unwind" fn run_plain(block: *mut c_void) {
    // SAFETY: each block that is handed over with this function starts so; the runtime keeps its
    // copy, which is as long as the data, until we return.
    let (body, id) = unsafe {
        let plain = block.cast::<Plain>();
        ((*plain).body, (*plain).id)
    };
    // SAFETY: the program's function, and the copy of its data, which follows.
    unsafe { work((body, block.byte_add(Plain::DATA)), id, COMPLETE) };
}

/// Room for a block; larger ones are mapped.
#[repr(C, align(64))]
struct Room<const BYTES: usize>(MaybeUninit<[u8; BYTES]>);

/// A block for data of any size that programs have.
#[repr(C)]
struct Mapped(MaybeUninit<[u8; 1 << 20]>);

// SAFETY: takes anything.
unsafe impl Zeroed for Mapped {}

/// Calls `real` with a block in place of the data.
///
/// # Safety
/// `arguments` are those of a task's creation, and `header` was made for them.
#[inline(always)]
unsafe fn hand_over(arguments: &Arguments, header: &Header, real: impl FnOnce(&Wrapped)) -> bool {
    /// Most tasks; little, because tasks that are run in place pile up on the stack.
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

/// As [`hand_over`], with room for more `bytes` than most tasks take.
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
        // SAFETY: the caller has seen that the room is large enough.
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

/// The header of a task; `None` for what no compiler makes.
///
/// # Safety
/// `arguments` are those of a task's creation.
#[inline(always)]
unsafe fn header(arguments: &Arguments, id: InstanceId, shared: u16) -> Option<Header> {
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
            // To a multiple, without the division that the compiler would make of it.
            (size_of::<Header>() + align - 1) & !(align - 1)
        } else {
            0
        },
        shared: if has_data { shared } else { 0 },
        status: COMPLETE as u16,
    })
}

/// The identifier of a task that is created by this call; none where nothing is recorded.
#[inline]
fn create(saved: &Saved, flags: u32) -> InstanceId {
    // SAFETY: used here alone, where nobody else is called.
    let Some(thread) = (unsafe { current() }) else {
        return InstanceId::NONE;
    };
    let [body, ..] = saved.registers;
    let call = thread.gomp.call(saved.at(), body);
    thread.task_create(&call, flags)
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

/// GOMP_task: function, data, copy function, size, alignment, whether it may be deferred, and on
/// the stack flags, dependences, priority, place of the event. Callers of older compilers leave
/// out the last ones, and say so in the flags.
pub(super) unsafe extern "C-unwind" fn task(saved: *mut Saved, what: What) {
    // SAFETY: the entry point's own.
    let saved = unsafe { &*saved };
    let [body, .., deferrable] = saved.registers;
    let [flags, depend, priority, detach, _] = saved.stack;
    let arguments = Arguments::of(saved);
    let provider = provider::of(what.function(), body as u64);
    // SAFETY: GOMP_task's type.
    let real = unsafe { provider.real::<RealTask>(what.function()) };
    let mut id = InstanceId::NONE;
    if provider.records() {
        let undeferred = if deferrable as u8 == 0 { UNDEFERRED } else { 0 };
        id = create(saved, EXPLICIT | undeferred);
        // Before a task that is run in place the thread waits for those it depends on.
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

/// Creates a task by `real`, as `id` unless that is none: with data of any size, a copy function,
/// dependences to be waited for, or an event.
///
/// # Safety
/// `saved` and `real` are of a call of GOMP_task.
#[inline(never)]
unsafe fn task_of_any_shape(saved: &Saved, real: RealTask, id: InstanceId) {
    let [body, data, copy, size, align, deferrable] = saved.registers;
    let [flags, depend, priority, detach, _] = saved.stack;
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

/// GOMP_taskloop and its `unsigned long long` form: function, data, copy function, size,
/// alignment, flags, and on the stack number of tasks, priority, start, end, step.
///
/// Its tasks are one in the records: they have one creator at one place, and the runtime alone
/// knows how many they are.
///
/// The taskgroup around them is opened and closed here, as the runtime does it itself, so that
/// the wait at its end is told apart from the creation of the tasks. Not where tasks take part
/// in a reduction, which the runtime has to register in between: there the wait is dated from
/// the call.
pub(super) unsafe extern "C-unwind" fn taskloop(saved: *mut Saved, what: What) {
    // SAFETY: the entry point's own.
    let saved = unsafe { &*saved };
    let [body, data, copy, size, align, flags] = saved.registers;
    let [tasks, priority, start, end, step] = saved.stack;
    let arguments = Arguments::of(saved);
    let provider = provider::of(what.function(), body as u64);
    // SAFETY: GOMP_taskloop's type.
    let real = unsafe { provider.real::<RealTaskloop>(what.function()) };
    let id = if provider.records() {
        create(saved, EXPLICIT)
    } else {
        InstanceId::NONE
    };
    // SAFETY: the caller's arguments.
    let header = unsafe { header(&arguments, id, 2) }.filter(|_| id != InstanceId::NONE);
    let done = header.is_some_and(|mut header| {
        header.status = SWITCH as u16;
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
                complete(thread, id);
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

/// All that ran under the one name of a taskloop's tasks is complete: said by a last part of it
/// that takes no time.
fn complete(thread: &mut Thread, id: InstanceId) {
    thread.task_schedule(id, SWITCH);
    thread.task_schedule(thread.gomp.task.id, COMPLETE);
}
