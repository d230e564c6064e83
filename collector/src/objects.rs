//! The load objects that programs map: their files, parsed once each, and their rows.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use experiment::ids::ModuleId;
use experiment::tables::{self, RuntimeKind, Tables};
use rustc_hash::FxHashMap;
use unwinder::{BuildId, Image, ImageCache};

use crate::runtimes::Runtime;

/// A load object with its row in the tables.
#[derive(Clone)]
pub(crate) struct Known {
    pub(crate) id: ModuleId,
    /// The row that the code of a runtime linked into it has, and where that code is.
    pub(crate) linked: Option<(tables::Module, Arc<Runtime>)>,
}

/// The files that programs map, parsed once each.
pub struct Libraries {
    images: ImageCache,
    vdso: Option<Arc<Image>>,
    /// `libcollector.so`, where it is loaded into programs.
    collector: Option<PathBuf>,
    runtimes: FxHashMap<(PathBuf, Option<BuildId>), Arc<Runtime>>,
    strange_paths: FxHashMap<String, PathBuf>,
}

/// The name that the kernel maps the vDSO under.
const VDSO: &str = "[vdso]";

impl Libraries {
    /// No file yet. `collector` is the path of `libcollector.so`.
    pub fn new(collector: Option<PathBuf>) -> Self {
        let vdso = crate::sys::vdso()
            .and_then(|bytes| Image::from_bytes(Path::new(VDSO), &bytes).ok())
            .map(Arc::new);
        Libraries {
            images: ImageCache::new(),
            vdso,
            collector,
            runtimes: FxHashMap::default(),
            strange_paths: FxHashMap::default(),
        }
    }

    /// The library that is loaded into programs.
    pub(crate) fn collector(&self) -> Option<&Path> {
        self.collector.as_deref()
    }

    /// Whether a load object is that.
    pub(crate) fn is_collector(&self, path: &Path) -> bool {
        self.collector() == Some(path)
    }

    /// The files with paths that are not UTF-8, by their names in the tables.
    pub(crate) fn strange_paths(&self) -> FxHashMap<String, PathBuf> {
        self.strange_paths.clone()
    }

    pub(crate) fn image(
        &mut self,
        pid: i32,
        path: &Path,
        build_id: Option<&BuildId>,
    ) -> Option<Arc<Image>> {
        if path.to_str().is_none() {
            let text = path.to_string_lossy().into_owned();
            self.strange_paths.insert(text, path.to_owned());
        }
        let image = self.parsed(pid, path, build_id)?;
        let key = key_of(&image);
        if !self.is_collector(path)
            && !self.runtimes.contains_key(&key)
            && let Some(runtime) = Runtime::of(&image)
        {
            self.runtimes.insert(key, Arc::new(runtime));
        }
        Some(image)
    }

    /// The OpenMP runtime that a load object is, or has within.
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
        self.images.get(path, build_id).ok().or_else(|| {
            // In a mount namespace of its own, the process sees the file and we do not.
            let root = PathBuf::from(format!("/proc/{pid}/root"));
            let inside = root.join(path.strip_prefix("/").ok()?);
            self.images.get(&inside, build_id).ok()
        })
    }

    /// The rows of a load object: its own and, if a runtime was linked into it, that one's. So the
    /// program's frames are its author's, and the runtime's are the runtime's, in one file.
    pub(crate) fn known(
        &self,
        tables: &mut Tables,
        path: &Path,
        image: Option<&Image>,
        executable: bool,
    ) -> Known {
        let build_id = image.and_then(Image::build_id);
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
        Known {
            id: tables.module(row(kind)),
            linked,
        }
    }
}

/// What tells a file from another that had its path before.
fn key_of(image: &Image) -> (PathBuf, Option<BuildId>) {
    (image.path().to_owned(), image.build_id().cloned())
}
