use fastrand::Rng;

use super::*;
use crate::mpi::ranks::Recording;
use crate::mpi::ranks::tests::recording;
use experiment::ids::Nanos;

const NEVER: Nanos = MpiMessage::NEVER;

fn end(
    end: MessageEnd,
    thread: u32,
    peer: u32,
    tag: u32,
    (posted, length): (u64, Nanos),
) -> MpiMessage {
    MpiMessage {
        thread: ThreadId(thread),
        end,
        posted: Nanos(posted),
        length,
        peer,
        tag,
        comm: 7,
        bytes: 8,
    }
}

/// Recordings of a job, each of which started 1000 ns after the one before, and the recordings of their threads.
fn job(size: u32) -> (Vec<Recording>, Vec<u32>) {
    let recordings = (0..size).map(|rank| recording("a", rank, size, 1000 * u64::from(rank)));
    (recordings.collect(), (1..=size).collect())
}

fn pairs(messages: &[MpiMessage], ranks: &Ranks<'_>) -> (Vec<(u64, u64)>, Matched) {
    let mut pairs = Vec::new();
    let matched = matched(messages.iter().copied(), ranks, |pair| {
        pairs.push((pair.sent.posted, pair.received.posted));
    });
    (pairs, matched)
}

#[test]
fn messages_of_a_channel_are_received_in_the_order_of_posting() {
    use MessageEnd::{Received, Sent};
    let (recordings, origins) = job(2);
    let ranks = Ranks::of(&recordings, &origins);
    let messages = [
        // The second receive was completed first, and is written first.
        end(Received, 1, 0, 5, (20, Nanos(2_000))),
        end(Received, 1, 0, 5, (10, Nanos(3_000))),
        end(Received, 1, 0, 6, (5, Nanos(9_000))),
        end(Sent, 0, 1, 5, (1_500, NEVER)),
        end(Sent, 0, 1, 6, (1_600, Nanos(10))),
        end(Sent, 0, 1, 5, (1_700, Nanos(10))),
    ];
    let (pairs, matched) = pairs(&messages, &ranks);
    assert_eq!(pairs, [(1_500, 1_010), (1_700, 1_020), (1_600, 1_005)]);
    assert_eq!((matched.pairs, matched.unmatched()), (3, 0));
}

#[test]
fn ends_without_another_are_counted_by_sender_and_receiver() {
    use MessageEnd::{Received, Sent};
    let (mut recordings, origins) = job(3);
    recordings[2].lost_from = Some(Nanos(50));
    let ranks = Ranks::of(&recordings, &origins);
    let messages = [
        end(Sent, 0, 1, 5, (10, Nanos(1))),
        end(Sent, 0, 1, 5, (20, Nanos(1))),
        end(Sent, 0, 2, 5, (1, Nanos(1))),
        end(Sent, 0, 2, 5, (2, Nanos(1))),
        end(Received, 1, 0, 5, (10, Nanos(1))),
        // Nothing completed it: it received nothing.
        end(Received, 1, 0, 5, (30, NEVER)),
        // Records were lost before the second: it may be the third.
        end(Received, 2, 0, 5, (10, Nanos(1))),
        end(Received, 2, 0, 5, (60, Nanos(1))),
        // A rank that the job does not have.
        end(Sent, 1, 9, 5, (10, Nanos(1))),
    ];
    let (_, matched) = pairs(&messages, &ranks);
    assert_eq!(matched.pairs, 2);
    let rows: Vec<(u32, u32, u64, u64, u64)> = matched
        .unmatched
        .iter()
        .map(|((from, to), it)| (from.number, to.number, it.sent, it.received, it.doubtful))
        .collect();
    assert_eq!(rows, [(0, 1, 1, 0, 0), (0, 2, 1, 1, 0), (1, 9, 1, 0, 0)]);
}

#[test]
fn what_contradicts_itself_is_not_matched_from_there_on() {
    use MessageEnd::{Received, Sent};
    let (mut recordings, origins) = job(2);
    let messages = [
        end(Sent, 0, 1, 5, (11_000, Nanos(1))),
        end(Sent, 0, 1, 5, (91_000, Nanos(1))),
        end(Sent, 0, 1, 5, (99_000, Nanos(1))),
        // 9 us before it was sent: clocks may be so far apart.
        end(Received, 1, 0, 5, (1_000, Nanos(1))),
        // The record of a receive before it is missing: it ended at 41 us and would be of the send at 91 us.
        end(Received, 1, 0, 5, (40_000, Nanos(1))),
        end(Received, 1, 0, 5, (90_000, Nanos(1))),
    ];
    let ranks = Ranks::of(&recordings, &origins);
    let (found, matched) = pairs(&messages, &ranks);
    assert_eq!(found, [(11_000, 2_000)]);
    let row = matched.unmatched.values().next().copied();
    let row = row.unwrap_or_default();
    assert_eq!((row.sent, row.received, row.doubtful), (2, 2, 4));
    recordings[1].host = "elm".to_owned();
    let ranks = Ranks::of(&recordings, &origins);
    let (_, matched) = pairs(&messages, &ranks);
    assert_eq!(
        (matched.pairs, matched.apart, matched.unmatched()),
        (3, 3, 0)
    );
}

/// A message of a simulated run. Its number is its bytes, by which the truth is known.
struct Traffic {
    messages: Vec<MpiMessage>,
    sent: u64,
    received: u64,
}

/// Plays MPI: ranks send with a few tags on two communicators, and receive with and without wildcards. What was sent
/// goes to the first posted receive that takes it; what finds none waits in the order of arrival.
fn traffic(random: &mut Rng, size: u32, steps: usize) -> Traffic {
    struct Posted {
        at: u64,
        source: Option<u32>,
        tag: Option<u32>,
        comm: u32,
    }
    struct Arrived {
        source: u32,
        tag: u32,
        comm: u32,
        bytes: u64,
    }
    let mut posted: Vec<Vec<Posted>> = (0..size).map(|_| Vec::new()).collect();
    let mut arrived: Vec<Vec<Arrived>> = (0..size).map(|_| Vec::new()).collect();
    let mut traffic = Traffic {
        messages: Vec::new(),
        sent: 0,
        received: 0,
    };
    let fits = |it: &Posted, from: &Arrived| {
        it.comm == from.comm
            && it.source.is_none_or(|source| source == from.source)
            && it.tag.is_none_or(|tag| tag == from.tag)
    };
    for step in 0..steps as u64 {
        let now = 100_000 + 10 * step;
        let rank = random.u32(..size);
        // Each clock started at another time: rows count from there.
        let own = |rank: u32, at: u64| Nanos(at - 1_000 * u64::from(rank));
        let mut receive = |rank: u32, it: &Posted, from: &Arrived| {
            traffic.received += 1;
            traffic.messages.push(MpiMessage {
                thread: ThreadId(rank),
                end: MessageEnd::Received,
                posted: own(rank, it.at),
                length: Nanos(now + random.u64(1..500) - it.at),
                peer: from.source,
                tag: from.tag,
                comm: from.comm,
                bytes: from.bytes,
            });
        };
        if step % 2 == 0 {
            let to = (rank + 1 + step as u32 / 2 % (size - 1)) % size;
            let message = Arrived {
                source: rank,
                tag: step as u32 / 3 % 3,
                comm: step as u32 / 5 % 2,
                bytes: step,
            };
            traffic.sent += 1;
            let at = posted[to as usize].iter().position(|it| fits(it, &message));
            if let Some(it) = at.map(|at| posted[to as usize].remove(at)) {
                receive(to, &it, &message)
            }
            traffic.messages.push(MpiMessage {
                thread: ThreadId(rank),
                end: MessageEnd::Sent,
                posted: own(rank, now),
                length: if step % 7 == 0 {
                    NEVER
                } else {
                    Nanos(step % 90)
                },
                peer: to,
                tag: message.tag,
                comm: message.comm,
                bytes: step,
            });
            if at.is_none() {
                arrived[to as usize].push(message);
            }
        } else {
            let any = step / 2 % 5;
            let it = Posted {
                at: now,
                source: (any > 1).then(|| (rank + 1 + step as u32 % (size - 1)) % size),
                tag: (any != 1 && any != 2).then_some(step as u32 / 7 % 3),
                comm: step as u32 / 11 % 2,
            };
            let queue = &mut arrived[rank as usize];
            match queue.iter().position(|from| fits(&it, from)) {
                Some(at) => receive(rank, &it, &queue.remove(at)),
                None => posted[rank as usize].push(it),
            }
        }
    }
    // Rows come in the order of their completion, of one rank after the other.
    traffic.messages.sort_by_key(|it| it.thread);
    traffic
}

#[test]
fn random_traffic_with_wildcards_is_matched_as_it_went() {
    let mut random = Rng::with_seed(42);
    let mut all = 0;
    for round in 0..60 {
        let size = random.u32(2..7);
        let run = traffic(&mut random, size, 3_000);
        let (recordings, origins) = job(size);
        let ranks = Ranks::of(&recordings, &origins);
        let mut wrong = 0;
        let matched = matched(run.messages.iter().copied(), &ranks, |pair| {
            wrong += u32::from(pair.sent.bytes != pair.received.bytes);
        });
        assert_eq!(wrong, 0, "round {round}");
        assert_eq!(matched.unequal, 0);
        assert_eq!(matched.pairs, run.received, "round {round}");
        assert_eq!(matched.unmatched(), run.sent - run.received);
        all += matched.pairs;
    }
    assert!(all > 20_000, "{all} messages");
}

#[test]
fn of_a_rank_that_was_killed_what_is_missing_is_named_and_nothing_else_is_matched_wrongly() {
    let mut random = Rng::with_seed(43);
    for round in 0..40 {
        let size = random.u32(3..6);
        let run = traffic(&mut random, size, 2_000);
        let killed = random.u32(..size);
        let mut rows = run.messages.clone();
        // Its recording holds what it posted and completed before that moment.
        let moment = Nanos(100_000 + random.u64(2_000..15_000));
        let is_lost = |it: &MpiMessage| {
            it.thread == ThreadId(killed)
                && (it.posted >= moment
                    || it.end == MessageEnd::Received && it.posted.0 + it.length.0 >= moment.0)
        };
        // A receive may have been completed before one that was posted earlier. That one is open when the rank ends.
        let lost = rows.iter().filter(|it| is_lost(it)).count() as u64;
        for row in &mut rows {
            if is_lost(row) && row.posted < moment {
                row.length = NEVER;
            }
        }
        rows.retain(|it| !is_lost(it) || it.length == NEVER && it.posted < moment);
        let (mut recordings, origins) = job(size);
        recordings[killed as usize].cut = Some("was killed by SIGKILL".to_owned());
        let ranks = Ranks::of(&recordings, &origins);
        let mut wrong = 0;
        let matched = matched(rows.iter().copied(), &ranks, |pair| {
            wrong += u32::from(pair.sent.bytes != pair.received.bytes);
        });
        assert!(lost > 0, "round {round}");
        assert_eq!(wrong, 0, "round {round}");
        let of_killed = |(from, to): &(RankId, RankId)| [from.number, to.number].contains(&killed);
        let before = {
            let ranks = Ranks::of(&recordings, &origins);
            super::matched(run.messages.iter().copied(), &ranks, |_| ())
        };
        for (pair, row) in &matched.unmatched {
            if !of_killed(pair) {
                assert_eq!(before.unmatched.get(pair), Some(row), "round {round}");
            }
        }
        assert!(matched.unmatched() > before.unmatched());
    }
}
