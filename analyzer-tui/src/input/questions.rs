//! The choices of an order and of a report.

use omp_model::metrics::{Flavour, Metric, Quantity, SortKey};
use report::reports::{Build, REPORTS, Report};
use report::settings::Compare;

use crate::columns::nonempty;
use crate::row_order::RowOrder;
use crate::state::app::App;
use crate::state::overlay::{Answer, Choice, Overlay};
use crate::view::{View, has_own_order};

const REVERSED: &str = "the same, the other way round";

impl App {
    /// Asks for a report, other than those of one function.
    pub(super) fn ask_report(&self) -> Overlay {
        let whole = REPORTS.iter().filter(|report| match report.build {
            Build::Whole(_) => true,
            Build::IfRecorded(_) | Build::Numbered(_) => self.has_findings(),
            Build::Named(_) => false,
        });
        let width = whole.clone().map(|report| report.name.len()).max();
        let width = width.unwrap_or(0);
        let option = |report: &'static Report| {
            let words = format!("{:width$}  {}", report.name, report.help);
            (words, Answer::Report(report.name))
        };
        let options: Vec<_> = whole.clone().map(option).collect();
        let is_now = |report: &Report| self.view == View::Report && report.name == self.report.name;
        Overlay::Choice(Choice {
            title: "Show a report",
            options,
            selected: whole.clone().position(is_now).unwrap_or(0),
        })
    }

    /// Asks for the order of the current view: its columns, the name, or the reverse.
    pub(super) fn ask_order(&self) -> Overlay {
        match self.view {
            view if has_own_order(view) => self.ask_row_order(),
            View::Flame => {
                let quantities = self.metrics_with_time().into_iter();
                let quantities =
                    quantities.map(|metric| Quantity::Time(Flavour::Attributed, metric));
                self.ask_sort("As wide as", quantities.collect())
            }
            _ => {
                let table = self.list.table(0);
                let columns = table.map_or(&[][..], |table| &table.columns);
                let shown = columns.iter().filter(|column| column.is_visible());
                let mut quantities: Vec<Quantity> =
                    shown.filter_map(|column| column.quantity).collect();
                quantities.retain(|quantity| *quantity != Quantity::Name);
                quantities.push(Quantity::Name);
                self.ask_sort("Order by", quantities)
            }
        }
    }

    /// The metrics that have any time.
    fn metrics_with_time(&self) -> Vec<Metric> {
        let profile = self.documents.profile(&self.experiments);
        let available = self.experiments.available().metrics().iter().copied();
        let has_time = |metric: &Metric| profile.items.iter().any(|item| metric.value(item) > 0.0);
        available.filter(has_time).collect()
    }

    fn ask_sort(&self, title: &'static str, quantities: Vec<Quantity>) -> Overlay {
        let now = self.documents.sort;
        let option = |quantity: Quantity| {
            let reversed = false;
            let key = SortKey { quantity, reversed };
            (quantity.label(), Answer::Sort(key))
        };
        let mut options: Vec<_> = quantities.into_iter().map(option).collect();
        if self.view != View::Flame {
            let reversed = !now.reversed;
            let turned = SortKey { reversed, ..now };
            options.push((REVERSED.to_owned(), Answer::Sort(turned)));
        }
        let is_now = |(_, answer): &(String, Answer)| *answer == Answer::Sort(now);
        Overlay::Choice(Choice {
            title,
            selected: options.iter().position(is_now).unwrap_or(0),
            options,
        })
    }

    /// Asks for the order of rows: their columns, the name, or the reverse.
    fn ask_row_order(&self) -> Overlay {
        let now = self.row_orders.get(&self.view);
        let order = self.view.order();
        let as_made = order.unwrap_or("The order of their appearance");
        let mut options = vec![(as_made.to_owned(), Answer::Order(None))];
        let table = self.list.table(0);
        let compare = table.map_or(Compare::Off, |table| table.compare);
        let columns = table.into_iter().flat_map(|table| {
            let told = nonempty(table).into_iter();
            told.map(|at| &table.columns[at])
        });
        let sides = match compare {
            Compare::Off => 1,
            _ => self.experiments.parts().len(),
        };
        for column in columns {
            for side in 0..sides {
                let words = match compare {
                    Compare::Off => column.label.clone(),
                    _ => format!("{} ({})", column.label, side + 1),
                };
                let order = RowOrder {
                    side,
                    ..RowOrder::by(&column.id)
                };
                options.push((words, Answer::Order(Some(order))));
            }
        }
        let by_name = RowOrder::by(RowOrder::NAME);
        options.push(("Name".to_owned(), Answer::Order(Some(by_name))));
        let is_now = |(_, answer): &(String, Answer)| match (answer, now) {
            (Answer::Order(Some(one)), Some(now)) => one.is_by(now),
            (Answer::Order(None), None) => true,
            _ => false,
        };
        let selected = options.iter().position(is_now).unwrap_or(0);
        if let Some(now) = now {
            let turned = RowOrder {
                reversed: !now.reversed,
                ..now.clone()
            };
            options.push((REVERSED.to_owned(), Answer::Order(Some(turned))));
        }
        Overlay::Choice(Choice {
            title: "Order by",
            options,
            selected,
        })
    }
}
