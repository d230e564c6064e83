//! Where rows of lists come from: code, source, load object, symbol.

use std::collections::HashMap;

use experiment::ids::{FrameId, ModuleId};
use experiment::symbols::SourceLine;
use experiment::tables::Frame;
use omp_model::profile::Callee;
use omp_model::views::ListRow;
use omp_model::views::names::{NameForm, NameStyle, Names};
use serde_json::{Map, Value as Json, json};

use crate::document::address;
use crate::find::symbol;
use crate::functions::Kind;
use crate::query::Source;

/// Finds the origins of the rows of a list.
pub(crate) struct Origins<'a> {
    names: Names<'a>,
    /// Of instructions: their lines.
    lines: Option<HashMap<(ModuleId, u64), SourceLine>>,
}

/// The origin of a row.
pub(crate) struct Origin {
    /// In bytes; symbols of assembly have none.
    size: Option<u64>,
    address: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    object: Option<String>,
    mangled: Option<String>,
}

impl<'a> Origins<'a> {
    pub(crate) fn new(source: &Source<'a>, kind: Kind) -> Origins<'a> {
        let names = source.names();
        let lines = || {
            let frames = (0..).map(FrameId).zip(names.tables.frames.rows());
            let line = |(id, frame): (FrameId, &Frame)| {
                let line = names.symbols.frame(id).lines.first()?.source;
                Some(((frame.module, frame.address), line))
            };
            frames.filter_map(line).collect()
        };
        Origins {
            names,
            lines: (kind == Kind::Instructions).then(lines),
        }
    }

    /// The origin of a row.
    pub(crate) fn of(&self, row: &ListRow) -> Origin {
        let function = symbol(&self.names, row).map(|(_, function)| function);
        let code = row.code;
        let line = match &self.lines {
            Some(lines) => code.and_then(|code| lines.get(&(code.module, code.address)).copied()),
            None => function.and_then(|function| function.source),
        };
        let file = line.and_then(|line| self.names.symbols.files.get(line.file.0 as usize));
        let object = code.and_then(|code| self.names.tables.modules.get(code.module.0));
        let mangled = function.filter(|function| function.has_symbol());
        Origin {
            size: code.map(|code| code.size).filter(|&size| size > 0),
            address: code.map(|code| address(Some(code))),
            file: file.cloned(),
            line: line.map(|line| line.line),
            object: object.map(|object| object.path.clone()),
            mangled: mangled.map(|function| function.linkage.clone()),
        }
    }

    /// The whole name of a row's function, whatever lists show.
    pub(crate) fn long_name(&self, row: &ListRow) -> String {
        let style = NameStyle {
            form: NameForm::Long,
            soname: false,
        };
        let names = Names {
            style,
            ..self.names
        };
        match symbol(&names, row) {
            Some((id, _)) => names.name(Callee::Function(id)),
            None => row.name.clone(),
        }
    }
}

impl Origin {
    /// The keys of [`Origin::fields`].
    pub(crate) const KEYS: [&'static str; 6] =
        ["size", "address", "file", "line", "object", "mangled"];

    /// The headings of [`Origin::words`].
    pub(crate) const LABELS: [&'static str; 5] = [
        "Size",
        "PC Address",
        "Source File",
        "Load Object",
        "Mangled Name",
    ];

    /// Fields of JSON; null for what is not known.
    pub(crate) fn fields(&self) -> Map<String, Json> {
        let values = [
            json!(self.size),
            json!(self.address),
            json!(self.file),
            json!(self.line),
            json!(self.object),
            json!(self.mangled),
        ];
        let pairs = Origin::KEYS.into_iter().zip(values);
        pairs.map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// Words by [`Origin::LABELS`]; nothing for what has no code.
    pub(crate) fn words(&self) -> Option<[String; 5]> {
        let address = self.address.clone()?;
        let source = self.file.as_ref().zip(self.line);
        let known = |word: Option<String>| word.unwrap_or_else(|| "(unknown)".to_owned());
        Some([
            known(self.size.map(|size| size.to_string())),
            address,
            known(source.map(|(file, line)| format!("{file}:{line}"))),
            known(self.object.clone()),
            known(self.mangled.clone()),
        ])
    }
}
