//! Instances of regions and pieces of tasks as bands, each in a lane where no other one is.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use experiment::ids::{ContextId, ThreadId};
use experiment::rows::{RegionSpan, TaskSpan, Within};

/// An instance of a region, or a piece of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    /// Its context.
    pub context: ContextId,
    /// Its number, and that of the task or region around it.
    pub within: Within,
    /// Whether it is of a task.
    pub is_task: bool,
    /// The thread that encountered the region, or ran the task.
    pub thread: ThreadId,
    /// From when, in nanoseconds.
    pub start: u64,
    /// Until when.
    pub end: u64,
    /// The line that it is drawn in, from 0.
    pub lane: u16,
}

impl Band {
    /// The instance's number in its process; 0 if it is unknown.
    pub fn number(&self) -> u64 {
        if self.is_task {
            self.within.task
        } else {
            self.within.region
        }
    }
}

/// Bands by their beginning.
#[derive(Debug, Default)]
pub struct Bands {
    rows: Vec<Band>,
    /// The latest end of each row and those before it.
    reach: Vec<u64>,
    lanes: u16,
}

impl Bands {
    /// Region instances: an outermost one takes the first free lane, one that is nested in others
    /// a lane below that of the one it lies in.
    pub(super) fn of_regions(spans: &[RegionSpan], depth: impl Fn(ContextId) -> u16) -> Bands {
        let rows = spans.iter().map(|span| Band {
            context: span.context,
            within: span.within,
            is_task: false,
            thread: span.thread,
            start: span.start.0,
            end: span.start.0 + span.length.0,
            lane: depth(span.context).saturating_sub(1),
        });
        Bands::new(rows.collect())
    }

    /// Pieces of tasks on one thread: a task that runs in another one's wait lies below it.
    pub(super) fn of_tasks(spans: &[TaskSpan]) -> Bands {
        let rows = spans.iter().map(|span| Band {
            context: span.context,
            within: span.within,
            is_task: true,
            thread: span.thread,
            start: span.start.0,
            end: span.start.0 + span.length.0,
            lane: 0,
        });
        Bands::new(rows.collect())
    }

    /// Moves each row from the lane that it asks for to the next one below that is free.
    fn new(mut rows: Vec<Band>) -> Bands {
        rows.sort_unstable_by_key(|band| (band.start, band.lane, Reverse(band.end), band.thread));
        // Free lanes from the top, and when the others become free.
        let mut free: BinaryHeap<Reverse<u16>> = BinaryHeap::new();
        let mut taken: BinaryHeap<Reverse<(u64, u16)>> = BinaryHeap::new();
        let mut lanes = 0;
        for band in &mut rows {
            while let Some(&Reverse((end, lane))) = taken.peek() {
                if end > band.start {
                    break;
                }
                taken.pop();
                free.push(Reverse(lane));
            }
            let mut passed = Vec::new();
            let lane = loop {
                match free.pop() {
                    Some(Reverse(lane)) if lane >= band.lane => break lane,
                    Some(above) => passed.push(above),
                    None => {
                        if lanes >= band.lane || lanes == u16::MAX {
                            break lanes;
                        }
                        passed.push(Reverse(lanes));
                        lanes += 1;
                    }
                }
            };
            lanes = lanes.max(lane.saturating_add(1));
            free.extend(passed);
            taken.push(Reverse((band.end, lane)));
            band.lane = lane;
        }
        let reach = rows.iter().scan(0, |latest, band| {
            *latest = band.end.max(*latest);
            Some(*latest)
        });
        Bands {
            reach: reach.collect(),
            rows,
            lanes,
        }
    }

    /// How many lanes there are.
    pub fn lanes(&self) -> u16 {
        self.lanes
    }

    /// The bands that overlap a range of time, by their beginning.
    pub fn within(&self, range: Range<u64>) -> impl Iterator<Item = &Band> {
        let first = self.reach.partition_point(|&end| end <= range.start);
        let last = self.rows.partition_point(|band| band.start < range.end);
        let near = self.rows.get(first..last).unwrap_or(&[]).iter();
        near.filter(move |band| band.end > range.start)
    }

    /// The bands at a moment, outermost first.
    pub fn at(&self, time: u64) -> Vec<&Band> {
        let mut bands: Vec<&Band> = self.within(time..time + 1).collect();
        bands.sort_by_key(|band| band.lane);
        bands
    }
}

#[cfg(test)]
mod tests {
    use experiment::ids::Nanos;

    use super::*;

    fn region(context: u32, start: u64, end: u64) -> RegionSpan {
        RegionSpan {
            context: ContextId(context),
            thread: ThreadId(0),
            start: Nanos(start),
            length: Nanos(end - start),
            team: 2,
            within: Within::default(),
        }
    }

    #[test]
    fn nested_regions_lie_below_and_neighbours_share_a_lane() {
        // Context 1 is outermost, 2 nested in it; two instances of 2 run at once.
        let spans = [
            region(1, 0, 100),
            region(2, 10, 50),
            region(2, 20, 60),
            region(2, 55, 90),
            region(1, 100, 150),
        ];
        let bands = Bands::of_regions(&spans, |context| context.0 as u16);
        let lanes = |range| -> Vec<(u64, u16)> {
            let within = bands.within(range);
            within.map(|band| (band.start, band.lane)).collect()
        };
        assert_eq!(lanes(0..200), [(0, 0), (10, 1), (20, 2), (55, 1), (100, 0)]);
        assert_eq!(lanes(60..100), [(0, 0), (55, 1)]);
        assert_eq!(bands.lanes(), 3);
        let at = bands.at(57);
        assert_eq!(
            at.iter().map(|band| band.start).collect::<Vec<_>>(),
            [0, 55, 20]
        );
    }

    /// The region around was too short to be listed, or its begin was lost.
    #[test]
    fn a_nested_region_alone_keeps_its_depth() {
        let bands = Bands::of_regions(&[region(3, 5, 9), region(1, 6, 8)], |id| id.0 as u16);
        let all: Vec<u16> = bands.within(0..10).map(|band| band.lane).collect();
        assert_eq!(all, [2, 0]);
    }
}
