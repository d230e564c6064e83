//! `functions` and `OMP_preg` under `compare scaling`: the loss with a growing number of threads.

use omp_model::metrics::{Flavour, Metric, Quantity};
use omp_model::views::compare::Shared;
use omp_model::views::compare::scaling::{self, CostPart, ScalingRow};
use omp_model::views::openmp::regions;
use serde_json::{Value as Json, json};

use crate::document::{About, Block, Column, Document, InJson, Row, Style, Table, Unit, Value};
use crate::error::Error;
use crate::json;
use crate::query::{Query, Source};

/// Below this a loss differs from another only by the order of the terms of its costs.
const NOTHING: f64 = 5e-7;

/// The losses of functions, inclusively, against the run on fewest threads.
///
/// # Errors
/// [`Error`] if all runs have as many threads.
pub(crate) fn functions(query: &Query<'_>) -> Result<Document, Error> {
    let runs = RunsByThreads::of(query)?;
    let mut document = runs.document(query, "functions", Flavour::Inclusive, |shared| {
        scaling::functions(shared, &runs.threads)
    });
    document.title = format!(
        "Functions by thread time lost against {}, inclusive",
        counted(runs.threads[0])
    );
    Ok(document)
}

/// The same of regions, those inside left out.
///
/// # Errors
/// [`Error`] if all runs have as many threads.
pub(crate) fn regions(query: &Query<'_>) -> Result<Document, Error> {
    let runs = RunsByThreads::of(query)?;
    let mut document = runs.document(query, "OMP_preg", Flavour::Exclusive, |shared| {
        let regions = runs.sources.iter().map(|source| {
            let (profile, measured) = source.measured();
            regions::regions(profile, &source.names(), &measured)
        });
        scaling::regions(shared, &runs.threads, &regions.collect::<Vec<_>>())
    });
    document.title = format!(
        "Parallel regions by thread time lost against {}",
        counted(runs.threads[0])
    );
    Ok(document)
}

/// The experiments in the order of their threads.
struct RunsByThreads<'a> {
    threads: Vec<u32>,
    sources: Vec<Source<'a>>,
}

impl<'a> RunsByThreads<'a> {
    fn of(query: &Query<'a>) -> Result<RunsByThreads<'a>, Error> {
        let threads_of = |source: &Source<'_>| {
            let experiment = &source.analysis.experiment;
            scaling::threads(&experiment.region_sums, &experiment.tables)
        };
        if query.groups().have_several() {
            return Err(Error::new(
                "compare scaling takes one experiment for each number of threads: leave out --",
            ));
        }
        let sources = query.each.iter();
        let mut by_threads: Vec<(u32, Source<'a>)> = sources
            .map(|source| (threads_of(source), *source))
            .collect();
        by_threads.sort_by_key(|(threads, _)| *threads);
        let (threads, sources): (Vec<u32>, Vec<Source<'a>>) = by_threads.into_iter().unzip();
        if threads.first() == threads.last() {
            return Err(Error(format!(
                "compare scaling needs runs on different numbers of threads: all have {}",
                threads[0]
            )));
        }
        Ok(RunsByThreads { threads, sources })
    }

    /// The document of the rows of `make`, without a title.
    fn document(
        &self,
        query: &Query<'_>,
        view: &str,
        flavour: Flavour,
        make: impl FnOnce(&Shared<'_>) -> Vec<ScalingRow>,
    ) -> Document {
        let sides: Vec<_> = self
            .sources
            .iter()
            .map(|source| (source.measured().0, source.names()))
            .collect();
        let mut rows = make(&Shared::new(&sides));
        rows.truncate(query.limited(rows.len()));
        let metric = Column::time(Quantity::Time(flavour, Metric::Total));
        let names = self.sources.iter();
        Document {
            about: Some(About {
                mode: query.settings.mode,
                experiments: names.map(|it| it.analysis.name.clone()).collect(),
                numbers: self
                    .threads
                    .iter()
                    .map(|&threads| format!("{}:", counted(threads)))
                    .collect(),
                compare: query.compare,
                ..About::default()
            }),
            facts: json::fields([
                ("threads", json!(self.threads)),
                ("metrics", json!([json::metric(&metric)])),
            ]),
            blocks: vec![Block::Table(Table {
                style: Style::Right,
                columns: self.columns(),
                rows: rows.into_iter().map(|row| self.row(row)).collect(),
                ..Table::default()
            })],
            ..query.document(view)
        }
    }

    /// The loss on each number of threads and its parts, as a text has them; the name; and all
    /// losses as JSON has them.
    fn columns(&self) -> Vec<Column> {
        let words = ["Loss", "Wait", "Serial", "Overhead", "Extra work"];
        let runs = self.threads.iter().skip(1);
        let losses = runs.flat_map(|&threads| {
            let column = move |words: &str| Column {
                heading: vec![counted(threads), words.to_owned(), "sec.".to_owned()],
                unit: Unit::Seconds,
                decimals: 3,
                json: InJson::Nowhere,
                ..Column::word(
                    &format!("{}.{threads}", words.to_lowercase()),
                    &format!("{words}, {}", counted(threads)),
                )
            };
            words.map(column)
        });
        let all = Column::word("losses", "Losses");
        losses.chain([Column::name(), all]).collect()
    }

    fn row(&self, row: ScalingRow) -> Row {
        let losses: Vec<_> = (1..self.threads.len()).map(|run| row.loss(run)).collect();
        let object = |loss: &scaling::Cost| {
            let mut object = json::fields([("loss", json!(loss.iter().sum::<f64>()))]);
            let part = |part: CostPart| (part.id(), json!(loss[part as usize]));
            object.extend(json::fields(CostPart::ALL.map(part)));
            Json::Object(object)
        };
        let all: Json = losses.iter().map(object).collect();
        let numbers = losses.iter().flat_map(|loss| {
            let whole = loss.iter().sum();
            std::iter::once(whole).chain(*loss)
        });
        let seconds = |value: f64| {
            if value.abs() < NOTHING {
                Value::Number(0.0)
            } else {
                Value::Number(value)
            }
        };
        Row {
            values: vec![
                numbers
                    .map(seconds)
                    .chain([Value::Absent, Value::Json(all)])
                    .collect(),
            ],
            name: row.name,
            ..Row::default()
        }
    }
}

fn counted(threads: u32) -> String {
    format!("{threads} thread{}", if threads == 1 { "" } else { "s" })
}
