//! Debug information: source lines, inlined functions, and attributes of functions.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use addr2line::{Context, LookupContinuation, LookupResult, SplitDwarfLoad};
use experiment::linkage::{is_outlined, target_of};
use gimli::{
    AttributeValue, DW_AT_abstract_origin, DW_AT_decl_file, DW_AT_decl_line, DW_AT_declaration,
    DW_AT_linkage_name, DW_AT_main_subprogram, DW_AT_name, DW_AT_specification, DW_TAG_module,
    DW_TAG_subprogram, DebuggingInformationEntry, DwAt, Dwarf, DwarfFileType, EndianArcSlice,
    LittleEndian, Reader as _, SectionId, Unit, UnitOffset, UnitRef,
};
use unwinder::elf::{Elf, ElfFile};

use crate::debugfile::{ObjectFile, SymbolsMiss};
use crate::names::MAIN_PROGRAM;

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
    /// The folder of the load object.
    folder: PathBuf,
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
    /// The folder of the load object.
    folder: PathBuf,
}

impl FullDebugInfo {
    pub(crate) fn open(object: &ObjectFile) -> Result<Self, SymbolsMiss> {
        let (dwarf, folder) = open(object, named_section)?;
        Ok(Self { dwarf, folder })
    }

    /// The split debug information (`-gsplit-dwarf`) of a unit, if it has one that is there.
    #[must_use]
    pub fn split(&self, unit: &Unit<Reader>) -> Option<Dwarf<Reader>> {
        let id = unit.dwo_id?;
        let named = self.dwarf.attr_string(unit, unit.dwo_name().ok()??).ok()?;
        let folder = unit.comp_dir.as_ref();
        let dwarf = split(&self.folder, (&named, folder), &self.dwarf, named_section)?;
        let header = dwarf.units().next().ok()??;
        let own = dwarf.unit(header).ok()?;
        (own.dwo_id == Some(id)).then_some(dwarf)
    }
}

/// Reads a section of a file.
type ReadSection = fn(&Elf<'_>, SectionId, &str) -> Result<Reader, String>;

/// The debug information of a file, or of its separate debug file, and the folder of the file.
fn open(
    object: &ObjectFile,
    read: ReadSection,
) -> Result<(Arc<Dwarf<Reader>>, PathBuf), SymbolsMiss> {
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
) -> Result<(Arc<Dwarf<Reader>>, PathBuf), SymbolsMiss> {
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
    let folder = object.path.parent().unwrap_or(Path::new("")).to_owned();
    Ok((Arc::new(dwarf), folder))
}

/// The file of split debug information of this name, and the folder that the compiler wrote it to:
/// there, or in the `folder` of the load object.
fn split(
    folder: &Path,
    (named, written_in): (&Reader, Option<&Reader>),
    parent: &Dwarf<Reader>,
    read: ReadSection,
) -> Option<Dwarf<Reader>> {
    let path = |text: &Reader| Some(PathBuf::from(text.to_string_lossy().ok()?.as_ref()));
    let named = path(named)?;
    let written = match written_in.and_then(path) {
        Some(folder) => folder.join(&named),
        None => named.clone(),
    };
    let beside = folder.join(named.file_name()?);
    let file = [written, beside]
        .iter()
        .find_map(|path| ElfFile::open(path).ok())?;
    let elf = file.parse().ok()?;
    let read = |id: SectionId| match id.dwo_name() {
        Some(name) => read(&elf, id, name),
        None => Ok(Reader::new(Arc::from([]), LittleEndian)),
    };
    let mut dwarf = Dwarf::load(read).ok()?;
    dwarf.make_dwo(parent);
    Some(dwarf)
}

impl DebugInfo {
    /// Reads it from the file itself, or from its separate debug file.
    pub(crate) fn open(object: &ObjectFile) -> Result<Self, SymbolsMiss> {
        let (dwarf, folder) = open(object, needed_section)?;
        let damaged = |error: gimli::Error| SymbolsMiss::DamagedDebugInfo {
            path: object.path.clone(),
            reason: error.to_string(),
        };
        Ok(Self {
            context: Context::from_arc_dwarf(dwarf.clone()).map_err(damaged)?,
            dwarf,
            lines: OnceCell::new(),
            folder,
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

    /// The split debug information of a unit: where the compiler wrote it, or beside the load object.
    /// That of another build has another id, which the look-up compares.
    fn split(&self, load: &SplitDwarfLoad<Reader>) -> Option<Arc<Dwarf<Reader>>> {
        let named = (load.path.as_ref()?, load.comp_dir.as_ref());
        split(&self.folder, named, &load.parent, needed_section).map(Arc::new)
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
        let unit = self.unit(svma)?;
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs().ok()? {
            if entry.tag() == DW_TAG_subprogram && holds(&unit, entry, svma) {
                return u32::try_from(number(&unit, entry, DW_AT_decl_line)?).ok();
            }
        }
        None
    }

    /// The function that begins nearest above `line`, in the file and unit of the function at
    /// `svma`. Outlined and other functions that the compiler made up do not count.
    pub(crate) fn function_around(&self, svma: u64, line: u32) -> Option<String> {
        let unit = self.unit(svma)?;
        let mut file = None;
        let mut found: Vec<(u64, Option<u64>, String)> = Vec::new();
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs().ok()? {
            if entry.tag() != DW_TAG_subprogram || entry.attr_value(DW_AT_declaration).is_some() {
                continue;
            }
            if holds(&unit, entry, svma) {
                file = number(&unit, entry, DW_AT_decl_file);
            } else if let Some(declared) = number(&unit, entry, DW_AT_decl_line)
                && declared <= u64::from(line)
                && let Some(name) = name_of(&unit, entry)
                && !name.starts_with('.')
                && !is_outlined(&name)
            {
                found.push((declared, number(&unit, entry, DW_AT_decl_file), name));
            }
        }
        found.retain(|(_, in_file, _)| *in_file == file);
        found
            .into_iter()
            .max_by_key(|(declared, ..)| *declared)
            .map(|(_, _, name)| name)
    }

    /// Whether the unit of the function at `svma` has a target region at `line`, by clang.
    pub(crate) fn has_target(&self, svma: u64, line: u32) -> bool {
        let at_line = |name: String| target_of(&name).is_some_and(|(_, at)| at == line);
        self.any_function(svma, at_line).unwrap_or(false)
    }

    fn any_function(&self, svma: u64, fits: impl Fn(String) -> bool) -> Option<bool> {
        let unit = self.unit(svma)?;
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs().ok()? {
            let function = entry.tag() == DW_TAG_subprogram;
            if function && name_of(&unit, entry).is_some_and(&fits) {
                return Some(true);
            }
        }
        Some(false)
    }

    /// The modules and functions of the source around the function that holds `svma`, and that itself
    /// unless it was outlined, from the outermost. gcc puts a copy of a function that it also inlined
    /// outside of them.
    pub(crate) fn scopes(&self, svma: u64) -> Option<Vec<Scope>> {
        let unit = self.unit(svma)?;
        let mut entries = unit.entries();
        let wanted = loop {
            let entry = entries.next_dfs().ok()??;
            if entry.tag() == DW_TAG_subprogram && holds(&unit, entry, svma) {
                break origin(&unit, entry);
            }
        };
        let mut around: Vec<(isize, Scope)> = Vec::new();
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs().ok()? {
            around.retain(|(depth, _)| *depth < entry.depth());
            if entry.tag() != DW_TAG_subprogram && entry.tag() != DW_TAG_module {
                continue;
            }
            let name = match entry.attr_value(DW_AT_main_subprogram) {
                Some(_) => Some(MAIN_PROGRAM.to_owned()),
                None => plain_name_of(&unit, entry),
            };
            let Some(name) = name else {
                continue;
            };
            let declared = number(&unit, entry, DW_AT_decl_line);
            let declared = declared.and_then(|line| u32::try_from(line).ok());
            // The body of a construct within another construct is in the body of that.
            if !is_outlined(&name) {
                around.push((entry.depth(), Scope { name, declared }));
            }
            if entry.offset() == wanted {
                return Some(around.into_iter().map(|(_, scope)| scope).collect());
            }
        }
        None
    }

    /// The rows of the line table within `start..end`, in the order of the table. Rows without a
    /// line are left out.
    pub(crate) fn rows(&self, start: u64, end: u64) -> Vec<Row> {
        self.rows_of_unit(start, end).unwrap_or_default()
    }

    fn rows_of_unit(&self, start: u64, end: u64) -> Option<Vec<Row>> {
        let unit = self.line_unit(start)?;
        let mut program = unit.line_program.clone()?.rows();
        let mut found = Vec::new();
        while let Ok(Some((_, row))) = program.next_row() {
            if (start..end).contains(&row.address())
                && !row.end_sequence()
                && let Some(line) = row.line()
            {
                found.push(Row {
                    svma: row.address(),
                    line: u32::try_from(line.get()).ok()?,
                    statement: row.is_stmt(),
                });
            }
        }
        Some(found)
    }
}

fn has_debug_info(elf: &Elf<'_>) -> bool {
    elf.section(".debug_info")
        .is_some_and(|section| section.has_bytes)
}

/// A section, or what is wrong with it, as a clause.
fn named_section(elf: &Elf<'_>, _: SectionId, name: &str) -> Result<Reader, String> {
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

fn holds(unit: &UnitRef<'_, Reader>, entry: &Die, svma: u64) -> bool {
    let Ok(mut ranges) = unit.die_ranges(entry) else {
        return false;
    };
    while let Ok(Some(range)) = ranges.next() {
        if (range.begin..range.end).contains(&svma) {
            return true;
        }
    }
    false
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
