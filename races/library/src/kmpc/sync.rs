//! Critical sections, the `ordered` clauses of loops, and flushes.

use std::arch::naked_asm;

use inside::{Saved, What};

use crate::gomp::address;
use crate::tls;

/// Notes a call, for the callback that it leads to. Returns the real function.
pub(crate) unsafe extern "C-unwind" fn call(saved: &Saved, what: What) -> usize {
    tls::with(|thread| thread.noted = saved.at().into());
    address(what.function(), saved.code)
}

/// Notes the variable of a critical section, by whose address it is known: the runtime tells of a lock
/// that it has made for it. Returns the real function.
pub(crate) unsafe extern "C-unwind" fn critical(saved: &Saved, what: What) -> usize {
    let [_, _, section, ..] = saved.registers;
    tls::with(|thread| {
        thread.noted = saved.at().into();
        thread.critical = section as u64;
    });
    address(what.function(), saved.code)
}

/// Notes the schedule of a loop with dynamic chunks, which tells whether it has an `ordered` clause. Returns
/// the real function.
pub(crate) unsafe extern "C-unwind" fn dispatch(saved: &Saved, what: What) -> usize {
    let [_, _, schedule, ..] = saved.registers;
    tls::with(|thread| {
        thread.noted = saved.at().into();
        if is_ordered(schedule as u32) {
            thread.meet_ordered_clause(thread.noted);
        }
    });
    address(what.function(), saved.code)
}

/// Whether a schedule, as `sched_type` numbers them, is that of a loop with an `ordered` clause.
fn is_ordered(schedule: u32) -> bool {
    /// `kmp_ord_lower` to `kmp_ord_upper`, below the bits of the modifiers, and what these are with no
    /// merging of chunks.
    const ORDERED: [std::ops::Range<u32>; 2] = [64..80, 192..208];
    let kind = schedule & 0xffff;
    ORDERED.iter().any(|kinds| kinds.contains(&kind))
}

/// `flush` with LLVM's runtime, whose own function does nothing else.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
unsafe extern "C" fn __kmpc_flush() {
    naked_asm!("mov rdi, [rsp]", "jmp {fence}", fence = sym crate::atomics::fence)
}
