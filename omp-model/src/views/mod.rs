//! The views: an experiment's time, summed by function, path, line or thread, as data.
//!
//! `er_print` and `analyzer` render this data. A number that both show comes from the same function
//! of this module.
//!
//! All views of stacks start from a [`Tree`]: the profile's display stacks, merged by the view's
//! grouping key, with the sum of each requested metric at each node.

pub mod annotated;
pub mod calltree;
pub mod caveats;
pub mod compare;
pub mod fragment;
pub mod functions;
pub mod indexes;
pub mod instructions;
pub mod lines;
pub mod names;
pub mod neighbours;
pub mod notices;
pub mod openmp;
pub mod overview;
pub mod phases;
pub mod samples;
pub mod threads;
pub mod tree;
pub mod visibility;
pub mod warnings;

use std::cmp::Ordering;

use experiment::ids::ModuleId;

use crate::metrics::{Flavour, Metric, Quantity, SortKey};

pub use functions::List;
pub use tree::Tree;

/// Seconds by metric, in the order of the request's metrics. Views of stacks have the same again:
/// the seconds among them of which no sample shows where they stand ([`Request::inferred`]).
pub type Seconds = Box<[f64]>;

/// How a row's function came to be on its stacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// It was inlined, on each of the row's stacks.
    pub inlined: bool,
    /// It begins a sequence of frames that repeats on the stack and stands in the tree once.
    pub recursive: bool,
}

/// The metrics and the order requested from a view.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The metrics to sum; [`Seconds`] are in this order.
    pub metrics: Vec<Metric>,
    /// The order of rows.
    pub sort: SortKey,
}

impl Request {
    /// The index of a metric in [`Seconds`].
    pub fn index(&self, metric: Metric) -> Option<usize> {
        self.metrics.iter().position(|&known| known == metric)
    }

    /// The index of a metric's inferred seconds in [`Seconds`] of a view of stacks.
    pub fn inferred(&self, metric: Metric) -> Option<usize> {
        Some(self.metrics.len() + self.index(metric)?)
    }
}

/// The code of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// The load object.
    pub module: ModuleId,
    /// Link-time address of the function's first instruction.
    pub address: u64,
    /// Bytes; 0 if the symbol does not say.
    pub size: u64,
}

/// A row of a list of functions or lines.
#[derive(Clone, Debug, PartialEq)]
pub struct ListRow {
    /// The name shown.
    pub name: String,
    /// Its code, if it has any.
    pub code: Option<Code>,
    /// Time at the leaf.
    pub exclusive: Seconds,
    /// Time anywhere on the stack, each sample counted once.
    pub inclusive: Seconds,
    /// How it came to be on its stacks.
    pub marks: Marks,
}

/// The fields of a row that it can be sorted by.
struct SortFields<'a> {
    name: &'a str,
    code: Option<Code>,
    exclusive: &'a [f64],
    /// Inclusive or attributed.
    inclusive: &'a [f64],
}

impl ListRow {
    fn fields(&self) -> SortFields<'_> {
        SortFields {
            name: &self.name,
            code: self.code,
            exclusive: &self.exclusive,
            inclusive: &self.inclusive,
        }
    }
}

/// The order of two rows: largest time or size first, names and addresses ascending. Ties are
/// ordered by inclusive time of the same metric, then by the other metrics, then by name. So the
/// order is the same on every machine, and among rows without work the longest wait comes first.
fn order(request: &Request, left: SortFields<'_>, right: SortFields<'_>) -> Ordering {
    let address = |fields: &SortFields<'_>| fields.code.map(|code| (code.module, code.address));
    let size = |fields: &SortFields<'_>| fields.code.map_or(0, |code| code.size);
    let larger = |right: &[f64], left: &[f64], at: usize| right[at].total_cmp(&left[at]);
    let asked = match request.sort.quantity {
        Quantity::Time(flavour, metric) => {
            request
                .index(metric)
                .map_or(Ordering::Equal, |at| match flavour {
                    Flavour::Exclusive => larger(right.exclusive, left.exclusive, at)
                        .then_with(|| larger(right.inclusive, left.inclusive, at)),
                    Flavour::Inclusive | Flavour::Attributed => {
                        larger(right.inclusive, left.inclusive, at)
                    }
                })
        }
        Quantity::Size => size(&right).cmp(&size(&left)),
        Quantity::Address => address(&left).cmp(&address(&right)),
        Quantity::Name => left.name.cmp(right.name),
    };
    let asked = if request.sort.reversed {
        asked.reverse()
    } else {
        asked
    };
    let others = || {
        let metrics = 0..request.metrics.len();
        let each = metrics.map(|at| {
            larger(right.exclusive, left.exclusive, at)
                .then_with(|| larger(right.inclusive, left.inclusive, at))
        });
        each.fold(Ordering::Equal, Ordering::then)
    };
    asked
        .then_with(others)
        .then_with(|| left.name.cmp(right.name))
}

/// Sorts rows as the request says.
fn sort_rows(rows: &mut [ListRow], request: &Request) {
    rows.sort_by(|left, right| order(request, left.fields(), right.fields()));
}

/// The name of the row of all time.
pub const TOTAL: &str = "<Total>";

#[cfg(test)]
mod test_profile;
#[cfg(test)]
mod tests;
