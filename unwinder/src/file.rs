//! Reading ELF files: the only place of this crate that touches the file system.

use std::fs::File;
use std::io;
use std::path::Path;

use object::read::ReadCache;

/// A file whose pieces are read when they are asked for.
pub(crate) type Pieces = ReadCache<File>;

/// Opens a regular file. Anything else is refused without being opened: a mapped device or pipe
/// would block or act.
pub(crate) fn open(path: &Path) -> io::Result<Pieces> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        ));
    }
    Ok(ReadCache::new(File::open(path)?))
}

/// The whole of a regular file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        ));
    }
    std::fs::read(path)
}

/// The path with its symbolic links resolved, or the path itself where that fails.
pub(crate) fn real(path: &Path) -> std::path::PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
