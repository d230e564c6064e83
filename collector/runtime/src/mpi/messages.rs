//! What calls post and complete.

use mpi::Form;
use omp_ring::record::{
    BytesPayload, Kind, MPI_DONE, MPI_LOCK_EXCLUSIVE, MPI_LOCK_SHARED, MPI_POST, MPI_START,
    PeerPayload,
};

use super::call::Ended;
use super::communicators::{Communicator, world_ranks};
use super::real::{ask, handle, handle_at};
use super::requests::{self, Request};
use super::table::Refused;

/// Tells of the messages that a call has posted or completed.
///
/// # Safety
/// The arguments are those of a call of this form that has returned without an error.
pub(super) unsafe fn tell(ended: &Ended<'_>) {
    let around = ended.around;
    // SAFETY: the program's pointers, which the call has written or read.
    unsafe {
        match ended.form {
            Form::Send => sent(ended, &send(ended), true),
            Form::Isend => {
                let request = send(ended);
                let put = requests::put(handle_at(ended.abi, around.argument(6), 0), request);
                sent(ended, &request, put == Err(Refused::Known));
                if put == Err(Refused::Full) {
                    ended.lose(1);
                }
            }
            Form::SendInit | Form::ReceiveInit => {
                let request = Request {
                    is_persistent: true,
                    posted: 0,
                    ..if ended.form == Form::SendInit {
                        send(ended)
                    } else {
                        receive(ended)
                    }
                };
                keep(ended, handle_at(ended.abi, around.argument(6), 0), request);
            }
            Form::Receive => received(ended, &now(ended, 5), around.argument(6)),
            Form::Ireceive => {
                let request = receive(ended);
                post(ended, handle_at(ended.abi, around.argument(6), 0), request);
            }
            Form::SendReceive => {
                let request = Request {
                    communicator: handle(ended.abi, around.argument(10)),
                    ..send(ended)
                };
                sent(ended, &request, true);
                received(ended, &now(ended, 10), around.argument(11));
            }
            Form::SendReceiveReplace => {
                let request = Request {
                    communicator: handle(ended.abi, around.argument(7)),
                    ..send(ended)
                };
                sent(ended, &request, true);
                received(ended, &now(ended, 7), around.argument(8));
            }
            Form::Mprobe | Form::Improbe => {
                let message = if ended.form == Form::Mprobe { 3 } else { 4 };
                let message = handle_at(ended.abi, around.argument(message), 0);
                let request = Request {
                    posted: ended.began,
                    ..now(ended, 2)
                };
                post(ended, message, request);
            }
            Form::Mreceive => {
                if let Some(request) = requests::complete(ended.handle_before()) {
                    received(ended, &request, around.argument(4));
                }
            }
            Form::Imreceive => {
                if let Some(request) = requests::complete(ended.handle_before()) {
                    keep(ended, handle_at(ended.abi, around.argument(4), 0), request);
                }
            }
            Form::AccessStart => access(ended, MPI_START),
            Form::AccessPost => access(ended, MPI_POST),
            Form::Lock => lock(ended),
            form if mpi::is_later(ended.function) => {
                let request = around.argument(form.arguments() as usize);
                begin_operation(ended, handle_at(ended.abi, request, 0));
            }
            Form::Start => start(ended, ended.handle_before(), 0),
            Form::StartAll => {
                for at in 0..(around.argument(0) as i32).max(0) as usize {
                    start(ended, handle_at(ended.abi, around.argument(1), at), at);
                }
            }
            Form::Wait => complete(ended, ended.handle_before(), around.argument(1)),
            Form::Test => complete(ended, ended.handle_before(), around.argument(2)),
            Form::WaitAll | Form::TestAll => {
                let statuses = around.argument(if ended.form == Form::WaitAll { 2 } else { 3 });
                for at in 0..ended.requests() {
                    complete(ended, ended.request_before(at), status(ended, statuses, at));
                }
                ended.lose((around.argument(0) as i32).max(0) as usize - ended.requests());
            }
            Form::WaitAny | Form::TestAny => {
                let index = (around.argument(2) as *const i32).read_unaligned();
                let place = if ended.form == Form::WaitAny { 3 } else { 4 };
                if let Ok(at) = usize::try_from(index) {
                    complete(ended, ended.request_before(at), around.argument(place));
                }
            }
            Form::WaitSome | Form::TestSome => {
                let count = (around.argument(2) as *const i32).read_unaligned();
                let (indices, statuses) = (around.argument(3), around.argument(4));
                for number in 0..count.max(0) as usize {
                    let index = (indices as *const i32).add(number).read_unaligned();
                    if let Ok(at) = usize::try_from(index) {
                        let status = status(ended, statuses, number);
                        complete(ended, ended.request_before(at), status);
                    }
                }
            }
            _ => {}
        }
    }
}

/// The address of a status of several; that which stands for none, if the program asked for none.
fn status(ended: &Ended<'_>, statuses: u64, number: usize) -> u64 {
    if statuses == ended.abi.ignored {
        return statuses;
    }
    statuses + (number * ended.abi.status) as u64
}

/// The send of a call: buffer, count, type, destination, tag, communicator.
fn send(ended: &Ended<'_>) -> Request {
    Request {
        is_send: true,
        is_operation: false,
        is_persistent: false,
        posted: ended.began,
        communicator: handle(ended.abi, ended.around.argument(5)),
        peer: ended.around.argument(3) as i32,
        tag: ended.around.argument(4) as i32,
        bytes: ended.bytes(1, 2),
    }
}

/// The receive of a call with the same arguments.
fn receive(ended: &Ended<'_>) -> Request {
    Request {
        is_send: false,
        ..send(ended)
    }
}

/// A receive that the call itself completes.
fn now(ended: &Ended<'_>, communicator: usize) -> Request {
    Request {
        is_send: false,
        is_operation: false,
        is_persistent: false,
        posted: 0,
        communicator: handle(ended.abi, ended.around.argument(communicator)),
        peer: 0,
        tag: 0,
        bytes: 0,
    }
}

/// A message was posted.
fn sent(ended: &Ended<'_>, request: &Request, is_done: bool) {
    let Some(communicator) = ended.communicator_of(request.communicator) else {
        return;
    };
    let Some(rank) = communicator.world(request.peer) else {
        return;
    };
    let peer = PeerPayload {
        rank,
        tag: request.tag as u32,
    };
    let bytes = BytesPayload {
        bytes: request.bytes,
        comm: communicator.number,
    };
    let posted = if is_done {
        request.posted | MPI_DONE
    } else {
        request.posted
    };
    ended.push(&[
        (Kind::MpiPeer, peer.pack()),
        (Kind::MpiBytes, bytes.pack()),
        (Kind::MpiSent, posted),
    ]);
}

/// A receive was posted, or a message was found that will be received.
fn post(ended: &Ended<'_>, new: u64, request: Request) {
    keep(ended, new, request);
    ended.push(&[(Kind::MpiPosted, request.posted)]);
}

/// A collective operation was begun.
fn begin_operation(ended: &Ended<'_>, new: u64) {
    let Some(place) = ended.form.communicator() else {
        return;
    };
    let request = Request {
        is_operation: true,
        posted: ended.began,
        ..now(ended, place)
    };
    post(ended, new, request);
}

/// The call asks the ranks of its group for access to their windows, or grants it to them.
fn access(ended: &Ended<'_>, which: u64) {
    /// Asked together.
    const MOST: usize = 64;
    let Some(window) = ended.window() else { return };
    let group = handle(ended.abi, ended.around.argument(0));
    let mut size = 0i32;
    ask!(
        c"PMPI_Group_size",
        fn(u64, *mut i32) -> i32,
        (group, &raw mut size)
    );
    let size = size.max(0) as usize;
    for first in (0..size).step_by(MOST) {
        let mut ranks = [0i32; MOST];
        let count = MOST.min(size - first);
        let ranks = &mut ranks[..count];
        if world_ranks(ended.abi.handles[0], group, first, ranks) {
            for rank in ranks.iter().filter_map(|rank| u32::try_from(*rank).ok()) {
                push_access(ended, window, rank, which);
            }
        }
    }
}

/// The call locks the window of a rank.
fn lock(ended: &Ended<'_>) {
    let is_exclusive = ended.around.argument(0) as i32 == ended.abi.exclusive;
    let target = ended.around.argument(1) as i32;
    let which = if is_exclusive {
        MPI_LOCK_EXCLUSIVE
    } else {
        MPI_LOCK_SHARED
    };
    if let Some(window) = ended.window()
        && let Some(rank) = window.world(target)
    {
        push_access(ended, window, rank, which);
    }
}

fn push_access(ended: &Ended<'_>, window: Communicator, rank: u32, which: u64) {
    let bytes = BytesPayload {
        bytes: 0,
        comm: window.number,
    };
    ended.push(&[
        (Kind::MpiPeer, PeerPayload { rank, tag: 0 }.pack()),
        (Kind::MpiBytes, bytes.pack()),
        (Kind::MpiAccess, which),
    ]);
}

/// Keeps a request for the call that will complete it.
fn keep(ended: &Ended<'_>, new: u64, request: Request) {
    if !requests::put_alone(new, request) {
        ended.lose(1);
    }
}

/// A persistent request was started, the `number`-th of the call. What is posted is known by when its call began: of
/// several, each by a moment of its own.
fn start(ended: &Ended<'_>, request: u64, number: usize) {
    let posted = ended.began + number as u64;
    let Some(request) = requests::start(request, posted) else {
        return;
    };
    if request.is_send {
        sent(ended, &Request { posted, ..request }, false);
    } else {
        ended.push(&[(Kind::MpiPosted, posted)]);
    }
}

/// A request is complete.
///
/// # Safety
/// `status` stands for none, or is the address of a status that the call has written.
unsafe fn complete(ended: &Ended<'_>, request: u64, status: u64) {
    let Some(request) = requests::complete(request) else {
        return;
    };
    if request.is_operation {
        operation_done(ended, &request);
    } else if request.is_send {
        ended.push(&[(Kind::MpiSendDone, request.posted)]);
    } else if status == ended.abi.ignored {
        // There were too many for statuses of ours.
        ended.lose(1);
    } else if !is_cancelled(status) {
        // SAFETY: the caller's promise.
        unsafe { received(ended, &request, status) };
    }
}

/// A collective operation that was begun is complete.
fn operation_done(ended: &Ended<'_>, request: &Request) {
    if let Some(communicator) = ended.communicator_of(request.communicator) {
        let bytes = BytesPayload {
            bytes: 0,
            comm: communicator.number,
        };
        ended.push(&[
            (Kind::MpiBytes, bytes.pack()),
            (Kind::MpiOperationDone, request.posted),
        ]);
    }
}

/// Whether the program has cancelled a receive before a message came, by its status.
fn is_cancelled(status: u64) -> bool {
    let mut flag = 0i32;
    ask!(
        c"PMPI_Test_cancelled",
        fn(u64, *mut i32) -> i32,
        (status, &raw mut flag)
    );
    flag != 0
}

/// A message was received.
///
/// # Safety
/// `status` is the address of a status that the call has written.
unsafe fn received(ended: &Ended<'_>, request: &Request, status: u64) {
    let Some(communicator) = ended.communicator_of(request.communicator) else {
        return;
    };
    // SAFETY: the caller's promise; the tag is behind the source.
    let [source, tag] = unsafe {
        let source = (status as *const u8).add(ended.abi.source).cast::<i32>();
        [source.read_unaligned(), source.add(1).read_unaligned()]
    };
    let Some(rank) = communicator.world(source) else {
        return;
    };
    let peer = PeerPayload {
        rank,
        tag: tag as u32,
    };
    let bytes = BytesPayload {
        bytes: length(ended, status),
        comm: communicator.number,
    };
    ended.push(&[
        (Kind::MpiPeer, peer.pack()),
        (Kind::MpiBytes, bytes.pack()),
        (Kind::MpiReceived, request.posted),
    ]);
}

/// The bytes of a message, by its status.
fn length(ended: &Ended<'_>, status: u64) -> u64 {
    let [.., byte] = ended.abi.handles;
    let mut count = 0i32;
    let asked = ask!(
        c"PMPI_Get_count",
        fn(u64, u64, *mut i32) -> i32,
        (status, byte, &raw mut count)
    );
    if asked == 0 && count >= 0 {
        return count as u64;
    }
    let mut count = 0i64;
    ask!(
        c"PMPI_Get_elements_x",
        fn(u64, u64, *mut i64) -> i32,
        (status, byte, &raw mut count)
    );
    count.max(0) as u64
}
