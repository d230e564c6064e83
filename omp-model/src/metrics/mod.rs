//! The metrics of the command language, each defined by the state and scheduling state of an
//! [`Item`].
//!
//! Two partitions hold for every set of items: `ompwork` + `ompwait` = `total`, and `totalcpu` +
//! `offcpu` = `total`. Finer: `ompwait` is the sum of the wait states and `offcpuwork`, and
//! `user` + `system` = `totalcpu`.
//!
//! Counters are metrics beside these: each is of the items that its own samples made.

pub(crate) mod counter;
mod metric;
mod spec;
#[cfg(test)]
mod tests;

pub use counter::CounterName;
pub use metric::{Available, Metric, counters_of};
pub use spec::{Column, Flavour, MetricSpecError, Quantity, SortKey};
