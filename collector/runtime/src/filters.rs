//! Filters of system calls (seccomp) that the program sets for itself.
//!
//! A filter may end the process at any call that the program does not make itself. So after the program
//! has set one, we make only calls that no program with threads can do without.
#![allow(unsafe_code)]

use std::arch::naked_asm;
use std::ffi::{c_int, c_long, c_ulong};
use std::mem::transmute;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicUsize};

use crate::loader::Scope;
use crate::process;
#[cfg(target_arch = "x86_64")]
use crate::{sampler, traced};

type Prctl = unsafe extern "C" fn(c_int, c_ulong, c_ulong, c_ulong, c_ulong) -> c_int;
type Syscall = unsafe extern "C" fn(c_long, c_ulong, c_ulong, c_ulong) -> c_long;

/// The C library's functions; 0 until they are looked up.
static PRCTL: AtomicUsize = AtomicUsize::new(0);
static SYSCALL: AtomicUsize = AtomicUsize::new(0);

static ARE_SET: AtomicBool = AtomicBool::new(false);

/// Looks the C library's functions up, so that they can be called from anywhere later.
pub(crate) fn resolve() {
    find(&PRCTL, c"prctl");
    real_syscall();
}

/// Whether the program has set a filter, or is about to.
pub(crate) fn are_set() -> bool {
    ARE_SET.load(Acquire)
}

/// Called before the program sets a filter.
fn begin() {
    if let Some(arena) = process::attached() {
        arena.open_all();
    }
    ARE_SET.store(true, Release);
    #[cfg(target_arch = "x86_64")]
    preload::exec::is_filtered();
    #[cfg(target_arch = "x86_64")]
    sampler::end_all();
}

/// The address of the C library's function of this name, looked up unless `place` has it; 0 if it has none.
pub(crate) fn find(place: &AtomicUsize, name: &std::ffi::CStr) -> usize {
    match place.load(Relaxed) {
        0 => {
            let function = Scope::next().find(name, None);
            place.store(function, Relaxed);
            function
        }
        function => function,
    }
}

/// As the C library's.
///
/// # Safety
/// That of prctl(2).
#[unsafe(no_mangle)]
unsafe extern "C" fn prctl(
    option: c_int,
    second: c_ulong,
    third: c_ulong,
    fourth: c_ulong,
    fifth: c_ulong,
) -> c_int {
    // A filter that is not there only asks whether there could be one.
    let is_strict = second == c_ulong::from(libc::SECCOMP_MODE_STRICT);
    if option == libc::PR_SET_SECCOMP && (is_strict || third != 0) {
        begin();
    }
    let real = find(&PRCTL, c"prctl");
    if real == 0 {
        return -1;
    }
    // SAFETY: the C library's function of this name, and the caller's arguments.
    unsafe { transmute::<usize, Prctl>(real)(option, second, third, fourth, fifth) }
}

/// `seccomp(2)`, which the C library has no function for.
unsafe extern "C" fn seccomp(
    number: c_long,
    operation: c_ulong,
    flags: c_ulong,
    argument: c_ulong,
) -> c_long {
    let is_strict = operation == c_ulong::from(libc::SECCOMP_SET_MODE_STRICT);
    let is_filter = operation == c_ulong::from(libc::SECCOMP_SET_MODE_FILTER) && argument != 0;
    if is_strict || is_filter {
        begin();
    }
    let real = real_syscall();
    if real == 0 {
        return -1;
    }
    // SAFETY: the C library's function, and the caller's arguments: this call has no more.
    unsafe { transmute::<usize, Syscall>(real)(number, operation, flags, argument) }
}

/// The address of the C library's function; 0 if it has none.
pub(crate) extern "C" fn real_syscall() -> usize {
    find(&SYSCALL, c"syscall")
}

/// As the C library's, to which it jumps with all arguments, but for the calls that set a filter or ask for a
/// tracer.
///
/// # Safety
/// That of syscall(2).
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn syscall() {
    naked_asm!(
        ".cfi_startproc",
        "cmp rdi, {number}",
        "je {seccomp}",
        "cmp rdi, {tracing}",
        "je {traced}",
        "mov rax, [rip + {real}]",
        "test rax, rax",
        "jz 2f",
        "jmp rax",
        "2:",
        "sub rsp, 56",
        ".cfi_def_cfa_offset 64",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rdx",
        "mov [rsp + 24], rcx",
        "mov [rsp + 32], r8",
        "mov [rsp + 40], r9",
        "call {find}",
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
        number = const libc::SYS_seccomp,
        seccomp = sym seccomp,
        tracing = const libc::SYS_ptrace,
        traced = sym traced::by_number,
        real = sym SYSCALL,
        find = sym real_syscall,
    )
}
