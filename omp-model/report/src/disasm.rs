//! `disasm`: the instructions of a function with their time.

mod sides;

use std::collections::HashMap;

use experiment::symbols::{FileId, FunctionId, InlinedLine};
use experiment::tables::RuntimeKind;
use omp_model::profile::{Callee, Inline};
use omp_model::views::annotated::LineTimes;
use omp_model::views::instructions::{InstructionRow, Listing};
use omp_model::views::names::base_name;
use serde_json::{Value as Json, json};
use symbolize::disassembly::{Code, Missing};

use crate::annotated::{Hot, mark, times, values, warning};
use crate::document::{
    About, Block, CodeLocation, Column, Document, Line, Note, Row, Style, Table, Target, Value,
};
use crate::error::Error;
use crate::find::{self, Named};
use crate::functions::numbers;
use crate::json;
use crate::query::{Query, Source};
use crate::settings::Compare;
use crate::sources::SourceFile;
use sides::Instructions;

/// The annotated instructions of a function.
///
/// # Errors
/// [`Error`] if it is not found.
pub fn disasm(query: &Query<'_>, named: &Named) -> Result<Document, Error> {
    let each = in_each(query, named)?.into_iter();
    let mut documents =
        each.map(|(source, function)| Annotated::new(query, source, function).document());
    let first = documents.next().unwrap_or_default();
    Ok(Document {
        others: documents.collect(),
        ..first
    })
}

/// The same with the times of each of the experiments that are compared, as far as they ran one
/// build of its load object; else those of all together, and why.
///
/// # Errors
/// [`Error`] if it is not found.
pub fn compared(query: &Query<'_>, named: &Named) -> Result<Document, Error> {
    let function = find::code(&query.all.names(), named)?;
    let mut annotated = Annotated::new(query, query.all, function);
    if query.is_comparison() && annotated.warning.is_none() {
        match sides::times(query, function, &annotated.code) {
            Ok(sides) => annotated.sides = sides,
            Err(why) => annotated.warning = Some(why),
        }
    }
    Ok(annotated.document())
}

/// The function in all experiments together; in each by itself if its load object was built anew
/// between them, or if they are compared: instructions of two builds have nothing in common.
fn in_each<'a>(query: &Query<'a>, named: &Named) -> Result<Vec<(Source<'a>, FunctionId)>, Error> {
    let together = || Ok(vec![(query.all, find::code(&query.all.names(), named)?)]);
    if query.each.len() < 2 {
        return together();
    }
    let (mut each, mut why) = (Vec::new(), None);
    for source in &query.each {
        match find::code(&source.names(), named) {
            Ok(function) => each.push((*source, function)),
            Err(error) => {
                why.get_or_insert(error);
            }
        }
    }
    if let (true, Some(why)) = (each.is_empty(), why) {
        return Err(why);
    }
    let builds: Vec<_> = each.iter().map(|at| build(&at.0, at.1)).collect();
    let is_one_build = builds.windows(2).all(|pair| pair[0] == pair[1]);
    if is_one_build && !query.is_comparison() {
        together()
    } else {
        Ok(each)
    }
}

/// The build of a function's load object: its build id, or its path.
fn build(source: &Source<'_>, function: FunctionId) -> Option<String> {
    let names = source.names();
    let function = &names.symbols.functions[function.0 as usize];
    let module = names.tables.modules.get(function.module.0)?;
    Some(match module.build_id.as_str() {
        "" => module.path.clone(),
        id => id.to_owned(),
    })
}

/// The data of a document about a function's instructions.
struct Annotated<'q, 'a> {
    query: &'q Query<'a>,
    source: Source<'a>,
    function: FunctionId,
    /// The load object, and where it was found.
    object: String,
    found: Option<String>,
    warning: Option<String>,
    code: Code,
    listing: Listing,
    columns: Vec<Column>,
    /// The times by address of each of the experiments that are compared; empty if none are.
    sides: Vec<Instructions>,
}

impl<'q, 'a> Annotated<'q, 'a> {
    fn new(query: &'q Query<'a>, source: Source<'a>, id: FunctionId) -> Annotated<'q, 'a> {
        let names = source.names();
        let function = &names.symbols.functions[id.0 as usize];
        let module = names.tables.modules.get(function.module.0);
        let object = module.map(|module| module.path.clone()).unwrap_or_default();
        let search = &source.settings.annotation.search;
        let found = search.find(&object, &source.analysis.directories);
        let code = Code::read(names.tables, names.symbols, id, found.as_deref());
        let found = found.map(|path| path.display().to_string());
        let is_python = names.tables.runtime(function.module) == RuntimeKind::Python;
        let warning = code.missing.as_ref().map(|missing| match missing {
            _ if is_python => {
                "a function of Python has no machine code; source shows its lines".to_owned()
            }
            Missing::File(why) => format!(
                "cannot read the load object {object}: {why}; setpath, addpath or pathmap tell \
                 where it is"
            ),
            missing => format!("{} {missing}", found.as_deref().unwrap_or(&object)),
        });
        let (profile, request) = (source.profile(), &query.request);
        let mut listing = Listing::new(profile, &names, request, id, &code.instructions);
        if source.settings.inline == Inline::Off {
            listing.keep_own_lines(&names, id);
        }
        Annotated {
            query,
            source,
            function: id,
            object,
            found,
            warning,
            listing,
            code,
            columns: columns(query),
            sides: Vec::new(),
        }
    }

    /// How the values of several experiments are shown.
    fn compare(&self) -> Compare {
        if self.sides.is_empty() {
            Compare::Off
        } else {
            self.query.compare
        }
    }

    fn document(&self) -> Document {
        let name = self.source.names().name(Callee::Function(self.function));
        let facts = json::fields([
            ("function", json!(name)),
            ("object", json!(self.object)),
            ("found", json!(self.found)),
            ("warning", json!(self.warning)),
        ]);
        let experiment = self.source.analysis;
        let whole = values(self.query, &self.columns, &self.listing.total);
        let table = Table {
            style: Style::Annotated,
            compare: self.compare(),
            whole: vec![numbers(&whole)],
            columns: self.columns.clone(),
            rows: self.rows(),
            ..Table::default()
        };
        let mode = self.query.settings.mode;
        let about = if table.has_sides() {
            self.query.about(experiment.names.clone())
        } else {
            About::new(mode, experiment.names.clone(), Compare::Off)
        };
        let mut head = self.head(&name);
        if table.has_sides() {
            head.push(Line::default());
            head.extend(about.numbered().map(Line::plain));
        }
        Document {
            view: "disasm".to_owned(),
            about: Some(about),
            facts,
            blocks: vec![Block::Lines(head), Block::Table(table)],
            warnings: experiment.warnings.clone(),
            notices: self.source.notices(&self.query.request.metrics),
            ..Document::default()
        }
    }

    /// The function, and whether its load object is the one that ran.
    fn head(&self, name: &str) -> Vec<Line> {
        let function = &self.source.names().symbols.functions[self.function.0 as usize];
        let (module, start) = (function.module.0, function.address);
        let found = self.found.as_deref().unwrap_or("(not found)");
        let mut lines = vec![
            Line::strong(format!("Function: {name}")),
            Line::plain(format!(
                "Load Object: {} ({module}:0x{start:08x})",
                self.object
            )),
            Line::plain(format!("Found as: {found}")),
        ];
        lines.extend(self.warning.iter().map(warning));
        lines
    }

    fn rows(&self) -> Vec<Row> {
        let times = self
            .listing
            .rows
            .iter()
            .filter_map(|row| row.times.as_ref());
        let share = self.query.settings.annotation.instruction_hot;
        let hot = Hot::new(self.query, times, share);
        let mut sources = HashMap::new();
        let mut before: Option<&InlinedLine> = None;
        let mut rows = Vec::new();
        for instruction in &self.listing.rows {
            let at = instruction.lines.first();
            let mut row = self.row(instruction, &hot);
            if at.is_some() && at != before {
                row.notes = self.notes(&mut sources, instruction);
                before = at;
            }
            rows.push(row);
        }
        rows
    }

    fn row(&self, instruction: &InstructionRow, hot: &Hot) -> Row {
        let InstructionRow {
            address,
            text,
            times,
            lines,
        } = instruction;
        let is_hot = times.as_ref().is_some_and(|times| hot.is(times));
        let locations: Vec<CodeLocation> = lines.iter().map(|at| self.location(at)).collect();
        let none = match times {
            Some(_) => Value::Absent,
            None => Value::Omitted,
        };
        let of_side = |side: &Instructions| self.times(side.get(address), none.clone());
        let times = match self.sides.as_slice() {
            [] => vec![self.times(times.as_ref(), none)],
            sides => sides.iter().map(of_side).collect(),
        };
        let value = |(column, time): (&Column, Value)| match (column.quantity, column.id.as_str()) {
            (Some(_), _) => time,
            (None, "address") => Value::Count(*address),
            (None, "hot") => Value::Json(json!(is_hot)),
            (None, "places") => Value::Json(locations.iter().map(location).collect()),
            (None, _) => Value::Text(text.clone()),
        };
        let line = lines.first().map(|at| at.source.line.to_string());
        let line = line.as_deref().unwrap_or("?");
        Row {
            name: format!("    [{line:>4}] {address:>8x}:  {text}"),
            mark: mark(is_hot),
            values: times
                .into_iter()
                .map(|times| self.columns.iter().zip(times).map(value).collect())
                .collect(),
            target: Some(Target::Instruction {
                address: *address,
                locations,
            }),
            ..Row::default()
        }
    }

    /// The values of an instruction; `none` if it has no time.
    fn times(&self, times: Option<&LineTimes>, none: Value) -> Vec<Value> {
        match times {
            Some(times) => values(self.query, &self.columns, times),
            None => vec![none; self.columns.len()],
        }
    }

    /// The source line from which an instruction came, and into what it was inlined.
    fn notes(
        &self,
        sources: &mut HashMap<FileId, SourceFile>,
        instruction: &InstructionRow,
    ) -> Vec<Note> {
        let comments = self.query.settings.annotation.instruction_comments;
        let mut notes = Vec::new();
        let mut note = |text| {
            notes.push(Note {
                text,
                happened: None,
            });
        };
        if let (Some(at), true) = (instruction.lines.first(), comments.source) {
            let source = sources
                .entry(at.source.file)
                .or_insert_with(|| SourceFile::read(&self.source, at.source.file));
            let line = at.source.line;
            note(format!("{line:>4}. {}", source.line(line)));
        }
        if instruction.lines.len() > 1 && comments.inlined {
            note(format!("      <{}>", self.inlined(&instruction.lines)));
        }
        notes
    }

    /// `bar, inlined at foo.c:12`.
    fn inlined(&self, lines: &[InlinedLine]) -> String {
        let chain = lines.windows(2).map(|pair| {
            let name = pair[0].function.as_deref().unwrap_or("?");
            let at = self.location(&pair[1]);
            let file = at.file.as_deref().map_or("?", base_name);
            format!("{name}, inlined at {file}:{}", at.line)
        });
        chain.collect::<Vec<_>>().join("; ")
    }

    fn location(&self, at: &InlinedLine) -> CodeLocation {
        let files = &self.source.analysis.symbols.files;
        CodeLocation {
            function: at.function.clone(),
            file: files.get(at.source.file.0 as usize).cloned(),
            line: at.source.line,
        }
    }
}

/// The times, and the fields of JSON of an instruction.
fn columns(query: &Query<'_>) -> Vec<Column> {
    let before = ["address", "text", "hot"].map(Column::fact).into_iter();
    let times = times(query.columns.iter().map(|column| Column::metric(*column)));
    let before = before.chain(times);
    before.chain([Column::fact("places")]).collect()
}

fn location(at: &CodeLocation) -> Json {
    json!({"function": at.function, "file": at.file, "line": at.line})
}
