//! Calls of MPI and messages, from their records.

use experiment::ids::{FrameId, Nanos, ObjectId, ThreadId};
use experiment::rows::{MessageEnd, MpiCall, MpiMessage};
use mpi::Interface;
use omp_ring::record::{
    BytesPayload, MPI_LOCK_EXCLUSIVE, MPI_LOCK_SHARED, MPI_POST, MPI_START, PeerPayload,
};
use rustc_hash::FxHashMap;

/// The call of MPI that a thread is in, and the prefixes of its next record.
#[derive(Default)]
pub(super) struct Current {
    call: Option<Begun>,
    peer: Option<PeerPayload>,
    bytes: Option<BytesPayload>,
    /// The address of the memory that it is about.
    subject: Option<u64>,
    /// The messages that the call has completed: when it ends, they are.
    completed: Vec<MpiMessage>,
}

/// A call that has begun.
#[derive(Clone, Copy)]
struct Begun {
    function: u16,
    call: FrameId,
    time: u64,
    sent: u64,
    received: u64,
}

/// Calls and messages of all threads.
#[derive(Default)]
pub(super) struct Mpi {
    calls: Vec<MpiCall>,
    messages: Vec<MpiMessage>,
    /// What is posted and not complete, by process and by when its call began, in units of the arena's clock.
    posted: FxHashMap<(i32, u64), Posted>,
    /// What communicators are known by, by process and number.
    communicators: FxHashMap<(i32, u32), u32>,
    /// What was posted beyond [`MOST_POSTED`] since it was asked for.
    lost: u64,
}

/// A message or receive that is posted.
enum Posted {
    Send(MpiMessage),
    Receive(ThreadId, Nanos),
}

/// The most messages that are posted and not complete. What is beyond it is lost.
const MOST_POSTED: usize = 1 << 20;

/// The thread that a record is of, its process, and when it was pushed.
#[derive(Clone, Copy)]
pub(super) struct Of {
    pub(super) thread: ThreadId,
    pub(super) pid: i32,
    pub(super) time: u64,
}

impl Current {
    pub(super) fn peer(&mut self, payload: u64) {
        self.peer = Some(PeerPayload::unpack(payload));
    }

    pub(super) fn bytes(&mut self, payload: u64) {
        self.bytes = Some(BytesPayload::unpack(payload));
    }

    pub(super) fn subject(&mut self, payload: u64) {
        self.subject = Some(payload);
    }

    pub(super) fn take_subject(&mut self) -> Option<u64> {
        self.subject.take()
    }

    /// The function and the call that the thread is in, and the address of the memory that it is about.
    pub(super) fn take_about(&mut self) -> Option<(u16, FrameId, u64)> {
        let (subject, begun) = (self.subject.take()?, self.call?);
        Some((begun.function, begun.call, subject))
    }

    pub(super) fn begin(&mut self, function: u16, call: FrameId, time: u64) {
        *self = Current {
            call: Some(Begun {
                function,
                call,
                time,
                sent: 0,
                received: 0,
            }),
            ..Current::default()
        };
    }
}

impl Mpi {
    /// A communicator that is made.
    pub(super) fn communicator(&mut self, current: &mut Current, pid: i32, payload: u64) {
        if let Some(known) = current.peer.take() {
            let number = BytesPayload::unpack(payload).comm;
            self.communicators.insert((pid, number), known.rank);
        }
    }

    /// The end of a message that the two prefixes describe.
    fn end_of(&self, current: &mut Current, of: Of, end: MessageEnd) -> Option<MpiMessage> {
        let (peer, bytes) = (current.peer.take()?, current.bytes.take()?);
        let begun = current.call?;
        Some(MpiMessage {
            thread: of.thread,
            end,
            posted: Nanos(begun.time),
            length: MpiMessage::NEVER,
            peer: peer.rank,
            tag: peer.tag,
            comm: self.known_by(of.pid, bytes.comm),
            bytes: bytes.bytes,
        })
    }

    fn known_by(&self, pid: i32, number: u32) -> u32 {
        self.communicators.get(&(pid, number)).copied().unwrap_or(0)
    }

    /// What all ranks know the ranks of an operation by. Interfaces without communicators tell that themselves, and
    /// their numbers are none of MPI's.
    fn group(&self, pid: i32, function: u16, number: u32) -> u32 {
        match (Interface::of(function), number) {
            (Interface::Mpi, _) => self.known_by(pid, number),
            (_, 0) => 0,
            (interface, _) => number | (interface as u32) << 24 | 1 << 31,
        }
    }

    fn post(&mut self, key: (i32, u64), posted: Posted) {
        if self.posted.len() < MOST_POSTED {
            self.posted.insert(key, posted);
        } else {
            self.lost += 1;
        }
    }

    /// A message is sent: posted when its call began, at `posted` of the arena's clock.
    pub(super) fn sent(&mut self, current: &mut Current, of: Of, posted: u64, is_done: bool) {
        let Some(message) = self.end_of(current, of, MessageEnd::Sent) else {
            return;
        };
        if let Some(call) = &mut current.call {
            call.sent += message.bytes;
        }
        if is_done {
            current.completed.push(message);
        } else {
            self.post((of.pid, posted), Posted::Send(message));
        }
    }

    /// A receive is posted, or a collective operation is begun.
    pub(super) fn receive_posted(&mut self, current: &Current, of: Of, posted: u64) {
        if let Some(begun) = current.call {
            let posting = Posted::Receive(of.thread, Nanos(begun.time));
            self.post((of.pid, posted), posting);
        }
    }

    /// A message is received; `posted` is 0 if by the call that posted the receive.
    pub(super) fn received(&mut self, current: &mut Current, of: Of, posted: u64) {
        let Some(mut message) = self.end_of(current, of, MessageEnd::Received) else {
            return;
        };
        if posted != 0 {
            let Some(Posted::Receive(thread, time)) = self.posted.remove(&(of.pid, posted)) else {
                return;
            };
            (message.thread, message.posted) = (thread, time);
        }
        if let Some(call) = &mut current.call {
            call.received += message.bytes;
        }
        current.completed.push(message);
    }

    /// A collective operation that was begun before is complete.
    pub(super) fn operation_done(&mut self, current: &mut Current, of: Of, posted: u64) {
        let Some(Posted::Receive(thread, time)) = self.posted.remove(&(of.pid, posted)) else {
            return;
        };
        let none = PeerPayload { rank: 0, tag: 0 };
        current.peer(none.pack());
        if let Some(mut operation) = self.end_of(current, of, MessageEnd::Operation) {
            (operation.thread, operation.posted) = (thread, time);
            current.completed.push(operation);
        }
    }

    /// The call asks a rank for access to its window, or grants it access to its own.
    pub(super) fn access(&mut self, current: &mut Current, of: Of, which: u64) {
        let end = match which {
            MPI_START => MessageEnd::Start,
            MPI_POST => MessageEnd::Post,
            MPI_LOCK_SHARED => MessageEnd::LockShared,
            MPI_LOCK_EXCLUSIVE => MessageEnd::LockExclusive,
            _ => return,
        };
        if let Some(access) = self.end_of(current, of, end) {
            current.completed.push(access);
        }
    }

    /// A message that was posted before is sent.
    pub(super) fn send_done(&mut self, current: &mut Current, of: Of, posted: u64) {
        if let Some(Posted::Send(message)) = self.posted.remove(&(of.pid, posted)) {
            current.completed.push(message);
        }
    }

    /// The thread's call ends. The prefixes tell what it moved besides messages.
    pub(super) fn end(&mut self, current: &mut Current, of: Of, received: u64, object: ObjectId) {
        for mut message in current.completed.drain(..) {
            message.length = Nanos(of.time.saturating_sub(message.posted.0));
            self.messages.push(message);
        }
        let (peer, bytes) = (current.peer.take(), current.bytes.take());
        let Some(begun) = current.call.take() else {
            return;
        };
        self.calls.push(MpiCall {
            thread: of.thread,
            start: Nanos(begun.time),
            length: Nanos(of.time.saturating_sub(begun.time)),
            count: 1,
            function: begun.function,
            call: begun.call,
            comm: bytes.map_or(0, |bytes| self.group(of.pid, begun.function, bytes.comm)),
            peer: peer.map_or(0, |peer| peer.rank.saturating_add(1)),
            object,
            sent: begun.sent + bytes.map_or(0, |bytes| bytes.bytes),
            received: begun.received + received,
        });
    }

    /// Calls that asked, and found nothing: so many, which took so long together, until now.
    pub(super) fn polled(
        &mut self,
        of: Of,
        (function, call): (u16, FrameId),
        (count, length): (u32, u64),
    ) {
        self.calls.push(MpiCall {
            thread: of.thread,
            start: Nanos(of.time.saturating_sub(length)),
            length: Nanos(length),
            count,
            function,
            call,
            comm: 0,
            peer: 0,
            object: ObjectId::NONE,
            sent: 0,
            received: 0,
        });
    }

    /// How many messages there was no room for since the last call.
    pub(super) fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }

    /// Returns what has ended since the last call; at the end, also messages that are not complete.
    pub(super) fn take(&mut self, is_end: bool) -> (Vec<MpiCall>, Vec<MpiMessage>) {
        if is_end {
            let open = self.posted.drain().filter_map(|(_, posted)| match posted {
                Posted::Send(message) => Some(message),
                Posted::Receive(..) => None,
            });
            self.messages.extend(open);
        }
        (
            std::mem::take(&mut self.calls),
            std::mem::take(&mut self.messages),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF: Of = Of {
        thread: ThreadId(3),
        pid: 10,
        time: 900,
    };

    fn describe(current: &mut Current, rank: u32, bytes: u64) {
        current.peer(PeerPayload { rank, tag: 5 }.pack());
        current.bytes(BytesPayload { bytes, comm: 1 }.pack());
    }

    #[test]
    fn a_message_lasts_from_its_post_to_the_end_of_the_call_that_completes_it() {
        let (mut mpi, mut current) = (Mpi::default(), Current::default());
        current.peer(PeerPayload { rank: 77, tag: 0 }.pack());
        mpi.communicator(&mut current, 10, BytesPayload { bytes: 4, comm: 1 }.pack());
        let at = |time| Of { time, ..OF };
        // A nonblocking send and receive, completed by one call.
        current.begin(1, FrameId(4), 100);
        describe(&mut current, 2, 64);
        mpi.sent(&mut current, at(110), 55, false);
        mpi.end(&mut current, at(110), 0, ObjectId::NONE);
        current.begin(2, FrameId(5), 120);
        mpi.receive_posted(&current, at(130), 66);
        mpi.end(&mut current, at(130), 0, ObjectId::NONE);
        current.begin(3, FrameId(6), 200);
        mpi.send_done(&mut current, at(500), 55);
        describe(&mut current, 1, 8);
        mpi.received(&mut current, at(500), 66);
        mpi.end(&mut current, at(500), 0, ObjectId::NONE);
        let (calls, messages) = mpi.take(false);
        let lengths = calls
            .iter()
            .map(|call| (call.length.0, call.sent, call.received));
        assert!(lengths.eq([(10, 64, 0), (10, 0, 0), (300, 0, 8)]));
        let ends = messages
            .iter()
            .map(|it| (it.end, it.posted.0, it.length.0, it.peer, it.comm));
        assert!(ends.eq([
            (MessageEnd::Sent, 100, 400, 2, 77),
            (MessageEnd::Received, 120, 380, 1, 77),
        ]));
        // One that nothing completes is known at the end.
        current.begin(1, FrameId(4), 600);
        describe(&mut current, 2, 64);
        mpi.sent(&mut current, at(610), 99, false);
        mpi.end(&mut current, at(610), 0, ObjectId::NONE);
        assert!(mpi.take(false).1.is_empty());
        let (_, open) = mpi.take(true);
        assert_eq!(open.len(), 1);
        assert_eq!(open[0].length, MpiMessage::NEVER);
    }
}
