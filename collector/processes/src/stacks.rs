//! What stacks have in common, whoever unwinds them.

use experiment::ids::{ModuleId, StackId};
use experiment::tables::{Cut, Frame, Stack, StackEntry, Tables};
use unwinder::{CutReason, Ending};

/// Counts of stacks by how they ended.
#[derive(Clone, Debug, Default)]
pub struct Endings {
    /// Complete stacks: they reach the thread's first function.
    pub complete: u64,
    /// Truncated stacks, by the number of their [`Cut`].
    pub cut: [u64; Cut::ALL.len()],
}

/// An address within the call instruction, for lookups. The return address itself can be the first
/// one of the next function.
pub const fn call_of(return_address: u64) -> u64 {
    return_address.wrapping_sub(1)
}

/// The stack of a thread in the kernel, on top of that in its program. `addresses` are the kernel's, leaf first:
/// the interrupted one, then return addresses.
pub fn in_kernel(tables: &mut Tables, callers: StackId, addresses: &[u64]) -> StackId {
    let mut stack = callers;
    for (depth, address) in addresses.iter().enumerate().rev() {
        let frame = tables.frame(Frame {
            module: ModuleId::KERNEL,
            address: match depth {
                0 => *address,
                _ => call_of(*address),
            },
        });
        stack = tables.stack(Stack {
            callers: stack,
            entry: StackEntry::Frame(frame),
        });
    }
    stack
}

/// The outermost entry of a stack that ended this way, and why it is truncated, if it is.
pub fn outer_of(tables: &mut Tables, ending: Ending) -> StackId {
    match ending {
        Ending::Complete => StackId::EMPTY,
        Ending::Cut(reason) => cut(tables, cut_of(reason)),
    }
}

/// A stack of which nothing is known but why.
pub fn cut(tables: &mut Tables, reason: Cut) -> StackId {
    tables.stack(Stack {
        callers: StackId::EMPTY,
        entry: StackEntry::Cut(reason),
    })
}

/// Why a stack is truncated, as the tables say it.
pub fn cut_of(reason: CutReason) -> Cut {
    match reason {
        CutReason::DumpTooSmall => Cut::DumpTooSmall,
        CutReason::NoUnwindInfo { .. } => Cut::NoUnwindInfo,
        CutReason::NoModule { .. } => Cut::NoModule,
        CutReason::TooDeep => Cut::TooDeep,
        _ => Cut::BadStack,
    }
}

/// A reason in the words of the reports.
pub fn description(reason: Cut) -> &'static str {
    match reason {
        Cut::DumpTooSmall => "deeper than the copied piece of the stack",
        Cut::NoUnwindInfo => "code without unwind information",
        Cut::NoModule => "code outside every load object",
        Cut::BadStack => "stack contradicts the unwind information",
        Cut::TooDeep => {
            "too many frames: the innermost are kept, and the outermost where they could be found"
        }
        Cut::NoUserStack => "no user stack",
    }
}
