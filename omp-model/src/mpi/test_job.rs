//! Jobs for tests.

use ::mpi::Function;
use experiment::Experiment;
use experiment::ids::{ContextId, FrameId, Nanos, ObjectId, ThreadId};
use experiment::rows::{Interval, MessageEnd, MpiCall, MpiMessage, Within};
use experiment::state::{Scheduling, State};
use experiment::tables::ThreadState;

use super::ranks::Recording;
use super::ranks::tests::recording;

/// A job on one host, of ranks with a thread each, whose recordings all began at the same time.
pub(super) struct Job {
    pub(super) recordings: Vec<Recording>,
    pub(super) experiment: Experiment,
}

impl Job {
    pub(super) fn new(size: u32) -> Job {
        let made = test_support::TempExperiment::new("job");
        test_support::Builder::new(&["./a"], "a.c").write(&made.path);
        Job {
            recordings: (0..size).map(|it| recording("a", it, size, 0)).collect(),
            experiment: Experiment::open(&made.path).expect("it was written"),
        }
    }

    pub(super) fn call(&mut self, rank: u32, function: Function, [from, to]: [u64; 2], root: u32) {
        self.experiment.mpi_calls.push(MpiCall {
            thread: ThreadId(rank),
            start: Nanos(from),
            length: Nanos(to - from),
            count: 1,
            function: function as u16,
            call: FrameId::NONE,
            comm: 7,
            peer: root,
            object: ObjectId::NONE,
            sent: 0,
            received: 0,
        });
    }

    pub(super) fn end(
        &mut self,
        end: MessageEnd,
        rank: u32,
        peer: u32,
        tag: u32,
        [from, to]: [u64; 2],
    ) {
        self.experiment.mpi_messages.push(MpiMessage {
            thread: ThreadId(rank),
            end,
            posted: Nanos(from),
            length: Nanos(to - from),
            peer,
            tag,
            comm: 7,
            bytes: 8,
        });
    }

    /// Adds a listed interval of a rank.
    pub(super) fn interval(
        &mut self,
        rank: u32,
        (state, scheduling): (State, Scheduling),
        [from, to]: [u64; 2],
    ) {
        let thread_state = self.experiment.tables.thread_state(ThreadState {
            state,
            context: ContextId::ROOT,
            call: FrameId::NONE,
        });
        self.experiment.intervals.push(Interval {
            thread: ThreadId(rank),
            start: Nanos(from),
            length: Nanos(to - from),
            thread_state,
            scheduling,
            within: Within::default(),
        });
    }

    /// The number of each thread's recording.
    pub(super) fn origins(&self) -> Vec<u32> {
        (1..=self.recordings.len() as u32).collect()
    }
}
