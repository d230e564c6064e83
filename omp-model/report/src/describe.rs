//! The words of filters.

use omp_model::filter::{Filter, Word};
use serde_json::{Value as Json, json};

use crate::document::Document;
use crate::json;
use crate::settings::Settings;

/// Words that are no numbers, and how they are used.
const STACK_WORDS: [(&str, &str); 5] = [
    (
        "LEAF",
        "the function where the time was spent: LEAF==\"foo\", LEAF IN (\"foo\", \"bar\")",
    ),
    ("STACK", "its callers and itself: \"foo\" IN STACK"),
    (
        "IN",
        "all of them: (\"foo\", \"bar\") IN STACK; a number in ranges: THRID IN (1, 3-5)",
    ),
    (
        "SOME IN",
        "at least one of them: (\"foo\", \"bar\") SOME IN STACK",
    ),
    (
        "ORDERED IN",
        "all of them, callers first: (\"main\", \"bar\") ORDERED IN STACK",
    ),
];

/// Names of values on a line.
const NAMES: usize = 6;

/// The words of filters, and the filter in force.
pub fn describe(settings: &Settings) -> Document {
    let current = settings.filter.as_ref().map(Filter::text);
    let mut lines = vec![
        format!("Current filter: {}", current.unwrap_or("none")),
        String::new(),
        "Numbers".to_owned(),
    ];
    let mut rows: Vec<Json> = Vec::new();
    for word in Word::ALL {
        let (name, help) = (word.name(), word.help());
        let names: Vec<&str> = word.names().iter().map(|(name, _)| *name).collect();
        lines.push(entry(name, help));
        let names_of_line = names.chunks(NAMES);
        lines.extend(names_of_line.map(|names| entry("", &format!("  {}", names.join(" ")))));
        rows.push(json!({"name": name, "kind": "number", "help": help, "values": names}));
    }
    lines.push(String::new());
    lines.push("Stacks; a name may be in any form, and * in it stands for anything".to_owned());
    for (name, help) in STACK_WORDS {
        lines.push(entry(name, help));
        rows.push(json!({"name": name, "kind": "stack", "help": help, "values": []}));
    }
    lines.push(String::new());
    lines.push(
        "Operators, as in C: ! ~ - * / % + - << >> < <= > >= == != & ^ | && || ( )".to_owned(),
    );
    Document {
        facts: json::fields([("filter", json!(current)), ("rows", json!(rows))]),
        ..Document::of_lines("describe", lines)
    }
}

fn entry(name: &str, help: &str) -> String {
    format!("    {name:<12}{help}")
}
