//! The samples of the time in sight, unpacked on a background thread. Until they are there, rows
//! are drawn from sums and intervals.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use report::timeline::Window;

use crate::experiments::Experiments;
use crate::state::app::App;
use crate::view::View;

/// A job that unpacks samples, on any thread.
#[derive(Debug)]
pub struct Unpacking {
    number: u64,
    experiments: Arc<Experiments>,
    range: Range<u64>,
    newest: Arc<AtomicU64>,
}

/// Unpacked samples.
#[derive(Debug)]
pub struct Unpacked {
    pub(super) number: u64,
    pub(super) window: Window,
}

impl Unpacking {
    /// Unpacks them; `None` if the range has changed meanwhile.
    pub fn unpack(self) -> Option<Unpacked> {
        let is_wanted = || self.newest.load(Ordering::Relaxed) == self.number;
        let timeline = self.experiments.timeline();
        let stacks = self.experiments.known_activities();
        let window = Window::unpack(
            &self.experiments,
            (timeline, stacks),
            &self.range,
            is_wanted,
        )?;
        Some(Unpacked {
            number: self.number,
            window,
        })
    }
}

impl App {
    /// Requests the samples of the time in sight, if they are missing.
    pub(crate) fn want_samples(&mut self) {
        let has_stacks = self.experiments.known_activities().is_some();
        let state = &mut self.timeline;
        if state.window.suffices(has_stacks, &state.range) {
            return state.no_longer_wanted();
        }
        if state.wanted.range.as_ref() != Some(&state.range) {
            state.no_longer_wanted();
            state.wanted.range = Some(state.range.clone());
            state.wanted.begun = false;
        }
    }

    /// Whether samples of the time in sight are still missing.
    pub fn lacks_samples(&self) -> bool {
        self.view == View::Timeline && self.timeline.wanted.range.is_some()
    }

    /// The job to start now, if there is one. Its result goes to [`App::take_samples`].
    pub fn unpacking(&mut self) -> Option<Unpacking> {
        let wanted = &mut self.timeline.wanted;
        let range = wanted.range.clone().filter(|_| !wanted.begun)?;
        wanted.begun = true;
        Some(Unpacking {
            number: wanted.newest.load(Ordering::Relaxed),
            experiments: Arc::clone(&self.experiments),
            range,
            newest: Arc::clone(&wanted.newest),
        })
    }
}
