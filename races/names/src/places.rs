//! The load objects of the recorded process, and the names in them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use experiment::linkage::parent_of;
use findings::{Declaration, Frame, Origin, Variable};
use hashbrown::HashMap;
use race_checker::site::FramePlace;
use race_stream::record::MUTEX_POSIX;
use symbolize::{Location, Symbols, names};
use unwinder::{AddressSpace, Image, ModuleIdx};

use crate::is_runtime;

/// What was mapped in the recorded process, and the symbols of it.
#[derive(Default)]
pub struct Places {
    space: AddressSpace,
    symbols: HashMap<ModuleIdx, Option<Symbols>>,
    frames: HashMap<u64, Vec<(Frame, bool)>>,
    /// The return addresses of calls that report accesses, sorted.
    accesses: Vec<u64>,
}

/// Accesses behind one without a line among which one with a line is looked for.
const NEAR: usize = 8;

impl Places {
    /// Nothing mapped.
    pub fn new() -> Places {
        Places::default()
    }

    /// `length` bytes of the file at `path` from `offset` on are mapped, executable, at `start`.
    pub fn map(&mut self, start: u64, length: u64, offset: u64, path: &Path) {
        let image = Image::open(path).ok().map(Arc::new);
        self.space.map(start, length, offset, image, path);
    }

    /// The return addresses of all calls that report accesses.
    pub fn set_accesses(&mut self, mut codes: Vec<u64>) {
        codes.sort_unstable();
        codes.dedup();
        self.accesses = codes;
    }

    /// Whether code is mapped at `address`.
    pub fn is_mapped(&self, address: u64) -> bool {
        self.space.locate(address).is_some()
    }

    fn path(&self, module: ModuleIdx) -> Option<PathBuf> {
        self.space.module(module).map(|module| module.path.clone())
    }

    fn symbols(&mut self, module: ModuleIdx) -> Option<&Symbols> {
        let path = self.path(module)?;
        let open = || Symbols::open(&path, None).ok();
        self.symbols.entry(module).or_insert_with(open).as_ref()
    }

    /// The frames of the call that returns to `code`, innermost first: of inlined functions, too.
    pub fn machine_frames(&mut self, code: u64) -> Vec<Frame> {
        let Some((module, svma)) = self.space.locate(code.saturating_sub(1)) else {
            return vec![unknown(code)];
        };
        let object = self.path(module).unwrap_or_default();
        let bias = code.saturating_sub(1) - svma;
        let behind = self.accesses.partition_point(|access| *access <= code);
        let behind: Vec<u64> = self.accesses[behind..].iter().take(NEAR).copied().collect();
        let Some(symbols) = self.symbols(module) else {
            return vec![in_object(&object, svma)];
        };
        let function = symbols.function(svma).map(|function| function.name);
        let mut locations = symbols.locations(svma);
        if !locations.is_empty() && !has_line(&locations) {
            // The compiler moved the access out of a loop, or made it of several: the next access of the
            // function is most likely of the same statement.
            let end = symbols
                .function(svma)
                .map_or(svma, |function| function.start + function.size);
            let next = behind.iter().map(|code| (code - 1).wrapping_sub(bias));
            let next = next.take_while(|next| *next < end);
            let mut next = next.map(|next| symbols.locations(next));
            locations = next.find(|next| has_line(next)).unwrap_or(locations);
        }
        if locations.is_empty() {
            return vec![match function {
                Some(function) => Frame {
                    function: names::short(&function),
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
                    function: name.map(|name| names::short(&name)).unwrap_or_default(),
                    file: location.file.unwrap_or_default(),
                    line: location.line.unwrap_or_default(),
                }
            })
            .collect()
    }

    /// The same as the program's author knows them: without runtimes, and the body of a construct
    /// under the name of the function that holds it. `true`: such a body.
    pub fn user_frames(&mut self, code: u64) -> Vec<(Frame, bool)> {
        if let Some(known) = self.frames.get(&code) {
            return known.clone();
        }
        let frames = self.find_user_frames(code);
        self.frames.insert(code, frames.clone());
        frames
    }

    fn find_user_frames(&mut self, code: u64) -> Vec<(Frame, bool)> {
        let Some((module, svma)) = self.space.locate(code.saturating_sub(1)) else {
            return Vec::new();
        };
        if self.path(module).is_some_and(|path| is_runtime(&path)) {
            return Vec::new();
        }
        let parent = self.symbols(module).and_then(|symbols| {
            let origin = symbols.origin(svma);
            origin.and_then(|origin| origin.parent)
        });
        let frames = self.machine_frames(code).into_iter();
        frames
            .map(|frame| match outlined(&frame.function) {
                None => (frame, false),
                Some(own) => {
                    let own = own.map(str::to_owned);
                    let function = own.or_else(|| parent.clone()).unwrap_or_default();
                    let function = names::short(&function);
                    (Frame { function, ..frame }, true)
                }
            })
            .collect()
    }

    /// Names a global or static variable.
    pub fn name_static(&mut self, variable: &mut Variable) {
        let Some((module, svma)) = self.space.locate_data(variable.address) else {
            return;
        };
        let Some(symbols) = self.symbols(module) else {
            return;
        };
        let found = symbols.variables(&[svma]).pop();
        variable.name = found.map(|(_, name)| names::short(&name));
        variable.origin = Origin::Global(Declaration::default());
    }

    /// Names a thread's copy of a threadprivate variable.
    pub fn name_thread_local(&mut self, variable: &mut Variable) {
        variable.origin = Origin::Thread(Declaration::default());
    }

    /// Names a variable of a function's frame.
    pub fn name_local(
        &mut self,
        variable: &mut Variable,
        _frame: Option<&FramePlace>,
        _codes: &[u64],
    ) {
        variable.origin = Origin::Stack(Declaration::default());
    }

    /// The name by which the program reaches a block on the heap, at `offset` bytes.
    pub fn pointer_name(&mut self, _codes: &[u64], _offset: u64, _size: u64) -> Option<String> {
        None
    }

    /// The name of a lock: `kind` is `ompt_mutex_t`, or one of the stream's.
    pub fn lock(&mut self, kind: u8, address: u64) -> String {
        const CRITICAL: u8 = 5;
        const ATOMIC: u8 = 6;
        const ORDERED: u8 = 7;
        let named = |name: String| name.trim_start_matches(['.', '&']).to_owned();
        let variable = self.space.locate_data(address).and_then(|(module, svma)| {
            let symbols = self.symbols(module)?;
            symbols.variables(&[svma]).pop().map(|(_, name)| name)
        });
        match kind {
            CRITICAL => match variable.as_deref().and_then(critical_name) {
                Some(name) => format!("critical({name})"),
                None => "critical".to_owned(),
            },
            ATOMIC => "atomic".to_owned(),
            ORDERED => "ordered".to_owned(),
            MUTEX_POSIX => variable.map_or_else(|| format!("mutex {address:#x}"), named),
            128.. => "mutexinoutset".to_owned(),
            _ => variable.map_or_else(|| format!("lock {address:#x}"), named),
        }
    }
}

/// The function that holds the construct whose body a compiler has made the function `name`; `None`
/// for other functions, `Some(None)` where the name does not tell.
fn outlined(name: &str) -> Option<Option<&str>> {
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

/// The name of a critical section by its variable, as compilers spell it; `None` without a name.
fn critical_name(variable: &str) -> Option<&str> {
    let name = variable.strip_prefix(".gomp_critical_user_")?;
    let name = name.strip_suffix(".var").unwrap_or(name);
    let name = name.strip_suffix(".AS0").unwrap_or(name);
    (!name.is_empty()).then_some(name)
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
