//! Front-end: events of GASP 1.5, which an instrumented runtime of UPC notifies of.
//!
//! The object that is linked into the program (`collector/gasp`) calls the functions here. An event of the runtime is a
//! call like one of MPI; those inside of it are not recorded. A loop whose iterations are divided is one of its own,
//! in which others are. Events of the program's own are phases.
//!
//! What is wrong with the events themselves is told once by kind and name: the program goes on.
#![allow(unsafe_code)]

mod arguments;
mod format;
mod user;

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use inside::context::Call;
use mpi::gasp::{Event, Function, Numbers};
use mpi::pgas::{Bytes, Place, Row, Way, pgas};
use mpi::{Interface, Wait};
use omp_ring::control::Misuse;
use omp_ring::record::{BytesPayload, Kind};

use self::arguments::Arguments;
use self::format::Name;
use crate::mpi::is_wanted;
use crate::thread::Thread;
use crate::{control, tls};

/// Whose numbers events have: 0 before [`parallax_gasp_init`], and where it is not known.
static NUMBERS: AtomicU32 = AtomicU32::new(0);

fn numbers() -> Option<Numbers> {
    match NUMBERS.load(Relaxed) {
        1 => Some(Numbers::Berkeley),
        2 => Some(Numbers::Gupc),
        _ => None,
    }
}

/// What a thread keeps of its events.
#[derive(Debug)]
pub(crate) struct State {
    open: [Open; State::DEEPEST],
    depth: usize,
    is_off: bool,
}

impl State {
    /// The most events that are open in a thread.
    const DEEPEST: usize = 32;

    pub(crate) const fn new() -> State {
        State {
            open: [Open::NONE; State::DEEPEST],
            depth: 0,
            is_off: false,
        }
    }

    fn push(&mut self, open: Open) -> bool {
        let Some(place) = self.open.get_mut(self.depth) else {
            return false;
        };
        *place = open;
        self.depth += 1;
        true
    }

    fn pop(&mut self) -> Option<Open> {
        self.depth = self.depth.checked_sub(1)?;
        self.open.get(self.depth).copied()
    }

    /// How many open events are inside of the innermost one with this number.
    fn inside_of(&self, number: u32) -> Option<usize> {
        let open = self.open.get(..self.depth)?;
        open.iter().rev().position(|it| it.number == number)
    }
}

/// An event that has started.
#[derive(Clone, Copy, Debug)]
struct Open {
    number: u32,
    is: Is,
    began: u64,
    /// The payload of what tells of it.
    payload: u64,
}

/// What is recorded of an open event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    /// Nothing: it is inside of another one, or recording is off.
    Unrecorded,
    /// A call.
    Call,
    /// Something of the program's own, which is told when it ends.
    Span,
    Phase,
}

impl Open {
    const NONE: Open = Open {
        number: 0,
        is: Is::Unrecorded,
        began: 0,
        payload: 0,
    };
}

/// `gasp_evttype_t`.
const START: c_int = 0;
const END: c_int = 1;

fn say(what: Misuse, name: &[u8]) {
    control::misused(what, name);
}

/// The number of an event as a name.
fn numbered(number: u32) -> Name {
    use std::fmt::Write;
    let mut name = Name::new();
    // A name takes whatever is written.
    let _ = write!(name, "{number}");
    name
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn parallax_gasp_init(_model: c_int, numbers: c_int) {
    NUMBERS.store(numbers as u32, Relaxed);
    if self::numbers().is_none() && is_wanted(Interface::Gasp) {
        say(Misuse::Numbers, b"");
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn parallax_gasp_control(on: c_int) -> c_int {
    let mut before = 1;
    tls::with(|thread| {
        before = c_int::from(!thread.gasp.is_off);
        thread.gasp.is_off = on == 0;
    });
    before
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn parallax_gasp_create_event(
    name: *const c_char,
    description: *const c_char,
) -> c_uint {
    let Some(numbers) = numbers().filter(|_| is_wanted(Interface::Gasp)) else {
        return 0;
    };
    let text = |text: *const c_char| {
        if text.is_null() {
            return &b""[..];
        }
        // SAFETY: the program's strings.
        unsafe { CStr::from_ptr(text) }.to_bytes()
    };
    let (name, description) = (text(name), text(description));
    let [first, last] = numbers.user();
    let made = user::create(name, description).map(|number| first + number);
    match made.filter(|number| *number <= last) {
        Some(number) => number,
        None => {
            say(Misuse::TooMany, name);
            0
        }
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn parallax_gasp_event(
    number: c_uint,
    kind: c_int,
    arguments: *mut Arguments,
    code: u64,
    frame: u64,
) {
    if is_wanted(Interface::Gasp) {
        // SAFETY: the caller's list.
        unsafe { record(number, kind, arguments, (code, frame)) };
    }
}

/// # Safety
/// The list is of an event with this number.
#[inline(never)]
unsafe fn record(
    number: c_uint,
    kind: c_int,
    arguments: *mut Arguments,
    (code, frame): (u64, u64),
) {
    let Some(numbers) = numbers() else {
        return;
    };
    let Some(event) = numbers.event(number) else {
        say(Misuse::Unknown, numbered(number).bytes());
        return;
    };
    let call = Call {
        code,
        frame,
        body: 0,
        in_task: false,
        task_end: 0,
    };
    // SAFETY: the caller's list, of an event with this number.
    let arguments = unsafe { &mut *arguments };
    tls::with(|thread| match (event, kind) {
        (Event::System(function), START) => start(thread, number, function, &call),
        // SAFETY: as above.
        (Event::System(function), END) => unsafe { end(thread, number, function, arguments) },
        (Event::System(function), _) => {
            start(thread, number, function, &call);
            // SAFETY: as above.
            unsafe { end(thread, number, function, arguments) };
        }
        // SAFETY: as above.
        (Event::User(own), kind) => unsafe { user_event(thread, [number, own], kind, arguments) },
    });
}

fn start(thread: &mut Thread, number: u32, function: Function, call: &Call) {
    let function = Interface::Gasp.function(function as u16);
    thread.mpi.watch();
    let is_own = mpi::wait(function) == Wait::Own;
    let is_recorded = !thread.gasp.is_off && (is_own || thread.mpi.enters_event());
    let mut open = Open {
        number,
        ..Open::NONE
    };
    if is_recorded && is_own {
        open.is = Is::Span;
        (open.began, open.payload) = thread.mpi_begin(function, call, true);
    } else if is_recorded {
        open.is = Is::Call;
        (open.began, open.payload) = thread.mpi_begin(function, call, false);
    }
    if !thread.gasp.push(open) {
        say(
            Misuse::TooDeep,
            mpi::name(function).unwrap_or("?").as_bytes(),
        );
        close(thread, open);
    }
}

/// # Safety
/// The list is of an event of this function.
unsafe fn end(thread: &mut Thread, number: u32, function: Function, arguments: &mut Arguments) {
    let function = Interface::Gasp.function(function as u16);
    let name = || mpi::name(function).unwrap_or("?").as_bytes();
    let Some(open) = close_inner(thread, number, name()) else {
        return;
    };
    match (open.is, pgas(function)) {
        (Is::Call, Some(row)) => {
            let time = thread.mpi_now();
            // SAFETY: the caller's promise.
            let [sent, received] = unsafe { bytes(row, arguments) };
            let is_split = function == Interface::Gasp.function(Function::UPC_WAIT as u16);
            // A rank has come to a split barrier before it waits.
            let is_of_all = matches!(row.wait, Wait::Barrier | Wait::Collective) && !is_split;
            let sent = BytesPayload {
                bytes: sent,
                comm: is_of_all.into(),
            };
            thread.mpi_push(
                time,
                &[(Kind::MpiBytes, sent.pack()), (Kind::MpiEnd, received)],
            );
            thread.mpi.leave();
        }
        _ => close(thread, open),
    }
}

/// Ends what is open inside of the event that ends, and takes that out; `None` if it has not started.
fn close_inner(thread: &mut Thread, number: u32, name: &[u8]) -> Option<Open> {
    let Some(inside) = thread.gasp.inside_of(number) else {
        say(Misuse::Unbegun, name);
        return None;
    };
    if inside > 0 {
        say(Misuse::Crossed, name);
    }
    for _ in 0..inside {
        let inner = thread.gasp.pop()?;
        close(thread, inner);
    }
    thread.gasp.pop()
}

/// An event is over, without arguments.
fn close(thread: &mut Thread, open: Open) {
    match open.is {
        Is::Unrecorded => {}
        Is::Call => {
            let time = thread.mpi_now();
            thread.mpi_push(time, &[(Kind::MpiEnd, 0)]);
            thread.mpi.leave();
        }
        Is::Span => {
            let time = thread.mpi_now();
            let length = time.saturating_sub(open.began);
            thread.mpi_push(time, &[(Kind::Subject, open.payload), (Kind::Span, length)]);
        }
        Is::Phase => control::phase_end(),
    }
}

/// Bytes sent and received, by the arguments of an event.
///
/// # Safety
/// The list is of an event with this row.
unsafe fn bytes(row: &Row, arguments: &mut Arguments) -> [u64; 2] {
    // SAFETY: the caller's promise.
    let mut word_at = |place: Place| unsafe {
        for _ in 0..place {
            arguments.word();
        }
        arguments.word()
    };
    match row.bytes {
        Bytes::Elements(way, place, each) => {
            let all = word_at(place).saturating_mul(each.into());
            match way {
                Way::Sent => [all, 0],
                Way::Received => [0, all],
                Way::Both => [all; 2],
            }
        }
        Bytes::Allocated(place) => [0, word_at(place)],
        Bytes::AllocatedEach(..) => {
            let count = word_at(0);
            [0, count.saturating_mul(word_at(0))]
        }
        _ => [0; 2],
    }
}

/// An event of the program's own.
///
/// # Safety
/// The list has the arguments that the event's description names.
unsafe fn user_event(
    thread: &mut Thread,
    [number, own]: [u32; 2],
    kind: c_int,
    arguments: &mut Arguments,
) {
    let Some([name, description]) = user::texts(own) else {
        say(Misuse::Unknown, numbered(number).bytes());
        return;
    };
    let name = user::bytes(&name);
    if kind == END {
        if let Some(open) = close_inner(thread, number, name) {
            close(thread, open);
        }
        return;
    }
    let mut text = Name::new();
    text.push(name);
    let description = user::bytes(&description);
    if description.contains(&b'%') {
        text.push(b": ");
        // SAFETY: the caller's promise.
        if !unsafe { format::add(&mut text, description, arguments) } {
            say(Misuse::Description, name);
        }
    }
    let is_on = !thread.gasp.is_off;
    if kind != START {
        if is_on {
            control::sample(text.bytes());
        }
        return;
    }
    let open = Open {
        number,
        is: if is_on { Is::Phase } else { Is::Unrecorded },
        ..Open::NONE
    };
    if !thread.gasp.push(open) {
        say(Misuse::TooDeep, name);
    } else if is_on {
        control::phase_begin(text.bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_events_are_found_from_the_innermost_on() {
        let mut state = State::new();
        let open = |number| Open {
            number,
            ..Open::NONE
        };
        for number in [5, 6, 5, 7] {
            assert!(state.push(open(number)));
        }
        assert_eq!(
            [5, 6, 7, 8].map(|it| state.inside_of(it)),
            [Some(1), Some(2), Some(0), None]
        );
        assert_eq!(state.pop().map(|it| it.number), Some(7));
        for _ in 3..State::DEEPEST {
            assert!(state.push(open(9)));
        }
        assert!(!state.push(open(9)));
        while state.pop().is_some() {}
        assert_eq!(state.depth, 0);
    }

    #[test]
    fn bytes_are_those_of_the_arguments() {
        let row = |function: Function| pgas(Interface::Gasp.function(function as u16)).unwrap();
        let of = |function, words: [u64; 6]| {
            let (mut arguments, _saved) = Arguments::of(&words, &[0.0; 2], &[]);
            // SAFETY: a list of the test.
            unsafe { bytes(row(function), &mut arguments) }
        };
        assert_eq!(of(Function::UPC_GET, [1, 2, 3, 64, 0, 0]), [0, 64]);
        assert_eq!(of(Function::UPC_MEMPUT, [1, 2, 48, 0, 0, 0]), [48, 0]);
        assert_eq!(of(Function::UPC_ALL_ALLOC, [10, 8, 0, 0, 0, 0]), [0, 80]);
        assert_eq!(of(Function::UPC_BARRIER, [1, 2, 3, 4, 5, 6]), [0, 0]);
    }
}
