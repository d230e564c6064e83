//! Unwinds the stacks of samples in place, in their rings, and interns them.

use experiment::ids::{FrameId, StackId};
use experiment::tables::{Cut, Stack, StackEntry, Tables};
use processes::stacks::{call_of, cut, cut_of, in_kernel, outer_of};
use unwinder::{Ending, UnwindCache};

use crate::completion::Truncated;
use crate::perf::parse::PerfSample;
use crate::sleepers;
use crate::truncated::{Piece, Unwinder};
use processes::Processes;

/// Unwinds and interns stacks, with caches kept across samples.
#[derive(Default)]
pub struct Stacks {
    cache: UnwindCache,
    addresses: Vec<u64>,
    unwinder: Unwinder,
}

/// The machine stack of a sample, unwound and interned.
#[derive(Clone, Copy, Debug)]
pub struct MachineStack {
    /// The interned stack.
    pub stack: StackId,
    /// Why it is truncated, if it is.
    pub cut: Option<Cut>,
    /// Where it was cut, if completion may find its outer frames.
    pub truncated: Option<Truncated>,
}

impl Stacks {
    /// The machine stack of a sample: kernel frames at the leaf, then user frames.
    pub fn of_sample(
        &mut self,
        tables: &mut Tables,
        processes: &mut Processes,
        sample: &PerfSample<'_>,
    ) -> MachineStack {
        let mut unwound = self.user_half(tables, processes, sample);
        self.addresses.clear();
        self.addresses.extend(sample.kernel_chain());
        unwound.stack = in_kernel(tables, unwound.stack, &self.addresses);
        if let Some(truncated) = &mut unwound.truncated {
            truncated.inner += self.addresses.len();
        }
        unwound
    }

    /// The stack of a sleeping thread, given its process id and thread id, in the program that the
    /// process ran at `time`. `None` if the thread is awake, may not be read, or has a truncated
    /// stack.
    pub fn of_sleeper(
        &mut self,
        tables: &mut Tables,
        processes: &mut Processes,
        numbers: (i32, i32),
        time: u64,
    ) -> Option<StackId> {
        let (program, objects) = processes.program_at(numbers.0, time)?;
        let regs = sleepers::registers(numbers)?;
        let piece = Piece {
            ids: numbers,
            regs: &regs,
            stack: &[],
        };
        self.addresses.clear();
        let ending = self.unwinder.unwind_now(
            program.space(),
            &mut self.cache,
            &piece,
            &mut self.addresses,
        );
        // Equal registers before and after: the thread slept during the unwinding.
        if ending != Some(Ending::Complete) || sleepers::registers(numbers) != Some(regs) {
            return None;
        }
        for address in self.addresses.iter_mut().skip(1) {
            *address = call_of(*address);
        }
        let outermost = StackId::EMPTY;
        Some(program.stack(tables, objects, (outermost, &self.addresses)))
    }

    fn user_half(
        &mut self,
        tables: &mut Tables,
        processes: &mut Processes,
        sample: &PerfSample<'_>,
    ) -> MachineStack {
        let program = processes.program_at(sample.pid, sample.time);
        let (Some(user), Some((program, objects))) = (&sample.user, program) else {
            return MachineStack::without_user(tables);
        };
        let space = program.space();
        // During `exec` the registers are still those of the previous program.
        if sample.in_kernel && space.locate(user.regs.ip()).is_none() {
            return MachineStack::without_user(tables);
        }
        let piece = Piece {
            ids: (sample.pid, sample.tid),
            regs: &user.regs,
            stack: user.stack,
        };
        self.addresses.clear();
        let unwound = self
            .unwinder
            .unwind(space, &mut self.cache, &piece, &mut self.addresses);
        let cut_by = match unwound.ending {
            Ending::Complete => None,
            Ending::Cut(reason) => Some(cut_of(reason)),
        };
        let mut truncated = unwound.edge.and_then(Truncated::at);
        let outer = if cut_by == Some(Cut::TooDeep) {
            let outermost = self.unwinder.outermost(space, &mut self.cache, &piece);
            let outermost: Vec<u64> = outermost
                .unwrap_or_default()
                .iter()
                .map(|at| call_of(*at))
                .collect();
            let callers = program.stack(tables, objects, (StackId::EMPTY, &outermost));
            let entry = StackEntry::Cut(Cut::TooDeep);
            tables.stack(Stack { callers, entry })
        } else {
            outer_of(tables, unwound.ending)
        };
        for address in self.addresses.iter_mut().skip(1) {
            *address = call_of(*address);
        }
        let mut intern = |addresses| program.stack(tables, objects, (outer, addresses));
        if let Some(truncated) = &mut truncated {
            let outer = self.addresses.get(truncated.inner..).unwrap_or_default();
            truncated.callers = (!outer.is_empty()).then(|| intern(outer));
        }
        let stack = intern(&self.addresses);
        MachineStack {
            stack,
            cut: cut_by,
            truncated,
        }
    }
}

impl MachineStack {
    /// The result for a sample without a user half.
    fn without_user(tables: &mut Tables) -> MachineStack {
        MachineStack {
            stack: cut(tables, Cut::NoUserStack),
            cut: Some(Cut::NoUserStack),
            truncated: None,
        }
    }
}

/// A stack with a single known frame: the call into the runtime.
pub fn of_code(
    tables: &mut Tables,
    processes: &mut Processes,
    pid: i32,
    (code, time): (u64, u64),
) -> StackId {
    let frame = frame_of_call(tables, processes, pid, (code, time));
    if frame == FrameId::NONE {
        return StackId::EMPTY;
    }
    let callers = cut(tables, Cut::BadStack);
    tables.stack(Stack {
        callers,
        entry: StackEntry::Frame(frame),
    })
}

/// The frame of a call into the runtime, from its return address.
pub fn frame_of_call(
    tables: &mut Tables,
    processes: &mut Processes,
    pid: i32,
    (code, time): (u64, u64),
) -> FrameId {
    match processes.program_at(pid, time) {
        Some((program, objects)) if code != 0 => program.frame(tables, objects, call_of(code)),
        _ => FrameId::NONE,
    }
}
