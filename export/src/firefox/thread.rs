//! A thread of the profile: the columns of its samples and markers, and the tables that they point to.

use std::io::{self, Write};

use experiment::ids::{FrameId, ModuleId, ThreadId};
use experiment::state::Scheduling;
use omp_model::profile::{DisplayFrame, PathId};
use report::timeline::Activity;
use rustc_hash::FxHashMap;
use serde_json::{Value as Json, json};
use untrusted::printable;

use super::columns::{column, milliseconds, number, optional};
use super::markers::Marker;
use super::meta::{INFERRED, category};
use super::track::Track;
use crate::functions::{FunctionNumber, Functions};
use crate::places::{PlaceNumber, Places};
use crate::subject::Subject;

/// What all threads share.
pub(super) struct Context<'a> {
    /// The load objects.
    pub(super) libs: Json,
    subject: &'a Subject<'a>,
    places: &'a Places<'a>,
    functions: Functions<'a>,
    /// How many threads of a number were written: the kernel gives a number again.
    numbers: FxHashMap<i32, u32>,
    /// By place: the nanoseconds of one of its samples.
    weights: Vec<f64>,
}

impl<'a> Context<'a> {
    pub(super) fn new(
        subject: &'a Subject<'a>,
        places: &'a Places<'a>,
        counts: &[u32],
    ) -> Context<'a> {
        let rows = places.iter().zip(counts);
        let weight = |(row, &count): (crate::places::Place, &u32)| {
            1e9 * row.seconds / f64::from(count.max(1))
        };
        let modules = subject.names.tables.modules.rows().iter();
        let libs = modules.map(|module| {
            let path = printable(&module.path);
            let name = path.rsplit('/').next().unwrap_or_default();
            json!({
                "name": name, "path": path, "debugName": name, "debugPath": path,
                "breakpadId": "", "codeId": module.build_id, "arch": "x86_64",
            })
        });
        Context {
            libs: libs.collect(),
            functions: Functions::new(subject.names),
            numbers: FxHashMap::default(),
            weights: rows.map(weight).collect(),
            subject,
            places,
        }
    }
}

/// A frame: a leaf has the category of its state.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Frame {
    at: DisplayFrame,
    leaf: Option<(Activity, bool)>,
}

/// The tables of a thread.
#[derive(Default)]
struct Tables {
    strings: Vec<String>,
    known_strings: FxHashMap<String, u64>,
    functions: Vec<FunctionNumber>,
    known_functions: FxHashMap<FunctionNumber, u64>,
    frames: Vec<Frame>,
    known_frames: FxHashMap<Frame, u64>,
    /// Callers and frame.
    stacks: Vec<(Option<u64>, u64)>,
    known_stacks: FxHashMap<(Option<u64>, u64), u64>,
    /// The stack of a path, as the caller of further frames.
    of_path: FxHashMap<PathId, Option<u64>>,
    /// The stack of a place.
    of_place: FxHashMap<PlaceNumber, Option<u64>>,
}

fn interned<T: Copy + Eq + std::hash::Hash>(
    rows: &mut Vec<T>,
    known: &mut FxHashMap<T, u64>,
    row: T,
) -> u64 {
    *known.entry(row).or_insert_with(|| {
        rows.push(row);
        rows.len() as u64 - 1
    })
}

impl Tables {
    fn string(&mut self, text: &str) -> u64 {
        if let Some(&known) = self.known_strings.get(text) {
            return known;
        }
        let number = self.strings.len() as u64;
        self.strings.push(text.to_owned());
        self.known_strings.insert(text.to_owned(), number);
        number
    }

    fn stack(&mut self, callers: Option<u64>, frame: Frame) -> u64 {
        let frame = interned(&mut self.frames, &mut self.known_frames, frame);
        interned(&mut self.stacks, &mut self.known_stacks, (callers, frame))
    }

    /// The stack of callers.
    fn callers(&mut self, places: &Places<'_>, path: PathId) -> Option<u64> {
        let mut missing = Vec::new();
        let mut at = path;
        let mut stack = loop {
            if at == PathId::EMPTY {
                break None;
            }
            if let Some(&known) = self.of_path.get(&at) {
                break known;
            }
            let Some(row) = places.profile.paths.get(at.0) else {
                break None;
            };
            missing.push((at, row.frame));
            at = row.callers;
        };
        while let Some((path, at)) = missing.pop() {
            stack = Some(self.stack(stack, Frame { at, leaf: None }));
            self.of_path.insert(path, stack);
        }
        stack
    }

    /// The stack of a place; `None` without one.
    fn place(&mut self, places: &Places<'_>, number: PlaceNumber) -> Option<u64> {
        if let Some(&known) = self.of_place.get(&number) {
            return known;
        }
        let place = places.get(number);
        let leaf = Some((place.activity, place.inferred));
        let (callers, at) = match places.profile.paths.get(place.path.0) {
            Some(row) if place.path != PathId::EMPTY => (row.callers, row.frame),
            _ => (PathId::EMPTY, crate::functions::UNKNOWN),
        };
        let callers = self.callers(places, callers);
        let stack = Some(self.stack(callers, Frame { at, leaf }));
        self.of_place.insert(number, stack);
        stack
    }
}

/// Writes a thread.
pub(super) fn write(
    out: &mut impl Write,
    context: &mut Context<'_>,
    id: ThreadId,
    track: &Track,
    markers: &[Marker],
) -> io::Result<()> {
    let subject = context.subject;
    let mut tables = Tables::default();
    let life = subject.life(id);
    let rows = subject.names.tables;
    let thread = &rows.threads[id.index()];
    let process = rows.processes.get(thread.process.index());
    let name = process.map_or("", |process| process.name.as_str());
    let is_first = rows
        .threads
        .iter()
        .position(|it| it.process == thread.process);
    let before = context.numbers.entry(thread.tid).or_default();
    let tid = match *before {
        0 => thread.tid.to_string(),
        before => format!("{} ({})", thread.tid, before + 1),
    };
    *before += 1;
    let end = thread.death.map(|death| death.0 as f64 / 1e6);
    let head = json!({
        "name": subject.thread_name(id),
        "isMainThread": is_first == Some(id.index()),
        "processType": "default",
        "processName": printable(name),
        "processStartupTime": 0,
        "processShutdownTime": null,
        "registerTime": life.start as f64 / 1e6,
        "unregisterTime": end,
        "pausedRanges": [],
        "pid": process.map_or(0, |process| process.pid).to_string(),
        "tid": tid,
        "showMarkersInTimeline": true,
    });
    let head = head.to_string();
    write!(out, "{},", head.trim_end_matches('}'))?;
    samples(out, context, &mut tables, track)?;
    write_markers(out, &mut tables, markers)?;
    write_tables(out, context, &mut tables)?;
    write!(out, "}}")
}

fn samples(
    out: &mut impl Write,
    context: &Context<'_>,
    tables: &mut Tables,
    track: &Track,
) -> io::Result<()> {
    let places = context.places;
    let length = track.times.len();
    write!(
        out,
        "\"samples\":{{\"length\":{length},\"weightType\":\"tracing-ms\","
    )?;
    column(out, "stack", &track.places, |text, &place| {
        optional(text, tables.place(places, place));
    })?;
    write!(out, ",")?;
    let mut before = 0;
    column(out, "timeDeltas", &track.times, |text, &time| {
        milliseconds(text, time - before);
        before = time;
    })?;
    let rows = || track.places.iter().zip(&track.counts);
    let weight =
        |place: PlaceNumber, count: u32| context.weights[place as usize] * f64::from(count);
    write!(out, ",")?;
    let mut rounding = crate::rounding::Rounding::default();
    column(out, "weight", rows(), |text, (&place, &count)| {
        milliseconds(text, rounding.next(weight(place, count)) as u64);
    })?;
    write!(out, ",")?;
    let mut rounding = crate::rounding::Rounding::default();
    column(out, "threadCPUDelta", rows(), |text, (&place, &count)| {
        let nanos = match places.get(place).scheduling {
            Scheduling::Running => rounding.next(weight(place, count)) as u64,
            _ => 0,
        };
        number(text, nanos);
    })?;
    write!(out, "}},")
}

fn write_markers(out: &mut impl Write, tables: &mut Tables, markers: &[Marker]) -> io::Result<()> {
    const INSTANT: u64 = 0;
    const INTERVAL: u64 = 1;
    write!(out, "\"markers\":{{\"length\":{},", markers.len())?;
    column(out, "category", markers, |text, it| {
        number(text, it.category)
    })?;
    write!(out, ",")?;
    column(out, "data", markers, |text, it| {
        text.extend_from_slice(it.data.to_string().as_bytes());
    })?;
    write!(out, ",")?;
    column(out, "name", markers, |text, it| {
        number(text, tables.string(&it.name));
    })?;
    write!(out, ",")?;
    column(out, "phase", markers, |text, it| {
        number(text, if it.is_point { INSTANT } else { INTERVAL });
    })?;
    write!(out, ",")?;
    column(out, "startTime", markers, |text, it| {
        milliseconds(text, it.range.start)
    })?;
    write!(out, ",")?;
    column(out, "endTime", markers, |text, it| {
        if it.is_point {
            optional(text, None);
        } else {
            milliseconds(text, it.range.end);
        }
    })?;
    write!(out, "}},")
}

fn write_tables(
    out: &mut impl Write,
    context: &mut Context<'_>,
    tables: &mut Tables,
) -> io::Result<()> {
    let stacks = std::mem::take(&mut tables.stacks);
    write!(out, "\"stackTable\":{{\"length\":{},", stacks.len())?;
    column(out, "prefix", &stacks, |text, row| optional(text, row.0))?;
    write!(out, ",")?;
    column(out, "frame", &stacks, |text, row| number(text, row.1))?;

    write_frames(out, context, tables)?;
    let resources = write_functions(out, context, tables)?;
    write_resources(out, context, tables, &resources)?;
    write!(
        out,
        "}},\"nativeSymbols\":{{\"length\":0,\"address\":[],\"functionSize\":[],\"libIndex\":[],\
         \"name\":[]}},"
    )?;
    column(out, "stringArray", &tables.strings, |text, row| {
        text.extend_from_slice(json!(row).to_string().as_bytes());
    })
}

fn write_frames(
    out: &mut impl Write,
    context: &mut Context<'_>,
    tables: &mut Tables,
) -> io::Result<()> {
    let names = context.subject.names;
    let null = |text: &mut Vec<u8>, _: &_| optional(text, None);
    let zero = |text: &mut Vec<u8>, _: &_| number(text, 0);
    let frames = std::mem::take(&mut tables.frames);
    write!(out, "}},\"frameTable\":{{\"length\":{},", frames.len())?;
    let code = |frame: &Frame| {
        let code = names.tables.frames.get(frame.at.frame.0);
        code.filter(|_| frame.at.frame != FrameId::NONE)
    };
    column(out, "address", &frames, |text, frame| match code(frame) {
        // A double holds no more; a kernel's address needs none.
        Some(code) if code.address < 1 << 53 => number(text, code.address),
        _ => text.extend_from_slice(b"-1"),
    })?;
    write!(out, ",")?;
    column(out, "inlineDepth", &frames, |text, frame| zero(text, frame))?;
    write!(out, ",")?;
    column(out, "category", &frames, |text, frame| {
        optional(text, frame.leaf.map(|leaf| category(leaf.0)));
    })?;
    write!(out, ",")?;
    column(out, "subcategory", &frames, |text, frame| {
        let inferred = |leaf: (Activity, bool)| if leaf.1 { INFERRED } else { 0 };
        optional(text, frame.leaf.map(inferred));
    })?;
    write!(out, ",")?;
    column(out, "func", &frames, |text, frame| {
        let function = context.functions.number(frame.at.callee);
        let known = &mut tables.known_functions;
        number(text, interned(&mut tables.functions, known, function));
    })?;
    write!(out, ",")?;
    column(out, "nativeSymbol", &frames, |text, frame| {
        null(text, frame)
    })?;
    write!(out, ",")?;
    column(out, "innerWindowID", &frames, |text, frame| {
        zero(text, frame)
    })?;
    write!(out, ",")?;
    column(out, "line", &frames, |text, frame| {
        let source = context.functions.source_of(frame.at);
        let line = source.map(|source| source.line).filter(|line| *line > 0);
        optional(text, line.map(u64::from));
    })?;
    write!(out, ",")?;
    column(out, "column", &frames, |text, frame| null(text, frame))
}

/// Returns the load objects that the functions are in.
fn write_functions(
    out: &mut impl Write,
    context: &Context<'_>,
    tables: &mut Tables,
) -> io::Result<Vec<ModuleId>> {
    let rows: Vec<FunctionNumber> = std::mem::take(&mut tables.functions);
    let mut resources: Vec<ModuleId> = Vec::new();
    let mut known_resources = FxHashMap::default();
    write!(out, "}},\"funcTable\":{{\"length\":{},", rows.len())?;
    let functions = &context.functions;
    column(out, "name", &rows, |text, row| {
        number(text, tables.string(&functions.get(*row).name));
    })?;
    write!(out, ",")?;
    let no = |text: &mut Vec<u8>, _: &FunctionNumber| text.extend_from_slice(b"false");
    column(out, "isJS", &rows, no)?;
    write!(out, ",")?;
    column(out, "relevantForJS", &rows, no)?;
    write!(out, ",")?;
    column(out, "resource", &rows, |text, row| {
        match functions.get(*row).module {
            Some(module) => number(text, interned(&mut resources, &mut known_resources, module)),
            None => text.extend_from_slice(b"-1"),
        }
    })?;
    write!(out, ",")?;
    column(out, "fileName", &rows, |text, row| {
        let path = functions
            .get(*row)
            .file
            .and_then(|file| functions.path(file));
        optional(text, path.map(|path| tables.string(path)));
    })?;
    write!(out, ",")?;
    column(out, "lineNumber", &rows, |text, row| {
        let line = Some(functions.get(*row).line).filter(|line| *line > 0);
        optional(text, line.map(u64::from));
    })?;
    write!(out, ",")?;
    column(out, "columnNumber", &rows, |text, _| optional(text, None))?;
    Ok(resources)
}

fn write_resources(
    out: &mut impl Write,
    context: &Context<'_>,
    tables: &mut Tables,
    resources: &[ModuleId],
) -> io::Result<()> {
    let names = context.subject.names;
    const LIBRARY: u64 = 1;
    write!(
        out,
        "}},\"resourceTable\":{{\"length\":{},",
        resources.len()
    )?;
    column(out, "lib", resources, |text, row| {
        number(text, row.0.into())
    })?;
    write!(out, ",")?;
    column(out, "name", resources, |text, row| {
        number(text, tables.string(names.object_name(*row)));
    })?;
    write!(out, ",")?;
    column(out, "host", resources, |text, _| optional(text, None))?;
    write!(out, ",")?;
    column(out, "type", resources, |text, _| number(text, LIBRARY))
}
