//! The common part of annotated source and annotated instructions.

use omp_model::metrics::{Flavour, Quantity};
use omp_model::views::annotated::LineTimes;

use crate::document::{Column, Line, Mark, Value};
use crate::query::Query;

/// The seconds of a line in a flavour of the metric that stands at `at` in the request.
fn seconds(times: &LineTimes, flavour: Flavour, at: usize) -> f64 {
    match flavour {
        Flavour::Exclusive => times.exclusive[at],
        Flavour::Inclusive | Flavour::Attributed => times.inclusive[at],
    }
}

/// A warning about the annotated code.
pub(crate) fn warning(why: impl std::fmt::Display) -> Line {
    Line::warning(format!("Warning: {why}"))
}

/// The columns of times.
pub(crate) fn times(columns: impl Iterator<Item = Column>) -> impl Iterator<Item = Column> {
    columns.filter(|column| matches!(column.quantity, Some(Quantity::Time(..))))
}

/// The values of a line with times.
pub(crate) fn values(query: &Query<'_>, columns: &[Column], times: &LineTimes) -> Vec<Value> {
    query.values(columns, None, &times.exclusive, &times.inclusive)
}

/// What makes a line hot: the largest value of each visible column.
pub(crate) struct Hot {
    largest: Vec<(Flavour, usize, f64)>,
    share: f64,
}

impl Hot {
    /// From `percent` of a column's largest value on.
    pub(crate) fn new<'a>(
        query: &Query<'_>,
        lines: impl Iterator<Item = &'a LineTimes> + Clone,
        percent: f64,
    ) -> Hot {
        let visible = query.columns.iter().filter(|column| column.visible());
        let largest = visible.filter_map(|column| match column.quantity {
            Quantity::Time(flavour, metric) => {
                let at = query.request.index(metric)?;
                let values = lines.clone().map(|times| seconds(times, flavour, at));
                Some((flavour, at, values.fold(0.0, f64::max)))
            }
            _ => None,
        });
        Hot {
            largest: largest.collect(),
            share: percent / 100.0,
        }
    }

    /// Whether a line is hot.
    pub(crate) fn is(&self, times: &LineTimes) -> bool {
        self.largest.iter().any(|&(flavour, at, largest)| {
            largest > 0.0 && seconds(times, flavour, at) >= self.share * largest
        })
    }
}

/// The mark of a line.
pub(crate) const fn mark(is_hot: bool) -> Mark {
    if is_hot { Mark::Strong } else { Mark::Plain }
}
