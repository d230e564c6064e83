//! The load objects of the recorded process, and the names in them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use experiment::findings::{Declaration, Frame, Origin, Variable};
use experiment::linkage::{parent_of, without_clone};
use experiment::tables::{Mutex, RuntimeKind};
use hashbrown::HashMap;
use processes::runtimes::Runtime;
use race_checker::lock_order::Lock;
use race_checker::site::{FramePlace, Place};
use race_stream::record::MUTEX_POSIX;
use symbolize::{Location, Side, Symbols, names, section_name, variable_name};
use unwinder::elf::ElfFile;
use unwinder::symtab::ElfSymbols;
use unwinder::{AddressSpace, Image, ModuleIdx, Regs, StackBytes, UnwindCache};

use crate::pointers::{Memory, Reached};
use crate::source::{Sources, Word, words, writes};
use crate::types::Scalar;
use crate::variables::{Named, Registers, Variables};
use crate::{is_cpp_library, is_library_source};

/// Whether a function is the body of a construct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// It is none.
    None,
    /// Its name tells the function that holds the construct.
    Named,
    /// That function is a guess by lines.
    Guessed,
}

/// A frame as the program's author knows it.
#[derive(Clone, Debug)]
pub(crate) struct UserFrame {
    pub(crate) frame: Frame,
    pub(crate) body: Body,
}

/// What was mapped in the recorded process, and the symbols of it.
#[derive(Default)]
pub struct Places {
    space: AddressSpace,
    unwinding: UnwindCache,
    symbols: HashMap<ModuleIdx, Option<Symbols>>,
    variables: HashMap<ModuleIdx, Option<Variables>>,
    frames: HashMap<u64, Vec<UserFrame>>,
    pub(crate) sources: Sources,
    /// By return address: whether the call is of a directive.
    pub(crate) directives: HashMap<u64, bool>,
    /// By return address: whether the access that the call reports waits for a flag.
    pub(crate) waits: HashMap<u64, bool>,
    /// What memory the locks of findings are.
    locks: HashMap<Lock, Place>,
    /// Of load objects by their paths: whether they call the sanitizer.
    instrumented: HashMap<PathBuf, bool>,
    /// The OpenMP runtimes that load objects are or contain.
    runtimes: HashMap<ModuleIdx, Runtime>,
    /// Nothing is named: code is an address in its load object.
    is_nameless: bool,
}

/// The C library and what belongs to it.
const BASIC: [&str; 8] = [
    "ld-linux",
    "libc.so",
    "libdl.so",
    "libgcc_s.so",
    "libm.so",
    "libpthread.so",
    "librt.so",
    "libstdc++.so",
];

/// Whether a file of this name is one of them.
pub(crate) fn is_basic(name: &str) -> bool {
    BASIC.iter().any(|basic| name.starts_with(basic))
}

/// Whether a load object calls the sanitizer at the entry of functions.
fn is_instrumented(path: &Path) -> bool {
    let has_entry = |file: ElfFile| {
        let table = ElfSymbols::dynsym(&file.parse().ok()?)?;
        let mut symbols = table.iter();
        Some(symbols.any(|symbol| table.name(&symbol) == b"__tsan_func_entry"))
    };
    ElfFile::open(path).ok().and_then(has_entry) == Some(true)
}

/// Whether a load object is our own library, which has the entry points of all runtimes.
fn is_ours(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    name.is_some_and(|name| name.starts_with("libparallax_"))
}

/// The program's own file, which is mapped first.
const PROGRAM: ModuleIdx = ModuleIdx(0);

/// Whether a load object is one of the system, by its path.
fn is_of_system(path: &Path) -> bool {
    ["/lib", "/lib32", "/lib64", "/usr"]
        .iter()
        .any(|folder| path.starts_with(folder))
}

impl Places {
    /// Nothing mapped.
    pub fn new() -> Places {
        Places::default()
    }

    /// `length` bytes of the file at `path` from `offset` on are mapped, executable, at `start`. `image` is that file,
    /// which may have another path now, if it can be read.
    pub fn map(
        &mut self,
        (start, length, offset): (u64, u64, u64),
        path: &Path,
        image: Option<Arc<Image>>,
    ) {
        let runtime = image.as_deref().and_then(Runtime::of);
        self.space.map(start, length, offset, image, path);
        if let (Some((module, _)), Some(runtime)) = (self.space.locate(start), runtime)
            && !is_ours(path)
        {
            self.runtimes.insert(module, runtime);
        }
    }

    /// The files that are mapped.
    fn objects(&self) -> impl Iterator<Item = (ModuleIdx, &Path)> {
        let modules = (0..).map(ModuleIdx).zip(self.space.modules());
        let paths = modules.map(|(module, it)| (module, it.path.as_path()));
        paths.filter(|(_, path)| path.is_absolute())
    }

    /// The runtime that is a part of a load object with other code.
    fn linked_runtime(&self, module: ModuleIdx) -> Option<&Runtime> {
        let runtime = self.runtimes.get(&module);
        runtime.filter(|runtime| runtime.is_part(module == PROGRAM))
    }

    /// Whether a load object is an OpenMP runtime, or our own library in the place of one.
    fn is_all_runtime(&self, module: ModuleIdx) -> bool {
        let is_runtime = self.runtimes.contains_key(&module);
        is_runtime && self.linked_runtime(module).is_none()
            || self.path(module).is_some_and(|path| is_ours(&path))
    }

    /// Whether code is of an OpenMP runtime.
    pub(crate) fn is_runtime(&self, (module, svma): (ModuleIdx, u64)) -> bool {
        let linked = self.linked_runtime(module);
        linked.is_some_and(|runtime| runtime.holds(svma)) || self.is_all_runtime(module)
    }

    /// From now on, nothing is named, or all again: names take time, which there may not be.
    pub(crate) fn set_nameless(&mut self, is_nameless: bool) {
        self.is_nameless = is_nameless;
    }

    /// Bytes of the load objects: what names are made of.
    pub fn bytes(&self) -> u64 {
        let places = (0..self.space.modules().len() as u32).map(ModuleIdx);
        let places = places.filter_map(|module| self.place(module));
        let lengths = places.filter_map(|path| Some(std::fs::metadata(path).ok()?.len()));
        lengths.sum()
    }

    /// Whether nothing is named.
    pub(crate) fn is_nameless(&self) -> bool {
        self.is_nameless
    }

    /// What memory locks are, if it is not known by their addresses alone.
    pub fn set_locks(&mut self, locks: &HashMap<Lock, Place>) {
        self.locks = locks.clone();
    }

    /// What memory a lock is.
    pub(crate) fn lock_place(&self, lock: Lock) -> Option<Place> {
        self.locks.get(&lock).cloned()
    }

    /// Whether a lock is a variable of a load object, or a block of the heap.
    pub(crate) fn is_data(&self, lock: Lock) -> bool {
        let is_block = matches!(self.locks.get(&lock), Some(Place::Heap(_)));
        is_block || self.space.locate_data(lock.1).is_some()
    }

    /// Whether code is mapped at `address`.
    pub fn is_mapped(&self, address: u64) -> bool {
        self.space.locate(address).is_some()
    }

    /// Names of the load objects whose accesses cannot be seen, for they do not call the sanitizer. Not
    /// among them: the C library, whose work on the program's memory is rarely what races, and
    /// runtimes.
    ///
    /// All of them, and those that are the program's own: no libraries of the system.
    pub fn uninstrumented(&mut self) -> (Vec<String>, Vec<String>) {
        let objects = self.objects();
        let others = objects.filter(|(module, _)| !self.is_all_runtime(*module));
        let others =
            others.filter_map(|(module, path)| Some((path.to_owned(), self.place(module)?)));
        let others: Vec<(PathBuf, PathBuf)> = others.collect();
        let known = &mut self.instrumented;
        let others = others.into_iter().filter(|(path, place)| {
            let is_instrumented = || is_instrumented(place);
            !*known
                .entry_ref(path.as_path())
                .or_insert_with(is_instrumented)
        });
        let mut named: Vec<(String, bool)> = others
            .filter_map(|(path, _)| {
                let name = path.file_name()?.to_string_lossy().into_owned();
                Some((name, !is_of_system(&path)))
            })
            .filter(|(name, _)| !is_basic(name))
            .collect();
        named.sort();
        named.dedup();
        let own = named.iter().filter(|(_, is_own)| *is_own);
        let own = own.map(|(name, _)| name.clone()).collect();
        (named.into_iter().map(|(name, _)| name).collect(), own)
    }

    /// Names of the load objects that have GCC's OpenMP runtime in them, of whose constructs nothing is told.
    pub fn with_runtime(&self) -> Vec<String> {
        let is_gccs = |runtime: &Runtime| runtime.kind == RuntimeKind::Gomp;
        let with = self.objects().filter(|(module, path)| {
            self.linked_runtime(*module).is_some_and(is_gccs) && !is_of_system(path)
        });
        let names = with.filter_map(|(_, path)| path.file_name());
        let mut names: Vec<String> = names.map(|it| it.to_string_lossy().into_owned()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Appends the ip and the return addresses of a stack, innermost first.
    pub(crate) fn unwind(&mut self, regs: &Regs, stack: &StackBytes<'_>, to: &mut Vec<u64>) {
        self.space.unwind(&mut self.unwinding, regs, stack, to);
    }

    /// Whether the call that returns to `code` is one of a thread's first function.
    pub(crate) fn is_first_function(&mut self, code: u64) -> bool {
        let call = code.saturating_sub(1);
        self.space.is_first(&mut self.unwinding, call)
    }

    /// The load object with the call that returns to `code`, and the svma of the call's last byte.
    pub(crate) fn locate_call(&self, code: u64) -> Option<(ModuleIdx, u64)> {
        self.space.locate(code.checked_sub(1)?)
    }

    pub(crate) fn path(&self, module: ModuleIdx) -> Option<PathBuf> {
        self.space.module(module).map(|module| module.path.clone())
    }

    /// Where the file is now.
    fn place(&self, module: ModuleIdx) -> Option<PathBuf> {
        let module = self.space.module(module)?;
        let image = module.image.as_deref();
        Some(image.map_or(&*module.path, Image::path).to_owned())
    }

    fn symbols(&mut self, module: ModuleIdx) -> Option<&Symbols> {
        self.symbols_and_sources(module).map(|(symbols, _)| symbols)
    }

    pub(crate) fn symbols_and_sources(
        &mut self,
        module: ModuleIdx,
    ) -> Option<(&Symbols, &mut Sources)> {
        if self.is_nameless {
            return None;
        }
        let (path, place) = (self.path(module)?, self.place(module)?);
        let open = || Symbols::open_moved(&path, &place).ok();
        let symbols = self.symbols.entry(module).or_insert_with(open).as_ref()?;
        Some((symbols, &mut self.sources))
    }

    /// The frames of the call that returns to `code`, innermost first: of inlined functions, too.
    pub fn machine_frames(&mut self, code: u64) -> Vec<Frame> {
        let Some((module, svma)) = self.locate_call(code) else {
            return vec![unknown(code)];
        };
        let object = self.path(module).unwrap_or_default();
        let Some(symbols) = self.symbols(module) else {
            return vec![in_object(&object, svma)];
        };
        let function = symbols.function(svma).map(|function| function.name);
        let mut locations = symbols.locations(svma);
        if !locations.is_empty() && !has_line(&locations) {
            locations = locations_near(symbols, svma).unwrap_or(locations);
        }
        if locations.is_empty() {
            return vec![match function {
                Some(function) => Frame {
                    function: shown(&function),
                    ..Frame::default()
                },
                None => in_object(&object, svma),
            }];
        }
        let last = locations.len() - 1;
        locations
            .into_iter()
            .enumerate()
            .map(|(at, location)| {
                // The symbol table knows the outermost one, also where the compiler appended to it.
                let name = if at == last {
                    function.clone().or(location.function)
                } else {
                    location.function
                };
                Frame {
                    function: name.as_deref().map(shown).unwrap_or_default(),
                    file: location.file.unwrap_or_default(),
                    line: location.line.unwrap_or_default(),
                }
            })
            .collect()
    }

    /// Whether the compiler has given no line to the access that the call reports which returns to `code`,
    /// though it knows the function: it moved the access out of a loop, or made it of several.
    pub(crate) fn is_line_inferred(&mut self, code: u64) -> bool {
        let Some((module, svma)) = self.locate_call(code) else {
            return false;
        };
        self.symbols(module).is_some_and(|symbols| {
            let locations = symbols.locations(svma);
            !locations.is_empty() && !has_line(&locations)
        })
    }

    /// Whether the compiler has moved an access out of a loop, within the function of another one. LLVM gives
    /// it no line, and GCC that of the directive. Both are given by the return address of the call that
    /// reports them.
    pub(crate) fn may_be_moved(&mut self, access: u64, other: u64) -> bool {
        let (Some((module, svma)), Some((other_module, other))) =
            (self.locate_call(access), self.locate_call(other))
        else {
            return false;
        };
        if module != other_module {
            return false;
        }
        let Some((symbols, variables)) = self.variables(module) else {
            return false;
        };
        let begin = |svma| symbols.function(svma).map(|function| function.start);
        if begin(svma) != begin(other) {
            return false;
        }
        let locations = symbols.locations(svma);
        if variables.debug.is_of_llvm(svma) {
            return !locations.is_empty() && !has_line(&locations);
        }
        let Some(Location {
            file: Some(file),
            line: Some(line),
            ..
        }) = locations.into_iter().next()
        else {
            return false;
        };
        self.sources.is_directive(&file, line)
    }

    /// The same as the program's author knows them: without runtimes and the C++ library, and the body of a
    /// construct under the name of the function that holds it.
    pub(crate) fn user_frames(&mut self, code: u64) -> Vec<UserFrame> {
        if self.is_nameless {
            return self.find_user_frames(code);
        }
        if let Some(known) = self.frames.get(&code) {
            return known.clone();
        }
        let frames = self.find_user_frames(code);
        self.frames.insert(code, frames.clone());
        frames
    }

    fn find_user_frames(&mut self, code: u64) -> Vec<UserFrame> {
        let Some((module, svma)) = self.locate_call(code) else {
            return Vec::new();
        };
        let path = self.path(module);
        if self.is_runtime((module, svma)) || path.is_some_and(|path| is_cpp_library(&path)) {
            return Vec::new();
        }
        let parent = self.symbols(module).and_then(|symbols| {
            let origin = symbols.origin(svma);
            origin.and_then(|origin| origin.parent)
        });
        let frames = self.machine_frames(code).into_iter();
        frames
            .filter(|frame| !is_flangs(&frame.function) && !is_library_source(&frame.file))
            .map(|frame| {
                let (function, body) = match outlined(&frame.function) {
                    None => (frame.function.clone(), Body::None),
                    Some(Some(own)) => (names::short(own), Body::Named),
                    Some(None) => {
                        let parent = parent.as_deref().unwrap_or_default();
                        (names::short(parent), Body::Guessed)
                    }
                };
                let function = without_clone(&function).to_owned();
                UserFrame {
                    frame: Frame { function, ..frame },
                    body,
                }
            })
            .collect()
    }

    /// Whether code is of flang's runtime, which is a part of the program.
    pub(crate) fn is_flangs(&mut self, code: u64) -> bool {
        let frames = self.machine_frames(code);
        frames.first().is_some_and(|it| is_flangs(&it.function))
    }

    /// The line of the construct that begins with the call that returns to `code`, and from which the
    /// function at `body` was outlined, if those are known.
    pub(crate) fn line_of_construct(&mut self, code: u64, body: u64) -> Option<u32> {
        let of_body = self.space.locate(body).and_then(|(module, svma)| {
            let origin = self.symbols(module)?.origin(svma)?;
            origin.line
        });
        let of_call = || {
            let (module, svma) = self.locate_call(code)?;
            let symbols = self.symbols(module)?;
            let line = symbols.forked_line(svma)?;
            let file = symbols.locations(svma).into_iter().next()?.file?;
            // Of `parallel sections` it is that of the statement before.
            Some(self.sources.directive_from(&file, line).unwrap_or(line))
        };
        of_body.or_else(of_call).filter(|line| *line > 0)
    }

    /// The variables of a load object, if it has debug information.
    fn variables(&mut self, module: ModuleIdx) -> Option<(&Symbols, &Variables)> {
        if self.is_nameless {
            return None;
        }
        if !self.variables.contains_key(&module) {
            let opened = self.symbols(module).and_then(Variables::open);
            self.variables.insert(module, opened);
        }
        let symbols = self.symbols.get(&module)?.as_ref()?;
        Some((symbols, self.variables.get(&module)?.as_ref()?))
    }

    /// Those of some calls that are in a load object.
    fn calls_in(&self, module: ModuleIdx, codes: &[u64]) -> Vec<u64> {
        let calls = codes.iter().filter_map(|code| self.locate_call(*code));
        let within = calls.filter(|(found, _)| *found == module);
        within.map(|(_, svma)| svma).collect()
    }

    /// Names a global or static variable that these calls access. Returns what is accessed, if it is a number.
    pub(crate) fn name_static(&mut self, variable: &mut Variable, codes: &[u64]) -> Option<Scalar> {
        let (module, svma) = self.space.locate_data(variable.address)?;
        variable.origin = Origin::Global(Declaration::default());
        let calls = self.calls_in(module, codes);
        let size = variable.size;
        let named = self
            .variables(module)
            .and_then(|(_, variables)| variables.global(svma, size, &calls));
        let scalar = named.as_ref().and_then(|named| named.scalar);
        if let Some(named) = named {
            let declaration = self.take(variable, named);
            variable.origin = Origin::Global(declaration);
        } else if let Some(symbol) = self.symbols(module).and_then(|symbols| symbols.data(svma)) {
            let name = names::short(&symbol.name);
            variable.name = Some(match svma - symbol.start {
                0 => name,
                offset => format!("{name}+{offset}"),
            });
            variable.whole = symbol.size;
        }
        scalar
    }

    /// What a block from the call that returns to `code` is called at `offset` in it, by the line of that call; and
    /// what is there, if it is a number.
    pub(crate) fn block_name(
        &mut self,
        code: u64,
        offset: u64,
    ) -> Option<(String, Option<Scalar>)> {
        let UserFrame { frame, .. } = self.user_frames(code).into_iter().next()?;
        let line = self.sources.line(&frame.file, frame.line)?;
        let (module, svma) = self.user_call(code)?;
        let (_, variables) = self.variables(module)?;
        let (name, of) = variables.assigned_pointer(svma, &line)?;
        Some(variables.element_of(&name, of, offset))
    }

    /// Names a thread's copy of a threadprivate variable that these calls access; `before_end`: its
    /// distance to the end of the blocks that the thread has had from the start.
    pub fn name_thread_local(&mut self, variable: &mut Variable, before_end: u64, codes: &[u64]) {
        variable.origin = Origin::Thread(Declaration::default());
        let size = variable.size;
        for code in codes {
            let Some((module, _)) = self.locate_call(*code) else {
                continue;
            };
            let calls = self.calls_in(module, codes);
            let named = self.variables(module).and_then(|(_, variables)| {
                // The program's own block comes last.
                let offset = variables.program_tls?.checked_sub(before_end)?;
                variables.thread_local(offset, size, &calls)
            });
            if let Some(named) = named {
                let declaration = self.take(variable, named);
                variable.origin = Origin::Thread(declaration);
                return;
            }
        }
    }

    /// Names a variable of a function's frame. Returns what is accessed, if it is a number.
    pub(crate) fn name_local(
        &mut self,
        variable: &mut Variable,
        frame: Option<&FramePlace>,
    ) -> Option<Scalar> {
        variable.origin = Origin::Stack(Declaration::default());
        let named = frame.and_then(|frame| self.find_local(variable, frame))?;
        let scalar = named.scalar;
        let declaration = self.take(variable, named);
        variable.origin = Origin::Stack(declaration);
        scalar
    }

    /// Names a scalar of a frame that is over: the variable that both source lines assign; else the one that one
    /// line assigns and the other reads. `accesses`: the return address of each, and whether it writes.
    pub fn name_assigned(&mut self, variable: &mut Variable, accesses: [(u64, bool); 2]) {
        let size = variable.size;
        let [one, other] = accesses.map(|(code, is_write)| {
            let UserFrame { frame, .. } = self.user_frames(code).into_iter().next()?;
            let line = self.sources.line(&frame.file, frame.line)?;
            let (module, svma) = self.user_call(code)?;
            let (_, variables) = self.variables(module)?;
            let assigned = variables.assigned(svma, &line, size).filter(|_| is_write);
            Some((assigned, is_write, line))
        });
        let (Some(one), Some(other)) = (one, other) else {
            return;
        };
        let Some(name) = one.0.clone().or_else(|| other.0.clone()) else {
            return;
        };
        let is_its = |(assigned, is_write, line): &(Option<String>, bool, String)| {
            if *is_write {
                assigned.as_ref() == Some(&name)
            } else {
                words(line).contains(&Word::Name(&name))
            }
        };
        if is_its(&one) && is_its(&other) {
            variable.name = Some(name);
            variable.whole = size;
        }
    }

    /// Whether a variable of a function's frame is a reference.
    pub fn is_reference(&mut self, variable: &Variable, frame: &FramePlace) -> bool {
        let named = self.find_local(variable, frame);
        named.is_some_and(|named| named.is_reference)
    }

    fn find_local(&mut self, variable: &Variable, frame: &FramePlace) -> Option<Named> {
        let (address, size) = (variable.address, variable.size);
        for code in frame.calls {
            let Some((module, svma)) = self.user_call(code) else {
                continue;
            };
            let registers = Registers {
                svma,
                // The call has pushed its return address.
                stack: frame.stack.wrapping_add(8),
                base: frame.base,
            };
            let found = self.variables(module).and_then(|(symbols, variables)| {
                variables.local(symbols, registers, (address, size))
            });
            if found.is_some() {
                return found;
            }
        }
        if let Some(offset) = address.checked_sub(frame.data)
            && let Some((module, body)) = self.space.locate(frame.body)
            && let Some((_, variables)) = self.variables(module)
            && let Some(found) = variables.passed(body, offset, size)
        {
            return Some(found);
        }
        // Arrays of variable size lie below the frame.
        let mut calls = frame.outer.into_iter();
        let (module, svma) = calls.find_map(|code| self.user_call(code))?;
        let (_, variables) = self.variables(module)?;
        variables.variable_array(svma)
    }

    /// As [`Places::locate_call`], unless that is in a runtime.
    pub(crate) fn user_call(&self, code: u64) -> Option<(ModuleIdx, u64)> {
        self.locate_call(code)
            .filter(|call| !self.is_runtime(*call))
    }

    /// Takes over a name, and returns its declaration with the function as the author knows it.
    fn take(&mut self, variable: &mut Variable, named: Named) -> Declaration {
        variable.name = Some(named.name);
        variable.whole = named.whole;
        let mut declaration = named.declaration;
        let own = match outlined(&declaration.function) {
            None => declaration.function,
            Some(own) => own.unwrap_or_default().to_owned(),
        };
        declaration.function = names::short(&own);
        declaration
    }

    /// The name of memory that is no known variable by the pointer or reference that leads to it, if both
    /// accesses, which are of `size` bytes, use the same one for certain: each is a return address, and
    /// whether it writes. The element is named if a block's first one is known to be at its begin.
    pub(crate) fn pointer_name(
        &mut self,
        accesses: [(u64, bool); 2],
        size: u64,
        memory: Memory,
        origin: &Origin,
    ) -> Option<String> {
        let sides = accesses.map(|(code, is_write)| self.pointers(code, is_write, size, memory));
        let [Some(one), Some(other)] = &sides else {
            return None;
        };
        // The side that leaves no doubt names it, if the other one agrees.
        let certain = [one, other].into_iter().find_map(|side| match &side[..] {
            [only] => Some(only),
            _ => None,
        });
        let (module, certain) = certain?;
        let has_text = |side: &[(ModuleIdx, Reached)]| {
            let mut texts = side.iter().map(|(_, it)| &it.text);
            texts.any(|text| *text == certain.text)
        };
        let text = (has_text(one) && has_text(other)).then(|| certain.text.clone());
        let Some(name) = &certain.name else {
            return text;
        };
        let has_name = |side: &[(ModuleIdx, Reached)]| {
            let mut names = side.iter().map(|(_, it)| &it.name);
            names.any(|own| own.as_ref() == Some(name))
        };
        if !has_name(one) || !has_name(other) {
            return None;
        }
        let is_allocated = match origin {
            Origin::Heap(stack) => stack.first().is_some_and(|frame| {
                let line = self.sources.line(&frame.file, frame.line);
                line.is_some_and(|line| assigns(&line, name))
            }),
            _ => false,
        };
        let (_, variables) = self.variables(*module)?;
        match memory {
            Memory::Block { offset, bytes } if is_allocated || certain.is_container => {
                variables.element_name(certain, name, (offset, size, bytes))
            }
            Memory::Block { offset, bytes } => variables
                .component_name(certain, name, (offset, size, bytes))
                .or(text)
                .or_else(|| Some(name.clone())),
            _ => text.or_else(|| Some(name.clone())),
        }
    }

    /// The ways by which an access may reach its memory.
    fn pointers(
        &mut self,
        code: u64,
        is_write: bool,
        size: u64,
        memory: Memory,
    ) -> Option<Vec<(ModuleIdx, Reached)>> {
        // What a function of the C++ library accesses, the line that calls it does not tell.
        let innermost = self.machine_frames(code).into_iter().next()?;
        if is_library_source(&innermost.file) {
            return None;
        }
        let UserFrame { frame, .. } = self.user_frames(code).into_iter().next()?;
        let line = self.sources.line(&frame.file, frame.line)?;
        if is_write && !writes(&words(&line)) {
            // A compiler that joins stores of several lines gives them the line of one, or of none.
            return None;
        }
        let (module, svma) = self.user_call(code)?;
        let (_, variables) = self.variables(module)?;
        let reached = variables.reached(svma, &line)?;
        let fitting = variables.fitting(reached, is_write, size, memory);
        let mut fitting: Vec<_> = fitting.into_iter().map(|it| (module, it)).collect();
        fitting.dedup_by(|(_, one), (_, other)| {
            one.name == other.name && (one.name.is_some() || one.text == other.text)
        });
        Some(fitting)
    }

    /// The name of a lock: `kind` is `ompt_mutex_t`, or one of the stream's. `own`: what it is called if
    /// it is no global variable.
    pub fn lock(&mut self, (kind, address): Lock, own: Option<String>) -> String {
        let symbol = self.space.locate_data(address).and_then(|(module, svma)| {
            let symbol = self.symbols(module)?.data(svma)?;
            Some((module, svma, symbol.name))
        });
        let mutex = Mutex::from_u8(kind);
        if mutex == Some(Mutex::Critical) {
            let section = symbol.as_ref().and_then(|it| section_name(&it.2));
            let section = section.filter(|name| !name.is_empty());
            let words = section.map(|name| format!("critical({name})"));
            return words.unwrap_or_else(|| "critical".to_owned());
        }
        let variable = symbol.map(|(module, svma, symbol)| {
            let variables = self.variables(module);
            let named = variables.and_then(|(_, it)| it.global(svma, 1, &[]));
            named.map_or_else(|| variable_name(&symbol), |named| named.name)
        });
        let variable = variable.or(own).map(|name| {
            // Fields of the lock itself are the library's.
            let own = ["._lk", "._x"];
            let end = own.iter().filter_map(|own| name.find(own)).min();
            let name = &name[..end.unwrap_or(name.len())];
            name.trim_start_matches(['.', '&']).to_owned()
        });
        match (mutex, kind) {
            (Some(Mutex::Atomic), _) => "atomic".to_owned(),
            (Some(Mutex::Ordered), _) => "ordered".to_owned(),
            (_, MUTEX_POSIX) => variable.unwrap_or_else(|| format!("mutex {address:#x}")),
            (_, 128..) => "mutexinoutset".to_owned(),
            _ => variable.unwrap_or_else(|| format!("lock {address:#x}")),
        }
    }
}

/// The readable name of a function, with what the compiler has added for the body of a construct.
fn shown(linkage: &str) -> String {
    match parent_of(linkage).and_then(|parent| Some((parent, linkage.strip_prefix(parent)?))) {
        Some((parent, mark)) => names::short(parent) + mark,
        None => names::short(linkage),
    }
}

/// The function that holds the construct whose body a compiler has made the function `name`; `None`
/// for other functions, `Some(None)` where the name does not tell.
pub(crate) fn outlined(name: &str) -> Option<Option<&str>> {
    // clang makes two functions of a body, with debug information.
    if let Some((parent, _)) = name.split_once(".omp_outlined") {
        return Some(Some(parent).filter(|parent| !parent.is_empty()));
    }
    if name.starts_with(".omp_") {
        Some(None)
    } else {
        parent_of(name).map(Some)
    }
}

/// Whether a function is of flang's runtime, which is a part of the program.
fn is_flangs(function: &str) -> bool {
    function.starts_with("Fortran::runtime::") || function.starts_with("_FortranA")
}

/// Whether a line assigns a new value to a variable.
fn assigns(line: &str, name: &str) -> bool {
    let words = words(line);
    let is_assigned = |pair: &[Word<'_>]| pair == [Word::Name(name), Word::Mark('=')];
    words.windows(2).any(is_assigned)
}

/// The place that stands for the access with its call at `svma`, which has no line: that of the access in the
/// construct which is most likely of the same statement. Compilers move reads to before a loop, and writes to
/// behind it. Without one it is that of the next instruction.
fn locations_near(symbols: &Symbols, svma: u64) -> Option<Vec<Location>> {
    // The function of the sanitizer that a call reaches, if it reports an access.
    let reported = |last: u64| {
        let name = symbolize::called(symbols, last)?;
        let is_access = name.starts_with("__tsan_") && !name.starts_with("__tsan_func");
        is_access.then_some(name)
    };
    let is_write = reported(svma).is_some_and(|name| name.contains("write"));
    let sides = if is_write {
        [Side::Before, Side::After]
    } else {
        [Side::After, Side::Before]
    };
    let [first, second] = sides.map(|side| symbolize::beside(symbols, svma, side));
    let all = || first.iter().chain(&second);
    let accesses = all().filter(|range| reported(range.end - 1).is_some());
    accesses
        .chain(all())
        .map(|range| symbols.locations(range.end - 1))
        .find(|locations| has_line(locations))
}

fn has_line(locations: &[Location]) -> bool {
    let innermost = locations.first().and_then(|location| location.line);
    innermost.is_some_and(|line| line != 0)
}

fn unknown(code: u64) -> Frame {
    Frame {
        function: format!("{code:#x}"),
        ..Frame::default()
    }
}

fn in_object(object: &Path, svma: u64) -> Frame {
    let name = object.file_name().unwrap_or_default().to_string_lossy();
    Frame {
        function: format!("<static>@{svma:#x} ({name})"),
        ..Frame::default()
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_runtime_is_known_by_its_symbols_whatever_its_name() {
        let mut gcc = Command::new("gcc");
        let said = gcc.arg("-print-file-name=libgomp.so.1").output();
        let said = said.expect("gcc").stdout;
        let runtime = PathBuf::from(String::from_utf8_lossy(&said).trim());
        let folder = tempfile::tempdir().expect("a folder");
        let copy = folder.path().join("libmine.so");
        std::fs::copy(runtime, &copy).expect("libgomp");
        let mut places = Places::new();
        places.map((0x1000, 0x1000, 0), &folder.path().join("program"), None);
        let image = Image::open(&copy).ok().map(Arc::new);
        places.map((0x10_0000, 0x1000, 0), &copy, image);
        assert!(places.user_call(0x1010).is_some());
        assert!(places.locate_call(0x10_0010).is_some());
        assert!(places.user_call(0x10_0010).is_none());
        assert_eq!(places.uninstrumented().1, ["program"]);
        assert_eq!(places.with_runtime(), Vec::<String>::new());
    }
}
