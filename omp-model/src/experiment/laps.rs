//! Programs that go round: a time step enters the same regions in the same order as the one before.
//!
//! From one time that a thread is in a state of a region to the next its instances' number is then
//! further by whole laps, of so many instances on average. Where the pace alone leaves a number
//! unsure by a few instances, the state tells which of them it is.

use rustc_hash::FxHashMap;

/// Bits of a lap's length below one instance: some laps are an instance longer than others.
const FRACTION: u32 = 16;

/// Instances of the longest lap that is looked for.
const LONGEST: u64 = 1024;

/// So many of the shortest ways between like states tell a lap's length to an instance.
const WAYS: usize = 96;

/// Ways and laps from here on are no writer's.
const TOO_LONG: u64 = 1 << 40;

/// The numbers that states were last seen with.
#[derive(Clone, Debug, Default)]
pub(super) struct Laps {
    /// In instances, with [`FRACTION`] bits below one; 0 if the program is not known to go round.
    length: u64,
    /// By tag; 0 is none.
    last: Vec<u64>,
}

impl Laps {
    /// Begins anew with laps of this length.
    pub(super) fn begin(&mut self, length: u64) {
        self.length = if length < TOO_LONG { length } else { 0 };
        self.last.clear();
    }

    /// The number nearest to `near` that lies whole laps from the last one with this tag.
    #[inline]
    pub(super) fn nearest(&self, tag: u32, near: u64) -> u64 {
        if self.length == 0 {
            return near;
        }
        match self.last.get(tag as usize) {
            None | Some(0) => near,
            Some(&last) => self.whole(last, near),
        }
    }

    fn whole(&self, last: u64, near: u64) -> u64 {
        let way = near.wrapping_sub(last) as i64;
        if way.unsigned_abs() >= TOO_LONG {
            return near;
        }
        let length = self.length as i64;
        let laps = ((way << FRACTION) + length / 2).div_euclid(length);
        let more = (laps * length + (1 << (FRACTION - 1))) >> FRACTION;
        last.wrapping_add(more as u64)
    }

    /// A tag is seen with a number that is not 0.
    #[inline]
    pub(super) fn note(&mut self, tag: u32, number: u64) {
        if self.length == 0 {
            return;
        }
        let at = tag as usize;
        if self.last.len() <= at {
            self.last.resize(at + 1, 0);
        }
        self.last[at] = number;
    }
}

/// How many instances each way is long that a thread went from a state to the same one.
#[derive(Debug, Default)]
pub(super) struct Ways {
    last: FxHashMap<u32, u64>,
    ways: Vec<u64>,
}

impl Ways {
    /// Goes on with another thread.
    pub(super) fn turn(&mut self) {
        self.last.clear();
    }

    pub(super) fn add(&mut self, tag: u32, number: u64) {
        if number == 0 {
            return;
        }
        if let Some(before) = self.last.insert(tag, number)
            && number > before
            && number - before < TOO_LONG
        {
            self.ways.push(number - before);
        }
    }

    /// The length of laps, as [`Laps::begin`] takes it; 0 if there are none.
    pub(super) fn lap(mut self) -> u64 {
        self.ways.sort_unstable();
        let near = &self.ways[..self.ways.len().min(WAYS)];
        match roughly(near) {
            None => 0,
            Some(lap) => exactly(lap, &self.ways),
        }
    }
}

/// The lap of which more ways are multiples, but for one instance, than would be by chance.
fn roughly(ways: &[u64]) -> Option<u64> {
    let score = |lap: u64| {
        let fits = |way: &&u64| (**way + 1) % lap <= 2;
        let fitting = ways.iter().filter(fits).count() as u64;
        // Of any numbers three in a lap would fit.
        (fitting * lap).saturating_sub(3 * ways.len() as u64) * LONGEST / lap
    };
    let best = (4..=LONGEST).max_by_key(|&lap| (score(lap), LONGEST - lap))?;
    let least = ways.len() as u64 * LONGEST / 4;
    (score(best) > least).then_some(best)
}

/// The mean lap, from the shortest ways to the longest: each tells more of its fraction, once those
/// before have told how many laps it is.
fn exactly(lap: u64, ways: &[u64]) -> u64 {
    let (mut way_sum, mut laps_sum) = (u128::from(lap), 1_u128);
    for &way in ways {
        let way = u128::from(way);
        let laps = (way * laps_sum + way_sum / 2) / way_sum;
        let off = (laps * way_sum).abs_diff(way * laps_sum);
        if laps > 0 && 4 * off <= way_sum.max(6 * laps_sum) {
            way_sum += way;
            laps_sum += laps;
        }
    }
    ((way_sum << FRACTION) / laps_sum) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise, the same each time.
    fn mixed(seed: u64) -> u64 {
        let mut mixed = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// The numbers of the regions of a program with 20 regions a step and one more in each eighth.
    fn steps() -> impl Iterator<Item = (u32, u64)> {
        let step = |step: u64| (0..20).chain(step.is_multiple_of(8).then_some(20));
        (0..10_000).flat_map(step).zip(1..)
    }

    #[test]
    fn a_lap_is_found_to_a_fraction_of_an_instance() {
        let mut ways = Ways::default();
        // Seen at no steady pace.
        let mut next = 0;
        for (tag, number) in steps() {
            if number >= next {
                ways.add(tag, number);
                next = number + 60 + mixed(number) % 80;
            }
        }
        let lap = ways.lap() as f64 / f64::from(1 << FRACTION);
        assert!((lap - 20.125).abs() < 0.002, "{lap}");
    }

    #[test]
    fn a_program_that_does_not_go_round_has_no_lap() {
        let mut ways = Ways::default();
        let mut number = 1_u64;
        for at in 0..5_000_u64 {
            ways.add((mixed(at) % 61) as u32, number);
            number += 1 + mixed(at + 1_000_000) % 97;
        }
        assert_eq!(ways.lap(), 0);
        assert_eq!(Ways::default().lap(), 0);
    }

    #[test]
    fn the_nearest_number_is_whole_laps_from_the_last() {
        let mut laps = Laps::default();
        laps.begin(20 << FRACTION);
        assert_eq!(laps.nearest(7, 1_013), 1_013);
        laps.note(7, 1_000);
        assert_eq!(laps.nearest(7, 1_047), 1_040);
        assert_eq!(laps.nearest(7, 957), 960);
        assert_eq!(laps.nearest(8, 957), 957);
        for length in [0, 1, 3, u64::MAX, TOO_LONG - 1] {
            laps.begin(length);
            for number in [1, u64::MAX, 1 << 63, 12_345] {
                laps.note(3, number);
                for near in [0, 1, u64::MAX, 1 << 40, 1 << 63] {
                    laps.nearest(3, near);
                }
            }
        }
    }
}
