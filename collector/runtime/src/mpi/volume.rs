//! Bytes of collective and one-sided operations and of files, as the program gives them.
//!
//! What a rank contributes counts as sent, and what it gets as received, whatever an implementation sends for that.

use mpi::{Abi, Form};

use super::call::Ended;
use super::communicators::Communicator;
use super::real::{ask, bytes_of};

/// What a call moved besides messages.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Volume {
    pub(super) sent: u64,
    pub(super) received: u64,
    /// The number of the communicator or window in the process; 0: none.
    pub(super) communicator: u32,
    /// The rank of the root or target in `MPI_COMM_WORLD`, if there is one.
    pub(super) peer: Option<u32>,
}

/// The part of a rank in an operation with a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Root,
    /// The root of a group of other ranks, to which it does not belong.
    RemoteRoot,
    Other,
    /// Of a group between whose ranks and the root nothing passes.
    None,
}

/// What the call moved.
///
/// # Safety
/// The arguments are those of a call of this form that has returned without an error.
pub(super) unsafe fn of(ended: &Ended<'_>) -> Volume {
    let communicator = ended
        .form
        .communicator()
        .and_then(|at| ended.communicator(at))
        .or_else(|| ended.window());
    let number = communicator.map_or(0, |it| it.number);
    let rank = |place: Option<usize>| place.map(|at| ended.around.argument(at) as i32);
    let root = rank(ended.form.root());
    let peer = root.or(rank(ended.form.target()));
    let peer = peer.and_then(|peer| communicator?.world(peer));
    let part = part(ended, communicator, root);
    // SAFETY: the caller's promise.
    let [sent, received] = unsafe { bytes(ended, communicator, part) };
    Volume {
        sent,
        received,
        communicator: number,
        peer,
    }
}

fn part(ended: &Ended<'_>, communicator: Option<Communicator>, root: Option<i32>) -> Part {
    let [none, is_root] = ended.abi.ranks;
    match root {
        Some(root) if root == none => Part::None,
        Some(root) if root == is_root => Part::RemoteRoot,
        Some(root) if communicator.is_some_and(|it| it.own as i32 == root) => Part::Root,
        _ => Part::Other,
    }
}

/// Bytes sent and received.
///
/// # Safety
/// As for [`of`].
unsafe fn bytes(ended: &Ended<'_>, communicator: Option<Communicator>, part: Part) -> [u64; 2] {
    let size = communicator.map_or(0, |it| u64::from(it.size));
    let own = communicator.map_or(0, |it| it.own as usize);
    let is_in_place = |place: usize| ended.around.argument(place) == ended.abi.in_place;
    let neighbours_of = |place: usize| {
        let handle = super::real::handle(ended.abi, ended.around.argument(place));
        communicator.map_or([0, 0], |it| neighbours(ended.abi, handle, it))
    };
    let is_root = part == Part::Root;
    let is_remote = part == Part::RemoteRoot;
    // SAFETY: the caller's promise, here and below.
    let sum_of = |number: u64, counts: usize, datatype: usize| unsafe {
        sum(ended, counts, datatype, number)
    };
    let sum = |counts: usize, datatype: usize| sum_of(size, counts, datatype);
    // SAFETY: as above.
    let one = |counts: usize, datatype: usize| unsafe {
        bytes_of(
            count_at(ended, counts, own),
            ended.around.argument(datatype),
        )
    };
    match ended.form {
        _ if part == Part::None => [0, 0],
        Form::Broadcast => {
            let all = ended.bytes(1, 2);
            if is_root || is_remote {
                [all, 0]
            } else {
                [0, all]
            }
        }
        Form::Reduce => {
            let all = ended.bytes(2, 3);
            match part {
                Part::Root => [all, all],
                Part::RemoteRoot => [0, all],
                _ => [all, 0],
            }
        }
        Form::Allreduce | Form::Scan => [ended.bytes(2, 3); 2],
        Form::Gather if is_remote => [0, ended.bytes(4, 5) * size],
        Form::Gatherv if is_remote => [0, sum(4, 6)],
        Form::Scatter if is_remote => [ended.bytes(1, 2) * size, 0],
        Form::Scatterv if is_remote => [sum(1, 3), 0],
        Form::Gather => {
            let received = if is_root { ended.bytes(4, 5) } else { 0 };
            let sent = if is_in_place(0) {
                received
            } else {
                ended.bytes(1, 2)
            };
            [sent, received * size]
        }
        Form::Gatherv => {
            let received = if is_root { sum(4, 6) } else { 0 };
            let sent = if is_in_place(0) {
                one(4, 6)
            } else {
                ended.bytes(1, 2)
            };
            [sent, received]
        }
        Form::Scatter => {
            let sent = if is_root { ended.bytes(1, 2) } else { 0 };
            let received = if is_in_place(3) {
                sent
            } else {
                ended.bytes(4, 5)
            };
            [sent * size, received]
        }
        Form::Scatterv => {
            let sent = if is_root { sum(1, 3) } else { 0 };
            let received = if is_in_place(4) {
                one(1, 3)
            } else {
                ended.bytes(5, 6)
            };
            [sent, received]
        }
        Form::Allgather => {
            let each = ended.bytes(4, 5);
            let sent = if is_in_place(0) {
                each
            } else {
                ended.bytes(1, 2)
            };
            [sent, each * size]
        }
        Form::Allgatherv => {
            let sent = if is_in_place(0) {
                one(4, 6)
            } else {
                ended.bytes(1, 2)
            };
            [sent, sum(4, 6)]
        }
        Form::Alltoall => {
            let each = ended.bytes(4, 5);
            let sent = if is_in_place(0) {
                each
            } else {
                ended.bytes(1, 2)
            };
            [sent * size, each * size]
        }
        Form::Alltoallv => {
            let received = sum(5, 7);
            [if is_in_place(0) { received } else { sum(1, 3) }, received]
        }
        Form::Alltoallw => {
            // SAFETY: the caller's promise.
            unsafe {
                let received = sum_of_types(ended, 5, 7, size);
                let sent = if is_in_place(0) {
                    received
                } else {
                    sum_of_types(ended, 1, 3, size)
                };
                [sent, received]
            }
        }
        Form::ReduceScatter => [sum(2, 3), one(2, 3)],
        Form::ReduceScatterBlock => {
            let each = ended.bytes(2, 3);
            [each * size, each]
        }
        Form::NeighborAllgather => {
            let [from, to] = neighbours_of(6);
            [
                ended.bytes(1, 2) * u64::from(to > 0),
                ended.bytes(4, 5) * from,
            ]
        }
        Form::NeighborAlltoall => {
            let [from, to] = neighbours_of(6);
            [ended.bytes(1, 2) * to, ended.bytes(4, 5) * from]
        }
        Form::NeighborAllgatherv => {
            let [from, to] = neighbours_of(7);
            [ended.bytes(1, 2) * u64::from(to > 0), sum_of(from, 4, 6)]
        }
        Form::NeighborAlltoallv => {
            let [from, to] = neighbours_of(8);
            [sum_of(to, 1, 3), sum_of(from, 5, 7)]
        }
        Form::NeighborAlltoallw => {
            let [from, to] = neighbours_of(8);
            // SAFETY: the caller's promise.
            unsafe {
                [
                    sum_of_types(ended, 1, 3, to),
                    sum_of_types(ended, 5, 7, from),
                ]
            }
        }
        Form::Put | Form::Accumulate => [ended.bytes(1, 2), 0],
        Form::Get => [0, ended.bytes(1, 2)],
        Form::GetAccumulate => [ended.bytes(1, 2), ended.bytes(4, 5)],
        Form::FileWrite => [ended.bytes(2, 3), 0],
        Form::FileWriteAt => [ended.bytes(3, 4), 0],
        Form::FileRead => [0, ended.bytes(2, 3)],
        Form::FileReadAt => [0, ended.bytes(3, 4)],
        _ => [0, 0],
    }
}

/// An element of an array of counts.
///
/// # Safety
/// The argument is such an array, and has so many.
unsafe fn count_at(ended: &Ended<'_>, counts: usize, at: usize) -> u64 {
    let array = ended.around.argument(counts);
    if array == 0 {
        return 0;
    }
    // SAFETY: the caller's promise.
    let count = unsafe {
        if mpi::is_large(ended.function) {
            (array as *const i64).add(at).read_unaligned()
        } else {
            i64::from((array as *const i32).add(at).read_unaligned())
        }
    };
    count.max(0) as u64
}

/// The bytes of all elements that an array counts.
///
/// # Safety
/// As for [`count_at`].
unsafe fn sum(ended: &Ended<'_>, counts: usize, datatype: usize, size: u64) -> u64 {
    // SAFETY: the caller's promise.
    let elements = (0..size as usize).map(|at| unsafe { count_at(ended, counts, at) });
    let elements: u64 = elements.sum();
    bytes_of(elements, ended.around.argument(datatype))
}

/// The same with a type for each.
///
/// # Safety
/// As for [`count_at`]; the other argument is an array of as many types.
unsafe fn sum_of_types(ended: &Ended<'_>, counts: usize, types: usize, size: u64) -> u64 {
    let array = ended.around.argument(types);
    let of_rank = |at: usize| {
        // SAFETY: the caller's promise.
        unsafe {
            let datatype = super::real::handle_at(ended.abi, array, at);
            bytes_of(count_at(ended, counts, at), datatype)
        }
    };
    (0..size as usize).map(of_rank).sum()
}

/// How many elements an array of counts has.
pub(super) fn elements(
    form: Form,
    place: usize,
    handle: u64,
    abi: &Abi,
    communicator: Communicator,
) -> u64 {
    let [from, to] = match form {
        Form::NeighborAllgatherv | Form::NeighborAlltoallv | Form::NeighborAlltoallw => {
            neighbours(abi, handle, communicator)
        }
        _ => [u64::from(communicator.size); 2],
    };
    // Those of what is sent come first.
    if place < 3 { to } else { from }
}

/// How many neighbours of the topology send to the rank, and how many it sends to.
fn neighbours(abi: &Abi, handle: u64, communicator: Communicator) -> [u64; 2] {
    let own = communicator.own as i32;
    let mut topology = 0i32;
    ask!(
        c"PMPI_Topo_test",
        fn(u64, *mut i32) -> i32,
        (handle, &raw mut topology)
    );
    let [graph, grid, distributed] = abi.topologies;
    let [mut from, mut to, mut more] = [0i32; 3];
    if topology == distributed {
        ask!(
            c"PMPI_Dist_graph_neighbors_count",
            fn(u64, *mut i32, *mut i32, *mut i32) -> i32,
            (handle, &raw mut from, &raw mut to, &raw mut more)
        );
    } else if topology == graph {
        ask!(
            c"PMPI_Graph_neighbors_count",
            fn(u64, i32, *mut i32) -> i32,
            (handle, own, &raw mut from)
        );
        to = from;
    } else if topology == grid {
        ask!(
            c"PMPI_Cartdim_get",
            fn(u64, *mut i32) -> i32,
            (handle, &raw mut more)
        );
        let [none, _] = abi.ranks;
        for dimension in 0..more {
            let mut ends = [none; 2];
            let [before, behind] = &mut ends;
            ask!(
                c"PMPI_Cart_shift",
                fn(u64, i32, i32, *mut i32, *mut i32) -> i32,
                (handle, dimension, 1, before, behind)
            );
            from += ends.iter().filter(|end| **end != none).count() as i32;
        }
        to = from;
    }
    [from.max(0) as u64, to.max(0) as u64]
}
