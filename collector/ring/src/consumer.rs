//! `collect`'s end: create the arena, drain slots, read sites, recycle.
//!
//! Nothing in the arena is trusted: a program under test may have written anything anywhere.
//! Sizes come from the consumer's own copy, counts are bounded before they are used, and what
//! makes no sense is "none", never a panic.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::layout::{
    Arena, ClockSource, Control, Geometry, MAX_FRAMES, RuntimeKind, SITE_COMPLETE, SITE_HEAD,
    SITE_MARK, SlotHeader, SlotState,
};
use crate::record::{Record, SiteId};

/// The sizes of a new arena.
#[derive(Clone, Copy, Debug)]
pub struct ArenaOptions {
    /// How many threads can record at once, at most [`MAX_SLOTS`](crate::layout::MAX_SLOTS).
    pub slots: u32,
    /// Records of 16 bytes in each ring: a power of two from 8 to 2^24.
    pub ring_records: u32,
    /// Words of 8 bytes for calling contexts.
    pub site_words: u64,
    /// The clock of the records.
    pub clock: ClockSource,
}

impl Default for ArenaOptions {
    /// 4096 threads, 1 MiB each, 32 MiB of sites, the best clock. All of it sparse.
    fn default() -> Self {
        ArenaOptions {
            slots: 4096,
            ring_records: 1 << 16,
            site_words: 4 << 20,
            clock: ClockSource::best(),
        }
    }
}

/// A slot that a thread has claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotView {
    /// The slot's number: the argument of [`Consumer::drain`].
    pub index: u32,
    /// How often the slot was recycled before.
    pub generation: u32,
    /// The thread's process.
    pub pid: i32,
    /// The thread.
    pub tid: i32,
    /// The thread has said that no more records will come. A thread that was killed never says.
    pub closed: bool,
    /// Records dropped by this thread for want of room, prefixes included.
    pub dropped: u64,
    /// Records waiting to be drained.
    pub pending: usize,
}

/// A calling context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteRef {
    /// The process whose addresses these are.
    pub pid: i32,
    /// The return address of the call into the runtime, `codeptr_ra`.
    pub code: u64,
    /// The function that the call gave the runtime to run; 0: not known.
    pub body: u64,
    /// Return addresses, leaf first; the first is `code` where the stack could be read.
    ///
    /// They end at the thread's first function, except that a context inside an explicit task
    /// ends at its first frame in the runtime: what lies outside belongs to whoever happened to
    /// run the task.
    pub frames: Vec<u64>,
    /// The frames end where they should. Otherwise they were cut at
    /// [`MAX_FRAMES`] or where the stack could not be read.
    pub complete: bool,
}

/// An OpenMP runtime that introduced itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeView {
    /// How the library listens to it.
    pub kind: RuntimeKind,
    /// Its process.
    pub pid: i32,
    /// An address in its image, by which its file can be found in the process's maps.
    pub address: u64,
    /// Bit n: it refused the callback with the specification's number n (`ompt_callbacks_t`).
    pub refused: u64,
    /// What it says of itself.
    pub version: String,
}

/// The consuming end of an arena, and its owner.
#[derive(Debug)]
pub struct Consumer {
    arena: Arena,
    file: File,
}

impl Consumer {
    /// Makes an arena. Fails where sizes make no sense (`InvalidInput`) or the kernel refuses.
    pub fn create(options: &ArenaOptions) -> io::Result<Consumer> {
        let geometry = Geometry::new(options.slots, options.ring_records, options.site_words)
            .ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidInput, "these sizes make no arena")
            })?;
        let (arena, file) = Arena::create(geometry, options.clock)?;
        Ok(Consumer { arena, file })
    }

    /// The arena's path for [`ARENA_VARIABLE`](crate::ARENA_VARIABLE), good for processes of
    /// the same user while this value lives.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// The clock that stamps the records.
    pub fn clock(&self) -> ClockSource {
        self.arena.clock()
    }

    /// Lets producers push, or not. It starts as [`Control::Recording`].
    pub fn set_control(&self, control: Control) {
        self.arena.header().control.store(control as u32, Relaxed);
    }

    /// The claimed slots, closed ones included, in order of their index.
    pub fn slots(&self) -> impl Iterator<Item = SlotView> + '_ {
        let used = self.arena.header().high_water.load(Acquire) as usize;
        self.arena
            .slots()
            .iter()
            .take(used)
            .enumerate()
            .filter_map(|(index, slot)| {
                let closed = match slot.state.load(Acquire) {
                    state if state == SlotState::Claimed as u32 => false,
                    state if state == SlotState::Closed as u32 => true,
                    _ => return None,
                };
                let (head, tail) = self.positions(slot);
                Some(SlotView {
                    index: index as u32,
                    generation: slot.generation.load(Relaxed),
                    pid: slot.pid.load(Relaxed),
                    tid: slot.tid.load(Relaxed),
                    closed,
                    dropped: slot.dropped.load(Relaxed),
                    pending: head.wrapping_sub(tail) as usize,
                })
            })
    }

    /// The positions written up to and read up to, at most a ring apart. Positions that are
    /// further apart are no producer's work: nothing can be read there, so all is passed over.
    fn positions(&self, slot: &SlotHeader) -> (u64, u64) {
        let head = slot.head.load(Acquire);
        let tail = slot.tail.load(Relaxed);
        let apart = head.wrapping_sub(tail);
        if apart <= self.arena.geometry().ring_records as u64 {
            (head, tail)
        } else {
            (head, head)
        }
    }

    /// Gives up to `limit` waiting records of slot `index` to `each`, oldest first, and frees
    /// their room; returns how many. Records pushed meanwhile are left for the next call.
    pub fn drain(&self, index: u32, limit: usize, mut each: impl FnMut(Record)) -> usize {
        let Some(slot) = self.arena.slots().get(index as usize) else {
            return 0;
        };
        let (head, tail) = self.positions(slot);
        let count = head.wrapping_sub(tail).min(limit as u64);
        let part = u64::from(self.arena.geometry().part_records());
        let parts = u64::from(self.arena.geometry().parts());
        let mut done = 0;
        while done < count {
            let at = tail.wrapping_add(done);
            let place = slot.parts.get(((at / part) & (parts - 1)) as usize);
            let number = place.map_or(0, |number| number.load(Relaxed));
            let run = (part - at % part).min(count - done);
            let first = (at % part) as usize * 2;
            let words = self.arena.part(index, number);
            let run_of_words = words.get(first..first + run as usize * 2);
            for record in run_of_words.unwrap_or_default().chunks_exact(2) {
                each(Record {
                    head: record[0].load(Relaxed),
                    payload: record[1].load(Relaxed),
                });
            }
            done += run;
        }
        slot.tail.store(tail.wrapping_add(count), Release);
        count as usize
    }

    /// Gives slot `index` back for another thread to claim. Only for a slot that is closed, or
    /// whose thread the kernel says is gone. `false`, and nothing done, while records wait in
    /// it: a thread may have pushed its last ones after the drain and before its end was seen.
    pub fn recycle(&self, index: u32) -> bool {
        let Some(slot) = self.arena.slots().get(index as usize) else {
            return false;
        };
        let (head, tail) = self.positions(slot);
        if head != tail {
            return false;
        }
        slot.tail.store(tail, Relaxed);
        slot.dropped.store(0, Relaxed);
        slot.generation
            .store(slot.generation.load(Relaxed).wrapping_add(1), Relaxed);
        slot.state.store(SlotState::Free as u32, Release);
        true
    }

    /// The calling context `site`; `None` for [`SiteId::NONE`] and for what is no finished site.
    pub fn site(&self, site: SiteId) -> Option<SiteRef> {
        if site == SiteId::NONE {
            return None;
        }
        let sites = self.arena.sites();
        let at = site.0 as usize;
        let head = sites.get(at..at.checked_add(SITE_HEAD)?)?;
        let first = head[0].load(Acquire);
        let count = (first & 0xffff_ffff) as usize;
        if first >> 48 != SITE_MARK || count > MAX_FRAMES {
            return None;
        }
        let frames = sites.get(at + SITE_HEAD..at + SITE_HEAD + count)?;
        Some(SiteRef {
            pid: head[1].load(Relaxed) as i32,
            code: head[2].load(Relaxed),
            body: head[3].load(Relaxed),
            frames: frames.iter().map(|word| word.load(Relaxed)).collect(),
            complete: first >> 32 & SITE_COMPLETE != 0,
        })
    }

    /// The runtimes that introduced themselves so far, in that order.
    pub fn runtimes(&self) -> impl Iterator<Item = RuntimeView> + '_ {
        self.arena.header().runtimes.iter().filter_map(|entry| {
            let kind = RuntimeKind::from_word(entry.kind.load(Acquire))?;
            Some(RuntimeView {
                kind,
                pid: entry.pid.load(Relaxed),
                address: entry.address.load(Relaxed),
                refused: entry.refused.load(Relaxed),
                version: text(&entry.version),
            })
        })
    }

    /// Threads that found no free slot: none of their events were recorded.
    pub fn refused_slots(&self) -> u32 {
        self.arena.header().refused_slots.load(Relaxed)
    }

    /// Calling contexts that found no room: their records have a bare code address instead.
    pub fn refused_sites(&self) -> u64 {
        self.arena.header().refused_sites.load(Relaxed)
    }
}

fn text(words: &[AtomicU64]) -> String {
    let bytes: Vec<u8> = words
        .iter()
        .flat_map(|word| word.load(Relaxed).to_ne_bytes())
        .collect();
    let end = bytes
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
