//! The look at a program's file.

use std::ffi::CStr;
use std::fmt;

use crate::file::{File, Path, Program};

/// Why the library cannot be loaded into a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle(What);

#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "without memory of its own elsewhere"
)]
enum What {
    /// It is made for another processor or word size.
    Machine,
    /// It is another dynamic linker than glibc's.
    IsLinker,
    /// Its dynamic linker, of this path, is not glibc's.
    Linker(Path),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            What::Machine => f.write_str("it is made for another processor or word size"),
            What::IsLinker => {
                f.write_str("it is the dynamic linker of another C library than GNU's")
            }
            What::Linker(path) => write!(
                f,
                "its dynamic linker, {}, is not that of the GNU C library",
                path.as_c_str().to_string_lossy()
            ),
        }
    }
}

/// Most scripts that the kernel follows from one to the next (`exec_binprm`).
const MOST_SCRIPTS: usize = 6;

/// Bytes of a script that the kernel reads for its interpreter (`BINPRM_BUF_SIZE`).
const SCRIPT_BYTES: usize = 256;

/// What of a program's file keeps the library out of it. A script stands for its interpreter. A program
/// that loads nothing, being static, has no obstacle: what it starts may be told of the library. Neither
/// has what cannot be read, or is no ELF file.
pub fn obstacle(program: Program<'_>) -> Option<Obstacle> {
    let mut file = File::of(program)?;
    for _ in 0..MOST_SCRIPTS {
        let mut window = Window::new(file);
        if window.bytes(0, 4).is_some_and(|bytes| bytes == b"\x7fELF") {
            return of_elf(&mut window);
        }
        let path = script(window.up_to(0, SCRIPT_BYTES))?;
        file = File::open(libc::AT_FDCWD, path.as_c_str())?;
    }
    None
}

/// The interpreter that a script names in its first line.
fn script(bytes: &[u8]) -> Option<Path> {
    let line = bytes.strip_prefix(b"#!")?;
    let line = line.split(|byte| matches!(byte, b'\n' | 0)).next()?;
    let mut words = line.split(|byte| matches!(byte, b' ' | b'\t'));
    Path::of(&[words.find(|word| !word.is_empty())?])
}

/// The machine of this program in the header of ELF files (`e_machine`).
const MACHINE: u16 = if cfg!(target_arch = "x86_64") {
    62
} else {
    183
};

/// How glibc's dynamic linker for this machine calls itself, wherever it lies (`DT_SONAME`).
const LINKER: &CStr = if cfg!(target_arch = "x86_64") {
    c"ld-linux-x86-64.so.2"
} else {
    c"ld-linux-aarch64.so.1"
};

const CLASS_64: u8 = 2;
const LITTLE_ENDIAN: u8 = 1;

fn of_elf(window: &mut Window) -> Option<Obstacle> {
    let [class, order] = window.array(4)?;
    let machine = u16::from_le_bytes(window.array(18)?);
    if (class, order, machine) != (CLASS_64, LITTLE_ENDIAN, MACHINE) {
        return Some(Obstacle(What::Machine));
    }
    let Some(named) = segment(window, PT_INTERP) else {
        // Whoever starts a dynamic linker names the program in an argument.
        let dynamic = dynamic(window)?;
        let loads = dynamic.is_static_pie || dynamic.is_gnu(window);
        return (!loads).then_some(Obstacle(What::IsLinker));
    };
    let size = usize::try_from(named.size).ok()?;
    let name = window.up_to(named.offset, size);
    let path = Path::of(&[name.split(|byte| *byte == 0).next()?])?;
    let mut linker = Window::new(File::open(libc::AT_FDCWD, path.as_c_str())?);
    let is_gnu = dynamic(&mut linker).is_some_and(|it| it.is_gnu(&mut linker));
    (!is_gnu).then_some(Obstacle(What::Linker(path)))
}

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_INTERP: u32 = 3;

/// A program header (System V ABI, `Elf64_Phdr`).
#[derive(Clone, Copy)]
struct Segment {
    kind: u32,
    offset: u64,
    address: u64,
    size: u64,
}

/// The program header of this number.
fn segment_at(window: &mut Window, number: u16) -> Option<Segment> {
    let first = u64::from_le_bytes(window.array(32)?);
    let size = u16::from_le_bytes(window.array(54)?);
    let count = u16::from_le_bytes(window.array(56)?);
    if number >= count {
        return None;
    }
    let at = first.checked_add(u64::from(number) * u64::from(size))?;
    let bytes: [u8; 56] = window.array(at)?;
    let word = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    Some(Segment {
        kind: u32::from_le_bytes(*bytes.first_chunk()?),
        offset: word(8)?,
        address: word(16)?,
        size: word(32)?,
    })
}

/// Most program headers that are looked at.
const MOST_SEGMENTS: u16 = 128;

fn segment(window: &mut Window, kind: u32) -> Option<Segment> {
    let mut all = (0..MOST_SEGMENTS).map_while(|number| segment_at(window, number));
    all.find(|segment| segment.kind == kind)
}

const DT_NULL: u64 = 0;
const DT_STRTAB: u64 = 5;
const DT_SONAME: u64 = 14;
const DT_FLAGS_1: u64 = 0x6fff_fffb;
const DF_1_PIE: u64 = 0x0800_0000;

/// What a dynamic section tells.
#[derive(Default)]
struct Dynamic {
    strings: u64,
    name: Option<u64>,
    is_static_pie: bool,
}

/// The dynamic section of an ELF file.
fn dynamic(window: &mut Window) -> Option<Dynamic> {
    let section = segment(window, PT_DYNAMIC)?;
    let mut found = Dynamic::default();
    for entry in 0..section.size / 16 {
        let at = section.offset.checked_add(16 * entry)?;
        let tag = u64::from_le_bytes(window.array(at)?);
        let value = u64::from_le_bytes(window.array(at.checked_add(8)?)?);
        match tag {
            DT_NULL => break,
            DT_STRTAB => found.strings = value,
            DT_SONAME => found.name = Some(value),
            DT_FLAGS_1 => found.is_static_pie = value & DF_1_PIE != 0,
            _ => {}
        }
    }
    Some(found)
}

impl Dynamic {
    /// Whether the file calls itself as glibc's dynamic linker does.
    fn is_gnu(&self, window: &mut Window) -> bool {
        let mut name = || {
            let address = self.strings.checked_add(self.name?)?;
            let mut all = (0..MOST_SEGMENTS).map_while(|number| segment_at(window, number));
            let holds = |it: &Segment| {
                it.kind == PT_LOAD
                    && (it.address..it.address.saturating_add(it.size)).contains(&address)
            };
            let at = all
                .find(holds)
                .map(|it| it.offset + (address - it.address))?;
            let expected = LINKER.to_bytes_with_nul();
            Some(window.bytes(at, expected.len())? == expected)
        };
        name().unwrap_or(false)
    }
}

/// A part of a file.
struct Window {
    file: File,
    /// Where it begins in the file.
    at: u64,
    bytes: [u8; Window::BYTES],
    length: usize,
}

impl Window {
    /// Enough for the headers of most programs, and little of a stack.
    const BYTES: usize = 1024;

    fn new(file: File) -> Window {
        Window {
            file,
            at: 0,
            bytes: [0; Window::BYTES],
            length: 0,
        }
    }

    /// The bytes from `at` on, `size` of them or as many as there are. At most 1024.
    fn up_to(&mut self, at: u64, size: usize) -> &[u8] {
        let begin = |window: &Window| {
            let begin = usize::try_from(at.checked_sub(window.at)?).ok()?;
            (begin.checked_add(size)? <= window.length).then_some(begin)
        };
        let begin = begin(self).unwrap_or_else(|| {
            self.at = at;
            self.length = self.file.read(at, &mut self.bytes);
            0
        });
        let end = begin.saturating_add(size).min(self.length);
        self.bytes.get(begin..end).unwrap_or_default()
    }

    /// The bytes from `at` on, if there are `size`.
    fn bytes(&mut self, at: u64, size: usize) -> Option<&[u8]> {
        Some(self.up_to(at, size)).filter(|bytes| bytes.len() == size)
    }

    fn array<const N: usize>(&mut self, at: u64) -> Option<[u8; N]> {
        self.bytes(at, N)?.try_into().ok()
    }
}

#[cfg(test)]
mod tests;
