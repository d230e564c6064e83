//! The order of lists that are not of functions: their own, or by a metric that `sort` names.

use omp_model::metrics::{Flavour, Quantity, SortKey};
use omp_model::views::openmp::gain::REGION_METRICS;

/// What a construct's row is put in order by.
pub(super) trait Ordered {
    /// What it is called.
    fn name(&self) -> &str;

    /// Its seconds by [`REGION_METRICS`]; nothing for a flavour that such rows do not have.
    fn seconds(&self, flavour: Flavour) -> Option<&[f64]>;
}

/// Puts rows in the order that was asked for, alike ones as they stood: largest first, names from
/// A to Z. What it is by; nothing where rows have no such value, and keep their order.
pub(super) fn by<T: Ordered>(rows: &mut [T], key: Option<SortKey>) -> Option<String> {
    let key = key?;
    let turned = |order: std::cmp::Ordering| if key.reversed { order.reverse() } else { order };
    match key.quantity {
        Quantity::Name => rows.sort_by(|left, right| turned(left.name().cmp(right.name()))),
        Quantity::Time(flavour, metric) => {
            let at = REGION_METRICS.iter().position(|&known| known == metric)?;
            if rows.iter().any(|row| row.seconds(flavour).is_none()) {
                return None;
            }
            let value = |row: &T| row.seconds(flavour).map_or(0.0, |seconds| seconds[at]);
            rows.sort_by(|left, right| turned(value(right).total_cmp(&value(left))));
        }
        Quantity::Size | Quantity::Address => return None,
    }
    Some(key.quantity.label())
}

#[cfg(test)]
mod tests {
    use omp_model::metrics::Metric;

    use super::*;

    struct Row(&'static str, Vec<f64>);

    impl Ordered for Row {
        fn name(&self) -> &str {
            self.0
        }

        fn seconds(&self, flavour: Flavour) -> Option<&[f64]> {
            (flavour == Flavour::Exclusive).then_some(&self.1)
        }
    }

    #[test]
    fn rows_are_as_asked_for_or_stay_as_they_are() {
        let order = |quantity, reversed| {
            let waits = [("b", 1.0), ("c", 3.0), ("a", 1.0)];
            let mut rows = waits.map(|(name, seconds)| {
                let metrics = REGION_METRICS.iter();
                let of = |&metric: &Metric| {
                    if metric == Metric::OmpWait {
                        seconds
                    } else {
                        0.0
                    }
                };
                Row(name, metrics.map(of).collect())
            });
            let by = by(&mut rows, Some(SortKey { quantity, reversed }));
            (rows.map(|row| row.0).concat(), by.unwrap_or_default())
        };
        let wait = |flavour| Quantity::Time(flavour, Metric::OmpWait);
        let words = "Exclusive OMP Wait Time";
        let exclusive = wait(Flavour::Exclusive);
        assert_eq!(
            order(exclusive, false),
            ("cba".to_owned(), words.to_owned())
        );
        assert_eq!(order(exclusive, true), ("bac".to_owned(), words.to_owned()));
        let names = order(Quantity::Name, false);
        assert_eq!(names, ("abc".to_owned(), "Name".to_owned()));
        let unknown = ("bca".to_owned(), String::new());
        assert_eq!(order(wait(Flavour::Inclusive), false), unknown);
        assert_eq!(order(Quantity::Size, false), unknown);
        assert_eq!(by(&mut [Row("a", Vec::new())], None), None);
    }
}
