//! The exported functions.

use inside::{What, around};

use super::call::{begin, end};
use super::real::TOOL;

macro_rules! take {
    ($($form:ident $wait:ident $($later:ident)? { $($name:ident $tool:ident;)* })*) => {
        around! { common: begin, end; $($(
            $name What::numbered(mpi::Function::$name as u16, 0);
            $tool What::numbered(mpi::Function::$name as u16, TOOL);
        )*)* }
    };
}

mpi::functions!(take);
