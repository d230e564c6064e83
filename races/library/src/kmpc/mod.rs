//! Functions of LLVM's runtime of which its OMPT events do not tell enough, interposed.
//!
//! | module | what |
//! |---|---|
//! | `task` | the memory of tasks, untied tasks, taskloops |
//! | `reduction` | what the runtime calls to combine copies |
//! | `sync` | critical sections, `ordered` clauses, flushes |
//! | `team` | what the program asks about its team, and sets |
#![allow(unsafe_code)]

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
