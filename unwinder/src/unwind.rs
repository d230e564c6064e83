//! Stacks from registers and stack bytes.

use std::fmt;

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64};
use framehop::{Error as FramehopError, FrameAddress, Unwinder};

use crate::cfi::{Evaluated, RowContext, Step};
use crate::regs::Regs;
use crate::rule::{Fault, Rule};
use crate::space::AddressSpace;

/// Stack memory that is read when it is needed.
pub trait StackMemory {
    /// The 8 bytes at `address`, if they can be had.
    fn read(&self, address: u64) -> Option<u64>;
}

/// The stack memory that was copied with a sample.
#[derive(Clone, Copy)]
pub struct StackBytes<'a> {
    /// The address of the first byte: the stack pointer of the sample.
    pub sp: u64,
    /// The bytes from there up.
    pub bytes: &'a [u8],
    /// What lies above them, for a caller that can still read it. It is the caller's part to
    /// judge whether that memory is still what it was at the sample.
    pub beyond: Option<&'a dyn StackMemory>,
}

impl fmt::Debug for StackBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StackBytes")
            .field("sp", &self.sp)
            .field("bytes", &self.bytes.len())
            .field("beyond", &self.beyond.is_some())
            .finish()
    }
}

impl StackBytes<'_> {
    /// The 8 bytes at `address`, if all of them were copied or can be read beyond.
    #[must_use]
    pub fn read(&self, address: u64) -> Option<u64> {
        let offset = usize::try_from(address.checked_sub(self.sp)?).ok()?;
        match self.bytes.get(offset..).and_then(<[u8]>::first_chunk) {
            Some(bytes) => Some(u64::from_le_bytes(*bytes)),
            None => self.beyond?.read(address),
        }
    }

    /// What it means that `address` could not be read.
    fn cut(&self, address: u64, other_stack: bool) -> CutReason {
        /// The user half of the address space ends here on x86-64 with four-level tables.
        const USER_END: u64 = 1 << 47;
        let end = self.sp.saturating_add(self.bytes.len() as u64);
        let above = address.saturating_add(8) > end && address >= self.sp;
        if address < USER_END && (above || other_stack) {
            CutReason::DumpTooSmall
        } else {
            CutReason::BadStack
        }
    }
}

/// How a stack ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// The last frame is the thread's first function.
    Complete,
    /// Frames are missing after the last one.
    Cut(CutReason),
}

/// Why a stack is not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CutReason {
    /// The next frame lies beyond the bytes that were copied.
    DumpTooSmall,
    /// No call frame information covers the code at `at`, and guessing found no caller.
    NoUnwindInfo {
        /// The address of the last frame.
        at: u64,
    },
    /// The stack contradicts the call frame information: overwritten, switched, or wrong rules.
    BadStack,
    /// No load object is known at `at` (generated code), and guessing found no caller.
    NoModule {
        /// The address of the last frame.
        at: u64,
    },
    /// More than [`MAX_FRAMES`] frames.
    TooDeep,
}

/// The most frames that one stack can have; 64 KiB of the smallest frames are about as many.
pub const MAX_FRAMES: usize = 4096;

const SLOTS: usize = 1024;

/// What is known of the code at an address.
#[derive(Clone, Copy)]
struct Slot<T> {
    address: u64,
    generation: u64,
    known: T,
}

impl<T: Copy> Slot<T> {
    /// Slots that know nothing: no code is at address 0.
    fn empty(known: T) -> Box<[Slot<T>; SLOTS]> {
        Box::new(
            [Slot {
                address: 0,
                generation: 0,
                known,
            }; SLOTS],
        )
    }
}

/// What unwinding remembers between stacks. One for each thread that unwinds, used for all
/// address spaces.
pub struct UnwindCache {
    rules: CacheX86_64,
    /// The oldest and the newest generation whose rules may be in `rules`.
    generations: (u64, u64),
    steps: Box<[Slot<Step>; SLOTS]>,
    /// `None` for rows that must be evaluated in full.
    taken_apart: Box<[Slot<Option<Rule>>; SLOTS]>,
    context: RowContext,
}

impl Default for UnwindCache {
    fn default() -> Self {
        Self::new()
    }
}

/// framehop numbers its states in 16 bits. A cache over a wider span could mix up two of them.
const RULES_SPAN: u64 = 60_000;

impl UnwindCache {
    /// An empty cache, of about 150 KiB.
    #[must_use]
    pub fn new() -> Self {
        Self {
            rules: CacheX86_64::new(),
            generations: (0, 0),
            steps: Slot::empty(Step::Unmapped),
            taken_apart: Slot::empty(None),
            context: RowContext::new(),
        }
    }

    fn refresh(&mut self, generation: u64) {
        let (oldest, newest) = self.generations;
        self.generations = (oldest.min(generation), newest.max(generation));
        if self.generations.1 - self.generations.0 > RULES_SPAN {
            self.rules = CacheX86_64::new();
            self.generations = (generation, generation);
        }
    }
}

fn slot_of(address: u64) -> usize {
    // Fibonacci hashing: the top bits of the product depend on all bits of the address.
    (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SLOTS.ilog2())) as usize
}

/// One frame on the way up.
#[derive(Clone, Copy)]
struct Frame {
    regs: Regs,
    /// ip is the next instruction of this frame: the leaf, or code that a signal interrupted.
    /// Else it is a return address, and the call is before it.
    exact: bool,
    /// A signal frame was passed, so the stack may have changed to another one.
    other_stack: bool,
}

impl Frame {
    /// An address within the instruction that is under way.
    fn lookup(&self) -> u64 {
        self.regs.ip().wrapping_sub(u64::from(!self.exact))
    }
}

enum Stop {
    Ended(Ending),
    /// A register is needed that framehop did not restore on the way.
    LacksRegister,
}

impl From<CutReason> for Stop {
    fn from(reason: CutReason) -> Self {
        Stop::Ended(Ending::Cut(reason))
    }
}

impl AddressSpace {
    /// Unwinds one stack. Appends to `out` the ip and then the return addresses, leaf first.
    ///
    /// What is found is appended however the stack ends. Nothing is allocated, apart from the
    /// growth of `out` and of the cache's scratch space.
    pub fn unwind(
        &self,
        cache: &mut UnwindCache,
        regs: &Regs,
        stack: &StackBytes<'_>,
        out: &mut Vec<u64>,
    ) -> Ending {
        cache.refresh(self.generation());
        let from = out.len();
        match self.walk(cache, regs, stack, out, false) {
            Stop::Ended(ending) => ending,
            Stop::LacksRegister => {
                out.truncate(from);
                match self.walk(cache, regs, stack, out, true) {
                    Stop::Ended(ending) => ending,
                    Stop::LacksRegister => {
                        let at = out.last().copied().unwrap_or_default();
                        Ending::Cut(CutReason::NoUnwindInfo { at })
                    }
                }
            }
        }
    }

    /// Walks to the end of the stack, or to a frame that needs a register which only the thorough
    /// way, restoring all registers in every frame, can know.
    fn walk(
        &self,
        cache: &mut UnwindCache,
        regs: &Regs,
        stack: &StackBytes<'_>,
        out: &mut Vec<u64>,
        thorough: bool,
    ) -> Stop {
        let most = out.len() + MAX_FRAMES;
        let mut frame = Frame {
            regs: *regs,
            exact: true,
            other_stack: false,
        };
        out.push(frame.regs.ip());
        loop {
            // A leaf may keep its return address in a register, and have nothing on the stack
            // (glibc's vfork). Every other frame has at least that address there.
            let least = frame.regs.sp() + u64::from(!frame.exact);
            match self.up(cache, &mut frame, stack, thorough) {
                Ok(()) if frame.regs.sp() < least && !frame.exact => {
                    return CutReason::BadStack.into();
                }
                Ok(()) if out.len() == most => return CutReason::TooDeep.into(),
                Ok(()) => out.push(frame.regs.ip()),
                Err(stop) => return stop,
            }
        }
    }

    /// Replaces `frame` by its caller.
    fn up(
        &self,
        cache: &mut UnwindCache,
        frame: &mut Frame,
        stack: &StackBytes<'_>,
        thorough: bool,
    ) -> Result<(), Stop> {
        let at = frame.lookup();
        match self.step(cache, at) {
            Step::Plain if !thorough => self.plain(cache, frame, stack)?,
            Step::Plain | Step::Evaluate => self.evaluated(cache, frame, stack)?,
            Step::Root => return Err(Stop::Ended(Ending::Complete)),
            step @ (Step::Uncovered | Step::Unmapped) => {
                if !self.guess(frame, stack) {
                    let at = frame.regs.ip();
                    return Err(match step {
                        Step::Unmapped => CutReason::NoModule { at }.into(),
                        _ => CutReason::NoUnwindInfo { at }.into(),
                    });
                }
            }
        }
        if frame.regs.ip() == 0 {
            return Err(Stop::Ended(self.ending_without_caller(at)));
        }
        Ok(())
    }

    fn step(&self, cache: &mut UnwindCache, at: u64) -> Step {
        let slot = slot_of(at);
        let known = &cache.steps[slot];
        if known.address == at && known.generation == self.generation() {
            return known.known;
        }
        let step = match self.image_at(at) {
            None => Step::Unmapped,
            Some((image, svma)) => {
                let step = image.cfi().map_or(Step::Uncovered, |cfi| {
                    cfi.classify(svma, &mut cache.context)
                });
                if step == Step::Uncovered && image.is_root(svma) {
                    Step::Root
                } else {
                    step
                }
            }
        };
        cache.steps[slot] = Slot {
            address: at,
            generation: self.generation(),
            known: step,
        };
        step
    }

    /// The row of call frame information at an address, taken apart if it can be.
    fn rule(&self, cache: &mut UnwindCache, at: u64) -> Option<Rule> {
        let slot = slot_of(at);
        let slot_known = &cache.taken_apart[slot];
        if slot_known.address == at && slot_known.generation == self.generation() {
            return slot_known.known;
        }
        let (image, svma) = self.image_at(at)?;
        let rule = image.cfi()?.rule(svma, &mut cache.context);
        cache.taken_apart[slot] = Slot {
            address: at,
            generation: self.generation(),
            known: rule,
        };
        rule
    }

    fn plain(
        &self,
        cache: &mut UnwindCache,
        frame: &mut Frame,
        stack: &StackBytes<'_>,
    ) -> Result<(), Stop> {
        let regs = &frame.regs;
        let address = if frame.exact {
            FrameAddress::from_instruction_pointer(regs.ip())
        } else {
            FrameAddress::from_return_address(regs.ip()).ok_or(Stop::from(CutReason::BadStack))?
        };
        let mut native = UnwindRegsX86_64::new(regs.ip(), regs.sp(), regs.bp());
        let mut read = |address| stack.read(address).ok_or(());
        let result =
            self.unwinder()
                .unwind_frame(address, &mut native, &mut cache.rules, &mut read);
        match result {
            Ok(Some(_)) => {
                frame.regs = Regs::new(native.ip(), native.sp(), native.bp());
                frame.exact = false;
                Ok(())
            }
            // The return address is 0, or rbp is in a function that walks by it.
            Ok(None) => Err(Stop::Ended(self.ending_without_caller(frame.lookup()))),
            Err(FramehopError::CouldNotReadStack(address)) => {
                Err(stack.cut(address, frame.other_stack).into())
            }
            Err(_) => Err(CutReason::BadStack.into()),
        }
    }

    fn evaluated(
        &self,
        cache: &mut UnwindCache,
        frame: &mut Frame,
        stack: &StackBytes<'_>,
    ) -> Result<(), Stop> {
        let at = frame.lookup();
        let ip = frame.regs.ip();
        let missing = || Stop::from(CutReason::NoUnwindInfo { at: ip });
        let read = |address| stack.read(address);
        let evaluated = match self.rule(cache, at) {
            Some(rule) => rule
                .apply(&mut frame.regs, &read)
                .map(|()| Evaluated { signal: false }),
            None => {
                let (image, svma) = self.image_at(at).ok_or_else(missing)?;
                let cfi = image.cfi().ok_or_else(missing)?;
                cfi.evaluate(svma, &mut cache.context, &mut frame.regs, &read)
            }
        };
        match evaluated {
            Ok(evaluated) => {
                frame.exact = evaluated.signal;
                frame.other_stack |= evaluated.signal;
                Ok(())
            }
            Err(Fault::Unread(address)) => Err(stack.cut(address, frame.other_stack).into()),
            Err(Fault::UnknownRegister) => Err(Stop::LacksRegister),
            Err(Fault::NoRule) => Err(missing()),
        }
    }

    /// Without call frame information: the return address is where the function's first
    /// instructions put it, or at the leaf on top of the stack, and elsewhere a frame pointer may
    /// point below it. A guess is only taken when code that just made a call is found there.
    fn guess(&self, frame: &mut Frame, stack: &StackBytes<'_>) -> bool {
        let (sp, bp) = (frame.regs.sp(), frame.regs.bp());
        let return_address = |slot: u64| {
            let address = stack.read(slot)?;
            let (image, svma) = self.image_at(address)?;
            image.call_before(svma).map(|_| address)
        };
        let by_prologue = || {
            let (image, svma) = self.image_at(frame.lookup())?;
            let made = image.frame_at(svma)?;
            let slot = made.return_slot(sp, bp)?;
            let bp = match made.bp_slot(slot) {
                Some(saved) => stack.read(saved)?,
                None => bp,
            };
            Some(Regs::new(return_address(slot)?, slot + 8, bp))
        };
        let on_top = || {
            let ip = frame.exact.then(|| return_address(sp)).flatten()?;
            Some(Regs::new(ip, sp + 8, bp))
        };
        let by_frame_pointer = || {
            let above = bp >= sp && bp.is_multiple_of(8);
            let ip = above
                .then(|| return_address(bp.checked_add(8)?))
                .flatten()?;
            Some(Regs::new(ip, bp + 16, stack.read(bp)?))
        };
        let caller = by_prologue().or_else(on_top).or_else(by_frame_pointer);
        let Some(caller) = caller else { return false };
        frame.regs = caller;
        frame.exact = false;
        true
    }

    /// The end of a stack whose frame at `at` has 0 for its return address.
    fn ending_without_caller(&self, at: u64) -> Ending {
        match self.image_at(at) {
            Some((image, svma)) if image.is_root(svma) => Ending::Complete,
            _ => Ending::Cut(CutReason::BadStack),
        }
    }
}
