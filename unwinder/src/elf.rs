//! ELF files: the only module of this crate that reads the file system.
//!
//! Sections, symbols and code leave this module as bytes and numbers, not as types of the parser.

use std::borrow::Cow;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object::SymbolKind;
use object::elf::{EM_X86_64, PF_X, PT_DYNAMIC, PT_GNU_EH_FRAME, PT_TLS, SHF_EXECINSTR};
use object::read::ReadCache;
use object::read::elf::ElfFile64;
use object::{
    CompressionFormat, LittleEndian, Object, ObjectSection, ObjectSegment, ObjectSymbol, ReadRef,
};
use object::{SectionFlags, SegmentFlags};

use crate::build_id::BuildId;

/// Why a file cannot serve as a load object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ElfError {
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
    #[error("was replaced: {}, the mapped file had {}", build_id_now(found.as_ref()),
        expected.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string))]
    Replaced {
        /// The build id of the mapped file.
        expected: Option<BuildId>,
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

trait Source: Read + Seek {}
impl<T: Read + Seek> Source for T {}

type Bytes = ReadCache<Box<dyn Source>>;

/// A file whose parts are read on demand, and kept until it is dropped.
pub struct ElfFile(Bytes);

impl ElfFile {
    /// Opens a regular file. Anything else is refused: a mapped device or pipe would block or act.
    ///
    /// # Errors
    /// [`ElfError::Unreadable`].
    pub fn open(path: &Path) -> Result<Self, ElfError> {
        let file = untrusted::open(path).map_err(|error| ElfError::Unreadable(error.kind()))?;
        Ok(Self(ReadCache::new(Box::new(file))))
    }

    /// A file in memory, such as the vDSO.
    #[must_use]
    pub fn in_memory(bytes: Arc<[u8]>) -> Self {
        Self(ReadCache::new(Box::new(Cursor::new(bytes))))
    }

    /// The code of the executable segments, but of those that are longer than a section that is read.
    #[must_use]
    pub fn into_code(self) -> CodeSegments {
        let segments = self.executable();
        // Not through the cache, which would hold it a second time.
        let mut file = self.0.into_inner();
        let mut read = |segment: Segment| {
            let mut bytes = vec![0; usize::try_from(segment.file_size).ok()?];
            file.seek(SeekFrom::Start(segment.offset)).ok()?;
            file.read_exact(&mut bytes).ok()?;
            Some((segment.svma, bytes.into()))
        };
        let known = segments.into_iter();
        known.filter_map(&mut read).collect()
    }

    /// Calls `look` with the code of the executable segments in pieces, each with its svma. The last `overlap`
    /// bytes of a piece are those with which the next one begins.
    pub fn each_piece_of_code(self, overlap: usize, look: &mut dyn FnMut(u64, &[u8])) {
        const PIECE: u64 = 1 << 20;
        let segments = self.executable();
        let mut file = self.0.into_inner();
        let mut piece = Vec::new();
        for segment in segments {
            for at in (0..segment.file_size).step_by(PIECE as usize) {
                let length = (PIECE + overlap as u64).min(segment.file_size - at);
                piece.resize(length as usize, 0);
                let begin = file.seek(SeekFrom::Start(segment.offset + at));
                if begin.and_then(|_| file.read_exact(&mut piece)).is_err() {
                    return;
                }
                look(segment.svma.wrapping_add(at), &piece);
            }
        }
    }

    /// The executable segments that are no longer than a section that is read.
    fn executable(&self) -> Vec<Segment> {
        let Ok(elf) = self.parse() else {
            return Vec::new();
        };
        let is_code = |it: &Segment| it.executable && it.file_size <= LONGEST_SECTION;
        elf.segments().filter(is_code).collect()
    }

    /// Reads the headers.
    ///
    /// # Errors
    /// [`ElfError::NotElf`], [`ElfError::OtherMachine`] and [`ElfError::Damaged`].
    pub fn parse(&self) -> Result<Elf<'_>, ElfError> {
        let data = &self.0;
        let ident = data.read_bytes_at(0, 20).map_err(|()| ElfError::NotElf)?;
        if !ident.starts_with(b"\x7fELF") {
            return Err(ElfError::NotElf);
        }
        let machine = u16::from_le_bytes([ident[18], ident[19]]);
        // EI_CLASS 2 is 64 bits, EI_DATA 1 is little-endian.
        if ident[4] != 2 || ident[5] != 1 || machine != EM_X86_64.0 {
            return Err(ElfError::OtherMachine(machine));
        }
        ElfFile64::parse(data)
            .map(Elf)
            .map_err(|error| ElfError::Damaged(error.to_string()))
    }
}

/// The most bytes of a section that are read, inflated, and of a segment: a file can be larger than the disk
/// that it is on.
pub const LONGEST_SECTION: u64 = 1 << 30;

/// The most bytes that a compressed byte of a section inflates to. Debug information that is repeated
/// most stays below 30.
const DENSEST: u64 = 128;

/// The headers of a little-endian ELF file of 64 bits for x86-64.
pub struct Elf<'a>(ElfFile64<'a, LittleEndian, &'a Bytes>);

/// One PT_LOAD segment.
#[derive(Clone, Debug)]
pub struct Segment {
    /// The address of its first byte.
    pub svma: u64,
    /// Where the file holds it.
    pub offset: u64,
    /// The bytes that the file holds.
    pub file_size: u64,
    /// The bytes that it has in memory.
    pub size: u64,
    /// Whether it is mapped executable.
    pub executable: bool,
}

/// The header of a section.
#[derive(Clone, Debug)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// The address of its first byte; 0 for one that is not loaded.
    pub svma: u64,
    /// In bytes.
    pub size: u64,
    /// The size of one entry (`sh_entsize`), for those that are tables.
    pub entry_size: u64,
    /// Whether it holds instructions.
    pub executable: bool,
    /// Whether the file holds its bytes: a debug file has headers of sections that it left out.
    pub has_bytes: bool,
}

/// The code of the executable segments, by svma.
pub type CodeSegments = Vec<(u64, Box<[u8]>)>;

/// The machine code of a file. What is asked for is read then, and kept.
pub struct Code {
    file: ElfFile,
    segments: Vec<Segment>,
}

impl Code {
    /// That of a file; none of one that is no ELF file.
    #[must_use]
    pub fn of(file: ElfFile) -> Self {
        let segments = file.executable();
        Self { file, segments }
    }

    /// `length` bytes from `svma` on, as far as the file has them.
    #[must_use]
    pub fn bytes(&self, svma: u64, length: u64) -> &[u8] {
        let within = |segment: &Segment| {
            let from = svma.checked_sub(segment.svma)?;
            let rest = segment.file_size.checked_sub(from)?;
            Some((segment.offset.checked_add(from)?, rest.min(length)))
        };
        let place = self.segments.iter().find_map(within);
        let bytes =
            place.and_then(|(offset, length)| (&self.file.0).read_bytes_at(offset, length).ok());
        bytes.unwrap_or_default()
    }
}

/// Whether a section has more bytes than are read, or says that it inflates to so many.
fn is_too_large<'a>(section: &impl ObjectSection<'a>) -> bool {
    section.compressed_file_range().is_ok_and(|range| {
        let inflated = range.uncompressed_size;
        let packed = range.format != CompressionFormat::None;
        inflated.max(range.compressed_size) > LONGEST_SECTION
            || packed && inflated > DENSEST.saturating_mul(range.compressed_size)
    })
}

impl<'a> Elf<'a> {
    /// The build id, where the linker wrote one.
    #[must_use]
    pub fn build_id(&self) -> Option<BuildId> {
        self.0.build_id().ok().flatten().and_then(BuildId::new)
    }

    /// `.gnu_debuglink`: the name of the debug file, and its CRC-32.
    #[must_use]
    pub fn debug_link(&self) -> Option<(PathBuf, u32)> {
        let (name, crc) = self.0.gnu_debuglink().ok()??;
        Some((path_of(name), crc))
    }

    /// `.gnu_debugaltlink`: the name and build id of the file with the debug information that
    /// several debug files share.
    #[must_use]
    pub fn debug_alt_link(&self) -> Option<(PathBuf, Option<BuildId>)> {
        let (name, id) = self.0.gnu_debugaltlink().ok()??;
        Some((path_of(name), BuildId::new(id)))
    }

    /// The svma at which the program starts; 0 for none.
    #[must_use]
    pub fn entry(&self) -> u64 {
        self.0.entry()
    }

    /// The segments that are loaded, in the order of the file.
    pub fn segments(&self) -> impl Iterator<Item = Segment> {
        self.0.segments().map(|segment| {
            let (offset, file_size) = segment.file_range();
            Segment {
                svma: segment.address(),
                offset,
                file_size,
                size: segment.size(),
                executable: is_executable(segment.flags()),
            }
        })
    }

    /// The size of a thread's block of thread-local variables (PT_TLS), in bytes.
    #[must_use]
    pub fn tls_size(&self) -> Option<u64> {
        let endian = self.0.endian();
        let mut headers = self.0.elf_program_headers().iter();
        let header = headers.find(|header| header.p_type.get(endian) == PT_TLS)?;
        Some(header.p_memsz.get(endian))
    }

    /// The functions of an object file that was placed in memory: the symbols count from their sections, which have
    /// the addresses.
    #[must_use]
    pub fn functions_by_section(&self) -> Vec<(Range<u64>, String)> {
        let functions = self.0.symbols().filter_map(|symbol| {
            let is_function = symbol.kind() == SymbolKind::Text;
            let section = symbol.section_index().filter(|_| is_function)?;
            let section = self.0.section_by_index(section).ok()?;
            let start = section.address().wrapping_add(symbol.address());
            let name = symbol.name().ok()?.to_owned();
            Some((start..start.saturating_add(symbol.size()), name))
        });
        functions.collect()
    }

    /// The headers of all sections, in the order of the file.
    pub fn sections(&self) -> impl Iterator<Item = Section> {
        self.0.sections().map(|section| Section {
            name: section.name().unwrap_or_default().to_owned(),
            svma: section.address(),
            size: section.size(),
            entry_size: section.elf_section_header().sh_entsize.get(self.0.endian()),
            executable: matches!(
                section.flags(),
                SectionFlags::Elf { sh_flags, .. } if sh_flags.contains(SHF_EXECINSTR)
            ),
            has_bytes: section.file_range().is_some_and(|(_, size)| size > 0),
        })
    }

    /// The header of the section of that name. One that was compressed as binutils did it at first has a
    /// `z` in its name: `.zdebug_info`.
    #[must_use]
    pub fn section(&self, name: &str) -> Option<Section> {
        let packed = name.strip_prefix(".debug_");
        let is_packed = |it: &str| packed.is_some() && it.strip_prefix(".zdebug_") == packed;
        let named = self
            .sections()
            .find(|section| section.name == name || is_packed(&section.name));
        named.or_else(|| {
            let (svma, size) = self.loaded(name)?;
            Some(Section {
                name: name.to_owned(),
                svma,
                size,
                entry_size: 0,
                executable: false,
                has_bytes: true,
            })
        })
    }

    /// The bytes of the section of that name, inflated if they are compressed. `None` if there are
    /// none.
    #[must_use]
    pub fn bytes(&self, name: &str) -> Option<Cow<'a, [u8]>> {
        if self.is_too_large(name) {
            return None;
        }
        let bytes = match self.0.section_by_name(name) {
            Some(section) => section.uncompressed_data().ok()?,
            None => {
                let (svma, size) = self.loaded(name)?;
                Cow::Borrowed(self.loaded_bytes(svma, size)?)
            }
        };
        (!bytes.is_empty()).then_some(bytes)
    }

    /// Svma and size of a section that the loader needs, of a file without section headers: such are those that
    /// a packer made, and copies of what is mapped of a file.
    fn loaded(&self, name: &str) -> Option<(u64, u64)> {
        let endian = self.0.endian();
        let headers = self.0.elf_program_headers();
        if self.0.sections().next().is_some() {
            return None;
        }
        let header = |kind| headers.iter().find(|it| it.p_type.get(endian) == kind);
        let place = |kind| {
            let header = header(kind)?;
            Some((header.p_vaddr.get(endian), header.p_filesz.get(endian)))
        };
        match name {
            ".eh_frame_hdr" => place(PT_GNU_EH_FRAME),
            ".eh_frame" => {
                let (svma, size) = place(PT_GNU_EH_FRAME)?;
                let [1, ENCODING, _, _, offset @ ..] = self.loaded_bytes(svma, size.min(8))? else {
                    return None;
                };
                let offset = i32::from_le_bytes(*offset.first_chunk()?);
                let start = svma.wrapping_add(4).wrapping_add_signed(offset.into());
                // It ends with an empty entry, at the latest with its segment.
                let mut segments = self.segments();
                let holds =
                    |it: &Segment| (it.svma..it.svma.saturating_add(it.file_size)).contains(&start);
                let segment = segments.find(holds)?;
                Some((start, segment.file_size - (start - segment.svma)))
            }
            ".dynsym" => {
                let size = self.dynamic_symbols()?.checked_mul(SYMBOL_SIZE)?;
                Some((self.dynamic(DT_SYMTAB)?, size))
            }
            ".dynstr" => Some((self.dynamic(DT_STRTAB)?, self.dynamic(DT_STRSZ)?)),
            _ => None,
        }
    }

    /// The bytes of the file that are loaded at `svma`.
    fn loaded_bytes(&self, svma: u64, size: u64) -> Option<&'a [u8]> {
        let mut segments = self.segments();
        let offset = segments.find_map(|segment| {
            let from = svma.checked_sub(segment.svma)?;
            let fits = from.checked_add(size)? <= segment.file_size;
            (fits && size <= LONGEST_SECTION).then(|| segment.offset.checked_add(from))?
        })?;
        self.0.data().read_bytes_at(offset, size).ok()
    }

    /// Where the file has the dynamic section (PT_DYNAMIC).
    #[must_use]
    pub fn dynamic_range(&self) -> Option<Range<u64>> {
        let endian = self.0.endian();
        let mut headers = self.0.elf_program_headers().iter();
        let header = headers.find(|it| it.p_type.get(endian) == PT_DYNAMIC)?;
        let start = header.p_offset.get(endian);
        Some(start..start.checked_add(header.p_filesz.get(endian))?)
    }

    /// The value of an entry of the dynamic section.
    fn dynamic(&self, tag: u64) -> Option<u64> {
        let Range { start, end } = self.dynamic_range()?;
        let size = (end - start).min(LONGEST_SECTION);
        let bytes = self.0.data().read_bytes_at(start, size).ok()?;
        let mut entries = bytes.chunks_exact(16).map(|entry| {
            let (tag, value) = entry.split_at(8);
            (word(tag), word(value))
        });
        entries.find(|entry| entry.0 == tag).map(|entry| entry.1)
    }

    /// The number of symbols in the dynamic table, by its hash table: DT_HASH tells it; of DT_GNU_HASH the last
    /// chain ends with the last symbol.
    fn dynamic_symbols(&self) -> Option<u64> {
        let half = |svma: u64| {
            let bytes = self.loaded_bytes(svma, 4)?.first_chunk()?;
            Some(u64::from(u32::from_le_bytes(*bytes)))
        };
        if let Some(hash) = self.dynamic(DT_HASH) {
            return half(hash.checked_add(4)?);
        }
        let hash = self.dynamic(DT_GNU_HASH)?;
        let at = |start: u64, number: u64, size: u64| start.checked_add(number.checked_mul(size)?);
        let (buckets, first, words) = (half(hash)?, half(at(hash, 1, 4)?)?, half(at(hash, 2, 4)?)?);
        let buckets_at = at(at(hash, 4, 4)?, words, 8)?;
        let starts = self.loaded_bytes(buckets_at, buckets * 4)?.chunks_exact(4);
        let starts = starts.map(|it| u32::from_le_bytes([it[0], it[1], it[2], it[3]]));
        let mut last = u64::from(starts.max()?);
        if last < first {
            return Some(first);
        }
        let chains_at = at(buckets_at, buckets, 4)?;
        while half(at(chains_at, last - first, 4)?)? & 1 == 0 {
            last += 1;
        }
        Some(last + 1)
    }

    /// The bytes of all sections of that name, one behind the other: compilers put a type unit into a
    /// section of its own. Those that are too large are left out.
    #[must_use]
    pub fn all_bytes(&self, name: &str) -> Vec<u8> {
        let mut all = Vec::new();
        for section in self.0.sections() {
            if section.name() == Ok(name)
                && !is_too_large(&section)
                && let Ok(bytes) = section.uncompressed_data()
                && (all.len() + bytes.len()) as u64 <= LONGEST_SECTION
            {
                all.extend_from_slice(&bytes);
            }
        }
        all
    }

    /// Whether the section of that name has more bytes than are read, or says that it inflates to so
    /// many: anybody may have made the file.
    #[must_use]
    pub fn is_too_large(&self, name: &str) -> bool {
        let section = self.0.section_by_name(name);
        section.is_some_and(|section| is_too_large(&section))
    }

    /// The svma ranges of the sections of code; of a file without sections, of its segments.
    #[must_use]
    pub fn code_ranges(&self) -> Vec<Range<u64>> {
        let range = |start: u64, size: u64| start..start.saturating_add(size);
        let sections: Vec<_> = self
            .sections()
            .filter(|section| section.executable)
            .map(|section| range(section.svma, section.size))
            .collect();
        if !sections.is_empty() {
            return sections;
        }
        self.segments()
            .filter(|segment| segment.executable)
            .map(|segment| range(segment.svma, segment.size))
            .collect()
    }
}

/// `.eh_frame_hdr`: the pointer to `.eh_frame` has 4 bytes, relative to its own place (DW_EH_PE_pcrel, sdata4).
const ENCODING: u8 = 0x1b;
const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_STRSZ: u64 = 10;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
/// The size of an `Elf64_Sym`.
const SYMBOL_SIZE: u64 = 24;

fn word(bytes: &[u8]) -> u64 {
    bytes
        .first_chunk()
        .map_or(0, |word| u64::from_le_bytes(*word))
}

fn is_executable(flags: SegmentFlags) -> bool {
    matches!(flags, SegmentFlags::Elf { p_flags, .. } if p_flags.0 & PF_X.0 != 0)
}

fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_replaced_file_has_both_build_ids() {
        let id = |text| BuildId::from_hex(text).expect("hexadecimal");
        let replaced = |found| ElfError::Replaced {
            expected: Some(id("ab01")),
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
    fn a_file_that_is_no_elf_file_is_refused_with_the_reason() {
        let parsed = |bytes: &[u8]| ElfFile::in_memory(bytes.into()).parse().err();
        assert_eq!(parsed(b""), Some(ElfError::NotElf));
        assert_eq!(parsed(&[b'#'; 64]), Some(ElfError::NotElf));
        let mut arm = vec![0; 64];
        arm[..6].copy_from_slice(b"\x7fELF\x02\x01");
        arm[18] = 183;
        assert_eq!(parsed(&arm), Some(ElfError::OtherMachine(183)));
        let unreadable = |path: &str| match ElfFile::open(Path::new(path)) {
            Err(ElfError::Unreadable(kind)) => Some(kind),
            _ => None,
        };
        let missing = unreadable("/nonexistent/file");
        assert_eq!(missing, Some(io::ErrorKind::NotFound));
        assert_eq!(unreadable("/"), Some(io::ErrorKind::InvalidInput));
    }

    /// An ELF file with one section, `.debug_info`, that inflates to as many bytes as it says.
    fn with_packed(section: &[u8], says: u64) -> ElfFile {
        const SHF_COMPRESSED: u64 = 0x800;
        let names = b"\0.debug_info\0.shstrtab\0";
        // Elf64_Chdr: zlib, reserved, size, alignment.
        let mut packed = [1_u64.to_le_bytes(), says.to_le_bytes(), 1_u64.to_le_bytes()].concat();
        packed.extend(section);
        let at = 64 + packed.len() as u64;
        let headers = at + names.len() as u64;
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        file.extend([3_u16, 62].iter().flat_map(|it| it.to_le_bytes()));
        file.extend(1_u32.to_le_bytes());
        file.extend([0, 0, headers].iter().flat_map(|it: &u64| it.to_le_bytes()));
        file.extend(0_u32.to_le_bytes());
        file.extend(
            [64_u16, 0, 0, 64, 3, 2]
                .iter()
                .flat_map(|it| it.to_le_bytes()),
        );
        file.extend(&packed);
        file.extend(names);
        let header = |name: u32, kind: u32, flags: u64, offset: u64, size: u64| {
            let mut header = [name.to_le_bytes(), kind.to_le_bytes()].concat();
            let numbers = [flags, 0, offset, size, 0, 1, 0];
            header.extend(numbers.iter().flat_map(|it| it.to_le_bytes()));
            header
        };
        file.extend(header(0, 0, 0, 0, 0));
        file.extend(header(1, 1, SHF_COMPRESSED, 64, packed.len() as u64));
        file.extend(header(13, 3, 0, at, names.len() as u64));
        ElfFile::in_memory(file.into())
    }

    #[test]
    fn a_section_that_claims_gigabytes_is_not_inflated() {
        // "debug information", by zlib without compression.
        let stored = [
            b"\x78\x01\x01\x11\x00\xee\xff".as_slice(),
            b"debug information\x3b\xa9\x06\xce",
        ]
        .concat();
        let file = with_packed(&stored, 17);
        let elf = file.parse().expect("an ELF file");
        assert!(!elf.is_too_large(".debug_info"));
        let bytes = elf.bytes(".debug_info");
        assert_eq!(bytes.as_deref(), Some(b"debug information".as_slice()));
        for says in [10_000, 2_700_000_000, u64::MAX] {
            let file = with_packed(&stored, says);
            let elf = file.parse().expect("an ELF file");
            assert!(elf.is_too_large(".debug_info"));
            assert_eq!(elf.bytes(".debug_info"), None);
        }
    }
}
