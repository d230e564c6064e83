//! Communicators by handle: what all of their ranks know them by.
//!
//! A communicator is known by a number made of the ranks in it and of how many of the same ranks were made before,
//! which all of its ranks count alike, since they make communicators in the same order. No message is sent for that.

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
    let (mut size, mut rank, mut is_inter) = (0i32, 0i32, 0i32);
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
    let sized = if is_inter != 0 {
        ask!(
            c"PMPI_Comm_remote_size",
            fn(u64, *mut i32) -> i32,
            (handle, &raw mut size)
        )
    } else {
        ask!(
            c"PMPI_Comm_size",
            fn(u64, *mut i32) -> i32,
            (handle, &raw mut size)
        )
    };
    let (Ok(size), Ok(rank)) = (u32::try_from(size), u32::try_from(rank)) else {
        return none;
    };
    if !ok || sized != 0 || size == 0 {
        return none;
    }
    let (ranks, id) = if handle == world {
        (0, WORLD)
    } else {
        let Some((ranks, hash)) = world_ranks(world, handle, size, is_inter != 0) else {
            return none;
        };
        let id = if handle == own { OWN } else { id(hash) };
        (ranks, id)
    };
    let words = [
        u64::from(id),
        u64::from(size) | u64::from(rank) << 32,
        ranks,
    ];
    let at = match COMMUNICATORS.put(handle, words) {
        Ok(at) => at,
        // Another thread was first.
        Err(Refused::Known) => return (COMMUNICATORS.find(handle).map(Communicator::of), None),
        Err(Refused::Full) => return none,
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

/// The ranks in `MPI_COMM_WORLD` of those with which the communicator talks, in memory of their own, and a hash of
/// them.
fn world_ranks(world: u64, handle: u64, size: u32, is_inter: bool) -> Option<(u64, u64)> {
    let count = size as usize;
    let bytes = count.checked_mul(4)?;
    let [own, there] = [memory::map_bytes(bytes)?, memory::map_bytes(bytes)?];
    // SAFETY: new mappings of so many bytes, aligned to pages.
    let (numbers, ranks) = unsafe {
        (
            std::slice::from_raw_parts_mut(own.cast::<i32>(), count),
            std::slice::from_raw_parts_mut(there.cast::<i32>(), count),
        )
    };
    for (number, rank) in (0..).zip(numbers.iter_mut()) {
        *rank = number;
    }
    let (mut group, mut all) = (0u64, 0u64);
    let has_group = if is_inter {
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
    let has_all = ask!(
        c"PMPI_Comm_group",
        fn(u64, *mut u64) -> i32,
        (world, &raw mut all)
    );
    let translated = has_group == 0
        && has_all == 0
        && ask!(
            c"PMPI_Group_translate_ranks",
            fn(u64, i32, *const i32, u64, *mut i32) -> i32,
            (
                group,
                size as i32,
                numbers.as_ptr(),
                all,
                ranks.as_mut_ptr()
            )
        ) == 0;
    for (has, group) in [(has_group, &raw mut group), (has_all, &raw mut all)] {
        if has == 0 {
            ask!(c"PMPI_Group_free", fn(*mut u64) -> i32, (group));
        }
    }
    // FNV-1a.
    let hash = ranks.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, rank| {
        (hash ^ u64::from(*rank as u32)).wrapping_mul(0x100_0000_01b3)
    });
    // SAFETY: nothing refers to the first one from here on.
    unsafe { memory::unmap_bytes(own, bytes) };
    translated.then_some((there as u64, hash))
}
