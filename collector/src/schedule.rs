//! The times between rounds, and between writes to the experiment.

use std::time::Duration;

/// The longest time between rounds. Rarer rounds cost less, since each finds its code and tables cold
/// in the caches.
const LONGEST_ROUND: Duration = Duration::from_millis(50);
/// The shortest time between rounds, at the program's start.
pub(crate) const SHORTEST_ROUND: Duration = Duration::from_millis(5);
/// The number of OpenMP records that may wait in a ring: three eighths of its size.
const WAITING: u32 = 3 << 13;

/// The longest time between rounds while stacks are truncated: their outer frames are read from the
/// thread's memory, which soon changes.
const LONGEST_TRUNCATED: Duration = Duration::from_millis(10);

/// A round that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    /// Number of OpenMP records that waited in the fullest ring.
    pub(crate) records: usize,
    /// The time in which they came: since the previous round.
    pub(crate) since: Duration,
    /// How long the round took. More records came meanwhile.
    pub(crate) took: Duration,
    /// Whether there were truncated stacks.
    pub(crate) truncated: bool,
}

/// The time between a round and the next one. At most [`WAITING`] records come in that time at the
/// present rate. It is shorter if stacks were truncated, and at the program's start, since the program
/// may end soon.
pub(crate) fn wait_after(round: Round, age: Duration) -> Duration {
    let longest = if round.truncated {
        LONGEST_TRUNCATED
    } else {
        LONGEST_ROUND
    };
    let usual = longest.min((age / 4).max(SHORTEST_ROUND));
    match round.records {
        0 => usual,
        records => {
            let until_full = round.since.mul_f64(f64::from(WAITING) / records as f64);
            usual.min(until_full.saturating_sub(round.took))
        }
    }
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

    const IDLE: Round = Round {
        records: 0,
        since: LONGEST_ROUND,
        took: Duration::ZERO,
        truncated: false,
    };

    #[test]
    fn rounds_come_sooner_the_more_records_wait() {
        let old = Duration::from_secs(9);
        let wait = |records, since| {
            let round = Round {
                records,
                since: Duration::from_millis(since),
                ..IDLE
            };
            wait_after(round, old).as_micros()
        };
        let waiting = WAITING as usize;
        assert_eq!((wait(0, 50), wait(waiting, 50)), (50_000, 50_000));
        assert_eq!(wait(2 * waiting, 50), 25_000);
        // Steady at the same rate, and sooner while the ring is full.
        assert_eq!(wait(waiting, 25), 25_000);
        assert_eq!(wait(4 * waiting, 4), 1_000);
        let round = Round {
            records: waiting,
            since: Duration::from_millis(10),
            took: Duration::from_millis(7),
            truncated: false,
        };
        assert_eq!(wait_after(round, old).as_millis(), 3);
    }

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
        let wait = |truncated, age| {
            wait_after(Round { truncated, ..IDLE }, Duration::from_millis(age)).as_millis()
        };
        assert_eq!((wait(true, 9000), wait(true, 0)), (10, 5));
        assert_eq!(
            (wait(false, 0), wait(false, 80), wait(false, 300)),
            (5, 20, 50)
        );
    }
}
