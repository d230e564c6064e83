//! The samples of the time in sight: they are unpacked beside the loop that answers keys, and the
//! rows are drawn from sums and intervals until they are there.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use omp_model::profile::ViewMode;

use super::super::{App, View};
use super::{Picture, TimelineState};
use crate::recording::Recording;
use report::timeline::Window;

/// Of what samples are wanted.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// The time in sight, as long as its samples are not there.
    range: Option<Range<u64>>,
    /// Whether their unpacking has begun.
    begun: bool,
    /// The number of the last wish.
    newest: Arc<AtomicU64>,
}

/// Samples to be unpacked, on any thread.
#[derive(Debug)]
pub struct Unpacking {
    number: u64,
    recording: Arc<Recording>,
    range: Range<u64>,
    newest: Arc<AtomicU64>,
}

/// Samples that were unpacked.
#[derive(Debug)]
pub struct Unpacked {
    number: u64,
    window: Window,
}

impl Unpacking {
    /// Unpacks them; `None` if others are wanted by now.
    pub fn unpack(self) -> Option<Unpacked> {
        let is_wanted = || self.newest.load(Ordering::Relaxed) == self.number;
        let timeline = self.recording.timeline();
        let stacks = self.recording.known_moments(ViewMode::User);
        let window = Window::unpack(&self.recording, (timeline, stacks), &self.range, is_wanted)?;
        Some(Unpacked {
            number: self.number,
            window,
        })
    }
}

impl TimelineState {
    /// The samples are of another recording.
    pub(super) fn forget_samples(&mut self) {
        self.window = Window::default();
        *self.picture.get_mut() = Picture::default();
        self.no_longer_wanted();
    }

    fn no_longer_wanted(&mut self) {
        self.wanted.range = None;
        self.wanted.newest.fetch_add(1, Ordering::Relaxed);
    }
}

impl App {
    /// Wants the samples of the time in sight, if they are not there.
    pub(super) fn want_samples(&mut self) {
        let has_stacks = self.recording.known_moments(ViewMode::User).is_some();
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

    /// Whether samples of the time in sight are still to come.
    pub fn lacks_samples(&self) -> bool {
        self.view == View::Timeline && self.timeline.wanted.range.is_some()
    }

    /// What must be unpacked now, to be handed back by [`App::take_samples`].
    pub fn unpacking(&mut self) -> Option<Unpacking> {
        let wanted = &mut self.timeline.wanted;
        let range = wanted.range.clone().filter(|_| !wanted.begun)?;
        wanted.begun = true;
        Some(Unpacking {
            number: wanted.newest.load(Ordering::Relaxed),
            recording: Arc::clone(&self.recording),
            range,
            newest: Arc::clone(&wanted.newest),
        })
    }

    /// Shows the samples, if they are still wanted.
    pub fn take_samples(&mut self, unpacked: Unpacked) {
        let state = &mut self.timeline;
        if unpacked.number != state.wanted.newest.load(Ordering::Relaxed) {
            return;
        }
        state.window = unpacked.window;
        state.wanted.range = None;
        *state.picture.get_mut() = Picture::default();
        // What stacks tell may have become known meanwhile.
        self.settle_timeline();
    }
}
