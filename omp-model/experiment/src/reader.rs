//! Reading an experiment.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use untrusted::printable;

use crate::column::{Corrupt, Decoder, Scratch};
use crate::findings::{self, Findings};
use crate::frame::{self, FILE_MARK, Found, Kind};
use crate::header::{Counter, FORMAT_VERSION, Header, MOST_COUNTERS};
use crate::ids::Nanos;
use crate::packed::Packed;
use crate::rows::{Interval, RegionSpan, SLICE, SamplePoint, Span, TaskSpan};
use crate::store::{Reading, Store};
use crate::stored::{self, Known, ThreadRow};
use crate::tables::{
    Context, Frame, Interner, Lock, Loop, Module, Object, Phase, Process, Stack, Thread,
    ThreadState,
};
use crate::{
    CounterSamples, Experiment, HEADER, OpenError, RECORDS, Samples, Sums, Warning, symbol_rows,
    text_rows,
};

pub(crate) fn open(path: &Path) -> Result<Experiment, OpenError> {
    let mut growing = Growing::open(path)?;
    growing.read()?;
    let warnings = growing.warnings();
    let tables = &mut growing.contents.experiment.tables;
    tables.stacks.close();
    tables.frames.close();
    Ok(growing.contents.finish(warnings))
}

/// An experiment that is read while it grows. Each [`Growing::read`] reads only what was appended.
pub struct Growing {
    file: Reading,
    /// Up to where the frames are read.
    offset: u64,
    contents: Contents,
    skipped: Skipped,
    /// What ended the last reading.
    stop: Option<Stop>,
}

impl std::fmt::Debug for Growing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Growing")
            .field("path", &self.contents.experiment.path)
            .field("offset", &self.offset)
            .finish_non_exhaustive()
    }
}

/// Frames that this version does not know, by their kind.
struct Skipped([u64; 256]);

/// Why no more frames can be read.
struct Stop {
    warning: Warning,
    /// Whether the frame is whole, so that reading it again would end in the same way.
    is_final: bool,
}

impl Growing {
    /// Opens a record file; nothing of it is read yet.
    ///
    /// # Errors
    /// If there is none, or it is not one of this format.
    pub fn open(path: &Path) -> Result<Growing, OpenError> {
        let records = || path.join(RECORDS);
        let refused = |cause| OpenError::Io {
            path: records(),
            cause,
        };
        let mut file = Reading::new(record_file(path)?).map_err(refused)?;
        let mark = file.at(0, FILE_MARK as u64).map_err(refused)?;
        match frame::file_version(mark) {
            None if mark.len() < FILE_MARK => return Err(OpenError::Empty(path.to_owned())),
            None => return Err(OpenError::Foreign(records())),
            Some(version) if version > FORMAT_VERSION => {
                return Err(OpenError::Newer {
                    path: records(),
                    version,
                });
            }
            Some(version) if version < FORMAT_VERSION => {
                return Err(OpenError::Older {
                    path: records(),
                    version,
                });
            }
            Some(_) => {}
        }
        let file = file.unseen();
        Ok(Growing {
            contents: Contents::of(path, &file),
            file,
            offset: FILE_MARK as u64,
            skipped: Skipped([0; 256]),
            stop: None,
        })
    }

    /// Reads what was appended, up to the first frame that is not whole yet. Returns whether there
    /// was any.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(&mut self) -> Result<bool, OpenError> {
        let path = self.contents.experiment.path.join(RECORDS);
        let refused = |cause| OpenError::Io {
            path: path.clone(),
            cause,
        };
        let grown = self.file.look().map_err(refused)?;
        let is_final = self.stop.as_ref().is_some_and(|stop| stop.is_final);
        if !grown || is_final {
            return Ok(false);
        }
        let before = self.offset;
        let stop = self
            .contents
            .frames(&mut self.file, &mut self.offset, &mut self.skipped);
        self.stop = stop.map_err(refused)?;
        self.contents.check_samples();
        Ok(self.offset > before)
    }

    /// The experiment as read so far.
    pub fn experiment(&self) -> Experiment {
        self.contents.clone().finish(self.warnings())
    }

    fn warnings(&self) -> Vec<Warning> {
        let stop = self.stop.iter().map(|stop| stop.warning.clone());
        stop.chain(self.skipped.warnings()).collect()
    }
}

impl Skipped {
    fn warnings(&self) -> impl Iterator<Item = Warning> {
        let kinds = (0_u8..=255).zip(self.0).filter(|&(_, count)| count > 0);
        kinds.map(|(kind, count)| Warning::Skipped { kind, count })
    }
}

fn name_of(path: &Path) -> String {
    let name = |path: &Path| Some(path.file_name()?.to_string_lossy().into_owned());
    name(path)
        .or_else(|| name(&fs::canonicalize(path).ok()?))
        .unwrap_or_else(|| path.to_string_lossy().into_owned())
}

/// The longest `header.json` that is read, in bytes.
const LONGEST_HEADER: u64 = 8 << 20;

/// The header beside the records; `None` if there is none that can be read.
pub fn read_header(experiment: &Path) -> Option<Header> {
    let bytes = untrusted::read(&experiment.join(HEADER), LONGEST_HEADER).ok()?;
    let header: Header = from_json(&bytes).ok()?;
    check_header(&header).is_ok().then_some(header)
}

/// Checks what the rest of a program relies on.
fn check_header(header: &Header) -> Result<(), Corrupt> {
    stored::moment(header.duration_ns)?;
    let mut names = header.counters.iter().map(|counter| &counter.name);
    if header.counters.len() > MOST_COUNTERS || !names.all(|name| Counter::is_name(name)) {
        return Err(Corrupt("counters that no recording has"));
    }
    Ok(())
}

/// What JSON holds, with text that a terminal does not obey.
fn from_json<T: DeserializeOwned>(json: &[u8]) -> serde_json::Result<T> {
    let mut json = serde_json::from_slice(json)?;
    make_printable(&mut json);
    serde_json::from_value(json)
}

fn make_printable(json: &mut serde_json::Value) {
    match json {
        serde_json::Value::String(text) => *text = printable(text).into_owned(),
        serde_json::Value::Array(items) => items.iter_mut().for_each(make_printable),
        serde_json::Value::Object(fields) => fields.values_mut().for_each(make_printable),
        _ => {}
    }
}

pub(crate) fn record_file(path: &Path) -> Result<File, OpenError> {
    let owned = || path.to_owned();
    let refused = |path: PathBuf| move |cause| OpenError::Io { path, cause };
    match fs::metadata(path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            return Err(OpenError::Missing(owned()));
        }
        found => {
            if !found.map_err(refused(owned()))?.is_dir() {
                return Err(OpenError::NotADirectory(owned()));
            }
        }
    }
    let records = path.join(RECORDS);
    match untrusted::open(&records) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            Err(if path.join("log.xml").exists() {
                OpenError::Gprofng(owned())
            } else {
                OpenError::NoRecords(owned())
            })
        }
        opened => opened.map_err(refused(records)),
    }
}

/// The most rows of a list of long intervals or spans. Of more, the longer half is kept, as a recording
/// lists only longer ones where there are too many.
const MOST_LISTED: usize = 1 << 20;

/// The most rows of the table of stacks: views need a hundred bytes for each. Others are unknown stacks.
const MOST_STACKS: usize = 1 << 21;

/// Bytes that the rows kept in memory may take beyond as many as the file has.
const KEPT_BEYOND: u64 = 128 << 20;

/// Bytes in memory for a byte of symbols, names or paths, at most.
const KEPT_OF_TEXT: u64 = 2;

/// What has been read so far.
#[derive(Clone)]
struct Contents {
    experiment: Experiment,
    /// The shortest rows that are listed still: intervals, spans of regions, pieces of tasks.
    shortest: [Nanos; 3],
    /// Bytes of names and paths, and of the last symbols, unpacked.
    text: u64,
    symbol_bytes: u64,
    /// Rows of the table of stacks beyond [`MOST_STACKS`].
    stacks_left_out: u32,
    /// The last header among the records.
    header: Option<Header>,
    /// The samples of counters, by their numbers.
    counters: Vec<Samples>,
    /// How many frames of samples are checked: of the clock's, and of each counter's.
    checked: Vec<usize>,
    /// Those of them that do not decode, and how many samples they say that they have.
    undecodable: (u64, u64),
    /// The record file.
    store: Store,
}

/// Does the same with each kind of rows that stay in the file and have no type of their own.
macro_rules! of_each_packed {
    ($read:ident, $rows:ident => $what:expr) => {
        of_each_packed! {
            $read, $rows => $what,
            blames region_sums region_works loop_sums lock_sums lock_waits task_sums mpi_calls
            mpi_messages cpu_uses phase_sums
        }
    };
    ($read:ident, $rows:ident => $what:expr, $($kind:ident)*) => {$({
        let $rows = &mut $read.$kind;
        $what;
    })*};
}

impl Contents {
    fn of(path: &Path, file: &Reading) -> Contents {
        let mut experiment = Experiment {
            name: name_of(path),
            path: path.to_owned(),
            samples: Samples::of_file(file.store()),
            sums: Sums::of_file(file.store()),
            ..Experiment::default()
        };
        of_each_packed!(experiment, rows => *rows = Packed::of_file(file.store()));
        Contents {
            experiment,
            shortest: [Nanos(0); 3],
            text: 0,
            symbol_bytes: 0,
            stacks_left_out: 0,
            header: None,
            counters: Vec::new(),
            checked: Vec::new(),
            undecodable: (0, 0),
            store: file.store(),
        }
    }

    /// How many rows the tables have.
    fn known(&self) -> Known {
        let known = Known::of(&self.experiment.tables);
        Known {
            stacks: known.stacks.saturating_add(self.stacks_left_out),
            ..known
        }
    }

    /// The experiment with its latest header.
    fn finish(self, mut warnings: Vec<Warning>) -> Experiment {
        let mut experiment = self.experiment;
        let path = experiment.path.clone();
        let beside = || read_header(&path);
        // If the records could not be continued, only `header.json` has the last header. That may be so
        // after their end, too: a recording that stops ends its records before the program ends.
        let has_status = |header: &Header| header.exit_status.is_some();
        let is_last = experiment.finished && self.header.as_ref().is_some_and(has_status);
        let last = (!is_last).then(beside).flatten();
        let last = last.filter(|header| header.stopped.is_some());
        let header = last.or(self.header).or_else(beside);
        let seconds = experiment.last.0 / SLICE.0;
        let stopped = header.as_ref().and_then(|header| header.stopped.clone());
        match stopped {
            Some(why) => warnings.push(Warning::Stopped { seconds, why }),
            None if !experiment.finished => warnings.push(Warning::Unfinished { seconds }),
            None => {}
        }
        if header.is_none() {
            warnings.push(Warning::NoHeader);
        }
        let (frames, samples) = self.undecodable;
        if frames > 0 {
            warnings.push(Warning::Undecodable { frames, samples });
        }
        if self.stacks_left_out > 0 {
            warnings.push(Warning::TooManyStacks {
                kept: MOST_STACKS,
                left_out: self.stacks_left_out,
            });
        }
        experiment.header = header.unwrap_or_default();
        let counters = experiment.header.counters.iter().zip(self.counters);
        experiment.counters = counters
            .map(|(counter, samples)| CounterSamples {
                name: counter.name.clone(),
                events_each: if Counter::is_clock(&counter.name) {
                    counter.events_each() / 1e9
                } else {
                    counter.events_each()
                },
                samples,
            })
            .collect();
        experiment.warnings = warnings;
        experiment
    }

    /// Reads from `offset` up to the first frame that is not whole, and advances `offset`.
    /// Returns
    /// why it stopped before the end of the file.
    fn frames(
        &mut self,
        file: &mut Reading,
        offset: &mut u64,
        skipped: &mut Skipped,
    ) -> io::Result<Option<Stop>> {
        let mut scratch = Scratch::new();
        let length = file.length();
        while *offset < length {
            let at = *offset;
            let damaged = |what, file: &mut Reading| Warning::Damaged {
                offset: at,
                bytes: length - at,
                frames: file.count_from(at),
                what,
            };
            let framed = file.frame(at)?;
            let stop = match framed.found {
                Found::Frame(kind, range) => {
                    let end = range.end;
                    match self.frame(kind, framed.payload, range, &mut scratch) {
                        Ok(()) => {
                            *offset = end;
                            continue;
                        }
                        Err(Corrupt(what)) => Stop {
                            warning: damaged(what, file),
                            is_final: true,
                        },
                    }
                }
                Found::Skippable(kind, end) => {
                    skipped.0[usize::from(kind)] += 1;
                    *offset = end;
                    continue;
                }
                Found::Unknown(kind) => Stop {
                    warning: Warning::Unknown { kind, offset: at },
                    is_final: true,
                },
                Found::Cut => Stop {
                    warning: Warning::Cut {
                        offset: at,
                        bytes: length - at,
                    },
                    is_final: false,
                },
                Found::Damaged => Stop {
                    warning: damaged("its checksum does not fit", file),
                    is_final: false,
                },
            };
            // Later rows might point to table rows that are unreadable.
            return Ok(Some(stop));
        }
        Ok(None)
    }

    /// Looks what of the new samples is readable, and extends the recording to the time of the last one:
    /// both are known only by unpacking.
    fn check_samples(&mut self) {
        let known = self.known();
        let read = &mut self.experiment;
        read.sums.may_point_to(known);
        of_each_packed!(read, rows => rows.may_point_to(known));
        self.checked.resize(1 + self.counters.len(), 0);
        let counters = self.counters.iter_mut();
        let all = std::iter::once(&mut self.experiment.samples).chain(counters);
        for (samples, checked) in all.zip(&mut self.checked) {
            samples.may_point_to(known);
            let (frames, rows) = samples.undecodable(*checked);
            self.undecodable.0 += frames;
            self.undecodable.1 += rows;
            *checked = samples.frames();
            self.experiment.last = self.experiment.last.max(samples.last());
        }
    }

    fn frame(
        &mut self,
        kind: Kind,
        payload: &[u8],
        range: Range<u64>,
        scratch: &mut Scratch,
    ) -> Result<(), Corrupt> {
        match kind {
            Kind::Samples => return self.experiment.samples.add_frame(payload, range),
            Kind::CounterSamples => return self.counter_samples(payload, range),
            Kind::End => {
                self.experiment.finished = true;
                return Decoder::of(payload).finish();
            }
            _ => {}
        }
        let known = self.known();
        let mut decoder = scratch.unpack(payload)?;
        match kind {
            Kind::Sums => {
                decoder.number()?;
                let sums = &mut self.experiment.sums;
                let slice = sums.add_frame(&mut decoder, range.clone(), &known)?;
                let last = &mut self.experiment.last;
                *last = (*last).max(Nanos(u64::from(slice) * SLICE.0));
            }
            Kind::Header => self.header(&mut decoder)?,
            Kind::Findings => {
                let findings: Findings = json(&mut decoder, findings::LONGEST)?;
                self.experiment.findings = Some(Arc::new(findings));
            }
            Kind::Symbols => {
                self.symbol_bytes = decoder.rest().len() as u64;
                self.check_kept(range.end)?;
                self.experiment.symbols = Some(symbol_rows::decode(&mut decoder, &known)?);
            }
            _ => self.rows(kind, &mut decoder, range.clone(), &known)?,
        }
        decoder.finish()?;
        self.check_kept(range.end)
    }

    /// Checks the memory that the rows read so far take, if they stay there: a file of `length` bytes
    /// could otherwise fill it.
    fn check_kept(&self, length: u64) -> Result<(), Corrupt> {
        fn bytes<T>(rows: usize) -> u64 {
            // With the index of a table.
            (rows * (size_of::<T>() + size_of::<u64>())) as u64
        }
        let read = &self.experiment;
        let tables = &read.tables;
        let kept = bytes::<Process>(tables.processes.len())
            + bytes::<Thread>(tables.threads.len())
            + bytes::<Module>(tables.modules.len())
            + bytes::<Frame>(tables.frames.len())
            + (tables.stacks.len() * size_of::<Stack>()) as u64
            + bytes::<Context>(tables.contexts.len())
            + bytes::<ThreadState>(tables.thread_states.len())
            + bytes::<Loop>(tables.loops.len())
            + bytes::<Lock>(tables.locks.len())
            + bytes::<Object>(tables.objects.len())
            + bytes::<String>(tables.names.len())
            + bytes::<Phase>(tables.phases.len())
            + bytes::<Span>(read.spans.len())
            + bytes::<SamplePoint>(read.sample_points.len())
            + KEPT_OF_TEXT * (self.text + self.symbol_bytes);
        if kept > length + KEPT_BEYOND {
            return Err(Corrupt("more rows than a recording of this length has"));
        }
        Ok(())
    }

    fn counter_samples(&mut self, payload: &[u8], range: Range<u64>) -> Result<(), Corrupt> {
        let known = self.header.as_ref().map_or(0, |it| it.counters.len());
        let (&number, payload) = payload.split_first().ok_or(Corrupt("an empty frame"))?;
        if usize::from(number) >= known {
            return Err(Corrupt("a counter that the header does not have"));
        }
        let store = || Samples::of_file(self.store.clone());
        self.counters.resize_with(known, store);
        self.counters[usize::from(number)].add_frame(payload, range.start + 1..range.end)
    }

    fn header(&mut self, decoder: &mut Decoder<'_>) -> Result<(), Corrupt> {
        let header: Header = json(decoder, LONGEST_HEADER)?;
        check_header(&header)?;
        self.header = Some(header);
        Ok(())
    }

    fn rows(
        &mut self,
        kind: Kind,
        decoder: &mut Decoder<'_>,
        range: Range<u64>,
        known: &Known,
    ) -> Result<(), Corrupt> {
        let first = decoder.number()?;
        if matches!(kind, Kind::Modules | Kind::Names | Kind::Processes) {
            self.text += decoder.rest().len() as u64;
            self.check_kept(range.end)?;
        }
        let read = &mut self.experiment;
        let [intervals, regions, tasks] = &mut self.shortest;
        macro_rules! table {
            ($table:ident) => {{
                expect_first(first, known.$table)?;
                stored::decode(decoder, first, known, |row| {
                    add(&mut read.tables.$table, row)
                })
            }};
        }
        match kind {
            Kind::Modules => {
                expect_first(first, known.modules)?;
                text_rows::decode_modules(decoder, |row| add(&mut read.tables.modules, row))
            }
            Kind::Frames => table!(frames),
            Kind::Stacks => {
                expect_first(first, known.stacks)?;
                stored::decode(decoder, first, known, |row| {
                    if read.tables.stacks.len() < MOST_STACKS {
                        // A duplicate would do no harm, and finding it takes longer
                        // than reading all.
                        read.tables.stacks.append(row);
                    } else {
                        self.stacks_left_out = self.stacks_left_out.saturating_add(1);
                    }
                    Ok(())
                })
            }
            Kind::Contexts => table!(contexts),
            Kind::ThreadStates => table!(thread_states),
            Kind::Loops => table!(loops),
            Kind::Locks => table!(locks),
            Kind::Objects => table!(objects),
            Kind::Names => {
                expect_first(first, known.names)?;
                text_rows::decode_names(decoder, |row| add(&mut read.tables.names, row))
            }
            Kind::Phases => table!(phases),
            Kind::Processes => text_rows::decode_processes(decoder, |id, row| {
                put(&mut read.tables.processes, id, row)
            }),
            Kind::Threads => stored::decode(decoder, first, known, |ThreadRow(id, row)| {
                put(&mut read.tables.threads, u64::from(id), row)
            }),
            Kind::Blames => read.blames.add_frame(decoder, range, known, |_| ()),
            Kind::Intervals => stored::decode(decoder, first, known, |row: Interval| {
                read.last = read.last.max(end_of(row.start, row.length));
                list(&mut read.intervals, intervals, row, |row| row.length);
                Ok(())
            }),
            Kind::RegionSums => read.region_sums.add_frame(decoder, range, known, |_| ()),
            Kind::RegionWorks => read.region_works.add_frame(decoder, range, known, |_| ()),
            Kind::LoopSums => read.loop_sums.add_frame(decoder, range, known, |_| ()),
            Kind::LockSums => read.lock_sums.add_frame(decoder, range, known, |_| ()),
            Kind::LockWaits => read.lock_waits.add_frame(decoder, range, known, |_| ()),
            Kind::TaskSums => read.task_sums.add_frame(decoder, range, known, |_| ()),
            Kind::MpiCalls => read.mpi_calls.add_frame(decoder, range, known, |_| ()),
            Kind::MpiMessages => read.mpi_messages.add_frame(decoder, range, known, |_| ()),
            Kind::CpuUses => read.cpu_uses.add_frame(decoder, range, known, |_| ()),
            Kind::PhaseSums => read.phase_sums.add_frame(decoder, range, known, |_| ()),
            Kind::Spans => stored::decode(decoder, first, known, |row: Span| {
                read.last = read.last.max(row.end());
                read.spans.push(row);
                Ok(())
            }),
            Kind::SamplePoints => stored::decode(decoder, first, known, |row: SamplePoint| {
                read.last = read.last.max(row.time);
                read.sample_points.push(row);
                Ok(())
            }),
            Kind::RegionSpans => stored::decode(decoder, first, known, |row: RegionSpan| {
                read.last = read.last.max(end_of(row.start, row.length));
                list(&mut read.region_spans, regions, row, |row| row.length);
                Ok(())
            }),
            Kind::TaskSpans => stored::decode(decoder, first, known, |row: TaskSpan| {
                read.last = read.last.max(end_of(row.start, row.length));
                list(&mut read.task_spans, tasks, row, |row| row.length);
                Ok(())
            }),
            _ => Err(Corrupt("not a kind of rows")),
        }
    }
}

/// What a frame holds as JSON.
fn json<T: DeserializeOwned>(decoder: &mut Decoder<'_>, longest: u64) -> Result<T, Corrupt> {
    let length = decoder.number()?;
    if length > longest {
        return Err(Corrupt("JSON longer than any"));
    }
    let length = usize::try_from(length).map_err(|_| Corrupt("a length beyond memory"))?;
    from_json(decoder.text(length)?).map_err(|_| Corrupt("JSON of another form"))
}

/// Lists a row that is at least as long as the `shortest`, which grows where that would be too many.
fn list<R>(rows: &mut Vec<R>, shortest: &mut Nanos, row: R, length: impl Fn(&R) -> Nanos) {
    if length(&row) < *shortest {
        return;
    }
    rows.push(row);
    if rows.len() > MOST_LISTED {
        let mut lengths: Vec<u64> = rows.iter().map(|row| length(row).0).collect();
        let (_, median, _) = lengths.select_nth_unstable(MOST_LISTED / 2);
        *shortest = Nanos(*median + 1);
        rows.retain(|row| length(row) >= *shortest);
    }
}

fn end_of(start: Nanos, length: Nanos) -> Nanos {
    Nanos(start.0 + length.0)
}

fn expect_first(first: u64, have: u32) -> Result<(), Corrupt> {
    if first == u64::from(have) {
        Ok(())
    } else {
        Err(Corrupt("rows of a table are missing"))
    }
}

fn add<T: Clone + Eq + std::hash::Hash>(table: &mut Interner<T>, row: T) -> Result<(), Corrupt> {
    let expected = table.len();
    if table.intern(row) as usize == expected {
        Ok(())
    } else {
        Err(Corrupt("a row of a table is there twice"))
    }
}

/// Adds a row, or replaces the one that it updates.
fn put<T>(table: &mut Vec<T>, id: u64, row: T) -> Result<(), Corrupt> {
    match usize::try_from(id) {
        Ok(id) if id < table.len() => table[id] = row,
        Ok(id) if id == table.len() => table.push(row),
        _ => return Err(Corrupt("rows of a table are missing")),
    }
    Ok(())
}
