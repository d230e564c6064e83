//! A call: before the real function, and after it.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use inside::context::Call;
use inside::memory::{self, Zeroed};
use inside::{Around, Onward, What};
use mpi::{Abi, Form, Interface};
use omp_ring::record::{BytesPayload, Kind, PeerPayload};

use super::communicators::{self, Communicator, Made};
use super::real::{self, ask, handle, handle_at};
use super::{messages, narrow, requests, volume};
use crate::{process, tls};

/// What a thread keeps of its calls.
pub(crate) struct State {
    /// The frame of the outermost call of MPI that the thread is in; 0: none.
    frame: u64,
    /// Mapped at the first call that needs it.
    arrays: Option<*mut Arrays>,
    /// The thread's end is watched.
    is_watched: bool,
}

/// What calls that complete many requests need: their handles, and statuses that the program does not ask for.
struct Arrays {
    handles: [u64; Arrays::MOST],
    statuses: [u64; Arrays::MOST * Arrays::STATUS / 8],
}

impl Arrays {
    /// The messages of at most so many requests of one call are known. Only pages of the arrays that are touched cost memory.
    const MOST: usize = 1 << 16;
    /// Bytes of any interface's status, at most.
    const STATUS: usize = 40;
}

// SAFETY: integers only.
unsafe impl Zeroed for Arrays {}

impl State {
    /// Has the thread's end told of.
    pub(crate) fn watch(&mut self) {
        if !self.is_watched {
            self.is_watched = true;
            crate::gomp::watch_end();
        }
    }

    /// An event begins whose end is told by another one. Returns whether it is in no call that is recorded.
    pub(crate) fn enters_event(&mut self) -> bool {
        let is_outermost = self.frame == 0;
        if is_outermost {
            // Above all frames: calls in it are not recorded.
            self.frame = u64::MAX;
        }
        is_outermost
    }

    /// The outermost call ends.
    #[inline]
    pub(crate) fn leave(&mut self) {
        self.frame = 0;
    }

    pub(crate) const fn new() -> State {
        State {
            frame: 0,
            arrays: None,
            is_watched: false,
        }
    }

    /// The thread enters a call with this frame. Returns whether the call is the outermost: one whose frame an exception or
    /// `longjmp` has left is over.
    fn enters(&mut self, frame: u64) -> bool {
        let is_outermost = self.frame == 0 || frame >= self.frame;
        if is_outermost {
            self.frame = frame;
        }
        is_outermost
    }

    fn arrays(&mut self) -> Option<*mut Arrays> {
        if self.arrays.is_none() {
            self.arrays = memory::map();
        }
        self.arrays
    }
}

impl Drop for State {
    fn drop(&mut self) {
        if let Some(arrays) = self.arrays.take() {
            // SAFETY: `map` mapped it; the thread is in no call that uses it.
            unsafe { memory::unmap(arrays) };
        }
    }
}

/// Words of [`Around::scratch`].
pub(super) mod word {
    /// The function's number.
    pub(in crate::mpi) const FUNCTION: usize = 0;
    /// When the call began.
    pub(in crate::mpi) const BEGAN: usize = 1;
    /// What tells of the call in the ring.
    pub(in crate::mpi) const PAYLOAD: usize = 2;
    /// A handle as it was before the call, or the number of those in the arrays.
    pub(super) const BEFORE: usize = 3;
    /// Room for a status that the program does not ask for.
    pub(super) const STATUS: usize = 4;
}

/// MPI was finalized: none of its functions may be called by us.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// Whether the calls of an interface are to be recorded.
#[inline]
pub(crate) fn is_wanted(interface: Interface) -> bool {
    process::arena().is_some_and(|arena| arena.recorded_calls() & interface.bit() != 0)
}

/// The thread enters a function. Returns when, and what tells of the call; `None` within another call that is recorded.
pub(super) fn enter(around: &Around, function: u16, is_poll: bool) -> Option<(u64, u64)> {
    let call = Call {
        code: around.code,
        frame: around.at().frame(),
        body: 0,
        in_task: false,
        task_end: 0,
    };
    tls::with(|thread| {
        if !thread.mpi.enters(call.frame) {
            return None;
        }
        thread.mpi.watch();
        Some(thread.mpi_begin(function, &call, is_poll))
    })
}

/// Whether calls of this form are recorded now.
fn is_recording(form: Form) -> bool {
    if IS_OVER.load(Relaxed) || !is_wanted(Interface::Mpi) {
        return false;
    }
    real::interface().is_some() || form == Form::Init || is_initialised()
}

/// MPI was initialised by a call that we did not see.
#[cold]
fn is_initialised() -> bool {
    let mut flag = 0i32;
    let is_known = ask!(c"PMPI_Initialized", fn(*mut i32) -> i32, (&raw mut flag)) == 0;
    if is_known && flag != 0 {
        real::learn();
    }
    is_known && flag != 0
}

pub(super) unsafe extern "C-unwind" fn begin(around: *mut Around, what: What) -> Onward {
    // SAFETY: the entry point's own frame.
    let around = unsafe { &mut *around };
    let (mut function, kind) = (what.function() as u16, what.kind());
    let form = mpi::form(function);
    let real = match (real::address(function, kind), mpi::narrow(function)) {
        (Some(real), _) => real,
        (None, Some(narrow)) => {
            // SAFETY: the call's own arguments.
            if unsafe { narrow::arguments(around, real::learn(), form) }.is_none() {
                return Onward::jump(narrow::refuse as *const () as usize);
            }
            function = narrow;
            real::address(narrow, kind).unwrap_or_else(|| real::missing(narrow))
        }
        (None, None) => real::missing(function),
    };
    if !is_recording(form) {
        return Onward::jump(real);
    }
    let Some((began, payload)) = enter(around, function, form.found().is_some()) else {
        return Onward::jump(real);
    };
    around.scratch[word::FUNCTION] = u64::from(function);
    around.scratch[word::BEGAN] = began;
    around.scratch[word::PAYLOAD] = payload;
    around.scratch[word::BEFORE] = 0;
    if let Some(abi) = real::interface() {
        // SAFETY: the call's own arguments, as the program gives them.
        unsafe { before(around, abi, form) };
    }
    if form == Form::Finalize {
        IS_OVER.store(true, Relaxed);
    }
    Onward::call(real, form.arguments() + u32::from(mpi::is_later(function)))
}

/// Keeps the handles that the call will change, and asks for the statuses of what it receives.
///
/// # Safety
/// The arguments are those of a call of this form.
unsafe fn before(around: &mut Around, abi: &Abi, form: Form) {
    // SAFETY: the program's pointer to a handle.
    let handle_in = |argument: u64| unsafe { handle_at(abi, argument, 0) };
    match form {
        Form::Wait
        | Form::Test
        | Form::Start
        | Form::RequestFree
        | Form::CommunicatorFree
        | Form::WindowFree => {
            around.scratch[word::BEFORE] = handle_in(around.argument(0));
        }
        Form::Mreceive | Form::Imreceive => {
            around.scratch[word::BEFORE] = handle_in(around.argument(3));
        }
        _ => {}
    }
    if let Some(place) = form.status()
        && around.argument(place) == abi.ignored
    {
        let own = (&raw mut around.scratch[word::STATUS]) as u64;
        around.set_argument(place, own);
    }
    let Some([number, array, statuses]) = form.requests() else {
        return;
    };
    let count = (around.argument(number) as i32).max(0) as usize;
    let count = count.min(Arrays::MOST);
    let array = around.argument(array);
    let mut arrays = None;
    tls::with(|thread| arrays = thread.mpi.arrays());
    let Some(arrays) = arrays.filter(|_| count > 0) else {
        return;
    };
    // SAFETY: the arrays are the thread's own, no other call uses them meanwhile, and they have room for so many; the
    // program's array has as many.
    unsafe {
        for at in 0..count {
            (&raw mut (*arrays).handles)
                .cast::<u64>()
                .add(at)
                .write(handle_at(abi, array, at));
        }
    }
    around.scratch[word::BEFORE] = count as u64;
    let is_several = form.status().is_none();
    let is_whole = count == around.argument(number) as i32 as usize;
    if is_several && is_whole && around.argument(statuses) == abi.ignored {
        // SAFETY: as above.
        let own = unsafe { &raw mut (*arrays).statuses } as u64;
        around.set_argument(statuses, own);
    }
}

/// A call that ends.
pub(super) struct Ended<'a> {
    pub(super) around: &'a Around,
    pub(super) abi: &'static Abi,
    pub(super) function: u16,
    pub(super) form: Form,
    /// When it began and ended, in units of the ring's clock.
    pub(super) began: u64,
    pub(super) time: u64,
    /// The handle before the call, or the number of those before it.
    before: u64,
}

impl Ended<'_> {
    pub(super) fn handle_before(&self) -> u64 {
        self.before
    }

    /// The handle of request number `at` before the call.
    pub(super) fn request_before(&self, at: usize) -> u64 {
        let mut handle = 0;
        if (at as u64) < self.before {
            tls::with(|thread| {
                if let Some(arrays) = thread.mpi.arrays {
                    // SAFETY: the thread's own arrays; `before` filled so many.
                    handle = unsafe { (&raw const (*arrays).handles).cast::<u64>().add(at).read() };
                }
            });
        }
        handle
    }

    /// The number of requests before the call.
    pub(super) fn requests(&self) -> usize {
        self.before as usize
    }

    /// The communicator of an argument.
    pub(super) fn communicator(&self, place: usize) -> Option<Communicator> {
        self.communicator_of(handle(self.abi, self.around.argument(place)))
    }

    /// The window that the call is about.
    pub(super) fn window(&self) -> Option<Communicator> {
        let place = self.form.window()?;
        communicators::known(handle(self.abi, self.around.argument(place)))
    }

    /// The communicator with this handle, which is made known if it is new.
    pub(super) fn communicator_of(&self, handle: u64) -> Option<Communicator> {
        let (found, made) = communicators::of(handle);
        self.tell(made);
        found
    }

    fn tell(&self, made: Option<Made>) {
        if let Some(Made { size, known }) = made {
            tls::with(|thread| thread.mpi_communicator(self.time, known, size));
        }
    }

    /// The number of elements in an argument.
    pub(super) fn count(&self, place: usize) -> u64 {
        let argument = self.around.argument(place);
        let count = if mpi::is_large(self.function) {
            argument as i64
        } else {
            i64::from(argument as i32)
        };
        count.max(0) as u64
    }

    /// The bytes of so many elements of the type in an argument.
    pub(super) fn bytes(&self, count: usize, datatype: usize) -> u64 {
        real::bytes_of(self.count(count), self.around.argument(datatype))
    }

    /// So many messages are not known: what was posted and completed is no longer whole from here on.
    pub(super) fn lose(&self, count: usize) {
        if count > 0 {
            tls::with(|thread| thread.mpi_lose(count as u64));
        }
    }

    /// Pushes records that belong together.
    pub(super) fn push(&self, records: &[(Kind, u64)]) {
        tls::with(|thread| thread.mpi_push(self.time, records));
    }
}

/// Whether a call that asks has found something, by its flag or number.
///
/// # Safety
/// `place` is an argument that points to an int, which the call has written.
unsafe fn has_found(around: &Around, abi: &Abi, place: usize) -> bool {
    // SAFETY: the caller's promise.
    let flag = unsafe { (around.argument(place) as *const i32).read_unaligned() };
    flag != 0 && flag != abi.undefined
}

pub(super) unsafe extern "C-unwind" fn end(around: *mut Around, result: usize) -> usize {
    // SAFETY: the entry point's own frame.
    let around = unsafe { &*around };
    let function = around.scratch[word::FUNCTION] as u16;
    let (began, payload) = (around.scratch[word::BEGAN], around.scratch[word::PAYLOAD]);
    let form = mpi::form(function);
    let mut time = 0;
    tls::with(|thread| time = thread.mpi_now());
    let has_failed = result as i32 != 0;
    if form == Form::Init && !has_failed {
        real::learn();
    }
    if let Some(abi) = real::interface() {
        let ended = Ended {
            around,
            abi,
            function,
            form,
            began,
            time,
            before: around.scratch[word::BEFORE],
        };
        let asks = form.found();
        // SAFETY: the call has returned.
        let in_vain = asks.is_some_and(|at| has_failed || !unsafe { has_found(around, abi, at) });
        if in_vain {
            tls::with(|thread| thread.mpi_polled(payload, began, time));
        } else {
            if asks.is_some() {
                tls::with(|thread| thread.mpi_found(payload, began, around.code));
            }
            // SAFETY: the call has returned.
            unsafe { after(&ended, has_failed) };
        }
    } else {
        tls::with(|thread| thread.mpi_push(time, &[(Kind::MpiEnd, 0)]));
    }
    tls::with(|thread| thread.mpi.leave());
    result
}

/// Tells what the call has done, and that it ends.
///
/// # Safety
/// The arguments are those of a call of this form that has returned.
unsafe fn after(ended: &Ended<'_>, has_failed: bool) {
    let is_done = !has_failed && ended.form != Form::Finalize;
    let mut volume = volume::Volume::default();
    if is_done {
        // SAFETY: the caller's promise.
        unsafe {
            made_or_freed(ended);
            messages::tell(ended);
            volume = volume::of(ended);
        }
    }
    let peer = volume.peer.map(|rank| PeerPayload { rank, tag: 0 }.pack());
    let bytes = BytesPayload {
        bytes: volume.sent,
        comm: volume.communicator,
    };
    let records = [
        (Kind::MpiPeer, peer.unwrap_or(0)),
        (Kind::MpiBytes, bytes.pack()),
        (Kind::MpiEnd, volume.received),
    ];
    let without_peer = usize::from(peer.is_none());
    ended.push(records.get(without_peer..).unwrap_or_default());
}

/// Communicators that the call has made or freed, and requests that it has freed.
///
/// # Safety
/// As for [`after`].
unsafe fn made_or_freed(ended: &Ended<'_>) {
    match ended.form {
        Form::Init => {
            let [world, own, ..] = ended.abi.handles;
            for handle in [world, own] {
                ended.communicator_of(handle);
            }
        }
        Form::CommunicatorFree | Form::WindowFree => communicators::forget(ended.handle_before()),
        Form::RequestFree => requests::forget(ended.handle_before()),
        _ => {}
    }
    if let Some(place) = ended.form.new_window() {
        // SAFETY: the program's pointer to a handle, which the call has written.
        let handle = unsafe { handle_at(ended.abi, ended.around.argument(place), 0) };
        let (_, made) = communicators::add_window(handle);
        ended.tell(made);
    }
    // One that is made later can be asked nothing yet: it is added when it is used.
    let Some(place) = ended.form.new_communicator() else {
        return;
    };
    // SAFETY: the program's pointer to a handle, which the call has written.
    let handle = unsafe { handle_at(ended.abi, ended.around.argument(place), 0) };
    let (_, made) = communicators::add(handle);
    ended.tell(made);
}
