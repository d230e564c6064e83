//! Writing an experiment.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock};
use rustix::io::Errno;

use super::coding::Corrupt;
use super::column::{Encoder, MAX_ROWS};
use super::frame::{self, Kind};
use super::packing::{self, InOrder};
use super::rows::{self, Known, Row, ThreadRow};
use super::uses::{FirstUses, Uses};
use super::{
    Batch, ExperimentError, HEADER, Live, RECORDS, regions, sample_tick, symbols, text_rows,
};
use crate::header::{FORMAT_VERSION, Header};
use crate::ids::Nanos;
use crate::rows::{RegionSpan, RegionWork, Sample};
use crate::symbols::{CodeFact, SymbolTable};
use crate::tables::{Process, Tables, Thread};

/// An experiment being recorded.
///
/// Every method writes with one system call and leaves the file whole; after an error the file
/// is as it was before the call, and the recording can be [stopped](Writer::stop): for that much
/// there is room kept on the disk.
///
/// As long as the writer lives the experiment is locked, and [`is_live`](super::is_live).
pub struct Writer {
    directory: PathBuf,
    file: File,
    /// Bytes of whole frames.
    length: u64,
    encoder: Encoder,
    buffer: Vec<u8>,
    /// What samples' times are kept to.
    tick: Nanos,
    written: Written,
}

/// What of the tables is in the file.
#[derive(Clone, Default)]
struct Written {
    known: Known,
    processes: Vec<Process>,
    threads: Vec<Thread>,
    uses: Uses,
}

/// Room on the disk that is kept behind the records for the last words: a header of many runtimes and
/// notes.
const LAST_WORDS: u64 = 64 << 10;

/// Locks a record file.
pub(super) fn lock(file: &File) -> Result<(), Live> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(Live),
        // Not every file system of a network has locks.
        _ => Ok(()),
    }
}

impl Writer {
    /// Makes the directory and writes the header.
    pub fn create(directory: impl AsRef<Path>, header: &Header) -> Result<Writer, ExperimentError> {
        let directory = directory.as_ref().to_owned();
        let refused = |path: &Path| {
            let path = path.to_owned();
            move |cause| ExperimentError::Io { path, cause }
        };
        match fs::create_dir(&directory) {
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
                return Err(ExperimentError::Exists(directory));
            }
            made => made.map_err(refused(&directory))?,
        }
        let records = directory.join(RECORDS);
        let file = File::create_new(&records).map_err(refused(&records))?;
        // Whoever was to replace an experiment of this name may have found this one meanwhile.
        lock(&file).map_err(|Live| ExperimentError::Exists(directory.clone()))?;
        let mut writer = Writer {
            directory,
            file,
            length: 0,
            encoder: Encoder::new().map_err(refused(&records))?,
            buffer: frame::file_mark(FORMAT_VERSION).to_vec(),
            tick: sample_tick(&header.sampling),
            written: Written {
                known: Known::of(&Tables::default()),
                ..Written::default()
            },
        };
        writer.push_header(header);
        writer.flush()?;
        writer.replace_header_file(header)?;
        Ok(writer)
    }

    /// The experiment's directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Bytes of records written so far.
    pub fn bytes(&self) -> u64 {
        self.length
    }

    /// Appends what is new in `tables` since the last call, then the rows, which may point to
    /// any row of `tables`.
    pub fn append(&mut self, tables: &Tables, batch: &Batch<'_>) -> Result<(), ExperimentError> {
        self.buffer.clear();
        let known = Known::of(tables);
        let mut first = Vec::new();
        self.push_tables(tables, &known)
            .and_then(|()| self.push_samples((tables, &mut first), batch.samples, &known))
            .and_then(|()| self.push_rows(batch, &known))
            .map_err(|Corrupt(what)| ExperimentError::Dangling(what))?;
        self.flush()?;
        for first in &first {
            self.written.uses.add(first, &tables.stacks);
        }
        self.written.known = known;
        remember(&mut self.written.processes, &tables.processes);
        remember(&mut self.written.threads, &tables.threads);
        Ok(())
    }

    /// Writes the header anew, so that a recording that is killed later tells what was known
    /// by now.
    pub fn header(&mut self, header: &Header) -> Result<(), ExperimentError> {
        self.buffer.clear();
        self.push_header(header);
        self.flush()?;
        self.replace_header_file(header)
    }

    /// Writes the names of all frames; a later call replaces an earlier one.
    pub fn symbols(&mut self, table: &SymbolTable) -> Result<(), ExperimentError> {
        self.buffer.clear();
        self.push_symbols(table);
        self.flush()
    }

    /// Writes the last header and the end mark.
    pub fn finish(&mut self, header: &Header) -> Result<(), ExperimentError> {
        self.write_end(header)?;
        self.replace_header_file(header)
    }

    /// Ends a recording that cannot go on: writes as much of the last words as there is room for. The
    /// header says [why](Header::stopped).
    pub fn stop(&mut self, header: &Header) {
        // Either file is enough for a reader.
        let _ = self.write_end(header);
        let _ = self.replace_header_file(header);
    }

    fn write_end(&mut self, header: &Header) -> Result<(), ExperimentError> {
        self.buffer.clear();
        self.push_header(header);
        frame::push_frame(&mut self.buffer, Kind::End, &[]);
        self.write()?;
        // What was kept behind the end is not needed any more.
        let _ = self.file.set_len(self.length);
        Ok(())
    }

    fn push_tables(&mut self, tables: &Tables, known: &Known) -> Result<(), Corrupt> {
        let had = self.written.known;
        let modules = &tables.modules.rows()[had.modules as usize..];
        self.push_chunks(Kind::Modules, modules, had.modules, |encoder, modules| {
            text_rows::encode_modules(encoder, modules);
            Ok(())
        })?;
        self.push_table(Kind::Frames, tables.frames.rows(), had.frames, known)?;
        self.push_table(Kind::Stacks, tables.stacks.rows(), had.stacks, known)?;
        self.push_table(Kind::Contexts, tables.contexts.rows(), had.contexts, known)?;
        self.push_table(Kind::Tags, tables.tags.rows(), had.tags, known)?;
        let processes = changed(&self.written.processes, &tables.processes);
        let ring = |(id, process): &(u32, &Process)| process.parent.is_some_and(|up| up.0 >= *id);
        if processes.iter().any(ring) {
            return Err(Corrupt("an earlier process"));
        }
        self.push_chunks(Kind::Processes, &processes, 0, |encoder, processes| {
            text_rows::encode_processes(encoder, processes);
            Ok(())
        })?;
        let threads: Vec<ThreadRow> = changed(&self.written.threads, &tables.threads)
            .into_iter()
            .map(|(id, thread)| ThreadRow(id, thread.clone()))
            .collect();
        self.push_table(Kind::Threads, &threads, 0, known)
    }

    /// Of each frame what stacks are first seen with, then the samples.
    fn push_samples(
        &mut self,
        (tables, first): (&Tables, &mut Vec<FirstUses>),
        all: &[Sample],
        known: &Known,
    ) -> Result<(), Corrupt> {
        for sample in all {
            known.thread(u64::from(sample.thread.0))?;
            known.stack(u64::from(sample.stack.0))?;
            known.tag(u64::from(sample.tag.0))?;
        }
        // Frames after the first build on it, though none of them is in the file yet.
        let mut uses = Cow::Borrowed(&self.written.uses);
        for chunk in all.chunks(MAX_ROWS) {
            let order = InOrder::of(chunk, self.tick);
            let fresh = uses.new_in(order.samples());
            if !fresh.stacks().is_empty() {
                fresh.encode(&mut self.encoder, &uses, &tables.stacks);
                let payload = self.encoder.take();
                frame::push_frame(&mut self.buffer, Kind::StackUses, &payload);
            }
            let usual = |stack| fresh.of(stack).or_else(|| uses.of(stack));
            packing::encode(&mut self.encoder, &order, fresh.stacks(), &usual);
            let payload = self.encoder.take();
            frame::push_frame(&mut self.buffer, Kind::Samples, &payload);
            if all.len() > MAX_ROWS {
                uses.to_mut().add(&fresh, &tables.stacks);
            }
            first.push(fresh);
        }
        Ok(())
    }

    fn push_rows(&mut self, batch: &Batch<'_>, known: &Known) -> Result<(), Corrupt> {
        let mut sums = batch.sums.to_vec();
        sums.sort_by_key(|sum| (sum.thread, sum.slice, sum.tag, sum.presence));
        self.push_table(Kind::Sums, &sums, 0, known)?;
        let mut blames = batch.blames.to_vec();
        blames.sort_by_key(|blame| (blame.thread, blame.slice, blame.tag, blame.presence));
        self.push_table(Kind::Blames, &blames, 0, known)?;
        let mut intervals = batch.intervals.to_vec();
        intervals.sort_by_key(|interval| (interval.thread, interval.start));
        self.push_table_by(
            Kind::Intervals,
            &intervals,
            known,
            regions::encode_intervals,
        )?;
        let mut region_sums = batch.region_sums.to_vec();
        region_sums.sort_by_key(|sum| (sum.thread, sum.slice, sum.context));
        self.push_table(Kind::RegionSums, &region_sums, 0, known)?;
        let mut region_spans = batch.region_spans.to_vec();
        region_spans.sort_by_key(|span| (span.thread, span.start));
        let encode = |encoder: &mut Encoder, rows: &[RegionSpan], first| {
            regions::encode_spans(encoder, rows, first, &intervals);
        };
        self.push_table_by(Kind::RegionSpans, &region_spans, known, encode)?;
        let mut region_works = batch.region_works.to_vec();
        region_works.sort_by_key(|work| (work.thread, work.slice, work.context));
        let encode = |encoder: &mut Encoder, rows: &[RegionWork], first| {
            regions::encode_works(encoder, rows, first, &region_sums);
        };
        self.push_table_by(Kind::RegionWorks, &region_works, known, encode)?;
        let mut task_sums = batch.task_sums.to_vec();
        task_sums.sort_by_key(|sum| (sum.thread, sum.slice, sum.context));
        self.push_table(Kind::TaskSums, &task_sums, 0, known)?;
        let mut task_spans = batch.task_spans.to_vec();
        task_spans.sort_by_key(|span| (span.thread, span.start));
        self.push_table(Kind::TaskSpans, &task_spans, 0, known)
    }

    /// The rows from `had` on.
    fn push_table<R: Row<N>, const N: usize>(
        &mut self,
        kind: Kind,
        table: &[R],
        had: u32,
        known: &Known,
    ) -> Result<(), Corrupt> {
        let rows = &table[had as usize..];
        self.push_checked(kind, (rows, had), known, rows::encode)
    }

    /// Rows of no table, which are stored in their own way.
    fn push_table_by<R: Row<N>, const N: usize>(
        &mut self,
        kind: Kind,
        rows: &[R],
        known: &Known,
        encode: impl FnMut(&mut Encoder, &[R], u64),
    ) -> Result<(), Corrupt> {
        self.push_checked(kind, (rows, 0), known, encode)
    }

    fn push_checked<R: Row<N>, const N: usize>(
        &mut self,
        kind: Kind,
        (rows, had): (&[R], u32),
        known: &Known,
        mut encode: impl FnMut(&mut Encoder, &[R], u64),
    ) -> Result<(), Corrupt> {
        let mut first = u64::from(had);
        self.push_chunks(kind, rows, had, |encoder, chunk| {
            for (row, index) in chunk.iter().zip(first..) {
                R::row(row.numbers(index), index, known)?;
            }
            encode(encoder, chunk, first);
            first += chunk.len() as u64;
            Ok(())
        })
    }

    /// Frames of bounded size, each with the index of its first row.
    fn push_chunks<T>(
        &mut self,
        kind: Kind,
        rows: &[T],
        had: u32,
        mut encode: impl FnMut(&mut Encoder, &[T]) -> Result<(), Corrupt>,
    ) -> Result<(), Corrupt> {
        // Paths and names are at most 4 KiB each: this many stay below the limit on text.
        const TEXT_ROWS: usize = 1 << 12;
        let most = match kind {
            Kind::Modules | Kind::Processes => TEXT_ROWS,
            _ => MAX_ROWS,
        };
        let mut first = u64::from(had);
        for chunk in rows.chunks(most) {
            self.encoder.number(first);
            if let Err(corrupt) = encode(&mut self.encoder, chunk) {
                self.encoder.take();
                return Err(corrupt);
            }
            self.push_payload(kind);
            first += chunk.len() as u64;
        }
        Ok(())
    }

    fn push_symbols(&mut self, table: &SymbolTable) {
        let mut at = 0;
        // The first frame is written even if there is no file: it begins the table.
        while at == 0 || at < table.files.len() {
            let rest = &table.files[at..];
            let chunk = &rest[..symbols::fitting(rest, String::len)];
            symbols::encode_files(&mut self.encoder, at, chunk);
            self.push_payload(Kind::SymbolFiles);
            at += chunk.len().max(1);
        }
        at = 0;
        while at < table.functions.len() {
            let rest = &table.functions[at..];
            let text = |function: &crate::symbols::Function| {
                2 * function.linkage.len() + function.name.len()
            };
            let chunk = &rest[..symbols::fitting(rest, text)];
            symbols::encode_functions(&mut self.encoder, at, chunk);
            self.push_payload(Kind::SymbolFunctions);
            at += chunk.len();
        }
        at = 0;
        while at < table.frames.len() {
            let rest = &table.frames[at..];
            let text = |frame: &crate::symbols::FrameSymbol| {
                let names = frame
                    .places
                    .iter()
                    .filter_map(|place| place.function.as_ref());
                names.map(String::len).sum()
            };
            let chunk = &rest[..symbols::fitting(rest, text)];
            symbols::encode_frames(&mut self.encoder, at, chunk);
            self.push_payload(Kind::SymbolFrames);
            at += chunk.len();
        }
        if !table.barriers.is_empty() {
            symbols::encode_barriers(&mut self.encoder, &table.barriers);
            self.push_payload(Kind::SymbolBarriers);
        }
        let mut rest = table.code.as_slice();
        while !rest.is_empty() {
            let text = |(_, fact): &(_, CodeFact)| fact.calls.as_ref().map_or(0, String::len);
            let (chunk, after) = rest.split_at(symbols::fitting(rest, text));
            symbols::encode_code(&mut self.encoder, chunk);
            self.push_payload(Kind::SymbolCode);
            rest = after;
        }
        symbols::encode_end(&mut self.encoder, table);
        self.push_payload(Kind::SymbolEnd);
    }

    fn push_header(&mut self, header: &Header) {
        let json = serde_json::to_vec(header).expect("a header is numbers and strings");
        self.encoder.number(json.len() as u64);
        self.encoder.text(&json);
        self.push_payload(Kind::Header);
    }

    fn push_payload(&mut self, kind: Kind) {
        let payload = self.encoder.take();
        frame::push_frame(&mut self.buffer, kind, &payload);
    }

    /// Writes the buffer, if there is room for it and for the last words.
    fn flush(&mut self) -> Result<(), ExperimentError> {
        let bytes = self.buffer.len() as u64 + LAST_WORDS;
        let kept = fallocate(&self.file, FallocateFlags::KEEP_SIZE, self.length, bytes);
        // Where room cannot be kept, the write itself will tell.
        if let Err(full @ (Errno::NOSPC | Errno::DQUOT)) = kept {
            let path = self.directory.join(RECORDS);
            let cause = full.into();
            return Err(ExperimentError::Io { path, cause });
        }
        self.write()
    }

    /// Writes the buffer behind the whole frames, over what a failed write may have left there.
    fn write(&mut self) -> Result<(), ExperimentError> {
        if let Err(cause) = self.file.write_all_at(&self.buffer, self.length) {
            // If this fails too, the reader meets a cut frame and says so.
            let _ = self.file.set_len(self.length);
            let path = self.directory.join(RECORDS);
            return Err(ExperimentError::Io { path, cause });
        }
        self.length += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// A reader finds the old header or the new one, never a part.
    fn replace_header_file(&self, header: &Header) -> Result<(), ExperimentError> {
        let path = self.directory.join(HEADER);
        let fresh = self.directory.join("header.json.new");
        let replace = || {
            let mut file = File::create(&fresh)?;
            serde_json::to_writer_pretty(&file, header)?;
            file.write_all(b"\n")?;
            fs::rename(&fresh, &path)
        };
        replace().map_err(|cause| ExperimentError::Io { path, cause })
    }
}

/// The rows that are new or not as they were written, with their ids.
fn changed<'a, T: PartialEq>(written: &[T], now: &'a [T]) -> Vec<(u32, &'a T)> {
    (0..)
        .zip(now)
        .filter(|&(id, row)| written.get(id as usize) != Some(row))
        .collect()
}

fn remember<T: Clone + PartialEq>(written: &mut Vec<T>, now: &[T]) {
    if written != now {
        written.clear();
        written.extend_from_slice(now);
    }
}
