//! A function's instructions with their time, under the source lines that they came from.

use disassembly::{Code, Listing, Missing, Row as Line};
use omp_model::metrics::Flavour;
use omp_model::symbols::{FileId, FunctionId, InlinedPlace};
use omp_model::views::names::base_name;

use crate::data::Data;
use crate::recording::Recording;
use crate::report::{Mark, Part, Row, Table};
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
    let listing = Listing::new(profile, &names, &data.request, function, code);
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
        let values = line.times.as_ref().map(|times| {
            tables::values(data, &data.columns, |flavour, at| {
                let part = match flavour {
                    Flavour::Exclusive => times.exclusive[at],
                    _ => times.inclusive[at],
                };
                (part, listing.total.exclusive[at])
            })
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
    let table = Table {
        title: format!("{title}: {}", base_name(&path)),
        columns: tables::times(&data.columns),
        rows,
    };
    (table, places)
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
