use fastrand::Rng;

use super::*;

/// Clocks of hosts, of which each has an offset and a drift against the truth, in parts of a million.
struct World {
    hosts: Vec<(i64, f64)>,
}

impl World {
    /// What a host's clock shows at a true moment.
    fn on(&self, host: usize, truth: u64) -> u64 {
        let (offset, drift) = self.hosts[host];
        let drifted = (truth as f64 * drift / 1e6) as i64;
        (truth as i64 + offset + drifted) as u64
    }

    fn clocks(&self, between: &Between) -> Vec<Clock> {
        let mut clocks: Vec<Clock> = (0..self.hosts.len()).map(Clock::first).collect();
        between.settle(&mut clocks);
        clocks
    }

    /// The largest error at moments of a run, and the largest that is told: the first never exceeds the second.
    #[track_caller]
    fn errors(&self, clock: &Clock, host: usize, moments: impl Iterator<Item = u64>) -> (u64, u64) {
        let mut most = (0, 0);
        for truth in moments {
            let moment = clock.on_first(self.on(host, truth));
            let error = moment.time.abs_diff(self.on(0, truth));
            assert!(
                error <= moment.error + 2,
                "at {truth}: {error} and not {}",
                moment.error
            );
            most = (most.0.max(error), most.1.max(moment.error));
        }
        most
    }
}

const SECOND: u64 = 1_000_000_000;
/// The truth at the start of runs.
const START: u64 = 50_000 * SECOND;

fn between(seconds: u64) -> Between {
    Between {
        stretch: (seconds * SECOND / STRETCHES).max(1),
        pairs: BTreeMap::new(),
    }
}

/// A message at a true moment, whose way takes some time.
fn message(world: &World, between: &mut Between, (from, to): (usize, usize), at: u64, takes: u64) {
    between.earlier((from, world.on(from, at)), (to, world.on(to, at + takes)));
}

#[test]
fn messages_both_ways_bound_the_difference_and_the_truth_is_within() {
    let mut random = Rng::with_seed(7);
    for drift in [0.0, 40.0, -90.0] {
        let world = World {
            hosts: vec![(0, 0.0), (-7_000_000_000_000, drift)],
        };
        let mut between = between(60);
        // Paths that differ by a factor of ten.
        for number in 0..6_000 {
            let at = START + number * 10_000_000 + random.u64(..1_000_000);
            message(
                &world,
                &mut between,
                (0, 1),
                at,
                2_000 + random.u64(..300_000),
            );
            message(
                &world,
                &mut between,
                (1, 0),
                at,
                20_000 + random.u64(..300_000),
            );
        }
        let clocks = world.clocks(&between);
        let moments = (0..1_000).map(|at| START + at * 60_000_000);
        let (error, told) = world.errors(&clocks[1], 1, moments);
        assert!(told < 40_000, "{told}");
        assert!(
            error < 15_000,
            "half of the difference of the paths is not seen: {error}"
        );
    }
}

#[test]
fn a_bound_is_wider_far_from_messages() {
    let world = World {
        hosts: vec![(0, 0.0), (5_000, 100.0)],
    };
    let mut between = between(20);
    for at in [START, START + 10 * SECOND] {
        message(&world, &mut between, (0, 1), at, 1_000);
        message(&world, &mut between, (1, 0), at, 1_000);
    }
    let clock = &world.clocks(&between)[1];
    let at = |seconds: u64| clock.on_first(world.on(1, START + seconds * SECOND)).error;
    assert!(at(0) < 200_000, "{}", at(0));
    // Five seconds at 5 parts of a million, and what two moments leave open of the rate.
    assert!((25_000..=400_000).contains(&at(5)), "{}", at(5));
    let moments = (0..20).map(|at| START + at * SECOND);
    world.errors(clock, 1, moments);
}

#[test]
fn a_host_is_reached_through_others_and_errors_add_up() {
    let mut random = Rng::with_seed(8);
    let world = World {
        hosts: vec![(0, 0.0), (1_000_000, 30.0), (-2_000_000, -30.0), (9, 0.0)],
    };
    let mut between = between(10);
    for number in 0..1_000 {
        let at = START + number * 10_000_000;
        for pair in [(0, 2), (2, 0), (2, 1), (1, 2)] {
            message(&world, &mut between, pair, at, 5_000 + random.u64(..50_000));
        }
        // To the last one messages go one way only.
        message(&world, &mut between, (0, 3), at, 5_000);
    }
    let clocks = world.clocks(&between);
    let moments = || (0..1_000).map(|at| START + at * 10_000_000);
    let (_, near) = world.errors(&clocks[2], 2, moments());
    let (_, far) = world.errors(&clocks[1], 1, moments());
    assert!(near < far && far < 100_000, "{near} {far}");
    assert_eq!(clocks[3], Clock::first(3));
}

#[test]
fn what_contradicts_itself_tells_nothing() {
    let world = World {
        hosts: vec![(0, 0.0), (0, 0.0)],
    };
    let mut between = between(10);
    message(&world, &mut between, (0, 1), START, 1_000);
    message(&world, &mut between, (1, 0), START, 1_000);
    assert_eq!(world.clocks(&between)[1].first, 0);
    // Received a millisecond before it was sent.
    between.earlier((0, START + 1_000_000), (1, START));
    assert_eq!(world.clocks(&between)[1], Clock::first(1));
}

#[test]
fn hosts_of_two_jobs_are_compared_among_each_other() {
    let world = World {
        hosts: vec![(0, 0.0), (5_000, 0.0), (70_000, 0.0), (90_000, 0.0)],
    };
    let mut between = between(10);
    for pair in [(0, 1), (1, 0), (2, 3), (3, 2)] {
        message(&world, &mut between, pair, START, 1_000);
    }
    let firsts: Vec<usize> = world.clocks(&between).iter().map(|it| it.first).collect();
    assert_eq!(firsts, [0, 0, 2, 2]);
}

#[test]
fn bounds_that_contradict_each_other_a_little_have_the_recordings_error() {
    let world = World {
        hosts: vec![(0, 0.0), (0, 0.0)],
    };
    let mut between = between(10);
    message(&world, &mut between, (0, 1), START, 1_000);
    // Received ten microseconds before it was sent.
    between.earlier((1, START + 10_000), (0, START));
    let moment = world.clocks(&between)[1].on_first(START);
    assert!(moment.error >= SLACK, "{moment:?}");
}

#[test]
fn clocks_are_told_apart_by_their_ids_and_without_them_by_their_hosts() {
    let recording = |host: &str, clock: &str| Recording {
        host: host.to_owned(),
        clock: clock.to_owned(),
        ..Recording::default()
    };
    let clocks = Clocks::apart(&[
        recording("a", "1"),
        recording("a", "2"),
        recording("b", "1"),
        recording("a", ""),
        recording("a", ""),
    ]);
    assert_eq!(clocks.of, [0, 1, 0, 2, 2]);
    assert!(clocks.is_shared(0, 2) && !clocks.is_shared(0, 1) && !clocks.is_shared(0, 9));
    assert!(clocks.are_comparable(3, 4) && !clocks.are_comparable(0, 3));
}
