//! The frames of Python in the stacks of calls: an author's stack has them in the places of the interpreter's.

use std::ops::Range;

use experiment::ids::{FrameId, ModuleId, StackId};
use experiment::tables::{Frame, Module, PythonLine, RuntimeKind, Stack, StackEntry, Tables};
use omp_ring::python;
use untrusted::printable;

/// What is recorded of Python: the argument of `-j`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recorded {
    /// Nothing, nor of other code that programs generate.
    Nothing,
    /// Its frames at calls into OpenMP runtimes, and what programs tell of generated code.
    #[default]
    AtCalls,
    /// All its frames, of which the interpreter tells perf: each function of Python is called through generated code.
    All,
}

/// A version, of `PY_VERSION_HEX`.
#[must_use]
pub fn version(hex: u32) -> String {
    let [major, minor, micro, level] = hex.to_be_bytes();
    let level = match (level >> 4, level & 0xf) {
        (0xa, serial) => format!("a{serial}"),
        (0xb, serial) => format!("b{serial}"),
        (0xc, serial) => format!("rc{serial}"),
        _ => String::new(),
    };
    format!("{major}.{minor}.{micro}{level}")
}

/// The environment variable by which Python tells perf of its functions, from 3.12 on.
pub const SUPPORT_VARIABLE: &str = "PYTHONPERFSUPPORT";

/// A frame of the machine's stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineFrame {
    /// The frame.
    pub frame: FrameId,
    /// Its load object.
    pub module: ModuleId,
    /// Where its variables lie.
    pub variables: Range<u64>,
}

/// What stands in an author's stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    /// A frame of the machine's stack, by number.
    Machine(usize),
    /// A frame of Python, by number.
    Python(usize),
}

/// The stack of a call as its author in Python wrote it: `machine` is the machine's, leaf first, `frames` those of
/// Python, innermost first, and `outer` the entry outward of the machine's frames. [`StackId::EMPTY`] if no frame of
/// Python belongs to the stack.
pub fn stack(
    tables: &mut Tables,
    (machine, outer): (&[MachineFrame], StackId),
    frames: &[python::Frame],
) -> StackId {
    let is_in_file = |module: ModuleId| {
        let row = tables.modules.get(module.0);
        row.is_some_and(|row| !row.path.is_empty() && row.path.starts_with('/'))
    };
    let entries = author_s(machine, frames, is_in_file);
    let mut stack = outer;
    for entry in entries.iter().rev() {
        let frame = match *entry {
            Entry::Machine(at) => machine[at].frame,
            Entry::Python(at) => match frame_of(tables, &frames[at]) {
                Some(frame) => frame,
                None => return StackId::EMPTY,
            },
        };
        stack = tables.stack(Stack {
            callers: stack,
            entry: StackEntry::Frame(frame),
        });
    }
    if entries.is_empty() {
        StackId::EMPTY
    } else {
        stack
    }
}

/// The row of a frame of Python; `None` if the tables have no room for its name.
fn frame_of(tables: &mut Tables, frame: &python::Frame) -> Option<FrameId> {
    let module = tables.module(Module {
        path: printable(&frame.file).into_owned(),
        build_id: String::new(),
        runtime: RuntimeKind::Python,
    });
    let line = PythonLine {
        name: tables.name(printable(&frame.name).into_owned()),
        lines: [frame.first_line, frame.line],
    };
    let address = line.address()?;
    Some(tables.frame(Frame { module, address }))
}

/// The entries of the author's stack, leaf first; none if no frame of Python belongs to it.
///
/// Each activation of the interpreter is a C function on the machine's stack. The frames of Python that it executes
/// take its place; the other functions of the interpreter are left out, and so is the code that Python generates
/// around an activation where it tells perf of its functions (trampolines). The interpreter's first function stays.
fn author_s(
    machine: &[MachineFrame],
    frames: &[python::Frame],
    is_in_file: impl Fn(ModuleId) -> bool,
) -> Vec<Entry> {
    let mut activations: Vec<(usize, Range<usize>)> = Vec::new();
    let mut begin = 0;
    for (at, frame) in frames.iter().enumerate() {
        if frame.activation == 0 {
            continue;
        }
        let holds = |it: &MachineFrame| it.variables.contains(&frame.activation);
        if let Some(holder) = machine.iter().position(holds) {
            activations.push((holder, begin..at + 1));
        }
        begin = at + 1;
    }
    let Some((outermost, _)) = activations.last() else {
        return Vec::new();
    };
    let outermost = *outermost;
    let interpreter = machine[outermost].module;
    let mut entries = Vec::new();
    for (at, frame) in machine.iter().enumerate() {
        let active = activations.iter().find(|(holder, _)| *holder == at);
        if let Some((_, frames)) = active {
            entries.extend(frames.clone().map(Entry::Python));
            continue;
        }
        let calls_activation = activations.iter().any(|(holder, _)| holder + 1 == at);
        let is_first = at > outermost
            && machine
                .get(at + 1)
                .is_none_or(|it| it.module != interpreter);
        let is_left_out = if frame.module == interpreter {
            !is_first
        } else {
            calls_activation && !is_in_file(frame.module)
        };
        if !is_left_out {
            entries.push(Entry::Machine(at));
        }
    }
    entries
}

/// Where the variables of each frame of a stack lie, given its addresses, leaf first, and what was read to unwind it:
/// up to the slot from which its caller's address was read. Those of the outermost frame are not known.
pub fn variables(
    sp: u64,
    addresses: &[u64],
    reads: &[(u64, u64)],
) -> impl Iterator<Item = Range<u64>> {
    let mut reads = reads.iter();
    let mut begin = sp;
    addresses.iter().skip(1).map_while(move |caller| {
        let (slot, _) = reads.find(|(_, value)| value == caller)?;
        let variables = begin..*slot;
        begin = *slot;
        Some(variables)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: ModuleId = ModuleId(2);
    const PYTHON: ModuleId = ModuleId(3);
    const LIBC: ModuleId = ModuleId(4);
    const GENERATED: ModuleId = ModuleId(5);

    fn machine(modules: &[ModuleId]) -> Vec<MachineFrame> {
        let frames = modules.iter().zip(1..);
        frames
            .map(|(&module, at)| MachineFrame {
                frame: FrameId(at),
                module,
                variables: 0x100 * u64::from(at)..0x100 * u64::from(at) + 0x100,
            })
            .collect()
    }

    fn python(activations: &[u64]) -> Vec<python::Frame> {
        let frames = activations.iter().map(|&activation| python::Frame {
            activation,
            ..python::Frame::default()
        });
        frames.collect()
    }

    fn entries(modules: &[ModuleId], activations: &[u64]) -> String {
        let (machine, frames) = (machine(modules), python(activations));
        let found = author_s(&machine, &frames, |it| it != GENERATED);
        let texts = found.iter().map(|entry| match entry {
            Entry::Machine(at) => format!("{at}"),
            Entry::Python(at) => format!("p{at}"),
        });
        texts.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn versions_are_as_python_prints_them() {
        let texts = [0x030b_07f0, 0x030f_00a2, 0x030e_00c1].map(version);
        assert_eq!(texts, ["3.11.7", "3.15.0a2", "3.14.0rc1"]);
    }

    #[test]
    fn frames_of_python_take_the_places_of_activations() {
        // An extension, called by the interpreter, which calls back; main, and what calls it.
        let modules = [
            LIBRARY, PYTHON, PYTHON, LIBRARY, PYTHON, PYTHON, PYTHON, LIBC,
        ];
        // The activations are in frames 2 and 4; two functions of Python are in the outer one.
        let activations = [0x380, 0, 0x5a0];
        assert_eq!(entries(&modules, &activations), "0 p0 3 p1 p2 6 7");
        // An activation that is on another stack.
        assert_eq!(entries(&modules, &[0x380, 0x9900]), "0 p0 3 6 7");
        assert_eq!(entries(&modules, &[0x9900]), "");
        // The outermost frames were not read.
        assert_eq!(entries(&modules, &[0x380, 0]), "0 p0 3 6 7");
        assert_eq!(entries(&modules, &[]), "");
    }

    #[test]
    fn trampolines_are_left_out_and_other_generated_code_stays() {
        let modules = [GENERATED, PYTHON, PYTHON, GENERATED, PYTHON, LIBC];
        assert_eq!(entries(&modules, &[0x380]), "0 p0 4 5");
    }

    #[test]
    fn variables_lie_below_the_slot_of_the_return_address() {
        let reads = [(0x1008, 0x20), (0x1020, 5), (0x1100, 0x30)];
        let found: Vec<_> = variables(0x1000, &[0x10, 0x20, 0x30], &reads).collect();
        assert_eq!(found, [0x1000..0x1008, 0x1008..0x1100]);
        assert_eq!(variables(0x1000, &[0x10, 0x21], &reads).count(), 0);
    }
}
