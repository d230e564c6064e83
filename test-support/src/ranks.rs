//! The experiments of an MPI job, made by hand.

use std::path::{Path, PathBuf};

use experiment::header::Rank;
use experiment::ids::{ContextId, FrameId, Nanos, ObjectId, ThreadId};
use experiment::rows::{
    Interval, MessageEnd, MpiCall, MpiMessage, Sample, SampleKind, Sum, Within,
};
use experiment::state::{Scheduling, State};
use experiment::tables::{RuntimeKind, ThreadKind, ThreadState};
use mpi::Function;

use crate::Builder;

/// The number of `MPI_COMM_WORLD`.
const WORLD: u32 = 0x51ab;

/// Nanoseconds of a millisecond, the unit of all times of a job.
const MS: u64 = 1_000_000;

/// Ranks with a thread each, which call MPI from the lines of one source file.
#[derive(Debug)]
pub struct Job {
    /// The experiment of each rank.
    pub ranks: Vec<Builder>,
}

/// A message in whole: its ends, as far as they are recorded. Times are milliseconds since the job began.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// The sender's rank.
    pub from: u32,
    /// The receiver's rank.
    pub to: u32,
    /// When it was sent, and when the call ended that completed the send.
    pub sent: Option<[u64; 2]>,
    /// When the receive was posted, and when the call ended that completed it.
    pub received: Option<[u64; 2]>,
}

impl Job {
    /// A job of `size` ranks, each of which began 100 ms after the one before and is on a CPU for all of its
    /// `milliseconds`. Time 0 of the job is the start of the last one.
    #[must_use]
    pub fn new(size: u32, milliseconds: u64) -> Job {
        let rank = |number: u32| {
            let mut make = Builder::new(&["./ring"], "/home/ann/app/ring.c");
            make.header.rank = Some(Rank {
                number,
                size: Some(size),
                job: "7".to_owned(),
            });
            make.header.started_raw_ns = 100 * MS * u64::from(number);
            make.header.duration_ns = milliseconds * MS;
            make.process(100 + number as i32, "ring", "/home/ann/app/ring");
            let module = make.module("/home/ann/app/ring", RuntimeKind::None);
            make.function(module, 0x1000, "exchange", Some(10));
            make.thread(100 + number as i32, ThreadKind::Initial);
            make
        };
        let mut job = Job {
            ranks: (0..size).map(rank).collect(),
        };
        for rank in 0..size {
            job.spend(rank, (State::Serial, Scheduling::Running), milliseconds);
        }
        job
    }

    /// When the job began, on the clock of a rank's rows.
    fn begin(&self, rank: u32) -> u64 {
        100 * MS * (self.ranks.len() as u64 - 1 - u64::from(rank))
    }

    /// The frame of a call at a line of the source.
    pub fn line(&mut self, rank: u32, line: u32) -> FrameId {
        let make = &mut self.ranks[rank as usize];
        let function = make.symbols.frames[1].function.unwrap();
        let known = make.symbols.frames.iter().position(|frame| {
            let at = frame.lines.first();
            at.is_some_and(|at| at.source.line == line)
        });
        match known {
            Some(at) => FrameId(at as u32),
            None => make.frame(function, 0x1000 + u64::from(line), Some(line)),
        }
    }

    /// Adds time of a rank's thread in a state.
    pub fn spend(
        &mut self,
        rank: u32,
        (state, scheduling): (State, Scheduling),
        milliseconds: u64,
    ) {
        let make = &mut self.ranks[rank as usize];
        let thread_state = make.tables.thread_state(ThreadState {
            state,
            context: ContextId::ROOT,
            call: FrameId::NONE,
        });
        make.sums.push(Sum {
            slice: 0,
            thread: ThreadId(0),
            thread_state,
            scheduling,
            time: Nanos(milliseconds * MS),
            count: 1,
        });
    }

    /// Adds a sample for each 10 ms of a rank's time, in a function that has this line alone.
    pub fn samples(&mut self, rank: u32, (function, line): (&str, u32), [from, to]: [u64; 2]) {
        let begin = self.begin(rank);
        let make = &mut self.ranks[rank as usize];
        let known = make.symbols.functions.iter().find(|it| it.name == function);
        let frame = if known.is_some() {
            self.line(rank, line)
        } else {
            let address = 0x2000 + 0x40 * make.symbols.functions.len() as u64;
            let module = make.symbols.functions[0].module;
            make.function(module, address, function, Some(line))
        };
        let make = &mut self.ranks[rank as usize];
        let stack = make.stack(&[frame]);
        let thread_state = make.thread_state(State::Serial, ContextId::ROOT);
        let each = (from..to).step_by(10).map(|at| Sample {
            time: Nanos(begin + at * MS),
            thread: ThreadId(0),
            cpu: 0,
            kind: SampleKind::User,
            stack,
            thread_state,
            within: Within::default(),
        });
        make.samples.extend(each);
    }

    /// Lists time of a rank's thread in a state, and takes it from its serial time.
    pub fn interval(
        &mut self,
        rank: u32,
        (state, scheduling): (State, Scheduling),
        [from, to]: [u64; 2],
    ) {
        let start = Nanos(self.begin(rank) + from * MS);
        self.ranks[rank as usize].sums[0].time.0 -= (to - from) * MS;
        self.spend(rank, (state, scheduling), to - from);
        let make = &mut self.ranks[rank as usize];
        let thread_state = make.thread_state(state, ContextId::ROOT);
        make.intervals.push(Interval {
            thread: ThreadId(0),
            start,
            length: Nanos((to - from) * MS),
            thread_state,
            scheduling,
            within: Within::default(),
        });
    }

    /// Adds a call of a rank's thread at a line, from one millisecond to another, and takes it from its serial time. Fields
    /// that it returns may be changed.
    pub fn call(
        &mut self,
        rank: u32,
        function: Function,
        line: u32,
        [from, to]: [u64; 2],
    ) -> &mut MpiCall {
        let call = self.line(rank, line);
        let start = Nanos(self.begin(rank) + from * MS);
        let state = State::in_mpi(mpi::wait(function as u16));
        self.ranks[rank as usize].sums[0].time.0 -= (to - from) * MS;
        self.spend(rank, (state, Scheduling::Running), to - from);
        let calls = &mut self.ranks[rank as usize].mpi_calls;
        calls.push(MpiCall {
            thread: ThreadId(0),
            start,
            length: Nanos((to - from) * MS),
            count: 1,
            function: function as u16,
            call,
            comm: WORLD,
            peer: 0,
            object: ObjectId::NONE,
            sent: 0,
            received: 0,
        });
        calls.last_mut().unwrap()
    }

    /// Adds a message of 1000 bytes and tag 5 in `MPI_COMM_WORLD`.
    pub fn message(&mut self, message: &Message) {
        let ends = [
            (MessageEnd::Sent, message.sent, message.from, message.to),
            (
                MessageEnd::Received,
                message.received,
                message.to,
                message.from,
            ),
        ];
        for (end, times, rank, peer) in ends {
            let Some([from, to]) = times else { continue };
            let posted = Nanos(self.begin(rank) + from * MS);
            self.ranks[rank as usize].mpi_messages.push(MpiMessage {
                thread: ThreadId(0),
                end,
                posted,
                length: Nanos((to - from) * MS),
                peer,
                tag: 5,
                comm: WORLD,
                bytes: 1_000,
            });
        }
    }

    /// Writes the experiments into a folder, as `NAME.r0.er`, `NAME.r1.er` ….
    pub fn write(&self, folder: &Path, name: &str) -> Vec<PathBuf> {
        let each = self.ranks.iter().zip(0..);
        let write = |(make, number): (&Builder, u32)| {
            let path = folder.join(format!("{name}.r{number}.er"));
            make.write(&path);
            path
        };
        each.map(write).collect()
    }
}
