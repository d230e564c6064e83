//! The sample, interval and instances at the cursor.

use experiment::ids::Nanos;
use experiment::rows::Sample;
use report::timeline::{Activity, Band, Stacks};

use super::state::AtCursor;
use crate::state::app::App;

impl App {
    /// The innermost function or construct of the callstack at the cursor, without leaves that
    /// stand for a wait or overhead.
    pub(crate) fn function_at_cursor(&self) -> Option<String> {
        let (path, _) = self.at_cursor()?.stack?;
        let stacks = self.known_stacks()?;
        let names = self.experiments.names();
        let mut frames = stacks.walk(path).map(|row| names.name(row.frame.callee));
        frames.find(|name| Activity::of_name(name).is_none())
    }

    /// The display stacks as the settings show them, if they are computed already.
    pub(super) fn known_stacks(&self) -> Option<&Stacks> {
        self.experiments.known_stacks(&self.settings.report)
    }

    /// What the experiment has at the cursor.
    pub fn at_cursor(&self) -> Option<AtCursor> {
        let thread = *self.threads().get(self.timeline.row)?;
        let timeline = self.experiments.timeline();
        let time = self.timeline.time;
        let interval = timeline.interval(thread, Nanos(time)).copied();
        let column = self.column_range(time);
        let within = match &interval {
            Some(row) => row.start.0..row.start.0 + row.length.0,
            None => column,
        };
        let samples = self.timeline.window.of(thread);
        let start = samples.partition_point(|sample| sample.time.0 < within.start);
        let end =
            samples.partition_point(|sample| sample.time.0 < within.end.max(within.start + 1));
        let fits =
            |sample: &&Sample| interval.is_none_or(|row| row.thread_state == sample.thread_state);
        let near = samples[start..end.max(start)].iter().filter(fits);
        let sample = near
            .min_by_key(|sample| sample.time.0.abs_diff(time))
            .copied();
        let kind = timeline.kind_of(thread);
        let stacks = self.known_stacks();
        let stack = stacks.and_then(|stacks| match (&sample, &interval) {
            (Some(sample), _) => stacks.sample(sample.stack, sample.thread_state, kind),
            (None, Some(row)) => stacks.construct(row.thread_state, kind),
            (None, None) => None,
        });
        let tasks = timeline.tasks(thread).map(|tasks| tasks.at(time));
        let regions = timeline.regions().at(time);
        let own = |band: &&&Band| {
            interval
                .as_ref()
                .is_some_and(|row| self.is_inside(thread, row, band))
        };
        let bands = regions.iter().filter(own).copied();
        let bands = bands.chain(tasks.into_iter().flatten()).copied().collect();
        Some(AtCursor {
            thread,
            interval,
            sample,
            stack,
            bands,
        })
    }

    /// A sample's activity; the same in every mode.
    pub fn refined(&self, sample: &Sample) -> Activity {
        let stacks = self.experiments.known_activities();
        self.experiments.timeline().refined(stacks, sample)
    }
}
