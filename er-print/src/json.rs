//! Reports as JSON: one object a command.
//!
//! The form is a contract with scripts: fields may be added, none is renamed.

use omp_model::metrics::Quantity;
use omp_model::profile::ViewMode;
use serde_json::{Map, Value, json};

use crate::session::Scene;

/// The fields that every report begins with.
pub(crate) fn envelope(scene: &Scene<'_>, view: &str) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("view".to_owned(), json!(view));
    object.insert("viewmode".to_owned(), json!(mode_name(scene.settings.mode)));
    object.insert("experiments".to_owned(), json!(scene.recording.names));
    object
}

/// A report in `metrics` and `rows`, closed with what must be said under it.
pub(crate) fn report(
    scene: &Scene<'_>,
    view: &str,
    metrics: &[Quantity],
    rows: Vec<Value>,
) -> String {
    report_of_text(scene, view, metrics, &Value::Array(rows).to_string())
}

/// The same with rows that are JSON already.
pub(crate) fn report_of_text(
    scene: &Scene<'_>,
    view: &str,
    metrics: &[Quantity],
    rows: &str,
) -> String {
    let mut object = envelope(scene, view);
    object.insert(
        "metrics".to_owned(),
        metrics.iter().copied().map(metric).collect(),
    );
    let head = Value::Object(object).to_string();
    let tail = finish(scene, Map::new());
    format!("{},\"rows\":{rows},{}", &head[..head.len() - 1], &tail[1..])
}

/// Adds warnings and notices, and writes the object on one line.
pub(crate) fn finish(scene: &Scene<'_>, mut object: Map<String, Value>) -> String {
    object.insert("warnings".to_owned(), json!(scene.recording.warnings));
    object.insert("notices".to_owned(), json!(scene.notices()));
    format!("{}\n", Value::Object(object))
}

/// `{"id":"e.ompwork","label":"Exclusive OMP Work Time","unit":"s"}`.
pub(crate) fn metric(quantity: Quantity) -> Value {
    let unit = match quantity {
        Quantity::Time(..) => "s",
        Quantity::Size => "B",
        Quantity::Address | Quantity::Name => "",
    };
    json!({"id": quantity.id(), "label": quantity.label(), "unit": unit})
}

/// The word of `viewmode`.
pub(crate) const fn mode_name(mode: ViewMode) -> &'static str {
    match mode {
        ViewMode::User => "user",
        ViewMode::Expert => "expert",
        ViewMode::Machine => "machine",
    }
}
