//! The application to measure: the one on the command line, else the repository's, at the event
//! rate for which the goals are defined.

use super::cpu::Waits;
use super::recorder::record;
use super::results::Measure;
use super::run::Bench;
use super::tools::{BARE, Rate};
use super::usage::measure;
use crate::Outcome;

/// OpenMP events per second of both threads together, for which the goals are defined.
const EVENTS_A_SECOND: f64 = 1e6;
/// Loop sizes, in elements, between which the application's event rate is interpolated.
const SIZES: [f64; 2] = [24_000.0, 72_000.0];
/// Steps of a run that measures the event rate.
const STEPS: u32 = 3_000;
/// Runs of which the fastest counts.
const RUNS: usize = 3;

impl Bench {
    /// The application with this many steps, with loops of a size that makes a million events per
    /// second on two threads of this machine.
    pub(super) fn application(&mut self, steps: u32) -> Outcome<Vec<String>> {
        if !self.program.is_empty() {
            return Ok(self.program.clone());
        }
        let elements = match self.elements {
            Some(elements) => elements,
            None => self.find_pace()?,
        };
        self.steps(steps, elements)
    }

    fn steps(&self, steps: u32, elements: u32) -> Outcome<Vec<String>> {
        let program = self.compiled("steps.c", &[])?.display().to_string();
        Ok(vec![program, steps.to_string(), elements.to_string()])
    }

    /// Finds the loop size for the wanted event rate. A step's time grows with its elements; its
    /// events do not.
    fn find_pace(&mut self) -> Outcome<u32> {
        let mut times = [0.0; 2];
        for (time, size) in times.iter_mut().zip(SIZES) {
            *time = self.step_time(size as u32)?;
        }
        let recorded = record(self, &self.steps(STEPS, SIZES[0] as u32)?, &[])?;
        let events = recorded.records / f64::from(STEPS);
        let wanted = events / EVENTS_A_SECOND;
        let slope = (times[1] - times[0]) / (SIZES[1] - SIZES[0]);
        if slope <= 0.0 {
            return Err("the application takes no longer with more elements: try again".to_owned());
        }
        let elements = SIZES[0] + (wanted - times[0]) / slope;
        // A machine that is too slow for a million events makes as many as it can.
        let elements = (elements / 1e3).round().clamp(1.0, 1e5) as u32 * 1_000;
        let pace = events / self.step_time(elements)? / 1e6;
        self.progress(&format!("the application has loops of {elements} elements"));
        let what = Measure {
            name: "the application's OpenMP events a second",
            unit: "million",
            goal: None,
        };
        self.add("cpu", &what, BARE.name, pace)?;
        self.elements = Some(elements);
        Ok(elements)
    }

    /// The time of a bare step, in seconds.
    fn step_time(&self, elements: u32) -> Outcome<f64> {
        let program = self.steps(STEPS, elements)?;
        let mut least = f64::INFINITY;
        for _ in 0..RUNS {
            let mut command = BARE.command(Rate::Kilohertz, &program, self.folder());
            Waits::Spin.pin(&mut command, 2);
            least = least.min(measure(&mut command, self.folder())?.wall);
        }
        Ok(least / f64::from(STEPS))
    }
}
