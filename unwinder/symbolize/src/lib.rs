//! Names code addresses: finds the function, source lines and OpenMP construct of each.
//!
//! Reads ELF files, their debug information, the kernel's list of functions, source files and
//! machine code. What it finds is a [`SymbolTable`](experiment::symbols::SymbolTable), which is
//! stored with an experiment.
//!
//! - [`resolve`] names all frames of an experiment; files come from a [`SymbolSource`], as a rule
//!   from [`Files`].
//! - [`renew`] names them again, where there are more files than before.
//! - [`find_jumps`] finds the functions that left the stacks by tail calls.
//! - [`Symbols`] are those of one file. They come from its own tables, from `.gnu_debugdata`, or
//!   from a separate debug file. What was searched for and not found is a [`SymbolsMiss`]. Code
//!   without a symbol is divided into functions all the same ([`Symbols::code`]).
//! - [`names`] makes linkage names readable.
//! - [`Linked`] finds the code of a static library in the program that it was linked into.
//! - [`iterations`] tells which instructions each iteration of a worksharing loop executes once.
//! - [`disassembly`] shows a function's instructions as text.
//! - [`search`] finds the files that an experiment names.
//!
//! As in `unwinder`, an svma is an address as the file states it, before it was loaded somewhere.

mod barriers;
mod builder;
mod code;
mod debugfile;
mod debuginfo;
mod directives;
pub mod disassembly;
mod generated;
pub mod iterations;
mod jumps;
mod kallsyms;
mod linked;
mod locks;
mod machine_code;
pub mod names;
mod object;
mod outlined;
mod ranges;
mod renew;
mod resolve;
pub mod search;
mod source;
mod split;
mod symbols;
mod unnamed;

pub use code::{Side, beside, called};
pub use debugfile::{DebugFolders, SymbolsMiss};
pub use debuginfo::{FullDebugInfo, Location, Reader};
pub use directives::{Text, is_fortran};
pub use generated::Generated;
pub use jumps::find_jumps;
pub use kallsyms::KernelFunction;
pub use linked::Linked;
pub use locks::{section_name, variable_name};
pub use outlined::Origin;
pub use ranges::Ranges;
pub use renew::{Renewed, renew};
pub use resolve::{digests, from_files, named, resolve};
pub use source::{Files, LONGEST_SOURCE, SymbolSource};
pub use symbols::{ElfFunction, ElfVariable, Symbols};
