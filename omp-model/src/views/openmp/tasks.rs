//! Explicit tasks: one row for each directive.

use std::collections::BTreeMap;

use experiment::ids::{ContextId, FrameId};
use experiment::state::State;
use experiment::tables::ContextKind;

use super::gain::construct_metrics;
use super::locations::{Bodies, ConstructLocation, Directive};
use super::{Measured, innermost_regions};
use crate::metrics::Metric;
use crate::profile::Profile;
use crate::views::names::Names;
use crate::views::tree::{add, add_item};
use crate::views::{Seconds, TOTAL};

/// A task's directive.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskRow {
    /// The name shown: `foo -- OMP task from line 9 [.omp_task_entry.]`.
    pub name: String,
    /// Its code location.
    pub location: ConstructLocation,
    /// Its contexts: one for each call path to it.
    pub contexts: Vec<ContextId>,
    /// The execution times of completed tasks; `None` in experiments of earlier versions.
    pub runs: Option<Runs>,
    /// What its thread time and its events are given by ([`construct_metrics`]).
    pub metrics: Vec<Metric>,
    /// Seconds of thread time and events in its tasks by these, without tasks that ran during
    /// their waits.
    pub seconds: Seconds,
    /// The constructs that created its tasks, and how many each created; most first.
    pub created: Vec<(String, u64)>,
    /// Where the creators of its tasks waited, longest first.
    pub waited: Vec<Waited>,
}

impl TaskRow {
    /// Adds another directive's row, for a report that does not distinguish the two.
    pub fn absorb(&mut self, other: TaskRow) {
        self.contexts.extend(other.contexts);
        if let Some(more) = other.runs {
            merge_runs(self.runs.get_or_insert_default(), &more);
        }
        add(&mut self.seconds, &other.seconds);
        for (creator, count) in other.created {
            add_created(&mut self.created, creator, count);
        }
        self.waited.extend(other.waited);
    }

    /// Seconds of one metric.
    pub fn time(&self, metric: Metric) -> f64 {
        let at = self.metrics.iter().position(|&known| known == metric);
        at.map_or(0.0, |at| self.seconds[at])
    }
}

/// Completed tasks: their work on a CPU, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Runs {
    /// Number of tasks.
    pub instances: u64,
    /// Number of others that began, and did not complete while the program was recorded.
    pub unfinished: u64,
    /// Number of tasks completed by a thread other than their creator.
    pub elsewhere: u64,
    /// Their sum.
    pub work: f64,
    /// The shortest task.
    pub least: f64,
    /// The longest task.
    pub most: f64,
    /// The sum of squares.
    squares: f64,
}

impl Runs {
    /// The number of tasks that began.
    pub fn begun(&self) -> u64 {
        self.instances + self.unfinished
    }

    /// The mean; 0 without tasks.
    pub fn mean(&self) -> f64 {
        match self.instances {
            0 => 0.0,
            count => self.work / count as f64,
        }
    }

    /// The standard deviation of the population.
    pub fn deviation(&self) -> f64 {
        match self.instances {
            0 => 0.0,
            count => {
                let mean = self.mean();
                // The difference of two nearly equal numbers may round below zero.
                (self.squares / count as f64 - mean * mean).max(0.0).sqrt()
            }
        }
    }

    fn add(&mut self, sum: &experiment::rows::TaskSum) {
        let least = sum.least.seconds();
        self.least = match (self.instances, sum.instances) {
            (_, 0) => self.least,
            (0, _) => least,
            _ => self.least.min(least),
        };
        self.most = self.most.max(sum.most.seconds());
        self.instances += u64::from(sum.instances);
        self.unfinished += u64::from(sum.unfinished);
        self.elsewhere += u64::from(sum.elsewhere);
        self.work += sum.work.seconds();
        self.squares += sum.squares as f64 * 1e-18;
    }
}

/// A code location where threads waited for tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct Waited {
    /// The location of the wait, else that of the region whose barrier it is.
    pub location: ConstructLocation,
    /// `taskwait`, `taskgroup` or `barrier`.
    pub kind: &'static str,
    /// Seconds waited there, over all threads.
    pub seconds: f64,
}

/// The row of all tasks; `None` without tasks.
pub fn total<'r>(rows: impl Iterator<Item = &'r TaskRow>) -> Option<TaskRow> {
    let total = rows.cloned().reduce(|mut total, row| {
        total.absorb(row);
        total
    })?;
    Some(TaskRow {
        name: TOTAL.to_owned(),
        location: ConstructLocation::default(),
        contexts: Vec::new(),
        created: Vec::new(),
        waited: Vec::new(),
        ..total
    })
}

/// Every task directive, most time first. `profile` is in user mode.
pub fn tasks(profile: &Profile, names: &Names<'_>, measured: &Measured<'_>) -> Vec<TaskRow> {
    let contexts = names.tables.contexts.rows();
    let is_task = |at: usize| contexts[at].kind.is_task();
    let metrics = construct_metrics(measured);
    let mut seconds: Vec<Option<Vec<f64>>> = vec![None; contexts.len()];
    for item in &profile.items {
        let at = item.context.index();
        if at < contexts.len() && is_task(at) {
            let sums = seconds[at].get_or_insert_with(|| vec![0.0; metrics.len()]);
            add_item(sums, item, &metrics);
        }
    }
    let mut runs: Vec<Option<Runs>> = vec![None; contexts.len()];
    for sum in measured.task_sums.iter() {
        if let Some(runs) = runs.get_mut(sum.context.index()) {
            runs.get_or_insert_default().add(&sum);
        }
    }
    let task_bodies = Bodies::learn(
        profile,
        names,
        &[ContextKind::Task, ContextKind::Taskloop],
        |context| context,
    );
    let creators = Creators::new(profile, names, measured);

    let mut rows = BTreeMap::<(ConstructLocation, String), TaskRow>::new();
    let known = (1..contexts.len())
        .filter(|&at| is_task(at) && (seconds[at].is_some() || runs[at].is_some()));
    let directives = task_bodies.directives(names, known.map(|at| ContextId(at as u32)));
    for (context, directive) in directives {
        let at = context.index();
        let Directive {
            name,
            location,
            key,
        } = directive;
        let row = rows.entry(key).or_insert_with(|| TaskRow {
            name,
            location,
            contexts: Vec::new(),
            runs: None,
            metrics: metrics.clone(),
            seconds: vec![0.0; metrics.len()].into(),
            created: Vec::new(),
            waited: Vec::new(),
        });
        row.contexts.push(context);
        if let Some(more) = &seconds[at] {
            add(&mut row.seconds, more);
        }
        if let Some(more) = runs[at] {
            merge_runs(row.runs.get_or_insert_default(), &more);
        }
        let count = runs[at].map_or(0, |runs| runs.begun());
        let creator = creators.name(names, &task_bodies, contexts[at].parent);
        add_created(&mut row.created, creator, count);
    }
    let mut rows: Vec<TaskRow> = rows.into_values().collect();
    for row in &mut rows {
        row.created
            .sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        row.waited = creators.waits(names, &task_bodies, &row.contexts);
    }
    let total = |row: &TaskRow| row.time(Metric::Total);
    rows.sort_by(|left, right| total(right).total_cmp(&total(left)));
    rows
}

fn add_created(created: &mut Vec<(String, u64)>, creator: String, count: u64) {
    match created.iter_mut().find(|(known, _)| *known == creator) {
        Some((_, known)) => *known += count,
        None => created.push((creator, count)),
    }
}

fn merge_runs(runs: &mut Runs, more: &Runs) {
    runs.least = match (runs.instances, more.instances) {
        (_, 0) => runs.least,
        (0, _) => more.least,
        _ => runs.least.min(more.least),
    };
    runs.most = runs.most.max(more.most);
    runs.instances += more.instances;
    runs.unfinished += more.unfinished;
    runs.elsewhere += more.elsewhere;
    runs.work += more.work;
    runs.squares += more.squares;
}

/// The constructs that create tasks.
struct Creators {
    regions: Bodies,
    innermost: Vec<ContextId>,
    /// Seconds of waits for tasks and in barriers, by their context.
    waits: BTreeMap<ContextId, BTreeMap<(State, FrameId), f64>>,
}

impl Creators {
    fn new(profile: &Profile, names: &Names<'_>, measured: &Measured<'_>) -> Creators {
        let innermost = innermost_regions(names.tables);
        let kinds = [ContextKind::Region, ContextKind::Teams];
        let regions = Bodies::learn(profile, names, &kinds, |context| {
            let known = innermost.get(context.index());
            known.copied().unwrap_or(ContextId::ROOT)
        });
        let mut waits = BTreeMap::<ContextId, BTreeMap<_, f64>>::new();
        for sum in measured.sums.iter() {
            let thread_state = names.tables.thread_states.get(sum.thread_state.0);
            if let Some(thread_state) =
                thread_state.filter(|thread_state| wait_kind(thread_state.state).is_some())
            {
                let by_call = waits.entry(thread_state.context).or_default();
                *by_call
                    .entry((thread_state.state, thread_state.call))
                    .or_default() += sum.time.seconds();
            }
        }
        Creators {
            regions,
            innermost,
            waits,
        }
    }

    /// The name of a context's construct.
    fn name(&self, names: &Names<'_>, tasks: &Bodies, context: ContextId) -> String {
        match names.tables.contexts.get(context.0).map(|it| it.kind) {
            Some(ContextKind::Region | ContextKind::Teams) => self.regions.of(names, context).0,
            Some(ContextKind::Task | ContextKind::Taskloop) => tasks.of(names, context).0,
            Some(ContextKind::Root) | None => "serial code".to_owned(),
        }
    }

    /// Where the creators of tasks waited: in their own waits for tasks, or, if they have none, in
    /// the barriers of their region, where tasks complete too.
    fn waits(&self, names: &Names<'_>, bodies: &Bodies, tasks: &[ContextId]) -> Vec<Waited> {
        let contexts = names.tables.contexts.rows();
        let mut parents: Vec<ContextId> = tasks
            .iter()
            .map(|task| contexts[task.index()].parent)
            .collect();
        parents.sort_unstable();
        parents.dedup();
        let mut found = self.in_contexts(names, bodies, &parents, |state| {
            matches!(state, State::TaskWait | State::TaskGroup)
        });
        if found.is_empty() {
            let mut regions: Vec<ContextId> = parents
                .iter()
                .map(|it| self.innermost[it.index()])
                .collect();
            regions.sort_unstable();
            regions.dedup();
            found = self.in_contexts(names, bodies, &regions, |_| true);
        }
        found
    }

    fn in_contexts(
        &self,
        names: &Names<'_>,
        bodies: &Bodies,
        contexts: &[ContextId],
        counts: impl Fn(State) -> bool,
    ) -> Vec<Waited> {
        // A call may lie in two copies of one function.
        let mut sums =
            BTreeMap::<(ConstructLocation, String, &'static str), (ConstructLocation, f64)>::new();
        for context in contexts {
            for (&(state, call), seconds) in self.waits.get(context).into_iter().flatten() {
                let Some(kind) = wait_kind(state).filter(|_| counts(state)) else {
                    continue;
                };
                let location = match call {
                    FrameId::NONE => self.regions.of(names, *context).1,
                    call if names.is_user(call) => ConstructLocation::of_frame(names, call),
                    // The body's last call waited there.
                    _ => ConstructLocation {
                        function: Some(self.name(names, bodies, *context)),
                        ..ConstructLocation::default()
                    },
                };
                let (key, distinct) = location.key("");
                let sum = sums.entry((key, distinct, kind)).or_insert((location, 0.0));
                sum.1 += seconds;
            }
        }
        let mut all: Vec<Waited> = sums
            .into_iter()
            .map(|((_, _, kind), (location, seconds))| Waited {
                location,
                kind,
                seconds,
            })
            .collect();
        all.sort_by(|left, right| right.seconds.total_cmp(&left.seconds));
        all
    }
}

const fn wait_kind(state: State) -> Option<&'static str> {
    match state {
        State::TaskWait => Some("taskwait"),
        State::TaskGroup => Some("taskgroup"),
        State::ImplicitBarrier
        | State::ExplicitBarrier
        | State::ImplementationBarrier
        | State::Barrier => Some("barrier"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use experiment::Packed;
    use experiment::ids::{Nanos, ThreadId};
    use experiment::rows::TaskSum;
    use experiment::state::State;
    use experiment::tables::ContextKind;

    use super::tasks;
    use crate::views::openmp::test_run::{MS, ROOT, TestRun, close};

    #[test]
    fn tasks_have_their_spread_and_creators() {
        let mut test = TestRun::new(2, 100);
        let region = test.construct(ROOT, ContextKind::Region, 0x40);
        let task = test.construct(region, ContextKind::Task, 0x50);
        test.run(0, State::TaskWait, region, 90);
        test.run(1, State::Work, task, 90);
        let work = |thread, instances, elsewhere, (least, most): (u64, u64)| TaskSum {
            slice: 0,
            context: task,
            thread: ThreadId(thread),
            instances,
            unfinished: 0,
            elsewhere,
            work: Nanos((least + most) * MS),
            least: Nanos(least * MS),
            most: Nanos(most * MS),
            squares: u128::from((least * least + most * most) * MS) * u128::from(MS),
        };
        test.task_sums = Packed::from_iter([work(0, 2, 0, (10, 20)), work(1, 2, 2, (30, 40))]);
        let [row] = &tasks(&test.profile(), &test.names(), &test.measured())[..] else {
            panic!("one task construct");
        };
        let runs = row.runs.unwrap();
        assert_eq!((runs.instances, runs.elsewhere), (4, 2));
        close(runs.mean(), 0.025);
        close(runs.least, 0.01);
        close(runs.most, 0.04);
        // 10, 20, 30, 40: the variance is 125.
        close(runs.deviation(), 125_f64.sqrt() * 1e-3);
        assert_eq!(row.created.len(), 1);
        assert_eq!(row.created[0].1, 4);
        assert_eq!(row.waited[0].kind, "taskwait");
        close(row.waited[0].seconds, 0.09);
    }
}
