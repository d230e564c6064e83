//! The resources that a run used, as far as they were recorded, and its CPUs.

use omp_model::cpu_samples::CpuSamples;
use omp_model::metrics::Metric;
use omp_model::views::threads::threads;

use crate::document::{Document, Value};
use crate::error::Error;
use crate::list::{self, Field};
use crate::query::{Query, Source};
use crate::text::percent;

/// A resource and how much of it a run used.
struct Resource {
    label: String,
    id: &'static str,
    value: f64,
    decimals: usize,
}

impl Resource {
    fn measured(label: String, id: &'static str, value: f64) -> Resource {
        Resource {
            label,
            id,
            value,
            decimals: 3,
        }
    }

    fn counted(label: &str, id: &'static str, count: u64) -> Resource {
        Resource {
            label: label.to_owned(),
            id,
            value: count as f64,
            decimals: 0,
        }
    }
}

/// The metrics among the resources, of those that there are.
const METRICS: [Metric; 5] = [
    Metric::Total,
    Metric::TotalCpu,
    Metric::User,
    Metric::System,
    Metric::OffCpu,
];

/// What is known of the resources that a run used.
fn resources_of(source: &Source<'_>) -> Vec<Resource> {
    let experiment = &source.analysis.experiment;
    let available = source.analysis.available();
    let metrics: Vec<Metric> = METRICS
        .into_iter()
        .filter(|it| available.has(*it))
        .collect();
    let rows = threads(source.profile(), &experiment.tables, &metrics);
    let sum = |at: usize| rows.iter().map(|row| row.seconds[at]).sum::<f64>();
    let elapsed = experiment.duration().seconds();
    let mut all = vec![Resource::measured(
        "Elapsed (sec.)".to_owned(),
        "elapsed",
        elapsed,
    )];
    all.extend(metrics.iter().enumerate().map(|(at, metric)| {
        let label = format!("{} (sec.)", metric.label());
        Resource::measured(label, metric.id(), sum(at))
    }));
    let cpu = metrics.iter().position(|it| *it == Metric::TotalCpu);
    if let Some(at) = cpu
        && elapsed > 0.0
    {
        let label = "CPUs used on average".to_owned();
        all.push(Resource::measured(label, "cpus_used", sum(at) / elapsed));
    }
    let header = &experiment.header;
    let sampling = &header.sampling;
    all.extend([
        Resource::counted("Threads", "threads", rows.len() as u64),
        Resource::counted("Clock samples", "samples", sampling.samples),
        Resource::counted(
            "Context-switch samples",
            "switch_samples",
            sampling.switch_samples,
        ),
        Resource::counted("OpenMP records", "omp_records", header.losses.omp_taken),
    ]);
    all
}

/// The resources that the run used.
///
/// # Errors
/// [`Error::Usage`] if it is asked how they scale.
pub fn statistics(query: &Query<'_>) -> Result<Document, Error> {
    resources(query, "statistics")
}

/// The same by sample point: all of a run is one.
///
/// # Errors
/// [`Error::Usage`] if it is asked how they scale.
pub fn sample_detail(query: &Query<'_>) -> Result<Document, Error> {
    resources(query, "sample_detail")
}

fn resources(query: &Query<'_>, view: &str) -> Result<Document, Error> {
    query.refuse_scaling(view)?;
    let value = |resource: &Resource| Value::Number(resource.value);
    let fields = if query.is_comparison() {
        vec![Field::number("value", "Value", value), Field::name("Name")]
    } else {
        vec![
            Field::name("Resource"),
            Field::told("id", |resource: &Resource| {
                Value::Text(resource.id.to_owned())
            }),
            Field::fact("value", "Value", value),
        ]
    };
    let joined = list::joined(query, resources_of, |resource| resource.label.clone());
    let mut rows = list::rows(&joined, &fields);
    for (row, joined) in rows.iter_mut().zip(&joined) {
        let known = joined.rows.iter().flatten().next();
        row.decimals = known.map(|resource| resource.decimals);
    }
    let table = list::table(query, fields, rows);
    Ok(list::titled(query.document(view), "Resources", table))
}

/// A CPU that clock samples saw.
struct Cpu {
    number: u16,
    samples: u64,
    /// Of how many samples in all.
    all: u64,
}

/// The CPUs that clock samples saw, and how many on each.
///
/// # Errors
/// [`Error::Usage`] if it is asked how they scale.
pub fn cpu_list(query: &Query<'_>) -> Result<Document, Error> {
    query.refuse_scaling("cpu_list")?;
    let cpus = |source: &Source<'_>| -> Vec<Cpu> {
        let counts = CpuSamples::of(&source.analysis.experiment.samples).by_cpu;
        let all = counts.values().sum();
        let cpu = |(number, samples)| Cpu {
            number,
            samples,
            all,
        };
        counts.into_iter().map(cpu).collect()
    };
    let (base, fields): (Document, Vec<Field<'_, Cpu>>) = if query.is_comparison() {
        let mut samples = Field::number("samples", "Samples", |cpu: &Cpu| {
            Value::Number(cpu.samples as f64)
        });
        samples.column.decimals = 0;
        let fields = vec![samples, Field::name("Name")];
        (query.document("cpu_list"), fields)
    } else {
        let share = |cpu: &Cpu| percent(cpu.samples as f64, cpu.all as f64);
        let mut percent = Field::shown("percent", "%", move |cpu| Value::Number(share(cpu)));
        percent.column.decimals = 2;
        let fields = vec![
            Field::hidden_name(),
            Field::fact("cpu", "CPU", |cpu: &Cpu| Value::Count(cpu.number.into())),
            Field::fact("samples", "Samples", |cpu: &Cpu| Value::Count(cpu.samples)),
            percent,
        ];
        (query.document_without_time("cpu_list"), fields)
    };
    let joined = list::joined(query, cpus, |cpu| format!("CPU {}", cpu.number));
    let rows = list::rows(&joined, &fields);
    let table = list::table(query, fields, rows);
    Ok(list::titled(base, "CPUs by their numbers", table))
}
