//! The tables of a pprof file: strings, load objects, functions, locations.

use experiment::ids::{FrameId, ModuleId};
use experiment::tables::{Frame, Interner};
use omp_model::profile::{DisplayFrame, FrameKind, Path, PathId};
use rustc_hash::FxHashMap;
use untrusted::printable;

use super::messages::{Function, Line, Location, Mapping};
use crate::functions::Functions;
use crate::subject::Subject;

/// Strings by number; 0 is the empty one.
#[derive(Debug, Default)]
pub(super) struct Strings {
    known: FxHashMap<String, i64>,
    rows: Vec<String>,
}

impl Strings {
    /// The number of a text.
    pub(super) fn number(&mut self, text: &str) -> i64 {
        if text.is_empty() {
            return 0;
        }
        if let Some(&known) = self.known.get(text) {
            return known;
        }
        self.rows.push(text.to_owned());
        let number = self.rows.len() as i64;
        self.known.insert(text.to_owned(), number);
        number
    }

    pub(super) fn into_rows(self) -> Vec<String> {
        let mut rows = vec![String::new()];
        rows.extend(self.rows);
        rows
    }
}

/// The locations of stacks.
pub(super) struct Locations {
    pub(super) rows: Vec<Location>,
    pub(super) functions: Vec<Function>,
    pub(super) mappings: Vec<Mapping>,
    /// By path: its callers beyond the location of its leaf, and that location, from 1.
    of_path: Vec<(PathId, u64)>,
}

impl Locations {
    pub(super) fn new(
        subject: &Subject<'_>,
        paths: &Interner<Path>,
        strings: &mut Strings,
    ) -> Locations {
        let mut functions = Functions::new(subject.names);
        let mut mappings = Mappings::new(subject);
        let mut known = FxHashMap::<(FrameId, Vec<Line>), u64>::default();
        let mut rows: Vec<Location> = Vec::new();
        let mut of_path = Vec::with_capacity(paths.len());
        let mut locate = |frame: FrameId, line: Vec<Line>, callers: PathId| {
            let key = (frame, line);
            if let Some(&id) = known.get(&key) {
                return (callers, id);
            }
            let code = subject.names.tables.frames.get(frame.0);
            let code = code.filter(|_| frame != FrameId::NONE).copied();
            let id = rows.len() as u64 + 1;
            rows.push(Location {
                id,
                mapping_id: code.map_or(0, |code| mappings.number(code)),
                address: code.map_or(0, |code| code.address),
                line: key.1.clone(),
            });
            known.insert(key, id);
            (callers, id)
        };
        let unknown = Line {
            function_id: u64::from(functions.unknown().0) + 1,
            line: 0,
        };
        of_path.push(locate(FrameId::NONE, vec![unknown], PathId::EMPTY));
        for path in &paths.rows()[1..] {
            let mut lines = vec![line(&mut functions, path.frame)];
            let mut outer = *path;
            // The functions that the leaf is inlined into share its instruction.
            while let FrameKind::Inlined(_) = outer.frame.kind
                && outer.callers != PathId::EMPTY
                && let Some(next) = paths.get(outer.callers.0)
                && next.frame.frame == outer.frame.frame
            {
                lines.push(line(&mut functions, next.frame));
                outer = *next;
            }
            of_path.push(locate(path.frame.frame, lines, outer.callers));
        }
        Locations {
            rows,
            functions: self::functions(&functions, strings),
            mappings: mappings.into_rows(subject, strings),
            of_path,
        }
    }

    /// The locations of a stack, leaf first.
    pub(super) fn of(&self, path: PathId) -> Vec<u64> {
        let mut ids = Vec::new();
        let mut at = path;
        loop {
            let (callers, id) = self.of_path[at.0 as usize];
            ids.push(id);
            at = callers;
            if at == PathId::EMPTY {
                return ids;
            }
        }
    }
}

fn line(functions: &mut Functions<'_>, frame: DisplayFrame) -> Line {
    let function = functions.number(frame.callee);
    let source = functions.source_of(frame);
    Line {
        function_id: u64::from(function.0) + 1,
        line: source.map_or(0, |source| source.line.into()),
    }
}

fn functions(known: &Functions<'_>, strings: &mut Strings) -> Vec<Function> {
    let rows = known.rows().iter().zip(1..);
    rows.map(|(function, id)| {
        let file = function.file.and_then(|file| known.path(file));
        Function {
            id,
            name: strings.number(&function.name),
            system_name: strings.number(&function.linkage),
            filename: strings.number(file.unwrap_or_default()),
            start_line: function.line.into(),
        }
    })
    .collect()
}

/// Load objects by number, from 1, with the highest address that was seen in each.
struct Mappings {
    known: FxHashMap<ModuleId, u64>,
    rows: Vec<(ModuleId, u64)>,
}

impl Mappings {
    /// pprof takes the first load object for the program.
    fn new(subject: &Subject<'_>) -> Mappings {
        let tables = subject.names.tables;
        let program = tables.processes.first().map(|process| &process.executable);
        let modules = (0..).map(ModuleId).zip(tables.modules.rows());
        let mut first =
            modules.filter(|(_, row)| Some(&row.path) == program && !row.path.is_empty());
        let rows: Vec<(ModuleId, u64)> = first.next().map(|(id, _)| (id, 0)).into_iter().collect();
        Mappings {
            known: rows.iter().map(|(id, _)| (*id, 1)).collect(),
            rows,
        }
    }

    fn number(&mut self, code: Frame) -> u64 {
        let number = *self.known.entry(code.module).or_insert_with(|| {
            self.rows.push((code.module, 0));
            self.rows.len() as u64
        });
        let last = &mut self.rows[number as usize - 1].1;
        *last = code.address.max(*last);
        number
    }

    /// A load object lies at its link-time addresses, as nothing was mapped twice.
    fn into_rows(self, subject: &Subject<'_>, strings: &mut Strings) -> Vec<Mapping> {
        let rows = self.rows.into_iter().zip(1..);
        rows.map(|((module, last), id)| {
            let row = subject.names.tables.modules.get(module.0);
            let [path, build_id] = match row {
                Some(row) => [&row.path, &row.build_id].map(|it| strings.number(&printable(it))),
                None => [0; 2],
            };
            Mapping {
                id,
                memory_limit: last.saturating_add(1),
                filename: path,
                build_id,
                has_functions: true,
                has_filenames: true,
                has_line_numbers: true,
                has_inline_frames: true,
                ..Mapping::default()
            }
        })
        .collect()
    }
}
