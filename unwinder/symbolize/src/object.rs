//! Resolves the frames of one load object.

use std::collections::{BTreeMap, HashSet};

use experiment::ids::{FrameId, ModuleId};
use experiment::linkage::{construct_of, is_outlined, parent_of};
use experiment::symbols::{
    FrameSymbol, Function, FunctionId, InlinedLine, Outlined, SourceLine, static_name,
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
    /// Its functions without a name that are bodies of constructs, by address.
    bodies: BTreeMap<u64, Body>,
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
        }
    }

    /// Resolves frames at their addresses. Returns what the symbols lack if a frame has no name.
    pub(crate) fn resolve(&mut self, wanted: &[(FrameId, u64)]) -> Option<String> {
        let mut nameless = false;
        for &(id, address) in wanted {
            let function = self.symbols.code(address);
            nameless |= function.as_ref().is_none_or(|found| found.name.is_empty());
            self.builder.table.frames[id.index()] = FrameSymbol {
                function: function.as_ref().map(|function| self.function(function)),
                lines: self.lines(address, function.as_ref()),
            };
        }
        let miss = self.symbols.misses().first().filter(|_| nameless)?;
        Some(miss.to_string())
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
        let line = |location: Location| {
            Some(InlinedLine {
                source: self.builder.line(location.file?, location.line?),
                function: location.function.map(|name| self.builder.demangle(&name)),
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
        let first = self.locations(function.start).pop();
        let source = first.and_then(|first| Some(self.builder.line(first.file?, first.line?)));
        let (mut outlined, parent) = self.outlined(function);
        let mut name = self.name_of(function);
        if let Some(internal) = self.internal(function, source) {
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
        // A tail call may have removed the parent from every stack. Its symbol is kept, so that the
        // rewriting can add it.
        if let Some(parent) = parent {
            self.function(&parent);
        }
        id
    }

    fn name_of(&mut self, function: &ElfFunction) -> String {
        match function.name.as_str() {
            "" => static_name(self.name, function.start),
            linkage => self.builder.demangle(linkage),
        }
    }

    /// The name of a Fortran internal procedure with its scopes, or of the one that holds the
    /// construct of an outlined function.
    fn internal(&self, function: &ElfFunction, source: Option<SourceLine>) -> Option<String> {
        let path = self.builder.path(source?.file);
        if !names::is_internal(&function.name) || !is_fortran(path) {
            return None;
        }
        let mut scopes = self.symbols.scopes(function.start)?;
        // The body of a construct stands in the procedure that holds its directive.
        scopes.truncate(scopes.len() - usize::from(is_outlined(&function.name)));
        (!scopes.is_empty()).then(|| scopes.join("::"))
    }

    /// The construct that a function was outlined from, and the function that holds the construct.
    fn outlined(&mut self, function: &ElfFunction) -> (Option<Outlined>, Option<ElfFunction>) {
        if let Some(body) = self.bodies.get(&function.start).cloned() {
            let outlined = Outlined {
                construct: body.construct,
                parent: Some(self.name_of(&body.parent)),
                line: None,
            };
            return (Some(outlined), Some(body.parent));
        }
        let Some(construct) = construct_of(&function.name) else {
            return (None, None);
        };
        let (parent, line) = match self.symbols.origin(function.start) {
            Some(origin) => (origin.parent, origin.line),
            None => (parent_of(&function.name).map(str::to_owned), None),
        };
        let outlined = Outlined {
            construct,
            parent: parent.as_deref().map(|name| self.builder.demangle(name)),
            line,
        };
        (
            Some(outlined),
            parent.and_then(|name| self.symbols.named(&name)),
        )
    }

    /// Finds out from the machine code what it tells of frames.
    pub(crate) fn read_code(&mut self, user: &UserFrames, wanted: &[(FrameId, u64)]) {
        let symbols = self.symbols;
        let frames = wanted.iter().copied();
        let called = frames.clone().filter(|&(frame, _)| user.is_called(frame));
        let nameless: HashSet<u64> = called
            .filter_map(|(_, address)| symbols.code(address))
            .filter(|function| function.name.is_empty())
            .map(|function| function.start)
            .collect();
        self.bodies = code::bodies(symbols, &nameless);
        let forks = frames.clone().filter(|&(frame, _)| user.is_fork(frame));
        let mut arguments = BodyArguments::new(symbols);
        let given: Vec<_> = forks
            .filter_map(|(frame, address)| Some((frame, arguments.at(address)?)))
            .collect();
        let mut facts = code::facts(user, symbols, frames);
        for (_, (function, body)) in &given {
            if function.name.is_empty() {
                let known = self.bodies.entry(function.start);
                known.or_insert_with(|| body.clone());
            }
        }
        for (frame, (function, _)) in given {
            facts.entry(frame).or_default().body = Some(self.function(&function));
        }
        self.builder.table.code.extend(facts);
    }
}

/// clang wraps the body of a construct in up to two more functions (`X.omp_outlined` around
/// `X.omp_outlined_debug__`, `.omp_task_entry.` around `.omp_outlined.`). If they are inlined into
/// each other, they count as one function: that of the symbol, at the body's line.
fn join_outlined(locations: &mut Vec<Location>, holder: &str) {
    while let [.., inner, _] = locations.as_slice()
        && inner.function.as_deref().is_some_and(is_outlined)
    {
        locations.pop();
    }
    if let Some(body) = locations.last_mut() {
        body.function = Some(holder.to_owned());
    }
}

/// Whether a load object is a part of the C library (glibc or musl).
fn is_c_library(object: &str) -> bool {
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
