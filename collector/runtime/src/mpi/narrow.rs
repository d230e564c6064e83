//! Functions with counts of 64 bits (`_c`) where MPI has none.
//!
//! A program that finds out by weak references whether MPI has them, as mpi4py does, finds ours. Those then call the
//! functions with counts of 32 bits, which such a program would have called itself.

use inside::{Around, memory};
use mpi::{Abi, Form};

use super::communicators::{self, Communicator};
use super::real::handle;
use super::volume;

/// Makes the arguments those of the function with counts of 32 bits. `None` if one does not fit.
///
/// # Safety
/// The arguments are those of a call of this form.
pub(super) unsafe fn arguments(around: &mut Around, abi: &Abi, form: Form) -> Option<()> {
    let (counts, arrays) = form.counts();
    for &at in counts {
        i32::try_from(around.argument(at) as i64).ok()?;
    }
    if arrays.is_empty() {
        return Some(());
    }
    let place = form.communicator()?;
    let of = handle(abi, around.argument(place));
    let (communicator, _) = communicators::of(of);
    let communicator = communicator?;
    // The arrays of a gather or scatter are the root's alone.
    let root = form.root().map(|at| around.argument(at) as i32);
    let is_others = root.is_some_and(|root| !is_root(abi, communicator, root));
    if is_others {
        return Some(());
    }
    for &at in arrays {
        let number = volume::elements(form, at, of, abi, communicator) as usize;
        let from = around.argument(at) as *const i64;
        if number == 0 || from.is_null() {
            continue;
        }
        // Never unmapped: an operation that is begun may read it until it is complete, and few programs come here.
        let to = memory::map_bytes(number * size_of::<i32>())?.cast::<i32>();
        for index in 0..number {
            // SAFETY: the program's array has so many elements, and so has the new one.
            unsafe {
                let wide = from.add(index).read_unaligned();
                to.add(index).write(i32::try_from(wide).ok()?);
            }
        }
        around.set_argument(at, to as u64);
    }
    Some(())
}

fn is_root(abi: &Abi, communicator: Communicator, root: i32) -> bool {
    let [_, own_group] = abi.ranks;
    root == own_group || root == communicator.own as i32
}

/// What a call returns in place of one whose counts do not fit: `MPI_ERR_COUNT`.
pub(super) extern "C" fn refuse() -> i32 {
    2
}
