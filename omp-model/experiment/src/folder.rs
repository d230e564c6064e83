//! A folder that is being written: its files are found by its descriptor, whatever its path means meanwhile.
//!
//! Whoever may write to the folder around an experiment can put another one in its place, with links in it.
//! So no link is followed, and each file is a new one.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;

/// An open folder.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    descriptor: OwnedFd,
}

/// Files of an experiment are as readable as the user's mask has it, within a folder that others cannot enter.
const FILE: Mode = Mode::from_raw_mode(0o666);

impl Folder {
    /// Makes a folder that its owner alone may enter.
    ///
    /// # Errors
    /// Those of mkdir(2) and open(2).
    pub fn make(path: &Path) -> io::Result<Folder> {
        mkdirat(CWD, path, Mode::RWXU)?;
        Folder::open(path)
    }

    /// Opens a folder that is there.
    ///
    /// # Errors
    /// Those of open(2).
    pub fn open(path: &Path) -> io::Result<Folder> {
        Ok(Folder {
            path: path.to_owned(),
            descriptor: openat(CWD, path, FOLDER, Mode::empty())?,
        })
    }

    /// The folder of this name in it, which is made if there is none.
    ///
    /// # Errors
    /// Those of mkdir(2) and open(2).
    pub fn within(&self, name: &Path) -> io::Result<Folder> {
        match mkdirat(&self.descriptor, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
            Err(Errno::EXIST) | Ok(()) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(Folder {
            path: self.path.join(name),
            descriptor: openat(&self.descriptor, name, FOLDER, Mode::empty())?,
        })
    }

    /// The path by which it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a file, of which there is none yet.
    ///
    /// # Errors
    /// Those of open(2).
    pub fn create(&self, name: &Path) -> io::Result<File> {
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.descriptor, name, flags, FILE)?.into())
    }

    /// Removes a file.
    ///
    /// # Errors
    /// Those of unlink(2).
    pub fn remove(&self, name: &Path) -> io::Result<()> {
        Ok(unlinkat(&self.descriptor, name, AtFlags::empty())?)
    }

    /// Makes a file of this name, in the place of one that somebody who was killed may have left.
    ///
    /// # Errors
    /// Those of unlink(2) and open(2).
    pub fn create_anew(&self, name: &Path) -> io::Result<File> {
        match self.remove(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => self.create(name),
        }
    }

    /// Gives a file the name of another one, in whose place it is then.
    ///
    /// # Errors
    /// Those of rename(2).
    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Ok(renameat(&self.descriptor, from, &self.descriptor, to)?)
    }

    /// Writes a file anew: a reader finds the old content or the new one. Until then it is in a file whose name
    /// ends in `.new`.
    ///
    /// # Errors
    /// Those of the system calls.
    pub fn replace(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let fresh = format!("{name}.new");
        let fresh = Path::new(&fresh);
        self.create_anew(fresh)?.write_all(content)?;
        self.rename(fresh, Path::new(name))
    }
}

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_are_those_of_the_folder_that_was_made_and_no_link_is_followed() {
        let around = tempfile::tempdir().expect("a folder");
        let at = |name: &str| around.path().join(name);
        let victim = at("victim");
        fs::write(&victim, "its own").expect("writable");
        let folder = Folder::make(&at("experiment")).expect("a new folder");
        // Another folder takes its name, with links where files are written.
        fs::rename(at("experiment"), at("aside")).expect("renamed");
        fs::create_dir(at("experiment")).expect("a folder");
        for name in ["a", "b.new", "c"] {
            symlink(&victim, at("experiment").join(name)).expect("a link");
            symlink(&victim, at("aside").join(name)).expect("a link");
        }
        assert!(folder.create(Path::new("a")).is_err());
        folder.replace("b", b"new").expect("written");
        folder.replace("c", b"new").expect("written");
        assert_eq!(fs::read(at("aside").join("b")).expect("a file"), b"new");
        assert_eq!(fs::read(at("aside").join("c")).expect("a file"), b"new");
        assert_eq!(fs::read(&victim).expect("a file"), b"its own");
        symlink(around.path(), at("aside").join("archives")).expect("a link");
        assert!(folder.within(Path::new("archives")).is_err());
    }
}
