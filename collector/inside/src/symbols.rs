//! The symbols that loaded objects define, read from the objects' own tables.
//!
//! The loader could look them up as well. But for a missing symbol it allocates an error message in
//! the program's heap.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::ptr;

use crate::objects::{self, Object};

/// Whether any loaded object other than the library that asks defines `name`.
pub(crate) fn is_defined(name: &CStr) -> bool {
    let hash = gnu_hash(name.to_bytes());
    objects::first(|object| (!object.is_own() && defines(object, name, hash)).then_some(()))
        .is_some()
}

/// Where the first loaded object but the library that asks defines `name`. Objects without a GNU hash table are passed over.
pub(crate) fn address_of(name: &CStr) -> Option<u64> {
    let hash = gnu_hash(name.to_bytes());
    objects::first(|object| {
        let tables = tables_of(object).filter(|_| !object.is_own())??;
        // SAFETY: the tables come from the dynamic section of one loaded object.
        let value = unsafe { tables.find(name, hash) }?;
        Some(object.base() + value)
    })
}

fn defines(object: &Object<'_>, name: &CStr, hash: u32) -> bool {
    match tables_of(object) {
        None => false,
        // SAFETY: the tables come from the dynamic section of one loaded object.
        Some(Some(tables)) => unsafe { tables.find(name, hash) }.is_some(),
        // Without a GNU hash table the object may define any name: the loader will tell.
        Some(None) => true,
    }
}

/// An object's tables, if it has a dynamic section, and if they are all there.
fn tables_of(object: &Object<'_>) -> Option<Option<Tables>> {
    let dynamic = object.dynamic()?;
    // SAFETY: PT_DYNAMIC gives the address of the object's dynamic section, which is mapped
    // while the loader calls back.
    Some(unsafe { Tables::of(dynamic as *const Dynamic, object.base()) })
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
    /// `None` if one of them is missing.
    ///
    /// # Safety
    /// `entry` must be the dynamic section of an object that is loaded at `base`.
    unsafe fn of(mut entry: *const Dynamic, base: u64) -> Option<Tables> {
        let (mut hash, mut symbols, mut strings) = (0, 0, 0);
        // The loader has relocated the values to addresses, except those of the vDSO.
        let address = |value: u64| if value < base { base + value } else { value };
        // SAFETY: the caller's promise; a dynamic section ends with an entry of tag DT_NULL, at which
        // the loop stops.
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

    /// The value of the defined symbol `name`, which has this hash.
    ///
    /// # Safety
    /// The tables must be those of one loaded object.
    unsafe fn find(&self, name: &CStr, hash: u32) -> Option<u64> {
        // SAFETY: by the caller's promise the table has the layout that linkers write: four words of
        // counts, a Bloom filter of 64-bit words, the buckets, and a word for each symbol from the
        // first hashed one on. A bucket holds the number of a hashed symbol or 0, and the chain from
        // there ends at a word whose lowest bit is set. So all reads lie within the table.
        unsafe {
            let (buckets, first) = (*self.hash, *self.hash.add(1));
            let filter_words = *self.hash.add(2);
            if buckets == 0 {
                return None;
            }
            let bucket = self.hash.add(4 + 2 * filter_words as usize);
            let chain = bucket.add(buckets as usize);
            let mut index = *bucket.add((hash % buckets) as usize);
            if index < first {
                return None;
            }
            loop {
                let word = *chain.add((index - first) as usize);
                if word | 1 == hash | 1
                    && let Some(value) = self.value(index, name)
                {
                    return Some(value);
                }
                if word & 1 != 0 {
                    return None;
                }
                index += 1;
            }
        }
    }

    /// The value of symbol number `index`, if it is defined and has this name.
    ///
    /// # Safety
    /// The symbol table must have a symbol of that number.
    unsafe fn value(&self, index: u32, name: &CStr) -> Option<u64> {
        // SAFETY: the caller promises that the symbol exists; its name is an offset in the string
        // table, whose strings are terminated.
        unsafe {
            let symbol = &*self.symbols.add(index as usize);
            let is_it = symbol.st_shndx != 0
                && CStr::from_ptr(self.strings.add(symbol.st_name as usize)) == name;
            is_it.then_some(symbol.st_value)
        }
    }
}

/// The hash of the GNU table: Bernstein's, from 5381.
fn gnu_hash(name: &[u8]) -> u32 {
    name.iter().fold(5381, |hash: u32, byte| {
        hash.wrapping_mul(33).wrapping_add(u32::from(*byte))
    })
}
