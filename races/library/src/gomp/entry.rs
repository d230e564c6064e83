//! The exported functions. A call that is recorded has its arguments stored below its return address,
//! and a pointer to them is passed to a function of another module. Any other call goes on to the
//! real function by a jump.

use std::arch::naked_asm;
use std::ffi::CStr;

use super::work::{ANY, BARE, DOACROSS, DYNAMIC, GUIDED, ORDERED, OTHER, STATIC, ULL};
use super::{real, region, sync, target, task, work};

/// The function called, and a kind for the handler that it shares with others.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct What(u32);

impl What {
    const fn new(function: Function, kind: u32) -> What {
        What(function as u32 | kind << 16)
    }

    /// The function's number.
    #[inline]
    pub(super) fn function(self) -> usize {
        (self.0 & 0xffff) as usize
    }

    /// Depends on the handler.
    #[inline]
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
    /// The return address.
    pub(super) code: u64,
    /// The next arguments, as many as the function has. The words beyond them belong to the
    /// caller's frame, which may be read.
    pub(super) stack: [usize; 6],
}

impl Saved {
    /// The stack pointer at entry: the caller's frame lies above, all that its callees use below.
    #[inline]
    pub(super) fn frame(&self) -> u64 {
        (&raw const self.code) as u64
    }
}

macro_rules! recorded {
    ($($name:ident $kind:expr => $to:path;)*) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "2: mov r11, [rip + {addresses} + {place}]",
                "test r11, r11",
                "js 4f",
                "jz 3f",
                "jmp r11",
                "3: mov r11d, {function}",
                "call {resolve}",
                "jmp 2b",
                "4: sub rsp, 56",
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
                addresses = sym real::ADDRESSES,
                place = const 8 * Function::$name as usize,
                function = const Function::$name as u32,
                resolve = sym resolve,
                what = const What::new(Function::$name, $kind).0,
                to = sym $to,
            )
        }
    )*};
}

/// The waits of doacross loops take as many arguments as the loop has dimensions: those beyond six
/// registers are copied to the new frame. Without a known count, a jump gives the real function the
/// caller's frame itself.
macro_rules! counted {
    ($($name:ident $kind:expr => $to:path;)*) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "2: mov r11, [rip + {addresses} + {place}]",
                "test r11, r11",
                "js 4f",
                "jz 3f",
                "jmp r11",
                "3: mov r11d, {function}",
                "call {resolve}",
                "jmp 2b",
                "4: push rbp",
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
                "mov edi, {function}",
                "call {dimensions}",
                "mov r11, rax",
                "mov rax, rdx",
                "mov rdi, [rbp - 48]",
                "mov rsi, [rbp - 40]",
                "mov rdx, [rbp - 32]",
                "mov r8, [rbp - 16]",
                "mov r9, [rbp - 8]",
                "cmp rax, -1",
                "je 7f",
                // Reserves that many words and aligns the stack to 16.
                "lea rcx, [rax + 1]",
                "and rcx, -2",
                "shl rcx, 3",
                "sub rsp, rcx",
                "xor ecx, ecx",
                "5: cmp rcx, rax",
                "jae 6f",
                "mov r10, [rbp + rcx * 8 + 16]",
                "mov [rsp + rcx * 8], r10",
                "inc rcx",
                "jmp 5b",
                "6: mov rcx, [rbp - 24]",
                "xor eax, eax",
                "call r11",
                "lea rdi, [rbp - 48]",
                "lea rsi, [rbp + 16]",
                "call {to}",
                "mov rsp, rbp",
                "pop rbp",
                ".cfi_remember_state",
                ".cfi_def_cfa rsp, 8",
                "ret",
                ".cfi_restore_state",
                "7: mov rcx, [rbp - 24]",
                "xor eax, eax",
                "mov rsp, rbp",
                "pop rbp",
                ".cfi_def_cfa rsp, 8",
                "jmp r11",
                ".cfi_endproc",
                addresses = sym real::ADDRESSES,
                place = const 8 * Function::$name as usize,
                function = const Function::$name as u32,
                resolve = sym resolve,
                dimensions = sym work::dimensions,
                to = sym $to,
            )
        }
    )*};
}

/// Looks up the function whose number is in r11, and leaves all arguments as they are.
#[unsafe(naked)]
unsafe extern "C" fn resolve() {
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
        "mov [rsp + 48], rax",
        "sub rsp, 8",
        ".cfi_def_cfa_offset 72",
        "mov edi, r11d",
        "call {resolve}",
        "add rsp, 8",
        ".cfi_def_cfa_offset 64",
        "mov rdi, [rsp]",
        "mov rsi, [rsp + 8]",
        "mov rdx, [rsp + 16]",
        "mov rcx, [rsp + 24]",
        "mov r8, [rsp + 32]",
        "mov r9, [rsp + 40]",
        "mov rax, [rsp + 48]",
        "add rsp, 56",
        ".cfi_def_cfa_offset 8",
        "ret",
        ".cfi_endproc",
        resolve = sym real::resolve,
    )
}

/// The entry points by form, each with its kind and the function that handles it, and the other
/// functions of libgomp that are called here. Makes a number and a name for each of them.
macro_rules! functions {
    (
        called { $($called:ident)* }
        $($form:ident { $($name:ident $kind:expr => $to:path;)* })*
    ) => {
        /// A function of libgomp.
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
    called {
        omp_get_thread_num omp_get_num_threads omp_get_team_num omp_get_num_teams omp_in_final
        omp_get_num_devices omp_get_max_threads
    }

    // The kind of region::fork and region::open: 0 a region, 1 one with task reductions, 2 a league of
    // teams, else the kind of its loop or sections.
    recorded {
        GOMP_parallel 0 => region::fork;
        GOMP_parallel_reductions 1 => region::fork;
        GOMP_teams_reg 2 => region::fork;
        GOMP_teams4 0 => target::teams;
        GOMP_parallel_loop_static STATIC => region::fork;
        GOMP_parallel_loop_dynamic DYNAMIC => region::fork;
        GOMP_parallel_loop_guided GUIDED => region::fork;
        GOMP_parallel_loop_runtime OTHER => region::fork;
        GOMP_parallel_loop_nonmonotonic_dynamic DYNAMIC => region::fork;
        GOMP_parallel_loop_nonmonotonic_guided GUIDED => region::fork;
        GOMP_parallel_loop_nonmonotonic_runtime OTHER => region::fork;
        GOMP_parallel_loop_maybe_nonmonotonic_runtime OTHER => region::fork;
        GOMP_parallel_sections region::SECTIONS => region::fork;
        GOMP_parallel_start 0 => region::open;
        GOMP_parallel_loop_static_start STATIC => region::open;
        GOMP_parallel_loop_dynamic_start DYNAMIC => region::open;
        GOMP_parallel_loop_guided_start GUIDED => region::open;
        GOMP_parallel_loop_runtime_start OTHER => region::open;
        GOMP_parallel_sections_start region::SECTIONS => region::open;
        GOMP_parallel_end 0 => region::close;
    }

    // The kind of the loop's schedule, and how its arguments lie.
    recorded {
        GOMP_loop_static_start STATIC => work::start;
        GOMP_loop_dynamic_start DYNAMIC => work::start;
        GOMP_loop_nonmonotonic_dynamic_start DYNAMIC => work::start;
        GOMP_loop_guided_start GUIDED => work::start;
        GOMP_loop_nonmonotonic_guided_start GUIDED => work::start;
        GOMP_loop_runtime_start OTHER | BARE => work::start;
        GOMP_loop_nonmonotonic_runtime_start OTHER | BARE => work::start;
        GOMP_loop_maybe_nonmonotonic_runtime_start OTHER | BARE => work::start;
        GOMP_loop_ordered_static_start STATIC | ORDERED => work::start;
        GOMP_loop_ordered_dynamic_start DYNAMIC | ORDERED => work::start;
        GOMP_loop_ordered_guided_start GUIDED | ORDERED => work::start;
        GOMP_loop_ordered_runtime_start OTHER | BARE | ORDERED => work::start;
        GOMP_loop_start ANY => work::start;
        GOMP_loop_ordered_start ANY | ORDERED => work::start;
        GOMP_loop_ull_static_start STATIC | ULL => work::start;
        GOMP_loop_ull_dynamic_start DYNAMIC | ULL => work::start;
        GOMP_loop_ull_nonmonotonic_dynamic_start DYNAMIC | ULL => work::start;
        GOMP_loop_ull_guided_start GUIDED | ULL => work::start;
        GOMP_loop_ull_nonmonotonic_guided_start GUIDED | ULL => work::start;
        GOMP_loop_ull_runtime_start OTHER | ULL | BARE => work::start;
        GOMP_loop_ull_nonmonotonic_runtime_start OTHER | ULL | BARE => work::start;
        GOMP_loop_ull_maybe_nonmonotonic_runtime_start OTHER | ULL | BARE => work::start;
        GOMP_loop_ull_ordered_static_start STATIC | ULL | ORDERED => work::start;
        GOMP_loop_ull_ordered_dynamic_start DYNAMIC | ULL | ORDERED => work::start;
        GOMP_loop_ull_ordered_guided_start GUIDED | ULL | ORDERED => work::start;
        GOMP_loop_ull_ordered_runtime_start OTHER | ULL | BARE | ORDERED => work::start;
        GOMP_loop_ull_start ANY | ULL => work::start;
        GOMP_loop_ull_ordered_start ANY | ULL | ORDERED => work::start;
        GOMP_loop_doacross_start ANY | DOACROSS => work::start;
        GOMP_loop_doacross_static_start STATIC | DOACROSS => work::start;
        GOMP_loop_doacross_dynamic_start DYNAMIC | DOACROSS => work::start;
        GOMP_loop_doacross_guided_start GUIDED | DOACROSS => work::start;
        GOMP_loop_doacross_runtime_start OTHER | BARE | DOACROSS => work::start;
        GOMP_loop_ull_doacross_start ANY | DOACROSS => work::start;
        GOMP_loop_ull_doacross_static_start STATIC | DOACROSS => work::start;
        GOMP_loop_ull_doacross_dynamic_start DYNAMIC | DOACROSS => work::start;
        GOMP_loop_ull_doacross_guided_start GUIDED | DOACROSS => work::start;
        GOMP_loop_ull_doacross_runtime_start OTHER | BARE | DOACROSS => work::start;
    }

    recorded {
        GOMP_loop_static_next 0 => work::next;
        GOMP_loop_dynamic_next 0 => work::next;
        GOMP_loop_nonmonotonic_dynamic_next 0 => work::next;
        GOMP_loop_guided_next 0 => work::next;
        GOMP_loop_nonmonotonic_guided_next 0 => work::next;
        GOMP_loop_runtime_next 0 => work::next;
        GOMP_loop_nonmonotonic_runtime_next 0 => work::next;
        GOMP_loop_maybe_nonmonotonic_runtime_next 0 => work::next;
        GOMP_loop_ordered_static_next 0 => work::next;
        GOMP_loop_ordered_dynamic_next 0 => work::next;
        GOMP_loop_ordered_guided_next 0 => work::next;
        GOMP_loop_ordered_runtime_next 0 => work::next;
        GOMP_loop_ull_static_next 0 => work::next;
        GOMP_loop_ull_dynamic_next 0 => work::next;
        GOMP_loop_ull_nonmonotonic_dynamic_next 0 => work::next;
        GOMP_loop_ull_guided_next 0 => work::next;
        GOMP_loop_ull_nonmonotonic_guided_next 0 => work::next;
        GOMP_loop_ull_runtime_next 0 => work::next;
        GOMP_loop_ull_nonmonotonic_runtime_next 0 => work::next;
        GOMP_loop_ull_maybe_nonmonotonic_runtime_next 0 => work::next;
        GOMP_loop_ull_ordered_static_next 0 => work::next;
        GOMP_loop_ull_ordered_dynamic_next 0 => work::next;
        GOMP_loop_ull_ordered_guided_next 0 => work::next;
        GOMP_loop_ull_ordered_runtime_next 0 => work::next;
        GOMP_loop_end 0 => work::end;
        GOMP_loop_end_cancel 0 => work::end;
        GOMP_loop_end_nowait 0 => work::end_nowait;
        GOMP_sections_start 0 => work::sections;
        GOMP_sections2_start 1 => work::sections;
        GOMP_sections_next 0 => work::next_section;
        GOMP_sections_end 0 => work::end;
        GOMP_sections_end_cancel 0 => work::end;
        GOMP_sections_end_nowait 0 => work::end_nowait;
        GOMP_scope_start 0 => work::scope;
        GOMP_workshare_task_reduction_unregister 0 => work::reduction_ends;
        GOMP_single_start 0 => work::single;
        GOMP_single_copy_start 0 => work::single_copy;
        GOMP_single_copy_end 0 => work::single_copy_end;
        GOMP_doacross_post 0 => work::post;
        GOMP_doacross_ull_post 0 => work::post;
    }

    counted {
        GOMP_doacross_wait 0 => work::waited;
        GOMP_doacross_ull_wait 0 => work::waited;
    }

    // `ompt_mutex_t`: 1 lock, 2 test lock, 3 nest lock, 4 test nest lock, 5 critical, 6 atomic,
    // 7 ordered.
    recorded {
        GOMP_barrier 0 => sync::barrier;
        GOMP_barrier_cancel 0 => sync::barrier;
        GOMP_critical_start 5 => sync::acquire;
        GOMP_critical_name_start 5 => sync::acquire;
        GOMP_critical_end 5 => sync::release;
        GOMP_critical_name_end 5 => sync::release;
        GOMP_atomic_start 6 => sync::acquire;
        GOMP_atomic_end 6 => sync::release;
        GOMP_ordered_start 7 => sync::acquire;
        GOMP_ordered_end 7 => sync::release;
        omp_set_lock 1 => sync::acquire;
        omp_set_lock_ 1 => sync::acquire;
        omp_unset_lock 1 => sync::release;
        omp_unset_lock_ 1 => sync::release;
        omp_test_lock 2 => sync::test;
        omp_test_lock_ 2 => sync::test;
        omp_set_nest_lock 3 => sync::set_nest;
        omp_set_nest_lock_ 3 => sync::set_nest;
        omp_unset_nest_lock 3 => sync::unset_nest;
        omp_unset_nest_lock_ 3 => sync::unset_nest;
        omp_test_nest_lock 4 => sync::test;
        omp_test_nest_lock_ 4 => sync::test;
        omp_init_lock 1 => sync::init;
        omp_init_lock_ 1 => sync::init;
        omp_init_nest_lock 3 => sync::init;
        omp_init_nest_lock_ 3 => sync::init;
        omp_init_lock_with_hint 1 => sync::init;
        omp_init_lock_with_hint_ 1 => sync::init;
        omp_init_nest_lock_with_hint 3 => sync::init;
        omp_init_nest_lock_with_hint_ 3 => sync::init;
        omp_destroy_lock 1 => sync::destroy;
        omp_destroy_lock_ 1 => sync::destroy;
        omp_destroy_nest_lock 3 => sync::destroy;
        omp_destroy_nest_lock_ 3 => sync::destroy;
    }

    recorded {
        GOMP_task 0 => task::task;
        GOMP_taskloop 0 => task::taskloop;
        GOMP_taskloop_ull 1 => task::taskloop;
        GOMP_taskwait 0 => task::wait;
        GOMP_taskwait_depend 0 => task::wait_for_dependences;
        GOMP_taskgroup_start 0 => task::group_begins;
        GOMP_taskgroup_end 0 => task::group_ends;
        GOMP_task_reduction_remap 0 => task::finds_reduction;
        omp_fulfill_event 0 => task::fulfill;
        omp_fulfill_event_ 0 => task::fulfill;
        GOMP_target 0 => target::target;
        GOMP_target_ext 1 => target::target;
    }
}
