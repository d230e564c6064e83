//! Events of a call, on the calling thread.

use inside::Saved;
use race_stream::record::Event;

use crate::thread::{Site, Thread};
use crate::tls;

pub(super) use ompt::numbers::sync_region::{
    EXPLICIT as BARRIER_EXPLICIT, WORKSHARE as BARRIER_WORKSHARE,
};

/// An event without the call's place.
pub(super) fn tell(event: &Event) {
    tls::with(|thread| thread.event(event));
}

/// The thread comes to a barrier, `wait` waits there, and it leaves.
pub(super) fn at_barrier<R>(saved: &Saved, kind: u8, wait: impl FnOnce() -> R) -> R {
    tls::with(|thread| {
        let context = thread.context_of(saved.at().into());
        thread.event(&Event::Arrive {
            kind,
            code: saved.code,
            context,
        });
    });
    let result = wait();
    tls::with(|thread| {
        thread.event(&Event::Leave { kind });
    });
    result
}

/// The thread comes to a worksharing construct.
pub(super) fn work_begins(thread: &mut Thread, kind: u8, site: Site, count: u64) {
    let context = thread.context_of(site);
    thread.event(&Event::Work {
        kind,
        code: site.code,
        context,
        count,
    });
}

/// A number made of others that other numbers hardly yield: an object of [`Event::Signal`] or a
/// lock. No address has it.
pub(super) fn object(words: impl IntoIterator<Item = u64>) -> u64 {
    let hash = words.into_iter().fold(0, |hash: u64, word| {
        (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    hash | 1 << 63
}
