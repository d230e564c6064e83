//! The ranks beside each other: what their time went to, and how evenly.

use std::collections::BTreeMap;

use ::mpi::pgas::Class;
use experiment::Packed;
use experiment::ids::ThreadId;
use experiment::rows::{MessageEnd, MpiCall, MpiMessage};
use experiment::tables::Tables;
use rustc_hash::FxHashMap;

use super::critical::Path;
use super::meanwhile::Does;
use super::ranks::{RankId, Ranks};
use crate::profile::{Item, Profile};
use crate::views::openmp::bars::RankUse;

/// A rank, and what its time went to. Times are seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankRow {
    /// The rank.
    pub rank: RankId,
    /// What its recording tells; `None` if it has none.
    pub spent: Option<Spent>,
}

/// What a recorded rank's time went to. Its threads' times are added up; the sleep of the threads that MPI started is in no
/// sum.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spent {
    /// Its host.
    pub host: String,
    /// Wall time of its recording.
    pub elapsed: f64,
    /// On a CPU outside of MPI, in no wait of OpenMP.
    pub work: f64,
    /// In calls of MPI.
    pub mpi: f64,
    /// Of these, in functions that wait for other ranks.
    pub waiting: f64,
    /// Waits of OpenMP.
    pub omp_wait: f64,
    /// Off the CPU outside of MPI and of waits of OpenMP.
    pub off_cpu: f64,
    /// Bytes that its calls sent.
    pub sent: u64,
    /// Bytes that its calls received.
    pub received: u64,
    /// Messages that it sent, without those inside of collective operations.
    pub messages: u64,
    /// The part of [`Spent::mpi`] of the thread that has most of it.
    pub longest: f64,
    /// Why its recording ends before the program was done: `was killed by SIGKILL`.
    pub cut: Option<String>,
}

/// POP's efficiencies of MPI (<https://pop-coe.eu/node/69>), from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Balance {
    /// Work in the mean of the ranks, as a part of the most that one has.
    pub load: f64,
    /// The most time outside of MPI that a rank has, as a part of the longest rank's wall time.
    pub communication: f64,
}

/// Every rank in the order of ranks, with the unfiltered profile of all.
pub fn balance(
    profile: &Profile,
    tables: &Tables,
    calls: &Packed<MpiCall>,
    messages: &Packed<MpiMessage>,
    ranks: &Ranks<'_>,
) -> Vec<RankRow> {
    let mut all = BTreeMap::<RankId, Option<Spent>>::new();
    all.extend(ranks.all().map(|(rank, recording)| {
        let spent = recording.map(|it| Spent {
            host: it.host.clone(),
            elapsed: it.duration.seconds(),
            cut: it.cut.clone(),
            ..Spent::default()
        });
        (rank, spent)
    }));
    let mut in_mpi = FxHashMap::<ThreadId, f64>::default();
    let own = |call: &MpiCall| ::mpi::wait(call.function) == ::mpi::Wait::Own;
    for call in calls.iter().filter(|call| !own(call)) {
        let seconds = call.length.seconds();
        *in_mpi.entry(call.thread).or_default() += seconds;
        if let Some(spent) = of_thread(&mut all, ranks, call.thread) {
            spent.mpi += seconds;
            if ::mpi::wait(call.function) != ::mpi::Wait::Nothing {
                spent.waiting += seconds;
            }
            if ::mpi::class(call.function) != Some(Class::Allocation) {
                spent.sent = spent.sent.saturating_add(call.sent);
                spent.received = spent.received.saturating_add(call.received);
            }
        }
    }
    for message in messages.iter().filter(|it| it.end == MessageEnd::Sent) {
        if let Some(spent) = of_thread(&mut all, ranks, message.thread) {
            spent.messages += 1;
        }
    }
    for item in profile.items.iter().filter(|it| it.counter.is_none()) {
        let state = tables.thread_states.get(item.thread_state.0);
        match of_thread(&mut all, ranks, item.thread) {
            Some(spent) if !state.is_some_and(|it| it.state.is_mpi()) => spent.add(item),
            _ => (),
        }
    }
    for (thread, seconds) in in_mpi {
        if let Some(spent) = of_thread(&mut all, ranks, thread) {
            spent.longest = spent.longest.max(seconds);
        }
    }
    let rows = all.into_iter().map(|(rank, spent)| RankRow { rank, spent });
    rows.collect()
}

fn of_thread<'s>(
    all: &'s mut BTreeMap<RankId, Option<Spent>>,
    ranks: &Ranks<'_>,
    thread: ThreadId,
) -> Option<&'s mut Spent> {
    all.get_mut(&ranks.of_thread(thread))?.as_mut()
}

/// What the critical path tells of the two factors of [`Balance::communication`]. On a network that takes no time the run
/// would be no shorter than the path is without its time in MPI, so that both are bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The least transfer efficiency: how long the run would be on such a network, as a part of the run.
    pub transfer: f64,
    /// The most serialisation efficiency: the most time outside of MPI that a rank has, as a part of that.
    pub serialisation: f64,
}

impl Spent {
    /// Adds time outside of MPI.
    fn add(&mut self, item: &Item) {
        match (item.state.can_work(), item.is_on_cpu()) {
            (true, true) => self.work += item.seconds,
            (true, false) => self.off_cpu += item.seconds,
            (false, _) => self.omp_wait += item.seconds,
        }
    }

    /// What its threads' time went to.
    pub fn uses(&self) -> [(RankUse, f64); 5] {
        [
            (RankUse::Work, self.work),
            (RankUse::Waiting, self.waiting),
            (RankUse::Mpi, self.mpi - self.waiting),
            (RankUse::OmpWait, self.omp_wait),
            (RankUse::OffCpu, self.off_cpu),
        ]
    }

    /// Wall time outside of MPI of the thread that was there longest.
    pub fn outside(&self) -> f64 {
        (self.elapsed - self.longest).max(0.0)
    }
}

impl Balance {
    /// That of the recorded ranks; `None` if there is only one, or none worked.
    pub fn of(rows: &[RankRow]) -> Option<Balance> {
        let spent: Vec<&Spent> = rows.iter().filter_map(|row| row.spent.as_ref()).collect();
        let most = |of: fn(&Spent) -> f64| spent.iter().map(|it| of(it)).fold(0.0, f64::max);
        let work: f64 = spent.iter().map(|it| it.work).sum();
        let [most_work, outside, elapsed] = [
            most(|it| it.work),
            most(Spent::outside),
            most(|it| it.elapsed),
        ];
        (spent.len() > 1 && most_work > 0.0 && elapsed > 0.0).then(|| Balance {
            load: work / spent.len() as f64 / most_work,
            communication: outside / elapsed,
        })
    }

    /// Both together.
    pub fn parallel(&self) -> f64 {
        self.load * self.communication
    }

    /// How its communication efficiency divides.
    pub fn bounds(&self, path: &Path) -> Option<Bounds> {
        let parts = path.parts.iter();
        let in_mpi = parts.filter(|it| matches!(it.does, Does::Waits | Does::Mpi));
        let in_mpi: f64 = in_mpi.map(|it| it.seconds).sum();
        let least = 1.0 - in_mpi / path.seconds;
        (path.seconds > 0.0 && least > 0.0).then(|| Bounds {
            transfer: least.max(self.communication),
            serialisation: (self.communication / least).min(1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use ::mpi::Function;
    use experiment::ids::{FrameId, Nanos, ObjectId};
    use experiment::state::{Scheduling, State};
    use experiment::tables::ThreadKind;

    use super::*;
    use crate::mpi::ranks::tests::recording;
    use crate::views::openmp::test_run::{MS, ROOT, TestRun, close};

    fn call(thread: u32, function: Function, milliseconds: u64) -> MpiCall {
        MpiCall {
            thread: ThreadId(thread),
            start: Nanos(0),
            length: Nanos(milliseconds * MS),
            count: 1,
            function: function as u16,
            call: FrameId::NONE,
            comm: 1,
            peer: 0,
            object: ObjectId::NONE,
            sent: 100,
            received: 10,
        }
    }

    #[test]
    fn the_time_of_a_rank_is_work_mpi_waits_of_openmp_and_time_off_cpus() {
        let mut test = TestRun::new(4, 1_000);
        let serial = State::Serial;
        let running = Scheduling::Running;
        test.be(0, (serial, running), ROOT, 600);
        test.be(0, (State::MpiReceive, running), ROOT, 300);
        test.be(0, (serial, Scheduling::Preempted), ROOT, 100);
        test.be(1, (serial, running), ROOT, 900);
        test.be(1, (State::Mpi, running), ROOT, 100);
        // A worker of rank 1, and a thread of the program that sleeps.
        test.be(2, (State::Work, running), ROOT, 250);
        test.be(2, (State::ImplicitBarrier, running), ROOT, 750);
        test.tables.threads[3].kind = ThreadKind::Outside;
        test.be(3, (State::Outside, Scheduling::Blocked), ROOT, 1_000);
        let recordings = [recording("a", 0, 3, 0), recording("a", 2, 3, 0)];
        let ranks = Ranks::of(&recordings, &[1, 2, 2, 2]);
        let calls = Packed::from_iter([
            call(0, Function::MPI_Recv, 300),
            call(1, Function::MPI_Isend, 100),
        ]);
        let messages = Packed::from_iter([MpiMessage {
            thread: ThreadId(1),
            end: MessageEnd::Sent,
            posted: Nanos(0),
            length: Nanos(1),
            peer: 0,
            tag: 0,
            comm: 1,
            bytes: 100,
        }]);
        let rows = balance(&test.profile(), &test.tables, &calls, &messages, &ranks);
        let numbers: Vec<u32> = rows.iter().map(|row| row.rank.number).collect();
        assert_eq!(numbers, [0, 1, 2]);
        assert_eq!(rows[1].spent, None, "it has no recording");
        let spent = |row: &RankRow| row.spent.clone().unwrap_or_default();
        let [first, last] = [spent(&rows[0]), spent(&rows[2])];
        let times = |it: &Spent| [it.work, it.mpi, it.waiting, it.omp_wait, it.off_cpu];
        for (found, expected) in [
            (times(&first), [0.6, 0.3, 0.3, 0.0, 0.1]),
            (times(&last), [1.15, 0.1, 0.0, 0.75, 1.0]),
        ] {
            for (found, expected) in found.into_iter().zip(expected) {
                close(found, expected);
            }
        }
        let uses: f64 = last.uses().iter().map(|it| it.1).sum();
        close(uses, 1.15 + 0.1 + 0.75 + 1.0);
        assert_eq!((last.sent, last.received, last.messages), (100, 10, 1));
        close(first.outside(), 0.7);
        let balance = Balance::of(&rows);
        let balance = balance.unwrap_or(Balance {
            load: 0.0,
            communication: 0.0,
        });
        close(balance.load, (0.6 + 1.15) / 2.0 / 1.15);
        close(balance.communication, 0.9);
        assert_eq!(Balance::of(&rows[..2]), None, "one rank has no balance");
    }
}
