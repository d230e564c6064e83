//! The exported functions.

use inside::{What, around};

use mpi::Interface;

use super::real::TOOL;
use super::{call, pgas};

macro_rules! take {
    ($($form:ident $wait:ident $($later:ident)? { $($name:ident $tool:ident;)* })*) => {
        around! { common: call::begin, call::end; $($(
            $name What::numbered(mpi::Function::$name as u16, 0);
            $tool What::numbered(mpi::Function::$name as u16, TOOL);
        )*)* }
    };
}

macro_rules! take_shmem {
    ($($class:ident $wait:ident $words:literal ($bytes:expr) ($peer:expr) ($object:expr) $($asks:ident)?
        { $($name:ident $tool:ident;)* })*) => {
        around! { shmem: pgas::begin, pgas::end; $($(
            $name What::numbered(Interface::Shmem.function(mpi::shmem::Function::$name as u16), 0);
            $tool What::numbered(Interface::Shmem.function(mpi::shmem::Function::$name as u16), TOOL);
        )*)* }
    };
}

macro_rules! take_caf {
    ($($class:ident $wait:ident $words:literal ($bytes:expr) ($peer:expr) ($object:expr) $($asks:ident)?
        { $($name:ident $tool:ident;)* })*) => {
        around! { caf: pgas::begin, pgas::end; $($(
            $name What::numbered(Interface::Caf.function(mpi::caf::Function::$name as u16), 0);
        )*)* }
    };
}

mpi::functions!(take);
mpi::shmem_functions!(take_shmem);
mpi::caf_functions!(take_caf);
