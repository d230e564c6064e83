//! What the library in the program tells `collect`: tables of words in a file of memory.
//!
//! | words | what |
//! |---|---|
//! | 0 to 63 | [`Head`] |
//! | from [`CONSTRUCTS_AT`] | [`Construct`]s |
//! | from [`FINDINGS_AT`] | [`Finding`]s |
//! | from [`MAPS_AT`] | the text of `/proc/self/maps`, as bytes |
//!
//! The program can write to them, so a reader believes nothing.

use crate::words::{Class, Difference};

/// The environment variable with the path of the file.
pub const VARIABLE: &str = "PARALLAX_COMPARE";

/// The first word: the format, with its version.
pub const MAGIC: u64 = 0x3130_504d_434c_5850;

/// Most constructs, findings and bytes of text.
pub const CONSTRUCTS: usize = 1024;
/// See [`CONSTRUCTS`].
pub const FINDINGS: usize = 2048;
/// See [`CONSTRUCTS`].
pub const MAPS_BYTES: usize = 1 << 18;

/// Words of a row.
pub const CONSTRUCT_WORDS: usize = 40;
/// See [`CONSTRUCT_WORDS`].
pub const FINDING_WORDS: usize = 128;

/// Where tables begin, in words.
pub const CONSTRUCTS_AT: usize = 64;
/// See [`CONSTRUCTS_AT`].
pub const FINDINGS_AT: usize = CONSTRUCTS_AT + CONSTRUCTS * CONSTRUCT_WORDS;
/// See [`CONSTRUCTS_AT`].
pub const MAPS_AT: usize = FINDINGS_AT + FINDINGS * FINDING_WORDS;
/// All words.
pub const WORDS: usize = MAPS_AT + MAPS_BYTES / 8;

/// The words of the head, by their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// [`MAGIC`], from `collect`.
    Magic,
    /// 1: every instance is compared; from `collect`.
    All,
    /// The process that compares; 0: none yet.
    Process,
    /// How many constructs there are.
    Constructs,
    /// How many findings.
    Findings,
    /// Bytes of the text of maps.
    Maps,
    /// Instances of constructs for which there was no room.
    LostConstructs,
    /// Findings for which there was no room.
    LostFindings,
    /// Nanoseconds spent on comparing.
    Spent,
    /// Nanoseconds since the library was loaded, at the end of the last region.
    Elapsed,
    /// Other processes of the program with parallel regions.
    Processes,
    /// Regions that the library does not know how to repeat, such as leagues of teams.
    Others,
    /// 1: the comparison ended by an error of its own.
    Broken,
}

/// Why an instance was not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// It runs with one thread anyway.
    Alone,
    /// Another thread of the program was running.
    OtherThread,
    /// It reads from a file, a pipe or a terminal.
    Reads,
    /// It moves in a file, or changes one otherwise than by writing.
    Files,
    /// It sends or receives by sockets.
    Sockets,
    /// It starts processes or sends signals.
    Processes,
    /// It starts threads.
    Threads,
    /// It makes another system call that cannot be repeated.
    Calls,
    /// The execution with one thread ended by a signal or left the region.
    Fault,
    /// The execution with one thread did not end.
    Time,
    /// A device is mapped.
    Device,
    /// Too much was written, or is shared with other processes.
    Size,
    /// It takes random numbers from a generator of the C library that all threads share.
    Random,
    /// The system refused a process, or a filter of its system calls.
    Refused,
}

impl Cause {
    /// Every cause, in the order of their numbers.
    pub const ALL: [Cause; 14] = [
        Cause::Alone,
        Cause::OtherThread,
        Cause::Reads,
        Cause::Files,
        Cause::Sockets,
        Cause::Processes,
        Cause::Threads,
        Cause::Calls,
        Cause::Fault,
        Cause::Time,
        Cause::Device,
        Cause::Size,
        Cause::Random,
        Cause::Refused,
    ];

    /// What is said of an instance, after a comma.
    pub const fn words(self) -> &'static str {
        match self {
            Cause::Alone => "runs with one thread anyway",
            Cause::OtherThread => "another thread of the program was running",
            Cause::Reads => "reads from a file, a pipe or a terminal",
            Cause::Files => "opens a file for writing, moves in one, or changes files otherwise",
            Cause::Sockets => "sends or receives by sockets",
            Cause::Processes => "starts processes or sends signals",
            Cause::Threads => "starts threads of its own",
            Cause::Calls => "makes a system call that cannot be repeated",
            Cause::Fault => "with one thread it ended by a signal or left the region",
            Cause::Time => "with one thread it did not end in time",
            Cause::Device => "a device is mapped into the program's memory",
            Cause::Size => "too much memory was written, or is shared with other processes",
            Cause::Random => "takes random numbers from a generator that threads share",
            Cause::Refused => {
                "the system refused a process for the execution with one thread, or a filter of its system calls"
            }
        }
    }
}

/// A parallel construct of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Construct {
    /// The return address of the call that forks the region.
    pub code: u64,
    /// The function outlined from it.
    pub body: u64,
    /// How often it was executed.
    pub instances: u64,
    /// How many instances were compared.
    pub compared: u64,
    /// How many were not comparable, by cause.
    pub not: [u64; Cause::ALL.len()],
    /// Words that were compared.
    pub words: u64,
    /// Words that differ between two executions with one thread.
    pub varying: u64,
    /// Words within rounding.
    pub rounded: u64,
    /// Words of arrays with a part for each thread, and the size of the team.
    pub per_thread: u64,
    /// Words that point to the same block of the region, at another address.
    pub pointers: u64,
    /// The largest spread of rounding that was accepted, as bits of a double.
    pub spread: u64,
}

impl Construct {
    /// As words.
    pub fn to_words(&self) -> Vec<u64> {
        let mut words = vec![self.code, self.body, self.instances, self.compared];
        words.extend([self.words, self.varying, self.rounded, self.per_thread]);
        words.extend([self.pointers, self.spread]);
        words.extend(self.not);
        words
    }

    /// Of words.
    pub fn from_words(words: &[u64]) -> Construct {
        let at = |place: usize| words.get(place).copied().unwrap_or_default();
        Construct {
            code: at(0),
            body: at(1),
            instances: at(2),
            compared: at(3),
            words: at(4),
            varying: at(5),
            rounded: at(6),
            per_thread: at(7),
            pointers: at(8),
            spread: at(9),
            not: std::array::from_fn(|cause| at(10 + cause)),
        }
    }
}

/// Most ranges and values of a finding.
pub const RANGES: usize = 32;
/// See [`RANGES`].
pub const VALUES: usize = 4;

/// What memory a finding is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Memory {
    /// Of a load object.
    #[default]
    Static,
    /// A block of the heap.
    Heap,
    /// The stack of the thread that forks the region.
    Stack,
    /// A mapping that the program made.
    Mapping,
}

impl Memory {
    const ALL: [Memory; 4] = [Memory::Static, Memory::Heap, Memory::Stack, Memory::Mapping];
}

/// Memory in which the executions of a region differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The number of the construct, from 0.
    pub construct: u64,
    /// The first instance in which it was found, from 1.
    pub instance: u64,
    /// In how many instances.
    pub count: u64,
    /// How they differ.
    pub class: Class,
    /// Threads that the program asked for.
    pub threads: u64,
    /// What memory it is.
    pub memory: Memory,
    /// The begin and length of the variable or block, if the library knows it; else of the memory that differs.
    pub whole: (u64, u64),
    /// The return address of the call that allocated it.
    pub allocated: u64,
    /// The stack and frame pointers at the call that forks, the block that it passes, and its return address.
    pub frame: [u64; 4],
    /// Differing bytes in the first instance, in units of 4.
    pub units: u64,
    /// Differing words in the first instance.
    pub words: u64,
    /// The largest change by another direction of rounding in the variable, as bits of a double.
    pub spread: u64,
    /// Ranges of differing bytes of the first instance, ascending: begin and length.
    pub ranges: Vec<(u64, u64)>,
    /// The first differing words.
    pub values: Vec<Difference>,
    /// More differs than is counted.
    pub is_cut: bool,
}

impl Finding {
    /// As words.
    pub fn to_words(&self) -> Vec<u64> {
        let mut words = vec![self.construct, self.instance, self.count, self.class as u64];
        words.extend([self.threads, self.memory as u64, self.whole.0, self.whole.1]);
        words.push(self.allocated);
        words.extend(self.frame);
        words.extend([self.units, self.words, self.spread]);
        let (ranges, values) = (self.ranges.len().min(RANGES), self.values.len().min(VALUES));
        words.extend([ranges as u64, values as u64, self.is_cut.into()]);
        let kept = self.ranges.iter().take(RANGES);
        words.extend(kept.flat_map(|(begin, bytes)| [*begin, *bytes]));
        for value in self.values.iter().take(VALUES) {
            words.extend([value.address, value.before, value.reference, value.result]);
        }
        words
    }

    /// Of words; `None` if they are none of a finding.
    pub fn from_words(words: &[u64]) -> Option<Finding> {
        let at = |place: usize| words.get(place).copied().unwrap_or_default();
        let (ranges, values) = (at(16) as usize, at(17) as usize);
        if ranges > RANGES || values > VALUES || ranges == 0 || values == 0 {
            return None;
        }
        let values_at = 19 + 2 * ranges;
        Some(Finding {
            construct: at(0),
            instance: at(1),
            count: at(2),
            class: *Class::ALL.get(at(3) as usize)?,
            threads: at(4),
            memory: *Memory::ALL.get(at(5) as usize)?,
            whole: (at(6), at(7)),
            allocated: at(8),
            frame: [at(9), at(10), at(11), at(12)],
            units: at(13),
            words: at(14),
            spread: at(15),
            ranges: (0..ranges)
                .map(|it| (at(19 + 2 * it), at(20 + 2 * it)))
                .collect(),
            values: (0..values)
                .map(|it| values_at + 4 * it)
                .map(|place| Difference {
                    address: at(place),
                    before: at(place + 1),
                    reference: at(place + 2),
                    result: at(place + 3),
                })
                .collect(),
            is_cut: at(18) != 0,
        })
    }
}

const _: () = assert!(19 + 2 * RANGES + 4 * VALUES <= FINDING_WORDS);
const _: () = assert!(10 + Cause::ALL.len() <= CONSTRUCT_WORDS);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_survive_the_way_through_words() {
        let construct = Construct {
            code: 1,
            body: 2,
            instances: 3,
            compared: 4,
            not: std::array::from_fn(|cause| cause as u64),
            words: 5,
            varying: 6,
            rounded: 7,
            per_thread: 8,
            pointers: 9,
            spread: 10,
        };
        assert_eq!(Construct::from_words(&construct.to_words()), construct);
        let finding = Finding {
            construct: 1,
            instance: 2,
            count: 3,
            class: Class::Extra,
            threads: 4,
            memory: Memory::Stack,
            whole: (5, 6),
            allocated: 7,
            frame: [8, 9, 10, 22],
            units: 11,
            words: 12,
            spread: 13,
            ranges: vec![(14, 15), (16, 17)],
            values: vec![Difference {
                address: 18,
                before: 19,
                reference: 20,
                result: 21,
            }],
            is_cut: true,
        };
        let words = finding.to_words();
        assert!(words.len() <= FINDING_WORDS);
        assert_eq!(Finding::from_words(&words), Some(finding));
    }

    #[test]
    fn words_of_no_finding_are_refused() {
        assert_eq!(Finding::from_words(&[0; FINDING_WORDS]), None);
        assert_eq!(Finding::from_words(&[u64::MAX; FINDING_WORDS]), None);
        assert_eq!(Finding::from_words(&[]), None);
    }
}
