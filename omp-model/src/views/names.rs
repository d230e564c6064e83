//! Names of rows.

mod short;

use std::borrow::Cow;

use experiment::ids::{ContextId, FrameId, ModuleId};
use experiment::linkage::{STUB, is_outlined, target_of, without_clone};
use experiment::symbols::{
    Construct, FileId, Function, FunctionId, InlinedLine, Outlined, SourceLine, SymbolTable,
    static_name,
};
use experiment::tables::{ContextKind, Cut, RuntimeKind, StackEntry, Tables};
use rustc_hash::FxHashMap;

use super::Code;
use crate::profile::{Callee, DisplayFrame, FrameKind};
use crate::rewrite::functions::{begins_thread, is_entry};
use crate::states::Pseudo;
use crate::{inlining, kernel};

pub(crate) use short::{in_file, split_file};
pub use short::{short, unqualified, without_parameters};

/// How much of a function's name is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameForm {
    /// Demangled, with parameters where the language has them.
    #[default]
    Long,
    /// Demangled, without what only compilers need: parameters, template arguments, symbols of
    /// constructs, suffixes of clones.
    Short,
    /// The mangled (linkage) name.
    Mangled,
}

/// How functions are named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NameStyle {
    /// The form of the name.
    pub form: NameForm,
    /// Whether the load object's name follows, as in `malloc [libc.so.6]`.
    pub soname: bool,
}

/// Gives the names of rows.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// The experiment's tables.
    pub tables: &'a Tables,
    /// Its symbols.
    pub symbols: &'a SymbolTable,
    /// How functions are named.
    pub style: NameStyle,
}

impl<'a> Names<'a> {
    /// The row's name.
    pub fn name(&self, callee: Callee) -> String {
        let name = match callee {
            Callee::Function(id) => match self.function(id) {
                // The name already contains the load object.
                Some(function) if !function.has_symbol() && function.outlined.is_none() => {
                    return function.name.clone();
                }
                Some(function) => self.function_name(function),
                None => Pseudo::Unknown.name().to_owned(),
            },
            Callee::Static(module, address) => {
                return static_name(self.object_name(module), address);
            }
            Callee::Pseudo(kind) => return kind.name().to_owned(),
            Callee::Construct(context) => self.construct_name(context),
            Callee::ParentOf(id) => self.parent_name(id),
            Callee::Cut(cut) => return cut_name(cut).to_owned(),
            Callee::Inlined(frame, line) => match self.inlined(frame, line) {
                Some(name) => self.in_form(name).into_owned(),
                None => Pseudo::Unknown.name().to_owned(),
            },
            // Hidden code outside of all load objects is unknown anyway.
            Callee::Object(ModuleId::NONE) => return Pseudo::Unknown.name().to_owned(),
            Callee::Object(module) if self.is_collector(module) => return COLLECTOR.to_owned(),
            Callee::Object(module) => {
                let name = self.object_name(module);
                return format!("<{}>", name.trim_matches(['<', '>', '[', ']']));
            }
            Callee::Kernel(entry) => {
                let function = entry.and_then(|id| self.function(id));
                return kernel_name(function.and_then(|it| kernel::reason(&it.name)));
            }
        };
        match self.module(callee) {
            Some(module) if self.style.soname => format!("{name} [{}]", self.object_name(module)),
            _ => name,
        }
    }

    /// Every name by which a user may request the row: the name shown; for a construct's body, the
    /// name without the compiler's symbol; for a function, its mangled, long and short names.
    pub fn forms(&self, callee: Callee) -> Vec<String> {
        let name = self.name(callee);
        let mut forms = Vec::new();
        if let Some(function) = self.function_of(callee) {
            if function.outlined.is_some() {
                let names = [NameForm::Long, NameForm::Short].map(|form| Names {
                    style: NameStyle {
                        form,
                        soname: false,
                    },
                    ..*self
                });
                let names = names.map(|names| names.function_name(function));
                let words = names.iter().filter_map(|name| name.rsplit_once(" ["));
                forms.extend(words.map(|(words, _)| words.to_owned()));
                forms.extend(names.clone());
            }
            forms.push(function.linkage.clone());
            forms.push(without_parameters(&function.name).to_owned());
            forms.push(function.name.clone());
        }
        if let Callee::Inlined(frame, line) = callee
            && let Some(whole) = self.inlined(frame, line)
        {
            forms.push(without_parameters(whole).to_owned());
            forms.push(whole.to_owned());
        }
        // The frame that hides a function unless its load object is shown.
        match self.module(callee) {
            Some(ModuleId::KERNEL) => {
                let function = self.function_of(callee);
                forms.extend(
                    function
                        .and_then(|it| kernel::reason(&it.name))
                        .map(|reason| kernel_name(Some(reason))),
                );
            }
            Some(module) if self.is_collector(module) => forms.push(COLLECTOR.to_owned()),
            _ => {}
        }
        forms.push(name);
        forms
    }

    /// The row's code; `None` if it has none of its own.
    pub fn code(&self, callee: Callee) -> Option<Code> {
        match callee {
            Callee::Function(id) => {
                let Function {
                    module,
                    address,
                    size,
                    ..
                } = *self.function(id)?;
                Some(Code {
                    module,
                    address,
                    size,
                })
            }
            Callee::Static(module, address) => Some(Code {
                module,
                address,
                size: 0,
            }),
            _ => None,
        }
    }

    /// The code of the function that an inlined function was inlined into.
    pub(super) fn code_around(&self, at: DisplayFrame) -> Option<Code> {
        let (function, _) = self.symbols.function_of(at.frame)?;
        self.code(Callee::Function(function))
    }

    /// An address as an offset in its function, with the function's short name: `foo + 0x00000012`.
    pub(super) fn offset(&self, frame: FrameId) -> Option<String> {
        let (_, function) = self.symbols.function_of(frame)?;
        let at = self.tables.frames.get(frame.0)?;
        let offset = at.address.wrapping_sub(function.address);
        let name = without_parameters(&function.name);
        Some(format!("{name} + 0x{offset:08x}"))
    }

    /// The function of a row, if its bounds are known.
    pub fn function_of(&self, callee: Callee) -> Option<&'a Function> {
        match callee {
            Callee::Function(id) => self.function(id),
            _ => None,
        }
    }

    /// The last part of a load object's path, `<Unknown>` for no object.
    pub fn object_name(&self, module: ModuleId) -> &'a str {
        match self.tables.modules.get(module.0) {
            Some(row) if !row.path.is_empty() => base_name(&row.path),
            _ => Pseudo::Unknown.name(),
        }
    }

    /// A line of the source file in which a function, or the body of a construct, is written: of one by itself the
    /// first.
    pub(super) fn written_at(&self, callee: Callee) -> Option<SourceLine> {
        let source = match callee {
            Callee::Function(id) => self.function(id)?.source?,
            Callee::Inlined(frame, line) => {
                let lines = &self.symbols.frame(frame).lines;
                lines.get(usize::from(line))?.source
            }
            Callee::Construct(context) => {
                let body = self.tables.contexts.get(context.0)?.body;
                self.symbols.function_of(body)?.1.source?
            }
            _ => return None,
        };
        Some(source)
    }

    /// The last part of the path of a source file.
    pub(super) fn file_name(&self, file: FileId) -> Option<&'a str> {
        let path = self.symbols.files.get(file.0 as usize)?;
        Some(base_name(path))
    }

    /// Whether a load object is our own library.
    fn is_collector(&self, module: ModuleId) -> bool {
        self.tables.runtime(module) == RuntimeKind::Collector
    }

    /// The name of the function that a line is written in.
    fn inlined(&self, frame: FrameId, line: u16) -> Option<&'a str> {
        let line = self.symbols.frame(frame).lines.get(usize::from(line))?;
        line.function.as_deref()
    }

    /// The source line of a frame: within an inlined function its own, within others the line of
    /// the call that is inlined there.
    pub fn source_of(&self, at: DisplayFrame) -> Option<SourceLine> {
        let lines = &self.symbols.frame(at.frame).lines;
        let line = match at.kind {
            FrameKind::Inlined(line) => usize::from(line),
            FrameKind::Called if self.code(at.callee).is_some() => {
                inlining::own_line(lines, self.is_body(at.callee))
            }
            FrameKind::Called => return self.directive(at),
        };
        let line = lines.get(line).map(|line| line.source);
        line.or_else(|| self.directive(at))
    }

    /// The line of an instruction of a function in the function itself, among its lines.
    pub(super) fn own_line<'l>(
        &self,
        callee: Callee,
        lines: &'l [InlinedLine],
    ) -> Option<&'l InlinedLine> {
        lines.get(inlining::own_line(lines, self.is_body(callee)))
    }

    /// The line of the directive, for a construct whose wait has no address.
    fn directive(&self, at: DisplayFrame) -> Option<SourceLine> {
        let function = self.function_of(at.callee)?;
        let line = function.outlined.as_ref()?.line?;
        let file = function.source?.file;
        (at.frame == FrameId::NONE).then_some(SourceLine { file, line })
    }

    /// Whether a row is a function that a compiler made of a construct.
    fn is_body(&self, callee: Callee) -> bool {
        let function = self.function_of(callee);
        function.is_some_and(|function| function.outlined.is_some())
    }

    /// The construct that a row is the body of, the function that holds its directive, and the
    /// directive's line.
    pub fn construct_of(
        &self,
        callee: Callee,
    ) -> Option<(Construct, Option<Cow<'a, str>>, Option<u32>)> {
        match callee {
            Callee::Function(id) => {
                let outlined = self.function(id)?.outlined.as_ref()?;
                let parent = outlined.parent.as_deref();
                Some((
                    outlined.construct,
                    parent.map(|name| self.in_form(name)),
                    outlined.line,
                ))
            }
            Callee::Construct(context) => {
                let (construct, parent, line) = self.construct(context);
                Some((construct, parent.map(|name| self.in_form(name)), line))
            }
            _ => None,
        }
    }

    fn in_form(&self, name: &'a str) -> Cow<'a, str> {
        in_form(name, self.style.form)
    }

    /// A map that merges equivalent callees into one row.
    pub fn canonical(&self) -> Canonical<'a> {
        Canonical {
            names: *self,
            wholes: Vec::new(),
            by_name: None,
            constructs: FxHashMap::default(),
            known: FxHashMap::default(),
        }
    }

    fn function(&self, id: FunctionId) -> Option<&'a Function> {
        self.symbols.functions.get(id.0 as usize)
    }

    fn module(&self, callee: Callee) -> Option<ModuleId> {
        match callee {
            Callee::ParentOf(id) => Some(self.function(id)?.module),
            Callee::Inlined(frame, _) => Some(self.tables.frames.get(frame.0)?.module),
            other => Some(self.code(other)?.module),
        }
    }

    fn function_name(&self, function: &Function) -> String {
        // Without a symbol its name is made from its address.
        let linkage = if function.has_symbol() {
            &function.linkage
        } else {
            &function.name
        };
        match (&function.outlined, self.style.form) {
            (_, NameForm::Mangled) => linkage.clone(),
            (Some(outlined), form) => outlined_name(outlined, linkage, form),
            (None, form) => match function.name.strip_suffix(STUB) {
                Some(function) => in_form(function, form).into_owned() + STUB,
                None => in_form(&function.name, form).into_owned(),
            },
        }
    }

    fn parent_name(&self, id: FunctionId) -> String {
        let function = self.function(id);
        match function.and_then(|function| function.outlined.as_ref()?.parent.as_deref()) {
            Some(parent) => in_form(parent, self.style.form).into_owned(),
            None => match function {
                Some(function) => format!("<caller of {}>", function.linkage),
                None => Pseudo::Unknown.name().to_owned(),
            },
        }
    }

    /// The call or jump into the runtime that made a construct. The call that its event recorded lies
    /// in another function if the one with the directive ended in a jump, and in no function of the
    /// program if the runtime itself created the task.
    pub fn call_of(&self, context: ContextId) -> Option<FrameId> {
        let context = self.tables.contexts.get(context.0)?;
        let Some(StackEntry::Frame(call)) = self.tables.walk(context.stack).next() else {
            return None;
        };
        if let Some(&jump) = self.symbols.jumps_between(call, context.body).last() {
            return (jump != FrameId::NONE).then_some(jump);
        }
        let fact = self.symbols.code_of(call);
        let named = fact.and_then(|fact| fact.calls.as_deref());
        let is_elsewhere = named.is_some_and(|name| !is_entry(name));
        let function = self.symbols.function_of(call);
        let starts = function.is_some_and(|(_, function)| begins_thread(&function.linkage));
        (self.is_user(call) && !is_elsewhere && !starts).then_some(call)
    }

    /// Whether a frame is in the program's own code. A function that ends with a tail call into the
    /// runtime is not on the stack then: the call's address is in a runtime or in our own library.
    pub(super) fn is_user(&self, frame: FrameId) -> bool {
        let module = self.tables.frames.get(frame.0).map(|at| at.module);
        let row = module.and_then(|module| self.tables.modules.get(module.0));
        row.is_some_and(|row| row.runtime == RuntimeKind::None)
    }

    /// The function that holds a call into the runtime: the inlined function, if it is in one.
    fn holder(&self, call: FrameId) -> Option<&'a str> {
        let symbol = self.symbols.frame(call);
        // A target region that is inlined there is no function of the source.
        let mut inlined = symbol.lines.split_last().map_or(&[][..], |it| it.1).iter();
        let names = inlined.by_ref().map_while(|line| line.function.as_deref());
        if let Some(name) = names.into_iter().find(|name| target_of(name).is_none())
            && !is_outlined(name)
        {
            return Some(name);
        }
        let (_, function) = self.symbols.function_of(call)?;
        Some(match &function.outlined {
            Some(outlined) => outlined.parent.as_deref().unwrap_or(&function.linkage),
            None => without_clone(&function.name),
        })
    }

    /// The function that holds a call into the runtime, if it is in the source, not
    /// compiler-generated.
    pub(super) fn written_holder(&self, call: FrameId) -> Option<&'a str> {
        self.holder(call).filter(|name| !is_outlined(name))
    }

    /// The line of the directive that a call into the runtime was made for. gcc gives such a call
    /// any line of the region, so for gcc the line is used only if a known body begins at it.
    pub fn directive_line(&self, call: FrameId) -> Option<u32> {
        if let Some(directive) = self.symbols.directive_of(call) {
            return Some(directive.line);
        }
        let line = self.symbols.frame(call).lines.first()?.source.line;
        let modules = self.tables.modules.rows();
        if modules.iter().all(|it| it.runtime != RuntimeKind::Gomp) {
            return Some(line);
        }
        let module = self.tables.frames.get(call.0)?.module;
        let begins_here = |function: &Function| {
            let own = function
                .outlined
                .as_ref()
                .and_then(|outlined| outlined.line);
            function.module == module && own == Some(line)
        };
        self.symbols
            .functions
            .iter()
            .any(begins_here)
            .then_some(line)
    }

    fn construct_name(&self, context: ContextId) -> String {
        let (construct, parent, line) = self.construct(context);
        let parent = parent.map(|name| self.in_form(name));
        construct_words(construct, parent.as_deref(), line)
    }

    fn construct(&self, context: ContextId) -> (Construct, Option<&'a str>, Option<u32>) {
        let kind = self
            .tables
            .contexts
            .get(context.0)
            .map(|context| context.kind);
        let construct = match kind {
            Some(ContextKind::Task) => Construct::Task,
            Some(ContextKind::Taskloop) => Construct::Taskloop,
            Some(ContextKind::Teams) => Construct::Teams,
            Some(ContextKind::Region | ContextKind::Root) | None => Construct::Parallel,
        };
        let call = self.call_of(context);
        let parent = call.and_then(|call| self.holder(call));
        let line = call.and_then(|call| self.directive_line(call));
        (construct, parent, line)
    }
}

/// `foo -- OMP parallel region from line 9`, without the parts that are unknown.
pub(super) fn construct_words(
    construct: Construct,
    parent: Option<&str>,
    line: Option<u32>,
) -> String {
    let what = match construct {
        Construct::Parallel => "OMP parallel region",
        Construct::Task => "OMP task",
        Construct::Taskloop => "OMP taskloop",
        Construct::Teams => "OMP teams",
        Construct::Reduction => "OMP reduction",
        Construct::Target => "OMP target region",
    };
    let parent = parent
        .map(|parent| format!("{parent} -- "))
        .unwrap_or_default();
    let line = line
        .map(|line| format!(" from line {line}"))
        .unwrap_or_default();
    format!("{parent}{what}{line}")
}

/// A construct's name; its symbol follows in the long form, and where nothing else tells what it is
/// of.
fn outlined_name(outlined: &Outlined, linkage: &str, form: NameForm) -> String {
    let parent = outlined.parent.as_deref().map(|name| in_form(name, form));
    let words = construct_words(outlined.construct, parent.as_deref(), outlined.line);
    if form == NameForm::Short && parent.is_some() {
        words
    } else {
        format!("{words} [{linkage}]")
    }
}

/// A function's name in a form.
pub(super) fn in_form(name: &str, form: NameForm) -> Cow<'_, str> {
    match form {
        NameForm::Short => short::short(name),
        NameForm::Long | NameForm::Mangled => Cow::Borrowed(name),
    }
}

/// The last part of a path.
pub fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The functions of our own library as one.
const COLLECTOR: &str = "<collector>";

/// The kernel's functions as one, with the reason of entry: `<kernel: page fault>`.
fn kernel_name(reason: Option<&str>) -> String {
    reason.map_or_else(
        || "<kernel>".to_owned(),
        |reason| format!("<kernel: {reason}>"),
    )
}

/// Whether a name stands for all functions of the kernel or of our own library, which are hidden
/// unless the user chooses.
pub fn is_hidden(name: &str) -> bool {
    name == COLLECTOR || name == "<kernel>" || name.starts_with("<kernel: ")
}

/// Sun's names for truncated stacks: the copied piece was too short, or unwinding failed.
const fn cut_name(cut: Cut) -> &'static str {
    match cut {
        Cut::DumpTooSmall | Cut::TooDeep => "<Truncated-stack>",
        Cut::NoUnwindInfo | Cut::NoModule | Cut::BadStack | Cut::NoUserStack => {
            "<Stack-unwind-failed>"
        }
    }
}

/// Merges equivalent callees into one row: a function that was restored to the stack is the
/// function itself, as are its clones and parts, and a construct at one code location is the same in every
/// context.
#[derive(Debug)]
pub struct Canonical<'a> {
    names: Names<'a>,
    /// By [`FunctionId`]: the function of which it is a clone or part, or itself. Made on first use.
    wholes: Vec<FunctionId>,
    by_name: Option<FxHashMap<(ModuleId, &'a str), FunctionId>>,
    constructs: FxHashMap<String, ContextId>,
    /// The representative context found by name, for each context.
    known: FxHashMap<ContextId, ContextId>,
}

impl Canonical<'_> {
    /// The row that a callee belongs to.
    pub fn of(&mut self, callee: Callee) -> Callee {
        match callee {
            Callee::Function(id) => Callee::Function(self.whole(id)),
            Callee::ParentOf(id) => {
                let parent = self.parent(id);
                parent.map_or(callee, |parent| Callee::Function(self.whole(parent)))
            }
            Callee::Construct(context) => {
                let names = self.names;
                let constructs = &mut self.constructs;
                let found = self.known.entry(context).or_insert_with(|| {
                    let name = names.construct_name(context);
                    *constructs.entry(name).or_insert(context)
                });
                Callee::Construct(*found)
            }
            Callee::Cut(Cut::TooDeep) => Callee::Cut(Cut::DumpTooSmall),
            Callee::Cut(Cut::NoModule | Cut::BadStack | Cut::NoUserStack) => {
                Callee::Cut(Cut::NoUnwindInfo)
            }
            other => other,
        }
    }

    fn whole(&mut self, id: FunctionId) -> FunctionId {
        if self.wholes.is_empty() {
            self.wholes = wholes(&self.names.symbols.functions);
        }
        self.wholes.get(id.0 as usize).copied().unwrap_or(id)
    }

    fn parent(&mut self, id: FunctionId) -> Option<FunctionId> {
        let function = self.names.function(id)?;
        let parent = function.outlined.as_ref()?.parent.as_deref()?;
        let functions = &self.names.symbols.functions;
        let by_name = self.by_name.get_or_insert_with(|| {
            let ids = (0..).map(FunctionId);
            ids.zip(functions)
                .filter(|(_, function)| function.outlined.is_none())
                .flat_map(|(id, function)| {
                    let name = function.name.as_str();
                    let short = without_parameters(name);
                    [
                        ((function.module, short), id),
                        ((function.module, name), id),
                    ]
                })
                .collect()
        });
        by_name.get(&(function.module, parent)).copied()
    }
}

/// Of each function, the one of which it is a clone or part: that has the same name in the source, the same file and
/// load object, and is no clone. Without such a one, it is the first of the clones. Copies of a static function of a
/// header are the first of them.
fn wholes(functions: &[Function]) -> Vec<FunctionId> {
    type Key<'a> = (ModuleId, &'a str, Option<FileId>);
    let is_clone = |function: &Function| without_clone(&function.linkage) != function.linkage;
    let ids = || (0..).map(FunctionId).zip(functions);
    // The first of a name, and whether another one is a function by itself, too.
    let mut known: FxHashMap<Key<'_>, (FunctionId, bool)> = FxHashMap::default();
    let key = |function: &'_ Function| {
        let file = function.source.map(|source| source.file);
        (function.module, file)
    };
    let mut by_itself = ids().filter(|(_, it)| it.has_symbol() && it.outlined.is_none());
    let mut clones = Vec::new();
    let mut wholes: Vec<FunctionId> = ids().map(|(id, _)| id).collect();
    for (id, function) in by_itself.by_ref() {
        let (module, file) = key(function);
        if is_clone(function) {
            clones.push((id, (module, function.name.as_str(), file)));
        } else {
            let entry = known.entry((module, function.name.as_str(), file));
            let (first, is_ambiguous) = entry.or_insert((id, false));
            let is_copy = functions[first.0 as usize].source == function.source && file.is_some();
            if is_copy {
                wholes[id.0 as usize] = *first;
            } else {
                *is_ambiguous |= *first != id;
            }
        }
    }
    for (id, key) in clones {
        let &mut (whole, is_ambiguous) = known.entry(key).or_insert((id, false));
        if !is_ambiguous {
            wholes[id.0 as usize] = whole;
        }
    }
    wholes
}

#[cfg(test)]
mod tests;
