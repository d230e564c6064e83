//! What the user wants to see and what it takes to make it: views are made beside the loop that
//! answers keys, and the old screen goes on answering them until the new one is there.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{App, View};
use crate::data::{Data, Settings};
use crate::live::Progress;
use crate::recording::Recording;

/// What is wanted.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    number: u64,
    /// Of which recording; of one that grows, how it stands.
    pub(super) recording: Arc<Recording>,
    pub(super) progress: Option<Progress>,
    /// Under which settings.
    pub(super) settings: Settings,
    /// Which view.
    pub(super) view: View,
    /// Whether its making has begun.
    begun: bool,
}

/// A view to be made, on any thread.
#[derive(Debug)]
pub struct Job {
    number: u64,
    recording: Arc<Recording>,
    settings: Settings,
    view: View,
    centre: String,
    /// The views under the same settings that are made already.
    data: Option<Arc<Data>>,
    /// The number of what is wanted by now.
    newest: Arc<AtomicU64>,
}

/// A view that was made.
#[derive(Debug)]
pub struct Made {
    number: u64,
    data: Arc<Data>,
}

impl Job {
    /// Makes it; `None` if that took so long that something else is wanted by now.
    pub fn make(self) -> Option<Made> {
        let data = match &self.data {
            Some(data) => Arc::clone(data),
            None => {
                // All of the samples may have to be read first.
                self.recording.available();
                self.is_wanted()
                    .then(|| Arc::new(Data::new(&self.recording, &self.settings)))?
            }
        };
        if self.is_wanted() {
            data.prepare(&self.recording, self.view, &self.centre);
        }
        self.is_wanted().then_some(Made {
            number: self.number,
            data,
        })
    }

    fn is_wanted(&self) -> bool {
        self.newest.load(Ordering::Relaxed) == self.number
    }
}

impl App {
    /// Changes what is wanted, from what is in sight or wanted already.
    pub(super) fn turn_to(&mut self, change: impl FnOnce(&mut Turn)) {
        let mut turn = self.turn.take().unwrap_or_else(|| Turn {
            number: 0,
            recording: Arc::clone(&self.recording),
            progress: None,
            settings: self.settings.clone(),
            view: self.view,
            begun: false,
        });
        change(&mut turn);
        turn.number = self.turns.fetch_add(1, Ordering::Relaxed) + 1;
        turn.begun = false;
        let is_here = self.is_in_force(&turn) && turn.view == self.view && !self.data.is_blank();
        self.turn = Some(turn).filter(|_| !is_here);
    }

    /// Whether a turn leaves recording and settings as they are.
    fn is_in_force(&self, turn: &Turn) -> bool {
        Arc::ptr_eq(&turn.recording, &self.recording) && turn.settings == self.data.settings
    }

    /// The settings that are wanted.
    pub(super) fn wanted_settings(&self) -> &Settings {
        let turn = self.turn.as_ref();
        turn.map_or(&self.settings, |turn| &turn.settings)
    }

    /// What is being made, in words.
    pub fn making(&self) -> Option<&'static str> {
        self.turn.as_ref().map(|turn| turn.view.title())
    }

    /// Leaves what is in sight; what is being made is forgotten. A recording that is being read
    /// goes on to be.
    pub(super) fn stay(&mut self) {
        if !self.data.is_blank()
            && self
                .turn
                .as_ref()
                .is_some_and(|turn| turn.progress.is_none())
        {
            self.turn = None;
            self.turns.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What must be made now, to be handed back by [`App::take`].
    pub fn job(&mut self) -> Option<Job> {
        let mut turn = self.turn.take()?;
        let begun = std::mem::replace(&mut turn.begun, true);
        // Of a recording that is being read only the timeline can be there.
        let early = turn.view == View::Timeline && self.view != turn.view;
        let same = self.is_in_force(&turn) && (early || !self.data.is_blank());
        let job = (!begun).then(|| Job {
            number: turn.number,
            recording: Arc::clone(&turn.recording),
            settings: turn.settings.clone(),
            view: turn.view,
            centre: self.centre.clone(),
            data: same.then(|| Arc::clone(&self.data)),
            newest: Arc::clone(&self.turns),
        });
        self.turn = Some(turn);
        job
    }

    /// Shows what was made, if it is still wanted.
    pub fn take(&mut self, made: Made) {
        let Some(turn) = self.turn.take_if(|turn| turn.number == made.number) else {
            return;
        };
        if turn.view == self.view {
            self.remember();
        }
        let before = Arc::clone(&self.recording);
        let grown = !Arc::ptr_eq(&before, &turn.recording);
        if grown {
            self.grow(turn.recording, turn.progress);
        }
        if grown || !Arc::ptr_eq(&self.data, &made.data) {
            self.settings = turn.settings;
            self.look_anew(&before, made.data, turn.view);
        } else if turn.view != self.view {
            self.show(turn.view);
        }
        if self.data.is_blank() {
            self.turn_to(|_| {});
        }
    }

    /// Makes all that is wanted at once, for who has nothing else to do meanwhile.
    pub fn work(&mut self) {
        loop {
            if let Some(job) = self.job() {
                if let Some(made) = job.make() {
                    self.take(made);
                }
            } else if let Some(unpacking) = self.unpacking() {
                if let Some(unpacked) = unpacking.unpack() {
                    self.take_samples(unpacked);
                }
            } else {
                return;
            }
        }
    }
}
