//! Functions, lines and instructions side by side, with all their metrics and where they come
//! from.

use omp_model::metrics::{Flavour, Quantity};
use omp_model::views::compare::Shared;
use omp_model::views::compare::join::Joined;
use omp_model::views::{List, Row as ListRow, TOTAL};
use serde_json::{Map, Value, json};

use super::places::joined;
use super::table::{Row, Table, beside as value_beside, of_times, plain};
use super::{Beside, scaling_of_others};
use crate::commands::details::{Facts, Of, both_flavours, labelled};
use crate::commands::fragment::{Named, find};
use crate::commands::functions::seconds;
use crate::failure::Stop;
use crate::session::PrintMode;
use crate::text;
use report::settings::Compare;

/// Every row of a list in detail.
pub(in crate::commands) fn summary(beside: &Beside<'_>, of: Of) -> Result<String, Stop> {
    if beside.mode == Compare::Scaling {
        return Err(scaling_of_others(of.view()));
    }
    let mut rows = joined(beside, lists(beside, &beside.shared(), of));
    rows.truncate(beside.first().limited(rows.len()));
    let details = Details::new(beside, of);
    Ok(match beside.first().settings.print {
        PrintMode::Json => details.json(of.view(), &rows),
        PrintMode::Text => {
            let total = rows.first();
            let entries = rows.iter();
            let entries: String = entries
                .map(|row| details.entries(row, total) + "\n")
                .collect();
            format!(
                "{} sorted by metric: {}\n{}\n{entries}{}",
                of.title(),
                beside.request.sort.quantity.label(),
                beside.experiments(),
                beside.footer()
            )
        }
    })
}

/// One function in detail.
pub(in crate::commands) fn single(
    beside: &Beside<'_>,
    name: &str,
    number: Option<usize>,
) -> Result<String, Stop> {
    if beside.mode == Compare::Scaling {
        return Err(scaling_of_others("fsingle"));
    }
    let shared = beside.shared();
    let name = shared_name(beside, &shared, &(name.to_owned(), number))?;
    let all = joined(beside, lists(beside, &shared, Of::Functions));
    let rows: Vec<Joined<ListRow>> = all.iter().filter(|row| row.name == name).cloned().collect();
    let details = Details::new(beside, Of::Functions);
    Ok(match beside.first().settings.print {
        PrintMode::Json => details.json("fsingle", &rows),
        PrintMode::Text => {
            let entries = rows.iter().map(|row| details.entries(row, all.first()));
            let entries: String = entries.collect();
            format!("{}\n{entries}\n{}", beside.experiments(), beside.footer())
        }
    })
}

/// The name that the experiments share of a function that at least one of them has.
pub(super) fn shared_name(
    beside: &Beside<'_>,
    shared: &Shared<'_>,
    function: &Named,
) -> Result<String, Stop> {
    let mut why = None;
    for (side, scene) in beside.scenes.iter().enumerate() {
        match find(scene, std::slice::from_ref(function)) {
            Ok(found) => {
                let own = found.first().map_or(TOTAL, |(name, _)| name);
                return Ok(shared.name_of(side, own).to_owned());
            }
            Err(stop) => {
                why.get_or_insert(stop);
            }
        }
    }
    Err(why.unwrap_or_else(|| Stop::words("there is nothing to compare")))
}

fn lists(beside: &Beside<'_>, shared: &Shared<'_>, of: Of) -> Vec<List> {
    let list = |side| match of {
        Of::Functions => shared.functions(side, &beside.request),
        Of::Lines => shared.lines(side, &beside.request),
        Of::Pcs => shared.pcs(side, &beside.request),
    };
    (0..beside.scenes.len()).map(list).collect()
}

struct Details<'a> {
    beside: &'a Beside<'a>,
    facts: Vec<Facts<'a>>,
    quantities: Vec<Quantity>,
}

impl<'a> Details<'a> {
    fn new(beside: &'a Beside<'a>, of: Of) -> Details<'a> {
        let facts = beside.scenes.iter().map(|scene| Facts::new(scene, of));
        Details {
            beside,
            facts: facts.collect(),
            quantities: both_flavours(&beside.request),
        }
    }

    fn json(&self, view: &str, rows: &[Joined<ListRow>]) -> String {
        let table = Table {
            beside: self.beside,
            view,
            title: String::new(),
            columns: of_times(&self.quantities),
        };
        let rows: Vec<Row> = rows
            .iter()
            .map(|joined| Row {
                name: joined.name.clone(),
                values: self.by_experiment(joined, |row| {
                    let values = self.quantities.iter();
                    values.map(|&it| Some(self.seconds(row, it))).collect()
                }),
                fields: self.places(joined),
                ..Row::default()
            })
            .collect();
        table.report(&rows)
    }

    fn by_experiment<T>(
        &self,
        joined: &Joined<ListRow>,
        of: impl Fn(Option<&ListRow>) -> T,
    ) -> Vec<T> {
        joined.rows.iter().map(|row| of(row.as_ref())).collect()
    }

    /// What an experiment does not have took no time in it.
    fn seconds(&self, row: Option<&ListRow>, quantity: Quantity) -> f64 {
        row.map_or(0.0, |row| seconds(&self.beside.request, row, quantity))
    }

    /// Where the row comes from, by experiment; null where it is not.
    fn places(&self, joined: &Joined<ListRow>) -> Map<String, Value> {
        let rows = joined.rows.iter().zip(&self.facts);
        let places = rows.map(|(row, facts)| row.as_ref().map(|row| facts.of(row)));
        let places = places.collect::<Vec<_>>();
        Map::from_iter([("places".to_owned(), json!(places))])
    }

    /// A name, a line for each metric that any experiment has time of, and for each fact.
    fn entries(&self, joined: &Joined<ListRow>, total: Option<&Joined<ListRow>>) -> String {
        let mut entries: Vec<(String, String)> = Vec::new();
        for &quantity in &self.quantities {
            let Quantity::Time(_, metric) = quantity else {
                continue;
            };
            let whole = Quantity::Time(Flavour::Inclusive, metric);
            let has = self.by_experiment(joined, |row| self.seconds(row, whole) > 0.0);
            if has.contains(&true) {
                entries.push((quantity.label(), self.times(joined, total, quantity)));
            }
        }
        let rows = joined.rows.iter().zip(&self.facts);
        let facts: Vec<Vec<(&str, String)>> = rows
            .map(|(row, facts)| row.as_ref().map_or_else(Vec::new, |row| facts.lines(row)))
            .collect();
        let labels = facts.iter().find(|facts| !facts.is_empty());
        for (at, (label, _)) in labels.into_iter().flatten().enumerate() {
            let values: Vec<&str> = facts
                .iter()
                .map(|facts| facts.get(at).map_or("-", |(_, value)| value.as_str()))
                .collect();
            entries.push(((*label).to_owned(), numbered(&values)));
        }
        labelled(&joined.name, &entries)
    }

    fn times(
        &self,
        joined: &Joined<ListRow>,
        total: Option<&Joined<ListRow>>,
        quantity: Quantity,
    ) -> String {
        let value = |row: &Option<ListRow>| self.seconds(row.as_ref(), quantity);
        let base = value(&joined.rows[0]);
        let cell = |(number, row): (usize, &Option<ListRow>)| {
            let (part, mode) = (value(row), self.beside.mode);
            let number_of = number + 1;
            if number > 0 && mode != Compare::On {
                let cell = value_beside(mode, (Some(base), Some(part)), 3);
                return format!("({number_of}) {cell:>8}");
            }
            let whole = total.and_then(|total| total.rows.get(number));
            let percent = text::percent(part, whole.map_or(0.0, value));
            let cell = plain(Some(part), 3);
            format!("({number_of}) {cell:>8} ({percent:6.2}%)")
        };
        let cells = joined.rows.iter().enumerate().map(cell);
        cells.collect::<Vec<_>>().join("  ")
    }
}

/// A fact that all share, or each experiment's.
fn numbered(values: &[&str]) -> String {
    if let [first, rest @ ..] = values
        && rest.iter().all(|value| value == first)
    {
        return (*first).to_owned();
    }
    let values = values.iter().zip(1..);
    let values: Vec<String> = values
        .map(|(value, number)| format!("({number}) {value}"))
        .collect();
    values.join("  ")
}
