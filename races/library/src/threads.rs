//! POSIX threads and their synchronisation, as the program uses it.
//!
//! Calls from OpenMP runtimes are passed on and not told: a runtime's own mutexes order nothing that
//! the specification does not order.
#![allow(unsafe_code)]

use std::arch::naked_asm;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use inside::{At, next};
use race_stream::producer::Shared;
use race_stream::record::{Checks, Event, MUTEX_POSIX, MUTEX_POSIX_SHARED};

use crate::mutexes::{acquired, released, wants};
use crate::thread::Once;
use crate::{looked_for, objects, own_memory, process, tls};

/// What a new thread needs, in a mapping of its own.
#[repr(C)]
struct Start {
    function: extern "C-unwind" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
    created: u64,
    /// It is the program's, which may wait for its end.
    is_told: bool,
    stack_bytes: u64,
}

type Function = extern "C-unwind" fn(*mut c_void) -> *mut c_void;

extern "C-unwind" fn create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    function: Function,
    argument: *mut c_void,
    at: At,
) -> c_int {
    begin_with_threads(at);
    let is_told = is_told(at);
    if !is_told {
        process::note_unchecked();
    }
    let start =
        process::attached().and_then(|_| inside::memory::map_static::<MaybeUninit<Start>>());
    let (mut function, mut argument) = (function, argument);
    if let Some(start) = start {
        let created = if is_told {
            tls::with(|thread| thread.create_thread(at.into()))
        } else {
            0
        };
        let start = start.write(Start {
            function,
            argument,
            created,
            is_told,
            // SAFETY: the caller's attributes.
            stack_bytes: unsafe { stack_bytes(attributes) },
        });
        argument = std::ptr::from_mut(start).cast();
        function = begin;
    }
    next!(
        c"pthread_create",
        fn(*mut libc::pthread_t, *const libc::pthread_attr_t, Function, *mut c_void) -> c_int,
        (thread, attributes, function, argument),
        libc::EAGAIN
    )
}

/// The size of the stack of a thread with these attributes; NULL: with those that threads have by default.
///
/// # Safety
/// NULL or attributes.
unsafe fn stack_bytes(attributes: *const libc::pthread_attr_t) -> u64 {
    let mut bytes = 0;
    // SAFETY: the caller's promise, or attributes that are made here; the functions fill local values.
    unsafe {
        if attributes.is_null() {
            let mut usual: libc::pthread_attr_t = std::mem::zeroed();
            libc::pthread_attr_init(&raw mut usual);
            libc::pthread_attr_getstacksize(&raw const usual, &raw mut bytes);
            libc::pthread_attr_destroy(&raw mut usual);
        } else {
            libc::pthread_attr_getstacksize(attributes, &raw mut bytes);
        }
    }
    bytes as u64
}

/// `std::thread::_M_start_thread` of the C++ library, which calls `pthread_create`: the program knows the
/// place from which it is called.
extern "C-unwind" fn start_thread(thread: u64, state: u64, depends: u64, at: At) {
    if is_told(at) {
        tls::with(|thread| thread.starts = at.into());
    }
    next!(
        c"_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE",
        fn(u64, u64, u64) -> (),
        (thread, state, depends),
        ()
    );
}

/// The first function of a thread. Its first event is here, where its caller holds no lock.
extern "C-unwind" fn begin(start: *mut c_void) -> *mut c_void {
    let block = start.cast::<MaybeUninit<Start>>();
    // SAFETY: `create` made the mapping for this thread alone, and wrote it.
    let Start {
        function,
        argument,
        created,
        is_told,
        stack_bytes,
    } = unsafe {
        let start = (*block).assume_init_read();
        inside::memory::unmap(block);
        start
    };
    own_memory::set_stack_bytes(stack_bytes);
    if looked_for::checks() != Checks::default() {
        tls::attach(created);
        end_with_thread(is_told);
    }
    function(argument)
}

/// Makes the state of the calling thread if it is a runtime's own and has none yet.
#[inline]
pub(crate) fn attach_worker() {
    if !tls::is_known() {
        tls::attach(0);
        end_with_thread(false);
    }
}

/// Has the thread's recording end when the thread ends, however it does. `is_joined`: the program may
/// wait for its end.
fn end_with_thread(is_joined: bool) {
    static KEY: AtomicU64 = AtomicU64::new(0);
    let mut key = KEY.load(Relaxed);
    if key == 0 {
        let mut new = 0;
        // SAFETY: the C library fills the local value; the function stays loaded.
        if unsafe { libc::pthread_key_create(&raw mut new, Some(thread_ends)) } != 0 {
            return;
        }
        key = u64::from(new) + 1;
        if let Err(first) = KEY.compare_exchange(0, key, Relaxed, Relaxed) {
            // SAFETY: our own key, which nobody else knows.
            unsafe { libc::pthread_key_delete(new) };
            key = first;
        }
    }
    let value = if is_joined { JOINED } else { NOT_JOINED };
    // SAFETY: a key of ours; any value but NULL has the function called.
    unsafe { libc::pthread_setspecific((key - 1) as u32, value as *const c_void) };
}

/// The object by which a thread's end orders what follows a join.
fn end_object(thread: libc::pthread_t) -> u64 {
    thread | 1
}

/// What the key holds for a thread of the program.
const JOINED: usize = 1;
/// What it holds for one of a runtime.
const NOT_JOINED: usize = 2;

extern "C" fn thread_ends(value: *mut c_void) {
    if value as usize == JOINED {
        let object = end_object(inside::stack::thread_register());
        tls::with(|thread| thread.event(&Event::Signal { object }));
    }
    tls::end();
}

extern "C-unwind" fn join(thread: libc::pthread_t, result: *mut *mut c_void, at: At) -> c_int {
    let joined = next!(
        c"pthread_join",
        fn(libc::pthread_t, *mut *mut c_void) -> c_int,
        (thread, result),
        libc::EINVAL
    );
    if joined == 0 && is_told(at) {
        awaits(end_object(thread));
    }
    joined
}

/// `thrd_create` of C11: in the C library, threads are those of POSIX.
extern "C-unwind" fn c11_create(
    thread: *mut libc::pthread_t,
    function: Function,
    argument: *mut c_void,
    at: At,
) -> c_int {
    const ERROR: c_int = 2;
    const NO_MEMORY: c_int = 3;
    match create(thread, std::ptr::null(), function, argument, at) {
        0 => 0,
        libc::EAGAIN => NO_MEMORY,
        _ => ERROR,
    }
}

extern "C-unwind" fn c11_join(thread: libc::pthread_t, result: *mut c_int, at: At) -> c_int {
    let joined = next!(
        c"thrd_join",
        fn(libc::pthread_t, *mut c_int) -> c_int,
        (thread, result),
        libc::EINVAL
    );
    if joined == 0 && is_told(at) {
        awaits(end_object(thread));
    }
    joined
}

/// Has the process record from its first thread on, which makes this call: a program without
/// OpenMP has locks, too. Not before, since its caller may hold a lock of an allocator.
fn begin_with_threads(at: At) {
    let is_looked_for = |shared: &Shared| shared.checks().has(Checks::DEADLOCK);
    if looked_for::checks() == Checks::default()
        && process::attached().is_some_and(is_looked_for)
        && !objects::is_runtime(at.code())
    {
        process::shared();
    }
}

/// Whether a call is told of.
fn is_told(at: At) -> bool {
    looked_for::checks() != Checks::default() && !objects::is_runtime(at.code())
}

fn signal(object: u64) {
    tls::with(|thread| thread.event(&Event::Signal { object }));
}

fn awaits(object: u64) {
    tls::with(|thread| thread.event(&Event::Await { object }));
}

/// The type of an argument, whatever it is.
macro_rules! word {
    ($argument:ident) => {
        u64
    };
}

/// The C library's functions of these names, and what looks them up.
macro_rules! nexts {
    ($module:ident $($to:ident $name:literal;)*) => {
        #[allow(non_upper_case_globals, reason = "each is named as the function that calls it")]
        mod $module {
            use inside::next::Next;

            $(pub(super) static $to: Next = Next::new($name);)*

            pub(super) fn find() {
                $($to.address();)*
            }
        }
    };
}

/// Called as the library is loaded: a look-up takes a lock of the loader, which may be held by a thread that waits
/// for a mutex of the program.
pub(crate) fn start() {
    taken::find();
    given::find();
    waited::find();
}

/// A call that takes a lock of this kind, and returns 0 if it has it.
macro_rules! takes {
    ($($to:ident $name:literal $kind:expr, waits $waits:literal $(, $more:ident)*;)*) => {
        nexts! { taken $($to $name;)* }
        $(
        extern "C-unwind" fn $to(lock: u64, $($more: u64,)* at: At) -> c_int {
            let is_told = is_told(at);
            if is_told && $waits {
                wants($kind, lock, at);
            }
            let result = next!(
                taken::$to, fn(u64 $(, word!($more))*) -> c_int, (lock $(, $more)*), libc::EINVAL
            );
            if is_told && result == 0 {
                acquired($kind, lock, at);
            }
            result
        }
    )*};
}

takes! {
    mutex_lock c"pthread_mutex_lock" MUTEX_POSIX, waits true;
    mutex_trylock c"pthread_mutex_trylock" MUTEX_POSIX, waits false;
    mutex_timedlock c"pthread_mutex_timedlock" MUTEX_POSIX, waits false, until;
    mutex_clocklock c"pthread_mutex_clocklock" MUTEX_POSIX, waits false, clock, until;
    read_lock c"pthread_rwlock_rdlock" MUTEX_POSIX_SHARED, waits true;
    read_trylock c"pthread_rwlock_tryrdlock" MUTEX_POSIX_SHARED, waits false;
    read_timedlock c"pthread_rwlock_timedrdlock" MUTEX_POSIX_SHARED, waits false, until;
    read_clocklock c"pthread_rwlock_clockrdlock" MUTEX_POSIX_SHARED, waits false, clock, until;
    write_lock c"pthread_rwlock_wrlock" MUTEX_POSIX, waits true;
    write_trylock c"pthread_rwlock_trywrlock" MUTEX_POSIX, waits false;
    write_timedlock c"pthread_rwlock_timedwrlock" MUTEX_POSIX, waits false, until;
    write_clocklock c"pthread_rwlock_clockwrlock" MUTEX_POSIX, waits false, clock, until;
    spin_lock c"pthread_spin_lock" MUTEX_POSIX, waits true;
    spin_trylock c"pthread_spin_trylock" MUTEX_POSIX, waits false;
    c11_lock c"mtx_lock" MUTEX_POSIX, waits true;
    c11_trylock c"mtx_trylock" MUTEX_POSIX, waits false;
    c11_timedlock c"mtx_timedlock" MUTEX_POSIX, waits false, until;
}

macro_rules! releases {
    ($($to:ident $name:literal;)*) => {
        nexts! { given $($to $name;)* }
        $(
        extern "C-unwind" fn $to(lock: u64, at: At) -> c_int {
            if is_told(at) {
                released(MUTEX_POSIX, lock, at);
            }
            next!(given::$to, fn(u64) -> c_int, (lock), libc::EINVAL)
        }
    )*};
}

releases! {
    mutex_unlock c"pthread_mutex_unlock";
    rw_unlock c"pthread_rwlock_unlock";
    spin_unlock c"pthread_spin_unlock";
    c11_unlock c"mtx_unlock";
}

/// A call whose answer is another one on another thread: its number, or memory of its own.
macro_rules! answers {
    ($($to:ident $name:literal ($($argument:ident)?);)*) => {$(
        extern "C-unwind" fn $to($($argument: u64,)? at: At) -> u64 {
            if looked_for::checks().has(Checks::RACE) && !objects::is_runtime(at.code()) {
                tls::with(|thread| thread.asks_thread(at.code()));
            }
            next!($name, fn($(word!($argument))?) -> u64, ($($argument)?), 0)
        }
    )*};
}

answers! {
    own_thread c"pthread_self" ();
    own_value c"pthread_getspecific" (key);
    c11_own_thread c"thrd_current" ();
    c11_own_value c"tss_get" (key);
}

/// Waits for a condition, without the mutex meanwhile. That another thread signals first is chance:
/// the mutex and the program's own test decide.
macro_rules! conditions {
    ($($to:ident $name:literal $($more:ident)*;)*) => {
        nexts! { waited $($to $name;)* }
        $(
        extern "C-unwind" fn $to(condition: u64, mutex: u64, $($more: u64,)* at: At) -> c_int {
            let is_told = is_told(at);
            if is_told {
                released(MUTEX_POSIX, mutex, at);
            }
            let result = next!(
                waited::$to, fn(u64, u64 $(, word!($more))*) -> c_int,
                (condition, mutex $(, $more)*), libc::EINVAL
            );
            if is_told {
                acquired(MUTEX_POSIX, mutex, at);
            }
            result
        }
    )*};
}

conditions! {
    wait c"pthread_cond_wait";
    wait_until c"pthread_cond_timedwait" until;
    wait_on_clock c"pthread_cond_clockwait" clock until;
    c11_wait c"cnd_wait";
    c11_wait_until c"cnd_timedwait" until;
}

extern "C-unwind" fn barrier(object: u64, at: At) -> c_int {
    let is_told = is_told(at);
    if is_told {
        signal(object);
    }
    let result = next!(
        c"pthread_barrier_wait",
        fn(u64) -> c_int,
        (object),
        libc::EINVAL
    );
    if is_told {
        awaits(object);
    }
    result
}

extern "C-unwind" fn post(object: u64, at: At) -> c_int {
    if is_told(at) {
        signal(object);
    }
    next!(c"sem_post", fn(u64) -> c_int, (object), -1)
}

macro_rules! semaphores {
    ($($to:ident $name:literal $($more:ident)*;)*) => {$(
        extern "C-unwind" fn $to(object: u64, $($more: u64,)* at: At) -> c_int {
            let result = next!(
                $name, fn(u64 $(, word!($more))*) -> c_int, (object $(, $more)*), -1
            );
            if result == 0 && is_told(at) {
                awaits(object);
            }
            result
        }
    )*};
}

semaphores! {
    down c"sem_wait";
    try_down c"sem_trywait";
    down_until c"sem_timedwait" until;
    down_on_clock c"sem_clockwait" clock until;
}

/// Calls a function once: what that does comes before all that follows any call.
macro_rules! onces {
    ($($to:ident $name:literal;)*) => {$(
        extern "C-unwind" fn $to(control: u64, function: u64, at: At) -> c_int {
            let is_told = is_told(at)
                && tls::with(|thread| {
                    thread.once = Once { control, function };
                    true
                });
            let passed = if is_told { run_once as *const () as u64 } else { function };
            let result = next!($name, fn(u64, u64) -> c_int, (control, passed), libc::EINVAL);
            if is_told {
                awaits(control);
            }
            result
        }
    )*};
}

onces! {
    once c"pthread_once";
    c11_once c"call_once";
}

extern "C-unwind" fn run_once() {
    // It may call another such function, or be left by an exception.
    let Once { control, function } = tls::with(|thread| thread.once);
    // SAFETY: the program's function, which takes nothing.
    unsafe { std::mem::transmute::<usize, extern "C-unwind" fn()>(function as usize)() };
    signal(control);
}

/// A function's static variable is initialised by the caller, which this tells by 1, or has been by another
/// thread.
extern "C-unwind" fn guard_acquire(guard: u64, at: At) -> c_int {
    let is_own = next!(c"__cxa_guard_acquire", fn(u64) -> c_int, (guard), 1);
    if is_own == 0 && is_told(at) {
        awaits(guard);
    }
    is_own
}

/// A function's static variable has been initialised; who finds it so before it calls anything reads the guard
/// atomically.
extern "C-unwind" fn guard_release(guard: u64, at: At) {
    if is_told(at) {
        signal(guard);
    }
    next!(c"__cxa_guard_release", fn(u64) -> (), (guard), ());
}

/// The function in Rust gets the call as its last argument, in this register.
macro_rules! with_call {
    ($($register:literal $name:ident $to:ident;)*) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            naked_asm!(concat!("mov ", $register, ", rsp"), "jmp {to}", to = sym $to)
        }
    )*};
}

with_call! {
    "r8" pthread_create create;
    "rcx" _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE start_thread;
    "rdx" pthread_join join;
    "rsi" pthread_mutex_lock mutex_lock;
    "rsi" pthread_mutex_trylock mutex_trylock;
    "rdx" pthread_mutex_timedlock mutex_timedlock;
    "rcx" pthread_mutex_clocklock mutex_clocklock;
    "rsi" pthread_mutex_unlock mutex_unlock;
    "rsi" pthread_rwlock_rdlock read_lock;
    "rsi" pthread_rwlock_tryrdlock read_trylock;
    "rdx" pthread_rwlock_timedrdlock read_timedlock;
    "rcx" pthread_rwlock_clockrdlock read_clocklock;
    "rsi" pthread_rwlock_wrlock write_lock;
    "rsi" pthread_rwlock_trywrlock write_trylock;
    "rdx" pthread_rwlock_timedwrlock write_timedlock;
    "rcx" pthread_rwlock_clockwrlock write_clocklock;
    "rsi" pthread_rwlock_unlock rw_unlock;
    "rsi" pthread_spin_lock spin_lock;
    "rsi" pthread_spin_trylock spin_trylock;
    "rsi" pthread_spin_unlock spin_unlock;
    "rdx" pthread_cond_wait wait;
    "rcx" pthread_cond_timedwait wait_until;
    "r8" pthread_cond_clockwait wait_on_clock;
    "rsi" pthread_barrier_wait barrier;
    "rsi" sem_post post;
    "rsi" sem_wait down;
    "rsi" sem_trywait try_down;
    "rdx" sem_timedwait down_until;
    "rcx" sem_clockwait down_on_clock;
    "rdx" pthread_once once;
    "rdi" pthread_self own_thread;
    "rsi" pthread_getspecific own_value;
    "rdi" thrd_current c11_own_thread;
    "rsi" tss_get c11_own_value;
    "rsi" __cxa_guard_acquire guard_acquire;
    "rsi" __cxa_guard_release guard_release;
    "rcx" thrd_create c11_create;
    "rdx" thrd_join c11_join;
    "rsi" mtx_lock c11_lock;
    "rsi" mtx_trylock c11_trylock;
    "rdx" mtx_timedlock c11_timedlock;
    "rsi" mtx_unlock c11_unlock;
    "rdx" cnd_wait c11_wait;
    "rcx" cnd_timedwait c11_wait_until;
    "rdx" call_once c11_once;
}
