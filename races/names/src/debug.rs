//! Entries of debug information, and the entries to which they refer.
//!
//! Anything can be wrong in a file: each walk is bounded, and what makes no sense is not there.
#![allow(
    non_upper_case_globals,
    reason = "they are the names of the DWARF standard"
)]

use std::cell::RefCell;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use gimli::{
    AttributeValue, DW_AT_abstract_origin, DW_AT_decl_file, DW_AT_decl_line, DW_AT_name,
    DW_AT_specification, DW_AT_type, DW_TAG_class_type, DW_TAG_lexical_block, DW_TAG_namespace,
    DW_TAG_structure_type, DW_TAG_subprogram, DW_TAG_union_type, DebuggingInformationEntry, DwAt,
    DwTag, Dwarf, Reader as _, Unit, UnitOffset, UnitRef, UnitSectionOffset,
};
use hashbrown::HashMap;
use symbolize::{FullDebugInfo, Ranges, Reader};

pub(crate) type Die = DebuggingInformationEntry<Reader>;
pub(crate) type Value = AttributeValue<Reader>;

/// An entry: its unit's number, and its offset in that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) unit: usize,
    pub(crate) offset: usize,
}

/// The debug information of a load object.
#[derive(Debug, Default)]
pub(crate) struct Debug {
    units: Vec<(Arc<Dwarf<Reader>>, Unit<Reader>)>,
    /// The numbers of the units, by their code.
    code: Ranges<usize>,
    /// Of units that were asked about.
    functions: RefCell<HashMap<usize, Rc<Functions>>>,
    /// The entries directly beneath those that were asked about, with their tags.
    children: RefCell<HashMap<Key, Vec<(DwTag, Key)>>>,
    /// Where the units begin that are no split ones.
    begins: Vec<(usize, usize)>,
}

/// The functions of a unit.
#[derive(Debug, Default)]
struct Functions {
    /// By their own code.
    code: Ranges<Key>,
    /// The function within which each is declared.
    around: HashMap<Key, Key>,
}

/// An inlined copy refers to a definition, which refers to a declaration. Longer chains are circles.
const LONGEST_CHAIN: usize = 4;

impl Debug {
    /// Reads the units; what is damaged is left out.
    pub(crate) fn new(info: &FullDebugInfo) -> Debug {
        let mut debug = Debug::default();
        let mut code = Vec::new();
        let mut headers = info.dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            let Ok(unit) = info.dwarf.unit(header) else {
                continue;
            };
            let number = debug.units.len();
            if let Ok(mut ranges) = info.dwarf.unit_ranges(&unit) {
                while let Ok(Some(range)) = ranges.next() {
                    code.push((range.begin..range.end, number));
                }
            }
            let UnitSectionOffset(offset) = unit.header.offset();
            debug.begins.push((offset, number));
            let split = info.split(&unit).and_then(|dwarf| {
                let header = dwarf.units().next().ok()??;
                let mut own = dwarf.unit(header).ok()?;
                own.copy_relocated_attributes(&unit);
                Some((Arc::new(dwarf), own))
            });
            debug
                .units
                .push(split.unwrap_or_else(|| (info.dwarf.clone(), unit)));
        }
        debug.begins.sort_unstable();
        debug.code = code.into_iter().collect();
        debug
    }

    pub(crate) fn count(&self) -> usize {
        self.units.len()
    }

    pub(crate) fn unit(&self, number: usize) -> Option<UnitRef<'_, Reader>> {
        let (dwarf, unit) = self.units.get(number)?;
        Some(UnitRef::new(dwarf, unit))
    }

    /// The unit whose code `svma` is.
    pub(crate) fn unit_of(&self, svma: u64) -> Option<usize> {
        self.code.holding(svma).next().map(|(_, unit)| *unit)
    }

    pub(crate) fn die(&self, key: Key) -> Option<Die> {
        self.unit(key.unit)?.entry(UnitOffset(key.offset)).ok()
    }

    /// The entries beneath one, each with its depth below it from 1, as far as `look` wants to go:
    /// it tells whether those beneath an entry are looked at.
    pub(crate) fn beneath(&self, key: Key, look: &mut dyn FnMut(isize, Key, &Die) -> bool) {
        let Some(unit) = self.unit(key.unit) else {
            return;
        };
        let Ok(mut entries) = unit.entries_at_offset(UnitOffset(key.offset)) else {
            return;
        };
        let mut top = None;
        // Entries deeper than this are passed over.
        let mut deepest = isize::MAX;
        while let Ok(Some(entry)) = entries.next_dfs() {
            let Some(top) = top else {
                top = Some(entry.depth());
                continue;
            };
            let depth = entry.depth() - top;
            if depth <= 0 {
                return;
            }
            if depth > deepest {
                continue;
            }
            let own = Key {
                unit: key.unit,
                offset: entry.offset().0,
            };
            deepest = if look(depth, own, entry) {
                isize::MAX
            } else {
                depth
            };
        }
    }

    /// The entries directly beneath one, that have one of these tags.
    pub(crate) fn children(&self, key: Key, tags: &[DwTag]) -> Vec<Key> {
        let mut known = self.children.borrow_mut();
        let all = known.entry(key).or_insert_with(|| {
            let mut found = Vec::new();
            self.beneath(key, &mut |_, own, die| {
                found.push((die.tag(), own));
                false
            });
            found
        });
        let fitting = all.iter().filter(|(tag, _)| tags.contains(tag));
        fitting.map(|(_, own)| *own).collect()
    }

    /// The entry to which an attribute of an entry of `unit` refers.
    pub(crate) fn referred(&self, unit: usize, value: &Value) -> Option<Key> {
        match value {
            AttributeValue::UnitRef(offset) => Some(Key {
                unit,
                offset: offset.0,
            }),
            AttributeValue::DebugInfoRef(offset) => {
                let after = self.begins.partition_point(|(begin, _)| *begin <= offset.0);
                let (_, unit) = *self.begins.get(after.checked_sub(1)?)?;
                let header = &self.unit(unit)?.unit.header;
                let offset = offset.to_unit_offset(header)?;
                Some(Key {
                    unit,
                    offset: offset.0,
                })
            }
            _ => None,
        }
    }

    /// What `look` finds in an entry, or in those of which it is a copy or definition.
    fn followed<T>(&self, key: Key, look: impl Fn(Key, &Die) -> Option<T>) -> Option<T> {
        let mut key = key;
        for _ in 0..LONGEST_CHAIN {
            let die = self.die(key)?;
            if let Some(found) = look(key, &die) {
                return Some(found);
            }
            key = self.origin_of(key, &die)?;
        }
        None
    }

    /// The entry of which an entry is a copy or definition.
    pub(crate) fn origin_of(&self, key: Key, die: &Die) -> Option<Key> {
        let next = die
            .attr_value(DW_AT_abstract_origin)
            .or_else(|| die.attr_value(DW_AT_specification))?;
        self.referred(key.unit, &next)
    }

    /// An attribute of an entry, and the unit in which it stands.
    pub(crate) fn value(&self, key: Key, name: DwAt) -> Option<(usize, Value)> {
        self.followed(key, |key, die| Some((key.unit, die.attr_value(name)?)))
    }

    pub(crate) fn number(&self, key: Key, name: DwAt) -> Option<u64> {
        match self.value(key, name)?.1 {
            AttributeValue::FileIndex(index) => Some(index),
            value => value.udata_value(),
        }
    }

    pub(crate) fn text(&self, key: Key, name: DwAt) -> Option<String> {
        let (unit, value) = self.value(key, name)?;
        let text = self.unit(unit)?.attr_string(value).ok()?;
        Some(text.to_string_lossy().ok()?.into_owned())
    }

    pub(crate) fn name(&self, key: Key) -> Option<String> {
        self.text(key, DW_AT_name)
    }

    /// The type of an entry.
    pub(crate) fn type_of(&self, key: Key) -> Option<Key> {
        let (unit, value) = self.value(key, DW_AT_type)?;
        self.referred(unit, &value)
    }

    /// The file and line of a declaration; empty and 0 if unknown.
    pub(crate) fn declared(&self, key: Key) -> (String, u32) {
        let line = self.number(key, DW_AT_decl_line);
        let line = line.and_then(|line| u32::try_from(line).ok());
        let file = self
            .value(key, DW_AT_decl_file)
            .and_then(|(unit, value)| self.file(unit, &value));
        (file.unwrap_or_default(), line.unwrap_or_default())
    }

    fn file(&self, unit: usize, value: &Value) -> Option<String> {
        let index = match value {
            AttributeValue::FileIndex(index) => *index,
            value => value.udata_value()?,
        };
        let unit = self.unit(unit)?;
        let program = unit.line_program.clone()?;
        let header = program.header();
        let file = header.file(index)?;
        let text = |value| {
            Some(PathBuf::from(
                unit.attr_string(value)
                    .ok()?
                    .to_string_lossy()
                    .ok()?
                    .as_ref(),
            ))
        };
        let mut path = match &unit.comp_dir {
            Some(folder) => PathBuf::from(folder.to_string_lossy().ok()?.as_ref()),
            None => PathBuf::new(),
        };
        if let Some(folder) = file.directory(header).and_then(text) {
            path.push(folder);
        }
        path.push(text(file.path_name())?);
        Some(plain(&path).to_string_lossy().into_owned())
    }

    /// The code of an entry.
    pub(crate) fn ranges(&self, key: Key, die: &Die) -> Vec<Range<u64>> {
        let mut found = Vec::new();
        let unit = self.unit(key.unit);
        if let Some(Ok(mut ranges)) = unit.map(|unit| unit.die_ranges(die)) {
            while let Ok(Some(range)) = ranges.next() {
                found.push(range.begin..range.end);
            }
        }
        found
    }

    /// Where a function's code begins.
    pub(crate) fn begin(&self, function: Key) -> Option<u64> {
        let mut ranges = self
            .unit(function.unit)?
            .die_ranges(&self.die(function)?)
            .ok()?;
        Some(ranges.next().ok()??.begin)
    }

    /// The innermost function whose own code holds `svma`.
    pub(crate) fn function_at(&self, svma: u64) -> Option<Key> {
        let functions = self.functions(self.unit_of(svma)?)?;
        let (_, key) = functions.code.holding(svma).next()?;
        Some(*key)
    }

    /// The functions within which a function is declared, outer ones first: GCC declares so the function that
    /// it makes of a construct's body.
    pub(crate) fn functions_around(&self, function: Key) -> Vec<Key> {
        let mut found = Vec::new();
        if let Some(functions) = self.functions(function.unit) {
            let mut next = function;
            while let Some(around) = functions.around.get(&next) {
                found.push(*around);
                next = *around;
            }
        }
        found.reverse();
        found
    }

    fn functions(&self, unit: usize) -> Option<Rc<Functions>> {
        let root = self.root(unit)?;
        let mut known = self.functions.borrow_mut();
        let functions = known.entry(unit);
        let functions = functions.or_insert_with(|| Rc::new(self.find_functions(root)));
        Some(functions.clone())
    }

    fn find_functions(&self, root: Key) -> Functions {
        let mut functions = Functions::default();
        let mut code = Vec::new();
        let mut around: Vec<(isize, Key)> = Vec::new();
        self.beneath(root, &mut |depth, key, die| {
            if die.tag() != DW_TAG_subprogram {
                return holds_functions(die.tag());
            }
            while around.pop_if(|(above, _)| *above >= depth).is_some() {}
            if let Some((_, outer)) = around.last() {
                functions.around.insert(key, *outer);
            }
            around.push((depth, key));
            let own = self.ranges(key, die).into_iter();
            code.extend(own.map(|range| (range, key)));
            true
        });
        functions.code = code.into_iter().collect();
        functions
    }

    /// Whether the code at `svma` was compiled by LLVM.
    pub(crate) fn is_of_llvm(&self, svma: u64) -> bool {
        let root = self.unit_of(svma).and_then(|unit| self.root(unit));
        let producer = root.and_then(|root| self.text(root, gimli::DW_AT_producer));
        producer.is_some_and(|producer| {
            let names = ["clang", "flang", "LLVM"];
            names.iter().any(|name| producer.contains(name))
        })
    }

    /// The root of a unit.
    pub(crate) fn root(&self, unit: usize) -> Option<Key> {
        let offset = self.unit(unit)?.unit.header.root_offset().0;
        Some(Key { unit, offset })
    }
}

/// Whether functions may be declared within an entry of this tag.
fn holds_functions(tag: DwTag) -> bool {
    [
        DW_TAG_namespace,
        DW_TAG_class_type,
        DW_TAG_structure_type,
        DW_TAG_union_type,
        DW_TAG_lexical_block,
        gimli::DW_TAG_module,
    ]
    .contains(&tag)
}

/// A path without `.` and `..`, as line tables have it.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if plain.file_name().is_some() => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}
