//! What was lost, by kind and by time.

use serde::{Deserialize, Serialize};

/// The most stretches of a kind. Beyond, the two that are closest become one.
pub const MOST_STRETCHES: usize = 32;

/// What can be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossKind {
    /// Samples of the clock.
    Samples,
    /// Samples at context switches: stacks of threads that leave their CPU.
    SwitchStacks,
    /// Records of the side band: mappings, threads, context switches, page faults.
    SideBand,
    /// OpenMP records of regions and tasks, for which a ring had no room, and those of waits among them.
    OmpConstructs,
    /// OpenMP records that tell of waits alone.
    OmpWaits,
    /// Calling contexts of forks and of task creations that could not be taken.
    Contexts,
    /// Calls of the program that control the recording, such as those that name phases.
    Calls,
    /// Threads that found no ring for their OpenMP records.
    ThreadsRefused,
    /// Threads whose OpenMP records were given up because they made no sense.
    ThreadsGivenUp,
    /// Threads that could not sample themselves.
    ThreadsUnsampled,
    /// Threads that had no room to count some of their loops.
    Loops,
    /// Threads that had no room to count some of their acquisitions of mutexes.
    Locks,
}

/// A stretch of time in which something was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// From when, in nanoseconds since the start.
    pub from_ns: u64,
    /// Until when, in nanoseconds since the start; not before `from_ns`.
    pub to_ns: u64,
    /// How much was lost.
    pub count: u64,
}

/// When something was lost: at most [`MOST_STRETCHES`], by time, none of which touches another one.
///
/// A stretch is as long as what is known: from the last that was kept before the loss to the first after
/// it, or from the look that found nothing lost to the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Stretch>", into = "Vec<Stretch>")]
pub struct Stretches(Vec<Stretch>);

impl Stretches {
    /// How much was lost in all of them.
    pub fn count(&self) -> u64 {
        let counts = self.0.iter().map(|it| it.count);
        counts.fold(0, u64::saturating_add)
    }

    /// The stretches.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Stretch> {
        self.0.iter()
    }

    /// Adds a stretch. Those that it overlaps or touches become one with it. A count of 0 lengthens
    /// what is there.
    pub fn add(&mut self, stretch: Stretch) {
        self.join(stretch);
        self.reduce(MOST_STRETCHES);
    }

    /// Adds all of `others`.
    pub fn extend(&mut self, others: &Stretches) {
        others.iter().for_each(|it| self.add(*it));
    }

    /// As few as `most`, at least one: the closest ones become one.
    #[must_use]
    pub fn coarse(&self, most: usize) -> Stretches {
        let mut coarse = self.clone();
        coarse.reduce(most.max(1));
        coarse
    }

    /// Those that overlap a range of time, in nanoseconds, whole.
    #[must_use]
    pub fn within(&self, from_ns: u64, to_ns: u64) -> Stretches {
        let overlaps = |it: &&Stretch| it.from_ns < to_ns && it.to_ns >= from_ns;
        Stretches(self.0.iter().filter(overlaps).copied().collect())
    }

    /// From the beginning of the first one to the end of the last one, in nanoseconds.
    pub fn span(&self) -> Option<(u64, u64)> {
        Some((self.0.first()?.from_ns, self.0.last()?.to_ns))
    }

    fn join(&mut self, stretch: Stretch) {
        let mut joined = Stretch {
            to_ns: stretch.to_ns.max(stretch.from_ns),
            ..stretch
        };
        let first = self.0.partition_point(|it| it.to_ns < joined.from_ns);
        let end = self.0.partition_point(|it| it.from_ns <= joined.to_ns);
        for other in self.0.drain(first..end.max(first)) {
            joined = Stretch {
                from_ns: joined.from_ns.min(other.from_ns),
                to_ns: joined.to_ns.max(other.to_ns),
                count: joined.count.saturating_add(other.count),
            };
        }
        self.0.insert(first, joined);
    }

    fn reduce(&mut self, most: usize) {
        while self.0.len() > most {
            let apart = |at: &usize| self.0[at + 1].from_ns - self.0[*at].to_ns;
            let Some(closest) = (0..self.0.len() - 1).min_by_key(apart) else {
                return;
            };
            let next = self.0.remove(closest + 1);
            let joined = &mut self.0[closest];
            joined.to_ns = next.to_ns;
            joined.count = joined.count.saturating_add(next.count);
        }
    }
}

impl From<Vec<Stretch>> for Stretches {
    fn from(given: Vec<Stretch>) -> Self {
        let mut stretches = Stretches::default();
        stretches.extend(&Stretches(given));
        stretches
    }
}

impl From<Stretches> for Vec<Stretch> {
    fn from(stretches: Stretches) -> Self {
        stretches.0
    }
}

/// What was lost of one kind, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// What.
    pub kind: LossKind,
    /// When, and how much.
    pub stretches: Stretches,
}

/// All that was lost: a [`Loss`] for each kind of which something was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Loss>", into = "Vec<Loss>")]
pub struct Lost(Vec<Loss>);

impl Lost {
    /// How much of a kind was lost.
    pub fn count(&self, kind: LossKind) -> u64 {
        self.of(kind).map_or(0, Stretches::count)
    }

    /// The number of OpenMP records that were lost.
    pub fn omp_records(&self) -> u64 {
        let counts = [LossKind::OmpConstructs, LossKind::OmpWaits].map(|kind| self.count(kind));
        counts[0].saturating_add(counts[1])
    }

    /// When something of a kind was lost; `None` for never.
    pub fn of(&self, kind: LossKind) -> Option<&Stretches> {
        let mut losses = self.0.iter();
        Some(&losses.find(|it| it.kind == kind)?.stretches)
    }

    /// The losses.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Loss> {
        self.0.iter()
    }

    /// Adds what was lost of a kind from one time to another, in nanoseconds since the start.
    pub fn add(&mut self, kind: LossKind, (from_ns, to_ns): (u64, u64), count: u64) {
        self.of_mut(kind).add(Stretch {
            from_ns,
            to_ns,
            count,
        });
    }

    /// Adds what a total count of a kind has grown by.
    pub fn raise(&mut self, kind: LossKind, when: (u64, u64), total: u64) {
        match total.saturating_sub(self.count(kind)) {
            0 => {}
            more => self.add(kind, when, more),
        }
    }

    /// Adds all of `others`.
    pub fn extend(&mut self, others: &Lost) {
        for loss in &others.0 {
            self.of_mut(loss.kind).extend(&loss.stretches);
        }
    }

    /// Keeps the losses for which `keeps` is true.
    pub fn retain(&mut self, mut keeps: impl FnMut(&Loss) -> bool) {
        self.0.retain(|loss| keeps(loss));
    }

    fn of_mut(&mut self, kind: LossKind) -> &mut Stretches {
        let at = match self.0.binary_search_by_key(&kind, |it| it.kind) {
            Ok(at) => at,
            Err(at) => {
                let stretches = Stretches::default();
                self.0.insert(at, Loss { kind, stretches });
                at
            }
        };
        &mut self.0[at].stretches
    }
}

impl From<Vec<Loss>> for Lost {
    fn from(given: Vec<Loss>) -> Self {
        let mut lost = Lost::default();
        lost.extend(&Lost(given));
        lost
    }
}

impl From<Lost> for Vec<Loss> {
    fn from(lost: Lost) -> Self {
        lost.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch((from_ns, to_ns, count): (u64, u64, u64)) -> Stretch {
        Stretch {
            from_ns,
            to_ns,
            count,
        }
    }

    fn stretches(given: &[(u64, u64, u64)]) -> Stretches {
        given
            .iter()
            .map(|&it| stretch(it))
            .collect::<Vec<_>>()
            .into()
    }

    fn plain(stretches: &Stretches) -> Vec<(u64, u64, u64)> {
        let rows = stretches.iter();
        rows.map(|it| (it.from_ns, it.to_ns, it.count)).collect()
    }

    #[test]
    fn stretches_that_overlap_or_touch_are_one() {
        let apart = stretches(&[(50, 60, 3), (10, 20, 1), (30, 40, 2)]);
        assert_eq!(plain(&apart), [(10, 20, 1), (30, 40, 2), (50, 60, 3)]);
        let mut joined = apart.clone();
        joined.add(stretch((40, 45, 7)));
        assert_eq!(plain(&joined), [(10, 20, 1), (30, 45, 9), (50, 60, 3)]);
        joined.add(stretch((15, 55, 1)));
        assert_eq!(plain(&joined), [(10, 60, 14)]);
        // Inside, at a point, and lengthened without a count.
        joined.add(stretch((12, 12, 1)));
        joined.add(stretch((60, 90, 0)));
        joined.add(stretch((95, 95, 1)));
        assert_eq!(plain(&joined), [(10, 90, 15), (95, 95, 1)]);
        assert_eq!((joined.count(), joined.span()), (16, Some((10, 95))));
        assert_eq!(Stretches::default().span(), None);
    }

    #[test]
    fn beyond_the_most_the_closest_ones_are_one() {
        let coarse = stretches(&[(0, 10, 1), (100, 110, 2), (115, 120, 3), (300, 310, 4)]);
        assert_eq!(
            plain(&coarse.coarse(3)),
            [(0, 10, 1), (100, 120, 5), (300, 310, 4)]
        );
        assert_eq!(plain(&coarse.coarse(2)), [(0, 120, 6), (300, 310, 4)]);
        assert_eq!(plain(&coarse.coarse(0)), [(0, 310, 10)]);
        let mut many = Stretches::default();
        for at in 0..10_000u64 {
            many.add(stretch((at * at, at * at + 1, 1)));
        }
        assert_eq!((many.iter().len(), many.count()), (MOST_STRETCHES, 10_000));
        assert_eq!(many.span(), Some((0, 9_999 * 9_999 + 1)));
    }

    /// A header is a file of others.
    #[test]
    fn what_a_file_says_is_put_in_order() {
        let told = r#"[{"from_ns":50,"to_ns":40,"count":18446744073709551615},
                       {"from_ns":10,"to_ns":50,"count":2}]"#;
        let read: Stretches = serde_json::from_str(told).unwrap();
        assert_eq!(plain(&read), [(10, 50, u64::MAX)]);
    }

    #[test]
    fn losses_are_found_by_kind_and_added_up() {
        let mut lost = Lost::default();
        lost.add(LossKind::OmpWaits, (5, 9), 2);
        lost.raise(LossKind::Calls, (0, 10), 3);
        lost.raise(LossKind::Calls, (10, 20), 3);
        lost.raise(LossKind::Calls, (20, 30), 4);
        lost.add(LossKind::Samples, (1, 2), 1);
        let when = |lost: &Lost, kind| lost.of(kind).map(plain);
        assert_eq!(
            when(&lost, LossKind::Calls),
            Some(vec![(0, 10, 3), (20, 30, 1)])
        );
        assert_eq!(when(&lost, LossKind::Contexts), None);
        let mut both = lost.clone();
        both.extend(&lost);
        let counts: Vec<(LossKind, u64)> = both
            .iter()
            .map(|loss| (loss.kind, loss.stretches.count()))
            .collect();
        let expected = [
            (LossKind::Samples, 2),
            (LossKind::OmpWaits, 4),
            (LossKind::Calls, 8),
        ];
        assert_eq!(counts, expected);
        both.retain(|loss| loss.kind == LossKind::Calls);
        assert_eq!((both.count(LossKind::Samples), both.iter().len()), (0, 1));
    }

    #[test]
    fn the_header_has_losses_by_the_names_of_their_kinds() {
        let mut lost = Lost::default();
        lost.add(LossKind::OmpConstructs, (5, 9), 2);
        let text = serde_json::to_string(&lost).unwrap();
        assert_eq!(
            text,
            r#"[{"kind":"omp_constructs","stretches":[{"from_ns":5,"to_ns":9,"count":2}]}]"#
        );
        assert_eq!(serde_json::from_str::<Lost>(&text).unwrap(), lost);
    }
}
