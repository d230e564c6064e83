//! The C library's functions that start programs: the library is not told to programs that cannot load it.
#![allow(unsafe_code)]

preload::interpose!();
