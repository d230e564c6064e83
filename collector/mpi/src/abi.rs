//! How an implementation represents handles, statuses and constants: as programs of it are compiled.

/// An implementation's binary interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abi {
    /// Bytes of a handle: of a request, a communicator, a message.
    pub handle: usize,
    /// Bytes of a status.
    pub status: usize,
    /// Where in a status the source stands, an `int`; the tag is behind it.
    pub source: usize,
    /// The address that stands for no status, and for no statuses.
    pub ignored: u64,
    /// `MPI_PROC_NULL`, `MPI_ROOT`.
    pub ranks: [i32; 2],
    /// `MPI_IN_PLACE`.
    pub in_place: u64,
    /// `MPI_UNDEFINED`.
    pub undefined: i32,
    /// `MPI_GRAPH`, `MPI_CART`, `MPI_DIST_GRAPH`.
    pub topologies: [i32; 3],
    /// `MPI_LOCK_EXCLUSIVE`.
    pub exclusive: i32,
    /// `MPI_COMM_WORLD`, `MPI_COMM_SELF`, `MPI_COMM_NULL`, `MPI_BYTE`; where each is the
    /// address of a variable, 0.
    pub handles: [u64; 4],
}

/// The variables of Open MPI whose addresses are its handles, in the order of [`Abi::handles`].
pub const OPEN_MPI_VARIABLES: [&std::ffi::CStr; 4] = [
    c"ompi_mpi_comm_world",
    c"ompi_mpi_comm_self",
    c"ompi_mpi_comm_null",
    c"ompi_mpi_byte",
];

impl Abi {
    /// Open MPI 3 to 5.
    pub const OPEN_MPI: Abi = Abi {
        handle: 8,
        status: 24,
        source: 0,
        ignored: 0,
        ranks: [-2, -4],
        in_place: 1,
        undefined: -32766,
        topologies: [2, 1, 3],
        exclusive: 1,
        handles: [0; 4],
    };

    /// MPICH 3 and 4, Intel MPI and others of the common interface of 2013.
    pub const MPICH: Abi = Abi {
        handle: 4,
        status: 20,
        source: 8,
        ignored: 1,
        ranks: [-1, -3],
        in_place: u64::MAX,
        undefined: -32766,
        topologies: [1, 2, 3],
        exclusive: 234,
        handles: [0x4400_0000, 0x4400_0001, 0x0400_0000, 0x4c00_010d],
    };

    /// The standard's own, of MPI 5.0.
    pub const STANDARD: Abi = Abi {
        handle: 8,
        status: 32,
        source: 0,
        ignored: 0,
        ranks: [-3, -4],
        in_place: 1,
        undefined: -32766,
        topologies: [212, 211, 213],
        exclusive: 301,
        handles: [0x101, 0x102, 0x100, 0x247],
    };
}
