//! The experiments, and their sample points. A filter on time changes nothing of them.

use omp_model::analysis::Analysis;
use omp_model::views::samples::{SampleRow, samples};

use crate::document::{Document, Value};
use crate::list::{self, Field};
use crate::query::{Query, Source};
use crate::threads::kernel_number;

/// An experiment and its number, from 1.
#[derive(Clone, Copy)]
struct Numbered<'a> {
    number: u64,
    experiment: &'a Analysis,
}

impl Numbered<'_> {
    fn pid(&self) -> Value {
        let first = self.experiment.experiment.tables.processes.first();
        first.map_or(Value::Absent, |first| kernel_number(first.pid))
    }

    fn seconds(&self) -> Value {
        Value::Clock(self.experiment.experiment.duration().seconds())
    }

    fn command(&self) -> Value {
        Value::Text(self.experiment.experiment.header.command_line())
    }

    fn is_finished(&self) -> Value {
        Value::Json(self.experiment.experiment.finished.into())
    }
}

/// The experiments, one by one.
pub fn experiment_list(query: &Query<'_>) -> Document {
    let query = query.added_up();
    let fields = vec![
        Field::fact("number", "ID", |it: &Numbered<'_>| Value::Count(it.number)),
        Field::fact("pid", "PID", Numbered::pid),
        Field::fact("duration", "Seconds", Numbered::seconds),
        Field::name("Experiment"),
        Field::fact("command", "Command", Numbered::command),
        Field::new("finished", "", Numbered::is_finished),
    ];
    let numbered = (1..).zip(&query.each).map(|(number, source)| Numbered {
        number,
        experiment: source.analysis,
    });
    let numbered: Vec<Numbered<'_>> = numbered.collect();
    let name = |it: &Numbered<'_>| it.experiment.name.clone();
    let joined = list::joined(&query, |_| numbered.clone(), name);
    let table = list::table(&query, &joined, fields);
    let base = query.document_without_time("experiment_list");
    list::titled(base, "", table)
}

/// The samples: each ends at a sample point.
pub fn sample_list(query: &Query<'_>) -> Document {
    let query = query.added_up();
    let mut fields: Vec<Field<'_, SampleRow>> = vec![
        Field::fact("sample", "Sample", |it: &SampleRow| Value::Count(it.number)),
        Field::fact("start", "Start", |it: &SampleRow| Value::Clock(it.start)),
        Field::fact("end", "End", |it: &SampleRow| Value::Clock(it.end)),
        Field::name("Label"),
    ];
    if query.each.len() > 1 {
        let experiment = Field::fact("experiment", "ID", |it: &SampleRow| {
            Value::Count(it.experiment.into())
        });
        fields.insert(0, experiment);
    }
    let joined = list::joined(&query, samples_of, |it| it.label.clone());
    let table = list::table(&query, &joined, fields);
    let base = query.document_without_time("sample_list");
    list::titled(base, "", table)
}

/// The samples of a source.
pub(crate) fn samples_of(source: &Source<'_>) -> Vec<SampleRow> {
    samples(&source.analysis.experiment, source.analysis.marks())
}
