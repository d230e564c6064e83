//! Finds the code of a static library in the file that it was linked into.

use std::ops::Range;
use std::path::Path;

use unwinder::elf::{Elf, ElfError, ElfFile};
use unwinder::symtab::ElfSymbols;

/// The functions of a file, judged by their names: which ones belong to the library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linked {
    /// Functions that the file offers to others, in its dynamic symbol table.
    pub offered: usize,
    /// Those of them that are known.
    pub known: usize,
    /// The svma ranges of the known functions' code, sorted and disjoint. Functions between two
    /// known ones are in it where they are local to their object file (or hidden, which the linker
    /// makes local): the objects of a library lie side by side.
    pub code: Vec<Range<u64>>,
}

impl Linked {
    /// Reads the symbol tables of the file at `path`; `is_known` judges a function by its name. It
    /// is asked about every symbol, those of data and of other files' functions among them.
    ///
    /// # Errors
    /// Any of [`ElfError`] but `Replaced`.
    pub fn read(path: &Path, mut is_known: impl FnMut(&[u8]) -> bool) -> Result<Self, ElfError> {
        Ok(Self::scan(&ElfFile::open(path)?.parse()?, &mut is_known))
    }

    /// Whether an svma lies in the known functions' code.
    #[must_use]
    pub fn holds(&self, svma: u64) -> bool {
        let after = self.code.partition_point(|range| range.start <= svma);
        after > 0 && self.code[after - 1].end > svma
    }

    fn scan(elf: &Elf<'_>, is_known: &mut dyn FnMut(&[u8]) -> bool) -> Self {
        let mut functions = Vec::new();
        let mut linked = Linked::default();
        let tables = [ElfSymbols::dynsym(elf), ElfSymbols::symtab(elf)];
        for (table, dynamic) in tables.iter().zip([true, false]) {
            let Some(table) = table else { continue };
            for symbol in table.iter() {
                let known = is_known(table.name(&symbol));
                if !symbol.is_defined() || !symbol.is_function() {
                    continue;
                }
                if dynamic && !symbol.is_local() {
                    linked.offered += 1;
                    linked.known += usize::from(known);
                }
                functions.push(Named {
                    start: symbol.svma,
                    end: symbol.svma.saturating_add(symbol.size.max(1)),
                    known,
                    local: symbol.is_local(),
                });
            }
        }
        linked.code = code(functions);
        linked
    }
}

/// A function symbol.
struct Named {
    start: u64,
    end: u64,
    known: bool,
    local: bool,
}

fn code(mut functions: Vec<Named>) -> Vec<Range<u64>> {
    functions.sort_unstable_by_key(|function| function.start);
    // Of several names of one function, one known name or one global name is enough.
    functions.dedup_by(|next, first| {
        let same = next.start == first.start;
        if same {
            first.end = first.end.max(next.end);
            first.known |= next.known;
            first.local &= next.local;
        }
        same
    });
    let mut ranges: Vec<Range<u64>> = Vec::new();
    let mut joins = false;
    for function in functions {
        if function.known {
            match ranges.last_mut() {
                Some(range) if joins => range.end = range.end.max(function.end),
                _ => ranges.push(function.start..function.end),
            }
            joins = true;
        } else {
            joins &= function.local;
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(start: u64, known: bool, local: bool) -> Named {
        Named {
            start,
            end: start + 8,
            known,
            local,
        }
    }

    #[test]
    fn local_functions_between_known_ones_are_of_the_same_library() {
        let known = |start| function(start, true, false);
        let (local, global) = (
            |at| function(at, false, true),
            |at| function(at, false, false),
        );
        let functions = vec![
            local(0),
            known(16),
            local(32),
            known(48),
            local(64),
            global(80),
            known(96),
            // A second name of the same function.
            global(96),
        ];
        let linked = Linked {
            code: code(functions),
            ..Linked::default()
        };
        assert_eq!(linked.code, [16..56, 96..104]);
        let held = [0, 16, 40, 55, 56, 64, 80, 96, 104].map(|svma| linked.holds(svma));
        assert_eq!(
            held,
            [false, true, true, true, false, false, false, true, false]
        );
    }

    #[test]
    fn the_test_s_own_functions_are_found() {
        let itself = std::env::current_exe().expect("a running program has a path");
        let linked = Linked::read(&itself, |name| name == b"main").expect("it is an ELF file");
        assert_eq!(linked.code.len(), 1, "one main");
        assert!(linked.known <= linked.offered);
    }
}
