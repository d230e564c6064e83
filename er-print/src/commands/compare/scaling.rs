//! What a program loses as its threads grow.

use omp_model::metrics::{Flavour, Metric, Quantity};
use omp_model::views::compare::Shared;
use omp_model::views::compare::scaling::{self, Part, ScalingRow};
use omp_model::views::openmp::regions::regions;
use serde_json::{Map, Value, json};

use super::Beside;
use crate::commands::openmp::measured;
use crate::failure::Stop;
use crate::session::{PrintMode, Scene};
use crate::text;

/// Of what losses are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// Functions, inclusively.
    Functions,
    /// Regions, those inside left out.
    Regions,
}

impl Of {
    const fn view(self) -> &'static str {
        match self {
            Of::Functions => "functions",
            Of::Regions => "OMP_preg",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Of::Functions => "Functions by thread time lost",
            Of::Regions => "Parallel regions by thread time lost",
        }
    }
}

/// Why a view has no scaling.
pub(in crate::commands) fn scaling_of_others(view: &str) -> Stop {
    Stop::Words(format!(
        "compare scaling is for functions and OMP_preg: for {view} choose compare on, delta or ratio"
    ))
}

/// The losses against the run on fewest threads.
pub(super) fn report(beside: &Beside<'_>, of: Of) -> Result<String, Stop> {
    let threads_of = |scene: &Scene<'_>| {
        let experiment = &scene.recording.experiment;
        scaling::threads(&experiment.region_sums, scene.names.tables)
    };
    let mut by_threads: Vec<(u32, &Scene<'_>)> = beside
        .scenes
        .iter()
        .map(|scene| (threads_of(scene), scene))
        .collect();
    by_threads.sort_by_key(|(threads, _)| *threads);
    let threads: Vec<u32> = by_threads.iter().map(|(threads, _)| *threads).collect();
    let scenes: Vec<&Scene<'_>> = by_threads.into_iter().map(|(_, scene)| scene).collect();
    if threads.first() == threads.last() {
        return Err(Stop::Words(format!(
            "compare scaling needs runs on different numbers of threads: all have {}",
            threads[0]
        )));
    }
    let sides: Vec<_> = scenes
        .iter()
        .map(|scene| (measured(scene).0, scene.names))
        .collect();
    let shared = Shared::new(&sides);
    let mut rows = match of {
        Of::Functions => scaling::functions(&shared, &threads),
        Of::Regions => {
            let regions = scenes.iter().map(|scene| {
                let (profile, measured) = measured(scene);
                regions(profile, &scene.names, &measured)
            });
            scaling::regions(&shared, &threads, &regions.collect::<Vec<_>>())
        }
    };
    rows.truncate(beside.first().limited(rows.len()));
    let runs = Runs {
        beside,
        of,
        threads,
        scenes,
    };
    Ok(match beside.first().settings.print {
        PrintMode::Json => runs.json(&rows),
        PrintMode::Text => runs.text(&rows),
    })
}

/// The experiments in the order of their threads.
struct Runs<'a> {
    beside: &'a Beside<'a>,
    of: Of,
    threads: Vec<u32>,
    scenes: Vec<&'a Scene<'a>>,
}

fn counted(threads: u32) -> String {
    format!("{threads} thread{}", if threads == 1 { "" } else { "s" })
}

impl Runs<'_> {
    fn text(&self, rows: &[ScalingRow]) -> String {
        let mut headings = Vec::new();
        for &threads in &self.threads[1..] {
            let line = |words: &str| format!("{}\n{words}\nsec.", counted(threads));
            headings.push(line("Loss"));
            headings.extend(["Wait", "Serial", "Overhead", "Extra work"].map(line));
        }
        headings.push("\n\nName".to_owned());
        let number = |value: f64| match value.abs() < 5e-7 {
            true => "0.".to_owned(),
            false => format!("{value:.3}"),
        };
        let cells: Vec<Vec<String>> = rows
            .iter()
            .map(|row| {
                let cells = (1..self.threads.len()).flat_map(|run| {
                    let loss = row.loss(run);
                    let all = std::iter::once(loss.iter().sum());
                    all.chain(loss).map(number).collect::<Vec<_>>()
                });
                cells.chain([row.name.clone()]).collect()
            })
            .collect();
        let named = self.threads.iter().zip(&self.scenes);
        let named: String = named
            .map(|(&threads, scene)| format!("  {}: {}\n", counted(threads), scene.recording.name))
            .collect();
        let table = text::grid(self.beside.first().settings.layout, &headings, &cells);
        format!(
            "{} against {}{}\n{named}\n{table}\n{}",
            self.of.title(),
            counted(self.threads[0]),
            match self.of {
                Of::Functions => ", inclusive",
                Of::Regions => "",
            },
            self.beside.footer()
        )
    }

    fn json(&self, rows: &[ScalingRow]) -> String {
        let mut object = self.beside.envelope(self.of.view());
        let names: Vec<&str> = self
            .scenes
            .iter()
            .map(|scene| scene.recording.name.as_str())
            .collect();
        object.insert("experiments".to_owned(), json!(names));
        object.insert("threads".to_owned(), json!(self.threads));
        let flavour = match self.of {
            Of::Functions => Flavour::Inclusive,
            Of::Regions => Flavour::Exclusive,
        };
        let metric = crate::json::metric(Quantity::Time(flavour, Metric::Total));
        object.insert("metrics".to_owned(), json!([metric]));
        let rows = rows.iter().map(|row| {
            let losses = (1..self.threads.len()).map(|run| {
                let loss = row.loss(run);
                let mut fields = Map::new();
                fields.insert("loss".to_owned(), json!(loss.iter().sum::<f64>()));
                for part in Part::ALL {
                    fields.insert(part.id().to_owned(), json!(loss[part as usize]));
                }
                Value::Object(fields)
            });
            json!({"name": row.name, "losses": losses.collect::<Vec<_>>()})
        });
        let rows = Value::Array(rows.collect()).to_string();
        self.beside.json(object, &rows)
    }
}
