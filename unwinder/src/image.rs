//! Load objects: what unwinding needs of an ELF file.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::build_id::BuildId;
use crate::cfi::Cfi;
use crate::elf::{Elf, ElfError, ElfFile, Segment};
use crate::fde::CfiSections;
use crate::prologue::FrameLayout;
use crate::symtab::ElfSymbols;
use crate::text::{Call, Text};

const PAGE: u64 = 4096;

/// The file offsets that a mapping of a segment may start at or cover, in whole pages.
fn pages(segment: &Segment) -> Range<u64> {
    let end = segment.offset.saturating_add(segment.file_size);
    segment.offset / PAGE * PAGE..end.checked_next_multiple_of(PAGE).unwrap_or(end)
}

/// One parsed ELF file.
///
/// An svma ("stated virtual memory address") is an address as the file states it, before the
/// loader moved the file: what `nm` and `objdump` print.
pub struct Image {
    path: PathBuf,
    build_id: Option<BuildId>,
    segments: Vec<Segment>,
    /// Read from the file at the first frame without call frame information: it is large and seldom
    /// needed.
    text: OnceLock<Text>,
    sections: CfiSections,
    cfi: Option<Cfi>,
    exports: Vec<u64>,
    roots: Vec<Range<u64>>,
    jit_list: Option<u64>,
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
    /// Any of [`ElfError`] but `Replaced`.
    pub fn open(path: &Path) -> Result<Self, ElfError> {
        Ok(Self::of(path, &ElfFile::open(path)?.parse()?))
    }

    /// Parses an ELF file held in memory, such as the vDSO, under the name `path`.
    ///
    /// # Errors
    /// Any of [`ElfError`] but `Unreadable` and `Replaced`.
    pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Self, ElfError> {
        let file = ElfFile::in_memory(bytes.into());
        let image = Self::of(path, &file.parse()?);
        Ok(Self {
            text: OnceLock::from(Text::read(file)),
            ..image
        })
    }

    fn of(path: &Path, elf: &Elf<'_>) -> Self {
        let mut sections = CfiSections::of(elf);
        let Scanned {
            exports,
            roots,
            jit_list,
        } = Scanned::of(elf);
        Self {
            path: path.to_owned(),
            build_id: elf.build_id(),
            segments: elf.segments().collect(),
            text: OnceLock::new(),
            cfi: Cfi::new(&mut sections),
            sections,
            exports,
            roots,
            jit_list,
        }
    }

    /// The svma of the variable by which a just-in-time compiler tells debuggers of its code
    /// (`__jit_debug_descriptor`), if there is one.
    #[must_use]
    pub fn jit_list(&self) -> Option<u64> {
        self.jit_list
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
    /// was not stripped, its static symbol table.
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
        let holding = |segment: &&Segment| pages(segment).contains(&offset);
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

    /// The offset in the file of the code at `svma`.
    #[must_use]
    pub fn offset_of_code(&self, svma: u64) -> Option<u64> {
        let mut code = self.segments.iter().filter(|segment| segment.executable);
        let segment = code.find(|it| {
            // A mapping begins and ends with a page.
            let end = it.svma.saturating_add(it.file_size);
            (it.svma / PAGE * PAGE..end.checked_next_multiple_of(PAGE).unwrap_or(end))
                .contains(&svma)
        })?;
        Some(svma.wrapping_sub(segment.svma).wrapping_add(segment.offset))
    }

    /// Whether `svma` lies in a segment that is loaded.
    pub(crate) fn holds(&self, svma: u64) -> bool {
        let mut segments = self.segments.iter();
        segments.any(|segment| {
            let end = segment.svma.saturating_add(segment.size);
            (segment.svma..end).contains(&svma)
        })
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

    /// Whether a function that starts a process or a thread holds `svma`: by its name, or because it
    /// is the ELF entry point.
    pub(crate) fn is_root(&self, svma: u64) -> bool {
        self.roots.iter().any(|range| range.contains(&svma))
    }

    /// The call that ends at `svma`, if that can be a return address.
    pub(crate) fn call_before(&self, svma: u64) -> Option<Call> {
        self.text().call_before(svma)
    }

    /// The layout of the frame at `svma`, by the first instructions of its function.
    pub(crate) fn frame_layout(&self, svma: u64) -> Option<FrameLayout> {
        self.text().frame_layout(svma)
    }

    fn text(&self) -> &Text {
        let read = || {
            let file = ElfFile::open(&self.path).ok()?;
            let build_id = file.parse().ok()?.build_id();
            (build_id == self.build_id).then(|| Text::read(file))
        };
        self.text.get_or_init(|| read().unwrap_or_default())
    }
}

fn name_hash(name: &[u8]) -> u64 {
    // `new` has fixed keys, unlike `RandomState`. The hashes never leave this process.
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

/// Functions that have no caller: the kernel or the parent's system call started them.
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

/// What one scan of the symbols finds.
struct Scanned {
    /// The sorted hashes of the names of global functions.
    exports: Vec<u64>,
    /// The ranges of root functions.
    roots: Vec<Range<u64>>,
    /// The variable in which the list of a just-in-time compiler begins.
    jit_list: Option<u64>,
}

impl Scanned {
    fn of(elf: &Elf<'_>) -> Scanned {
        let mut exports = Vec::new();
        let mut roots = Vec::new();
        let mut jit_list = None;
        let root = |start: u64, size: u64| start..start.saturating_add(size.max(ROOT_SIZE));
        for table in [ElfSymbols::dynsym(elf), ElfSymbols::symtab(elf)]
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
                if symbol.is_variable() && name == b"__jit_debug_descriptor" {
                    jit_list = Some(symbol.svma);
                }
            }
        }
        if elf.entry() != 0 {
            roots.push(root(elf.entry(), 0));
        }
        exports.sort_unstable();
        exports.dedup();
        exports.shrink_to_fit();
        Scanned {
            exports,
            roots,
            jit_list,
        }
    }
}

/// Parsed files, so that a file that many processes map is parsed once. Failures are kept too.
#[derive(Debug, Default)]
pub struct ImageCache {
    images: HashMap<(PathBuf, Option<BuildId>), Result<Arc<Image>, ElfError>>,
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
    /// Any of [`ElfError`].
    pub fn get(&mut self, path: &Path, mapped: Option<&BuildId>) -> Result<Arc<Image>, ElfError> {
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
                        Err(ElfError::Replaced {
                            expected: Some(expected.clone()),
                            found: image.build_id,
                        })
                    }
                    _ => Ok(Arc::new(image)),
                }
            })
            .clone()
    }
}
