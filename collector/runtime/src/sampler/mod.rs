//! Samples that each thread takes of itself, where perf events are forbidden.
//!
//! A timer on the thread's CPU clock sends it a signal. The handler copies the registers and the top
//! of the stack to the thread's ring, and returns. `collect` asks for it by an environment variable;
//! without that nothing here is done but to forward calls.
//!
//! The signal is SIGURG. It is ignored by default, so one that arrives after an `exec` harms nothing,
//! and hardly any program uses it; one that does has its handler called all the same ([`signals`]).
//! The timer runs while the thread is on a CPU, and Linux on x86-64 (5.10) looks at it when the thread
//! returns to user code. So no system call is interrupted.
#![allow(unsafe_code)]

mod signals;
mod start;

use std::ffi::{CStr, c_int, c_long, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU32, compiler_fence};

use omp_ring::layout::MAX_SLOTS;
use omp_ring::samples::{MAX_STACK, REGISTERS, SAMPLES_VARIABLE_C, SampleFile, SampleWriter};

use crate::memory::{self, Zeroed};
use crate::process;
use crate::stack::{Copied, OwnStack, Part};

/// The signal of the timers.
const SIGNAL: c_int = libc::SIGURG;

static FILE: OnceLock<SampleFile> = OnceLock::new();

/// The sampled threads of this process, by the index of their slot. A thread's timer carries it.
static THREADS: [AtomicPtr<Sampled>; MAX_SLOTS as usize] =
    [const { AtomicPtr::new(ptr::null_mut()) }; MAX_SLOTS as usize];

/// The key of each thread's [`Sampled`]. Its destructor ends the sampling of the thread.
static KEY: AtomicU32 = AtomicU32::new(NO_KEY);
const NO_KEY: u32 = u32::MAX;

/// What the handler of a thread uses. Valid when zeroed but for the writer.
#[repr(C)]
struct Sampled {
    writer: MaybeUninit<SampleWriter>,
    own: MaybeUninit<OwnStack>,
    copied: Copied,
    timer: c_int,
    /// The thread's destructors are being called, of which some may be the program's.
    is_ending: bool,
}

// SAFETY: integers, and `MaybeUninit` permits any bytes.
unsafe impl Zeroed for Sampled {}

/// Called by the loader, before `main` and before the constructors of most libraries.
extern "C" fn at_load() {
    signals::resolve();
    start::resolve();
    // SAFETY: a C string goes in. What comes out is NULL or a C string in the environment, which
    // nobody changes while the program is loaded.
    let path = unsafe {
        let path = libc::getenv(SAMPLES_VARIABLE_C.as_ptr());
        (!path.is_null()).then(|| CStr::from_ptr(path))
    };
    if let Some(file) = path.and_then(SampleFile::attach) {
        begin_process(file);
    }
}

// SAFETY: the loader calls each pointer of this section once, on the thread that loads the library;
// the function needs nothing of Rust's runtime.
#[unsafe(link_section = ".init_array")]
#[used]
static AT_LOAD: extern "C" fn() = at_load;

/// Called when the process exits, on the thread that calls `exit`. Its slot tells its CPU time.
extern "C" fn at_exit() {
    if FILE.get().is_some() {
        let key = KEY.load(Relaxed);
        // SAFETY: the key was made by `begin_process`. The thread's value is taken from it before it is
        // used, so its destructor does not find it.
        unsafe {
            let value = libc::pthread_getspecific(key);
            if !value.is_null() {
                libc::pthread_setspecific(key, ptr::null());
                (*value.cast::<Sampled>()).is_ending = true;
                thread_ends(value);
            }
        }
    }
}

// SAFETY: the loader calls each pointer of this section once, at the exit of the process; the function
// needs nothing of Rust's runtime.
#[unsafe(link_section = ".fini_array")]
#[used]
static AT_EXIT: extern "C" fn() = at_exit;

/// Begins to sample the process, with the thread that loads the library.
fn begin_process(file: SampleFile) {
    let mut key = 0;
    // SAFETY: the destructor and the handler after a fork have the required types and stay valid: the
    // library is linked with `-z nodelete`.
    unsafe {
        if libc::pthread_key_create(&raw mut key, Some(thread_ends)) != 0 {
            return;
        }
        libc::pthread_atfork(None, None, Some(after_fork_in_child));
    }
    KEY.store(key, Relaxed);
    let is_first = FILE.set(file).is_ok();
    if is_first && signals::install(on_timer) {
        begin(true);
    }
}

/// Begins to sample the calling thread, if the process is sampled and the thread is not yet.
pub(crate) fn begin_thread() {
    begin(false);
}

/// As [`begin_thread`]; `begins_program` tells that the thread has just loaded the library.
fn begin(begins_program: bool) {
    let Some(file) = FILE.get() else {
        return;
    };
    let key = KEY.load(Relaxed);
    // SAFETY: the key was made by `begin_process`.
    if unsafe { !libc::pthread_getspecific(key).is_null() } {
        return;
    }
    let (pid, tid) = process::numbers();
    let sampled = file
        .claim((pid, tid), begins_program)
        .and_then(|writer| Sampled::begin(writer, file.period_ns(), tid == pid));
    match sampled {
        // SAFETY: the key was made by `begin_process`; its destructor takes this value.
        Some(sampled) => unsafe {
            libc::pthread_setspecific(key, sampled.cast_const().cast());
        },
        None => file.refuse(),
    }
}

impl Sampled {
    /// Starts the calling thread's timer.
    fn begin(writer: SampleWriter, period_ns: u64, is_initial: bool) -> Option<*mut Sampled> {
        let index = writer.index();
        let entry = THREADS.get(index)?;
        let sampled = memory::map::<Sampled>()?;
        // SAFETY: the mapping is new and zeroed, a valid value, and nothing else refers to it yet.
        unsafe {
            (*sampled).writer.write(writer);
            (*sampled).own.write(OwnStack::of_thread(is_initial));
            (*sampled).timer = NO_TIMER;
        }
        // The handler finds the thread from here on.
        entry.store(sampled, Release);
        if period_ns == 0 {
            return Some(sampled);
        }
        match create_timer(index) {
            Some(timer) => {
                // SAFETY: the handler reads the timer's number only once the timer is set, by the
                // next call, on this thread.
                unsafe { (*sampled).timer = timer };
                compiler_fence(AcqRel);
                set_timer(timer, period_ns);
                signals::unblock();
                Some(sampled)
            }
            None => {
                // SAFETY: it came from `map`, and no timer leads the handler to it.
                unsafe { Sampled::end(sampled, index) };
                None
            }
        }
    }

    /// Ends the calling thread's sampling, and closes its slot.
    ///
    /// # Safety
    /// `sampled` came from [`Sampled::begin`] on this thread, with this index, and is not used after.
    unsafe fn end(sampled: *mut Sampled, index: usize) {
        if let Some(entry) = THREADS.get(index) {
            entry.store(ptr::null_mut(), Release);
        }
        // A signal that arrives from here on, on this thread, finds nothing.
        compiler_fence(AcqRel);
        // SAFETY: the caller's promise; the writer was written by `begin` and is dropped once.
        unsafe {
            if (*sampled).timer != NO_TIMER {
                libc::syscall(libc::SYS_timer_delete, c_long::from((*sampled).timer));
            }
            (*sampled).writer.assume_init_drop();
            memory::unmap(sampled);
        }
    }
}

const NO_TIMER: c_int = -1;

/// Creates a timer on the calling thread's CPU clock that signals this thread. It carries `index`.
///
/// By system calls: the C library's functions have several versions, and keep the kernel's number to
/// themselves.
fn create_timer(index: usize) -> Option<c_int> {
    let mut timer: c_int = 0;
    // SAFETY: sigevent is plain data, valid when zeroed. The kernel reads it, and writes the number
    // to the local variable.
    let result = unsafe {
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_value.sival_ptr = ptr::without_provenance_mut(index);
        event.sigev_signo = SIGNAL;
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_notify_thread_id = libc::syscall(libc::SYS_gettid) as c_int;
        libc::syscall(
            libc::SYS_timer_create,
            c_long::from(libc::CLOCK_THREAD_CPUTIME_ID),
            &raw const event,
            &raw mut timer,
        )
    };
    (result == 0).then_some(timer)
}

/// Sets the timer to fire each `period_ns` nanoseconds of CPU time.
fn set_timer(timer: c_int, period_ns: u64) {
    let period = libc::timespec {
        tv_sec: (period_ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (period_ns % 1_000_000_000) as c_long,
    };
    let setting = libc::itimerspec {
        it_interval: period,
        it_value: period,
    };
    let no_result = ptr::null_mut::<libc::itimerspec>();
    // SAFETY: the kernel reads the setting and writes nothing, since the last pointer is NULL.
    unsafe {
        libc::syscall(
            libc::SYS_timer_settime,
            c_long::from(timer),
            0 as c_long,
            &raw const setting,
            no_result,
        );
    }
}

unsafe extern "C" fn thread_ends(value: *mut c_void) {
    let sampled: *mut Sampled = value.cast();
    // SAFETY: as below. With a value again, the destructor is called again, after the others.
    unsafe {
        if !std::mem::replace(&mut (*sampled).is_ending, true) {
            libc::pthread_setspecific(KEY.load(Relaxed), value);
            return;
        }
    }
    // SAFETY: the value of the key is what `begin` returned on this thread, which ends. The key's value
    // is NULL by now, so this happens once.
    unsafe {
        let index = (*sampled).writer.assume_init_ref().index();
        Sampled::end(sampled, index);
    }
}

/// The child of a fork has neither the timers nor the other threads of its parent.
extern "C" fn after_fork_in_child() {
    let key = KEY.load(Relaxed);
    for entry in &THREADS {
        if !entry.load(Relaxed).is_null() {
            entry.store(ptr::null_mut(), Relaxed);
        }
    }
    // The parent goes on to use the slot: the copy of its writer is not dropped.
    // SAFETY: the key was made by `begin_process`, and NULL is no value for its destructor.
    unsafe { libc::pthread_setspecific(key, ptr::null()) };
    begin_thread();
}

/// The fields of `siginfo_t` that the kernel fills for a timer (`SI_TIMER`).
#[repr(C)]
struct TimerInfo {
    number: c_int,
    error: c_int,
    code: c_int,
    _padding: c_int,
    timer: c_int,
    /// How often the timer fired beyond once.
    overrun: c_int,
    value: libc::sigval,
}

/// The handler. Nothing here allocates, locks, or calls the program.
unsafe extern "C" fn on_timer(number: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a signal's description, which lives as long as the handler runs.
    let timer = unsafe { &*info.cast::<TimerInfo>() };
    let index = timer.value.sival_ptr.addr();
    let sampled = match THREADS.get(index).filter(|_| timer.code == libc::SI_TIMER) {
        Some(entry) => entry.load(Acquire),
        None => ptr::null_mut(),
    };
    // SAFETY: a pointer in the table is that of a living thread's state. If the timer is its own, the
    // thread is this one, since the kernel sends a timer's signal to the thread that made it; nothing
    // but this handler, which does not interrupt itself, uses the writer and the stack meanwhile.
    unsafe {
        if sampled.is_null() || (*sampled).timer != timer.timer {
            signals::forward(number, info, context);
            return;
        }
        let saved = *libc::__errno_location();
        if FILE.get().is_some_and(|file| file.period_ns() > 0) {
            take(&mut *sampled, timer.overrun, &*context.cast());
        } else {
            // The recording has ended before the program.
            libc::syscall(libc::SYS_timer_delete, c_long::from(timer.timer));
            (*sampled).timer = NO_TIMER;
        }
        *libc::__errno_location() = saved;
    }
}

/// Writes a sample of the interrupted code.
fn take(sampled: &mut Sampled, overrun: c_int, context: &libc::ucontext_t) {
    let registers = registers(context);
    let sp = registers[SP];
    // SAFETY: `begin` wrote both before the timer was set.
    let (writer, own) = unsafe {
        (
            sampled.writer.assume_init_mut(),
            sampled.own.assume_init_mut(),
        )
    };
    // SAFETY: the call takes no argument and touches no memory of ours.
    let cpu = unsafe { libc::sched_getcpu() };
    let numbers = (cpu.max(0) as u32, overrun.max(0) as u32);
    writer.write(numbers, &registers, |each| {
        if sp.is_multiple_of(8) {
            let part = Part::of(own, &mut sampled.copied, (sp, 0), 8 * MAX_STACK as u64);
            part.each(|_, word| each(word));
        }
    });
}

/// Where [`registers`] has the stack pointer.
const SP: usize = 7;

#[cfg(target_arch = "x86_64")]
fn registers(context: &libc::ucontext_t) -> [u64; REGISTERS] {
    const ORDER: [c_int; REGISTERS] = [
        libc::REG_RAX,
        libc::REG_RBX,
        libc::REG_RCX,
        libc::REG_RDX,
        libc::REG_RSI,
        libc::REG_RDI,
        libc::REG_RBP,
        libc::REG_RSP,
        libc::REG_RIP,
        libc::REG_R8,
        libc::REG_R9,
        libc::REG_R10,
        libc::REG_R11,
        libc::REG_R12,
        libc::REG_R13,
        libc::REG_R14,
        libc::REG_R15,
    ];
    let mut values = [0; REGISTERS];
    for (value, register) in values.iter_mut().zip(ORDER) {
        let found = context.uc_mcontext.gregs.get(register as usize);
        *value = found.copied().unwrap_or(0) as u64;
    }
    values
}
