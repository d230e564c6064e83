//! The kinds of findings, and what documents ask of each.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use experiment::findings::{
    Access, Class, Construct, Content, Deadlock, Declaration, Difference, Divergence, Findings,
    Frame, Misuse, Origin, Race, Uninitialised, Variable,
};
use omp_model::profile::ViewMode;
use omp_model::views::names::base_name;
use serde_json::{Map, Value as Json, json};

use super::kind::FindingKind;
use super::suppressions::without_indexes;
use crate::json::fields;

/// What is said of an access whose line the compiler did not give.
pub(super) const NO_LINE: &str =
    "the compiler has given no line: that of the code beside it stands there";

/// A finding of some kind.
pub trait Finding: Clone {
    /// Its kind.
    const KIND: FindingKind;

    /// Those of an experiment.
    fn all(findings: &Findings) -> &[Self];

    /// What it is about, in a few words.
    fn name(&self) -> Cow<'_, str>;

    /// What is the same in other recordings of the program: names without indexes, functions and lines.
    fn key(&self) -> String;

    /// How often.
    fn count(&self) -> u64;

    /// Adds the same finding of another recording.
    fn absorb(&mut self, other: &Self);

    /// Where it is in the program: the innermost frame of each stack that has one.
    fn sites(&self) -> Vec<&Frame>;

    /// Its stacks in user mode, innermost frame first.
    fn stacks(&self) -> Vec<&[Frame]>;

    /// The variables or locks that it is about.
    fn variables(&self) -> Vec<&str>;

    /// Its class in summaries.
    fn class(&self) -> &str;

    /// Whether it is an error, and not what may be one: budgets count no others.
    fn is_certain(&self) -> bool {
        true
    }

    /// Whether a line in it is one that the compiler did not give.
    fn is_inferred(&self) -> bool {
        false
    }

    /// Its fields in JSON, without the number.
    fn json(&self, mode: ViewMode) -> Map<String, Json>;
}

impl Finding for Race {
    const KIND: FindingKind = FindingKind::Race;

    fn all(findings: &Findings) -> &[Race] {
        &findings.races
    }

    fn name(&self) -> Cow<'_, str> {
        variable_name(&self.variable)
    }

    fn key(&self) -> String {
        let sites = self.accesses.iter().map(|it| site_key(it.stack.first()));
        let sites: Vec<String> = sites.collect();
        format!("{} {}", variable_key(&self.variable), sites.join(" "))
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn absorb(&mut self, other: &Race) {
        self.class = self.class.min(other.class);
        self.count = self.count.saturating_add(other.count);
    }

    fn sites(&self) -> Vec<&Frame> {
        self.accesses
            .iter()
            .filter_map(|it| it.stack.first())
            .collect()
    }

    fn stacks(&self) -> Vec<&[Frame]> {
        self.accesses.iter().map(|it| it.stack.as_slice()).collect()
    }

    fn variables(&self) -> Vec<&str> {
        self.variable.name.iter().map(String::as_str).collect()
    }

    fn class(&self) -> &str {
        self.class.words()
    }

    fn is_certain(&self) -> bool {
        self.class == Class::Race
    }

    fn is_inferred(&self) -> bool {
        self.accesses.iter().any(|access| access.is_line_inferred)
    }

    fn json(&self, mode: ViewMode) -> Map<String, Json> {
        let access = |access: &Access| {
            let stack = stack_in(access, mode);
            let mut object = fields([("kind", json!(access.kind.words()))]);
            object.extend(place(stack.first()));
            object.extend(frames(stack));
            object.extend(fields([
                ("constructs", constructs(&access.constructs)),
                ("thread", json!(access.thread)),
                ("strand", json!(access.strand)),
                ("locks", json!(access.locks)),
            ]));
            if access.is_line_inferred {
                object.insert("inferred".to_owned(), json!(true));
            }
            object
        };
        let mut object = fields([
            ("class", json!(self.class.words())),
            ("variable", json!(self.name())),
            ("size", json!(self.variable.size)),
            ("count", json!(self.count)),
            ("accesses", self.accesses.iter().map(access).collect()),
        ]);
        object.extend(origin(&self.variable));
        if let Some(advice) = &self.advice {
            object.insert("advice".to_owned(), json!(advice));
        }
        object
    }
}

impl Finding for Deadlock {
    const KIND: FindingKind = FindingKind::Deadlock;

    fn all(findings: &Findings) -> &[Deadlock] {
        &findings.deadlocks
    }

    fn name(&self) -> Cow<'_, str> {
        let names: Vec<&str> = self.variables();
        Cow::Owned(names.join(", "))
    }

    fn key(&self) -> String {
        let edge = |edge: &experiment::findings::Edge| {
            let (held, wanted) = (site_key(edge.held.first()), site_key(edge.wanted.first()));
            format!("{} {held} {} {wanted}", edge.holds, edge.wants)
        };
        // A cycle has no first thread.
        let mut edges: Vec<String> = self.edges.iter().map(edge).collect();
        edges.sort();
        edges.join(" ")
    }

    fn count(&self) -> u64 {
        1
    }

    fn absorb(&mut self, other: &Deadlock) {
        if other.happened && !self.happened {
            self.clone_from(other);
        }
    }

    fn sites(&self) -> Vec<&Frame> {
        let stacks = self.stacks().into_iter();
        stacks.filter_map(|stack| stack.first()).collect()
    }

    fn stacks(&self) -> Vec<&[Frame]> {
        let edges = self.edges.iter();
        let stacks = edges.flat_map(|it| [it.held.as_slice(), it.wanted.as_slice()]);
        stacks.filter(|stack| !stack.is_empty()).collect()
    }

    fn variables(&self) -> Vec<&str> {
        let holds = self.edges.iter().map(|it| it.holds.as_str());
        let wants = self.edges.iter().map(|it| it.wants.as_str());
        let mut known = HashSet::new();
        let names = holds.chain(wants).filter(|name| !name.is_empty());
        names.filter(|name| known.insert(*name)).collect()
    }

    fn class(&self) -> &str {
        if self.happened {
            "happened"
        } else {
            "possible"
        }
    }

    fn json(&self, _: ViewMode) -> Map<String, Json> {
        let at = |stack: Option<&&[Frame]>| match stack.and_then(|stack| stack.first()) {
            Some(frame) => Json::Object(place(Some(frame))),
            None => Json::Null,
        };
        // The first edges of each lock.
        let (mut held, mut wanted) = (HashMap::new(), HashMap::new());
        for edge in &self.edges {
            held.entry(edge.holds.as_str())
                .or_insert(edge.held.as_slice());
            wanted
                .entry(edge.wants.as_str())
                .or_insert(edge.wanted.as_slice());
        }
        let lock = |name: &str| json!({"name": name, "held": at(held.get(name)), "wanted": at(wanted.get(name))});
        let edge = |edge: &experiment::findings::Edge| {
            let names = |stack: &[Frame]| Json::Object(frames(stack));
            json!({
                "thread": edge.thread,
                "holds": (!edge.holds.is_empty()).then_some(&edge.holds),
                "held": names(&edge.held),
                "wants": edge.wants,
                "wanted": names(&edge.wanted),
            })
        };
        fields([
            ("happened", json!(self.happened)),
            ("locks", self.variables().into_iter().map(lock).collect()),
            ("edges", self.edges.iter().map(edge).collect()),
            ("detail", json!(self.detail)),
        ])
    }
}

impl Finding for Misuse {
    const KIND: FindingKind = FindingKind::Misuse;

    fn all(findings: &Findings) -> &[Misuse] {
        &findings.misuse
    }

    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.kind)
    }

    fn key(&self) -> String {
        format!("{} {}", self.kind, site_key(self.stack.first()))
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn absorb(&mut self, other: &Misuse) {
        self.count = self.count.saturating_add(other.count);
    }

    fn sites(&self) -> Vec<&Frame> {
        self.stack.first().into_iter().collect()
    }

    fn stacks(&self) -> Vec<&[Frame]> {
        vec![&self.stack]
    }

    fn variables(&self) -> Vec<&str> {
        Vec::new()
    }

    fn class(&self) -> &str {
        &self.kind
    }

    fn json(&self, _: ViewMode) -> Map<String, Json> {
        let mut object = fields([("kind", json!(self.kind))]);
        object.extend(place(self.stack.first()));
        object.extend(fields([
            ("detail", json!(self.detail)),
            ("count", json!(self.count)),
        ]));
        object.extend(frames(&self.stack));
        object
    }
}

/// What findings have alike that are about a variable at one place.
macro_rules! of_one_place {
    () => {
        fn name(&self) -> Cow<'_, str> {
            variable_name(&self.variable)
        }

        fn count(&self) -> u64 {
            self.count
        }

        fn absorb(&mut self, other: &Self) {
            self.count = self.count.saturating_add(other.count);
        }

        fn sites(&self) -> Vec<&Frame> {
            self.stack.first().into_iter().collect()
        }

        fn stacks(&self) -> Vec<&[Frame]> {
            vec![&self.stack]
        }

        fn variables(&self) -> Vec<&str> {
            self.variable.name.iter().map(String::as_str).collect()
        }

        fn class(&self) -> &str {
            self.class.words()
        }
    };
}

impl Finding for Uninitialised {
    const KIND: FindingKind = FindingKind::Uninit;

    fn all(findings: &Findings) -> &[Uninitialised] {
        &findings.uninitialised
    }

    of_one_place!();

    fn key(&self) -> String {
        format!(
            "{} {}",
            variable_key(&self.variable),
            site_key(self.stack.first())
        )
    }

    fn is_certain(&self) -> bool {
        self.class == Content::Undefined
    }

    fn json(&self, _: ViewMode) -> Map<String, Json> {
        let mut object = fields([
            ("class", json!(self.class())),
            ("variable", json!(self.name())),
        ]);
        object.extend(place(self.stack.first()));
        object.extend(fields([
            ("count", json!(self.count)),
            ("size", json!(self.variable.size)),
            ("constructs", constructs(&self.constructs)),
        ]));
        object.extend(frames(&self.stack));
        object.extend(origin(&self.variable));
        object
    }
}

impl Finding for Divergence {
    const KIND: FindingKind = FindingKind::Divergence;

    fn all(findings: &Findings) -> &[Divergence] {
        &findings.divergences
    }

    of_one_place!();

    fn key(&self) -> String {
        let site = site_key(self.stack.first());
        let variable = variable_key(&self.variable);
        format!("{} {variable} {site}", self.class.words())
    }

    fn is_certain(&self) -> bool {
        self.class != Difference::Order
    }

    fn json(&self, _: ViewMode) -> Map<String, Json> {
        let value = |it: &experiment::findings::Values| json!({"name": it.name, "before": it.before, "one": it.one, "several": it.several});
        let mut object = fields([
            ("class", json!(self.class())),
            ("variable", json!(self.name())),
            ("last", json!(self.last)),
        ]);
        object.extend(place(self.stack.first()));
        object.extend(fields([
            ("count", json!(self.count)),
            ("instance", json!(self.instance)),
            ("threads", json!(self.threads)),
            ("elements", json!(self.elements)),
            (
                "element_bytes",
                (self.element_bytes > 0)
                    .then_some(self.element_bytes)
                    .into(),
            ),
            ("is_lower_bound", json!(self.is_cut)),
            ("ranges", json!(self.ranges)),
            ("values", self.values.iter().map(value).collect()),
            ("rounding", json!(self.spread)),
            ("constructs", constructs(&self.constructs)),
        ]));
        object.extend(frames(&self.stack));
        object.extend(origin(&self.variable));
        if let Some(advice) = &self.advice {
            object.insert("advice".to_owned(), json!(advice));
        }
        object
    }
}

/// The stack of an access in a mode.
pub(super) fn stack_in(access: &Access, mode: ViewMode) -> &[Frame] {
    match mode {
        ViewMode::Machine if !access.machine_stack.is_empty() => &access.machine_stack,
        _ => &access.stack,
    }
}

/// `sum`, or what is known of memory without a name.
fn variable_name(variable: &Variable) -> Cow<'_, str> {
    if let Some(name) = &variable.name {
        return Cow::Borrowed(name);
    }
    Cow::Owned(match &variable.origin {
        Origin::Heap(stack) if !stack.is_empty() => {
            format!("<block allocated at {}>", at(stack.first()))
        }
        _ => format!("<memory at {:#x}>", variable.address),
    })
}

/// What names a variable in another recording: addresses do not.
pub(super) fn variable_key(variable: &Variable) -> String {
    match (&variable.name, &variable.origin) {
        (Some(name), _) => without_indexes(name),
        (None, Origin::Heap(stack)) => format!("<block allocated at {}>", at(stack.first())),
        (None, _) => String::new(),
    }
}

/// A place by its function, its file's own name, and its line.
fn site_key(frame: Option<&Frame>) -> String {
    frame.map_or_else(String::new, |frame| {
        format!(
            "{}:{}:{}",
            frame.function,
            base_name(&frame.file),
            frame.line
        )
    })
}

/// The same of the innermost frame of a stack, which may be empty.
pub(super) fn at(frame: Option<&Frame>) -> String {
    let Some(frame) = frame else {
        return "an unknown place".to_owned();
    };
    match (line_of(&frame.file, frame.line), frame.function.as_str()) {
        (None, "") => "an unknown place".to_owned(),
        (None, function) => function.to_owned(),
        (Some(line), "") => line,
        (Some(line), function) => format!("{line} ({function})"),
    }
}

/// `a.c:10 (main)`, with what is known of it.
pub fn place_of(frame: &Frame) -> String {
    at(Some(frame))
}

/// `a.c:10`.
pub(super) fn line_of(file: &str, line: u32) -> Option<String> {
    match (file, line) {
        ("", _) => None,
        (file, 0) => Some(base_name(file).to_owned()),
        (file, line) => Some(format!("{}:{line}", base_name(file))),
    }
}

/// What kind of memory it is.
pub(super) const fn origin_words(origin: &Origin) -> &'static str {
    match origin {
        Origin::Unknown => "unknown",
        Origin::Global(_) => "global",
        Origin::Thread(_) => "threadprivate",
        Origin::Stack(_) => "local",
        Origin::Heap(_) => "heap",
    }
}

fn known(text: &str) -> Json {
    if text.is_empty() {
        Json::Null
    } else {
        json!(text)
    }
}

fn numbered(line: u32) -> Json {
    if line == 0 { Json::Null } else { json!(line) }
}

/// `function`, `file` and `line`; null where they are unknown.
fn place(frame: Option<&Frame>) -> Map<String, Json> {
    let unknown = Frame::default();
    let frame = frame.unwrap_or(&unknown);
    fields([
        ("function", known(&frame.function)),
        ("file", known(&frame.file)),
        ("line", numbered(frame.line)),
    ])
}

/// `stack`, the names, and `frames`, the same with their places; innermost first.
fn frames(stack: &[Frame]) -> Map<String, Json> {
    let names = stack.iter().map(|frame| json!(frame.function));
    let frames = stack.iter().map(|frame| Json::Object(place(Some(frame))));
    fields([("stack", names.collect()), ("frames", frames.collect())])
}

fn constructs(constructs: &[Construct]) -> Json {
    let of = |it: &Construct| json!({"name": it.name, "file": known(&it.file), "line": numbered(it.line)});
    constructs.iter().map(of).collect()
}

/// Where a variable comes from: `allocated` on the heap, `declared` elsewhere.
fn origin(variable: &Variable) -> Map<String, Json> {
    let mut object = fields([
        ("address", json!(format!("{:#x}", variable.address))),
        ("origin", json!(origin_words(&variable.origin))),
    ]);
    if variable.whole > 0 {
        object.insert("whole".to_owned(), json!(variable.whole));
    }
    match &variable.origin {
        Origin::Unknown => {}
        Origin::Global(it) | Origin::Thread(it) | Origin::Stack(it) => {
            let Declaration {
                function,
                file,
                line,
            } = it;
            let declared = json!({
                "function": known(function), "file": known(file), "line": numbered(*line),
            });
            object.insert("declared".to_owned(), declared);
        }
        Origin::Heap(stack) => {
            let mut allocated = place(stack.first());
            allocated.extend(frames(stack));
            object.insert("allocated".to_owned(), Json::Object(allocated));
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_an_array_are_one_variable() {
        for (name, bare) in [
            ("sum", "sum"),
            ("a[17]", "a[]"),
            ("a[i[3]][2].next", "a[][].next"),
            ("]x[", "]x["),
        ] {
            assert_eq!(without_indexes(name), bare);
        }
    }

    #[test]
    fn a_place_says_what_is_known_of_it() {
        let frame = |function: &str, file: &str, line| Frame {
            function: function.to_owned(),
            file: file.to_owned(),
            line,
        };
        let told = |frame: &Frame| at(Some(frame));
        assert_eq!(told(&frame("f", "/x/a.c", 3)), "a.c:3 (f)");
        assert_eq!(told(&frame("f", "/x/a.c", 0)), "a.c (f)");
        assert_eq!(told(&frame("f", "", 3)), "f");
        assert_eq!(told(&frame("", "a.c", 3)), "a.c:3");
        assert_eq!(told(&Frame::default()), "an unknown place");
        assert_eq!(at(None), "an unknown place");
    }
}
