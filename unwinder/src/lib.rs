//! Stacks from registers and stack bytes.
//!
//! The library is pure: it reads no clock and no environment and starts no thread. Its only input
//! beside its arguments are ELF files, which only the module [`elf`] opens.
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
//! - Only a stack whose last frame is the first function of its thread is [`Ending::Complete`]: its
//!   return address is marked as undefined, or it is the ELF entry point, `clone`, `clone3` or the
//!   like. Any other has a [`CutReason`].
//! - Frames without call frame information are unwound by what their function's first instructions
//!   do to the stack, in generated code by what it does until it returns, or by a frame pointer, and only if a call
//!   precedes the return address found.
//!
//! An *address* is one in the process; an *svma* is an address as the file states it, before it was
//! loaded. Only x86-64 is supported.

mod build_id;
mod cfi;
pub mod elf;
mod epilogue;
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
pub use space::{AddressSpace, MappedCode, Module, ModuleIdx};
pub use unwind::{CutReason, Ending, MAX_FRAMES, StackBytes, StackMemory, UnwindCache};
