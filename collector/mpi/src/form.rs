//! The forms of arguments: which argument is what, counted from 0.

/// The arguments of a function, in the order of C. `_c` functions have them, too, with wider counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// buffer, count, type, destination, tag, communicator.
    Send,
    /// The same, request.
    Isend,
    /// The same: the request is started later.
    SendInit,
    /// buffer, count, type, source, tag, communicator, status.
    Receive,
    /// buffer, count, type, source, tag, communicator, request.
    Ireceive,
    /// The same: the request is started later.
    ReceiveInit,
    /// buffer, count, type, destination, tag; buffer, count, type, source, tag; communicator, status.
    SendReceive,
    /// buffer, count, type, destination, tag, source, tag, communicator, status.
    SendReceiveReplace,
    /// source, tag, communicator, status.
    Probe,
    /// source, tag, communicator, flag, status.
    Iprobe,
    /// source, tag, communicator, message, status.
    Mprobe,
    /// source, tag, communicator, flag, message, status.
    Improbe,
    /// buffer, count, type, message, status.
    Mreceive,
    /// buffer, count, type, message, request.
    Imreceive,
    /// request.
    Start,
    /// number, requests.
    StartAll,
    /// request, status.
    Wait,
    /// request, flag, status.
    Test,
    /// number, requests, statuses.
    WaitAll,
    /// number, requests, flag, statuses.
    TestAll,
    /// number, requests, index, status.
    WaitAny,
    /// number, requests, index, flag, status.
    TestAny,
    /// number, requests, number done, indices, statuses.
    WaitSome,
    /// The same.
    TestSome,
    /// request.
    RequestFree,
    /// communicator.
    Barrier,
    /// buffer, count, type, root, communicator.
    Broadcast,
    /// buffer, buffer, count, type, operation, root, communicator.
    Reduce,
    /// buffer, buffer, count, type, operation, communicator.
    Allreduce,
    /// The same.
    Scan,
    /// buffer, count, type; buffer, count, type; root, communicator.
    Gather,
    /// buffer, count, type; buffer, counts, places, type; root, communicator.
    Gatherv,
    /// As [`Form::Gather`].
    Scatter,
    /// buffer, counts, places, type; buffer, count, type; root, communicator.
    Scatterv,
    /// buffer, count, type; buffer, count, type; communicator.
    Allgather,
    /// buffer, count, type; buffer, counts, places, type; communicator.
    Allgatherv,
    /// buffer, count, type; buffer, count, type; communicator.
    Alltoall,
    /// buffer, counts, places, type; buffer, counts, places, type; communicator.
    Alltoallv,
    /// buffer, counts, places, types; buffer, counts, places, types; communicator.
    Alltoallw,
    /// buffer, buffer, counts, type, operation, communicator.
    ReduceScatter,
    /// buffer, buffer, count, type, operation, communicator.
    ReduceScatterBlock,
    /// As [`Form::Allgather`].
    NeighborAllgather,
    /// As [`Form::Allgatherv`].
    NeighborAllgatherv,
    /// As [`Form::Alltoall`].
    NeighborAlltoall,
    /// As [`Form::Alltoallv`].
    NeighborAlltoallv,
    /// As [`Form::Alltoallw`].
    NeighborAlltoallw,
    /// communicator, new one.
    Communicator2,
    /// communicator, an argument, new one.
    Communicator3,
    /// communicator, two arguments, new one.
    Communicator4,
    /// communicator, three arguments, new one.
    Communicator5,
    /// communicator, four arguments, new one.
    Communicator6,
    /// communicator, seven arguments, new one.
    Communicator9,
    /// communicator, eight arguments, new one.
    Communicator10,
    /// communicator, new one, request.
    CommunicatorLater,
    /// communicator.
    CommunicatorFree,
    /// buffer, count, type, target, place, count, type, window, request of some.
    Put,
    /// The same.
    Get,
    /// buffer, count, type, target, place, count, type, operation, window, request of some.
    Accumulate,
    /// buffer, count, type; buffer, count, type; target, place, count, type, operation, window, request of some.
    GetAccumulate,
    /// buffer, buffer, type, target, place, operation, window.
    Fetch,
    /// three buffers, type, target, place, window.
    CompareAndSwap,
    /// assertion, window.
    Fence,
    /// group of targets, assertion, window.
    AccessStart,
    /// group of those that may access, assertion, window.
    AccessPost,
    /// type, target, assertion, window.
    Lock,
    /// target, window.
    OfTarget,
    /// window.
    OfWindow,
    /// memory, bytes, unit, info, communicator, new window.
    WindowCreate,
    /// bytes, unit, info, communicator, memory, new window.
    WindowAllocate,
    /// info, communicator, new window.
    WindowDynamic,
    /// window, by address.
    WindowFree,
    /// file, buffer, count, type and more.
    FileWrite,
    /// file, place, buffer, count, type and more.
    FileWriteAt,
    /// As [`Form::FileWrite`].
    FileRead,
    /// As [`Form::FileWriteAt`].
    FileReadAt,
    /// Nothing that is looked at.
    Plain,
    /// The program begins to use MPI.
    Init,
    /// It ends that.
    Finalize,
}

impl Form {
    /// The number of arguments; of functions of one form with different numbers, the largest. A collective operation
    /// that is begun has one more.
    pub const fn arguments(self) -> u32 {
        match self {
            Form::Start | Form::RequestFree | Form::Barrier | Form::CommunicatorFree => 1,
            Form::OfWindow | Form::WindowFree => 1,
            Form::Wait | Form::Communicator2 | Form::Init | Form::Fence | Form::OfTarget => 2,
            Form::StartAll | Form::Test | Form::WaitAll => 3,
            Form::Communicator3 | Form::CommunicatorLater => 3,
            Form::AccessStart | Form::AccessPost | Form::WindowDynamic => 3,
            Form::Probe | Form::TestAll | Form::WaitAny | Form::Communicator4 => 4,
            Form::Lock => 4,
            Form::Iprobe | Form::Mprobe | Form::TestAny | Form::WaitSome | Form::TestSome => 5,
            Form::Mreceive | Form::Imreceive | Form::Broadcast | Form::Communicator5 => 5,
            Form::FileWrite | Form::FileRead => 6,
            Form::Send | Form::Improbe | Form::Allreduce | Form::Scan => 6,
            Form::ReduceScatter | Form::ReduceScatterBlock => 6,
            Form::Communicator6 | Form::WindowCreate | Form::WindowAllocate => 6,
            Form::Isend | Form::SendInit | Form::Receive | Form::Ireceive => 7,
            Form::ReceiveInit | Form::Reduce | Form::Allgather | Form::Alltoall => 7,
            Form::NeighborAllgather | Form::NeighborAlltoall => 7,
            Form::FileWriteAt | Form::FileReadAt | Form::Fetch => 7,
            Form::CompareAndSwap => 7,
            Form::Gather | Form::Scatter | Form::Allgatherv | Form::NeighborAllgatherv => 8,
            Form::Gatherv | Form::Scatterv | Form::Alltoallv | Form::Alltoallw => 9,
            Form::NeighborAlltoallv | Form::NeighborAlltoallw => 9,
            Form::SendReceiveReplace | Form::Communicator9 | Form::Put | Form::Get => 9,
            Form::Accumulate | Form::Plain | Form::Communicator10 => 10,
            Form::SendReceive => 12,
            Form::GetAccumulate => 13,
            Form::Finalize => 0,
        }
    }

    /// Which argument is the communicator, of forms that have one.
    pub const fn communicator(self) -> Option<usize> {
        Some(match self {
            Form::Barrier
            | Form::Communicator2
            | Form::Communicator3
            | Form::Communicator4
            | Form::Communicator5
            | Form::Communicator6
            | Form::Communicator9
            | Form::Communicator10
            | Form::CommunicatorLater => 0,
            Form::WindowDynamic => 1,
            Form::WindowAllocate => 3,
            Form::WindowCreate => 4,
            Form::Probe | Form::Iprobe | Form::Mprobe | Form::Improbe => 2,
            Form::Broadcast => 4,
            Form::Send
            | Form::Isend
            | Form::SendInit
            | Form::Receive
            | Form::Ireceive
            | Form::ReceiveInit
            | Form::Allreduce
            | Form::Scan
            | Form::ReduceScatter
            | Form::ReduceScatterBlock => 5,
            Form::Reduce | Form::Allgather | Form::Alltoall => 6,
            Form::NeighborAllgather | Form::NeighborAlltoall => 6,
            Form::Gather
            | Form::Scatter
            | Form::Allgatherv
            | Form::NeighborAllgatherv
            | Form::SendReceiveReplace => 7,
            Form::Gatherv | Form::Scatterv | Form::Alltoallv | Form::Alltoallw => 8,
            Form::NeighborAlltoallv | Form::NeighborAlltoallw => 8,
            Form::SendReceive => 10,
            _ => return None,
        })
    }

    /// Which argument is the root.
    pub const fn root(self) -> Option<usize> {
        Some(match self {
            Form::Broadcast => 3,
            Form::Reduce => 5,
            Form::Gather | Form::Scatter => 6,
            Form::Gatherv | Form::Scatterv => 7,
            _ => return None,
        })
    }

    /// Which argument is the window.
    pub const fn window(self) -> Option<usize> {
        Some(match self {
            Form::OfWindow => 0,
            Form::Fence | Form::OfTarget => 1,
            Form::AccessStart | Form::AccessPost => 2,
            Form::Lock => 3,
            Form::Fetch | Form::CompareAndSwap => 6,
            Form::Put | Form::Get => 7,
            Form::Accumulate => 8,
            Form::GetAccumulate => 11,
            _ => return None,
        })
    }

    /// Which argument is the target, a rank of the window.
    pub const fn target(self) -> Option<usize> {
        Some(match self {
            Form::OfTarget => 0,
            Form::Lock => 1,
            Form::Put | Form::Get | Form::Accumulate | Form::Fetch => 3,
            Form::CompareAndSwap => 4,
            Form::GetAccumulate => 6,
            _ => return None,
        })
    }

    /// Which argument is the new window.
    pub const fn new_window(self) -> Option<usize> {
        match self {
            Form::WindowCreate | Form::WindowAllocate => Some(5),
            Form::WindowDynamic => Some(2),
            _ => None,
        }
    }

    /// Which argument is the status.
    pub const fn status(self) -> Option<usize> {
        Some(match self {
            Form::Receive => 6,
            Form::SendReceive => 11,
            Form::SendReceiveReplace => 8,
            Form::Mreceive => 4,
            Form::Wait => 1,
            Form::Test => 2,
            Form::WaitAny => 3,
            Form::TestAny => 4,
            _ => return None,
        })
    }

    /// Which arguments are the number of requests, the requests and the statuses.
    pub const fn requests(self) -> Option<[usize; 3]> {
        Some(match self {
            Form::WaitAll => [0, 1, 2],
            Form::TestAll | Form::WaitAny => [0, 1, 3],
            Form::TestAny | Form::WaitSome | Form::TestSome => [0, 1, 4],
            _ => return None,
        })
    }

    /// Which arguments are counts, and which are arrays of counts or places. Others are the same in both functions.
    pub const fn counts(self) -> (&'static [usize], &'static [usize]) {
        match self {
            Form::Send | Form::Isend | Form::SendInit | Form::Receive | Form::Ireceive => {
                (&[1], &[])
            }
            Form::ReceiveInit | Form::SendReceiveReplace | Form::Broadcast => (&[1], &[]),
            Form::Mreceive | Form::Imreceive => (&[1], &[]),
            Form::SendReceive => (&[1, 6], &[]),
            Form::Reduce | Form::Allreduce | Form::Scan | Form::ReduceScatterBlock => (&[2], &[]),
            Form::Gather | Form::Scatter | Form::Allgather | Form::Alltoall => (&[1, 4], &[]),
            Form::NeighborAllgather | Form::NeighborAlltoall => (&[1, 4], &[]),
            Form::Gatherv | Form::Allgatherv | Form::NeighborAllgatherv => (&[1], &[4, 5]),
            Form::Scatterv => (&[5], &[1, 2]),
            Form::Alltoallv | Form::Alltoallw | Form::NeighborAlltoallv => (&[], &[1, 2, 5, 6]),
            Form::NeighborAlltoallw => (&[], &[1, 5]),
            Form::ReduceScatter => (&[], &[2]),
            Form::Put | Form::Get | Form::Accumulate => (&[1, 5], &[]),
            Form::GetAccumulate => (&[1, 4, 8], &[]),
            Form::FileWrite | Form::FileRead => (&[2], &[]),
            Form::FileWriteAt | Form::FileReadAt => (&[3], &[]),
            _ => (&[], &[]),
        }
    }

    /// Which argument is the new communicator, of those that make one at once.
    pub const fn new_communicator(self) -> Option<usize> {
        match self {
            Form::Communicator2
            | Form::Communicator3
            | Form::Communicator4
            | Form::Communicator5
            | Form::Communicator6
            | Form::Communicator9
            | Form::Communicator10 => Some(self.arguments() as usize - 1),
            _ => None,
        }
    }

    /// Which argument is the flag or number that says whether a call has found something, of those that ask.
    pub const fn found(self) -> Option<usize> {
        match self {
            Form::Test => Some(1),
            Form::TestAll | Form::TestSome => Some(2),
            Form::TestAny | Form::Iprobe | Form::Improbe => Some(3),
            _ => None,
        }
    }
}
