//! The file: its header, and its records one by one, in the order of the file.
//!
//! The format is perf's `tools/perf/Documentation/perf.data-file-format.txt`. Every size in it is checked against
//! the bytes that are there before anything is reserved for it.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use processes::records::Fields;
use rustc_hash::FxHashMap;
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use crate::PerfDataError;
use crate::event::Event;

/// What a file begins with; the other byte order has it backwards.
pub(crate) const MAGIC: &[u8; 8] = b"PERFILE2";
const OTHER_ORDER: &[u8; 8] = b"2ELIFREP";
/// What files of before 2009 begin with.
const OLD: &[u8; 8] = b"PERFFILE";

/// Bytes of the header of a file, and of that of a stream (`perf record -o -`).
const HEADER: u64 = 104;
const STREAM_HEADER: u64 = 16;

/// The most bytes of a part of the header that is read.
const LONGEST_FEATURE: u64 = 16 << 20;
/// The most events.
const MOST_EVENTS: usize = 1024;
/// The most ids of an event: one for each CPU or thread.
const MOST_IDS: u64 = 1 << 20;

/// Parts of the header (`HEADER_*` of `tools/perf/util/header.h`).
mod feature {
    pub(super) const BUILD_ID: u64 = 2;
    pub(super) const HOSTNAME: u64 = 3;
    pub(super) const OSRELEASE: u64 = 4;
    pub(super) const VERSION: u64 = 5;
    pub(super) const ARCH: u64 = 6;
    pub(super) const NRCPUS: u64 = 7;
    pub(super) const CPUDESC: u64 = 8;
    pub(super) const CMDLINE: u64 = 11;
    pub(super) const EVENT_DESC: u64 = 12;
    pub(super) const DIR_FORMAT: u64 = 24;
}

/// Kinds of records that perf writes itself (`enum perf_user_event_type`).
mod kind {
    pub(super) const FIRST: u32 = 64;
    pub(super) const HEADER_ATTR: u32 = 64;
    pub(super) const TRACING_DATA: u32 = 66;
    pub(super) const FINISHED_ROUND: u32 = 68;
    pub(super) const AUXTRACE: u32 = 71;
    pub(super) const HEADER_FEATURE: u32 = 80;
    pub(super) const COMPRESSED: u32 = 81;
    pub(super) const COMPRESSED2: u32 = 83;
}

/// A record of the kernel's; `perf record` wrote some like it for what was there before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) kind: u32,
    pub(crate) misc: u16,
    /// Its bytes behind the header.
    pub(crate) body: Vec<u8>,
}

/// The next item of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Record(Record),
    /// What comes is not earlier than what came before the last one of these.
    Round,
    /// Data of a hardware trace, which are skipped.
    Trace,
    End,
}

/// What the header says of the recording.
#[derive(Clone, Debug, Default)]
pub(crate) struct About {
    pub(crate) host: String,
    pub(crate) release: String,
    pub(crate) version: String,
    pub(crate) machine: String,
    pub(crate) cpu: String,
    pub(crate) cpus: u32,
    pub(crate) command: Vec<String>,
    /// By path, of those files that perf looked up.
    pub(crate) build_ids: FxHashMap<Vec<u8>, Vec<u8>>,
}

/// A file of `perf record`.
pub(crate) struct PerfFile {
    pub(crate) about: About,
    pub(crate) events: Vec<Event>,
    input: BufReader<File>,
    /// Bytes of records that are left.
    left: u64,
    /// Where the next record begins.
    offset: u64,
    is_stream: bool,
    unpacking: Unpacking,
    /// Why the rest of the file is not read, as a clause.
    pub(crate) damage: Option<String>,
}

/// Records that were compressed (`perf record -z`): one zstd stream in pieces.
#[derive(Default)]
struct Unpacking {
    decoder: Option<Decoder<'static>>,
    /// What has not been unpacked, and how much of it is done.
    packed: (Vec<u8>, usize),
    /// Unpacked bytes that no record has taken.
    bytes: VecDeque<u8>,
    piece: Vec<u8>,
}

/// Bytes that are unpacked at a time: as many as the longest record.
const PIECE: usize = 1 << 16;

impl Unpacking {
    /// The next whole record, if there is one.
    fn next(&mut self) -> io::Result<Option<Record>> {
        loop {
            if let Some(record) = self.take()? {
                return Ok(Some(record));
            }
            if self.packed.1 >= self.packed.0.len() && self.piece.len() < PIECE {
                return Ok(None);
            }
            if self.decoder.is_none() {
                self.decoder = Some(Decoder::new()?);
            }
            let Some(decoder) = &mut self.decoder else {
                return Ok(None);
            };
            self.piece.resize(PIECE, 0);
            let mut input = InBuffer::around(&self.packed.0[self.packed.1..]);
            let mut output = OutBuffer::around(&mut self.piece[..]);
            decoder.run(&mut input, &mut output)?;
            let (read, written) = (input.pos(), output.pos());
            self.packed.1 += read;
            self.bytes.extend(&self.piece[..written]);
            // A piece that is full may not have been the last one.
            self.piece.truncate(written);
            if read == 0 && written == 0 {
                return Ok(None);
            }
        }
    }

    fn take(&mut self) -> io::Result<Option<Record>> {
        if self.bytes.len() < 8 {
            return Ok(None);
        }
        let mut head = [0; 8];
        head.iter_mut()
            .zip(&self.bytes)
            .for_each(|(to, from)| *to = *from);
        let (kind, misc, length) = head_of(&head)?;
        if self.bytes.len() < 8 + length {
            return Ok(None);
        }
        self.bytes.drain(..8);
        let body = self.bytes.drain(..length).collect();
        Ok(Some(Record { kind, misc, body }))
    }
}

/// Kind, misc and length of the body of a record.
fn head_of(head: &[u8; 8]) -> io::Result<(u32, u16, usize)> {
    let mut fields = Fields::new(head);
    let kind = fields.u32();
    let misc_and_size = fields.u32();
    let body = (misc_and_size >> 16).checked_sub(8);
    let body = body.ok_or_else(|| io::Error::other("a record is shorter than its header"))?;
    Ok((kind, misc_and_size as u16, body as usize))
}

/// The bytes of a range of the file; `None` if it reaches beyond the end, or is longer than `most`.
fn part(file: &File, (offset, length): (u64, u64), most: u64) -> Option<Vec<u8>> {
    let end = offset.checked_add(length)?;
    if length > most || end > file.metadata().ok()?.len() {
        return None;
    }
    let mut bytes = vec![0; length as usize];
    file.read_exact_at(&mut bytes, offset).ok()?;
    Some(bytes)
}

impl PerfFile {
    pub(crate) fn open(path: &Path) -> Result<PerfFile, PerfDataError> {
        let unreadable = |cause| PerfDataError::Io(path.to_owned(), cause);
        let refused = |why: &str| PerfDataError::Refused(path.to_owned(), why.to_owned());
        let file = untrusted::open(path).map_err(unreadable)?;
        let length = file.metadata().map_err(unreadable)?.len();
        let head = part(&file, (0, HEADER.min(length)), HEADER).unwrap_or_default();
        let mut fields = Fields::new(&head);
        match fields.slice(8) {
            magic if magic == MAGIC => {}
            magic if magic == OTHER_ORDER => {
                return Err(refused(
                    "it was recorded on a machine with the other byte order, whose stacks this program cannot unwind",
                ));
            }
            magic if magic == OLD => {
                return Err(refused(
                    "it has perf's format of before 2009: record it again",
                ));
            }
            _ => return Err(refused("it is no file of `perf record`")),
        }
        let header = fields.u64();
        let mut opened = PerfFile {
            about: About::default(),
            events: Vec::new(),
            input: BufReader::with_capacity(1 << 18, file),
            left: 0,
            offset: 0,
            is_stream: header == STREAM_HEADER,
            unpacking: Unpacking::default(),
            damage: None,
        };
        let begin = if opened.is_stream {
            opened.left = length.saturating_sub(STREAM_HEADER);
            STREAM_HEADER
        } else if length < HEADER {
            return Err(refused("it ends within its header: record it again"));
        } else {
            opened.read_header(&mut fields, length)
        };
        opened.offset = begin;
        io::Seek::seek(&mut opened.input, io::SeekFrom::Start(begin)).map_err(unreadable)?;
        Ok(opened)
    }

    /// Reads the header behind its magic and size. Returns where the records begin.
    fn read_header(&mut self, fields: &mut Fields<'_>, length: u64) -> u64 {
        let entry = fields.u64();
        let mut section = || (fields.u64(), fields.u64());
        let (attributes, data, _) = (section(), section(), section());
        let features: [u64; 4] = [(); 4].map(|()| fields.u64());
        let file = self.input.get_ref();
        // An entry is an attribute and the section of its ids.
        if let Some(of_attribute) = entry.checked_sub(16).filter(|size| *size > 0) {
            let bytes = part(file, attributes, entry.saturating_mul(MOST_EVENTS as u64))
                .unwrap_or_default();
            for entry in bytes.chunks_exact(entry as usize) {
                let (attribute, ids) = entry.split_at(of_attribute as usize);
                let mut event = Event::of(attribute);
                let mut fields = Fields::new(ids);
                let ids = part(file, (fields.u64(), fields.u64()), 8 * MOST_IDS);
                event.ids = words(&ids.unwrap_or_default());
                self.events.push(event);
            }
        }
        let begin = data.0.min(length);
        self.left = length - begin;
        if data.1 == 0 {
            // perf writes the size when it ends.
            self.damage =
                Some("`perf record` did not end, and wrote no names of events".to_owned());
        } else if data.1 > self.left {
            self.damage = Some(format!("its last {} bytes are missing", data.1 - self.left));
        } else {
            self.left = data.1;
            let sections = begin + data.1;
            let has = |feature: &u64| features[(feature / 64) as usize] >> (feature % 64) & 1 != 0;
            let present: Vec<u64> = (0..256).filter(has).collect();
            let table = (sections, 16 * present.len() as u64);
            let table = part(file, table, LONGEST_FEATURE).unwrap_or_default();
            let mut fields = Fields::new(&table);
            let mut parts = Vec::new();
            for feature in present {
                let section = (fields.u64(), fields.u64());
                parts.push((feature, part(file, section, LONGEST_FEATURE)));
            }
            for (feature, bytes) in parts {
                self.feature(feature, &bytes.unwrap_or_default());
            }
        }
        begin
    }

    /// Takes a part of the header.
    fn feature(&mut self, feature: u64, bytes: &[u8]) {
        let mut fields = Fields::new(bytes);
        let about = &mut self.about;
        match feature {
            feature::HOSTNAME => about.host = string(&mut fields),
            feature::OSRELEASE => about.release = string(&mut fields),
            feature::VERSION => about.version = string(&mut fields),
            feature::ARCH => about.machine = string(&mut fields),
            feature::CPUDESC => about.cpu = string(&mut fields),
            feature::NRCPUS => about.cpus = fields.u32(),
            feature::CMDLINE => {
                let count = fields.u32();
                about.command.clear();
                for _ in 0..count {
                    if fields.rest().is_empty() {
                        break;
                    }
                    about.command.push(string(&mut fields));
                }
            }
            feature::EVENT_DESC => self.name_events(fields),
            feature::BUILD_ID => self.about.build_ids.extend(build_ids(bytes)),
            feature::DIR_FORMAT => {
                self.damage =
                    Some("it is a part of a directory (`perf record --threads`)".to_owned());
            }
            _ => {}
        }
    }

    /// Names events by the descriptions: attribute, number of ids, name, ids.
    fn name_events(&mut self, mut fields: Fields<'_>) {
        let (count, size) = (fields.u32(), fields.u32());
        for number in 0..count as usize {
            if fields.rest().is_empty() || number >= MOST_EVENTS {
                break;
            }
            fields.slice(size as usize);
            let ids = fields.u32() as usize;
            let name = string(&mut fields);
            let ids = words(fields.slice(ids.saturating_mul(8)));
            let known = |event: &Event| !ids.is_empty() && event.ids.first() == ids.first();
            let at = self.events.iter().position(known).unwrap_or(number);
            if let Some(event) = self.events.get_mut(at) {
                if event.ids.is_empty() {
                    event.ids = ids;
                }
                event.name = name;
            }
        }
    }

    /// The next item. Damage ends the file.
    pub(crate) fn next(&mut self) -> Next {
        match self.try_next() {
            Ok(next) => next,
            Err(error) => {
                let at = self.offset;
                self.left = 0;
                self.unpacking = Unpacking::default();
                let why = match error.kind() {
                    io::ErrorKind::UnexpectedEof => format!("it is cut short at byte {at}"),
                    _ => format!("what is at byte {at} cannot be read: {error}"),
                };
                self.damage.get_or_insert(why);
                Next::End
            }
        }
    }

    fn try_next(&mut self) -> io::Result<Next> {
        loop {
            let record = match self.unpacking.next()? {
                Some(record) => record,
                None => match self.read()? {
                    Some(record) => record,
                    None => return Ok(Next::End),
                },
            };
            let mut fields = Fields::new(&record.body);
            match record.kind {
                ..kind::FIRST => return Ok(Next::Record(record)),
                kind::FINISHED_ROUND => return Ok(Next::Round),
                kind::COMPRESSED => self.unpack(record.body),
                kind::COMPRESSED2 => {
                    let length = fields.u64() as usize;
                    let packed = fields.slice(length).to_vec();
                    self.unpack(packed);
                }
                kind::HEADER_ATTR if self.events.len() < MOST_EVENTS && self.is_stream => {
                    let size = Fields::new(record.body.get(4..).unwrap_or_default()).u32();
                    let attribute = fields.slice(size as usize);
                    let mut event = Event::of(attribute);
                    event.ids = words(fields.rest());
                    self.events.push(event);
                }
                kind::HEADER_FEATURE if self.is_stream => {
                    let feature = fields.u64();
                    self.feature(feature, fields.rest());
                }
                kind::TRACING_DATA => {
                    let size = u64::from(fields.u32());
                    self.skip(size.next_multiple_of(8))?;
                }
                kind::AUXTRACE => {
                    let size = fields.u64();
                    self.skip(size)?;
                    return Ok(Next::Trace);
                }
                _ => {}
            }
        }
    }

    fn unpack(&mut self, packed: Vec<u8>) {
        self.unpacking.packed = (packed, 0);
    }

    /// Skips data that follow a record.
    fn skip(&mut self, length: u64) -> io::Result<()> {
        if length > self.left {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= length;
        self.offset += length;
        let forward = i64::try_from(length).map_err(io::Error::other)?;
        self.input.seek_relative(forward)
    }

    /// Reads a record as it is in the file.
    fn read(&mut self) -> io::Result<Option<Record>> {
        if self.left == 0 {
            return Ok(None);
        }
        let mut head = [0; 8];
        self.take(&mut head)?;
        let (kind, misc, length) = head_of(&head)?;
        let mut body = vec![0; length];
        self.take(&mut body)?;
        self.offset += 8 + length as u64;
        Ok(Some(Record { kind, misc, body }))
    }

    fn take(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        let left = self.left.checked_sub(bytes.len() as u64);
        self.left = left.ok_or(io::ErrorKind::UnexpectedEof)?;
        self.input.read_exact(bytes)
    }
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// `struct perf_header_string`.
fn string(fields: &mut Fields<'_>) -> String {
    let length = fields.u32() as usize;
    let text = Fields::new(fields.slice(length)).text();
    untrusted::printable(&String::from_utf8_lossy(text)).into_owned()
}

/// The build ids of files by path: records of a header, a process id, 20 bytes, their number, and the path.
fn build_ids(bytes: &[u8]) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> + '_ {
    /// PERF_RECORD_MISC_BUILD_ID_SIZE.
    const HAS_SIZE: u16 = 1 << 15;
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (head, _) = rest.split_first_chunk::<8>()?;
        let (_, misc, length) = head_of(head).ok()?;
        let body = rest.get(8..8 + length)?;
        rest = &rest[8 + length..];
        let mut fields = Fields::new(body);
        fields.u32();
        let id = fields.slice(24);
        let length = match id.get(20) {
            Some(length) if misc & HAS_SIZE != 0 => usize::from(*length).min(20),
            _ => 20,
        };
        let id = id.get(..length).unwrap_or_default().to_vec();
        Some((fields.text().to_vec(), id))
    })
}
