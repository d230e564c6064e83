//! The tables of stacks and their frames.

use std::io;
use std::path::Path;

use experiment::ids::FrameId;
use omp_model::profile::{Callee, DisplayFrame, FrameKind, PathId, Profile};
use rustc_hash::FxHashMap;
use untrusted::printable;

use super::schema::{FRAMES, STACKS};
use super::table::{Table, Value};
use crate::functions::{FunctionNumber, Functions, UNKNOWN};
use crate::subject::Subject;

/// A frame of the table: that of its functions, its address, and how it came to be on the stack.
type Frame = (FunctionNumber, FrameId, FrameKind);

/// The stacks that rows have.
///
/// Rows of time and of counters may be of different profiles, as filters leave different stacks in each.
pub(super) struct Code<'a> {
    functions: Functions<'a>,
    frames: Vec<(Frame, DisplayFrame)>,
    known_frames: FxHashMap<Frame, i32>,
    /// The stacks, leaf first: a frame and the stack of its callers, or none.
    nodes: Vec<(i32, Option<u32>)>,
    known_nodes: FxHashMap<(i32, Option<u32>), u32>,
    /// By node: whether a row has it.
    used: Vec<bool>,
}

/// The stacks of a profile by [`PathId`].
pub(super) struct StackNumbers(Vec<u32>);

impl StackNumbers {
    pub(super) fn get(&self, path: PathId) -> u32 {
        self.0[path.0 as usize]
    }
}

impl<'a> Code<'a> {
    pub(super) fn new(subject: &Subject<'a>) -> Code<'a> {
        Code {
            functions: Functions::new(subject.names),
            frames: Vec::new(),
            known_frames: FxHashMap::default(),
            nodes: Vec::new(),
            known_nodes: FxHashMap::default(),
            used: Vec::new(),
        }
    }

    /// Adds the stacks of a profile.
    pub(super) fn add(&mut self, profile: &Profile) -> StackNumbers {
        let mut numbers = Vec::with_capacity(profile.paths.len());
        let unknown = self.frame(UNKNOWN);
        numbers.push(self.node(unknown, None));
        for path in profile.paths.rows().iter().skip(1) {
            let frame = self.frame(path.frame);
            let callers = match path.callers {
                PathId::EMPTY => None,
                callers => Some(numbers[callers.0 as usize]),
            };
            numbers.push(self.node(frame, callers));
        }
        StackNumbers(numbers)
    }

    /// Notes that a row has a stack.
    pub(super) fn mark(&mut self, stack: u32) {
        self.used[stack as usize] = true;
    }

    fn frame(&mut self, at: DisplayFrame) -> i32 {
        let key = (self.functions.number(at.callee), at.frame, at.kind);
        *self.known_frames.entry(key).or_insert_with(|| {
            self.frames.push((key, at));
            self.frames.len() as i32 - 1
        })
    }

    fn node(&mut self, frame: i32, callers: Option<u32>) -> u32 {
        let node = (frame, callers);
        *self.known_nodes.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            self.used.push(false);
            self.nodes.len() as u32 - 1
        })
    }

    /// Writes the stacks that rows have, and all frames.
    pub(super) fn write(&self, subject: &Subject<'_>, folder: &Path) -> io::Result<()> {
        let mut table = Table::create(folder, "stacks.parquet", &STACKS)?;
        let mut frames = Vec::new();
        for (stack, _) in (0..).zip(&self.used).filter(|(_, used)| **used) {
            frames.clear();
            let mut at = Some(stack);
            while let Some(node) = at {
                let (frame, callers) = self.nodes[node as usize];
                frames.push(frame);
                at = callers;
            }
            table.row([Value::id(stack), Value::Integers(&frames)])?;
        }
        table.finish()?;

        let mut table = Table::create(folder, "frames.parquet", &FRAMES)?;
        let tables = subject.names.tables;
        for (number, &((function_number, frame, kind), at)) in (0..).zip(&self.frames) {
            let function = self.functions.get(function_number);
            let code = tables
                .frames
                .get(frame.0)
                .filter(|_| frame != FrameId::NONE);
            let module = code.map(|code| code.module).or(function.module);
            let module = module.and_then(|module| tables.modules.get(module.0));
            let object = module.map_or(String::new(), |it| printable(&it.path).into_owned());
            let build_id = module.map_or("", |it| it.build_id.as_str());
            let source = self.functions.source_of(at);
            let file = source.and_then(|it| self.functions.path(it.file));
            let function_file = function.file.and_then(|file| self.functions.path(file));
            let line = |line: u32| match line {
                0 => Value::Null,
                line => Value::id(line),
            };
            let is_inlined =
                matches!(kind, FrameKind::Inlined(_)) || matches!(at.callee, Callee::Inlined(..));
            table.row([
                Value::id(number),
                Value::id(function_number.0),
                Value::Text(&function.name),
                Value::text(&function.linkage),
                Value::text(&object),
                Value::text(&printable(build_id)),
                Value::of(code, |it| Value::Unsigned(it.address)),
                Value::text(file.unwrap_or_default()),
                line(source.map_or(0, |it| it.line)),
                Value::text(function_file.unwrap_or_default()),
                line(function.line),
                Value::Boolean(is_inlined),
            ])?;
        }
        table.finish()
    }
}
