//! First looks at experiments side by side.

use omp_model::views::compare::overview::{Block, Side, Unit, blocks, largest};
use omp_model::views::overview::overview as sum_up;
use serde_json::{Value, json};

use super::table::{beside as value_beside, plain};
use super::{Beside, scaling_of_others};
use crate::commands::first::First;
use crate::failure::Stop;
use crate::session::PrintMode;
use crate::text;
use report::settings::Compare;

/// Where the time of each experiment went, with at most `count` functions.
pub(in crate::commands) fn overview(beside: &Beside<'_>, count: usize) -> Result<String, Stop> {
    if beside.mode == Compare::Scaling {
        return Err(scaling_of_others("overview"));
    }
    let looks = beside.scenes.iter().map(|scene| {
        let available = scene.recording.available();
        let overview = sum_up(scene.profile(), &scene.names, available, count);
        (scene, overview, First::of(scene))
    });
    let looks: Vec<_> = looks.collect();
    let sides: Vec<Side<'_>> = looks
        .iter()
        .map(|(scene, overview, first)| Side {
            duration: scene.recording.experiment.header.duration_ns as f64 / 1e9,
            overview,
            first: first.as_deref(),
        })
        .collect();
    let blocks = blocks(&sides);
    let functions = functions(beside, count);
    Ok(match beside.first().settings.print {
        PrintMode::Json => json_of(beside, &blocks, &functions),
        PrintMode::Text => text_of(beside, &blocks, &functions),
    })
}

/// A function's name, and its thread time in each experiment.
type Function = (String, Vec<Option<f64>>);

fn functions(beside: &Beside<'_>, count: usize) -> Vec<Function> {
    let rows = largest(&beside.shared(), count).into_iter();
    rows.map(|joined| {
        let rows = joined.rows.iter();
        // What an experiment does not have took no time in it.
        let seconds = rows.map(|row| Some(row.as_ref().map_or(0.0, |row| row.exclusive[0])));
        (joined.name, seconds.collect())
    })
    .collect()
}

fn text_of(beside: &Beside<'_>, blocks: &[Block], functions: &[Function]) -> String {
    let headings: Vec<String> = (1..=beside.scenes.len())
        .map(|number| match (beside.mode, number) {
            (_, 1) => "(1)".to_owned(),
            (Compare::Delta, number) => format!("({number}) delta"),
            (Compare::Ratio, number) => format!("({number}) ratio"),
            (_, number) => format!("({number})"),
        })
        .chain(["Name".to_owned()])
        .collect();
    let cells = |values: &[Option<f64>], decimals: usize| {
        let first = values.first().copied().flatten();
        let cells = values.iter().enumerate();
        cells
            .map(|(number, &value)| match number {
                0 => plain(value, decimals),
                _ => value_beside(beside.mode, (first, value), decimals),
            })
            .collect::<Vec<String>>()
    };
    let mut report = format!("Overview\n{}\n", beside.experiments());
    let mut push = |title: &str, rows: &[Vec<String>]| {
        let layout = beside.first().settings.layout;
        report.push_str(&format!("{title}\n"));
        report.push_str(&text::grid(layout, &headings, rows));
        report.push('\n');
    };
    for block in blocks {
        let facts = block.facts.iter().map(|fact| {
            let mut row = cells(&fact.values, fact.unit.decimals());
            row.push(format!("{}{}", "  ".repeat(fact.depth), fact.label));
            row
        });
        push(block.title, &facts.collect::<Vec<_>>());
    }
    let rows = functions.iter().map(|(name, values)| {
        let mut row = cells(values, Unit::Seconds.decimals());
        row.push(name.clone());
        row
    });
    push(
        "Functions with most thread time, seconds",
        &rows.collect::<Vec<_>>(),
    );
    report + &beside.footer()
}

fn json_of(beside: &Beside<'_>, blocks: &[Block], functions: &[Function]) -> String {
    let facts = blocks.iter().flat_map(|block| {
        block.facts.iter().map(|fact| {
            json!({
                "block": block.id,
                "id": fact.id,
                "name": fact.label,
                "unit": fact.unit.word(),
                "values": fact.values,
            })
        })
    });
    let functions = functions.iter().map(|(name, values)| {
        json!({"block": "functions", "id": null, "name": name, "unit": "s", "values": values})
    });
    let rows: Vec<Value> = facts.chain(functions).collect();
    beside.json(beside.envelope("overview"), &Value::Array(rows).to_string())
}
