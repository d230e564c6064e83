//! A function's instructions with their time, under the source lines that they came from.

use omp_model::symbols::{FileId, FunctionId, InlinedPlace};
use omp_model::views::annotated::LineTimes;
use omp_model::views::instructions::{Listing, Row as Line};
use omp_model::views::names::{NameStyle, base_name};
use rustc_hash::FxHashMap;
use symbolize::disassembly::{Code, Missing};

use crate::compare::Beside;
use crate::data::Data;
use crate::recording::Recording;
use crate::report::{Mark, Part, Row, Table};
use crate::source::of_line;
use crate::tables;

/// The part of the largest time of an instruction from which on one is hot.
const HOT: f64 = 0.75;

/// A row's place: its source line and address, as far as it has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct At {
    /// The line in the function's own source; 0 if it is not known.
    pub line: u32,
    /// The instruction's address; `None` for a line of source.
    pub address: Option<u64>,
    /// Where the instruction came from, innermost first.
    pub places: Vec<InlinedPlace>,
}

/// The path of the load object that a function is in, as it was recorded.
pub fn object(recording: &Recording, function: FunctionId) -> String {
    let symbols = &recording.symbols.functions;
    let module = symbols.get(function.0 as usize).map(|known| known.module);
    let row = module.and_then(|module| recording.experiment.tables.modules.get(module.0));
    row.map(|module| module.path.clone()).unwrap_or_default()
}

/// A table of one warning.
fn only(title: String, why: String) -> (Table, Vec<At>) {
    let rows = vec![Row {
        mark: Mark::Warning,
        ..Row::line(why)
    }];
    let columns = Vec::new();
    let table = Table {
        title,
        columns,
        rows,
    };
    (table, vec![At::default()])
}

/// The instructions of the function of a name; `source` gives the text of a line of a file.
pub fn table<'a>(
    data: &Data,
    recording: &Recording,
    (name, function): (&str, Option<FunctionId>),
    code: Option<&Code>,
    source: impl Fn(FileId, u32) -> Option<&'a str>,
) -> (Table, Vec<At>) {
    let title = format!("Disassembly of {name}");
    let Some(function) = function else {
        let why = format!("{name} is no function with code: select another one in 2 or 4");
        return only(title, why);
    };
    let path = object(recording, function);
    let Some(code) = code else {
        return only(title, format!("reading {path} …"));
    };
    let names = recording.names();
    let profile = data.profile(recording);
    let listing = Listing::new(profile, &names, &data.request, function, &code.instructions);
    let mut rows = Vec::new();
    let mut places = Vec::new();
    let note = |rows: &mut Vec<Row>, places: &mut Vec<At>, row: Row, line: u32| {
        rows.push(row);
        places.push(At {
            line,
            ..At::default()
        });
    };
    if let Some(missing) = &code.missing {
        let why = match missing {
            Missing::File(why) => format!(
                "{path}: {why}; setpath, addpath or pathmap in ~/.parallax.rc tell where it is"
            ),
            missing => format!("{path} {missing}"),
        };
        let row = Row {
            mark: Mark::Warning,
            ..Row::line(why)
        };
        note(&mut rows, &mut places, row, 0);
    }
    let beside = Beside::of(data, recording).filter(|_| code.missing.is_none());
    let compared = beside
        .as_ref()
        .map(|beside| (beside, sides(data, recording, function, code)));
    let compared = match &compared {
        Some((beside, Ok(sides))) => Some((*beside, sides)),
        Some((_, Err(why))) => {
            let row = Row {
                mark: Mark::Warning,
                ..Row::line(why.clone())
            };
            note(&mut rows, &mut places, row, 0);
            None
        }
        None => None,
    };
    let (_, at) = data.metric();
    let own = |line: &Line| line.times.as_ref().map_or(0.0, |times| times.exclusive[at]);
    let hottest = listing.rows.iter().map(own).fold(0.0, f64::max);
    let mut before: Option<&InlinedPlace> = None;
    for line in &listing.rows {
        let here = line.places.first();
        if let Some(here) = here.filter(|_| here != before) {
            let number = here.place.line;
            let own = line.places.last().map_or(0, |at| at.place.line);
            let text = source(here.place.file, number).unwrap_or_default();
            let row = Row {
                lead: format!("{number:>5}. "),
                mark: Mark::Strong,
                ..Row::line(text.replace('\t', "        "))
            };
            note(&mut rows, &mut places, row, own);
            if line.places.len() > 1 {
                let row = Row {
                    lead: "        ".to_owned(),
                    ..Row::line(format!("<{}>", inlined(recording, &line.places)))
                };
                note(&mut rows, &mut places, row, own);
            }
            before = Some(here);
        }
        let is_hot = own(line) > 0.0 && own(line) >= HOT * hottest;
        let values = line.times.as_ref().map(|times| match compared {
            Some((beside, sides)) => {
                let own = |side: &Instructions| side.get(&line.address).cloned();
                let lines: Vec<_> = sides.iter().map(own).collect();
                beside.times(&data.columns, &lines, of_line)
            }
            None => tables::values(data, &data.columns, |flavour, at| {
                (of_line(times, flavour, at), listing.total.exclusive[at])
            }),
        });
        rows.push(Row {
            values: values.unwrap_or_default(),
            lead: format!("{}{:>9x}: ", if is_hot { "##" } else { "  " }, line.address),
            mark: if is_hot { Mark::Strong } else { Mark::Plain },
            source: Some(Part::Line { hot: is_hot }),
            ..Row::line(line.text.clone())
        });
        places.push(At {
            line: line.places.last().map_or(0, |at| at.place.line),
            address: Some(line.address),
            places: line.places.clone(),
        });
    }
    let title = format!("{title}: {}", base_name(&path));
    let table = Table {
        title: match compared {
            Some((beside, _)) => beside.title(&title),
            None => title,
        },
        columns: match compared {
            Some((beside, _)) => beside.columns(&data.columns),
            None => tables::times(&data.columns),
        },
        rows,
    };
    (table, places)
}

/// The times of a function's instructions in one experiment, by address.
type Instructions = FxHashMap<u64, LineTimes>;

/// The times of the function's instructions in each experiment; or, if one ran another build of
/// its load object, whose addresses are of other instructions, a sentence that says so.
fn sides(
    data: &Data,
    recording: &Recording,
    function: FunctionId,
    code: &Code,
) -> Result<Vec<Instructions>, String> {
    let build = |of: &omp_model::recording::Recording, function: FunctionId| {
        let row = of.symbols.functions.get(function.0 as usize)?;
        let module = of.experiment.tables.modules.get(row.module.0)?;
        Some((module.build_id.clone(), row.address))
    };
    let wanted = build(recording, function).filter(|(id, _)| !id.is_empty());
    let path = object(recording, function);
    let object = base_name(&path);
    let Some(wanted) = wanted else {
        return Err(format!(
            "not compared: {object} has no build id, so which builds ran is not known"
        ));
    };
    let of_side = |(side, part): (usize, &omp_model::recording::Recording)| {
        let ids = (0..part.symbols.functions.len() as u32).map(FunctionId);
        let own = ids
            .into_iter()
            .find(|&id| build(part, id).as_ref() == Some(&wanted));
        let Some(own) = own else {
            // Nothing of it was seen, or of another build.
            let mut modules = part.experiment.tables.modules.rows().iter();
            let other = modules
                .any(|module| base_name(&module.path) == object && module.build_id != wanted.0);
            return match other {
                true => Err(format!(
                    "not compared: experiment ({}) ran another build of {object}",
                    side + 1
                )),
                false => Ok(Instructions::default()),
            };
        };
        let profile = data.side(recording, side);
        let names = part.names(NameStyle::default());
        let listing = Listing::new(profile, &names, &data.request, own, &code.instructions);
        let rows = listing.rows.into_iter();
        Ok(rows
            .filter_map(|row| Some((row.address, row.times?)))
            .collect())
    };
    recording.parts().iter().enumerate().map(of_side).collect()
}

/// `bar, inlined at foo.c:12`.
fn inlined(recording: &Recording, places: &[InlinedPlace]) -> String {
    let file = |at: &InlinedPlace| {
        let path = recording.symbols.files.get(at.place.file.0 as usize);
        path.map_or("?", |path| base_name(path)).to_owned()
    };
    let chain = places.windows(2).map(|pair| {
        let name = pair[0].function.as_deref().unwrap_or("?");
        let place = format!("{}:{}", file(&pair[1]), pair[1].place.line);
        format!("{name}, inlined at {place}")
    });
    chain.collect::<Vec<_>>().join("; ")
}
