//! Lines of source and instructions: under their notes, with a mark where they are hot.
//!
//! ```text
//!                        9. #pragma omp parallel
//!                           <OMP critical section wait>: 0.300 s
//! ## 0.300  11.54       11.     bar();
//! ```

use super::grid::{self, Cells, Grid};
use super::layout::{Layout, leads, mark};
use crate::document::{Row, Table, Value};

/// The cells of some columns, and the lines as the last one.
pub(super) fn cells(table: &Table, shown: &[usize], layout: Layout) -> Grid {
    let table = &Table {
        rows: table.rows.iter().flat_map(with_notes).collect(),
        ..table.clone()
    };
    let mut grid = grid::cells(table, shown, layout);
    let lines = table.rows.iter().zip(leads(table));
    let lines = Cells {
        heading: grid::name_heading(table, None),
        rows: lines
            .map(|(row, lead)| format!("{lead}{}", row.name))
            .collect(),
        is_name: true,
        ..Cells::default()
    };
    let marks = Cells {
        heading: vec!["Hot".to_owned()],
        rows: table.rows.iter().map(|row| mark(table, row)).collect(),
        ..Cells::default()
    };
    // Under each other, lines and marks speak for themselves.
    let without_heading = |cells: Cells| match layout {
        Layout::Aligned => Cells {
            heading: Vec::new(),
            ..cells
        },
        Layout::Delimited(_) | Layout::Html | Layout::Markdown => cells,
    };
    if table.has_sides() {
        grid.insert(usize::MAX, lines)
    } else {
        grid.insert(0, without_heading(marks));
        grid.insert(usize::MAX, without_heading(lines));
    }
    grid
}

/// A row under a row for each of its notes.
fn with_notes(row: &Row) -> Vec<Row> {
    let omitted = vec![Value::Omitted; row.values.first().map_or(0, Vec::len)];
    let notes = row.notes.iter().map(|note| Row {
        name: note.text.clone(),
        values: vec![omitted.clone(); row.values.len()],
        ..Row::default()
    });
    notes.chain([row.clone()]).collect()
}

#[cfg(test)]
mod tests {
    use omp_model::metrics::{Flavour, Metric, Quantity};

    use crate::document::{Block, Column, Document, Mark, Note, Row, Style, Table, Value};
    use crate::settings::Compare;
    use crate::text::{Layout, render};

    fn listing(compare: Compare, sides: usize) -> Document {
        let hot = Row {
            name: "  9. x += y;".to_owned(),
            mark: Mark::Strong,
            values: vec![vec![Value::Number(0.5)]; sides],
            notes: vec![Note {
                text: "     <OMP implicit barrier>: 0.300 s".to_owned(),
                happened: None,
            }],
            ..Row::default()
        };
        let plain = Row {
            name: " 10. }".to_owned(),
            values: vec![vec![Value::Omitted]; sides],
            ..Row::default()
        };
        Document {
            blocks: vec![Block::Table(Table {
                style: Style::Annotated,
                compare,
                columns: vec![Column::time(Quantity::Time(
                    Flavour::Exclusive,
                    Metric::OmpWork,
                ))],
                rows: vec![hot, plain],
                ..Table::default()
            })],
            ..Document::default()
        }
    }

    #[test]
    fn a_hot_line_has_its_notes_above_it_and_a_mark_before_its_times() {
        assert_eq!(
            render(&listing(Compare::Off, 1), Layout::Aligned),
            "   Excl.
   OMP
   Work sec.
                   <OMP implicit barrier>: 0.300 s
## 0.500        9. x += y;
               10. }

"
        );
    }

    #[test]
    fn other_programs_get_a_column_of_marks() {
        assert_eq!(
            render(&listing(Compare::Off, 1), Layout::Delimited(',')),
            "Hot,Excl. OMP Work sec.,Name
,,    <OMP implicit barrier>: 0.300 s
\"##\",0.500, 9. x += y;
,,10. }

"
        );
    }

    #[test]
    fn compared_lines_have_the_mark_by_their_text() {
        assert_eq!(
            render(&listing(Compare::Delta, 2), Layout::Aligned),
            "Excl.     Excl.
OMP Work  OMP Work
(1) sec.  (2) delta   Name
                              <OMP implicit barrier>: 0.300 s
   0.500         0.   ##   9. x += y;
                          10. }

"
        );
    }
}
