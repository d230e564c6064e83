//! The frames of Python on the calling thread, read from the interpreter's own memory.
//!
//! A call from one function of Python to another one leaves no trace on the machine's stack: the frames are a list
//! in the heap. The thread reads its own list while it is in a call that the interpreter made, so nobody changes it
//! meanwhile, whether or not the thread holds the interpreter's lock. Only at its end an interpreter frees what belongs
//! to other threads: from then on nothing is read. Nothing of the interpreter is called but
//! `PyGILState_GetThisThreadState` and `Py_IsFinalizing`, which read a variable each.
//!
//! Where the parts of the list lie depends on the version. From 3.13 on the interpreter publishes it at the beginning
//! of `_PyRuntime` (`_Py_DebugOffsets`); for 3.11 and 3.12 it is known. The frames of other versions are not read.
//! Interpreters without the lock (free threading) count as such: their objects have other heads.
#![allow(unsafe_code)]

use std::ffi::CStr;

use omp_ring::python::{MAX_PYTHON, Text, UNKNOWN, Written};

use crate::loader::Module;
use crate::symbols;

/// Most frames that are read, innermost first.
const DEEPEST: usize = 512;

/// The characters of a name or a path that are sent, at most.
const LONGEST_TEXT: u64 = 4096;
/// The bytes of a table of lines that are read, at most.
const LONGEST_TABLE: u64 = 1 << 20;

/// The interpreter as a thread knows it, and room for what is sent. Valid when zeroed: none was looked for.
#[repr(C)]
pub(crate) struct Python {
    interpreter: Interpreter,
    words: [u64; MAX_PYTHON],
}

#[repr(C)]
struct Interpreter {
    /// The number of objects that were loaded when the interpreter was looked for.
    loads: u64,
    /// `PY_VERSION_HEX`; 0 without an interpreter.
    version: u64,
    /// `PyGILState_GetThisThreadState`; 0 without an interpreter.
    state_of_thread: u64,
    /// `Py_IsFinalizing`, or before 3.13 `_Py_IsFinalizing`.
    is_ending: u64,
    /// `PyCode_Type`.
    code_type: u64,
    layout: Layout,
}

/// Distances of fields from the begins of the interpreter's structures, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
struct Layout {
    /// Whether they are known.
    is_known: bool,
    /// Before 3.13, each activation of the interpreter has an entry in a list on the machine's stack (`_PyCFrame`). The
    /// thread state has the innermost one here; else 0.
    activation: u64,
    /// In such an entry, or in the thread state: the innermost frame.
    innermost: u64,
    /// In an activation's entry: the one before.
    outer_activation: u64,
    /// In a frame: its caller's frame, code, instruction and owner.
    frame: [u64; 4],
    /// 3.11, in a frame: whether the activation began with it; else 0, and a frame on the machine's stack, which
    /// `_PyEval_EvalFrameDefault` owns, stands at the activation's end.
    is_entry: u64,
    /// In a code object: file, qualified name, table of lines, first line and instructions.
    code: [u64; 5],
    /// The sizes of the heads of texts in ASCII and of others.
    text: [u64; 2],
}

impl Layout {
    /// Of 3.11.
    const V11: Layout = Layout {
        is_known: true,
        activation: 56,
        innermost: 8,
        outer_activation: 16,
        frame: [48, 32, 56, 69],
        is_entry: 68,
        code: [112, 128, 136, 72, 184],
        text: [48, 72],
    };
    /// Of 3.12.
    const V12: Layout = Layout {
        is_known: true,
        activation: 56,
        innermost: 0,
        outer_activation: 8,
        frame: [8, 0, 56, 70],
        is_entry: 0,
        code: [112, 128, 136, 68, 192],
        text: [40, 56],
    };

    /// What the interpreter publishes, given the word of its table with each index: `cookie`, version, free threading
    /// and so on. The order of its words depends on the version.
    fn published(version: u64, word: impl Fn(usize) -> u64) -> Option<Layout> {
        let cookie = u64::from_ne_bytes(*b"xdebugpy");
        if (word(0), word(1), word(2)) != (cookie, version, 0) {
            return None;
        }
        // Thread state: innermost frame. Frame: caller, code, instruction, owner. Code: file, qualified name, table of
        // lines, first line, instructions.
        let (innermost, frame, code) = match minor(version) {
            13 => (23, [29, 30, 31, 33], [35, 37, 38, 39, 43]),
            14 => (26, [32, 33, 34, 36], [40, 42, 43, 44, 48]),
            15 => (26, [40, 41, 42, 44], [48, 50, 51, 52, 56]),
            _ => return None,
        };
        let layout = Layout {
            is_known: true,
            innermost: word(innermost),
            frame: frame.map(&word),
            code: code.map(&word),
            text: [40, 56],
            ..Layout::default()
        };
        // No structure has fields this far from its begin.
        let all = layout.frame.iter().chain(&layout.code);
        all.chain([&layout.innermost])
            .all(|it| *it < 1 << 16)
            .then_some(layout)
    }
}

/// The minor version of Python 3, released or nearly so; 0 for others.
fn minor(version: u64) -> u64 {
    /// A release candidate's: the structures change no more.
    const CANDIDATE: u64 = 0xc;
    let is_three = version >> 24 == 3 && version >> 4 & 0xf >= CANDIDATE;
    if is_three { version >> 16 & 0xff } else { 0 }
}

/// A frame in the interpreter's memory.
struct Frame {
    code: u64,
    instruction: u64,
}

/// What stands in the list of frames.
enum Entry {
    /// A frame; the address of its activation, if that began with it.
    Frame(Frame, u64),
    /// The end of an activation, with an address within its frame on the machine's stack.
    End(u64),
}

impl Python {
    /// Looks for an interpreter, if there is none yet and objects were loaded since. `loads` is their number. The
    /// loader may be called.
    pub(crate) fn refresh(&mut self, loads: u64) {
        let interpreter = &mut self.interpreter;
        if interpreter.state_of_thread == 0 && interpreter.loads != loads {
            interpreter.loads = loads;
            interpreter.find();
        }
    }

    /// Whether the process has an interpreter.
    pub(crate) fn is_there(&self) -> bool {
        self.interpreter.state_of_thread != 0
    }

    /// A number that distinguishes the thread's frames: their functions by name, file and first line, and the
    /// instructions that they execute. 0 if it has none.
    #[inline]
    pub(crate) fn key(&self) -> u64 {
        match self.interpreter.state_of_thread {
            0 => 0,
            _ => self.interpreter.key(),
        }
    }

    /// The thread's frames as they are sent ([`omp_ring::python`]), as many as there is room for; nothing without an
    /// interpreter, or on a thread that never ran Python.
    pub(crate) fn frames(&mut self) -> &[u64] {
        let Python { interpreter, words } = self;
        let Some(state) = interpreter.state() else {
            return &[];
        };
        let mut at = 1;
        // Where the last frame was written.
        let mut last = None;
        words[0] = interpreter.version;
        if !interpreter.layout.is_known {
            words[0] |= UNKNOWN;
        }
        interpreter.each(state, |entry| {
            match entry {
                Entry::Frame(frame, activation) => {
                    let room = words.get_mut(at..).unwrap_or_default();
                    let Some(length) = interpreter.write(&frame, activation, room) else {
                        return false;
                    };
                    last = Some(at);
                    at += length;
                }
                Entry::End(activation) => {
                    if let Some(word) = last.take().and_then(|last| words.get_mut(last)) {
                        *word = activation;
                    }
                }
            }
            true
        });
        if let Some(word) = words.get_mut(at) {
            *word = 0;
        }
        words.get(..at.next_multiple_of(2)).unwrap_or_default()
    }
}

impl Interpreter {
    /// Looks for it. The loader may be called.
    fn find(&mut self) {
        let address = |name: &CStr| symbols::address_of(name).unwrap_or_default();
        let [version, state, code] = [
            c"Py_Version",
            c"PyGILState_GetThisThreadState",
            c"PyCode_Type",
        ]
        .map(address);
        let names = [c"Py_IsFinalizing", c"_Py_IsFinalizing"];
        let is_ending = names.map(address).into_iter().find(|it| *it != 0);
        let Some(is_ending) = is_ending.filter(|_| version != 0 && state != 0 && code != 0) else {
            return;
        };
        let Some(module) = Module::at(state) else {
            return;
        };
        // From now on its function is called.
        module.pin();
        // SAFETY: `Py_Version` is a constant of type `unsigned long` in a loaded object.
        self.version = unsafe { word(version) };
        let runtime = || {
            let table = address(c"_PyRuntime");
            // SAFETY: `_PyRuntime` is a variable of that object, longer than its table from 3.13 on.
            let word = |at: usize| unsafe { word(table + 8 * at as u64) };
            Layout::published(self.version, word).filter(|_| table != 0)
        };
        self.layout = match minor(self.version) {
            11 => Layout::V11,
            12 => Layout::V12,
            13.. => runtime().unwrap_or_default(),
            _ => Layout::default(),
        };
        (self.code_type, self.is_ending, self.state_of_thread) = (code, is_ending, state);
    }

    /// See [`Python::key`].
    #[inline(never)]
    fn key(&self) -> u64 {
        /// The distance of a text's hash, which the interpreter keeps there, from its begin.
        const HASH: u64 = 24;
        let Some(state) = self.state() else {
            return 0;
        };
        let mut key = 1u64;
        let mut mix = |value: u64| {
            key = (key.rotate_left(29) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        };
        self.each(state, |entry| {
            if let Entry::Frame(frame, _) = entry {
                let [file, name, _, first_line, _] = self.layout.code;
                // SAFETY: `frame` is of the thread's list: its code and its texts live while it does.
                unsafe {
                    mix(frame.code);
                    mix(frame.instruction);
                    mix(half(frame.code + first_line));
                    mix(word(word(frame.code + file) + HASH));
                    mix(word(word(frame.code + name) + HASH));
                }
            }
            true
        });
        key
    }

    fn write(&self, frame: &Frame, activation: u64, words: &mut [u64]) -> Option<usize> {
        let [file, name, table, first_line, instructions] = self.layout.code;
        // SAFETY: the frame is of the thread's list, so that its code and what belongs to that live while it does.
        unsafe {
            let code = frame.code;
            let first_line = half(code + first_line) as u32;
            let table = bytes_of(word(code + table));
            let offset = frame.instruction.wrapping_sub(code + instructions);
            Written {
                activation,
                line: line_at(table, first_line, offset).unwrap_or(0),
                first_line,
                texts: [self.text(word(code + name)), self.text(word(code + file))],
            }
            .write(words)
        }
    }

    /// A text object's characters.
    ///
    /// # Safety
    /// `object` must be a text that lives as long as the result.
    unsafe fn text<'a>(&self, object: u64) -> Text<'a> {
        const LENGTH: u64 = 16;
        const STATE: u64 = 32;
        // SAFETY: the caller's promise. Texts that are names are compact: the characters follow the head.
        unsafe {
            let (length, state) = (word(object + LENGTH), half(object + STATE));
            let (width, is_compact, is_ascii) = (state >> 2 & 7, state >> 5 & 1, state >> 6 & 1);
            let [ascii, other] = self.layout.text;
            let begin = object + if is_ascii == 1 { ascii } else { other };
            let length = match width {
                1 | 2 | 4 if is_compact == 1 => length.min(LONGEST_TEXT),
                _ => 0,
            };
            let bytes = (length * width) as usize;
            Text {
                width: if length == 0 { 1 } else { width as u8 },
                bytes: std::slice::from_raw_parts(begin as *const u8, bytes),
            }
        }
    }

    /// The calling thread's state; `None` if it never ran Python, or the interpreter ends.
    fn state(&self) -> Option<u64> {
        if self.state_of_thread == 0 {
            return None;
        }
        // SAFETY: the addresses are those of `PyGILState_GetThisThreadState` and `Py_IsFinalizing`, in an object that
        // is not unloaded. They may be called without the interpreter's lock, and at any time.
        let (state, is_ending) = unsafe {
            let state_of_thread: extern "C" fn() -> u64 =
                std::mem::transmute(self.state_of_thread as *const ());
            let is_ending: extern "C" fn() -> i32 =
                std::mem::transmute(self.is_ending as *const ());
            (state_of_thread(), is_ending())
        };
        (state != 0 && is_ending == 0).then_some(state)
    }

    /// Calls `visit` with the entries of the thread's list, innermost first, until it returns false.
    #[inline]
    fn each(&self, state: u64, mut visit: impl FnMut(Entry) -> bool) {
        /// The type of an object, behind its count of references.
        const TYPE: u64 = 8;
        /// The first number of those owners that are no thread, generator or frame object.
        const OWNED_BY_INTERPRETER: u64 = 3;
        /// Bits of a reference that are no part of the address.
        const TAG: u64 = 7;
        if !self.layout.is_known {
            return;
        }
        let Layout {
            activation,
            innermost,
            outer_activation,
            frame: [caller, code, instruction, owner],
            is_entry,
            ..
        } = self.layout;
        // SAFETY: the layout is that of the interpreter's version. `state` is the calling thread's, which is in a call
        // that the interpreter made (or in none, then there is no frame), so that its list does not change and all
        // of it is alive. `word` reads nothing at addresses that no object has.
        unsafe {
            let mut entry = match activation {
                0 => state,
                at => word(state + at),
            };
            let mut frame = word(entry + innermost);
            let mut left = DEEPEST;
            while frame != 0 && left > 0 {
                left -= 1;
                let owner = byte(frame + owner);
                let object = word(frame + code) & !TAG;
                let goes_on = if is_entry == 0 && owner >= OWNED_BY_INTERPRETER {
                    visit(Entry::End(frame))
                } else if word(object + TYPE) == self.code_type {
                    let begins = is_entry != 0 && byte(frame + is_entry) != 0;
                    let found = Frame {
                        code: object,
                        instruction: word(frame + instruction),
                    };
                    let goes_on = visit(Entry::Frame(found, if begins { entry } else { 0 }));
                    if begins {
                        entry = word(entry + outer_activation);
                    }
                    goes_on
                } else {
                    true
                };
                if !goes_on {
                    return;
                }
                frame = word(frame + caller);
            }
        }
    }
}

/// The word at an address; 0 where no object can be, as behind a null pointer.
///
/// # Safety
/// An aligned address above the first page must be one of readable memory.
#[inline]
unsafe fn word(address: u64) -> u64 {
    const LEAST: u64 = 4096;
    if address < LEAST || !address.is_multiple_of(8) {
        return 0;
    }
    // SAFETY: the caller's promise.
    unsafe { (address as *const u64).read_volatile() }
}

/// The 32 bits at an address.
///
/// # Safety
/// As of [`word`].
#[inline]
unsafe fn half(address: u64) -> u64 {
    // SAFETY: the caller's promise.
    let word = unsafe { word(address & !7) };
    word >> (8 * (address & 4)) & u64::from(u32::MAX)
}

/// The byte at an address.
///
/// # Safety
/// As of [`word`].
#[inline]
unsafe fn byte(address: u64) -> u64 {
    // SAFETY: the caller's promise.
    let word = unsafe { word(address & !7) };
    word >> (8 * (address & 7)) & 0xff
}

/// The contents of a bytes object; none of null.
///
/// # Safety
/// `object` must be null, or a bytes object that lives as long as the result.
unsafe fn bytes_of<'a>(object: u64) -> &'a [u8] {
    const LENGTH: u64 = 16;
    const BEGIN: u64 = 32;
    // SAFETY: the caller's promise.
    unsafe {
        let length = word(object + LENGTH).min(LONGEST_TABLE);
        if length == 0 {
            return &[];
        }
        std::slice::from_raw_parts((object + BEGIN) as *const u8, length as usize)
    }
}

/// The line of the instruction at a distance from the first one, in bytes; `None` if it has none.
///
/// The table is that of PEP 626 in the form of 3.11 and later (Objects/locations.md in CPython's sources): entries for
/// consecutive instructions, each of which changes the line.
fn line_at(table: &[u8], first_line: u32, offset: u64) -> Option<u32> {
    /// Bytes of an instruction.
    const UNIT: u64 = 2;
    let mut bytes = table.iter().copied();
    let mut line = i64::from(first_line);
    let mut end = 0;
    loop {
        let head = bytes.next()?;
        end += UNIT * u64::from((head & 7) + 1);
        let kind = head >> 3 & 0xf;
        // What follows the change of the line.
        let (change, rest) = match kind {
            0..=9 => (0, 1),
            10..=12 => (i64::from(kind) - 10, 2),
            13 => (signed(&mut bytes), 0),
            14 => {
                let change = signed(&mut bytes);
                // The last line and the columns.
                for _ in 0..3 {
                    unsigned(&mut bytes);
                }
                (change, 0)
            }
            _ => (0, 0),
        };
        line += change;
        for _ in 0..rest {
            bytes.next();
        }
        if offset < end {
            return (kind != 15).then(|| u32::try_from(line).ok()).flatten();
        }
    }
}

/// Groups of six bits, the least significant first; another one follows if the seventh bit is set.
fn unsigned(bytes: &mut impl Iterator<Item = u8>) -> i64 {
    let mut value = 0i64;
    let mut shift = 0;
    for byte in bytes {
        if shift < 60 {
            value |= i64::from(byte & 63) << shift;
        }
        shift += 6;
        if byte & 64 == 0 {
            break;
        }
    }
    value
}

/// The sign is the lowest bit.
fn signed(bytes: &mut impl Iterator<Item = u8>) -> i64 {
    let value = unsigned(bytes);
    if value & 1 == 1 {
        -(value >> 1)
    } else {
        value >> 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table that CPython 3.11 makes of this function at line 1:
    ///
    /// ```text
    /// def f(a):
    ///     b = (a +
    ///
    ///          1)
    ///     return b
    /// ```
    #[test]
    fn lines_are_those_of_the_table() {
        let table = [
            0x80, 0x00, 0xd8, 0x09, 0x0a, 0xe0, 0x09, 0x0a, 0xf1, 0x05, 0x02, 0x0a, 0x0b, 0x80,
            0x41, 0xf0, 0x06, 0x00, 0x0c, 0x0d, 0x80, 0x48,
        ];
        let lines: Vec<Option<u32>> = (0..10).map(|at| line_at(&table, 1, 2 * at)).collect();
        let of_instructions = [1, 2, 4, 2, 2, 2, 5, 5].map(Some);
        assert_eq!(lines[..8], of_instructions);
        assert_eq!(lines[8..], [None; 2]);
        for length in 0..table.len() {
            let _ = line_at(&table[..length], 1, 1000);
        }
        // An instruction without a line, then one of which a long change is told.
        assert_eq!(line_at(&[0xf8, 0xe8, 0x7f, 0x41], 1, 0), None);
        assert_eq!(line_at(&[0xf8, 0xe8, 0x60, 0x01], 100, 2), Some(148));
    }

    #[test]
    fn layouts_are_published_from_3_13_on() {
        let cookie = u64::from_ne_bytes(*b"xdebugpy");
        let table = |free: u64| {
            move |at: usize| match at {
                0 => cookie,
                1 => 0x030d_00f0,
                2 => free,
                at => 8 * at as u64,
            }
        };
        let layout = Layout::published(0x030d_00f0, table(0)).unwrap();
        assert_eq!((layout.innermost, layout.code[0]), (8 * 23, 8 * 35));
        assert_eq!(Layout::published(0x030d_00f0, table(1)), None);
        assert_eq!(Layout::published(0x030d_01f0, table(0)), None);
        // Of an alpha release.
        assert_eq!(minor(0x030d_00a1), 0);
        assert_eq!((minor(0x030b_07f0), minor(0x0207_12f0)), (11, 0));
    }
}
