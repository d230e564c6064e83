//! The element or field of a variable at an offset in it, in the words of its language.
#![allow(
    non_upper_case_globals,
    reason = "they are the names of the DWARF standard"
)]

use std::fmt::Write as _;

use gimli::{
    DW_AT_bit_size, DW_AT_byte_size, DW_AT_byte_stride, DW_AT_count, DW_AT_data_bit_offset,
    DW_AT_data_location, DW_AT_data_member_location, DW_AT_language, DW_AT_lower_bound,
    DW_AT_upper_bound, DW_TAG_array_type, DW_TAG_atomic_type, DW_TAG_class_type, DW_TAG_const_type,
    DW_TAG_inheritance, DW_TAG_member, DW_TAG_pointer_type, DW_TAG_reference_type,
    DW_TAG_restrict_type, DW_TAG_rvalue_reference_type, DW_TAG_structure_type,
    DW_TAG_subrange_type, DW_TAG_typedef, DW_TAG_union_type, DW_TAG_volatile_type, DwAt, DwLang,
    DwTag,
};

use crate::debug::{Debug, Key};

/// Types within types are rarely nested more deeply.
const DEEPEST: usize = 32;

/// A dimension of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dimension {
    lower: i64,
    /// `None` if the program computes it.
    count: Option<u64>,
}

/// What names types. `C` of C, C++ and others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    C,
    Fortran,
}

/// A value without parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scalar {
    pub(crate) bytes: u64,
    pub(crate) holds: Holds,
}

/// What a scalar holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    Float,
    Signed,
    Unsigned,
}

impl Debug {
    /// The scalar at `offset` in a value of type `of`, if it is a number.
    pub(crate) fn scalar(&self, of: Key, offset: u64) -> Option<Scalar> {
        let mut path = String::new();
        let (mut of, mut offset) = (of, offset);
        for _ in 0..DEEPEST {
            let Some((next, rest)) = self.step(&mut path, of, offset, 1) else {
                break;
            };
            (of, offset) = (next, rest);
        }
        let (bare, _) = self.bare(of)?;
        let gimli::AttributeValue::Encoding(encoding) = self.value(bare, gimli::DW_AT_encoding)?.1
        else {
            return None;
        };
        let holds = match encoding {
            gimli::DW_ATE_float => Holds::Float,
            gimli::DW_ATE_signed | gimli::DW_ATE_signed_char => Holds::Signed,
            gimli::DW_ATE_unsigned | gimli::DW_ATE_unsigned_char | gimli::DW_ATE_boolean => {
                Holds::Unsigned
            }
            _ => return None,
        };
        let bytes = self.size_of(of)?;
        Some(Scalar { bytes, holds })
    }

    /// The language of a unit.
    pub(crate) fn language(&self, unit: usize) -> Language {
        let root = self.root(unit).and_then(|root| self.die(root));
        match root.and_then(|root| root.attr_value(DW_AT_language)) {
            Some(gimli::AttributeValue::Language(language)) if is_fortran(language) => {
                Language::Fortran
            }
            _ => Language::C,
        }
    }

    /// The type without the names and qualifiers around it.
    pub(crate) fn bare(&self, of: Key) -> Option<(Key, DwTag)> {
        let mut key = of;
        for _ in 0..DEEPEST {
            let tag = self.die(key)?.tag();
            match tag {
                DW_TAG_typedef | DW_TAG_const_type | DW_TAG_volatile_type
                | DW_TAG_restrict_type | DW_TAG_atomic_type => key = self.type_of(key)?,
                tag => return Some((key, tag)),
            }
        }
        None
    }

    /// The size of a value of a type in bytes; `None` if the program computes it.
    pub(crate) fn size_of(&self, of: Key) -> Option<u64> {
        let mut factor = 1_u64;
        let mut key = of;
        for _ in 0..DEEPEST {
            let (bare, tag) = self.bare(key)?;
            if let Some(size) = self.number(bare, DW_AT_byte_size) {
                return size.checked_mul(factor);
            }
            match tag {
                DW_TAG_pointer_type | DW_TAG_reference_type | DW_TAG_rvalue_reference_type => {
                    return factor.checked_mul(8);
                }
                DW_TAG_array_type => {
                    for dimension in self.dimensions(bare) {
                        factor = factor.checked_mul(dimension.count?)?;
                    }
                    key = self.type_of(bare)?;
                }
                _ => return None,
            }
        }
        None
    }

    fn dimensions(&self, array: Key) -> Vec<Dimension> {
        let least = match self.language(array.unit) {
            Language::C => 0,
            Language::Fortran => 1,
        };
        let constant = |key: Key, name: DwAt| {
            let (_, value) = self.value(key, name)?;
            // Compilers give negative ones a form with a sign; those without one have none.
            match value.udata_value() {
                Some(value) => i64::try_from(value).ok(),
                None => value.sdata_value(),
            }
        };
        let dimension = |key: Key| {
            let lower = match self.value(key, DW_AT_lower_bound) {
                Some(_) => constant(key, DW_AT_lower_bound),
                None => Some(least),
            };
            let count = constant(key, DW_AT_count).or_else(|| {
                let upper = constant(key, DW_AT_upper_bound)?;
                upper.checked_sub(lower?)?.checked_add(1)
            });
            Dimension {
                lower: lower.unwrap_or(least),
                // A lower bound that the program computes makes no index.
                count: count
                    .filter(|_| lower.is_some())
                    .and_then(|count| u64::try_from(count).ok()),
            }
        };
        let keys = self.children(array, &[DW_TAG_subrange_type]);
        keys.into_iter().map(dimension).collect()
    }

    /// Whether a variable of this type is a descriptor of an array that is elsewhere.
    pub(crate) fn is_descriptor(&self, of: Key) -> bool {
        let bare = self.bare(of);
        bare.is_some_and(|(bare, _)| self.value(bare, DW_AT_data_location).is_some())
    }

    /// What an access of `size` bytes at `offset` in a value of type `of` is, to be written after the
    /// value's name: `[17]`, `.next`, `(4,3)`. As far as it is certain; may be empty.
    pub(crate) fn path(&self, of: Key, offset: u64, size: u64) -> String {
        let mut path = String::new();
        let (mut of, mut offset) = (of, offset);
        for _ in 0..DEEPEST {
            let Some((next, rest)) = self.step(&mut path, of, offset, size) else {
                break;
            };
            (of, offset) = (next, rest);
        }
        path
    }

    /// One element or field: its type, and the offset in it.
    fn step(&self, path: &mut String, of: Key, offset: u64, size: u64) -> Option<(Key, u64)> {
        let (bare, tag) = self.bare(of)?;
        match tag {
            DW_TAG_array_type => self.element(path, bare, offset, size),
            DW_TAG_structure_type | DW_TAG_class_type | DW_TAG_union_type => {
                self.field(path, bare, tag, offset, size)
            }
            _ => None,
        }
    }

    fn element(&self, path: &mut String, array: Key, offset: u64, size: u64) -> Option<(Key, u64)> {
        if self.is_descriptor(array) {
            return None;
        }
        let element = self.type_of(array)?;
        let each = self.size_of(element).filter(|each| *each > 0)?;
        if size > each {
            return None;
        }
        let dimensions = self.dimensions(array);
        let strided = |key| self.value(key, DW_AT_byte_stride).is_some();
        let subranges = self.children(array, &[DW_TAG_subrange_type]);
        if dimensions.is_empty() || strided(array) || subranges.into_iter().any(strided) {
            return None;
        }
        let language = self.language(array.unit);
        // The dimension whose index changes fastest comes first.
        let order: Vec<Dimension> = match language {
            Language::Fortran => dimensions,
            Language::C => dimensions.into_iter().rev().collect(),
        };
        let mut rest = offset / each;
        let mut indices = Vec::new();
        for (at, dimension) in order.iter().enumerate() {
            let is_last = at + 1 == order.len();
            let index = match (dimension.count, is_last) {
                // Zero stands for an array whose size is not told.
                (_, true) => rest,
                (Some(count), false) if count > 0 => {
                    let index = rest % count;
                    rest /= count;
                    index
                }
                _ => return None,
            };
            indices.push(i64::try_from(index).ok()?.checked_add(dimension.lower)?);
        }
        match language {
            Language::C => {
                for index in indices.iter().rev() {
                    let _ = write!(path, "[{index}]");
                }
            }
            Language::Fortran => {
                let words: Vec<String> = indices.iter().map(i64::to_string).collect();
                let _ = write!(path, "({})", words.join(","));
            }
        }
        Some((element, offset % each))
    }

    fn field(
        &self,
        path: &mut String,
        of: Key,
        tag: DwTag,
        offset: u64,
        size: u64,
    ) -> Option<(Key, u64)> {
        let mut found: Vec<(Key, Key, u64)> = Vec::new();
        let mut is_any_sized = false;
        for member in self.children(of, &[DW_TAG_member, DW_TAG_inheritance]) {
            let Some(begin) = self.member_offset(member) else {
                continue;
            };
            let Some(kind) = self.type_of(member) else {
                continue;
            };
            let Some(rest) = offset.checked_sub(begin) else {
                continue;
            };
            // A flexible array, and a class that is declared alone, have no size: they end at the next
            // member.
            let bytes = self.size_of(kind);
            let end = bytes.unwrap_or(u64::MAX);
            if rest < end && rest.saturating_add(size) <= end {
                found.push((member, kind, rest));
                is_any_sized |= bytes.is_some();
            }
        }
        if is_any_sized {
            found.retain(|(_, kind, _)| self.size_of(*kind).is_some());
        }
        if tag == DW_TAG_union_type {
            found.retain(|(_, kind, _)| self.size_of(*kind) == Some(size));
        }
        let [(member, kind, rest)] = found[..] else {
            return None;
        };
        // Those of classes within, and of members without names, are the own fields.
        if self.die(member)?.tag() == DW_TAG_member
            && let Some(name) = self.name(member)
        {
            // What is within an object of the C or C++ library is no field that the program knows.
            if self.language(of.unit) == Language::C && is_reserved(&name) {
                return None;
            }
            let mark = match self.language(of.unit) {
                Language::C => '.',
                Language::Fortran => '%',
            };
            let _ = write!(path, "{mark}{name}");
        }
        Some((kind, rest))
    }

    /// Where a member begins, in bytes; `None` of static ones. That of bits is in the byte in which it
    /// begins.
    fn member_offset(&self, member: Key) -> Option<u64> {
        if self.value(member, gimli::DW_AT_external).is_some()
            || self.value(member, gimli::DW_AT_declaration).is_some()
        {
            return None;
        }
        if self.number(member, DW_AT_bit_size).is_some() {
            let bits = self.number(member, DW_AT_data_bit_offset)?;
            let size = self
                .type_of(member)
                .and_then(|kind| self.size_of(kind))?
                .max(1);
            return Some(bits / 8 / size * size);
        }
        match self.value(member, DW_AT_data_member_location) {
            Some((_, value)) => value.udata_value(),
            None => Some(0),
        }
    }

    /// The type to which a pointer or reference of this type points.
    pub(crate) fn pointee(&self, of: Key) -> Option<Key> {
        let (bare, tag) = self.bare(of)?;
        match tag {
            DW_TAG_pointer_type | DW_TAG_reference_type | DW_TAG_rvalue_reference_type => {
                self.type_of(bare)
            }
            _ => None,
        }
    }

    /// Whether a value of this type is a reference, to which no source assigns. GCC tells of an array
    /// argument of Fortran as a pointer; one of the source has a descriptor.
    pub(crate) fn is_reference(&self, of: Key) -> bool {
        let Some((bare, tag)) = self.bare(of) else {
            return false;
        };
        let is_plain_array =
            |of| matches!(self.bare(of), Some((_, DW_TAG_array_type))) && !self.is_descriptor(of);
        match tag {
            DW_TAG_reference_type | DW_TAG_rvalue_reference_type => true,
            DW_TAG_pointer_type => {
                self.language(bare.unit) == Language::Fortran
                    && self.type_of(bare).is_some_and(is_plain_array)
            }
            _ => false,
        }
    }

    /// Behind a reference, the type to which it refers; else the type itself.
    pub(crate) fn behind_reference(&self, of: Key) -> Key {
        match self.bare(of) {
            Some((bare, DW_TAG_reference_type | DW_TAG_rvalue_reference_type)) => {
                self.type_of(bare).unwrap_or(of)
            }
            _ => of,
        }
    }
}

/// Whether the standards of C and C++ reserve a name for compilers and libraries.
fn is_reserved(name: &str) -> bool {
    let rest = name.strip_prefix('_');
    rest.is_some_and(|rest| rest.starts_with(|next: char| next == '_' || next.is_uppercase()))
}

fn is_fortran(language: DwLang) -> bool {
    [
        gimli::DW_LANG_Fortran77,
        gimli::DW_LANG_Fortran90,
        gimli::DW_LANG_Fortran95,
        gimli::DW_LANG_Fortran03,
        gimli::DW_LANG_Fortran08,
        gimli::DW_LANG_Fortran18,
    ]
    .contains(&language)
}
