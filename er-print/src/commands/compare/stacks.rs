//! Call trees, callers and callees side by side.

use omp_model::metrics::{Flavour, Quantity};
use omp_model::views::calltree::TreeRow;
use omp_model::views::compare::join::{self, Joined, order};
use omp_model::views::fragment::Piece;
use omp_model::views::neighbours::{Neighbour, Neighbours};
use serde_json::{Value, json};

use super::table::{Row, Table, Values, of_times};
use super::{Beside, details, scaling_of_others};
use crate::commands::fragment::Named;
use crate::commands::functions::seconds;
use crate::commands::tree::{leads, nested};
use crate::failure::Stop;
use crate::session::PrintMode;
use report::settings::Compare;

/// The call trees of the experiments as one.
pub(in crate::commands) fn calltree(beside: &Beside<'_>) -> Result<String, Stop> {
    if beside.mode == Compare::Scaling {
        return Err(scaling_of_others("calltree"));
    }
    let shared = beside.shared();
    let sorted = join::calltree(&shared, &beside.request);
    let limit = beside.first().limited(sorted.len());
    let quantities = beside.attributed();
    let rows: Vec<(u32, bool, Row)> = sorted[..limit]
        .iter()
        .map(|node| {
            let row = Row {
                name: node.joined.name.clone(),
                values: values(beside, &quantities, &node.joined),
                ..Row::default()
            };
            (node.depth, node.last, row)
        })
        .collect();
    let by = beside.first().attributed_sort().quantity.label();
    let table = Table {
        beside,
        view: "calltree",
        title: format!("Functions Call Tree. Metric: {by}"),
        columns: of_times(&quantities),
    };
    Ok(match beside.first().settings.print {
        PrintMode::Json => {
            let rows = rows
                .iter()
                .map(|(depth, _, row)| (*depth, Value::Object(table.object(row)).to_string()));
            table.json(&nested(rows))
        }
        PrintMode::Text => {
            let leads = leads(rows.iter().map(|&(depth, last, _)| (depth, last)));
            let rows: Vec<Row> = rows
                .into_iter()
                .zip(leads)
                .map(|((.., row), lead)| Row { lead, ..row })
                .collect();
            table.text(&[&rows])
        }
    })
}

fn values(beside: &Beside<'_>, quantities: &[Quantity], joined: &Joined<TreeRow>) -> Values {
    let value = |row: Option<&TreeRow>, quantity: &Quantity| match quantity {
        Quantity::Time(_, metric) => {
            let at = beside.request.index(*metric)?;
            Some(row.map_or(0.0, |row| row.attributed[at]))
        }
        _ => None,
    };
    let of = |row: &Option<TreeRow>| {
        let row = row.as_ref();
        quantities
            .iter()
            .map(|quantity| value(row, quantity))
            .collect()
    };
    joined.rows.iter().map(of).collect()
}

/// Each function of the experiments between its callers and callees.
pub(in crate::commands) fn callers_callees(beside: &Beside<'_>) -> Result<String, Stop> {
    if beside.mode == Compare::Scaling {
        return Err(scaling_of_others("callers-callees"));
    }
    let shared = beside.shared();
    let request = &beside.request;
    let sides = (0..beside.scenes.len()).map(|side| shared.callers_callees(side, request));
    let mut blocks = join::join(sides.collect(), |block: &Neighbours| block.row.name.clone());
    let of = |block: &Neighbours| seconds(request, &block.row, request.sort.quantity);
    if let [_, rest @ ..] = blocks.as_mut_slice() {
        rest.sort_by(|left, right| order(request.sort, of, left, right));
    }
    blocks.truncate(beside.first().limited(blocks.len()));
    let quantities = beside.attributed();
    let blocks: Vec<Block> = blocks
        .into_iter()
        .map(|block| Block::of(beside, &quantities, block))
        .collect();
    let table = Table {
        beside,
        view: "callers-callees",
        title: format!(
            "Functions sorted by metric: {}\nCallers and callees sorted by metric: {}",
            request.sort.quantity.label(),
            beside.first().attributed_sort().quantity.label()
        ),
        columns: of_times(&quantities),
    };
    Ok(match beside.first().settings.print {
        PrintMode::Text => {
            let rows: Vec<Vec<Row>> = blocks.into_iter().map(Block::rows).collect();
            let rows: Vec<&[Row]> = rows.iter().map(Vec::as_slice).collect();
            table.text(&rows)
        }
        PrintMode::Json => {
            let all = |rows: &[Row]| -> Value {
                let rows = rows.iter().map(|row| Value::Object(table.object(row)));
                rows.collect()
            };
            let rows = blocks.iter().map(|block| {
                let mut object = table.object(&block.row);
                object.insert("callers".to_owned(), all(&block.callers));
                object.insert("callees".to_owned(), all(&block.callees));
                Value::Object(object)
            });
            table.json(&Value::Array(rows.collect()).to_string())
        }
    })
}

struct Block {
    row: Row,
    callers: Vec<Row>,
    callees: Vec<Row>,
}

impl Block {
    fn of(beside: &Beside<'_>, quantities: &[Quantity], joined: Joined<Neighbours>) -> Block {
        let request = &beside.request;
        let own = |block: &Option<Neighbours>, quantity: &Quantity| match (block, quantity) {
            (Some(block), Quantity::Time(_, metric)) => {
                // What is attributed to the function itself is what it spends at the leaf.
                let own = Quantity::Time(Flavour::Exclusive, *metric);
                Some(seconds(request, &block.row, own))
            }
            _ => Some(0.0),
        };
        let values = joined.rows.iter().map(|block| {
            let values = quantities.iter().map(|quantity| own(block, quantity));
            values.collect()
        });
        let row = Row {
            lead: "*".to_owned(),
            name: joined.name.clone(),
            values: values.collect(),
            ..Row::default()
        };
        let side = |of: fn(&Neighbours) -> &Vec<Neighbour>| {
            let sides = joined.rows.iter().map(|block| match block {
                Some(block) => of(block).clone(),
                None => Vec::new(),
            });
            edges(beside, quantities, sides.collect())
        };
        Block {
            row,
            callers: side(|block| &block.callers),
            callees: side(|block| &block.callees),
        }
    }

    fn rows(self) -> Vec<Row> {
        let rows = self.callers.into_iter().chain([self.row]);
        rows.chain(self.callees).collect()
    }
}

fn edges(beside: &Beside<'_>, quantities: &[Quantity], sides: Vec<Vec<Neighbour>>) -> Vec<Row> {
    let request = &beside.request;
    let value = |edge: &Neighbour, quantity: Quantity| match quantity {
        Quantity::Time(_, metric) => request.index(metric).map_or(0.0, |at| edge.attributed[at]),
        _ => 0.0,
    };
    let mut edges = join::join(sides, |edge: &Neighbour| edge.name.clone());
    let by = |edge: &Neighbour| value(edge, request.sort.quantity);
    edges.sort_by(|left, right| order(request.sort, by, left, right));
    let row = |joined: Joined<Neighbour>| {
        let of = |edge: &Option<Neighbour>| -> Vec<Option<f64>> {
            let value = |&quantity| edge.as_ref().map_or(0.0, |edge| value(edge, quantity));
            quantities.iter().map(value).map(Some).collect()
        };
        Row {
            lead: " ".to_owned(),
            values: joined.rows.iter().map(of).collect(),
            name: joined.name,
            ..Row::default()
        }
    };
    edges.into_iter().map(row).collect()
}

/// A stack fragment of the experiments between its callers and callees.
pub(in crate::commands) fn piece(
    beside: &Beside<'_>,
    command: &str,
    fragment: &[Named],
) -> Result<String, Stop> {
    if beside.mode == Compare::Scaling {
        return Err(scaling_of_others(command));
    }
    let shared = beside.shared();
    let functions = fragment
        .iter()
        .map(|named| details::shared_name(beside, &shared, named));
    let functions = functions.collect::<Result<Vec<String>, Stop>>()?;
    let request = &beside.request;
    let pieces: Vec<Piece> = (0..beside.scenes.len())
        .map(|side| shared.piece(side, request, &functions))
        .collect();
    let quantities = beside.attributed();
    let value = |seconds: &[f64], quantity: &Quantity| match quantity {
        Quantity::Time(_, metric) => request.index(*metric).map(|at| seconds[at]),
        _ => None,
    };
    let values = |of: fn(&Piece) -> Option<&[f64]>| -> Values {
        let of_piece = |piece: &Piece| {
            let value = |it: &Quantity| match of(piece) {
                Some(seconds) => value(seconds, it),
                None => Some(0.0),
            };
            quantities.iter().map(value).collect()
        };
        pieces.iter().map(of_piece).collect()
    };
    let mut rows: Vec<Row> = functions
        .iter()
        .enumerate()
        .map(|(at, name)| Row {
            lead: "*".to_owned(),
            name: name.clone(),
            // Time passes through all but the last without being spent there.
            values: match at + 1 == functions.len() {
                true => values(|piece| Some(&piece.own)),
                false => values(|_| None),
            },
            ..Row::default()
        })
        .collect();
    let side = |of: fn(Piece) -> Vec<Neighbour>| {
        edges(
            beside,
            &quantities,
            pieces.iter().cloned().map(of).collect(),
        )
    };
    let callers = side(|piece| piece.callers);
    let callees = side(|piece| piece.callees);
    let table = Table {
        beside,
        view: command,
        title: format!(
            "Callers and callees sorted by metric: {}",
            beside.first().attributed_sort().quantity.label()
        ),
        columns: of_times(&quantities),
    };
    Ok(match beside.first().settings.print {
        PrintMode::Text => {
            let rows: Vec<Row> = callers.into_iter().chain(rows).chain(callees).collect();
            table.report(&rows)
        }
        PrintMode::Json => {
            let last = rows.pop().unwrap_or_default();
            let whole = Row {
                values: values(|piece| Some(&piece.whole)),
                ..Row::default()
            };
            let mut object = table.object(&last);
            let all = |rows: &[Row]| -> Value {
                let rows = rows.iter().map(|row| Value::Object(table.object(row)));
                rows.collect()
            };
            object.insert("fragment".to_owned(), json!(functions));
            object.insert("whole".to_owned(), table.object(&whole)["values"].clone());
            object.insert("callers".to_owned(), all(&callers));
            object.insert("callees".to_owned(), all(&callees));
            table.json(&json!([object]).to_string())
        }
    })
}
