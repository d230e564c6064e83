//! Leaves out the rows of tables that are a small part of the whole.

use omp_model::metrics::{Flavour, Quantity};
use omp_model::views::TOTAL;

use crate::document::{Block, Column, Document, Role, Row, Style, Table, Unit, Value};

/// What a row must have to be shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Least {
    /// So many percent of the whole.
    Percent(f64),
    /// A digit that is shown.
    Digit,
}

impl Least {
    /// The least of a column's times, of `whole` seconds.
    fn of(self, column: &Column, whole: f64) -> f64 {
        match self {
            Least::Percent(percent) => percent / 100.0 * whole,
            Least::Digit => 0.5 * 10_f64.powi(-(column.decimals as i32)),
        }
    }

    fn words(self) -> String {
        match self {
            Least::Percent(percent) => format!("each below {percent} % of the whole"),
            Least::Digit => "each too short for a digit (limit 0 shows all)".to_owned(),
        }
    }
}

/// Leaves out rows all of whose times that are shown are below the least; in a
/// tree, with what is below them; a function with its callers and callees. A notice tells how many
/// rows and how much time. Sources and instructions stay.
pub fn prune(document: &mut Document, least: Least) {
    let functions = take_functions(document, least);
    let mut rows = 0;
    let mut times: Vec<String> = Vec::new();
    for block in &mut document.blocks {
        let Block::Table(table) = block else { continue };
        if table.style == Style::Annotated || table.whole.is_empty() {
            continue;
        }
        let taken = take_small(table, least);
        rows += taken.outermost.len() + taken.nested;
        // Callers and callees both divide the time of their function.
        let is_divided_once = table.rows.iter().all(|row| row.role != Role::Centre);
        if is_divided_once && !taken.outermost.is_empty() {
            times.extend(amounts(table, &taken.outermost));
        }
    }
    if functions > 0 {
        let what = if functions == 1 {
            "function is"
        } else {
            "functions are"
        };
        document.notices.push(format!(
            "{functions} {what} left out with callers and callees, {}",
            least.words()
        ));
    }
    if rows > 0 {
        let what = if rows == 1 { "row is" } else { "rows are" };
        let times = match times.as_slice() {
            [] => String::new(),
            times => format!(": {}", times.join(", ")),
        };
        let notice = format!("{rows} {what} left out, {}{times}", least.words());
        document.notices.push(notice);
    }
}

/// Takes the tables of small functions between their callers and callees out of a document that has
/// one of all, too, and counts them.
fn take_functions(document: &mut Document, least: Least) -> usize {
    let tables = document.blocks.iter().filter_map(|block| match block {
        Block::Table(table) => Some(table),
        Block::Lines(_) => None,
    });
    let is_centre = |row: &Row| row.role == Role::Centre;
    let is_all = |table: &&Table| {
        let mut rows = table.rows.iter();
        rows.any(|row| is_centre(row) && row.name == TOTAL)
    };
    let Some(least) = tables
        .clone()
        .find(is_all)
        .map(|all| least_times(all, least))
    else {
        return 0;
    };
    let is_small = |table: &Table| {
        let is_one = table.rows.iter().any(is_centre);
        is_one && are_small(&table.whole, &least, |whole, at| whole.get(at).copied())
    };
    let before = document.blocks.len();
    document.blocks.retain(|block| match block {
        Block::Table(table) => !is_small(table),
        Block::Lines(_) => true,
    });
    before - document.blocks.len()
}

/// The least of each time that is shown, with its column, by experiment.
type LeastTimes = Vec<Vec<(usize, f64)>>;

fn least_times(table: &Table, least: Least) -> LeastTimes {
    // Events without time have digits, too; their parts of the whole are no parts of the time.
    let counts = |column: &Column| match least {
        Least::Percent(_) => column.unit == Unit::Seconds,
        Least::Digit => matches!(column.quantity, Some(Quantity::Time(..))),
    };
    let is_time = |at: usize| {
        let column = table.columns.get(at);
        column.is_some_and(|column| column.is_visible() && counts(column))
    };
    let of_side = |whole: &Vec<f64>| {
        let whole = whole.iter().enumerate();
        let times = whole.filter(|&(at, whole)| *whole > 0.0 && is_time(at));
        times
            .map(|(at, &whole)| (at, least.of(&table.columns[at], whole)))
            .collect()
    };
    table.whole.iter().map(of_side).collect()
}

/// Whether all times of all experiments are below these; not so where there are no times.
fn are_small<S>(sides: &[S], least: &LeastTimes, time: impl Fn(&S, usize) -> Option<f64>) -> bool {
    let sides = || sides.iter().zip(least);
    let is_small = |side, &(at, least): &(usize, f64)| time(side, at).unwrap_or(0.0) < least;
    sides().any(|(_, least)| !least.is_empty())
        && sides().all(|(side, least)| least.iter().all(|least| is_small(side, least)))
}

/// Takes the small rows out of a table.
fn take_small(table: &mut Table, least: Least) -> Taken {
    let least = least_times(table, least);
    let is_small =
        |row: &Row| are_small(&row.values, &least, |values, at| values.get(at)?.number());
    let mut taken = Taken::default();
    let mut below = None;
    let mut kept = Vec::new();
    for row in table.rows.clone() {
        let depth = row.node.map(|node| node.depth);
        if below.is_some_and(|above| depth > Some(above)) {
            taken.nested += 1;
        } else if row.is_needed() || !is_small(&row) {
            below = None;
            kept.push(row);
        } else {
            below = depth;
            taken.outermost.push(row);
        }
    }
    mark_last(&mut kept);
    table.rows = kept;
    taken
}

/// The rows that were taken out of a table.
#[derive(Default)]
struct Taken {
    /// Those whose times do not overlap.
    outermost: Vec<Row>,
    /// How many were below one of those in a tree.
    nested: usize,
}

impl Row {
    /// Whether the table is about it.
    fn is_needed(&self) -> bool {
        matches!(self.role, Role::Total | Role::Sum | Role::Centre)
    }
}

/// Marks the last of each node's children.
fn mark_last(rows: &mut [Row]) {
    let mut has_later: Vec<bool> = Vec::new();
    let nodes = rows.iter_mut().rev().filter_map(|row| row.node.as_mut());
    for node in nodes {
        has_later.resize(node.depth as usize + 1, false);
        let later = &mut has_later[node.depth as usize];
        node.last = !*later;
        *later = true;
    }
}

/// The sums of times that do not overlap, by column; of several experiments in their order.
fn amounts(table: &Table, rows: &[Row]) -> Vec<String> {
    let columns = table.columns.iter().enumerate();
    let times = columns.filter(|(_, column)| {
        let is_part = matches!(
            column.quantity,
            Some(Quantity::Time(Flavour::Exclusive | Flavour::Attributed, _))
        );
        column.is_visible() && is_part
    });
    let amount = |(at, column): (usize, &Column)| {
        let sum = |side: usize| -> f64 {
            let values = rows.iter().filter_map(|row| row.values.get(side)?.get(at));
            values.filter_map(Value::number).sum()
        };
        let sums: Vec<f64> = (0..table.whole.len()).map(sum).collect();
        let least = Least::Digit.of(column, 0.0);
        // Nothing is not worth a word.
        sums.iter().any(|sum| sum.abs() >= least).then(|| {
            let sums = sums.iter().map(|sum| column.amount(*sum));
            let sums = sums.collect::<Vec<_>>().join(" and ");
            format!("{} {sums}", column.label)
        })
    };
    times.filter_map(amount).collect()
}

#[cfg(test)]
mod tests {
    use omp_model::metrics::Metric;

    use super::*;
    use crate::document::Node;

    fn document(flavour: Flavour, rows: &[(&str, Option<u32>, f64)]) -> Document {
        let row = |&(name, depth, seconds): &(&str, Option<u32>, f64)| Row {
            node: depth.map(|depth| Node { depth, last: false }),
            role: match name {
                "<Total>" => Role::Total,
                _ => Role::Any,
            },
            values: vec![vec![Value::Number(seconds)]],
            ..Row::function(name.to_owned())
        };
        Document {
            blocks: vec![Block::Table(Table {
                columns: vec![Column::time(Quantity::Time(flavour, Metric::Total))],
                rows: rows.iter().map(row).collect(),
                whole: vec![vec![10.0]],
                ..Table::default()
            })],
            ..Document::default()
        }
    }

    fn names(document: &Document) -> Vec<(&str, bool)> {
        let Block::Table(table) = &document.blocks[0] else {
            panic!("a table");
        };
        let row = |row: &Row| row.node.is_some_and(|node| node.last);
        table
            .rows
            .iter()
            .map(|it| (it.name.as_str(), row(it)))
            .collect()
    }

    #[test]
    fn small_rows_are_left_out_and_told() {
        let rows = [
            ("<Total>", None, 10.0),
            ("a", None, 0.1),
            ("b", None, 0.09),
            ("c", None, 0.0),
        ];
        let mut list = document(Flavour::Exclusive, &rows);
        prune(&mut list, Least::Percent(1.0));
        assert_eq!(names(&list), [("<Total>", false), ("a", false)]);
        let told =
            "2 rows are left out, each below 1 % of the whole: Exclusive Total Thread Time 0.090 s";
        assert_eq!(list.notices, [told]);
        let mut inclusive = document(Flavour::Inclusive, &rows[..3]);
        prune(&mut inclusive, Least::Percent(1.0));
        assert_eq!(
            inclusive.notices,
            ["1 row is left out, each below 1 % of the whole"]
        );
    }

    #[test]
    fn rows_without_a_digit_are_left_out_and_told() {
        let rows = [
            ("<Total>", None, 10.0),
            ("a", None, 0.0005),
            ("b", None, 0.0004),
            ("c", None, 0.0),
        ];
        let mut list = document(Flavour::Exclusive, &rows);
        prune(&mut list, Least::Digit);
        assert_eq!(names(&list), [("<Total>", false), ("a", false)]);
        let told = "2 rows are left out, each too short for a digit (limit 0 shows all)";
        assert_eq!(list.notices, [told]);
    }

    #[test]
    fn small_functions_are_left_out_with_their_callers_and_callees() {
        let between = |name: &str, inclusive: f64, callee: f64| {
            let rows = [(name, None, 0.0), ("callee", None, callee)];
            let mut document = document(Flavour::Attributed, &rows);
            let mut block = document.blocks.remove(0);
            if let Block::Table(table) = &mut block {
                table.whole = vec![vec![inclusive]];
                table.rows[0].role = Role::Centre;
                table.rows[1].role = Role::Callee;
            }
            block
        };
        let blocks = [
            ("<Total>", 10.0),
            ("main", 9.0),
            ("small", 0.4),
            ("less", 0.0),
        ];
        let blocks = blocks.map(|(name, inclusive)| between(name, inclusive, inclusive / 2.0));
        let mut all = Document {
            blocks: blocks.into(),
            ..Document::default()
        };
        prune(&mut all, Least::Percent(5.0));
        let centres = all.blocks.iter().map(|block| match block {
            Block::Table(table) => table.rows[0].name.as_str(),
            Block::Lines(_) => "",
        });
        assert_eq!(centres.collect::<Vec<_>>(), ["<Total>", "main"]);
        let told = "2 functions are left out with callers and callees, each below 5 % of the whole";
        assert_eq!(all.notices, [told]);
        let mut one = Document {
            blocks: vec![between("small", 0.4, 0.4)],
            ..Document::default()
        };
        prune(&mut one, Least::Percent(50.0));
        assert_eq!(names(&one).len(), 2, "what was asked for stays");
    }

    #[test]
    fn rows_without_times_stay() {
        let rows = [("a", None, 0.1), ("b", None, 0.0)];
        let mut list = document(Flavour::Exclusive, &rows);
        let Block::Table(table) = &mut list.blocks[0] else {
            panic!("a table");
        };
        table.columns[0].unit = Unit::None;
        prune(&mut list, Least::Percent(50.0));
        assert_eq!(names(&list).len(), 2);
        assert_eq!(list.notices, [""; 0]);
    }

    #[test]
    fn a_tree_loses_small_branches_whole_and_counts_their_time_once() {
        let mut tree = document(
            Flavour::Attributed,
            &[
                ("<Total>", Some(0), 10.0),
                ("main", Some(1), 9.0),
                ("small", Some(2), 0.5),
                ("leaf", Some(3), 0.5),
                ("solve", Some(2), 8.0),
                ("rest", Some(2), 0.4),
                ("idle", Some(1), 0.3),
            ],
        );
        prune(&mut tree, Least::Percent(10.0));
        let left = [("<Total>", true), ("main", true), ("solve", true)];
        assert_eq!(names(&tree), left);
        let told = "4 rows are left out, each below 10 % of the whole: Attributed Total Thread Time 1.200 s";
        assert_eq!(tree.notices, [told]);
    }
}
