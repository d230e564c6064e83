//! The variables of a load object, by the symbols of its file.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;

/// The most bytes of a table that are read.
const LONGEST: u64 = 256 << 20;

/// How the names of variables begin that runtimes and compilers keep for themselves.
const NOT_OWN: [&[u8]; 4] = [
    b".gomp_critical_user_",
    b".omp.",
    b"_gomp_critical_user_",
    b"completed.",
];

/// Reads numbers of an ELF file (elf(5)), of 64 bits and little-endian.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    bytes.get(at..at + size).map(divergence::words::word)
}

struct Section {
    kind: u64,
    offset: u64,
    bytes: u64,
    link: usize,
}

fn read(file: &File, offset: u64, bytes: u64) -> Option<Vec<u8>> {
    if bytes > LONGEST {
        return None;
    }
    let mut to = vec![0; bytes as usize];
    file.read_exact_at(&mut to, offset).ok()?;
    Some(to)
}

/// The address and size of each variable in the file at `path`, by address; `None` if it has no table of symbols.
pub(crate) fn variables(path: &[u8]) -> Option<Vec<(u64, u64)>> {
    const SYMBOLS: u64 = 2;
    const HEADER: u64 = 64;
    const SYMBOL: usize = 24;
    const OBJECT: u64 = 1;
    let file = File::open(OsStr::from_bytes(path)).ok()?;
    let header = read(&file, 0, HEADER)?;
    if header.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let (at, count) = (number(&header, 0x28, 8)?, number(&header, 0x3c, 2)?);
    let table = read(&file, at, count * HEADER)?;
    let section = |entry: &[u8]| {
        Some(Section {
            kind: number(entry, 4, 4)?,
            offset: number(entry, 0x18, 8)?,
            bytes: number(entry, 0x20, 8)?,
            link: number(entry, 0x28, 4)? as usize,
        })
    };
    let sections: Vec<Section> = table
        .chunks_exact(HEADER as usize)
        .filter_map(section)
        .collect();
    let symbols = sections.iter().find(|section| section.kind == SYMBOLS)?;
    let names = sections.get(symbols.link)?;
    let (symbols, names) = (
        read(&file, symbols.offset, symbols.bytes)?,
        read(&file, names.offset, names.bytes)?,
    );
    let variable = |symbol: &[u8]| {
        let (address, bytes) = (number(symbol, 8, 8)?, number(symbol, 16, 8)?);
        let (kind, section) = (number(symbol, 4, 1)? & 0xf, number(symbol, 6, 2)?);
        let name = names.get(number(symbol, 0, 4)? as usize..)?;
        let name = name.split(|byte| *byte == 0).next()?;
        // A variable of a library that lies in the executable has the library's version in its name.
        let is_own = !name.contains(&b'@') && !NOT_OWN.iter().any(|other| name.starts_with(other));
        (kind == OBJECT && section != 0 && bytes > 0 && is_own).then_some((address, bytes))
    };
    let mut all: Vec<(u64, u64)> = symbols.chunks_exact(SYMBOL).filter_map(variable).collect();
    all.sort_unstable();
    all.dedup_by_key(|(address, _)| *address);
    Some(all)
}
