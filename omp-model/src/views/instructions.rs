//! A function's instructions with their times and source lines.

use std::collections::BTreeMap;

use experiment::symbols::{FunctionId, InlinedLine, Instruction};

use super::Request;
use super::annotated::{LineTimes, PcRow, merge, pc_rows};
use super::names::Names;
use crate::profile::{Callee, Profile};

/// The text of an address whose instruction cannot be shown.
const NOT_SHOWN: &str = "(not shown)";

/// A function's instructions with their times.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The time of the whole profile, by the requested metrics.
    pub total: LineTimes,
    /// The instructions in the order of addresses; without code, the addresses with time.
    pub rows: Vec<InstructionRow>,
}

/// One instruction.
#[derive(Clone, Debug)]
pub struct InstructionRow {
    /// Link-time address.
    pub address: u64,
    /// The instruction in GNU syntax.
    pub text: String,
    /// Its time, if any, by the requested metrics.
    pub times: Option<LineTimes>,
    /// Its source lines: its own and those of the calls inlined there, innermost first.
    pub lines: Vec<InlinedLine>,
}

impl Listing {
    /// The instructions of a function with their times in a profile, in the order of addresses.
    pub fn new(
        profile: &Profile,
        names: &Names<'_>,
        request: &Request,
        function: FunctionId,
        code: &[Instruction],
    ) -> Listing {
        let (total, rows) = pc_rows(profile, names, request);
        let function = Callee::Function(function);
        let here = rows.into_iter().filter(|row| row.callee == function);
        Listing {
            total: LineTimes {
                exclusive: total.exclusive,
                inclusive: total.inclusive,
            },
            rows: timed(names, code, here),
        }
    }

    /// Leaves of each instruction's lines the one in the function itself.
    pub fn keep_own_lines(&mut self, names: &Names<'_>, function: FunctionId) {
        for row in &mut self.rows {
            let own = names.own_line(Callee::Function(function), &row.lines);
            row.lines = own.cloned().into_iter().collect();
        }
    }
}

/// Instructions with the time of the addresses in them; without code, the addresses alone, with the
/// lines that the experiment has.
fn timed(
    names: &Names<'_>,
    code: &[Instruction],
    times: impl Iterator<Item = PcRow>,
) -> Vec<InstructionRow> {
    let rows = code.iter().map(|at| {
        let row = InstructionRow {
            address: at.address,
            text: at.text.clone(),
            times: None,
            lines: at.lines.clone(),
        };
        (at.address, row)
    });
    let mut rows: BTreeMap<u64, InstructionRow> = rows.collect();
    for pc in times {
        let Some(at) = pc.row.code else {
            continue;
        };
        let address = at.address;
        let after = code.partition_point(|at| at.address <= address);
        let inside = after.checked_sub(1).map(|at| &code[at]);
        let inside = inside.filter(|at| address < at.address + at.length);
        let start = inside.map_or(address, |at| at.address);
        let row = rows.entry(start).or_insert_with(|| InstructionRow {
            address: start,
            text: NOT_SHOWN.to_owned(),
            times: None,
            lines: names.symbols.frame(pc.frame).lines.clone(),
        });
        match &mut row.times {
            Some(sum) => merge(sum, &pc.row),
            none => {
                *none = Some(LineTimes {
                    exclusive: pc.row.exclusive,
                    inclusive: pc.row.inclusive,
                });
            }
        }
    }
    rows.into_values().collect()
}
