//! Stacks from registers and stack bytes.

use std::collections::VecDeque;
use std::fmt;

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64};
use framehop::{Error as FramehopError, FrameAddress, Unwinder};

use crate::cfi::{Evaluated, RowContext, Step};
use crate::epilogue::Epilogue;
use crate::regs::Regs;
use crate::rule::{Fault, Rule};
use crate::space::AddressSpace;
use crate::text;

/// Stack memory that is read when it is needed.
pub trait StackMemory {
    /// The 8 bytes at `address`, if they can be read.
    fn read(&self, address: u64) -> Option<u64>;
}

/// The stack memory that was copied with a sample.
#[derive(Clone, Copy)]
pub struct StackBytes<'a> {
    /// The address of the first byte: the stack pointer of the sample.
    pub sp: u64,
    /// The bytes from there up.
    pub bytes: &'a [u8],
    /// The memory above them, if the caller can still read it. The caller must judge whether it has
    /// changed since the sample.
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

    /// The reason why a stack ends at `address`, which could not be read.
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

/// Most frames of a stack from its leaf on. About as many of the smallest frames fit in 32 KiB.
pub const MAX_FRAMES: usize = 2000;

/// Most frames that are walked over to the outermost ones.
const MAX_DEPTH: usize = 1 << 20;

const ENTRIES: usize = 1024;

/// A cache entry for the code at an address.
#[derive(Clone, Copy)]
struct Entry<T> {
    address: u64,
    generation: u64,
    value: T,
}

impl<T: Copy> Entry<T> {
    /// Empty entries: no code is at address 0.
    fn empty(value: T) -> Box<[Entry<T>; ENTRIES]> {
        Box::new(
            [Entry {
                address: 0,
                generation: 0,
                value,
            }; ENTRIES],
        )
    }
}

/// What unwinding caches between stacks. One for each thread that unwinds; it serves all address
/// spaces.
pub struct UnwindCache {
    framehop: CacheX86_64,
    /// The oldest and the newest generation whose rules may be in `framehop`.
    generations: (u64, u64),
    steps: Box<[Entry<Step>; ENTRIES]>,
    /// `None` for rows that must be evaluated in full.
    rules: Box<[Entry<Option<Rule>>; ENTRIES]>,
    context: RowContext,
}

impl Default for UnwindCache {
    fn default() -> Self {
        Self::new()
    }
}

/// Most generations that framehop's cache spans. framehop numbers them in 16 bits, so a wider span
/// could confuse two of them.
const GENERATION_SPAN: u64 = 60_000;

impl UnwindCache {
    /// An empty cache, of about 150 KiB.
    #[must_use]
    pub fn new() -> Self {
        Self {
            framehop: CacheX86_64::new(),
            generations: (0, 0),
            steps: Entry::empty(Step::Unmapped),
            rules: Entry::empty(None),
            context: RowContext::new(),
        }
    }

    fn refresh(&mut self, generation: u64) {
        let (oldest, newest) = self.generations;
        self.generations = (oldest.min(generation), newest.max(generation));
        if self.generations.1 - self.generations.0 > GENERATION_SPAN {
            self.framehop = CacheX86_64::new();
            self.generations = (generation, generation);
        }
    }
}

fn entry_index(address: u64) -> usize {
    // Fibonacci hashing: the top bits of the product depend on all bits of the address.
    (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - ENTRIES.ilog2())) as usize
}

/// One frame on the way up.
#[derive(Clone, Copy)]
struct Frame {
    regs: Regs,
    /// ip is the next instruction of this frame: it is the leaf, or a signal interrupted it.
    /// Otherwise ip is a return address, which the call precedes.
    is_interrupted: bool,
    /// A signal frame was passed, so the stack may have changed to another one.
    other_stack: bool,
}

impl Frame {
    /// An address within the current instruction, for lookups.
    fn lookup(&self) -> u64 {
        self.regs.ip().wrapping_sub(u64::from(!self.is_interrupted))
    }
}

enum Stop {
    Ended(Ending),
    /// A register is needed that framehop did not restore.
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
    /// The frames found are appended however the stack ends. Nothing is allocated but for the growth
    /// of `out` and of the cache's scratch space.
    pub fn unwind(
        &self,
        cache: &mut UnwindCache,
        regs: &Regs,
        stack: &StackBytes<'_>,
        out: &mut Vec<u64>,
    ) -> Ending {
        cache.refresh(self.generation());
        let from = out.len();
        let most = from + MAX_FRAMES;
        let keep = |out: &mut Vec<u64>, regs: &Regs| {
            let has_room = out.len() < most;
            if has_room {
                out.push(regs.ip());
            }
            has_room
        };
        match self.walk(cache, regs, stack, |regs| keep(out, regs), false) {
            Stop::Ended(ending) => ending,
            Stop::LacksRegister => {
                out.truncate(from);
                match self.walk(cache, regs, stack, |regs| keep(out, regs), true) {
                    Stop::Ended(ending) => ending,
                    Stop::LacksRegister => {
                        let at = out.last().copied().unwrap_or_default();
                        Ending::Cut(CutReason::NoUnwindInfo { at })
                    }
                }
            }
        }
    }

    /// Walks over all frames of a deep stack. Returns the `most` outermost return addresses, inner ones
    /// first, and the stack pointer in the frame of the first. `None` if the stack does not reach the
    /// thread's first function within a million frames.
    pub fn outermost(
        &self,
        cache: &mut UnwindCache,
        regs: &Regs,
        stack: &StackBytes<'_>,
        most: usize,
    ) -> Option<(u64, Vec<u64>)> {
        cache.refresh(self.generation());
        let mut depth = 0;
        let mut last = VecDeque::with_capacity(most + 1);
        let stop = self.walk(
            cache,
            regs,
            stack,
            |regs| {
                last.push_back((regs.sp(), regs.ip()));
                if last.len() > most {
                    last.pop_front();
                }
                depth += 1;
                depth < MAX_DEPTH
            },
            false,
        );
        let Stop::Ended(Ending::Complete) = stop else {
            return None;
        };
        let (sp, _) = *last.front()?;
        Some((sp, last.into_iter().map(|(_, ip)| ip).collect()))
    }

    /// Walks to the end of the stack, to a frame that needs a register which framehop does not restore,
    /// or until `keep` refuses a frame's registers. With `all_registers`, framehop is not used, and every
    /// frame restores all registers.
    fn walk(
        &self,
        cache: &mut UnwindCache,
        regs: &Regs,
        stack: &StackBytes<'_>,
        mut keep: impl FnMut(&Regs) -> bool,
        all_registers: bool,
    ) -> Stop {
        let mut frame = Frame {
            regs: *regs,
            is_interrupted: true,
            other_stack: false,
        };
        keep(&frame.regs);
        loop {
            // A leaf may keep its return address in a register, and have nothing on the stack
            // (glibc's vfork). Every other frame has at least that address there.
            let least = frame.regs.sp() + u64::from(!frame.is_interrupted);
            match self.unwind_frame(cache, &mut frame, stack, all_registers) {
                Ok(()) if frame.regs.sp() < least && !frame.is_interrupted => {
                    return CutReason::BadStack.into();
                }
                Ok(()) if keep(&frame.regs) => {}
                Ok(()) => return CutReason::TooDeep.into(),
                Err(stop) => return stop,
            }
        }
    }

    /// Replaces `frame` by its caller.
    fn unwind_frame(
        &self,
        cache: &mut UnwindCache,
        frame: &mut Frame,
        stack: &StackBytes<'_>,
        all_registers: bool,
    ) -> Result<(), Stop> {
        let at = frame.lookup();
        match self.step(cache, at) {
            Step::Framehop if !all_registers => self.unwind_by_framehop(cache, frame, stack)?,
            Step::Framehop | Step::Evaluate => self.evaluate(cache, frame, stack)?,
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

    /// Whether the code at `at` is a thread's first function: a stack that ends there is complete.
    #[must_use]
    pub fn is_first(&self, cache: &mut UnwindCache, at: u64) -> bool {
        cache.refresh(self.generation());
        let in_root = || {
            self.image_at(at)
                .is_some_and(|(image, svma)| image.is_root(svma))
        };
        self.step(cache, at) == Step::Root || in_root()
    }

    fn step(&self, cache: &mut UnwindCache, at: u64) -> Step {
        let index = entry_index(at);
        let entry = &cache.steps[index];
        if entry.address == at && entry.generation == self.generation() {
            return entry.value;
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
        cache.steps[index] = Entry {
            address: at,
            generation: self.generation(),
            value: step,
        };
        step
    }

    /// The row of call frame information at an address as a rule, if it has the usual form.
    fn rule(&self, cache: &mut UnwindCache, at: u64) -> Option<Rule> {
        let index = entry_index(at);
        let entry = &cache.rules[index];
        if entry.address == at && entry.generation == self.generation() {
            return entry.value;
        }
        let (image, svma) = self.image_at(at)?;
        let rule = image.cfi()?.rule(svma, &mut cache.context);
        cache.rules[index] = Entry {
            address: at,
            generation: self.generation(),
            value: rule,
        };
        rule
    }

    fn unwind_by_framehop(
        &self,
        cache: &mut UnwindCache,
        frame: &mut Frame,
        stack: &StackBytes<'_>,
    ) -> Result<(), Stop> {
        let regs = &frame.regs;
        let address = if frame.is_interrupted {
            FrameAddress::from_instruction_pointer(regs.ip())
        } else {
            FrameAddress::from_return_address(regs.ip()).ok_or(Stop::from(CutReason::BadStack))?
        };
        let mut native = UnwindRegsX86_64::new(regs.ip(), regs.sp(), regs.bp());
        let mut read = |address| stack.read(address).ok_or(());
        let result =
            self.unwinder()
                .unwind_frame(address, &mut native, &mut cache.framehop, &mut read);
        match result {
            Ok(Some(_)) => {
                frame.regs = Regs::new(native.ip(), native.sp(), native.bp());
                frame.is_interrupted = false;
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

    fn evaluate(
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
                frame.is_interrupted = evaluated.signal;
                frame.other_stack |= evaluated.signal;
                Ok(())
            }
            Err(Fault::Unread(address)) => Err(stack.cut(address, frame.other_stack).into()),
            Err(Fault::UnknownRegister) => Err(Stop::LacksRegister),
            Err(Fault::NoRule) => Err(missing()),
        }
    }

    /// Unwinds a frame without call frame information. The return address is where the function's
    /// first instructions leave it, or in generated code where its end finds it; at a leaf it may be on
    /// top of the stack, and elsewhere a frame pointer may point below it. A guess counts only if a call
    /// precedes the return address.
    fn guess(&self, frame: &mut Frame, stack: &StackBytes<'_>) -> bool {
        let (sp, bp) = (frame.regs.sp(), frame.regs.bp());
        let return_address = |slot: u64| {
            let address = stack.read(slot)?;
            let call = match self.image_at(address) {
                Some((image, svma)) => image.call_before(svma),
                None => text::last_call(self.generated_at(address)?.0, address),
            };
            call.map(|_| address)
        };
        let by_prologue = || {
            let (image, svma) = self.image_at(frame.lookup())?;
            let layout = image.frame_layout(svma)?;
            let slot = layout.return_slot(sp, bp)?;
            let caller_bp = match layout.bp_slot(slot) {
                Some(saved) => stack.read(saved)?,
                None => bp,
            };
            Some(Regs::new(return_address(slot)?, slot + 8, caller_bp))
        };
        let by_epilogue = || {
            let ip = frame.regs.ip();
            let (_, code) = self.generated_at(ip)?;
            let Epilogue {
                return_slot,
                bp_slot,
            } = Epilogue::of(code, ip)?;
            let slot = sp.checked_add(return_slot)?;
            let caller_bp = match bp_slot {
                Some(saved) => stack.read(sp.checked_add(saved)?)?,
                None => bp,
            };
            Some(Regs::new(return_address(slot)?, slot + 8, caller_bp))
        };
        let on_top = || {
            let ip = frame.is_interrupted.then(|| return_address(sp)).flatten()?;
            Some(Regs::new(ip, sp + 8, bp))
        };
        let by_frame_pointer = || {
            let above = bp >= sp && bp.is_multiple_of(8);
            let ip = above
                .then(|| return_address(bp.checked_add(8)?))
                .flatten()?;
            Some(Regs::new(ip, bp + 16, stack.read(bp)?))
        };
        let caller = by_prologue()
            .or_else(by_epilogue)
            .or_else(on_top)
            .or_else(by_frame_pointer);
        let Some(caller) = caller else { return false };
        frame.regs = caller;
        frame.is_interrupted = false;
        true
    }

    /// The end of a stack whose frame at `at` has return address 0.
    fn ending_without_caller(&self, at: u64) -> Ending {
        match self.image_at(at) {
            Some((image, svma)) if image.is_root(svma) => Ending::Complete,
            _ => Ending::Cut(CutReason::BadStack),
        }
    }
}
