//! The times between rounds, and between writes to the experiment.

use std::time::Duration;

/// The longest time between rounds. Rarer rounds cost less, since each finds its code and tables cold
/// in the caches.
const LONGEST_ROUND: Duration = Duration::from_millis(50);
/// The shortest time between rounds, at the program's start.
pub(crate) const SHORTEST_ROUND: Duration = Duration::from_millis(5);
/// The number of OpenMP records in a ring, an eighth of its size, that begin a round at once.
pub(crate) const WAITING: usize = 1 << 15;
/// The time between looks at how many wait. A thread that pushes them as fast as it can fills half of
/// its ring in that time.
pub(crate) const LOOK: Duration = Duration::from_millis(5);

/// The longest time between rounds while stacks are truncated: their outer frames are read from the
/// thread's memory, which soon changes.
const LONGEST_TRUNCATED: Duration = Duration::from_millis(10);

/// The longest time between a round and the next one. It is shorter if stacks were truncated in the
/// last one, and at the program's start, since the program may end soon.
pub(crate) fn wait_after(truncated: bool, age: Duration) -> Duration {
    let longest = if truncated {
        LONGEST_TRUNCATED
    } else {
        LONGEST_ROUND
    };
    longest.min((age / 4).max(SHORTEST_ROUND))
}

/// The shortest and longest time between writes to the experiment. Rows of that time are lost if
/// collect is killed.
const SHORTEST_FLUSH: Duration = Duration::from_millis(500);
const LONGEST_FLUSH: Duration = Duration::from_secs(2);

/// From this number of samples on, a frame of the experiment is compressed as well as with more.
const FULL: usize = 1 << 14;

/// The time until the recorded rows are written. Rows that are written together take fewer bytes, and
/// a killed recording loses at most a twentieth.
pub(crate) fn flush_after(samples: usize, age: Duration) -> Duration {
    match samples {
        FULL.. => SHORTEST_FLUSH,
        _ => (age / 20).clamp(SHORTEST_FLUSH, LONGEST_FLUSH),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_recording_is_written_less_often_unless_it_has_many_samples() {
        let after = |samples, age| flush_after(samples, Duration::from_secs(age)).as_millis();
        let (few, many) = (100, 100_000);
        assert_eq!(
            (after(few, 1), after(few, 20), after(few, 600)),
            (500, 1000, 2000)
        );
        assert_eq!((after(many, 1), after(many, 600)), (500, 500));
    }

    #[test]
    fn rounds_come_sooner_for_deep_stacks_and_young_programs() {
        let wait = |truncated, age| wait_after(truncated, Duration::from_millis(age)).as_millis();
        assert_eq!((wait(true, 9000), wait(true, 0)), (10, 5));
        assert_eq!(
            (wait(false, 0), wait(false, 80), wait(false, 300)),
            (5, 20, 50)
        );
    }
}
