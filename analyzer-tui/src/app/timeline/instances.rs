//! Instances of regions and tasks: which ones a thread is in, and the one that is selected.

use omp_model::ids::{ContextId, ProcessId, ThreadId};
use omp_model::rows::{Interval, Within};
use omp_model::tables::ContextKind;

use super::App;
use report::timeline::Band;

impl App {
    /// The instance that is selected, while the cursor is in its time.
    pub fn picked(&self) -> Option<&Band> {
        let picked = self.timeline.picked.as_ref();
        picked.filter(|band| (band.start..band.end).contains(&self.timeline.time))
    }

    /// Selects the innermost instance at the cursor; again, the next one: the thread's own, then
    /// all others of that moment.
    pub(in crate::app) fn pick(&mut self) {
        let mut around = self
            .pointed()
            .map_or_else(Vec::new, |pointed| pointed.bands);
        around.reverse();
        for other in self.recording.timeline().regions().at(self.timeline.time) {
            if !around.contains(other) {
                around.push(*other);
            }
        }
        let now = self.picked().copied();
        let at = now.and_then(|now| around.iter().position(|band| *band == now));
        self.timeline.picked = around.get(at.map_or(0, |at| at + 1)).copied();
        self.show_picked();
        match (self.timeline.picked, around.is_empty()) {
            (Some(band), _) => self.tell(format!("selected: {}", self.instance_of(&band))),
            (None, true) => self.tell("no instance here is long enough to be listed"),
            (None, false) => self.tell("no instance is selected"),
        }
    }

    /// The last lane that the bands in sight can begin with.
    pub(super) fn last_lane(&self) -> u16 {
        let lanes = self.recording.timeline().regions().lanes();
        lanes.saturating_sub(self.timeline_parts().bands.height)
    }

    /// Brings the lane of the selected region instance in sight.
    fn show_picked(&mut self) {
        let room = self.timeline_parts().bands.height;
        let Some(band) = self.timeline.picked.filter(|band| !band.is_task) else {
            return;
        };
        let first = (band.lane + 1).saturating_sub(room);
        self.timeline.lane = self.timeline.lane.clamp(first, band.lane.max(first));
    }

    /// Goes on to the lanes below those in sight, after the last ones to the first.
    pub(super) fn turn_lanes(&mut self) {
        let (lane, last) = (self.timeline.lane, self.last_lane());
        let room = self.timeline_parts().bands.height.max(1);
        self.timeline.lane = if lane < last { lane + room } else { 0 };
        self.settle_timeline();
    }

    /// Selects the region instance whose band is drawn there.
    pub(in crate::app) fn pick_at(&mut self, time: u64, line: u16) {
        let lane = self.timeline.lane + line;
        let bands = self.recording.timeline().regions().at(time);
        let band = bands.into_iter().find(|band| band.lane == lane).copied();
        self.timeline.time = time;
        self.timeline.picked = band;
        if let Some(band) = band {
            self.tell(format!("selected: {}", self.instance_of(&band)));
        }
        self.settle_timeline();
    }

    /// What an instance is called.
    pub(crate) fn instance_of(&self, band: &Band) -> String {
        let name = self.recording.construct_name(band.context);
        match band.number() {
            0 => format!("an instance of {name}"),
            number => format!("instance {number} of {name}"),
        }
    }

    /// The expression of a filter that keeps an instance; `None` for one whose number is unknown.
    pub(in crate::app) fn filter_of_instance(&self, band: &Band) -> Option<String> {
        let number = Some(band.number()).filter(|&number| number != 0)?;
        let word = if band.is_task { "TSKID" } else { "CPRID" };
        let mut text = format!("{word}=={number}");
        let tables = &self.recording.experiment.tables;
        if tables.processes.len() > 1 {
            let process = tables.processes.get(self.process_of(band.thread).index())?;
            text = format!("PID=={} && {text}", process.pid);
        }
        if self.recording.origins.iter().any(|&origin| origin > 1) {
            text = format!("EXPID=={} && {text}", self.origin(band.thread));
        }
        Some(text)
    }

    pub(super) fn process_of(&self, thread: ThreadId) -> ProcessId {
        let row = self.recording.experiment.tables.threads.get(thread.index());
        row.map_or(ProcessId(0), |row| row.process)
    }

    /// Whether a thread is in a region's instance while in a listed interval, as far as that is
    /// recorded. An interval names the innermost instance. Of those around it the construct is
    /// known, and the instance where one alone runs, or the thread forked it itself.
    pub(super) fn is_inside(&self, thread: ThreadId, row: &Interval, band: &Band) -> bool {
        let context = self.recording.timeline().context(row.tag);
        if self.region_of(context) == Some(band.context) && row.within.region != 0 {
            return self.is_one(thread, row.within, band);
        }
        let contexts = &self.recording.experiment.tables.contexts;
        let mut at = context;
        while at != band.context {
            match contexts.get(at.0) {
                Some(row) if row.parent != at => at = row.parent,
                _ => return false,
            }
        }
        let running = self.recording.timeline().regions().at(self.timeline.time);
        let alike = running.iter().filter(|one| one.context == band.context);
        band.thread == thread || alike.count() == 1
    }

    /// Whether a band is that of the innermost region that a thread is in.
    pub(super) fn is_one(&self, thread: ThreadId, within: Within, band: &Band) -> bool {
        !band.is_task
            && band.number() == within.region
            && self.process_of(thread) == self.process_of(band.thread)
    }

    /// The innermost region around a context, itself included.
    pub(super) fn region_of(&self, context: ContextId) -> Option<ContextId> {
        let contexts = &self.recording.experiment.tables.contexts;
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
