//! Stacks from registers and stack bytes; load objects, symbols, inlined frames, lines.
mod cfi;
mod file;
mod image;
mod regs;
mod space;
mod unwind;

pub use image::{BuildId, Image, ImageCache, ImageError};
pub use regs::{Register, Regs};
pub use space::{AddressSpace, Module, ModuleIdx};
pub use unwind::{CutReason, Ending, MAX_FRAMES, StackBytes, UnwindCache};
