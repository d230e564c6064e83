//! The load objects that programs map: their files, each parsed once, and their rows in the tables.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use experiment::ids::ModuleId;
use experiment::tables::{self, RuntimeKind, Tables};
use rustc_hash::FxHashMap;
use unwinder::{BuildId, Image, ImageCache, MappedCode};

use crate::files::{self, MappedFiles};
use crate::records::Mapping;
use crate::runtimes::Runtime;

/// The rows of a load object in the tables.
#[derive(Clone)]
pub(crate) struct ModuleRows {
    pub(crate) id: ModuleId,
    /// The row for the code of a runtime that is linked into it, and where that code is.
    pub(crate) linked: Option<(tables::Module, Arc<Runtime>)>,
}

/// The load objects of all programs.
pub struct LoadObjects {
    images: ImageCache,
    vdso: Option<Arc<Image>>,
    /// `libcollector.so`, where it is loaded into programs.
    collector: Option<PathBuf>,
    runtimes: FxHashMap<(PathBuf, Option<BuildId>), Arc<Runtime>>,
    /// Those of processes that run, opened.
    files: MappedFiles,
    /// Paths that are not UTF-8, by their text and the build id of the file. Ended processes keep theirs.
    paths: FxHashMap<(String, String), PathBuf>,
    /// Files that are gone, or are other ones by now: their build ids.
    missing: FxHashMap<PathBuf, BuildId>,
    /// Whether processes are looked up in `/proc`.
    is_live: bool,
}

/// The name that the kernel maps the vDSO under.
const VDSO: &str = "[vdso]";

impl LoadObjects {
    /// Those of processes that run now. `collector` is the path of `libcollector.so`, `vdso` the ELF image of
    /// the vDSO, which is the same in all of them.
    pub fn new(collector: Option<PathBuf>, vdso: Option<&[u8]>) -> Self {
        LoadObjects {
            collector,
            is_live: true,
            ..LoadObjects::recorded(vdso)
        }
    }

    /// Those of processes that ran once: what `/proc` shows now under their ids is of others. `vdso` is the
    /// ELF image of the vDSO that they had, if it is known.
    pub fn recorded(vdso: Option<&[u8]>) -> Self {
        let vdso = vdso
            .and_then(|bytes| Image::from_bytes(Path::new(VDSO), bytes).ok())
            .map(Arc::new);
        LoadObjects {
            is_live: false,
            images: ImageCache::new(),
            vdso,
            collector: None,
            runtimes: FxHashMap::default(),
            files: MappedFiles::default(),
            paths: FxHashMap::default(),
            missing: FxHashMap::default(),
        }
    }

    /// Whether they are of processes that run now.
    pub(crate) fn is_live(&self) -> bool {
        self.is_live
    }

    /// The library that is loaded into programs.
    pub fn collector(&self) -> Option<&Path> {
        self.collector.as_deref()
    }

    /// Whether a load object is that library.
    pub(crate) fn is_collector(&self, path: &Path) -> bool {
        self.collector() == Some(path)
    }

    /// Files that their paths in the tables do not lead to, by path and build id: where they are. They were
    /// deleted or replaced, or are in other mount namespaces, or their paths are not UTF-8.
    pub fn paths(&self) -> FxHashMap<(String, String), PathBuf> {
        let mut paths = self.paths.clone();
        paths.extend(self.files.moved());
        paths
    }

    /// The path of a mapping's file in the tables.
    pub(crate) fn name(&mut self, mapping: &Mapping) -> PathBuf {
        self.files.name(mapping)
    }

    /// The file of a mapping, parsed, if it could be read. `path` is its path in the tables.
    pub(crate) fn image(&mut self, pid: i32, path: &Path, mapping: &Mapping) -> Option<Arc<Image>> {
        let Some(image) = self.parsed(pid, path, mapping) else {
            if let Some(expected) = BuildId::new(&mapping.build_id) {
                self.missing.insert(path.to_owned(), expected);
            }
            return None;
        };
        if !self.is_live && path.to_str().is_none() {
            let build_id = image.build_id().map(ToString::to_string);
            let row = (
                path.to_string_lossy().into_owned(),
                build_id.unwrap_or_default(),
            );
            self.paths.insert(row, path.to_owned());
        }
        let key = key_of(&image);
        if !self.is_collector(path)
            && !self.runtimes.contains_key(&key)
            && let Some(runtime) = Runtime::of(&image)
        {
            self.runtimes.insert(key, Arc::new(runtime));
        }
        Some(image)
    }

    /// Whether the memory of a process holds the code of a file that was mapped there.
    pub(crate) fn is_in_memory(&self, pid: i32, code: &MappedCode) -> bool {
        let same = || {
            let file = untrusted::open(code.image.path())?;
            files::same_content((pid, &code.range), &file, code.offset)
        };
        self.is_live && same().unwrap_or(false)
    }

    /// The OpenMP runtime that a load object is or contains.
    pub(crate) fn runtime(&self, image: &Image) -> Option<&Arc<Runtime>> {
        self.runtimes.get(&key_of(image))
    }

    fn parsed(&mut self, pid: i32, path: &Path, mapping: &Mapping) -> Option<Arc<Image>> {
        if path == Path::new(VDSO) {
            return self.vdso.clone();
        }
        if !path.is_absolute() || path.starts_with("//anon") {
            return None;
        }
        if self.is_live {
            self.files.image(pid, mapping)
        } else {
            let build_id = BuildId::new(&mapping.build_id);
            self.images.get(path, build_id.as_ref()).ok()
        }
    }

    /// The rows of a load object: its own and, if a runtime is linked into it, one for that. So the
    /// frames of the program and of the runtime differ although they are in one file.
    pub(crate) fn rows(
        &self,
        tables: &mut Tables,
        path: &Path,
        image: Option<&Image>,
        executable: bool,
    ) -> ModuleRows {
        let missing = || self.missing.get(path).filter(|_| image.is_none());
        let build_id = image.and_then(Image::build_id).or_else(missing);
        let row = |runtime| tables::Module {
            path: path.to_string_lossy().into_owned(),
            build_id: build_id.map(ToString::to_string).unwrap_or_default(),
            runtime,
        };
        let runtime = image.and_then(|image| self.runtime(image));
        let (kind, linked) = match runtime {
            _ if self.is_collector(path) => (RuntimeKind::Collector, None),
            Some(runtime) if runtime.is_part(executable) => {
                let linked = (row(runtime.kind), runtime.clone());
                (RuntimeKind::None, Some(linked))
            }
            Some(runtime) => (runtime.kind, None),
            None => (RuntimeKind::None, None),
        };
        ModuleRows {
            id: tables.module(row(kind)),
            linked,
        }
    }
}

/// Distinguishes files that had the same path at different times.
fn key_of(image: &Image) -> (PathBuf, Option<BuildId>) {
    (image.path().to_owned(), image.build_id().cloned())
}
