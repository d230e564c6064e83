//! Critical sections, the `ordered` clauses of loops, and flushes.

use std::arch::naked_asm;

use crate::next::{Next, noting};
use crate::tls;

/// Note the variable of a critical section, by whose address it is known: the runtime tells of a lock
/// that it has made for it.
macro_rules! criticals {
    ($($name:ident => $note:ident $symbol:literal;)*) => {$(
        extern "C" fn $note(section: u64) -> usize {
            static NEXT: Next = Next::new($symbol);
            tls::with(|thread| thread.critical = section);
            NEXT.or_nothing()
        }

        noting! { $name => $note ["mov rdi, rdx"] []; }
    )*};
}

criticals! {
    __kmpc_critical => critical c"__kmpc_critical";
    __kmpc_critical_with_hint => critical_with_hint c"__kmpc_critical_with_hint";
    __kmpc_end_critical => end_critical c"__kmpc_end_critical";
}

/// Note the schedule of a loop with dynamic chunks, which tells whether it has an `ordered` clause.
macro_rules! dispatches {
    ($($name:ident => $note:ident $symbol:literal;)*) => {$(
        extern "C" fn $note(schedule: u32, code: u64) -> usize {
            static NEXT: Next = Next::new($symbol);
            if is_ordered(schedule) {
                tls::with(|thread| thread.meet_ordered_clause(code));
            }
            NEXT.or_nothing()
        }

        noting! { $name => $note ["mov edi, edx", "mov rsi, [rsp + 56]"] []; }
    )*};
}

/// Whether a schedule, as `sched_type` numbers them, is that of a loop with an `ordered` clause.
fn is_ordered(schedule: u32) -> bool {
    /// `kmp_ord_lower` to `kmp_ord_upper`, below the bits of the modifiers, and what these are with no
    /// merging of chunks.
    const ORDERED: [std::ops::Range<u32>; 2] = [64..80, 192..208];
    let kind = schedule & 0xffff;
    ORDERED.iter().any(|kinds| kinds.contains(&kind))
}

dispatches! {
    __kmpc_dispatch_init_4 => dispatch_init_4 c"__kmpc_dispatch_init_4";
    __kmpc_dispatch_init_4u => dispatch_init_4u c"__kmpc_dispatch_init_4u";
    __kmpc_dispatch_init_8 => dispatch_init_8 c"__kmpc_dispatch_init_8";
    __kmpc_dispatch_init_8u => dispatch_init_8u c"__kmpc_dispatch_init_8u";
}

/// `flush` with LLVM's runtime, whose own function does nothing else.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
unsafe extern "C" fn __kmpc_flush() {
    naked_asm!("mov rdi, [rsp]", "jmp {fence}", fence = sym crate::atomics::fence)
}
