//! A library's own word in each thread.
//!
//! On x86-64 it uses the initial-exec model: one load through the thread register. Rust's
//! `thread_local!` in a shared library calls `__tls_get_addr`, which costs as much as the rest of an
//! event, and may allocate on a thread's first access. Initial-exec needs static TLS, of which the
//! loader reserves only a little for libraries that are opened later (as by `OMP_TOOL_LIBRARIES`).
//! So a library has one or two such words and no more.

/// Makes a module with `get` and `set` for a word that is zero in a new thread.
#[macro_export]
macro_rules! thread_word {
    ($module:ident $symbol:literal) => {
        #[cfg(target_arch = "x86_64")]
        mod $module {
            core::arch::global_asm!(concat!(
                ".pushsection .tbss.", $symbol, ",\"awT\",@nobits\n",
                ".p2align 3\n",
                ".globl ", $symbol, "\n",
                ".hidden ", $symbol, "\n",
                ".type ", $symbol, ",@object\n",
                ".size ", $symbol, ", 8\n",
                $symbol, ": .zero 8\n",
                ".popsection\n",
            ));

            #[inline(always)]
            pub(crate) fn get() -> usize {
                let value: usize;
                // SAFETY: loads the symbol's offset from the global offset table, and then the word at that
                // offset from the thread register. The loader fills the slot of the table, and the word
                // exists in every thread, because the symbol lies in this library's TLS segment.
                unsafe {
                    core::arch::asm!(
                        concat!("mov {value}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
                        "mov {value}, qword ptr fs:[{value}]",
                        value = out(reg) value,
                        options(nostack, readonly, preserves_flags),
                    );
                }
                value
            }

            #[inline]
            pub(crate) fn set(value: usize) {
                // SAFETY: as in `get`. Only this thread accesses the word, and only by `get` and `set`, so no
                // reference to it exists.
                unsafe {
                    core::arch::asm!(
                        concat!("mov {at}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
                        "mov qword ptr fs:[{at}], {value}",
                        at = out(reg) _,
                        value = in(reg) value,
                        options(nostack, preserves_flags),
                    );
                }
            }
        }

        #[cfg(not(target_arch = "x86_64"))]
        mod $module {
            use std::cell::Cell;

            thread_local!(static WORD: Cell<usize> = const { Cell::new(0) });

            pub(crate) fn get() -> usize {
                WORD.get()
            }

            pub(crate) fn set(value: usize) {
                WORD.set(value);
            }
        }
    };
}
