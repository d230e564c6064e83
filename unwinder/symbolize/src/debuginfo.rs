//! Debug information: source lines, inlined functions, and attributes of functions.

use std::cell::{OnceCell, RefCell};
use std::mem;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use addr2line::{Context, LookupContinuation, LookupResult, SplitDwarfLoad};
use experiment::linkage::{is_outlined, target_of};
use gimli::{
    AttributeValue, DW_AT_abstract_origin, DW_AT_decl_file, DW_AT_decl_line, DW_AT_declaration,
    DW_AT_linkage_name, DW_AT_main_subprogram, DW_AT_name, DW_AT_specification, DW_TAG_module,
    DW_TAG_subprogram, DebuggingInformationEntry, DwAt, Dwarf, DwarfFileType, DwoId,
    EndianArcSlice, LittleEndian, Reader as _, SectionId, Unit, UnitOffset, UnitRef,
    UnitSectionOffset,
};
use rustc_hash::{FxHashMap, FxHashSet};
use unwinder::elf::Elf;

use crate::debugfile::{ObjectFile, SymbolsMiss};
use crate::names::MAIN_PROGRAM;
use crate::ranges::Ranges;
use crate::split::{Skeleton, SplitFiles};

/// The bytes of a section.
pub type Reader = EndianArcSlice<LittleEndian>;
type Die = DebuggingInformationEntry<Reader>;

/// A code location of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The linkage name of the function that the code was written in.
    pub function: Option<String>,
    /// The source file, as the compiler was told.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
}

/// The debug information of one file.
pub(crate) struct DebugInfo {
    context: Context<Reader>,
    /// The sections that `context` reads.
    dwarf: Arc<Dwarf<Reader>>,
    /// The same without the files of split debug information, whose units have no rows.
    lines: OnceCell<Option<Context<Reader>>>,
    functions: RefCell<FxHashMap<UnitKey, Rc<Functions>>>,
    rows: RefCell<FxHashMap<UnitKey, Vec<Row>>>,
    split: SplitFiles,
}

/// A function that holds another one (Fortran, GNU C), or a Fortran module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scope {
    /// Its name in the source.
    pub(crate) name: String,
    /// The line on which it is declared.
    pub(crate) declared: Option<u32>,
}

/// One row of the line table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) svma: u64,
    pub(crate) line: u32,
    /// Whether a statement begins there.
    pub(crate) statement: bool,
}

/// The debug information of one file, with the locations of variables.
#[derive(Debug)]
pub struct FullDebugInfo {
    /// Its sections.
    pub dwarf: Arc<Dwarf<Reader>>,
    split: SplitFiles,
}

impl FullDebugInfo {
    pub(crate) fn open(object: &ObjectFile) -> Result<Self, SymbolsMiss> {
        let (dwarf, split) = open(object, named_section)?;
        Ok(Self { dwarf, split })
    }

    /// The split debug information (`-gsplit-dwarf`) of a unit, if it has one that is there.
    #[must_use]
    pub fn split(&self, unit: &Unit<Reader>) -> Option<Dwarf<Reader>> {
        let name = self.dwarf.attr_string(unit, unit.dwo_name().ok()??).ok()?;
        self.split.find(&Skeleton {
            id: unit.dwo_id?,
            name: &name,
            folder: unit.comp_dir.as_ref(),
            parent: &self.dwarf,
        })
    }
}

/// Reads a section of a file.
pub(crate) type ReadSection = fn(&Elf<'_>, SectionId, &str) -> Result<Reader, String>;

/// The debug information of a file, or of its separate debug file, and its files of split debug information.
fn open(
    object: &ObjectFile,
    read: ReadSection,
) -> Result<(Arc<Dwarf<Reader>>, SplitFiles), SymbolsMiss> {
    let unusable = |error| SymbolsMiss::File {
        path: object.path.clone(),
        error,
    };
    let file = object.open().map_err(unusable)?;
    let elf = file.parse().map_err(unusable)?;
    if has_debug_info(&elf) {
        return load(object, &object.path, &elf, read);
    }
    let mut misses = Vec::new();
    match object.find_debug_file(&mut misses) {
        Some((path, file)) => match file.parse() {
            Ok(elf) if has_debug_info(&elf) => load(object, &path, &elf, read),
            Ok(_) => Err(SymbolsMiss::NoDebugInfo { path }),
            Err(error) => Err(SymbolsMiss::File { path, error }),
        },
        None if elf.section(".symtab").is_some() => Err(SymbolsMiss::NoDebugInfo {
            path: object.path.clone(),
        }),
        None => Err(misses.swap_remove(0)),
    }
}

/// The debug information in `elf`, the file at `path`.
fn load(
    object: &ObjectFile,
    path: &Path,
    elf: &Elf<'_>,
    read: ReadSection,
) -> Result<(Arc<Dwarf<Reader>>, SplitFiles), SymbolsMiss> {
    let damaged = |reason| SymbolsMiss::DamagedDebugInfo {
        path: path.to_owned(),
        reason,
    };
    let mut dwarf = Dwarf::load(|id| read(elf, id, id.name())).map_err(damaged)?;
    if let Some(common) = object.find_common(path, elf)? {
        let common = common.parse().map_err(|error| SymbolsMiss::File {
            path: path.to_owned(),
            error,
        })?;
        dwarf
            .load_sup(|id| read(&common, id, id.name()))
            .map_err(damaged)?;
    }
    Ok((Arc::new(dwarf), SplitFiles::of(object, path, read)))
}

impl DebugInfo {
    /// Reads it from the file itself, or from its separate debug file.
    pub(crate) fn open(object: &ObjectFile) -> Result<Self, SymbolsMiss> {
        let (dwarf, split) = open(object, needed_section)?;
        let damaged = |error: gimli::Error| SymbolsMiss::DamagedDebugInfo {
            path: object.path.clone(),
            reason: error.to_string(),
        };
        Ok(Self {
            context: Context::from_arc_dwarf(dwarf.clone()).map_err(damaged)?,
            dwarf,
            lines: OnceCell::new(),
            functions: RefCell::default(),
            rows: RefCell::default(),
            split,
        })
    }

    /// What a look-up finds, with the files of split debug information (`-gsplit-dwarf`) that it
    /// asks for. What is only in a file that is not there is missing.
    fn load<L: LookupContinuation<Buf = Reader>>(&self, mut found: LookupResult<L>) -> L::Output {
        loop {
            found = match found {
                LookupResult::Output(output) => return output,
                LookupResult::Load { load, continuation } => continuation.resume(self.split(&load)),
            };
        }
    }

    /// The split debug information of a unit, of which the look-up asks once.
    fn split(&self, load: &SplitDwarfLoad<Reader>) -> Option<Arc<Dwarf<Reader>>> {
        let found = self.split.find(&Skeleton {
            id: load.dwo_id,
            name: load.path.as_ref()?,
            folder: load.comp_dir.as_ref(),
            parent: &load.parent,
        });
        found.map(Arc::new)
    }

    /// The split debug information that was asked for and is not there.
    pub(crate) fn split_miss(&self) -> Option<SymbolsMiss> {
        self.split.miss()
    }

    fn unit(&self, svma: u64) -> Option<UnitRef<'_, Reader>> {
        self.load(self.context.find_dwarf_and_unit(svma))
    }

    /// The unit with the rows of the line table.
    fn line_unit(&self, svma: u64) -> Option<UnitRef<'_, Reader>> {
        let unit = self.unit(svma)?;
        if unit.dwarf.file_type != DwarfFileType::Dwo {
            return Some(unit);
        }
        let lines = self
            .lines
            .get_or_init(|| Context::from_arc_dwarf(self.dwarf.clone()).ok());
        lines.as_ref()?.find_dwarf_and_unit(svma).skip_all_loads()
    }

    /// The code locations of an instruction, the innermost inlined function first.
    pub(crate) fn locations(&self, svma: u64) -> Vec<Location> {
        let mut locations = Vec::new();
        let Ok(mut frames) = self.load(self.context.find_frames(svma)) else {
            return locations;
        };
        while let Ok(Some(frame)) = frames.next() {
            let name = frame
                .function
                .and_then(|name| Some(name.raw_name().ok()?.into_owned()));
            let location = frame.location;
            locations.push(Location {
                function: name,
                file: location
                    .as_ref()
                    .and_then(|location| location.file)
                    .map(str::to_owned),
                line: location
                    .and_then(|location| location.line)
                    .filter(|&line| line > 0),
            });
        }
        locations
    }

    /// The line on which the function that holds `svma` is declared.
    pub(crate) fn decl_line(&self, svma: u64) -> Option<u32> {
        let functions = self.functions(svma)?;
        u32::try_from(functions.at(svma)?.declared?).ok()
    }

    /// The function that begins nearest above `line`, in the file and unit of the function at
    /// `svma`. Outlined and other functions that the compiler made up do not count.
    pub(crate) fn function_around(&self, svma: u64, line: u32) -> Option<String> {
        let functions = self.functions(svma)?;
        let own = functions.at(svma);
        let place = (own.and_then(|own| own.file), u64::from(line));
        let declared = |number: &usize| {
            let function = &functions.all[*number];
            (function.file, function.declared.unwrap_or_default())
        };
        let after = functions
            .written
            .partition_point(|number| declared(number) <= place);
        let above = functions.written[..after].iter().rev();
        let mut above = above.map(|number| &functions.all[*number]);
        let found = above.find(|it| own.is_none_or(|own| own.offset != it.offset))?;
        found.name.clone().filter(|_| found.file == place.0)
    }

    /// Whether the unit of the function at `svma` has a target region at `line`, by clang.
    pub(crate) fn has_target(&self, svma: u64, line: u32) -> bool {
        let functions = self.functions(svma);
        functions.is_some_and(|functions| functions.targets.contains(&line))
    }

    /// The modules and functions of the source around the function that holds `svma`, and that itself
    /// unless it was outlined, from the outermost. gcc puts a copy of a function that it also inlined
    /// outside of them.
    pub(crate) fn scopes(&self, svma: u64) -> Option<Vec<Scope>> {
        let functions = self.functions(svma)?;
        let origin = functions.at(svma)?.origin;
        Some(functions.scopes_from(*functions.scopes.get(&origin)?))
    }

    /// The same of the only function of a name in the unit of `svma`, or of the main program by its name there.
    pub(crate) fn scopes_of(&self, svma: u64, name: &str) -> Option<Vec<Scope>> {
        let functions = self.functions(svma)?;
        let is_main = functions.main_program.as_deref() == Some(name);
        let name = if is_main { MAIN_PROGRAM } else { name };
        let all = (0..).zip(&functions.around);
        let mut named = all.filter(|(_, (scope, _))| scope.name == name);
        let (only, _) = named.next()?;
        named.next().is_none().then(|| functions.scopes_from(only))
    }

    /// The functions of the unit of `svma`.
    fn functions(&self, svma: u64) -> Option<Rc<Functions>> {
        let unit = self.unit(svma)?;
        let mut known = self.functions.borrow_mut();
        let functions = known.entry(key(&unit));
        Some(
            functions
                .or_insert_with(|| Rc::new(Functions::of(&unit)))
                .clone(),
        )
    }

    /// The rows of the line table within `start..end`, by address, those of one address in the order of the
    /// table. Rows without a line are left out.
    pub(crate) fn rows(&self, start: u64, end: u64) -> Vec<Row> {
        let Some(unit) = self.line_unit(start) else {
            return Vec::new();
        };
        let mut known = self.rows.borrow_mut();
        let rows = known.entry(key(&unit)).or_insert_with(|| rows_of(&unit));
        let within = |svma: u64| rows.partition_point(|row| row.svma < svma);
        rows.get(within(start)..within(end))
            .unwrap_or_default()
            .to_vec()
    }
}

/// What distinguishes a unit of a file and of its files of split debug information.
type UnitKey = (UnitSectionOffset, Option<DwoId>);

fn key(unit: &UnitRef<'_, Reader>) -> UnitKey {
    (unit.header.offset(), unit.dwo_id)
}

/// All rows of a unit, by address.
fn rows_of(unit: &UnitRef<'_, Reader>) -> Vec<Row> {
    let mut found = Vec::new();
    let Some(program) = unit.line_program.clone() else {
        return found;
    };
    let mut rows = program.rows();
    while let Ok(Some((_, row))) = rows.next_row() {
        let line = row.line().and_then(|line| u32::try_from(line.get()).ok());
        if let Some(line) = line.filter(|_| !row.end_sequence()) {
            found.push(Row {
                svma: row.address(),
                line,
                statement: row.is_stmt(),
            });
        }
    }
    found.sort_by_key(|row| row.svma);
    found
}

/// The functions of a unit, as its entries tell.
#[derive(Default)]
struct Functions {
    /// In the order of the entries.
    all: Vec<FunctionEntry>,
    /// Their numbers, by code.
    code: Ranges<usize>,
    /// The numbers of those that the source defines, by file and line.
    written: Vec<usize>,
    /// The lines of clang's target regions.
    targets: FxHashSet<u32>,
    /// The name in the source of a Fortran main program.
    main_program: Option<String>,
    /// Functions and modules, each with the number of the one around it.
    around: Vec<(Scope, Option<usize>)>,
    /// Their numbers, by entry.
    scopes: FxHashMap<UnitOffset, usize>,
}

impl Functions {
    /// A function or module by its number, and those around it, from the outermost.
    fn scopes_from(&self, number: usize) -> Vec<Scope> {
        let mut next = Some(number);
        let mut scopes = Vec::new();
        while let Some(number) = next {
            let (scope, around) = &self.around[number];
            // The body of a construct within another construct is in the body of that.
            if !is_outlined(&scope.name) {
                scopes.push(scope.clone());
            }
            next = *around;
        }
        scopes.reverse();
        scopes
    }
}

struct FunctionEntry {
    offset: UnitOffset,
    /// The entry to which it refers at last, or itself.
    origin: UnitOffset,
    name: Option<String>,
    file: Option<u64>,
    declared: Option<u64>,
}

impl Functions {
    fn of(unit: &UnitRef<'_, Reader>) -> Functions {
        let mut functions = Functions::default();
        let mut code: Vec<(Range<u64>, usize)> = Vec::new();
        // The depths and numbers of the functions and modules around an entry.
        let mut around: Vec<(isize, usize)> = Vec::new();
        let mut entries = unit.entries();
        while let Ok(Some(entry)) = entries.next_dfs() {
            while around
                .pop_if(|(depth, _)| *depth >= entry.depth())
                .is_some()
            {}
            if entry.tag() != DW_TAG_subprogram && entry.tag() != DW_TAG_module {
                continue;
            }
            if entry.tag() == DW_TAG_subprogram {
                functions.add(unit, entry, &mut code);
            }
            let Some(mut name) = plain_name_of(unit, entry) else {
                continue;
            };
            if entry.attr_value(DW_AT_main_subprogram).is_some() {
                functions.main_program = Some(mem::replace(&mut name, MAIN_PROGRAM.to_owned()));
            }
            let declared = number(unit, entry, DW_AT_decl_line);
            let declared = declared.and_then(|line| u32::try_from(line).ok());
            let outer = around.last().map(|(_, number)| *number);
            around.push((entry.depth(), functions.around.len()));
            functions
                .scopes
                .insert(entry.offset(), functions.around.len());
            functions.around.push((Scope { name, declared }, outer));
        }
        let all = &functions.all;
        functions
            .written
            .sort_by_key(|number| (all[*number].file, all[*number].declared));
        // What was collected last is found first.
        functions.code = code.into_iter().rev().collect();
        functions
    }

    /// Adds the entry of a function.
    fn add(
        &mut self,
        unit: &UnitRef<'_, Reader>,
        entry: &Die,
        code: &mut Vec<(Range<u64>, usize)>,
    ) {
        let own = self.all.len();
        if let Ok(mut ranges) = unit.die_ranges(entry) {
            while let Ok(Some(range)) = ranges.next() {
                code.push((range.begin..range.end, own));
            }
        }
        let function = FunctionEntry {
            offset: entry.offset(),
            origin: origin(unit, entry),
            name: name_of(unit, entry),
            file: number(unit, entry, DW_AT_decl_file),
            declared: number(unit, entry, DW_AT_decl_line),
        };
        if let Some(name) = &function.name {
            self.targets.extend(target_of(name).map(|(_, line)| line));
            let is_written = !name.starts_with('.') && !is_outlined(name);
            if is_written
                && function.declared.is_some()
                && entry.attr_value(DW_AT_declaration).is_none()
            {
                self.written.push(own);
            }
        }
        self.all.push(function);
    }

    /// The function whose code holds `svma`.
    fn at(&self, svma: u64) -> Option<&FunctionEntry> {
        let (_, number) = self.code.holding(svma).next()?;
        self.all.get(*number)
    }
}

fn has_debug_info(elf: &Elf<'_>) -> bool {
    elf.section(".debug_info")
        .is_some_and(|section| section.has_bytes)
}

/// A section, or what is wrong with it, as a clause.
pub(crate) fn named_section(elf: &Elf<'_>, _: SectionId, name: &str) -> Result<Reader, String> {
    if elf.is_too_large(name) {
        return Err(format!("its section {name} is too large, or says so"));
    }
    let bytes = elf.bytes(name);
    Ok(Reader::new(
        Arc::from(bytes.unwrap_or_default()),
        LittleEndian,
    ))
}

/// A section that tells of lines or functions; others are empty.
fn needed_section(elf: &Elf<'_>, id: SectionId, name: &str) -> Result<Reader, String> {
    // Locations of variables are a quarter of the bytes to decompress.
    let needless = matches!(
        id,
        SectionId::DebugLoc
            | SectionId::DebugLocLists
            | SectionId::DebugMacinfo
            | SectionId::DebugMacro
    );
    if needless {
        Ok(Reader::new(Arc::from([]), LittleEndian))
    } else {
        named_section(elf, id, name)
    }
}

/// What `look` finds in an entry, or in the entries to which it refers (DWARF 5, section 2.13.2).
fn followed<T>(
    unit: &UnitRef<'_, Reader>,
    entry: &Die,
    look: impl Fn(&Die) -> Option<T>,
) -> Option<T> {
    /// An inlined copy refers to a definition, which refers to a declaration. Longer chains are
    /// circles.
    const MOST: usize = 4;
    let mut here = entry.clone();
    for _ in 0..MOST {
        if let Some(found) = look(&here) {
            return Some(found);
        }
        here = unit.entry(reference(unit, &here)?).ok()?;
    }
    None
}

/// The entry of which this one is a copy or definition, in the same unit.
fn reference(unit: &UnitRef<'_, Reader>, entry: &Die) -> Option<UnitOffset> {
    let next = entry
        .attr_value(DW_AT_abstract_origin)
        .or_else(|| entry.attr_value(DW_AT_specification))?;
    match next {
        AttributeValue::UnitRef(offset) => Some(offset),
        AttributeValue::DebugInfoRef(offset) => offset.to_unit_offset(&unit.header),
        _ => None,
    }
}

/// The entry that an entry refers to at last, or itself.
fn origin(unit: &UnitRef<'_, Reader>, entry: &Die) -> UnitOffset {
    let without_reference = |die: &Die| reference(unit, die).is_none().then(|| die.offset());
    followed(unit, entry, without_reference).unwrap_or(entry.offset())
}

fn number(unit: &UnitRef<'_, Reader>, entry: &Die, name: DwAt) -> Option<u64> {
    followed(unit, entry, |die| match die.attr_value(name)? {
        AttributeValue::FileIndex(index) => Some(index),
        value => value.udata_value(),
    })
}

/// The linkage name of a function's entry, or its plain name where it has no other.
fn name_of(unit: &UnitRef<'_, Reader>, entry: &Die) -> Option<String> {
    text(unit, entry, DW_AT_linkage_name).or_else(|| plain_name_of(unit, entry))
}

/// The name of an entry in the source.
fn plain_name_of(unit: &UnitRef<'_, Reader>, entry: &Die) -> Option<String> {
    text(unit, entry, DW_AT_name)
}

fn text(unit: &UnitRef<'_, Reader>, entry: &Die, name: DwAt) -> Option<String> {
    followed(unit, entry, |die| {
        let value = unit.attr_string(die.attr_value(name)?).ok()?;
        Some(value.to_string_lossy().ok()?.into_owned())
    })
}
