//! Stacks that are deeper than the piece copied with their sample, completed by what the other
//! samples until they are written have shown.
//!
//! Those whose outer frames could be read a moment later ([`crate::outer`]) tell how the others go
//! on: what called the same frame of the same thread, and how a runtime calls the code of regions.
//! What lies outside of a region is that of its fork point ([`crate::joins`]).

use omp_model::ids::{ContextId, Nanos, ProcessId, StackId, ThreadId};
use omp_model::rows::Sample;
use omp_model::tables::{ContextKind, StackEntry, Tables, ThreadKind};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::joins::{Joins, is_runtime, with_callers};
use crate::outer::{Edge, Place, Trust};

/// The callers of so many frames are kept; then they are gathered anew.
const MOST: usize = 1 << 16;

/// What is known of a stack beyond the copied piece.
#[derive(Clone, Copy, Debug)]
pub struct Deep {
    /// So many of its entries, kernel frames among them, are in the piece.
    pub inner: usize,
    /// The outermost of those.
    pub place: Place,
    /// What called that, if it could be read.
    pub callers: Option<StackId>,
    /// What speaks for that.
    pub trust: Trust,
}

impl Deep {
    /// A stack that leaves its piece there; `None` where that place cannot be told again.
    pub fn at(edge: Edge) -> Option<Deep> {
        Some(Deep {
            inner: edge.inner,
            place: edge.place?,
            callers: None,
            trust: edge.trust,
        })
    }
}

/// What a sample's stack became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completed {
    /// It was cut, and leads to the fork point of its region.
    Joined,
    /// It was cut, and another sample told how it goes on.
    Remembered,
    /// It had been read, and its region's fork point knew better.
    Mended,
}

/// The deep stacks of samples that are not yet written, and what written ones have shown.
#[derive(Default)]
pub struct DeepStacks {
    /// By thread and time.
    known: FxHashMap<(ThreadId, Nanos), Deep>,
    callers: FxHashMap<(ThreadId, Place), StackId>,
    /// Where functions begin that a runtime calls.
    called: FxHashSet<(ProcessId, u64)>,
    /// How often a runtime was seen to call them through which frames, by workers and others.
    /// Those of a worker are all that it has; of another thread they lead to the call of the
    /// runtime.
    through: FxHashMap<(ProcessId, bool), FxHashMap<Vec<StackEntry>, u32>>,
    joins: Joins,
}

impl DeepStacks {
    /// A thread's sample at a time has a stack that is deeper than its piece.
    pub fn add(&mut self, thread: ThreadId, time: Nanos, deep: Deep) {
        self.known.insert((thread, time), deep);
    }

    /// Completes the stacks of samples that are about to be written, and says of each that it
    /// changed what became of it.
    pub fn complete(
        &mut self,
        tables: &mut Tables,
        samples: &mut [Sample],
        mut changed: impl FnMut(&Sample, Completed),
    ) {
        if self.known.is_empty() {
            return;
        }
        for sample in &*samples {
            if let Some(&deep) = self.known.get(&(sample.thread, sample.time)) {
                self.learn(tables, sample.thread, deep);
            }
        }
        for sample in samples {
            let Some(deep) = self.known.remove(&(sample.thread, sample.time)) else {
                continue;
            };
            if let Some((whole, how)) = self.whole(tables, sample, deep)
                && whole != sample.stack
            {
                sample.stack = whole;
                changed(sample, how);
            }
        }
    }

    fn learn(&mut self, tables: &Tables, thread: ThreadId, deep: Deep) {
        let Some(callers) = deep.callers else { return };
        if deep.trust == Trust::Doubtful {
            return;
        }
        if self.callers.len() >= MOST {
            self.callers.clear();
        }
        self.callers.insert((thread, deep.place), callers);
        let entries = || tables.walk(callers);
        if !entries()
            .next()
            .is_some_and(|entry| is_runtime(tables, entry))
        {
            return;
        }
        let Some(row) = tables.threads.get(thread.index()) else {
            return;
        };
        let is_worker = row.kind == ThreadKind::Worker;
        let through = if is_worker {
            entries().collect()
        } else {
            entries()
                .take_while(|entry| is_runtime(tables, *entry))
                .collect()
        };
        self.called.insert((row.process, deep.place.function));
        let counts = self.through.entry((row.process, is_worker)).or_default();
        if counts.len() >= MOST {
            counts.clear();
        }
        *counts.entry(through).or_default() += 1;
    }

    fn whole(
        &mut self,
        tables: &mut Tables,
        sample: &Sample,
        deep: Deep,
    ) -> Option<(StackId, Completed)> {
        if deep.trust == Trust::Proven && deep.callers.is_some() {
            return None;
        }
        let tag = *tables.tags.get(sample.tag.0)?;
        let inner: Vec<StackEntry> = tables.walk(sample.stack).take(deep.inner).collect();
        let in_region = self.in_region(tables, (sample.thread, tag.context), deep, &inner);
        if deep.callers.is_some() {
            let whole = in_region
                .or_else(|| self.joins.whole(tables, sample.stack, tag.context))
                .or_else(|| match deep.trust {
                    Trust::Doubtful => self.remembered(tables, sample, deep, &inner),
                    _ => None,
                })?;
            return Some((whole, Completed::Mended));
        }
        if let Some(whole) = self.joins.whole(tables, sample.stack, tag.context) {
            return Some((whole, Completed::Joined));
        }
        let whole = in_region.or_else(|| self.remembered(tables, sample, deep, &inner))?;
        Some((whole, Completed::Remembered))
    }

    /// The stack that goes on as another of its thread in the same frame.
    fn remembered(
        &mut self,
        tables: &mut Tables,
        sample: &Sample,
        deep: Deep,
        inner: &[StackEntry],
    ) -> Option<StackId> {
        let callers = *self.callers.get(&(sample.thread, deep.place))?;
        let whole = with_callers(tables, inner, callers);
        let tag = *tables.tags.get(sample.tag.0)?;
        let mended = self.joins.whole(tables, whole, tag.context);
        Some(mended.unwrap_or(whole))
    }

    /// The stack of the code of an outermost region: called as the runtime calls all such code,
    /// under the region's fork point if its thread forked it.
    fn in_region(
        &self,
        tables: &mut Tables,
        (thread, context): (ThreadId, ContextId),
        deep: Deep,
        inner: &[StackEntry],
    ) -> Option<StackId> {
        let region = *tables.contexts.get(context.0)?;
        if region.kind != ContextKind::Region || region.parent != ContextId::ROOT {
            return None;
        }
        let row = tables.threads.get(thread.index())?;
        if !self.called.contains(&(row.process, deep.place.function)) {
            return None;
        }
        let is_worker = row.kind == ThreadKind::Worker;
        let seen = self.through.get(&(row.process, is_worker))?;
        // The slot of a function that has returned may have led elsewhere now and then.
        let (through, _) = seen
            .iter()
            .max_by_key(|(through, count)| (**count, std::cmp::Reverse(through.len())))?;
        let callers = if is_worker {
            StackId::EMPTY
        } else {
            region.stack
        };
        let callers = with_callers(tables, through, callers);
        Some(with_callers(tables, inner, callers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use omp_model::ids::{FrameId, TagId};
    use omp_model::rows::SampleKind;
    use omp_model::state::State;
    use omp_model::tables::{Context, Cut, Frame, Module, RuntimeKind, Stack, Tag, Thread};

    const RUNTIME: u64 = 0x9000;

    /// A forking thread, a worker, and a region of the outermost level.
    struct World {
        tables: Tables,
        deep: DeepStacks,
        region: TagId,
        time: u64,
    }

    fn world() -> World {
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
            body: FrameId::NONE,
        });
        let region = tables.tag(Tag {
            state: State::Work,
            context,
            place: FrameId::NONE,
        });
        World {
            tables,
            deep: DeepStacks::default(),
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
            omp_model::ids::ModuleId(at.expect("both are there") as u32)
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

    impl World {
        /// A sample of one frame in its piece, in `function`.
        fn sample(
            &mut self,
            (thread, tag): (u32, TagId),
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
            self.deep.add(
                thread,
                Nanos(self.time),
                Deep {
                    inner: 1,
                    place: Place { function, slot },
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
                tag,
                within: omp_model::rows::Within::default(),
            }
        }

        /// What became of samples, and the addresses of their stacks.
        fn complete(&mut self, mut samples: Vec<Sample>) -> (Vec<Completed>, Vec<Vec<u64>>) {
            let mut hows = Vec::new();
            self.deep
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
        let mut w = world();
        let out = TagId::OUTSIDE;
        let samples = vec![
            w.sample((0, out), 0x40, 1, None),
            w.sample((0, out), 0x40, 1, Some(&[0x21, 0x10])),
        ];
        let (hows, stacks) = w.complete(samples);
        assert_eq!(
            hows,
            [Completed::Remembered],
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
        assert_eq!(hows, [Completed::Remembered]);
        assert_eq!(stacks[0], [0x44], "another slot");
        assert_eq!(stacks[1], [0x44], "another thread");
        assert_eq!(stacks[2], [0x54], "another function");
        assert_eq!(stacks[3], [0x44, 0x21, 0x10]);
    }

    #[test]
    fn code_of_regions_is_called_as_all_of_it_below_the_fork_point() {
        let mut w = world();
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
        use Completed::{Mended, Remembered};
        assert_eq!(hows, [Mended, Mended, Mended, Remembered, Remembered]);
    }
}
