//! Writing an experiment.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock};
use rustix::io::Errno;

use crate::column::{Corrupt, Encoder, MAX_BYTES, MAX_ROWS};
use crate::findings::Findings;
use crate::folder::Folder;
use crate::frame::{self, Kind};
use crate::header::{FORMAT_VERSION, Header, Sampling};
use crate::ids::{Nanos, StackId, ThreadId, ThreadStateId};
use crate::rows::Sample;
use crate::stored::{self, Known, Row, ThreadRow, in_ticks, moment};
use crate::symbols::SymbolTable;
use crate::tables::{Process, Tables, Thread};
use crate::{
    Batch, ExperimentError, HEADER, Live, RECORDS, sample_tick, samples, symbol_rows, text_rows,
};

/// An experiment being recorded.
///
/// Every method writes with one system call and leaves the file whole. After an error the file is
/// as it was before the call, and the recording can be [stopped](Writer::stop): room for that is
/// reserved on the disk. While the writer exists the experiment is locked, and
/// [`is_live`](super::is_live).
pub struct Writer {
    folder: Arc<Folder>,
    file: File,
    /// Bytes of whole frames.
    length: u64,
    encoder: Encoder,
    buffer: Vec<u8>,
    /// The resolution of the samples' times.
    tick: Nanos,
    /// The number of counters in the header.
    counters: usize,
    written: Written,
}

/// The part of the tables that is in the file.
#[derive(Clone, Default)]
struct Written {
    known: Known,
    processes: Vec<Process>,
    threads: Vec<Thread>,
}

/// Bytes of disk space reserved behind the records for the last frames: a header with many runtimes
/// and notes, and the end mark.
const RESERVED: u64 = 64 << 10;

/// Locks a record file that was opened under a name. [`Live`] too if another experiment has taken
/// the name between opening and locking.
pub(crate) fn lock(file: &File, name: &Path) -> Result<(), Live> {
    let identity =
        |metadata: io::Result<fs::Metadata>| metadata.ok().map(|file| (file.dev(), file.ino()));
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(Live),
        // Some network file systems have no locks.
        _ if identity(file.metadata()) == identity(fs::metadata(name)) => Ok(()),
        _ => Err(Live),
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
        // It tells what runs where, and the program's arguments: its owner may open it to others.
        let folder = match Folder::make(&directory) {
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
                return Err(ExperimentError::Exists(directory));
            }
            made => made.map_err(refused(&directory))?,
        };
        let records = directory.join(RECORDS);
        let file = folder
            .create(Path::new(RECORDS))
            .map_err(refused(&records))?;
        // A program that replaces an experiment of this name may have locked this one or given it
        // another name meanwhile.
        lock(&file, &records).map_err(|Live| ExperimentError::Exists(directory.clone()))?;
        let mut writer = Writer {
            folder: Arc::new(folder),
            file,
            length: 0,
            encoder: Encoder::new().map_err(refused(&records))?,
            buffer: frame::file_mark(FORMAT_VERSION).to_vec(),
            tick: sample_tick(&header.sampling),
            counters: header.counters.len(),
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

    /// Goes on behind the first `length` bytes of a record file, which hold `tables` but for frames from
    /// number `frames` on.
    pub(crate) fn continued(
        folder: Folder,
        file: File,
        length: u64,
        frames: u32,
        tables: &Tables,
    ) -> io::Result<Writer> {
        let known = Known {
            frames,
            ..Known::of(tables)
        };
        Ok(Writer {
            folder: Arc::new(folder),
            file,
            length,
            encoder: Encoder::new()?,
            buffer: Vec::new(),
            tick: sample_tick(&Sampling::default()),
            counters: 0,
            written: Written {
                known,
                processes: tables.processes.clone(),
                threads: tables.threads.clone(),
            },
        })
    }

    /// Ends a record file that was [continued](Writer::continued), with the end mark if the recording
    /// had come to its end, and returns it.
    pub(crate) fn close(&mut self, is_finished: bool) -> Result<&File, ExperimentError> {
        self.buffer.clear();
        if is_finished {
            frame::push_frame(&mut self.buffer, Kind::End, &[]);
            self.write()?;
        }
        let cut = self.file.set_len(self.length);
        let path = self.directory().join(RECORDS);
        cut.map_err(|cause| ExperimentError::Io { path, cause })?;
        Ok(&self.file)
    }

    /// The experiment's directory.
    pub fn directory(&self) -> &Path {
        self.folder.path()
    }

    /// The same, open.
    pub fn folder(&self) -> &Arc<Folder> {
        &self.folder
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
        self.push_tables(tables, &known)
            .and_then(|()| self.push_samples(Kind::Samples, &[], batch.samples, &known))
            .and_then(|()| self.push_counters(batch.counters, &known))
            .and_then(|()| self.push_rows(batch, &known))
            .map_err(|Corrupt(what)| ExperimentError::Impossible(what))?;
        self.flush()?;
        self.written.known = known;
        update(&mut self.written.processes, &tables.processes);
        update(&mut self.written.threads, &tables.threads);
        Ok(())
    }

    /// Writes the header again, for the case that the recording is killed later.
    pub fn header(&mut self, header: &Header) -> Result<(), ExperimentError> {
        self.buffer.clear();
        self.push_header(header);
        self.flush()?;
        self.replace_header_file(header)
    }

    /// Writes the names of all frames; a later call replaces an earlier one. A table that does not
    /// fit into a frame is left out: readers resolve the names themselves.
    pub fn symbols(&mut self, table: &SymbolTable) -> Result<(), ExperimentError> {
        self.buffer.clear();
        symbol_rows::encode(&mut self.encoder, table);
        if self.encoder.length() > MAX_BYTES {
            self.encoder.take();
            return Ok(());
        }
        self.push_payload(Kind::Symbols);
        self.flush()
    }

    /// Writes what `collect -r` has found so far; a later call replaces an earlier one.
    pub fn findings(&mut self, findings: &Findings) -> Result<(), ExperimentError> {
        self.buffer.clear();
        self.push_json(Kind::Findings, &findings.to_json());
        self.flush()
    }

    /// Writes the last header and the end mark.
    pub fn finish(&mut self, header: &Header) -> Result<(), ExperimentError> {
        self.write_end(header)?;
        self.replace_header_file(header)
    }

    /// Ends a recording that cannot go on: writes the last header and the end mark as far as
    /// there
    /// is room. The header says [why](Header::stopped).
    pub fn stop(&mut self, header: &Header) {
        // A reader needs only one of the two files.
        let _ = self.write_end(header);
        let _ = self.replace_header_file(header);
    }

    fn write_end(&mut self, header: &Header) -> Result<(), ExperimentError> {
        self.buffer.clear();
        self.push_header(header);
        frame::push_frame(&mut self.buffer, Kind::End, &[]);
        self.write()?;
        // Frees the reserved space.
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
        self.push_table(
            Kind::ThreadStates,
            tables.thread_states.rows(),
            had.thread_states,
            known,
        )?;
        self.push_table(Kind::Loops, tables.loops.rows(), had.loops, known)?;
        let names = &tables.names.rows()[had.names as usize..];
        self.push_chunks(Kind::Names, names, had.names, |encoder, names| {
            text_rows::encode_names(encoder, names);
            Ok(())
        })?;
        self.push_table(Kind::Phases, tables.phases.rows(), had.phases, known)?;
        let processes = changed(&self.written.processes, &tables.processes);
        let ring = |(id, process): &(u32, &Process)| process.parent.is_some_and(|up| up.0 >= *id);
        if processes.iter().any(ring) {
            return Err(Corrupt("an earlier process"));
        }
        self.push_chunks(Kind::Processes, &processes, 0, |encoder, processes| {
            text_rows::encode_processes(encoder, processes);
            Ok(())
        })?;
        // A mutex points to its process.
        self.push_table(Kind::Locks, tables.locks.rows(), had.locks, known)?;
        self.push_table(Kind::Objects, tables.objects.rows(), had.objects, known)?;
        let threads: Vec<ThreadRow> = changed(&self.written.threads, &tables.threads)
            .into_iter()
            .map(|(id, thread)| ThreadRow(id, thread.clone()))
            .collect();
        self.push_table(Kind::Threads, &threads, 0, known)
    }

    fn push_counters(&mut self, counters: &[Vec<Sample>], known: &Known) -> Result<(), Corrupt> {
        if counters.len() > self.counters {
            return Err(Corrupt("a counter that the header does not have"));
        }
        for (number, samples) in (0_u8..).zip(counters) {
            self.push_samples(Kind::CounterSamples, &[number], samples, known)?;
        }
        Ok(())
    }

    /// Writes samples behind what tells which they are.
    fn push_samples(
        &mut self,
        kind: Kind,
        head: &[u8],
        all: &[Sample],
        known: &Known,
    ) -> Result<(), Corrupt> {
        for sample in all {
            known.id::<ThreadId>(u64::from(sample.thread.0))?;
            known.id::<StackId>(u64::from(sample.stack.0))?;
            known.id::<ThreadStateId>(u64::from(sample.thread_state.0))?;
            moment(sample.time.0)?;
        }
        for chunk in all.chunks(MAX_ROWS) {
            let payload = samples::encode(&mut self.encoder, chunk, self.tick);
            let payload = [head, &payload].concat();
            frame::push_frame(&mut self.buffer, kind, &payload);
        }
        Ok(())
    }

    fn push_rows(&mut self, batch: &Batch<'_>, known: &Known) -> Result<(), Corrupt> {
        self.push_sorted(Kind::Sums, batch.sums, known, |row| {
            (row.thread, row.slice, row.thread_state, row.scheduling)
        })?;
        self.push_sorted(Kind::Blames, batch.blames, known, |row| {
            (row.thread, row.slice, row.thread_state, row.scheduling)
        })?;
        self.push_sorted(Kind::Intervals, batch.intervals, known, |row| {
            (row.start, row.length) = in_ticks(row.start, row.length);
            (row.thread, row.start)
        })?;
        self.push_sorted(Kind::RegionSums, batch.region_sums, known, |row| {
            (row.thread, row.slice, row.context)
        })?;
        self.push_sorted(Kind::RegionSpans, batch.region_spans, known, |row| {
            (row.start, row.length) = in_ticks(row.start, row.length);
            (row.thread, row.start)
        })?;
        self.push_sorted(Kind::RegionWorks, batch.region_works, known, |row| {
            (row.thread, row.slice, row.context)
        })?;
        self.push_sorted(Kind::LoopSums, batch.loop_sums, known, |row| {
            (row.thread, row.slice, row.construct)
        })?;
        self.push_sorted(Kind::LockSums, batch.lock_sums, known, |row| {
            (row.thread, row.slice, row.lock, row.call)
        })?;
        self.push_sorted(Kind::LockWaits, batch.lock_waits, known, |row| {
            (row.lock, row.waiter, row.holder)
        })?;
        self.push_sorted(Kind::TaskSums, batch.task_sums, known, |row| {
            (row.thread, row.slice, row.context)
        })?;
        self.push_sorted(Kind::MpiCalls, batch.mpi_calls, known, |row| {
            (row.thread, row.start)
        })?;
        self.push_sorted(Kind::MpiMessages, batch.mpi_messages, known, |row| {
            (row.thread, row.posted)
        })?;
        self.push_sorted(Kind::CpuUses, batch.cpu_uses, known, |row| {
            (row.thread, row.cpu)
        })?;
        self.push_sorted(Kind::Spans, batch.spans, known, |row| {
            (row.process, row.start)
        })?;
        self.push_sorted(Kind::PhaseSums, batch.phase_sums, known, |row| {
            (row.thread, row.slice, row.phase, row.state, row.scheduling)
        })?;
        self.push_sorted(Kind::SamplePoints, batch.sample_points, known, |row| {
            row.time
        })?;
        self.push_sorted(Kind::TaskSpans, batch.task_spans, known, |row| {
            (row.start, row.length) = in_ticks(row.start, row.length);
            (row.thread, row.start)
        })
    }

    /// Writes rows sorted by `key`, which may also change them.
    fn push_sorted<R: Row<N> + Copy, K: Ord, const N: usize>(
        &mut self,
        kind: Kind,
        rows: &[R],
        known: &Known,
        mut key: impl FnMut(&mut R) -> K,
    ) -> Result<(), Corrupt> {
        let mut keyed: Vec<(K, R)> = Vec::with_capacity(rows.len());
        for mut row in rows.iter().copied() {
            keyed.push((key(&mut row), row));
        }
        keyed.sort_by(|one, other| one.0.cmp(&other.0));
        let rows: Vec<R> = keyed.into_iter().map(|(_, row)| row).collect();
        self.push_table(kind, &rows, 0, known)
    }

    /// The rows from `had` on.
    fn push_table<R: Row<N>, const N: usize>(
        &mut self,
        kind: Kind,
        table: &[R],
        had: u32,
        known: &Known,
    ) -> Result<(), Corrupt> {
        let mut first = u64::from(had);
        self.push_chunks(kind, &table[had as usize..], had, |encoder, chunk| {
            for (row, index) in chunk.iter().zip(first..) {
                R::row(row.numbers(index), index, known)?;
            }
            stored::encode(encoder, chunk, first);
            first += chunk.len() as u64;
            Ok(())
        })
    }

    /// Writes frames of bounded size, each with the index of its first row.
    fn push_chunks<T>(
        &mut self,
        kind: Kind,
        rows: &[T],
        had: u32,
        mut encode: impl FnMut(&mut Encoder, &[T]) -> Result<(), Corrupt>,
    ) -> Result<(), Corrupt> {
        // Paths and names are at most 4 KiB each: this many stay below `MAX_BYTES`.
        const TEXT_ROWS: usize = 1 << 12;
        let most = match kind {
            Kind::Modules | Kind::Names | Kind::Processes => TEXT_ROWS,
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

    fn push_header(&mut self, header: &Header) {
        let json = serde_json::to_vec(header).expect("a header is numbers and strings");
        self.push_json(Kind::Header, &json);
    }

    fn push_json(&mut self, kind: Kind, json: &[u8]) {
        self.encoder.number(json.len() as u64);
        self.encoder.text(json);
        self.push_payload(kind);
    }

    fn push_payload(&mut self, kind: Kind) {
        let payload = self.encoder.take();
        frame::push_frame(&mut self.buffer, kind, &payload);
    }

    /// Writes the buffer, if there is room for it and for the last frames.
    fn flush(&mut self) -> Result<(), ExperimentError> {
        let bytes = self.buffer.len() as u64 + RESERVED;
        let kept = fallocate(&self.file, FallocateFlags::KEEP_SIZE, self.length, bytes);
        // Where space cannot be reserved, the write itself fails.
        if let Err(full @ (Errno::NOSPC | Errno::DQUOT)) = kept {
            let path = self.directory().join(RECORDS);
            let cause = full.into();
            return Err(ExperimentError::Io { path, cause });
        }
        self.write()
    }

    /// Writes the buffer behind the whole frames, over what a failed write may have left there.
    fn write(&mut self) -> Result<(), ExperimentError> {
        if let Err(cause) = self.file.write_all_at(&self.buffer, self.length) {
            // If this fails too, the reader finds a cut frame and reports it.
            let _ = self.file.set_len(self.length);
            let path = self.directory().join(RECORDS);
            return Err(ExperimentError::Io { path, cause });
        }
        self.length += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Replaces the header as a whole: a reader finds the old one or the new one.
    fn replace_header_file(&self, header: &Header) -> Result<(), ExperimentError> {
        let path = self.directory().join(HEADER);
        let replace = || {
            // As a whole: a serializer writes each word by itself.
            let mut text = serde_json::to_vec_pretty(header)?;
            text.push(b'\n');
            self.folder.replace(HEADER, &text)
        };
        replace().map_err(|cause| ExperimentError::Io { path, cause })
    }
}

/// The rows that are new or differ from what was written, with their ids.
fn changed<'a, T: PartialEq>(written: &[T], now: &'a [T]) -> Vec<(u32, &'a T)> {
    (0..)
        .zip(now)
        .filter(|&(id, row)| written.get(id as usize) != Some(row))
        .collect()
}

fn update<T: Clone + PartialEq>(written: &mut Vec<T>, now: &[T]) {
    if written != now {
        written.clear();
        written.extend_from_slice(now);
    }
}
