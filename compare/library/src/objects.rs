//! The program's own load objects: its executable, and libraries that are no part of the system and no runtime.
#![allow(unsafe_code)]

use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use inside::objects::{self, Object};

/// Most own objects that are known.
const MOST: usize = 64;

/// From the first to the last byte of each.
static OWN: [[AtomicU64; 2]; MOST] = [const { [AtomicU64::new(0), AtomicU64::new(0)] }; MOST];

/// Where libraries of the system are.
const SYSTEM: [&[u8]; 2] = [b"/lib", b"/usr/"];

/// How the names of runtimes begin, wherever they are.
const RUNTIMES: [&[u8]; 8] = [
    b"libgomp",
    b"libomp",
    b"libiomp",
    b"libgfortran",
    b"libflang",
    b"libFortran",
    b"libquadmath",
    b"libparallax",
];

/// An object of the program with variables.
#[derive(Clone, Debug)]
pub(crate) struct Own {
    /// Where its file is.
    pub(crate) path: Vec<u8>,
    /// What is added to addresses in its file.
    pub(crate) base: u64,
    /// What the program can write to.
    pub(crate) writable: Vec<Range<u64>>,
}

fn name_of(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

fn is_runtime_path(path: &[u8]) -> bool {
    RUNTIMES
        .iter()
        .any(|runtime| name_of(path).starts_with(runtime))
}

fn is_of_program(object: &Object<'_>) -> bool {
    let path = object.path();
    // The kernel's own object has a name without a folder.
    let is_library = path.contains(&b'/');
    let is_of_system = SYSTEM.iter().any(|folder| path.starts_with(folder));
    path.is_empty() || is_library && !is_of_system && !is_runtime_path(path) && !object.is_own()
}

/// Whether code is in one of the program's own objects.
pub(crate) fn is_own(code: u64) -> bool {
    let mut known = OWN
        .iter()
        .map(|[begin, end]| begin.load(Relaxed)..end.load(Relaxed));
    known.any(|range| range.contains(&code))
}

/// Whether code is in an OpenMP runtime.
pub(crate) fn is_runtime(code: u64) -> bool {
    objects::with(code, |object| is_runtime_path(object.path())).unwrap_or_default()
}

/// The program's own objects now.
pub(crate) fn own() -> Vec<Own> {
    let mut all = Vec::new();
    let mut places = OWN.iter();
    objects::each(|object| {
        if !is_of_program(object) {
            return;
        }
        let bounds = object.bounds();
        if let Some([begin, end]) = places.next() {
            begin.store(bounds.start, Relaxed);
            end.store(bounds.end, Relaxed);
        }
        let path = match object.path() {
            [] => b"/proc/self/exe",
            path => path,
        };
        let segments = object.segments().filter(|segment| segment.is_writable);
        all.push(Own {
            path: path.to_vec(),
            base: object.base(),
            writable: segments.map(|it| it.filled.start..it.zero.end).collect(),
        });
    });
    for [begin, end] in places {
        begin.store(0, Relaxed);
        end.store(0, Relaxed);
    }
    all
}
