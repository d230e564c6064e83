//! The experiment: a recording on disk, written by `collect` and read by all other programs.
//!
//! | file | holds |
//! |---|---|
//! | `records` | everything, as checksummed frames, only ever appended to; [other names](replace_symbols) make a new file |
//! | `header.json` | the [`Header`] for people and scripts, replaced as a whole |
//!
//! Tables and rows share one file, so that a killed run or a full disk can cut it at one point
//! only. A table's rows come before the rows that point to them, so the part before the cut is a
//! smaller recording and not a broken one. The header is in `records` as well.
//!
//! A frame holds rows of one kind as columns, compressed by zstd (see `column`). The reader checks
//! checksums, counts, lengths and every reference between rows while opening; the first frame that
//! fails ends the reading with a [`Warning`]. Samples, by far the most of a recording, stay in the
//! file: opening unpacks them once, on all CPUs, and counts the frames that fail. Each pass over them
//! unpacks them again, and leaves these frames out.

pub mod barriers;
mod column;
pub mod findings;
pub mod folder;
mod frame;
pub mod header;
pub mod ids;
pub mod job;
pub mod linkage;
pub mod losses;
mod numbered;
mod packed;
mod reader;
mod replace;
pub mod rows;
mod samples;
mod scan;
pub mod state;
mod store;
mod stored;
mod sums;
mod symbol_rows;
pub mod symbols;
pub mod tables;
mod text_rows;
pub mod union;
mod writer;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::findings::Findings;
use crate::header::{FORMAT_VERSION, Header, Sampling};
use crate::ids::Nanos;
use crate::rows::{
    Blame, CpuUse, Interval, LockSum, LockWait, LoopSum, MpiCall, MpiMessage, PhaseSum, RegionSpan,
    RegionSum, RegionWork, Sample, SamplePoint, Span, Sum, TaskSpan, TaskSum,
};
use crate::symbols::SymbolTable;
use crate::tables::Tables;

pub use packed::{Packed, Unpacking};
pub use reader::{Growing, read_header};
pub use replace::{ReplaceError, replace_symbols};
pub use samples::{Iter, SampleFrame, Samples};
pub use sums::Sums;
pub use writer::Writer;

/// The resolution of the times of listed intervals and regions: a microsecond, the accuracy of the
/// states' own times. Sums keep nanoseconds, since totals are made of them.
pub const TICK: Nanos = Nanos(1_000);

/// The longest tick of samples; a timeline that zooms to 20 us needs no shorter one.
pub const LONGEST_TICK: Nanos = Nanos(8 * TICK.0);

/// The resolution of the times of samples, which are rounded down: one, two, four or eight
/// [`TICK`]s, the most that are no longer than the 128th part of the sampling period; one if it is
/// unknown.
///
/// A clock sample stands for a whole period. Finer times record the jitter of interrupts, which
/// would be half of the file. One tick for all samples of a recording keeps their order. It
/// divides the slices of sums, so that no sample leaves its slice.
pub fn sample_tick(sampling: &Sampling) -> Nanos {
    // The cast saturates: NaN and negative periods become 0.
    let period = (1e3 * sampling.period_us) as u64;
    let mut tick = TICK;
    while tick < LONGEST_TICK && 2 * tick.0 <= period / 128 {
        tick = Nanos(2 * tick.0);
    }
    tick
}

/// The record file's name in the directory.
pub const RECORDS: &str = "records";

/// The header's name in the directory.
pub const HEADER: &str = "header.json";

/// Rows to append, in any order; [`Writer::append`] groups them by thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Batch<'a> {
    /// Samples, of each thread in the order of time.
    pub samples: &'a [Sample],
    /// Likewise those of each counter, in the order of [`Header::counters`].
    pub counters: &'a [Vec<Sample>],
    /// Time accounting.
    pub sums: &'a [Sum],
    /// Time that other threads waited for a mutex, by its holder.
    pub blames: &'a [Blame],
    /// Long intervals.
    pub intervals: &'a [Interval],
    /// Sums over instances of regions.
    pub region_sums: &'a [RegionSum],
    /// How the work of regions was spread over their teams.
    pub region_works: &'a [RegionWork],
    /// Long instances of regions.
    pub region_spans: &'a [RegionSpan],
    /// Worksharing loops.
    pub loop_sums: &'a [LoopSum],
    /// Mutexes.
    pub lock_sums: &'a [LockSum],
    /// Who waited for whom.
    pub lock_waits: &'a [LockWait],
    /// Sums over completed tasks.
    pub task_sums: &'a [TaskSum],
    /// Long pieces of tasks.
    pub task_spans: &'a [TaskSpan],
    /// Calls of MPI.
    pub mpi_calls: &'a [MpiCall],
    /// Messages, where they were sent and received.
    pub mpi_messages: &'a [MpiMessage],
    /// What the kernel counted, once for each thread and CPU.
    pub cpu_uses: &'a [CpuUse],
    /// Phases and pauses.
    pub spans: &'a [Span],
    /// Time in phases.
    pub phase_sums: &'a [PhaseSum],
    /// Sample points.
    pub sample_points: &'a [SamplePoint],
}

/// Whether a program is recording into the experiment `directory` now.
#[must_use]
pub fn is_live(directory: &Path) -> bool {
    lock(directory).is_some_and(|lock| lock.is_err())
}

/// Locks an experiment that is not being recorded, so that no other program removes it. `None` if
/// there is no record file.
///
/// # Errors
/// [`Live`] if it is being recorded.
pub fn lock(directory: &Path) -> Option<Result<Lock, Live>> {
    let records = directory.join(RECORDS);
    let file = File::options().read(true).write(true).open(&records).ok()?;
    let locked = writer::lock(&file, &records);
    Some(locked.map(|()| Lock { _file: file }))
}

/// A locked experiment; dropping it unlocks.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// The experiment is being recorded by another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Live;

/// Why an experiment could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The directory is there already.
    #[error("{} exists already: remove it or choose another name", .0.display())]
    Exists(PathBuf),
    /// The file system refused.
    #[error("cannot write {}: {cause}", path.display())]
    Io {
        /// What was being written.
        path: PathBuf,
        /// Why not.
        cause: std::io::Error,
    },
    /// A row points to one that its table does not hold, or has a time that no recording has: a mistake
    /// of the caller, refused because it would make the rest of the recording unreadable.
    #[error("a record has {0}")]
    Impossible(&'static str),
}

/// Why an experiment could not be opened, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Nothing has this name.
    #[error("there is no experiment {}: check the name, or record one with `collect`", .0.display())]
    Missing(PathBuf),
    /// A file, not a directory.
    #[error("{} is a file, but an experiment is a directory: name the directory that `collect` made", .0.display())]
    NotADirectory(PathBuf),
    /// A directory without a record file.
    #[error("{} is not an experiment: it has no file `{RECORDS}`; name the directory that `collect` made", .0.display())]
    NoRecords(PathBuf),
    /// An experiment of Sun Studio, Developer Studio or gprofng.
    #[error("{} was recorded by gprofng or Sun Studio: open it with `gprofng display text`", .0.display())]
    Gprofng(PathBuf),
    /// The record file holds not even its mark.
    #[error("{} is empty: its recording ended before anything was written; record it again", .0.display())]
    Empty(PathBuf),
    /// The record file begins with something else.
    #[error("{} is not an experiment of Parallax, or its beginning is damaged: restore it from a copy or record it again", .0.display())]
    Foreign(PathBuf),
    /// A later version of the format.
    #[error("{} has format {version}, but this program reads format {FORMAT_VERSION}: use a newer Parallax", path.display())]
    Newer {
        /// The record file.
        path: PathBuf,
        /// Its format.
        version: u32,
    },
    /// An earlier version of the format.
    #[error("{} has format {version}, but this program reads format {FORMAT_VERSION}: record it again", path.display())]
    Older {
        /// The record file.
        path: PathBuf,
        /// Its format.
        version: u32,
    },
    /// The file system refused.
    #[error("cannot read {}: {cause}", path.display())]
    Io {
        /// What was being read.
        path: PathBuf,
        /// Why not.
        cause: std::io::Error,
    },
}

/// What is wrong with an experiment that was opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Warning {
    /// The recording program was killed, or is still running.
    #[error(
        "the recording was not finished (`collect` was killed, or is still running): it shows {seconds} s up to the last records written"
    )]
    Unfinished {
        /// Time of the last record, in whole seconds.
        seconds: u64,
    },
    /// The recording ended before the program did, and says why.
    #[error("the recording ended before the program, after {seconds} s: {why}")]
    Stopped {
        /// Time of the last record, in whole seconds.
        seconds: u64,
        /// A clause.
        why: String,
    },
    /// The file ends inside a frame.
    #[error(
        "the recording was cut short: the last {bytes} bytes, after the last whole frame at byte {offset} of `{RECORDS}`, are unreadable"
    )]
    Cut {
        /// Where the cut frame begins.
        offset: u64,
        /// Bytes from there on.
        bytes: u64,
    },
    /// A frame differs from what was written.
    #[error(
        "`{RECORDS}` is damaged at byte {offset} ({what}): what was recorded from there on, {bytes} bytes in at least {frames} frames, is unreadable"
    )]
    Damaged {
        /// Where the damaged frame begins.
        offset: u64,
        /// Bytes from there on.
        bytes: u64,
        /// Frames from there on, as far as their lengths lead.
        frames: u64,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Samples that are as they were written, and make no sense.
    #[error(
        "{samples} samples in {frames} frames of `{RECORDS}` cannot be decoded although their checksums are right: they are in no view"
    )]
    Undecodable {
        /// The frames.
        frames: u64,
        /// How many samples they say that they have.
        samples: u64,
    },
    /// A frame of a newer version that this one may skip.
    #[error(
        "skipped {count} frames of kind {kind}, which this version does not know: a newer Parallax shows more"
    )]
    Skipped {
        /// Its number.
        kind: u8,
        /// How many.
        count: u64,
    },
    /// A frame of a newer version without which the rest has no meaning.
    #[error(
        "`{RECORDS}` has a frame of kind {kind} at byte {offset}, which this version does not know: what was recorded from there on is left out; use a newer Parallax"
    )]
    Unknown {
        /// Its number.
        kind: u8,
        /// Where it begins.
        offset: u64,
    },
    /// More different stacks than a reader keeps.
    #[error(
        "the recording has {left_out} more calls on its stacks than the {kept} that are read: what was sampled there is shown as <Unknown>"
    )]
    TooManyStacks {
        /// Rows of the table of stacks that are kept.
        kept: usize,
        /// The others.
        left_out: u32,
    },
    /// Neither the record file nor `header.json` says what was run.
    #[error("the header is unreadable: the command, the host and what was lost are unknown")]
    NoHeader,
}

/// The samples of a counter.
#[derive(Clone, Debug, Default)]
pub struct CounterSamples {
    /// The counter's name; several recordings together have one for each.
    pub name: String,
    /// The events that each sample stands for; seconds of one that counts nanoseconds.
    pub events_each: f64,
    /// The samples, packed: each made as the counter fired in user code or in the kernel.
    pub samples: Samples,
}

/// A recording, read.
#[derive(Clone, Debug, Default)]
pub struct Experiment {
    /// The directory, as it was named.
    pub path: PathBuf,
    /// The directory's own name.
    pub name: String,
    /// The latest header.
    pub header: Header,
    /// The tables.
    pub tables: Tables,
    /// The samples of the clock and at switches, packed.
    pub samples: Samples,
    /// The samples of counters.
    pub counters: Vec<CounterSamples>,
    /// Time accounting, packed.
    pub sums: Sums,
    /// Time that other threads waited for a mutex, by its holder; the rows of each frame are sorted
    /// by thread, slice and thread state. A key may repeat: its rows add up.
    pub blames: Packed<Blame>,
    /// Long intervals, in whole [`TICK`]s; the rows of each frame are sorted by thread and
    /// start. Of more than a million only the longer half is kept, and so on; the same holds for the
    /// two lists of spans.
    pub intervals: Vec<Interval>,
    /// Sums over instances of regions, sorted within a frame by thread, slice and context.
    pub region_sums: Packed<RegionSum>,
    /// How the work of regions was spread over their teams, sorted likewise.
    pub region_works: Packed<RegionWork>,
    /// Long instances of regions, in whole [`TICK`]s, sorted within a frame by thread and
    /// start.
    pub region_spans: Vec<RegionSpan>,
    /// Worksharing loops, sorted within a frame by thread, slice and call.
    pub loop_sums: Packed<LoopSum>,
    /// Mutexes, sorted within a frame by thread, slice, mutex and call.
    pub lock_sums: Packed<LockSum>,
    /// Who waited for whom, sorted within a frame by mutex and calls. A key may repeat: its rows add
    /// up.
    pub lock_waits: Packed<LockWait>,
    /// Sums over completed tasks, sorted within a frame by thread, slice and context.
    pub task_sums: Packed<TaskSum>,
    /// Long pieces of tasks, in whole [`TICK`]s, sorted within a frame by thread and start.
    pub task_spans: Vec<TaskSpan>,
    /// Calls of MPI, sorted within a frame by thread and start.
    pub mpi_calls: Packed<MpiCall>,
    /// Messages, by where they were sent and received, sorted within a frame by thread and when they were posted.
    pub mpi_messages: Packed<MpiMessage>,
    /// What the kernel counted for each thread on each CPU; empty until the recording has ended.
    pub cpu_uses: Packed<CpuUse>,
    /// Phases and pauses that have ended; of a process in a frame by their start.
    pub spans: Vec<Span>,
    /// Time in phases, sorted within a frame by thread, slice and phase. A key may repeat: its rows add
    /// up.
    pub phase_sums: Packed<PhaseSum>,
    /// Sample points, sorted within a frame by time.
    pub sample_points: Vec<SamplePoint>,
    /// The machine of each process, from 0, where several experiments are one; empty if all are on the
    /// same.
    pub machines: Vec<u32>,
    /// Names, if they were resolved when the recording ended.
    pub symbols: Option<SymbolTable>,
    /// What `collect -r` found, if it recorded the experiment.
    pub findings: Option<Arc<Findings>>,
    /// Whether the recording was finished.
    pub finished: bool,
    /// The latest time in any record.
    pub last: Nanos,
    /// What is wrong with the experiment.
    pub warnings: Vec<Warning>,
}

impl Experiment {
    /// Opens and checks an experiment. Of a killed or damaged recording it reads what is left, and
    /// [`Experiment::warnings`] say what is missing.
    pub fn open(path: impl AsRef<Path>) -> Result<Experiment, OpenError> {
        reader::open(path.as_ref())
    }

    /// Wall time of the recording without that in which it was paused.
    pub fn recorded(&self) -> Nanos {
        self.duration().since(Nanos(self.header.paused_ns))
    }

    /// Wall time of the recording: as its header says, else up to the last record.
    pub fn duration(&self) -> Nanos {
        match self.header.duration_ns {
            0 => self.last,
            whole => Nanos(whole),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::SLICE;

    #[test]
    fn a_sample_s_tick_is_a_small_part_of_its_period_and_divides_the_slices() {
        let tick = |period_us| {
            sample_tick(&Sampling {
                period_us,
                ..Sampling::default()
            })
        };
        let ticks = [
            0.0,
            -3.0,
            f64::NAN,
            97.0,
            255.9,
            256.0,
            997.0,
            1024.0,
            10_007.0,
        ]
        .map(tick);
        assert_eq!(
            ticks.map(|tick| tick.0 / TICK.0),
            [1, 1, 1, 1, 1, 2, 4, 8, 8]
        );
        assert_eq!(tick(f64::INFINITY), LONGEST_TICK);
        assert!(ticks.iter().all(|tick| SLICE.0.is_multiple_of(tick.0)));
    }
}
