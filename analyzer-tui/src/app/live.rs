//! A recording that grows while it is looked at.

use std::sync::Arc;

use omp_model::ids::Nanos;
use omp_model::profile::ViewMode;

use super::App;
use crate::live::Progress;
use crate::recording::Recording;

/// How a recording stands while it is being made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Live {
    /// Up to where it is read.
    pub until: Nanos,
    /// Whether this program has started it, so that it can end it.
    pub program: bool,
}

impl App {
    /// The viewpoint to begin with.
    pub fn begin(&mut self, mode: ViewMode) {
        self.change(|settings| settings.mode = mode);
    }

    /// The recording is being made, so far; `program`: this program has started it.
    pub fn watch(&mut self, progress: Progress, program: bool) {
        let live = Live {
            until: progress.until,
            program,
        };
        self.live = Some(live).filter(|_| !progress.finished);
        if progress.finished {
            let name = &self.recording.name;
            let text = match self.recording.experiment.header.exit_status {
                None | Some(0) => format!("the recording is complete: {name}"),
                Some(status) => {
                    format!("the recording is complete: {name}; the program ended with {status}")
                }
            };
            self.tell(text);
        }
    }

    /// The recording has grown, and is shown as soon as the view in sight is made of it.
    pub fn renew(&mut self, recording: Arc<Recording>, progress: Progress) {
        self.turn_to(|turn| {
            turn.recording = recording;
            turn.progress = Some(progress);
        });
    }

    /// Looks at more of the recording. A timeline that shows all time, or the latest, goes on to
    /// do so.
    pub(super) fn grow(&mut self, recording: Arc<Recording>, progress: Option<Progress>) {
        self.recording = recording;
        if let Some(progress) = progress {
            let program = self.live.is_some_and(|live| live.program);
            self.watch(progress, program);
        }
        // Numbers of functions are others now.
        self.codes.clear();
        self.timeline.grow(&self.recording);
    }

    /// A text was put into the clipboard, or could not be.
    pub fn copied(&mut self, result: Result<(), String>) {
        self.wrote(
            result.map(|()| {
                "wrote to the clipboard, if the terminal lets programs do that".to_owned()
            }),
        );
    }
}
