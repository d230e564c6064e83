//! The functions of a file: which one holds an svma, and its name.

use std::cell::{OnceCell, RefCell};
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use experiment::linkage::STUB;
use rustc_hash::FxHashMap;
use unwinder::elf::{Code, Elf, ElfError, ElfFile};
use unwinder::symtab::{ElfSymbol, ElfSymbols, string_at};
use unwinder::{BuildId, Cfi};

use crate::debugfile::{Bytes, DebugFolders, ObjectFile, SymbolsMiss};
use crate::debuginfo::{DebugInfo, FullDebugInfo, Location};
use crate::outlined::Origin;
use crate::ranges::Ranges;
use crate::unnamed::{Target, Unnamed};

/// A function of a load object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElfFunction {
    /// The linkage name, as the symbol table has it; `foo@plt` for a stub of the procedure linkage
    /// table, and empty for code that [`Symbols::code`] knows by its bounds alone.
    pub name: String,
    /// The svma of its first byte.
    pub start: u64,
    /// Its length in bytes.
    pub size: u64,
}

/// A variable of a load object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElfVariable {
    /// The linkage name, as the symbol table has it.
    pub name: String,
    /// The svma of its first byte.
    pub start: u64,
    /// Its length in bytes.
    pub size: u64,
}

#[derive(Clone, Copy)]
struct Entry {
    start: u64,
    end: u64,
    /// The greatest `end` of this entry and all before it.
    reach: u64,
    name: u32,
    table: u8,
}

/// Where the name of a variable is.
#[derive(Clone, Copy)]
struct Name {
    table: u8,
    offset: u32,
}

/// The symbols of one file, and its debug information once lines are asked for.
pub struct Symbols {
    /// The functions, by address.
    entries: Vec<Entry>,
    /// Their numbers, by name, and of one name by address. Made on first use.
    by_name: OnceCell<Box<[u32]>>,
    variables: Ranges<Name>,
    strings: Vec<Arc<[u8]>>,
    misses: Vec<SymbolsMiss>,
    has_fortran: bool,
    object: ObjectFile,
    debug: OnceCell<Result<DebugInfo, SymbolsMiss>>,
    unnamed: OnceCell<Unnamed>,
    machine_code: OnceCell<Option<Code>>,
    /// Those of outlined functions, by the functions' svmas.
    pub(crate) origins: RefCell<FxHashMap<u64, Option<Origin>>>,
}

impl std::fmt::Debug for Symbols {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Symbols")
            .field("path", &self.object.path)
            .field("functions", &self.entries.len())
            .field("misses", &self.misses)
            .finish_non_exhaustive()
    }
}

impl Symbols {
    /// Opens the symbols of the file at `path`; with `expected`, only if that is its build id.
    ///
    /// Names come from its own tables, from `.gnu_debugdata`, and where it was stripped from a
    /// separate debug file in one of the usual [folders](DebugFolders::of_user) or beside it.
    ///
    /// # Errors
    /// [`SymbolsMiss::File`] when the file cannot be read or is another build. A stripped file is
    /// no error; what was missed is in [`Symbols::misses`].
    pub fn open(path: &Path, expected: Option<&BuildId>) -> Result<Self, SymbolsMiss> {
        Self::open_among(path, expected, &DebugFolders::of_user())
    }

    /// As [`Symbols::open`], with other folders of debug files.
    ///
    /// # Errors
    /// As [`Symbols::open`].
    pub fn open_among(
        path: &Path,
        expected: Option<&BuildId>,
        folders: &DebugFolders,
    ) -> Result<Self, SymbolsMiss> {
        Self::open_at((path, path), expected, folders)
    }

    /// As [`Symbols::open`], of a file that was at `path` and is at `place`.
    ///
    /// # Errors
    /// As [`Symbols::open`].
    pub fn open_moved(path: &Path, place: &Path) -> Result<Self, SymbolsMiss> {
        Self::open_at((path, place), None, &DebugFolders::of_user())
    }

    fn open_at(
        (path, place): (&Path, &Path),
        expected: Option<&BuildId>,
        folders: &DebugFolders,
    ) -> Result<Self, SymbolsMiss> {
        let unusable = |error| SymbolsMiss::File {
            path: path.to_owned(),
            error,
        };
        let file = ElfFile::open(place).map_err(unusable)?;
        let elf = file.parse().map_err(unusable)?;
        let bytes = Bytes::At(place.to_owned());
        let object = ObjectFile::of(path, bytes, &elf, folders);
        if let Some(expected) = expected
            && !object
                .build_id
                .as_ref()
                .is_some_and(|found| found.same_file(expected))
        {
            return Err(unusable(ElfError::Replaced {
                expected: Some(expected.clone()),
                found: object.build_id,
            }));
        }
        Ok(Self::of(&elf, object))
    }

    /// Opens the symbols of the file at `place`, which was at `path`, if it is a recorded load object by its build
    /// id in hexadecimal, or of a copy of that in a cache: anybody may have made the recording, which may name
    /// any file. One that had no build id has none now.
    ///
    /// # Errors
    /// As [`Symbols::open`].
    pub fn open_recorded(
        path: &Path,
        place: &Path,
        build_id: &str,
        folders: &DebugFolders,
    ) -> Result<Self, SymbolsMiss> {
        let Some(expected) = BuildId::from_hex(build_id) else {
            let symbols = Self::open_at((path, place), None, folders)?;
            return match symbols.build_id() {
                None => Ok(symbols),
                Some(found) => Err(SymbolsMiss::File {
                    path: path.to_owned(),
                    error: ElfError::Replaced {
                        expected: None,
                        found: Some(found.clone()),
                    },
                }),
            };
        };
        let open =
            |path: &Path, place: &Path| Self::open_at((path, place), Some(&expected), folders);
        open(path, place).or_else(|miss| {
            let mut copies = folders.programs(&expected);
            copies.find_map(|copy| open(&copy, &copy).ok()).ok_or(miss)
        })
    }

    /// The symbols of an ELF file held in memory, such as the vDSO.
    ///
    /// # Errors
    /// [`SymbolsMiss::File`] when the bytes are not an ELF file for this machine.
    pub fn from_bytes(path: &Path, bytes: Arc<[u8]>) -> Result<Self, SymbolsMiss> {
        let file = ElfFile::in_memory(bytes.clone());
        let elf = file.parse().map_err(|error| SymbolsMiss::File {
            path: path.to_owned(),
            error,
        })?;
        let bytes = Bytes::InMemory(bytes);
        let object = ObjectFile::of(path, bytes, &elf, &DebugFolders::of_user());
        Ok(Self::of(&elf, object))
    }

    fn of(elf: &Elf<'_>, object: ObjectFile) -> Self {
        let mut misses = Vec::new();
        let tables = tables(elf, &object, &mut misses);
        let entries = entries(&tables, elf.code_ranges());
        let variables = variables(&tables);
        let has_fortran = tables.iter().any(has_fortran);
        let strings = tables.into_iter().map(|table| table.strings).collect();
        Self {
            entries,
            by_name: OnceCell::new(),
            variables,
            strings,
            misses,
            has_fortran,
            object,
            debug: OnceCell::new(),
            unnamed: OnceCell::new(),
            machine_code: OnceCell::new(),
            origins: RefCell::default(),
        }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.object.path
    }

    /// The build id of the file.
    #[must_use]
    pub fn build_id(&self) -> Option<&BuildId> {
        self.object.build_id.as_ref()
    }

    /// What was looked for and not found while opening.
    #[must_use]
    pub fn misses(&self) -> &[SymbolsMiss] {
        &self.misses
    }

    /// The function that holds `svma`. `None` in the gaps, such as static functions of a stripped
    /// file: a symbol is never stretched beyond its size. A symbol without a size, as
    /// hand-written code has them, reaches to the next symbol.
    #[must_use]
    pub fn function(&self, svma: u64) -> Option<ElfFunction> {
        let after = self.entries.partition_point(|entry| entry.start <= svma);
        let entry = self.entries[..after]
            .iter()
            .rev()
            .take_while(|entry| entry.reach > svma)
            .find(|entry| entry.end > svma)?;
        Some(self.as_function(entry))
    }

    /// The function that holds `svma`: that of [`Symbols::function`], or in a stripped file one found
    /// otherwise:
    ///
    /// - a stub of the procedure linkage table is `foo@plt`, after its target;
    /// - a function without a symbol has the bounds of its FDE, and no name. A part that the compiler
    ///   split off (`.cold`) is a function by itself.
    #[must_use]
    pub fn code(&self, svma: u64) -> Option<ElfFunction> {
        if let Some(named) = self.function(svma) {
            return Some(named);
        }
        let unnamed = self.unnamed();
        let of = |name: Option<String>, range: Range<u64>| ElfFunction {
            name: name.unwrap_or_default(),
            start: range.start,
            size: range.end - range.start,
        };
        if let Some((range, target)) = unnamed.stub(svma) {
            let name = target.and_then(|target| self.name_at(target));
            return Some(of(name.map(|name| name + STUB), range));
        }
        let bounds = unnamed.bounds(svma)?;
        let after = self.entries.partition_point(|entry| entry.start <= svma);
        let end = self.entries.get(after).map_or(u64::MAX, |next| next.start);
        let end = end.min(bounds.end);
        match after.checked_sub(1).map(|before| &self.entries[before]) {
            // It has a symbol with too small a size.
            Some(before) if before.start == bounds.start => {
                let name = self.as_function(before).name;
                Some(of(Some(name), bounds.start..end))
            }
            Some(before) => Some(of(None, bounds.start.max(before.reach)..end)),
            None => Some(of(None, bounds.start..end)),
        }
    }

    /// All functions, by address.
    pub fn functions(&self) -> impl Iterator<Item = ElfFunction> {
        self.entries.iter().map(|entry| self.as_function(entry))
    }

    /// The first function of this linkage name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<ElfFunction> {
        let of = |number: &u32| &self.entries[*number as usize];
        let by_name = self.by_name.get_or_init(|| {
            let mut numbers: Vec<u32> = (0..).take(self.entries.len()).collect();
            numbers.sort_by_cached_key(|number| self.name(of(number)));
            numbers.into()
        });
        let first = by_name.partition_point(|number| self.name(of(number)) < name.as_bytes());
        let entry = by_name.get(first).map(of)?;
        (self.name(entry) == name.as_bytes()).then(|| self.as_function(entry))
    }

    /// The code locations of the instruction at `svma`, the innermost inlined function first.
    /// Empty without debug information.
    #[must_use]
    pub fn locations(&self, svma: u64) -> Vec<Location> {
        self.debug_info()
            .map_or_else(|_| Vec::new(), |debug| debug.locations(svma))
    }

    /// The modules and functions around the function that holds `svma` (Fortran, GNU C), and that
    /// itself unless it was outlined, from the outermost, by their names in the source; `None` without
    /// debug information.
    #[must_use]
    pub fn scopes(&self, svma: u64) -> Option<Vec<String>> {
        let scopes = self.debug_info().ok()?.scopes(svma)?;
        Some(scopes.into_iter().map(|scope| scope.name).collect())
    }

    /// Whether some of the file was written in Fortran, as its symbols tell.
    pub(crate) fn has_fortran(&self) -> bool {
        self.has_fortran
    }

    /// The name with its scopes of a procedure that is within another one, of the unit of `svma`, or the one for a
    /// main program; `None` if there is none of this name, or more than one.
    pub(crate) fn contained(&self, svma: u64, name: &str) -> Option<String> {
        let scopes = self.debug_info().ok()?.scopes_of(svma, name)?;
        let scopes = scopes.into_iter().map(|scope| scope.name);
        let scopes: Vec<String> = scopes.collect();
        Some(scopes.join("::")).filter(|whole| whole != name)
    }

    /// Why there are no lines, if there are none. Reads the debug information.
    #[must_use]
    pub fn lines_miss(&self) -> Option<&SymbolsMiss> {
        self.debug_info().err()
    }

    /// What look-ups in the debug information lacked so far: files of split debug information, the common
    /// file of `dwz`, or what is damaged. That a file has no debug information at all is none of these.
    #[must_use]
    pub fn debug_miss(&self) -> Option<SymbolsMiss> {
        match self.debug.get()? {
            Ok(debug) => debug.split_miss(),
            Err(SymbolsMiss::NoCommonFile { .. } | SymbolsMiss::DamagedDebugInfo { .. }) => {
                self.lines_miss().cloned()
            }
            Err(_) => None,
        }
    }

    /// The debug information of the file with the locations of variables, or of its separate debug
    /// file. Read anew.
    ///
    /// # Errors
    /// What there is not.
    pub fn full_debug_info(&self) -> Result<FullDebugInfo, SymbolsMiss> {
        FullDebugInfo::open(&self.object)
    }

    /// The thread-local block of a program: its size in bytes. `None` if it has none, or the file is a
    /// library.
    #[must_use]
    pub fn program_tls(&self) -> Option<u64> {
        let file = self.object.open().ok()?;
        let elf = file.parse().ok()?;
        elf.section(".interp")?;
        elf.tls_size()
    }

    /// The call frame information of the file.
    #[must_use]
    pub fn call_frames(&self) -> Option<Cfi> {
        let file = self.object.open().ok()?;
        Cfi::of(&file.parse().ok()?)
    }

    pub(crate) fn debug_info(&self) -> Result<&DebugInfo, &SymbolsMiss> {
        self.debug
            .get_or_init(|| DebugInfo::open(&self.object))
            .as_ref()
    }

    pub(crate) fn unnamed(&self) -> &Unnamed {
        self.unnamed.get_or_init(|| Unnamed::open(&self.object))
    }

    /// Its machine code, opened on first use: it is seldom needed.
    pub(crate) fn machine_code(&self) -> Option<&Code> {
        let open = || Some(Code::of(self.object.open().ok()?));
        self.machine_code.get_or_init(open).as_ref()
    }

    /// The file itself, opened once more.
    pub(crate) fn file(&self) -> Option<ElfFile> {
        self.object.open().ok()
    }

    /// The linkage name of the function that a stub or slot leads to.
    pub(crate) fn name_at(&self, target: &Target) -> Option<String> {
        match target {
            Target::Symbol(name) => Some(name.clone()),
            &Target::Resolver(svma) => self.function(svma).map(|chooser| chooser.name),
        }
    }

    /// The symbol of the variable that holds an svma; of several, the innermost.
    #[must_use]
    pub fn data(&self, svma: u64) -> Option<ElfVariable> {
        let (range, name) = self.variables.holding(svma).next()?;
        let name = string_at(&self.strings[usize::from(name.table)], name.offset);
        Some(ElfVariable {
            name: String::from_utf8_lossy(name).into_owned(),
            start: range.start,
            size: range.end - range.start,
        })
    }

    fn name(&self, entry: &Entry) -> &[u8] {
        string_at(&self.strings[usize::from(entry.table)], entry.name)
    }

    fn as_function(&self, entry: &Entry) -> ElfFunction {
        ElfFunction {
            name: String::from_utf8_lossy(self.name(entry)).into_owned(),
            start: entry.start,
            size: entry.end - entry.start,
        }
    }
}

/// Whether symbols are those of Fortran: main programs, and calls of the libraries of gfortran, flang and ifort.
fn has_fortran(table: &ElfSymbols) -> bool {
    const BEGINS: [&[u8]; 6] = [
        b"_gfortran_",
        b"_Fortran",
        b"_QQ",
        b"MAIN__",
        b"for_write_",
        b"for_read_",
    ];
    table.iter().any(|symbol| {
        let name = table.name(&symbol);
        BEGINS.iter().any(|begin| name.starts_with(begin))
    })
}

/// The symbol tables of a file, and where it was stripped those found elsewhere.
fn tables(elf: &Elf<'_>, object: &ObjectFile, misses: &mut Vec<SymbolsMiss>) -> Vec<ElfSymbols> {
    let mut tables: Vec<ElfSymbols> = ElfSymbols::dynsym(elf).into_iter().collect();
    match ElfSymbols::symtab(elf) {
        Some(table) => tables.push(table),
        None => {
            tables.extend(packed_table(elf, object, misses));
            let found = object
                .find_debug_file(misses)
                .and_then(|(_, file)| ElfSymbols::symtab(&file.parse().ok()?));
            if found.is_none() {
                let path = object.path.clone();
                let miss = match elf.sections().next() {
                    Some(_) => SymbolsMiss::Stripped { path },
                    None => SymbolsMiss::NoSections { path },
                };
                misses.insert(0, miss);
            }
            tables.extend(found);
        }
    }
    tables
}

/// The symbol table in `.gnu_debugdata`, an ELF file compressed by xz that distributions leave in
/// stripped files.
fn packed_table(
    elf: &Elf<'_>,
    object: &ObjectFile,
    misses: &mut Vec<SymbolsMiss>,
) -> Option<ElfSymbols> {
    /// A file that unpacks to more is not a symbol table.
    const MOST: u64 = 1 << 30;
    let packed = elf.bytes(".gnu_debugdata")?;
    let mut unpacked = Vec::new();
    let table = lzma_rust2::XzReader::new(&*packed, true)
        .take(MOST)
        .read_to_end(&mut unpacked)
        .ok()
        .and_then(|_| {
            let file = ElfFile::in_memory(unpacked.into());
            ElfSymbols::symtab(&file.parse().ok()?)
        });
    if table.is_none() {
        misses.push(SymbolsMiss::DamagedDebugData {
            path: object.path.clone(),
        });
    }
    table
}

/// Which of two symbols at one address names it; the greater wins. A function before a label, one
/// with a size before one without, a global before a local one, the longer, the one with fewer
/// leading underscores (`write` before `__write`), the strong before the weak, and at last the
/// first by name.
fn preference<'a>(symbol: &ElfSymbol, name: &'a [u8]) -> impl Ord + use<'a> {
    let underscores = name.iter().take_while(|&&byte| byte == b'_').count();
    (
        symbol.is_function(),
        symbol.size > 0,
        !symbol.is_local(),
        symbol.size,
        std::cmp::Reverse(underscores),
        !symbol.is_weak(),
        std::cmp::Reverse(name),
    )
}

/// The variables of the tables. Of two at one address, that of the first table comes last, so that it is found
/// first. One without a size has its first byte.
fn variables(tables: &[ElfSymbols]) -> Ranges<Name> {
    let numbered = tables.iter().enumerate().rev();
    let of_table = numbered.flat_map(|(number, table)| {
        let symbols = table.iter();
        let wanted = symbols.filter(|symbol| symbol.is_defined() && symbol.is_variable());
        wanted.map(move |symbol| {
            let end = symbol.svma.saturating_add(symbol.size.max(1));
            let name = Name {
                table: number as u8,
                offset: symbol.name,
            };
            (symbol.svma..end, name)
        })
    });
    of_table.collect()
}

/// The functions of the tables, sorted. A symbol without a size ends with its section: `_init` is
/// not the stubs of the procedure linkage table behind it.
fn entries(tables: &[ElfSymbols], mut code: Vec<Range<u64>>) -> Vec<Entry> {
    code.sort_unstable_by_key(|range| range.start);
    // The end of the section that holds an svma.
    let end_of_section = |svma: u64| {
        let after = code.partition_point(|range| range.start <= svma);
        let before = after.checked_sub(1).map(|last| code[last].end);
        before.filter(|end| *end > svma)
    };
    let mut found: Vec<(u8, ElfSymbol)> = Vec::new();
    for (number, table) in (0..).zip(tables) {
        let wanted = |symbol: &ElfSymbol| {
            symbol.is_defined()
                && (symbol.is_function() || symbol.is_label())
                && symbol.name != 0
                && end_of_section(symbol.svma).is_some()
        };
        found.extend(table.iter().filter(wanted).map(|symbol| (number, symbol)));
    }
    let name = |(table, symbol): &(u8, ElfSymbol)| tables[usize::from(*table)].name(symbol);
    found.sort_by(|a, b| {
        let by_start = a.1.svma.cmp(&b.1.svma);
        by_start.then_with(|| preference(&b.1, name(b)).cmp(&preference(&a.1, name(a))))
    });
    found.dedup_by_key(|(_, symbol)| symbol.svma);
    let mut entries: Vec<Entry> = Vec::with_capacity(found.len());
    let mut reach = 0;
    for (at, (table, symbol)) in found.iter().enumerate() {
        let end = match symbol.size {
            0 => {
                let next = found.get(at + 1).map_or(u64::MAX, |(_, next)| next.svma);
                next.min(end_of_section(symbol.svma).unwrap_or(symbol.svma))
            }
            size => symbol.svma.saturating_add(size),
        };
        // A label inside a function, such as a loop's, does not name its part of the function.
        if !symbol.is_function() && symbol.svma < reach {
            continue;
        }
        reach = reach.max(end);
        entries.push(Entry {
            start: symbol.svma,
            end,
            reach,
            name: symbol.name,
            table: *table,
        });
    }
    entries
}
