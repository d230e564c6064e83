//! The machine code of a load object: its calls, and the first instructions of its functions.

use std::ops::Range;

use crate::elf::{CodeSegments, Elf, ElfFile};
use crate::prologue::FrameLayout;
use crate::symtab::ElfSymbols;

/// The executable segments, and where functions are.
#[derive(Default)]
pub(crate) struct Text {
    segments: CodeSegments,
    /// The svmas of functions that have a symbol with a size, sorted by start.
    functions: Vec<Range<u64>>,
}

impl Text {
    /// That of a file; empty of one that is no ELF file.
    pub(crate) fn read(file: ElfFile) -> Text {
        let functions = file.parse().map(|elf| functions(&elf));
        Text {
            functions: functions.unwrap_or_default(),
            segments: file.into_code(),
        }
    }

    /// The call that ends at `svma`, if that can be a return address.
    pub(crate) fn call_before(&self, svma: u64) -> Option<Call> {
        self.segments.iter().find_map(|(start, bytes)| {
            let offset = usize::try_from(svma.checked_sub(*start)?).ok()?;
            last_call(bytes.get(..offset)?, svma)
        })
    }

    /// The layout of the frame at `svma`, by the first instructions of the function that holds it.
    pub(crate) fn frame_layout(&self, svma: u64) -> Option<FrameLayout> {
        let next = self.functions.partition_point(|range| range.start <= svma);
        let function = self.functions[..next].last()?;
        if !function.contains(&svma) {
            return None;
        }
        let (start, bytes) = self.segments.iter().find(|(start, bytes)| {
            function.start >= *start && function.start - start < bytes.len() as u64
        })?;
        let offset = usize::try_from(function.start - start).ok()?;
        FrameLayout::at(svma, function.start, &bytes[offset..])
    }
}

/// The functions that have a symbol with a size, sorted by start.
fn functions(elf: &Elf<'_>) -> Vec<Range<u64>> {
    let tables = [ElfSymbols::symtab(elf), ElfSymbols::dynsym(elf)];
    let symbols = tables.iter().flatten().flat_map(ElfSymbols::iter);
    let mut functions: Vec<Range<u64>> = symbols
        .filter(|symbol| symbol.is_defined() && symbol.is_function() && symbol.size > 0)
        .map(|symbol| symbol.svma..symbol.svma.saturating_add(symbol.size))
        .collect();
    functions.sort_unstable_by_key(|range| (range.start, range.end));
    functions.dedup();
    functions
}

/// A call instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// To a known svma.
    Direct(u64),
    /// Through a register or memory.
    Indirect,
}

/// The call that `code` ends in, at `svma`. x86-64 calls: `E8 rel32`, and `FF /2` with every
/// addressing form (Intel SDM volume 2, CALL).
pub(crate) fn last_call(code: &[u8], svma: u64) -> Option<Call> {
    if let [.., 0xe8, a, b, c, d] = *code {
        let distance = i32::from_le_bytes([a, b, c, d]);
        return Some(Call::Direct(svma.wrapping_add_signed(distance.into())));
    }
    let back = |distance: usize| code.len().checked_sub(distance).map(|at| code[at]);
    let indirect = (2..=7).any(|length| {
        let (Some(0xff), Some(modrm)) = (back(length), back(length - 1)) else {
            return false;
        };
        let (mode, register, base) = (modrm >> 6, modrm >> 3 & 7, modrm & 7);
        let sib = usize::from(mode != 3 && base == 4);
        let displacement = match mode {
            0 if base == 5 => 4,
            1 => 1,
            2 => 4,
            _ => 0,
        };
        register == 2 && length == 2 + sib + displacement
    });
    indirect.then_some(Call::Indirect)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_encoding_is_recognised_and_a_jump_is_not() {
        let calls: [&[u8]; 9] = [
            &[0xe8, 1, 2, 3, 4],
            &[0xff, 0xd0],
            &[0x41, 0xff, 0xd4],
            &[0xff, 0x10],
            &[0xff, 0x14, 0xc8],
            &[0xff, 0x50, 0x18],
            &[0xff, 0x54, 0x24, 0x08],
            &[0xff, 0x15, 1, 2, 3, 4],
            &[0xff, 0x94, 0x24, 1, 2, 3, 4],
        ];
        for call in calls {
            let code = [&[0x90, 0x90], call].concat();
            assert!(last_call(&code, 0x1000).is_some(), "{call:02x?}");
        }
        let others: [&[u8]; 4] = [&[], &[0xff, 0xe0], &[0xe9, 1, 2, 3, 4], &[0x48, 0x89, 0xe5]];
        for other in others {
            assert_eq!(last_call(other, 0x1000), None, "{other:02x?}");
        }
    }
}
