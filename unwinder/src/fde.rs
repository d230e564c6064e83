//! Finds the frame description entry (FDE) for an address.

use std::sync::Arc;

use gimli::{
    BaseAddresses, CieOrFde, DebugFrame, EhFrame, EhFrameHdr, EndianSlice, LittleEndian,
    UnwindSection,
};

use crate::elf::Elf;

pub(crate) type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// The sections that unwinding reads, with the svma of each.
pub(crate) struct CfiSections {
    pub(crate) eh_frame: SectionBytes,
    pub(crate) eh_frame_hdr: SectionBytes,
    pub(crate) debug_frame: SectionBytes,
    pub(crate) text: u64,
    pub(crate) got: u64,
}

/// A section that is not empty, with its svma.
type SectionBytes = Option<(u64, Arc<[u8]>)>;

impl CfiSections {
    /// The sections of a file. `.debug_frame` counts where there is no `.eh_frame`.
    pub(crate) fn of(elf: &Elf<'_>) -> Self {
        let eh_frame = section(elf, ".eh_frame");
        let svma = |name| elf.section(name).map_or(0, |section| section.svma);
        Self {
            debug_frame: match eh_frame {
                Some(_) => None,
                None => section(elf, ".debug_frame"),
            },
            eh_frame,
            eh_frame_hdr: section(elf, ".eh_frame_hdr"),
            text: svma(".text"),
            got: svma(".got"),
        }
    }

    /// `.debug_frame` alone.
    pub(crate) fn of_debug_frame(elf: &Elf<'_>) -> Self {
        Self {
            eh_frame: None,
            eh_frame_hdr: None,
            debug_frame: section(elf, ".debug_frame"),
            text: 0,
            got: 0,
        }
    }
}

fn section(elf: &Elf<'_>, name: &str) -> SectionBytes {
    let svma = elf.section(name)?.svma;
    Some((svma, Arc::from(elf.bytes(name)?)))
}

/// How FDEs are found in one image.
pub(crate) enum Finder {
    /// The binary search table of `.eh_frame_hdr`.
    Header(Arc<[u8]>),
    /// (first svma, offset of the FDE), sorted; built if there is no header.
    Index(Vec<(u64, usize)>),
}

impl Finder {
    /// The finder of `data`. Corrects `sections` for framehop: removes a header without a search table,
    /// and repairs one that leads to empty entries.
    pub(crate) fn new(
        sections: &mut CfiSections,
        data: &[u8],
        is_debug_frame: bool,
        bases: &BaseAddresses,
    ) -> Self {
        sections.eh_frame_hdr.take_if(|(_, header)| {
            !EhFrameHdr::new(header, LittleEndian)
                .parse(bases, 8)
                .is_ok_and(|parsed| parsed.table().is_some())
        });
        if let Some((_, header)) = &mut sections.eh_frame_hdr
            && !is_debug_frame
            && let Some(repaired) = past_empty(header, data, bases)
        {
            *header = repaired;
        }
        let header = sections.eh_frame_hdr.as_ref().filter(|_| !is_debug_frame);
        match header {
            Some((_, header)) => Finder::Header(header.clone()),
            None if is_debug_frame => Finder::Index(index(debug_frame(data), bases)),
            None => Finder::Index(index(eh_frame(data), bases)),
        }
    }

    /// The offset of the FDE that may hold `svma`.
    pub(crate) fn fde_offset(&self, svma: u64, bases: &BaseAddresses) -> Option<usize> {
        match self {
            Finder::Header(header) => {
                let parsed = EhFrameHdr::new(header, LittleEndian).parse(bases, 8).ok()?;
                let table = parsed.table()?;
                let pointer = table.lookup(svma, bases).ok()?;
                Some(table.pointer_to_offset(pointer).ok()?.0)
            }
            Finder::Index(index) => {
                let after = index.partition_point(|(start, _)| *start <= svma);
                Some(index[after.checked_sub(1)?].1)
            }
        }
    }
}

pub(crate) fn eh_frame(data: &[u8]) -> EhFrame<Slice<'_>> {
    let mut section = EhFrame::new(data, LittleEndian);
    section.set_address_size(8);
    section
}

pub(crate) fn debug_frame(data: &[u8]) -> DebugFrame<Slice<'_>> {
    let mut section = DebugFrame::new(data, LittleEndian);
    section.set_address_size(8);
    section
}

/// The header with its entries of empty functions redirected to the function after them, if it has
/// such entries.
///
/// LLVM leaves an FDE of length 0 for a function without instructions, at the address of the next
/// function, and of two FDEs at one address lld keeps the first. A search that ends there finds no
/// rule for the function that follows. Only the table format that linkers write is repaired: pairs
/// of signed 32-bit offsets from the header.
fn past_empty(header: &[u8], data: &[u8], bases: &BaseAddresses) -> Option<Arc<[u8]>> {
    const FIXED: usize = 12;
    /// Version 1; a pc-relative pointer, a 32-bit count, pairs relative to the header.
    const USUAL: [u8; 4] = [1, 0x1b, 0x03, 0x3b];
    let section = eh_frame(data);
    let word = |bytes: &[u8], at: usize| {
        bytes
            .get(at..)?
            .first_chunk()
            .map(|word| u32::from_le_bytes(*word))
    };
    let distance = bases
        .eh_frame
        .section?
        .wrapping_sub(bases.eh_frame_hdr.section?);
    let fde_at = |offset| {
        let at = gimli::EhFrameOffset(offset);
        section
            .fde_from_offset(bases, at, EhFrame::cie_from_offset)
            .ok()
    };
    let mut repaired: Option<Vec<u8>> = None;
    let count = word(header, 8)? as usize;
    for (pair, at) in header[FIXED..]
        .chunks_exact(8)
        .zip((FIXED..).step_by(8))
        .take(count)
    {
        let from_header = word(pair, 4)?.cast_signed();
        let from_frames = i64::from(from_header).wrapping_sub_unsigned(distance);
        let Ok(mut offset) = usize::try_from(from_frames) else {
            continue;
        };
        // With 32-bit encodings the length is the fourth word. Only suspects are parsed.
        let suspect =
            header.starts_with(&USUAL) && word(data, offset.saturating_add(12)) == Some(0);
        if !suspect {
            continue;
        }
        // More than one function in a row can be empty.
        let here = fde_at(offset).map(|fde| fde.initial_address());
        let target = loop {
            match fde_at(offset) {
                Some(fde) if Some(fde.initial_address()) != here => break None,
                Some(fde) if fde.len() == 0 => offset += 4 + fde.entry_len(),
                Some(_) => break Some(offset as u64),
                None => break None,
            }
        };
        let moved = target
            .and_then(|offset| distance.wrapping_add(offset).cast_signed().try_into().ok())
            .filter(|moved: &i32| *moved != from_header);
        if let Some(moved) = moved {
            let slot = at + 4..at + 8;
            repaired.get_or_insert_with(|| header.to_vec())[slot]
                .copy_from_slice(&moved.to_le_bytes());
        }
    }
    repaired.map(Arc::from)
}

/// (first svma, offset) of every FDE, sorted. What follows a damaged entry is left out.
fn index<'a, S: UnwindSection<Slice<'a>>>(section: S, bases: &BaseAddresses) -> Vec<(u64, usize)> {
    let mut found = Vec::new();
    let mut entries = section.entries(bases);
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else {
            continue;
        };
        if let Ok(fde) = partial.parse(S::cie_from_offset)
            && fde.len() > 0
        {
            found.push((fde.initial_address(), fde.offset()));
        }
    }
    found.sort_unstable();
    found
}
