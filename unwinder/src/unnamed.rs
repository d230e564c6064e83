//! Code that no symbol covers: functions by their call frame information, stubs of the procedure
//! linkage table (PLT) by the relocation of the slot that they jump through.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;

use object::elf::{R_X86_64_GLOB_DAT, R_X86_64_IRELATIVE, R_X86_64_JUMP_SLOT};
use object::{
    Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, ReadRef, RelocationFlags,
    RelocationTarget,
};

use crate::cfi::Cfi;
use crate::debugfile::{self, Links};
use crate::fde::CfiSections;
use crate::file;
use crate::image::{Elf64, cfi_sections, debug_frame_sections, elf64};

/// Where a stub of the PLT leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// To the function of this linkage name, wherever the loader finds it.
    Symbol(String),
    /// To what the function at this svma chooses: an indirect function of the file itself.
    Resolver(u64),
}

/// A PLT section.
struct Stubs {
    svma: u64,
    entry: u64,
    code: Vec<u8>,
}

/// What is known of a file's code beside its symbols.
#[derive(Default)]
pub(crate) struct Unnamed {
    /// The file's own call frame information, and that of its debug file.
    frames: Vec<Cfi>,
    stubs: Vec<Stubs>,
    /// By the svma of the slot that the loader fills.
    targets: HashMap<u64, Target>,
    /// The slots of lazily bound functions in the order of their relocations, by which the stubs
    /// number them.
    lazy: Vec<u64>,
}

impl Unnamed {
    /// What is known of the code of a file; nothing where it cannot be read (any more).
    pub(crate) fn open(links: &Links, roots: &[PathBuf]) -> Self {
        let Ok(pieces) = file::open(&links.path) else {
            return Self::default();
        };
        elf64(&pieces).map_or_else(|_| Self::default(), |elf| Self::of_elf(&elf, links, roots))
    }

    /// As [`Unnamed::open`], of an ELF file in memory.
    pub(crate) fn of_bytes(bytes: &[u8], links: &Links, roots: &[PathBuf]) -> Self {
        elf64(bytes).map_or_else(|_| Self::default(), |elf| Self::of_elf(&elf, links, roots))
    }

    fn of_elf<'data, R: ReadRef<'data>>(
        elf: &Elf64<'data, R>,
        links: &Links,
        roots: &[PathBuf],
    ) -> Self {
        // Objects compiled without `.eh_frame` stand beside the start files, which have one: both
        // sections count, and stripping moves the second into the debug file.
        let own = debug_frame_sections(elf);
        let debug_frame = own.or_else(|| {
            let (_, pieces) = debugfile::find(links, roots, &mut Vec::new())?;
            debug_frame_sections(&elf64(&pieces).ok()?)
        });
        let cfi = |mut sections: CfiSections| Cfi::new(&mut sections);
        let mut unnamed = Self {
            frames: [Some(cfi_sections(elf)), debug_frame]
                .into_iter()
                .filter_map(|sections| cfi(sections?))
                .collect(),
            stubs: stubs(elf),
            ..Self::default()
        };
        unnamed.read_targets(elf);
        unnamed
    }

    fn read_targets<'data, R: ReadRef<'data>>(&mut self, elf: &Elf64<'data, R>) {
        let names = elf.dynamic_symbol_table();
        for (slot, relocation) in elf.dynamic_relocations().into_iter().flatten() {
            let RelocationFlags::Elf { r_type } = relocation.flags() else {
                continue;
            };
            if r_type == R_X86_64_JUMP_SLOT {
                self.lazy.push(slot);
            }
            let target = match (r_type, relocation.target()) {
                (R_X86_64_IRELATIVE, _) => Target::Resolver(relocation.addend().cast_unsigned()),
                (R_X86_64_JUMP_SLOT | R_X86_64_GLOB_DAT, RelocationTarget::Symbol(index)) => {
                    let symbol = names.as_ref().map(|names| names.symbol_by_index(index));
                    let name = symbol.and_then(|symbol| symbol.ok()?.name_bytes().ok());
                    match name {
                        Some(name) if !name.is_empty() => {
                            Target::Symbol(String::from_utf8_lossy(name).into_owned())
                        }
                        _ => continue,
                    }
                }
                _ => continue,
            };
            self.targets.insert(slot, target);
        }
    }

    /// The bounds of the function that holds `svma`, by its FDE.
    pub(crate) fn bounds(&self, svma: u64) -> Option<Range<u64>> {
        self.frames.iter().find_map(|cfi| cfi.bounds(svma))
    }

    /// What the loader puts into the slot at `svma`.
    pub(crate) fn slot(&self, svma: u64) -> Option<&Target> {
        self.targets.get(&svma)
    }

    /// The bounds of the PLT stub that holds `svma`, and where it leads, if that is known. The
    /// table's first stub leads into the loader.
    pub(crate) fn stub(&self, svma: u64) -> Option<(Range<u64>, Option<&Target>)> {
        self.stubs.iter().find_map(|stubs| {
            let within = svma.checked_sub(stubs.svma)?;
            let start = within - within % stubs.entry;
            let from = usize::try_from(start).ok()?;
            let rest = stubs.code.get(from..).filter(|rest| !rest.is_empty())?;
            let length = rest.len().min(usize::try_from(stubs.entry).ok()?);
            let svma = stubs.svma + start;
            let target = self.target(svma, &rest[..length]);
            Some((svma..svma + length as u64, target))
        })
    }

    /// Where the stub with this code at `svma` leads: it jumps through its slot, or where that is
    /// left to a second table (`.plt.sec`) pushes its slot's number.
    fn target(&self, svma: u64, code: &[u8]) -> Option<&Target> {
        const JUMP: [u8; 2] = [0xff, 0x25];
        const PUSH: u8 = 0x68;
        const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
        let word = |at: usize| {
            let bytes: &[u8; 4] = code.get(at..)?.first_chunk()?;
            Some(i32::from_le_bytes(*bytes))
        };
        let through = |at: usize| {
            let next = svma.wrapping_add(at as u64 + 6);
            let slot = next.wrapping_add_signed(i64::from(word(at + 2)?));
            self.targets.get(&slot)
        };
        let mut jumps = (0..code.len()).filter(|&at| code[at..].starts_with(&JUMP));
        jumps.find_map(through).or_else(|| {
            let at = if code.starts_with(&ENDBR64) { 4 } else { 0 };
            (*code.get(at)? == PUSH).then_some(())?;
            let slot = self.lazy.get(usize::try_from(word(at + 1)?).ok()?)?;
            self.targets.get(slot)
        })
    }
}

/// The PLT sections of a file: `.plt`, `.plt.got`, `.plt.sec`, and LLD's `.iplt`.
fn stubs<'data, R: ReadRef<'data>>(elf: &Elf64<'data, R>) -> Vec<Stubs> {
    /// The usual size of a stub (System V ABI for AMD64, section 5.2), for linkers that leave
    /// `sh_entsize` at 0.
    const USUAL: u64 = 16;
    let wanted = |name: &str| name.starts_with(".plt") || name == ".iplt";
    elf.sections()
        .filter(|section| section.name().is_ok_and(wanted))
        .filter_map(|section| {
            let entry = section.elf_section_header().sh_entsize.get(elf.endian());
            Some(Stubs {
                svma: section.address(),
                entry: if matches!(entry, 8 | 16 | 32) {
                    entry
                } else {
                    USUAL
                },
                code: section.data().ok()?.to_vec(),
            })
        })
        .collect()
}
