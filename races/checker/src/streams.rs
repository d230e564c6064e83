//! The threads' streams in one order.

use race_stream::record::Record;

/// What threads have said and is not passed on yet.
#[derive(Debug, Default)]
pub struct Streams {
    /// By slot.
    streams: Vec<Stream>,
    /// The number of the next event.
    next: u64,
}

#[derive(Debug, Default)]
struct Stream {
    words: Vec<u64>,
    /// Those of `words` that have been passed on.
    passed: usize,
    is_broken: bool,
}

impl Stream {
    /// What is not passed on yet.
    fn waiting(&self) -> &[u64] {
        self.words.get(self.passed..).unwrap_or_default()
    }
}

impl Streams {
    /// Appends words of the thread in `slot`.
    pub fn add(&mut self, slot: usize, words: &[u64]) {
        if self.streams.len() <= slot {
            self.streams.resize_with(slot + 1, Stream::default);
        }
        if let Some(stream) = self.streams.get_mut(slot)
            && !stream.is_broken
        {
            stream.words.drain(..std::mem::take(&mut stream.passed));
            stream.words.extend(words);
        }
    }

    /// Passes on what is in order: accesses of a thread, and the event with the next number. Events
    /// behind a number that is missing stay.
    pub fn drain(&mut self, pass: &mut dyn FnMut(u32, Record)) {
        loop {
            let before = self.next;
            let mut is_moved = false;
            for slot in 0..self.streams.len() {
                is_moved |= self.drain_slot(slot, pass);
            }
            if !is_moved && self.next == before {
                return;
            }
        }
    }

    fn drain_slot(&mut self, slot: usize, pass: &mut dyn FnMut(u32, Record)) -> bool {
        let Some(stream) = self.streams.get_mut(slot) else {
            return false;
        };
        let mut is_moved = false;
        let words = stream.waiting();
        let mut used = 0;
        while used < words.len() {
            let Some((record, length)) = Record::parse(&words[used..]) else {
                // Records are written whole: one that makes no sense is no record.
                used = words.len();
                stream.is_broken = true;
                break;
            };
            if let Record::Event(number, _) = record {
                if number > self.next {
                    break;
                }
                self.next = self.next.max(number + 1);
            }
            pass(slot as u32, record);
            used += length;
            is_moved = true;
        }
        stream.passed += used;
        is_moved
    }

    /// Passes over the numbers that are missing: the program has ended. Returns how many.
    pub fn skip(&mut self) -> u64 {
        let first =
            self.streams
                .iter()
                .filter_map(|stream| match Record::parse(stream.waiting()) {
                    Some((Record::Event(number, _), _)) => Some(number),
                    _ => None,
                });
        let Some(lowest) = first.min() else {
            return 0;
        };
        let missing = lowest.saturating_sub(self.next);
        self.next = self.next.max(lowest);
        missing
    }

    /// Streams that were given up, for they made no sense.
    pub fn broken(&self) -> usize {
        self.streams
            .iter()
            .filter(|stream| stream.is_broken)
            .count()
    }

    /// Words that wait.
    pub fn waiting(&self) -> usize {
        let waiting = |stream: &Stream| stream.waiting().len();
        self.streams.iter().map(waiting).sum()
    }
}
