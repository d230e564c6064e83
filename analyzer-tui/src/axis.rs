//! The times of an axis: round ones, at steps of 1, 2 or 5.

use std::ops::Range;

/// A unit of time on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Its name.
    pub name: &'static str,
    /// Its symbol.
    pub symbol: &'static str,
    /// Its length, in nanoseconds.
    nanos: u64,
}

/// From the longest. Nothing is shorter than a microsecond: times are not more exact.
const UNITS: [Unit; 3] = [
    Unit {
        name: "seconds",
        symbol: "s",
        nanos: 1_000_000_000,
    },
    Unit {
        name: "milliseconds",
        symbol: "ms",
        nanos: 1_000_000,
    },
    Unit {
        name: "microseconds",
        symbol: "µs",
        nanos: 1_000,
    },
];

/// The letters between labels, for a mark before each and some space.
const APART: usize = 4;

/// A time on an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tick {
    /// In nanoseconds.
    pub time: u64,
    /// The number, in the axis' unit.
    pub label: String,
}

/// The round times of a range, in nanoseconds, with their unit. `room` is the number of letters
/// that fit beside each other over the range; labels are as close as [`APART`] allows.
pub fn ticks(range: &Range<u64>, room: usize) -> (Unit, Vec<Tick>) {
    let length = range.end.saturating_sub(range.start).max(1);
    let last = range.end.max(1) - 1;
    // The largest time decides, so that all numbers of a screen are of one unit and short.
    let unit = UNITS.into_iter().find(|unit| last >= unit.nanos);
    let unit = unit.unwrap_or(UNITS[2]);
    let powers = (3..).map(|power| 10u64.saturating_pow(power));
    let steps = powers.flat_map(|power| [1, 2, 5].map(|times| power.saturating_mul(times)));
    let fits = |&step: &u64| {
        let letters = unit.label(last, step).len() + APART;
        u128::from(step) * room as u128 >= letters as u128 * u128::from(length)
    };
    let step = steps.into_iter().find(|step| *step >= length || fits(step));
    let step = step.unwrap_or(length);
    let first = range.start.div_ceil(step);
    let times = (first..).map(|number| number.saturating_mul(step));
    let ticks = times
        .take_while(|time| range.contains(time))
        .map(|time| Tick {
            time,
            label: unit.label(time, step),
        });
    (unit, ticks.collect())
}

impl Unit {
    /// A time, with the decimals that steps of this length need.
    fn label(self, time: u64, step: u64) -> String {
        let mut decimals = 0;
        let mut smallest = self.nanos;
        while !step.is_multiple_of(smallest) && smallest > 1 {
            smallest /= 10;
            decimals += 1;
        }
        format!("{:.decimals$}", time as f64 / self.nanos as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(range: Range<u64>, room: usize) -> String {
        let (unit, ticks) = ticks(&range, room);
        let labels: Vec<String> = ticks.into_iter().map(|tick| tick.label).collect();
        format!("{}: {}", unit.symbol, labels.join(" "))
    }

    #[test]
    fn times_are_round_and_in_a_suitable_unit() {
        const US: u64 = 1_000;
        const MS: u64 = 1_000 * US;
        const S: u64 = 1_000 * MS;
        assert_eq!(labels(0..2_200 * MS, 65), "s: 0.0 0.5 1.0 1.5 2.0");
        assert_eq!(
            labels(0..2_200 * MS, 80),
            "s: 0.0 0.2 0.4 0.6 0.8 1.0 1.2 1.4 1.6 1.8 2.0"
        );
        assert_eq!(labels(0..15_236 * MS, 65), "s: 0 2 4 6 8 10 12 14");
        assert_eq!(labels(0..80 * MS, 40), "ms: 0 20 40 60");
        assert_eq!(labels(0..400 * US, 40), "µs: 0 100 200 300");
        let zoomed = 12 * S + 300_007 * US;
        assert_eq!(
            labels(zoomed..zoomed + 20 * US, 65),
            "s: 12.300010 12.300015 12.300020 12.300025"
        );
        assert_eq!(
            labels(0..3600 * S, 65),
            "s: 0 500 1000 1500 2000 2500 3000 3500"
        );
    }

    #[test]
    fn labels_never_touch_and_there_is_more_than_one() {
        let lengths = (0..30).map(|power| 20_000 * 3u64.pow(power) / 2u64.pow(power / 2));
        let cases = lengths.flat_map(|length| [0, 1, 7].map(|start| (start * length / 3, length)));
        let cases = cases.flat_map(|case| (0..200).step_by(7).map(move |room| (case, room)));
        for ((start, length), room) in cases {
            let range = start..start + length;
            let (_, ticks) = ticks(&range, room);
            let cell = |time: u64| (u128::from(time - start) * room as u128) / u128::from(length);
            for pair in ticks.windows(2) {
                let gap = cell(pair[1].time) - cell(pair[0].time);
                assert!(
                    gap > pair[0].label.len() as u128,
                    "{range:?} {room} {pair:?}"
                );
            }
            if room > 60 {
                assert!(ticks.len() > 1, "{range:?} {room}");
            }
        }
    }
}
