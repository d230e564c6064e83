//! Completion of commands and arguments, for the prompt and for shells.

use experiment::symbols::FunctionId;
use omp_model::filter::Word;
use omp_model::metrics::Metric;
use omp_model::profile::Callee;
use omp_model::views::names::{base_name, without_parameters};

use crate::commands::choices::choices;
use crate::commands::{COMMANDS, Command, find};
use crate::session::Session;

/// The kind of a command's argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArgumentKind {
    Function,
    /// A function or a source file.
    Source,
    Object,
    Metrics,
    Filter,
    Index,
    File,
    Other,
}

fn kind(command: &Command) -> ArgumentKind {
    use ArgumentKind as Kind;
    match command.name {
        "fsingle" | "csingle" | "cprepend" | "cappend" | "disasm" => Kind::Function,
        "source" => Kind::Source,
        "object_select" | "object_show" | "object_hide" | "object_api" => Kind::Object,
        "metrics" | "sort" | "dmetrics" | "dsort" | "check" => Kind::Metrics,
        "filters" | "indxobj_define" => Kind::Filter,
        "indxobj" => Kind::Index,
        "outfile" | "appendfile" | "script" | "setpath" | "addpath" | "pathmap" | "open_exp"
        | "add_exp" | "export" | "budgets" | "suppressions" => Kind::File,
        _ => Kind::Other,
    }
}

/// The names of the open experiments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    functions: Vec<String>,
    sources: Vec<String>,
    objects: Vec<String>,
    index_types: Vec<String>,
    counters: Vec<String>,
}

impl Known {
    /// The names of a session's experiments and index types.
    pub(crate) fn of(session: &Session<'_>) -> Known {
        let mut known = Known::default();
        for experiment in session.experiments() {
            let names = experiment.names(Default::default());
            let functions = names.symbols.functions.iter().zip(0..);
            let functions = functions.map(|(function, id)| match function.outlined {
                // The display name, not the symbol.
                Some(_) => names.name(Callee::Function(FunctionId(id))),
                None => without_parameters(&function.name).to_owned(),
            });
            known.functions.extend(functions);
            let files = names.symbols.files.iter();
            known
                .sources
                .extend(files.map(|path| base_name(path).to_owned()));
            let counters = experiment.experiment.counters.iter();
            known.counters.extend(counters.map(|it| it.name.clone()));
            let objects = names.tables.modules.rows().iter();
            let objects = objects.map(|object| base_name(&object.path).to_owned());
            known
                .objects
                .extend(objects.filter(|name| !name.is_empty()));
        }
        let defined = session.settings.index_types.iter();
        let defined = defined.map(|(name, _)| name.clone());
        let built_in = crate::commands::index_types().map(str::to_owned);
        known.index_types = built_in.chain(defined).collect();
        for names in [
            &mut known.functions,
            &mut known.sources,
            &mut known.objects,
            &mut known.counters,
        ] {
            names.sort();
            names.dedup();
        }
        known
    }

    /// The start of the word that is being typed, and its completions; `None` for the name of a
    /// file.
    pub(crate) fn candidates(&self, typed: &str) -> Option<(usize, Vec<String>)> {
        let line = typed.trim_start();
        let Some((first, rest)) = line.split_once(char::is_whitespace) else {
            return Some((typed.len() - line.len(), command_names(line)));
        };
        let Ok(command) = find(first.strip_prefix('-').unwrap_or(first)) else {
            return Some((typed.len(), Vec::new()));
        };
        let fixed = choices(command);
        let is_first = command.arity().1 == 1 || !rest.trim_start().contains(char::is_whitespace);
        if !fixed.is_empty() && is_first {
            return Some(beginning(typed, &[' ', ':'], fixed.iter().copied()));
        }
        let rest = rest.trim_start();
        let start = typed.len() - rest.len();
        use ArgumentKind as Kind;
        match kind(command) {
            Kind::Function => Some((start, names(&self.functions, rest))),
            Kind::Source => {
                let both = self.sources.iter().chain(&self.functions);
                Some((start, names(both, rest)))
            }
            Kind::Object => {
                let objects = self.objects.iter().map(String::as_str);
                let objects = objects.chain(["all"]);
                Some(beginning(typed, &[' ', ','], objects))
            }
            Kind::Metrics => Some(metrics(typed, &self.counters)),
            Kind::Filter => {
                let words = Word::ALL.into_iter();
                let numbers = words.flat_map(|word| word.names().iter().map(|(name, _)| *name));
                let words = Word::ALL.into_iter().map(Word::name);
                let others = ["STACK", "LEAF", "IN", "SOME IN", "ORDERED IN"];
                let all = words.chain(others).chain(numbers);
                let marks = &[' ', '(', ')', '!', '=', '<', '>', '&', '|', ','];
                Some(beginning(typed, marks, all))
            }
            Kind::Index => {
                let types = self.index_types.iter().map(String::as_str);
                Some(beginning(typed, &[' '], types))
            }
            Kind::File => None,
            Kind::Other => Some((typed.len(), Vec::new())),
        }
    }
}

/// Completions of a command's name. A space follows the names of commands with arguments.
fn command_names(typed: &str) -> Vec<String> {
    let (dash, beginning) = match typed.strip_prefix('-') {
        Some(name) => ("-", name),
        None => ("", typed),
    };
    let name = |(name, takes_argument): (&str, bool)| {
        let space = if takes_argument { " " } else { "" };
        format!("{dash}{name}{space}")
    };
    commands(beginning).map(name).collect()
}

/// Completions of a name, which may be quoted.
fn names<'n>(all: impl IntoIterator<Item = &'n String>, typed: &str) -> Vec<String> {
    let bare = typed.trim_start_matches(['"', '\'']);
    let fits = all.into_iter().filter(|name| begins(name, bare));
    let fits: Vec<&String> = fits.collect();
    // All or none are quoted, so that their common beginning can be completed.
    let quote = bare.len() < typed.len() || fits.iter().any(|name| name.contains([' ', '#']));
    let word = |name: &&String| if quote { quoted(name) } else { (*name).clone() };
    fits.iter().map(word).collect()
}

/// The names of commands with this beginning, sorted, and whether they take an argument.
fn commands(beginning: &str) -> impl Iterator<Item = (&'static str, bool)> {
    let supported = COMMANDS.iter().filter(|command| command.action.is_some());
    let names = supported.flat_map(|command| {
        let names = std::iter::once(command.name).chain(command.aliases.iter().copied());
        names.map(|name| (name, !command.arguments.is_empty()))
    });
    let mut names: Vec<_> = names.filter(|(name, _)| begins(name, beginning)).collect();
    names.sort_unstable();
    names.into_iter()
}

fn begins(name: &str, beginning: &str) -> bool {
    let mut letters = name.chars().flat_map(char::to_lowercase);
    let wanted = beginning.chars().flat_map(char::to_lowercase);
    wanted
        .into_iter()
        .all(|letter| letters.next() == Some(letter))
}

/// The start of a line's last word, after any of `marks`, and its completions.
fn beginning<'n>(
    typed: &str,
    marks: &[char],
    words: impl Iterator<Item = &'n str>,
) -> (usize, Vec<String>) {
    let from = typed.rfind(marks).map_or(0, |at| at + 1);
    let fits = words.filter(|word| begins(word, &typed[from..]));
    (from, fits.map(str::to_owned).collect())
}

/// Completions of a metric's name after the last colon; its flavour and visibility stay.
fn metrics(typed: &str, counters: &[String]) -> (usize, Vec<String>) {
    let word = typed.rfind([' ', ':']).map_or(0, |at| at + 1);
    let signs = ['.', '%', '+', '!'];
    let name = typed[word..].rfind(signs).map_or(word, |at| word + at + 1);
    // A minus reverses an order.
    let name = match typed[name..].strip_prefix('-') {
        Some(_) => name + 1,
        None => name,
    };
    let mut all: Vec<&str> = Metric::ALL.into_iter().map(Metric::id).collect();
    all.extend(counters.iter().map(String::as_str));
    let others: &[&str] = if name > word {
        &[]
    } else {
        &["name", "size", "address", "default", "all"]
    };
    all.extend(others);
    let fits = all.into_iter().filter(|word| begins(word, &typed[name..]));
    (name, fits.map(str::to_owned).collect())
}

/// A name as one word of a line.
fn quoted(name: &str) -> String {
    let mark = if name.contains('"') { '\'' } else { '"' };
    format!("{mark}{name}{mark}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Known {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Known {
            functions: owned(&[
                "foo",
                "foo -- OMP task from line 3",
                "operator new",
                "solve",
            ]),
            sources: owned(&["foo.c"]),
            objects: owned(&["app", "libomp.so.5"]),
            index_types: owned(&["Threads", "CPUs"]),
            counters: owned(&["page-faults"]),
        }
    }

    fn candidates(typed: &str) -> (usize, Vec<String>) {
        known().candidates(typed).unwrap()
    }

    #[test]
    fn commands_are_completed_and_what_follows_them() {
        let found = |from: usize, words: &[&str]| {
            (
                from,
                words.iter().map(|&it| it.to_owned()).collect::<Vec<_>>(),
            )
        };
        assert_eq!(candidates("fsi"), found(0, &["fsingle "]));
        assert_eq!(candidates("  -FSU"), found(2, &["-fsummary"]));
        assert_eq!(candidates("viewmode m"), found(9, &["machine"]));
        assert_eq!(candidates("scc all:par"), found(8, &["parallel"]));
        assert_eq!(
            candidates("fsingle \"fo"),
            found(8, &["\"foo\"", "\"foo -- OMP task from line 3\""])
        );
        assert_eq!(candidates("csi sol"), found(4, &["solve"]));
        assert_eq!(candidates("source foo."), found(7, &["foo.c"]));
        assert_eq!(
            candidates("object_hide app,lib"),
            found(16, &["libomp.so.5"])
        );
        assert_eq!(
            candidates("metrics e.%ompw"),
            found(11, &["ompwork", "ompwait"])
        );
        assert_eq!(candidates("sort e.pag"), found(7, &["page-faults"]));
        assert_eq!(candidates("metrics e.total:na"), found(16, &["name"]));
        assert_eq!(candidates("sort -i.ompid"), found(8, &["ompidle"]));
        assert_eq!(candidates("filters THR"), found(8, &["THRID"]));
        assert_eq!(
            candidates("filters OMPSTATE==OMPI"),
            found(18, &["OMPIBAR", "OMPIDLE"])
        );
        assert_eq!(candidates("indxobj t"), found(8, &["Threads"]));
        assert_eq!(candidates("xyzzy f").1, [""; 0]);
        assert_eq!(known().candidates("script x"), None);
        assert_eq!(candidates("export fo"), found(7, &["folded"]));
        assert_eq!(known().candidates("export folded x"), None);
    }

    /// Every word of a list that is offered is one that the command takes.
    #[test]
    fn the_choices_are_those_of_the_commands() {
        // Those that need an experiment have tests of their own.
        for command in COMMANDS.iter().filter(|it| !it.needs_experiment) {
            for &word in choices(command) {
                let mut output = crate::output::Output::to(std::io::sink());
                let mut session = Session::new(Vec::new(), &mut output);
                let arguments = [word.to_owned()];
                let action = command.action_for(&arguments).unwrap();
                let done = action.perform(&mut session, &arguments);
                // Descendants are always in their ancestor's experiment: "off" says so.
                assert!(
                    done.is_ok() || (command.name, word) == ("en_desc", "off"),
                    "{} {word}: {done:?}",
                    command.name
                );
            }
        }
    }
}
