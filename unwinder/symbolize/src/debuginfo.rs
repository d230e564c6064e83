//! Debug information: source lines, inlined functions, and attributes of functions.

use std::path::Path;
use std::sync::Arc;

use addr2line::Context;
use experiment::linkage::is_outlined;
use gimli::{
    AttributeValue, DW_AT_abstract_origin, DW_AT_decl_file, DW_AT_decl_line, DW_AT_declaration,
    DW_AT_linkage_name, DW_AT_main_subprogram, DW_AT_name, DW_AT_specification, DW_TAG_module,
    DW_TAG_subprogram, DebuggingInformationEntry, DwAt, Dwarf, EndianArcSlice, LittleEndian,
    Reader as _, SectionId, UnitRef,
};
use unwinder::elf::Elf;

use crate::debugfile::{ObjectFile, SymbolsMiss};
use crate::names::MAIN_PROGRAM;

type Reader = EndianArcSlice<LittleEndian>;
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
}

/// One row of the line table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) svma: u64,
    pub(crate) line: u32,
    /// Whether a statement begins there.
    pub(crate) statement: bool,
}

impl DebugInfo {
    /// Reads it from the file itself, or from its separate debug file.
    pub(crate) fn open(object: &ObjectFile) -> Result<Self, SymbolsMiss> {
        let unusable = |error| SymbolsMiss::File {
            path: object.path.clone(),
            error,
        };
        let file = object.open().map_err(unusable)?;
        let elf = file.parse().map_err(unusable)?;
        if has_debug_info(&elf) {
            return Self::of(object, &object.path, &elf);
        }
        let mut misses = Vec::new();
        match object.find_debug_file(&mut misses) {
            Some((path, file)) => match file.parse() {
                Ok(elf) if has_debug_info(&elf) => Self::of(object, &path, &elf),
                Ok(_) => Err(SymbolsMiss::NoDebugInfo { path }),
                Err(error) => Err(SymbolsMiss::File { path, error }),
            },
            None if elf.section(".symtab").is_some() => Err(SymbolsMiss::NoDebugInfo {
                path: object.path.clone(),
            }),
            None => Err(misses.swap_remove(0)),
        }
    }

    /// Reads it from `elf`, the file at `path`.
    fn of(object: &ObjectFile, path: &Path, elf: &Elf<'_>) -> Result<Self, SymbolsMiss> {
        let damaged = |error: gimli::Error| SymbolsMiss::DamagedDebugInfo {
            path: path.to_owned(),
            reason: error.to_string(),
        };
        let mut dwarf = Dwarf::load(|id| section(elf, id)).map_err(damaged)?;
        if let Some(common) = object.find_common(path, elf)? {
            let common = common.parse().map_err(|error| SymbolsMiss::File {
                path: path.to_owned(),
                error,
            })?;
            dwarf.load_sup(|id| section(&common, id)).map_err(damaged)?;
        }
        Ok(Self {
            context: Context::from_dwarf(dwarf).map_err(damaged)?,
        })
    }

    /// The code locations of an instruction, the innermost inlined function first.
    pub(crate) fn locations(&self, svma: u64) -> Vec<Location> {
        let mut locations = Vec::new();
        let Ok(mut frames) = self.context.find_frames(svma).skip_all_loads() else {
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
        let unit = self.context.find_dwarf_and_unit(svma).skip_all_loads()?;
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
        let unit = self.context.find_dwarf_and_unit(svma).skip_all_loads()?;
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

    /// The Fortran modules and procedures around the function that holds `svma`, and that itself,
    /// from the outermost, by their names in the source.
    pub(crate) fn scopes(&self, svma: u64) -> Option<Vec<String>> {
        let unit = self.context.find_dwarf_and_unit(svma).skip_all_loads()?;
        let mut around: Vec<(isize, String)> = Vec::new();
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
            around.push((entry.depth(), name));
            if entry.tag() == DW_TAG_subprogram && holds(&unit, entry, svma) {
                return Some(around.into_iter().map(|(_, name)| name).collect());
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
        let unit = self.context.find_dwarf_and_unit(start).skip_all_loads()?;
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

fn section(elf: &Elf<'_>, id: SectionId) -> Result<Reader, gimli::Error> {
    // Locations of variables are not needed, and are a quarter of the bytes to decompress.
    let needless = matches!(
        id,
        SectionId::DebugLoc
            | SectionId::DebugLocLists
            | SectionId::DebugMacinfo
            | SectionId::DebugMacro
    );
    let bytes = if needless { None } else { elf.bytes(id.name()) };
    Ok(Reader::new(
        Arc::from(bytes.unwrap_or_default()),
        LittleEndian,
    ))
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
        let next = here
            .attr_value(DW_AT_abstract_origin)
            .or_else(|| here.attr_value(DW_AT_specification))?;
        let offset = match next {
            AttributeValue::UnitRef(offset) => offset,
            AttributeValue::DebugInfoRef(offset) => offset.to_unit_offset(&unit.header)?,
            _ => return None,
        };
        here = unit.entry(offset).ok()?;
    }
    None
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
