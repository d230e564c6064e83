//! Load objects: all of them, and those without all their symbols.

use experiment::ids::ModuleId;
use experiment::tables::{Module, RuntimeKind};
use omp_model::views::compare::join::{Joined, join_adding};
use serde_json::json;

use crate::document::{Document, InJson, Table, TablePart, Value};
use crate::list::{self, Field};
use crate::query::{Query, Source};
use crate::settings::bare_object;

/// A load object.
struct Object {
    name: String,
    /// Addresses are shown as `number:offset`.
    number: u32,
    /// Empty for code outside of all load objects.
    path: String,
    /// The GNU build id in hexadecimal; empty if there is none.
    build_id: String,
    runtime: RuntimeKind,
    /// How many of its functions the experiment knows.
    functions: u64,
    /// Why its symbols are missing, if they are.
    missing: Option<String>,
}

impl Object {
    /// `<libc.so.6>`.
    fn bracketed(&self) -> String {
        format!("<{}>", bare_object(&self.name))
    }

    /// Its path, or its name where it has none, and what is missing.
    fn found(&self) -> String {
        let path = match self.path.as_str() {
            "" => &self.name,
            path => path,
        };
        match &self.missing {
            Some(why) => format!("{path} (no symbols: {why})"),
            None => path.to_owned(),
        }
    }
}

fn objects_of(source: &Source<'_>) -> Vec<Object> {
    let names = source.names();
    let mut functions = vec![0; names.tables.modules.len()];
    for function in &names.symbols.functions {
        if let Some(count) = functions.get_mut(function.module.index()) {
            *count += 1;
        }
    }
    let object = |(id, (module, functions)): (ModuleId, (&Module, u64))| {
        let mut misses = names.symbols.misses.iter();
        let missing = misses.find(|(missing, _)| *missing == id);
        Object {
            name: names.object_name(id).to_owned(),
            number: id.0,
            path: module.path.clone(),
            build_id: module.build_id.clone(),
            runtime: module.runtime,
            functions,
            missing: missing.map(|(_, why)| why.clone()),
        }
    };
    let modules = names.tables.modules.rows().iter().zip(functions);
    (0..).map(ModuleId).zip(modules).map(object).collect()
}

/// Every load object.
pub fn object_list(query: &Query<'_>) -> Document {
    if query.is_comparison() {
        return compared(query);
    }
    let text = |text: &str| Value::Text(text.to_owned());
    let fields = vec![
        Field::hidden_name(),
        Field::fact("object", "Load Object", |object: &Object| {
            Value::Text(object.bracketed())
        })
        .json(InJson::Nowhere),
        Field::fact("index", "Index", |object: &Object| {
            Value::Count(object.number.into())
        }),
        Field::new("path", "", |object: &Object| text(&object.path)),
        Field::new("build_id", "", |object: &Object| text(&object.build_id)),
        Field::fact("runtime", "OpenMP", |object: &Object| {
            runtime_name(object.runtime).map_or(Value::Absent, text)
        }),
        Field::fact("functions", "Functions", |object: &Object| {
            Value::Count(object.functions)
        }),
        Field::new("missing", "", |object: &Object| {
            object.missing.as_deref().map_or(Value::Absent, text)
        }),
        Field::fact("found", "Path", |object: &Object| {
            Value::Text(object.found())
        })
        .json(InJson::Nowhere),
    ];
    let name = |object: &Object| object.name.clone();
    let (joined, order) = list::joined_in_order(query, objects_of, name, |_, _| None);
    let columns = ["object", "index", "functions", "runtime", "found"];
    let table = Table {
        parts: vec![TablePart::new("", columns)],
        ..list::table(query, &joined, fields)
    };
    order.titled(query, query.document("object_list"), "", table)
}

/// Load objects of compared experiments, by their names: in which they are, and how many of their
/// functions are known.
fn compared(query: &Query<'_>) -> Document {
    let sides = query.sides().iter().map(objects_of).collect();
    let mut joined = join_adding(sides, Object::bracketed, |object, other| {
        object.functions += other.functions;
    });
    let order = list::sort_list(query, &mut joined, |_, _| None);
    joined.truncate(query.limited(joined.len()));
    let functions = |object: &Object| Value::Number(object.functions as f64);
    let fields = vec![
        Field::new("same_build", "", |_| Value::Absent),
        Field::number("functions", "Functions", functions).decimals(0),
        Field::name("Name"),
    ];
    let mut table = list::table(query, &joined, fields);
    for (row, joined) in table.rows.iter_mut().zip(&joined) {
        let is_same = is_same_build(joined);
        row.is_starred = !is_same;
        row.values[0][0] = Value::Json(json!(is_same));
    }
    let title = "Load objects and their functions; * has other builds";
    order.titled(query, query.document("object_list"), title, table)
}

/// Whether an object is the same file in all experiments that have it.
fn is_same_build(joined: &Joined<Object>) -> bool {
    let mut ids = joined.rows.iter().flatten().map(|it| &it.build_id);
    let first = ids.next();
    ids.all(|id| Some(id) == first)
}

const fn runtime_name(runtime: RuntimeKind) -> Option<&'static str> {
    match runtime {
        RuntimeKind::None | RuntimeKind::Python => None,
        RuntimeKind::Kmp => Some("LLVM"),
        RuntimeKind::Gomp => Some("GNU"),
        RuntimeKind::Collector => Some("Parallax"),
        RuntimeKind::Mpi => Some("MPI"),
        RuntimeKind::Pgas => Some("PGAS"),
    }
}

/// A load object without all its symbols.
struct Miss {
    name: String,
    why: String,
    path: String,
}

fn misses_of(source: &Source<'_>) -> Vec<Miss> {
    let names = source.names();
    let misses = names.symbols.misses.iter();
    let miss = |(module, why): &(ModuleId, String)| Miss {
        name: names.object_name(*module).to_owned(),
        why: why.clone(),
        path: match names.tables.modules.get(module.0) {
            Some(row) => row.path.clone(),
            None => String::new(),
        },
    };
    misses.map(miss).collect()
}

/// Load objects whose symbols are missing, of all experiments added up.
pub fn objects(query: &Query<'_>) -> Document {
    let query = query.added_up();
    let fields = vec![
        Field::hidden_name(),
        Field::fact("object", "Load Object", |miss: &Miss| {
            Value::Text(format!("<{}>", miss.name))
        })
        .json(InJson::Nowhere),
        Field::fact("why", "What is missing", |miss: &Miss| {
            Value::Text(miss.why.clone())
        }),
        Field::fact("path", "Path", |miss: &Miss| Value::Text(miss.path.clone())),
    ];
    let joined = list::joined(&query, misses_of, |miss| miss.name.clone());
    let table = list::table(&query, &joined, fields);
    let base = query.document_without_time("objects");
    list::titled(base, "", table)
}
