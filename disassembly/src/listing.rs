//! A function's instructions beside their time and lines: a view that both programs draw.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use omp_model::ids::FrameId;
use omp_model::profile::{Callee, Profile};
use omp_model::symbolize::{self, Files};
use omp_model::symbols::{FileId, FunctionId, InlinedPlace};
use omp_model::tables::{Frame, Module, RuntimeKind, Tables};
use omp_model::views::Request;
use omp_model::views::annotated::{LineTimes, PcRow, merge, pc_rows};
use omp_model::views::names::Names;

use crate::code::{Image, Instruction};

/// The text of an address whose instruction cannot be shown.
const NOT_SHOWN: &str = "(not shown)";

/// A function's instructions, read from its load object's file: the same whatever time is looked
/// at.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// The instructions in the order of addresses, and where each came from: the line, and the
    /// calls that were inlined there, innermost first.
    pub lines: Vec<(Instruction, Vec<InlinedPlace>)>,
    /// Why the instructions are not shown, if they are not.
    pub missing: Option<Missing>,
}

impl Code {
    /// Of a function, from `file`: its load object on this machine, if there is one.
    pub fn read(names: &Names<'_>, function: FunctionId, file: Option<&Path>) -> Code {
        let function = &names.symbols.functions[function.0 as usize];
        let module = names.tables.modules.get(function.module.0);
        let build_id = module.map_or("", |module| &module.build_id);
        let found = file.ok_or_else(|| Missing::File("there is no such file here".to_owned()));
        let code = found.and_then(|file| {
            let code = read(file, build_id, function.address, function.size)?;
            Ok((code, file))
        });
        let (code, file) = match code {
            Ok(code) => code,
            Err(missing) => {
                return Code {
                    lines: Vec::new(),
                    missing: Some(missing),
                };
            }
        };
        let own = Module {
            path: file.display().to_string(),
            ..module.cloned().unwrap_or_else(unnamed)
        };
        let addresses = code.iter().map(|at| at.address);
        let places = lines_of(names, own, addresses);
        Code {
            lines: code.into_iter().zip(places).collect(),
            missing: None,
        }
    }
}

const fn unnamed() -> Module {
    Module {
        path: String::new(),
        build_id: String::new(),
        runtime: RuntimeKind::None,
    }
}

/// A function's instructions with their time.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The time of the whole profile, by the metrics asked for.
    pub total: LineTimes,
    /// The instructions in the order of addresses; without code, the addresses that have time.
    pub rows: Vec<Row>,
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
    /// The time of a profile at a function's code.
    pub fn new(
        profile: &Profile,
        names: &Names<'_>,
        request: &Request,
        function: FunctionId,
        code: &Code,
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

/// Instructions with the time of the addresses in them; without code, the addresses alone, at the
/// lines that the recording knows.
fn timed(names: &Names<'_>, code: &Code, times: impl Iterator<Item = PcRow>) -> Vec<Row> {
    let rows = code.lines.iter().map(|(at, places)| {
        let row = Row {
            address: at.address,
            text: at.text.clone(),
            times: None,
            places: places.clone(),
        };
        (at.address, row)
    });
    let mut rows: BTreeMap<u64, Row> = rows.collect();
    for pc in times {
        let Some(at) = pc.row.code else {
            continue;
        };
        let address = at.address;
        let after = code.lines.partition_point(|(at, _)| at.address <= address);
        let inside = after.checked_sub(1).map(|at| &code.lines[at].0);
        let inside = inside.filter(|at| address < at.address + at.length);
        let start = inside.map_or(address, |at| at.address);
        let row = rows.entry(start).or_insert_with(|| Row {
            address: start,
            text: NOT_SHOWN.to_owned(),
            times: None,
            places: names.symbols.frame(pc.frame).places.clone(),
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

/// The source lines of addresses, inlined functions' too.
fn lines_of(
    names: &Names<'_>,
    module: Module,
    addresses: impl Iterator<Item = u64>,
) -> Vec<Vec<InlinedPlace>> {
    let mut tables = Tables::default();
    let module = tables.module(module);
    let frames = addresses.map(|address| Frame { module, address });
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
    let places = frames.into_iter().map(|frame| {
        let places = table.frame(frame).places.iter();
        let known = places.filter_map(|at| {
            let mut at = at.clone();
            at.place.file = (*known.get(at.place.file.0 as usize)?)?;
            Some(at)
        });
        known.collect()
    });
    places.collect()
}
