//! The exported functions. Each consists of a few instructions that pass the position of the
//! caller's return address to a function of another module. Only the entry point knows the return
//! address, and its position on the stack identifies a context.
//!
//! There are three forms. *Plain*: up to two arguments stay in place, the third and fourth give the
//! call and the function, and a tail jump leaves no frame. *Saved*: all argument registers are
//! stored below the return address and the stack arguments, and a pointer to them is passed.
//! *Noted*: a function of ours sees the first argument, then a tail jump passes all arguments to
//! the real function.

use std::arch::naked_asm;
use std::ffi::CStr;

use super::kmpc_loops::DISTRIBUTED;
use super::loops::{ANY, BARE, DOACROSS, ORDERED, ULL};
use super::{doacross, kmpc, kmpc_loops, loops, ordered, region, sync, task};

/// A call into the runtime: the address of its return address on the stack.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct At(*const u64);

impl At {
    /// The return address.
    #[inline(always)]
    pub(super) fn code(self) -> u64 {
        // SAFETY: an entry point's own return address; the wrapper's frame lies below it.
        unsafe { *self.0 }
    }

    /// An address below the call's return address and above all that its callees use of the stack.
    #[inline(always)]
    pub(super) fn frame(self) -> u64 {
        self.0 as u64 - 8
    }
}

/// The function called, and a kind for the handler that it shares with others.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct What(u32);

impl What {
    const fn new(function: Function, kind: u32) -> What {
        What(function as u32 | kind << 16)
    }

    /// The function's number.
    #[inline(always)]
    pub(super) fn function(self) -> usize {
        (self.0 & 0xffff) as usize
    }

    /// Depends on the handler; `ompt_sync_region_t` and `ompt_mutex_t` for waits.
    #[inline(always)]
    pub(super) fn kind(self) -> u32 {
        self.0 >> 16
    }
}

/// A call's arguments and its return address as stored on the stack.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Saved {
    /// The arguments in registers: rdi, rsi, rdx, rcx, r8, r9.
    pub(super) registers: [usize; 6],
    _padding: u64,
    code: u64,
    /// The next arguments, as many as the function has. The words beyond them belong to the
    /// caller's frame, which may be read.
    pub(super) stack: [usize; 6],
}

impl Saved {
    /// The call.
    #[inline(always)]
    pub(super) fn at(&self) -> At {
        At(&raw const self.code)
    }
}

macro_rules! plain {
    ($($name:ident $kind:expr => $to:path;)*) => {$(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "mov rdx, rsp",
                "mov ecx, {what}",
                "jmp {to}",
                ".cfi_endproc",
                what = const What::new(Function::$name, $kind).0,
                to = sym $to,
            )
        }
    )*};
}

macro_rules! saved {
    ($($name:ident $kind:expr => $to:path;)*) => {$(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "sub rsp, 56",
                ".cfi_def_cfa_offset 64",
                "mov [rsp], rdi",
                "mov [rsp + 8], rsi",
                "mov [rsp + 16], rdx",
                "mov [rsp + 24], rcx",
                "mov [rsp + 32], r8",
                "mov [rsp + 40], r9",
                "mov rdi, rsp",
                "mov esi, {what}",
                "call {to}",
                "add rsp, 56",
                ".cfi_def_cfa_offset 8",
                "ret",
                ".cfi_endproc",
                what = const What::new(Function::$name, $kind).0,
                to = sym $to,
            )
        }
    )*};
}

macro_rules! noted {
    ($($name:ident $kind:expr => $to:path;)*) => {$(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "sub rsp, 56",
                ".cfi_def_cfa_offset 64",
                "mov [rsp], rdi",
                "mov [rsp + 8], rsi",
                "mov [rsp + 16], rdx",
                "mov [rsp + 24], rcx",
                "mov [rsp + 32], r8",
                "mov [rsp + 40], r9",
                "mov rdi, rsp",
                "mov esi, {what}",
                "call {to}",
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
                what = const What::new(Function::$name, $kind).0,
                to = sym $to,
            )
        }
    )*};
}

/// The waits take as many arguments as the loop has dimensions: those beyond six registers are
/// copied to the new frame. Without a known count or a thread to record, a tail jump gives the real
/// function the caller's frame itself.
macro_rules! counted {
    ($($name:ident $kind:expr => $to:path;)*) => {$(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "push rbp",
                ".cfi_def_cfa_offset 16",
                ".cfi_offset rbp, -16",
                "mov rbp, rsp",
                ".cfi_def_cfa_register rbp",
                "sub rsp, 48",
                "mov [rbp - 48], rdi",
                "mov [rbp - 40], rsi",
                "mov [rbp - 32], rdx",
                "mov [rbp - 24], rcx",
                "mov [rbp - 16], r8",
                "mov [rbp - 8], r9",
                "lea rdi, [rbp + 8]",
                "mov esi, {what}",
                "call {begin}",
                "mov r11, rax",
                "mov rax, rdx",
                "mov rdi, [rbp - 48]",
                "mov rsi, [rbp - 40]",
                "mov rdx, [rbp - 32]",
                "mov r8, [rbp - 16]",
                "mov r9, [rbp - 8]",
                "cmp rax, -1",
                "je 4f",
                // Reserves that many words and aligns the stack to 16.
                "lea rcx, [rax + 1]",
                "and rcx, -2",
                "shl rcx, 3",
                "sub rsp, rcx",
                "xor ecx, ecx",
                "2: cmp rcx, rax",
                "jae 3f",
                "mov r10, [rbp + rcx * 8 + 16]",
                "mov [rsp + rcx * 8], r10",
                "inc rcx",
                "jmp 2b",
                "3: mov rcx, [rbp - 24]",
                "xor eax, eax",
                "call r11",
                "call {end}",
                "mov rsp, rbp",
                "pop rbp",
                ".cfi_remember_state",
                ".cfi_def_cfa rsp, 8",
                "ret",
                ".cfi_restore_state",
                "4: mov rcx, [rbp - 24]",
                "xor eax, eax",
                "mov rsp, rbp",
                "pop rbp",
                ".cfi_def_cfa rsp, 8",
                "jmp r11",
                ".cfi_endproc",
                what = const What::new(Function::$name, $kind).0,
                begin = sym $to,
                end = sym doacross::end,
            )
        }
    )*};
}

/// The entry points by form, each with its kind and the function that handles it, and the other
/// functions of runtimes that this library calls. Makes a number and a name for each of them.
macro_rules! functions {
    (
        called { $($called:ident)* }
        $($form:ident { $($name:ident $kind:expr => $to:path;)* })*
    ) => {
        /// A function of a runtime.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(non_camel_case_types, reason = "they are the symbols' names")]
        #[repr(u16)]
        pub(super) enum Function { $($($name,)*)* $($called),* }

        /// The names, by number.
        pub(super) const NAMES: &[&CStr] = &[
            $($(symbol!($name),)*)*
            $(symbol!($called)),*
        ];

        $($form! { $($name $kind => $to;)* })*
    };
}

macro_rules! symbol {
    ($name:ident) => {
        match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
            Ok(name) => name,
            Err(_) => panic!("an identifier holds no zero byte"),
        }
    };
}

functions! {
    // No entry points: our functions call them for the values that they return, or instead of others.
    called {
        GOMP_taskgroup_start omp_get_thread_num omp_get_num_threads
    }

    // `ompt_sync_region_t`: 1 barrier of unspecified kind, 5 taskwait, 6 taskgroup, 8 implicit barrier
    // of a worksharing construct.
    plain {
        GOMP_barrier 1 => loops::barrier;
        GOMP_barrier_cancel 1 => loops::barrier;
        GOMP_loop_end 8 => loops::end;
        GOMP_loop_end_cancel 8 => loops::end;
        GOMP_sections_end 8 => loops::end;
        GOMP_sections_end_cancel 8 => loops::end;
        GOMP_single_copy_start 8 => sync::wait;
        GOMP_single_copy_end 8 => sync::wait;
        GOMP_workshare_task_reduction_unregister 8 => sync::wait;
        GOMP_taskwait 5 => sync::wait;
        GOMP_taskwait_depend 5 => sync::wait;
        GOMP_taskgroup_end 6 => sync::wait;
    }

    // `ompt_mutex_t`: 1 lock, 2 test lock, 3 nest lock, 4 test nest lock, 5 critical, 6 atomic,
    // 7 ordered.
    plain {
        GOMP_critical_start 5 => sync::acquire;
        GOMP_critical_name_start 5 => sync::acquire;
        GOMP_critical_end 5 => sync::release;
        GOMP_critical_name_end 5 => sync::release;
        GOMP_atomic_start 6 => sync::acquire;
        GOMP_atomic_end 6 => sync::release;
        GOMP_ordered_start 7 => ordered::enter;
        GOMP_ordered_end 7 => sync::release;
        GOMP_loop_ordered_static_next 7 => ordered::next;
        GOMP_loop_ordered_dynamic_next 7 => ordered::next;
        GOMP_loop_ordered_guided_next 7 => ordered::next;
        GOMP_loop_ordered_runtime_next 7 => ordered::next;
        GOMP_loop_ull_ordered_static_next 7 => ordered::next;
        GOMP_loop_ull_ordered_dynamic_next 7 => ordered::next;
        GOMP_loop_ull_ordered_guided_next 7 => ordered::next;
        GOMP_loop_ull_ordered_runtime_next 7 => ordered::next;
        omp_set_lock 1 => sync::set_lock;
        omp_unset_lock 1 => sync::release;
        omp_test_lock 2 => sync::test;
        omp_set_nest_lock 3 => sync::acquire;
        omp_unset_nest_lock 3 => sync::release;
        omp_test_nest_lock 4 => sync::test;
        omp_set_lock_ 1 => sync::set_lock;
        omp_unset_lock_ 1 => sync::release;
        omp_test_lock_ 2 => sync::test;
        omp_set_nest_lock_ 3 => sync::acquire;
        omp_unset_nest_lock_ 3 => sync::release;
        omp_test_nest_lock_ 4 => sync::test;
    }

    noted {
        omp_init_lock 1 => sync::note_init;
        omp_init_nest_lock 3 => sync::note_init;
        omp_init_lock_ 1 => sync::note_init;
        omp_init_nest_lock_ 3 => sync::note_init;
        __kmpc_critical 0 => kmpc::note_critical;
        __kmpc_critical_with_hint 0 => kmpc::note_critical;
        __kmpc_end_critical 0 => kmpc::note_critical;
    }

    // 0 a region, 1 one with task reductions, 2 teams; a region that is 3 a loop with a chunk, 4 a loop
    // without one, 5 sections.
    saved {
        GOMP_parallel 0 => region::fork;
        GOMP_parallel_reductions 1 => region::fork;
        GOMP_parallel_loop_static 3 => region::fork;
        GOMP_parallel_loop_dynamic 3 => region::fork;
        GOMP_parallel_loop_guided 3 => region::fork;
        GOMP_parallel_loop_runtime 4 => region::fork;
        GOMP_parallel_loop_nonmonotonic_dynamic 3 => region::fork;
        GOMP_parallel_loop_nonmonotonic_guided 3 => region::fork;
        GOMP_parallel_loop_nonmonotonic_runtime 4 => region::fork;
        GOMP_parallel_loop_maybe_nonmonotonic_runtime 4 => region::fork;
        GOMP_parallel_sections 5 => region::fork;
        GOMP_teams_reg 2 => region::fork;
        GOMP_parallel_start 0 => region::open;
        GOMP_parallel_loop_static_start 3 => region::open;
        GOMP_parallel_loop_dynamic_start 3 => region::open;
        GOMP_parallel_loop_guided_start 3 => region::open;
        GOMP_parallel_loop_runtime_start 4 => region::open;
        GOMP_parallel_sections_start 5 => region::open;
        GOMP_task 0 => task::task;
        GOMP_taskloop 0 => task::taskloop;
        GOMP_taskloop_ull 0 => task::taskloop;
    }

    plain {
        GOMP_parallel_end 0 => region::close;
    }

    saved {
        __kmpc_doacross_wait 7 => kmpc::doacross_wait;
        __kmpc_taskloop 0 => kmpc::taskloop;
        __kmpc_taskloop_5 0 => kmpc::taskloop;
    }

    noted {
        __kmpc_fork_call 0 => kmpc::note_fork;
        __kmpc_fork_call_if 0 => kmpc::note_fork;
        __kmpc_fork_teams 0 => kmpc::note_fork;
        __kmpc_omp_task 0 => kmpc::note_task;
        __kmpc_omp_task_with_deps 0 => kmpc::note_task;
        __kmpc_omp_task_begin_if0 0 => kmpc::note_task;
    }

    // The number of the schedule in `omp_ring::loops::Schedule`.
    saved {
        GOMP_loop_static_start 2 => loops::start;
        GOMP_loop_dynamic_start 3 => loops::start;
        GOMP_loop_nonmonotonic_dynamic_start 3 => loops::start;
        GOMP_loop_guided_start 4 => loops::start;
        GOMP_loop_nonmonotonic_guided_start 4 => loops::start;
        GOMP_loop_runtime_start 6 | BARE => loops::start;
        GOMP_loop_nonmonotonic_runtime_start 6 | BARE => loops::start;
        GOMP_loop_maybe_nonmonotonic_runtime_start 6 | BARE => loops::start;
        GOMP_loop_ordered_static_start 2 | ORDERED => loops::start;
        GOMP_loop_ordered_dynamic_start 3 | ORDERED => loops::start;
        GOMP_loop_ordered_guided_start 4 | ORDERED => loops::start;
        GOMP_loop_ordered_runtime_start 6 | BARE | ORDERED => loops::start;
        GOMP_loop_start ANY => loops::start;
        GOMP_loop_ordered_start ANY | ORDERED => loops::start;
        GOMP_loop_ull_static_start 2 | ULL => loops::start;
        GOMP_loop_ull_dynamic_start 3 | ULL => loops::start;
        GOMP_loop_ull_nonmonotonic_dynamic_start 3 | ULL => loops::start;
        GOMP_loop_ull_guided_start 4 | ULL => loops::start;
        GOMP_loop_ull_nonmonotonic_guided_start 4 | ULL => loops::start;
        GOMP_loop_ull_runtime_start 6 | ULL | BARE => loops::start;
        GOMP_loop_ull_nonmonotonic_runtime_start 6 | ULL | BARE => loops::start;
        GOMP_loop_ull_maybe_nonmonotonic_runtime_start 6 | ULL | BARE => loops::start;
        GOMP_loop_ull_ordered_static_start 2 | ULL | ORDERED => loops::start;
        GOMP_loop_ull_ordered_dynamic_start 3 | ULL | ORDERED => loops::start;
        GOMP_loop_ull_ordered_guided_start 4 | ULL | ORDERED => loops::start;
        GOMP_loop_ull_ordered_runtime_start 6 | ULL | BARE | ORDERED => loops::start;
        GOMP_loop_ull_start ANY | ULL => loops::start;
        GOMP_loop_ull_ordered_start ANY | ULL | ORDERED => loops::start;
        GOMP_loop_doacross_start ANY | DOACROSS => loops::start;
        GOMP_loop_doacross_static_start 2 | DOACROSS => loops::start;
        GOMP_loop_doacross_dynamic_start 3 | DOACROSS => loops::start;
        GOMP_loop_doacross_guided_start 4 | DOACROSS => loops::start;
        GOMP_loop_doacross_runtime_start 6 | BARE | DOACROSS => loops::start;
        GOMP_loop_ull_doacross_start ANY | DOACROSS => loops::start;
        GOMP_loop_ull_doacross_static_start 2 | DOACROSS => loops::start;
        GOMP_loop_ull_doacross_dynamic_start 3 | DOACROSS => loops::start;
        GOMP_loop_ull_doacross_guided_start 4 | DOACROSS => loops::start;
        GOMP_loop_ull_doacross_runtime_start 6 | BARE | DOACROSS => loops::start;
        GOMP_sections_start 8 => loops::sections;
        GOMP_sections2_start 8 => loops::sections;
    }

    plain {
        GOMP_loop_static_next 2 => loops::next;
        GOMP_loop_dynamic_next 3 => loops::next;
        GOMP_loop_nonmonotonic_dynamic_next 3 => loops::next;
        GOMP_loop_guided_next 4 => loops::next;
        GOMP_loop_nonmonotonic_guided_next 4 => loops::next;
        GOMP_loop_runtime_next 6 => loops::next;
        GOMP_loop_nonmonotonic_runtime_next 6 => loops::next;
        GOMP_loop_maybe_nonmonotonic_runtime_next 6 => loops::next;
        GOMP_loop_ull_static_next 2 => loops::next;
        GOMP_loop_ull_dynamic_next 3 => loops::next;
        GOMP_loop_ull_nonmonotonic_dynamic_next 3 => loops::next;
        GOMP_loop_ull_guided_next 4 => loops::next;
        GOMP_loop_ull_nonmonotonic_guided_next 4 => loops::next;
        GOMP_loop_ull_runtime_next 6 => loops::next;
        GOMP_loop_ull_nonmonotonic_runtime_next 6 => loops::next;
        GOMP_loop_ull_maybe_nonmonotonic_runtime_next 6 => loops::next;
        GOMP_sections_next 8 => loops::next_section;
        GOMP_loop_end_nowait 8 => loops::end_nowait;
        GOMP_sections_end_nowait 8 => loops::end_nowait;
        GOMP_single_start 9 => loops::single;
    }

    // 0 a signed variable of 4 bytes, 1 an unsigned one, 2 and 3 of 8 bytes.
    saved {
        __kmpc_for_static_init_4 0 => kmpc_loops::static_init;
        __kmpc_for_static_init_4u 1 => kmpc_loops::static_init;
        __kmpc_for_static_init_8 2 => kmpc_loops::static_init;
        __kmpc_for_static_init_8u 3 => kmpc_loops::static_init;
        __kmpc_dist_for_static_init_4 DISTRIBUTED => kmpc_loops::static_init;
        __kmpc_dist_for_static_init_4u DISTRIBUTED | 1 => kmpc_loops::static_init;
        __kmpc_dist_for_static_init_8 DISTRIBUTED | 2 => kmpc_loops::static_init;
        __kmpc_dist_for_static_init_8u DISTRIBUTED | 3 => kmpc_loops::static_init;
        __kmpc_dispatch_init_4 0 => kmpc_loops::dispatch_init;
        __kmpc_dispatch_init_4u 1 => kmpc_loops::dispatch_init;
        __kmpc_dispatch_init_8 2 => kmpc_loops::dispatch_init;
        __kmpc_dispatch_init_8u 3 => kmpc_loops::dispatch_init;
        __kmpc_dispatch_next_4 0 => kmpc_loops::dispatch_next;
        __kmpc_dispatch_next_4u 1 => kmpc_loops::dispatch_next;
        __kmpc_dispatch_next_8 2 => kmpc_loops::dispatch_next;
        __kmpc_dispatch_next_8u 3 => kmpc_loops::dispatch_next;
        __kmpc_for_static_fini 0 => kmpc_loops::end;
        __kmpc_single 0 => kmpc_loops::single;
        __kmpc_end_single 0 => kmpc_loops::end_single;
    }

    // The kind of ordered waits, as above.
    counted {
        GOMP_doacross_wait 7 => doacross::begin;
        GOMP_doacross_ull_wait 7 => doacross::begin;
    }
}
