//! Parallel regions: one row for each directive and level of nesting.

use std::collections::BTreeMap;

use experiment::ids::{ContextId, ThreadId};
use experiment::tables::{ContextKind, Tables};

use super::gain::{Cause, Gain, Parts, REGION_METRICS};
use super::locations::{Bodies, ConstructLocation};
use super::{Measured, innermost_regions};
use crate::metrics::Metric;
use crate::profile::Profile;
use crate::views::Seconds;
use crate::views::names::Names;
use crate::views::tree::{add, add_item};

/// A region's directive, at one level of nesting.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionRow {
    /// The name shown: `foo -- OMP parallel region from line 9 [foo.omp_outlined]`.
    pub name: String,
    /// Its code location.
    pub location: ConstructLocation,
    /// Whether it is a teams region.
    pub teams: bool,
    /// 1 for a region in serial code, 2 for one inside that, and so on.
    pub nesting: u32,
    /// Its contexts: one for each call path to it.
    pub contexts: Vec<ContextId>,
    /// How often it was entered.
    pub instances: u64,
    /// The largest team.
    pub threads: u16,
    /// How evenly the work was spread, in seconds summed over the instances. `None` in experiments
    /// of earlier versions.
    pub spread: Option<Spread>,
    /// Seconds of thread time in it, nested regions left out, by [`REGION_METRICS`].
    pub exclusive: Seconds,
    /// The same, nested regions included.
    pub inclusive: Seconds,
    /// Wall time and gain, nested regions left out.
    pub own: Gain,
    /// The same, nested regions included: each of their seconds occupies one thread of this team.
    pub whole: Gain,
    /// [`RegionRow::own`]'s gain by cause, in wall seconds of the run.
    pub of_run: Parts,
    /// Seconds of thread time lost to each cause in which threads were ready to run but another
    /// thread had taken their CPU. In the rest of the lost time they spun or slept.
    pub ready: Parts,
    /// The explicit tasks that were created in it and completed.
    pub tasks: Tasks,
    /// Useful work on each thread, nested regions left out; most first.
    pub work: Vec<(ThreadId, f64)>,
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
        let at = REGION_METRICS.iter().position(|&known| known == metric);
        at.map_or(0.0, |at| self.exclusive[at])
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
        sum(&mut self.of_run, other.of_run);
        sum(&mut self.ready, other.ready);
        self.tasks.add(other.tasks);
        add_work(&mut self.work, other.work.into_iter());
    }

    /// Mean work divided by the longest: by instance if recorded, else from the sums over the run.
    pub fn load_balance(&self) -> f64 {
        let spread = self.spread.unwrap_or_else(|| {
            let total: f64 = self.work.iter().map(|(_, seconds)| seconds).sum();
            Spread {
                longest: self.work.first().map_or(0.0, |&(_, seconds)| seconds),
                mean: total / f64::from(self.threads.max(1)),
            }
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
    seconds: Vec<f64>,
    useful: f64,
    ready: Parts,
    tasks: Tasks,
    lost: Parts,
    work: BTreeMap<ThreadId, f64>,
    /// Wall seconds of regions nested directly inside.
    nested: f64,
}

impl ContextTotals {
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

    /// The gain without nested regions. A region that never ended has no more thread time than was
    /// accounted to it.
    fn gain(&self) -> Gain {
        let capacity = (self.capacity - self.nested).max(self.accounted());
        let mut parts = self.lost;
        parts[Cause::Scheduling as usize] += capacity - self.accounted();
        let team = self.team();
        Gain {
            elapsed: capacity / team,
            parts: parts.map(|part| part / team),
        }
    }
}

/// Every region, largest gain first. `profile` is in user mode.
pub fn regions(profile: &Profile, names: &Names<'_>, measured: &Measured<'_>) -> Vec<RegionRow> {
    let tables = names.tables;
    let innermost = innermost_regions(tables);
    let accounts = accounts(profile, tables, measured, &innermost);
    let kinds = [ContextKind::Region, ContextKind::Teams];
    let region_of = |context: ContextId| {
        let known = innermost.get(context.index());
        known.copied().unwrap_or(ContextId::ROOT)
    };
    let bodies = Bodies::learn(profile, names, &kinds, region_of);
    let levels = Levels::new(tables, &innermost, &accounts);

    let mut rows = BTreeMap::<(u32, ConstructLocation, bool, String), RegionRow>::new();
    for (at, account) in accounts.iter().enumerate() {
        let Some(account) = account else { continue };
        let context = ContextId(at as u32);
        let (name, location) = bodies.of(names, context);
        let teams = tables.contexts.rows()[at].kind == ContextKind::Teams;
        let nesting = levels.nesting[at];
        // Two bodies of one directive (of a template, for instance) make one row.
        let (shared_location, distinct) = location.key(&name);
        let key = (nesting, shared_location, teams, distinct);
        let row = rows.entry(key).or_insert_with(|| RegionRow {
            name,
            location,
            teams,
            nesting,
            contexts: Vec::new(),
            instances: 0,
            threads: 0,
            spread: None,
            exclusive: vec![0.0; REGION_METRICS.len()].into(),
            inclusive: vec![0.0; REGION_METRICS.len()].into(),
            own: Gain::default(),
            whole: Gain::default(),
            of_run: Parts::default(),
            ready: Parts::default(),
            tasks: Tasks::default(),
            work: Vec::new(),
        });
        merge(row, context, account, &levels);
    }
    let mut rows: Vec<RegionRow> = rows.into_values().collect();
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
    row.whole.add(&levels.whole[at], 1.0);
    sum(
        &mut row.of_run,
        levels.own[at].parts.map(|part| part * levels.scale[at]),
    );
    sum(&mut row.ready, account.ready);
    row.tasks.add(account.tasks);
    add_work(
        &mut row.work,
        account.work.iter().map(|(&id, &work)| (id, work)),
    );
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
    tables: &Tables,
    measured: &Measured<'_>,
    innermost: &[ContextId],
) -> Vec<Option<ContextTotals>> {
    let mut accounts: Vec<Option<ContextTotals>> = vec![None; innermost.len()];
    let mut add_to = |context: ContextId, more: &mut dyn FnMut(&mut ContextTotals)| {
        let region = innermost.get(context.index()).copied();
        if let Some(region) = region.filter(|&region| region != ContextId::ROOT) {
            more(
                accounts[region.index()].get_or_insert_with(|| ContextTotals {
                    seconds: vec![0.0; REGION_METRICS.len()],
                    ..ContextTotals::default()
                }),
            );
        }
    };
    for item in &profile.items {
        add_to(item.context, &mut |account| {
            add_item(&mut account.seconds, item, &REGION_METRICS);
            let work = account.work.entry(item.thread).or_default();
            match Cause::of(item) {
                Some(cause) => {
                    account.lost[cause as usize] += item.seconds;
                    if item.scheduling.wants_cpu() {
                        account.ready[cause as usize] += item.seconds;
                    }
                }
                None => {
                    account.useful += item.seconds;
                    *work += item.seconds;
                }
            }
        });
    }
    let recorded = !measured.region_works.is_empty();
    for sum in measured.region_sums {
        let elapsed = sum.elapsed.seconds();
        add_to(sum.context, &mut |account| {
            account.instances += u64::from(sum.instances);
            account.threads = account.threads.max(sum.team);
            account.elapsed += elapsed;
            if !recorded {
                account.capacity += elapsed * f64::from(sum.team.max(1));
            }
        });
        let outer = tables.contexts.get(sum.context.0);
        let outer = outer.map_or(ContextId::ROOT, |context| context.parent);
        add_to(outer, &mut |account| account.nested += elapsed);
    }
    for sum in measured.task_sums {
        let more = Tasks {
            count: u64::from(sum.instances),
            work: sum.work.seconds(),
        };
        add_to(sum.context, &mut |account| account.tasks.add(more));
    }
    for work in measured.region_works {
        add_to(work.context, &mut |account| {
            account.capacity += work.capacity.seconds();
            account.spread.get_or_insert_default().add(Spread {
                longest: work.longest.seconds(),
                mean: work.mean.seconds(),
            });
        });
    }
    accounts
}

/// Values that follow from the nesting of regions, by context.
struct Levels {
    nesting: Vec<u32>,
    /// Wall seconds of the run for each wall second of this region.
    scale: Vec<f64>,
    own: Vec<Gain>,
    whole: Vec<Gain>,
    inclusive: Vec<Vec<f64>>,
}

impl Levels {
    fn new(tables: &Tables, innermost: &[ContextId], accounts: &[Option<ContextTotals>]) -> Levels {
        let count = innermost.len();
        let none = ContextTotals {
            seconds: vec![0.0; REGION_METRICS.len()],
            ..ContextTotals::default()
        };
        let account = |at: usize| accounts[at].as_ref().unwrap_or(&none);
        let own: Vec<Gain> = (0..count).map(|at| account(at).gain()).collect();
        let mut levels = Levels {
            nesting: vec![0; count],
            scale: vec![1.0; count],
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
            levels.nesting[at] = levels.nesting[outer] + 1;
            if outer > 0 {
                levels.scale[at] = levels.scale[outer] / account(outer).team();
            }
        }
        for at in (1..count).rev().filter(|&at| is_region(at)) {
            let outer = outer_of(at);
            if outer > 0 {
                let inner = levels.whole[at];
                levels.whole[outer].add(&inner, 1.0 / account(outer).team());
                let (outers, inners) = levels.inclusive.split_at_mut(at);
                add(&mut outers[outer], &inners[0]);
            }
        }
        levels
    }
}

#[cfg(test)]
mod tests;
