//! `indxobj` and its types of index objects.

use omp_model::filter::Filter;
use report::Document;
use report::document::{Block, Line};
use report::index::defined;
use serde_json::{Map, Value, json};

use crate::session::Session;
use crate::stop::Stop;

/// The built-in types, with a description of their rows. Each is shown by the command of its name.
const TYPES: [(&str, &str); 13] = [
    ("Threads", "a row for each thread"),
    ("CPUs", "a row for each CPU"),
    (
        "Samples",
        "a row for each sample: a stretch that ends at a sample point",
    ),
    ("Phases", "a row for each phase that the program named"),
    ("Seconds", "a row for each second of the recording"),
    ("Processes", "a row for each process"),
    ("Experiment_IDs", "a row for each experiment"),
    ("Rank_IDs", "a row for each rank of MPI"),
    ("Hosts", "a row for each host"),
    ("OMP_preg", "a row for each parallel region"),
    ("OMP_task", "a row for each task construct"),
    ("OMP_loop", "a row for each worksharing loop"),
    (
        "OMP_lock",
        "a row for each lock, critical section or other mutex",
    ),
];

/// The names of the built-in types.
pub(crate) fn index_types() -> impl Iterator<Item = &'static str> {
    TYPES.iter().map(|(name, _)| *name)
}

/// Lists index objects of a type.
pub(crate) fn indxobj(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let word = arguments[0].to_lowercase();
    let defined = &session.settings.index_types;
    let defined = defined.iter().map(|(name, _)| name.clone());
    let names: Vec<String> = index_types().map(str::to_owned).chain(defined).collect();
    let fits = |name: &&String| !word.is_empty() && name.to_lowercase().starts_with(&word);
    let exact = names.iter().find(|name| name.to_lowercase() == word);
    let found: Vec<&String> = names.iter().filter(fits).collect();
    let name = match (exact, found.as_slice()) {
        (Some(only), _) | (None, &[only]) => only,
        _ => {
            return Err(Stop::Usage(format!(
                "indxobj takes one of {}, not \"{}\"",
                names.join(", "),
                arguments[0]
            )));
        }
    };
    match index_types().find(|known| known == name) {
        Some(known) => super::find(known)?.action_for(&[])?.perform(session, &[]),
        None => defined_objects(session, name),
    }
}

/// Lists time by the values of a type's expression.
fn defined_objects(session: &mut Session<'_>, name: &str) -> Result<(), Stop> {
    let types = &session.settings.index_types;
    let found = types.iter().find(|(known, _)| known == name);
    let Some((_, expression)) = found else {
        return Err(Stop::Usage(format!("indxobj has no type \"{name}\"")));
    };
    let document = defined(&session.comparison()?, name, expression)?;
    session.show(&document)
}

/// Defines a type of index object.
pub(crate) fn indxobj_define(session: &mut Session<'_>, arguments: &[String]) -> Result<(), Stop> {
    let [name, expression] = arguments else {
        return Err(Stop::usage("indxobj_define needs a TYPE and an EXPR"));
    };
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if !name.starts_with(|first: char| first.is_ascii_alphabetic()) || !name.chars().all(plain) {
        return Err(Stop::Usage(format!(
            "indxobj_define takes a name of letters, digits and _, not \"{name}\""
        )));
    }
    if index_types().any(|known| known.eq_ignore_ascii_case(name)) {
        return Err(Stop::Usage(format!(
            "indxobj_define cannot change {name}, which is built in: choose another name"
        )));
    }
    let expression = Filter::parse(expression)
        .map_err(|error| Stop::Usage(format!("indxobj_define {name}: {error}")))?;
    let types = &mut session.settings.index_types;
    types.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
    types.push((name.clone(), expression));
    Ok(())
}

/// Lists the types of index objects.
pub(crate) fn indxobj_list(session: &mut Session<'_>, _: &[String]) -> Result<(), Stop> {
    let known = TYPES.iter().map(|(name, what)| (*name, (*what).to_owned()));
    let defined = session.settings.index_types.iter();
    let defined = defined.map(|(name, it)| (name.as_str(), format!("values of {}", it.text())));
    let types: Vec<(&str, String)> = known.chain(defined).collect();
    let width = types.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut lines = vec![Line::plain("Types of index objects"), Line::default()];
    let line = |(name, what): &(&str, String)| {
        let padding = " ".repeat(width - name.len());
        Line::plain(format!("    {name}{padding}  {what}"))
    };
    lines.extend(types.iter().map(line));
    let row = |(name, what): &(&str, String)| json!({"name": name, "help": what});
    let rows: Value = types.iter().map(row).collect();
    session.show(&Document {
        view: "indxobj_list".to_owned(),
        facts: Map::from_iter([("rows".to_owned(), rows)]),
        blocks: vec![Block::Lines(lines)],
        ..Document::default()
    })
}
