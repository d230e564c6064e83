//! The settings of the analyzer.

use omp_model::metrics::{Available, Column, SortKey};
use report::settings::Compare;

/// The settings of the analyzer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// The settings of documents. Its columns are those of [`Settings::set`].
    pub report: report::Settings,
    /// The index of the list of metrics in force.
    pub set: usize,
}

impl Settings {
    /// The columns of one of these lists of metrics.
    pub(crate) fn columns(&self, sets: &[String], available: &Available) -> Vec<Column> {
        let spec = sets.get(self.set).unwrap_or(&sets[0]);
        Column::parse_list(spec, available)
            .expect("the lists are made of the metrics that the experiment has")
    }

    /// The chosen order, else that of the columns.
    pub(crate) fn sort(&self, columns: &[Column]) -> SortKey {
        self.report
            .sort
            .unwrap_or_else(|| SortKey::of_list(columns))
    }

    /// The text of the filter in force.
    pub fn filter(&self) -> Option<&str> {
        self.report.filter.as_ref().map(|filter| filter.text())
    }

    /// Whether experiments are compared.
    pub fn is_compared(&self) -> bool {
        self.report.compare != Compare::Off
    }
}

/// The next way to compare, of those that every view supports.
pub(crate) const fn next_compare(now: Compare) -> Compare {
    match now {
        Compare::Off => Compare::Delta,
        Compare::Delta => Compare::Ratio,
        Compare::Ratio => Compare::On,
        Compare::On | Compare::Scaling => Compare::Off,
    }
}
