//! The signal of the timers, and those who share it.
//!
//! It is the one by which the C library has the threads of a process change their user (SIGSETXID of
//! glibc). The C library keeps it to itself: none of its functions lets a program block it, wait for it
//! or handle it. So what a program does with signals and what we do with this one do not meet.
//!
//! It is handled by system calls of our own, since the C library's functions refuse it. The C library
//! sets its handler when a program makes its first thread, and takes signals of timers for nothing;
//! [`keep`] then puts ours before it, which passes on what is not ours.

use std::arch::naked_asm;
use std::ffi::{c_int, c_long, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use inside::filters;
use inside::next::Next;

/// The signal of the timers.
pub(super) const SIGNAL: c_int = 33;

type Sigaction = unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;
type Sigaltstack = unsafe extern "C" fn(*const libc::stack_t, *mut libc::stack_t) -> c_int;

static SIGACTION: Next = Next::new(c"sigaction");
static SIGALTSTACK: Next = Next::new(c"sigaltstack");

/// The handler before ours: the C library's, or by default none.
static BEFORE: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);

/// A signal's handling, as the kernel takes it (`struct kernel_sigaction` of the C library).
#[repr(C)]
struct Action {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

/// The function to which a handler returns: the kernel wants one of the process
/// (arch/x86/include/uapi/asm/signal.h). Debuggers know it by these bytes, and look at the one before,
/// too.
#[unsafe(naked)]
extern "C" fn restorer() {
    naked_asm!(
        "nop",
        ".globl parallax_restorer",
        ".hidden parallax_restorer",
        "parallax_restorer:",
        "mov rax, 15",
        "syscall",
    )
}

/// Looks the C library's functions up, so that they can be called from a signal handler later.
pub(super) fn resolve() {
    real_sigaction();
    real_sigaltstack();
}

fn real_sigaction() -> Option<Sigaction> {
    // SAFETY: the address of the C library's function of this name.
    let cast = |address| unsafe { transmute::<usize, Sigaction>(address) };
    SIGACTION.address().map(cast)
}

fn real_sigaltstack() -> Option<Sigaltstack> {
    // SAFETY: the address of the C library's function of this name.
    let cast = |address| unsafe { transmute::<usize, Sigaltstack>(address) };
    SIGALTSTACK.address().map(cast)
}

/// Sets the signal's handling, if there is a new one, and returns the one before; `None` if the kernel
/// refuses.
fn handle(new: Option<&Action>) -> Option<Action> {
    let mut before = Action {
        handler: libc::SIG_DFL,
        flags: 0,
        restorer: 0,
        mask: 0,
    };
    // SAFETY: the kernel reads the new handling, and writes the local variable. Both have its layout.
    let result = unsafe {
        libc::syscall(
            libc::SYS_rt_sigaction,
            c_long::from(SIGNAL),
            new.map_or(ptr::null(), ptr::from_ref),
            &raw mut before,
            size_of::<u64>(),
        )
    };
    (result == 0).then_some(before)
}

/// Installs our handler. It runs on the thread's alternate stack if there is one: the program may have
/// chosen small stacks because of it. All other signals wait meanwhile: that stack may have no room for
/// the frame of a second one, and a thread that is cancelled must not be so in our handler.
pub(super) fn install() -> bool {
    let Some(before) = handle(None) else {
        return false;
    };
    let ours = on_signal as *const () as usize;
    if before.handler == ours {
        return true;
    }
    BEFORE.store(before.handler, Release);
    /// `SA_RESTORER` of asm/signal.h.
    const WITH_RESTORER: c_int = 0x0400_0000;
    let flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK | WITH_RESTORER;
    let action = Action {
        handler: ours,
        flags: flags as u64,
        // Past the byte that is not executed.
        restorer: restorer as *const () as usize + 1,
        mask: u64::MAX,
    };
    handle(Some(&action)).is_some()
}

/// Puts our handler before the C library's, if that has set its own since. It does so once. Until then a
/// program has what it inherits: the signal may be ignored.
pub(super) fn keep() {
    let has_handler = !matches!(BEFORE.load(Relaxed), libc::SIG_DFL | libc::SIG_IGN);
    if !has_handler && !filters::are_set() {
        install();
    }
}

/// Permits the signal in the calling thread, which may have inherited a mask that blocks it.
pub(super) fn unblock() {
    let set = 1u64 << (SIGNAL - 1);
    let no_result = ptr::null_mut::<u64>();
    // SAFETY: the kernel reads the set, and writes nothing, since the last pointer is NULL.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            c_long::from(libc::SIG_UNBLOCK),
            &raw const set,
            no_result,
            size_of::<u64>(),
        )
    };
}

/// The handler: goes on at the one before ours by a jump, if that is to have the signal, so that no frame
/// of ours is on the stack then.
#[unsafe(naked)]
unsafe extern "C" fn on_signal(_: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
    naked_asm!(
        "sub rsp, 24",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rdx",
        "call {received}",
        "mov rdi, [rsp]",
        "mov rsi, [rsp + 8]",
        "mov rdx, [rsp + 16]",
        "add rsp, 24",
        "test rax, rax",
        "jz 2f",
        "jmp rax",
        "2:",
        "ret",
        received = sym received,
    )
}

/// Takes a sample if the signal is from a timer. Returns the handler that is to have it otherwise; 0: none.
unsafe extern "C" fn received(_: c_int, info: *mut libc::siginfo_t, context: *mut c_void) -> usize {
    // SAFETY: the kernel passes the signal's description and the interrupted code's registers, which live
    // as long as the handler runs.
    unsafe {
        if (*info).si_code == libc::SI_TIMER {
            super::on_timer(&*info.cast(), &*context.cast());
            return 0;
        }
    }
    match BEFORE.load(Acquire) {
        libc::SIG_IGN => 0,
        libc::SIG_DFL => {
            by_default();
            0
        }
        handler => handler,
    }
}

/// Does with the signal what the kernel does by default: it ends the process, when the handler returns.
fn by_default() {
    let action = Action {
        handler: libc::SIG_DFL,
        flags: 0,
        restorer: 0,
        mask: 0,
    };
    handle(Some(&action));
    // SAFETY: integers go in, and no memory of ours is touched.
    unsafe {
        let thread = libc::syscall(libc::SYS_gettid);
        libc::syscall(
            libc::SYS_tgkill,
            c_long::from(libc::getpid()),
            thread,
            c_long::from(SIGNAL),
        );
    }
}

/// As the C library's, but that our signal waits while a handler runs on an alternate stack: that may have
/// no room for the frame of a second signal.
///
/// # Safety
/// That of sigaction(2).
#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(
    number: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    let Some(real) = real_sigaction() else {
        return -1;
    };
    if super::FILE.get().is_none() {
        // SAFETY: the caller's arguments.
        return unsafe { real(number, new, old) };
    }
    // SAFETY: the caller's arguments, but for a copy of what it sets. By the caller's promise each pointer is
    // NULL or points to a sigaction, whose mask begins with the word of the kernel's.
    unsafe {
        let ours = 1u64 << (SIGNAL - 1);
        let masked = new.as_ref().map(|new| {
            let mut masked = *new;
            if new.sa_flags & libc::SA_ONSTACK != 0 {
                *(&raw mut masked.sa_mask).cast::<u64>() |= ours;
            }
            masked
        });
        let new = masked.as_ref().map_or(ptr::null(), ptr::from_ref);
        let result = real(number, new, old);
        if result == 0 && !old.is_null() {
            *(&raw mut (*old).sa_mask).cast::<u64>() &= !ours;
        }
        result
    }
}

/// As the C library's. A thread is not sampled while its alternate stack has no room for that.
///
/// # Safety
/// That of sigaltstack(2).
#[unsafe(no_mangle)]
unsafe extern "C" fn sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int {
    let Some(real) = real_sigaltstack() else {
        return -1;
    };
    if new.is_null() {
        // SAFETY: the caller's arguments.
        return unsafe { real(new, old) };
    }
    super::stop_thread();
    // SAFETY: the caller's arguments.
    let result = unsafe { real(new, old) };
    super::go_on_with_thread();
    result
}

/// Whether the calling thread's alternate stack, if it has one, has room for a sample.
pub(super) fn alternate_stack_has_room() -> bool {
    // SAFETY: stack_t is plain data, valid when zeroed; the function fills it.
    let stack = unsafe {
        let mut stack: libc::stack_t = std::mem::zeroed();
        if real_sigaltstack().is_none_or(|real| real(ptr::null(), &raw mut stack) != 0) {
            return true;
        }
        stack
    };
    stack.ss_flags & libc::SS_DISABLE != 0 || stack.ss_size >= room()
}

/// What a sample takes of a stack: the frame that the kernel writes, and our handler's.
fn room() -> usize {
    /// `AT_MINSIGSTKSZ` of linux/auxvec.h.
    const KERNEL_FRAME: u64 = 51;
    /// `MINSIGSTKSZ`, for kernels that do not tell.
    const LEAST: usize = 2048;
    const HANDLER: usize = 4096;
    // SAFETY: the call takes a number, returns a number and touches no memory of ours.
    let frame = unsafe { libc::getauxval(KERNEL_FRAME) } as usize;
    frame.max(LEAST) + HANDLER
}
