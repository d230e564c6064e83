//! The metrics of the command language, each defined by the state and scheduling state of an
//! [`Item`].
//!
//! Two partitions hold for every set of items: `ompwork` + `ompwait` = `total`, and `totalcpu` +
//! `offcpu` = `total`. Finer: `ompwait` is the sum of the wait states and `offcpuwork`, and
//! `user` + `system` = `totalcpu`.

mod metric;
mod spec;
#[cfg(test)]
mod tests;

pub use metric::{Available, Metric};
pub use spec::{Column, Flavour, MetricSpecError, Quantity, SortKey};
