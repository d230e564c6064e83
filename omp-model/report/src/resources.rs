//! The resources that a run used, as far as they were recorded, and its CPUs.

use omp_model::cpu_samples::CpuSamples;
use omp_model::metrics::Metric;
use omp_model::views::samples::{SampleRow, Used};
use omp_model::views::threads::threads;

use crate::document::{Block, Document, InJson, Value};
use crate::experiments::samples_of;
use crate::list::{self, Field};
use crate::query::{Query, Source};
use crate::text::percent;
use crate::usage;

/// A resource and how much of it a run used.
struct Resource {
    label: String,
    id: &'static str,
    value: f64,
}

impl Resource {
    fn new(label: impl Into<String>, id: &'static str, value: f64) -> Resource {
        Resource {
            label: label.into(),
            id,
            value,
        }
    }
}

/// The resources that are counted.
const COUNTED: [&str; 4] = [
    "Threads",
    "Clock samples",
    "Context-switch samples",
    "OpenMP records",
];

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
    let elapsed = experiment.recorded().seconds();
    let mut all = vec![Resource::new("Elapsed (sec.)", "elapsed", elapsed)];
    all.extend(metrics.iter().enumerate().map(|(at, metric)| {
        let label = format!("{} (sec.)", metric.label());
        Resource::new(label, metric.id(), sum(at))
    }));
    let cpu = metrics.iter().position(|it| *it == Metric::TotalCpu);
    if let Some(at) = cpu
        && elapsed > 0.0
    {
        let used = sum(at) / elapsed;
        all.push(Resource::new("CPUs used on average", "cpus_used", used));
    }
    let header = &experiment.header;
    let sampling = &header.sampling;
    let counts = [
        ("threads", rows.len() as u64),
        ("samples", sampling.samples),
        ("switch_samples", sampling.switch_samples),
        ("omp_records", header.losses.omp_taken),
    ];
    let counted = COUNTED.iter().zip(counts);
    all.extend(counted.map(|(label, (id, count))| Resource::new(*label, id, count as f64)));
    all
}

/// The resources that the run used.
pub fn statistics(query: &Query<'_>) -> Document {
    resources(query, "statistics")
}

/// What processes used by sample: without sample points, all of a run is one.
pub fn sample_detail(query: &Query<'_>) -> Document {
    let all = &query.all.analysis.experiment;
    if all.sample_points.is_empty() || query.is_comparison() {
        return resources(query, "sample_detail");
    }
    let used = |value: fn(&Used) -> Value| {
        move |row: &SampleRow| row.used.as_ref().map_or(Value::Absent, value)
    };
    let fields: Vec<Field<'_, SampleRow>> = vec![
        Field::fact("sample", "Sample", |row: &SampleRow| {
            Value::Count(row.number)
        }),
        Field::fact("start", "Start", |row: &SampleRow| Value::Clock(row.start)),
        Field::fact("end", "End", |row: &SampleRow| Value::Clock(row.end)),
        Field::fact("user", "User CPU", used(|it| Value::Number(it.user))),
        Field::fact("system", "System CPU", used(|it| Value::Number(it.system))),
        Field::fact(
            "minor_faults",
            "Minor faults",
            used(|it| Value::Count(it.minor_faults)),
        ),
        Field::fact(
            "major_faults",
            "Major faults",
            used(|it| Value::Count(it.major_faults)),
        ),
        Field::name("Label"),
    ];
    let joined = list::joined(query, samples_of, |row| row.label.clone());
    let table = list::table(query, &joined, fields);
    list::titled(query.document_without_time("sample_detail"), "", table)
}

fn resources(query: &Query<'_>, view: &str) -> Document {
    let value = |resource: &Resource| Value::Number(resource.value);
    let fields = if query.is_comparison() {
        vec![Field::number("value", "Value", value), Field::name("Name")]
    } else {
        vec![
            Field::name("Resource"),
            Field::new("id", "", |resource: &Resource| {
                Value::Text(resource.id.to_owned())
            }),
            Field::fact("value", "Value", value),
        ]
    };
    let joined = list::joined(query, resources_of, |resource| resource.label.clone());
    let mut table = list::table(query, &joined, fields);
    for row in &mut table.rows {
        if COUNTED.contains(&row.name.as_str()) {
            row.decimals = Some(0);
        }
    }
    let mut document = list::titled(query.document(view), "Resources", table);
    if !query.is_comparison()
        && let Some((table, said, more)) = usage::by_thread(query)
    {
        document.blocks.push(Block::Table(table));
        document.blocks.push(Block::Lines(said));
        document.more = more;
    }
    document
}

/// A CPU that clock samples saw.
struct Cpu {
    number: u16,
    samples: u64,
    /// Of how many samples in all.
    all: u64,
}

/// The CPUs that clock samples saw, and how many on each.
pub fn cpu_list(query: &Query<'_>) -> Document {
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
        let samples = |cpu: &Cpu| Value::Number(cpu.samples as f64);
        let samples = Field::number("samples", "Samples", samples).decimals(0);
        let fields = vec![samples, Field::name("Name")];
        (query.document("cpu_list"), fields)
    } else {
        let share = |cpu: &Cpu| Value::Number(percent(cpu.samples as f64, cpu.all as f64));
        let fields = vec![
            Field::hidden_name(),
            Field::fact("cpu", "CPU", |cpu: &Cpu| Value::Count(cpu.number.into())),
            Field::fact("samples", "Samples", |cpu: &Cpu| Value::Count(cpu.samples)),
            Field::fact("percent", "%", share)
                .decimals(2)
                .json(InJson::Nowhere),
        ];
        (query.document_without_time("cpu_list"), fields)
    };
    let name = |cpu: &Cpu| format!("CPU {}", cpu.number);
    let (joined, order) = list::joined_in_order(query, cpus, name, |_, _| None);
    let table = list::table(query, &joined, fields);
    order.titled(query, base, "CPUs by their numbers", table)
}
