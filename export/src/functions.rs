//! The functions of stacks, with the names that `er_print` gives them.

use experiment::ids::{FrameId, ModuleId};
use experiment::symbols::{FileId, SourceLine};
use omp_model::profile::{Callee, DisplayFrame, FrameKind};
use omp_model::states::Pseudo;
use omp_model::views::names::{Canonical, NameForm, Names};
use rustc_hash::FxHashMap;

/// What stands for a stack that is not known.
pub(crate) const UNKNOWN: DisplayFrame = DisplayFrame {
    callee: Callee::Pseudo(Pseudo::Unknown),
    frame: FrameId::NONE,
    kind: FrameKind::Called,
};

/// A row of [`Functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FunctionNumber(pub(crate) u32);

/// A function, or a wait or another leaf that has a name.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    /// As `er_print` shows it; not empty.
    pub(crate) name: String,
    /// The symbol's name; empty if it has none.
    pub(crate) linkage: String,
    /// The load object that holds it.
    pub(crate) module: Option<ModuleId>,
    /// The path of its source file.
    pub(crate) file: Option<FileId>,
    /// Its first line; 0 if unknown.
    pub(crate) line: u32,
}

/// The functions that were met, each once: rows that `er_print` merges are one.
pub(crate) struct Functions<'a> {
    names: Names<'a>,
    canonical: Canonical<'a>,
    known: FxHashMap<Callee, FunctionNumber>,
    rows: Vec<Function>,
}

impl<'a> Functions<'a> {
    pub(crate) fn new(names: Names<'a>) -> Functions<'a> {
        Functions {
            canonical: names.canonical(),
            names,
            known: FxHashMap::default(),
            rows: Vec::new(),
        }
    }

    /// The number of a function, from 0 in the order in which they are met.
    pub(crate) fn number(&mut self, callee: Callee) -> FunctionNumber {
        let callee = self.canonical.of(callee);
        if let Some(&known) = self.known.get(&callee) {
            return known;
        }
        let number = FunctionNumber(self.rows.len() as u32);
        self.known.insert(callee, number);
        let function = self.function(callee);
        self.rows.push(function);
        number
    }

    /// The number of what has no stack.
    pub(crate) fn unknown(&mut self) -> FunctionNumber {
        self.number(UNKNOWN.callee)
    }

    pub(crate) fn rows(&self) -> &[Function] {
        &self.rows
    }

    pub(crate) fn get(&self, number: FunctionNumber) -> &Function {
        &self.rows[number.0 as usize]
    }

    /// The path of a source file.
    pub(crate) fn path(&self, file: FileId) -> Option<&'a str> {
        let path = self.names.symbols.files.get(file.0 as usize)?;
        (!path.is_empty()).then_some(path)
    }

    /// The source line of a frame. A wait without an address stands at the line of its directive.
    pub(crate) fn source_of(&self, at: DisplayFrame) -> Option<SourceLine> {
        self.names.source_of(at)
    }

    fn function(&self, callee: Callee) -> Function {
        let symbol = self.names.function_of(callee);
        let inlined = match callee {
            Callee::Inlined(frame, line) => {
                let lines = &self.names.symbols.frame(frame).lines;
                lines.get(usize::from(line)).map(|line| line.source.file)
            }
            _ => None,
        };
        let source = symbol.and_then(|symbol| symbol.source);
        let mut name = self.names.name(callee);
        if name.trim().is_empty() {
            name = "<Unknown>".to_owned();
        }
        Function {
            linkage: match (symbol, self.names.style.form) {
                (None, _) | (_, NameForm::Mangled) => String::new(),
                (Some(symbol), _) => symbol.linkage.clone(),
            },
            module: match callee {
                Callee::Inlined(frame, _) => {
                    let frame = self.names.tables.frames.get(frame.0);
                    frame.map(|frame| frame.module)
                }
                Callee::Object(module) => Some(module),
                Callee::Kernel(_) => Some(ModuleId::KERNEL),
                other => self.names.code(other).map(|code| code.module),
            },
            file: source.map(|it| it.file).or(inlined),
            line: source.map_or(0, |it| it.line),
            name,
        }
    }
}
