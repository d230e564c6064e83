//! What loaded objects define, read from their own tables.
//!
//! The loader can be asked as well, but it answers "no" by an exception, made of text in the
//! program's heap.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;
use std::ptr;

/// Whether any object that is loaded, this library aside, defines `name`.
pub(crate) fn is_defined(name: &CStr) -> bool {
    let mut search = Search {
        name,
        hash: gnu_hash(name.to_bytes()),
        found: false,
    };
    // SAFETY: the callback gets the pointer to `search`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found
}

struct Search<'a> {
    name: &'a CStr,
    hash: u32,
    found: bool,
}

unsafe extern "C" fn visit(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    search: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes a valid description, and `is_defined` its own local.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search<'_>>()) };
    // SAFETY: the loader describes that many program headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
    let own: fn(&[u8]) -> u32 = gnu_hash;
    let is_own = range_of(info).contains(&(own as usize as u64));
    let dynamic = headers.iter().find(|it| it.p_type == libc::PT_DYNAMIC);
    if let Some(dynamic) = dynamic
        && !is_own
    {
        let dynamic = (info.dlpi_addr + dynamic.p_vaddr) as *const Dynamic;
        // SAFETY: the section of an object that the loader holds while it calls back.
        search.found = match unsafe { Tables::of(dynamic, info.dlpi_addr) } {
            // SAFETY: the tables of that object.
            Some(tables) => unsafe { tables.define(search.name, search.hash) },
            // An object with tables of another kind may define anything: the loader is asked.
            None => true,
        };
    }
    c_int::from(search.found)
}

/// The addresses of an object.
pub(crate) fn range_of(info: &libc::dl_phdr_info) -> Range<u64> {
    // SAFETY: the loader describes that many program headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
    let loaded = headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD);
    let start = loaded.clone().map(|it| info.dlpi_addr + it.p_vaddr).min();
    let end = loaded
        .map(|it| info.dlpi_addr + it.p_vaddr + it.p_memsz)
        .max();
    start.unwrap_or(0)..end.unwrap_or(0)
}

/// An entry of a dynamic section (System V ABI, `Elf64_Dyn`).
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: u64,
}

const DT_NULL: i64 = 0;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_GNU_HASH: i64 = 0x6fff_fef5;

/// An object's dynamic symbols, and the hash table over them that every object of a GNU system
/// has (`DT_GNU_HASH` of the gABI's GNU supplement).
struct Tables {
    hash: *const u32,
    symbols: *const libc::Elf64_Sym,
    strings: *const libc::c_char,
}

impl Tables {
    /// `None` where one is missing.
    ///
    /// # Safety
    /// `entry` is the dynamic section of an object that is loaded at `base`.
    unsafe fn of(mut entry: *const Dynamic, base: u64) -> Option<Tables> {
        let (mut hash, mut symbols, mut strings) = (0, 0, 0);
        // The loader has made the values addresses, but not those of the kernel's own object.
        let address = |value: u64| if value < base { base + value } else { value };
        // SAFETY: a dynamic section ends with an entry of this tag.
        unsafe {
            while (*entry).tag != DT_NULL {
                match (*entry).tag {
                    DT_GNU_HASH => hash = address((*entry).value),
                    DT_SYMTAB => symbols = address((*entry).value),
                    DT_STRTAB => strings = address((*entry).value),
                    _ => {}
                }
                entry = entry.add(1);
            }
        }
        (hash != 0 && symbols != 0 && strings != 0).then_some(Tables {
            hash: ptr::with_exposed_provenance(hash as usize),
            symbols: ptr::with_exposed_provenance(symbols as usize),
            strings: ptr::with_exposed_provenance(strings as usize),
        })
    }

    /// Whether `name`, whose hash is `hash`, is among the defined symbols.
    ///
    /// # Safety
    /// The tables are those of one loaded object.
    unsafe fn define(&self, name: &CStr, hash: u32) -> bool {
        // SAFETY: four words of counts, so many words of a filter, a bucket for each remainder,
        // and behind them a word for each symbol from the first hashed one on; a chain ends at a
        // word whose lowest bit is set.
        unsafe {
            let (buckets, first) = (*self.hash, *self.hash.add(1));
            let filter_words = *self.hash.add(2);
            if buckets == 0 {
                return false;
            }
            let bucket = self.hash.add(4 + 2 * filter_words as usize);
            let chain = bucket.add(buckets as usize);
            let mut index = *bucket.add((hash % buckets) as usize);
            if index < first {
                return false;
            }
            loop {
                let word = *chain.add((index - first) as usize);
                if word | 1 == hash | 1 && self.is(index, name) {
                    return true;
                }
                if word & 1 != 0 {
                    return false;
                }
                index += 1;
            }
        }
    }

    /// Whether symbol number `index` is defined and has this name.
    ///
    /// # Safety
    /// The table has that many symbols.
    unsafe fn is(&self, index: u32, name: &CStr) -> bool {
        // SAFETY: the caller's promise; names are C strings.
        unsafe {
            let symbol = &*self.symbols.add(index as usize);
            symbol.st_shndx != 0
                && CStr::from_ptr(self.strings.add(symbol.st_name as usize)) == name
        }
    }
}

/// The hash of the GNU table: Bernstein's, from 5381.
fn gnu_hash(name: &[u8]) -> u32 {
    name.iter().fold(5381, |hash: u32, byte| {
        hash.wrapping_mul(33).wrapping_add(u32::from(*byte))
    })
}
