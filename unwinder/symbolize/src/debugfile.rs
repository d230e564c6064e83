//! The search for separate debug files: by build id, by `.gnu_debuglink`, by `.gnu_debugaltlink`.
//!
//! The folders are those that GDB documents ("Debugging Information in Separate Files").

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unwinder::BuildId;
use unwinder::elf::{Elf, ElfError, ElfFile};

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
        error: ElfError,
    },
    /// The file was stripped of its symbol table; only what it exports has names.
    #[error("{path} is stripped", path = .path.display())]
    Stripped {
        /// The file.
        path: PathBuf,
    },
    /// The file has no section headers, or could not be opened and was copied from the memory of a process: only
    /// what it exports has names.
    #[error("only what is loaded of {path} was there to be read", path = .path.display())]
    NoSections {
        /// The file.
        path: PathBuf,
    },
    /// There is no separate debug file.
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
    /// Units have split debug information (`-gsplit-dwarf`) that is not there.
    #[error("the debug information of {units} of its units was not found: {}{}{}",
        .file.display(), package_clause(package.as_deref()), unfit_clause(unfit.as_deref()))]
    NoSplitFile {
        /// The load object.
        path: PathBuf,
        /// How many were asked for.
        units: usize,
        /// The file of the first of them, as the compiler was told.
        file: PathBuf,
        /// A file of such a name that is damaged or of another build.
        unfit: Option<PathBuf>,
        /// Where the package of all units could be; `None` if there is one, without these units.
        package: Option<PathBuf>,
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

fn package_clause(package: Option<&Path>) -> String {
    match package {
        Some(package) => format!(" or {}", package.display()),
        None => ", nor in the .dwp file".to_owned(),
    }
}

fn unfit_clause(unfit: Option<&Path>) -> String {
    match unfit {
        Some(unfit) => format!(" ({} is damaged or of another build)", unfit.display()),
        None => String::new(),
    }
}

/// Where debug files are, and files by their build ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DebugFolders {
    /// Folders like `/usr/lib/debug`: with debug files by path, and by build id below `.build-id`.
    pub roots: Vec<PathBuf>,
    /// perf's cache (`~/.debug`), to which `perf record` and `perf buildid-cache` add.
    pub perf: Option<PathBuf>,
    /// The cache of debuginfod's clients.
    pub debuginfod: Option<PathBuf>,
    /// Debug files that somebody has looked up, by build id in hexadecimal.
    pub known: Vec<(String, PathBuf)>,
}

impl DebugFolders {
    /// Those of this machine and user: caches are where perf and elfutils have them.
    #[must_use]
    pub fn of_user() -> Self {
        let folder = |name: &str| {
            let value = std::env::var_os(name).filter(|value| !value.is_empty());
            value.map(PathBuf::from).filter(|path| path.is_absolute())
        };
        let home = folder("HOME");
        let cache = folder("XDG_CACHE_HOME");
        let cache = cache.or_else(|| Some(home.as_ref()?.join(".cache")));
        Self {
            roots: vec![PathBuf::from("/usr/lib/debug")],
            perf: home.as_ref().map(|home| home.join(".debug")),
            debuginfod: folder("DEBUGINFOD_CACHE_PATH")
                .or_else(|| Some(cache?.join("debuginfod_client"))),
            known: Vec::new(),
        }
    }

    /// The places of the debug file of a build.
    fn debug_files(&self, id: &BuildId) -> Vec<PathBuf> {
        let hex = id.to_string();
        let known = self.known.iter().filter(|(known, _)| *known == hex);
        let mut all: Vec<PathBuf> = known.map(|(_, path)| path.clone()).collect();
        all.extend(self.roots.iter().map(|root| {
            let mut path = by_build_id(root, &hex).into_os_string();
            path.push(".debug");
            path.into()
        }));
        all.extend(self.cached(&hex, "debug", "debuginfo"));
        all
    }

    /// The places of a copy of the program or library of a build.
    pub(crate) fn programs(&self, id: &BuildId) -> impl Iterator<Item = PathBuf> {
        self.cached(&id.to_string(), "elf", "executable")
    }

    /// A file of a build in the caches, which have a folder for each.
    fn cached(
        &self,
        hex: &str,
        perf: &str,
        debuginfod: &str,
    ) -> impl Iterator<Item = PathBuf> + use<> {
        let of_perf = self.perf.as_ref();
        let of_perf = of_perf.map(|cache| by_build_id(cache, hex).join(perf));
        let others = self.debuginfod.as_ref();
        let others = others.map(|cache| cache.join(hex).join(debuginfod));
        of_perf.into_iter().chain(others)
    }
}

/// The path of a build below a folder that is ordered by build ids.
fn by_build_id(folder: &Path, hex: &str) -> PathBuf {
    let (first, rest) = hex.split_at_checked(2).unwrap_or((hex, ""));
    folder.join(".build-id").join(first).join(rest)
}

/// Where the bytes of a file are.
#[derive(Clone, Debug)]
pub(crate) enum Bytes {
    At(PathBuf),
    /// Those of a file that is in no file system.
    InMemory(Arc<[u8]>),
}

/// An ELF file, and its references to its debug file.
#[derive(Clone, Debug)]
pub(crate) struct ObjectFile {
    /// Its path when it was mapped, beside which its debug file is looked for.
    pub(crate) path: PathBuf,
    bytes: Bytes,
    pub(crate) build_id: Option<BuildId>,
    /// `.gnu_debuglink`: a file name and the CRC-32 of the file.
    debug_link: Option<(PathBuf, u32)>,
    pub(crate) folders: DebugFolders,
}

impl ObjectFile {
    pub(crate) fn of(path: &Path, bytes: Bytes, elf: &Elf<'_>, folders: &DebugFolders) -> Self {
        Self {
            path: path.to_owned(),
            bytes,
            build_id: elf.build_id(),
            debug_link: elf.debug_link(),
            folders: folders.clone(),
        }
    }

    /// Opens the file itself.
    pub(crate) fn open(&self) -> Result<ElfFile, ElfError> {
        match &self.bytes {
            Bytes::InMemory(bytes) => Ok(ElfFile::in_memory(bytes.clone())),
            Bytes::At(place) => ElfFile::open(place),
        }
    }

    /// Finds the debug file of a stripped file. Adds files of other builds, and a failure, to
    /// `misses`.
    pub(crate) fn find_debug_file(
        &self,
        misses: &mut Vec<SymbolsMiss>,
    ) -> Option<(PathBuf, ElfFile)> {
        let mut tried = Vec::new();
        let ids = self.build_id.iter();
        let by_id = ids.flat_map(|id| self.folders.debug_files(id));
        for candidate in by_id.chain(self.linked_paths()) {
            if tried.contains(&candidate) {
                continue;
            }
            // An empty file is debuginfod's mark that no server has it.
            if let Ok(file) = ElfFile::open(&candidate)
                && file.parse().err() != Some(ElfError::NotElf)
            {
                if self.fits(&candidate, &file) {
                    return Some((candidate, file));
                }
                misses.push(SymbolsMiss::OtherBuild {
                    path: self.path.clone(),
                    found: candidate.clone(),
                });
            }
            tried.push(candidate);
        }
        misses.push(SymbolsMiss::NoDebugFile {
            path: self.path.clone(),
            tried,
        });
        None
    }

    /// Beside the file, in `.debug` beside it, and under each root; for the path that was mapped
    /// and for the one without symbolic links, because `/lib` is often one for `/usr/lib`.
    fn linked_paths(&self) -> Vec<PathBuf> {
        let Some((name, _)) = &self.debug_link else {
            return Vec::new();
        };
        let mut paths = Vec::new();
        for path in [self.path.clone(), real(&self.path)] {
            let Some(folder) = path.parent() else {
                continue;
            };
            paths.push(folder.join(name));
            paths.push(folder.join(".debug").join(name));
            let below_root = folder.strip_prefix("/").unwrap_or(folder);
            paths.extend(
                self.folders
                    .roots
                    .iter()
                    .map(|root| root.join(below_root).join(name)),
            );
        }
        paths.retain(|path| path != &self.path);
        paths
    }

    /// Whether a debug file belongs to this file: by build id, or without one by checksum.
    fn fits(&self, path: &Path, file: &ElfFile) -> bool {
        let Ok(elf) = file.parse() else { return false };
        match (&self.build_id, elf.build_id(), &self.debug_link) {
            (Some(wanted), Some(found), _) => *wanted == found,
            (_, _, Some((_, crc))) => checksum(path).is_ok_and(|found| found == *crc),
            _ => false,
        }
    }

    /// The file with the debug information that several debug files share, as `dwz` makes it.
    /// `Ok(None)` when `elf` at `path` does not refer to one.
    pub(crate) fn find_common(
        &self,
        path: &Path,
        elf: &Elf<'_>,
    ) -> Result<Option<ElfFile>, SymbolsMiss> {
        if elf
            .section(".gnu_debugaltlink")
            .is_none_or(|section| section.size == 0)
        {
            return Ok(None);
        }
        let (name, id) = elf.debug_alt_link().unwrap_or_default();
        let beside = real(path).parent().map(|folder| folder.join(&name));
        let by_id = id.iter().flat_map(|id| self.folders.debug_files(id));
        for candidate in by_id.chain(beside) {
            let Ok(file) = ElfFile::open(&candidate) else {
                continue;
            };
            let found = file.parse().ok().and_then(|elf| elf.build_id());
            if found.is_some() && found == id {
                return Ok(Some(file));
            }
        }
        Err(SymbolsMiss::NoCommonFile {
            path: path.to_owned(),
            name,
        })
    }
}

/// The path with its symbolic links resolved, or the path itself where that fails.
pub(crate) fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The longest debug file whose checksum is computed, in bytes: that takes seconds.
const LONGEST_SUMMED: u64 = 4 << 30;

/// The CRC-32 of a file.
fn checksum(path: &Path) -> io::Result<u32> {
    let mut sum = crc32fast::Hasher::new();
    let mut file = BufReader::with_capacity(1 << 16, untrusted::open(path)?.take(LONGEST_SUMMED));
    loop {
        let bytes = file.fill_buf()?;
        if bytes.is_empty() {
            return Ok(sum.finalize());
        }
        sum.update(bytes);
        let length = bytes.len();
        file.consume(length);
    }
}
