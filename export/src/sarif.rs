//! SARIF 2.1.0: findings of `collect -r` for code hosts and editors.
//!
//! <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>. A result has its own place as its
//! location, the other places (the second access, the lock's holder, the declaration) as related locations,
//! and each stack. Suppressed findings are results with a suppression, as the format wants it. A path is
//! relative to the folder in which the program ran, or as `pathmap` makes it.

use std::io::{self, Write};

use experiment::findings::{
    Class, Content, Deadlock, Declaration, Frame, Misuse, Origin, Race, Uninitialised, Variable,
};
use report::Query;
use report::races::{self, Finding, Found, Row, place};
use serde_json::{Map, Value as Json, json};

/// The rules: id, what it is, its usual level.
const RULES: [(&str, &str, &str); 6] = [
    (
        "race",
        "Two threads access a variable, one of them writes, and nothing orders them",
        "error",
    ),
    (
        "order-by-chance",
        "Two accesses of a variable are ordered only by who came to a lock or flag first",
        "warning",
    ),
    ("deadlock", "Threads wait for each other", "error"),
    ("misuse", "The OpenMP specification forbids it", "error"),
    (
        "uninitialised-read",
        "Memory is read that nothing has written",
        "error",
    ),
    (
        "initial-value",
        "A variable is read that nothing has written, and holds its initial value, 0",
        "note",
    ),
];

/// The name of the folder that relative paths begin in.
const ROOT: &str = "SRCROOT";

pub(crate) fn write(query: &Query<'_>, out: &mut dyn Write) -> io::Result<()> {
    let query = &query.added_up();
    let places = Places::of(query);
    let mut results = Vec::new();
    let mut said = Vec::new();
    results_of::<Race>(query, &places, &mut results, &mut said);
    results_of::<Deadlock>(query, &places, &mut results, &mut said);
    results_of::<Misuse>(query, &places, &mut results, &mut said);
    results_of::<Uninitialised>(query, &places, &mut results, &mut said);
    let rules = RULES.map(|(id, text, level)| {
        json!({
            "id": id,
            "shortDescription": {"text": text},
            "defaultConfiguration": {"level": level},
        })
    });
    let said = said.into_iter().chain(races::coverage_notices(query));
    let notifications = said.map(|text| json!({"level": "warning", "message": {"text": text}}));
    let header = &query.all.analysis.experiment.header;
    let mut run = json!({
        "tool": {"driver": {
            "name": "Parallax",
            "version": env!("CARGO_PKG_VERSION"),
            "rules": rules,
        }},
        "invocations": [{
            "executionSuccessful": true,
            "commandLine": header.command_line(),
            "toolExecutionNotifications": notifications.collect::<Vec<_>>(),
        }],
        "results": results,
    });
    if !places.root.is_empty() {
        run["originalUriBaseIds"] =
            json!({ROOT: {"uri": format!("file://{}", encoded(&places.root))}});
    }
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    });
    serde_json::to_writer(&mut *out, &log)?;
    out.write_all(b"\n")
}

/// A finding as a result.
trait Told: Finding {
    /// The rule, and the level.
    fn rule(&self) -> (&'static str, &'static str);
    /// What it is, in a sentence.
    fn message(&self) -> String;
    /// Its places, the first of which is its own, with words about each.
    fn places(&self) -> Vec<(Frame, String)>;
    /// Words about each of [`Finding::stacks`].
    fn stack_words(&self) -> Vec<String>;
}

impl Told for Race {
    fn rule(&self) -> (&'static str, &'static str) {
        match self.class {
            Class::Race => ("race", "error"),
            Class::OrderByChance => ("order-by-chance", "warning"),
        }
    }

    fn message(&self) -> String {
        let [first, second] = &self.accesses;
        let other = second
            .stack
            .first()
            .map_or_else(String::new, |it| format!(" at {}", place(it)));
        let what = match self.class {
            Class::Race => "is not ordered with",
            Class::OrderByChance => "is ordered only by chance with",
        };
        let advice = self
            .advice
            .as_ref()
            .map(|it| format!("; {it}"))
            .unwrap_or_default();
        let (first, second) = (first.kind.words(), second.kind.words());
        format!(
            "{first} of {} {what} the {second}{other}{advice}",
            self.name()
        )
    }

    fn places(&self) -> Vec<(Frame, String)> {
        let accesses = self.accesses.iter().filter_map(|access| {
            let frame = access.stack.first()?.clone();
            let strand = match access.strand.as_str() {
                "" => String::new(),
                strand => format!(", {strand}"),
            };
            Some((
                frame,
                format!(
                    "{} by thread {}{strand}",
                    access.kind.words(),
                    access.thread
                ),
            ))
        });
        accesses.chain(origin(&self.variable)).collect()
    }

    fn stack_words(&self) -> Vec<String> {
        self.accesses
            .iter()
            .map(|access| access.kind.words().to_owned())
            .collect()
    }
}

impl Told for Deadlock {
    fn rule(&self) -> (&'static str, &'static str) {
        ("deadlock", if self.happened { "error" } else { "warning" })
    }

    fn message(&self) -> String {
        if self.happened {
            format!("deadlock: {}", self.detail)
        } else {
            format!("deadlock with other timing: {}", self.detail)
        }
    }

    fn places(&self) -> Vec<(Frame, String)> {
        let edges = self.edges.iter().flat_map(|edge| {
            let wanted = format!("thread {} waits for {}", edge.thread, edge.wants);
            let held = format!("thread {} took {}", edge.thread, edge.holds);
            [(edge.wanted.first(), wanted), (edge.held.first(), held)]
        });
        edges
            .filter_map(|(frame, words)| Some((frame?.clone(), words)))
            .collect()
    }

    fn stack_words(&self) -> Vec<String> {
        let edges = self.edges.iter().flat_map(|edge| {
            let held = (!edge.held.is_empty())
                .then(|| format!("thread {} took {}", edge.thread, edge.holds));
            let wanted = (!edge.wanted.is_empty())
                .then(|| format!("thread {} waits for {}", edge.thread, edge.wants));
            [held, wanted]
        });
        edges.flatten().collect()
    }
}

impl Told for Misuse {
    fn rule(&self) -> (&'static str, &'static str) {
        ("misuse", "error")
    }

    fn message(&self) -> String {
        match self.detail.as_str() {
            "" => self.kind.clone(),
            detail => format!("{}: {detail}", self.kind),
        }
    }

    fn places(&self) -> Vec<(Frame, String)> {
        let first = self.stack.first();
        first
            .map(|frame| (frame.clone(), self.kind.clone()))
            .into_iter()
            .collect()
    }

    fn stack_words(&self) -> Vec<String> {
        vec![self.kind.clone()]
    }
}

impl Told for Uninitialised {
    fn rule(&self) -> (&'static str, &'static str) {
        match self.class {
            Content::Undefined => ("uninitialised-read", "error"),
            Content::Initial => ("initial-value", "note"),
        }
    }

    fn message(&self) -> String {
        let name = self.name();
        match self.class {
            Content::Undefined => format!("{name} is read, and nothing has written it"),
            Content::Initial => format!("{name} is read before anything has written it: it is 0"),
        }
    }

    fn places(&self) -> Vec<(Frame, String)> {
        let first = self
            .stack
            .first()
            .map(|frame| (frame.clone(), "read".to_owned()));
        first.into_iter().chain(origin(&self.variable)).collect()
    }

    fn stack_words(&self) -> Vec<String> {
        vec!["read".to_owned()]
    }
}

/// Where memory comes from.
fn origin(variable: &Variable) -> Option<(Frame, String)> {
    match &variable.origin {
        Origin::Unknown => None,
        Origin::Global(it) | Origin::Thread(it) | Origin::Stack(it) => {
            let Declaration {
                function,
                file,
                line,
            } = it.clone();
            let frame = Frame {
                function,
                file,
                line,
            };
            Some((frame, "declared".to_owned()))
        }
        Origin::Heap(stack) => Some((stack.first()?.clone(), "allocated".to_owned())),
    }
}

fn results_of<T: Told>(
    query: &Query<'_>,
    places: &Places<'_>,
    results: &mut Vec<Json>,
    said: &mut Vec<String>,
) {
    let Ok(found) = races::found::<T>(query) else {
        return;
    };
    let Found { rows, unused, .. } = &found;
    said.extend(unused.iter().cloned());
    let kept = rows.iter().filter(|row| row.kept);
    results.extend(kept.map(|row| result(query, places, row)));
}

fn result<T: Told>(query: &Query<'_>, places: &Places<'_>, row: &Row<T>) -> Json {
    let finding = &row.finding;
    let (rule, level) = finding.rule();
    let index = RULES.iter().position(|(id, ..)| *id == rule);
    let mut all = finding.places().into_iter();
    let first = all.next().map(|(frame, _)| places.location(&frame, None));
    let related = (1..).zip(all).map(|(id, (frame, words))| {
        let mut location = places.location(&frame, Some(&words));
        location["id"] = json!(id);
        location
    });
    let stacks = finding.stacks().into_iter().zip(finding.stack_words());
    let stacks = stacks.map(|(stack, words)| {
        let frames = stack
            .iter()
            .map(|frame| json!({"location": places.location(frame, None)}));
        json!({"message": {"text": words}, "frames": frames.collect::<Vec<_>>()})
    });
    let key: String = untrusted::digest(finding.key().as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let mut result = json!({
        "ruleId": rule,
        "ruleIndex": index,
        "level": level,
        "message": {"text": finding.message()},
        "locations": first.into_iter().collect::<Vec<_>>(),
        "relatedLocations": related.collect::<Vec<_>>(),
        "stacks": stacks.collect::<Vec<_>>(),
        "occurrenceCount": finding.count(),
        "partialFingerprints": {"parallaxFinding/v1": key},
    });
    let rule = row
        .suppressed
        .and_then(|at| query.settings.suppressions.rules.get(at));
    if let Some(rule) = rule {
        result["suppressions"] = json!([{
            "kind": "external", "status": "accepted", "justification": rule.reason,
        }]);
    }
    result
}

/// How paths are written.
struct Places<'q> {
    query: &'q Query<'q>,
    /// The folder in which the program ran, with a slash at its end; empty if it is unknown.
    root: String,
}

impl<'q> Places<'q> {
    fn of(query: &'q Query<'_>) -> Places<'q> {
        let directory = query
            .all
            .analysis
            .experiment
            .header
            .directory
            .trim_end_matches('/');
        let root = match directory {
            "" => String::new(),
            directory => format!("{directory}/"),
        };
        Places { query, root }
    }

    /// A frame's place and function, with words about it.
    fn location(&self, frame: &Frame, words: Option<&str>) -> Json {
        let mut location = Map::new();
        if !frame.file.is_empty() {
            let mut physical = json!({"artifactLocation": self.artifact(&frame.file)});
            if frame.line > 0 {
                physical["region"] = json!({"startLine": frame.line});
            }
            location.insert("physicalLocation".to_owned(), physical);
        }
        if !frame.function.is_empty() {
            let function = json!([{"name": frame.function, "kind": "function"}]);
            location.insert("logicalLocations".to_owned(), function);
        }
        if let Some(words) = words {
            location.insert("message".to_owned(), json!({"text": words}));
        }
        Json::Object(location)
    }

    fn artifact(&self, file: &str) -> Json {
        if let Some(mapped) = self.query.settings.annotation.search.mapped(file) {
            let scheme = if mapped.starts_with('/') {
                "file://"
            } else {
                ""
            };
            return json!({"uri": format!("{scheme}{}", encoded(&mapped))});
        }
        let inside = Some(self.root.as_str()).filter(|root| !root.is_empty());
        match inside.and_then(|root| file.strip_prefix(root)) {
            Some(rest) => json!({"uri": encoded(rest), "uriBaseId": ROOT}),
            None if file.starts_with('/') => json!({"uri": format!("file://{}", encoded(file))}),
            None => json!({"uri": encoded(file)}),
        }
    }
}

/// A path with the characters that a URI may have (RFC 3986).
fn encoded(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/+,=@".contains(&byte);
    let bytes = path.bytes().map(|byte| {
        if is_plain(byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    });
    bytes.collect()
}

#[cfg(test)]
mod tests {
    use super::encoded;

    #[test]
    fn paths_are_those_of_uris() {
        assert_eq!(encoded("/a b/c#\u{e9}.c"), "/a%20b/c%23%C3%A9.c");
    }
}
