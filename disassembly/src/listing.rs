//! A function's instructions beside their time and lines: a view that both programs draw.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use omp_model::ids::FrameId;
use omp_model::profile::Profile;
use omp_model::symbolize::{self, Files};
use omp_model::symbols::{FileId, FunctionId, InlinedPlace};
use omp_model::tables::{Frame, Module, Tables};
use omp_model::views::Request;
use omp_model::views::annotated::{LineTimes, PcRow, merge, pcs};
use omp_model::views::names::Names;

use crate::code::{Image, Instruction};

/// The text of an address whose instruction cannot be shown.
const NOT_SHOWN: &str = "(not shown)";

/// A function's instructions with their time.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The time of the whole profile, by the metrics asked for.
    pub total: LineTimes,
    /// The instructions in the order of addresses; without code, the addresses that have time.
    pub rows: Vec<Row>,
    /// Why the instructions are not shown, if they are not.
    pub missing: Option<Missing>,
}

/// One instruction.
#[derive(Clone, Debug)]
pub struct Row {
    /// Link-time address.
    pub address: u64,
    /// In GNU's syntax.
    pub text: String,
    /// Its time, if it has any, by the metrics asked for.
    pub times: Option<LineTimes>,
    /// Where it came from: the line, and the calls that were inlined there, innermost first.
    pub places: Vec<InlinedPlace>,
}

/// Why the instructions of a function are not shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// There is no file, or it is not readable: the reason in one clause.
    File(String),
    /// The file is not the one that was recorded.
    Changed,
    /// The file has no x86-64 code there.
    Code,
}

impl fmt::Display for Missing {
    /// What the sentence that begins with the load object's path goes on with.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Missing::File(why) => write!(f, "cannot be read: {why}"),
            Missing::Changed => f.write_str(
                "has changed since the recording (its build id is another): its instructions are \
                 not shown",
            ),
            Missing::Code => f.write_str("has no x86-64 code there"),
        }
    }
}

impl Listing {
    /// Of a function, from `file`: its load object on this machine, if there is one.
    pub fn new(
        profile: &Profile,
        names: &Names<'_>,
        request: &Request,
        function: FunctionId,
        file: Option<&Path>,
    ) -> Listing {
        let function = &names.symbols.functions[function.0 as usize];
        let module = names.tables.modules.get(function.module.0);
        let build_id = module.map_or("", |module| &module.build_id);
        let code = file
            .ok_or_else(|| Missing::File("there is no such file here".to_owned()))
            .and_then(|file| read(file, build_id, function.address, function.size));
        let (code, missing) = match code {
            Ok(code) => (code, None),
            Err(missing) => (Vec::new(), Some(missing)),
        };
        let (total, rows) = pcs(profile, names, request);
        let here = rows.into_iter().filter(|row| {
            row.row.code.is_some_and(|code| {
                (code.module, code.address) == (function.module, function.address)
            })
        });
        let mut rows = timed(&code, here);
        let own = module.map(|module| Module {
            path: match (file, &missing) {
                (Some(file), None) => file.display().to_string(),
                _ => module.path.clone(),
            },
            ..module.clone()
        });
        if let Some(own) = own {
            find_lines(names, own, &mut rows);
        }
        Listing {
            total: LineTimes {
                exclusive: total.exclusive,
                inclusive: total.inclusive,
            },
            rows,
            missing,
        }
    }
}

fn read(file: &Path, build_id: &str, address: u64, size: u64) -> Result<Vec<Instruction>, Missing> {
    let image = Image::open(file).map_err(Missing::File)?;
    if !build_id.is_empty() && image.build_id().as_deref() != Some(build_id) {
        return Err(Missing::Changed);
    }
    let code = image.instructions(address, size);
    match code.is_empty() {
        true => Err(Missing::Code),
        false => Ok(code),
    }
}

/// Instructions with the time of the addresses in them; without code, the addresses alone.
fn timed(code: &[Instruction], times: impl Iterator<Item = PcRow>) -> Vec<Row> {
    let row = |address, text: &str| Row {
        address,
        text: text.to_owned(),
        times: None,
        places: Vec::new(),
    };
    let rows = code
        .iter()
        .map(|at| (at.address, row(at.address, &at.text)));
    let mut rows: BTreeMap<u64, Row> = rows.collect();
    for pc in times {
        let Some((_, address)) = pc.at else {
            continue;
        };
        let after = code.partition_point(|at| at.address <= address);
        let inside = after.checked_sub(1).map(|at| &code[at]);
        let inside = inside.filter(|at| address < at.address + at.length);
        let start = inside.map_or(address, |at| at.address);
        let row = rows.entry(start).or_insert_with(|| row(start, NOT_SHOWN));
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

/// Finds the source lines of instructions, inlined functions' too.
fn find_lines(names: &Names<'_>, module: Module, rows: &mut [Row]) {
    let mut tables = Tables::default();
    let own = tables.module(module);
    let frames = rows.iter().map(|row| Frame {
        module: own,
        address: row.address,
    });
    let frames: Vec<FrameId> = frames.map(|frame| tables.frame(frame)).collect();
    let table = symbolize::resolve(&tables, &mut Files::default());
    // Files of this table have numbers of their own.
    let all = &names.symbols.files;
    let known: Vec<Option<FileId>> = table
        .files
        .iter()
        .map(|path| {
            let at = all.iter().position(|known| known == path)?;
            Some(FileId(at as u32))
        })
        .collect();
    for (row, frame) in rows.iter_mut().zip(frames) {
        let places = table.frame(frame).places.iter();
        row.places = places
            .filter_map(|at| {
                let mut at = at.clone();
                at.place.file = (*known.get(at.place.file.0 as usize)?)?;
                Some(at)
            })
            .collect();
    }
}
