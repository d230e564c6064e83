//! Code that no file holds: what programs generate while they run.
//!
//! Each process that has such code has a load object of the name that perf gives it, `perf-PID.map`. Its functions
//! are those that the program tells of in that file or in a dump of its compiler (jitdump); all other code is a
//! function for each piece of memory.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::{fs, ops};

use rustc_hash::FxHashMap;
use symbolize::Generated;

use crate::jit::Lists;
use crate::records::Mapping;

/// The longest map or dump that is read, in bytes.
const LONGEST: u64 = 1 << 30;

/// The generated code of all processes, by process id.
#[derive(Default)]
pub(crate) struct GeneratedCode(FxHashMap<i32, OfProcess>);

#[derive(Default)]
struct OfProcess {
    /// Pieces of memory, by address and apart from each other.
    pieces: Vec<ops::Range<u64>>,
    dumps: Vec<PathBuf>,
    lists: Lists,
    /// What the lists told.
    listed: Generated,
    /// The user whose process it is.
    owner: Option<u32>,
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

impl GeneratedCode {
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
        for (pid, code) in &mut self.0 {
            if !code.lists.is_empty() {
                code.lists.read(*pid, &mut code.listed);
            }
        }
    }

    fn of(&mut self, pid: i32) -> &mut OfProcess {
        self.0.entry(pid).or_insert_with(|| OfProcess {
            owner: fs::metadata(format!("/proc/{pid}")).ok().map(|it| it.uid()),
            ..OfProcess::default()
        })
    }

    /// The functions, by load object, as the programs' files tell now.
    pub(crate) fn functions(&self) -> FxHashMap<String, Rc<Generated>> {
        let named = self.0.iter().map(|(pid, code)| {
            let object = object_of(*pid);
            let functions = code.functions(&Path::new("/tmp").join(&object));
            (object.to_string_lossy().into_owned(), Rc::new(functions))
        });
        named.collect()
    }
}

impl OfProcess {
    fn functions(&self, map: &Path) -> Generated {
        let mut functions = self.listed.clone();
        for piece in &self.pieces {
            let name = format!("<generated code at {:#x}>", piece.start);
            functions.add_piece(piece.clone(), &name);
        }
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

    /// A file of the process; not one that another user has put in its place.
    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        let file = untrusted::open(path).ok()?;
        let user = file.metadata().ok()?.uid();
        let own = fs::metadata("/proc/self").ok().map(|it| it.uid());
        let is_trusted = user == 0 || [own, self.owner].contains(&Some(user));
        is_trusted.then(|| untrusted::read_open(file, LONGEST).ok())?
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
        let mut code = GeneratedCode::default();
        for (start, length) in [(0x5000, 0x1000), (0x1000, 0x1000), (0x2000, 0x1000)] {
            code.add(-1, &memory(start, length));
        }
        let functions = code.functions();
        let at = |address| functions["perf--1.map"].at(address);
        let first = (0x1000..0x3000, "<generated code at 0x1000>");
        assert_eq!((at(0x1000), at(0x2fff)), (Some(first.clone()), Some(first)));
        assert_eq!(at(0x3000), None);
        assert_eq!(
            at(0x5000),
            Some((0x5000..0x6000, "<generated code at 0x5000>"))
        );
    }

    #[test]
    fn a_function_of_the_map_does_not_take_the_rest_of_its_piece() {
        let folder = std::env::temp_dir().join(format!("generated-{}", std::process::id()));
        fs::write(&folder, "1800 100 square\n").expect("writable");
        let mut code = GeneratedCode::default();
        code.add(-1, &memory(0x1000, 0x2000));
        let functions = code.of(-1).functions(&folder);
        fs::remove_file(&folder).expect("it is there");
        assert_eq!(functions.at(0x1810), Some((0x1800..0x1900, "square")));
        let rest = functions.at(0x2000).map(|(_, name)| name);
        assert_eq!(rest, Some("<generated code at 0x1000>"));
    }
}
