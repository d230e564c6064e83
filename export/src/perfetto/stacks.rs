//! The stacks of samples.

use experiment::ids::{FrameId, ModuleId};
use experiment::symbols::FileId;
use omp_model::profile::{DisplayFrame, PathId, Profile};
use rustc_hash::FxHashMap;
use untrusted::printable;

use super::messages::{Callstack, Frame, InternedBytes, InternedData, Mapping};
use crate::functions::{FunctionNumber, Functions, UNKNOWN};
use crate::subject::Subject;

/// The path of what is in no load object, such as waits: a frame needs one.
const NOWHERE: &str = "[OpenMP]";

/// Stacks, frames and what they refer to, each defined once.
pub(super) struct Stacks<'a> {
    subject: &'a Subject<'a>,
    profile: &'a Profile,
    functions: Functions<'a>,
    stacks: FxHashMap<PathId, u64>,
    frames: FxHashMap<DisplayFrame, u64>,
    names: FxHashMap<FunctionNumber, u64>,
    files: FxHashMap<FileId, u64>,
    mappings: FxHashMap<Option<ModuleId>, u64>,
}

impl<'a> Stacks<'a> {
    pub(super) fn new(subject: &'a Subject<'a>, profile: &'a Profile) -> Stacks<'a> {
        Stacks {
            functions: Functions::new(subject.names),
            subject,
            profile,
            stacks: FxHashMap::default(),
            frames: FxHashMap::default(),
            names: FxHashMap::default(),
            files: FxHashMap::default(),
            mappings: FxHashMap::default(),
        }
    }

    /// The number of a stack; what is new goes into `pending`.
    pub(super) fn number(&mut self, path: PathId, pending: &mut InternedData) -> u64 {
        if let Some(&known) = self.stacks.get(&path) {
            return known;
        }
        let mut frame_ids = Vec::new();
        let mut at = path;
        while at != PathId::EMPTY
            && let Some(row) = self.profile.paths.get(at.0)
        {
            frame_ids.push(self.frame(row.frame, pending));
            at = row.callers;
        }
        if frame_ids.is_empty() {
            frame_ids.push(self.frame(UNKNOWN, pending));
        }
        frame_ids.reverse();
        let iid = self.stacks.len() as u64 + 1;
        self.stacks.insert(path, iid);
        pending.callstacks.push(Callstack { iid, frame_ids });
        iid
    }

    fn frame(&mut self, at: DisplayFrame, pending: &mut InternedData) -> u64 {
        if let Some(&known) = self.frames.get(&at) {
            return known;
        }
        let function = self.functions.number(at.callee);
        let row = self.functions.get(function);
        let code = self.subject.names.tables.frames.get(at.frame.0);
        let code = code.filter(|_| at.frame != FrameId::NONE);
        let module = code.map(|code| code.module).or(row.module);
        let next = self.names.len() as u64 + 1;
        let function_name_id = *self.names.entry(function).or_insert_with(|| {
            pending.function_names.push(bytes(next, &row.name));
            next
        });
        let source = self.functions.source_of(at);
        let file = source.map(|source| source.file).or(row.file);
        let source_path_iid = file.and_then(|file| {
            let path = self.functions.path(file)?;
            let next = self.files.len() as u64 + 1;
            Some(*self.files.entry(file).or_insert_with(|| {
                pending.source_paths.push(bytes(next, path));
                next
            }))
        });
        let iid = self.frames.len() as u64 + 1;
        self.frames.insert(at, iid);
        let frame = Frame {
            iid,
            function_name_id,
            mapping_id: self.mapping(module, pending),
            rel_pc: code.map_or(0, |code| code.address),
            source_path_iid,
            line_number: source.map(|source| source.line),
        };
        pending.frames.push(frame);
        iid
    }

    fn mapping(&mut self, module: Option<ModuleId>, pending: &mut InternedData) -> u64 {
        let iid = self.mappings.len() as u64 + 1;
        let modules = &self.subject.names.tables.modules;
        *self.mappings.entry(module).or_insert_with(|| {
            let row = module.and_then(|module| modules.get(module.0));
            let path = row.map(|row| printable(&row.path));
            let path = path.as_deref().filter(|path| !path.is_empty());
            pending
                .mapping_paths
                .push(bytes(iid, path.unwrap_or(NOWHERE)));
            pending.build_ids.push(InternedBytes {
                iid,
                str: row.map_or_else(Vec::new, |row| from_hexadecimal(&row.build_id)),
            });
            let path_string_ids = vec![iid];
            pending.mappings.push(Mapping {
                iid,
                build_id: iid,
                path_string_ids,
            });
            iid
        })
    }
}

fn bytes(iid: u64, text: &str) -> InternedBytes {
    InternedBytes {
        iid,
        str: text.as_bytes().to_vec(),
    }
}

/// The bytes of a build id; none if it is no such number.
fn from_hexadecimal(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(text, 16).ok()
    };
    let bytes: Option<Vec<u8>> = pairs.map(byte).collect();
    bytes.unwrap_or_default()
}
