//! Communicators and windows by handle: what all of their ranks know them by.
//!
//! A communicator is known by a number made of the ranks in it and of how many of the same ranks were made before,
//! which all of its ranks count alike, since they make communicators in the same order. No message is sent for that. A window
//! is known likewise: its handle is none of a communicator, in each implementation.

use inside::memory;
use omp_ring::record::{BytesPayload, PeerPayload};

use super::real::{self, ask};
use super::table::{Refused, Table};

/// The communicators that exist: for each its number, its ranks and the own rank, and where the other ranks are.
static COMMUNICATORS: Table<4096, 3> = Table::new();
/// How many communicators were made of the ranks with this hash.
static MADE: Table<4096, 1> = Table::new();

/// What `MPI_COMM_WORLD` and `MPI_COMM_SELF` are known by.
const WORLD: u32 = 1;
const OWN: u32 = 2;
/// Numbers below it stand for those two.
const FIRST: u32 = 16;

/// A communicator that exists.
#[derive(Clone, Copy, Debug)]
pub(super) struct Communicator {
    /// Its number in the process, from 1.
    pub(super) number: u32,
    /// The number of ranks that a message may come from.
    pub(super) size: u32,
    /// The own rank.
    pub(super) own: u32,
    /// Where their ranks in `MPI_COMM_WORLD` are; 0 if they are the same.
    ranks: u64,
}

impl Communicator {
    fn of((at, [_, size_and_own, ranks]): (usize, [u64; 3])) -> Communicator {
        Communicator {
            number: at as u32 + 1,
            size: size_and_own as u32,
            own: (size_and_own >> 32) as u32,
            ranks,
        }
    }

    /// The rank in `MPI_COMM_WORLD` of one of its ranks; `None` for a constant that is no rank.
    pub(super) fn world(&self, rank: i32) -> Option<u32> {
        let rank = u32::try_from(rank).ok().filter(|rank| *rank < self.size)?;
        if self.ranks == 0 {
            return Some(rank);
        }
        // SAFETY: an array of `size` ranks, which is never unmapped while the communicator exists.
        let world = unsafe { *(self.ranks as *const i32).add(rank as usize) };
        u32::try_from(world).ok()
    }
}

/// A new communicator, for the ring.
pub(super) struct Made {
    pub(super) size: BytesPayload,
    pub(super) known: PeerPayload,
}

/// The communicator with this handle. One that was not seen when it was made is added, with what tells of it.
pub(super) fn of(handle: u64) -> (Option<Communicator>, Option<Made>) {
    match COMMUNICATORS.find(handle) {
        Some(found) => (Some(Communicator::of(found)), None),
        None => add(handle),
    }
}

/// The window with this handle. One that was not seen when it was made is not known: its ranks cannot be asked alike.
pub(super) fn known(handle: u64) -> Option<Communicator> {
    COMMUNICATORS.find(handle).map(Communicator::of)
}

/// The communicator ceases to exist. Its ranks stay mapped: another thread may look at them.
pub(super) fn forget(handle: u64) {
    COMMUNICATORS.take(handle);
}

/// Adds a communicator that was just made.
#[cold]
pub(super) fn add(handle: u64) -> (Option<Communicator>, Option<Made>) {
    let none = (None, None);
    let Some(abi) = real::interface() else {
        return none;
    };
    let [world, own, no, ..] = abi.handles;
    if handle == no || handle == 0 {
        return none;
    }
    let (mut rank, mut is_inter) = (0i32, 0i32);
    let ok = ask!(
        c"PMPI_Comm_rank",
        fn(u64, *mut i32) -> i32,
        (handle, &raw mut rank)
    ) == 0
        && ask!(
            c"PMPI_Comm_test_inter",
            fn(u64, *mut i32) -> i32,
            (handle, &raw mut is_inter)
        ) == 0;
    let Some(rank) = u32::try_from(rank).ok().filter(|_| ok) else {
        return none;
    };
    if handle == world {
        let mut size = 0i32;
        let sized = ask!(
            c"PMPI_Comm_size",
            fn(u64, *mut i32) -> i32,
            (handle, &raw mut size)
        );
        return match u32::try_from(size) {
            Ok(size) if sized == 0 => put(handle, WORLD, [size, rank], 0),
            _ => none,
        };
    }
    let mut group = 0u64;
    let has_group = if is_inter != 0 {
        ask!(
            c"PMPI_Comm_remote_group",
            fn(u64, *mut u64) -> i32,
            (handle, &raw mut group)
        )
    } else {
        ask!(
            c"PMPI_Comm_group",
            fn(u64, *mut u64) -> i32,
            (handle, &raw mut group)
        )
    };
    let members = (has_group == 0).then(|| members(world, group)).flatten();
    let Some(Members { ranks, size, hash }) = members else {
        return none;
    };
    let id = if handle == own { OWN } else { id(hash) };
    put(handle, id, [size, rank], ranks)
}

/// Adds a window that was just made.
#[cold]
pub(super) fn add_window(handle: u64) -> (Option<Communicator>, Option<Made>) {
    let mut group = 0u64;
    let Some(abi) = real::interface() else {
        return (None, None);
    };
    let has_group = ask!(
        c"PMPI_Win_get_group",
        fn(u64, *mut u64) -> i32,
        (handle, &raw mut group)
    );
    let mut rank = 0i32;
    let ranked = has_group == 0
        && ask!(
            c"PMPI_Group_rank",
            fn(u64, *mut i32) -> i32,
            (group, &raw mut rank)
        ) == 0;
    let rank = u32::try_from(rank).ok().filter(|_| ranked);
    let members = (has_group == 0)
        .then(|| members(abi.handles[0], group))
        .flatten();
    match (members, rank) {
        (Some(Members { ranks, size, hash }), Some(rank)) => {
            // Windows are counted apart from communicators of the same ranks.
            put(handle, id(!hash), [size, rank], ranks)
        }
        _ => (None, None),
    }
}

/// Puts one in, with what it is known by and where its ranks in `MPI_COMM_WORLD` are.
fn put(
    handle: u64,
    id: u32,
    [size, rank]: [u32; 2],
    ranks: u64,
) -> (Option<Communicator>, Option<Made>) {
    if size == 0 {
        return (None, None);
    }
    let words = [
        u64::from(id),
        u64::from(size) | u64::from(rank) << 32,
        ranks,
    ];
    let at = match COMMUNICATORS.put(handle, words) {
        Ok(at) => at,
        // Another thread was first.
        Err(Refused::Known) => return (COMMUNICATORS.find(handle).map(Communicator::of), None),
        Err(Refused::Full) => return (None, None),
    };
    let made = Made {
        size: BytesPayload {
            bytes: u64::from(size),
            comm: at as u32 + 1,
        },
        known: PeerPayload {
            rank: id,
            tag: rank,
        },
    };
    (Some(Communicator::of((at, words))), Some(made))
}

/// A number for the next communicator of the ranks with this hash.
fn id(hash: u64) -> u32 {
    let hash = hash | 1 << 63;
    let before = match MADE.put(hash, [1]) {
        Ok(_) | Err(Refused::Full) => 0,
        Err(Refused::Known) => {
            let before = MADE.find(hash).map_or(0, |(_, [made])| made);
            MADE.set(hash, 0, before + 1);
            before
        }
    };
    let mixed = (hash ^ hash >> 32) as u32;
    let id = mixed.wrapping_add((before as u32).wrapping_mul(0x9e37_79b1));
    id.max(FIRST)
}

/// The ranks of a group.
struct Members {
    /// Where their ranks in `MPI_COMM_WORLD` are, in memory of their own.
    ranks: u64,
    /// Their number.
    size: u32,
    /// A hash of them.
    hash: u64,
}

/// The ranks of a group, which is freed.
fn members(world: u64, mut group: u64) -> Option<Members> {
    let mut size = 0i32;
    let sized = ask!(
        c"PMPI_Group_size",
        fn(u64, *mut i32) -> i32,
        (group, &raw mut size)
    );
    let count = usize::try_from(size).ok().filter(|_| sized == 0);
    let ranks = count.and_then(|count| {
        let there = memory::map_bytes(count.max(1) * 4)?.cast::<i32>();
        // SAFETY: a new mapping of so many, aligned to pages.
        let ranks = unsafe { std::slice::from_raw_parts_mut(there, count) };
        world_ranks(world, group, 0, ranks).then_some((there as u64, &*ranks))
    });
    ask!(c"PMPI_Group_free", fn(*mut u64) -> i32, (&raw mut group));
    let (there, ranks) = ranks?;
    // FNV-1a.
    let hash = ranks.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, rank| {
        (hash ^ u64::from(*rank as u32)).wrapping_mul(0x100_0000_01b3)
    });
    Some(Members {
        ranks: there,
        size: size as u32,
        hash,
    })
}

/// Writes the ranks in `MPI_COMM_WORLD` of a group's ranks from `first` on. Returns whether they are known.
pub(super) fn world_ranks(world: u64, group: u64, first: usize, ranks: &mut [i32]) -> bool {
    /// Asked together.
    const MOST: usize = 64;
    let mut all = 0u64;
    let has_all = ask!(
        c"PMPI_Comm_group",
        fn(u64, *mut u64) -> i32,
        (world, &raw mut all)
    ) == 0;
    let mut number = first as i32;
    let mut is_known = has_all;
    for part in ranks.chunks_mut(MOST) {
        let mut numbers = [0i32; MOST];
        for place in &mut numbers {
            *place = number;
            number += 1;
        }
        // The last of the array may be more than there are.
        number -= (MOST - part.len()) as i32;
        is_known = is_known
            && ask!(
                c"PMPI_Group_translate_ranks",
                fn(u64, i32, *const i32, u64, *mut i32) -> i32,
                (
                    group,
                    part.len() as i32,
                    numbers.as_ptr(),
                    all,
                    part.as_mut_ptr()
                )
            ) == 0;
    }
    if has_all {
        ask!(c"PMPI_Group_free", fn(*mut u64) -> i32, (&raw mut all));
    }
    is_known
}
