//! Regions and tasks, what they could save, and what to do first: the views that only OpenMP has,
//! under a filter or without one. They are about directives and so the same in all modes.

use omp_model::filter::Filter;
use omp_model::ids::ContextId;
use omp_model::metrics::Metric;
use omp_model::profile::{Profile, ViewMode};
use omp_model::recording;
use omp_model::views::names::{NameStyle, Names};
use omp_model::views::openmp::Measured;
use omp_model::views::openmp::first::First;
use omp_model::views::openmp::gain::Cause;
use omp_model::views::openmp::regions::{RegionRow, regions};
use omp_model::views::openmp::spots::Spot;
use omp_model::views::openmp::tasks::{TaskRow, tasks};
use rustc_hash::FxHashMap;

use crate::compare::{self, Beside};
use crate::data::Data;
use crate::recording::Recording;
use crate::report::{Column, Row, RowOrder, Table, Value};

/// What is known of a recording's constructs.
#[derive(Debug)]
pub struct Directives {
    /// Regions, largest gain first.
    pub regions: Vec<RegionRow>,
    /// Tasks, most time first.
    pub tasks: Vec<TaskRow>,
    /// How well the threads were used, and what it was lost to; `None` without OpenMP, or under a
    /// filter, which leaves no whole run.
    pub first: Option<First>,
    /// The row of each context, tasks' after regions'.
    names: FxHashMap<ContextId, usize>,
}

impl Directives {
    /// Of a profile in user mode; `whole` says that no filter has taken anything off. Instances
    /// are counted for whole seconds, so a filter leaves time but no instances.
    pub(crate) fn new(
        recording: &recording::Recording,
        profile: &Profile,
        whole: bool,
    ) -> Directives {
        let experiment = &recording.experiment;
        let all = Measured {
            duration: experiment.duration(),
            sums: &experiment.sums,
            region_sums: &experiment.region_sums,
            region_works: &experiment.region_works,
            task_sums: &experiment.task_sums,
        };
        let some = Measured {
            region_sums: &[],
            region_works: &[],
            task_sums: &[],
            ..all
        };
        let measured = if whole { all } else { some };
        let names: Names<'_> = recording.names(NameStyle::default());
        let regions = regions(profile, &names, &measured);
        let cpus = experiment.header.cpus;
        let first = match whole {
            true => First::of(profile, &names, &measured, &regions, cpus),
            false => None,
        };
        let tasks = tasks(profile, &names, &measured);
        let rows = regions.iter().map(|row| &row.contexts);
        let rows = rows
            .chain(tasks.iter().map(|row| &row.contexts))
            .enumerate();
        let of_rows = rows.flat_map(|(at, contexts)| contexts.iter().map(move |&id| (id, at)));
        Directives {
            names: of_rows.collect(),
            tasks,
            regions,
            first,
        }
    }

    /// The name of a region's or task's context.
    pub fn construct_name(&self, context: ContextId) -> &str {
        let Some(&at) = self.names.get(&context) else {
            return "a construct without time";
        };
        match self.regions.get(at) {
            Some(region) => &region.name,
            None => {
                let task = self.tasks.get(at - self.regions.len());
                task.map_or("task", |task| &task.name)
            }
        }
    }

    /// The contexts of [`Row::construct`], and the word of filters that they are values of.
    pub fn contexts(&self, row: usize) -> Option<(&'static str, &[ContextId])> {
        match self.regions.get(row) {
            Some(region) => Some(("REGION", &region.contexts)),
            None => {
                let task = self.tasks.get(row - self.regions.len())?;
                Some(("TASK", &task.contexts))
            }
        }
    }

    /// Where the directive of [`Row::construct`] stands.
    pub(crate) fn spot(&self, row: usize) -> Option<&Spot> {
        match self.regions.get(row) {
            Some(region) => Some(&region.spot),
            None => {
                let task = self.tasks.get(row - self.regions.len())?;
                Some(&task.spot)
            }
        }
    }

    /// The rest of what is known of [`Row::construct`]: what a region could save, by cause; a
    /// task's sizes.
    pub fn detail(&self, row: usize) -> String {
        if let Some(region) = self.regions.get(row) {
            let causes = Cause::ALL
                .iter()
                .filter(|&&cause| region.own.part(cause) > 5e-4);
            let causes: Vec<String> = causes
                .map(|&cause| format!("{} {:.3} s", cause.words(), region.own.part(cause)))
                .collect();
            return match causes.is_empty() {
                true => format!("{}  nothing to save", region.spot.short()),
                false => format!("{}  to save: {}", region.spot.short(), causes.join(", ")),
            };
        }
        let Some(task) = self.tasks.get(row - self.regions.len()) else {
            return String::new();
        };
        let sizes = task.runs.as_ref().map_or_else(String::new, |runs| {
            format!(
                "  work {:.3} s, mean {:.3} ms, from {:.3} to {:.3} ms, {} by another thread",
                runs.work,
                1e3 * runs.mean(),
                1e3 * runs.least,
                1e3 * runs.most,
                runs.elsewhere
            )
        });
        format!("{}{sizes}", task.spot.short())
    }
}

fn column(id: &str, label: &str, unit: &'static str, head: [&str; 2]) -> Column {
    Column {
        id: id.to_owned(),
        label: label.to_owned(),
        unit,
        head: head.map(str::to_owned),
        quantity: None,
    }
}

/// What kind of region a row is of.
pub(crate) fn kind(row: &RegionRow) -> String {
    match (row.teams, row.nesting) {
        (true, _) => "teams".to_owned(),
        (false, 1) => "region".to_owned(),
        (false, level) => format!("level {level}"),
    }
}

/// The regions, then the tasks.
pub fn table(data: &Data, recording: &Recording) -> Table {
    let added = added_up(data, recording);
    match Beside::of(data, recording) {
        Some(beside) => compare::directives(&beside, &added),
        None => added,
    }
}

fn added_up(data: &Data, recording: &Recording) -> Table {
    let directives = data.directives(recording);
    let counted = data.settings.filter.is_none();
    let known = |value: f64| Value::Maybe(counted.then_some(value));
    let regions = directives.regions.iter().map(|row| Row {
        values: vec![
            Value::Word(kind(row)),
            known(row.own.total()),
            known(row.own.elapsed),
            Value::Count(counted.then_some(row.instances)),
            Value::Count(Some(u64::from(row.threads)).filter(|_| counted)),
            Value::Maybe(Some(row.load_balance())),
            Value::Seconds(row.time(Metric::OmpWork)),
            Value::Seconds(row.time(Metric::OmpWait)),
        ],
        name: row.name.clone(),
        ..Row::default()
    });
    let tasks = directives.tasks.iter().map(|row| Row {
        values: vec![
            Value::Word("task".to_owned()),
            Value::Maybe(None),
            Value::Maybe(None),
            Value::Count(
                row.runs
                    .as_ref()
                    .filter(|_| counted)
                    .map(|runs| runs.instances),
            ),
            Value::Count(None),
            Value::Maybe(None),
            Value::Seconds(row.time(Metric::OmpWork)),
            Value::Seconds(row.time(Metric::OmpWait)),
        ],
        name: row.name.clone(),
        ..Row::default()
    });
    Table {
        title: "Regions by what they could save, and tasks".to_owned(),
        columns: vec![
            column("kind", "Kind", "", ["Kind", ""]),
            column("gain", "Potential gain of wall time", "s", ["Gain", "sec."]),
            column("elapsed", "Elapsed wall time", "s", ["Elapsed", "sec."]),
            column("instances", "Instances", "", ["Inst-", "ances"]),
            column("threads", "Threads", "", ["Thr-", "eads"]),
            column("load_balance", "Load balance", "", ["Load", "bal."]),
            column("e.ompwork", "Exclusive OMP Work Time", "s", ["OMP", "Work"]),
            column("e.ompwait", "Exclusive OMP Wait Time", "s", ["OMP", "Wait"]),
        ],
        rows: regions
            .chain(tasks)
            .enumerate()
            .map(|(at, row)| Row {
                construct: Some(at),
                ..row
            })
            .collect(),
    }
}

/// The directives under a filter, or all of them.
pub(crate) fn of_filter(recording: &recording::Recording, filter: Option<&Filter>) -> Directives {
    match filter {
        Some(filter) => {
            let kept = recording.filtered(ViewMode::User, filter);
            Directives::new(recording, &kept.profile, false)
        }
        None => Directives::new(recording, recording.profile(ViewMode::User), true),
    }
}

/// What the user calls a column; beside other experiments with the number of its own.
pub(crate) fn column_words(column: &Column) -> String {
    let number = column.id.rsplit('.').next();
    match number.and_then(|number| number.parse::<usize>().ok()) {
        Some(number) => format!("{} ({number})", column.label),
        None => column.label.clone(),
    }
}

/// The rows of [`table`] in another order, which the title tells.
pub(crate) fn ordered(table: &Table, order: &RowOrder) -> Table {
    let column = table.columns.iter().find(|one| one.id == order.column);
    let by = match column {
        Some(column) => column_words(column),
        None if order.column == RowOrder::NAME => "name".to_owned(),
        // A column that this way to compare does not have.
        None => return table.clone(),
    };
    let turned = if order.reversed { ", turned round" } else { "" };
    let words = "Regions and tasks";
    let rest = table.title.strip_prefix(words).unwrap_or_default();
    Table {
        title: format!("{words} by {by}{turned}{rest}"),
        ..table.ordered(order)
    }
}
