//! The functions of OpenMP's runtimes that fork regions, as this library has them.
#![allow(unsafe_code)]

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use divergence::record::Head;
use inside::next::Next;
use inside::{Saved, next};

use crate::{output, region};

/// What an entry point does after a call of [`forked`].
#[repr(C)]
pub(crate) struct Done {
    /// The function to which the call goes on; 0: it returns `value`.
    jump: usize,
    value: usize,
}

/// The functions, by their numbers.
static FUNCTIONS: [Next; 14] = [
    Next::anywhere(c"GOMP_parallel"),
    Next::anywhere(c"GOMP_parallel_reductions"),
    Next::anywhere(c"GOMP_parallel_loop_static"),
    Next::anywhere(c"GOMP_parallel_loop_dynamic"),
    Next::anywhere(c"GOMP_parallel_loop_guided"),
    Next::anywhere(c"GOMP_parallel_loop_runtime"),
    Next::anywhere(c"GOMP_parallel_loop_nonmonotonic_dynamic"),
    Next::anywhere(c"GOMP_parallel_loop_nonmonotonic_guided"),
    Next::anywhere(c"GOMP_parallel_loop_nonmonotonic_runtime"),
    Next::anywhere(c"GOMP_parallel_loop_maybe_nonmonotonic_runtime"),
    Next::anywhere(c"GOMP_parallel_sections"),
    Next::anywhere(c"__kmpc_fork_call"),
    Next::anywhere(c"GOMP_teams_reg"),
    Next::anywhere(c"__kmpc_fork_teams"),
];

/// The number of LLVM's function, and of those that fork leagues, which are not repeated.
const KMPC: u32 = 11;
const LEAGUES: u32 = 12;

/// Most arguments of a region that are passed on (LLVM).
const ARGUMENTS: usize = 32;

/// A call that forks a region.
pub(crate) struct Call<'a> {
    saved: &'a Saved,
    /// The frame pointer at the call.
    base: u64,
    function: u32,
    real: usize,
}

impl Call<'_> {
    /// Its return address.
    pub(crate) fn code(&self) -> u64 {
        self.saved.code
    }

    fn is_llvms(&self) -> bool {
        self.function == KMPC
    }

    /// The function outlined from the region.
    pub(crate) fn body(&self) -> u64 {
        let [first, _, third, ..] = self.saved.registers;
        (if self.is_llvms() { third } else { first }) as u64
    }

    /// Where the frame of the function begins that forks the region.
    pub(crate) fn stack(&self) -> u64 {
        self.saved.frame() + 8
    }

    /// The stack and frame pointers in the runtime's function, the block of variables that it gets, and the call.
    pub(crate) fn frame(&self) -> [u64; 4] {
        let data = if self.is_llvms() {
            0
        } else {
            self.saved.registers[1] as u64
        };
        [self.saved.frame(), self.base, data, self.saved.code]
    }

    /// How many threads the program asks for.
    pub(crate) fn threads(&self) -> u32 {
        let asked = if self.is_llvms() {
            PUSHED.swap(0, Relaxed)
        } else {
            self.saved.registers[2] as u32
        };
        static MOST: Next = Next::anywhere(c"omp_get_max_threads");
        match asked {
            0 => next!(MOST, fn() -> u32, (), 0),
            asked => asked,
        }
    }

    /// Calls the real function, with so many threads if a number is given.
    ///
    /// # Safety
    /// The call has not returned yet.
    pub(crate) unsafe fn forward(&self, threads: Option<u32>) -> usize {
        if self.is_llvms() {
            // SAFETY: the caller's promise.
            return unsafe { self.forward_to_llvms(threads) };
        }
        let [a, b, c, d, e, f] = self.saved.registers;
        let [g, h, i, j, k, l] = self.saved.stack;
        let c = threads.map_or(c, |threads| threads as usize);
        type Any = unsafe extern "C-unwind" fn(
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
        ) -> usize;
        // SAFETY: the real function of that name, with the program's arguments; those beyond its own are ignored.
        unsafe { std::mem::transmute::<usize, Any>(self.real)(a, b, c, d, e, f, g, h, i, j, k, l) }
    }

    /// # Safety
    /// As [`Call::forward`].
    unsafe fn forward_to_llvms(&self, threads: Option<u32>) -> usize {
        type Fork = unsafe extern "C-unwind" fn(usize, usize, usize, ...) -> usize;
        static NUMBER: Next = Next::anywhere(c"__kmpc_global_thread_num");
        static PUSH: Next = Next::anywhere(c"__kmpc_push_num_threads");
        let [place, count, body, in_registers @ ..] = self.saved.registers;
        if let Some(threads) = threads {
            let own = next!(NUMBER, fn(usize) -> u32, (place), 0);
            next!(PUSH, fn(usize, u32, u32) -> (), (place, own, threads), ());
        }
        let mut all = [0_usize; ARGUMENTS];
        let (first, others) = all.split_at_mut(in_registers.len());
        first.copy_from_slice(&in_registers);
        let on_stack = (count as u32 as usize).saturating_sub(in_registers.len());
        for (number, argument) in others.iter_mut().enumerate().take(on_stack) {
            // SAFETY: the call has that many arguments, behind each other above its return address.
            *argument = unsafe { *self.saved.stack.as_ptr().wrapping_add(number) };
        }
        let [
            a0,
            a1,
            a2,
            a3,
            a4,
            a5,
            a6,
            a7,
            a8,
            a9,
            a10,
            a11,
            a12,
            a13,
            a14,
            a15,
            rest @ ..,
        ] = all;
        let [
            b0,
            b1,
            b2,
            b3,
            b4,
            b5,
            b6,
            b7,
            b8,
            b9,
            b10,
            b11,
            b12,
            b13,
            b14,
            b15,
        ] = rest;
        // SAFETY: the real function, with the program's arguments; it reads as many as it is told.
        unsafe {
            let fork = std::mem::transmute::<usize, Fork>(self.real);
            fork(
                place, count, body, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13,
                a14, a15, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11, b12, b13, b14, b15,
            )
        }
    }
}

/// The number of threads that the program has asked LLVM's runtime for, of its next region.
static PUSHED: AtomicU32 = AtomicU32::new(0);

extern "C" fn pushed(_place: usize, _own: u32, threads: u32) -> usize {
    static NEXT: Next = Next::anywhere(c"__kmpc_push_num_threads");
    if region::is_serial() {
        PUSHED.store(threads, Relaxed);
    }
    NEXT.or_nothing()
}

inside::noting! { __kmpc_push_num_threads => pushed [] []; }

/// A call of one of the functions.
unsafe extern "C-unwind" fn forked(saved: &Saved, base: u64, function: u32) -> Done {
    let real = FUNCTIONS.get(function as usize).map_or(0, Next::or_nothing);
    let on = Done {
        jump: real,
        value: 0,
    };
    if function >= LEAGUES {
        if let Some(output) = output::output() {
            output.add(Head::Others, 1);
        }
        return on;
    }
    if function == KMPC && saved.registers[1] as u32 as usize > ARGUMENTS {
        return on;
    }
    let call = Call {
        saved,
        base,
        function,
        real,
    };
    // SAFETY: an entry point's call.
    match unsafe { region::run(&call) } {
        Some(value) => Done { jump: 0, value },
        None => on,
    }
}

macro_rules! forks {
    ($($name:ident $number:literal;)*) => {$(
        inside::naked! { $name:
            ".cfi_startproc",
            inside::spill!(),
            "mov rdi, rsp",
            "mov rsi, rbp",
            "mov edx, {number}",
            "call {to}",
            "test rax, rax",
            "jnz 2f",
            "mov rax, rdx",
            ".cfi_remember_state",
            "add rsp, 56",
            ".cfi_def_cfa_offset 8",
            "ret",
            ".cfi_restore_state",
            "2:",
            inside::restore!(),
            "jmp rax",
            ".cfi_endproc",
            number = const $number,
            to = sym forked,
        }
    )*};
}

forks! {
    GOMP_parallel 0;
    GOMP_parallel_reductions 1;
    GOMP_parallel_loop_static 2;
    GOMP_parallel_loop_dynamic 3;
    GOMP_parallel_loop_guided 4;
    GOMP_parallel_loop_runtime 5;
    GOMP_parallel_loop_nonmonotonic_dynamic 6;
    GOMP_parallel_loop_nonmonotonic_guided 7;
    GOMP_parallel_loop_nonmonotonic_runtime 8;
    GOMP_parallel_loop_maybe_nonmonotonic_runtime 9;
    GOMP_parallel_sections 10;
    __kmpc_fork_call 11;
    GOMP_teams_reg 12;
    __kmpc_fork_teams 13;
}
