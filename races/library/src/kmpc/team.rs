//! What the program asks about its team, and sets. Each function here returns the real one.

use inside::{Saved, What};
use race_stream::record::Event;

use crate::gomp::address;
use crate::tls;

pub(crate) unsafe extern "C-unwind" fn set_threads(saved: &Saved, what: What) -> usize {
    tls::with(|thread| thread.sets_threads(saved.at().into()));
    address(what.function(), saved.code)
}

pub(crate) unsafe extern "C-unwind" fn most_threads(saved: &Saved, what: What) -> usize {
    tls::with(|thread| thread.event(&Event::AsksThreads {}));
    address(what.function(), saved.code)
}

pub(crate) unsafe extern "C-unwind" fn thread_number(saved: &Saved, what: What) -> usize {
    tls::with(|thread| thread.asks_thread(saved.code));
    address(what.function(), saved.code)
}
