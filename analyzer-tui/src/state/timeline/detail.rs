//! The details at the cursor, as lines of text.

use experiment::rows::SampleKind;
use experiment::state::Scheduling;
use omp_model::profile::FrameKind;
use omp_model::views::openmp::locations::ConstructLocation;
use report::lost;
use report::timeline::Band;

use super::state::AtCursor;
use crate::state::app::App;
use crate::text_fit::duration;

impl App {
    /// Describes the interval, instances and sample at the cursor.
    pub(crate) fn cursor_lines(&self, at_cursor: &AtCursor) -> Vec<String> {
        let timeline = self.experiments.timeline();
        let mut lines = Vec::new();
        let scheduling = |scheduling| match scheduling {
            Scheduling::Running => "on a CPU",
            Scheduling::Preempted => "switched out while it wanted to run",
            Scheduling::Blocked => "asleep",
            Scheduling::Stolen => "its CPU taken away by the hypervisor",
        };
        match &at_cursor.interval {
            Some(row) => lines.push(format!(
                "{} for {} from {:.6} s, {}",
                timeline.activity(row.thread_state).words(),
                duration(row.length.0),
                row.start.seconds(),
                scheduling(row.scheduling)
            )),
            None if timeline
                .life(at_cursor.thread)
                .contains(&self.timeline.time) =>
            {
                lines.push("intervals too short to be listed".to_owned());
            }
            None => lines.push("the thread does not live here".to_owned()),
        }
        let moment = self.timeline.time..self.timeline.time + 1;
        let header = &self.experiments.all().experiment.header;
        lines.extend(lost::within(header, &moment).iter().map(lost::line));
        for hold in timeline.holds(at_cursor.thread, &moment) {
            let at = ConstructLocation::of_frame(&self.experiments.names(), hold.call);
            lines.push(format!(
                "holds {}, acquired at {}, {} from {:.6} s",
                self.experiments.mutex_name(hold.call),
                at.short(),
                duration(hold.end - hold.start),
                hold.start as f64 / 1e9
            ));
        }
        let life = |band: &Band| {
            let (length, start) = (duration(band.end - band.start), band.start as f64 / 1e9);
            format!("{}, {length} from {start:.6} s", self.instance_of(band))
        };
        if let Some(band) = self.selected_instance() {
            lines.insert(0, format!("selected: {}", life(band)));
        }
        lines.extend(
            at_cursor
                .bands
                .iter()
                .map(|band| format!("in {}", life(band))),
        );
        match &at_cursor.sample {
            Some(sample) => {
                let kind = match sample.kind {
                    SampleKind::User => "on",
                    SampleKind::Kernel => "in the kernel on",
                    SampleKind::Preempted => "leaving, at work,",
                    SampleKind::Blocked => "leaving to sleep,",
                };
                lines.push(format!(
                    "sample at {:.6} s {kind} CPU {}: {}",
                    sample.time.seconds(),
                    sample.cpu,
                    self.refined(sample).words()
                ));
            }
            None if self.timeline.window.skipped => {
                lines.push("too many samples in sight to tell one: zoom in".to_owned());
            }
            None if at_cursor.stack.is_some() => {
                lines.push("no sample here: the place of the construct".to_owned());
            }
            None => lines.push("no sample in this column: . goes to the next".to_owned()),
        }
        lines
    }

    /// The callstack at the cursor, leaf first.
    pub(crate) fn callstack(&self, at_cursor: &AtCursor) -> Vec<String> {
        let Some(stacks) = self.known_stacks() else {
            return vec!["(callstacks follow when all samples are read)".to_owned()];
        };
        let Some((path, _)) = at_cursor.stack else {
            return Vec::new();
        };
        let names = self.experiments.names();
        let frames = stacks.walk(path);
        frames
            .map(|row| {
                let source = names.source_of(row.frame);
                let line = source.map_or_else(String::new, |source| format!(":{}", source.line));
                let mark = match row.frame.kind {
                    FrameKind::Called => "",
                    FrameKind::Inlined(_) => " (inlined)",
                };
                format!("{}{line}{mark}", names.name(row.frame.callee))
            })
            .collect()
    }
}
