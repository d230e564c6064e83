//! Tasks: their memory, the parts of untied ones, and the tasks of taskloops.

use std::arch::naked_asm;
use std::ffi::c_int;

use inside::{Saved, What, next};
use ompt::Function;
use race_stream::record::Event;

use crate::gomp::address;
use crate::{objects, tls, unwritten};

/// The runtime's own part of a task's memory, `kmp_task_t`.
const HEADER: u64 = 40;
/// What comes next in a task of a taskloop: bounds, step, and whether it is the last one, which nobody
/// writes where nobody needs it.
const LOOP: u64 = 28;

/// What this library notes of a task, behind the program's own part of its memory. The task's shared
/// variables come next, to which its first word points.
#[repr(C)]
struct Note {
    /// Of the program's part, the note and the shared variables.
    bytes: u64,
    /// The return address of the program's call.
    code: u64,
    /// The program's function that copies its variables to a task of the taskloop; 0: none.
    copy: u64,
    body: u64,
}

impl Note {
    /// That of a task; `None` if it has no shared variables, so that `task_alloc` did not make it.
    ///
    /// # Safety
    /// `task_alloc` has returned the task, or the runtime has copied it from such a one.
    unsafe fn of<'a>(task: *const usize) -> Option<&'a mut Note> {
        // SAFETY: the caller's promise; `task_alloc` made room before the shared variables.
        unsafe {
            let shared = *task as *mut Note;
            (!shared.is_null()).then(|| &mut *shared.sub(1))
        }
    }
}

/// The memory of a task, which the runtime takes from a pool of its own: a new task's may have been
/// that of an older one, with which it is not ordered.
extern "C-unwind" fn task_alloc(
    place: u64,
    thread: c_int,
    flags: c_int,
    bytes: usize,
    shared: usize,
    body: u64,
    code: u64,
) -> u64 {
    /// `KMP_TASK_IS_TIED`.
    const TIED: c_int = 1;
    let own_body = if flags & TIED == 0 {
        run_untied as *const () as u64
    } else {
        body
    };
    let room = bytes.next_multiple_of(8);
    let shared = shared.max(1);
    let task = next!(
        c"__kmpc_omp_task_alloc",
        fn(u64, c_int, c_int, usize, usize, u64) -> u64,
        (
            place,
            thread,
            flags,
            room + size_of::<Note>(),
            shared,
            own_body
        ),
        0
    );
    if task != 0 {
        if unwritten::is_on() && objects::is_instrumented(code) {
            let end = task + bytes as u64;
            // SAFETY: the runtime has just given the memory to the program; behind the header it has
            // written nothing.
            unsafe { unwritten::undefine((task + HEADER).min(end), end) };
        }
        let note = Note {
            bytes: (room + size_of::<Note>() + shared) as u64,
            code,
            copy: 0,
            body,
        };
        tell_memory(task, &note);
        // SAFETY: the task has as many bytes as were asked for, and nobody knows it yet.
        unsafe { ((task as usize + room) as *mut Note).write(note) };
    }
    task
}

/// Tells of the memory of a task.
fn tell_memory(task: u64, note: &Note) {
    tls::with(|state| {
        let context = state.context();
        state.event(&Event::Alloc {
            address: task,
            bytes: note.bytes,
            code: note.code,
            caller: 0,
            context,
        });
    });
}

/// The body of a task.
type Body = unsafe extern "C-unwind" fn(c_int, *mut usize) -> c_int;

/// Executes a part of an untied task. The runtime does not always tell when a thread leaves the last
/// part: if another one has not quite left the part before, that one tells the task's end.
unsafe extern "C-unwind" fn run_untied(thread: c_int, task: *mut usize) -> c_int {
    // SAFETY: `task_alloc` has noted a body that the program gave for the task.
    let body = unsafe {
        let body = Note::of(task).map_or(0, |note| note.body);
        std::mem::transmute::<usize, Option<Body>>(body as usize)
    };
    let own = tls::with(|thread| thread.place.task);
    let result = match body {
        // SAFETY: the program's function, with its arguments.
        Some(body) => unsafe { body(thread, task) },
        None => 0,
    };
    tls::with(|thread| thread.leave_part(own));
    result
}

/// The program's function that copies variables to a task of a taskloop: to, from, whether it is the
/// last one.
type Copy = unsafe extern "C-unwind" fn(*mut usize, *const usize, c_int);

/// Called in place of that function for each task of a taskloop. The runtime has made it as a copy of
/// the task that the program has passed.
unsafe extern "C-unwind" fn copy_task(to: *mut usize, from: *const usize, is_last: c_int) {
    // SAFETY: tasks of the runtime, which copied the note as well; it holds a function of this type.
    unsafe {
        let Some(note) = Note::of(from) else {
            return;
        };
        tell_memory(to as u64, note);
        if unwritten::is_on() {
            unwritten::written_range(to as u64 + HEADER, LOOP);
        }
        if let Some(copy) = std::mem::transmute::<usize, Option<Copy>>(note.copy as usize) {
            copy(to, from, is_last);
        }
    }
}

/// Has [`copy_task`] called for each task of a taskloop: it takes the place of the function that the
/// program passes as the last argument. Returns the real function.
pub(crate) unsafe extern "C-unwind" fn taskloop(saved: &mut Saved, what: What) -> usize {
    let [_, _, task, ..] = saved.registers;
    let [_, _, _, _, fifth, sixth] = &mut saved.stack;
    let copy = match what.function() {
        LONG_TASKLOOP => sixth,
        _ => fifth,
    };
    // SAFETY: the program has the task from `task_alloc`, and does not execute it yet.
    if let Some(note) = unsafe { Note::of(task as *const usize) } {
        note.copy = *copy as u64;
    }
    *copy = copy_task as *const () as usize;
    address(what.function(), saved.code)
}

/// It has one argument more.
const LONG_TASKLOOP: usize = Function::__kmpc_taskloop_5 as usize;

/// Calls [`task_alloc`], whose last argument, on the stack, is the caller's return address.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
unsafe extern "C-unwind" fn __kmpc_omp_task_alloc() {
    naked_asm!(
        ".cfi_startproc",
        "mov rax, [rsp]",
        "sub rsp, 24",
        ".cfi_def_cfa_offset 32",
        "mov [rsp], rax",
        "call {to}",
        "add rsp, 24",
        ".cfi_def_cfa_offset 8",
        "ret",
        ".cfi_endproc",
        to = sym task_alloc,
    )
}
