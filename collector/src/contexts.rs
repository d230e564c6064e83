//! Calling contexts: unwinds the stacks of forks and task creations from the stack words that the
//! program's threads sent.

use std::cell::RefCell;
use std::collections::BTreeMap;

use experiment::ids::{FrameId, StackId};
use experiment::tables::{RuntimeKind, Tables};
use omp_model::stream::Site;
use omp_ring::context::Context;
use unwinder::{Ending, Regs, StackBytes, StackMemory, UnwindCache};

use crate::python::{self, MachineFrame};
use crate::truncated::Activation;
use processes::Processes;
use processes::stacks::{call_of, outer_of};

/// A frame of more bytes may reach beyond the piece that is copied with a sample.
const LARGE: u64 = 4096;

/// Unwinds calling contexts, with caches that are kept from one to the next.
#[derive(Default)]
pub struct ContextUnwinder {
    cache: UnwindCache,
    addresses: Vec<u64>,
    kinds: Vec<RuntimeKind>,
    /// The words that were read from the stack: addresses and values.
    reads: RefCell<Vec<(u64, u64)>>,
    /// The interpreters of Python that contexts told of, by version, and whether their frames are known.
    pythons: BTreeMap<u32, bool>,
    /// The large frames of the contexts, and their callers.
    large: Vec<(Activation, StackId)>,
}

/// The part of a stack that a thread sent. Notes what is read.
struct SentStack<'a>(&'a Context, &'a RefCell<Vec<(u64, u64)>>);

impl StackMemory for SentStack<'_> {
    fn read(&self, address: u64) -> Option<u64> {
        let value = self.0.read(address)?;
        self.1.borrow_mut().push((address, value));
        Some(value)
    }
}

impl ContextUnwinder {
    /// The call path of a context that a thread of process `pid` sent at `time`: the stack from the call
    /// into the runtime outward. `None` if that call is not on the stack.
    pub fn site(
        &mut self,
        tables: &mut Tables,
        processes: &mut Processes,
        context: &Context,
        (pid, time): (i32, u64),
    ) -> Option<Site> {
        if let Some(python) = &context.python {
            self.pythons.insert(python.version, python.is_known);
        }
        let (program, objects) = processes.program_at(pid, time)?;
        let head = context.head;
        let regs = Regs::new(head.registers.ip, head.registers.sp, head.registers.bp);
        self.reads.borrow_mut().clear();
        let sent = SentStack(context, &self.reads);
        let bytes = StackBytes {
            sp: regs.sp(),
            bytes: &[],
            beyond: Some(&sent),
        };
        self.addresses.clear();
        let ending = program
            .space()
            .unwind(&mut self.cache, &regs, &bytes, &mut self.addresses);
        self.kinds.clear();
        for address in &self.addresses {
            let kind = program.runtime_at(tables, objects, call_of(*address));
            self.kinds.push(kind);
        }
        let first = part_of_program(&self.addresses, &self.kinds, head.code)?;
        let (frames, kinds) = (&self.addresses[first..], &self.kinds[first..]);
        let last = if head.in_task {
            first_of_runtime(kinds)
        } else {
            None
        };
        let (frames, ending) = match last {
            Some(last) => (&frames[..=last], Ending::Complete),
            None => (frames, ending),
        };
        let outer = outer_of(tables, ending);
        let calls: Vec<u64> = frames.iter().copied().map(call_of).collect();
        let stack = program.stack(tables, objects, (outer, &calls));
        if ending == Ending::Complete && !head.in_task {
            for (at, slot) in large_frames(&self.addresses, &self.reads.borrow()) {
                let call = self.addresses[at] - u64::from(at > 0);
                let function = program.space().function_at(call);
                let outward = at.checked_sub(first).map(|inner| inner + 1);
                if let (Some(function), Some(outward)) = (function, outward) {
                    let callers = tables.callers(stack, outward);
                    self.large.push((Activation { function, slot }, callers));
                }
            }
        }
        let body = match head.body {
            0 => FrameId::NONE,
            body => program.frame(tables, objects, body),
        };
        let python = match &context.python {
            Some(sent) if !head.in_task => {
                let reads = self.reads.borrow();
                let variables = python::variables(regs.sp(), &self.addresses, &reads);
                let none = std::iter::repeat(0..0);
                let variables = variables.chain(none).skip(first);
                let machine = calls
                    .iter()
                    .zip(variables)
                    .map(|(&call, variables)| MachineFrame {
                        frame: program.frame(tables, objects, call),
                        variables,
                    });
                let machine: Vec<MachineFrame> = machine.collect();
                python::stack(tables, (&machine, outer), &sent.frames)
            }
            _ => StackId::EMPTY,
        };
        Some(Site {
            stack,
            python,
            body,
        })
    }

    /// The interpreters of Python, by `PY_VERSION_HEX`, and whether their frames are known.
    pub fn pythons(&self) -> &BTreeMap<u32, bool> {
        &self.pythons
    }

    /// The large frames of all contexts that were unwound, and their callers.
    pub fn large_frames(&self) -> &[(Activation, StackId)] {
        &self.large
    }
}

/// The large frames of a stack, given its frames, leaf first, and what was read to unwind it: the
/// number of each, and the first of its slots that was read.
fn large_frames(addresses: &[u64], reads: &[(u64, u64)]) -> Vec<(usize, u64)> {
    let mut found = Vec::new();
    let mut reads = reads.iter();
    let mut below = None;
    for (at, caller) in addresses.iter().skip(1).enumerate() {
        let first = reads.clone().next();
        let returns = reads.find(|(_, value)| value == caller);
        let (Some((first, _)), Some((slot, _))) = (first, returns) else {
            break;
        };
        if below.is_some_and(|below| slot.saturating_sub(below) > LARGE) {
            found.push((at, *first));
        }
        below = Some(*slot);
    }
    found
}

/// The index of the program's innermost frame: the call into the runtime. If that is unknown, or in
/// the runtime itself, the first frame outward of it, or of the leaf, that is outside of our library
/// and the runtime.
fn part_of_program(addresses: &[u64], kinds: &[RuntimeKind], code: u64) -> Option<usize> {
    let call = addresses.iter().position(|address| *address == code);
    // The call may be one of the runtime itself: it creates a taskloop's tasks.
    let first = call.unwrap_or(0);
    let outward = kinds.get(first..)?.iter();
    let program = outward
        .enumerate()
        .find(|(_, kind)| **kind == RuntimeKind::None);
    program.map(|(at, _)| first + at).or(call)
}

/// The index of the first frame of a runtime, or of our library in its place, outside of the
/// program's innermost frames. An undeferred task (`if(0)`) has none between itself and its creator.
fn first_of_runtime(kinds: &[RuntimeKind]) -> Option<usize> {
    let is_inner = |kind: &RuntimeKind| *kind != RuntimeKind::None;
    let program = kinds.iter().position(|kind| !is_inner(kind))?;
    let outer = kinds.get(program..)?.iter().position(is_inner)?;
    Some(program + outer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use RuntimeKind::{Collector, Kmp, None as Program};

    #[test]
    fn the_call_path_begins_at_the_call_into_the_runtime() {
        let addresses = [1, 2, 3, 4];
        let kinds = [Collector, Kmp, Program, Program];
        assert_eq!(part_of_program(&addresses, &kinds, 4), Some(3));
        assert_eq!(part_of_program(&addresses, &kinds, 9), Some(2));
        assert_eq!(part_of_program(&addresses, &kinds, 2), Some(2));
        assert_eq!(part_of_program(&addresses[..2], &kinds[..2], 0), None);
        assert_eq!(part_of_program(&addresses[..2], &kinds[..2], 2), Some(1));
    }

    #[test]
    fn a_large_frame_is_known_by_the_first_slot_that_is_read_of_it() {
        let addresses = [0x10, 0x20, 0x30, 0x40];
        // The second function saved a register below its return address.
        let reads = [(0x1008, 0x20), (0x9000, 7), (0x9008, 0x30), (0x9018, 0x40)];
        assert_eq!(large_frames(&addresses, &reads), [(1, 0x9000)]);
        assert_eq!(large_frames(&addresses, &reads[..2]), []);
        assert_eq!(large_frames(&addresses[..1], &reads), []);
    }

    #[test]
    fn the_call_path_of_a_task_ends_at_the_runtime_that_runs_it() {
        assert_eq!(first_of_runtime(&[Program, Program, Kmp, Program]), Some(2));
        assert_eq!(first_of_runtime(&[Kmp, Program, Collector, Kmp]), Some(2));
        assert_eq!(first_of_runtime(&[Program, Program]), Option::None);
        assert_eq!(first_of_runtime(&[Kmp]), Option::None);
    }
}
