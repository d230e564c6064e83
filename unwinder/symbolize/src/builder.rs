//! Builds the symbol table.

use experiment::symbols::{FileId, Function, FunctionId, SourceLine, SymbolTable};
use rustc_hash::FxHashMap;

use crate::names;

/// A symbol table, with indices of its rows.
#[derive(Default)]
pub(crate) struct TableBuilder {
    pub(crate) table: SymbolTable,
    /// Second candidates for the lines of constructs, used where the source has no directive at the
    /// first. For flang's: the line of the call that passes the body, since flang records no directive
    /// but the first statement, which may be moved. For g++'s in a target region: the region's line,
    /// since g++ gives the inner one of two combined constructs a line of the loop.
    pub(crate) other_lines: FxHashMap<FunctionId, u32>,
    files: FxHashMap<String, FileId>,
    /// By linkage name, those of Fortran apart. Inlined functions have the same names many times.
    written: [FxHashMap<String, String>; 2],
}

impl TableBuilder {
    /// A table with the source files of another one, under the same ids.
    pub(crate) fn with_files(files: &[String]) -> TableBuilder {
        TableBuilder {
            table: SymbolTable {
                files: files.to_vec(),
                ..SymbolTable::default()
            },
            files: files.iter().cloned().zip((0..).map(FileId)).collect(),
            ..TableBuilder::default()
        }
    }

    /// Adds a function.
    pub(crate) fn function(&mut self, function: Function) -> FunctionId {
        self.table.functions.push(function);
        FunctionId(self.table.functions.len() as u32 - 1)
    }

    /// The name in the source that a linkage name stands for.
    pub(crate) fn written(&mut self, linkage: &str, is_fortran: bool) -> String {
        let known = &mut self.written[usize::from(is_fortran)];
        if let Some(known) = known.get(linkage) {
            return known.clone();
        }
        let name = names::written(linkage, is_fortran);
        known.insert(linkage.to_owned(), name.clone());
        name
    }

    /// A line of a source file.
    pub(crate) fn line(&mut self, file: String, line: u32) -> SourceLine {
        let file = *self.files.entry(file).or_insert_with_key(|path| {
            self.table.files.push(path.clone());
            FileId(self.table.files.len() as u32 - 1)
        });
        SourceLine { file, line }
    }
}
