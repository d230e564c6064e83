//! The program's own code on stacks: what advice names, because its author can change it.

use std::collections::BTreeMap;

use experiment::ids::ModuleId;
use experiment::symbols::{FileId, SourceLine};
use experiment::tables::{Module, RuntimeKind};
use rustc_hash::FxHashMap;

use super::locations::ConstructLocation;
use crate::profile::{Callee, DisplayFrame, Path, PathId, Profile};
use crate::views::names::{Names, base_name, short};

/// Libraries of compilers, of the C library and of MPI, wherever they lie.
const LIBRARIES: [&str; 27] = [
    "ld-",
    "libc.",
    "libc-",
    "libm.",
    "libm-",
    "libmvec",
    "libpthread",
    "librt",
    "libdl",
    "libgcc_s",
    "libstdc++",
    "libc++",
    "libgfortran",
    "libquadmath",
    "libflang",
    "libFortran",
    "libmpi",
    "libopen-pal",
    "libopen-rte",
    "libpmi",
    "libprrte",
    "mca_",
    "libuc",
    "libfabric",
    "libhwloc",
    "libevent",
    "libpsm",
];

/// Folders of a system's programs, libraries and headers.
const SYSTEM: [&str; 5] = ["/lib/", "/lib64/", "/usr/", "/bin/", "/sbin/"];

/// Folders of headers and sources that a compiler brings with it.
const HEADERS: [&str; 3] = ["/usr/", "/rustc/", "/build/glibc"];

/// Functions that a linker adds to a program.
const STARTS: [&str; 4] = ["_start", "_init", "_fini", "__do_global_dtors_aux"];

/// The program's own code.
pub(crate) struct OwnCode<'a> {
    profile: &'a Profile,
    names: &'a Names<'a>,
    /// For each path, the innermost part of it that ends in own code; the empty path if there is none.
    innermost: Vec<PathId>,
}

/// Where the time of some items stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OwnPlace {
    /// The function with most of it, and the line of it with most.
    pub(super) location: ConstructLocation,
    /// The same in a clause: `, most of it in f, called from main, line 3`.
    pub(super) words: String,
}

/// A function of the program, or code outside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Holder {
    Own(Callee),
    /// A stack in this load object that no function of the program called.
    Outside(ModuleId),
}

impl<'a> OwnCode<'a> {
    /// Of all paths of a profile.
    pub(crate) fn of(profile: &'a Profile, names: &'a Names<'a>) -> OwnCode<'a> {
        let modules = own_modules(names);
        let has_lines = |path: &Path| names.source_of(path.frame).is_some();
        let all = || profile.paths.rows().iter().zip((0..).map(PathId));
        let innermost = |is_own: &dyn Fn(&Path) -> bool| {
            let mut innermost: Vec<PathId> = Vec::with_capacity(profile.paths.len());
            for (path, at) in all() {
                let inherited = innermost.get(path.callers.0 as usize).copied();
                innermost.push(if at != PathId::EMPTY && is_own(path) {
                    at
                } else {
                    inherited.unwrap_or(PathId::EMPTY)
                });
            }
            innermost
        };
        let is_own = |path: &Path| is_own(names, &modules, path.frame);
        let own = innermost(&is_own);
        // A library that was linked into a program with debug information mostly has none itself.
        let with_lines = innermost(&|path| is_own(path) && has_lines(path));
        let either = with_lines.into_iter().zip(own);
        let either = either.map(|(with_lines, own)| match with_lines {
            PathId::EMPTY => own,
            with_lines => with_lines,
        });
        OwnCode {
            profile,
            names,
            innermost: either.collect(),
        }
    }

    fn path(&self, at: PathId) -> Option<&Path> {
        let path = self.profile.paths.get(at.0);
        path.filter(|_| at != PathId::EMPTY)
    }

    /// The innermost own function of a path, as a path.
    fn innermost(&self, at: PathId) -> PathId {
        let known = self.innermost.get(at.0 as usize);
        known.copied().unwrap_or(PathId::EMPTY)
    }

    fn holder(&self, at: PathId) -> Holder {
        match self.path(self.innermost(at)) {
            Some(own) => Holder::Own(own.frame.callee),
            None => Holder::Outside(self.outermost_module(at)),
        }
    }

    fn outermost_module(&self, mut at: PathId) -> ModuleId {
        let mut found = ModuleId::NONE;
        while let Some(path) = self.path(at) {
            found = module(self.names, path.frame).unwrap_or(found);
            at = path.callers;
        }
        found
    }

    /// Where most of the time of these paths stands.
    pub(super) fn place(&self, times: &[(PathId, f64)]) -> OwnPlace {
        let mut by_holder = FxHashMap::<Holder, f64>::default();
        for &(at, seconds) in times {
            *by_holder.entry(self.holder(at)).or_default() += seconds;
        }
        let all: f64 = by_holder.values().sum();
        let Some((holder, seconds)) = heaviest(by_holder) else {
            return OwnPlace::default();
        };
        let most = if seconds > 0.5 * all {
            "most of it"
        } else {
            "the largest part"
        };
        let here = || {
            let in_it = |&&(at, _): &&(PathId, f64)| self.holder(at) == holder;
            times.iter().filter(in_it)
        };
        let location = self.location(holder, here());
        let callee = match holder {
            Holder::Own(callee) => callee,
            Holder::Outside(ModuleId::NONE) => return OwnPlace::default(),
            Holder::Outside(module) => {
                let object = self.names.object_name(module);
                let words = format!(", {most} in {object}, outside the program's own code");
                return OwnPlace { words, location };
            }
        };
        let name = self.names.name(callee);
        let mut words = format!(", {most} in {}", short(&name));
        if let Some(called) = self.called(here(), seconds) {
            words.push_str(&format!(", which calls {}", short(&called)));
        }
        if let Some((caller, line)) = self.caller(here(), callee) {
            words.push_str(&format!(", called from {}, line {line}", short(&caller)));
        }
        OwnPlace { location, words }
    }

    /// The function, and the line of it with most of these times.
    fn location<'t>(
        &self,
        holder: Holder,
        times: impl Iterator<Item = &'t (PathId, f64)>,
    ) -> ConstructLocation {
        let callee = match holder {
            Holder::Own(callee) => callee,
            Holder::Outside(ModuleId::NONE) => return ConstructLocation::default(),
            Holder::Outside(module) => {
                return ConstructLocation {
                    function: Some(format!("<{}>", self.names.object_name(module))),
                    ..ConstructLocation::default()
                };
            }
        };
        let lines = times.filter_map(|&(at, seconds)| {
            let own = self.path(self.innermost(at))?;
            Some((self.names.source_of(own.frame)?, seconds))
        });
        let line = heaviest_line(lines);
        let file = line.and_then(|at| self.file(at.file));
        // As for all losses, the function that holds the directive.
        let outlined = self.names.function_of(callee);
        let outlined = outlined.and_then(|function| function.outlined.as_ref());
        let function = outlined.and_then(|it| it.parent.clone());
        ConstructLocation {
            file: file.cloned(),
            line: line.map(|at| at.line),
            function: Some(function.unwrap_or_else(|| self.names.name(callee))),
        }
    }

    /// The functions that hold these times, each with the numbers of its times; `None` for code that nothing names.
    pub(crate) fn by_function(
        &self,
        times: &[(PathId, f64)],
    ) -> Vec<(Option<ConstructLocation>, Vec<usize>)> {
        let mut by_holder = BTreeMap::<Holder, Vec<usize>>::new();
        for (at, it) in times.iter().enumerate() {
            by_holder.entry(self.holder(it.0)).or_default().push(at);
        }
        let of = |(holder, among): (Holder, Vec<usize>)| {
            let location = self.location(holder, among.iter().map(|&at| &times[at]));
            let is_named = location.function.is_some();
            (is_named.then_some(location), among)
        };
        by_holder.into_iter().map(of).collect()
    }

    fn file(&self, id: FileId) -> Option<&String> {
        self.names.symbols.files.get(id.0 as usize)
    }

    /// The function outside the program that the own one calls for most of `all` seconds.
    fn called<'t>(
        &self,
        times: impl Iterator<Item = &'t (PathId, f64)>,
        all: f64,
    ) -> Option<String> {
        let mut calls = FxHashMap::<Callee, f64>::default();
        for &(at, seconds) in times {
            let own = self.innermost(at);
            let mut below = at;
            while let Some(path) = self.path(below).filter(|path| path.callers != own) {
                below = path.callers;
            }
            let called = self.path(below).filter(|_| below != own);
            // The kernel and waits have their own words.
            let called = called.filter(|it| module(self.names, it.frame).is_some());
            if let Some(called) = called {
                *calls.entry(called.frame.callee).or_default() += seconds;
            }
        }
        let (callee, seconds) = heaviest(calls)?;
        let name = || {
            let name = self.names.name(callee);
            let module = self.names.code(callee).map(|code| code.module);
            match module.filter(|_| name.starts_with("<static>")) {
                Some(module) => format!("code of {}", self.names.object_name(module)),
                None => name,
            }
        };
        (seconds > 0.5 * all).then(name)
    }

    /// The own function and line that call the function for most of these times: it may be called
    /// elsewhere, too.
    fn caller<'t>(
        &self,
        times: impl Iterator<Item = &'t (PathId, f64)>,
        callee: Callee,
    ) -> Option<(String, u32)> {
        let mut calls = FxHashMap::<PathId, f64>::default();
        for &(at, seconds) in times {
            let mut at = self.innermost(at);
            while let Some(path) = self.path(at).filter(|it| it.frame.callee == callee) {
                at = self.innermost(path.callers);
            }
            if at != PathId::EMPTY {
                *calls.entry(at).or_default() += seconds;
            }
        }
        let caller = self.path(heaviest(calls)?.0)?.frame;
        let line = self.names.source_of(caller)?.line;
        Some((self.names.name(caller.callee), line))
    }
}

/// The line with most seconds of the file with most.
fn heaviest_line(lines: impl Iterator<Item = (SourceLine, f64)>) -> Option<SourceLine> {
    let mut by_line = FxHashMap::<(FileId, u32), f64>::default();
    for (at, seconds) in lines {
        *by_line.entry((at.file, at.line)).or_default() += seconds;
    }
    let ((file, line), _) = heaviest(by_line)?;
    Some(SourceLine { file, line })
}

/// The key with most seconds, the first of several.
pub(super) fn heaviest<K: Ord>(seconds: FxHashMap<K, f64>) -> Option<(K, f64)> {
    let larger =
        |left: &(K, f64), right: &(K, f64)| left.1.total_cmp(&right.1).then(right.0.cmp(&left.0));
    seconds.into_iter().max_by(larger)
}

/// The load objects that may be the program's own, and whether they are an executable: libraries that are
/// neither the system's nor a compiler's or MPI's. Of a program of the system's, such as an interpreter,
/// its libraries count too.
fn own_modules(names: &Names<'_>) -> FxHashMap<ModuleId, bool> {
    let tables = names.tables;
    let is_executable = |row: &Module| tables.processes.iter().any(|it| it.executable == row.path);
    let is_systems = |path: &str| SYSTEM.iter().any(|folder| path.starts_with(folder));
    let mut executables = tables.processes.iter();
    let has_own = executables.any(|it| !is_systems(&it.executable));
    let is_own = |row: &Module| {
        let name = base_name(&row.path);
        let is_library = LIBRARIES.iter().any(|start| name.starts_with(start));
        // A path that is not a file belongs to the kernel.
        row.path.starts_with('/')
            && row.runtime == RuntimeKind::None
            && !is_library
            && (is_executable(row) || !has_own || !is_systems(&row.path))
    };
    let modules = tables.modules.rows().iter().zip((0..).map(ModuleId));
    let own = modules.filter(|(row, _)| is_own(row));
    own.map(|(row, id)| (id, is_executable(row))).collect()
}

/// The load object of a frame's code.
fn module(names: &Names<'_>, frame: DisplayFrame) -> Option<ModuleId> {
    let code = names.code(frame.callee).map(|code| code.module);
    let at = || match frame.callee {
        Callee::Inlined(inlined, _) => Some(names.tables.frames.get(inlined.0)?.module),
        _ => None,
    };
    code.or_else(at)
}

/// Whether a frame is in the program's own code. In a library only what has lines: of others nobody can
/// tell whose they are.
fn is_own(names: &Names<'_>, modules: &FxHashMap<ModuleId, bool>, frame: DisplayFrame) -> bool {
    let known = module(names, frame).and_then(|it| modules.get(&it).copied());
    let is_inside =
        known.is_some_and(|is_executable| is_executable || names.source_of(frame).is_some());
    let function = names.function_of(frame.callee);
    let is_start = function.is_some_and(|it| STARTS.contains(&it.linkage.as_str()));
    is_inside && !is_start && !is_headers(names, frame)
}

/// Whether a frame is in a function of a system header, which was inlined or instantiated.
fn is_headers(names: &Names<'_>, frame: DisplayFrame) -> bool {
    let source = names.source_of(frame);
    let file = source.and_then(|at| names.symbols.files.get(at.file.0 as usize));
    file.is_some_and(|file| HEADERS.iter().any(|folder| file.starts_with(folder)))
}
