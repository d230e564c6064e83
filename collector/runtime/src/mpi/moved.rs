//! What a call of OpenSHMEM or of coarrays moved, as the program gives it.
//!
//! What a rank contributes to a collective operation counts as sent, and what it gets as received, as for MPI.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use inside::Around;
use inside::next::Next;
use mpi::caf::Function as Caf;
use mpi::pgas::{Bytes, Class, ONE, Object, Peer, Place, Row, Way};
use mpi::{Interface, Wait};

/// What a call moved.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moved {
    pub(super) sent: u64,
    pub(super) received: u64,
    /// The other rank.
    pub(super) peer: Option<u32>,
    /// The address or token of the memory; 0: none.
    pub(super) object: u64,
    /// The ranks of a collective operation, by a number that is the same in all of them; 0: none, or not known.
    pub(super) group: u32,
}

/// All ranks.
const ALL: u32 = 1;

/// How many teams of images the program has changed to. The number of an image is one of its team there.
static TEAMS: AtomicU32 = AtomicU32::new(0);

/// What the call moved.
///
/// # Safety
/// The arguments are those of a call of this function that has returned.
pub(super) unsafe fn of(around: &Around, row: &Row, function: u16, result: usize) -> Moved {
    let int = |place: Place| around.argument(place.into()) as i32;
    let mut moved = Moved {
        peer: match row.peer {
            Peer::Nobody => None,
            Peer::Rank(place) => u32::try_from(int(place)).ok(),
            Peer::Image(place) => image(int(place)),
        },
        // SAFETY: the caller's promise.
        object: unsafe { object(around, row, result) },
        ..Moved::default()
    };
    if matches!(row.wait, Wait::Barrier | Wait::Collective) {
        moved.group = group(around, function, row);
    }
    // SAFETY: the caller's promise.
    unsafe { add_bytes(&mut moved, around, row) };
    if Interface::of(function) == Interface::Caf {
        follow_teams(function);
    }
    moved
}

fn follow_teams(function: u16) {
    let is = |it: Caf| Interface::Caf.function(it as u16) == function;
    if is(Caf::_gfortran_caf_change_team) {
        TEAMS.fetch_add(1, Relaxed);
    } else if is(Caf::_gfortran_caf_end_team) && TEAMS.load(Relaxed) > 0 {
        TEAMS.fetch_sub(1, Relaxed);
    }
}

/// The rank of an image; `None` where its number is one of a team.
fn image(number: i32) -> Option<u32> {
    let of_all = TEAMS.load(Relaxed) == 0;
    let number = match number {
        0 => this_image(),
        _ => number,
    };
    u32::try_from(number - 1).ok().filter(|_| of_all)
}

/// The own image's number.
fn this_image() -> i32 {
    static THIS: Next = Next::anywhere(c"_gfortran_caf_this_image");
    inside::next!(THIS, fn(i32) -> i32, (0), 0)
}

/// The own rank in OpenSHMEM.
fn own() -> i32 {
    static OWN: Next = Next::anywhere(c"pshmem_my_pe");
    inside::next!(OWN, fn() -> i32, (), -1)
}

/// # Safety
/// As for [`of`].
unsafe fn object(around: &Around, row: &Row, result: usize) -> u64 {
    match row.object {
        Object::None => 0,
        Object::At(place) => around.argument(place.into()),
        Object::Behind(place) => {
            let pointer = around.argument(place.into()) as *const u64;
            if pointer.is_null() {
                return 0;
            }
            // SAFETY: the program's pointer, through which the call has written.
            unsafe { pointer.read_unaligned() }
        }
        Object::Result => result as u64,
    }
}

/// The active set behind an argument: its first rank, the logarithm of the distance, and its size.
fn set_behind(around: &Around, place: Place) -> [i32; 3] {
    let first = usize::from(place) + 1;
    [first, first + 1, first + 2].map(|at| around.argument(at) as i32)
}

/// The number of the ranks that take part.
fn group(around: &Around, function: u16, row: &Row) -> u32 {
    let set = match row.bytes {
        Bytes::Reduce(count, _)
        | Bytes::Collect(count, _)
        | Bytes::FixedCollect(count, _)
        | Bytes::Alltoall(count, _) => set_behind(around, count),
        // The root is between.
        Bytes::Broadcast(count, _) => set_behind(around, count + 1),
        // `shmem_barrier`, `shmem_sync`: the set is all that they are told.
        _ if row.class == Class::Barrier && row.words == 4 => {
            [0, 1, 2].map(|at| around.argument(at) as i32)
        }
        _ if Interface::of(function) == Interface::Caf => return images(function),
        _ => return ALL,
    };
    let mixed = set.into_iter().fold(0x811c_9dc5_u32, |mixed, it| {
        (mixed ^ it as u32).wrapping_mul(0x0100_0193)
    });
    // The ring has room for 24 bits; the first ones are taken.
    (mixed >> 8 ^ mixed & 0xff) | 2
}

/// The group of an operation of images: of all, if it is known to be of all.
fn images(function: u16) -> u32 {
    let of_all = [
        Caf::_gfortran_caf_sync_all,
        Caf::_gfortran_caf_co_broadcast,
        Caf::_gfortran_caf_finalize,
    ];
    let is_of_all = of_all
        .map(|it| Interface::Caf.function(it as u16))
        .contains(&function);
    if is_of_all && TEAMS.load(Relaxed) == 0 {
        ALL
    } else {
        0
    }
}

/// # Safety
/// As for [`of`].
unsafe fn add_bytes(moved: &mut Moved, around: &Around, row: &Row) {
    let word = |place: Place| around.argument(place.into());
    let int = |place: Place| (word(place) as i32).max(0) as u64;
    // SAFETY: the program's descriptors, here and below.
    let array = |place: Place| unsafe { Array::of(word(place)) };
    match row.bytes {
        Bytes::Nothing | Bytes::Unknown => {}
        Bytes::Elements(way, count, each) => {
            let count = if count == ONE { 1 } else { word(count) };
            moved.add(way, count.saturating_mul(each.into()));
        }
        Bytes::Array(way, count, each) => {
            moved.add(way, array(count).elements.saturating_mul(array(each).each));
        }
        Bytes::Operation(size, old) => {
            let is_read = word(old) != 0;
            moved.add(if is_read { Way::Both } else { Way::Sent }, int(size));
        }
        Bytes::Reduce(count, each) => moved.add(Way::Both, int(count) * u64::from(each)),
        Bytes::Collect(count, each) => moved.sent = word(count).saturating_mul(each.into()),
        Bytes::FixedCollect(count, each) => {
            let [_, _, size] = set_behind(around, count);
            moved.sent = word(count).saturating_mul(each.into());
            moved.received = moved.sent.saturating_mul(size.max(0) as u64);
        }
        Bytes::Alltoall(count, each) => {
            let [_, _, size] = set_behind(around, count);
            let all = word(count).saturating_mul(u64::from(each) * size.max(0) as u64);
            moved.add(Way::Both, all);
        }
        Bytes::Broadcast(count, each) => {
            let [first, distance, _] = set_behind(around, count + 1);
            let root = first.wrapping_add((word(count + 1) as i32) << distance.clamp(0, 31));
            let all = word(count).saturating_mul(each.into());
            let way = if own() == root {
                Way::Sent
            } else {
                Way::Received
            };
            moved.add(way, all);
            moved.peer = u32::try_from(root).ok();
        }
        Bytes::BroadcastImage(of, source) => {
            let is_source = this_image() == word(source) as i32;
            let way = if is_source { Way::Sent } else { Way::Received };
            moved.add(way, array(of).bytes());
            moved.peer = image(word(source) as i32);
        }
        Bytes::ReduceImage(of, to) => {
            let to = word(to) as i32;
            let gets = to == 0 || this_image() == to;
            moved.add(if gets { Way::Both } else { Way::Sent }, array(of).bytes());
            moved.peer = if to == 0 { None } else { image(to) };
        }
        Bytes::Allocated(size) if row.object == Object::Behind(2) && is_no_array(word(1)) => {
            let _ = size;
        }
        Bytes::Allocated(size) => moved.received = word(size),
        Bytes::AllocatedEach(count, size) => {
            moved.received = word(count).saturating_mul(word(size))
        }
    }
}

/// Whether `_gfortran_caf_register` is told of something else than memory of so many bytes: of locks, events and
/// critical sections (2 to 6 of `caf_register_t`), or of memory that is made later (7).
const fn is_no_array(kind: u64) -> bool {
    matches!(kind as u32, 2..=7)
}

impl Moved {
    fn add(&mut self, way: Way, bytes: u64) {
        if way != Way::Received {
            self.sent += bytes;
        }
        if way != Way::Sent {
            self.received += bytes;
        }
    }
}

/// What gfortran's descriptor of an array tells, since release 8 (`libgfortran.h`).
#[derive(Clone, Copy, Debug)]
struct Array {
    elements: u64,
    /// Bytes of an element.
    each: u64,
}

impl Array {
    /// The most dimensions that Fortran has.
    const MOST: usize = 15;

    /// # Safety
    /// The argument is 0 or the address of a descriptor.
    unsafe fn of(descriptor: u64) -> Array {
        let none = Array {
            elements: 0,
            each: 0,
        };
        if descriptor == 0 {
            return none;
        }
        let words = descriptor as *const i64;
        // SAFETY: the caller's promise: base, offset, the length of an element, a version and the rank, the span; then
        // a stride and both bounds of each dimension.
        unsafe {
            let each = words.add(2).read_unaligned().max(0) as u64;
            let rank = usize::from((descriptor as *const u8).add(28).read());
            if rank > Array::MOST {
                return none;
            }
            let mut elements = 1u64;
            for dimension in 0..rank {
                let bounds = words.add(5 + 3 * dimension + 1);
                let (lower, upper) = (bounds.read_unaligned(), bounds.add(1).read_unaligned());
                let extent = upper.saturating_sub(lower).saturating_add(1).max(0);
                elements = elements.saturating_mul(extent as u64);
            }
            Array { elements, each }
        }
    }

    const fn bytes(self) -> u64 {
        self.elements.saturating_mul(self.each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_tells_its_elements_and_how_long_each_is() {
        // real(8) :: x(2:5, 0:2), and a scalar of 3 bytes.
        let kind = 2u64 << 32;
        let array = [0, 0, 8, kind, 8, 1, 2, 5, 4, 0, 2];
        // SAFETY: descriptors as gfortran has them.
        let (array, scalar, none) = unsafe {
            let scalar = [0u64, 0, 3, 0, 3];
            (
                Array::of(array.as_ptr() as u64),
                Array::of(scalar.as_ptr() as u64),
                Array::of(0),
            )
        };
        assert_eq!((array.elements, array.each, array.bytes()), (12, 8, 96));
        assert_eq!((scalar.elements, scalar.bytes(), none.bytes()), (1, 3, 0));
    }
}
