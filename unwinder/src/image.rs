//! Load objects: what unwinding needs of one ELF file.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use object::elf;
use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSegment, ReadRef};

use crate::build_id::BuildId;
use crate::cfi::Cfi;
use crate::fde::CfiSections;
use crate::file;
use crate::prologue::Frame;
use crate::symtab::SymbolTable;
use crate::text::{Call, Text};

/// Why a file cannot serve as a load object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The file cannot be read: deleted, not permitted, not a regular file.
    #[error("cannot be read: {0}")]
    Unreadable(io::ErrorKind),
    /// Not an ELF file.
    #[error("is not an ELF file")]
    NotElf,
    /// An ELF file of another machine, word size or byte order.
    #[error("is an ELF file for another machine (e_machine {0})")]
    OtherMachine(u16),
    /// An ELF file whose tables contradict each other.
    #[error("is a damaged ELF file: {0}")]
    Damaged(String),
    /// The file at this path is not the one that was mapped.
    #[error("was replaced: {}, the mapped file had {expected}", build_id_now(found.as_ref()))]
    Replaced {
        /// The build id of the mapped file.
        expected: BuildId,
        /// The build id of the file now at the path.
        found: Option<BuildId>,
    },
}

fn build_id_now(found: Option<&BuildId>) -> String {
    match found {
        Some(found) => format!("its build id is {found}"),
        None => "it has no build id".to_owned(),
    }
}

/// One PT_LOAD segment.
#[derive(Clone, Debug)]
struct Segment {
    svma: u64,
    offset: u64,
    file_size: u64,
    executable: bool,
}

const PAGE: u64 = 4096;

impl Segment {
    /// File offsets that a mapping of this segment may start at or cover, in whole pages.
    fn pages(&self) -> Range<u64> {
        let end = self.offset.saturating_add(self.file_size);
        self.offset / PAGE * PAGE..end.checked_next_multiple_of(PAGE).unwrap_or(end)
    }
}

/// One parsed ELF file.
///
/// An svma ("stated virtual memory address") is an address as the file states it, before the
/// loader moved the file: what `nm` and `objdump` print.
pub struct Image {
    path: PathBuf,
    build_id: Option<BuildId>,
    segments: Vec<Segment>,
    /// That of a file is read when a frame without call frame information is first met, because
    /// it is large and seldom needed.
    text: OnceLock<Text>,
    sections: CfiSections,
    cfi: Option<Cfi>,
    exports: Vec<u64>,
    roots: Vec<Range<u64>>,
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image")
            .field("path", &self.path)
            .field("build_id", &self.build_id)
            .finish_non_exhaustive()
    }
}

impl Image {
    /// Reads and parses the file at `path`. Debug information is not read.
    ///
    /// # Errors
    /// Any of [`ImageError`] but `Replaced`.
    pub fn open(path: &Path) -> Result<Self, ImageError> {
        let pieces = file::open(path).map_err(|error| ImageError::Unreadable(error.kind()))?;
        Self::parse(path, &pieces)
    }

    /// Parses an ELF file held in memory, such as the vDSO, under the name `path`.
    ///
    /// # Errors
    /// Any of [`ImageError`] but `Unreadable` and `Replaced`.
    pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Self, ImageError> {
        let image = Self::parse(path, bytes)?;
        Ok(Self {
            text: OnceLock::from(Text::read(&elf64(bytes)?)),
            ..image
        })
    }

    fn parse<'data, R: ReadRef<'data>>(path: &Path, data: R) -> Result<Self, ImageError> {
        let elf = elf64(data)?;
        let segments: Vec<Segment> = elf
            .segments()
            .map(|segment| {
                let (offset, file_size) = segment.file_range();
                let executable = is_executable(segment.flags());
                Segment {
                    svma: segment.address(),
                    offset,
                    file_size,
                    executable,
                }
            })
            .collect();
        let mut sections = cfi_sections(&elf);
        let (exports, roots) = scan_symbols(&elf);
        Ok(Self {
            path: path.to_owned(),
            build_id: elf.build_id().ok().flatten().and_then(BuildId::new),
            segments,
            text: OnceLock::new(),
            cfi: Cfi::new(&mut sections),
            sections,
            exports,
            roots,
        })
    }

    /// Where the file was read, or the name it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The build id, where the linker wrote one.
    #[must_use]
    pub fn build_id(&self) -> Option<&BuildId> {
        self.build_id.as_ref()
    }

    /// Whether the file defines a global function of this exact name, in its dynamic or, where it
    /// was not stripped, its static symbol table. Tells an OpenMP runtime by what it offers, and
    /// not by its file name.
    #[must_use]
    pub fn exports(&self, name: &str) -> bool {
        self.exports
            .binary_search(&name_hash(name.as_bytes()))
            .is_ok()
    }

    /// The svma of a file offset. Where two segments share a page of the file, the executable one
    /// wins: that is the one whose mapping holds code.
    #[must_use]
    pub fn svma_of_offset(&self, offset: u64) -> Option<u64> {
        let holding = |segment: &&Segment| segment.pages().contains(&offset);
        let segment = self
            .segments
            .iter()
            .filter(|segment| segment.executable)
            .find(holding)
            .or_else(|| self.segments.iter().find(holding))?;
        Some(
            segment
                .svma
                .wrapping_sub(segment.offset)
                .wrapping_add(offset),
        )
    }

    /// The file offset of an svma, where the file holds bytes for it.
    #[must_use]
    pub fn offset_of_svma(&self, svma: u64) -> Option<u64> {
        self.segments.iter().find_map(|segment| {
            let within = svma.checked_sub(segment.svma)?;
            (within < segment.file_size).then(|| segment.offset + within)
        })
    }

    /// The svma ranges of executable code, in file order.
    pub fn text_ranges(&self) -> impl Iterator<Item = Range<u64>> {
        self.segments
            .iter()
            .filter(|segment| segment.executable)
            .map(|segment| segment.svma..segment.svma.saturating_add(segment.file_size))
    }

    /// Whether the file has call frame information at all.
    #[must_use]
    pub fn has_unwind_info(&self) -> bool {
        self.cfi.is_some()
    }

    pub(crate) fn cfi(&self) -> Option<&Cfi> {
        self.cfi.as_ref()
    }

    pub(crate) fn sections(&self) -> &CfiSections {
        &self.sections
    }

    /// The lowest svma of any segment.
    pub(crate) fn base_svma(&self) -> u64 {
        self.segments
            .iter()
            .map(|segment| segment.svma)
            .min()
            .unwrap_or(0)
    }

    /// Whether a function that starts a process or a thread holds `svma`, judged by name or by
    /// being the ELF entry point.
    pub(crate) fn is_root(&self, svma: u64) -> bool {
        self.roots.iter().any(|range| range.contains(&svma))
    }

    /// The call that ends at `svma`, if that can be a return address.
    pub(crate) fn call_before(&self, svma: u64) -> Option<Call> {
        self.text().call_before(svma)
    }

    /// The frame of the function at `svma`, by its first instructions.
    pub(crate) fn frame_at(&self, svma: u64) -> Option<Frame> {
        self.text().frame_at(svma)
    }

    fn text(&self) -> &Text {
        let read = || {
            let pieces = file::open(&self.path).ok()?;
            let elf = elf64(&pieces).ok()?;
            let id = elf.build_id().ok().flatten().and_then(BuildId::new);
            (id == self.build_id).then(|| Text::read(&elf))
        };
        self.text.get_or_init(|| read().unwrap_or_default())
    }
}

pub(crate) fn is_executable(flags: object::SegmentFlags) -> bool {
    matches!(flags, object::SegmentFlags::Elf { p_flags, .. } if p_flags.0 & elf::PF_X.0 != 0)
}

/// A little-endian ELF file of 64 bits.
pub(crate) type Elf64<'data, R> = ElfFile64<'data, object::LittleEndian, R>;

pub(crate) fn elf64<'data, R: ReadRef<'data>>(data: R) -> Result<Elf64<'data, R>, ImageError> {
    let ident = data.read_bytes_at(0, 20).map_err(|()| ImageError::NotElf)?;
    if !ident.starts_with(b"\x7fELF") {
        return Err(ImageError::NotElf);
    }
    let machine = u16::from_le_bytes([ident[18], ident[19]]);
    // EI_CLASS 2 is 64 bits, EI_DATA 1 is little-endian.
    if ident[4] != 2 || ident[5] != 1 || machine != elf::EM_X86_64.0 {
        return Err(ImageError::OtherMachine(machine));
    }
    ElfFile64::parse(data).map_err(|error| ImageError::Damaged(error.to_string()))
}

/// A section that is not empty, with its svma.
fn section<'data, R: ReadRef<'data>>(
    elf: &Elf64<'data, R>,
    name: &str,
) -> Option<(u64, Arc<[u8]>)> {
    let section = elf.section_by_name(name)?;
    let data = section.uncompressed_data().ok()?;
    (!data.is_empty()).then(|| (section.address(), Arc::from(&*data)))
}

/// What there is of `.debug_frame`, as if there were no `.eh_frame`.
pub(crate) fn debug_frame_sections<'data, R: ReadRef<'data>>(
    elf: &Elf64<'data, R>,
) -> Option<CfiSections> {
    Some(CfiSections {
        eh_frame: None,
        eh_frame_hdr: None,
        debug_frame: Some(section(elf, ".debug_frame")?),
        text: 0,
        got: 0,
    })
}

pub(crate) fn cfi_sections<'data, R: ReadRef<'data>>(elf: &Elf64<'data, R>) -> CfiSections {
    let bytes = |name| section(elf, name);
    let svma = |name: &str| {
        elf.section_by_name(name)
            .map_or(0, |section| section.address())
    };
    let eh_frame = bytes(".eh_frame");
    CfiSections {
        debug_frame: if eh_frame.is_none() {
            bytes(".debug_frame")
        } else {
            None
        },
        eh_frame,
        eh_frame_hdr: bytes(".eh_frame_hdr"),
        text: svma(".text"),
        got: svma(".got"),
    }
}

fn name_hash(name: &[u8]) -> u64 {
    // `new` has fixed keys, unlike `RandomState`; the values never leave this process.
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

/// Functions that no one called: the kernel or the parent's system call started them.
const ROOTS: [&[u8]; 6] = [
    b"_start",
    b"_dl_start_user",
    b"clone",
    b"__clone",
    b"clone3",
    b"__clone3",
];
/// Hand-written entry code often has no size; none of it is longer than this.
const ROOT_SIZE: u64 = 64;

/// The sorted hashes of the names of global functions, and the ranges of root functions.
fn scan_symbols<'data, R: ReadRef<'data>>(elf: &Elf64<'data, R>) -> (Vec<u64>, Vec<Range<u64>>) {
    let mut exports = Vec::new();
    let mut roots = Vec::new();
    let root = |start: u64, size: u64| start..start.saturating_add(size.max(ROOT_SIZE));
    for table in [SymbolTable::dynamic(elf), SymbolTable::fixed(elf)]
        .iter()
        .flatten()
    {
        for symbol in table.iter().filter(|symbol| symbol.is_defined()) {
            let name = table.name(&symbol);
            if symbol.is_function() && !symbol.is_local() {
                exports.push(name_hash(name));
            }
            if ROOTS.contains(&name) {
                roots.push(root(symbol.svma, symbol.size));
            }
        }
    }
    if elf.entry() != 0 {
        roots.push(root(elf.entry(), 0));
    }
    exports.sort_unstable();
    exports.dedup();
    exports.shrink_to_fit();
    (exports, roots)
}

/// Parsed files, so that a file that many processes map is parsed once. Failures are kept too.
#[derive(Debug, Default)]
pub struct ImageCache {
    images: HashMap<(PathBuf, Option<BuildId>), Result<Arc<Image>, ImageError>>,
}

impl ImageCache {
    /// An empty cache.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The image of `path`. With `mapped`, the build id that the kernel reported for the mapping,
    /// a file that has since been replaced is refused.
    ///
    /// # Errors
    /// Any of [`ImageError`].
    pub fn get(&mut self, path: &Path, mapped: Option<&BuildId>) -> Result<Arc<Image>, ImageError> {
        let key = (path.to_owned(), mapped.cloned());
        self.images
            .entry(key)
            .or_insert_with(|| {
                let image = Image::open(path)?;
                match mapped {
                    Some(expected)
                        if !image
                            .build_id()
                            .is_some_and(|found| found.same_file(expected)) =>
                    {
                        Err(ImageError::Replaced {
                            expected: expected.clone(),
                            found: image.build_id,
                        })
                    }
                    _ => Ok(Arc::new(image)),
                }
            })
            .clone()
    }

    /// Puts an image that did not come from a path, such as the vDSO, under its own path.
    pub fn insert(&mut self, image: Arc<Image>) {
        self.images.insert((image.path.clone(), None), Ok(image));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_replaced_is_told_by_both_build_ids() {
        let id = |text| BuildId::from_hex(text).expect("hexadecimal");
        let replaced = |found| ImageError::Replaced {
            expected: id("ab01"),
            found,
        };
        assert_eq!(
            replaced(Some(id("cd02"))).to_string(),
            "was replaced: its build id is cd02, the mapped file had ab01"
        );
        assert_eq!(
            replaced(None).to_string(),
            "was replaced: it has no build id, the mapped file had ab01"
        );
    }

    #[test]
    fn what_is_no_elf_file_is_refused_with_the_reason() {
        let name = Path::new("x");
        assert_eq!(Image::from_bytes(name, b"").err(), Some(ImageError::NotElf));
        assert_eq!(
            Image::from_bytes(name, &[b'#'; 64]).err(),
            Some(ImageError::NotElf)
        );
        let mut arm = vec![0; 64];
        arm[..6].copy_from_slice(b"\x7fELF\x02\x01");
        arm[18] = 183;
        assert_eq!(
            Image::from_bytes(name, &arm).err(),
            Some(ImageError::OtherMachine(183))
        );
        let missing = Image::open(Path::new("/nonexistent/file")).err();
        assert_eq!(
            missing,
            Some(ImageError::Unreadable(io::ErrorKind::NotFound))
        );
        let directory = Image::open(Path::new("/")).err();
        assert_eq!(
            directory,
            Some(ImageError::Unreadable(io::ErrorKind::InvalidInput))
        );
    }
}
