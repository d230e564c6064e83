//! A calling context as a thread sends it: the part of its stack from which the consumer unwinds
//! it. The program itself contains no unwinder: there, wrong unwind information could crash it.
//!
//! The record [`Kind::Context`](crate::record::Kind::Context) is followed by pairs of words, each
//! in a record position:
//!
//! ```text
//! code, body │ ip, sp │ bp, end │ bytes, value │ bytes, value │ …  [Python's frames]
//! ```
//!
//! From the stack between `sp` and `end`, only words that unwinding can need are sent: those that
//! point into code (return addresses), and those that point into this part of the stack (saved
//! frame pointers). Each has its distance from `sp`. All other words read as 0. If Python made the call, its
//! frames follow ([`crate::python`]).

use crate::python::{MAX_PYTHON, Python};
use crate::record::ContextPayload;

/// The maximum number of stack words sent.
pub const MAX_WORDS: usize = 4000;
/// Pairs that precede the stack words.
pub const HEAD_PAIRS: usize = 3;

/// The registers from which a stack is unwound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// The instruction pointer.
    pub ip: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The frame pointer.
    pub bp: u64,
}

/// The head of a context, sent before its stack words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The return address of the call into the runtime, `codeptr_ra`; 0: unknown.
    pub code: u64,
    /// The outlined function passed to the runtime; 0: unknown.
    pub body: u64,
    /// Registers to unwind from, in code of the library or of the program.
    pub registers: Registers,
    /// End of the part of the stack that was examined.
    pub end: u64,
    /// The thread is in an explicit task: frames of the thread that executes it do not belong to
    /// the context.
    pub in_task: bool,
}

impl Head {
    /// The head as pairs of words.
    #[inline]
    pub const fn pairs(&self) -> [[u64; 2]; HEAD_PAIRS] {
        let Registers { ip, sp, bp } = self.registers;
        [[self.code, self.body], [ip, sp], [bp, self.end]]
    }
}

/// A word of a stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Word {
    /// Its distance above a known address of the stack, in bytes.
    pub bytes: u64,
    /// The word.
    pub value: u64,
}

/// A context read from a ring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// All but the stack words.
    pub head: Head,
    /// The stack words sent, sorted by address: (address, value).
    pub words: Vec<(u64, u64)>,
    /// The frames of Python, if the thread has an interpreter.
    pub python: Option<Python>,
}

impl Context {
    /// From the pairs of the head, those of the words and the last `python` ones, about Python; `None` if there are
    /// fewer than the head's and these.
    pub fn of_pairs(in_task: bool, python: usize, pairs: &[[u64; 2]]) -> Option<Context> {
        let (pairs, python) = pairs.split_at_checked(pairs.len().checked_sub(python)?)?;
        let (head, rest) = pairs.split_first_chunk::<HEAD_PAIRS>()?;
        let [[code, body], [ip, sp], [bp, end]] = *head;
        let words = rest
            .iter()
            .map(|[bytes, value]| (sp.wrapping_add(*bytes), *value));
        let mut words: Vec<_> = words.collect();
        // They are sent in order. Overwritten ones may be in any order.
        words.sort_unstable_by_key(|(at, _)| *at);
        Some(Context {
            head: Head {
                code,
                body,
                registers: Registers { ip, sp, bp },
                end,
                in_task,
            },
            words,
            python: Python::of_words(python.as_flattened()),
        })
    }

    /// The 8 bytes at a stack address; `None` outside the examined part.
    pub fn read(&self, address: u64) -> Option<u64> {
        let Head { registers, end, .. } = self.head;
        if !(registers.sp..end).contains(&address) {
            return None;
        }
        let found = self.words.binary_search_by_key(&address, |(at, _)| *at);
        Some(found.map_or(0, |at| self.words[at].1))
    }
}

/// A partly read context.
#[derive(Debug)]
pub(crate) struct PartialContext {
    payload: ContextPayload,
    pairs: Vec<[u64; 2]>,
}

impl PartialContext {
    /// Begins a context with this payload; `None` if no producer writes such a payload.
    pub(crate) fn new(payload: ContextPayload) -> Option<PartialContext> {
        let is_valid = payload.words as usize <= MAX_WORDS
            && payload.python as usize <= MAX_PYTHON / 2
            && payload.context.0 != 0;
        is_valid.then(|| PartialContext {
            payload,
            pairs: Vec::with_capacity(pairs(payload)),
        })
    }

    /// The payload of its first record.
    pub(crate) fn payload(&self) -> ContextPayload {
        self.payload
    }

    /// Takes the next pair. Returns the context if this was the last one.
    pub(crate) fn add(&mut self, pair: [u64; 2]) -> Option<Context> {
        self.pairs.push(pair);
        if self.pairs.len() < pairs(self.payload) {
            return None;
        }
        let ContextPayload {
            in_task, python, ..
        } = self.payload;
        Context::of_pairs(in_task, python.into(), &self.pairs)
    }
}

/// Number of record positions that a context takes, without its first record.
pub(crate) const fn pairs(payload: ContextPayload) -> usize {
    HEAD_PAIRS + payload.words as usize + payload.python as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_sent_reads_as_zero_up_to_the_end() {
        let context = Context {
            head: Head {
                registers: Registers {
                    ip: 1,
                    sp: 0x1000,
                    bp: 0,
                },
                end: 0x1040,
                ..Head::default()
            },
            words: vec![(0x1008, 7), (0x1038, 9)],
            python: None,
        };
        let read = [0xff8, 0x1000, 0x1008, 0x1038, 0x1040].map(|at| context.read(at));
        assert_eq!(read, [None, Some(0), Some(7), Some(9), None]);
    }

    #[test]
    fn a_context_that_no_producer_writes_is_none() {
        let payload = |id, words, python| ContextPayload {
            context: crate::record::CallingContextId(id),
            words,
            in_task: false,
            python,
        };
        let most = (MAX_WORDS as u16, MAX_PYTHON as u16 / 2);
        assert!(PartialContext::new(payload(1, most.0, most.1)).is_some());
        assert!(PartialContext::new(payload(1, most.0 + 1, 0)).is_none());
        assert!(PartialContext::new(payload(1, 1, most.1 + 1)).is_none());
        assert!(PartialContext::new(payload(0, 1, 0)).is_none());
    }
}
