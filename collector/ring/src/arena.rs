//! The arena as mapped by its producer or consumer.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::sync::atomic::Ordering::Relaxed;

use crate::clock::ClockSource;
use crate::consumer::ArenaOptions;
use crate::control::{ControlKind, ControlQueue, Used};
use crate::layout::{Geometry, Header, MAGIC, SlotHeader, VERSION, page_up};
use crate::mapped::{Headers, Ring};
use crate::shm::{self, Mapping, Reserve};

/// Why an arena could not be attached.
#[derive(Debug)]
#[non_exhaustive]
pub enum ArenaError {
    /// The file could not be opened or mapped.
    Io(io::Error),
    /// The file is not an arena.
    Foreign,
    /// The arena has another version of the format: the version found.
    Version(u32),
    /// The header's sizes are invalid or do not fit the file's length in bytes.
    Geometry(u64),
}

impl std::fmt::Display for ArenaError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ArenaError::Io(error) => write!(f, "the arena cannot be mapped: {error}"),
            ArenaError::Foreign => write!(f, "the file is no arena"),
            ArenaError::Version(found) => {
                write!(
                    f,
                    "the arena has version {found}, this library needs {VERSION}"
                )
            }
            ArenaError::Geometry(bytes) => {
                write!(
                    f,
                    "the arena's sizes do not fit its length of {bytes} bytes"
                )
            }
        }
    }
}

impl std::error::Error for ArenaError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ArenaError::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for ArenaError {
    fn from(error: io::Error) -> Self {
        ArenaError::Io(error)
    }
}

/// Where the rings are.
#[derive(Debug)]
enum Source {
    /// The consumer keeps the file open, and maps a ring when it needs it.
    File(File),
    /// A producer has mapped them.
    Reserve(Reserve),
}

/// A mapped arena, for both ends.
#[derive(Debug)]
pub struct Arena {
    headers: Headers,
    geometry: Geometry,
    clock: ClockSource,
    source: Source,
}

impl Arena {
    /// Maps the arena at `path`, made by a [`Consumer`](crate::consumer::Consumer), for producers. Leaves
    /// no file open, and opens none later.
    pub fn attach(path: &CStr) -> Result<Arena, ArenaError> {
        let file = shm::open(path)?;
        let bytes = file.bytes()?;
        let least = page_up(size_of::<Header>() as u64);
        if bytes < least {
            return Err(ArenaError::Foreign);
        }
        let head = Headers::new(&file, least as usize)?;
        let header = head.arena();
        if header.magic.load(Relaxed) != MAGIC {
            return Err(ArenaError::Foreign);
        }
        let version = header.version.load(Relaxed);
        if version != VERSION {
            return Err(ArenaError::Version(version));
        }
        let geometry = Geometry::new(
            header.slots.load(Relaxed),
            header.ring_records.load(Relaxed),
        )
        .filter(|geometry| geometry.bytes() == bytes)
        .ok_or(ArenaError::Geometry(bytes))?;
        let clock =
            ClockSource::from_word(header.clock.load(Relaxed)).ok_or(ArenaError::Foreign)?;
        let (at, bytes) = (geometry.ring_at(0), geometry.ring_bytes());
        Ok(Arena {
            headers: Headers::new(&file, geometry.headers() as usize)?,
            geometry,
            clock,
            source: Source::Reserve(Reserve::new(&file, at, bytes, geometry.slots)?),
        })
    }

    /// The bytes that are mapped.
    pub fn bytes(&self) -> u64 {
        match &self.source {
            Source::Reserve(reserve) => self.geometry.headers() + reserve.bytes(),
            _ => self.geometry.bytes(),
        }
    }

    /// The queue of calls that control the recording.
    #[inline]
    pub(crate) fn calls(&self) -> Option<&ControlQueue> {
        self.headers.calls(self.geometry.calls_at() as usize)
    }

    /// Adds a call of process `pid` that controls the recording, with the time now. Async-signal-safe.
    pub fn push_call(&self, pid: i32, kind: ControlKind, used: Used, name: &[u8]) {
        if let Some(calls) = self.calls() {
            calls.push(pid, kind, used, name);
        }
    }

    /// Whether recording is paused.
    #[inline]
    pub fn is_paused(&self) -> bool {
        self.calls().is_some_and(ControlQueue::is_paused)
    }

    /// Pauses recording, or lets it go on.
    pub fn set_paused(&self, paused: bool) {
        if let Some(calls) = self.calls() {
            calls.set_paused(paused);
        }
    }

    /// Pauses recording, or lets it go on if it is paused. Returns whether it is paused now.
    pub fn toggle_paused(&self) -> bool {
        self.calls().is_some_and(ControlQueue::toggle)
    }

    /// A new arena in a memory file.
    pub(crate) fn create(geometry: Geometry, options: &ArenaOptions) -> io::Result<Arena> {
        let clock = options.clock;
        let file = shm::memory_file(c"parallax-arena", geometry.bytes())?;
        let arena = Arena {
            headers: Headers::new(&file, geometry.headers() as usize)?,
            geometry,
            clock,
            source: Source::File(file),
        };
        let header = arena.header();
        header.version.store(VERSION, Relaxed);
        header.clock.store(clock as u32, Relaxed);
        header.slots.store(geometry.slots, Relaxed);
        header.ring_records.store(geometry.ring_records, Relaxed);
        header.short_ns.store(options.short_ns, Relaxed);
        header.reads_python.store(options.python.into(), Relaxed);
        header.recorded_calls.store(options.calls, Relaxed);
        header.units_per_ms.store(clock.units_per_ms(), Relaxed);
        header.magic.store(MAGIC, Relaxed);
        Ok(arena)
    }

    /// The interfaces whose calls are to be recorded, a bit for each (`mpi::Interface::bit`).
    pub fn recorded_calls(&self) -> u32 {
        self.header().recorded_calls.load(Relaxed)
    }

    /// The clock that stamps the records.
    pub fn clock(&self) -> ClockSource {
        self.clock
    }

    pub(crate) fn geometry(&self) -> Geometry {
        self.geometry
    }

    pub(crate) fn header(&self) -> &Header {
        self.headers.arena()
    }

    pub(crate) fn slots(&self) -> &[SlotHeader] {
        self.headers.slots(
            self.geometry.slots_at() as usize,
            self.geometry.slots as usize,
        )
    }

    /// The file, on the consumer's side.
    pub(crate) fn file(&self) -> Option<&File> {
        match &self.source {
            Source::File(file) => Some(file),
            Source::Reserve(_) => None,
        }
    }

    /// The slots whose rings a producer can have, and their indices.
    pub(crate) fn own_slots(&self) -> impl Iterator<Item = (u32, &SlotHeader)> {
        let own = match &self.source {
            Source::File(_) => 0..0,
            Source::Reserve(reserve) => reserve.rings(),
        };
        let slots = self.slots().get(own.clone()).unwrap_or_default();
        (own.start as u32..).zip(slots)
    }

    /// The ring of `slot`, for a producer that borrows the arena.
    pub(crate) fn open_ring(&self, slot: u32) -> io::Result<Ring<'_>> {
        match &self.source {
            Source::File(_) => Err(io::ErrorKind::Unsupported.into()),
            Source::Reserve(reserve) => self.ring_in(reserve.open(slot)?),
        }
    }

    /// Makes all rings ready for producers, before the program forbids itself the system call that it takes.
    pub fn open_all(&self) {
        if let Source::Reserve(reserve) = &self.source {
            reserve.open_all();
        }
    }

    /// Maps the ring of `slot`, which must be below the number of slots, for the consumer.
    pub(crate) fn map_ring(&self, slot: u32) -> io::Result<Ring<'static>> {
        let Some(file) = self.file() else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let (at, bytes) = (self.geometry.ring_at(slot), self.geometry.ring_bytes());
        self.ring_in(Mapping::new(file, at, bytes as usize)?)
    }

    fn ring_in<'a>(&self, mapping: Mapping<'a>) -> io::Result<Ring<'a>> {
        let geometry = self.geometry;
        Ring::new(mapping, geometry.ring_records, geometry.part_records())
    }
}
