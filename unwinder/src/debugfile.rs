//! The search for separate debug files: by build id, by `.gnu_debuglink`, by `.gnu_debugaltlink`.
//!
//! The places are those that GDB documents ("Debugging Information in Separate Files").

use std::path::{Path, PathBuf};

use object::{Object, ObjectSection};

use crate::build_id::BuildId;
use crate::file::{self, Pieces};
use crate::image::{ImageError, elf64};

/// Why a file has no symbols, no debug information, or not all of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SymbolsMiss {
    /// The file itself cannot be used.
    #[error("{path} {error}", path = .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: ImageError,
    },
    /// The file was stripped of its symbol table; only what it exports has names.
    #[error("{path} is stripped", path = .path.display())]
    Stripped {
        /// The file.
        path: PathBuf,
    },
    /// No separate debug file is at any of these places.
    #[error("no debug file for {path}", path = .path.display())]
    NoDebugFile {
        /// The stripped file.
        path: PathBuf,
        /// Where one was looked for.
        tried: Vec<PathBuf>,
    },
    /// A file with the right name belongs to another build.
    #[error("{found} belongs to another build of {path}",
        found = .found.display(), path = .path.display())]
    OtherBuild {
        /// The stripped file.
        path: PathBuf,
        /// The file that was found.
        found: PathBuf,
    },
    /// The packed symbol table (`.gnu_debugdata`) cannot be unpacked.
    #[error("the packed symbol table of {path} is damaged", path = .path.display())]
    DamagedDebugData {
        /// The file that holds it.
        path: PathBuf,
    },
    /// The debug information refers to a common file (`dwz`) that is not there.
    #[error("{path} shares its debug information with {name}, which was not found",
        path = .path.display(), name = .name.display())]
    NoCommonFile {
        /// The debug file.
        path: PathBuf,
        /// The name that it gives.
        name: PathBuf,
    },
    /// There is no debug information: compiled without `-g`.
    #[error("{path} was compiled without -g", path = .path.display())]
    NoDebugInfo {
        /// The file.
        path: PathBuf,
    },
    /// The debug information cannot be parsed.
    #[error("the debug information of {path} is damaged: {reason}", path = .path.display())]
    DamagedDebugInfo {
        /// The file that holds it.
        path: PathBuf,
        /// What the parser said.
        reason: String,
    },
}

/// Where debug files are installed.
pub(crate) const DEBUG_ROOT: &str = "/usr/lib/debug";

/// What an ELF file says about itself and its debug file.
#[derive(Clone, Debug)]
pub(crate) struct Links {
    pub(crate) path: PathBuf,
    pub(crate) build_id: Option<BuildId>,
    /// `.gnu_debuglink`: a file name and the CRC-32 of the file.
    debug_link: Option<(PathBuf, u32)>,
}

impl Links {
    pub(crate) fn of<'data>(path: &Path, elf: &impl Object<'data>) -> Self {
        let link = elf.gnu_debuglink().ok().flatten();
        Self {
            path: path.to_owned(),
            build_id: elf.build_id().ok().flatten().and_then(BuildId::new),
            debug_link: link.map(|(name, crc)| (path_of(name), crc)),
        }
    }
}

fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

fn build_id_path(root: &Path, id: &BuildId) -> PathBuf {
    let hex = id.to_string();
    let (first, rest) = hex.split_at(2);
    root.join(".build-id")
        .join(first)
        .join(format!("{rest}.debug"))
}

/// Finds the debug file of a stripped file. What was found but did not fit is added to `misses`.
pub(crate) fn find(
    links: &Links,
    roots: &[PathBuf],
    misses: &mut Vec<SymbolsMiss>,
) -> Option<(PathBuf, Pieces)> {
    let mut tried = Vec::new();
    let path = &links.path;
    let by_id = links
        .build_id
        .iter()
        .flat_map(|id| roots.iter().map(|r| build_id_path(r, id)));
    for place in by_id.chain(link_places(links, roots)) {
        if tried.contains(&place) {
            continue;
        }
        if let Ok(pieces) = file::open(&place) {
            if fits(links, &place, &pieces) {
                return Some((place, pieces));
            }
            misses.push(SymbolsMiss::OtherBuild {
                path: path.clone(),
                found: place.clone(),
            });
        }
        tried.push(place);
    }
    misses.push(SymbolsMiss::NoDebugFile {
        path: path.clone(),
        tried,
    });
    None
}

/// Beside the file, in `.debug` beside it, and under each root; for the path that was mapped and
/// for the one without symbolic links, because `/lib` is often one for `/usr/lib`.
fn link_places(links: &Links, roots: &[PathBuf]) -> Vec<PathBuf> {
    let Some((name, _)) = &links.debug_link else {
        return Vec::new();
    };
    let mut places = Vec::new();
    for path in [links.path.clone(), file::real(&links.path)] {
        let Some(folder) = path.parent() else {
            continue;
        };
        places.push(folder.join(name));
        places.push(folder.join(".debug").join(name));
        let below_root = folder.strip_prefix("/").unwrap_or(folder);
        places.extend(roots.iter().map(|root| root.join(below_root).join(name)));
    }
    places.retain(|place| place != &links.path);
    places
}

/// Whether a debug file belongs to the stripped file: by build id, or without one by checksum.
fn fits(links: &Links, place: &Path, pieces: &Pieces) -> bool {
    let Ok(elf) = elf64(pieces) else { return false };
    let id = elf.build_id().ok().flatten().and_then(BuildId::new);
    match (&links.build_id, &id, &links.debug_link) {
        (Some(wanted), Some(found), _) => wanted == found,
        (_, _, Some((_, crc))) => {
            file::read(place).is_ok_and(|bytes| crc32fast::hash(&bytes) == *crc)
        }
        _ => false,
    }
}

/// The file with the debug information that several debug files share, as `dwz` makes it.
/// `Ok(None)` when `elf` at `path` does not refer to one.
pub(crate) fn find_common<'data>(
    path: &Path,
    elf: &impl Object<'data>,
    roots: &[PathBuf],
) -> Result<Option<Pieces>, SymbolsMiss> {
    if elf
        .section_by_name(".gnu_debugaltlink")
        .is_none_or(|section| section.size() == 0)
    {
        return Ok(None);
    }
    let link = elf.gnu_debugaltlink().ok().flatten();
    let (name, id) = link.map_or((PathBuf::new(), None), |(name, id)| {
        (path_of(name), BuildId::new(id))
    });
    let real = file::real(path);
    let beside = real.parent().map(|folder| folder.join(&name));
    let by_id = id
        .iter()
        .flat_map(|id| roots.iter().map(|root| build_id_path(root, id)));
    for place in by_id.chain(beside) {
        let Ok(pieces) = file::open(&place) else {
            continue;
        };
        let found = elf64(&pieces)
            .ok()
            .and_then(|elf| elf.build_id().ok().flatten().and_then(BuildId::new));
        if found.is_some() && found == id {
            return Ok(Some(pieces));
        }
    }
    Err(SymbolsMiss::NoCommonFile {
        path: path.to_owned(),
        name,
    })
}
