//! What a thread's state holds of libgomp's constructs.

use std::ffi::c_void;

use inside::provider::Provider;
use ompt::numbers::work;
use race_stream::record::Event;

/// The worksharing construct that a thread has met last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Work {
    /// `ompt_work_t`.
    pub(crate) kind: u8,
    /// It counts down.
    pub(super) is_down: bool,
    /// Dimensions of a doacross loop.
    pub(super) dimensions: u32,
    /// How many the thread has met in the region. The threads of a team meet the same ones.
    pub(super) number: u64,
    /// The variable's first value.
    pub(super) first: u64,
    /// The absolute value of the step.
    pub(super) step: u64,
}

impl Work {
    pub(super) const fn of(kind: u8) -> Work {
        Work {
            kind,
            is_down: false,
            dimensions: 0,
            number: 0,
            first: 0,
            step: 1,
        }
    }

    /// Sections.
    pub(super) const fn sections() -> Work {
        Work::of(work::SECTIONS)
    }

    /// A loop with a signed variable.
    pub(super) fn signed(kind: u8, first: usize, step: usize) -> Work {
        Work {
            first: first as u64,
            step: (step as i64).unsigned_abs().max(1),
            is_down: (step as i64) < 0,
            ..Work::of(kind)
        }
    }

    /// A loop with an unsigned variable.
    pub(super) fn unsigned(kind: u8, is_up: bool, first: usize, step: usize) -> Work {
        let step = step as u64;
        Work {
            first: first as u64,
            step: if is_up { step } else { step.wrapping_neg() }.max(1),
            is_down: !is_up,
            ..Work::of(kind)
        }
    }

    /// The distance from one value of the variable to a later one.
    fn distance(&self, from: u64, to: u64) -> u64 {
        if self.is_down {
            from.wrapping_sub(to)
        } else {
            to.wrapping_sub(from)
        }
    }

    /// The number of iterations with values from `from` up to `to`.
    pub(super) fn count(&self, from: usize, to: usize) -> u64 {
        let distance = self.distance(from as u64, to as u64);
        match distance as i64 {
            ..0 if self.step < 1 << 62 => 0,
            _ => distance.div_ceil(self.step),
        }
    }

    /// The number of iterations from the first value up to `to`.
    pub(super) fn total(&self, to: usize) -> u64 {
        self.count(self.first as usize, to)
    }

    /// The chunk from value `from` up to `to`, in iterations from 0.
    pub(super) fn chunk(&self, from: usize, to: usize) -> Event {
        Event::Chunk {
            first: self.distance(self.first, from as u64) / self.step,
            count: self.count(from, to),
        }
    }
}

/// An outlined function.
pub(super) type Body = unsafe extern "C-unwind" fn(*mut c_void);

/// What the threads of a region get in place of the program's data.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Region {
    /// The first word of the program's data, which libgomp reads for task reductions.
    pub(super) first: usize,
    pub(super) body: Option<Body>,
    pub(super) data: *mut c_void,
    pub(super) number: u64,
    pub(super) runtime: &'static Provider,
    /// The call that forks it: its return address, and the stack pointer there.
    pub(super) code: u64,
    pub(super) frame: u64,
    pub(super) is_league: bool,
    /// The loop or sections that it is, and how many iterations it has.
    pub(super) work: Option<(Work, u64)>,
}

/// Most regions that one thread has open; deeper ones are not recorded.
pub(super) const DEEPEST: usize = 8;

/// Regions begun by one call and ended by another, as GCC before 4.9 compiles them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    /// Open regions, recorded or not.
    pub(super) depth: usize,
    pub(super) regions: [Option<Region>; DEEPEST],
}

impl Opened {
    /// No open regions.
    pub(crate) const NONE: Opened = Opened {
        depth: 0,
        regions: [None; DEEPEST],
    };
}
