//! Code that no file holds: what programs generate while they run.
//!
//! Each process that has such code has a load object of the name that perf gives it, `perf-PID.map`. Its functions
//! are those that the program tells of in that file or in a dump of its compiler (jitdump); all other code is a
//! function for each piece of memory.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use std::{fs, ops};

use rustc_hash::FxHashMap;
use symbolize::Generated;

use crate::jit::Lists;
use crate::records::Mapping;

/// The longest map or dump that is read, in bytes.
const LONGEST: u64 = 1 << 30;

/// The generated code of all processes, by process id.
pub(crate) struct GeneratedCode {
    of: FxHashMap<i32, OfProcess>,
    /// Whether the processes run now.
    is_live: bool,
}

#[derive(Default)]
struct OfProcess {
    /// Pieces of memory, by address and apart from each other.
    pieces: Vec<ops::Range<u64>>,
    /// Bytes of them that were copied.
    copied: u64,
    dumps: Vec<PathBuf>,
    lists: Lists,
    /// What the lists told.
    listed: Generated,
    /// Whose process it is, and when it began. Not known of a process that ran once: another one may have its id now.
    origin: Option<Origin>,
}

/// A process's user, and its begin: a file that is older is one of another process with this id.
struct Origin {
    user: u32,
    begin: SystemTime,
}

impl Origin {
    /// That of a process that runs.
    fn of(pid: i32) -> Option<Origin> {
        /// `/proc` counts in hundredths of a second (USER_HZ).
        const TICKS: f64 = 100.0;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, fields) = stat.rsplit_once(')')?;
        let begin: f64 = fields.split_ascii_whitespace().nth(19)?.parse().ok()?;
        let uptime = fs::read_to_string("/proc/uptime").ok()?;
        let uptime: f64 = uptime.split(' ').next()?.parse().ok()?;
        let age = Duration::try_from_secs_f64(uptime - begin / TICKS + 1.0).ok()?;
        Some(Origin {
            user: fs::metadata(format!("/proc/{pid}")).ok()?.uid(),
            begin: SystemTime::now().checked_sub(age)?,
        })
    }
}

/// Whether a mapping is memory, not of a file that holds its code.
pub(crate) fn is_memory(mapping: &Mapping) -> bool {
    let path = &*mapping.path;
    let names = [
        "//anon",
        "[anon",
        "[heap]",
        "[stack",
        "/anon_hugepage",
        "/memfd:",
        "/SYSV",
    ];
    path.is_empty() || names.iter().any(|name| path.starts_with(name.as_bytes()))
}

/// The name of the load object that holds the generated code of a process.
pub(crate) fn object_of(pid: i32) -> PathBuf {
    format!("perf-{pid}.map").into()
}

/// Where a process tells of its generated code.
fn map_of(pid: i32) -> PathBuf {
    Path::new("/tmp").join(object_of(pid))
}

impl GeneratedCode {
    /// None yet; of processes that run now, or ran once.
    pub(crate) fn new(is_live: bool) -> Self {
        GeneratedCode {
            of: FxHashMap::default(),
            is_live,
        }
    }

    /// Notes memory of a process in which it may generate code.
    pub(crate) fn add(&mut self, pid: i32, mapping: &Mapping) {
        let pieces = &mut self.of(pid).pieces;
        let mut new = mapping.start..mapping.start.saturating_add(mapping.length);
        // Compilers extend what they have.
        pieces.retain(|old| {
            let is_apart = old.end < new.start || new.end < old.start;
            if !is_apart {
                new = new.start.min(old.start)..new.end.max(old.end);
            }
            is_apart
        });
        pieces.push(new);
    }

    /// What a process that runs has generated in a piece of memory by now. `None` of a large one, since programs
    /// reserve those and fill them later, and of those of a process that maps many, or the same ones again and again.
    pub(crate) fn code(&mut self, pid: i32, mapping: &Mapping) -> Option<Arc<[u8]>> {
        const LARGE: u64 = 1 << 20;
        /// Of a process, in bytes.
        const MOST: u64 = 64 << 20;
        let is_live = self.is_live;
        let copied = &mut self.of(pid).copied;
        if !is_live || mapping.length > LARGE || *copied + mapping.length > MOST {
            return None;
        }
        *copied += mapping.length;
        let memory = fs::File::open(format!("/proc/{pid}/mem")).ok()?;
        let mut code = vec![0; mapping.length as usize];
        memory.read_exact_at(&mut code, mapping.start).ok()?;
        Some(code.into())
    }

    /// Notes a compiler's dump, if a mapping is of one: compilers map it to tell of it.
    pub(crate) fn add_dump(&mut self, pid: i32, mapping: &Mapping) {
        let path = Path::new(OsStr::from_bytes(&mapping.path));
        let name = path.file_name().unwrap_or_default().as_bytes();
        if name.starts_with(b"jit-") && name.ends_with(b".dump") {
            self.of(pid).dumps.push(path.to_owned());
        }
    }

    /// Notes the variable in which a compiler's list of its code begins.
    pub(crate) fn add_list(&mut self, pid: i32, variable: u64) {
        self.of(pid).lists.add(variable);
    }

    /// Reads what is new in the lists of processes that run.
    pub(crate) fn read_lists(&mut self) {
        for (pid, code) in &mut self.of {
            if !code.lists.is_empty() {
                code.lists.read(*pid, &mut code.listed);
            }
        }
    }

    fn of(&mut self, pid: i32) -> &mut OfProcess {
        let origin = || self.is_live.then(|| Origin::of(pid)).flatten();
        self.of.entry(pid).or_insert_with(|| OfProcess {
            origin: origin(),
            ..OfProcess::default()
        })
    }

    /// The functions, by load object, as the programs' files tell now. Without `told`, none that they tell of.
    pub(crate) fn functions(&self, told: bool) -> FxHashMap<String, Rc<Generated>> {
        let named = self.of.iter().map(|(pid, code)| {
            let object = object_of(*pid);
            let functions = if told {
                code.functions(&map_of(*pid))
            } else {
                code.pieces()
            };
            (object.to_string_lossy().into_owned(), Rc::new(functions))
        });
        named.collect()
    }

    /// Removes the processes' maps that name functions of Python.
    pub(crate) fn remove_maps_of_python(&self) {
        /// The begin of such a function's name.
        const PYTHON: &[u8] = b" py::";
        for (pid, code) in &self.of {
            let map = map_of(*pid);
            let is_python_s = |map: &[u8]| map.windows(PYTHON.len()).any(|it| it == PYTHON);
            if code.read(&map).is_some_and(|map| is_python_s(&map)) {
                // Another one may remove it as well.
                let _ = fs::remove_file(map);
            }
        }
    }
}

impl OfProcess {
    /// What is known without its own words.
    fn pieces(&self) -> Generated {
        let mut pieces = Generated::default();
        self.add_pieces(&mut pieces);
        pieces
    }

    fn add_pieces(&self, functions: &mut Generated) {
        for piece in &self.pieces {
            let name = format!("<code in memory at {:#x}>", piece.start);
            functions.add_piece(piece.clone(), &name);
        }
    }

    fn functions(&self, map: &Path) -> Generated {
        let mut functions = self.listed.clone();
        self.add_pieces(&mut functions);
        if let Some(map) = self.read(map) {
            functions.add_map(&map);
        }
        for dump in &self.dumps {
            if let Some(dump) = self.read(dump) {
                functions.add_dump(&dump);
            }
        }
        functions
    }

    /// A file of the process; not one that another user or an earlier process has put in its place.
    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        let origin = self.origin.as_ref()?;
        let file = untrusted::open(path).ok()?;
        let metadata = file.metadata().ok()?;
        let own = fs::metadata("/proc/self").ok()?.uid();
        let is_its = [0, own, origin.user].contains(&metadata.uid())
            && metadata.modified().is_ok_and(|it| it >= origin.begin);
        is_its.then(|| untrusted::read_open(file, LONGEST).ok())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(start: u64, length: u64) -> Mapping {
        Mapping {
            start,
            length,
            offset: 0,
            path: b"//anon".as_slice().into(),
            inode: 0,
            build_id: Box::default(),
        }
    }

    #[test]
    fn memory_without_a_map_is_a_function_for_each_piece() {
        let mut code = GeneratedCode::new(true);
        for (start, length) in [(0x5000, 0x1000), (0x1000, 0x1000), (0x2000, 0x1000)] {
            code.add(-1, &memory(start, length));
        }
        let functions = code.functions(true);
        let at = |address| functions["perf--1.map"].at(address);
        let first = (0x1000..0x3000, "<code in memory at 0x1000>");
        assert_eq!((at(0x1000), at(0x2fff)), (Some(first.clone()), Some(first)));
        assert_eq!(at(0x3000), None);
        assert_eq!(
            at(0x5000),
            Some((0x5000..0x6000, "<code in memory at 0x5000>"))
        );
    }

    #[test]
    fn a_function_of_the_map_does_not_take_the_rest_of_its_piece() {
        let folder = std::env::temp_dir().join(format!("generated-{}", std::process::id()));
        fs::write(&folder, "1800 100 square\n").expect("writable");
        let mut code = GeneratedCode::new(true);
        let pid = std::process::id() as i32;
        code.add(pid, &memory(0x1000, 0x2000));
        let functions = code.of(pid).functions(&folder);
        // A file that is older than the process is another one's.
        let old = SystemTime::now() - Duration::from_secs(1 << 30);
        let map = fs::File::options().append(true).open(&folder);
        map.and_then(|map| map.set_modified(old)).expect("my own");
        let without = code.of(pid).functions(&folder);
        assert_eq!(without.at(0x1810), without.at(0x2000));
        // Of a process that ran once, no file is known to be its own.
        let mut once = GeneratedCode::new(false);
        once.add(pid, &memory(0x1000, 0x2000));
        assert!(once.of(pid).origin.is_none());
        fs::remove_file(&folder).expect("it is there");
        assert_eq!(functions.at(0x1810), Some((0x1800..0x1900, "square")));
        let rest = functions.at(0x2000).map(|(_, name)| name);
        assert_eq!(rest, Some("<code in memory at 0x1000>"));
    }
}
