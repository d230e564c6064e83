//! The functions of OpenSHMEM 1.4 as Open MPI's `pshmem.h` declares them.
//!
//! `table.rs` is made of that header by the test `shmem`, which compares it with the header wherever that is installed
//! (`UPDATE_EXPECT=1 cargo test -p mpi --test shmem` writes it).

use crate::pgas::{Bytes, ONE, Object, Peer, Way, pgas_rows};
use Bytes::{Elements, Nothing as NoBytes};
use Object::At;
use Peer::{Nobody, Rank};
use Way::{Both, Received, Sent};

#[macro_use]
mod table;

shmem_functions!(pgas_rows);
