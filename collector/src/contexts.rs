//! Calling contexts: unwinds the stacks of forks and task creations from the stack words that the
//! program's threads sent.

use experiment::ids::FrameId;
use experiment::tables::{RuntimeKind, Tables};
use omp_model::stream::Site;
use omp_ring::context::Context;
use unwinder::{Ending, Regs, StackBytes, StackMemory, UnwindCache};

use crate::processes::Processes;
use crate::stacks::{call_of, outer_of};

/// Unwinds calling contexts, with caches that are kept from one to the next.
#[derive(Default)]
pub struct ContextUnwinder {
    cache: UnwindCache,
    addresses: Vec<u64>,
    kinds: Vec<RuntimeKind>,
}

/// The part of a stack that a thread sent.
struct SentStack<'a>(&'a Context);

impl StackMemory for SentStack<'_> {
    fn read(&self, address: u64) -> Option<u64> {
        self.0.read(address)
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
        let (program, objects) = processes.program_at(pid, time)?;
        let head = context.head;
        let regs = Regs::new(head.registers.ip, head.registers.sp, head.registers.bp);
        let sent = SentStack(context);
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
        let body = match head.body {
            0 => FrameId::NONE,
            body => program.frame(tables, objects, body),
        };
        Some(Site { stack, body })
    }
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
    fn the_call_path_of_a_task_ends_at_the_runtime_that_runs_it() {
        assert_eq!(first_of_runtime(&[Program, Program, Kmp, Program]), Some(2));
        assert_eq!(first_of_runtime(&[Kmp, Program, Collector, Kmp]), Some(2));
        assert_eq!(first_of_runtime(&[Program, Program]), Option::None);
        assert_eq!(first_of_runtime(&[Kmp]), Option::None);
    }
}
