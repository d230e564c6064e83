//! Files whose paths someone else has given: an experiment, a recorded program, an rc file.
//!
//! Such a path may name anything. A FIFO would block its reader, a device may act when it is opened,
//! and a file may be endless or larger than the memory; a file of the kernel may act when it is
//! read. So only stored, regular files are read, and whole files up to a limit.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use md5::{Digest, Md5};
use rustix::fs::{OFlags, fstatfs};

/// Opens a regular file to read it. Anything else is refused without being opened, and a file of `/proc` or
/// `/sys` without being read.
///
/// # Errors
/// Those of `open(2)`; [`ErrorKind::InvalidInput`] for what is no regular file.
pub fn open(path: &Path) -> io::Result<File> {
    is_regular(&std::fs::metadata(path)?)?;
    // Another file may have taken its place by now, so the open one is looked at again.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits() as i32)
        .open(path)?;
    is_regular(&file.metadata()?)?;
    is_stored(&file)?;
    Ok(file)
}

/// The bytes of a regular file of at most `limit` bytes.
///
/// # Errors
/// Those of [`open`] and of `read(2)`; [`ErrorKind::FileTooLarge`] for a longer file.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_open(open(path)?, limit)
}

/// What is left of a file that [`open`] opened, of at most `limit` bytes.
///
/// # Errors
/// Those of `read(2)`; [`ErrorKind::FileTooLarge`] for more bytes.
pub fn read_open(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Its length may not be what its metadata say: it may grow meanwhile.
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let why = format!("it is longer than {limit} bytes");
        return Err(io::Error::new(ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

/// Where an open file is, without symbolic links. By its path alone another file may have been opened.
///
/// # Errors
/// Those of `readlink(2)`, if there is no `/proc`.
pub fn place(file: &File) -> io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// The MD5 digest of a file's bytes: by it a file is known to be the one that was meant. Nobody can make
/// another file with the digest of one that he cannot read.
pub fn digest(bytes: &[u8]) -> [u8; 16] {
    Md5::digest(bytes).into()
}

fn is_regular(metadata: &Metadata) -> io::Result<()> {
    if metadata.is_file() {
        Ok(())
    } else {
        let why = "it is not a regular file";
        Err(io::Error::new(ErrorKind::InvalidInput, why))
    }
}

/// Files of these file systems are regular, too, but what is read from them is made, and may be consumed, by
/// reading: `/proc/kmsg`, `trace_pipe`.
const MADE_BY_THE_KERNEL: [u32; 4] = [
    0x9fa0,      // PROC_SUPER_MAGIC
    0x6265_6572, // SYSFS_MAGIC
    0x6462_6720, // DEBUGFS_MAGIC
    0x7472_6163, // TRACEFS_MAGIC
];

fn is_stored(file: &File) -> io::Result<()> {
    if MADE_BY_THE_KERNEL.contains(&(fstatfs(file)?.f_type as u32)) {
        let why = "it is not a stored file";
        return Err(io::Error::new(ErrorKind::InvalidInput, why));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    /// The test suite of RFC 1321.
    #[test]
    fn digests_are_md5() {
        let hex = |bytes: &[u8]| format!("{:032x}", u128::from_be_bytes(digest(bytes)));
        assert_eq!(hex(b""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(hex(b"message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
    }

    #[test]
    fn only_regular_files_up_to_the_limit_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("text"), b"1234").expect("writable");
        let kind = |result: io::Result<Vec<u8>>| result.map_err(|error| error.kind());
        assert_eq!(kind(read(&at("text"), 4)), Ok(b"1234".to_vec()));
        assert_eq!(kind(read(&at("text"), 3)), Err(ErrorKind::FileTooLarge));
        // Nobody writes to it, so opening it would block.
        mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RUSR, 0).expect("a FIFO");
        let kernels = ["/dev/zero", "/proc/self/status"].map(PathBuf::from);
        for path in [at("pipe"), at("")].into_iter().chain(kernels) {
            assert_eq!(
                kind(read(&path, 4)),
                Err(ErrorKind::InvalidInput),
                "{path:?}"
            );
        }
        assert_eq!(kind(read(&at("none"), 4)), Err(ErrorKind::NotFound));
    }

    #[test]
    fn the_place_of_a_file_is_that_of_the_opened_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let real = std::fs::canonicalize(folder.path()).expect("it exists");
        let [link, own, other] = ["link", "own", "other"].map(|name| real.join(name));
        std::fs::write(&own, "own").expect("writable");
        std::fs::write(&other, "other").expect("writable");
        symlink(&other, &link).expect("writable");
        let file = open(&link).expect("a regular file");
        // Whoever owns the folder changes the link once the file is open.
        std::fs::remove_file(&link).expect("writable");
        symlink(&own, &link).expect("writable");
        assert_eq!(place(&file).expect("a path"), other);
        assert_eq!(std::fs::canonicalize(&link).expect("a path"), own);
    }
}
