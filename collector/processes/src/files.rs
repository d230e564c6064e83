//! The files of mappings, opened while the process that maps them lives, and kept open.
//!
//! A path may lead to another file soon, or to none: a program is upgraded while it runs, deletes what it
//! has unpacked and mapped, began in memory (`memfd_create`), or sees other files than we do. A file that is
//! open stays what it was. Of one that nobody can open any more, what is mapped of it is copied
//! (`copy.rs`).

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use rustix::process::{Resource, getrlimit};
use unwinder::{BuildId, Image};

use crate::copy;
use crate::maps::{self, Area};
use crate::records::Mapping;

/// What tells files apart. Not the device: what `stat` and the mappings say of it differs on some file systems.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    path: Box<[u8]>,
    inode: u64,
    build_id: Box<[u8]>,
}

/// A file that stays open.
struct Kept {
    path: PathBuf,
    /// Its path in the tables.
    name: String,
    build_id: String,
    file: File,
}

/// The files that processes have mapped.
pub struct MappedFiles {
    images: FxHashMap<Key, Arc<Image>>,
    /// By path, the inode of the first file that was there; of files that the kernel tells by their inodes.
    inodes: FxHashMap<PathBuf, u64>,
    kept: Vec<Kept>,
    /// Most files that stay open; of others, only what a path leads to in the end has names.
    most: usize,
}

impl Default for MappedFiles {
    /// Files may take half of the descriptors that there are.
    fn default() -> Self {
        let limit = getrlimit(Resource::Nofile).current;
        MappedFiles {
            images: FxHashMap::default(),
            inodes: FxHashMap::default(),
            kept: Vec::new(),
            most: limit.map_or(usize::MAX, |limit| limit as usize / 2),
        }
    }
}

impl MappedFiles {
    /// The file of a mapping of a process that runs, parsed. Its path leads to the file while this lives, whatever
    /// becomes of the path that was mapped.
    pub fn image(&mut self, pid: i32, mapping: &Mapping) -> Option<Arc<Image>> {
        let key = Key {
            path: mapping.path.clone(),
            inode: mapping.inode,
            build_id: mapping.build_id.clone(),
        };
        if let Some(known) = self.images.get(&key) {
            return Some(known.clone());
        }
        let Opened { from, file, image } = opened(pid, mapping)?;
        let may_stay = self.kept.len() < self.most;
        let image = if may_stay {
            image
        } else {
            Image::open(&from?).ok()?
        };
        let image = Arc::new(image);
        self.images.insert(key, image.clone());
        if may_stay {
            let name = self.name(mapping).to_string_lossy().into_owned();
            self.kept.push(Kept {
                path: path_of(maps::unmarked(&mapping.path)).to_owned(),
                name,
                build_id: image
                    .build_id()
                    .map(ToString::to_string)
                    .unwrap_or_default(),
                file,
            });
        }
        Some(image)
    }

    /// The path of a mapping's file in the tables: its own, but for a file that took the place of another one, if
    /// only their inodes tell them apart.
    pub fn name(&mut self, mapping: &Mapping) -> PathBuf {
        let path = path_of(maps::unmarked(&mapping.path));
        let inode = mapping.inode;
        if inode == 0 || *self.inodes.entry(path.to_owned()).or_insert(inode) == inode {
            return path.to_owned();
        }
        let mut name = path.as_os_str().to_owned();
        name.push(format!(" (inode {inode})"));
        name.into()
    }

    /// Files that their paths do not lead to now, by path and build id: where they are.
    pub(crate) fn moved(&self) -> impl Iterator<Item = ((String, String), PathBuf)> {
        let moved = self.kept.iter().filter(|kept| {
            let now = std::fs::metadata(&kept.path).map(|it| (it.dev(), it.ino()));
            let then = kept.file.metadata().map(|it| (it.dev(), it.ino()));
            kept.path.to_str() != Some(&kept.name) || now.ok() != then.ok()
        });
        moved.map(|kept| {
            let row = (kept.name.clone(), kept.build_id.clone());
            (row, place(&kept.file))
        })
    }
}

fn path_of(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// A path that leads to an open file.
pub(crate) fn place(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// A file, and from which path it was opened, unless it is a copy.
struct Opened {
    from: Option<PathBuf>,
    file: File,
    image: Image,
}

/// The file of a mapping, from wherever it can be had.
fn opened(pid: i32, mapping: &Mapping) -> Option<Opened> {
    let path = path_of(&mapping.path);
    let inside = path.strip_prefix("/").ok()?;
    let process = PathBuf::from(format!("/proc/{pid}"));
    let by_path = [path.to_owned(), process.join("root").join(inside)];
    let open = |path: PathBuf| {
        let file = untrusted::open(&path).ok()?;
        usable(pid, mapping, (Some(path), file))
    };
    by_path
        .into_iter()
        .find_map(open)
        .or_else(|| open(process.join("exe")))
        .or_else(|| open(map_file(pid, mapping)?))
        .or_else(|| usable(pid, mapping, (None, copy::of(pid, mapping)?)))
}

/// The link to a mapping's file (proc(5)), which only the privileged may follow.
fn map_file(pid: i32, mapping: &Mapping) -> Option<PathBuf> {
    let areas = maps::areas(pid);
    let path = maps::unmarked(&mapping.path);
    let is_its =
        |area: &&Area| area.range.contains(&mapping.start) && maps::unmarked(&area.path) == path;
    let area = areas.iter().find(is_its)?;
    let (start, end) = (area.range.start, area.range.end);
    Some(format!("/proc/{pid}/map_files/{start:x}-{end:x}").into())
}

/// An open file, parsed, if it is the one that is mapped.
fn usable(pid: i32, mapping: &Mapping, (from, file): (Option<PathBuf>, File)) -> Option<Opened> {
    let image = Image::open(&place(&file)).ok()?;
    let range = mapping.start..mapping.start.saturating_add(mapping.length);
    let is_it = match BuildId::new(&mapping.build_id) {
        Some(expected) => image
            .build_id()
            .is_some_and(|found| found.same_file(&expected)),
        // Where layers of file systems lie upon each other, a file may have two numbers.
        None => {
            file.metadata().is_ok_and(|it| it.ino() == mapping.inode)
                || same_content((pid, &range), &file, mapping.offset).unwrap_or(false)
        }
    };
    is_it.then_some(Opened { from, file, image })
}

/// Most bytes that are compared. Two files are told apart by far fewer.
const COMPARED: u64 = 64 << 20;

/// Whether the memory of a process in a range is what the file has from `offset` on.
///
/// # Errors
/// Those of `pread(2)`: the process is gone, or may not be looked at.
pub(crate) fn same_content(
    (pid, range): (i32, &Range<u64>),
    file: &File,
    offset: u64,
) -> io::Result<bool> {
    const PIECE: u64 = 1 << 16;
    let memory = File::open(format!("/proc/{pid}/mem"))?;
    let length = (range.end - range.start).min(COMPARED);
    let (mut there, mut here) = (vec![0; PIECE as usize], vec![0; PIECE as usize]);
    for at in (0..length).step_by(PIECE as usize) {
        let piece = PIECE.min(length - at) as usize;
        let read = file.read_at(&mut here[..piece], offset.saturating_add(at))?;
        if read == 0 {
            return Ok(at > 0);
        }
        memory.read_exact_at(&mut there[..read], range.start + at)?;
        if here[..read] != there[..read] {
            return Ok(false);
        }
    }
    Ok(length > 0)
}
