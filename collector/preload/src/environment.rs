//! What `collect` adds to a program's environment to have a library loaded, and how a program takes it
//! out again, or puts it back.
//!
//! Everything here reads the environments of other programs, which are arrays of C strings.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};
use std::ptr;
use std::sync::OnceLock;

use crate::file::{Path, Text};

/// Environment variable with what was put in front of lists: `VARIABLE=ENTRY`, separated by colons.
pub const ADDED_VARIABLE: &str = "PARALLAX_ADDED";

/// Environment variable that says that only the first process is recorded (`-F off`).
pub const ALONE_VARIABLE: &str = "PARALLAX_ALONE";

/// The list of libraries that a dynamic linker loads first, separated by colons or spaces (ld.so(8)).
const PRELOAD: &[u8] = b"LD_PRELOAD";

/// An environment as `exec` takes it: a null-terminated array of C strings, or null.
pub(crate) type Environment = *const *const c_char;

/// What was added to this process's environment, of [`ADDED_VARIABLE`].
pub(crate) struct Added {
    text: Text<2048>,
    /// The process of which alone the library is to record, if it is but one.
    pub(crate) alone: Option<i32>,
}

static ADDED: OnceLock<Option<Added>> = OnceLock::new();

/// What was added, as the process began; `None` if nothing was, or it is too long to be judged.
pub(crate) fn added() -> Option<&'static Added> {
    ADDED.get()?.as_ref()
}

/// Reads what was added. With `-F off`, takes it out of the environment, which children of this process
/// inherit. Called as the library is loaded.
pub(crate) fn start() {
    ADDED.get_or_init(|| {
        // SAFETY: the C library's variable. Nobody else changes the environment while a program is loaded.
        unsafe {
            let text = Text::of(&[value(environ, ADDED_VARIABLE.as_bytes())?])?;
            let is_alone = value(environ, ALONE_VARIABLE.as_bytes()).is_some();
            let added = Added {
                text,
                alone: is_alone.then(|| libc::getpid()),
            };
            if is_alone {
                added.take_out(environ.cast_mut());
            }
            Some(added)
        }
    });
}

unsafe extern "C" {
    /// The environment of this process (environ(7)).
    pub(crate) static mut environ: Environment;
}

/// The bytes of a string of an environment.
///
/// # Safety
/// As [`strings`]; the result is valid as long as the environment is not changed.
unsafe fn bytes<'a>(string: *const c_char) -> &'a [u8] {
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(string) }.to_bytes()
}

/// The strings of an environment.
///
/// # Safety
/// The environment must be valid, and not changed meanwhile.
unsafe fn strings(environment: Environment) -> impl Iterator<Item = *const c_char> {
    let mut at = environment;
    std::iter::from_fn(move || {
        // SAFETY: the caller's promise: an array that ends with a null pointer, at which this stops.
        unsafe {
            let string = at.as_ref().copied().filter(|string| !string.is_null())?;
            at = at.add(1);
            Some(string)
        }
    })
}

/// The value of a variable.
///
/// # Safety
/// As [`strings`]; the result is valid as long as the environment is not changed.
unsafe fn value<'a>(environment: Environment, name: &[u8]) -> Option<&'a [u8]> {
    // SAFETY: the caller's promise.
    unsafe { strings(environment).find_map(|string| value_of(bytes(string), name)) }
}

/// The value in `NAME=VALUE`, if the name is this one.
fn value_of<'a>(string: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    string.strip_prefix(name)?.strip_prefix(b"=")
}

/// Whether this environment has what tells the library of the recording.
///
/// # Safety
/// As [`strings`].
pub(crate) unsafe fn is_told(environment: Environment) -> bool {
    // SAFETY: the caller's promise.
    unsafe { value(environment, ADDED_VARIABLE.as_bytes()) }.is_some()
}

/// Where an entry stands in a list, with the separator behind or before it.
fn place_of(list: &[u8], entry: &[u8]) -> Option<std::ops::Range<usize>> {
    let mut start = 0;
    for word in list.split(|byte| is_separator(*byte)) {
        let end = start + word.len();
        if word == entry {
            return Some(match (start, end == list.len()) {
                (0, true) => 0..end,
                (_, true) => start - 1..end,
                (_, false) => start..end + 1,
            });
        }
        start = end + 1;
    }
    None
}

/// Of all lists but `LD_PRELOAD` a colon is the only one, and entries of theirs have no spaces.
fn is_separator(byte: u8) -> bool {
    matches!(byte, b':' | b' ')
}

impl Added {
    /// Lists and their entries of ours.
    fn entries(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let all = self.text.as_bytes().split(|byte| *byte == b':');
        all.filter_map(|word| {
            let at = word.iter().position(|byte| *byte == b'=')?;
            Some((word.get(..at)?, word.get(at + 1..)?))
        })
    }

    /// The list that a string of an environment is, and our entry of it.
    fn of_string<'a>(&'a self, string: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        self.entries()
            .find_map(|(name, entry)| Some((value_of(string, name)?, entry)))
    }

    /// The path of the library that is preloaded.
    pub(crate) fn library(&self) -> Option<Path> {
        let (_, library) = self.entries().find(|(name, _)| *name == PRELOAD)?;
        Path::of(&[library])
    }

    /// Whether an environment has any of our entries.
    ///
    /// # Safety
    /// As [`strings`].
    pub(crate) unsafe fn is_in(&self, environment: Environment) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            strings(environment).any(|string| {
                let list = self.of_string(bytes(string));
                list.is_some_and(|(list, entry)| place_of(list, entry).is_some())
            })
        }
    }

    /// Takes our entries out of the process's own environment, in place.
    ///
    /// # Safety
    /// As [`strings`]; the strings can be written to, as those of a new process can.
    unsafe fn take_out(&self, environment: *mut *const c_char) {
        // SAFETY: by the caller's promise an array that ends with a null pointer; `to` is never behind
        // `from`. A string only becomes shorter.
        unsafe {
            let (mut from, mut to) = (environment, environment);
            while let Some(string) = from.as_ref().copied().filter(|string| !string.is_null()) {
                let whole = bytes(string);
                let place = self
                    .of_string(whole)
                    .and_then(|(list, entry)| Some((list, place_of(list, entry)?)));
                let is_empty = match place {
                    Some((list, place)) => {
                        let is_empty = place.len() == list.len();
                        if !is_empty {
                            let list = list.as_ptr().cast_mut();
                            let rest = list.add(place.end).cast::<c_char>();
                            ptr::copy(rest, list.add(place.start).cast(), libc::strlen(rest) + 1);
                        }
                        is_empty
                    }
                    None => false,
                };
                if !is_empty {
                    to.write(string);
                    to = to.add(1);
                }
                from = from.add(1);
            }
            to.write(ptr::null());
        }
    }

    /// Bytes that [`Added::rebuild`] may need.
    ///
    /// # Safety
    /// As [`strings`].
    pub(crate) unsafe fn room(&self, environment: Environment) -> usize {
        let entries = self.entries().count();
        let mut pointers = entries + 1;
        // An entry that is put in comes with its list's name, a separator and a zero byte.
        let mut text = self.text.as_bytes().len() + 2 * entries;
        // SAFETY: the caller's promise.
        for string in unsafe { strings(environment) } {
            // SAFETY: as above.
            let string = unsafe { bytes(string) };
            pointers += 1;
            if self.of_string(string).is_some() {
                text += string.len() + 1;
            }
        }
        pointers * size_of::<*const c_char>() + text
    }

    /// Writes an environment without our entries, or with them (`with`), into `room`.
    ///
    /// # Safety
    /// As [`strings`]; there is as much room as [`Added::room`] says, aligned for pointers, and the
    /// environment is that which it was asked about.
    pub(crate) unsafe fn rebuild(
        &self,
        environment: Environment,
        with: bool,
        room: *mut u8,
    ) -> Environment {
        // SAFETY: by the caller's promise there is room for the pointers, and behind them for the text.
        unsafe {
            let count = strings(environment).count() + self.entries().count() + 1;
            let first = room.cast::<*const c_char>();
            let mut array = first;
            let mut text = first.add(count).cast::<u8>();
            let mut put = |parts: &[&[u8]]| {
                let string = text.cast::<c_char>();
                for part in parts {
                    ptr::copy_nonoverlapping(part.as_ptr(), text, part.len());
                    text = text.add(part.len());
                }
                text.write(0);
                text = text.add(1);
                string.cast_const()
            };
            for string in strings(environment) {
                let whole = bytes(string);
                let written = match self.of_string(whole) {
                    None => string,
                    Some((list, entry)) => {
                        let name = whole.get(..whole.len() - list.len()).unwrap_or_default();
                        match (place_of(list, entry), with) {
                            (Some(_), true) | (None, false) => string,
                            (None, true) if list.is_empty() => put(&[name, entry]),
                            (None, true) => put(&[name, entry, b":", list]),
                            (Some(place), false) if place.len() == list.len() => continue,
                            (Some(place), false) => {
                                let before = list.get(..place.start).unwrap_or_default();
                                let behind = list.get(place.end..).unwrap_or_default();
                                put(&[name, before, behind])
                            }
                        }
                    }
                };
                array.write(written);
                array = array.add(1);
            }
            for (name, entry) in self.entries().filter(|_| with) {
                if value(environment, name).is_none() {
                    array.write(put(&[name, b"=", entry]));
                    array = array.add(1);
                }
            }
            array.write(ptr::null());
            first
        }
    }
}
