//! The machine stack of a sample.

use experiment::ids::StackId;
use experiment::tables::{Cut, Tables};
use processes::stacks::{call_of, cut, cut_of, in_kernel};
use processes::{Processes, stacks::Endings};
use unwinder::{Ending, Register, Regs, StackBytes, UnwindCache};

use crate::event::{Event, RawSample};

/// The cpumode of a record's `misc`, and that of the kernel.
const CPUMODE: u16 = 7;
const KERNEL: u16 = 1;

/// Entries of a call chain from this value on are PERF_CONTEXT_* marks.
const MARKS: u64 = -4095_i64 as u64;
const MARK_KERNEL: u64 = -128_i64 as u64;
const MARK_USER: u64 = -512_i64 as u64;

/// No code of a program lies below the first page, nor beyond the user half of the address space (four-level
/// tables).
const PAGE: u64 = 1 << 12;
const USER_END: u64 = 1 << 47;

/// PERF_SAMPLE_REGS_ABI_64.
const ABI_64: u64 = 2;

/// The registers of x86-64 by their bits in a mask (`arch/x86/include/uapi/asm/perf_regs.h`).
const REGISTERS: [(u32, Register); 17] = [
    (0, Register::Rax),
    (1, Register::Rbx),
    (2, Register::Rcx),
    (3, Register::Rdx),
    (4, Register::Rsi),
    (5, Register::Rdi),
    (6, Register::Rbp),
    (7, Register::Rsp),
    (8, Register::Rip),
    (16, Register::R8),
    (17, Register::R9),
    (18, Register::R10),
    (19, Register::R11),
    (20, Register::R12),
    (21, Register::R13),
    (22, Register::R14),
    (23, Register::R15),
];

/// Why a stack is not known to be complete that `perf record -g` took.
pub(crate) const CHAIN_ENDS: &str = "frame pointers led no further, or past functions without one; \
                                     record with --call-graph dwarf";

/// Makes stacks of samples.
#[derive(Default)]
pub(crate) struct Stacks {
    cache: UnwindCache,
    kernel: Vec<u64>,
    user: Vec<u64>,
    /// How they ended.
    pub(crate) endings: Endings,
    /// Chains of frame pointers that do not reach the thread's first function.
    pub(crate) chains_cut: u64,
    /// Whether any of them has a frame in the kernel.
    pub(crate) has_kernel: bool,
}

/// Whether a sample interrupted the kernel.
pub(crate) fn is_in_kernel(misc: u16) -> bool {
    misc & CPUMODE == KERNEL
}

/// The registers of a sample; `None` if it has none of 64-bit code.
fn registers(event: &Event, sample: &RawSample<'_>) -> Option<Regs> {
    if sample.abi != ABI_64 {
        return None;
    }
    let value = |bit: u32| {
        let mask = event.user_registers;
        if mask >> bit & 1 == 0 {
            return None;
        }
        let at = 8 * (mask & ((1 << bit) - 1)).count_ones() as usize;
        let bytes = sample.registers.get(at..)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    };
    let of = |register| {
        let mut all = REGISTERS.iter().filter(|(_, it)| *it == register);
        all.next().and_then(|(bit, _)| value(*bit))
    };
    let ip = of(Register::Rip).filter(|ip| *ip != 0)?;
    let mut regs = Regs::new(ip, of(Register::Rsp)?, of(Register::Rbp)?);
    for (bit, register) in REGISTERS {
        if let Some(value) = value(bit) {
            regs.set(register, value);
        }
    }
    Some(regs)
}

impl Stacks {
    /// The stack of a sample.
    pub(crate) fn of(
        &mut self,
        (tables, processes): (&mut Tables, &mut Processes),
        event: &Event,
        (sample, misc): (&RawSample<'_>, u16),
        time: u64,
    ) -> StackId {
        self.kernel.clear();
        self.user.clear();
        let in_kernel_now = is_in_kernel(misc);
        let mut part = if in_kernel_now {
            MARK_KERNEL
        } else {
            MARK_USER
        };
        let (words, _) = sample.chain.as_chunks::<8>();
        for word in words.iter().map(|word| u64::from_le_bytes(*word)) {
            match part {
                _ if word >= MARKS => part = word,
                MARK_KERNEL => self.kernel.push(word),
                MARK_USER => self.user.push(word),
                // Of a guest.
                _ => {}
            }
        }
        match sample.ip {
            Some(ip) if in_kernel_now && self.kernel.is_empty() => self.kernel.push(ip),
            _ => {}
        }
        self.has_kernel |= !self.kernel.is_empty();
        let user = self.user_half((tables, processes), event, (sample, in_kernel_now), time);
        in_kernel(tables, user, &self.kernel)
    }

    fn user_half(
        &mut self,
        (tables, processes): (&mut Tables, &mut Processes),
        event: &Event,
        (sample, in_kernel_now): (&RawSample<'_>, bool),
        time: u64,
    ) -> StackId {
        let Some((program, objects)) = processes.program_at(sample.common.pid, time) else {
            return self.cut(tables, Cut::NoUserStack);
        };
        let space = program.space();
        let mut reason = None;
        let registers = registers(event, sample);
        // During `exec` the registers are still those of the previous program.
        let registers = registers.filter(|it| !in_kernel_now || space.locate(it.ip()).is_some());
        if let Some(regs) = registers {
            let stack = StackBytes {
                sp: regs.sp(),
                bytes: sample.stack,
                beyond: None,
            };
            self.user.clear();
            let ending = space.unwind(&mut self.cache, &regs, &stack, &mut self.user);
            if let Ending::Cut(why) = ending {
                reason = Some(cut_of(why));
            }
        } else if !self.user.is_empty() {
            // What lies beyond the last frame pointer is no code: functions without one use its register.
            let is_code = |address: &u64| (PAGE..USER_END).contains(address);
            let code = self.user.iter().rposition(is_code).map_or(0, |at| at + 1);
            self.user.truncate(code);
            let outermost = self.user.last().copied().unwrap_or(0);
            let at = if code == 1 {
                outermost
            } else {
                call_of(outermost)
            };
            if !space.is_first(&mut self.cache, at) {
                self.chains_cut += 1;
                reason = Some(Cut::NoUnwindInfo);
            }
        } else if in_kernel_now && space.mappings().next().is_none() {
            // A thread of the kernel, or an idle CPU.
            self.endings.complete += 1;
            return StackId::EMPTY;
        } else {
            self.user.extend(sample.ip.filter(|_| !in_kernel_now));
            reason = Some(Cut::NoUserStack);
        }
        for address in self.user.iter_mut().skip(1) {
            *address = call_of(*address);
        }
        let outer = match reason {
            None => {
                self.endings.complete += 1;
                StackId::EMPTY
            }
            Some(reason) => self.cut(tables, reason),
        };
        program.stack(tables, objects, (outer, &self.user))
    }

    fn cut(&mut self, tables: &mut Tables, reason: Cut) -> StackId {
        self.endings.cut[reason as usize] += 1;
        cut(tables, reason)
    }
}
