//! When rounds come, and when what they took is written.

use std::time::Duration;

/// How long a round may be away. Rarer rounds cost less: each finds its code and tables cold.
const ROUND: Duration = Duration::from_millis(50);
/// The next round at the soonest.
pub(crate) const HASTE: Duration = Duration::from_millis(5);
/// So many OpenMP records may wait in a ring, a quarter of what it holds, before rounds come
/// sooner.
const WAITING: u32 = 1 << 14;

/// The next round where stacks were deeper than what was copied of them: their outer frames are
/// read in the thread's own memory, which does not stay as it was for long.
const DEEP: Duration = Duration::from_millis(10);

/// When the next round comes: sooner the more records waited in this one, where stacks were too
/// deep, and in a program that may end soon because it is young.
pub(crate) fn wait_after(records: usize, deep: bool, age: Duration) -> Duration {
    let share = WAITING as f64 / (records as f64).max(WAITING.into());
    let longest = if deep { DEEP } else { ROUND };
    longest.min(ROUND.mul_f64(share)).min(age / 4).max(HASTE)
}

/// How often what was recorded goes to the experiment, at the beginning and at the most: what is
/// lost if collect is killed.
const FLUSH: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(2)];

/// So many samples are a frame that no longer waiting makes much shorter.
const FULL: usize = 1 << 14;

/// When what was recorded goes to the experiment: what is written together takes fewer bytes, and
/// who loses a twentieth of a recording still has most of it.
pub(crate) fn flush_after(samples: usize, age: Duration) -> Duration {
    let [first, longest] = FLUSH;
    match samples {
        FULL.. => first,
        _ => (age / 20).clamp(first, longest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_come_sooner_the_more_records_wait() {
        let old = Duration::from_secs(9);
        let wait = |records| wait_after(records, false, old).as_micros();
        assert_eq!((wait(0), wait(WAITING as usize)), (50_000, 50_000));
        assert_eq!(wait(4 * WAITING as usize), 12_500);
        assert_eq!(wait(1000 * WAITING as usize), 5_000);
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
        let wait = |deep, age| wait_after(0, deep, Duration::from_millis(age)).as_millis();
        assert_eq!((wait(true, 9000), wait(true, 0)), (10, 5));
        assert_eq!(
            (wait(false, 0), wait(false, 80), wait(false, 300)),
            (5, 20, 50)
        );
    }
}
