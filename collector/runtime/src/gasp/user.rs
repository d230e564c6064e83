//! The events of the program's own: their names and descriptions.

use std::sync::atomic::{
    AtomicBool, AtomicU8, AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

use omp_ring::control::NAME_BYTES;

/// The most events; Berkeley's numbers are for 900.
const MOST: usize = 900;

struct Event {
    /// Name and description are written.
    is_known: AtomicBool,
    name: [AtomicU8; NAME_BYTES],
    description: [AtomicU8; NAME_BYTES],
}

static EVENTS: [Event; MOST] = [const {
    Event {
        is_known: AtomicBool::new(false),
        name: [const { AtomicU8::new(0) }; NAME_BYTES],
        description: [const { AtomicU8::new(0) }; NAME_BYTES],
    }
}; MOST];

/// How many were made.
static MADE: AtomicU32 = AtomicU32::new(0);

/// Makes an event; `None` if there are too many. What is longer than a name is cut.
pub(super) fn create(name: &[u8], description: &[u8]) -> Option<u32> {
    let number = MADE.fetch_add(1, Relaxed);
    let Some(event) = EVENTS.get(number as usize) else {
        MADE.store(MOST as u32, Relaxed);
        return None;
    };
    keep(&event.name, name);
    keep(&event.description, description);
    event.is_known.store(true, Release);
    Some(number)
}

fn keep(to: &[AtomicU8; NAME_BYTES], text: &[u8]) {
    for (to, byte) in to.iter().zip(text) {
        to.store(*byte, Relaxed);
    }
}

/// A text as it was given, ended by zero bytes.
pub(super) type Text = [u8; NAME_BYTES];

/// The name and the description of an event; `None` if none has this number.
pub(super) fn texts(number: u32) -> Option<[Text; 2]> {
    let event = EVENTS.get(number as usize)?;
    let is_known = event.is_known.load(Acquire);
    let text = |from: &[AtomicU8; NAME_BYTES]| {
        std::array::from_fn(|at| from.get(at).map_or(0, |byte| byte.load(Relaxed)))
    };
    is_known.then(|| [text(&event.name), text(&event.description)])
}

/// The bytes of a text before its end.
pub(super) fn bytes(text: &Text) -> &[u8] {
    let end = text.iter().position(|byte| *byte == 0);
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}
