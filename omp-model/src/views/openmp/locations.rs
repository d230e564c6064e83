//! Code locations of constructs.

use std::collections::{BTreeMap, BTreeSet};

use experiment::ids::{ContextId, FrameId};
use experiment::symbols::{Construct, SourceLine};
use experiment::tables::ContextKind;
use rustc_hash::FxHashMap;

use crate::profile::{Callee, Path, Profile};
use crate::views::names::{Names, base_name, short};

/// A construct's code location, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConstructLocation {
    /// The file's path.
    pub file: Option<String>,
    /// From 1.
    pub line: Option<u32>,
    /// The function that holds the directive.
    pub function: Option<String>,
}

impl ConstructLocation {
    /// The key that distinguishes calls: the line, if known; else the name.
    pub(super) fn key(&self, name: &str) -> (ConstructLocation, String) {
        match self.line {
            // A call into the runtime may name the function differently than a body does.
            Some(_) => (self.without_function(), String::new()),
            None => (self.clone(), name.to_owned()),
        }
    }

    fn without_function(&self) -> ConstructLocation {
        ConstructLocation {
            function: None,
            ..self.clone()
        }
    }

    /// `solver.c:41`, else the short name of the function, else `<Unknown>`.
    pub fn short(&self) -> String {
        match (&self.file, self.line, &self.function) {
            (Some(file), Some(line), _) => format!("{}:{line}", base_name(file)),
            (_, _, Some(function)) => short(function).into_owned(),
            _ => "<Unknown>".to_owned(),
        }
    }

    /// The location of an address: the innermost inlined line, and the function by its symbol.
    pub fn of_frame(names: &Names<'_>, frame: FrameId) -> ConstructLocation {
        let symbol = names.symbols.frame(frame);
        let source = symbol.lines.first().map(|at| at.source);
        let function = names.symbols.function_of(frame).map(|(id, function)| {
            match function.outlined.as_ref().map(|it| it.parent.as_deref()) {
                Some(Some(parent)) => parent.to_owned(),
                // The function that holds the directive is unknown.
                Some(None) => names.name(Callee::Function(id)),
                None => function.name.clone(),
            }
        });
        ConstructLocation {
            function,
            ..ConstructLocation::of_source(names, source)
        }
    }

    /// The location of a call: its line in the innermost function there, even if that was inlined.
    pub(crate) fn of_innermost(names: &Names<'_>, call: FrameId) -> ConstructLocation {
        let at = ConstructLocation::of_frame(names, call);
        let function = names.written_holder(call).map(str::to_owned);
        ConstructLocation {
            function: function.or(at.function),
            ..at
        }
    }

    /// The location of a call: its line in the function that has the symbol.
    pub(super) fn of_outermost(names: &Names<'_>, call: FrameId) -> ConstructLocation {
        let last = names.symbols.frame(call).lines.last();
        ConstructLocation {
            function: ConstructLocation::of_frame(names, call).function,
            ..ConstructLocation::of_source(names, last.map(|at| at.source))
        }
    }

    fn of_source(names: &Names<'_>, source: Option<SourceLine>) -> ConstructLocation {
        ConstructLocation {
            file: source.and_then(|at| names.symbols.files.get(at.file.0 as usize).cloned()),
            line: source.map(|at| at.line),
            function: None,
        }
    }

    /// The location of a construct: by its body's debug information, else by the call that made it.
    /// The call's line is right for clang only: gcc attributes it to other lines of the region.
    fn of_construct(
        names: &Names<'_>,
        context: ContextId,
        body: Option<Callee>,
    ) -> ConstructLocation {
        let site = ConstructLocation::of_site(names, context);
        let function = body.and_then(|body| names.function_of(body));
        let Some((function, outlined)) =
            function.and_then(|function| Some((function, function.outlined.as_ref()?)))
        else {
            return site;
        };
        let source = function.source.zip(outlined.line);
        let source = source.map(|(at, line)| SourceLine { line, ..at });
        let location = match (source, outlined.line) {
            (Some(_), _) => ConstructLocation::of_source(names, source),
            // The body's name contains that line.
            (None, Some(line)) if site.file.is_some() => ConstructLocation {
                line: Some(line),
                ..site.clone()
            },
            (None, _) => site.clone(),
        };
        ConstructLocation {
            function: outlined.parent.clone().or(site.function),
            ..location
        }
    }

    /// The location of the call that made a construct.
    pub fn of_site(names: &Names<'_>, context: ContextId) -> ConstructLocation {
        let call = names.call_of(context);
        call.map_or_else(ConstructLocation::default, |call| {
            ConstructLocation::of_call(names, call)
        })
    }

    /// The location of the worksharing directive of a call, as the source tells it.
    fn of_directive(names: &Names<'_>, call: FrameId) -> Option<ConstructLocation> {
        let directive = names.symbols.directive_of(call)?;
        let lines = &names.symbols.frame(call).lines;
        let (inlined, own) = lines.split_at_checked(directive.level as usize)?;
        let at = own.first()?;
        let source = SourceLine {
            line: directive.line,
            ..at.source
        };
        let is_outermost = inlined.len() + 1 == lines.len();
        let function = if is_outermost {
            ConstructLocation::of_frame(names, call).function
        } else {
            at.function.clone()
        };
        Some(ConstructLocation {
            function,
            ..ConstructLocation::of_source(names, Some(source))
        })
    }

    /// The location of the directive of a call into the runtime.
    pub fn of_call(names: &Names<'_>, call: FrameId) -> ConstructLocation {
        if let Some(at) = ConstructLocation::of_directive(names, call) {
            return at;
        }
        ConstructLocation {
            line: names.directive_line(call),
            ..ConstructLocation::of_innermost(names, call)
        }
    }
}

/// The directive of a construct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Directive {
    /// The name shown.
    pub(super) name: String,
    /// Its code location.
    pub(super) location: ConstructLocation,
    /// What is the same for all constructs of the directive.
    pub(super) key: (ConstructLocation, String),
}

/// The outlined functions of constructs: those that their events tell, else found from the user-mode
/// stacks of time in them.
#[derive(Debug)]
pub(super) struct Bodies(FxHashMap<ContextId, Callee>);

impl Bodies {
    /// Finds bodies of regions, given the innermost region of each context, or of tasks, given each
    /// context itself.
    pub(super) fn learn(
        profile: &Profile,
        names: &Names<'_>,
        kinds: &[ContextKind],
        construct_of: impl Fn(ContextId) -> ContextId,
    ) -> Bodies {
        // A path's callers precede it.
        let mut innermost: Vec<Option<Callee>> = Vec::with_capacity(profile.paths.len());
        for (at, path) in profile.paths.rows().iter().enumerate() {
            let above = path.callers.0 as usize;
            let inherited = if above < at { innermost[above] } else { None };
            innermost.push(body(names, path, kinds).or(inherited));
        }
        let mut votes = FxHashMap::<(ContextId, Callee), f64>::default();
        for item in &profile.items {
            if let Some(callee) = innermost[item.path.0 as usize] {
                let construct = construct_of(item.context);
                *votes.entry((construct, callee)).or_default() += item.seconds;
            }
        }
        let mut best = FxHashMap::<ContextId, (f64, Callee)>::default();
        for ((construct, callee), seconds) in votes {
            let known = best.entry(construct).or_insert((seconds, callee));
            if (seconds, callee) > (known.0, known.1) {
                *known = (seconds, callee);
            }
        }
        let mut bodies: FxHashMap<_, _> = best.into_iter().map(|(id, (_, it))| (id, it)).collect();
        let contexts = names.tables.contexts.rows().iter();
        for (context, row) in (0..).map(ContextId).zip(contexts) {
            if kinds.contains(&row.kind)
                && let Some((body, function)) = names.symbols.function_of(row.body)
                && function.outlined.is_some()
            {
                bodies.insert(context, Callee::Function(body));
            }
        }
        Bodies(bodies)
    }

    /// The directives of constructs. Instantiations of a template are directives of their own.
    pub(super) fn directives(
        &self,
        names: &Names<'_>,
        contexts: impl Iterator<Item = ContextId>,
    ) -> BTreeMap<ContextId, Directive> {
        let mut directives: BTreeMap<ContextId, Directive> = contexts
            .map(|context| {
                let (name, location) = self.of(names, context);
                let key = location.key(&name);
                let directive = Directive {
                    name,
                    location,
                    key,
                };
                (context, directive)
            })
            .collect();
        let mut functions = BTreeMap::<ConstructLocation, BTreeSet<String>>::new();
        for (&context, directive) in &directives {
            if let Some(function) = self.holder(names, context) {
                let known = functions.entry(directive.key.0.clone()).or_default();
                known.insert(function.to_owned());
            }
        }
        for (&context, directive) in &mut directives {
            let location = &mut directive.key.0;
            let Some(known) = functions.get(location).filter(|_| location.line.is_some()) else {
                continue;
            };
            let own = self.holder(names, context).map(str::to_owned);
            let named = || directive.location.function.clone();
            location.function = match (own, known.len()) {
                (Some(own), _) => Some(own),
                // The call may name the function differently than the body.
                (None, 1) => known.first().cloned(),
                (None, _) => named().filter(|function| known.contains(function)),
            };
        }
        directives
    }

    /// The function that holds the directive, according to the construct's body.
    fn holder<'a>(&self, names: &Names<'a>, context: ContextId) -> Option<&'a str> {
        let body = names.function_of(*self.0.get(&context)?)?;
        body.outlined.as_ref()?.parent.as_deref()
    }

    /// The construct's name and code location.
    pub(super) fn of(&self, names: &Names<'_>, context: ContextId) -> (String, ConstructLocation) {
        let body = self.0.get(&context).copied();
        let name = names.name(body.unwrap_or(Callee::Construct(context)));
        let location = ConstructLocation::of_construct(names, context, body);
        // Without a line and a body, only the call distinguishes the constructs of a function.
        let bare = body.is_none_or(|body| matches!(body, Callee::Construct(_)));
        let call = names.call_of(context);
        let call = call.filter(|_| bare && location.line.is_none());
        match call.and_then(|call| names.offset(call)) {
            Some(offset) => (format!("{name} [{offset}]"), location),
            None => (name, location),
        }
    }
}

/// The path's callee, if it is the body of a construct of one of `kinds`.
fn body(names: &Names<'_>, path: &Path, kinds: &[ContextKind]) -> Option<Callee> {
    let callee = path.frame.callee;
    let kind = match callee {
        Callee::Construct(context) => names.tables.contexts.get(context.0)?.kind,
        _ => match names.function_of(callee)?.outlined.as_ref()?.construct {
            Construct::Parallel => ContextKind::Region,
            Construct::Teams => ContextKind::Teams,
            // clang makes a task of some target constructs.
            Construct::Task | Construct::Target => ContextKind::Task,
            Construct::Taskloop => ContextKind::Taskloop,
            Construct::Reduction => return None,
        },
    };
    kinds.contains(&kind).then_some(callee)
}
