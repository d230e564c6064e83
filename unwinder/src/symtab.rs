//! ELF symbol tables, read as the plain arrays that they are. A table of a million symbols is
//! scanned in milliseconds, without a look at names that nobody asks for.

use std::sync::Arc;

use object::{Object, ObjectSection, ReadRef};

use crate::image::Elf64;

/// One `Elf64_Sym` (System V ABI, chapter 4).
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawSymbol {
    /// The offset of the name in the string table.
    pub(crate) name: u32,
    pub(crate) kind: u8,
    pub(crate) binding: u8,
    pub(crate) section: u16,
    pub(crate) svma: u64,
    pub(crate) size: u64,
}

const STT_NOTYPE: u8 = 0;
const STT_FUNC: u8 = 2;
const STT_GNU_IFUNC: u8 = 10;
const STB_LOCAL: u8 = 0;
const STB_WEAK: u8 = 2;

impl RawSymbol {
    pub(crate) fn is_defined(&self) -> bool {
        self.section != 0
    }

    pub(crate) fn is_function(&self) -> bool {
        matches!(self.kind, STT_FUNC | STT_GNU_IFUNC)
    }

    /// A label without a type, as hand-written code has them.
    pub(crate) fn is_label(&self) -> bool {
        self.kind == STT_NOTYPE
    }

    pub(crate) fn is_local(&self) -> bool {
        self.binding == STB_LOCAL
    }

    pub(crate) fn is_weak(&self) -> bool {
        self.binding == STB_WEAK
    }
}

/// A symbol table with its strings.
pub(crate) struct SymbolTable {
    symbols: Vec<u8>,
    pub(crate) strings: Arc<[u8]>,
}

const SYMBOL_SIZE: usize = 24;

impl SymbolTable {
    /// The static table, `.symtab`.
    pub(crate) fn fixed<'data, R: ReadRef<'data>>(elf: &Elf64<'data, R>) -> Option<Self> {
        Self::read(elf, ".symtab", ".strtab")
    }

    /// The dynamic table, `.dynsym`.
    pub(crate) fn dynamic<'data, R: ReadRef<'data>>(elf: &Elf64<'data, R>) -> Option<Self> {
        Self::read(elf, ".dynsym", ".dynstr")
    }

    fn read<'data, R: ReadRef<'data>>(
        elf: &Elf64<'data, R>,
        symbols: &str,
        strings: &str,
    ) -> Option<Self> {
        let data = |name| elf.section_by_name(name)?.uncompressed_data().ok();
        let (symbols, strings) = (data(symbols)?, data(strings)?);
        (!symbols.is_empty()).then(|| Self {
            symbols: symbols.into_owned(),
            strings: Arc::from(&*strings),
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = RawSymbol> {
        self.symbols.chunks_exact(SYMBOL_SIZE).map(|raw| {
            let word = |at: usize| {
                u64::from_le_bytes(*raw[at..].first_chunk().expect("a symbol has 24 bytes"))
            };
            RawSymbol {
                name: word(0) as u32,
                kind: raw[4] & 0xf,
                binding: raw[4] >> 4,
                section: u16::from_le_bytes([raw[6], raw[7]]),
                svma: word(8),
                size: word(16),
            }
        })
    }

    pub(crate) fn name(&self, symbol: &RawSymbol) -> &[u8] {
        string_at(&self.strings, symbol.name)
    }
}

/// The string at `offset`, without its NUL; empty where the offset is wrong.
pub(crate) fn string_at(strings: &[u8], offset: u32) -> &[u8] {
    let rest = strings.get(offset as usize..).unwrap_or_default();
    &rest[..rest
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(rest.len())]
}
