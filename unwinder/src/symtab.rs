//! ELF symbol tables, read as the arrays that they are. A scan of a million symbols takes
//! milliseconds, since names are read only when they are asked for.

use std::sync::Arc;

use crate::elf::Elf;

/// One `Elf64_Sym` (System V ABI, chapter 4).
#[derive(Clone, Copy, Debug)]
pub struct ElfSymbol {
    /// The offset of the name in the string table.
    pub name: u32,
    kind: u8,
    binding: u8,
    section: u16,
    /// The address of its first byte.
    pub svma: u64,
    /// In bytes; 0 if it does not say.
    pub size: u64,
}

const STT_NOTYPE: u8 = 0;
const STT_OBJECT: u8 = 1;
const STT_FUNC: u8 = 2;
const STT_COMMON: u8 = 5;
const STT_GNU_IFUNC: u8 = 10;
const STB_LOCAL: u8 = 0;
const STB_WEAK: u8 = 2;

impl ElfSymbol {
    fn of(raw: &[u8]) -> Self {
        let word = |at: usize| {
            u64::from_le_bytes(*raw[at..].first_chunk().expect("a symbol has 24 bytes"))
        };
        ElfSymbol {
            name: word(0) as u32,
            kind: raw[4] & 0xf,
            binding: raw[4] >> 4,
            section: u16::from_le_bytes([raw[6], raw[7]]),
            svma: word(8),
            size: word(16),
        }
    }

    /// Whether the file itself defines it.
    #[must_use]
    pub fn is_defined(&self) -> bool {
        self.section != 0
    }

    /// Whether it is a function, or chooses one (`STT_GNU_IFUNC`).
    #[must_use]
    pub fn is_function(&self) -> bool {
        matches!(self.kind, STT_FUNC | STT_GNU_IFUNC)
    }

    /// Whether it is a variable.
    #[must_use]
    pub fn is_variable(&self) -> bool {
        matches!(self.kind, STT_OBJECT | STT_COMMON)
    }

    /// A label without a type, as hand-written code has them.
    #[must_use]
    pub fn is_label(&self) -> bool {
        self.kind == STT_NOTYPE
    }

    /// Whether other files cannot refer to it.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.binding == STB_LOCAL
    }

    /// Whether another definition replaces it.
    #[must_use]
    pub fn is_weak(&self) -> bool {
        self.binding == STB_WEAK
    }
}

/// A symbol table with its strings.
pub struct ElfSymbols {
    symbols: Vec<u8>,
    /// Its names, each with a NUL behind it.
    pub strings: Arc<[u8]>,
}

const SYMBOL_SIZE: usize = 24;

impl ElfSymbols {
    /// The static table, `.symtab`.
    #[must_use]
    pub fn symtab(elf: &Elf<'_>) -> Option<Self> {
        Self::read(elf, ".symtab", ".strtab")
    }

    /// The dynamic table, `.dynsym`.
    #[must_use]
    pub fn dynsym(elf: &Elf<'_>) -> Option<Self> {
        Self::read(elf, ".dynsym", ".dynstr")
    }

    fn read(elf: &Elf<'_>, symbols: &str, strings: &str) -> Option<Self> {
        Some(Self {
            symbols: elf.bytes(symbols)?.into_owned(),
            strings: Arc::from(elf.bytes(strings).unwrap_or_default()),
        })
    }

    /// All symbols, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = ElfSymbol> {
        self.symbols.chunks_exact(SYMBOL_SIZE).map(ElfSymbol::of)
    }

    /// The name of the symbol of that number.
    #[must_use]
    pub fn nth_name(&self, number: u64) -> Option<&[u8]> {
        let symbol = self
            .symbols
            .chunks_exact(SYMBOL_SIZE)
            .nth(usize::try_from(number).ok()?)?;
        Some(self.name(&ElfSymbol::of(symbol)))
    }

    /// The name of a symbol of this table.
    #[must_use]
    pub fn name(&self, symbol: &ElfSymbol) -> &[u8] {
        string_at(&self.strings, symbol.name)
    }
}

/// The string at `offset`, without its NUL; empty where the offset is wrong.
#[must_use]
pub fn string_at(strings: &[u8], offset: u32) -> &[u8] {
    let rest = strings.get(offset as usize..).unwrap_or_default();
    &rest[..rest
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(rest.len())]
}
