//! What the recording itself takes from a program: each of its OpenMP events costs some time.

use experiment::ids::{ModuleId, StackId};
use experiment::tables::{RuntimeKind, StackEntry, Tables};
use rustc_hash::FxHashMap;

use crate::profile::Profile;

/// The share of the time on CPUs from which it is reported.
const WORTH_TELLING: f64 = 0.05;

/// Time in the recorder's library.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recorder {
    /// Seconds on CPUs, by samples.
    pub seconds: f64,
    /// Seconds of all threads on CPUs.
    pub all: f64,
}

impl Recorder {
    /// Of all threads; `None` below a twentieth of their time on CPUs.
    pub(super) fn of(profile: &Profile, tables: &Tables) -> Option<Recorder> {
        let mut known = FxHashMap::<StackId, bool>::default();
        let mut found = Recorder {
            seconds: 0.0,
            all: 0.0,
        };
        for item in profile.items.iter().filter(|item| item.is_on_cpu()) {
            found.all += item.seconds;
            let is_inside = known.entry(item.stack);
            if *is_inside.or_insert_with(|| is_recorders(tables, item.stack)) {
                found.seconds += item.seconds;
            }
        }
        let is_large = found.all > 0.0 && found.seconds >= WORTH_TELLING * found.all;
        is_large.then_some(found)
    }

    /// The sentence that says so.
    pub(super) fn words(&self) -> String {
        let Recorder { seconds, all } = self;
        format!(
            "The recording itself took {seconds:.3} s of {all:.3} s on CPUs ({:.1} %, by samples), \
             because the program has very many short OpenMP events: alone it is faster, and its times in \
             tasks, locks and the runtime are less than those below",
            100.0 * seconds / all
        )
    }
}

/// Whether the innermost function outside of the kernel is the recorder's.
fn is_recorders(tables: &Tables, stack: StackId) -> bool {
    let mut modules = tables.walk(stack).map_while(|entry| match entry {
        StackEntry::Frame(frame) => tables.frames.get(frame.0).map(|frame| frame.module),
        StackEntry::Cut(_) => None,
    });
    let user = modules.find(|&module| module != ModuleId::KERNEL);
    user.is_some_and(|module| tables.runtime(module) == RuntimeKind::Collector)
}

#[cfg(test)]
mod tests {
    use experiment::state::State;
    use experiment::tables::{Frame, Module, Stack};

    use super::*;
    use crate::views::openmp::test_run::{MS, ROOT, TestRun, close};

    #[test]
    fn a_twentieth_of_the_time_is_told() {
        let mut test = TestRun::new(1, 100);
        test.run(0, State::Serial, ROOT, 100);
        let library = test.tables.module(Module {
            path: "/lib/libcollector.so".to_owned(),
            build_id: String::new(),
            runtime: RuntimeKind::Collector,
        });
        let address = 0x40;
        let frame = test.tables.frame(Frame {
            module: library,
            address,
        });
        let stack = test.tables.stack(Stack {
            callers: StackId::EMPTY,
            entry: StackEntry::Frame(frame),
        });
        let of = |milliseconds: u64| {
            let mut profile = test.profile();
            let mut inside = profile.items[0];
            inside.stack = stack;
            inside.seconds = (milliseconds * MS) as f64 / 1e9;
            profile.items[0].seconds -= inside.seconds;
            profile.items.push(inside);
            Recorder::of(&profile, &test.tables)
        };
        assert_eq!(of(4), None);
        let told = of(40).unwrap();
        close(told.seconds, 0.04);
        close(told.all, 0.1);
        assert!(told.words().contains("0.040 s of 0.100 s on CPUs (40.0 %"));
    }
}
