//! The views of code: a function's source and its instructions, which the world reads.

use omp_model::symbols::{FileId, FunctionId};
use symbolize::disassembly::Code;

use super::{App, View};
use crate::disasm;
use crate::layout;
use crate::report::Part;
use crate::source::{self, Text};

impl App {
    /// A source file that the view in sight needs and has not got, by its recorded path.
    pub fn missing_source(&self) -> Option<(FileId, String)> {
        let own = match self.view {
            View::Source | View::Disassembly => source::written(&self.recording, &self.centre),
            _ => None,
        };
        let inlined = match self.view {
            View::Disassembly => self.instructions.as_slice(),
            _ => &[],
        };
        let inlined = inlined.iter().filter_map(|at| at.places.first());
        let own = own.into_iter().map(|place| place.file);
        let mut wanted = own.chain(inlined.map(|at| at.place.file));
        let file = wanted.find(|&file| self.source(file).is_none())?;
        let path = self.recording.symbols.files.get(file.0 as usize)?;
        Some((file, path.clone()))
    }

    /// A source file, as it was found.
    pub(super) fn source(&self, file: FileId) -> Option<&Text> {
        let path = self.recording.symbols.files.get(file.0 as usize)?;
        self.sources.get(path)
    }

    /// A function whose instructions the view in sight needs and has not got, and the recorded
    /// path of its load object.
    pub fn missing_code(&self) -> Option<(FunctionId, String)> {
        if self.view != View::Disassembly {
            return None;
        }
        let function = self.recording.function(&self.centre)?;
        let wanted = !self.codes.contains_key(&function);
        wanted.then(|| (function, disasm::object(&self.recording, function)))
    }

    /// The source line of each row of the source view.
    pub fn source_lines(&self) -> &[u32] {
        &self.source_lines
    }

    /// Where each row of the disassembly came from.
    pub fn instructions(&self) -> &[disasm::At] {
        &self.instructions
    }

    /// A source file was read, or why it could not be.
    pub fn take_source(&mut self, file: FileId, text: Result<String, String>) {
        let text = match text {
            Ok(text) => Text {
                lines: text.lines().map(str::to_owned).collect(),
                warning: None,
            },
            Err(why) => Text {
                lines: Vec::new(),
                warning: Some(why),
            },
        };
        if let Some(path) = self.recording.symbols.files.get(file.0 as usize) {
            self.sources.insert(path.clone(), text);
        }
        self.renew_code();
    }

    /// A function's instructions were read.
    pub fn take_code(&mut self, function: FunctionId, code: Code) {
        self.codes.insert(function, code);
        self.renew_code();
    }

    fn renew_code(&mut self) {
        match self.view {
            View::Source => {
                self.refresh();
                self.select_source_line();
            }
            View::Disassembly => {
                self.remember_line();
                let row = self.cursor().selected;
                let address = self.instructions.get(row).and_then(|at| at.address);
                self.refresh();
                let mut all = self.instructions.iter();
                let same = all.position(|at| address.is_some() && at.address == address);
                match same {
                    Some(row) => self.select_with_room(row),
                    None => self.select_instruction(),
                }
            }
            _ => {}
        }
    }

    /// Where the user is in the code, to be found again in the other view of it.
    pub(super) fn remember_line(&mut self) {
        let row = self.cursor().selected;
        let line = match self.view {
            View::Source => self.source_lines.get(row).copied(),
            View::Disassembly => self.instructions.get(row).map(|at| at.line),
            _ => return,
        };
        if let Some(line) = line.filter(|&line| line > 0) {
            self.line = Some(line);
        }
    }

    pub(super) fn select_source_line(&mut self) {
        if let Some(place) = source::written(&self.recording, &self.centre) {
            let wanted = self.line.unwrap_or(place.line);
            let mut lines = self.source_lines.iter();
            let row = lines.position(|line| *line >= wanted).unwrap_or(0);
            self.select_with_room(row);
        }
    }

    /// Selects the first instruction of the line that the user was at, else the first hot one.
    pub(super) fn select_instruction(&mut self) {
        let of_line = self.line.and_then(|line| {
            let mut all = self.instructions.iter();
            all.position(|at| at.line == line && at.address.is_some())
        });
        let mut rows = self.table.rows.iter();
        let hot = || rows.position(|row| matches!(row.source, Some(Part::Line { hot: true })));
        let row = of_line.or_else(hot).unwrap_or(0);
        self.select_with_room(row);
    }

    /// Selects a row; what is around it is of interest, too.
    fn select_with_room(&mut self, row: usize) {
        let height = usize::from(layout::list(self.parts().body, true).rows.height);
        self.cursors[self.view as usize].top = row.saturating_sub(height / 4);
        self.select_row(row);
    }

    /// Selects the next line that is hot, after the last one the first.
    pub(super) fn select_hot_line(&mut self) {
        let rows = self.table.rows.iter().enumerate();
        let hot = rows.filter(|(_, row)| matches!(row.source, Some(Part::Line { hot: true })));
        let hot: Vec<usize> = hot.map(|(at, _)| at).collect();
        let here = self.cursor().selected;
        let next = hot.iter().find(|&&at| at > here).or(hot.first());
        match next {
            Some(&at) => self.select_with_room(at),
            None => self.tell("no line here has any of this time"),
        }
    }
}
