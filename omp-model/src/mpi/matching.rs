//! Which send belongs to which receive.
//!
//! Messages of one communicator from one rank to another with the same tag do not overtake each other (MPI 4.1, 3.5): the
//! n-th that was sent is received by the n-th receive that was posted for it. A receive from any source or of any tag is
//! recorded with the source and tag of what it received, so that it stands in its place among the others.

use std::collections::BTreeMap;

use experiment::ids::ThreadId;
use experiment::rows::{MessageEnd, MpiMessage};

use super::clocks::SLACK;
use super::ranks::{RankId, Ranks};

/// The messages that do not overtake each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel {
    /// The sender.
    pub from: RankId,
    /// The receiver, of the same job.
    pub to: RankId,
    /// The communicator.
    pub comm: u32,
    /// The tag.
    pub tag: u32,
}

/// One end of a message. Times are on the ranks' common clock, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The thread that posted it.
    pub thread: ThreadId,
    /// When the call began that posted it.
    pub posted: u64,
    /// When the call ended that completed it; `None` if none did.
    pub completed: Option<u64>,
    /// Its bytes.
    pub bytes: u64,
}

/// A message with both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Where it belongs.
    pub channel: Channel,
    /// The sender's end.
    pub sent: End,
    /// The receiver's end.
    pub received: End,
}

/// Ends without another end, from one rank to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unmatched {
    /// Sends whose receive is not known.
    pub sent: u64,
    /// Receives whose send is not known.
    pub received: u64,
    /// How many of both are not matched because what is recorded of them contradicts itself: a message would have
    /// been received before it was sent.
    pub doubtful: u64,
}

/// How many messages were matched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    /// Messages with both ends.
    pub pairs: u64,
    /// Those whose ends have clocks that cannot be compared.
    pub apart: u64,
    /// Those whose ends differ in their bytes.
    pub unequal: u64,
    /// Ends without another end, by sender and receiver.
    pub unmatched: BTreeMap<(RankId, RankId), Unmatched>,
}

impl Matched {
    /// How many messages have one end alone.
    pub fn unmatched(&self) -> u64 {
        let all = self.unmatched.values();
        all.map(|it| it.sent + it.received).sum()
    }
}

/// Matches the messages, and passes each pair to `each`: channel by channel, in the order in which they were sent.
///
/// It holds 72 bytes for each end. Ends that were posted after records were lost have no place in the order, and are not
/// matched. A receive that nothing completed keeps its place: the message that stands for it has no other end.
pub fn matched(
    messages: impl Iterator<Item = MpiMessage>,
    ranks: &Ranks<'_>,
    mut each: impl FnMut(&Pair),
) -> Matched {
    let mut matched = Matched::default();
    let mut ends: Vec<(Channel, MessageEnd, End)> = Vec::new();
    for message in messages.filter(|it| it.end.is_message()) {
        let channel = channel(ranks, &message);
        let end = End::of(ranks, &message);
        if ranks.knows_until(end.thread, end.posted) {
            ends.push((channel, message.end, end));
        } else {
            matched.alone(&channel, message.end, 1);
        }
    }
    // The sort is stable: of ends that one call posted, the order is that of their rows.
    ends.sort_by_key(|(channel, end, at)| (*channel, *end as u8, at.posted));
    for of_channel in ends.chunk_by(|one, other| one.0 == other.0) {
        let channel = of_channel[0].0;
        let sends = of_channel.partition_point(|it| it.1 == MessageEnd::Sent);
        let (sends, receives) = of_channel.split_at(sends);
        let is_apart = !ranks.are_comparable(channel.from, channel.to);
        let pairs = sends.iter().zip(receives).map(|(send, receive)| Pair {
            channel,
            sent: send.2,
            received: receive.2,
        });
        let (mut sound, mut open) = (0, 0);
        for pair in pairs.take_while(|pair| is_apart || !pair.is_impossible(ranks)) {
            sound += 1;
            if pair.received.completed.is_none() {
                open += 1;
                continue;
            }
            matched.pairs += 1;
            matched.apart += u64::from(is_apart);
            matched.unequal += u64::from(pair.sent.bytes != pair.received.bytes);
            each(&pair);
        }
        let later = receives[sound..].iter();
        let received = later.filter(|it| it.2.completed.is_some()).count() as u64;
        let sent = (sends.len() - sound) as u64;
        matched.alone(&channel, MessageEnd::Sent, sent + open);
        matched.alone(&channel, MessageEnd::Received, received);
        if sent > 0 && received > 0 {
            let row = matched.unmatched.entry((channel.from, channel.to));
            row.or_default().doubtful += sent + received;
        }
    }
    matched
}

impl Matched {
    fn alone(&mut self, channel: &Channel, end: MessageEnd, count: u64) {
        if count > 0 {
            let row = self.unmatched.entry((channel.from, channel.to));
            let row = row.or_default();
            *match end {
                MessageEnd::Sent => &mut row.sent,
                _ => &mut row.received,
            } += count;
        }
    }
}

impl End {
    fn of(ranks: &Ranks<'_>, message: &MpiMessage) -> End {
        let posted = ranks.on_clock(message.thread, message.posted);
        let is_open = message.length == MpiMessage::NEVER;
        End {
            thread: message.thread,
            posted,
            completed: (!is_open).then(|| posted.saturating_add(message.length.0)),
            bytes: message.bytes,
        }
    }
}

impl Pair {
    /// Whether it was received before it was sent.
    fn is_impossible(&self, ranks: &Ranks<'_>) -> bool {
        let Channel { from, to, .. } = self.channel;
        let done = self.received.completed;
        done.is_some_and(|done| {
            let error = SLACK + ranks.clock_error(from, to, done);
            done.saturating_add(error) < self.sent.posted
        })
    }
}

fn channel(ranks: &Ranks<'_>, message: &MpiMessage) -> Channel {
    let own = ranks.of_thread(message.thread);
    let peer = RankId {
        number: message.peer,
        ..own
    };
    let (from, to) = match message.end {
        MessageEnd::Sent => (own, peer),
        _ => (peer, own),
    };
    Channel {
        from,
        to,
        comm: message.comm,
        tag: message.tag,
    }
}

#[cfg(test)]
mod tests;
