//! Calls between ranks: how often each function, class, pair of ranks or piece of memory had them, how long they took, and
//! how much they moved; by rank and by call.

use std::collections::BTreeMap;

use ::mpi::Interface;
use ::mpi::pgas::Class;
use experiment::Packed;
use experiment::ids::{FrameId, ObjectId};
use experiment::rows::{MessageEnd, MpiCall, MpiMessage};
use rustc_hash::FxHashMap;

use super::ranks::{RankId, Ranks};
use crate::views::names::Names;
use crate::views::openmp::locations::ConstructLocation;

/// Calls of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calls {
    /// Their number.
    pub count: u64,
    /// Seconds in all of them.
    pub seconds: f64,
    /// Seconds of the longest.
    pub longest: f64,
    /// Bytes that they sent.
    pub sent: u64,
    /// Bytes that they received.
    pub received: u64,
    /// Bytes of memory that they made.
    pub allocated: u64,
}

impl Calls {
    /// Those of a row. Calls that asked in vain are recorded together: each has its part of their time.
    pub fn of(call: &MpiCall) -> Calls {
        let seconds = call.length.seconds();
        let count = u64::from(call.count).max(1);
        let is_allocation = ::mpi::class(call.function) == Some(Class::Allocation);
        let (received, allocated) = if is_allocation {
            (0, call.received)
        } else {
            (call.received, 0)
        };
        Calls {
            count,
            seconds,
            longest: seconds / count as f64,
            sent: call.sent,
            received,
            allocated,
        }
    }

    /// Adds others.
    pub fn add(&mut self, other: &Calls) {
        self.count += other.count;
        self.seconds += other.seconds;
        self.longest = self.longest.max(other.longest);
        self.sent = self.sent.saturating_add(other.sent);
        self.received = self.received.saturating_add(other.received);
        self.allocated = self.allocated.saturating_add(other.allocated);
    }

    /// Seconds of a call in the mean.
    pub fn mean(&self) -> f64 {
        self.seconds / self.count.max(1) as f64
    }
}

/// What calls are put together by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// The function's number.
    Function(u16),
    /// The class of the operation.
    Class(Interface, Class),
    /// The calling rank, and the other one.
    Pair(RankId, RankId),
    /// The memory.
    Object(ObjectId),
}

impl Key {
    /// That of a function of MPI.
    pub fn of_function(call: &MpiCall, _: RankId) -> Option<Key> {
        let is_of_mpi = Interface::of(call.function) == Interface::Mpi;
        is_of_mpi.then_some(Key::Function(call.function))
    }

    /// The class of one-sided operations and of all calls of interfaces without messages.
    pub fn of_class(call: &MpiCall, _: RankId) -> Option<Key> {
        let class = ::mpi::class(call.function)?;
        Some(Key::Class(Interface::of(call.function), class))
    }

    /// The ranks of an access to the memory of one other rank, or of a lock or event there.
    pub fn of_pair(call: &MpiCall, rank: RankId) -> Option<Key> {
        let class = ::mpi::class(call.function)?;
        let to = RankId {
            number: call.peer.checked_sub(1)?,
            ..rank
        };
        let is_of_all = matches!(class, Class::Collective | Class::Barrier);
        (!is_of_all).then_some(Key::Pair(rank, to))
    }

    /// The memory of an access, a lock or an event.
    pub fn of_object(call: &MpiCall, _: RankId) -> Option<Key> {
        ::mpi::pgas::pgas(call.function)?;
        (call.object != ObjectId::NONE).then_some(Key::Object(call.object))
    }

    fn name(self, names: &Names<'_>, ranks: &Ranks<'_>) -> String {
        match self {
            Key::Function(function) => name(function),
            Key::Class(interface, class) => format!("{} {}", interface.name(), class.name()),
            Key::Pair(from, to) if from == to => format!("{} itself", ranks.number(from)),
            Key::Pair(from, to) => format!("{} to {}", ranks.number(from), ranks.number(to)),
            Key::Object(id) => object_name(names, id),
        }
    }
}

/// The name of a piece of memory: of its variable, or by the call that allocated it.
fn object_name(names: &Names<'_>, id: ObjectId) -> String {
    let object = names.tables.objects.get(id.0);
    let Some(object) = object else {
        return "?".to_owned();
    };
    if object.allocation != FrameId::NONE {
        let site = ConstructLocation::of_innermost(names, object.allocation);
        return match &site.function {
            Some(function) => format!("allocated at {} ({function})", site.short()),
            None => format!("allocated at {}", site.short()),
        };
    }
    match names.symbols.lock_name(object.variable) {
        Some(name) => name.to_owned(),
        None if object.variable != FrameId::NONE => "a variable without a name".to_owned(),
        None => {
            "memory that is neither allocated in sight of the recorder nor a variable".to_owned()
        }
    }
}

/// A function of MPI, or what else calls are put together by.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FunctionRow {
    /// What it is; `None` for all together.
    pub key: Option<Key>,
    /// Its name.
    pub name: String,
    /// Its calls in all ranks.
    pub of_all: Calls,
    /// Those of each rank, longest first.
    pub by_rank: Vec<(RankId, Calls)>,
    /// Those of each function, by its number, longest first.
    pub functions: Vec<(u16, Calls)>,
    /// Those of each call in the program, longest first.
    pub sites: Vec<(ConstructLocation, Calls)>,
}

impl FunctionRow {
    /// All functions together, without their calls in the program; `None` if there is none.
    pub fn total<'r>(rows: impl Iterator<Item = &'r FunctionRow>) -> Option<FunctionRow> {
        let mut by_rank = BTreeMap::<RankId, Calls>::new();
        let mut of_all = Calls::default();
        for row in rows {
            of_all.add(&row.of_all);
            for (rank, calls) in &row.by_rank {
                by_rank.entry(*rank).or_default().add(calls);
            }
        }
        (of_all.count > 0).then(|| FunctionRow {
            key: None,
            name: String::new(),
            of_all,
            by_rank: sorted(by_rank),
            functions: Vec::new(),
            sites: Vec::new(),
        })
    }
}

/// The name of a function of MPI by its number.
pub fn name(function: u16) -> String {
    ::mpi::name(function).map_or_else(|| format!("MPI function {function}"), str::to_owned)
}

/// The functions of MPI that were called, those with most time first.
pub fn functions(
    calls: &Packed<MpiCall>,
    names: &Names<'_>,
    ranks: &Ranks<'_>,
) -> Vec<FunctionRow> {
    grouped(calls, names, ranks, Key::of_function)
}

/// Calls by what `key` says of each, those with most time first; calls of which it says nothing are left out.
pub fn grouped(
    calls: &Packed<MpiCall>,
    names: &Names<'_>,
    ranks: &Ranks<'_>,
    key: fn(&MpiCall, RankId) -> Option<Key>,
) -> Vec<FunctionRow> {
    let mut sums = FxHashMap::<(Key, u16, FrameId, RankId), Calls>::default();
    for call in calls.iter() {
        let rank = ranks.of_thread(call.thread);
        let Some(key) = key(&call, rank) else {
            continue;
        };
        let place = (key, call.function, call.call, rank);
        sums.entry(place).or_default().add(&Calls::of(&call));
    }
    #[derive(Default)]
    struct Parts {
        by_rank: BTreeMap<RankId, Calls>,
        functions: BTreeMap<u16, Calls>,
        sites: BTreeMap<ConstructLocation, Calls>,
    }
    // Several pieces of memory have one name: an array's elements, and the same variable in each rank.
    let mut named = BTreeMap::<String, Key>::new();
    let mut known = FxHashMap::<Key, Key>::default();
    let mut parts = BTreeMap::<Key, Parts>::new();
    for ((key, function, call, rank), calls) in sums {
        let key = *known.entry(key).or_insert_with(|| {
            let name = key.name(names, ranks);
            *named.entry(name).or_insert(key)
        });
        let of = parts.entry(key).or_default();
        of.by_rank.entry(rank).or_default().add(&calls);
        of.functions.entry(function).or_default().add(&calls);
        let site = ConstructLocation::of_innermost(names, call);
        of.sites.entry(site).or_default().add(&calls);
    }
    let row = |(key, of): (Key, Parts)| {
        let mut of_all = Calls::default();
        of.by_rank.values().for_each(|calls| of_all.add(calls));
        FunctionRow {
            key: Some(key),
            name: key.name(names, ranks),
            of_all,
            by_rank: sorted(of.by_rank),
            functions: sorted(of.functions),
            sites: sorted(of.sites),
        }
    };
    let mut rows: Vec<FunctionRow> = parts.into_iter().map(row).collect();
    rows.sort_by(|one, other| other.of_all.seconds.total_cmp(&one.of_all.seconds));
    rows
}

/// Messages from one rank to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    /// Their number.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The bytes of the largest.
    pub largest: u64,
}

/// The messages by sender and receiver, as senders tell of them; most bytes first.
pub fn messages(messages: &Packed<MpiMessage>, ranks: &Ranks<'_>) -> Vec<([RankId; 2], Messages)> {
    let mut sums = BTreeMap::<[RankId; 2], Messages>::new();
    for message in messages.iter().filter(|it| it.end == MessageEnd::Sent) {
        let from = ranks.of_thread(message.thread);
        let to = RankId {
            number: message.peer,
            ..from
        };
        let sum = sums.entry([from, to]).or_default();
        sum.count += 1;
        sum.bytes = sum.bytes.saturating_add(message.bytes);
        sum.largest = sum.largest.max(message.bytes);
    }
    let mut pairs: Vec<_> = sums.into_iter().collect();
    pairs.sort_by_key(|(_, it)| std::cmp::Reverse((it.bytes, it.count)));
    pairs
}

/// The longest first.
fn sorted<K>(parts: BTreeMap<K, Calls>) -> Vec<(K, Calls)> {
    let mut parts: Vec<(K, Calls)> = parts.into_iter().collect();
    parts.sort_by(|one, other| other.1.seconds.total_cmp(&one.1.seconds));
    parts
}

#[cfg(test)]
mod tests {
    use ::mpi::Function;
    use experiment::ids::{Nanos, ThreadId};

    use super::*;
    use crate::mpi::ranks::tests::recording;
    use crate::views::openmp::test_run::TestRun;

    fn call(thread: u32, function: Function, length: u64, bytes: [u64; 2]) -> MpiCall {
        MpiCall {
            thread: ThreadId(thread),
            start: Nanos(10),
            length: Nanos(length),
            count: 1,
            function: function as u16,
            call: FrameId::NONE,
            comm: 1,
            peer: 0,
            object: ObjectId::NONE,
            sent: bytes[0],
            received: bytes[1],
        }
    }

    #[test]
    fn calls_add_up_by_function_and_rank() {
        let test = TestRun::new(2, 100);
        let recordings = [recording("a", 0, 2, 0), recording("a", 1, 2, 0)];
        let ranks = Ranks::of(&recordings, &[1, 2]);
        let polls = MpiCall {
            count: 4,
            ..call(1, Function::MPI_Test, 800, [0, 0])
        };
        let calls = Packed::from_iter([
            call(0, Function::MPI_Send, 1_000, [8, 0]),
            call(1, Function::MPI_Recv, 3_000, [0, 8]),
            call(1, Function::MPI_Send, 2_000, [16, 0]),
            polls,
            call(0, Function::MPI_Send, 4_000, [4, 0]),
        ]);
        let rows = functions(&calls, &test.names(), &ranks);
        let names: Vec<&str> = rows.iter().map(|row| &*row.name).collect();
        assert_eq!(names, ["MPI_Send", "MPI_Recv", "MPI_Test"]);
        let of = |row: &FunctionRow| -> Vec<(u32, u64, f64)> {
            let by_rank = row.by_rank.iter();
            by_rank
                .map(|(rank, it)| (rank.number, it.count, (it.seconds * 1e9).round()))
                .collect()
        };
        assert_eq!(of(&rows[0]), [(0, 2, 5e3), (1, 1, 2e3)]);
        assert_eq!((rows[0].of_all.sent, rows[1].of_all.received), (28, 8));
        assert_eq!(
            (rows[0].of_all.longest, rows[2].of_all.longest),
            (4e-6, 2e-7)
        );
        assert_eq!(rows[2].of_all.count, 4);
        let total = FunctionRow::total(rows.iter()).unwrap_or_default();
        assert_eq!(total.of_all.count, 8);
        assert_eq!(of(&total)[0].0, 1, "the rank with most time");
        assert_eq!(FunctionRow::total([].iter()), None);
    }

    #[test]
    fn accesses_add_up_by_class_and_pair() {
        let test = TestRun::new(2, 100);
        let recordings = [recording("a", 0, 2, 0), recording("a", 1, 2, 0)];
        let ranks = Ranks::of(&recordings, &[1, 2]);
        let of = |place: ::mpi::shmem::Function| Interface::Shmem.function(place as u16);
        let access = |thread: u32, place, peer: u32, bytes: [u64; 2]| MpiCall {
            function: of(place),
            peer,
            ..call(thread, Function::MPI_Put, 1_000, bytes)
        };
        use ::mpi::shmem::Function as Shmem;
        let calls = Packed::from_iter([
            access(0, Shmem::shmem_long_put, 2, [80, 0]),
            access(0, Shmem::shmem_double_p, 2, [8, 0]),
            access(1, Shmem::shmem_long_get, 2, [0, 40]),
            access(1, Shmem::shmem_broadcast64, 1, [0, 16]),
            access(0, Shmem::shmem_malloc, 0, [0, 4_000]),
            call(0, Function::MPI_Put, 2_000, [24, 0]),
            call(0, Function::MPI_Send, 2_000, [24, 0]),
        ]);
        let names = test.names();
        let all = |key| grouped(&calls, &names, &ranks, key);
        let classes = all(Key::of_class);
        let sums = |name: &str| {
            let row = classes.iter().find(|row| row.name == name).unwrap();
            let of = row.of_all;
            (of.count, of.sent, of.received, of.allocated)
        };
        assert_eq!(classes.len(), 5);
        assert_eq!(sums("OpenSHMEM put"), (2, 88, 0, 0));
        assert_eq!(sums("OpenSHMEM allocation"), (1, 0, 0, 4_000));
        assert_eq!(sums("MPI put"), (1, 24, 0, 0));
        let puts = classes.iter().find(|row| row.name == "OpenSHMEM put");
        assert_eq!(puts.unwrap().functions.len(), 2);
        let pairs: Vec<_> = all(Key::of_pair)
            .into_iter()
            .map(|row| (row.name, row.of_all.sent + row.of_all.received))
            .collect();
        let pairs: std::collections::BTreeMap<String, u64> = pairs.into_iter().collect();
        assert_eq!(
            pairs.into_iter().collect::<Vec<_>>(),
            [("0 to 1".to_owned(), 88), ("1 itself".to_owned(), 40)]
        );
        assert_eq!(all(Key::of_function).len(), 2, "MPI's");
    }

    #[test]
    fn messages_add_up_by_sender_and_receiver_and_are_counted_once() {
        let recordings = [recording("a", 0, 2, 0), recording("a", 1, 2, 0)];
        let ranks = Ranks::of(&recordings, &[1, 2]);
        let message = |thread, end, peer, bytes| MpiMessage {
            thread: ThreadId(thread),
            end,
            posted: Nanos(0),
            length: Nanos(1),
            peer,
            tag: 0,
            comm: 1,
            bytes,
        };
        let all = Packed::from_iter([
            message(0, MessageEnd::Sent, 1, 8),
            message(1, MessageEnd::Received, 0, 8),
            message(0, MessageEnd::Sent, 1, 24),
            message(1, MessageEnd::Sent, 0, 100),
            message(1, MessageEnd::LockShared, 0, 0),
        ]);
        let pairs = messages(&all, &ranks);
        let numbers = pairs
            .iter()
            .map(|([from, to], it)| (from.number, to.number, it.count, it.bytes, it.largest));
        assert!(numbers.eq([(1, 0, 1, 100, 100), (0, 1, 2, 32, 24)]));
    }

    #[test]
    fn a_function_of_a_later_version_has_its_number() {
        assert_eq!(name(u16::MAX), "MPI function 65535");
    }
}
