//! Calls of partitioned global address spaces: OpenSHMEM, coarrays of Fortran, events of GASP.
//!
//! A row tells of a function what class it is of, what a thread waits for in it, and how its bytes, the other rank and
//! the memory come from its arguments. One number space has the functions of all interfaces.

use std::ffi::CStr;

use crate::{Wait, caf, gasp, shmem};

/// The interface that a function belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Interface {
    /// MPI.
    Mpi,
    /// OpenSHMEM.
    Shmem,
    /// Coarrays of gfortran.
    Caf,
    /// Events that a compiler of UPC inserts (GASP 1.5).
    Gasp,
}

/// Bits of a function's number that are its place in its interface's table.
const PLACE_BITS: u32 = 10;
/// Above all numbers of functions.
pub const NUMBERS: usize = Interface::ALL.len() << PLACE_BITS;

impl Interface {
    /// Every interface, in the order of its number.
    pub const ALL: [Interface; 4] = [
        Interface::Mpi,
        Interface::Shmem,
        Interface::Caf,
        Interface::Gasp,
    ];

    /// That of a function's number.
    #[inline]
    pub const fn of(function: u16) -> Interface {
        match function >> PLACE_BITS {
            1 => Interface::Shmem,
            2 => Interface::Caf,
            3 => Interface::Gasp,
            _ => Interface::Mpi,
        }
    }

    /// The number of the function at this place of its table.
    pub const fn function(self, place: u16) -> u16 {
        (self as u16) << PLACE_BITS | place
    }

    /// Its bit in a set of interfaces.
    pub const fn bit(self) -> u32 {
        1 << self as u32
    }

    /// As options and JSON name it.
    pub const fn word(self) -> &'static str {
        match self {
            Interface::Mpi => "mpi",
            Interface::Shmem => "shmem",
            Interface::Caf => "caf",
            Interface::Gasp => "gasp",
        }
    }

    /// As views name it.
    pub const fn name(self) -> &'static str {
        match self {
            Interface::Mpi => "MPI",
            Interface::Shmem => "OpenSHMEM",
            Interface::Caf => "coarrays",
            Interface::Gasp => "GASP",
        }
    }
}

/// The class of an operation, in GASP's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Memory of another rank is read.
    Get,
    /// It is written.
    Put,
    /// It is changed at once.
    Atomic,
    /// All ranks meet; a barrier's notify and wait.
    Barrier,
    /// Order among own operations.
    Fence,
    /// Completion of own operations.
    Quiet,
    /// Locks and critical sections.
    Lock,
    /// Operations of all ranks that move data.
    Collective,
    /// Memory for all ranks is made or freed.
    Allocation,
    /// A rank waits for a value or an event of another one.
    Wait,
    /// Loops whose iterations are divided among ranks.
    Forall,
    /// Begin, end, queries, contexts, teams.
    Management,
    /// Events of the program's own.
    User,
}

impl Class {
    /// As views name it.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Get => "get",
            Class::Put => "put",
            Class::Atomic => "atomic",
            Class::Barrier => "barrier",
            Class::Fence => "fence",
            Class::Quiet => "quiet",
            Class::Lock => "lock",
            Class::Collective => "collective",
            Class::Allocation => "allocation",
            Class::Wait => "wait",
            Class::Forall => "forall",
            Class::Management => "management",
            Class::User => "user",
        }
    }
}

/// Which way bytes go, as the calling rank sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To the other rank.
    Sent,
    /// From it.
    Received,
    /// As many in both directions.
    Both,
}

/// Which argument, counted from 0: numbers and pointers in their order, floating-point values left out, as the x86-64
/// ABI passes them.
pub type Place = u8;

/// One element, in place of the argument that counts them.
pub const ONE: Place = Place::MAX;

/// How many bytes a call moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bytes {
    /// None.
    Nothing,
    /// As many elements as an argument says, of so many bytes each.
    Elements(Way, Place, u16),
    /// As many elements as one descriptor of a Fortran array has, each as long as those of another one.
    Array(Way, Place, Place),
    /// An atomic operation on so many bytes, which also reads the old value if the other argument has a place for it.
    Operation(Place, Place),
    /// The call does not tell.
    Unknown,
    /// Elements that each rank of a set gives and gets: as many as an argument says, an `int`.
    Reduce(Place, u16),
    /// Elements to all of an active set: the root sends them, others receive them. The root's place in the set and
    /// the set follow the count.
    Broadcast(Place, u16),
    /// Elements of each rank of a set to all, and how many the others have is not known here.
    Collect(Place, u16),
    /// Elements of each rank of an active set to all: as many. The set is behind the count.
    FixedCollect(Place, u16),
    /// Elements of each rank of an active set to each. The set is behind the count.
    Alltoall(Place, u16),
    /// Fortran's `co_broadcast`: an array, and the image that has it.
    BroadcastImage(Place, Place),
    /// Fortran's other collectives: an array, and the image that gets the result; 0: all.
    ReduceImage(Place, Place),
    /// Memory of so many bytes is made.
    Allocated(Place),
    /// Memory of a number of elements is made.
    AllocatedEach(Place, Place),
}

/// Which rank is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// None, or all.
    Nobody,
    /// The argument is its number.
    Rank(Place),
    /// The argument is its number among images, from 1; 0: the calling one.
    Image(Place),
}

/// Which memory a call is about, by an address or token in the calling rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// None.
    None,
    /// An argument.
    At(Place),
    /// What an argument points to after the call.
    Behind(Place),
    /// The result.
    Result,
}

/// What the result of a call that asks says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// The call does not ask.
    No,
    /// 0 if there was nothing.
    Nonzero,
    /// 0 if there was something.
    Zero,
}

/// What is known of a function.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its name.
    pub name: &'static CStr,
    /// The same for tools; its own name if there is none.
    pub tool: &'static CStr,
    /// The class.
    pub class: Class,
    /// What a thread waits for in it.
    pub wait: Wait,
    /// Words of arguments, without values in vector registers.
    pub words: u8,
    /// The bytes.
    pub bytes: Bytes,
    /// The other rank.
    pub peer: Peer,
    /// The memory.
    pub object: Object,
    /// Whether it asks.
    pub asks: Asks,
}

/// Makes the rows of a table: for each group the class, the wait, the words of arguments, bytes, peer and object, and
/// the functions, each with the name by which tools call it.
macro_rules! pgas_rows {
    ($($class:ident $wait:ident $words:literal ($bytes:expr) ($peer:expr) ($object:expr) $($asks:ident)?
        { $($name:ident $tool:ident;)* })*) => {
        /// Places in the table. Experiments store them: new ones come last.
        #[allow(missing_docs, non_camel_case_types, reason = "the interface's names")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u16)]
        pub enum Function { $($($name,)*)* }

        const GROUPS: &[&[$crate::pgas::Row]] = &[$(pgas_rows!(
            @group (($class) ($wait) $words $bytes, $peer, $object, $($asks)?) $($name $tool;)*
        ),)*];

        /// The functions by their places.
        pub(crate) static ROWS: [$crate::pgas::Row; [$($(Function::$name,)*)*].len()] = {
            let mut rows = [GROUPS[0][0]; [$($(Function::$name,)*)*].len()];
            let (mut group, mut at) = (0, 0);
            while group < GROUPS.len() {
                let mut row = 0;
                while row < GROUPS[group].len() {
                    rows[at] = GROUPS[group][row];
                    at += 1;
                    row += 1;
                }
                group += 1;
            }
            assert!(rows.len() <= 1 << 10);
            rows
        };
    };
    (@group $of:tt $($name:ident $tool:ident;)*) => { &[$(pgas_rows!(@row $of $name $tool),)*] };
    (@row (($class:ident) ($wait:ident) $words:literal $bytes:expr, $peer:expr, $object:expr, $($asks:ident)?)
        $name:ident $tool:ident) => {
        $crate::pgas::Row {
            name: $crate::functions::symbol(concat!(stringify!($name), "\0")),
            tool: $crate::functions::symbol(concat!(stringify!($tool), "\0")),
            class: $crate::pgas::Class::$class,
            wait: $crate::Wait::$wait,
            words: $words,
            bytes: $bytes,
            peer: $peer,
            object: $object,
            asks: pgas_rows!(@asks $($asks)?),
        }
    };
    (@asks) => { $crate::pgas::Asks::No };
    (@asks $asks:ident) => { $crate::pgas::Asks::$asks };
}
pub(crate) use pgas_rows;

/// The row of a function of OpenSHMEM, coarrays or GASP; `None` for MPI's and for numbers of a later version.
#[inline]
pub fn pgas(function: u16) -> Option<&'static Row> {
    let place = usize::from(function) & ((1 << PLACE_BITS) - 1);
    match Interface::of(function) {
        Interface::Mpi => None,
        Interface::Shmem => shmem::ROWS.get(place),
        Interface::Caf => caf::ROWS.get(place),
        Interface::Gasp => gasp::ROWS.get(place),
    }
}
