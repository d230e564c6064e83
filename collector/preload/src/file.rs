//! Files, read by system calls alone.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_long};

/// A program as `exec` is told of it.
#[derive(Clone, Copy, Debug)]
pub enum Program<'a> {
    /// A path, relative to an open folder or to `AT_FDCWD`.
    Path(c_int, &'a CStr),
    /// A path, or a name that is searched in `PATH` (execvp(3)).
    Name(&'a CStr),
    /// An open file.
    Open(c_int),
}

/// An open file.
pub(crate) struct File {
    descriptor: c_int,
    is_ours: bool,
}

impl File {
    /// The file of a program; `None` if it cannot be read.
    pub(crate) fn of(program: Program<'_>) -> Option<File> {
        match program {
            Program::Path(folder, path) => File::open(folder, path),
            Program::Name(name) if name.to_bytes().contains(&b'/') => {
                File::open(libc::AT_FDCWD, name)
            }
            Program::Name(name) => File::open(libc::AT_FDCWD, found(name)?.as_c_str()),
            Program::Open(descriptor) => File::of_open(descriptor),
        }
    }

    /// A file that the program has open, for reading or as a path alone (`O_PATH`).
    fn of_open(descriptor: c_int) -> Option<File> {
        let file = File {
            descriptor,
            is_ours: false,
        };
        if file.read(0, &mut [0]) > 0 {
            return Some(file);
        }
        let mut digits = [0; 10];
        let mut left = u32::try_from(descriptor).ok()?;
        let mut length = 0;
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (left % 10) as u8;
            (left, length) = (left / 10, length + 1);
            if left == 0 {
                break;
            }
        }
        let number = digits.get(digits.len() - length..)?;
        let path = Path::of(&[b"/proc/self/fd/", number])?;
        File::open(libc::AT_FDCWD, path.as_c_str())
    }

    pub(crate) fn open(folder: c_int, path: &CStr) -> Option<File> {
        let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NOCTTY | libc::O_NONBLOCK;
        // SAFETY: a C string and integers.
        let opened = unsafe {
            libc::syscall(
                libc::SYS_openat,
                c_long::from(folder),
                path.as_ptr(),
                c_long::from(flags),
            )
        };
        let descriptor = c_int::try_from(opened).ok().filter(|it| *it >= 0)?;
        Some(File {
            descriptor,
            is_ours: true,
        })
    }

    /// Reads from byte `at`. Returns how many bytes there are.
    pub(crate) fn read(&self, at: u64, into: &mut [u8]) -> usize {
        // SAFETY: the kernel writes at most `into.len()` bytes to `into`.
        let read = unsafe {
            libc::syscall(
                libc::SYS_pread64,
                c_long::from(self.descriptor),
                into.as_mut_ptr(),
                into.len(),
                at as libc::off_t,
            )
        };
        usize::try_from(read).unwrap_or(0)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        if self.is_ours {
            // SAFETY: our own descriptor, which nothing refers to any more.
            unsafe { libc::syscall(libc::SYS_close, c_long::from(self.descriptor)) };
        }
    }
}

/// A text without memory of its own elsewhere. Bytes beyond its length are zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text<const ROOM: usize> {
    bytes: [u8; ROOM],
    length: usize,
}

/// A path. Programs of longer ones are not judged.
pub(crate) type Path = Text<512>;

impl<const ROOM: usize> Text<ROOM> {
    /// The parts, one after another; `None` if they are too long.
    pub(crate) fn of(parts: &[&[u8]]) -> Option<Self> {
        let mut text = Text {
            bytes: [0; ROOM],
            length: 0,
        };
        for part in parts {
            let end = text.length.checked_add(part.len())?;
            // A zero byte must be left.
            let room = text.bytes.get_mut(text.length..end)?;
            room.copy_from_slice(part);
            text.length = Some(end).filter(|end| *end < ROOM)?;
        }
        Some(text)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    pub(crate) fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }
}

/// Where `execvp` finds a program without a path, if the system tells.
fn found(name: &CStr) -> Option<Path> {
    if name.is_empty() {
        return None;
    }
    // SAFETY: C strings. The environment is the program's, which calls `execvp`, and so reads it itself.
    let folders = unsafe {
        let folders = libc::getenv(c"PATH".as_ptr());
        if folders.is_null() {
            // What the C library searches then.
            c"/bin:/usr/bin"
        } else {
            CStr::from_ptr(folders)
        }
    };
    for folder in folders.to_bytes().split(|byte| *byte == b':') {
        let slash: &[u8] = if folder.is_empty() { b"" } else { b"/" };
        let path = Path::of(&[folder, slash, name.to_bytes()])?;
        // Folders can be searched, and so are executable.
        let within = Path::of(&[folder, slash, name.to_bytes(), b"/"])?;
        if is_executable(path.as_c_str()) && !is_executable(within.as_c_str()) {
            return Some(path);
        }
    }
    None
}

fn is_executable(path: &CStr) -> bool {
    // As the dynamic linker asks for its own files.
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a C string and an integer.
    let refused = unsafe { libc::syscall(libc::SYS_access, path.as_ptr(), libc::X_OK) };
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: a C string and integers.
    let refused = unsafe {
        libc::syscall(
            libc::SYS_faccessat,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::X_OK,
        )
    };
    refused == 0
}
