//! The times of rows of lists.

use omp_model::metrics::{Flavour, Quantity};
use omp_model::views::{Request, Row};

/// The seconds of a quantity in a row.
pub(crate) fn seconds(request: &Request, row: &Row, quantity: Quantity) -> f64 {
    let Quantity::Time(flavour, metric) = quantity else {
        return 0.0;
    };
    let values = match flavour {
        Flavour::Exclusive => &row.exclusive,
        Flavour::Inclusive | Flavour::Attributed => &row.inclusive,
    };
    request.index(metric).map_or(0.0, |at| values[at])
}
