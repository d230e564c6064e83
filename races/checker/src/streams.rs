//! The threads' streams in one order.

use race_stream::record::Record;

/// What threads have said and is not passed on yet.
#[derive(Debug, Default)]
pub struct Streams {
    /// By slot.
    streams: Vec<Stream>,
    /// The number of the next event.
    next: u64,
    /// Words that may wait.
    most_words: Option<usize>,
    /// A stream made no sense.
    is_broken: bool,
    /// More waited than may.
    is_overfull: bool,
}

#[derive(Debug, Default)]
struct Stream {
    words: Vec<u64>,
    /// Those of `words` that have been passed on.
    passed: usize,
}

impl Stream {
    /// What is not passed on yet.
    fn waiting(&self) -> &[u64] {
        self.words.get(self.passed..).unwrap_or_default()
    }
}

/// What became of a stream.
enum Drained {
    /// As much was passed on as can be.
    Moved(bool),
    /// The next record makes no sense.
    Senseless,
}

impl Streams {
    /// Sets a limit to the memory of records that wait for an event, in bytes.
    pub fn limit(&mut self, bytes: usize) {
        self.most_words = Some(bytes / size_of::<u64>());
    }

    /// Appends words of the thread in `slot`.
    pub fn add(&mut self, slot: usize, words: &[u64]) {
        if self.is_broken || self.is_overfull {
            return;
        }
        if self.streams.len() <= slot {
            self.streams.resize_with(slot + 1, Stream::default);
        }
        if let Some(stream) = self.streams.get_mut(slot) {
            stream.words.drain(..std::mem::take(&mut stream.passed));
            stream.words.extend(words);
        }
    }

    /// Passes on what is in order: accesses of a thread, and the event with the next number. Events
    /// behind a number that is missing stay. `pass` says whether the record makes sense.
    pub fn drain(&mut self, pass: &mut dyn FnMut(u32, Record) -> bool) {
        loop {
            let before = self.next;
            let mut is_moved = false;
            for slot in 0..self.streams.len() {
                match self.drain_slot(slot, pass) {
                    Drained::Moved(moved) => is_moved |= moved,
                    Drained::Senseless => {
                        self.is_broken = true;
                        self.streams.clear();
                        return;
                    }
                }
            }
            if !is_moved && self.next == before {
                break;
            }
        }
        if self.most_words.is_some_and(|most| self.waiting() > most) {
            self.is_overfull = true;
            self.streams.clear();
        }
    }

    fn drain_slot(&mut self, slot: usize, pass: &mut dyn FnMut(u32, Record) -> bool) -> Drained {
        let Some(stream) = self.streams.get_mut(slot) else {
            return Drained::Moved(false);
        };
        let words = stream.waiting();
        let mut used = 0;
        while used < words.len() {
            // Records are written whole: one that makes no sense is no record.
            let Some((record, length)) = Record::parse(&words[used..]) else {
                return Drained::Senseless;
            };
            if let Record::Event(number, _) = record {
                if number > self.next {
                    break;
                }
                self.next = self.next.max(number + 1);
            }
            if !pass(slot as u32, record) {
                return Drained::Senseless;
            }
            used += length;
        }
        stream.passed += used;
        Drained::Moved(used > 0)
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

    /// How many streams made no sense: with the first one all are given up. What its thread did is not
    /// known from there on, nor is the order of what others did, and so no accusation could rest on it.
    pub fn broken(&self) -> usize {
        usize::from(self.is_broken)
    }

    /// Whether all streams were given up, for the records that waited for an event took too much memory.
    pub fn is_overfull(&self) -> bool {
        self.is_overfull
    }

    /// Words that wait.
    pub fn waiting(&self) -> usize {
        let waiting = |stream: &Stream| stream.waiting().len();
        self.streams.iter().map(waiting).sum()
    }
}
