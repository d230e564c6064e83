//! The functions of OpenMP's runtimes that fork regions, as this library has them.
#![allow(unsafe_code)]

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicUsize};

use divergence::record::Head;
use inside::next::Next;
use inside::{Saved, What, call_with, next};
use ompt::kind::*;
use ompt::{Function, NAMES};

use crate::{output, region};

/// What an entry point does after a call of [`forked`].
#[repr(C)]
pub(crate) struct Done {
    /// The function to which the call goes on; 0: it returns `value`.
    jump: usize,
    value: usize,
}

/// The real function.
fn real(function: usize) -> usize {
    static ADDRESSES: [AtomicUsize; NAMES.len()] = [const { AtomicUsize::new(0) }; NAMES.len()];
    let Some((place, name)) = ADDRESSES.get(function).zip(NAMES.get(function)) else {
        return 0;
    };
    if place.load(Relaxed) == 0 {
        // The program calls it, so that there is one.
        place.store(inside::next::anywhere(name).unwrap_or(0), Relaxed);
    }
    place.load(Relaxed)
}

/// Most arguments of a region that are passed on (LLVM).
const ARGUMENTS: usize = 32;

/// A call that forks a region.
pub(crate) struct Call<'a> {
    saved: &'a Saved,
    /// The frame pointer at the call.
    base: u64,
    is_llvms: bool,
    real: usize,
}

impl Call<'_> {
    /// Its return address.
    pub(crate) fn code(&self) -> u64 {
        self.saved.code
    }

    /// The function outlined from the region.
    pub(crate) fn body(&self) -> u64 {
        let [first, _, third, ..] = self.saved.registers;
        (if self.is_llvms { third } else { first }) as u64
    }

    /// Where the frame of the function begins that forks the region.
    pub(crate) fn stack(&self) -> u64 {
        self.saved.frame() + 8
    }

    /// The stack and frame pointers in the runtime's function, the block of variables that it gets, and the call.
    pub(crate) fn frame(&self) -> [u64; 4] {
        let data = if self.is_llvms {
            0
        } else {
            self.saved.registers[1] as u64
        };
        [self.saved.frame(), self.base, data, self.saved.code]
    }

    /// How many threads the program asks for.
    pub(crate) fn threads(&self) -> u32 {
        let asked = if self.is_llvms {
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
        if self.is_llvms {
            // SAFETY: the caller's promise.
            return unsafe { self.forward_to_llvms(threads) };
        }
        let mut registers = self.saved.registers;
        if let Some(threads) = threads {
            registers[2] = threads as usize;
        }
        // SAFETY: the real function of that name, with the program's arguments.
        unsafe { call_with(self.real, registers, self.saved.stack) }
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
unsafe extern "C-unwind" fn forked(saved: &Saved, base: u64, what: What) -> Done {
    let real = real(what.function());
    let is = |function: Function| what.function() == function as usize;
    let is_llvms = is(Function::__kmpc_fork_call);
    // Leagues, arguments in another order, and more of them than are passed on.
    let is_refused = what.kind() & LEAGUE != 0
        || is(Function::__kmpc_fork_call_if)
        || is_llvms && saved.registers[1] as u32 as usize > ARGUMENTS;
    let result = if is_refused {
        if let Some(output) = output::output() {
            output.add(Head::Others, 1);
        }
        None
    } else {
        let call = Call {
            saved,
            base,
            is_llvms,
            real,
        };
        // SAFETY: an entry point's call.
        unsafe { region::run(&call) }
    };
    match result {
        Some(value) => Done { jump: 0, value },
        None => Done {
            jump: real,
            value: 0,
        },
    }
}

macro_rules! forks {
    ($($name:ident $kind:expr;)*) => {$(
        inside::naked! { $name:
            ".cfi_startproc",
            inside::spill!(),
            "mov rdi, rsp",
            "mov rsi, rbp",
            "mov edx, {what}",
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
            what = const What::new(Function::$name, $kind).0,
            to = sym forked,
        }
    )*};
}

macro_rules! take {
    ($($role:ident $functions:tt)*) => {$(take_role! { $role $functions })*};
}

// Of other roles no call is taken.
macro_rules! take_role {
    (fork { $($functions:tt)* }) => { forks! { $($functions)* } };
    (kmpc_fork { $($functions:tt)* }) => { forks! { $($functions)* } };
    ($other:ident $functions:tt) => {};
}

ompt::entry_points!(take);
