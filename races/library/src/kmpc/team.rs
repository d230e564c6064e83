//! What the program asks about its team, and sets.

use std::arch::naked_asm;
use std::ffi::c_int;

use race_stream::record::Event;

use crate::next::next;
use crate::tls;

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
