//! Requests by handle: what was posted.

use super::table::{Refused, Table};

/// The requests that are not complete: when each was posted, the communicator's handle, and what it is.
static REQUESTS: Table<{ 1 << 16 }, 5> = Table::new();

/// What a request completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) is_send: bool,
    /// A collective operation.
    pub(super) is_operation: bool,
    /// It is started again and again.
    pub(super) is_persistent: bool,
    /// When it was posted; 0 for a persistent one that was not started.
    pub(super) posted: u64,
    /// The communicator's handle.
    pub(super) communicator: u64,
    /// The other rank, or a constant that stands for any or none.
    pub(super) peer: i32,
    /// The tag.
    pub(super) tag: i32,
    /// The bytes of a send.
    pub(super) bytes: u64,
}

const SEND: u64 = 1;
const PERSISTENT: u64 = 2;
const OPERATION: u64 = 4;

impl Request {
    fn words(self) -> [u64; 5] {
        let flags = if self.is_send { SEND } else { 0 };
        let persistent = if self.is_persistent { PERSISTENT } else { 0 };
        let operation = if self.is_operation { OPERATION } else { 0 };
        [
            self.posted,
            self.communicator,
            u64::from(self.peer as u32) | u64::from(self.tag as u32) << 32,
            self.bytes,
            flags | persistent | operation,
        ]
    }

    fn of([posted, communicator, peer_and_tag, bytes, flags]: [u64; 5]) -> Request {
        Request {
            is_send: flags & SEND != 0,
            is_operation: flags & OPERATION != 0,
            is_persistent: flags & PERSISTENT != 0,
            posted,
            communicator,
            peer: peer_and_tag as i32,
            tag: (peer_and_tag >> 32) as i32,
            bytes,
        }
    }
}

/// Keeps a send. MPI may have given several that are complete the same handle, and there may be no room.
pub(super) fn put(handle: u64, request: Request) -> Result<(), Refused> {
    REQUESTS.put(handle, request.words()).map(|_| ())
}

/// Keeps a request that has its handle alone: one of the same handle was completed where we did not see it. Returns
/// whether there was room.
pub(super) fn put_alone(handle: u64, request: Request) -> bool {
    REQUESTS.take(handle);
    REQUESTS.put(handle, request.words()).is_ok()
}

/// A persistent request is started.
pub(super) fn start(handle: u64, posted: u64) -> Option<Request> {
    let request = find(handle).filter(|it| it.is_persistent)?;
    REQUESTS.set(handle, 0, posted);
    Some(request)
}

/// The request with this handle.
pub(super) fn find(handle: u64) -> Option<Request> {
    REQUESTS.find(handle).map(|(_, words)| Request::of(words))
}

/// A request is complete: returns it if it was posted.
pub(super) fn complete(handle: u64) -> Option<Request> {
    let request = find(handle)?;
    if request.is_persistent {
        REQUESTS.set(handle, 0, 0);
    } else {
        REQUESTS.take(handle);
    }
    (request.posted != 0).then_some(request)
}

/// The program frees a request, whether it is complete or not.
pub(super) fn forget(handle: u64) {
    REQUESTS.take(handle);
}
