//! Samples that each thread takes of itself, where perf events are forbidden.
//!
//! A timer on the thread's CPU clock sends it a signal. The handler copies the registers and the top
//! of the stack to the thread's ring, and returns. `collect` asks for it by an environment variable;
//! without that nothing here is done but to forward calls.
//!
//! The signal is one that no program can have ([`signals`]). The timer runs while the thread is on a CPU,
//! and Linux on x86-64 (5.10) looks at it when the thread returns to user code. So no system call is
//! interrupted. An `exec` takes the timers and their signals away.
//!
//! A thread whose stack has no room for that is not sampled. It keeps its slot, which tells its life, and is
//! counted. A thread of a traced process is treated alike: it would stop for each signal.
#![allow(unsafe_code)]

mod signals;
mod start;

use std::ffi::{CStr, c_int, c_long, c_void};
use std::mem::{MaybeUninit, transmute};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, compiler_fence};

use inside::filters;
use inside::memory::{self, Zeroed};
use inside::next::Next;
use inside::stack::{Copied, OwnStack, Part};
use omp_ring::layout::MAX_SLOTS;
use omp_ring::samples::{MAX_STACK, REGISTERS, SAMPLES_VARIABLE_C, SampleFile, SampleWriter};

use crate::{process, traced};

static FILE: OnceLock<SampleFile> = OnceLock::new();

/// The sampled threads of this process, by the index of their slot. A thread's timer carries it.
static THREADS: [AtomicPtr<Sampled>; MAX_SLOTS as usize] =
    [const { AtomicPtr::new(ptr::null_mut()) }; MAX_SLOTS as usize];

/// Their timers.
static TIMERS: [AtomicI32; MAX_SLOTS as usize] =
    [const { AtomicI32::new(NO_TIMER) }; MAX_SLOTS as usize];
const NO_TIMER: c_int = -1;

/// The key of each thread's [`Sampled`]. Its destructor ends the sampling of the thread.
static KEY: AtomicU32 = AtomicU32::new(NO_KEY);
const NO_KEY: u32 = u32::MAX;

/// The process has a tracer, or is about to.
static IS_TRACED: AtomicBool = AtomicBool::new(false);

/// What the handler of a thread uses. Valid when zeroed but for the writer.
#[repr(C)]
struct Sampled {
    writer: MaybeUninit<SampleWriter>,
    own: MaybeUninit<OwnStack>,
    copied: Copied,
    /// It is counted as one that is not sampled.
    is_counted: bool,
    /// The thread's destructors are being called, of which some may be the program's.
    is_ending: bool,
}

// SAFETY: integers, and `MaybeUninit` permits any bytes.
unsafe impl Zeroed for Sampled {}

/// Called while the library is loaded.
pub(crate) fn at_load() {
    signals::resolve();
    start::resolve();
    resolve_exits();
    // SAFETY: a C string goes in. What comes out is NULL or a C string in the environment, which
    // nobody changes while the program is loaded.
    let path = unsafe {
        let path = libc::getenv(SAMPLES_VARIABLE_C.as_ptr());
        (!path.is_null()).then(|| CStr::from_ptr(path))
    };
    if let Some(file) = path.and_then(SampleFile::attach) {
        preload::limits::holds(file.bytes());
        begin_process(file);
    }
}

/// Called when the process exits, on the thread that does so. Tells the CPU time of each thread.
extern "C" fn at_exit() {
    let Some(file) = FILE.get() else {
        return;
    };
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
    for (index, thread) in THREADS.iter().enumerate() {
        if !thread.load(Relaxed).is_null() {
            file.note_cpu_time(index, |tid| cpu_time(!tid << 3 | THREAD_CLOCK));
        }
    }
}

/// Set in the name of the CPU clock of a thread (`MAKE_THREAD_CPUCLOCK` of the kernel).
const THREAD_CLOCK: libc::clockid_t = 6;

/// What a CPU clock of this process shows, in nanoseconds. It takes a system call.
fn cpu_time(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes the local value.
    let is_known = !filters::are_set() && unsafe { libc::clock_gettime(clock, &raw mut time) } == 0;
    is_known.then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

type Exit = unsafe extern "C" fn(c_int) -> !;

/// The C library's functions, looked up at load: a signal handler may call them.
static EXITS: [Next; 2] = [Next::new(c"_exit"), Next::new(c"_Exit")];

/// Looks up those functions.
fn resolve_exits() {
    for next in &EXITS {
        next.address();
    }
}

/// Ends the process by the function of the C library.
fn exit(next: &Next, status: c_int) -> ! {
    // The child of `vfork` has the memory of its parent, which goes on.
    if !filters::are_set() && process::is_own_memory() {
        at_exit();
    }
    if let Some(real) = next.found() {
        // SAFETY: the address of the C library's function of this name.
        unsafe { transmute::<usize, Exit>(real)(status) };
    }
    loop {
        // SAFETY: an integer goes in; the call does not return.
        unsafe { libc::syscall(libc::SYS_exit_group, c_long::from(status)) };
    }
}

/// As the C library's; tells the CPU time of each thread before.
#[unsafe(no_mangle)]
extern "C" fn _exit(status: c_int) -> ! {
    exit(&EXITS[0], status)
}

/// As [`_exit`].
#[unsafe(no_mangle)]
extern "C" fn _Exit(status: c_int) -> ! {
    exit(&EXITS[1], status)
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
    process::learn_ids();
    IS_TRACED.store(traced::has_tracer(), Relaxed);
    let is_first = FILE.set(file).is_ok();
    if is_first && signals::install() {
        begin(true, true);
    }
}

/// Begins to sample the calling thread, if the process is sampled and the thread is not yet.
pub(crate) fn begin_thread() {
    begin(false, true);
}

/// As [`begin_thread`]; `begins_program` tells that the thread has just loaded the library, `has_room` that
/// its stack has room for samples.
fn begin(begins_program: bool, has_room: bool) {
    let Some(file) = FILE.get() else {
        return;
    };
    let key = KEY.load(Relaxed);
    let (pid, tid) = process::numbers();
    // SAFETY: the key was made by `begin_process`, and its value by `Sampled::new`. That of a thread which has
    // ended unseen is mapped, and nobody uses it any more.
    unsafe {
        let value: *mut Sampled = libc::pthread_getspecific(key).cast();
        if !value.is_null() {
            if (*value).writer.assume_init_ref().tid() == tid {
                return;
            }
            libc::pthread_setspecific(key, ptr::null());
            Sampled::forget(value);
        }
    }
    // What a thread runs before it comes here is its own, too; a program that begins was another one before.
    let age = if begins_program {
        None
    } else {
        cpu_time(libc::CLOCK_THREAD_CPUTIME_ID)
    };
    let sampled = file
        .claim((pid, tid), begins_program, age.unwrap_or(0))
        .and_then(|writer| Sampled::new(writer, tid == pid));
    let Some((sampled, index)) = sampled else {
        file.refuse();
        return;
    };
    // SAFETY: the key was made by `begin_process`; its destructor takes this value.
    unsafe { libc::pthread_setspecific(key, sampled.cast_const().cast()) };
    if file.period_ns() > 0 {
        if has_room && !filters::are_set() && !IS_TRACED.load(Relaxed) {
            signals::keep();
            signals::unblock();
            create_timer(index);
        }
        match timer_of(index) {
            Some(_) => go_on_with_thread(),
            None => file.refuse(),
        }
    }
}

/// The calling thread's state; NULL if it is not sampled. Its index, too.
fn own() -> (*mut Sampled, usize) {
    let nobody = (ptr::null_mut(), usize::MAX);
    if FILE.get().is_none() {
        return nobody;
    }
    // SAFETY: the key was made by `begin_process`, and its value by `Sampled::new` on this thread.
    unsafe {
        let sampled: *mut Sampled = libc::pthread_getspecific(KEY.load(Relaxed)).cast();
        if sampled.is_null() {
            return nobody;
        }
        (sampled, (*sampled).writer.assume_init_ref().index())
    }
}

/// The timer of the thread with this index.
fn timer_of(index: usize) -> Option<c_int> {
    let timer = TIMERS.get(index)?.load(Relaxed);
    (timer != NO_TIMER).then_some(timer)
}

/// Stops the calling thread's timer.
fn stop_thread() {
    if let Some(timer) = timer_of(own().1) {
        set_timer(timer, 0);
    }
}

/// Sets the calling thread's timer, if it has one, and counts the thread if there is no room for samples.
fn go_on_with_thread() {
    let (sampled, index) = own();
    let (Some(file), Some(timer)) = (FILE.get(), timer_of(index)) else {
        return;
    };
    if signals::alternate_stack_has_room() {
        set_timer(timer, file.period_ns());
        return;
    }
    // SAFETY: the state is this thread's, and the handler does not use this field.
    if !unsafe { std::mem::replace(&mut (*sampled).is_counted, true) } {
        file.refuse();
    }
}

/// Ends the sampling of all threads: the process is about to forbid itself system calls, perhaps that by
/// which a signal's handler returns.
pub(crate) fn end_all() {
    let Some(file) = FILE.get() else {
        return;
    };
    file.open_all();
    end_timers(file);
}

/// Ends the sampling of all threads, those to come included: the process is about to be traced.
pub(crate) fn is_traced() {
    let Some(file) = FILE.get() else {
        return;
    };
    IS_TRACED.store(true, Relaxed);
    end_timers(file);
}

/// Deletes the timers of all threads, which count as not sampled.
fn end_timers(file: &SampleFile) {
    for timer in &TIMERS {
        if delete_timer(timer) {
            file.refuse();
        }
    }
}

/// Deletes a thread's timer, if it has one.
fn delete_timer(timer: &AtomicI32) -> bool {
    let timer = timer.swap(NO_TIMER, Relaxed);
    if timer != NO_TIMER {
        // SAFETY: an integer goes in, and no memory of ours is touched.
        unsafe { libc::syscall(libc::SYS_timer_delete, c_long::from(timer)) };
    }
    timer != NO_TIMER
}

impl Sampled {
    /// The calling thread's state, and its index.
    fn new(writer: SampleWriter, is_initial: bool) -> Option<(*mut Sampled, usize)> {
        let index = writer.index();
        let entry = THREADS.get(index)?;
        let sampled = memory::map::<Sampled>()?;
        // SAFETY: the mapping is new and zeroed, a valid value, and nothing else refers to it yet.
        unsafe {
            (*sampled).writer.write(writer);
            (*sampled).own.write(OwnStack::of_thread(is_initial));
        }
        // The handler finds the thread from here on.
        entry.store(sampled, Release);
        Some((sampled, index))
    }

    /// Forgets a thread that has ended by a system call of its own: its stack, and with that the key's value, is
    /// the calling thread's now. Its slot may be another thread's already.
    ///
    /// # Safety
    /// `sampled` came from [`Sampled::new`], on a thread that has ended, and is not used after.
    unsafe fn forget(sampled: *mut Sampled) {
        // SAFETY: the caller's promise; the writer was written by `new`.
        let index = unsafe { (*sampled).writer.assume_init_ref().index() };
        let nobody = ptr::null_mut();
        if let (Some(entry), Some(timer)) = (THREADS.get(index), TIMERS.get(index))
            && entry
                .compare_exchange(sampled, nobody, AcqRel, Relaxed)
                .is_ok()
        {
            delete_timer(timer);
        }
        // SAFETY: the caller's promise.
        unsafe { memory::unmap(sampled) };
    }

    /// Ends the calling thread's sampling, and closes its slot.
    ///
    /// # Safety
    /// `sampled` came from [`Sampled::new`] on this thread, with this index, and is not used after.
    unsafe fn end(sampled: *mut Sampled, index: usize) {
        if let Some(entry) = THREADS.get(index) {
            entry.store(ptr::null_mut(), Release);
        }
        // A signal that arrives from here on, on this thread, finds nothing.
        compiler_fence(AcqRel);
        if let Some(timer) = TIMERS.get(index) {
            delete_timer(timer);
        }
        // SAFETY: the caller's promise; the writer was written by `new` and is read once.
        unsafe {
            let writer = (*sampled).writer.assume_init_read();
            writer.close(cpu_time(libc::CLOCK_THREAD_CPUTIME_ID));
            memory::unmap(sampled);
        }
    }
}

/// Creates a timer on the calling thread's CPU clock that signals this thread. It carries `index`.
///
/// By system calls: the C library's functions have several versions, and keep the kernel's number to
/// themselves.
fn create_timer(index: usize) {
    let Some(place) = TIMERS.get(index) else {
        return;
    };
    let mut timer: c_int = 0;
    // SAFETY: sigevent is plain data, valid when zeroed. The kernel reads it, and writes the number
    // to the local variable.
    let result = unsafe {
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_value.sival_ptr = ptr::without_provenance_mut(index);
        event.sigev_signo = signals::SIGNAL;
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_notify_thread_id = libc::syscall(libc::SYS_gettid) as c_int;
        libc::syscall(
            libc::SYS_timer_create,
            c_long::from(libc::CLOCK_THREAD_CPUTIME_ID),
            &raw const event,
            &raw mut timer,
        )
    };
    if result == 0 {
        place.store(timer, Relaxed);
    }
}

/// Sets the timer to fire each `period_ns` nanoseconds of CPU time; 0: never.
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
    process::learn_ids_of_child();
    let key = KEY.load(Relaxed);
    for entry in &THREADS {
        if !entry.load(Relaxed).is_null() {
            entry.store(ptr::null_mut(), Relaxed);
        }
    }
    for timer in &TIMERS {
        if timer.load(Relaxed) != NO_TIMER {
            timer.store(NO_TIMER, Relaxed);
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

/// A timer's signal. Nothing here allocates, locks, or calls the program. Signals of timers that are none of
/// ours, or no longer, are nothing.
///
/// # Safety
/// Called by the signal's handler.
unsafe fn on_timer(timer: &TimerInfo, context: &libc::ucontext_t) {
    let index = timer.value.sival_ptr.addr();
    let is_ours = timer_of(index) == Some(timer.timer);
    let sampled = match THREADS.get(index).filter(|_| is_ours) {
        Some(entry) => entry.load(Acquire),
        None => return,
    };
    if sampled.is_null() {
        return;
    }
    // SAFETY: a pointer in the table is that of a living thread's state. The timer is its own, so the
    // thread is this one, since the kernel sends a timer's signal to the thread that made it; nothing
    // but this handler, which does not interrupt itself, uses the writer and the stack meanwhile.
    unsafe {
        let saved = *libc::__errno_location();
        if FILE.get().is_some_and(|file| file.period_ns() > 0) {
            take(&mut *sampled, timer.overrun, context);
        } else if let Some(timer) = TIMERS.get(index) {
            // The recording has ended before the program.
            delete_timer(timer);
        }
        *libc::__errno_location() = saved;
    }
}

/// Writes a sample of the interrupted code.
fn take(sampled: &mut Sampled, overrun: c_int, context: &libc::ucontext_t) {
    let registers = registers(context);
    let sp = registers[SP];
    // SAFETY: `new` wrote both before the timer was set.
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
