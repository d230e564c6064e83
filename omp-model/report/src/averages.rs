//! Several recordings of a side as their mean, and how far its difference from the first side may be
//! chance.

use omp_model::metrics::Quantity;
use omp_model::views::compare::groups::{Groups, Term, chance, mean, of_sampling};

use crate::document::{About, Block, Column, Document, Mean, Row, Table, Unit, Value};

/// Of a hundred values that did not change, one is marked.
const LEVEL: f64 = 0.01;

/// What the mark of a difference says.
const MARKED: &str = "values are means of the recordings of a side; ± is how far the difference from the first \
     side may be chance (of 100 values that did not change, 1 differs by more), * marks differences beyond it";

/// Turns the values of experiments into those of sides, in a document of which a side has several
/// recordings. Words are those of the first recording of a side that has any.
pub fn average(document: &mut Document) {
    let Some(About {
        groups: Some(groups),
        period,
        ..
    }) = &document.about
    else {
        return;
    };
    let (groups, period) = (groups.clone(), *period);
    let mut is_told = false;
    for block in &mut document.blocks {
        if let Block::Table(table) = block
            && table.has_sides()
        {
            average_table(table, &groups, period);
            is_told |= table.has_means();
        }
    }
    if is_told {
        document.notices.push(MARKED.to_owned());
    }
}

fn average_table(table: &mut Table, groups: &Groups, period: f64) {
    let columns = &table.columns;
    for row in &mut table.rows {
        row.values = sides_of(row, columns, &table.whole, groups, period);
    }
    let whole = groups.split(std::mem::take(&mut table.whole)).into_iter();
    table.whole = whole
        .map(|runs| {
            let of = |at: usize| {
                let values: Vec<f64> = runs.iter().filter_map(|run| run.get(at)).copied().collect();
                mean(&values)
            };
            (0..runs.iter().map(Vec::len).max().unwrap_or(0))
                .map(of)
                .collect()
        })
        .collect();
}

/// The values of a row by side and column; `whole` has the whole of each column by experiment.
fn sides_of(
    row: &Row,
    columns: &[Column],
    whole: &[Vec<f64>],
    groups: &Groups,
    period: f64,
) -> Vec<Vec<Value>> {
    let runs = groups.split(&row.values);
    let value = |side: usize, at: usize| {
        let of_side = |side: usize| {
            let runs = runs.get(side).map_or(&[][..], Vec::as_slice);
            runs.iter().map(|run| of_run(run, at, &columns[at]))
        };
        let numbers: Vec<f64> = of_side(side).flatten().filter_map(Value::number).collect();
        if numbers.is_empty() {
            let mut words = runs[side].iter().filter_map(|run| run.get(at));
            return words
                .find(|word| **word != Value::Absent)
                .cloned()
                .unwrap_or_default();
        }
        if of_side(side)
            .flatten()
            .any(|value| matches!(value, Value::Clock(_)))
        {
            return Value::Clock(mean(&numbers));
        }
        let first: Vec<f64> = of_side(0).flatten().filter_map(Value::number).collect();
        let inferred: Vec<f64> = of_side(side).flatten().map(Value::inferred).collect();
        let own = mean(&numbers);
        let difference = own - mean(&first);
        let chance = (side > 0 && !first.is_empty()).then(|| {
            let all: Vec<f64> = whole
                .iter()
                .filter_map(|side| side.get(at))
                .copied()
                .collect();
            let least = match columns[at].unit {
                Unit::Seconds => of_sampling(mean(&[own, mean(&first)]), mean(&all), period),
                Unit::Bytes | Unit::None => 0.0,
            };
            let term = |runs, times| Term { runs, times };
            chance(
                &[term(&numbers, 1.0), term(&first, -1.0)],
                least,
                LEVEL / 2.0,
            )
        });
        let chance = chance.flatten();
        Value::Mean(Mean {
            mean: own,
            inferred: mean(&inferred),
            runs: numbers,
            differs: chance.is_some_and(|chance| difference.abs() > chance),
            chance,
        })
    };
    let sides = 0..groups.len();
    sides
        .map(|side| (0..columns.len()).map(|at| value(side, at)).collect())
        .collect()
}

/// A recording's value in a column. What a recording lacks took no time in it; a count or ratio that it
/// lacks is none.
fn of_run<'v>(run: &'v [Value], at: usize, column: &Column) -> Option<&'v Value> {
    const NONE: &Value = &Value::Number(0.0);
    let is_time =
        matches!(column.quantity, Some(Quantity::Time(..))) || column.unit == Unit::Seconds;
    let is_nothing = |value: &Value| matches!(value, Value::Absent | Value::Omitted);
    if is_time && run.iter().all(is_nothing) {
        return Some(NONE);
    }
    run.get(at)
}

#[cfg(test)]
mod tests {
    use omp_model::metrics::{Flavour, Metric};
    use omp_model::profile::ViewMode;

    use super::*;
    use crate::settings::Compare;
    use crate::text::Layout;

    /// The times of functions in five recordings, three before a change and two after it.
    fn document(compare: Compare, rows: &[(&str, [Option<f64>; 5])]) -> Document {
        let column = Column::time(Quantity::Time(Flavour::Exclusive, Metric::Total));
        let row = |(name, runs): &(&str, [Option<f64>; 5])| Row {
            values: runs
                .iter()
                .map(|it| vec![Value::known(*it), Value::Absent])
                .collect(),
            ..Row::function((*name).to_owned())
        };
        let names = ["a", "b", "c", "d", "e"].map(str::to_owned);
        let about = About::new(ViewMode::User, names.into(), compare);
        let mut document = Document {
            title: "Functions".to_owned(),
            about: Some(about.grouped(&Groups::new([0, 0, 0, 1, 1]), 0.001)),
            blocks: vec![Block::Table(Table {
                compare,
                columns: vec![column, Column::name()],
                rows: rows.iter().map(row).collect(),
                whole: vec![vec![10.0], vec![11.0], vec![12.0], vec![20.0], vec![22.0]],
                ..Table::default()
            })],
            ..Document::default()
        };
        average(&mut document);
        document
    }

    const ROWS: [(&str, [Option<f64>; 5]); 4] = [
        (
            "slower",
            [Some(1.0), Some(1.01), Some(0.99), Some(2.0), Some(2.02)],
        ),
        (
            "noisy",
            [Some(1.0), Some(2.0), Some(3.0), Some(4.0), Some(5.0)],
        ),
        (
            "rare",
            [Some(0.001), Some(0.001), None, Some(0.002), Some(0.002)],
        ),
        ("new", [None, None, None, Some(0.5), Some(0.5)]),
    ];

    #[test]
    fn differences_beyond_chance_are_marked() {
        let document = document(Compare::Delta, &ROWS);
        let text = crate::text::render(&document, Layout::Aligned);
        let expected = "\
Excl.         Excl.         Excl.          Name
Total Thread  Total Thread  Total Thread
(1) sec.      (2) delta     (2) ±
1.000         +1.010*       0.087          slower
2.000         +2.500        4.867          noisy
0.001         +0.001        0.003          rare
0.            +0.500*       0.037          new";
        assert_eq!(text.split("\n\n").nth(1), Some(expected));
        assert!(text.ends_with(&format!("Note: {MARKED}\n\n")), "{text}");
    }

    #[test]
    fn json_has_the_recordings_and_what_differs() {
        let json = crate::json::render(&document(Compare::On, &ROWS));
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["sides"], serde_json::json!([1, 1, 1, 2, 2]));
        let row = &json["rows"][0];
        assert_eq!(row["values"][0]["e.total"], 1.0);
        assert_eq!(row["values"][1]["e.total"], 2.01);
        assert_eq!(row["runs"][1]["e.total"], serde_json::json!([2.0, 2.02]));
        assert_eq!(row["differs"], serde_json::json!([[], ["e.total"]]));
        let chance = row["chance"][1]["e.total"].as_f64().unwrap();
        assert!((0.03..0.4).contains(&chance), "{chance}");
        assert_eq!(row["chance"][0], serde_json::json!({}));
        assert_eq!(json["rows"][1]["differs"], serde_json::json!([[], []]));
    }
}
