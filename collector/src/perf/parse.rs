//! Parses records in place, in the kernel's ring buffers.
//!
//! The layouts are those of `include/uapi/linux/perf_event.h` for the sample types that
//! [`super::open`] requests. perf-event-open's own `parse` copies the stack and boxes the record,
//! which costs half as much again as the unwinding.

use processes::records::{self, Fields, Side, SideRecord};
use unwinder::{Register, Regs};

/// The mask PERF_SAMPLE_REGS_USER: the sixteen general registers and the instruction pointer. Bits
/// as in `arch/x86/include/uapi/asm/perf_regs.h`.
pub const USER_REGS: u64 = 0x1ff | 0xff << 16;

/// The registers of [`USER_REGS`] in the order of their bits.
const REGISTERS: [Register; 17] = [
    Register::Rax,
    Register::Rbx,
    Register::Rcx,
    Register::Rdx,
    Register::Rsi,
    Register::Rdi,
    Register::Rbp,
    Register::Rsp,
    Register::Rip,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];
const RSP_AT: usize = 7;
const RBP_AT: usize = 6;
const RIP_AT: usize = 8;

const LOST: u32 = 2;
const THROTTLE: u32 = 5;
const SAMPLE: u32 = 9;
const LOST_SAMPLES: u32 = 13;

const MISC_CPUMODE: u16 = 7;
const MISC_KERNEL: u16 = 1;
/// Call chain entries from this value on are PERF_CONTEXT_* marks, not addresses.
const CONTEXT_MARKS: u64 = -4095_i64 as u64;

/// PERF_SAMPLE_REGS_ABI_64.
const ABI_64: u64 = 2;

/// Splits off the header of a record: type, misc, remaining fields.
fn header(record: &[u8]) -> (u32, u16, Fields<'_>) {
    let mut fields = Fields::new(record);
    let kind = fields.u32();
    let misc_and_size = fields.u32();
    (kind, misc_and_size as u16, fields)
}

/// A sample. Its call chain and stack still lie in the ring.
pub struct PerfSample<'a> {
    /// CLOCK_MONOTONIC_RAW, in nanoseconds.
    pub time: u64,
    /// The process.
    pub pid: i32,
    /// The thread.
    pub tid: i32,
    /// The CPU.
    pub cpu: u16,
    /// Whether the sample interrupted the kernel.
    pub in_kernel: bool,
    /// Kernel addresses, leaf first, 8 bytes each, with PERF_CONTEXT_* marks between them.
    pub(crate) chain: &'a [u8],
    /// User registers and stack. `None` for kernel threads, for 32-bit code, and where the process
    /// was exiting.
    pub user: Option<UserHalf<'a>>,
}

/// The registers of a sample, in the order of the bits of [`USER_REGS`].
pub fn regs_of(values: &[u64; REGISTERS.len()]) -> Regs {
    let mut regs = Regs::new(values[RIP_AT], values[RSP_AT], values[RBP_AT]);
    for (register, value) in REGISTERS.iter().zip(values) {
        regs.set(*register, *value);
    }
    regs
}

/// The user registers and stack of a sample.
pub struct UserHalf<'a> {
    /// Registers at the interrupt, or at entry into the kernel.
    pub regs: Regs,
    /// The copied stack, from the stack pointer up.
    pub stack: &'a [u8],
}

impl PerfSample<'_> {
    /// Kernel addresses, leaf first: the interrupted one, then return addresses.
    pub fn kernel_chain(&self) -> impl DoubleEndedIterator<Item = u64> + '_ {
        self.chain
            .as_chunks::<8>()
            .0
            .iter()
            .map(|bytes| u64::from_le_bytes(*bytes))
            .filter(|address| *address < CONTEXT_MARKS)
    }
}

/// A parsed record of a ring of samples.
pub enum FromSamples<'a> {
    /// A sample.
    Sample(PerfSample<'a>),
    /// Records for which the ring had no room.
    Lost(Lost),
    /// The kernel throttled sampling for a while.
    Throttled,
    /// Any other record.
    Other,
}

/// Records for which a ring had no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// How many, since the record before.
    pub count: u64,
    /// When there was room again: CLOCK_MONOTONIC_RAW, in nanoseconds.
    pub time: u64,
}

/// The time of a sample, without parsing the rest; `None` for other records.
pub fn sample_time(record: &[u8]) -> Option<u64> {
    let (kind, _, mut fields) = header(record);
    if kind != SAMPLE {
        return None;
    }
    fields.slice(16);
    Some(fields.u64())
}

/// Parses a record of a ring of samples.
pub fn from_samples(record: &[u8]) -> FromSamples<'_> {
    let (kind, misc, mut fields) = header(record);
    match kind {
        SAMPLE => FromSamples::Sample(sample(misc, fields)),
        LOST | LOST_SAMPLES => {
            let count = lost(kind, &mut fields);
            let _pid_and_tid = fields.u64();
            let time = fields.u64();
            FromSamples::Lost(Lost { count, time })
        }
        THROTTLE => FromSamples::Throttled,
        _ => FromSamples::Other,
    }
}

/// The count of a record of a loss.
fn lost(kind: u32, fields: &mut Fields<'_>) -> u64 {
    if kind == LOST {
        let _id = fields.u64();
    }
    fields.u64()
}

/// PERF_SAMPLE_IP | TID | TIME | CPU | CALLCHAIN | REGS_USER | STACK_USER.
fn sample(misc: u16, mut fields: Fields<'_>) -> PerfSample<'_> {
    let _ip = fields.u64();
    let pid = fields.i32();
    let tid = fields.i32();
    let time = fields.u64();
    let cpu = fields.u32() as u16;
    let _reserved = fields.u32();
    let links = fields.u64() as usize;
    let chain = fields.slice(links.saturating_mul(8));
    let user = user_half(&mut fields);
    PerfSample {
        time,
        pid,
        tid,
        cpu,
        in_kernel: misc & MISC_CPUMODE == MISC_KERNEL,
        chain,
        user,
    }
}

fn user_half<'a>(fields: &mut Fields<'a>) -> Option<UserHalf<'a>> {
    if fields.u64() != ABI_64 {
        return None;
    }
    let mut values = [0; REGISTERS.len()];
    for value in &mut values {
        *value = fields.u64();
    }
    let regs = regs_of(&values);
    let size = fields.u64() as usize;
    let dump = fields.slice(size);
    // The size that was really copied; the rest of the dump is stale.
    let copied = fields.u64() as usize;
    Some(UserHalf {
        regs,
        stack: &dump[..copied.min(dump.len())],
    })
}

/// A parsed record of a side-band ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromSideBand {
    /// A record.
    Record(SideRecord),
    /// Records for which the ring had no room.
    Lost(Lost),
    /// Any other record.
    Other,
}

/// `struct sample_id` for PERF_SAMPLE_TID | TIME | CPU, which ends every side-band record, and is all that
/// a sample there has.
const SAMPLE_ID: usize = 24;

/// Parses a record of a side-band ring.
pub fn from_side_band(record: &[u8]) -> FromSideBand {
    let (kind, misc, mut fields) = header(record);
    let Some(body) = fields.rest().len().checked_sub(SAMPLE_ID) else {
        return FromSideBand::Other;
    };
    let (body, id) = fields.rest().split_at(body);
    fields = Fields::new(body);
    let mut id = Fields::new(id);
    let (mut pid, mut tid, time) = (id.i32(), id.i32(), id.u64());
    let cpu = id.u32() as u16;
    let what = match kind {
        SAMPLE => Side::MinorFaults,
        LOST | LOST_SAMPLES => {
            let count = lost(kind, &mut fields);
            return FromSideBand::Lost(Lost { count, time });
        }
        _ => match records::side(kind, misc, (pid, tid), fields) {
            Some((ids, what)) => {
                (pid, tid) = ids;
                what
            }
            None => return FromSideBand::Other,
        },
    };
    FromSideBand::Record(SideRecord {
        time,
        pid,
        tid,
        cpu,
        what,
    })
}

#[cfg(test)]
mod tests;
