//! From a sample in the ring to an interned stack.

use omp_model::ids::{FrameId, ModuleId, StackId, ThreadId};
use omp_model::tables::{Cut, Frame, Stack, StackEntry, Tables};
use omp_ring::consumer::SiteRef;
use rustc_hash::{FxHashMap, FxHashSet};
use unwinder::{CutReason, Ending, UnwindCache};

use crate::outer::{Outer, Piece, Place};
use crate::perf::parse::Sample;
use crate::processes::Processes;

/// Short stacks are kept for what later samples show, up to so many.
const MOST_WAITING: usize = 4096;

/// How the stacks of samples ended.
#[derive(Clone, Debug, Default)]
pub struct Endings {
    /// Stacks that reach the thread's first function.
    pub complete: u64,
    /// Stacks that do not, by [`Cut`]'s number.
    pub cut: [u64; Cut::ALL.len()],
}

/// Unwinds and interns; keeps what that needs from sample to sample.
#[derive(Default)]
pub struct Stacks {
    cache: UnwindCache,
    addresses: Vec<u64>,
    outer: Outer,
    /// Stacks that end where the copied piece does.
    short: FxHashSet<StackId>,
    /// Stacks whose outer frames are surmised.
    surmised: FxHashSet<StackId>,
    /// Where short stacks go on, of samples that are not yet written.
    waiting: FxHashMap<(ThreadId, StackId), Place>,
}

/// The user half of a stack.
struct UserHalf {
    stack: StackId,
    cut: Option<Cut>,
    /// Whether its outer frames are surmised.
    surmised: bool,
    /// Where it goes on if it is cut for want of copied bytes.
    goes_on: Option<Place>,
}

/// An address that is looked up to find the call: the call instruction ends just before the
/// return address, which can be the first one of the next function.
const fn call_of(return_address: u64) -> u64 {
    return_address.wrapping_sub(1)
}

impl Stacks {
    /// How outer frames beyond the copied piece were had so far.
    pub fn outer(&self) -> &Outer {
        &self.outer
    }

    /// Whether a stack ends for want of copied bytes.
    pub fn is_short(&self, stack: StackId) -> bool {
        !self.short.is_empty() && self.short.contains(&stack)
    }

    /// Whether a stack's outer frames are surmised.
    pub fn is_surmised(&self, stack: StackId) -> bool {
        !self.surmised.is_empty() && self.surmised.contains(&stack)
    }

    /// The stack of a thread's sample: kernel frames at the leaf, then the user's.
    pub fn of_sample(
        &mut self,
        tables: &mut Tables,
        processes: &mut Processes,
        (thread, sample): (ThreadId, &Sample<'_>),
    ) -> (StackId, Option<Cut>) {
        let user = self.user_half(tables, processes, (thread, sample));
        let mut stack = user.stack;
        let mut kernel = sample.kernel_chain().enumerate().peekable();
        if kernel.peek().is_some() {
            self.addresses.clear();
            self.addresses
                .extend(kernel.map(|(depth, address)| match depth {
                    0 => address,
                    _ => call_of(address),
                }));
            for address in self.addresses.iter().rev() {
                let frame = tables.frame(Frame {
                    module: ModuleId::KERNEL,
                    address: *address,
                });
                stack = tables.stack(Stack {
                    callers: stack,
                    entry: StackEntry::Frame(frame),
                });
            }
        }
        if user.cut == Some(Cut::DumpTooSmall) {
            self.short.insert(stack);
        }
        if user.surmised {
            self.surmised.insert(stack);
        }
        if let Some(place) = user.goes_on {
            self.waiting.insert((thread, stack), place);
        }
        (stack, user.cut)
    }

    fn user_half(
        &mut self,
        tables: &mut Tables,
        processes: &mut Processes,
        (thread, sample): (ThreadId, &Sample<'_>),
    ) -> UserHalf {
        let program = processes.program_at(sample.pid, sample.time);
        let (Some(user), Some((program, libraries))) = (&sample.user, program) else {
            return UserHalf::none(tables);
        };
        let space = program.space();
        // In the kernel at an address that is mapped nowhere: within `exec`, where the registers
        // are still those of the program before.
        if sample.in_kernel && space.locate(user.regs.ip()).is_none() {
            return UserHalf::none(tables);
        }
        let piece = Piece {
            pid: sample.pid,
            regs: &user.regs,
            stack: user.stack,
        };
        self.addresses.clear();
        let unwound = self
            .outer
            .unwind(space, &mut self.cache, &piece, &mut self.addresses);
        let mut half = UserHalf {
            stack: StackId::EMPTY,
            cut: None,
            surmised: false,
            goes_on: None,
        };
        let place = unwound.deep.and_then(|deep| deep.place);
        match unwound.ending {
            Ending::Complete => half.surmised = unwound.deep.is_some_and(|deep| !deep.proven),
            Ending::Cut(reason) => {
                match place.and_then(|place| self.outer.callers(thread, place)) {
                    Some(callers) => {
                        (half.stack, half.surmised) = (callers, true);
                        self.outer.remembered += 1;
                    }
                    None => {
                        half.stack = cut(tables, cut_of(reason));
                        (half.cut, half.goes_on) = (Some(cut_of(reason)), place);
                    }
                }
            }
        }
        for (depth, address) in self.addresses.iter().enumerate().rev() {
            let address = if depth == 0 {
                *address
            } else {
                call_of(*address)
            };
            let frame = program.frame(tables, libraries, address);
            half.stack = tables.stack(Stack {
                callers: half.stack,
                entry: StackEntry::Frame(frame),
            });
            if let (Ending::Complete, Some(deep), Some(place)) =
                (unwound.ending, unwound.deep, place)
                && deep.inner == depth
            {
                self.outer.remember(thread, place, half.stack);
            }
        }
        half
    }

    /// The whole of a short stack, by another sample of the thread since.
    pub fn whole_since(
        &mut self,
        tables: &mut Tables,
        thread: ThreadId,
        stack: StackId,
    ) -> Option<StackId> {
        let place = self.waiting.get(&(thread, stack))?;
        let callers = self.outer.callers(thread, *place)?;
        let inner: Vec<StackEntry> = tables
            .walk(stack)
            .take_while(|entry| matches!(entry, StackEntry::Frame(_)))
            .collect();
        let whole = inner.into_iter().rev().fold(callers, |callers, entry| {
            tables.stack(Stack { callers, entry })
        });
        self.outer.remembered += 1;
        self.surmised.insert(whole);
        Some(whole)
    }

    /// The samples so far are written: nothing can be added to most stacks that wait any more.
    pub fn written(&mut self) {
        if self.waiting.len() > MOST_WAITING {
            self.waiting.clear();
        }
    }
}

impl UserHalf {
    /// Of a sample without one.
    fn none(tables: &mut Tables) -> UserHalf {
        UserHalf {
            stack: cut(tables, Cut::NoUserStack),
            cut: Some(Cut::NoUserStack),
            surmised: false,
            goes_on: None,
        }
    }
}

/// The stack of a calling context that the program itself took.
pub fn of_site(
    tables: &mut Tables,
    processes: &mut Processes,
    site: &SiteRef,
    time: u64,
) -> StackId {
    let Some((program, libraries)) = processes.program_at(site.pid, time) else {
        return StackId::EMPTY;
    };
    let mut stack = match (site.complete, site.frames.len()) {
        (true, _) => StackId::EMPTY,
        (false, omp_ring::layout::MAX_FRAMES..) => cut(tables, Cut::TooDeep),
        (false, _) => cut(tables, Cut::BadStack),
    };
    for address in site.frames.iter().rev() {
        let frame = program.frame(tables, libraries, call_of(*address));
        stack = tables.stack(Stack {
            callers: stack,
            entry: StackEntry::Frame(frame),
        });
    }
    stack
}

/// The stack of which nothing but the call into the runtime is known.
pub fn of_code(
    tables: &mut Tables,
    processes: &mut Processes,
    pid: i32,
    (code, time): (u64, u64),
) -> StackId {
    let frame = place(tables, processes, pid, (code, time));
    if frame == FrameId::NONE {
        return StackId::EMPTY;
    }
    let callers = cut(tables, Cut::BadStack);
    tables.stack(Stack {
        callers,
        entry: StackEntry::Frame(frame),
    })
}

/// The frame of a call into the runtime, by its return address.
pub fn place(
    tables: &mut Tables,
    processes: &mut Processes,
    pid: i32,
    (code, time): (u64, u64),
) -> FrameId {
    match processes.program_at(pid, time) {
        Some((program, libraries)) if code != 0 => program.frame(tables, libraries, call_of(code)),
        _ => FrameId::NONE,
    }
}

fn cut(tables: &mut Tables, reason: Cut) -> StackId {
    tables.stack(Stack {
        callers: StackId::EMPTY,
        entry: StackEntry::Cut(reason),
    })
}

fn cut_of(reason: CutReason) -> Cut {
    match reason {
        CutReason::DumpTooSmall => Cut::DumpTooSmall,
        CutReason::NoUnwindInfo { .. } => Cut::NoUnwindInfo,
        CutReason::NoModule { .. } => Cut::NoModule,
        CutReason::TooDeep => Cut::TooDeep,
        _ => Cut::BadStack,
    }
}

/// A reason in the words of a report.
pub fn words(reason: Cut) -> &'static str {
    match reason {
        Cut::DumpTooSmall => "deeper than the copied piece of the stack",
        Cut::NoUnwindInfo => "code without unwind information",
        Cut::NoModule => "code outside every load object",
        Cut::BadStack => "stack contradicts the unwind information",
        Cut::TooDeep => "too many frames",
        Cut::NoUserStack => "no user stack",
    }
}
