//! `calltree`: the tree of calls from `<Total>` down.
//!
//! It is what a flame graph is drawn from, too: each row has its depth, its function and, by
//! experiment, the attributed seconds of every metric asked for.

use omp_model::metrics::{Flavour, Quantity};
use omp_model::views::calltree::{self, MOST_NODES, TreeRow};
use omp_model::views::compare::join::{self, Branch, Joined, Rank};

use crate::document::{Block, Column, Document, InJson, Node, Role, Row, Table, Value};
use crate::functions::{marks, whole};
use crate::query::Query;

/// The call tree.
pub fn calltree(query: &Query<'_>) -> Document {
    let (mut branches, left_out) = branches(query);
    branches.truncate(query.limited(branches.len()));
    let mut columns = columns(query);
    let is_restored = |branch: &Branch| branch.joined.rows.iter().flatten().any(|row| row.restored);
    if branches.iter().any(is_restored) {
        columns.push(Column::fact(RESTORED).without_heading());
    }
    let rows: Vec<Row> = branches
        .into_iter()
        .map(|branch| row(query, &columns, branch))
        .collect();
    let mut document = query.document("calltree");
    for (nodes, smaller) in left_out.into_iter().filter(|(nodes, _)| *nodes > 0) {
        document.notices.push(format!(
            "{nodes} rows are left out, none of which is more than {:.2e} % of the whole: the tree \
             would have more than {MOST_NODES}",
            100.0 * smaller
        ));
    }
    let by = query.attributed_sort().quantity.label();
    Document {
        title: match query.rank() {
            Rank::Largest => format!("Functions Call Tree. Metric: {by}"),
            Rank::Change => format!("Functions Call Tree by change. Metric: {by}"),
        },
        blocks: vec![Block::Table(Table {
            whole: whole(&rows),
            ..query.table(columns, rows)
        })],
        ..document
    }
}

/// The nodes in preorder, with what each experiment has there, and how many each leaves out.
fn branches(query: &Query<'_>) -> (Vec<Branch>, Vec<(usize, f64)>) {
    let request = &query.request;
    if query.is_comparison() {
        return join::calltree(&query.shared(), request, query.ranking());
    }
    let source = &query.all;
    let tree = calltree::calltree(source.profile(), &source.names(), request);
    let branch = |row: TreeRow| Branch {
        depth: row.depth,
        last: row.last,
        joined: Joined {
            name: row.name.clone(),
            rows: vec![Some(row)],
        },
    };
    let left_out = vec![(tree.left_out, tree.smaller)];
    (tree.rows.into_iter().map(branch).collect(), left_out)
}

/// The attributed times, and for JSON the others. At a node inclusive and attributed time are the
/// same; each has its key, so that a script finds the metric that it knows from the list of
/// functions.
fn columns(query: &Query<'_>) -> Vec<Column> {
    let attributed = query.attributed();
    let of = |column: Column| match column.quantity {
        Some(Quantity::Time(_, metric)) if !query.is_comparison() => {
            let other = |flavour| Column::time(Quantity::Time(flavour, metric)).without_heading();
            vec![column, other(Flavour::Exclusive), other(Flavour::Inclusive)]
        }
        _ => vec![column],
    };
    let mut columns: Vec<Column> = query.shown(&attributed).flat_map(of).collect();
    for &metric in &query.request.metrics {
        let quantity = Quantity::Time(Flavour::Attributed, metric);
        if columns.iter().all(|it| it.quantity != Some(quantity)) {
            columns.push(Column {
                json: InJson::Nowhere,
                ..Column::time(quantity).without_heading()
            });
        }
    }
    columns
}

/// The field of a function that is there because the machine code proves it, and in no sample.
const RESTORED: &str = "restored";

fn row(query: &Query<'_>, columns: &[Column], branch: Branch) -> Row {
    let Joined { name, rows } = branch.joined;
    let values = |row: &Option<TreeRow>| match row {
        Some(row) => {
            let mut values = query.values(columns, row.code, &row.exclusive, &row.attributed);
            let mark = columns.iter().position(|column| column.id == RESTORED);
            if let Some(value) = mark
                .filter(|_| row.restored)
                .and_then(|at| values.get_mut(at))
            {
                *value = Value::Json(true.into());
            }
            values
        }
        None => query.values(columns, None, &[], &[]),
    };
    Row {
        values: rows.iter().map(values).collect(),
        marks: marks(&rows, |row| row.marks),
        node: Some(Node {
            depth: branch.depth,
            last: branch.last,
        }),
        role: match branch.depth {
            0 => Role::Total,
            _ => Role::Any,
        },
        ..Row::function(name)
    }
}
