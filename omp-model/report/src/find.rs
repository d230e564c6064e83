//! Finds the function or file that a word of a command means.

use experiment::symbols::{FileId, Function, FunctionId};
use omp_model::profile::Callee;
use omp_model::spelling::nearest;
use omp_model::views::ListRow;
use omp_model::views::compare::Shared;
use omp_model::views::functions::List;
use omp_model::views::names::{Names, base_name, unqualified, without_parameters};

use crate::document::address;
use crate::error::Error;
use crate::functions::Kind;
use crate::query::Query;

/// A function or file by its name, and which of that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name in any form.
    pub name: String,
    /// From 1; `None` if there must be only one.
    pub number: Option<usize>,
}

/// The row of a function: by its name as shown, as long, short or mangled; the
/// [`Named::number`]-th of several, in the order of their addresses.
///
/// # Errors
/// [`Error`] if there is none, or several and it is not said which.
pub fn function<'a>(
    names: &Names<'_>,
    list: &'a List,
    named: &Named,
) -> Result<&'a ListRow, Error> {
    let Named { name, number } = named;
    let found = rows_called(names, list, name);
    match (found.as_slice(), *number) {
        ([], _) => {
            let all = std::iter::once(&list.total).chain(&list.rows);
            let known = all.map(|row| row.name.as_str());
            Err(Error(format!(
                "there is no function \"{name}\": {}",
                hint(
                    name,
                    known,
                    "the command functions lists those that have any time"
                )
            )))
        }
        ([row], None) => Ok(row),
        (several, None) => {
            let choices: Vec<String> = several
                .iter()
                .zip(1..)
                .map(|(row, at)| format!("{at} ({})", origin(names, row)))
                .collect();
            let choices = choices.join(", ");
            Err(Error(format!(
                "{} functions are called \"{name}\": write fsingle NAME N with N from {choices}",
                several.len()
            )))
        }
        (several, Some(number)) => {
            let at = number.checked_sub(1);
            at.and_then(|at| several.get(at).copied()).ok_or_else(|| {
                Error(format!(
                    "functions called \"{name}\" are numbered 1 to {}: there is no {number}",
                    several.len()
                ))
            })
        }
    }
}

/// The rows of a name, in the order of their addresses.
fn rows_called<'a>(names: &Names<'_>, list: &'a List, name: &str) -> Vec<&'a ListRow> {
    let all = std::iter::once(&list.total).chain(&list.rows);
    let mut found: Vec<&ListRow> = all.filter(|row| row.name == name).collect();
    if found.is_empty() {
        let has =
            |row: &&ListRow| symbol(names, row).is_some_and(|(id, _)| is_called(names, id, name));
        found = list.rows.iter().filter(has).collect();
    }
    if found.is_empty() {
        // A function that was inlined wherever it is called.
        let is_inlined = |row: &&ListRow| row.marks.inlined && row.code.is_none();
        let called = |row: &&ListRow| {
            without_parameters(&row.name) == name || unqualified(&row.name) == name
        };
        found = list.rows.iter().filter(is_inlined).filter(called).collect();
    }
    if found.is_empty() {
        // A function of that name in some scope.
        let bare = |row: &&ListRow| {
            symbol(names, row).is_some_and(|(_, function)| is_unqualified(function, name))
        };
        found = list.rows.iter().filter(bare).collect();
    }
    found.sort_by_key(|row| row.code.map(|code| (code.module, code.address)));
    found
}

/// The name that the experiments share of a function that at least one of them has.
///
/// # Errors
/// [`Error`] if none has it.
pub fn shared(query: &Query<'_>, shared: &Shared<'_>, named: &Named) -> Result<String, Error> {
    let mut why = None;
    for (side, source) in query.sides().iter().enumerate() {
        let list = Kind::Functions.list(source, &query.request);
        match function(&source.names(), &list, named) {
            Ok(row) => return Ok(shared.name_of(side, &row.name).to_owned()),
            Err(error) => {
                why.get_or_insert(error);
            }
        }
    }
    Err(why.unwrap_or_else(|| Error::new("there is nothing to compare")))
}

/// Whether a function has this name in any form.
fn is_called(names: &Names<'_>, id: FunctionId, name: &str) -> bool {
    let forms = names.forms(Callee::Function(id));
    forms.iter().any(|form| form == name)
}

/// Whether a function has this name in some scope.
fn is_unqualified(function: &Function, name: &str) -> bool {
    function.outlined.is_none() && unqualified(&function.name) == name
}

/// The function that begins at a row's address, else the one that it lies in; of several names of
/// one address the first stands for all.
pub(crate) fn symbol<'a>(names: &Names<'a>, row: &ListRow) -> Option<(FunctionId, &'a Function)> {
    let code = row.code?;
    let functions = (0..).map(FunctionId).zip(&names.symbols.functions);
    let mut around = None;
    for (id, function) in functions.filter(|(_, it)| it.module == code.module) {
        if function.address == code.address {
            return Some((id, function));
        }
        let inside = code.address.checked_sub(function.address);
        if around.is_none() && inside.is_some_and(|offset| offset < function.size) {
            around = Some((id, function));
        }
    }
    around
}

fn origin(names: &Names<'_>, row: &ListRow) -> String {
    match row.code {
        Some(code) => format!(
            "{} at {}",
            names.object_name(code.module),
            address(row.code)
        ),
        None => "no code".to_owned(),
    }
}

/// The functions of a name in any form, those that have a symbol; if there is none, those that
/// have that name in some scope.
pub(crate) fn functions(names: &Names<'_>, name: &str) -> Vec<FunctionId> {
    let all = || (0..).map(FunctionId).zip(&names.symbols.functions);
    let called = all().filter(|(id, _)| is_called(names, *id, name));
    let found: Vec<FunctionId> = called.map(|(id, _)| id).collect();
    if !found.is_empty() {
        return found;
    }
    let bare = all().filter(|(_, function)| is_unqualified(function, name));
    bare.map(|(id, _)| id).collect()
}

/// The function with code of a name.
///
/// # Errors
/// [`Error`] if there is none, or several and it is not said which.
pub(crate) fn code(names: &Names<'_>, named: &Named) -> Result<FunctionId, Error> {
    let symbols = names.symbols;
    let name = &named.name;
    let found = functions(names, name);
    if found.is_empty() {
        let known = symbols.functions.iter();
        let known = known.map(|function| without_parameters(&function.name));
        return Err(Error(format!(
            "there is no function \"{name}\" with code: {}",
            hint(
                name,
                known,
                "the command functions lists those that have any time"
            )
        )));
    }
    one_of("disasm", named, &found, |id| {
        let function = &symbols.functions[id.0 as usize];
        format!(
            "{} at {}:0x{:08x}",
            names.object_name(function.module),
            function.module.0,
            function.address
        )
    })
}

/// The file that a word means, and the load object if it names a function.
///
/// # Errors
/// [`Error`] if there is none, or several and it is not said which.
pub(crate) fn file(names: &Names<'_>, named: &Named) -> Result<(FileId, Option<String>), Error> {
    let symbols = names.symbols;
    let word = named.name.as_str();
    let functions = functions(names, word);
    let file_of = |id: &FunctionId| {
        let function = symbols.functions.get(id.0 as usize)?;
        let object = names.tables.modules.get(function.module.0);
        Some((
            function.source?.file,
            object.map(|object| object.path.clone()),
        ))
    };
    let mut files: Vec<_> = functions.iter().filter_map(file_of).collect();
    files.dedup();
    if files.is_empty() && !functions.is_empty() {
        return Err(Error(format!(
            "where \"{word}\" is written is not known: it was built without debug information (-g)"
        )));
    }
    if files.is_empty() {
        let ends = |path: &str| path == word || path.ends_with(&format!("/{word}"));
        let all = (0..).map(FileId).zip(&symbols.files);
        let called = all.filter(|(_, path)| ends(path));
        files = called.map(|(id, _)| (id, None)).collect();
    }
    if files.is_empty() {
        let inlined = files_of_inlined(names, word).into_iter();
        files = inlined.map(|id| (id, None)).collect();
    }
    if files.is_empty() {
        let functions = symbols.functions.iter();
        let functions = functions.map(|function| without_parameters(&function.name));
        let known = functions.chain(symbols.files.iter().map(|path| base_name(path)));
        return Err(Error(format!(
            "no function or source file is called \"{word}\": {}",
            hint(word, known, "functions and lines list the names")
        )));
    }
    one_of("source", named, &files, |(file, _)| {
        let path = symbols.files.get(file.0 as usize);
        path.cloned().unwrap_or_default()
    })
}

/// The files of functions of a name that were inlined wherever they are called.
fn files_of_inlined(names: &Names<'_>, name: &str) -> Vec<FileId> {
    let frames = names.symbols.frames.iter();
    let called = |function: &str| function == name || unqualified(function) == name;
    let mut files: Vec<FileId> = frames
        .flat_map(|frame| &frame.lines)
        .filter(|at| at.function.as_deref().is_some_and(called))
        .map(|at| at.source.file)
        .collect();
    files.sort_unstable();
    files.dedup();
    files
}

/// One of several; an error that lists them if it is not clear which.
fn one_of<T: Clone>(
    command: &str,
    named: &Named,
    found: &[T],
    shown: impl Fn(&T) -> String,
) -> Result<T, Error> {
    let Named { name, number } = named;
    match (found, *number) {
        ([only], None) => Ok(only.clone()),
        (several, None) => {
            let choices = several.iter().zip(1..);
            let choices: Vec<String> = choices
                .map(|(one, at)| format!("{at} ({})", shown(one)))
                .collect();
            Err(Error(format!(
                "{} are called \"{name}\": write {command} NAME N with N from {}",
                several.len(),
                choices.join(", ")
            )))
        }
        (several, Some(number)) => {
            let at = number.checked_sub(1).and_then(|at| several.get(at));
            at.cloned().ok_or_else(|| {
                Error(format!(
                    "what is called \"{name}\" is numbered 1 to {}: there is no {number}",
                    several.len()
                ))
            })
        }
    }
}

/// What to do about a word that names nothing.
fn hint<'a>(word: &str, known: impl Iterator<Item = &'a str>, otherwise: &str) -> String {
    match nearest(word, known) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => otherwise.to_owned(),
    }
}
