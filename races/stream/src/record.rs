//! The records and their words.
//!
//! The first word of a record has its kind in the low 8 bits. A run has four words, a context
//! three, a stack seven and two for each word of it; an event has the number of its fields in bits 8 to 15, its number in the second word, and
//! a word for each field.

use omp_ring::context::{Context, HEAD_PAIRS, MAX_WORDS};

/// Words of the longest event.
pub(crate) const LONGEST: usize = 10;

/// What is looked for, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks(pub u8);

impl Checks {
    /// Data races.
    pub const RACE: Checks = Checks(1);
    /// Deadlocks and misuse.
    pub const DEADLOCK: Checks = Checks(2);
    /// Reads of uninitialised memory.
    pub const INIT: Checks = Checks(4);

    /// Whether all bits of `other` are set.
    pub fn has(self, other: Checks) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both.
    pub fn and(self, other: Checks) -> Checks {
        Checks(self.0 | other.0)
    }
}

/// Accesses of one instruction in one calling context, at addresses with one distance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The address of the first access.
    pub first: u64,
    /// Bytes from one access to the next; may be negative. 0: `count` is at least 1, and all are at
    /// one address.
    pub stride: i32,
    /// The number of accesses.
    pub count: u32,
    /// Bytes of one access; more than `MAX_SIZE` only with a `count` of 1, when `stride` is unused.
    pub size: u32,
    /// The return address of the call that reports the access.
    pub code: u64,
    /// The calling context: see [`Record::Context`].
    pub context: u32,
    /// See [`WRITE`], [`ATOMIC`], [`REPEATED`], [`UNWRITTEN`] and [`WRITTEN_ELSEWHERE`].
    pub kind: u8,
}

/// A mutex of POSIX threads; other kinds are `ompt_mutex_t`.
pub const MUTEX_POSIX: u8 = 64;
/// A POSIX lock taken by a reader: others may hold it so, too.
pub const MUTEX_POSIX_SHARED: u8 = 65;
/// A lock that the program has made itself, and declares.
pub const MUTEX_DECLARED: u8 = 66;
/// One taken by a reader.
pub const MUTEX_DECLARED_SHARED: u8 = 67;

/// Whether others may hold a mutex that was taken so, too.
pub fn is_shared(kind: u8) -> bool {
    matches!(kind, MUTEX_POSIX_SHARED | MUTEX_DECLARED_SHARED)
}

/// The kind of [`Event::Work`] for `master` and `masked`, which are no worksharing constructs.
pub const WORK_MASKED: u8 = 100;

/// An access that writes.
pub const WRITE: u8 = 1;
/// An atomic access.
pub const ATOMIC: u8 = 2;
/// Some accesses of a run were at the address of the one before, and are not counted.
pub const REPEATED: u8 = 4;

/// The object of `flush` in [`Event::Offer`] and [`Event::Notice`]: no address has it.
pub const FLUSH: u64 = 1 << 63;

/// A read of memory that nothing has written: no access to compare, but a finding.
pub const UNWRITTEN: u8 = 8;
/// Of such a read of a thread's own variable: the initial thread's has been written.
pub const WRITTEN_ELSEWHERE: u8 = 16;

/// No program has memory from here on: with five levels of page tables, the system takes the upper half
/// of 2^57 bytes.
const MEMORY_END: u64 = 1 << 56;

/// The most bytes of an access that is one of several of its run.
pub const MAX_SIZE: u32 = 0xffff;

impl Run {
    /// The record.
    #[inline]
    pub fn words(&self) -> [u64; 4] {
        // A block operation has its size where other runs have stride and count.
        let (size, last) = if self.size > MAX_SIZE {
            (0, u64::from(self.size))
        } else {
            let stride = u64::from(self.stride as u32) << 32;
            (u64::from(self.size), stride | u64::from(self.count))
        };
        [
            Kind::Run as u64
                | u64::from(self.kind) << 8
                | size << 16
                | u64::from(self.context) << 32,
            self.first,
            self.code,
            last,
        ]
    }

    /// `None`: no such series of accesses can be.
    fn parse(words: &[u64; 4]) -> Option<Run> {
        let [head, first, code, last] = *words;
        let size = (head >> 16) as u32 & MAX_SIZE;
        let (size, stride, count) = match size {
            0 => (last as u32, 0, 1),
            _ => (size, (last >> 32) as i32, (last as u32).max(1)),
        };
        let run = Run {
            first,
            stride,
            count,
            size,
            code,
            context: (head >> 32) as u32,
            kind: (head >> 8) as u8 & (WRITE | ATOMIC | REPEATED | UNWRITTEN | WRITTEN_ELSEWHERE),
        };
        (run.count == 1 || run.is_in_memory()).then_some(run)
    }

    /// Whether all of it is memory that a program can have. A single access that is not has never
    /// happened: it ended in a signal.
    pub fn is_in_memory(&self) -> bool {
        let length = i64::from(self.stride) * (i64::from(self.count) - 1);
        let last = self.first.checked_add_signed(length);
        last.is_some_and(|last| self.first.max(last) < MEMORY_END)
    }
}

/// A thread's calling contexts have lower numbers, those by its calls and those by its stack.
pub const MOST_CONTEXTS: usize = 1 << 15;

/// Bit of a calling context's number: it is a [`Record::Stack`] of the thread, and no [`Record::Context`].
pub const IS_STACK: u32 = 1 << 31;

/// The first word of a stack's record.
pub(crate) fn stack_head(id: u32, words: usize) -> u64 {
    Kind::Stack as u64 | (words as u64) << 8 | u64::from(id) << 32
}

/// Words of the record of a stack with so many words.
pub(crate) const fn stack_words(words: usize) -> usize {
    1 + 2 * (HEAD_PAIRS + words)
}

/// A record as read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// Accesses.
    Run(Run),
    /// The thread's calling context `id` is the call that returns to `code`, made in `parent`; 0 is
    /// the outermost.
    Context {
        /// The context.
        id: u32,
        /// The context of the function that calls.
        parent: u32,
        /// The call's return address.
        code: u64,
    },
    /// The thread's calling context with this number, which has [`IS_STACK`]: the stack from a call outward, of
    /// code that tells nothing of its calls.
    Stack(u32, Box<Context>),
    /// An event with its number.
    Event(u64, Event),
}

impl Record {
    /// The first record of `words`, and the number of its words. `None` if it is not whole or makes
    /// no sense.
    pub fn parse(words: &[u64]) -> Option<(Record, usize)> {
        let head = *words.first()?;
        let kind = head as u8;
        if kind == Kind::Run as u8 {
            return Some((Record::Run(Run::parse(words.first_chunk()?)?), 4));
        }
        if kind == Kind::Context as u8 {
            let [head, parent, code] = *words.first_chunk()?;
            let record = Record::Context {
                id: (head >> 32) as u32,
                parent: parent as u32,
                code,
            };
            return Some((record, 3));
        }
        if kind == Kind::Stack as u8 {
            let count = (head >> 8) as usize & 0xffff;
            let length = stack_words(count);
            let (pairs, _) = words.get(1..length)?.as_chunks();
            let context = Context::of_pairs(false, 0, pairs).filter(|_| count <= MAX_WORDS)?;
            let id = (head >> 32) as u32;
            return (id & IS_STACK != 0).then(|| (Record::Stack(id, Box::new(context)), length));
        }
        let fields = (head >> 8) as usize & 0xff;
        let number = *words.get(1)?;
        let event = Event::parse(kind, words.get(2..2 + fields)?)?;
        (number < u64::MAX && event.is_possible())
            .then_some((Record::Event(number, event), 2 + fields))
    }
}

macro_rules! events {
    ($($(#[$doc:meta])* $name:ident = $kind:literal {
        $($(#[$field_doc:meta])* $field:ident: $type:ty,)*
    })*) => {
        /// The kinds of records.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Kind {
            Run = 1,
            Context = 2,
            Stack = 44,
            $($name = $kind,)*
        }

        /// An event of the program. Enumerated values are those of the OpenMP specification's tools
        /// interface. `code` is the return address of the call at a construct, `context` the calling
        /// context of that call, `frame` an address between the frames of the program's code that called the
        /// runtime and those of what the runtime calls.
        #[allow(missing_docs)] // Fields that the event's own text or the lines above explain.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Event {
            $($(#[$doc])* $name { $($(#[$field_doc])* $field: $type,)* },)*
        }

        impl Event {
            /// The words of the event with this number, and how many of them count.
            #[inline]
            pub(crate) fn words(&self, number: u64) -> ([u64; LONGEST], usize) {
                let mut words = [0; LONGEST];
                match *self {
                    $(Event::$name { $($field,)* } => {
                        let fields: &[u64] = &[$($field as u64,)*];
                        words[0] = Kind::$name as u64 | (fields.len() as u64) << 8;
                        words[1] = number;
                        let length = 2 + fields.len();
                        if let Some(to) = words.get_mut(2..length) {
                            to.copy_from_slice(fields);
                        }
                        (words, length)
                    })*
                }
            }

            fn parse(kind: u8, fields: &[u64]) -> Option<Event> {
                $(if kind == Kind::$name as u8 {
                    #[allow(unused_mut, unused_variables)]
                    let mut fields = fields.iter();
                    return Some(Event::$name { $($field: *fields.next()? as $type,)* });
                })*
                None
            }
        }
    };
}

impl Event {
    /// Whether the memory of which it tells can be.
    fn is_possible(&self) -> bool {
        let are_bounds = |begin: u64, end: u64| begin <= end && end < MEMORY_END;
        match *self {
            Event::ThreadBegin {
                stack,
                stack_end,
                tls,
                tls_end,
                ..
            } => are_bounds(stack, stack_end) && are_bounds(tls, tls_end),
            Event::Alloc { address, bytes, .. } => {
                are_bounds(address, address.saturating_add(bytes))
            }
            Event::LockInit { lock, .. } | Event::LockDestroy { lock, .. } => lock < MEMORY_END,
            _ => true,
        }
    }
}

events! {
    /// The first event of a thread.
    ThreadBegin = 3 {
        /// The thread's id.
        thread: u32,
        /// The bounds of its stack.
        stack: u64, stack_end: u64,
        /// The bounds of its thread-local storage.
        tls: u64, tls_end: u64,
        /// The object of [`Event::CreatesThread`]; 0: no thread of the program created it.
        created: u64,
    }
    /// Its last event.
    ThreadEnd = 4 {}
    /// The thread's task forks a parallel region, and asks for so many threads. `body` and `data`: the
    /// function that each thread calls, and the block of variables that it gets; 0 where the runtime
    /// does not tell.
    Fork = 5 {
        region: u64, flags: u32, threads: u32, code: u64, context: u32, frame: u64, body: u64, data: u64,
    }
    /// The region has ended.
    Join = 6 { region: u64, }
    /// The thread begins an implicit task with this index in a team of `size`; `frame`: an address
    /// above the task's own frames, 0: the whole stack is the task's.
    Implicit = 7 { region: u64, index: u32, size: u32, frame: u64, }
    /// It ends.
    ImplicitEnd = 8 { region: u64, }
    /// The thread comes to a barrier (`ompt_sync_region_t`).
    Arrive = 9 { kind: u8, code: u64, context: u32, }
    /// It leaves it.
    Leave = 10 { kind: u8, }
    /// The current task creates an explicit task (`ompt_task_flag_t`).
    Create = 11 { task: u64, flags: u32, code: u64, context: u32, frame: u64, }
    /// The task just created depends on a variable (`ompt_dependence_type_t`).
    Depend = 12 { task: u64, address: u64, kind: u8, }
    /// The thread leaves explicit task `from`, 0: its implicit task, with this status
    /// (`ompt_task_status_t`), and goes on with `to`.
    Switch = 13 { from: u64, to: u64, status: u8, frame: u64, }
    /// The current task has waited for its children.
    Taskwait = 14 { code: u64, }
    /// The current task begins a taskgroup.
    GroupBegin = 15 { code: u64, }
    /// It ends it and has waited.
    GroupEnd = 16 { code: u64, }
    /// The thread comes to a worksharing construct (`ompt_work_t`).
    Work = 17 { kind: u8, code: u64, context: u32, count: u64, }
    /// It leaves it.
    WorkEnd = 18 { kind: u8, }
    /// It begins a chunk of a loop, or a section: what follows is a strand of its own.
    Chunk = 19 { first: u64, count: u64, }
    /// The thread asks for a mutex (`ompt_mutex_t`).
    Want = 20 { kind: u8, lock: u64, code: u64, context: u32, }
    /// It has it.
    Acquired = 21 { kind: u8, lock: u64, code: u64, context: u32, }
    /// It gives it back; written before others can have it.
    Released = 22 { kind: u8, lock: u64, code: u64, context: u32, }
    /// A lock is made. `lock` 0: memory has gone in which there may have been locks.
    LockInit = 23 { kind: u8, lock: u64, code: u64, context: u32, }
    /// A lock is destroyed.
    LockDestroy = 24 { kind: u8, lock: u64, code: u64, context: u32, }
    /// What follows an [`Event::Await`] of the same object comes after what stands before this.
    Signal = 25 { object: u64, }
    /// See [`Event::Signal`].
    Await = 26 { object: u64, }
    /// A heap block. `caller`: where the innermost function that told of its begin called what allocates;
    /// 0 if unknown.
    Alloc = 27 { address: u64, bytes: u64, code: u64, caller: u64, context: u32, }
    /// It is given back.
    Free = 28 { address: u64, code: u64, context: u32, }
    /// Like [`Event::Signal`], but by chance: a value that another thread may read or not.
    Offer = 29 { object: u64, }
    /// Like [`Event::Await`], of [`Event::Offer`].
    Notice = 30 { object: u64, }
    /// The program asked for the number of its thread in this task; `code` 0: of something else that
    /// each thread has for itself.
    AsksThread = 31 { code: u64, }
    /// The thread comes to a loop with an `ordered` clause; its [`Event::Work`] is next to this.
    OrderedClause = 40 { code: u64, context: u32, }
    /// The program asks for another number of threads (`omp_set_num_threads`).
    SetsThreads = 41 { code: u64, context: u32, }
    /// The program asks for that number (`omp_get_max_threads`).
    AsksThreads = 42 {}
    /// The task creates a thread by the call that returns to `code`: [`Event::Signal`] of `object`.
    CreatesThread = 43 { object: u64, code: u64, context: u32, }
    /// A frame of the stack at the next [`Event::Fork`], [`Event::Create`] or [`Event::CreatesThread`], the `depth`th from the
    /// outermost: the call that returns to `code`, and the stack and frame pointers in the function
    /// called. Frames at lower depths are as they were told last.
    Frame = 32 { depth: u32, code: u64, stack: u64, base: u64, }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_were_written() {
        let run = Run {
            first: 0x7fff_1234_5678,
            stride: -8,
            count: 1000,
            size: 8,
            code: 0x40_1234,
            context: 77,
            kind: WRITE | ATOMIC,
        };
        let block = Run {
            stride: 0,
            count: 1,
            size: 1 << 20,
            ..run
        };
        let event = Event::Implicit {
            region: 1 << 40,
            index: 3,
            size: 4,
            frame: 0x7ffe,
        };
        let mut words = Vec::new();
        words.extend(run.words());
        words.extend(block.words());
        let (event_words, length) = event.words(9);
        words.extend(&event_words[..length]);
        let mut rest = &words[..];
        let mut read = Vec::new();
        while let Some((record, used)) = Record::parse(rest) {
            read.push(record);
            rest = &rest[used..];
        }
        assert!(rest.is_empty());
        let expected = [
            Record::Run(run),
            Record::Run(block),
            Record::Event(9, event),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn words_that_are_no_record_are_refused() {
        for words in [
            &[][..],
            &[0],
            &[0xff],
            &[1, 2, 3],
            &[7 | 4 << 8, 1, 2],
            &[7 | 1 << 8, 1, 2],
            // A series that leaves all memory, a block and a lock beyond it, and bounds the wrong way round.
            &[1 | 8 << 16, (1 << 56) - 8, 3, 8 << 32 | u32::MAX as u64],
            &[1 | 8 << 16, 64, 3, (-8i32 as u32 as u64) << 32 | 10],
            &[27 | 5 << 8, 1, 64, u64::MAX, 3, 0, 0],
            &[23 | 4 << 8, 1, 1, u64::MAX, 0, 0],
            &[3 | 6 << 8, 1, 1, 64, 32, 0, 0, 0],
        ] {
            assert_eq!(Record::parse(words), None, "{words:?}");
        }
    }
}
