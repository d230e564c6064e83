//! Runs the programs under `tests/programs`, and reads their recordings.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]

use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

#[path = "../compile/mod.rs"]
mod compile;

pub use compile::{build, fresh_path};
use unwinder::{AddressSpace, Ending, Image, ImageCache, Register, Regs, StackBytes, UnwindCache};

const DWARF_ORDER: [Register; 17] = [
    Register::Rax,
    Register::Rdx,
    Register::Rcx,
    Register::Rbx,
    Register::Rsi,
    Register::Rdi,
    Register::Rbp,
    Register::Rsp,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
    Register::Rip,
];

/// One recorded sample.
pub struct Sample {
    /// 1 before the shape runs, 2 within it.
    pub tag: u64,
    pub regs: Regs,
    pub stack: Vec<u8>,
}

impl Sample {
    pub fn bytes(&self) -> StackBytes<'_> {
        StackBytes {
            sp: self.regs.sp(),
            bytes: &self.stack,
            beyond: None,
        }
    }
}

/// A program's records, and the address space that it had.
pub struct Recording {
    pub samples: Vec<Sample>,
    pub space: AddressSpace,
    pub program: PathBuf,
}

impl Recording {
    /// Unwinds one sample with a cache of its own.
    pub fn unwind(&self, sample: &Sample) -> (Vec<u64>, Ending) {
        let mut frames = Vec::new();
        let ending = self.space.unwind(
            &mut UnwindCache::new(),
            &sample.regs,
            &sample.bytes(),
            &mut frames,
        );
        (frames, ending)
    }

    /// The samples taken within the shape.
    pub fn within(&self) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(|sample| sample.tag == 2)
    }
}

/// Runs one shape of `shapes.c`, built with gcc and `words`.
pub fn record(words: &str, shape: &str) -> Recording {
    let program = build("gcc", "shapes.c", &format!("-Wl,-z,lazy {words}"));
    let out = fresh_path(shape);
    let status = Command::new(&program)
        .arg(&out)
        .arg(shape)
        .env("LD_BIND_NOW", "")
        .status()
        .expect("runs");
    assert!(status.success(), "{shape} {words}: {status}");
    let maps_path = out.with_file_name(format!(
        "{}.maps",
        out.file_name().expect("a file").to_string_lossy()
    ));
    let samples = parse(&fs::read(&out).expect("records"));
    let space = address_space(&fs::read_to_string(&maps_path).expect("maps"));
    fs::remove_file(out).expect("records");
    fs::remove_file(maps_path).expect("maps");
    Recording {
        samples,
        space,
        program,
    }
}

fn parse(mut bytes: &[u8]) -> Vec<Sample> {
    let mut samples = Vec::new();
    while !bytes.is_empty() {
        let mut word = || {
            let (value, rest) = bytes.split_first_chunk().expect("whole records");
            bytes = rest;
            u64::from_le_bytes(*value)
        };
        let tag = word();
        let values: Vec<u64> = (0..17).map(|_| word()).collect();
        let mut regs = Regs::new(values[16], values[7], values[6]);
        for (register, value) in DWARF_ORDER.into_iter().zip(values) {
            regs.set(register, value);
        }
        let len = usize::try_from(word()).expect("a length");
        let (stack, rest) = bytes.split_at(len);
        bytes = rest;
        samples.push(Sample {
            tag,
            regs,
            stack: stack.to_vec(),
        });
    }
    samples
}

/// The address space that a `/proc/pid/maps` text describes.
pub fn address_space(maps: &str) -> AddressSpace {
    let mut images = ImageCache::new();
    let mut space = AddressSpace::new();
    for line in maps
        .lines()
        .filter(|line| line.split(' ').nth(1).is_some_and(|p| p.contains('x')))
    {
        let mut words = line.split_whitespace();
        let (start, end) = words
            .next()
            .and_then(|range| range.split_once('-'))
            .expect("a range");
        let hex = |text| u64::from_str_radix(text, 16).expect("hexadecimal");
        let offset = hex(words.nth(1).expect("an offset"));
        let path = Path::new(words.nth(2).unwrap_or_default());
        let image = match path.to_str() {
            Some("[vdso]") => Some(vdso()),
            _ => images.get(path, None).ok(),
        };
        space.map(hex(start), hex(end) - hex(start), offset, image, path);
    }
    space
}

/// The vDSO of this process; the kernel gives every process the same one.
fn vdso() -> Arc<Image> {
    let maps = fs::read_to_string("/proc/self/maps").expect("maps");
    let line = maps
        .lines()
        .find(|line| line.ends_with("[vdso]"))
        .expect("a vDSO");
    let (start, end) = line
        .split(' ')
        .next()
        .and_then(|range| range.split_once('-'))
        .expect("a range");
    let hex = |text| u64::from_str_radix(text, 16).expect("hexadecimal");
    let mut bytes = vec![0; usize::try_from(hex(end) - hex(start)).expect("a length")];
    let mut memory = fs::File::open("/proc/self/mem").expect("memory");
    memory.seek(SeekFrom::Start(hex(start))).expect("seek");
    memory.read_exact(&mut bytes).expect("the vDSO is readable");
    Arc::new(Image::from_bytes(Path::new("[vdso]"), &bytes).expect("an ELF image"))
}
