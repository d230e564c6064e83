//! Entry points on x86-64: the functions that a library of ours has in place of others, each a few
//! instructions that note where the call came from and go on to a function in Rust.
//!
//! | form | what the function in Rust gets | what then |
//! |---|---|---|
//! | [`plain`](crate::plain) | up to two arguments, the call, the function's number | it returns to the caller; there is no frame of ours |
//! | [`saved`](crate::saved) | all arguments as stored below the return address, the number | its result is the call's |
//! | [`noted`](crate::noted) | the same | a jump to the function that it returns, with all arguments |
//! | [`noting`](crate::noting) | up to six arguments, or what instructions make of them | the same |
//! | [`guarded`](crate::guarded) | as `saved`, of calls that are recorded | other calls go on to the real function by a jump |
//! | [`around`](crate::around) | all arguments, which it may change, before the real function, and its result after it | the real function is called with as many arguments as it says |
//! | [`jumping`](crate::jumping) | all arguments | a jump |
//!
//! A jump leaves no frame: the function sees the program's return address.
#![allow(unsafe_code)]

use ompt::Function;

/// A call of an entry point: the address of its return address on the stack.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct At(*const u64);

impl At {
    /// The return address.
    #[inline(always)]
    pub fn code(self) -> u64 {
        // SAFETY: an entry point's own return address; the wrapper's frame lies below it.
        unsafe { *self.0 }
    }

    /// An address below the call's return address and above all that its callees use of the stack.
    #[inline(always)]
    pub fn frame(self) -> u64 {
        self.0 as u64 - 8
    }
}

/// The function called, and its kind: [`ompt::kind`].
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct What(pub u32);

impl What {
    /// A function of this kind.
    #[must_use]
    pub const fn new(function: Function, kind: u32) -> What {
        What::numbered(function as u16, kind)
    }

    /// The function with this number in a table of its own.
    #[must_use]
    pub const fn numbered(function: u16, kind: u32) -> What {
        assert!(kind <= u16::MAX as u32);
        What(function as u32 | kind << 16)
    }

    /// The function's number.
    #[inline(always)]
    pub const fn function(self) -> usize {
        (self.0 & 0xffff) as usize
    }

    /// Its kind.
    #[inline(always)]
    pub const fn kind(self) -> u32 {
        self.0 >> 16
    }
}

/// A call's arguments and its return address as stored on the stack.
#[derive(Debug)]
#[repr(C)]
pub struct Saved {
    /// The arguments in registers: rdi, rsi, rdx, rcx, r8, r9.
    pub registers: [usize; 6],
    _padding: u64,
    /// The return address.
    pub code: u64,
    /// The next arguments, as many as the function has. The words beyond them belong to the
    /// caller's frame, which may be read.
    pub stack: [usize; 6],
}

/// Calls the function at an address with these words for arguments; it ignores those beyond its own.
///
/// # Safety
/// A function of the C ABI that takes no more than these, and does with them what it may.
#[inline(always)]
pub unsafe fn call_with(address: usize, registers: [usize; 6], stack: [usize; 6]) -> usize {
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
    let [a, b, c, d, e, f] = registers;
    let [g, h, i, j, k, l] = stack;
    // SAFETY: the caller's promise.
    unsafe { std::mem::transmute::<usize, Any>(address)(a, b, c, d, e, f, g, h, i, j, k, l) }
}

impl Saved {
    /// Calls the function at an address with the arguments of the call.
    ///
    /// # Safety
    /// As for [`call_with`].
    #[inline(always)]
    pub unsafe fn forward(&self, address: usize) -> usize {
        // SAFETY: the caller's promise.
        unsafe { call_with(address, self.registers, self.stack) }
    }

    /// The call.
    #[inline(always)]
    pub fn at(&self) -> At {
        At(&raw const self.code)
    }

    /// The stack pointer at entry: the caller's frame lies above, all that its callees use below.
    #[inline(always)]
    pub fn frame(&self) -> u64 {
        (&raw const self.code) as u64
    }
}

/// Stores the arguments in registers as [`Saved`] has them.
#[macro_export]
macro_rules! spill {
    () => {
        concat!(
            "sub rsp, 56\n",
            ".cfi_def_cfa_offset 64\n",
            "mov [rsp], rdi\n",
            "mov [rsp + 8], rsi\n",
            "mov [rsp + 16], rdx\n",
            "mov [rsp + 24], rcx\n",
            "mov [rsp + 32], r8\n",
            "mov [rsp + 40], r9\n",
        )
    };
}

/// Takes them back.
#[macro_export]
macro_rules! restore {
    () => {
        concat!(
            "mov rdi, [rsp]\n",
            "mov rsi, [rsp + 8]\n",
            "mov rdx, [rsp + 16]\n",
            "mov rcx, [rsp + 24]\n",
            "mov r8, [rsp + 32]\n",
            "mov r9, [rsp + 40]\n",
            "add rsp, 56\n",
            ".cfi_def_cfa_offset 8\n",
        )
    };
}

/// Calls `{to}` with a pointer to the [`Saved`] and the [`What`].
#[macro_export]
macro_rules! call_saved {
    () => {
        concat!(
            $crate::spill!(),
            "mov rdi, rsp\n",
            "mov esi, {what}\n",
            "call {to}\n",
        )
    };
}

/// Returns to the caller, after [`call_saved`](crate::call_saved).
#[macro_export]
macro_rules! return_saved {
    () => {
        "add rsp, 56\n.cfi_def_cfa_offset 8\nret\n"
    };
}

/// Makes a frame that rbp points to.
#[macro_export]
macro_rules! enter_frame {
    () => {
        concat!(
            "push rbp\n",
            ".cfi_def_cfa_offset 16\n",
            ".cfi_offset rbp, -16\n",
            "mov rbp, rsp\n",
            ".cfi_def_cfa_register rbp\n",
        )
    };
}

/// Exports a function made of these instructions.
#[macro_export]
macro_rules! naked {
    ($name:ident: $($instructions:tt)*) => {
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
            std::arch::naked_asm!($($instructions)*)
        }
    };
}

/// The function in Rust gets two arguments, the [`At`] and the [`What`].
#[macro_export]
macro_rules! plain {
    ($to:path { $($name:ident $kind:expr;)* }) => {$(
        $crate::naked! { $name:
            ".cfi_startproc",
            "mov rdx, rsp",
            "mov ecx, {what}",
            "jmp {to}",
            ".cfi_endproc",
            what = const $crate::What::new(ompt::Function::$name, $kind).0,
            to = sym $to,
        }
    )*};
}

/// The function in Rust gets a pointer to the [`Saved`], and the [`What`].
#[macro_export]
macro_rules! saved {
    ($to:path { $($name:ident $kind:expr;)* }) => {$(
        $crate::naked! { $name:
            ".cfi_startproc",
            $crate::call_saved!(),
            $crate::return_saved!(),
            ".cfi_endproc",
            what = const $crate::What::new(ompt::Function::$name, $kind).0,
            to = sym $to,
        }
    )*};
}

/// As [`saved`](crate::saved); the function in Rust returns the address to which to jump.
#[macro_export]
macro_rules! noted {
    ($to:path { $($name:ident $kind:expr;)* }) => {$(
        $crate::naked! { $name:
            ".cfi_startproc",
            $crate::call_saved!(),
            $crate::restore!(),
            "jmp rax",
            ".cfi_endproc",
            what = const $crate::What::new(ompt::Function::$name, $kind).0,
            to = sym $to,
        }
    )*};
}

/// `$moves` put into registers what `$to` takes; the caller's stack begins at `rsp + 56` then, with the
/// return address. `$last` is executed before the jump.
#[macro_export]
macro_rules! noting {
    (
        $($name:ident => $to:path [$($moves:literal),*] [$($last:literal),*]
            $(, $key:ident = $operand:ident $value:path)?;)*
    ) => {$(
        $crate::naked! { $name:
            ".cfi_startproc",
            $crate::spill!(),
            $($moves,)*
            "call {to}",
            $crate::restore!(),
            $($last,)*
            "jmp rax",
            ".cfi_endproc",
            to = sym $to,
            $($key = $operand $value,)?
        }
    )*};
}

/// `$addresses` has a word for each function of [`ompt::NAMES`], the address of the real one; 0: not looked
/// up yet. The highest bit, which no address of a program has, is set where calls are recorded. `$resolve`
/// takes the number of a function in r11, returns its word there, and keeps all arguments:
/// [`resolving`](crate::resolving).
#[macro_export]
macro_rules! guarded {
    ($addresses:path, $resolve:path; $to:path { $($name:ident $kind:expr;)* }) => {$(
        $crate::naked! { $name:
            ".cfi_startproc",
            "mov r11, [rip + {addresses} + {place}]",
            "2: test r11, r11",
            "js 4f",
            "jz 3f",
            "jmp r11",
            "3: mov r11d, {function}",
            "call {resolve}",
            "jmp 2b",
            "4:",
            $crate::call_saved!(),
            $crate::return_saved!(),
            ".cfi_endproc",
            addresses = sym $addresses,
            place = const 8 * ompt::Function::$name as usize,
            function = const ompt::Function::$name as u32,
            resolve = sym $resolve,
            what = const $crate::What::new(ompt::Function::$name, $kind).0,
            to = sym $to,
        }
    )*};
}

/// The functions that [`guarded`] calls, for ones that take the number, and code of the caller's object, as C
/// functions do: the call's return address, or the function that is its first argument.
#[macro_export]
macro_rules! resolving {
    (@hint caller) => { "mov rsi, [rsp + 72]" };
    (@hint body) => { "mov rsi, rdi" };
    ($($name:ident => $to:path, $hint:ident;)*) => {$(
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                ".cfi_startproc",
                $crate::spill!(),
                "mov [rsp + 48], rax",
                "sub rsp, 8",
                ".cfi_def_cfa_offset 72",
                $crate::resolving!(@hint $hint),
                "mov edi, r11d",
                "call {to}",
                "mov r11, rax",
                "add rsp, 8",
                ".cfi_def_cfa_offset 64",
                "mov rax, [rsp + 48]",
                $crate::restore!(),
                "ret",
                ".cfi_endproc",
                to = sym $to,
            )
        }
    )*};
}

/// How a call of any number of arguments goes on.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Onward {
    /// The real function.
    pub real: usize,
    /// Words of the stack that are arguments; [`Onward::JUMP`]: the function gets the caller's frame itself, by
    /// a jump.
    pub words: usize,
}

impl Onward {
    /// No number of words.
    pub const JUMP: usize = usize::MAX;

    /// Arguments in registers.
    const IN_REGISTERS: u32 = 6;

    /// `real` is called with that many arguments.
    #[must_use]
    pub const fn call(real: usize, arguments: u32) -> Onward {
        Onward {
            real,
            words: arguments.saturating_sub(Onward::IN_REGISTERS) as usize,
        }
    }

    /// `real` is jumped to.
    #[must_use]
    pub const fn jump(real: usize) -> Onward {
        Onward {
            real,
            words: Onward::JUMP,
        }
    }
}

/// Stores the arguments in registers below `rbp`.
#[macro_export]
macro_rules! spill_below {
    () => {
        concat!(
            "mov [rbp - 48], rdi\n",
            "mov [rbp - 40], rsi\n",
            "mov [rbp - 32], rdx\n",
            "mov [rbp - 24], rcx\n",
            "mov [rbp - 16], r8\n",
            "mov [rbp - 8], r9\n",
        )
    };
}

/// Calls as the [`Onward`] says that has just been returned, with the arguments from [`spill_below`] and as many of
/// the stack's words. To jump, it goes on at 4, in [`return_or_jump`].
#[macro_export]
macro_rules! call_copied {
    () => {
        concat!(
            "mov r11, rax\n",
            "mov rax, rdx\n",
            "mov rdi, [rbp - 48]\n",
            "mov rsi, [rbp - 40]\n",
            "mov rdx, [rbp - 32]\n",
            "mov r8, [rbp - 16]\n",
            "mov r9, [rbp - 8]\n",
            "cmp rax, -1\n",
            "je 4f\n",
            // Reserves that many words and aligns the stack to 16.
            "lea rcx, [rax + 1]\n",
            "and rcx, -2\n",
            "shl rcx, 3\n",
            "sub rsp, rcx\n",
            "xor ecx, ecx\n",
            "2: cmp rcx, rax\n",
            "jae 3f\n",
            "mov r10, [rbp + rcx * 8 + 16]\n",
            "mov [rsp + rcx * 8], r10\n",
            "inc rcx\n",
            "jmp 2b\n",
            "3: mov rcx, [rbp - 24]\n",
            "xor eax, eax\n",
            "call r11\n",
        )
    };
}

/// Leaves the frame that `rbp` points to: to the caller or, from 4 on, to the function in `r11`.
#[macro_export]
macro_rules! return_or_jump {
    () => {
        concat!(
            "mov rsp, rbp\n",
            "pop rbp\n",
            ".cfi_remember_state\n",
            ".cfi_def_cfa rsp, 8\n",
            "ret\n",
            ".cfi_restore_state\n",
            "4: mov rcx, [rbp - 24]\n",
            "xor eax, eax\n",
            "mov rsp, rbp\n",
            "pop rbp\n",
            ".cfi_def_cfa rsp, 8\n",
            "jmp r11\n",
        )
    };
}

/// A call of [`around`] on the stack.
#[derive(Debug)]
#[repr(C)]
pub struct Around {
    /// For the functions in Rust.
    pub scratch: [u64; Around::SCRATCH],
    /// The first floating-point argument, then the result.
    _vector: [u64; 2],
    registers: [u64; Onward::IN_REGISTERS as usize],
    _frame: u64,
    /// The return address.
    pub code: u64,
    /// The next arguments, as many as the function has. The words beyond them belong to the caller's frame.
    stack: [u64; 8],
}

impl Around {
    const SCRATCH: usize = 20;
    /// Bytes that the entry point reserves.
    pub const BYTES: usize = 8 * (Around::SCRATCH + 2 + Onward::IN_REGISTERS as usize);

    /// An argument; `number` counts from 0.
    #[inline(always)]
    pub fn argument(&self, number: usize) -> u64 {
        let own = self.registers.iter().chain(&self.stack).nth(number);
        own.copied().unwrap_or(0)
    }

    /// Changes an argument before the call. The words of arguments on the stack are the called function's.
    #[inline(always)]
    pub fn set_argument(&mut self, number: usize, value: u64) {
        let mut own = self.registers.iter_mut().chain(&mut self.stack);
        if let Some(argument) = own.nth(number) {
            *argument = value;
        }
    }

    /// The call.
    #[inline(always)]
    pub fn at(&self) -> At {
        At(&raw const self.code)
    }

    /// The first arguments, of a function with any number of them.
    ///
    /// # Safety
    /// The call has as many.
    pub unsafe fn arguments(&self, count: usize) -> impl Iterator<Item = u64> {
        let (registers, stack) = (&self.registers, &raw const self.stack);
        (0..count).map(move |at| match registers.get(at) {
            Some(argument) => *argument,
            // SAFETY: the caller's promise: those beyond the registers follow each other on the stack.
            None => unsafe { *stack.cast::<u64>().add(at - registers.len()) },
        })
    }
}

/// Functions of any number of arguments: those beyond six registers are copied to a new frame. One argument, and the result,
/// may be in a vector register; a result of the x87 stays there, which code in Rust does not use. `$name` goes on to
/// `$common`, which is made here, once, with its number. `$begin` gets the [`Around`] and the [`What`], and returns an [`Onward`]. `$end` gets the
/// [`Around`] and the result, and returns what is returned.
#[macro_export]
macro_rules! around {
    ($common:ident: $begin:path, $end:path { $($name:ident $kind:expr;)* }) => {
        $crate::around! { $common: $begin, $end; $(
            $name $crate::What::new(ompt::Function::$name, $kind);
        )* }
    };
    ($common:ident: $begin:path, $end:path; $($name:ident $what:expr;)*) => {
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $common() {
            std::arch::naked_asm!(
                ".cfi_startproc",
                $crate::enter_frame!(),
                "sub rsp, {bytes}",
                $crate::spill_below!(),
                "movaps [rbp - 64], xmm0",
                "mov rdi, rsp",
                "mov esi, eax",
                "call {begin}",
                "movaps xmm0, [rbp - 64]",
                $crate::call_copied!(),
                "movaps [rbp - 64], xmm0",
                "lea rdi, [rbp - {bytes}]",
                "mov rsi, rax",
                "call {end}",
                "movaps xmm0, [rbp - 64]",
                $crate::return_or_jump!(),
                ".cfi_endproc",
                bytes = const $crate::Around::BYTES,
                begin = sym $begin,
                end = sym $end,
            )
        }
        $($crate::naked! { $name:
            ".cfi_startproc",
            // A number of arguments in vector registers, of functions that take any number, is none: all are integers there.
            "mov eax, {what}",
            "jmp {common}",
            ".cfi_endproc",
            what = const { $what.0 },
            common = sym $common,
        })*
    };
}

/// Exports a function of Rust under the name of the function whose place it takes.
#[macro_export]
macro_rules! jumping {
    ($($name:ident => $to:path;)*) => {$(
        $crate::naked! { $name: "jmp {to}", to = sym $to }
    )*};
}
