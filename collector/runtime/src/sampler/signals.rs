//! The signal of the timers, and the program's own use of it.
//!
//! While the process is sampled, the handler in place is ours. What the program sets for the signal is
//! kept, told when it asks, and called for signals that do not come from our timers. No thread blocks
//! the signal: one that is blocked waits until the thread asks for any signal (`sigwait`).

use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize};

use super::SIGNAL;
use crate::loader::Scope;

type Sigaction = unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;
type Sigmask = unsafe extern "C" fn(c_int, *const libc::sigset_t, *mut libc::sigset_t) -> c_int;
type Signal = unsafe extern "C" fn(c_int, libc::sighandler_t) -> libc::sighandler_t;
pub(super) type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// The C library's functions; 0 until they are looked up.
static SIGACTION: AtomicUsize = AtomicUsize::new(0);
static SIGNAL_FUNCTION: AtomicUsize = AtomicUsize::new(0);
static SIGPROCMASK: AtomicUsize = AtomicUsize::new(0);
static PTHREAD_SIGMASK: AtomicUsize = AtomicUsize::new(0);

/// Whether our handler is in place.
static INSTALLED: AtomicBool = AtomicBool::new(false);
/// The program's handler for the signal, its flags and the signals that it blocks, a bit for each.
static HANDLER: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);
static FLAGS: AtomicI32 = AtomicI32::new(0);
static MASK: AtomicU64 = AtomicU64::new(0);

/// Looks the functions up, so that they can be called from a signal handler later.
pub(super) fn resolve() {
    real_sigaction();
    real_signal();
    real_mask(&SIGPROCMASK, c"sigprocmask");
    real_mask(&PTHREAD_SIGMASK, c"pthread_sigmask");
}

fn found(place: &AtomicUsize, name: &std::ffi::CStr) -> usize {
    match place.load(Relaxed) {
        0 => {
            let function = Scope::next().find(name, None);
            place.store(function, Relaxed);
            function
        }
        function => function,
    }
}

fn real_sigaction() -> Option<Sigaction> {
    let function = found(&SIGACTION, c"sigaction");
    // SAFETY: the address of the C library's function of this name, or 0.
    (function != 0).then(|| unsafe { transmute::<usize, Sigaction>(function) })
}

fn real_signal() -> Option<Signal> {
    let function = found(&SIGNAL_FUNCTION, c"signal");
    // SAFETY: the address of the C library's function of this name, or 0.
    (function != 0).then(|| unsafe { transmute::<usize, Signal>(function) })
}

fn real_mask(place: &AtomicUsize, name: &std::ffi::CStr) -> Option<Sigmask> {
    let function = found(place, name);
    // SAFETY: the address of the C library's function of one of these names, or 0.
    (function != 0).then(|| unsafe { transmute::<usize, Sigmask>(function) })
}

/// The signals of a set, a bit for each.
fn bits(set: &libc::sigset_t) -> u64 {
    // SAFETY: the set is valid, and only read.
    let holds = |number: &c_int| unsafe { libc::sigismember(set, *number) == 1 };
    let numbers = (1..=64).filter(holds);
    numbers.fold(0, |bits, number| bits | 1 << (number - 1))
}

/// Adds the signals whose bits are set.
fn add(bits: u64, set: &mut libc::sigset_t) {
    for number in (1..=64).filter(|number| bits & (1 << (number - 1)) != 0) {
        // SAFETY: the function changes the set, and nothing else.
        unsafe { libc::sigaddset(set, number) };
    }
}

/// Installs our handler. It runs on the thread's alternate stack if there is one: the program may have
/// chosen small stacks because of it. Other signals wait meanwhile: that stack may have no room for the
/// frame of a second one.
pub(super) fn install(handler: Handler) -> bool {
    let Some(sigaction) = real_sigaction() else {
        return false;
    };
    // SAFETY: sigaction is plain data, valid when zeroed. The handler takes what SA_SIGINFO passes,
    // and stays valid: the library is never unloaded.
    let result = unsafe {
        let mut ours: libc::sigaction = std::mem::zeroed();
        let mut before: libc::sigaction = std::mem::zeroed();
        ours.sa_sigaction = handler as usize;
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigfillset(&raw mut ours.sa_mask);
        let result = sigaction(SIGNAL, &raw const ours, &raw mut before);
        HANDLER.store(before.sa_sigaction, Relaxed);
        FLAGS.store(before.sa_flags, Relaxed);
        MASK.store(bits(&before.sa_mask), Relaxed);
        result
    };
    INSTALLED.store(result == 0, Release);
    result == 0
}

/// Permits the signal in the calling thread, which may have inherited a mask that blocks it.
pub(super) fn unblock() {
    // SAFETY: sigset_t is plain data, valid when zeroed; the functions change it and this thread's
    // mask, and nothing else.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, SIGNAL);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, ptr::null_mut());
    }
}

/// Calls the program's handler for a signal that is not from our timers.
///
/// # Safety
/// The arguments are those of a handler that the kernel has called.
pub(super) unsafe fn forward(number: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let (handler, flags) = (HANDLER.load(Acquire), FLAGS.load(Relaxed));
    // By default the signal is ignored.
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
        return;
    }
    // SAFETY: the program has given this function for the signal, and by its flags the arguments that
    // it takes. They are the kernel's. The mask is what the kernel would have set for that function; the
    // kernel restores the thread's own when we return.
    unsafe {
        let mut set = (*context.cast::<libc::ucontext_t>()).uc_sigmask;
        let blocked = MASK.load(Relaxed);
        add(blocked, &mut set);
        if flags & libc::SA_NODEFER == 0 {
            libc::sigaddset(&raw mut set, SIGNAL);
        }
        if let Some(real) = real_mask(&PTHREAD_SIGMASK, c"pthread_sigmask") {
            real(libc::SIG_SETMASK, &raw const set, ptr::null_mut());
        }
        if flags & libc::SA_SIGINFO != 0 {
            transmute::<usize, Handler>(handler)(number, info, context);
        } else {
            transmute::<usize, unsafe extern "C" fn(c_int)>(handler)(number);
        }
    }
}

/// Changes the calling thread's mask by the C library's function, but does not block our signal.
///
/// # Safety
/// That of sigprocmask(2).
unsafe fn mask(
    real: Option<Sigmask>,
    how: c_int,
    new: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    let Some(real) = real else {
        return libc::EINVAL;
    };
    // SAFETY: the caller's arguments, or a changed copy of the set on the stack.
    unsafe {
        if new.is_null() || how == libc::SIG_UNBLOCK || !INSTALLED.load(Acquire) {
            return real(how, new, old);
        }
        let mut set = *new;
        libc::sigdelset(&raw mut set, SIGNAL);
        real(how, &raw const set, old)
    }
}

/// As the C library's, but does not block our signal.
///
/// # Safety
/// That of sigprocmask(2).
#[unsafe(no_mangle)]
unsafe extern "C" fn sigprocmask(
    how: c_int,
    new: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { mask(real_mask(&SIGPROCMASK, c"sigprocmask"), how, new, old) }
}

/// As [`sigprocmask`].
///
/// # Safety
/// That of pthread_sigmask(3).
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_sigmask(
    how: c_int,
    new: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    let real = real_mask(&PTHREAD_SIGMASK, c"pthread_sigmask");
    // SAFETY: the caller's arguments.
    unsafe { mask(real, how, new, old) }
}

/// What the program sets for our signal is kept; all else is forwarded, but that our signal waits while a
/// handler runs on an alternate stack: that may have no room for the frame of a second signal.
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
    if !INSTALLED.load(Acquire) {
        // SAFETY: the caller's arguments.
        return unsafe { real(number, new, old) };
    }
    if number != SIGNAL {
        // SAFETY: the caller's arguments, but for a copy of what it sets. By the caller's promise each
        // pointer is NULL or points to a sigaction.
        return unsafe {
            let masked = new.as_ref().map(|new| {
                let mut masked = *new;
                if new.sa_flags & libc::SA_ONSTACK != 0 {
                    libc::sigaddset(&raw mut masked.sa_mask, SIGNAL);
                }
                masked
            });
            let new = masked.as_ref().map_or(ptr::null(), ptr::from_ref);
            let result = real(number, new, old);
            if result == 0
                && let Some(old) = old.as_mut()
                && old.sa_flags & libc::SA_ONSTACK != 0
            {
                libc::sigdelset(&raw mut old.sa_mask, SIGNAL);
            }
            result
        };
    }
    // SAFETY: by the caller's promise each pointer is NULL or points to a sigaction.
    unsafe {
        let (handler, flags) = (HANDLER.load(Acquire), FLAGS.load(Relaxed));
        let blocked = MASK.load(Relaxed);
        if let Some(new) = new.as_ref() {
            FLAGS.store(new.sa_flags, Relaxed);
            MASK.store(bits(&new.sa_mask), Relaxed);
            HANDLER.store(new.sa_sigaction, Release);
        }
        if let Some(old) = old.as_mut() {
            *old = std::mem::zeroed();
            old.sa_sigaction = handler;
            old.sa_flags = flags;
            add(blocked, &mut old.sa_mask);
        }
    }
    0
}

/// As [`sigaction`].
///
/// # Safety
/// That of signal(2).
#[unsafe(no_mangle)]
unsafe extern "C" fn signal(number: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    if number != SIGNAL || !INSTALLED.load(Acquire) {
        return match real_signal() {
            // SAFETY: the caller's arguments.
            Some(real) => unsafe { real(number, handler) },
            None => libc::SIG_ERR,
        };
    }
    FLAGS.store(libc::SA_RESTART, Relaxed);
    MASK.store(0, Relaxed);
    HANDLER.swap(handler, Release)
}
