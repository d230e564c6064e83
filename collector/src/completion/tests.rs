use experiment::ids::{FrameId, NameId, ThreadStateId};
use experiment::rows::SampleKind;
use experiment::state::State;
use experiment::tables::{Context, Cut, Frame, Module, RuntimeKind, Stack, Thread, ThreadState};

use super::*;

const RUNTIME: u64 = 0x9000;

/// A forking thread, a worker, and a region of the outermost level.
struct Setup {
    tables: Tables,
    completion: Completion,
    region: ThreadStateId,
    time: u64,
}

fn setup() -> Setup {
    let mut tables = Tables::default();
    for (path, runtime) in [("app", RuntimeKind::None), ("libomp.so", RuntimeKind::Kmp)] {
        tables.module(Module {
            path: path.into(),
            build_id: String::new(),
            runtime,
        });
    }
    for kind in [ThreadKind::Initial, ThreadKind::Worker] {
        tables.threads.push(Thread {
            process: ProcessId(0),
            tid: 7,
            name: NameId::NONE,
            birth: Nanos(0),
            death: None,
            kind,
        });
    }
    let site = stack(&mut tables, &[0x30, 0x20, 0x10], None);
    let context = tables.context(Context {
        parent: ContextId::ROOT,
        kind: ContextKind::Region,
        stack: site,
        python: StackId::EMPTY,
        body: FrameId::NONE,
    });
    let region = tables.thread_state(ThreadState {
        state: State::Work,
        context,
        call: FrameId::NONE,
    });
    Setup {
        tables,
        completion: Completion::default(),
        region,
        time: 0,
    }
}

/// A stack of frames, leaf first; those from [`RUNTIME`] on are the runtime's.
fn stack(tables: &mut Tables, addresses: &[u64], cut: Option<Cut>) -> StackId {
    let mut stack = cut.map_or(StackId::EMPTY, |reason| {
        tables.stack(Stack {
            callers: StackId::EMPTY,
            entry: StackEntry::Cut(reason),
        })
    });
    let find = |tables: &Tables, runtime| {
        let rows = tables.modules.rows().iter();
        let at = rows
            .clone()
            .position(|module| module.runtime == runtime && !module.path.is_empty());
        experiment::ids::ModuleId(at.expect("both are there") as u32)
    };
    for &address in addresses.iter().rev() {
        let runtime = match address {
            RUNTIME.. => RuntimeKind::Kmp,
            _ => RuntimeKind::None,
        };
        let module = find(tables, runtime);
        let frame = tables.frame(Frame { module, address });
        stack = tables.stack(Stack {
            callers: stack,
            entry: StackEntry::Frame(frame),
        });
    }
    stack
}

impl Setup {
    /// A sample of one frame in its piece, in `function`.
    fn sample(
        &mut self,
        (thread, thread_state): (u32, ThreadStateId),
        function: u64,
        slot: u64,
        callers: Option<&[u64]>,
    ) -> Sample {
        let leaf = function + 4;
        let thread = ThreadId(thread);
        let (whole, callers) = match callers {
            Some(callers) => (
                stack(&mut self.tables, &[&[leaf], callers].concat(), None),
                Some(stack(&mut self.tables, callers, None)),
            ),
            None => (
                stack(&mut self.tables, &[leaf], Some(Cut::DumpTooSmall)),
                None,
            ),
        };
        self.time += 1;
        self.completion.add(
            thread,
            Nanos(self.time),
            Truncated {
                inner: 1,
                activation: Activation { function, slot },
                callers,
                trust: Trust::Likely,
            },
        );
        Sample {
            time: Nanos(self.time),
            thread,
            cpu: 0,
            kind: SampleKind::User,
            stack: whole,
            thread_state,
            within: experiment::rows::Within::default(),
        }
    }

    /// What became of samples, and the addresses of their stacks.
    fn complete(&mut self, mut samples: Vec<Sample>) -> (Vec<Completed>, Vec<Vec<u64>>) {
        let mut hows = Vec::new();
        self.completion
            .complete(&mut self.tables, &mut samples, |_, how| hows.push(how));
        let address = |entry| match entry {
            StackEntry::Frame(frame) => self.tables.frames.get(frame.0).map(|f| f.address),
            StackEntry::Cut(_) => None,
        };
        let stacks = samples
            .iter()
            .map(|sample| self.tables.walk(sample.stack).map_while(address).collect());
        (hows, stacks.collect())
    }
}

#[test]
fn a_stack_goes_on_as_another_of_its_thread_in_the_same_frame() {
    let mut w = setup();
    let out = ThreadStateId::OUTSIDE;
    let samples = vec![
        w.sample((0, out), 0x40, 1, None),
        w.sample((0, out), 0x40, 1, Some(&[0x21, 0x10])),
    ];
    let (hows, stacks) = w.complete(samples);
    assert_eq!(
        hows,
        [Completed::BySample],
        "the later one serves the earlier"
    );
    assert_eq!(stacks[0], [0x44, 0x21, 0x10]);
    let samples = vec![
        w.sample((0, out), 0x40, 2, None),
        w.sample((1, out), 0x40, 1, None),
        w.sample((0, out), 0x50, 1, None),
        w.sample((0, out), 0x40, 1, None),
    ];
    let (hows, stacks) = w.complete(samples);
    assert_eq!(hows, [Completed::BySample]);
    assert_eq!(stacks[0], [0x44], "another slot");
    assert_eq!(stacks[1], [0x44], "another thread");
    assert_eq!(stacks[2], [0x54], "another function");
    assert_eq!(stacks[3], [0x44, 0x21, 0x10]);
}

#[test]
fn serial_code_goes_on_as_the_nearest_calling_context_in_the_same_frame() {
    let mut w = setup();
    let out = ThreadStateId::OUTSIDE;
    let [one, other] = [0x21, 0x22].map(|caller| stack(&mut w.tables, &[caller, 0x10], None));
    let activation = Activation {
        function: 0x40,
        slot: 1,
    };
    let mut samples = Vec::new();
    let mut sample = |w: &mut Setup, callers| samples.push(w.sample((0, out), 0x40, 1, callers));
    // Each of two callers forks twice.
    for callers in [one, other] {
        sample(&mut w, None);
        for _ in 0..3 {
            w.time += 1;
            let when = (ThreadId(0), Nanos(w.time));
            w.completion.at_context(when, activation, callers);
        }
    }
    // What was read a moment later is that of another call.
    sample(&mut w, Some(&[0x21, 0x10]));
    // This caller's calls do not fork.
    sample(&mut w, Some(&[0x23, 0x10]));
    let (hows, stacks) = w.complete(samples);
    use Completed::{BySample, Corrected};
    assert_eq!(hows, [BySample, BySample, Corrected]);
    assert_eq!(
        stacks,
        [0x21, 0x21, 0x22, 0x23].map(|caller| [0x44, caller, 0x10])
    );
    // The last one is kept for later samples.
    let later = w.sample((0, out), 0x40, 1, None);
    assert_eq!(w.complete(vec![later]).1, [[0x44, 0x22, 0x10]]);
}

#[test]
fn code_of_regions_is_called_as_all_of_it_below_the_fork_point() {
    let mut w = setup();
    let region = w.region;
    let forked = [RUNTIME + 1, RUNTIME, 0x31, 0x10];
    let samples = vec![
        // Seen on a worker, and on the forking thread below another region.
        w.sample((1, region), 0x40, 1, Some(&[RUNTIME + 1, RUNTIME + 9])),
        w.sample((0, region), 0x60, 2, Some(&forked)),
        w.sample((0, region), 0x60, 2, Some(&forked)),
        // What is read of a function that has returned can be anything.
        w.sample(
            (0, region),
            0x40,
            3,
            Some(&[RUNTIME + 7, RUNTIME, 0x30, 0x20, 0x10]),
        ),
        w.sample((0, region), 0x40, 4, None),
        w.sample((1, region), 0x60, 5, None),
        // Called by the program, as far as is known.
        w.sample((1, region), 0x70, 6, None),
    ];
    let (hows, stacks) = w.complete(samples);
    let forked = [0x44, RUNTIME + 1, RUNTIME, 0x30, 0x20, 0x10];
    assert_eq!(stacks[0], [0x44, RUNTIME + 1, RUNTIME + 9]);
    assert_eq!(stacks[1][1..], forked[1..]);
    assert_eq!(stacks[3], forked);
    assert_eq!(stacks[4], forked);
    assert_eq!(stacks[5], [0x64, RUNTIME + 1, RUNTIME + 9]);
    assert_eq!(stacks[6], [0x74]);
    use Completed::{BySample, Corrected};
    assert_eq!(hows, [Corrected, Corrected, Corrected, BySample, BySample]);
}
