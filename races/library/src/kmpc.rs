//! Functions of LLVM's runtime of which its OMPT events do not tell enough, interposed.
#![allow(unsafe_code)]

use std::arch::naked_asm;
use std::ffi::c_int;

use race_stream::record::Event;

use crate::next::{Next, next};
use crate::{tls, unwritten};

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
        if unwritten::is_on() && unwritten::is_instrumented(code) {
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

/// Has [`copy_task`] called for each task of a taskloop. Returns the real function. The argument
/// stands on the stack.
macro_rules! taskloops {
    ($($name:ident $note:ident $symbol:literal $argument:literal;)*) => {$(
        extern "C" fn $note(task: u64, copy: u64) -> usize {
            static NEXT: Next = Next::new($symbol);
            extern "C" fn nothing() {}
            // SAFETY: the program has the task from `task_alloc`, and does not execute it yet.
            if let Some(note) = unsafe { Note::of(task as *const usize) } {
                note.copy = copy;
            }
            NEXT.address().unwrap_or(nothing as *const () as usize)
        }

        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
            // A jump, so that the runtime sees the program's return address and its arguments.
            naked_asm!(
                ".cfi_startproc",
                "sub rsp, 56",
                ".cfi_def_cfa_offset 64",
                "mov [rsp], rdi",
                "mov [rsp + 8], rsi",
                "mov [rsp + 16], rdx",
                "mov [rsp + 24], rcx",
                "mov [rsp + 32], r8",
                "mov [rsp + 40], r9",
                "mov rdi, rdx",
                "mov rsi, [rsp + 56 + {argument}]",
                "call {note}",
                "mov rdi, [rsp]",
                "mov rsi, [rsp + 8]",
                "mov rdx, [rsp + 16]",
                "mov rcx, [rsp + 24]",
                "mov r8, [rsp + 32]",
                "mov r9, [rsp + 40]",
                "add rsp, 56",
                ".cfi_def_cfa_offset 8",
                "lea r11, [rip + {copy}]",
                "mov [rsp + {argument}], r11",
                "jmp rax",
                ".cfi_endproc",
                note = sym $note,
                copy = sym copy_task,
                argument = const $argument,
            )
        }
    )*};
}

taskloops! {
    __kmpc_taskloop taskloop c"__kmpc_taskloop" 40;
    __kmpc_taskloop_5 taskloop_5 c"__kmpc_taskloop_5" 48;
}

/// Combines the copies of a reduction. The runtime calls the program's function for that, ordered by
/// barriers of its own.
macro_rules! reductions {
    ($($to:ident $name:literal;)*) => {$(
        extern "C-unwind" fn $to(
            place: u64,
            thread: c_int,
            count: c_int,
            bytes: usize,
            data: u64,
            function: u64,
            lock: u64,
        ) -> c_int {
            tls::with(|state| state.set_ignoring(true));
            let method = next!(
                $name,
                fn(u64, c_int, c_int, usize, u64, u64, u64) -> c_int,
                (place, thread, count, bytes, data, function, lock),
                0
            );
            tls::with(|state| state.set_ignoring(false));
            method
        }
    )*};
}

reductions! {
    reduce c"__kmpc_reduce";
    reduce_nowait c"__kmpc_reduce_nowait";
}

/// Functions about the copies of a task reduction, of which each thread has one. The runtime calls the
/// program's functions in them: to initialise copies, and to combine them where the last thread of a
/// team has come so far.
macro_rules! task_reductions {
    ($(
        $name:ident $to:ident $symbol:literal
            ($($argument:ident: $type:ty),*) -> $result:ty, finds: $finds:literal;
    )*) => {$(
        extern "C-unwind" fn $to($($argument: $type),*) -> $result {
            if $finds {
                // On another thread the task would have another copy.
                tls::with(|state| state.asks_thread(0));
            }
            tls::with(|state| state.set_ignoring(true));
            let result = next!(
                $symbol,
                fn($($type),*) -> $result,
                ($($argument),*),
                <$result>::default()
            );
            tls::with(|state| state.set_ignoring(false));
            result
        }

        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
            naked_asm!("jmp {to}", to = sym $to)
        }
    )*};
}

task_reductions! {
    __kmpc_task_reduction_init task_reduction_init c"__kmpc_task_reduction_init"
        (thread: c_int, count: c_int, data: u64) -> u64, finds: false;
    __kmpc_taskred_init taskred_init c"__kmpc_taskred_init"
        (thread: c_int, count: c_int, data: u64) -> u64, finds: false;
    __kmpc_task_reduction_modifier_init modifier_init c"__kmpc_task_reduction_modifier_init"
        (place: u64, thread: c_int, is_worksharing: c_int, count: c_int, data: u64) -> u64, finds: false;
    __kmpc_taskred_modifier_init taskred_modifier_init c"__kmpc_taskred_modifier_init"
        (place: u64, thread: c_int, is_worksharing: c_int, count: c_int, data: u64) -> u64, finds: false;
    __kmpc_task_reduction_modifier_fini modifier_fini c"__kmpc_task_reduction_modifier_fini"
        (place: u64, thread: c_int, is_worksharing: c_int) -> (), finds: false;
    __kmpc_task_reduction_get_th_data own_copy c"__kmpc_task_reduction_get_th_data"
        (thread: c_int, group: u64, item: u64) -> u64, finds: true;
}

/// A function whose last argument on the stack is its caller's return address: it calls `$to` with
/// the seventh argument replaced by it.
macro_rules! with_code_on_stack {
    ($($name:ident $to:ident;)*) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
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
                to = sym $to,
            )
        }
    )*};
}

with_code_on_stack! {
    __kmpc_omp_task_alloc task_alloc;
}

/// Notes the variable of a critical section, by whose address it is known: the runtime tells of a lock
/// that it has made for it. Returns the real function.
macro_rules! criticals {
    ($($name:ident $note:ident $symbol:literal;)*) => {$(
        extern "C" fn $note(section: u64) -> usize {
            static NEXT: Next = Next::new($symbol);
            extern "C" fn nothing() {}
            tls::with(|thread| thread.critical = section);
            NEXT.address().unwrap_or(nothing as *const () as usize)
        }

        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
            // A jump, so that the runtime sees the program's return address.
            naked_asm!(
                ".cfi_startproc",
                "sub rsp, 40",
                ".cfi_def_cfa_offset 48",
                "mov [rsp], rdi",
                "mov [rsp + 8], rsi",
                "mov [rsp + 16], rdx",
                "mov [rsp + 24], rcx",
                "mov rdi, rdx",
                "call {note}",
                "mov rdi, [rsp]",
                "mov rsi, [rsp + 8]",
                "mov rdx, [rsp + 16]",
                "mov rcx, [rsp + 24]",
                "add rsp, 40",
                ".cfi_def_cfa_offset 8",
                "jmp rax",
                ".cfi_endproc",
                note = sym $note,
            )
        }
    )*};
}

criticals! {
    __kmpc_critical critical c"__kmpc_critical";
    __kmpc_critical_with_hint critical_with_hint c"__kmpc_critical_with_hint";
    __kmpc_end_critical end_critical c"__kmpc_end_critical";
}

/// Notes the schedule of a loop with dynamic chunks, which tells whether it has an `ordered` clause.
/// Returns the real function.
macro_rules! dispatches {
    ($($name:ident $note:ident $symbol:literal;)*) => {$(
        extern "C" fn $note(schedule: u32, code: u64) -> usize {
            /// `kmp_ord_lower` to `kmp_ord_upper` of `sched_type`, below the bits of its modifiers, and
            /// what these are with no merging of chunks.
            const ORDERED: [std::ops::Range<u32>; 2] = [64..80, 192..208];
            static NEXT: Next = Next::new($symbol);
            extern "C" fn nothing() {}
            let kind = schedule & 0xffff;
            if ORDERED.iter().any(|kinds| kinds.contains(&kind)) {
                tls::with(|thread| thread.meet_ordered_clause(code));
            }
            NEXT.address().unwrap_or(nothing as *const () as usize)
        }

        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
            // A jump, so that the runtime sees the program's return address and its arguments.
            naked_asm!(
                ".cfi_startproc",
                "sub rsp, 56",
                ".cfi_def_cfa_offset 64",
                "mov [rsp], rdi",
                "mov [rsp + 8], rsi",
                "mov [rsp + 16], rdx",
                "mov [rsp + 24], rcx",
                "mov [rsp + 32], r8",
                "mov [rsp + 40], r9",
                "mov edi, edx",
                "mov rsi, [rsp + 56]",
                "call {note}",
                "mov rdi, [rsp]",
                "mov rsi, [rsp + 8]",
                "mov rdx, [rsp + 16]",
                "mov rcx, [rsp + 24]",
                "mov r8, [rsp + 32]",
                "mov r9, [rsp + 40]",
                "add rsp, 56",
                ".cfi_def_cfa_offset 8",
                "jmp rax",
                ".cfi_endproc",
                note = sym $note,
            )
        }
    )*};
}

dispatches! {
    __kmpc_dispatch_init_4 dispatch_init_4 c"__kmpc_dispatch_init_4";
    __kmpc_dispatch_init_4u dispatch_init_4u c"__kmpc_dispatch_init_4u";
    __kmpc_dispatch_init_8 dispatch_init_8 c"__kmpc_dispatch_init_8";
    __kmpc_dispatch_init_8u dispatch_init_8u c"__kmpc_dispatch_init_8u";
}

macro_rules! as_they_are {
    ($($name:ident $to:ident;)*) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
            naked_asm!("jmp {to}", to = sym $to)
        }
    )*};
}

/// `flush` with LLVM's runtime, whose own function does nothing else.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
unsafe extern "C" fn __kmpc_flush() {
    naked_asm!("mov rdi, [rsp]", "jmp {fence}", fence = sym crate::atomics::fence)
}

as_they_are! {
    __kmpc_reduce reduce;
    __kmpc_reduce_nowait reduce_nowait;
}

/// The argument is a number for C, and its address for Fortran.
macro_rules! set_threads {
    ($($name:ident $to:ident $symbol:literal;)*) => {$(
        extern "C-unwind" fn $to(threads: u64, code: u64) {
            tls::with(|thread| thread.sets_threads(code));
            next!($symbol, fn(u64) -> (), (threads), ());
        }

        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
            naked_asm!("mov rsi, [rsp]", "jmp {to}", to = sym $to)
        }
    )*};
}

set_threads! {
    omp_set_num_threads number_set c"omp_set_num_threads";
    omp_set_num_threads_ number_set_fortran c"omp_set_num_threads_";
}

macro_rules! most_threads {
    ($($name:ident $symbol:literal;)*) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        extern "C-unwind" fn $name() -> c_int {
            tls::with(|thread| thread.event(&Event::AsksThreads {}));
            next!($symbol, fn() -> c_int, (), 1)
        }
    )*};
}

most_threads! {
    omp_get_max_threads c"omp_get_max_threads";
    omp_get_max_threads_ c"omp_get_max_threads_";
}

macro_rules! thread_numbers {
    ($($name:ident $to:ident $real:literal;)*) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
            naked_asm!("mov rdi, [rsp]", "jmp {to}", to = sym $to)
        }

        extern "C-unwind" fn $to(code: u64) -> c_int {
            tls::with(|thread| thread.asks_thread(code));
            next!($real, fn() -> c_int, (), 0)
        }
    )*};
}

thread_numbers! {
    omp_get_thread_num thread_number c"omp_get_thread_num";
    omp_get_thread_num_ thread_number_fortran c"omp_get_thread_num_";
}
