//! Explicit tasks and taskloops.
//!
//! libgomp copies a task's data, by the program's copy function or bytewise, and passes the copy to
//! the task's function. It gets a [`Header`] instead, and always a copy function, ours, which copies
//! the header and puts the program's data behind it. libgomp itself writes to the first words of
//! what it is given: the event of a task with `detach`, the bounds of a taskloop's task.

use std::ffi::c_void;
use std::ptr;

use inside::provider::Provider;
use inside::{Saved, What, call_with};
use ompt::Function;
use ompt::numbers::dependence::{
    IN, INOUT, INOUT_ALL_MEMORY as ALL_MEMORY, INOUTSET, MUTEXINOUTSET,
};
use ompt::numbers::task::{FINAL, MERGEABLE, TASKWAIT, UNTIED};
use ompt::numbers::task_status::{
    COMPLETE, DETACH, EARLY_FULFILL, LATE_FULFILL, SWITCH, TASKWAIT_COMPLETE,
};
use ompt::numbers::work::TASKLOOP;
use race_stream::record::Event;

use super::detach;
use super::events::{tell, work_begins};
use super::real::{self, forward, forward_to, query};
use super::state::Body;
use super::state::Work;
use crate::thread::Site;
use crate::tls;

pub(super) use ompt::numbers::task::{EXPLICIT, UNDEFERRED};

/// `GOMP_TASK_FLAG_UNTIED`, `FINAL`, `MERGEABLE`, `DEPEND`, `UP`, `GRAINSIZE`, `IF`, `NOGROUP`,
/// `REDUCTION` and `DETACH`.
const GOMP_UNTIED: usize = 1;
const GOMP_FINAL: usize = 1 << 1;
const GOMP_MERGEABLE: usize = 1 << 2;
const GOMP_DEPEND: usize = 1 << 3;
const GOMP_UP: usize = 1 << 8;
const GOMP_GRAINSIZE: usize = 1 << 9;
const GOMP_IF: usize = 1 << 10;
const GOMP_NOGROUP: usize = 1 << 11;
const GOMP_REDUCTION: usize = 1 << 12;
const GOMP_DETACH: usize = 1 << 13;

/// The program's function that copies a task's data: to, from.
type Copy = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void);

/// What stands before a task's data.
#[derive(Clone, std::marker::Copy, Debug)]
#[repr(C, align(16))]
struct Header {
    /// Words that libgomp reads and writes; the first [`Header::shared`] are the task's.
    words: [usize; 3],
    body: Option<Body>,
    copy: Option<Copy>,
    /// The program's data, there while the task is created.
    data: *mut c_void,
    size: usize,
    /// The offset of the task's copy of its data; 0 if it has none.
    offset: usize,
    shared: usize,
    has_event: bool,
    copying: Copying,
    /// The task's number; 0: not created yet, or not recorded.
    task: u64,
    origin: Origin,
}

/// When a task gets a copy of the program's data.
#[derive(Clone, std::marker::Copy, Debug, PartialEq, Eq)]
enum Copying {
    /// When libgomp creates it, by [`copy`].
    WhenCreated,
    /// When libgomp executes it, where it has created it.
    WhenRun,
    /// Never: libgomp executes it where it creates it, with the data itself.
    Never,
}

/// Room for the data of a task that is copied when it is run.
#[repr(align(64))]
struct Room([std::mem::MaybeUninit<u8>; 1024]);

/// Where a task is created.
#[derive(Clone, std::marker::Copy, Debug)]
pub(super) struct Origin {
    /// `ompt_task_flag_t`.
    pub(super) flags: u32,
    pub(super) site: Site,
    pub(super) frame: u64,
    /// libgomp's list of dependences; NULL: none.
    pub(super) depend: *const usize,
}

impl Origin {
    /// The current task creates a task. Returns its number; 0 if nothing is recorded.
    pub(super) fn create(&self) -> u64 {
        tls::with(|thread| {
            let task = thread.instance();
            thread.create(task, self.flags, self.site, self.frame);
            // SAFETY: the program's list, there while the task is created.
            unsafe {
                dependences(self.depend, |address, kind| {
                    thread.event(&Event::Depend {
                        task,
                        address,
                        kind,
                    });
                });
            }
            task
        })
    }
}

/// Passes each dependence of a list to `found`, with its `ompt_dependence_type_t`.
///
/// # Safety
/// `list` is NULL or such a list.
unsafe fn dependences(list: *const usize, mut found: impl FnMut(u64, u8)) {
    if list.is_null() {
        return;
    }
    // SAFETY: the caller's promise. Since GCC 9 the list may begin with 0, the number of all, of
    // those that are out or inout, mutexinoutset, and in; the rest are objects of an address and a
    // kind. The older one begins with the number of all, which is not 0, and of those out or inout.
    unsafe {
        let word = |at: usize| *list.add(at);
        let (all, counts, mut at) = match word(0) {
            0 => (word(1), [word(2), word(3), word(4)], 5),
            all => (all, [word(1), 0, all.saturating_sub(word(1))], 2),
        };
        let end = at + all;
        for (count, kind) in counts.into_iter().zip([INOUT, MUTEXINOUTSET, IN]) {
            for _ in 0..count {
                match word(at) {
                    0 if kind == INOUT => found(0, ALL_MEMORY),
                    address => found(address as u64, kind),
                }
                at += 1;
            }
        }
        while at < end {
            let [address, kind] = *(word(at) as *const [usize; 2]);
            let kind = match kind {
                1 => IN,
                4 => MUTEXINOUTSET,
                5 => INOUTSET,
                _ if address == 0 => ALL_MEMORY,
                _ => INOUT,
            };
            found(address as u64, kind);
            at += 1;
        }
    }
}

/// Executes a task: `block` is libgomp's copy of the header and the data, or the header itself.
unsafe extern "C-unwind" fn run(block: *mut c_void) {
    // SAFETY: what is passed with this function begins with a header, which stays until we return.
    let header = unsafe { *block.cast::<Header>() };
    let Some(body) = header.body else {
        return;
    };
    let (data, task) = match header.copying {
        Copying::Never => (header.data, header.origin.create()),
        // SAFETY: as above.
        Copying::WhenRun => return unsafe { run_with_copy(header) },
        // SAFETY: `copy` has put the data there.
        Copying::WhenCreated if header.offset != 0 => {
            (unsafe { block.byte_add(header.offset) }, header.task)
        }
        Copying::WhenCreated => (ptr::null_mut(), header.task),
    };
    if !data.is_null() {
        // SAFETY: libgomp would have written these words there itself.
        unsafe { ptr::copy_nonoverlapping(header.words.as_ptr(), data.cast(), header.shared) };
    }
    let here = &raw const header as u64;
    // libgomp puts the data of a task that it executes at once on the stack, below the call that
    // creates the task; all that lies there is the task's own.
    let frame = if (here..header.origin.frame).contains(&(block as u64)) {
        header.origin.frame
    } else {
        here
    };
    let event = header.has_event.then_some(header.words[0]);
    // SAFETY: the program's function and its data.
    execute(task, event, frame, || unsafe { body(data) });
}

/// Executes a task where it is created, with a copy of the program's data: another task of the same
/// taskloop gets the same data.
///
/// # Safety
/// The header is what libgomp passed; its data is there while the tasks are created.
#[inline(never)]
unsafe fn run_with_copy(header: Header) {
    let mut room = Room([std::mem::MaybeUninit::uninit(); size_of::<Room>()]);
    let mut own = Header {
        copying: Copying::Never,
        ..header
    };
    if header.offset != 0 && header.size <= size_of::<Room>() {
        own.data = room.0.as_mut_ptr().cast();
        // SAFETY: the caller's promise; the room has as many bytes, and the data no stricter alignment.
        unsafe { ptr::copy_nonoverlapping(header.data.cast(), own.data, header.size) };
    }
    // SAFETY: a header, which stays until the task has ended.
    unsafe { run((&raw mut own).cast()) };
}

/// Calls `body` as a task, whose frames lie below `frame`. `event`: the handle of its event, if it
/// has one.
#[inline]
pub(super) fn execute(task: u64, event: Option<usize>, frame: u64, body: impl FnOnce()) {
    if task == 0 {
        return body();
    }
    let outer = tls::with(|thread| {
        let outer = thread.place.task;
        thread.switch(outer, task, SWITCH, false, frame);
        Some(outer)
    });
    crate::stack::begin_task();
    body();
    let Some(outer) = outer else {
        return;
    };
    let status = match event {
        Some(handle) if detach::body_ends(handle, task) => DETACH,
        _ => COMPLETE,
    };
    tls::with(|thread| thread.switch(task, outer, status, true, frame));
}

/// Copies a task's header and data, and creates the task: what the program's copy function does
/// comes before it.
unsafe extern "C-unwind" fn copy(to: *mut c_void, from: *mut c_void) {
    // SAFETY: `from` is the header that was passed, `to` has room for it and the data, aligned. The
    // event's handle stands in the program's data, too, where libgomp would have written it.
    unsafe {
        let mut header = *from.cast::<Header>();
        if header.offset != 0 {
            if header.has_event {
                *header.data.cast::<usize>() = header.words[0];
            }
            let data = to.byte_add(header.offset);
            match header.copy {
                Some(copy) => copy(data, header.data),
                None => {
                    ptr::copy_nonoverlapping(header.data.cast::<u8>(), data.cast(), header.size)
                }
            }
        }
        header.task = header.origin.create();
        if header.has_event && header.task != 0 {
            detach::add(header.words[0], header.task);
        }
        to.cast::<Header>().write(header);
    }
}

/// What is passed to libgomp in place of the program's function, copy function, size and alignment.
struct Passed {
    copy: usize,
    size: usize,
    align: usize,
}

/// The header of a task whose first arguments are these. `None` for what no compiler makes.
fn header(saved: &Saved, origin: Origin, copying: Copying) -> Option<(Header, Passed)> {
    let [body, data, copy_by, size, align, _] = saved.registers;
    let align = align.max(align_of::<Header>());
    if !align.is_power_of_two() || size > isize::MAX as usize / 2 {
        return None;
    }
    let offset = match data {
        0 => 0,
        _ => size_of::<Header>().next_multiple_of(align),
    };
    // SAFETY: functions or NULL.
    let (body, copy_by) = unsafe {
        (
            std::mem::transmute::<usize, Option<Body>>(body),
            std::mem::transmute::<usize, Option<Copy>>(copy_by),
        )
    };
    // The program's copy function does more than to copy bytes.
    let has_room = size <= size_of::<Room>() && align <= align_of::<Room>();
    let copying = match copying {
        Copying::Never if copy_by.is_none() => Copying::Never,
        Copying::WhenRun if copy_by.is_none() && has_room => Copying::WhenRun,
        _ => Copying::WhenCreated,
    };
    let is_copied = copying == Copying::WhenCreated;
    let header = Header {
        words: [0; 3],
        body: Some(body?),
        copy: copy_by,
        data: data as *mut c_void,
        size,
        offset,
        shared: 0,
        has_event: false,
        copying,
        task: 0,
        origin,
    };
    let passed = Passed {
        copy: if is_copied {
            copy as *const () as usize
        } else {
            0
        },
        size: if is_copied {
            offset.max(size_of::<Header>()) + size
        } else {
            size_of::<Header>()
        },
        align,
    };
    Some((header, passed))
}

fn flags_of(flags: usize, is_undeferred: bool) -> u32 {
    let mut result = EXPLICIT;
    for (gomp, ompt) in [
        (GOMP_UNTIED, UNTIED),
        (GOMP_FINAL, FINAL),
        (GOMP_MERGEABLE, MERGEABLE),
    ] {
        if flags & gomp != 0 {
            result |= ompt;
        }
    }
    if is_undeferred {
        result |= UNDEFERRED;
    }
    result
}

/// Whether the thread executes each new task at once: the children of a final task, and tasks outside
/// parallel regions, which no other thread could execute.
fn executes_at_once(runtime: &Provider) -> bool {
    query(runtime, Function::omp_in_final) != 0 || tls::with(|thread| thread.place.region == 0)
}

/// GOMP_task. Arguments: function, data, copy function, size, alignment, whether it may be deferred;
/// on the stack flags, dependences, priority, address of the event. Code from older compilers omits
/// the last ones, and shows that in the flags.
pub(super) unsafe extern "C-unwind" fn task(saved: &Saved, what: What) -> usize {
    let deferrable = saved.registers[5];
    let runtime = real::of_body(saved, what);
    let [flags, depend, priority, detach, ..] = saved.stack;
    let is_undeferred = deferrable as u8 == 0 || executes_at_once(runtime);
    let origin = Origin {
        flags: flags_of(flags, is_undeferred),
        site: saved.at().into(),
        frame: saved.frame(),
        depend: match flags & GOMP_DEPEND {
            0 => ptr::null(),
            _ => depend as *const usize,
        },
    };
    let has_event = flags & GOMP_DETACH != 0;
    let Some((mut header, passed)) = header(saved, origin, Copying::WhenCreated) else {
        // SAFETY: the entry point's own.
        return unsafe { forward_to(runtime, saved, what) };
    };
    header.has_event = has_event;
    // SAFETY: GOMP_task's arguments; libgomp needs the header only until the task is created.
    unsafe {
        let registers = [
            run as *const () as usize,
            (&raw mut header) as usize,
            passed.copy,
            passed.size,
            passed.align,
            deferrable,
        ];
        let stack = [flags, depend, priority, detach, 0, 0];
        call_with(runtime.address(what.function()), registers, stack);
    }
    0
}

/// Most bytes of a taskloop's tasks, if libgomp puts all of them on the stack at once.
const ROOM: u64 = 1 << 18;
/// At least the bytes of libgomp's `struct gomp_task`.
const TASK: usize = 256;
/// Most tasks that libgomp lets wait, for each thread of a team.
const MOST_FOR_A_THREAD: u64 = 64;

/// GOMP_taskloop and its unsigned kind. Arguments: as a task's, but flags in place of whether it may
/// be deferred; on the stack number of tasks or iterations, priority, begin, end, step.
pub(super) unsafe extern "C-unwind" fn taskloop(saved: &Saved, what: What) -> usize {
    let runtime = real::of_body(saved, what);
    let [_, data, _, _, _, flags] = saved.registers;
    let [tasks, priority, start, end, step, _] = saved.stack;
    let work = match what.kind() {
        0 => Work::signed(TASKLOOP, start, step),
        _ => Work::unsigned(TASKLOOP, flags & GOMP_UP != 0, start, step),
    };
    let is_undeferred = flags & GOMP_IF == 0 || query(runtime, Function::omp_in_final) != 0;
    let origin = Origin {
        flags: flags_of(flags, is_undeferred || executes_at_once(runtime)),
        site: saved.at().into(),
        frame: saved.frame(),
        depend: ptr::null(),
    };
    let has_group = flags & GOMP_NOGROUP == 0;
    tls::with(|thread| {
        work_begins(thread, TASKLOOP, saved.at().into(), work.total(end));
        if has_group {
            thread.event(&Event::GroupBegin { code: saved.code });
        }
    });
    let (least, most) = match flags & GOMP_GRAINSIZE {
        0 => (work.total(end).min(tasks as u64), tasks as u64),
        _ => {
            let tasks = work.total(end) / (tasks as u64).max(1);
            (tasks, tasks + 1)
        }
    };
    // libgomp executes tasks at once if there would be too many. With a copy function it puts all of
    // them on the stack then.
    let is_crowded =
        least > MOST_FOR_A_THREAD * u64::from(query(runtime, Function::omp_get_num_threads));
    let copying = if is_undeferred {
        Copying::Never
    } else if is_crowded {
        Copying::WhenRun
    } else {
        Copying::WhenCreated
    };
    // Outside parallel regions libgomp may have no team; then it executes tasks at once, too. A taskloop
    // of very many tasks is there not recorded as tasks.
    let at_once = is_undeferred || is_crowded || executes_at_once(runtime);
    let made = header(saved, origin, copying).filter(|(header, passed)| {
        let bytes = most.saturating_mul((passed.size + TASK) as u64);
        !at_once || header.copying != Copying::WhenCreated || bytes <= ROOM
    });
    match made {
        // SAFETY: the entry point's own.
        None => unsafe {
            forward_to(runtime, saved, what);
        },
        Some((mut header, passed)) => {
            header.shared = 2;
            if flags & GOMP_REDUCTION != 0 {
                // SAFETY: such data begins with two bounds and a pointer.
                header.words[2] = unsafe { *(data as *const usize).add(2) };
            }
            // SAFETY: the function's arguments; libgomp needs the header only until all tasks are
            // created.
            unsafe {
                let registers = [
                    run as *const () as usize,
                    (&raw mut header) as usize,
                    passed.copy,
                    passed.size,
                    passed.align,
                    flags,
                ];
                let stack = [tasks, priority, start, end, step, 0];
                call_with(runtime.address(what.function()), registers, stack);
            }
        }
    }
    tls::with(|thread| {
        if has_group {
            thread.event(&Event::GroupEnd { code: saved.code });
        }
        thread.event(&Event::WorkEnd { kind: TASKLOOP });
    });
    0
}

pub(super) unsafe extern "C-unwind" fn wait(saved: &Saved, what: What) -> usize {
    // SAFETY: the entry point's own.
    let result = unsafe { forward(saved, what) };
    tell(&Event::Taskwait { code: saved.code });
    result
}

/// A taskwait with dependences is as an empty task that has them, and is waited for.
pub(super) unsafe extern "C-unwind" fn wait_for_dependences(saved: &Saved, what: What) -> usize {
    let origin = Origin {
        flags: TASKWAIT | UNDEFERRED | MERGEABLE,
        site: saved.at().into(),
        frame: saved.frame(),
        depend: saved.registers[0] as *const usize,
    };
    let task = origin.create();
    // SAFETY: the entry point's own.
    let result = unsafe { forward(saved, what) };
    tls::with(|thread| {
        let to = thread.place.task;
        thread.event(&Event::Switch {
            from: task,
            to,
            status: TASKWAIT_COMPLETE,
            frame: 0,
        });
    });
    result
}

pub(super) unsafe extern "C-unwind" fn group_begins(saved: &Saved, what: What) -> usize {
    tell(&Event::GroupBegin { code: saved.code });
    // SAFETY: the entry point's own.
    unsafe { forward(saved, what) }
}

pub(super) unsafe extern "C-unwind" fn group_ends(saved: &Saved, what: What) -> usize {
    // SAFETY: the entry point's own.
    let result = unsafe { forward(saved, what) };
    tell(&Event::GroupEnd { code: saved.code });
    result
}

/// A task looks for the copies of a task reduction, of which each thread has one: it depends on the
/// thread's number.
pub(super) unsafe extern "C-unwind" fn finds_reduction(saved: &Saved, what: What) -> usize {
    tls::with(|thread| thread.asks_thread(0));
    // SAFETY: the entry point's own.
    unsafe { forward(saved, what) }
}

/// The event of a task is fulfilled: its handle is the argument.
pub(super) unsafe extern "C-unwind" fn fulfill(saved: &Saved, what: What) -> usize {
    let handle = saved.registers[0];
    let (task, status) = match detach::take(handle) {
        Some((task, true)) => (task, LATE_FULFILL),
        Some((task, false)) => (task, EARLY_FULFILL),
        None => (0, LATE_FULFILL),
    };
    tell(&Event::Switch {
        from: task,
        to: 0,
        status,
        frame: 0,
    });
    // SAFETY: the entry point's own.
    unsafe { forward(saved, what) }
}
