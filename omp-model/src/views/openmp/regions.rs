//! Parallel regions: one row for each directive and level of nesting.

use std::collections::BTreeMap;

use experiment::ids::{ContextId, ThreadId};
use experiment::state::{Scheduling, State};
use experiment::symbols::Workshare;
use experiment::tables::{ContextKind, Tables, ThreadKind};

use super::efficiency::rest;
use super::gain::{Cause, Gain, Parts, construct_metrics};
use super::locations::{Bodies, ConstructLocation, Directive};
use super::mutex_calls::MutexCalls;
use super::{Measured, innermost_regions};
use crate::metrics::Metric;
use crate::profile::{Item, Profile};
use crate::states::RefinedState;
use crate::views::Seconds;
use crate::views::names::Names;
use crate::views::tree::{add, add_item};

mod total;

pub use total::total;

/// A region's directive, at one level of nesting.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionRow {
    /// The name shown: `foo -- OMP parallel region from line 9 [foo.omp_outlined]`.
    pub name: String,
    /// Its code location.
    pub location: ConstructLocation,
    /// Whether it is a teams region.
    pub teams: bool,
    /// 1 for a region in serial code, 2 for one inside that, and so on; 0 for all regions.
    pub nesting: u32,
    /// The same without the teams regions around it, in which nesting begins anew.
    pub level: u32,
    /// Its contexts: one for each call path to it.
    pub contexts: Vec<ContextId>,
    /// How often it was entered.
    pub instances: u64,
    /// The largest team.
    pub threads: u16,
    /// How evenly the work was spread, in seconds summed over the instances. `None` in experiments
    /// of earlier versions.
    pub spread: Option<Spread>,
    /// What its thread time and its events are given by ([`construct_metrics`]).
    pub metrics: Vec<Metric>,
    /// Seconds of thread time and events in it, nested regions left out, by these.
    pub exclusive: Seconds,
    /// The same, nested regions included.
    pub inclusive: Seconds,
    /// Wall time and gain, nested regions left out.
    pub own: Gain,
    /// The same, nested regions included: each of their seconds occupies one thread of this team.
    pub whole: Gain,
    /// Seconds of thread time lost to each cause in its teams, nested regions left out.
    pub lost: Parts,
    /// The part of it that the CPUs could have worked: all, unless its teams had more threads than there
    /// are CPUs.
    pub usable: Parts,
    /// Seconds of thread time lost to uneven work: in each instance, what the other threads would
    /// have worked as long as the one that worked longest. 0 for a nested region, whose work counts
    /// for the outermost one.
    pub uneven: f64,
    /// Wall seconds of the initial threads in it, if it is not nested, else 0.
    pub outermost: f64,
    /// Seconds of thread time of its teams and of those of nested regions, threads that have not
    /// arrived included.
    pub occupied: f64,
    /// Seconds of thread time lost to each cause in which threads were ready to run but another
    /// thread had taken their CPU. In the rest of the lost time they spun or slept.
    pub ready: Parts,
    /// The sleeps of its threads in barriers.
    pub slept: Sleeps,
    /// The explicit tasks that were created in it and completed.
    pub tasks: Tasks,
    /// Useful work on each thread, nested regions left out; most first.
    pub work: Vec<(ThreadId, f64)>,
    /// The part of it in the kernel, by samples.
    pub kernel: Vec<(ThreadId, f64)>,
    /// Overhead in the kernel, in seconds, by samples; without that of locks and critical sections.
    pub overhead_in_kernel: f64,
    /// Overhead of locks and critical sections, in seconds, by samples: to take free ones, and to
    /// release them. A part of what [`Cause::Lock`] has lost.
    pub mutex_overhead: f64,
    /// Wall seconds of the run, of all processes with regions together.
    pub run: f64,
}

/// Explicit tasks of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tasks {
    /// Number of tasks.
    pub count: u64,
    /// Their useful work in seconds.
    pub work: f64,
}

impl Tasks {
    fn add(&mut self, other: Tasks) {
        self.count += other.count;
        self.work += other.work;
    }
}

/// Times in which threads left the CPU to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sleeps {
    /// Their number.
    pub times: u64,
    /// Their length together in seconds.
    pub seconds: f64,
}

impl Sleeps {
    fn add(&mut self, other: Sleeps) {
        self.times += other.times;
        self.seconds += other.seconds;
    }
}

/// How evenly work was spread over the teams.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// The longest work of a thread in each instance, summed: seconds.
    pub longest: f64,
    /// The mean work over the team in each instance, summed: seconds.
    pub mean: f64,
}

impl Spread {
    fn add(&mut self, other: Spread) {
        self.longest += other.longest;
        self.mean += other.mean;
    }

    /// Mean over longest: 1 is even.
    pub fn load_balance(&self) -> f64 {
        if self.longest > 0.0 {
            self.mean / self.longest
        } else {
            1.0
        }
    }
}

impl RegionRow {
    /// Seconds of one metric, nested regions left out.
    pub fn time(&self, metric: Metric) -> f64 {
        let at = self.metrics.iter().position(|&known| known == metric);
        at.map_or(0.0, |at| self.exclusive[at])
    }

    /// The worksharing construct that the region is, as its directive in the source says.
    pub fn loop_of(&self, names: &Names<'_>) -> Option<Workshare> {
        let bodies = self.contexts.iter().filter_map(|context| {
            let body = names.tables.contexts.get(context.0)?.body;
            names.symbols.function_of(body)
        });
        let mut found = bodies.filter_map(|(body, _)| names.symbols.loop_of(body));
        Some(found.next()?.construct)
    }

    /// Adds another directive's row, for a report that does not distinguish the two.
    pub fn absorb(&mut self, other: RegionRow) {
        self.contexts.extend(other.contexts);
        self.instances += other.instances;
        self.threads = self.threads.max(other.threads);
        if let Some(more) = other.spread {
            self.spread.get_or_insert_default().add(more);
        }
        add(&mut self.exclusive, &other.exclusive);
        add(&mut self.inclusive, &other.inclusive);
        self.own.add(&other.own, 1.0);
        self.whole.add(&other.whole, 1.0);
        sum(&mut self.lost, other.lost);
        sum(&mut self.usable, other.usable);
        self.uneven += other.uneven;
        self.outermost += other.outermost;
        self.occupied += other.occupied;
        sum(&mut self.ready, other.ready);
        self.slept.add(other.slept);
        self.tasks.add(other.tasks);
        add_work(&mut self.work, other.work.into_iter());
        add_work(&mut self.kernel, other.kernel.into_iter());
        self.overhead_in_kernel += other.overhead_in_kernel;
        self.mutex_overhead += other.mutex_overhead;
    }

    /// Its elapsed time as a part of the run's, nested regions left out. Of a region that several
    /// threads encounter at the same time it may be more than 1.
    pub fn share(&self) -> f64 {
        if self.run > 0.0 {
            self.own.elapsed / self.run
        } else {
            0.0
        }
    }

    /// The least, the mean and the most useful work of a thread of its teams, over the whole run:
    /// seconds.
    pub fn work_of_a_thread(&self) -> [f64; 3] {
        // Teams of different threads may have been in it.
        let threads = self.work.len().max(usize::from(self.threads)).max(1);
        let all: f64 = self.work.iter().map(|(_, seconds)| seconds).sum();
        let least = match self.work.last() {
            Some(&(_, seconds)) if self.work.len() == threads => seconds,
            _ => 0.0,
        };
        let most = self.work.first().map_or(0.0, |&(_, seconds)| seconds);
        [least, all / threads as f64, most]
    }

    /// Mean work divided by the longest: by instance if recorded, else from the sums over the run.
    pub fn load_balance(&self) -> f64 {
        let spread = self.spread.unwrap_or_else(|| {
            let [_, mean, longest] = self.work_of_a_thread();
            Spread { longest, mean }
        });
        spread.load_balance()
    }
}

/// All measurements of one region context.
#[derive(Clone, Debug, Default)]
struct ContextTotals {
    instances: u64,
    threads: u16,
    /// Thread seconds available: elapsed time multiplied by team size.
    capacity: f64,
    elapsed: f64,
    spread: Option<Spread>,
    uneven: f64,
    /// Seconds of initial threads in it and in nested regions, if it is not nested.
    outermost: f64,
    seconds: Vec<f64>,
    useful: f64,
    ready: Parts,
    slept: Sleeps,
    tasks: Tasks,
    lost: Parts,
    work: BTreeMap<ThreadId, f64>,
    /// The part of the work in the kernel.
    kernel: BTreeMap<ThreadId, f64>,
    overhead_in_kernel: f64,
    mutex_overhead: f64,
    /// Wall seconds of regions nested directly inside.
    nested: f64,
}

impl ContextTotals {
    /// Adds the time of a thread of the team: useful, or lost to a cause.
    fn add_of_team(&mut self, item: &Item, mutexes: &mut MutexCalls<'_>) {
        let work = self.work.entry(item.thread).or_default();
        let Some(mut cause) = Cause::of(item) else {
            self.useful += item.seconds;
            *work += item.seconds;
            if item.kernel {
                *self.kernel.entry(item.thread).or_default() += item.seconds;
            }
            return;
        };
        if item.state == RefinedState::Overhead && item.is_on_cpu() {
            if mutexes.is_inside(item.stack) {
                self.mutex_overhead += item.seconds;
                cause = Cause::Lock;
            } else if item.kernel {
                self.overhead_in_kernel += item.seconds;
            }
        }
        self.lost[cause as usize] += item.seconds;
        if item.scheduling.wants_cpu() {
            self.ready[cause as usize] += item.seconds;
        }
    }

    fn accounted(&self) -> f64 {
        self.useful + self.lost.iter().sum::<f64>()
    }

    /// The team's mean size, weighted by time.
    fn team(&self) -> f64 {
        if self.elapsed > 0.0 {
            (self.capacity / self.elapsed).max(1.0)
        } else {
            // No instance ended: the threads with work were its team.
            self.work.len().max(1) as f64
        }
    }

    /// Thread time of the teams without nested regions. A region that never ended has no more than
    /// was accounted to it.
    fn room(&self) -> f64 {
        (self.capacity - self.nested).max(self.accounted())
    }

    /// Thread time lost to each cause without nested regions. Threads that have not arrived yet are
    /// lost to scheduling.
    fn lost(&self) -> Parts {
        let mut parts = self.lost;
        parts[Cause::Scheduling as usize] += self.room() - self.accounted();
        parts
    }

    /// The part of [`Self::lost`] that `cpus` CPUs could have worked. While all of them are at work,
    /// threads that are ready to run lose nothing, so the time of the others comes first.
    fn usable(&self, cpus: u32) -> Parts {
        let (lost, team) = (self.lost(), self.team());
        let cpus = f64::from(cpus);
        if cpus == 0.0 || team <= cpus {
            return lost;
        }
        let bound = rest(self.room() - self.useful * team / cpus).max(0.0);
        let ready: f64 = self.ready.iter().sum();
        let others = rest(lost.iter().sum::<f64>() - ready);
        let of_others = if others > bound { bound / others } else { 1.0 };
        let of_ready = match bound - others {
            left if left > 0.0 && ready > 0.0 => (left / ready).min(1.0),
            _ => 0.0,
        };
        std::array::from_fn(|at| {
            (lost[at] - self.ready[at]) * of_others + self.ready[at] * of_ready
        })
    }

    /// The gain on `cpus` CPUs without nested regions.
    fn gain(&self, cpus: u32) -> Gain {
        let team = self.team();
        Gain {
            elapsed: self.room() / team,
            parts: self.usable(cpus).map(|part| part / team),
        }
    }
}

/// Every region, largest gain first. `profile` is in user mode.
pub fn regions(profile: &Profile, names: &Names<'_>, measured: &Measured<'_>) -> Vec<RegionRow> {
    let tables = names.tables;
    let innermost = innermost_regions(tables);
    let metrics = construct_metrics(measured);
    let accounts = accounts(profile, names, (measured, &metrics), &innermost);
    let kinds = [ContextKind::Region, ContextKind::Teams];
    let region_of = |context: ContextId| {
        let known = innermost.get(context.index());
        known.copied().unwrap_or(ContextId::ROOT)
    };
    let bodies = Bodies::learn(profile, names, &kinds, region_of);
    let levels = Levels::new(
        tables,
        &innermost,
        &accounts,
        measured.cpus.each,
        metrics.len(),
    );

    let mut rows = BTreeMap::<(u32, ConstructLocation, bool, String), RegionRow>::new();
    let known = (0..accounts.len()).filter(|&at| accounts[at].is_some());
    let directives = bodies.directives(names, known.map(|at| ContextId(at as u32)));
    for (context, directive) in directives {
        let at = context.index();
        let Some(account) = &accounts[at] else {
            continue;
        };
        let teams = tables.contexts.rows()[at].kind == ContextKind::Teams;
        let nesting = levels.nesting[at];
        let Directive {
            name,
            location,
            key: (shared_location, distinct),
        } = directive;
        let key = (nesting, shared_location, teams, distinct);
        let row = rows.entry(key).or_insert_with(|| RegionRow {
            name,
            location,
            teams,
            nesting,
            level: levels.level[at],
            contexts: Vec::new(),
            instances: 0,
            threads: 0,
            spread: None,
            metrics: metrics.clone(),
            exclusive: vec![0.0; metrics.len()].into(),
            inclusive: vec![0.0; metrics.len()].into(),
            own: Gain::default(),
            whole: Gain::default(),
            lost: Parts::default(),
            usable: Parts::default(),
            uneven: 0.0,
            outermost: 0.0,
            occupied: 0.0,
            ready: Parts::default(),
            slept: Sleeps::default(),
            tasks: Tasks::default(),
            work: Vec::new(),
            kernel: Vec::new(),
            overhead_in_kernel: 0.0,
            mutex_overhead: 0.0,
            run: 0.0,
        });
        merge(row, context, account, &levels);
    }
    let mut rows: Vec<RegionRow> = rows.into_values().collect();
    let run = total::wall(&rows, tables, measured);
    rows.iter_mut().for_each(|row| row.run = run);
    rows.sort_by(|left, right| {
        let gain = right.own.total().total_cmp(&left.own.total());
        let elapsed = || right.own.elapsed.total_cmp(&left.own.elapsed);
        gain.then_with(elapsed)
            .then_with(|| left.location.cmp(&right.location))
            .then_with(|| left.nesting.cmp(&right.nesting))
    });
    rows
}

fn merge(row: &mut RegionRow, context: ContextId, account: &ContextTotals, levels: &Levels) {
    let at = context.index();
    row.contexts.push(context);
    row.instances += account.instances;
    // The team of a region that never ended is the set of threads with work in it.
    let team = match account.threads {
        0 => account.work.len() as u16,
        threads => threads,
    };
    row.threads = row.threads.max(team);
    if let Some(more) = account.spread {
        row.spread.get_or_insert_default().add(more);
    }
    add(&mut row.exclusive, &account.seconds);
    add(&mut row.inclusive, &levels.inclusive[at]);
    row.own.add(&levels.own[at], 1.0);
    sum(&mut row.usable, levels.usable[at]);
    row.whole.add(&levels.whole[at], 1.0);
    sum(&mut row.lost, account.lost());
    if row.nesting == 1 {
        row.uneven += match account.spread {
            Some(_) => account.uneven,
            None => account.lost[Cause::Imbalance as usize],
        };
        row.outermost += account.outermost;
    }
    row.occupied += levels.occupied[at];
    sum(&mut row.ready, account.ready);
    row.slept.add(account.slept);
    row.tasks.add(account.tasks);
    add_work(
        &mut row.work,
        account.work.iter().map(|(&id, &work)| (id, work)),
    );
    add_work(
        &mut row.kernel,
        account.kernel.iter().map(|(&id, &work)| (id, work)),
    );
    row.overhead_in_kernel += account.overhead_in_kernel;
    row.mutex_overhead += account.mutex_overhead;
}

fn sum(parts: &mut Parts, more: Parts) {
    let parts = parts.iter_mut().zip(more);
    parts.for_each(|(part, more)| *part += more);
}

fn add_work(work: &mut Vec<(ThreadId, f64)>, more: impl Iterator<Item = (ThreadId, f64)>) {
    for (thread, seconds) in more {
        match work.iter_mut().find(|(known, _)| *known == thread) {
            Some((_, known)) => *known += seconds,
            None => work.push((thread, seconds)),
        }
    }
    work.sort_by(|left, right| {
        let larger = right.1.total_cmp(&left.1);
        larger.then(left.0.cmp(&right.0))
    });
}

/// Accounts by context; `None` for contexts that are not regions or have no data.
fn accounts(
    profile: &Profile,
    names: &Names<'_>,
    (measured, metrics): (&Measured<'_>, &[Metric]),
    innermost: &[ContextId],
) -> Vec<Option<ContextTotals>> {
    let tables = names.tables;
    let mut mutexes = MutexCalls::new(names);
    let mut accounts: Vec<Option<ContextTotals>> = vec![None; innermost.len()];
    let mut add_to = |context: ContextId, more: &mut dyn FnMut(&mut ContextTotals)| {
        let region = innermost.get(context.index()).copied();
        if let Some(region) = region.filter(|&region| region != ContextId::ROOT) {
            more(
                accounts[region.index()].get_or_insert_with(|| ContextTotals {
                    seconds: vec![0.0; metrics.len()],
                    ..ContextTotals::default()
                }),
            );
        }
    };
    let outermost = outermost(tables, innermost);
    let kind_of = |thread: ThreadId| tables.threads.get(thread.index()).map(|it| it.kind);
    for item in &profile.items {
        let kind = kind_of(item.thread);
        if kind == Some(ThreadKind::Initial) {
            let region = outermost.get(item.context.index());
            let region = region.copied().unwrap_or(ContextId::ROOT);
            add_to(region, &mut |account| account.outermost += item.seconds);
        }
        add_to(item.context, &mut |account| {
            add_item(&mut account.seconds, item, metrics);
            // A helper of the runtime that executes a task of the region is not in its team.
            if kind != Some(ThreadKind::Other) {
                account.add_of_team(item, &mut mutexes);
            }
        });
    }
    let recorded = !measured.region_works.is_empty();
    for sum in measured.region_sums.iter() {
        let elapsed = sum.elapsed.seconds();
        add_to(sum.context, &mut |account| {
            account.instances += u64::from(sum.instances);
            account.threads = account.threads.max(sum.team);
            account.elapsed += elapsed;
            // A helper of the runtime that encounters a region in a task is not of the team.
            if kind_of(sum.thread) == Some(ThreadKind::Other) {
                account.capacity -= elapsed;
            }
            if !recorded {
                account.capacity += elapsed * f64::from(sum.team.max(1));
            }
        });
        let outer = tables.contexts.get(sum.context.0);
        let outer = outer.map_or(ContextId::ROOT, |context| context.parent);
        add_to(outer, &mut |account| account.nested += elapsed);
    }
    for sum in measured.task_sums.iter() {
        let more = Tasks {
            count: u64::from(sum.instances),
            work: sum.work.seconds(),
        };
        add_to(sum.context, &mut |account| account.tasks.add(more));
    }
    for (work, sum) in measured
        .region_works
        .iter()
        .zip(measured.region_sums.iter())
    {
        let spread = Spread {
            longest: work.longest.seconds(),
            mean: work.mean.seconds(),
        };
        add_to(work.context, &mut |account| {
            account.capacity += work.capacity.seconds();
            account.spread.get_or_insert_default().add(spread);
            account.uneven += f64::from(sum.team.max(1)) * (spread.longest - spread.mean);
        });
    }
    add_sleeps(&mut accounts, tables, measured, innermost);
    accounts
}

/// Adds the sleeps in barriers to the regions that have data.
fn add_sleeps(
    accounts: &mut [Option<ContextTotals>],
    tables: &Tables,
    measured: &Measured<'_>,
    innermost: &[ContextId],
) {
    for sum in measured.sums.iter() {
        let row = tables.thread_states.get(sum.thread_state.0);
        let in_barrier = row.filter(|it| {
            let barriers = [
                State::ImplicitBarrier,
                State::ExplicitBarrier,
                State::Barrier,
            ];
            sum.scheduling == Scheduling::Blocked && barriers.contains(&it.state)
        });
        let region = in_barrier.and_then(|it| innermost.get(it.context.index()));
        let account = region.and_then(|region| accounts.get_mut(region.index())?.as_mut());
        if let Some(account) = account {
            account.slept.add(Sleeps {
                times: u64::from(sum.count),
                seconds: sum.time.seconds(),
            });
        }
    }
}

/// For each context, the outermost region that it is or lies in; the root if there is none.
fn outermost(tables: &Tables, innermost: &[ContextId]) -> Vec<ContextId> {
    let contexts = tables.contexts.rows().iter().zip(innermost);
    let mut regions: Vec<ContextId> = Vec::with_capacity(innermost.len());
    for (context, &inner) in contexts {
        // A context's parent precedes it.
        let outer = regions.get(context.parent.index()).copied();
        let outer = outer.filter(|&outer| outer != ContextId::ROOT);
        regions.push(outer.unwrap_or(inner));
    }
    regions
}

/// Values that follow from the nesting of regions, by context.
struct Levels {
    nesting: Vec<u32>,
    /// The same without teams regions.
    level: Vec<u32>,
    usable: Vec<Parts>,
    own: Vec<Gain>,
    whole: Vec<Gain>,
    /// Thread time of teams, nested regions included.
    occupied: Vec<f64>,
    inclusive: Vec<Vec<f64>>,
}

impl Levels {
    fn new(
        tables: &Tables,
        innermost: &[ContextId],
        accounts: &[Option<ContextTotals>],
        cpus: u32,
        metrics: usize,
    ) -> Levels {
        let count = innermost.len();
        let none = ContextTotals {
            seconds: vec![0.0; metrics],
            ..ContextTotals::default()
        };
        let account = |at: usize| accounts[at].as_ref().unwrap_or(&none);
        let own: Vec<Gain> = (0..count).map(|at| account(at).gain(cpus)).collect();
        let mut levels = Levels {
            nesting: vec![0; count],
            level: vec![0; count],
            usable: (0..count).map(|at| account(at).usable(cpus)).collect(),
            occupied: (0..count).map(|at| account(at).room()).collect(),
            whole: own.clone(),
            own,
            inclusive: (0..count).map(|at| account(at).seconds.clone()).collect(),
        };
        let outer_of = |at: usize| {
            let context = tables.contexts.rows()[at];
            innermost[context.parent.index()].index()
        };
        let is_region = |at: usize| at > 0 && innermost[at].index() == at;
        // Outer regions precede inner ones.
        for at in (1..count).filter(|&at| is_region(at)) {
            let outer = outer_of(at);
            let is_teams = tables.contexts.rows()[outer].kind == ContextKind::Teams;
            levels.nesting[at] = levels.nesting[outer] + 1;
            levels.level[at] = levels.level[outer] + u32::from(!is_teams);
        }
        for at in (1..count).rev().filter(|&at| is_region(at)) {
            let outer = outer_of(at);
            if outer > 0 {
                let inner = levels.whole[at];
                levels.whole[outer].add(&inner, 1.0 / account(outer).team());
                levels.occupied[outer] += levels.occupied[at];
                let (outers, inners) = levels.inclusive.split_at_mut(at);
                add(&mut outers[outer], &inners[0]);
            }
        }
        levels
    }
}

#[cfg(test)]
mod tests;
