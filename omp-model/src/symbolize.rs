//! Names and source lines for all frames of a recording, resolved once at its end.
//!
//! Only what is in the tables is looked up, load object by load object and in the order of
//! addresses, so that a large program costs what its samples touched. Files are opened by the
//! [`SymbolSource`] alone.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use unwinder::{BuildId, Symbols, is_outlined, names};

use crate::barriers::{self, Barrier};
use crate::code::{self, Asked, Body, Handed};
use crate::directives;
use crate::ids::{FrameId, ModuleId};
use crate::kallsyms::{self, KernelFunction};
use crate::state::State;
use crate::symbols::{
    Construct, FileId, FrameSymbol, Function, FunctionId, InlinedPlace, Outlined, Place,
    SymbolTable, static_name,
};
use crate::tables::{Module, RuntimeKind, Tables};
use crate::views::names::base_name;

/// Where the symbols of load objects come from.
pub trait SymbolSource {
    /// The symbols of a load object that is neither the kernel nor unknown memory, or why there
    /// are none, in one clause.
    fn symbols(&mut self, module: &Module) -> Result<Symbols, String>;

    /// The kernel's functions that hold the sorted addresses; asked for only if there are some.
    ///
    /// # Errors
    /// Why there are none, in one clause.
    fn kernel(&mut self, addresses: &[u64]) -> Result<Vec<Option<KernelFunction>>, String>;

    /// The text of a source file, by its path in the debug information; asked for only if a
    /// barrier ([`crate::barriers`]) or a construct of Fortran stands in it.
    fn source(&mut self, path: &str) -> Option<String> {
        let _ = path;
        None
    }
}

/// The files as they are on this machine.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// The vDSO's bytes, which no file holds.
    pub vdso: Option<Arc<[u8]>>,
    /// Where the kernel's functions are kept.
    pub kernel: Option<kallsyms::Cache>,
    /// The files whose paths are not the text that the tables have for them.
    pub paths: FxHashMap<String, PathBuf>,
}

impl SymbolSource for Files {
    fn symbols(&mut self, module: &Module) -> Result<Symbols, String> {
        let path = self.paths.get(&module.path);
        let path = path.map_or(Path::new(&module.path), PathBuf::as_path);
        let opened = if module.path == "[vdso]" {
            let bytes = self.vdso.clone().ok_or("its bytes were not kept")?;
            Symbols::from_bytes(path, bytes)
        } else {
            Symbols::open(path, BuildId::from_hex(&module.build_id).as_ref())
        };
        opened.map_err(|miss| miss.to_string())
    }

    fn kernel(&mut self, addresses: &[u64]) -> Result<Vec<Option<KernelFunction>>, String> {
        kallsyms::find(addresses, self.kernel.as_ref())
    }

    fn source(&mut self, path: &str) -> Option<String> {
        let bytes = std::fs::read(path).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Resolves every frame of `tables`.
pub fn resolve(tables: &Tables, source: &mut impl SymbolSource) -> SymbolTable {
    let frames = tables.frames.rows();
    let mut order: Vec<FrameId> = (0..frames.len() as u32).map(FrameId).collect();
    order.sort_unstable_by_key(|id| {
        let frame = frames[id.index()];
        (frame.module, frame.address)
    });
    let mut resolver = Resolver::default();
    resolver.table.frames = vec![FrameSymbol::default(); frames.len()];
    let mut barriers = barriers_of(tables);
    let asked = Asked::of(tables);
    for ids in
        order.chunk_by(|one, other| frames[one.index()].module == frames[other.index()].module)
    {
        let module = frames[ids[0].index()].module;
        let wanted = ids.iter().map(|&id| (id, frames[id.index()].address));
        let missed = match (module, tables.modules.get(module.0)) {
            (ModuleId::NONE, _) | (_, None) => None,
            (ModuleId::KERNEL, _) => resolver.kernel(source, wanted),
            (_, Some(row)) if row.path.is_empty() => None,
            (_, Some(row)) => match source.symbols(row) {
                Ok(symbols) => {
                    resolver.functions.clear();
                    base_name(&row.path).clone_into(&mut resolver.object);
                    resolver.c_library = is_c_library(&resolver.object);
                    // Where the program left by a jump, the call is one of our own library or of
                    // the runtime, whose lines tell nothing of the program's.
                    let own = ids.iter().filter(|_| row.runtime == RuntimeKind::None);
                    for &id in own {
                        if let Some(barrier) = barriers.get_mut(&id) {
                            let address = frames[id.index()].address;
                            *barrier = barriers::decide(&symbols, address, |p| source.source(p));
                        }
                    }
                    if asked.concerns(tables, row, ids) {
                        let frames = ids.iter().map(|&id| (id, frames[id.index()].address));
                        resolver.read_code(module, &asked, &symbols, frames);
                    }
                    resolver.module(module, &symbols, wanted)
                }
                Err(why) => Some(why),
            },
        };
        resolver
            .table
            .misses
            .extend(missed.map(|why| (module, why)));
    }
    find_directives(&mut resolver.table, source);
    resolver.table.barriers = barriers.into_iter().collect();
    resolver.table.code.sort_unstable_by_key(|row| row.0);
    resolver.table
}

/// Finds in the sources where the directives of Fortran's constructs begin.
fn find_directives(table: &mut SymbolTable, source: &mut impl SymbolSource) {
    let mut texts: FxHashMap<FileId, Option<String>> = FxHashMap::default();
    for function in &mut table.functions {
        let outlined = function.outlined.as_mut();
        let Some((line, place)) = outlined
            .and_then(|it| it.line.as_mut())
            .zip(function.place.as_ref())
        else {
            continue;
        };
        let path = &table.files[place.file.0 as usize];
        if !is_fortran(path) {
            continue;
        }
        let text = texts
            .entry(place.file)
            .or_insert_with(|| source.source(path));
        if let Some(text) = text {
            *line = directives::first_line(text, *line);
        }
    }
}

fn is_fortran(path: &str) -> bool {
    let end = path
        .rsplit_once('.')
        .map(|(_, end)| end.to_ascii_lowercase());
    end.is_some_and(|end| end.starts_with('f') || end == "for")
}

/// The places of barriers of either kind, nothing being known of them.
fn barriers_of(tables: &Tables) -> BTreeMap<FrameId, Barrier> {
    let tags = tables.tags.rows().iter();
    let undecided = tags.filter(|tag| tag.state == State::Barrier && tag.place != FrameId::NONE);
    undecided.map(|tag| (tag.place, Barrier::Unknown)).collect()
}

#[derive(Default)]
struct Resolver {
    table: SymbolTable,
    files: FxHashMap<String, FileId>,
    /// By linkage name.
    demangled: FxHashMap<String, String>,
    /// Functions of the load object at work, by address.
    functions: FxHashMap<u64, FunctionId>,
    /// What the load object at work is called.
    object: String,
    /// Whether that is part of the C library.
    c_library: bool,
    /// Its functions without a name that are bodies of constructs, by address.
    bodies: BTreeMap<u64, Body>,
}

impl Resolver {
    /// Resolves frames of one load object; what its symbols lack, if a frame suffers from it.
    fn module(
        &mut self,
        module: ModuleId,
        symbols: &Symbols,
        wanted: impl Iterator<Item = (FrameId, u64)>,
    ) -> Option<String> {
        let mut nameless = false;
        for (id, address) in wanted {
            let function = symbols.code(address);
            nameless |= function.as_ref().is_none_or(|found| found.name.is_empty());
            let function = function.map(|function| self.function(module, symbols, function));
            let places = self.places(symbols, address, function);
            self.table.frames[id.index()] = FrameSymbol { function, places };
        }
        self.bodies.clear();
        let miss = symbols.misses().first().filter(|_| nameless)?;
        Some(miss.to_string())
    }

    fn function(
        &mut self,
        module: ModuleId,
        symbols: &Symbols,
        function: unwinder::Function,
    ) -> FunctionId {
        if let Some(&known) = self.functions.get(&function.start) {
            return known;
        }
        let first_row = self.lines(symbols, function.start).pop();
        let place = first_row.and_then(|row| self.place(row.file?, row.line));
        let (mut outlined, parent) = self.outlined(symbols, &function);
        let mut name = self.name_of(&function);
        if let Some(internal) = self.internal(symbols, &function, place) {
            match &mut outlined {
                Some(outlined) => outlined.parent = Some(internal),
                None => name = internal,
            }
        }
        let id = FunctionId(self.table.functions.len() as u32);
        self.functions.insert(function.start, id);
        self.table.functions.push(Function {
            module,
            address: function.start,
            size: function.size,
            linkage: function.name,
            name,
            place,
            outlined,
        });
        // A tail call may have taken the parent off every stack: its symbol is kept so that the
        // rewriting can put it back.
        if let Some(parent) = parent {
            self.function(module, symbols, parent);
        }
        id
    }

    /// The source places of an instruction. None in the C library: its sources are on hardly a
    /// machine, and where its debug information is, reading it would take most of the time that
    /// a recording's end takes.
    fn lines(&self, symbols: &Symbols, address: u64) -> Vec<unwinder::Place> {
        match self.c_library {
            true => Vec::new(),
            false => symbols.lines(address),
        }
    }

    /// What the machine code of the load object at work tells of its frames.
    fn read_code(
        &mut self,
        module: ModuleId,
        asked: &Asked,
        symbols: &Symbols,
        frames: impl Iterator<Item = (FrameId, u64)> + Clone,
    ) {
        let called = frames.clone().filter(|&(frame, _)| asked.is_called(frame));
        let nameless: HashSet<u64> = called
            .filter_map(|(_, address)| symbols.code(address))
            .filter(|function| function.name.is_empty())
            .map(|function| function.start)
            .collect();
        self.bodies = code::bodies(symbols, &nameless);
        let forks = frames.clone().filter(|&(frame, _)| asked.is_fork(frame));
        let mut handed = Handed::new(symbols);
        let handed: Vec<_> = forks
            .filter_map(|(frame, address)| Some((frame, handed.at(address)?)))
            .collect();
        let mut facts = code::facts(asked, symbols, frames);
        for (_, (function, body)) in &handed {
            if function.name.is_empty() {
                let known = self.bodies.entry(function.start);
                known.or_insert_with(|| body.clone());
            }
        }
        for (frame, (function, _)) in handed {
            let id = self.function(module, symbols, function);
            facts.entry(frame).or_default().body = Some(id);
        }
        self.table.code.extend(facts);
    }

    fn name_of(&mut self, function: &unwinder::Function) -> String {
        match function.name.as_str() {
            "" => static_name(&self.object, function.start),
            linkage => self.demangle(linkage),
        }
    }

    /// What a Fortran procedure within another one is called, or that of whose construct the
    /// function was made: with those around it.
    fn internal(
        &self,
        symbols: &Symbols,
        function: &unwinder::Function,
        place: Option<Place>,
    ) -> Option<String> {
        let path = self.table.files.get(place?.file.0 as usize)?;
        if !names::is_internal(&function.name) || !is_fortran(path) {
            return None;
        }
        let mut scopes = symbols.scopes(function.start)?;
        // The body of a construct stands in the procedure that holds its directive.
        scopes.truncate(scopes.len() - usize::from(is_outlined(&function.name)));
        (!scopes.is_empty()).then(|| scopes.join("::"))
    }

    /// What construct a function was made of, and the function that holds it.
    fn outlined(
        &mut self,
        symbols: &Symbols,
        function: &unwinder::Function,
    ) -> (Option<Outlined>, Option<unwinder::Function>) {
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
        let (parent, line) = match symbols.omp_facts(function.start) {
            Some(facts) => (facts.parent, facts.line),
            None => (parent_of_reduction(&function.name), None),
        };
        let outlined = Outlined {
            construct,
            parent: parent.as_deref().map(|name| self.demangle(name)),
            line,
        };
        (Some(outlined), parent.and_then(|name| symbols.named(&name)))
    }

    fn demangle(&mut self, linkage: &str) -> String {
        if let Some(known) = self.demangled.get(linkage) {
            return known.clone();
        }
        let name = names::demangle(linkage);
        self.demangled.insert(linkage.to_owned(), name.clone());
        name
    }

    fn place(&mut self, file: String, line: Option<u32>) -> Option<Place> {
        let line = line?;
        let file = *self.files.entry(file).or_insert_with_key(|path| {
            self.table.files.push(path.clone());
            FileId(self.table.files.len() as u32 - 1)
        });
        Some(Place { file, line })
    }

    fn places(
        &mut self,
        symbols: &Symbols,
        address: u64,
        function: Option<FunctionId>,
    ) -> Vec<InlinedPlace> {
        let mut rows = self.lines(symbols, address);
        let holder = function.map(|id| self.table.functions[id.0 as usize].linkage.clone());
        if let Some(holder) = holder.filter(|name| is_outlined(name)) {
            join_outlined(&mut rows, &holder);
        }
        rows.into_iter()
            .filter_map(|row| {
                let place = self.place(row.file?, row.line)?;
                let function = row.function.map(|name| self.demangle(&name));
                Some(InlinedPlace { function, place })
            })
            .collect()
    }
}

/// clang wraps the body of a construct into up to two more functions (`X.omp_outlined` around
/// `X.omp_outlined_debug__`, `.omp_task_entry.` around `.omp_outlined.`). Inlined into each other
/// they are one function to a user: that of the symbol, at the body's line.
fn join_outlined(rows: &mut Vec<unwinder::Place>, holder: &str) {
    while let [.., inner, _] = rows.as_slice()
        && inner.function.as_deref().is_some_and(is_outlined)
    {
        rows.pop();
    }
    if let Some(body) = rows.last_mut() {
        body.function = Some(holder.to_owned());
    }
}

/// Whether a load object is one of those that the C library is made of (of glibc or musl).
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

/// The construct that a compiler made a function of, by its linkage name. gcc and flang name the
/// functions of tasks and teams like those of parallel regions, and clang those of teams.
pub fn construct_of(linkage: &str) -> Option<Construct> {
    if linkage.ends_with(names::STUB) {
        None
    } else if linkage.contains(REDUCTION) || linkage.starts_with(".omp_combiner.") {
        Some(Construct::Reduction)
    } else if !is_outlined(linkage) {
        None
    } else if linkage.contains(".omp_task_entry.") {
        Some(Construct::Task)
    } else {
        Some(Construct::Parallel)
    }
}

/// clang's mark of a reduction's combiner, as in `foo.omp_outlined.omp.reduction.reduction_func`.
const REDUCTION: &str = ".omp.reduction.";

fn parent_of_reduction(linkage: &str) -> Option<String> {
    let (helped, _) = linkage.split_once(REDUCTION)?;
    let parent = helped.split(".omp_outlined").next()?;
    (!parent.is_empty()).then(|| parent.to_owned())
}

impl Resolver {
    /// Resolves kernel frames, whose addresses come sorted.
    fn kernel(
        &mut self,
        source: &mut impl SymbolSource,
        wanted: impl Iterator<Item = (FrameId, u64)>,
    ) -> Option<String> {
        let (ids, addresses): (Vec<FrameId>, Vec<u64>) = wanted.unzip();
        let found = match source.kernel(&addresses) {
            Ok(found) => found,
            Err(why) => return Some(why),
        };
        self.functions.clear();
        for (id, found) in ids.into_iter().zip(found) {
            let Some(KernelFunction { start, end, name }) = found else {
                continue;
            };
            let function = *self.functions.entry(start).or_insert_with(|| {
                self.table.functions.push(Function {
                    module: ModuleId::KERNEL,
                    address: start,
                    size: end - start,
                    linkage: name.clone(),
                    name,
                    place: None,
                    outlined: None,
                });
                FunctionId(self.table.functions.len() as u32 - 1)
            });
            self.table.frames[id.index()].function = Some(function);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kallsyms::Listing;
    use crate::tables::Frame;

    #[test]
    fn the_construct_is_in_the_name() {
        let table = [
            ("main", None),
            (".omp_outlined.", Some(Construct::Parallel)),
            (".omp_outlined..3", Some(Construct::Parallel)),
            ("foo.omp_outlined_debug__.1", Some(Construct::Parallel)),
            (".omp_task_entry..5", Some(Construct::Task)),
            ("_QMmPfoo..omp_par.2", Some(Construct::Parallel)),
            ("foo._omp_fn.0.cold", Some(Construct::Parallel)),
            ("__m_MOD_foo._omp_fn.1", Some(Construct::Parallel)),
            (
                "foo.omp_outlined.omp.reduction.reduction_func",
                Some(Construct::Reduction),
            ),
            (".omp_combiner.", Some(Construct::Reduction)),
            (".omp_task_privates_map.", None),
            ("foo.omp_outlined@plt", None),
            ("", None),
        ];
        for (name, construct) in table {
            assert_eq!(construct_of(name), construct, "{name}");
        }
        let parent = |name| parent_of_reduction(name);
        let of_foo = parent("foo.omp_outlined.omp.reduction.reduction_func");
        assert_eq!(of_foo.as_deref(), Some("foo"));
        assert_eq!(parent(".omp.reduction.reduction_func"), None);
    }

    fn row(function: &str, line: u32) -> unwinder::Place {
        unwinder::Place {
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

    struct Kernel(&'static str);

    impl SymbolSource for Kernel {
        fn symbols(&mut self, _: &Module) -> Result<Symbols, String> {
            Err("gone".to_owned())
        }

        fn kernel(&mut self, addresses: &[u64]) -> Result<Vec<Option<KernelFunction>>, String> {
            Ok(Listing::read(&mut self.0.as_bytes())?.find(addresses))
        }
    }

    const KALLSYMS: &str = "\
ffffffff81000000 T _stext
ffffffff81000100 t do_idle
ffffffff81000100 T alias_of_do_idle
ffffffff81000200 D some_data
ffffffff81000300 T schedule
ffffffffc0000000 t nft_do_chain\t[nf_tables]
";

    #[test]
    fn kernel_frames_are_named_by_kallsyms() {
        let mut tables = Tables::default();
        let mut frame = |address| {
            tables.frame(Frame {
                module: ModuleId::KERNEL,
                address,
            })
        };
        let inside = frame(0xffff_ffff_8100_0123);
        let later = frame(0xffff_ffff_8100_02ff);
        let in_module = frame(0xffff_ffff_c000_0010);
        let below = frame(0x1000);
        let table = resolve(&tables, &mut Kernel(KALLSYMS));
        let name = |frame| Some(table.function_of(frame)?.1.name.as_str());
        assert_eq!(name(inside), Some("alias_of_do_idle"));
        assert_eq!(name(later), Some("alias_of_do_idle"));
        assert_eq!(name(in_module), Some("nft_do_chain"));
        assert_eq!(name(below), None);
        assert_eq!(table.functions[0].size, 0x200);
        assert_eq!(table.misses, []);
    }

    #[test]
    fn hidden_kernel_addresses_are_a_miss_with_its_remedy() {
        let mut tables = Tables::default();
        tables.frame(Frame {
            module: ModuleId::KERNEL,
            address: 0xffff_ffff_8100_0123,
        });
        let hidden = "0000000000000000 T _stext\n0000000000000000 t do_idle\n";
        let table = resolve(&tables, &mut Kernel(hidden));
        let [(ModuleId::KERNEL, why)] = table.misses.as_slice() else {
            panic!("{:?}", table.misses);
        };
        assert!(why.contains("kernel.kptr_restrict"));
        assert_eq!(table.functions, []);
    }
}
