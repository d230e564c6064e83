//! The load objects that programs map: their files, each parsed once, and their rows in the tables.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use experiment::ids::ModuleId;
use experiment::tables::{self, RuntimeKind, Tables};
use rustc_hash::FxHashMap;
use unwinder::{BuildId, Image, ImageCache};

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
    /// Files that their paths in the tables do not lead to, by path and build id: where they are.
    paths: FxHashMap<(String, String), PathBuf>,
    /// Those that only a process in a mount namespace of its own could see, kept for after its end.
    kept: Vec<File>,
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
            paths: FxHashMap::default(),
            kept: Vec::new(),
            missing: FxHashMap::default(),
        }
    }

    /// The library that is loaded into programs.
    pub fn collector(&self) -> Option<&Path> {
        self.collector.as_deref()
    }

    /// Whether a load object is that library.
    pub(crate) fn is_collector(&self, path: &Path) -> bool {
        self.collector() == Some(path)
    }

    /// Files that their paths in the tables do not lead to, by path and build id: where they are. Such paths
    /// are not UTF-8, or those of other mount namespaces.
    pub fn paths(&self) -> FxHashMap<(String, String), PathBuf> {
        self.paths.clone()
    }

    pub(crate) fn image(
        &mut self,
        pid: i32,
        path: &Path,
        build_id: Option<&BuildId>,
    ) -> Option<Arc<Image>> {
        let Some(image) = self.parsed(pid, path, build_id) else {
            if let Some(expected) = build_id {
                self.missing.insert(path.to_owned(), expected.clone());
            }
            return None;
        };
        let build_id = image.build_id().map(ToString::to_string);
        let row = (
            path.to_string_lossy().into_owned(),
            build_id.unwrap_or_default(),
        );
        if image.path() != path && !self.paths.contains_key(&row) {
            if let Ok(file) = File::open(image.path()) {
                let kept = format!("/proc/self/fd/{}", file.as_raw_fd());
                self.paths.insert(row, kept.into());
                self.kept.push(file);
            }
        } else if path.to_str().is_none() {
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

    /// The OpenMP runtime that a load object is or contains.
    pub(crate) fn runtime(&self, image: &Image) -> Option<&Arc<Runtime>> {
        self.runtimes.get(&key_of(image))
    }

    fn parsed(&mut self, pid: i32, path: &Path, build_id: Option<&BuildId>) -> Option<Arc<Image>> {
        if path == Path::new(VDSO) {
            return self.vdso.clone();
        }
        if !path.is_absolute() || path.starts_with("//anon") {
            return None;
        }
        if !self.is_live {
            return self.images.get(path, build_id).ok();
        }
        // A process in a mount namespace of its own may see files that we do not, or other ones under the
        // same path. The build id tells them apart.
        let root = PathBuf::from(format!("/proc/{pid}/root"));
        let inside = root.join(path.strip_prefix("/").ok()?);
        let paths = if build_id.is_none() && has_other_files(pid) {
            [&inside, path]
        } else {
            [path, &inside]
        };
        paths
            .into_iter()
            .find_map(|path| self.images.get(path, build_id).ok())
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

/// Whether a process has another root or mount namespace than ours.
fn has_other_files(pid: i32) -> bool {
    let link = |process: &str, name| fs::read_link(format!("/proc/{process}/{name}")).ok();
    let pid = pid.to_string();
    ["root", "ns/mnt"].into_iter().any(|name| {
        let theirs = link(&pid, name);
        theirs.is_some() && theirs != link("self", name)
    })
}

/// Distinguishes files that had the same path at different times.
fn key_of(image: &Image) -> (PathBuf, Option<BuildId>) {
    (image.path().to_owned(), image.build_id().cloned())
}
