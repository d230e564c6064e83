//! Functions of LLVM's runtime of which its OMPT events do not tell enough, interposed.
//!
//! | module | what |
//! |---|---|
//! | `task` | the memory of tasks, untied tasks, taskloops |
//! | `reduction` | what the runtime calls to combine copies |
//! | `sync` | critical sections, `ordered` clauses, flushes |
//! | `team` | what the program asks about its team, and sets |
#![allow(unsafe_code)]

/// Entry points that note something and then go on to the runtime's function of the same name by a jump,
/// so that it sees the program's return address and its arguments. `$note` takes what `$moves` puts into
/// registers; the caller's stack begins at `rsp + 56` then, with the return address. It returns where to go
/// on: [`next_or_nothing`]. `$last` is executed before the jump.
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

/// Entry points that are called as they are.
macro_rules! as_they_are {
    ($($name:ident => $to:ident;)*) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
            std::arch::naked_asm!("jmp {to}", to = sym $to)
        }
    )*};
}

mod reduction;
mod sync;
mod task;
mod team;

/// The runtime's function, or one that does nothing.
fn next_or_nothing(next: &crate::next::Next) -> usize {
    extern "C" fn nothing() {}
    next.address().unwrap_or(nothing as *const () as usize)
}
