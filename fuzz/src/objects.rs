//! Load objects and stacks.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use symbolize::Symbols;
use unwinder::{AddressSpace, Image, Register, Regs, StackBytes, UnwindCache};

/// An ELF file: its functions, lines, scopes and variables.
pub(crate) fn symbols(input: &[u8]) {
    let Ok(symbols) = Symbols::from_bytes(Path::new("/app"), Arc::from(input)) else {
        return;
    };
    let functions: Vec<u64> = symbols.functions().map(|it| it.start).take(64).collect();
    for &svma in functions.iter().chain(&[0, 0x1000, u64::MAX]) {
        black_box((symbols.function(svma), symbols.code(svma)));
        black_box((symbols.locations(svma), symbols.scopes(svma)));
    }
    for &svma in &functions {
        black_box(symbols.data(svma));
    }
    black_box(symbols.lines_miss());
}

/// Registers and a stack, in the first 2 KiB, in the code of the ELF file that follows.
pub(crate) fn unwind(input: &[u8]) {
    const STACK: usize = 2048;
    let (stack, file) = input.split_at(STACK.min(input.len()));
    let Ok(image) = Image::from_bytes(Path::new("/app"), file) else {
        return;
    };
    let mut space = AddressSpace::new();
    space.map(
        0x40_0000,
        1 << 20,
        0,
        Some(Arc::new(image)),
        Path::new("/app"),
    );
    let word = |at: usize| {
        let bytes = stack.get(8 * at..).and_then(|it| it.first_chunk());
        bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
    };
    let mut regs = Regs::new(0x40_0000 + word(0) % (1 << 20), word(1), word(2));
    let others = [Register::Rbx, Register::R12, Register::R13, Register::R14];
    for (at, register) in (3..).zip(others) {
        regs.set(register, word(at));
    }
    let bytes = StackBytes {
        sp: regs.sp(),
        bytes: stack,
        beyond: None,
    };
    let mut frames = Vec::new();
    space.unwind(&mut UnwindCache::new(), &regs, &bytes, &mut frames);
}
