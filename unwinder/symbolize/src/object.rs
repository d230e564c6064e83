//! Resolves the frames of one load object.

use std::collections::{BTreeMap, HashSet};

use experiment::ids::{FrameId, ModuleId};
use experiment::linkage::{
    Compiler, construct_of, is_outlined, outlining_compiler, parent_of, part_of, target_of,
};
use experiment::symbols::{
    Construct, FrameSymbol, Function, FunctionId, InlinedLine, Outlined, static_name,
};
use rustc_hash::FxHashMap;

use crate::builder::TableBuilder;
use crate::code::{self, Body, BodyArguments, UserFrames};
use crate::debuginfo::Location;
use crate::directives::is_fortran;
use crate::names;
use crate::symbols::{ElfFunction, Symbols};

/// Resolves the frames of one load object.
pub(crate) struct ObjectResolver<'a> {
    builder: &'a mut TableBuilder,
    module: ModuleId,
    /// The last part of its path.
    name: &'a str,
    symbols: &'a Symbols,
    /// By address.
    functions: FxHashMap<u64, FunctionId>,
    /// Its functions that are bodies of constructs, by address.
    bodies: BTreeMap<u64, Body>,
    /// The bodies of target regions that are inlined everywhere, by linkage name.
    inlined: FxHashMap<String, FunctionId>,
    /// Calls that pass a body to the runtime, and that body.
    passed: Vec<(FrameId, ElfFunction)>,
}

impl<'a> ObjectResolver<'a> {
    pub(crate) fn new(
        builder: &'a mut TableBuilder,
        module: ModuleId,
        path: &'a str,
        symbols: &'a Symbols,
    ) -> Self {
        ObjectResolver {
            builder,
            module,
            name: path.rsplit('/').next().unwrap_or(path),
            symbols,
            functions: FxHashMap::default(),
            bodies: BTreeMap::new(),
            inlined: FxHashMap::default(),
            passed: Vec::new(),
        }
    }

    /// Resolves frames at their addresses. Returns what the symbols lack if a frame has no name, or no
    /// lines although there is debug information.
    pub(crate) fn resolve(
        &mut self,
        wanted: &[(FrameId, u64)],
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Option<String> {
        let mut nameless = false;
        for &(id, address) in wanted.iter().take_while(|_| goes_on()) {
            let function = self.symbols.code(address);
            nameless |= function.as_ref().is_none_or(|found| found.name.is_empty());
            self.builder.table.frames[id.index()] = FrameSymbol {
                function: function.as_ref().map(|function| self.function(function)),
                lines: self.lines(address, function.as_ref()),
            };
        }
        let nameless = self.symbols.misses().first().filter(|_| nameless);
        let misses = nameless
            .cloned()
            .into_iter()
            .chain(self.symbols.debug_miss());
        let clauses: Vec<String> = misses.map(|miss| miss.to_string()).collect();
        (!clauses.is_empty()).then(|| clauses.join("; "))
    }

    /// The lines of the instruction at `address` of a function, innermost inlined function first.
    pub(crate) fn lines(
        &mut self,
        address: u64,
        function: Option<&ElfFunction>,
    ) -> Vec<InlinedLine> {
        let mut locations = self.locations(address);
        if let Some(holder) = function.filter(|function| is_outlined(&function.name)) {
            join_outlined(&mut locations, &holder.name);
        }
        join_targets(&mut locations);
        for location in &locations {
            if let Some(name) = &location.function {
                self.inlined_target(name, address);
            }
        }
        let line = |location: Location| {
            let file = location.file?;
            let function = location.function;
            let function = function.map(|name| self.written(&name, Some(&file), address));
            Some(InlinedLine {
                source: self.builder.line(file, location.line?),
                function,
            })
        };
        locations.into_iter().filter_map(line).collect()
    }

    /// The code locations of an instruction. None in the C library: hardly a machine has its sources,
    /// and where its debug information is installed, reading that would take most of the time at the
    /// end of a recording.
    fn locations(&self, address: u64) -> Vec<Location> {
        if is_c_library(self.name) {
            return Vec::new();
        }
        self.symbols.locations(address)
    }

    fn function(&mut self, function: &ElfFunction) -> FunctionId {
        if let Some(&known) = self.functions.get(&function.start) {
            return known;
        }
        let (mut outlined, parent) = self.outlined(function);
        let first = self.locations(function.start).pop();
        // flang gives the first instruction of an outlined function no line.
        let line = outlined.as_ref().and_then(|it| it.line);
        let source = first.and_then(|first| {
            let line = first.line.filter(|&line| line > 0).or(line)?;
            Some(self.builder.line(first.file?, line))
        });
        let mut name = self.name_of(function);
        if let Some(internal) = self.internal(function) {
            match &mut outlined {
                Some(outlined) => outlined.parent = Some(internal),
                None => name = internal,
            }
        }
        let id = self.builder.function(Function {
            module: self.module,
            address: function.start,
            size: function.size,
            linkage: function.name.clone(),
            name,
            source,
            outlined,
        });
        self.functions.insert(function.start, id);
        let other = self.other_line(function).filter(|&line| line > 0);
        self.builder
            .other_lines
            .extend(other.map(|line| (id, line)));
        // A tail call may have removed the parent from every stack, and only a part of a function may
        // be on one. The symbols are kept, so that the rewriting can show them.
        let whole = part_of(&function.name).and_then(|name| self.symbols.named(name));
        for other in [parent, whole].into_iter().flatten() {
            self.function(&other);
        }
        id
    }

    fn name_of(&mut self, function: &ElfFunction) -> String {
        match function.name.as_str() {
            "" => static_name(self.name, function.start),
            linkage => {
                let file = self.locations(function.start).pop().and_then(|it| it.file);
                self.written(linkage, file.as_deref(), function.start)
            }
        }
    }

    /// The name in the source of a function of a source file, if that is known. `address` is its code's.
    fn written(&mut self, linkage: &str, file: Option<&str>, address: u64) -> String {
        let is_fortran = file.map_or(self.symbols.has_fortran(), is_fortran);
        let name = self.builder.written(linkage, is_fortran);
        match file {
            // Debug information names a procedure within another one without that, where it is inlined.
            Some(_) if is_fortran && linkage == name => {
                self.symbols.contained(address, linkage).unwrap_or(name)
            }
            _ => name,
        }
    }

    /// The name of a function within another one, with its scopes, or of the one that holds the
    /// construct of an outlined function.
    fn internal(&self, function: &ElfFunction) -> Option<String> {
        if !names::is_internal(&function.name) {
            return None;
        }
        let scopes = self.symbols.scopes(function.start)?;
        // A number is given to other functions, too.
        (scopes.len() > 1).then(|| scopes.join("::"))
    }

    /// The construct that a function was outlined from, and the function that holds the construct.
    fn outlined(&mut self, function: &ElfFunction) -> (Option<Outlined>, Option<ElfFunction>) {
        let body = self.bodies.get(&function.start).cloned();
        if function.name.is_empty() {
            let Some(body) = body else {
                return (None, None);
            };
            let Some(parent) = body.parent() else {
                return (None, None);
            };
            let outlined = Outlined {
                construct: body.construct,
                parent: Some(self.name_of(parent)),
                line: None,
            };
            return (Some(outlined), Some(parent.clone()));
        }
        let Some(named) = construct_of(&function.name) else {
            return (None, None);
        };
        let origin = self.symbols.origin(function.start).unwrap_or_default();
        let construct = match body {
            _ if origin.target => Construct::Target,
            Some(body) if matches!(named, Construct::Parallel | Construct::Task) => body.construct,
            _ => named,
        };
        // clang before 19 does not name the function that holds the directive.
        let parent = parent_of(&function.name).map(str::to_owned);
        let parent = parent
            .or_else(|| self.holder(function, MOST))
            .or(origin.parent);
        let outlined = Outlined {
            construct,
            parent: parent.as_deref().map(|name| {
                let file = self.locations(function.start).pop().and_then(|it| it.file);
                self.written(name, file.as_deref(), function.start)
            }),
            line: self.combined(function).or(origin.line),
        };
        (
            Some(outlined),
            parent.and_then(|name| self.symbols.named(&name)),
        )
    }

    /// The linkage name of the function that holds the directive of an outlined function: the one in
    /// which the body is passed to the runtime. `most` bounds the levels of nesting.
    fn holder(&self, outlined: &ElfFunction, most: usize) -> Option<String> {
        let body = self.bodies.get(&outlined.start)?;
        let mut names = body
            .calls
            .iter()
            .map(|(function, call)| self.holder_of_call(function, *call, most));
        let first = names.next()??;
        names
            .all(|other| other.as_ref() == Some(&first))
            .then_some(first)
    }

    /// The linkage name of the function of the source that holds a call: where the debug information
    /// tells, the one that is inlined there.
    fn holder_of_call(&self, function: &ElfFunction, call: u64, most: usize) -> Option<String> {
        let written = self.locations(call).into_iter().find_map(|location| {
            let name = location.function?;
            if is_outlined(&name) {
                parent_of(&name).map(str::to_owned)
            } else {
                Some(name)
            }
        });
        written.or_else(|| {
            if !is_outlined(&function.name) {
                return Some(function.name.clone()).filter(|name| !name.is_empty());
            }
            let named = parent_of(&function.name).map(str::to_owned);
            named.or_else(|| self.holder(function, most.checked_sub(1)?))
        })
    }

    /// Another line for the construct of an outlined function: flang's has that of the call that passes
    /// it to the runtime, gcc's in a target region that of the region.
    fn other_line(&self, function: &ElfFunction) -> Option<u32> {
        let (around, call) = self.bodies.get(&function.start)?.calls.first()?;
        match outlining_compiler(&function.name)? {
            Compiler::Flang => self.locations(*call).first()?.line,
            Compiler::Gcc => {
                let outer = self.bodies.get(&around.start)?;
                let is_target = outer.construct == Construct::Target;
                is_target.then(|| self.symbols.origin(around.start)?.line)?
            }
            Compiler::Clang => None,
        }
    }

    /// The line of the directive of a construct that g++ combined with the one around it
    /// (`target parallel for`). It gives the inner construct the line at which the loop ends. No
    /// directive is below a line of its body.
    fn combined(&self, function: &ElfFunction) -> Option<u32> {
        let line = self.symbols.origin(function.start)?.line?;
        let (around, _) = self.bodies.get(&function.start)?.calls.first()?;
        let outer = self.symbols.origin(around.start)?.line?;
        let least = self.symbols.least_line(function, outer)?;
        (least < line).then_some(outer)
    }

    /// Makes the body of a target region a function, although it is inlined where it is called.
    fn inlined_target(&mut self, name: &str, address: u64) {
        let Some((parent, line)) = target_of(name) else {
            return;
        };
        if let Some(function) = self.symbols.named(name) {
            self.function(&function);
            return;
        }
        if self.inlined.contains_key(name) {
            return;
        }
        let outlined = Outlined {
            construct: Construct::Target,
            parent: Some(self.written(parent, None, address)),
            line: Some(line),
        };
        let file = self.locations(address).into_iter().find_map(|location| {
            let own = location.function.as_deref()?.starts_with(name);
            own.then_some(location.file?)
        });
        let source = file.map(|file| self.builder.line(file, line));
        let id = self.builder.function(Function {
            module: self.module,
            address,
            size: 0,
            linkage: name.to_owned(),
            name: name.to_owned(),
            source,
            outlined: Some(outlined),
        });
        self.inlined.insert(name.to_owned(), id);
    }

    /// Finds the bodies of constructs, if one of the frames is in such a function or passes one to
    /// the runtime.
    pub(crate) fn find_bodies(
        &mut self,
        user: &UserFrames,
        wanted: &[(FrameId, u64)],
        goes_on: &mut dyn FnMut() -> bool,
    ) {
        let symbols = self.symbols;
        let mut any = false;
        let mut functions = HashSet::new();
        for &(frame, address) in wanted.iter().take_while(|_| goes_on()) {
            any |= user.is_fork(frame);
            let Some(function) = symbols.code(address) else {
                continue;
            };
            any |= is_outlined(&function.name);
            if function.name.is_empty() && user.is_called(frame) {
                functions.insert(function.start);
            }
        }
        if any {
            let outlined = symbols.functions().filter(|it| is_outlined(&it.name));
            functions.extend(outlined.map(|function| function.start));
        }
        self.bodies = code::bodies(symbols, &functions);
        let forks = wanted.iter().filter(|(frame, _)| user.is_fork(*frame));
        let mut arguments = BodyArguments::new(symbols);
        for &(frame, address) in forks.take_while(|_| goes_on()) {
            if let Some((function, body)) = arguments.at(address) {
                self.bodies.entry(function.start).or_insert(body);
                self.passed.push((frame, function));
            }
        }
    }

    /// Finds out from the machine code what it tells of frames.
    pub(crate) fn read_code(
        &mut self,
        user: &UserFrames,
        wanted: &[(FrameId, u64)],
        goes_on: &mut dyn FnMut() -> bool,
    ) {
        let frames = wanted.iter().copied().take_while(|_| goes_on());
        let mut facts = code::facts(user, self.symbols, frames);
        for (frame, function) in std::mem::take(&mut self.passed) {
            facts.entry(frame).or_default().body = Some(self.function(&function));
        }
        for &(frame, address) in wanted.iter().filter(|(frame, _)| user.is_called(*frame)) {
            if self.bodies.contains_key(&address)
                && let Some(other) = code::folded_into(self.symbols, address)
                && self.bodies.contains_key(&other.start)
            {
                facts.entry(frame).or_default().body = Some(self.function(&other));
            }
        }
        self.builder.table.code.extend(facts);
    }
}

/// Constructs are rarely nested more deeply.
const MOST: usize = 16;

/// clang wraps the body of a construct in up to two more functions (`X.omp_outlined` around
/// `X.omp_outlined_debug__`, `.omp_task_entry.` around `.omp_outlined.`). If they are inlined into
/// each other, they count as one function: that of the symbol, at the body's line. A target region is
/// a construct of its own, except in the task that was made for it.
fn join_outlined(locations: &mut Vec<Location>, holder: &str) {
    let wraps = target_of(holder).is_some() || holder.contains(".omp_task_entry.");
    while let [.., inner, _] = locations.as_slice()
        && let Some(name) = inner.function.as_deref()
        && is_outlined(name)
        && (wraps || target_of(name).is_none())
    {
        locations.pop();
    }
    if let Some(body) = locations.last_mut() {
        body.function = Some(holder.to_owned());
    }
}

/// With debug information clang makes two functions of a target region, too. The inner one has the
/// line.
fn join_targets(locations: &mut Vec<Location>) {
    let position = |location: &Location| target_of(location.function.as_deref()?).map(own);
    fn own((parent, line): (&str, u32)) -> (String, u32) {
        (parent.to_owned(), line)
    }
    locations.dedup_by(|outer, inner| {
        let same = position(outer).is_some() && position(outer) == position(inner);
        if same {
            inner.function = outer.function.take();
        }
        same
    });
}

/// Whether a load object is a part of the C library (glibc or musl).
pub(crate) fn is_c_library(object: &str) -> bool {
    let names = [
        "libc.",
        "libc-",
        "libm.",
        "libpthread",
        "librt.",
        "libdl.",
        "ld-linux",
        "ld-musl",
    ];
    names.iter().any(|name| object.starts_with(name)) && object.contains(".so")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(function: &str, line: u32) -> Location {
        Location {
            function: Some(function.to_owned()),
            file: Some("a.c".to_owned()),
            line: Some(line),
        }
    }

    #[test]
    fn wrappers_of_one_construct_are_one_function() {
        let mut rows = vec![
            row("add", 3),
            row("foo.omp_outlined_debug__", 12),
            row("foo.omp_outlined", 10),
        ];
        join_outlined(&mut rows, "foo.omp_outlined");
        assert_eq!(rows, [row("add", 3), row("foo.omp_outlined", 12)]);
        let mut rows = vec![row(".omp_outlined.", 7), row(".omp_task_entry.", 6)];
        join_outlined(&mut rows, ".omp_task_entry.");
        assert_eq!(rows, [row(".omp_task_entry.", 7)]);
        let mut rows = vec![row("add", 3), row("foo._omp_fn.0", 12)];
        join_outlined(&mut rows, "foo._omp_fn.0");
        assert_eq!(rows, [row("add", 3), row("foo._omp_fn.0", 12)]);
    }

    #[test]
    fn the_c_library_is_known_by_its_files() {
        for name in [
            "libc.so.6",
            "libm.so.6",
            "ld-linux-x86-64.so.2",
            "ld-musl-x86_64.so.1",
        ] {
            assert!(is_c_library(name), "{name}");
        }
        for name in [
            "libcollector.so",
            "libc++.so.1",
            "libmkl_rt.so.2",
            "libc.o",
            "libdlib.so.19",
        ] {
            assert!(!is_c_library(name), "{name}");
        }
    }
}
