//! Stacks from registers and stack bytes.
//!
//! The library is pure: it keeps no clock, starts no thread and reads no environment. Its only
//! input beside its arguments are ELF files, which the module [`elf`] alone opens.
//!
//! # What the caller does
//!
//! 1. Keeps an [`AddressSpace`] for each process and tells it of every executable mapping, `fork`
//!    ([`Clone`]) and `exec` ([`AddressSpace::clear`]) in the order in which they happened. Images
//!    come from one [`ImageCache`] for all processes; the vDSO is given as bytes
//!    ([`Image::from_bytes`]), because no file holds it.
//! 2. Hands each sample's registers ([`Regs`]; ip, sp and bp at least, all 16 if it can) and the
//!    stack bytes above sp ([`StackBytes`]) to [`AddressSpace::unwind`], with one [`UnwindCache`]
//!    for each thread that unwinds.
//! 3. Turns the addresses into (load object, svma) by [`AddressSpace::locate`] **at once**, while
//!    the mappings are those of the sample. For return addresses, all but the first, it looks up
//!    the address minus one, which is within the call.
//!
//! # What the library does
//!
//! - Ordinary frames go through framehop and its cache of rules. Each address is first classified
//!   by its own call frame information, and the frames that framehop would lose (a CFA that is an
//!   expression, as in functions that realign their stack, in PLT stubs and signal frames, or that
//!   hangs on another register) are evaluated here. Where that needs a register which framehop
//!   does not restore, the stack is walked again with all registers.
//! - [`Ending::Complete`] is said only of a stack whose last frame is the first function of its
//!   thread: its return address is marked as undefined, or it is the ELF entry point, `clone`,
//!   `clone3` or the like. Everything else carries its [`CutReason`].
//! - Code without call frame information is passed by what its function's first instructions do
//!   to the stack, or by a frame pointer, and only where a return address is found that follows a
//!   call instruction.
//!
//! Addresses as the process has them are called addresses; those of the file, before it was
//! loaded somewhere, are svmas. x86-64 is the machine that is supported.

mod build_id;
mod cfi;
pub mod elf;
mod fde;
mod image;
mod prologue;
mod regs;
mod rule;
mod space;
pub mod symtab;
mod text;
mod unwind;

pub use build_id::BuildId;
pub use cfi::Cfi;
pub use image::{Image, ImageCache};
pub use regs::{Register, Regs};
pub use space::{AddressSpace, Module, ModuleIdx};
pub use unwind::{CutReason, Ending, MAX_FRAMES, StackBytes, StackMemory, UnwindCache};
