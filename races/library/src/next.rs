//! The functions that ours hide: those of the next library that has them.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A function of another library, looked up at its first use.
pub(crate) struct Next {
    name: &'static CStr,
    address: AtomicUsize,
}

/// The address of a function that no library has.
const NONE: usize = 1;

impl Next {
    pub(crate) const fn new(name: &'static CStr) -> Next {
        Next {
            name,
            address: AtomicUsize::new(0),
        }
    }

    /// Its address; `None` if no library has it.
    #[inline]
    pub(crate) fn address(&self) -> Option<usize> {
        match self.address.load(Relaxed) {
            0 => self.find(),
            NONE => None,
            address => Some(address),
        }
    }

    /// Its address if it was found before.
    #[inline]
    pub(crate) fn found(&self) -> Option<usize> {
        Some(self.address.load(Relaxed)).filter(|address| *address > NONE)
    }

    /// Its address, or that of a function that does nothing.
    pub(crate) fn or_nothing(&self) -> usize {
        extern "C" fn nothing() {}
        self.address().unwrap_or(nothing as *const () as usize)
    }

    #[cold]
    fn find(&self) -> Option<usize> {
        // SAFETY: a C string; the search leaves nothing behind.
        let address = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) } as usize;
        let found = (address != 0).then_some(address);
        self.address.store(found.unwrap_or(NONE), Relaxed);
        found
    }
}

/// The next library's function of this name, as a function pointer of this type.
///
/// Calls it with the arguments, or returns `$else` if no library has it.
macro_rules! next {
    ($name:literal, fn($($type:ty),*) $(-> $result:ty)?, ($($argument:expr),*), $else:expr) => {{
        static NEXT: $crate::next::Next = $crate::next::Next::new($name);
        match NEXT.address() {
            // SAFETY: the function of this name has this type.
            Some(address) => unsafe {
                let function = std::mem::transmute::<
                    usize,
                    unsafe extern "C-unwind" fn($($type),*) $(-> $result)?,
                >(address);
                function($($argument),*)
            },
            None => $else,
        }
    }};
}
pub(crate) use next;

/// Entry points that note something and then go on to the next function of the same name by a jump, so
/// that it sees the program's return address and its arguments. `$note` takes what `$moves` puts into
/// registers; the caller's stack begins at `rsp + 56` then, with the return address. It returns where to go
/// on: [`Next::or_nothing`]. `$last` is executed before the jump.
macro_rules! noting {
    (
        $($name:ident => $note:ident [$($moves:literal),*] [$($last:literal),*]
            $(, $key:ident = $operand:ident $value:path)?;)*
    ) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
            std::arch::naked_asm!(
                ".cfi_startproc",
                "sub rsp, 56",
                ".cfi_def_cfa_offset 64",
                "mov [rsp], rdi",
                "mov [rsp + 8], rsi",
                "mov [rsp + 16], rdx",
                "mov [rsp + 24], rcx",
                "mov [rsp + 32], r8",
                "mov [rsp + 40], r9",
                $($moves,)*
                "call {note}",
                "mov rdi, [rsp]",
                "mov rsi, [rsp + 8]",
                "mov rdx, [rsp + 16]",
                "mov rcx, [rsp + 24]",
                "mov r8, [rsp + 32]",
                "mov r9, [rsp + 40]",
                "add rsp, 56",
                ".cfi_def_cfa_offset 8",
                $($last,)*
                "jmp rax",
                ".cfi_endproc",
                note = sym $note,
                $($key = $operand $value,)?
            )
        }
    )*};
}
pub(crate) use noting;
