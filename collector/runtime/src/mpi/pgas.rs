//! A call of OpenSHMEM or of coarrays: before the real function, and after it.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use inside::{Around, Onward, What};
use mpi::Interface;
use mpi::pgas::{Asks, Row, pgas};
use mpi::shmem::Function as Shmem;
use omp_ring::record::{BytesPayload, Kind, PeerPayload};

use super::call::{enter, is_wanted, word};
use super::moved::{self, Moved};
use super::real;
use crate::tls;

/// OpenSHMEM was finalized. Its library finalizes once more as the program exits.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// Whether calls of the function are recorded now.
#[inline]
fn is_recording(function: u16) -> bool {
    let interface = Interface::of(function);
    is_wanted(interface) && !(interface == Interface::Shmem && IS_OVER.load(Relaxed))
}

/// Small, so that a call that is not recorded costs little.
pub(super) unsafe extern "C-unwind" fn begin(around: *mut Around, what: What) -> Onward {
    let (function, kind) = (what.function() as u16, what.kind());
    let real = match real::address(function, kind) {
        Some(real) => real,
        None => real::missing(function),
    };
    if !is_recording(function) {
        return Onward::jump(real);
    }
    // SAFETY: the entry point's own frame.
    begin_recorded(unsafe { &mut *around }, function, real)
}

#[inline(never)]
fn begin_recorded(around: &mut Around, function: u16, real: usize) -> Onward {
    let Some(row) = pgas(function) else {
        return Onward::jump(real);
    };
    let Some((began, payload)) = enter(around, function, row.asks != Asks::No) else {
        return Onward::jump(real);
    };
    around.scratch[word::FUNCTION] = u64::from(function);
    around.scratch[word::BEGAN] = began;
    around.scratch[word::PAYLOAD] = payload;
    if function == Interface::Shmem.function(Shmem::shmem_finalize as u16) {
        IS_OVER.store(true, Relaxed);
    }
    Onward::call(real, u32::from(row.words))
}

pub(super) unsafe extern "C-unwind" fn end(around: *mut Around, result: usize) -> usize {
    // SAFETY: the entry point's own frame.
    let around = unsafe { &*around };
    let function = around.scratch[word::FUNCTION] as u16;
    let (began, payload) = (around.scratch[word::BEGAN], around.scratch[word::PAYLOAD]);
    let Some(row) = pgas(function) else {
        return result;
    };
    tls::with(|thread| {
        let time = thread.mpi_now();
        if has_found(row, result) {
            if row.asks != Asks::No {
                thread.mpi_found(payload, began, around.code);
            }
            // SAFETY: the call has returned, and its arguments are those of the function.
            let moved = unsafe { moved::of(around, row, function, result) };
            push(&moved, |records| thread.mpi_push(time, records));
        } else {
            thread.mpi_polled(payload, began, time);
        }
        thread.mpi.leave();
    });
    result
}

fn has_found(row: &Row, result: usize) -> bool {
    match row.asks {
        Asks::No => true,
        Asks::Nonzero => result as i32 != 0,
        Asks::Zero => result as i32 == 0,
    }
}

/// The records of what a call has moved, without those that say nothing.
fn push(moved: &Moved, to: impl FnOnce(&[(Kind, u64)])) {
    let peer = moved.peer.map(|rank| PeerPayload { rank, tag: 0 }.pack());
    let subject = Some(moved.object).filter(|object| *object != 0);
    let bytes = BytesPayload {
        bytes: moved.sent,
        comm: moved.group,
    };
    let mut records = [(Kind::MpiEnd, moved.received); 4];
    let all = [
        peer.map(|peer| (Kind::MpiPeer, peer)),
        Some((Kind::MpiBytes, bytes.pack())),
        subject.map(|subject| (Kind::Subject, subject)),
    ];
    let mut count = 0;
    for (to, record) in records.iter_mut().zip(all.into_iter().flatten()) {
        *to = record;
        count += 1;
    }
    // The last one is the end.
    to(records.get(..=count).unwrap_or_default());
}
