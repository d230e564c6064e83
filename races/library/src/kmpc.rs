//! Functions of LLVM's runtime of which its OMPT events do not tell enough, interposed.
#![allow(unsafe_code)]

use std::arch::naked_asm;
use std::ffi::c_int;

use race_stream::record::Event;

use crate::next::{Next, next};
use crate::{tls, unwritten};

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
    let task = next!(
        c"__kmpc_omp_task_alloc",
        fn(u64, c_int, c_int, usize, usize, u64) -> u64,
        (place, thread, flags, bytes, shared, body),
        0
    );
    if task != 0 {
        if unwritten::is_on() && unwritten::is_instrumented(code) {
            /// The runtime's own part of the memory, `kmp_task_t`.
            const HEADER: u64 = 40;
            let end = task + bytes as u64;
            // SAFETY: the runtime has just given the memory to the program; behind the header it has
            // written nothing.
            unsafe { unwritten::undefine((task + HEADER).min(end), end) };
        }
        tls::with(|state| {
            let context = state.context();
            state.event(&Event::Alloc {
                address: task,
                bytes: (bytes.next_multiple_of(8) + shared) as u64,
                code,
                context,
            });
        });
    }
    task
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

macro_rules! as_they_are {
    ($($name:ident $to:ident;)*) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
            naked_asm!("jmp {to}", to = sym $to)
        }
    )*};
}

as_they_are! {
    __kmpc_reduce reduce;
    __kmpc_reduce_nowait reduce_nowait;
    omp_get_thread_num thread_number;
    omp_get_thread_num_ thread_number_fortran;
}

extern "C-unwind" fn thread_number() -> c_int {
    tls::with(crate::thread::Thread::asks_thread);
    next!(c"omp_get_thread_num", fn() -> c_int, (), 0)
}

extern "C-unwind" fn thread_number_fortran() -> c_int {
    tls::with(crate::thread::Thread::asks_thread);
    next!(c"omp_get_thread_num_", fn() -> c_int, (), 0)
}
