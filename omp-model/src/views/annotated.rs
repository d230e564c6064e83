//! Time by source line of one file, and by instruction.
//!
//! A line has the time of every stack that passes through it, including code inlined there: an
//! inlined function counts like a call at its line ([`crate::inlining`]).

use std::collections::BTreeMap;

use experiment::ids::FrameId;
use experiment::symbols::{FileId, SourceLine};
use rustc_hash::FxHashMap;

use super::functions::{self, List, Sums};
use super::names::{Canonical, Names};
use super::tree::{self, Tree};
use super::{Code, ListRow, Marks, Request, Seconds, order};
use crate::metrics::Metric;
use crate::profile::{Callee, DisplayFrame, FrameKind, Profile};
use crate::states::Pseudo;

/// The times of one file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileTimes {
    /// All time, in the file or not.
    pub total: Seconds,
    /// By line.
    pub lines: BTreeMap<u32, LineTimes>,
    /// Notes on lines, most time first.
    pub notes: BTreeMap<u32, Vec<Note>>,
}

/// The times of one line.
#[derive(Clone, Debug, PartialEq)]
pub struct LineTimes {
    /// Time at the leaf.
    pub exclusive: Seconds,
    /// Time anywhere on the stack, each sample counted once.
    pub inclusive: Seconds,
}

/// A note on a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// The kind of note.
    pub what: Happened,
    /// Thread time in seconds.
    pub seconds: f64,
}

/// The kind of a note.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Happened {
    /// A function was inlined there.
    Inlined(String),
    /// Threads waited in an OpenMP construct there, or it caused overhead.
    Waited(Pseudo),
}

/// A frame by its function and line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Step {
    callee: Callee,
    source: Option<SourceLine>,
    is_inlined: bool,
}

/// The times of a file.
pub fn file_times(
    profile: &Profile,
    names: &Names<'_>,
    metrics: &[Metric],
    file: FileId,
) -> FileTimes {
    let lines = Tree::new(profile, metrics, None, |path| names.source_of(path.frame));
    let mut times = FileTimes {
        total: lines.total().into(),
        lines: BTreeMap::new(),
        notes: BTreeMap::new(),
    };
    for (source, exclusive, inclusive) in Sums::new(&lines).zip(&lines) {
        if let Some(source) = source
            && source.file == file
        {
            let of_line = LineTimes {
                exclusive,
                inclusive,
            };
            times.lines.insert(source.line, of_line);
        }
    }
    let nowhere = Step {
        callee: Callee::Pseudo(Pseudo::Unknown),
        source: None,
        is_inlined: false,
    };
    let frames = Tree::new(profile, &[Metric::Total], nowhere, |path| Step {
        callee: path.frame.callee,
        source: names.source_of(path.frame),
        is_inlined: path.frame.kind != FrameKind::Called,
    });
    let step = |node| -> Option<&Step> { frames.groups.get(frames.group(node) as usize) };
    let mut notes = FxHashMap::<(u32, Happened), f64>::default();
    for node in 1..frames.len() as u32 {
        let caller = step(frames.parent(node)).and_then(|caller| caller.source);
        let (Some(at), Some(here)) = (caller.filter(|source| source.file == file), step(node))
        else {
            continue;
        };
        let what = match here.callee {
            callee if here.is_inlined => Happened::Inlined(names.name(callee)),
            Callee::Pseudo(pseudo) if pseudo != Pseudo::Unknown => Happened::Waited(pseudo),
            _ => continue,
        };
        *notes.entry((at.line, what)).or_default() += frames.below(node)[0];
    }
    for ((line, what), seconds) in notes {
        times
            .notes
            .entry(line)
            .or_default()
            .push(Note { what, seconds });
    }
    for notes in times.notes.values_mut() {
        notes.sort_by(|left, right| {
            let by_name = || format!("{:?}", left.what).cmp(&format!("{:?}", right.what));
            right.seconds.total_cmp(&left.seconds).then_with(by_name)
        });
    }
    times
}

/// The key that a list of instructions groups by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pc {
    pub(super) callee: Callee,
    /// [`FrameId::NONE`] for a callee without code.
    pub(super) frame: FrameId,
}

impl Pc {
    /// The key for a frame of a display stack; `None` for an inlined function, whose instructions
    /// are those of the function that it was inlined into.
    pub(super) fn of(
        names: &Names<'_>,
        canonical: &mut Canonical<'_>,
        at: DisplayFrame,
    ) -> Option<Pc> {
        (at.kind == FrameKind::Called).then(|| Pc {
            callee: canonical.of(at.callee),
            frame: match names.code(at.callee) {
                Some(_) => at.frame,
                None => FrameId::NONE,
            },
        })
    }

    /// Its name, `foo + 0x00000012`, and its code: the instruction's address, without a size. A
    /// caller's address lies within its call instruction.
    pub(super) fn describe(self, names: &Names<'_>) -> (String, Option<Code>) {
        let name = names.name(self.callee);
        let function = names.code(self.callee);
        let frame = names.tables.frames.get(self.frame.0);
        match function.zip(frame.filter(|_| self.frame != FrameId::NONE)) {
            None => (name, function),
            Some((function, at)) => {
                let offset = at.address.wrapping_sub(function.address);
                let code = Code {
                    address: at.address,
                    size: 0,
                    ..function
                };
                (format!("{name} + 0x{offset:08x}"), Some(code))
            }
        }
    }
}

/// The time at one instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct PcRow {
    /// The function, or the row of time without code.
    pub callee: Callee,
    /// The frame, for the source line of code.
    pub frame: FrameId,
    /// Its name, code and times.
    pub row: ListRow,
}

/// The total, and every instruction with time in the requested order.
pub fn pc_rows(profile: &Profile, names: &Names<'_>, request: &Request) -> (ListRow, Vec<PcRow>) {
    let mut canonical = names.canonical();
    let unknown = Pc {
        callee: Callee::Pseudo(Pseudo::Unknown),
        frame: FrameId::NONE,
    };
    let tree = Tree::of_some(profile, &request.metrics, unknown, |path| {
        Pc::of(names, &mut canonical, path.frame)
    });
    let mut rows: Vec<PcRow> = Sums::new(&tree)
        .zip(&tree)
        .map(|(pc, exclusive, inclusive)| {
            let (name, code) = pc.describe(names);
            let row = ListRow {
                name,
                code,
                exclusive,
                inclusive,
                marks: Marks::default(),
            };
            PcRow {
                callee: pc.callee,
                frame: pc.frame,
                row,
            }
        })
        .collect();
    rows.sort_by(|left, right| order(request, left.row.fields(), right.row.fields()));
    (functions::total_row(&tree), rows)
}

/// The instructions as a list.
pub fn pcs(profile: &Profile, names: &Names<'_>, request: &Request) -> List {
    let (total, rows) = pc_rows(profile, names, request);
    let rows = rows.into_iter().map(|pc| pc.row);
    List {
        total,
        rows: rows.collect(),
    }
}

/// Adds the times of one instruction to those of another.
pub fn merge(into: &mut LineTimes, row: &ListRow) {
    tree::add(&mut into.exclusive, &row.exclusive);
    tree::add(&mut into.inclusive, &row.inclusive);
}
