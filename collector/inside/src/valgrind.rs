//! Whether valgrind executes the program, and not the processor. Its tools judge what they see, and a library's
//! looks at stacks and signals are among that.
#![allow(unsafe_code)]

/// Whether it does.
#[cfg(target_arch = "x86_64")]
#[must_use]
pub fn is_running() -> bool {
    /// `RUNNING_ON_VALGRIND` of valgrind.h.
    const REQUEST: [u64; 6] = [0x1001, 0, 0, 0, 0, 0];
    let answer: u64;
    // SAFETY: a processor rotates a register by 128 bits in all, and exchanges another one with itself.
    // Valgrind takes these instructions for a request, reads that, and writes its answer into `rdx`
    // (`__SPECIAL_INSTRUCTION_PREAMBLE` of valgrind.h).
    unsafe {
        std::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            inout("rdi") 0_u64 => _,
            in("rax") REQUEST.as_ptr(),
            inout("rdx") 0_u64 => answer,
            options(nostack),
        );
    }
    answer != 0
}

/// Whether it does.
#[cfg(not(target_arch = "x86_64"))]
#[must_use]
pub fn is_running() -> bool {
    false
}
