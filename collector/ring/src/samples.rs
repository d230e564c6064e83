//! Samples that the program's threads take of themselves, where perf events are forbidden.
//!
//! They have a memory file of their own: a signal handler writes them, which may interrupt the thread
//! in the middle of an OpenMP record. Each thread of the program claims a slot with a ring of words.
//!
//! ```text
//! header │ slots │ ring 0 │ ring 1 │ …
//! ```
//!
//! A sample is a run of words: its length and CPU, its time, the periods that the timer missed before
//! it, [`REGISTERS`] registers, and the stack from the stack pointer up. The file is sparse: a ring
//! takes memory as far as it was once filled.
//!
//! The thread never blocks or allocates: without room it drops the sample and counts it. `collect`
//! trusts nothing in the file: see [`consumer`](crate::consumer).

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

use crate::clock::ClockSource;
use crate::layout::{MAX_SLOTS, NewLine, SlotState, page_up};
use crate::shm::{self, Mapping, Reserve};

/// The environment variable that gives the library in the program the path of the file. It is set only
/// where the threads are to sample themselves.
pub const SAMPLES_VARIABLE: &str = match SAMPLES_VARIABLE_C.to_str() {
    Ok(name) => name,
    Err(_) => panic!("ASCII is UTF-8"),
};
/// [`SAMPLES_VARIABLE`] as a C string.
pub const SAMPLES_VARIABLE_C: &CStr = c"PARALLAX_SAMPLES";

/// The number of registers of a sample, in the order of perf's mask
/// (`arch/x86/include/uapi/asm/perf_regs.h`): ax, bx, cx, dx, si, di, bp, sp, ip, r8 to r15.
pub const REGISTERS: usize = 17;
/// The most words of stack in a sample: as much as perf copies.
pub const MAX_STACK: usize = (16 << 10) / 8;

const MAGIC: u64 = u64::from_le_bytes(*b"PLXSAMPL");
const VERSION: u32 = 1;

/// The CPU time of a thread that does not tell.
const UNKNOWN: u64 = u64::MAX;

/// Words of a ring: 64 samples with full stacks, and some hundreds with those of most threads.
const RING_WORDS: usize = 1 << 17;
const RING_BYTES: u64 = RING_WORDS as u64 * 8;
/// The words before the registers: length and CPU, time, missed periods.
const HEAD_WORDS: usize = 3;
const FIXED_WORDS: usize = HEAD_WORDS + REGISTERS;

/// The start of the file.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct SampleHeader {
    magic: AtomicU64,
    version: AtomicU32,
    slots: AtomicU32,
    /// CPU time between samples, in nanoseconds.
    period_ns: AtomicU64,
    _high_water_line: NewLine,
    /// One more than the highest slot index ever claimed.
    high_water: AtomicU32,
    /// Threads that got no slot or no timer.
    refused: AtomicU32,
}

/// A slot without its ring. Times are CLOCK_MONOTONIC_RAW in nanoseconds; positions count words and do
/// not wrap.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct SampleSlot {
    _state_line: NewLine,
    /// A [`SlotState`].
    state: AtomicU32,
    pid: AtomicI32,
    tid: AtomicI32,
    /// 1 if the thread began the process's program, 0 if that was running.
    begins: AtomicU32,
    since: AtomicU64,
    until: AtomicU64,
    /// The thread's CPU time at `until`, in nanoseconds; [`UNKNOWN`] if it was not told.
    cpu_time: AtomicU64,
    _head_line: NewLine,
    /// The next position to write; written by the thread.
    head: AtomicU64,
    /// Samples for which the ring had no room.
    dropped: AtomicU64,
    _tail_line: NewLine,
    /// The next position to read; written by `collect`.
    tail: AtomicU64,
}

const SLOTS_AT: u64 = page_up(size_of::<SampleHeader>() as u64);

fn rings_at(slots: u32) -> u64 {
    page_up(SLOTS_AT + u64::from(slots) * size_of::<SampleSlot>() as u64)
}

fn file_bytes(slots: u32) -> u64 {
    rings_at(slots) + u64::from(slots) * RING_BYTES
}

/// The file's headers, mapped.
#[derive(Debug)]
struct Headers {
    mapping: Mapping<'static>,
    slots: u32,
}

impl Headers {
    fn map(file: &impl AsRawFd, slots: u32) -> io::Result<Headers> {
        let mapping = Mapping::new(file, 0, rings_at(slots) as usize)?;
        Ok(Headers { mapping, slots })
    }

    fn header(&self) -> Option<&SampleHeader> {
        self.mapping.values(0, 1).first()
    }

    fn slots(&self) -> &[SampleSlot] {
        self.mapping.values(SLOTS_AT as usize, self.slots as usize)
    }

    fn map_ring(&self, file: &impl AsRawFd, slot: u32) -> io::Result<Mapping<'static>> {
        let at = rings_at(self.slots) + u64::from(slot) * RING_BYTES;
        Mapping::new(file, at, RING_BYTES as usize)
    }
}

/// The word of a ring at a position.
fn word(words: &[AtomicU64], at: u64) -> Option<&AtomicU64> {
    words.get(at as usize & (RING_WORDS - 1))
}

/// The file in the program under test.
#[derive(Debug)]
pub struct SampleFile {
    headers: Headers,
    rings: Reserve,
}

impl SampleFile {
    /// Maps the file at `path`, made by a [`SampleReader`]. Leaves no file open, and opens none later.
    /// `None` if there is none of this version.
    pub fn attach(path: &CStr) -> Option<SampleFile> {
        let file = shm::open(path).ok()?;
        let bytes = file.bytes().ok()?;
        if bytes < SLOTS_AT {
            return None;
        }
        let head = Mapping::new(&file, 0, SLOTS_AT as usize).ok()?;
        let header: &SampleHeader = head.values(0, 1).first()?;
        let slots = header.slots.load(Relaxed);
        let is_ours = header.magic.load(Relaxed) == MAGIC
            && header.version.load(Relaxed) == VERSION
            && slots <= MAX_SLOTS
            && file_bytes(slots) == bytes;
        let headers = Headers::map(&file, slots).ok().filter(|_| is_ours)?;
        let rings = Reserve::new(&file, rings_at(slots), RING_BYTES, slots).ok()?;
        Some(SampleFile { headers, rings })
    }

    /// The bytes that are mapped, but for a few of headers.
    pub fn bytes(&self) -> u64 {
        self.rings.bytes()
    }

    /// CPU time between samples, in nanoseconds; 0 if none are wanted, or no longer.
    pub fn period_ns(&self) -> u64 {
        let header = self.headers.header();
        header.map_or(0, |header| header.period_ns.load(Relaxed))
    }

    /// Claims a slot for thread `tid` of process `pid`, which `begins` a program or is a thread of one
    /// that has run for `age` nanoseconds. `None` if there is no room. The value must be closed.
    pub fn claim(
        &'static self,
        (pid, tid): (i32, i32),
        begins: bool,
        age: u64,
    ) -> Option<SampleWriter> {
        let (free, claiming) = (SlotState::Free as u32, SlotState::Claiming as u32);
        let own = self.rings.rings();
        let slots = self.headers.slots().get(own.clone())?;
        let (index, slot) = own.zip(slots).find(|(_, slot)| {
            slot.state.load(Relaxed) == free
                && slot
                    .state
                    .compare_exchange(free, claiming, Acquire, Relaxed)
                    .is_ok()
        })?;
        let Ok(ring) = self.rings.open(index as u32) else {
            slot.state.store(free, Release);
            return None;
        };
        slot.pid.store(pid, Relaxed);
        slot.tid.store(tid, Relaxed);
        slot.begins.store(u32::from(begins), Relaxed);
        let now = ClockSource::MonotonicRaw.now();
        slot.since.store(now.saturating_sub(age), Relaxed);
        slot.until.store(0, Relaxed);
        slot.state.store(SlotState::Claimed as u32, Release);
        let header = self.headers.header()?;
        header.high_water.fetch_max(index as u32 + 1, Release);
        Some(SampleWriter {
            index: index as u32,
            slot,
            ring,
            head: slot.head.load(Relaxed),
        })
    }

    /// Makes all rings ready, before the program forbids itself the system call that it takes.
    pub fn open_all(&self) {
        self.rings.open_all();
    }

    /// Tells the CPU time of the thread in slot `index`, whose process is about to end. The slot stays the
    /// thread's.
    pub fn note_cpu_time(&self, index: usize, cpu_time: impl FnOnce(i32) -> Option<u64>) {
        let Some(slot) = self.headers.slots().get(index) else {
            return;
        };
        if let Some(cpu_time) = cpu_time(slot.tid.load(Relaxed)) {
            slot.cpu_time.store(cpu_time, Relaxed);
            let now = ClockSource::MonotonicRaw.now();
            slot.until.store(now, Release);
        }
    }

    /// Counts a thread that cannot be sampled.
    pub fn refuse(&self) {
        if let Some(header) = self.headers.header() {
            header.refused.fetch_add(1, Relaxed);
        }
    }
}

/// A thread's ring, in the program under test.
#[derive(Debug)]
pub struct SampleWriter {
    index: u32,
    slot: &'static SampleSlot,
    ring: Mapping<'static>,
    head: u64,
}

impl SampleWriter {
    /// The index of the slot, which no other living thread has.
    pub fn index(&self) -> usize {
        self.index as usize
    }

    /// The id of the thread that has the slot.
    pub fn tid(&self) -> i32 {
        self.slot.tid.load(Relaxed)
    }

    /// Writes a sample that was taken now on CPU `cpu`; the timer has fired `missed` times more since
    /// the sample before. `stack` calls back with the words of the stack, from the stack pointer up,
    /// until it is told that these are enough.
    pub fn write(
        &mut self,
        (cpu, missed): (u32, u32),
        registers: &[u64; REGISTERS],
        stack: impl FnOnce(&mut dyn FnMut(u64) -> bool),
    ) {
        let words: &[AtomicU64] = self.ring.values(0, RING_WORDS);
        let tail = self.slot.tail.load(Acquire);
        let used = self.head.wrapping_sub(tail) as usize;
        let room = RING_WORDS.saturating_sub(used);
        if room < FIXED_WORDS + MAX_STACK {
            self.slot.dropped.fetch_add(1 + u64::from(missed), Relaxed);
            return;
        }
        let mut at = self.head + 1;
        let mut push = |value| {
            if let Some(word) = word(words, at) {
                word.store(value, Relaxed);
            }
            at += 1;
        };
        push(ClockSource::MonotonicRaw.now());
        push(u64::from(missed));
        registers.iter().for_each(|value| push(*value));
        let mut left = MAX_STACK;
        stack(&mut |value| {
            if left > 0 {
                push(value);
                left -= 1;
            }
            left > 0
        });
        if let Some(word) = word(words, self.head) {
            word.store((at - self.head) | u64::from(cpu) << 32, Relaxed);
        }
        self.head = at;
        self.slot.head.store(at, Release);
    }
}

impl SampleWriter {
    /// Closes the slot, with the CPU time of the thread if that is known.
    pub fn close(self, cpu_time: Option<u64>) {
        let cpu_time = cpu_time.unwrap_or(UNKNOWN);
        let now = ClockSource::MonotonicRaw.now();
        self.slot.until.store(now, Relaxed);
        self.slot.cpu_time.store(cpu_time, Relaxed);
        self.slot.state.store(SlotState::Closed as u32, Release);
    }
}

/// A slot that a thread has claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampledThread {
    /// The slot's index.
    pub index: u32,
    /// Process id and thread id.
    pub ids: (i32, i32),
    /// Whether the thread has begun a program: the process has called `exec`.
    pub begins: bool,
    /// When the thread claimed it: CLOCK_MONOTONIC_RAW, in nanoseconds.
    pub since: u64,
    /// Whether the thread has closed it.
    pub is_closed: bool,
    /// The last that was told of the thread: when it closed the slot, or its process began to exit, and its
    /// CPU time by then in nanoseconds, if it told.
    pub last: Option<(u64, Option<u64>)>,
}

/// A sample as a thread wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenSample {
    /// CLOCK_MONOTONIC_RAW, in nanoseconds.
    pub time: u64,
    /// The CPU.
    pub cpu: u16,
    /// The periods without a sample before it.
    pub missed: u64,
    /// The registers.
    pub registers: [u64; REGISTERS],
    /// The bytes of the stack, from the stack pointer up.
    pub stack: Vec<u8>,
}

/// The file's owner and reader.
#[derive(Debug)]
pub struct SampleReader {
    file: File,
    headers: Headers,
    period_ns: u64,
    /// By slot; `None` until it is read.
    rings: Vec<Option<Mapping<'static>>>,
    /// By slot: how many of the samples that it dropped are counted.
    counted: Vec<u64>,
    invalid: u64,
}

impl SampleReader {
    /// Makes the file, for as many threads as a file of `limit` bytes holds, at most [`MAX_SLOTS`].
    ///
    /// # Errors
    /// The kernel's; `InvalidInput` if not one thread fits.
    pub fn create(period_ns: u64, limit: Option<u64>) -> io::Result<SampleReader> {
        let limit = limit.unwrap_or(u64::MAX);
        let each = size_of::<SampleSlot>() as u64 + RING_BYTES;
        let fitting = limit.saturating_sub(rings_at(0) + page_up(1)) / each;
        let slots = fitting.min(u64::from(MAX_SLOTS)) as u32;
        if slots == 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let file = shm::memory_file(c"parallax-samples", file_bytes(slots))?;
        let headers = Headers::map(&file, slots)?;
        if let Some(header) = headers.header() {
            header.version.store(VERSION, Relaxed);
            header.slots.store(slots, Relaxed);
            header.period_ns.store(period_ns, Relaxed);
            header.magic.store(MAGIC, Relaxed);
        }
        Ok(SampleReader {
            file,
            headers,
            period_ns,
            rings: Vec::new(),
            counted: vec![0; slots as usize],
            invalid: 0,
        })
    }

    /// The file's path for [`SAMPLES_VARIABLE`], valid for processes of the same user while this value
    /// lives.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// CPU time between samples, in nanoseconds.
    pub fn period_ns(&self) -> u64 {
        self.period_ns
    }

    /// The claimed slots, closed ones included, ordered by index.
    pub fn threads(&self) -> impl Iterator<Item = SampledThread> + '_ {
        let used = self.headers.header();
        let used = used.map_or(0, |header| header.high_water.load(Acquire) as usize);
        let slots = (0..).zip(self.headers.slots()).take(used);
        slots.filter_map(|(index, slot)| {
            let is_closed = match slot.state.load(Acquire) {
                state if state == SlotState::Claimed as u32 => false,
                state if state == SlotState::Closed as u32 => true,
                _ => return None,
            };
            let until = slot.until.load(Acquire);
            Some(SampledThread {
                index,
                ids: (slot.pid.load(Relaxed), slot.tid.load(Relaxed)),
                begins: slot.begins.load(Relaxed) != 0,
                since: slot.since.load(Relaxed),
                is_closed,
                last: (until != 0).then(|| {
                    let cpu_time = slot.cpu_time.load(Relaxed);
                    (until, (cpu_time != UNKNOWN).then_some(cpu_time))
                }),
            })
        })
    }

    /// Passes the samples that wait in a slot to `each`, oldest first. A ring with invalid contents is
    /// emptied, and counts as a loss.
    pub fn drain(&mut self, index: u32, mut each: impl FnMut(TakenSample)) {
        let at = index as usize;
        let Some(slot) = self.headers.slots().get(at) else {
            return;
        };
        let (head, tail) = (slot.head.load(Acquire), slot.tail.load(Relaxed));
        if head == tail {
            return;
        }
        if head.wrapping_sub(tail) > RING_WORDS as u64 {
            self.invalid += 1;
            slot.tail.store(head, Release);
            return;
        }
        if self.rings.len() <= at {
            self.rings.resize_with(at + 1, || None);
        }
        if self.rings[at].is_none() {
            self.rings[at] = self.headers.map_ring(&self.file, index).ok();
        }
        let words = self.rings[at].as_ref();
        let words = words.map_or(&[] as &[AtomicU64], |ring| ring.values(0, RING_WORDS));
        let mut position = tail;
        while position != head {
            let Some((sample, length)) = read(words, position, head) else {
                self.invalid += 1;
                break;
            };
            each(sample);
            position = position.wrapping_add(length);
        }
        slot.tail.store(head, Release);
    }

    /// Frees the slot of an ended thread, unless samples wait in it. Returns whether the slot is free.
    pub fn recycle(&mut self, index: u32) -> bool {
        let slots = self.headers.slots();
        let Some(slot) = slots.get(index as usize) else {
            return false;
        };
        if slot.head.load(Acquire) != slot.tail.load(Relaxed) {
            return false;
        }
        slot.state.store(SlotState::Free as u32, Release);
        true
    }

    /// The number of samples that were lost since the last call.
    pub fn take_lost(&mut self) -> u64 {
        let dropped = self
            .headers
            .slots()
            .iter()
            .map(|slot| slot.dropped.load(Relaxed));
        let mut lost = std::mem::take(&mut self.invalid);
        for (counted, dropped) in self.counted.iter_mut().zip(dropped) {
            // A count that goes back is the program's nonsense.
            lost = lost.saturating_add(dropped.saturating_sub(*counted));
            *counted = dropped;
        }
        lost
    }

    /// Threads that could not be sampled.
    pub fn refused(&self) -> u32 {
        let header = self.headers.header();
        header.map_or(0, |header| header.refused.load(Relaxed))
    }
}

impl Drop for SampleReader {
    /// Tells the threads that nobody reads their samples.
    fn drop(&mut self) {
        if let Some(header) = self.headers.header() {
            header.period_ns.store(0, Relaxed);
        }
    }
}

/// The sample at a position of a ring, and its length; `None` if there is none before `head`.
fn read(words: &[AtomicU64], position: u64, head: u64) -> Option<(TakenSample, u64)> {
    let load = |at: usize| {
        let word = word(words, position.wrapping_add(at as u64))?;
        Some(word.load(Relaxed))
    };
    let first = load(0)?;
    let length = (first & u64::from(u32::MAX)) as usize;
    let is_valid = (FIXED_WORDS..=FIXED_WORDS + MAX_STACK).contains(&length)
        && length as u64 <= head.wrapping_sub(position);
    if !is_valid {
        return None;
    }
    let mut registers = [0; REGISTERS];
    for (at, register) in (HEAD_WORDS..).zip(&mut registers) {
        *register = load(at)?;
    }
    let mut stack = Vec::with_capacity(8 * (length - FIXED_WORDS));
    for at in FIXED_WORDS..length {
        stack.extend(load(at)?.to_le_bytes());
    }
    let sample = TakenSample {
        time: load(1)?,
        cpu: (first >> 32) as u16,
        missed: load(2)?,
        registers,
        stack,
    };
    Some((sample, length as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (SampleReader, &'static SampleFile) {
        let reader = SampleReader::create(997_000, Some(64 << 20)).expect("memory files");
        let path = std::ffi::CString::new(reader.path()).expect("no zero byte");
        let file = SampleFile::attach(&path).expect("it is one");
        (reader, Box::leak(Box::new(file)))
    }

    fn registers(first: u64) -> [u64; REGISTERS] {
        std::array::from_fn(|at| first + at as u64)
    }

    #[test]
    fn samples_arrive_as_they_were_taken() {
        let (mut reader, file) = pair();
        assert_eq!(file.period_ns(), 997_000);
        let mut writer = file.claim((10, 11), true, 0).expect("a slot");
        // More than the ring holds at once, in pieces.
        let mut taken = 0;
        for round in 0..200 {
            for number in 0..5 {
                let first = round * 5 + number;
                writer.write((3, number as u32), &registers(first), |each| {
                    let mut words = (0..first % 700).map(|word| first ^ word);
                    words.all(&mut *each);
                });
            }
            reader.drain(0, |sample| {
                assert_eq!(sample.registers, registers(taken));
                assert_eq!((sample.cpu, sample.missed), (3, taken % 5));
                assert_eq!(sample.stack.len() as u64, 8 * (taken % 700));
                let words = sample.stack.as_chunks::<8>().0.iter();
                let found = words.map(|word| u64::from_le_bytes(*word));
                assert!(found.eq((0..taken % 700).map(|word| taken ^ word)));
                taken += 1;
            });
        }
        assert_eq!((taken, reader.take_lost()), (1000, 0));
        let threads: Vec<_> = reader.threads().collect();
        assert_eq!((threads[0].ids, threads[0].last), ((10, 11), None));
        file.note_cpu_time(0, |tid| (tid == 11).then_some(5));
        let threads: Vec<_> = reader.threads().collect();
        let told = threads[0].last.map(|last| last.1);
        assert_eq!((threads[0].is_closed, told), (false, Some(Some(5))));
        assert!(threads[0].begins);
        writer.close(Some(7));
        let threads: Vec<_> = reader.threads().collect();
        let (until, cpu_time) = threads[0].last.expect("it is closed");
        assert!(threads[0].is_closed && until >= threads[0].since);
        assert_eq!(cpu_time, Some(7));
        assert!(reader.recycle(0));
        assert_eq!(reader.threads().count(), 0);
        assert!(file.claim((10, 12), false, 0).is_some());
        drop(reader);
        assert_eq!(file.period_ns(), 0);
    }

    #[test]
    fn a_full_ring_drops_samples_and_counts_them() {
        let (mut reader, file) = pair();
        let mut writer = file.claim((1, 1), false, 0).expect("a slot");
        for _ in 0..100 {
            writer.write((0, 1), &registers(0), |each| while each(7) {});
        }
        let mut read = 0;
        reader.drain(0, |sample| {
            assert_eq!(sample.stack.len(), 8 * MAX_STACK);
            read += 1;
        });
        // Each dropped one stands for the period that was missed before it, too.
        assert_eq!(2 * (100 - read), reader.take_lost());
        assert!((50..100).contains(&read), "{read}");
        assert_eq!(reader.take_lost(), 0);
    }

    #[test]
    fn invalid_contents_are_a_loss_and_nothing_else() {
        let (mut reader, file) = pair();
        let writer = file.claim((1, 1), false, 0).expect("a slot");
        for (head, first) in [(50, 0), (50, 51), (50, u64::MAX), (u64::MAX, 3), (7, 20)] {
            let slot = &reader.headers.slots()[0];
            let tail = slot.tail.load(Relaxed);
            slot.head.store(tail.wrapping_add(head), Relaxed);
            word(writer.ring.values(0, RING_WORDS), tail)
                .expect("the ring has it")
                .store(first, Relaxed);
            reader.drain(0, |_| panic!("no sample"));
            assert_eq!(reader.take_lost(), 1);
        }
        assert!(SampleReader::create(1, Some(1 << 20)).is_err());
        assert!(SampleFile::attach(c"/proc/self/exe").is_none());
    }
}
