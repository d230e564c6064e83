//! Names for addresses. They are resolved once, at the end of a recording or by a reader of one
//! that was cut short, and stored with it, so that a report opens at once and on another machine.

use std::borrow::Cow;

use untrusted::printable;

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
    /// The MD5 digests of their contents as recorded, sorted: of those that could be read then, and one
    /// of each experiment.
    pub digests: Vec<(FileId, [u8; 16])>,
    /// Functions that hold a frame, and the parents of outlined ones.
    pub functions: Vec<Function>,
    /// By [`FrameId`]; frames beyond its end are unresolved.
    pub frames: Vec<FrameSymbol>,
    /// Load objects whose symbols could not be read, and why, as a clause.
    pub misses: Vec<(ModuleId, String)>,
    /// The kind of barrier of each call in [`State::Barrier`](crate::state::State::Barrier),
    /// sorted
    /// by frame.
    pub barriers: Vec<(FrameId, Barrier)>,
    /// The directives of calls that begin or end worksharing constructs, as far as the sources tell,
    /// sorted by frame. Compilers give such calls other lines too.
    pub directives: Vec<(FrameId, Directive)>,
    /// The directives of regions that are one loop or sections, by their outlined functions, sorted.
    pub loop_bodies: Vec<(FunctionId, Directive)>,
    /// The names of mutexes, sorted by frame: of a variable, by its address; else what the call that
    /// initialised the mutex was given, as the source spells it.
    pub lock_names: Vec<(FrameId, String)>,
    /// Facts read from machine code, sorted by frame; frames without any have no row.
    pub code: Vec<(FrameId, CodeFact)>,
    /// Functions that left the stacks by jumps, sorted by caller and callee.
    pub jumps: Vec<Jump>,
}

/// Functions that were called but are on no stack, because each of them ended in a jump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jump {
    /// The call of the first of them, or the body, by its first byte, that jumped to the first of them.
    pub caller: FrameId,
    /// The frame that the last of them jumped to. For the call of a calling context: the body that
    /// was passed to the runtime; [`FrameId::NONE`] if unknown.
    pub callee: FrameId,
    /// Their jumps, the outermost first. An address is that of a jump's last byte or, of a function
    /// with several jumps, of its first byte. [`FrameId::NONE`] stands for functions that are not known.
    pub frames: Vec<FrameId>,
}

impl SymbolTable {
    /// Makes all names text that a terminal shows and never obeys, as reading an experiment does.
    pub fn make_printable(&mut self) {
        let functions = self.functions.iter_mut().flat_map(|function| {
            let outlined = function.outlined.as_mut();
            let parent = outlined.and_then(|it| it.parent.as_mut());
            [&mut function.linkage, &mut function.name]
                .into_iter()
                .chain(parent)
        });
        let misses = self.misses.iter_mut().map(|miss| &mut miss.1);
        let locks = self.lock_names.iter_mut().map(|lock| &mut lock.1);
        let calls = self
            .code
            .iter_mut()
            .filter_map(|code| code.1.calls.as_mut());
        let names = self.files.iter_mut().chain(functions).chain(misses);
        names.chain(locks).chain(calls).for_each(make_printable);
        let lines = self.frames.iter_mut().flat_map(|frame| &mut frame.lines);
        lines.for_each(InlinedLine::make_printable);
    }

    /// Whether contents with this digest are those of a source file when it was recorded; `None` if it
    /// could not be read then.
    pub fn is_recorded(&self, file: FileId, digest: [u8; 16]) -> Option<bool> {
        let mut of_file = self.digests.iter().filter(|it| it.0 == file).peekable();
        of_file.peek()?;
        Some(of_file.any(|it| it.1 == digest))
    }

    /// The symbol of a frame; an empty one for a frame that is not in the table.
    pub fn frame(&self, frame: FrameId) -> &FrameSymbol {
        static UNRESOLVED: FrameSymbol = FrameSymbol {
            function: None,
            lines: Vec::new(),
        };
        self.frames.get(frame.index()).unwrap_or(&UNRESOLVED)
    }

    /// The facts read from the machine code at a frame.
    pub fn code_of(&self, frame: FrameId) -> Option<&CodeFact> {
        let at = self.code.binary_search_by_key(&frame, |row| row.0).ok()?;
        Some(&self.code[at].1)
    }

    /// The directive of a call that begins or ends a worksharing construct.
    pub fn directive_of(&self, call: FrameId) -> Option<Directive> {
        let at = self.directives.binary_search_by_key(&call, |row| row.0);
        Some(self.directives[at.ok()?].1)
    }

    /// The name of a mutex, by its variable or by the call that initialised it.
    pub fn lock_name(&self, of: FrameId) -> Option<&str> {
        let at = self
            .lock_names
            .binary_search_by_key(&of, |row| row.0)
            .ok()?;
        Some(&self.lock_names[at].1)
    }

    /// The directive of a region that is one loop or sections, by its outlined function.
    pub fn loop_of(&self, body: FunctionId) -> Option<Directive> {
        let at = self.loop_bodies.binary_search_by_key(&body, |row| row.0);
        Some(self.loop_bodies[at.ok()?].1)
    }

    /// The functions that left the stack by jumps between a frame and what it seems to have called.
    pub fn jumps_between(&self, caller: FrameId, callee: FrameId) -> &[FrameId] {
        let key = |jump: &Jump| (jump.caller, jump.callee);
        match self.jumps.binary_search_by_key(&(caller, callee), key) {
            Ok(at) => &self.jumps[at].frames,
            Err(_) => &[],
        }
    }

    /// The function that holds a frame.
    pub fn function_of(&self, frame: FrameId) -> Option<(FunctionId, &Function)> {
        let id = self.frame(frame).function?;
        Some((id, self.functions.get(id.0 as usize)?))
    }
}

/// The directive of a worksharing construct in its source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directive {
    /// Its first line.
    pub line: u32,
    /// The last line of the statement below it; the directive's own if that is unknown.
    pub last: u32,
    /// The construct.
    pub construct: Workshare,
    /// Of a call: which of its lines ([`FrameSymbol::lines`]) is in the directive's function.
    pub level: u32,
    /// Of a call: whether its lines are not the directive's, which is the nearest of its kind. It is
    /// inferred.
    pub is_nearest: bool,
}

numbered! {
    /// Worksharing constructs, by the words of directives.
    pub enum Workshare {
        /// `for` and `do`, alone or combined; `distribute`.
        Loop = 0,
        /// `sections`.
        Sections = 1,
        /// `single`.
        Single = 2,
        /// `taskloop`.
        Taskloop = 3,
    }
}

/// Facts read from the machine code at a frame's address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeFact {
    /// Whether it lies in a loop that does nothing but wait for another thread.
    pub spins: bool,
    /// Whether it enters a critical section that a compiler generated for a reduction.
    pub combines: bool,
    /// Of what kind the instruction before it is, whose time a sample there stands for, if threads can contend
    /// for its memory.
    pub contention: Option<Contention>,
    /// For a call that led into a runtime, the linkage name of the function called: of the runtime, or
    /// of one that ended in a jump there.
    pub calls: Option<String>,
    /// Of a call: the function that it passes to the runtime as the body of a construct. Of a body that
    /// only jumps to the body of another construct, with the same code: that one.
    pub body: Option<FunctionId>,
}

/// Why threads contend for the memory of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Contention {
    /// It is an atomic operation.
    Atomic,
    /// In a loop it writes to an element that the thread's number chooses, less than a cache line from the
    /// next thread's.
    Neighbours,
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
    /// The symbol's name; `foo@plt` for a stub that leads to `foo`. Empty for a function
    /// without a
    /// symbol, of which only the bounds are known.
    pub linkage: String,
    /// The name as its author wrote it: demangled, with parameters where the language has them.
    /// Without a symbol, [`static_name`].
    pub name: String,
    /// The first row of its line table: its opening line, and for outlined functions of gcc the
    /// directive. `None` without debug information.
    pub source: Option<SourceLine>,
    /// The construct that a compiler outlined it from, if any.
    pub outlined: Option<Outlined>,
}

impl Function {
    /// Whether it has a symbol.
    pub fn has_symbol(&self) -> bool {
        !self.linkage.is_empty()
    }
}

/// The beginning of a [`static_name`].
pub const STATIC: &str = "<static>@";

/// The name of code without a symbol, as Sun's tools write it: its first address, and the last part
/// of its load object's path.
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
    /// The line, from 1.
    pub line: u32,
}

/// The construct that an outlined function was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlined {
    /// The construct.
    pub construct: Construct,
    /// The function that holds the directive, demangled; `None` if neither the symbol nor the
    /// debug information names it (clang 14 and 16 without debug information).
    pub parent: Option<String>,
    /// Line of the directive.
    pub line: Option<u32>,
}

numbered! {
    /// The constructs that compilers outline.
    pub enum Construct {
        /// `parallel`, alone or combined.
        Parallel = 0,
        /// `task`, and `taskloop` where nothing tells the two apart.
        Task = 1,
        /// `teams`.
        Teams = 2,
        /// A reduction's combiner.
        Reduction = 3,
        /// `target` that ran on the host, alone or combined.
        Target = 4,
        /// `taskloop`.
        Taskloop = 5,
    }
}

impl Construct {
    /// Whether explicit tasks execute its body.
    pub const fn is_task(self) -> bool {
        matches!(self, Construct::Task | Construct::Taskloop)
    }
}

numbered! {
    /// What a call of the runtime's barrier is to the author.
    pub enum Barrier {
        /// Neither source nor line table tells. Shown as implicit, the more frequent kind.
        Unknown = 0,
        /// The end of a construct.
        Implicit = 1,
        /// A `barrier` directive.
        Explicit = 2,
    }
}

/// The function and the source lines of a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameSymbol {
    /// The function by the symbol table.
    pub function: Option<FunctionId>,
    /// Source lines, innermost inlined function first; the last one is in `function` itself.
    pub lines: Vec<InlinedLine>,
}

/// A line, and the function in which it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlinedLine {
    /// Demangled name of the function, inlined or not; `None` if the debug information has none.
    pub function: Option<String>,
    /// The line.
    pub source: SourceLine,
}

impl InlinedLine {
    /// Makes the function's name text that a terminal shows and never obeys.
    pub fn make_printable(&mut self) {
        self.function.iter_mut().for_each(make_printable);
    }
}

fn make_printable(name: &mut String) {
    if let Cow::Owned(shown) = printable(name) {
        *name = shown;
    }
}

/// A disassembled instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Link-time address.
    pub address: u64,
    /// In bytes.
    pub length: u64,
    /// In GNU syntax.
    pub text: String,
    /// Its source lines, innermost inlined function first.
    pub lines: Vec<InlinedLine>,
}
