//! Mutexes: locks, critical sections, atomic operations and the turns of `ordered`; one row for each
//! name.

use std::collections::{BTreeMap, BTreeSet};

use experiment::ids::{FrameId, LockId, ThreadId};
use experiment::rows::LockSum;
use experiment::tables::{Lock, Mutex};
use rustc_hash::FxHashMap;

use super::Measured;
use super::locations::ConstructLocation;
use crate::views::names::Names;

/// A mutex, or those that share a name: the locks of an array, the critical sections of a name.
#[derive(Clone, Debug, PartialEq)]
pub struct LockRow {
    /// The name shown: `OMP lock table`, `OMP critical section`.
    pub name: String,
    /// Where a lock is initialised; else the call that waits for it longest.
    pub location: ConstructLocation,
    /// The kind of mutex.
    pub kind: Mutex,
    /// The number of mutexes; 0 if the threads had too many to tell them apart.
    pub mutexes: usize,
    /// Acquisitions, waits and holds of all threads.
    pub of_all: Acquisitions,
    /// Those of each thread, longest wait first.
    pub threads: Vec<(ThreadId, Acquisitions)>,
    /// The code locations that acquire it, longest wait first.
    pub sites: Vec<(ConstructLocation, Acquisitions)>,
    /// Who waited for whom, longest first; waits of a few microseconds are not among them.
    pub waits: Vec<WaitedFor>,
}

/// Acquisitions of a mutex.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Acquisitions {
    /// Their number.
    pub count: u64,
    /// Those that waited.
    pub contended: u64,
    /// Seconds of these waits.
    pub wait: f64,
    /// Seconds from acquisitions to releases.
    pub held: f64,
    /// The longest of these times in seconds.
    pub longest: f64,
}

/// The waits in one place for those who had acquired the mutex in another.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitedFor {
    /// The place that waited.
    pub waiter: ConstructLocation,
    /// The place that acquired the mutex before; `None` if unknown.
    pub holder: Option<ConstructLocation>,
    /// The number of waits that began meanwhile.
    pub count: u64,
    /// Seconds.
    pub seconds: f64,
}

impl Acquisitions {
    fn of(sum: &LockSum) -> Acquisitions {
        Acquisitions {
            count: sum.acquisitions,
            contended: sum.contended,
            wait: sum.wait.seconds(),
            held: sum.held.seconds(),
            longest: sum.longest.seconds(),
        }
    }

    fn add(&mut self, other: Acquisitions) {
        self.count += other.count;
        self.contended += other.contended;
        self.wait += other.wait;
        self.held += other.held;
        self.longest = self.longest.max(other.longest);
    }

    /// Seconds of a hold in the mean.
    pub fn mean_hold(&self) -> f64 {
        self.held / self.count.max(1) as f64
    }

    /// Seconds of a wait in the mean.
    pub fn mean_wait(&self) -> f64 {
        self.wait / self.contended.max(1) as f64
    }
}

impl LockRow {
    /// The wall time that would be saved if no thread had to wait for it.
    pub fn gain(&self) -> f64 {
        self.of_all.wait / self.threads.len().max(1) as f64
    }

    /// Adds a row of the same name, of a report that does not distinguish the two.
    pub fn absorb(&mut self, other: LockRow) {
        self.mutexes += other.mutexes;
        self.of_all.add(other.of_all);
        for (thread, part) in other.threads {
            add(&mut self.threads, thread, part);
        }
        for (site, part) in other.sites {
            add(&mut self.sites, site, part);
        }
        self.waits.extend(other.waits);
        self.sort();
    }

    fn sort(&mut self) {
        sort(&mut self.threads);
        sort(&mut self.sites);
        self.waits.sort_by(|left, right| {
            let longer = right.seconds.total_cmp(&left.seconds);
            longer.then_with(|| left.waiter.cmp(&right.waiter))
        });
    }
}

/// Adds to what a key has.
fn add<K: PartialEq>(parts: &mut Vec<(K, Acquisitions)>, key: K, more: Acquisitions) {
    match parts.iter_mut().find(|(known, _)| *known == key) {
        Some((_, sum)) => sum.add(more),
        None => parts.push((key, more)),
    }
}

/// Sorts by waits, then by acquisitions, then by key.
fn sort<K: Ord>(parts: &mut [(K, Acquisitions)]) {
    parts.sort_by(|left, right| {
        let longer = right.1.wait.total_cmp(&left.1.wait);
        longer
            .then(right.1.count.cmp(&left.1.count))
            .then_with(|| left.0.cmp(&right.0))
    });
}

/// What the mutexes of a row have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Identity {
    kind: Mutex,
    /// Of a variable, or of a lock that was initialised in the sight of the recorder.
    name: Option<String>,
    /// Where it is initialised, or acquired if it has no name.
    place: Option<ConstructLocation>,
    /// What distinguishes critical sections without a name.
    address: u64,
}

/// Every mutex, longest wait first, then most acquisitions.
pub fn locks(names: &Names<'_>, measured: &Measured<'_>) -> Vec<LockRow> {
    let mut places = Places {
        names,
        calls: FxHashMap::default(),
    };
    let mut rows = BTreeMap::<Identity, (LockRow, BTreeSet<LockId>)>::new();
    for sum in measured.lock_sums.iter() {
        let Some(&lock) = names.tables.locks.get(sum.lock.0) else {
            continue;
        };
        let identity = places.identity(&lock, sum.call);
        let (row, mutexes) = rows
            .entry(identity)
            .or_insert_with_key(|identity| (empty(identity), BTreeSet::new()));
        let more = Acquisitions::of(&sum);
        row.of_all.add(more);
        add(&mut row.threads, sum.thread, more);
        add(&mut row.sites, places.of(lock.kind, sum.call), more);
        mutexes.insert(sum.lock);
    }
    for wait in measured.lock_waits.iter() {
        let Some(&lock) = names.tables.locks.get(wait.lock.0) else {
            continue;
        };
        let Some((row, _)) = rows.get_mut(&places.identity(&lock, wait.waiter)) else {
            continue;
        };
        let waiter = places.of(lock.kind, wait.waiter);
        let holder = (wait.holder != FrameId::NONE).then(|| places.of(lock.kind, wait.holder));
        let known = row
            .waits
            .iter_mut()
            .find(|it| it.waiter == waiter && it.holder == holder);
        match known {
            Some(sum) => {
                sum.count += wait.count;
                sum.seconds += wait.time.seconds();
            }
            None => row.waits.push(WaitedFor {
                waiter,
                holder,
                count: wait.count,
                seconds: wait.time.seconds(),
            }),
        }
    }
    let rows = rows.into_values().map(|(mut row, mutexes)| {
        let lock = |id: &LockId| names.tables.locks.get(id.0);
        let are_told_apart = mutexes
            .iter()
            .all(|id| lock(id).is_some_and(|it| it.address != 0));
        row.mutexes = if are_told_apart { mutexes.len() } else { 0 };
        row.sort();
        if row.location == ConstructLocation::default() {
            row.location = row.sites.first().map(|it| it.0.clone()).unwrap_or_default();
        }
        row
    });
    let mut rows: Vec<LockRow> = rows.collect();
    rows.sort_by(|left, right| {
        let longer = right.of_all.wait.total_cmp(&left.of_all.wait);
        longer
            .then(right.of_all.count.cmp(&left.of_all.count))
            .then_with(|| left.location.cmp(&right.location))
    });
    rows
}

/// The names of mutexes, as in their rows, by the calls that acquire them. Where a call acquires mutexes of
/// several names, it has that of their kind.
pub fn names_by_call(names: &Names<'_>, measured: &Measured<'_>) -> FxHashMap<FrameId, String> {
    let mut places = Places {
        names,
        calls: FxHashMap::default(),
    };
    let mut known = FxHashMap::<FrameId, Identity>::default();
    for sum in measured.lock_sums.iter() {
        let Some(lock) = names.tables.locks.get(sum.lock.0) else {
            continue;
        };
        let identity = places.identity(lock, sum.call);
        let name = identity.name.clone();
        let all = known.entry(sum.call).or_insert(identity);
        if all.name != name {
            all.name = None;
        }
    }
    let names = known.iter();
    names.map(|(&call, all)| (call, name(all))).collect()
}

/// A row without acquisitions.
fn empty(identity: &Identity) -> LockRow {
    LockRow {
        name: name(identity),
        location: identity.place.clone().unwrap_or_default(),
        kind: identity.kind,
        mutexes: 0,
        of_all: Acquisitions::default(),
        threads: Vec::new(),
        sites: Vec::new(),
        waits: Vec::new(),
    }
}

/// `OMP lock table`, `OMP critical section`.
fn name(identity: &Identity) -> String {
    let kind = match identity.kind {
        Mutex::Lock => "OMP lock",
        Mutex::NestLock => "OMP nestable lock",
        Mutex::Critical => "OMP critical section",
        Mutex::Atomic => "OMP atomic",
        Mutex::Ordered => "OMP ordered",
    };
    match identity.name.as_deref() {
        Some(name) if !name.is_empty() => format!("{kind} {name}"),
        _ => kind.to_owned(),
    }
}

/// The code locations of calls.
struct Places<'a> {
    names: &'a Names<'a>,
    calls: FxHashMap<FrameId, ConstructLocation>,
}

impl Places<'_> {
    /// The location of a call that acquires a mutex of a kind, or initialises it.
    fn of(&mut self, kind: Mutex, call: FrameId) -> ConstructLocation {
        let known = self.calls.entry(call);
        let names = self.names;
        let place = known.or_insert_with(|| match kind {
            // gcc gives it the line of the statement before it, which may be inlined.
            Mutex::Ordered => ConstructLocation::of_outermost(names, call),
            _ => ConstructLocation::of_innermost(names, call),
        });
        place.clone()
    }

    /// What a mutex that is acquired in this call shares with others of its row.
    fn identity(&mut self, lock: &Lock, call: FrameId) -> Identity {
        let name = |of: FrameId| self.names.symbols.lock_name(of).map(str::to_owned);
        let variable = name(lock.variable);
        let identity = Identity {
            kind: lock.kind,
            name: None,
            place: None,
            address: 0,
        };
        match lock.kind {
            Mutex::Lock | Mutex::NestLock => {
                let has_init = lock.init != FrameId::NONE;
                let name = variable.or_else(|| name(lock.init));
                let is_named = name.is_some();
                Identity {
                    name,
                    // Files may have variables of the same name.
                    place: if has_init {
                        Some(self.of(lock.kind, lock.init))
                    } else {
                        (!is_named).then(|| self.of(lock.kind, call))
                    },
                    ..identity
                }
            }
            Mutex::Critical => Identity {
                address: if variable.is_none() { lock.address } else { 0 },
                name: variable,
                ..identity
            },
            Mutex::Atomic => identity,
            Mutex::Ordered => Identity {
                place: Some(self.of(lock.kind, call)),
                ..identity
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use experiment::Packed;
    use experiment::ids::{ModuleId, Nanos, ProcessId};
    use experiment::rows::LockWait;
    use experiment::symbols::{FileId, FrameSymbol, InlinedLine, SourceLine};
    use experiment::tables::Frame;

    use super::super::test_run::{MS, TestRun, close};
    use super::*;

    /// A run of two threads, and the frames of two calls.
    fn run() -> (TestRun, [FrameId; 2]) {
        let mut test = TestRun::new(2, 100);
        let calls = [0x10, 0x20].map(|address| {
            test.tables.frame(Frame {
                module: ModuleId::NONE,
                address,
            })
        });
        test.symbols.files = vec!["a.c".to_owned()];
        test.symbols.frames = vec![FrameSymbol::default(); 3];
        for (call, line) in calls.into_iter().zip([7, 9]) {
            let file = FileId(0);
            test.symbols.frames[call.index()].lines = vec![InlinedLine {
                function: Some("f".to_owned()),
                source: SourceLine { file, line },
            }];
        }
        (test, calls)
    }

    fn sum(lock: LockId, thread: u32, call: FrameId, wait: u64) -> LockSum {
        LockSum {
            slice: 0,
            thread: ThreadId(thread),
            lock,
            call,
            acquisitions: 10,
            contended: u64::from(wait > 0),
            wait: Nanos(wait * MS),
            held: Nanos(5 * MS),
            longest: Nanos(u64::from(thread + 1) * MS),
        }
    }

    fn lock(test: &mut TestRun, kind: Mutex, address: u64, variable: FrameId) -> LockId {
        test.tables.lock(Lock {
            process: ProcessId(0),
            kind,
            address,
            variable,
            init: FrameId::NONE,
        })
    }

    #[test]
    fn mutexes_of_one_name_are_one_row_with_their_calls_and_threads() {
        let (mut test, [first, second]) = run();
        let variables = [0x1000, 0x1008].map(|address| {
            test.tables.frame(Frame {
                module: ModuleId::NONE,
                address,
            })
        });
        let table = variables.map(|it| (it, "table".to_owned()));
        test.symbols.lock_names = table.to_vec();
        let locks = variables.map(|it| lock(&mut test, Mutex::Lock, u64::from(it.0), it));
        let section = lock(&mut test, Mutex::Critical, 0x40, FrameId::NONE);
        test.lock_sums = Packed::from_iter([
            sum(locks[0], 0, first, 0),
            sum(locks[1], 1, second, 3),
            sum(locks[1], 0, first, 1),
            sum(section, 1, second, 7),
        ]);
        test.lock_waits = Packed::from_iter([
            LockWait {
                lock: locks[1],
                waiter: second,
                holder: first,
                count: 1,
                time: Nanos(2 * MS),
            },
            LockWait {
                lock: locks[0],
                waiter: second,
                holder: first,
                count: 2,
                time: Nanos(MS),
            },
            LockWait {
                lock: locks[0],
                waiter: first,
                holder: FrameId::NONE,
                count: 0,
                time: Nanos(MS),
            },
        ]);
        let rows = super::locks(&test.names(), &test.measured());
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["OMP critical section", "OMP lock table"]);
        let [section, table] = &rows[..] else {
            panic!("two rows");
        };
        assert_eq!((section.mutexes, table.mutexes), (1, 2));
        close(section.of_all.wait, 0.007);
        assert_eq!((table.of_all.count, table.of_all.contended), (30, 2));
        close(table.of_all.wait, 0.004);
        close(table.of_all.held, 0.015);
        close(table.of_all.longest, 0.002);
        close(table.gain(), 0.002);
        let threads: Vec<u32> = table.threads.iter().map(|it| it.0.0).collect();
        assert_eq!(threads, [1, 0]);
        let sites: Vec<u64> = table.sites.iter().map(|it| it.1.count).collect();
        assert_eq!(sites, [10, 20]);
        let waits: Vec<_> = table
            .waits
            .iter()
            .map(|it| (it.count, it.holder.is_some()))
            .collect();
        assert_eq!(waits, [(3, true), (0, false)]);
        close(table.waits[0].seconds, 0.003);
    }

    #[test]
    fn mutexes_that_were_not_told_apart_have_no_number() {
        let (mut test, [first, second]) = run();
        let many = lock(&mut test, Mutex::Lock, 0, FrameId::NONE);
        test.lock_sums = Packed::from_iter([sum(many, 0, first, 0), sum(many, 1, second, 0)]);
        let rows = super::locks(&test.names(), &test.measured());
        assert_eq!(rows.len(), 2, "a row for each place");
        assert!(rows.iter().all(|row| row.mutexes == 0));
    }

    #[test]
    fn a_call_has_the_name_of_its_mutexes_if_they_share_one() {
        let (mut test, [first, second]) = run();
        let named = [(0x40, "left"), (0x80, "right")].map(|(address, name)| {
            let frame = test.tables.frame(Frame {
                module: ModuleId::NONE,
                address,
            });
            test.symbols.lock_names.push((frame, name.to_owned()));
            lock(&mut test, Mutex::Lock, address, frame)
        });
        // As in a function that acquires whatever lock it is given.
        test.lock_sums = Packed::from_iter([
            sum(named[0], 0, first, 0),
            sum(named[0], 0, second, 0),
            sum(named[1], 1, second, 0),
            sum(named[0], 1, second, 0),
        ]);
        let found = names_by_call(&test.names(), &test.measured());
        let name = |call: &FrameId| found.get(call).map(String::as_str);
        assert_eq!(name(&first), Some("OMP lock left"));
        assert_eq!(name(&second), Some("OMP lock"));
    }
}
