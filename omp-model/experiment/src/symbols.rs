//! Names for addresses, resolved once (at the end of a recording, or by a reader of one that was
//! cut short) and stored with it, so that a report opens at once and on another machine.

use crate::barriers::Barrier;
use crate::ids::{FrameId, ModuleId};
use crate::numbered::numbered;

/// Row of [`SymbolTable::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

/// Row of [`SymbolTable::files`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// What is known of all frames of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SymbolTable {
    /// Source files by path, as the debug information spells it (absolute where it can be).
    pub files: Vec<String>,
    /// Functions that hold a frame, and the parents of outlined functions among them.
    pub functions: Vec<Function>,
    /// By [`FrameId`]; frames beyond its end are unresolved.
    pub frames: Vec<FrameSymbol>,
    /// Load objects whose symbols could not be had, and why in one clause.
    pub misses: Vec<(ModuleId, String)>,
    /// The calls of [`State::Barrier`](crate::state::State::Barrier), by frame, and which kind of
    /// barrier each is.
    pub barriers: Vec<(FrameId, Barrier)>,
    /// By frame, what its code tells where that is anything.
    pub code: Vec<(FrameId, CodeFact)>,
}

impl SymbolTable {
    /// What is known of a frame; nothing for one that is not in the table.
    pub fn frame(&self, frame: FrameId) -> &FrameSymbol {
        static UNRESOLVED: FrameSymbol = FrameSymbol {
            function: None,
            lines: Vec::new(),
        };
        self.frames.get(frame.index()).unwrap_or(&UNRESOLVED)
    }

    /// What a frame's code tells.
    pub fn code_of(&self, frame: FrameId) -> Option<&CodeFact> {
        let at = self.code.binary_search_by_key(&frame, |row| row.0).ok()?;
        Some(&self.code[at].1)
    }

    /// The function that holds a frame.
    pub fn function_of(&self, frame: FrameId) -> Option<(FunctionId, &Function)> {
        let id = self.frame(frame).function?;
        Some((id, self.functions.get(id.0 as usize)?))
    }
}

/// What the machine code at a frame's address tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeFact {
    /// It lies in a loop that does nothing but wait for another thread.
    pub spins: bool,
    /// It enters a critical section that a compiler made of a reduction.
    pub combines: bool,
    /// The linkage name of the runtime's function that it calls, of a call into a runtime.
    pub calls: Option<String>,
    /// The function that it gives the runtime to run as the body of a construct.
    pub body: Option<FunctionId>,
}

/// A function, as its symbol says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its load object.
    pub module: ModuleId,
    /// Link-time address of its first instruction.
    pub address: u64,
    /// In bytes; 0 if the symbol does not say.
    pub size: u64,
    /// The symbol's name; `foo@plt` for a stub that leads to `foo`. Empty for a function that no
    /// symbol names: only its bounds are known.
    pub linkage: String,
    /// The name as its author wrote it: demangled, with parameters where the language has them.
    /// Without a symbol as [`static_name`] has it.
    pub name: String,
    /// The first row of its line table: its opening line, and for outlined functions of gcc the
    /// directive. `None` without debug information.
    pub source: Option<SourceLine>,
    /// For a function that a compiler made of an OpenMP construct: of which.
    pub outlined: Option<Outlined>,
}

impl Function {
    /// Whether a symbol names it, rather than its bounds.
    pub fn has_symbol(&self) -> bool {
        !self.linkage.is_empty()
    }
}

/// How [`static_name`] begins.
pub const STATIC: &str = "<static>@";

/// The name of code without a symbol, in the words of Sun's tools: by its first address and the
/// last part of its load object's path.
pub fn static_name(object: &str, address: u64) -> String {
    format!(
        "{STATIC}{address:#x} (<{}>)",
        object.trim_matches(['<', '>'])
    )
}

/// A line of a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceLine {
    /// The file.
    pub file: FileId,
    /// From 1.
    pub line: u32,
}

/// What a compiler made an outlined function of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlined {
    /// The construct.
    pub construct: Construct,
    /// The function that holds the directive, demangled; `None` if neither the symbol nor the
    /// debug information says (clang 14 and 16 without debug information).
    pub parent: Option<String>,
    /// Line of the directive.
    pub line: Option<u32>,
}

numbered! {
    /// The constructs that compilers outline.
    pub enum Construct {
        /// `parallel`, alone or combined.
        Parallel = 0,
        /// `task`, `taskloop`.
        Task = 1,
        /// `teams`.
        Teams = 2,
        /// A reduction's combiner.
        Reduction = 3,
    }
}

/// What is known of one frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameSymbol {
    /// The function by the symbol table.
    pub function: Option<FunctionId>,
    /// Source lines, innermost inlined function first; the last one is in `function` itself.
    pub lines: Vec<InlinedLine>,
}

/// A line, and the function that it was written in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlinedLine {
    /// Demangled name of the function, inlined or not; `None` if the debug information has none.
    pub function: Option<String>,
    /// The line.
    pub source: SourceLine,
}

/// An instruction of a function, as a disassembler has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Link-time address.
    pub address: u64,
    /// In bytes.
    pub length: u64,
    /// In GNU's syntax.
    pub text: String,
    /// Where it came from: the line, and the calls that were inlined there, innermost first.
    pub lines: Vec<InlinedLine>,
}
