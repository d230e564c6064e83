//! Reductions: what the runtime calls of the program's to initialise and combine copies is no access of
//! the program's own.

use std::ffi::c_int;

use inside::next::Next;
use inside::{jumping, next, noting};

use crate::thread::Site;
use crate::tls;

/// What a combination is called.
use ompt::numbers::mutex::ATOMIC;

/// Combines the copies of a reduction. The runtime calls the program's function for that, ordered by
/// barriers of its own; or the thread is to combine its copy now, in code of the program that ends with
/// `__kmpc_end_reduce`, one thread after the other: flang knows no other way in teams of up to four.
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
            /// The thread combines its copy; no other one does so now.
            const COMBINES: c_int = 1;
            tls::with(|state| {
                state.set_ignoring(false);
                if method == COMBINES {
                    state.acquired(ATOMIC, lock, Site::default());
                }
            });
            method
        }
    )*};
}

reductions! {
    reduce c"__kmpc_reduce";
    reduce_nowait c"__kmpc_reduce_nowait";
}

jumping! {
    __kmpc_reduce => reduce;
    __kmpc_reduce_nowait => reduce_nowait;
}

/// The thread has combined its copy, by which way ever.
macro_rules! ends {
    ($($name:ident => $note:ident $symbol:literal;)*) => {$(
        extern "C" fn $note(lock: u64) -> usize {
            static NEXT: Next = Next::new($symbol);
            tls::with(|state| {
                state.released(ATOMIC, lock, Site::default());
            });
            NEXT.or_nothing()
        }

        noting! { $name => $note ["mov rdi, rdx"] []; }
    )*};
}

ends! {
    __kmpc_end_reduce => end_reduce c"__kmpc_end_reduce";
    __kmpc_end_reduce_nowait => end_reduce_nowait c"__kmpc_end_reduce_nowait";
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

        jumping! { $name => $to; }
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
