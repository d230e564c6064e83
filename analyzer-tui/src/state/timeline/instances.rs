//! Instances of regions and tasks: those around a thread, and the selected one.

use experiment::ids::{ContextId, ProcessId, ThreadId};
use experiment::rows::{Interval, Within};
use experiment::tables::ContextKind;

use report::timeline::Band;

use crate::state::app::App;

impl App {
    /// The selected instance, while the cursor is in its time.
    pub fn selected_instance(&self) -> Option<&Band> {
        let selected_instance = self.timeline.selected_instance.as_ref();
        selected_instance.filter(|band| (band.start..band.end).contains(&self.timeline.time))
    }

    /// The display name of an instance.
    pub(crate) fn instance_of(&self, band: &Band) -> String {
        let name = self.experiments.construct_name(band.context);
        match band.number() {
            0 => format!("an instance of {name}"),
            number => format!("instance {number} of {name}"),
        }
    }

    /// The filter expression of an instance; `None` if its number is unknown.
    pub(crate) fn filter_of_instance(&self, band: &Band) -> Option<String> {
        let number = Some(band.number()).filter(|&number| number != 0)?;
        let word = if band.is_task { "TSKID" } else { "CPRID" };
        let mut text = format!("{word}=={number}");
        let tables = &self.experiments.experiment.tables;
        if tables.processes.len() > 1 {
            let process = tables.processes.get(self.process_of(band.thread).index())?;
            text = format!("PID=={} && {text}", process.pid);
        }
        if self.experiments.origins.iter().any(|&origin| origin > 1) {
            text = format!("EXPID=={} && {text}", self.origin(band.thread));
        }
        Some(text)
    }

    pub(crate) fn process_of(&self, thread: ThreadId) -> ProcessId {
        let row = self
            .experiments
            .experiment
            .tables
            .threads
            .get(thread.index());
        row.map_or(ProcessId(0), |row| row.process)
    }

    /// Whether an interval of a thread lies in a region's instance. The interval names the
    /// innermost instance only. An outer instance is known if it is the only one of its construct
    /// at that time, or if the thread has forked it.
    pub(crate) fn is_inside(&self, thread: ThreadId, row: &Interval, band: &Band) -> bool {
        let context = self.experiments.timeline().context(row.thread_state);
        if self.region_of(context) == Some(band.context) && row.within.region != 0 {
            return self.is_innermost_region(thread, row.within, band);
        }
        let contexts = &self.experiments.experiment.tables.contexts;
        let mut at = context;
        while at != band.context {
            match contexts.get(at.0) {
                Some(row) if row.parent != at => at = row.parent,
                _ => return false,
            }
        }
        let running = self.experiments.timeline().regions().at(self.timeline.time);
        let alike = running.iter().filter(|one| one.context == band.context);
        band.thread == thread || alike.count() == 1
    }

    /// Whether a band is the innermost region instance of a thread.
    pub(crate) fn is_innermost_region(
        &self,
        thread: ThreadId,
        within: Within,
        band: &Band,
    ) -> bool {
        !band.is_task
            && band.number() == within.region
            && self.process_of(thread) == self.process_of(band.thread)
    }

    /// The innermost region that contains a context; the context itself if it is a region.
    pub(crate) fn region_of(&self, context: ContextId) -> Option<ContextId> {
        let contexts = &self.experiments.experiment.tables.contexts;
        let mut at = context;
        loop {
            match contexts.get(at.0) {
                Some(row) if matches!(row.kind, ContextKind::Region | ContextKind::Teams) => {
                    return Some(at);
                }
                Some(row) if row.parent != at => at = row.parent,
                _ => return None,
            }
        }
    }
}
