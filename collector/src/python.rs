//! What is recorded of Python, and its frames in the stacks of calls.

use std::ops::Range;

use experiment::ids::{FrameId, StackId};
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

/// What `-j on` could not have from the interpreters of these versions, as notes for the header.
pub fn notes(recorded: Recorded, versions: impl Iterator<Item = u32>) -> Vec<String> {
    /// The first version that tells perf of its functions.
    const FIRST: u32 = 0x030c_0000;
    let silent = versions.filter(|version| recorded == Recorded::All && *version < FIRST);
    silent
        .map(|it| {
            format!(
                "-j on: Python {} does not tell of its functions, so that they are known at calls into OpenMP \
                 runtimes alone; use Python 3.12 or later",
                version(it)
            )
        })
        .collect()
}

/// The environment variable by which Python tells perf of its functions, from 3.12 on.
pub const SUPPORT_VARIABLE: &str = "PYTHONPERFSUPPORT";

/// A frame of the machine's stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineFrame {
    /// The frame.
    pub frame: FrameId,
    /// Where its variables lie.
    pub variables: Range<u64>,
}

/// What stands in a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    /// A frame of the machine's stack, by number.
    Machine(usize),
    /// A frame of Python, by number.
    Python(usize),
}

/// The stack of a call with its frames of Python: `machine` is the machine's, leaf first, `frames` those of Python,
/// innermost first, and `outer` the entry outward of the machine's frames. [`StackId::EMPTY`] if no frame of Python
/// belongs to the stack.
pub fn stack(
    tables: &mut Tables,
    (machine, outer): (&[MachineFrame], StackId),
    frames: &[python::Frame],
) -> StackId {
    let entries = entries(machine, frames);
    if entries.len() == machine.len() {
        return StackId::EMPTY;
    }
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
    stack
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

/// The entries of the stack, leaf first. Each activation of the interpreter is a C function on the machine's stack; the
/// frames of Python that it executes stand outward of it, as if they had called it. Those of an activation that is not
/// on the stack are left out.
fn entries(machine: &[MachineFrame], frames: &[python::Frame]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut executed: Vec<Range<usize>> = vec![0..0; machine.len()];
    let mut begin = 0;
    for (at, frame) in frames.iter().enumerate() {
        if frame.activation == 0 {
            continue;
        }
        let holds = |it: &MachineFrame| it.variables.contains(&frame.activation);
        if let Some(holder) = machine.iter().position(holds) {
            executed[holder] = begin..at + 1;
        }
        begin = at + 1;
    }
    for (at, executed) in executed.into_iter().enumerate() {
        entries.push(Entry::Machine(at));
        entries.extend(executed.map(Entry::Python));
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

    fn machine(count: u32) -> Vec<MachineFrame> {
        let frames = (1..=count).map(|at| MachineFrame {
            frame: FrameId(at),
            variables: 0x100 * u64::from(at)..0x100 * u64::from(at) + 0x100,
        });
        frames.collect()
    }

    fn texts(activations: &[u64]) -> String {
        let frames = activations.iter().map(|&activation| python::Frame {
            activation,
            ..python::Frame::default()
        });
        let found = entries(&machine(5), &frames.collect::<Vec<_>>());
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
    fn interpreters_that_cannot_do_what_was_asked_for_are_named() {
        let versions = [0x030b_07f0, 0x030c_01f0];
        let found = notes(Recorded::All, versions.into_iter());
        assert!(
            found.len() == 1 && found[0].contains("Python 3.11.7"),
            "{found:?}"
        );
        assert!(notes(Recorded::AtCalls, versions.into_iter()).is_empty());
    }

    #[test]
    fn frames_of_python_stand_outward_of_the_activation_that_executes_them() {
        // The activations are in frames 1 and 3; two functions of Python are in the outer one.
        assert_eq!(texts(&[0x280, 0, 0x4a0]), "0 1 p0 2 3 p1 p2 4");
        // An activation that is on another stack, and one of which the outermost frames were not sent.
        assert_eq!(texts(&[0x280, 0x9900]), "0 1 p0 2 3 4");
        assert_eq!(texts(&[0x280, 0]), "0 1 p0 2 3 4");
        assert_eq!(texts(&[0x9900]), "0 1 2 3 4");
    }

    #[test]
    fn variables_lie_below_the_slot_of_the_return_address() {
        let reads = [(0x1008, 0x20), (0x1020, 5), (0x1100, 0x30)];
        let found: Vec<_> = variables(0x1000, &[0x10, 0x20, 0x30], &reads).collect();
        assert_eq!(found, [0x1000..0x1008, 0x1008..0x1100]);
        assert_eq!(variables(0x1000, &[0x10, 0x21], &reads).count(), 0);
    }
}
