//! Code that no symbol covers. Functions are found by their call frame information, and stubs of the
//! procedure linkage table (PLT) are named by the relocation of the slot that they jump through.

use std::collections::HashMap;
use std::ops::Range;

use unwinder::Cfi;
use unwinder::elf::Elf;
use unwinder::symtab::ElfSymbols;

use crate::debugfile::ObjectFile;

/// Relocation types (System V ABI for AMD64, section 4.4).
const R_X86_64_GLOB_DAT: u32 = 6;
const R_X86_64_JUMP_SLOT: u32 = 7;
const R_X86_64_IRELATIVE: u32 = 37;

/// The target of a PLT stub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The function of this linkage name, wherever the loader finds it.
    Symbol(String),
    /// The function that the resolver at this svma chooses: an indirect function of the file itself.
    Resolver(u64),
}

/// A PLT section.
struct Stubs {
    svma: u64,
    entry: u64,
    code: Vec<u8>,
}

/// What a file tells of its code beside symbols.
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
    /// Reads it from a file; empty if the file cannot be read.
    pub(crate) fn open(object: &ObjectFile) -> Self {
        let file = object.open();
        let elf = file.as_ref().ok().and_then(|file| file.parse().ok());
        elf.map_or_else(Self::default, |elf| Self::of(&elf, object))
    }

    fn of(elf: &Elf<'_>, object: &ObjectFile) -> Self {
        // A program of objects without `.eh_frame` still has the start files' `.eh_frame`, so both
        // sections count. Stripping moves `.debug_frame` to the debug file.
        let debug_frame = Cfi::of_debug_frame(elf).or_else(|| {
            let (_, file) = object.find_debug_file(&mut Vec::new())?;
            Cfi::of_debug_frame(&file.parse().ok()?)
        });
        let mut unnamed = Self {
            frames: [Cfi::of(elf), debug_frame].into_iter().flatten().collect(),
            stubs: stubs(elf),
            ..Self::default()
        };
        unnamed.read_targets(elf);
        unnamed
    }

    /// Reads the relocations (`Elf64_Rela`) of the slots that stubs jump through. Without a
    /// dynamic symbol table there are none.
    fn read_targets(&mut self, elf: &Elf<'_>) {
        let Some(names) = ElfSymbols::dynsym(elf) else {
            return;
        };
        let tables = [".rela.dyn", ".rela.plt"].map(|name| elf.bytes(name).unwrap_or_default());
        for raw in tables.iter().flat_map(|table| table.chunks_exact(24)) {
            let word = |at: usize| {
                u64::from_le_bytes(*raw[at..].first_chunk().expect("a relocation has 24 bytes"))
            };
            let (slot, kind, symbol, addend) = (word(0), word(8) as u32, word(8) >> 32, word(16));
            if kind == R_X86_64_JUMP_SLOT {
                self.lazy.push(slot);
            }
            let target = match kind {
                R_X86_64_IRELATIVE => Target::Resolver(addend),
                R_X86_64_JUMP_SLOT | R_X86_64_GLOB_DAT => match names.nth_name(symbol) {
                    Some(name) if !name.is_empty() => {
                        Target::Symbol(String::from_utf8_lossy(name).into_owned())
                    }
                    _ => continue,
                },
                _ => continue,
            };
            self.targets.insert(slot, target);
        }
    }

    /// The bounds of the function that holds `svma`, by its FDE.
    pub(crate) fn bounds(&self, svma: u64) -> Option<Range<u64>> {
        self.frames.iter().find_map(|cfi| cfi.bounds(svma))
    }

    /// The function whose address the loader writes to the slot at `svma`.
    pub(crate) fn slot(&self, svma: u64) -> Option<&Target> {
        self.targets.get(&svma)
    }

    /// The bounds of the PLT stub that holds `svma`, and its target, if that is known. The table's
    /// first stub jumps into the loader.
    pub(crate) fn stub(&self, svma: u64) -> Option<(Range<u64>, Option<&Target>)> {
        self.stubs.iter().find_map(|stubs| {
            let within = svma.checked_sub(stubs.svma)?;
            let start = within - within % stubs.entry;
            let from = usize::try_from(start).ok()?;
            let rest = stubs.code.get(from..).filter(|rest| !rest.is_empty())?;
            let length = rest.len().min(usize::try_from(stubs.entry).ok()?);
            let svma = stubs.svma + start;
            let target = self.target(svma, &rest[..length]);
            Some((svma..svma.checked_add(length as u64)?, target))
        })
    }

    /// The target of the stub with this code at `svma`. The stub jumps through its slot, or pushes its
    /// slot's number if a second table (`.plt.sec`) has the jump.
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
fn stubs(elf: &Elf<'_>) -> Vec<Stubs> {
    /// The usual size of a stub (System V ABI for AMD64, section 5.2), for linkers that leave
    /// `sh_entsize` at 0.
    const USUAL: u64 = 16;
    elf.sections()
        .filter(|section| section.name.starts_with(".plt") || section.name == ".iplt")
        .filter_map(|section| {
            Some(Stubs {
                svma: section.svma,
                entry: match section.entry_size {
                    size @ (8 | 16 | 32) => size,
                    _ => USUAL,
                },
                code: elf.bytes(&section.name)?.into_owned(),
            })
        })
        .collect()
}
