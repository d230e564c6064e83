//! What threads share besides memory: while a thread of the program runs, memory changes beside the region; and the
//! next random number goes to whoever asks next.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use divergence::record::Cause;
use inside::next::Next;
use inside::{next, noting};

use crate::{guard, keeper, objects};

/// Threads of the program, besides the first, that have not ended.
static RUNNING: AtomicU32 = AtomicU32::new(0);

/// Whether a thread of the program runs besides the first.
pub(crate) fn are_running() -> bool {
    RUNNING.load(Relaxed) > 0
}

type Function = extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// What a new thread needs.
struct Start {
    function: Function,
    argument: *mut c_void,
}

/// Ends with the thread, however that ends.
struct Ended;

impl Drop for Ended {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Relaxed);
    }
}

thread_local! {
    static ENDED: Ended = const { Ended };
}

extern "C-unwind" fn begin(start: *mut c_void) -> *mut c_void {
    // SAFETY: `create` made it for this thread alone.
    let Start { function, argument } = *unsafe { Box::from_raw(start.cast::<Start>()) };
    ENDED.with(|_| ());
    function(argument)
}

extern "C-unwind" fn create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    function: Function,
    argument: *mut c_void,
    code: u64,
) -> c_int {
    static NEXT: Next = Next::new(c"pthread_create");
    let create = |function: Function, argument: *mut c_void| {
        next!(
            NEXT,
            fn(*mut libc::pthread_t, *const libc::pthread_attr_t, Function, *mut c_void) -> c_int,
            (thread, attributes, function, argument),
            libc::EAGAIN
        )
    };
    if keeper::is_peer() {
        guard::give_up(Cause::Threads);
    }
    if objects::is_runtime(code) {
        return create(function, argument);
    }
    let start = Box::into_raw(Box::new(Start { function, argument }));
    RUNNING.fetch_add(1, Relaxed);
    let result = create(begin, start.cast());
    if result != 0 {
        RUNNING.fetch_sub(1, Relaxed);
        // SAFETY: there is no thread that would take it.
        drop(unsafe { Box::from_raw(start) });
    }
    result
}

inside::with_code! { "r8" pthread_create create; }

/// Of a thread of C11 nobody tells the end.
extern "C" fn c11_created() -> usize {
    static NEXT: Next = Next::new(c"thrd_create");
    RUNNING.fetch_add(1, Relaxed);
    NEXT.or_nothing()
}

noting! { thrd_create => c11_created [] []; }

macro_rules! random {
    ($($name:ident $to:ident $symbol:literal;)*) => {$(
        extern "C" fn $to() -> usize {
            static NEXT: Next = Next::new($symbol);
            if keeper::is_peer() {
                guard::give_up(Cause::Random);
            }
            NEXT.or_nothing()
        }

        noting! { $name => $to [] []; }
    )*};
}

random! {
    rand next_rand c"rand";
    random next_random c"random";
    drand48 next_drand48 c"drand48";
    lrand48 next_lrand48 c"lrand48";
    mrand48 next_mrand48 c"mrand48";
}
