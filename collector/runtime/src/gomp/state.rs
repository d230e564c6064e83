//! The interposer's state of one thread, and what of regions it holds.

use std::ffi::c_void;

use inside::At;
use inside::context::Call;
use inside::provider::Provider;
use omp_ring::record::InstanceId;

/// The interposer's state of one thread. Valid when zeroed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    /// Lower bound on the size of the current team; 0 outside regions. At least 2 if the team is
    /// larger than 1.
    pub(super) team: u32,
    /// Number of its last region that was passed as in [`super::named`].
    pub(super) number: u8,
    /// Number of dimensions of the last doacross loop that the thread entered.
    pub(super) dimensions: u32,
    /// Whether it has waited for its turn in the current chunk of an ordered loop.
    pub(super) in_turn: bool,
    /// The outlined function of the region that the thread is in.
    pub(super) body: usize,
    /// The explicit task that it executes.
    pub(super) task: Task,
    /// The runtime of the region that the thread is in.
    pub(super) provider: Option<&'static Provider>,
    /// Regions that were opened by one call and will be closed by another.
    pub(super) open: Opened,
}

impl State {
    /// Outside all constructs.
    pub(crate) const fn new() -> Self {
        State {
            team: 0,
            number: 0,
            dimensions: 0,
            in_turn: false,
            body: 0,
            task: Task::NONE,
            provider: None,
            open: Opened::new(),
        }
    }

    /// The thread's current call at `at`, which passes a function to the runtime.
    #[inline]
    pub(super) fn call(&self, at: At, body: usize) -> Call {
        Call {
            code: at.code(),
            frame: at.frame(),
            body: body as u64,
            in_task: self.task.id != InstanceId::NONE,
            task_end: self.task.end,
        }
    }
}

/// An explicit task that a thread executes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub(super) id: InstanceId,
    /// Stack frames from this address on belong to the thread that executes the task.
    pub(super) end: u64,
}

impl Task {
    /// The thread is in its implicit task, or outside all constructs.
    pub(super) const NONE: Task = Task {
        id: InstanceId::NONE,
        end: 0,
    };
}

impl Default for Task {
    fn default() -> Task {
        Task::NONE
    }
}

/// An outlined function.
pub(super) type Body = unsafe extern "C-unwind" fn(*mut c_void);

/// The block that the threads of a region get in place of the program's data: one cache line, which
/// moves from the forking CPU to all others.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Region {
    /// The first word of the program's data, which the runtime reads for task reductions.
    pub(super) first: usize,
    pub(super) body: Option<Body>,
    pub(super) data: *mut c_void,
    pub(super) provider: Option<&'static Provider>,
    pub(super) id: InstanceId,
    pub(super) teams: bool,
}

/// The state of a thread before it forked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outer {
    pub(super) team: u32,
    pub(super) in_turn: bool,
    pub(super) body: usize,
    pub(super) task: Task,
    /// Identifies the thread's state; 0: none, and nothing is recorded.
    pub(super) token: usize,
    pub(super) region: u64,
    pub(super) provider: Option<&'static Provider>,
}

/// Maximum number of open regions on one thread; deeper ones are not recorded.
pub(super) const DEEPEST: usize = 8;

/// Regions begun by one call and ended by another, as compiled by GCC before 4.9.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    /// Number of open regions, recorded or not.
    pub(super) depth: usize,
    pub(super) regions: [Option<(Region, Outer)>; DEEPEST],
}

impl Opened {
    /// Without open regions.
    pub(super) const fn new() -> Opened {
        Opened {
            depth: 0,
            regions: [None; DEEPEST],
        }
    }
}
