//! MPI's own functions, and which interface it has.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use inside::next;
use inside::next::Next;
use mpi::pgas::NUMBERS;
use mpi::{Abi, OPEN_MPI_VARIABLES};

/// The kind of an entry point that is called by the name for tools.
pub(super) const TOOL: u32 = 1;

/// The real functions by number, those for programs and those for tools; 0: not looked up yet.
static ADDRESSES: [[AtomicUsize; 2]; NUMBERS] =
    [const { [const { AtomicUsize::new(0) }; 2] }; NUMBERS];

/// The address of a function that no object has.
const NONE: usize = 1;

/// The address of the function with this number, by the name that the call used or else by its other one; `None` if no
/// object has it.
#[inline]
pub(super) fn address(function: u16, kind: u32) -> Option<usize> {
    let both = ADDRESSES.get(function as usize)?;
    let place = both.get(kind as usize)?;
    match place.load(Relaxed) {
        0 => find(function, kind, place),
        NONE => None,
        address => Some(address),
    }
}

#[cold]
fn find(function: u16, kind: u32, place: &AtomicUsize) -> Option<usize> {
    let [name, tool] = mpi::symbols(function)?;
    let order = if kind == TOOL {
        [tool, name]
    } else {
        [name, tool]
    };
    let found = order.into_iter().find_map(next::anywhere);
    place.store(found.unwrap_or(NONE), Relaxed);
    found
}

/// No object has a function that the program calls.
#[cold]
pub(super) fn missing(function: u16) -> usize {
    let names = mpi::symbols(function).unwrap_or([c"?"; 2]);
    inside::provider::missing(names[0])
}

/// The interface, with the handles of the process.
static INTERFACE: OnceLock<Abi> = OnceLock::new();

/// The interface; `None` before MPI is initialised.
#[inline]
pub(super) fn interface() -> Option<&'static Abi> {
    INTERFACE.get()
}

/// Finds out which interface MPI has, which is initialised.
pub(super) fn learn() -> &'static Abi {
    INTERFACE.get_or_init(|| {
        let variables = OPEN_MPI_VARIABLES.map(variable);
        if is_standard() {
            Abi::STANDARD
        } else if variables[0] != 0 {
            Abi {
                handles: variables,
                ..Abi::OPEN_MPI
            }
        } else {
            Abi::MPICH
        }
    })
}

/// MPICH has the function in its older interface, too.
fn is_standard() -> bool {
    static VERSION: Next = Next::anywhere(c"PMPI_Abi_get_version");
    let (mut major, mut minor) = (-1, -1);
    let result = next!(
        VERSION,
        fn(*mut i32, *mut i32) -> i32,
        (&raw mut major, &raw mut minor),
        1
    );
    result == 0 && major >= 1
}

/// The address of a variable; 0 if there is none. The program may have a copy of it, which counts then.
fn variable(name: &'static std::ffi::CStr) -> u64 {
    match inside::loader::Scope::all().find(name, None) {
        0 => next::anywhere(name).unwrap_or(0) as u64,
        address => address as u64,
    }
}

/// Calls a function of MPI that is not among those taken, by the name for tools; yields `$else` if there is none.
macro_rules! ask {
    ($name:literal, fn($($type:ty),*) -> i32, ($($argument:expr),*)) => {{
        static NEXT: inside::next::Next = inside::next::Next::anywhere($name);
        inside::next!(NEXT, fn($($type),*) -> i32, ($($argument),*), 1)
    }};
}
pub(super) use ask;

/// A handle as an argument, which may fill only half of its register.
#[inline]
pub(super) fn handle(abi: &Abi, argument: u64) -> u64 {
    if abi.handle == 4 {
        u64::from(argument as u32)
    } else {
        argument
    }
}

/// The handle in an array of handles.
///
/// # Safety
/// The array is the program's, and has so many.
#[inline]
pub(super) unsafe fn handle_at(abi: &Abi, array: u64, number: usize) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        if abi.handle == 4 {
            u64::from((array as *const u32).add(number).read_unaligned())
        } else {
            (array as *const u64).add(number).read_unaligned()
        }
    }
}

/// The bytes of so many elements. The type of none may be none.
#[inline]
pub(super) fn bytes_of(elements: u64, datatype: u64) -> u64 {
    if elements == 0 {
        return 0;
    }
    elements.saturating_mul(size_of_type(datatype))
}

/// The size of a type in bytes; 0 if MPI does not say.
#[inline]
fn size_of_type(datatype: u64) -> u64 {
    let mut size = 0i32;
    let result = ask!(
        c"PMPI_Type_size",
        fn(u64, *mut i32) -> i32,
        (datatype, &raw mut size)
    );
    // A size beyond 2 GiB is MPI_UNDEFINED there.
    if result == 0 && size < 0 {
        let mut size = 0i64;
        ask!(
            c"PMPI_Type_size_x",
            fn(u64, *mut i64) -> i32,
            (datatype, &raw mut size)
        );
        return size.max(0) as u64;
    }
    size.max(0) as u64
}
